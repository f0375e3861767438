"""Decisions a second of every way to step the game, beside the rates to reach, a floor, and the peers that are installed.

German, four players, random legal actions. Rates are of processor time, so that others on the machine count little; only
ratios of rows of one run mean much.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import gymnasium
import numpy as np

from napoleon_env import rules as core
from napoleon_env.aec_env import env as aec_env
from napoleon_env.aec_env import parallel_env, raw_env
from napoleon_env.bench.peers import peer_loops
from napoleon_env.bench.rows import Row, aec_loop, any_legal, rate
from napoleon_env.dealing import below, deal_key, random_deal, random_match
from napoleon_env.gym_env import NapoleonEnv
from napoleon_env.gym_vector_env import NapoleonVectorEnv
from napoleon_env.jit import count_bits, jit, lowest_bit
from napoleon_env.match import Match
from napoleon_env.notation import N_ACTIONS
from napoleon_env.observation import OBSERVATION_SIZE
from napoleon_env.record import check, write_records
from napoleon_env.vector_env import VectorEnv

NUM_ENVS: Final = 4096
_WORD_BYTES: Final = 4
"""Bytes of a mask that are looked at in one go; they divide N_ACTIONS."""


@jit
def choose_legal(words: Any, keys: Any, actions: Any) -> None:
    """Write a random legal action for each row of masks, seen as words of 4 bytes; `keys[0]` is the generator's word."""
    key = keys[0]
    for i in range(len(words)):
        legal = 0
        for j in range(words.shape[1]):
            legal += count_bits(words[i, j])
        key, place = below(key, legal)
        j = 0
        here = count_bits(words[i, 0])
        while place >= here:
            place -= here
            j += 1
            here = count_bits(words[i, j])
        word: Any = np.int64(words[i, j])
        for _ in range(place):
            word &= word - 1
        actions[i] = _WORD_BYTES * j + (lowest_bit(word) >> 3)
    keys[0] = key


@jit
def play_in_kernel(states: Any, rules: Any, decisions: int, keys: Any) -> None:
    """Carry out so many random actions in each of the states, deal after deal."""
    key = keys[0]
    for i in range(len(states)):
        state = states[i]
        for _ in range(decisions):
            named, cards, base = core.legal(state, rules[0])
            n_named = count_bits(named)
            key, place = below(key, n_named + count_bits(cards))
            bits = named if place < n_named else cards
            for _ in range(place if place < n_named else place - n_named):
                bits &= bits - 1
            core.apply(state, rules[0], lowest_bit(bits) + (0 if place < n_named else base))
            if state["phase"] == core.NO_DEAL:
                if state["outcome"] == core.RUNNING:
                    random_deal(state, rules[0])
                else:
                    random_match(state, rules[0], state["match"] + 1)
    keys[0] = key


@jit
def step_floor(cards: Any, observation: Any, mask: Any, blank: Any, actions: Any) -> None:
    """One step of a trivial machine that writes as many bytes: it notes the action taken and lets any of five be taken."""
    for i in range(len(cards)):
        cards[i] = (cards[i] + actions[i]) % (N_ACTIONS - 5)
        for j in range(OBSERVATION_SIZE):
            observation[i, j] = blank[j]
        observation[i, cards[i]] = 1
        mask[i, :] = 0
        mask[i, cards[i] : cards[i] + 5] = 1


class VectorLoop:
    """A vector environment with random legal actions."""

    def __init__(self, *, index: int = 0, **settings: Any) -> None:
        self.env = VectorEnv("german", num_envs=NUM_ENVS, seed=0, first_index=index, **settings)
        self.actions = np.zeros(NUM_ENVS, np.int64)
        self.keys = np.array([deal_key(0, index)])
        self.env.reset()

    def __call__(self) -> int:
        """Make a step; returns the number of decisions."""
        choose_legal(self.env.action_mask.view(np.uint32), self.keys, self.actions)
        self.env.step(self.actions)
        return NUM_ENVS


