"""One match through OpenSpiel and RLCard, for the table of equivalence (`tests/adapters/drivers.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rlcard as rlcard_library

import napoleon_env as ne
import napoleon_env.adapters.rlcard  # registers the environment
from napoleon_env.adapters.open_spiel import make_game
from napoleon_env.ruleset import Ruleset

Choose = Callable[[int, list[int]], int]


def open_spiel(chance: str) -> Callable[[Ruleset, int, Choose], dict[int, float]]:
    """With chance explicit or sampled; chance decides what the match of the seed deals."""

    def driver(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
        match = ne.Match(rules, seed=seed)
        state: Any = make_game(rules, chance=chance).new_initial_state()
        cards: list[int] = []
        while not state.is_terminal():
            if state.is_player_node():
                action = choose(state.current_player(), state.legal_actions())
                match.play(action)
            elif state.waits_for == "dealer":
                action = match.dealer
            elif state.waits_for == "draw":
                action = int(match.state["drawn"][0])
            elif chance == "sampled":
                state.given, action = match.state[0], 0
            else:
                cards = cards or _dealing(match)
                action = cards.pop(0)
            assert action in state.legal_actions()
            state.apply_action(action)
        return dict(enumerate(state.returns()))

    return driver


def _dealing(match: ne.Match) -> list[int]:
    """The cards of the hands in the order in which chance deals them."""
    size, cards = match.rules.hand_size, match.state["cards"][0].tolist()
    return [card for seat in range(match.rules.players) for card in sorted(cards[seat * size : (seat + 1) * size])]


def rlcard(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """Its payoffs are those of the whole match."""
    env = rlcard_library.make("napoleon", config={"rules": rules, "seed": seed})
    state, seat = env.reset()
    while not env.is_over():
        state, seat = env.step(choose(seat, list(state["legal_actions"])))
    return dict(enumerate(env.get_payoffs()))


DRIVERS = {"OpenSpiel explicit": open_spiel("explicit"), "OpenSpiel sampled": open_spiel("sampled"), "RLCard": rlcard}
