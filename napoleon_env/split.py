"""Two players in one seat: one makes the calls and all that comes before the play, the other plays the cards.

It takes a player's halves apart: `split:calls=pimc:worlds=100,cards=agent.onnx` against either whole player tells whose calls
and whose cards are better.
"""

from __future__ import annotations

import numpy as np

from napoleon_env import rules as core
from napoleon_env.players import StatesPlayer
from napoleon_env.roster import RosterError, make_player
from napoleon_env.ruleset import Ruleset


class SplitPlayer(StatesPlayer):
    """Calls, trump, announcement and exchange of one player, cards of another.

    Args:
        calls, cards: specs of players that decide on states (the built-in ones and agent files do).

    Raises:
        RosterError: there is no such player, or it decides on views alone.
    """

    def __init__(self, *, calls: str, cards: str) -> None:
        self.calls, self.cards = _states_player(calls), _states_player(cards)
        self.deterministic = self.calls.deterministic and self.cards.deterministic

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Each table's decision by whose half it is."""
        actions = np.empty(len(states), np.int64)
        playing = states["phase"] == core.TRICKS
        for player, rows in ((self.calls, np.flatnonzero(~playing)), (self.cards, np.flatnonzero(playing))):
            if len(rows):
                actions[rows] = player.act_states(states[rows], rules, seats[rows], seeds[rows])
        return actions


def _states_player(spec: str) -> StatesPlayer:
    player = make_player(spec)
    if not isinstance(player, StatesPlayer):
        raise RosterError(f"player {spec} decides on views alone, so it cannot be half of another")
    return player