class FloorLoop:
    """`step_floor` with random legal actions."""

    def __init__(self) -> None:
        self.cards, self.actions = np.zeros(NUM_ENVS, np.int64), np.zeros(NUM_ENVS, np.int64)
        self.observation = np.zeros((NUM_ENVS, OBSERVATION_SIZE), np.int8)
        self.mask = np.ones((NUM_ENVS, N_ACTIONS), np.int8)
        self.blank = np.zeros(OBSERVATION_SIZE, np.int8)
        self.keys = np.array([deal_key(0)])

    def __call__(self) -> int:
        """Make a step; returns the number of decisions."""
        choose_legal(self.mask.view(np.uint32), self.keys, self.actions)
        step_floor(self.cards, self.observation, self.mask, self.blank, self.actions)
        return NUM_ENVS


def _kernel_loop() -> Callable[[], int]:
    env = VectorEnv("german", num_envs=NUM_ENVS, seed=0)
    env.reset()
    decisions, keys = 24, np.array([deal_key(1)])

    def loop() -> int:
        play_in_kernel(env.states, env.rules.struct, decisions, keys)
        return NUM_ENVS * decisions

    return loop


def _match_loop() -> Callable[[], int]:
    rng = Random(0)

    def loop() -> int:
        match, decisions = Match("german", seed=rng.randrange(2**63)), 0
        while not match.over:
            match.play(any_legal(match.mask(), rng))
            decisions += 1
        return decisions

    return loop


def _parallel_loop() -> Callable[[], int]:
    env, rng = parallel_env("german"), Random(0)
    env.reset(seed=0)

    def loop() -> int:
        observations, _ = env.reset()
        decisions = 0
        while env.agents:
            masks = {agent: seen["action_mask"] for agent, seen in observations.items()}
            observations, *_ = env.step({agent: any_legal(mask, rng) if mask.any() else 0 for agent, mask in masks.items()})
            decisions += 1
        return decisions

    return loop


def _gymnasium_loop() -> Callable[[], int]:
    env, rng = NapoleonEnv("german", opponents="rule"), Random(0)
    env.reset(seed=0)

    def loop() -> int:
        _, info = env.reset()
        decisions, over = 0, False
        while not over:
            _, _, terminated, truncated, info = env.step(any_legal(info["action_mask"], rng))
            over = terminated or truncated
            decisions += 1
        return decisions

    return loop


def _gymnasium_vector_loop() -> Callable[[], int]:
    env = NapoleonVectorEnv(num_envs=NUM_ENVS, rules="german", opponents="rule")
    env.reset(seed=0)
    actions, keys = np.zeros(NUM_ENVS, np.int64), np.array([deal_key(0)])

    def loop() -> int:
        choose_legal(np.ascontiguousarray(env.action_masks(), np.int8).view(np.uint32), keys, actions)
        env.step(actions)
        return NUM_ENVS

    return loop


def _gymnasium_sync_loop() -> Callable[[], int]:
    n, rng = 16, Random(0)
    env = gymnasium.make_vec("Napoleon-v0", num_envs=n, vectorization_mode="sync", rules="german", opponents="rule")
    _, info = env.reset(seed=0)

    def loop() -> int:
        nonlocal info
        _, _, _, _, info = env.step(np.array([any_legal(mask, rng) if mask.any() else 0 for mask in info["action_mask"]]))
        return n

    return loop


def _rate_beside_another(index: int, seconds: float) -> float:
    """Decisions a second of one of several processes that step at the same time, by the clock on the wall."""
    loop = VectorLoop(index=index * NUM_ENVS)
    for _ in range(10):
        loop()
    start, decisions = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        decisions += loop()
    return decisions / (time.perf_counter() - start)


def _processes_rate(processes: int, seconds: float) -> float:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        list(pool.map(_rate_beside_another, range(processes), [0.01] * processes))  # started and compiled
        return sum(pool.map(_rate_beside_another, range(processes), [seconds] * processes))


