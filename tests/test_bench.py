"""Measurements: each gives its rows, counts what it says, and refuses settings that make no sense."""

from collections import Counter

import numpy as np
import pytest

import napoleon_env as ne
from napoleon_env.bench import MEASUREMENTS, BenchError, Row, measure, tournaments
from napoleon_env.bench.environments import FloorLoop, VectorLoop, choose_legal
from napoleon_env.bench.rows import rate, rows_table
from napoleon_env.dealing import deal_key

KEYS = np.array([deal_key(0)])


def test_a_measurement_that_is_not_there_is_named() -> None:
    with pytest.raises(BenchError, match="there is no measurement 'x': there are environments, players, solver, tournament"):
        measure("x")
    for seconds in (0, -1, float("nan"), 1e9):
        with pytest.raises(BenchError, match="must be above 0"):
            measure("solver", seconds=seconds)


def test_the_chosen_action_is_legal_and_every_legal_one_equally_likely() -> None:
    legal = [0, 3, 4, 19, 64, 123]
    mask = np.zeros((6000, ne.N_ACTIONS), np.int8)
    mask[:, legal] = 1
    actions = np.empty(len(mask), np.int64)
    choose_legal(mask.view(np.uint32), KEYS.copy(), actions)
    counts = Counter(actions.tolist())
    assert sorted(counts) == legal
    assert all(abs(count - 1000) < 5 * (6000 * 5 / 36) ** 0.5 for count in counts.values())  # five standard deviations


@pytest.mark.parametrize("make", [VectorLoop, FloorLoop])
def test_a_loop_steps_every_match_and_leaves_each_with_a_legal_action(make: type[VectorLoop] | type[FloorLoop]) -> None:
    loop = make()
    assert [loop() for _ in range(30)] == [4096] * 30
    mask = loop.env.action_mask if isinstance(loop, VectorLoop) else loop.mask
    assert mask.any(axis=1).all()


def test_a_rate_is_a_count_by_processor_time() -> None:
    calls = []
    per_second = rate(lambda: calls.append(0) or sum(range(1000)) * 0 + 7, 0.02)
    assert per_second >= 7
    assert per_second <= 7 * len(calls) / 0.02


def test_a_row_says_how_far_its_bound_is_reached() -> None:
    assert Row("x", 6.0, "us", 3.0, at_most=True).ratio == 0.5
    assert Row("x", 6.0, "/s", 3.0).ratio == 2.0
    assert Row("x", 6.0, "/s").ratio is None
    assert rows_table([Row("x", 6.0, "us", 3.0, at_most=True)]).row_count == 1


def test_every_row_of_the_environments_is_measured() -> None:
    rows = list(measure("environments", seconds=0.001))
    assert all(row.value > 0 for row in rows)
    reach = {row.what: row.to_reach for row in rows}
    assert reach["VectorEnv, 4096 matches, one core"] == 4e6
    assert {"raw_env, last() and step()", "Match.copy", "napoleon check", "import napoleon_env"} <= set(reach)


def test_players_are_timed_in_every_phase_where_they_choose() -> None:
    rows = [row.what for row, _ in zip(measure("players", seconds=0.001), range(30), strict=False)]
    assert "rule, russian 4, exchange" in rows
    assert "random, portuguese 4, trump" in rows
    assert MEASUREMENTS["players"].what.startswith("microseconds")


def test_the_tournaments_row_says_how_many_tables_are_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournaments, "PAIRS", {("rule", "counting"): 1000})
    monkeypatch.setattr(tournaments, "COMMON", {})
    (row,) = measure("tournament", seconds=2)
    assert row.value > 10
    assert row.more["% of tables played out"] == pytest.approx(2, rel=0.1)
    assert 1 < row.more["times fewer decisions"] < row.value


def test_common_random_numbers_save_decisions_where_two_entrants_have_a_part_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournaments, "PAIRS", {})
    pair = (
        "split:bidding=random,declarer=counting,defender=counting",
        "split:bidding=random,declarer=rule,defender=counting",
    )
    monkeypatch.setattr(tournaments, "COMMON", {pair: 1000})
    (row,) = measure("tournament", seconds=1)
    assert row.value == pytest.approx(row.more["times fewer a deal"] * row.more["times fewer deals"])
    assert min(row.more.values()) > 1
