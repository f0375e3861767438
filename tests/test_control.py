"""Playing out a part of the tables: no bias, exactly and in whole tournaments; honest intervals; ten times fewer tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from napoleon_env import rules as core
from napoleon_env.control import Part, forecasts
from napoleon_env.counting import counting_action
from napoleon_env.dealing import fork, uniform
from napoleon_env.jit import count_bits, jit, lowest_bit
from napoleon_env.match import View
from napoleon_env.notation import PLAY
from napoleon_env.players import CountingPlayer, RandomPlayer, RulePlayer
from napoleon_env.report import balance, heading, order_text, to_json
from napoleon_env.result import Result
from napoleon_env.ruleset import PRESETS, Ruleset
from napoleon_env.schedule import PARTS, Schedule, ScheduleError
from napoleon_env.solver import Solver
from napoleon_env.tables import Played, play_tables
from napoleon_env.tournament import run_tournament

THREE_CARDS = Ruleset.make("german", players=3, suits=2, hand_size=3, min_bid=1)
"""Small enough for thousands of tables, and large enough for every forecast to be wrong now and then."""


class Careless:
    """The counting player, but so often plays any card that is legal."""

    def __init__(self, often: float) -> None:
        self.often = often

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        actions = np.empty(len(states), np.int64)
        _careless(states, rules.struct, seats, seeds, self.often, actions)
        return actions


@jit
def _careless(states: Any, rules: Any, seats: Any, seeds: Any, often: float, actions: Any) -> None:
    for i in range(len(states)):
        actions[i] = counting_action(states[i], rules[0], seats[i])
        if states[i]["phase"] == core.TRICKS and uniform(fork(seeds[i], 1)) < often:
            cards = core.legal_cards(states[i], rules[0])
            for _ in range(np.int64(uniform(fork(seeds[i], 2)) * count_bits(cards))):
                cards &= cards - 1
            actions[i] = PLAY + lowest_bit(cards)


class Drawn:
    """All tables of some deals, each played to its end, with what a part of them would have counted as."""

    def __init__(self, players: list[Any], rules: Ruleset, *, deals: int, share: float, seed: int = 1) -> None:
        schedule = Schedule(rules=rules, names=("a", "b"), seed=seed, deals=deals, block=deals, share=share)
        tables, numbers = len(schedule.tables), np.arange(deals)
        how: dict[str, Any] = {
            "seed": seed,
            "deals": np.repeat(numbers, tables),
            "assigned": np.tile(schedule.tables, (deals, 1)),
            "keys": np.tile(schedule.keys, deals),
        }
        self.part = Part(schedule, Solver())
        self.played = play_tables(players, rules, draw=self.part, **how)
        self.whole = play_tables(players, rules, **how)
        self.rows, self.weights = self.part.rows, self.part.weights
        self.drawn = self.played.weights[self.rows] > 0

    def counts_as(self, *, drawn: bool) -> np.ndarray:
        """What the tables where cards were played count as if each is drawn, or none."""
        weights = self.whole.weights.copy()
        weights[self.rows] = self.weights if drawn else 0
        return self.part.scores(Played(self.whole.scores, self.whole.tally, [], 0, weights))[self.rows]


@pytest.mark.parametrize("rules", [THREE_CARDS, *PRESETS.values()], ids=["three cards", *PRESETS])
def test_every_table_counts_in_the_mean_as_what_it_brings_however_wrong_its_forecast_is(rules: Ruleset) -> None:
    found = Drawn([RandomPlayer(), Careless(0.5)], rules, deals=40, share=0.1)
    yes, no, true = found.counts_as(drawn=True), found.counts_as(drawn=False), PARTS * found.whole.scores[found.rows]
    assert (no != true).any()
    assert found.weights.max() > 4
    # Drawn with a probability of 1 / weight: the mean is (yes + (weight - 1) * no) / weight.
    assert (yes + (found.weights - 1)[:, None] * no == found.weights[:, None] * true).all()
    # A table that is drawn is the very table that is played without a draw.
    assert (found.played.scores[found.rows][found.drawn] == found.whole.scores[found.rows][found.drawn]).all()


def test_tables_are_drawn_as_often_as_their_weights_say_and_not_for_what_they_bring() -> None:
    found = Drawn([RandomPlayer(), Careless(0.5)], THREE_CARDS, deals=1500, share=0.1)
    chance = 1 / found.weights
    assert chance.mean() == pytest.approx(0.1, rel=0.1)  # weights are rounded, and seldom ones are played a little oftener
    error = (found.drawn - chance) / np.sqrt(chance * (1 - chance).clip(1e-9))
    wrong = (PARTS * found.whole.scores[found.rows] - found.counts_as(drawn=False)) @ [1, -2, 3]
    for values in (np.ones(len(error)), wrong, wrong**2):
        z = (error * values)[found.weights > 1].sum() / np.sqrt((values[found.weights > 1] ** 2).sum())
        assert abs(z) < 3


def test_a_tournament_of_a_part_agrees_with_the_whole_one_and_says_what_it_played() -> None:
    players = {"random": RandomPlayer(), "b": Careless(0.5), "c": CountingPlayer()}
    differences, part = [], run_tournament(players, rules=THREE_CARDS, deals=1)
    for seed in range(20):
        part, whole = (run_tournament(players, rules=THREE_CARDS, deals=150, seed=seed, share=s) for s in (0.1, 1.0))
        assert part.tables == whole.tables == whole.played == 150 * 18
        assert 0.05 < part.played / part.tables < 0.2
        differences.append([a.mean - b.mean for a, b in zip(part.edges().values(), whole.edges().values(), strict=True)])
    means, errors = np.mean(differences, 0), np.std(differences, 0, ddof=1) / 20**0.5
    assert (errors > 0).all()
    assert (abs(means) < 3 * errors).all()
    assert all(balance(part)["balanced"].values())
    assert f"{part.played:,} tables played out, {part.tables - part.played:,} only called" in heading(part)
    assert to_json(part)["played"] == part.played
    assert part.swings == []


def test_what_is_counted_by_role_counts_every_table_by_its_weight() -> None:
    found = Drawn([RandomPlayer(), Careless(0.5)], THREE_CARDS, deals=200, share=0.2)
    tally, weights = found.played.tally, found.played.weights
    assert (tally["made"] + tally["failed"]).sum() == weights.sum()
    assert (tally["deals"] - tally["void"]).sum() == 3 * weights.sum()
    assert tally["beaten"].sum() == 2 * tally["failed"].sum()
    assert tally["declarer_payoff"].sum() == -tally["defender_payoff"].sum() != 0
    for name in ("seats", "places", "dealt"):  # all begin
        assert (tally[name] == found.whole.tally[name]).all()


def test_an_interval_of_two_copies_covers_zero_in_95_of_100_replicates() -> None:
    replicates, deals = 1000, 60
    covered = 0
    rules = Ruleset.make(THREE_CARDS, players=2)
    schedule = Schedule(rules=rules, names=("a", "b"), seed=7, deals=replicates * deals, block=6000, share=0.1)
    part, tables = Part(schedule, Solver()), len(schedule.tables)
    edges = []
    for block in range(schedule.blocks):  # one run cut into replicates: every deal is drawn by itself
        numbers = np.array(schedule.deals_of(block))
        played = play_tables(
            [RandomPlayer(), RandomPlayer()],
            rules,
            seed=7,
            deals=np.repeat(numbers, tables),
            assigned=np.tile(schedule.tables, (len(numbers), 1)),
            keys=np.tile(schedule.keys, len(numbers)),
            draw=part,
        )
        sums = schedule.pair_sums(part.scores(played).reshape(len(numbers), tables, 2))
        edges.append(sums[:, 0] - sums[:, 1])
    for replicate in np.concatenate(edges).reshape(replicates, deals):
        half = 2.0009954 * replicate.std(ddof=1) / deals**0.5  # t, 59 degrees of freedom
        covered += abs(replicate.mean()) <= half
    assert 930 <= covered <= 970


def test_a_part_does_not_depend_on_workers_or_interruptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("napoleon_env.tournament.SMALL", -1.0)  # start workers however little there is to do

    def run(path: Path, **how: Any) -> Result:
        return run_tournament(["random", "rule"], rules="russian", deals=12, block=3, seed=5, share=0.3, file=path, **how)

    whole = run(tmp_path / "whole.jsonl")
    run(tmp_path / "two.jsonl", workers=2)
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    assert (tmp_path / "two.jsonl").read_bytes() == b"".join(lines)
    (tmp_path / "broken.jsonl").write_bytes(b"".join(lines[:3]))
    assert to_json(run(tmp_path / "broken.jsonl")) == to_json(whole)


def test_a_block_of_which_no_table_was_drawn_is_read_back(tmp_path: Path) -> None:
    def run() -> Result:
        file = tmp_path / "r.jsonl"
        return run_tournament(["random", "rule"], rules="portuguese", players=2, deals=6, block=1, share=1e-4, file=file)

    first = run()
    assert first.played == 0
    assert to_json(run()) == to_json(first)


def test_the_sequential_mode_is_certain_with_a_part_too() -> None:
    result = run_tournament(["random", "rule"], deals=2000, share=0.1, error=0.05, block=50)
    assert result.certain
    assert result.deals < 2000
    assert result.tests[0].verdict == -1
    assert "in the limit of many matches" in order_text(result)


def test_who_fails_in_the_auction_forfeits_every_table_and_who_fails_later_those_that_are_played() -> None:
    class Fails:
        def __init__(self, phase: str) -> None:
            self.phase = phase

        def act(self, view: View) -> int:
            if view.phase == self.phase:
                raise RuntimeError(self.phase)
            return view.legal_ids()[0]

    def forfeits(phase: str, share: float) -> int:
        result = run_tournament({"bad": Fails(phase), "good": RulePlayer()}, rules=THREE_CARDS, deals=20, share=share)
        return int(result.n_forfeits[0])

    assert forfeits("auction", 0.1) == forfeits("auction", 1.0) > 0
    assert 0 < forfeits("play", 0.1) < forfeits("play", 1.0)


def test_forecasts_are_five_ways_to_end_the_deal() -> None:
    rules, numbers = PRESETS["german"], np.arange(60)
    led: list[np.ndarray] = []

    def draw(rows: np.ndarray, states: np.ndarray, seeds: np.ndarray, positions: np.ndarray) -> np.ndarray:
        led.append(states)
        return np.ones(len(rows), np.int64)

    for player, way in ((CountingPlayer(), 0), (RulePlayer(), 3)):  # counting on both sides; the rule of thumb on both
        how = {"seed": 1, "deals": numbers, "assigned": np.zeros((60, 4), np.int64), "keys": numbers}
        played = play_tables([player], rules, draw=draw, **how)
        ends = forecasts(led[-1], rules, Solver())
        assert ends.shape == (60, 5, 4)
        assert (ends[:, way] == played.scores).all()
        # With open cards the declarer gets what the solver says that the defender to play must leave.
        tricks, payoffs = Solver().solve_states(led[-1], rules)
        values = np.where(tricks >= 0, payoffs, 1000).min(1)
        assert (ends[numbers, 4, led[-1]["declarer"]] == values).all()


def test_ten_times_fewer_tables_than_independent_deals_for_the_same_interval() -> None:
    players = {"rule": RulePlayer(), "b": Careless(0.05)}
    result = run_tournament(players, deals=3000, share=0.02, seed=12)
    # Independent deals: every table has cards of its own; half of them have one player alone, half the other. The advantage is
    # half the difference of their two means, so its variance is that of one seat's payoff, divided by the number of tables.
    numbers = np.arange(4000)
    alone = np.tile(np.repeat([[0, 1, 1, 1], [1, 0, 0, 0]], 4, 0), (500, 1))  # under every dealer
    played = play_tables(list(players.values()), result.schedule.rules, seed=13, deals=numbers, assigned=alone, keys=numbers)
    independent = played.scores[:, 0].var()
    assert independent / (result.deviations()[0, 1] ** 2 * result.played / result.deals) >= 10


@pytest.mark.parametrize("share", [0, -0.1, 1.5, float("nan"), "x", True, None])
def test_a_share_is_a_number_from_almost_nothing_to_one(share: Any) -> None:
    with pytest.raises(ScheduleError, match=r"share=.* must be a number from 0\.0001 to 1"):
        run_tournament(["random", "rule"], share=share)


def test_a_part_of_matches_of_several_deals_is_refused() -> None:
    with pytest.raises(ScheduleError, match=r"share=0\.5 goes with matches of one deal, not with deals=8"):
        run_tournament(["random", "rule"], rules=Ruleset.make("russian", deals=8), share=0.5)


def test_a_share_of_one_is_all() -> None:
    one, without = run_tournament(["random", "rule"], deals=10, share=1), run_tournament(["random", "rule"], deals=10)
    assert to_json(one) | {"schedule": None} == to_json(without) | {"schedule": None}
