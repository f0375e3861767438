"""Loops of other projects' environments, for those that are installed: random legal actions, as in our own rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from random import Random

from napoleon_env.bench.rows import aec_loop


def peer_loops() -> Iterator[tuple[str, Callable[[], int]]]:
    """Name and loop of every peer that is installed; a call plays a game and returns its number of decisions."""
    if find_spec("pyspiel"):
        oh_hell = "oh_hell(players=4,num_tricks_fixed=5)"
        yield "OpenSpiel oh_hell, 4 players, 5 tricks, observation tensor", _open_spiel_loop(oh_hell, tensor=True)
        yield "OpenSpiel oh_hell, from Python, no observation", _open_spiel_loop(oh_hell, tensor=False)
    if find_spec("rlcard"):
        yield "RLCard bridge", _rlcard_loop("bridge")
    if find_spec("pygame"):
        yield "PettingZoo connect_four raw_env", _pettingzoo_loop("connect_four_v3", "raw_env")
        yield "PettingZoo connect_four env", _pettingzoo_loop("connect_four_v3", "env")
        if find_spec("rlcard"):
            yield "PettingZoo leduc_holdem env", _pettingzoo_loop("leduc_holdem_v4", "env")


def _open_spiel_loop(name: str, *, tensor: bool) -> Callable[[], int]:
    pyspiel = import_module("pyspiel")
    game, rng = pyspiel.load_game(name), Random(0)

    def loop() -> int:
        state, decisions = game.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                actions, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(actions, chances)[0])
                continue
            if tensor:
                state.information_state_tensor(state.current_player())
            state.apply_action(rng.choice(state.legal_actions()))
            decisions += 1
        return decisions

    return loop


def _rlcard_loop(name: str) -> Callable[[], int]:
    env, rng = import_module("rlcard").make(name, config={"seed": 0}), Random(0)

    def loop() -> int:
        state, _ = env.reset()
        decisions = 0
        while not env.is_over():
            state, _ = env.step(rng.choice(list(state["legal_actions"])))
            decisions += 1
        return decisions

    return loop


def _pettingzoo_loop(name: str, maker: str) -> Callable[[], int]:
    return aec_loop(getattr(import_module(f"pettingzoo.classic.{name}"), maker)())
