"""Every adapter plays the same game: matches in lockstep with the native one, rare decisions made on purpose.

A row of the table is a driver (`drivers.py` here, and `drivers*.py` in the folder of the group that is installed).
"""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playing import PRESETS, finite
from random_rules import Habits, random_rules

import napoleon_env as ne
from napoleon_env.notation import LARGEST_SETTING
from napoleon_env.ruleset import Ruleset

Driver = Callable[[Ruleset, int, Callable[[int, list[int]], int]], dict[int, float]]
"""See `drivers.py`."""
HERE = Path(__file__).resolve().parent
MATCHES = 1000
"""Through every adapter."""
RARE = ("hold", "misere", "wellington", "blucher", "napoleon", "no napoleon", "stand", "discard", "trump")
"""Actions, by the first word but for "no napoleon", that every adapter must meet at least 20 times each."""


def load(path: Path) -> dict[str, Driver]:
    """The rows in a file."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DRIVERS


def drivers(group: str) -> dict[str, Driver]:
    """All rows of the table for a group of libraries."""
    table: dict[str, Driver] = {}
    for path in (HERE / "drivers.py", *sorted((HERE / group).glob("drivers*.py"))):
        rows = load(path)
        assert not table.keys() & rows.keys()
        table |= rows
    return table


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "driver" in metafunc.fixturenames:
        table = drivers(metafunc.config.getoption("group"))
        metafunc.parametrize("driver", list(table.values()), ids=list(table))


@cache
def table_of_rules() -> list[Ruleset]:
    """One for each match: half of them presets for every number of players, half random ones.

    Their amounts are below 2 ** 24, so that libraries which count in float32 can tell them.
    """
    rng = random.Random(1)
    presets = [Ruleset.make(preset, players=players) for preset in PRESETS for players in range(2, 7)]
    table = [
        Ruleset.make(presets[i % len(presets)], deals=rng.choice((1, 1, 2)), max_void_deals=rng.randint(1, 3))
        for i in range(MATCHES // 2)
    ]
    while len(table) < MATCHES:
        rules = finite(random_rules(rng))
        if rules.worst_contract_cost < LARGEST_SETTING / 1000 and rules.ante < 100:
            table.append(rules)
    return table


class Native:
    """The match as the rules play it, asked for its decisions by the adapter under test."""

    def __init__(self, rules: Ruleset, seed: int, met: Counter[str]) -> None:
        self.match, self.met = ne.Match(rules, seed=seed), met
        self.rng = random.Random(seed)
        self.habits = Habits.draw(self.rng, rules)

    def choose(self, seat: int, legal: list[int]) -> int:
        """Compare who is to act and what is legal, decide, and go on."""
        match = self.match
        assert seat == match.seat, f"seat {seat} is asked, not {match.seat}: {self}"
        assert list(legal) == match.legal_ids(), f"legal: {[ne.action_name(action) for action in legal]}: {self}"
        name = self.habits.choose(self.rng, match.legal(), match.deal_number)
        self.met[name if name.startswith("no ") else name.split()[0]] += 1
        ended = match.play(name)
        self.met["void deal"] += bool(ended and ended.void)
        self.met["truncated"] += match.truncated
        return ne.action_id(name)

    def __str__(self) -> str:
        deals = [deal.log for deal in self.match.history]
        return f"{self.match.rules}, {deals}, {self.match.log}"


def compare(driver: Driver, rules: Ruleset, seed: int, met: Counter[str]) -> dict[int, float]:
    """Play a match through an adapter and natively, in lockstep; returns what the adapter tells of the payoffs."""
    native = Native(rules, seed, met)
    paid = driver(rules, seed, native.choose)
    assert native.match.over, f"the adapter stopped before the end: {native}"
    for seat, amount in paid.items():
        assert abs(amount - native.match.scores[seat]) <= 1e-6, f"seat {seat} was paid {amount}: {native}"
    return paid


def test_same_decisions_and_returns_in_lockstep(driver: Driver) -> None:
    met: Counter[str] = Counter()
    seats: Counter[tuple[int, int]] = Counter()
    for seed, rules in enumerate(table_of_rules()):
        seats.update((rules.players, seat) for seat in compare(driver, rules, seed, met))
    assert min(met[name] for name in (*RARE, "void deal", "truncated")) >= 20, met
    assert set(seats) == {(players, seat) for players in range(2, 7) for seat in range(players)}


@pytest.mark.parametrize("changes", [{"min_bid": 3}, {"stake": 2}, {"first_speaker": "dealer"}, {"seed": 6}])
def test_a_driver_that_plays_another_game_is_found_out(changes: dict[str, Any]) -> None:
    driver, rules, seed = load(HERE / "drivers.py")["PettingZoo env"], Ruleset.make("german", players=3), changes.pop("seed", 5)

    def wrong(rules: Ruleset, _: int, choose: Callable[[int, list[int]], int]) -> dict[int, float]:
        return driver(Ruleset.make(rules, **changes), seed, choose)

    with pytest.raises(AssertionError):
        compare(wrong, rules, 5, Counter())


def test_pettingzoo_s_environment_needs_no_shimmy() -> None:
    """Nor OpenSpiel, RLCard or anything else that Shimmy would translate from."""
    code = """
import sys
sys.modules.update(dict.fromkeys(("shimmy", "pyspiel", "rlcard")))
import napoleon_env as ne
env = ne.env("russian")
env.reset(seed=1)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    env.step(None if terminated or truncated else env.action_space(agent).sample(observation["action_mask"]))
assert not env.agents
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=HERE.parent.parent)
