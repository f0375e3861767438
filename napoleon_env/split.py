"""Three players in one seat: one makes the calls, one plays as declarer, one defends.

It takes a player's roles apart: `split:bidding=agent.onnx,declarer=pimc,defender=pimc` against `pimc` tells whether the agent
bids better than the search does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from napoleon_env import rules as core
from napoleon_env.players import StatesPlayer
from napoleon_env.roster import RosterError, make_player
from napoleon_env.ruleset import Ruleset


class SplitPlayer(StatesPlayer):
    """Calls of one player, declarer's play of another, defence of a third.

    Args:
        bidding: spec of the player that calls and announces (the phases auction and announce).
        declarer: of the one that exchanges, chooses trump and plays the cards as declarer.
        defender: of the one that plays the cards as a defender.
        rules: what they are to play, for players that want to know beforehand.

    Raises:
        RosterError: there is no such player, or it has no `act_states` (built-in players but human, and agent files have).
    """

    def __init__(self, *, bidding: str, declarer: str, defender: str, rules: Ruleset | None = None) -> None:
        made = {spec: _part(spec, rules) for spec in (bidding, declarer, defender)}
        self.bidding, self.declarer, self.defender = made[bidding], made[declarer], made[defender]
        self._players = list(made.values())
        self.deterministic = all(getattr(player, "deterministic", False) is True for player in self._players)
        self.timed = any(getattr(player, "timed", False) is True for player in self._players)

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """What the player of each table's role does; one that has several roles is asked once for all of them."""
        calls, declares = states["phase"] <= core.ANNOUNCE, states["declarer"] == seats
        actions = np.empty(len(states), np.int64)
        for player in self._players:
            mine = np.where(calls, player is self.bidding, np.where(declares, player is self.declarer, player is self.defender))
            rows = np.flatnonzero(mine)
            if len(rows):
                actions[rows] = player.act_states(states[rows], rules, seats[rows], seeds[rows])
        return actions


def _part(spec: str, rules: Ruleset | None) -> Any:
    player = make_player(spec, rules=rules)
    if not hasattr(player, "act_states"):
        raise RosterError(f"player {spec} has no act_states, so it cannot be a part of another")
    return player