def _copying(make: Callable[[], Any]) -> Callable[[], int]:
    copies = 100

    def loop() -> int:
        for _ in range(copies):
            make()
        return copies

    return loop


def _in_a_new_process(program: str) -> float:
    """Seconds that a program takes in a fresh interpreter, the interpreter's own start taken off; the best of three."""

    def seconds(text: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", text], check=True, capture_output=True)
        return time.perf_counter() - start

    return max(min(seconds(program) for _ in range(3)) - min(seconds("pass") for _ in range(3)), 0.0)


def _check_rate(seconds: float) -> float:
    rng = Random(0)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "matches.jsonl"
        matches = []
        for seed in range(500):
            match = Match("german", seed=seed)
            while not match.over:
                match.play(any_legal(match.mask(), rng))
            matches.append(match)
        write_records(path, matches)
        return rate(lambda: check(path).actions, seconds)


def environment_rows(seconds: float) -> Iterator[Row]:
    """Every row of the speed to reach, and beside it what else there is to compare with."""
    vector, floor = rate(VectorLoop(), seconds), rate(FloorLoop(), seconds)
    yield Row("floor: as many bytes from a trivial machine, one core", floor, "decisions/s")
    yield Row(f"VectorEnv, {NUM_ENVS} matches, one core", vector, "decisions/s", 4e6)
    yield Row("  as a share of the floor", 100 * vector / floor, "%", 60)
    canonical = rate(VectorLoop(suit_order="canonical"), seconds)
    yield Row("  with canonical suits", canonical, "decisions/s")
    forced = rate(VectorLoop(skip_forced=True), seconds)
    yield Row("  with forced moves played at once", forced, "decisions/s")
    if (os.cpu_count() or 1) > 1:
        one, two = _processes_rate(1, seconds), _processes_rate(2, seconds)
        yield Row("VectorEnv on two cores, in units of one", two / one, "x", 1.8)
    yield Row("random play in the kernel, no observation", rate(_kernel_loop(), seconds), "decisions/s", 1e7)
    yield Row("Match.play", rate(_match_loop(), seconds), "decisions/s")
    yield Row("raw_env, last() and step()", rate(aec_loop(raw_env("german")), seconds), "decisions/s", 50_000)
    yield Row("env, with the conventional wrappers", rate(aec_loop(aec_env("german")), seconds), "decisions/s", 12_000)
    yield Row("parallel_env", rate(_parallel_loop(), seconds), "decisions/s")
    yield Row("Gymnasium, one learner against rule of thumb", rate(_gymnasium_loop(), seconds), "decisions/s", 20_000)
    yield Row(f"Gymnasium vector_entry_point, {NUM_ENVS} learners", rate(_gymnasium_vector_loop(), seconds), "decisions/s")
    yield Row("Gymnasium sync, 16 learners", rate(_gymnasium_sync_loop(), seconds), "decisions/s")
    match = Match("german", seed=0)
    env: Any = aec_env("german")  # of PettingZoo's type, which has no `clone`; ours have one
    env.reset(seed=0)
    yield Row("Match.copy", 1e6 / rate(_copying(match.copy), seconds), "us", 5, at_most=True)
    yield Row("env.clone", 1e6 / rate(_copying(env.clone), seconds), "us", 50, at_most=True)
    yield Row("import napoleon_env", _in_a_new_process("import napoleon_env"), "s", 0.6, at_most=True)
    first = "import napoleon_env as ne; env = ne.env('german'); env.reset(seed=0); env.step(0); env.last()"
    yield Row("import and first decision of a second process", _in_a_new_process(first), "s", 1.5, at_most=True)
    yield Row("napoleon check", _check_rate(seconds), "actions/s", 50_000)
    for name, loop in peer_loops():
        yield Row(name, rate(loop, seconds), "decisions/s")
