"""Tournaments: results worked out by hand, identical players, any number of workers, interruptions, forfeits, refusals."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from pages import page_data, page_json

from napoleon_env import rules as core
from napoleon_env.__main__ import main
from napoleon_env.dealing import STREAMS, deal_key
from napoleon_env.jit import jit
from napoleon_env.journal import JournalError
from napoleon_env.match import Match, View
from napoleon_env.notation import BID, DISCARD, PASS
from napoleon_env.players import RandomPlayer
from napoleon_env.record import replay
from napoleon_env.report import balance, to_json, write_csv, write_html
from napoleon_env.result import Result, largest_score
from napoleon_env.roster import RosterError
from napoleon_env.ruleset import PRESETS, Ruleset
from napoleon_env.schedule import Schedule, ScheduleError
from napoleon_env.tables import decision_base, play_tables
from napoleon_env.tournament import TournamentError, run_tournament, swing_records

# Players for these tests.


class Caller:
    """Makes the call of this id whenever it is legal, else passes; plays its lowest card."""

    def __init__(self, call: int) -> None:
        self.call = call

    def act(self, view: View) -> int:
        legal = view.legal_ids()
        return self.call if self.call in legal else legal[0]


@jit
def _scatter(states: Any, rules: Any, seeds: Any, actions: Any) -> None:
    for i in range(len(states)):
        named, cards, base = core.legal(states[i], rules[0])
        n = 0
        for action in range(DISCARD):
            n += named >> action & 1
        for card in range(52):
            n += cards >> card & 1
        left = np.int64(seeds[i] % np.uint64(n))
        for action in range(DISCARD):
            if named >> action & 1:
                if left == 0:
                    actions[i] = action
                left -= 1
        for card in range(52):
            if cards >> card & 1:
                if left == 0:
                    actions[i] = base + card
                left -= 1


class Scatter:
    """A compiled player that draws uniformly."""

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        actions = np.empty(len(states), np.int64)
        _scatter(states, rules.struct, seeds, actions)
        return actions


# Results worked out by hand.

ONE_CARD = Ruleset.make("german", players=3, suits=1, hand_size=1, min_bid=1)
"""One card each, from one suit: the declarer makes its contract of 1, for 2 points from each (G8), with the highest card."""


def test_who_always_bids_against_who_always_passes_worked_out_by_hand() -> None:
    result = run_tournament({"bid": Caller(BID + 1), "pass": Caller(PASS)}, rules=ONE_CARD, deals=30, seed=4)
    alone_bid, alone_pass = [], []
    for deal in range(30):
        match = Match(ONE_CARD, seed=4, stream="evaluation", number=deal, dealer=deal % 3)
        highest = max(range(3), key=lambda seat: "23456789TJQKA".index(match.hands[seat][0][0]))
        # The bidder alone is declarer wherever it sits: 2 from both others with the highest card, else 2 to both.
        alone_bid.append((4 - 4 - 4) / 3)
        # The passer alone meets the first bidder after the dealer; it pays 2 or is paid 2.
        passer = 0
        for seat in range(3):
            declarer = next(s for s in ((deal + 1) % 3, (deal + 2) % 3, deal % 3) if s != seat)
            passer += -2 if declarer == highest else 2
        alone_pass.append(passer / 3)
    assert result.singles()[0, 1].mean == pytest.approx(np.mean(alone_bid))
    assert result.singles()[1, 0].mean == pytest.approx(np.mean(alone_pass))
    difference = (np.array(alone_bid) - alone_pass) / 2
    assert result.edges()[0, 1].mean == pytest.approx(difference.mean())
    assert result.edges()[0, 1].half_width == pytest.approx(
        2.0452296 * difference.std(ddof=1) / 30**0.5
    )  # t, 29 degrees of freedom
    # Roles: alone, the bidder declares 3 of 3 tables; among bidders, one of the two bidders does.
    assert result.tally["deals"].tolist() == [30 * (3 + 3 * 2), 30 * (3 * 2 + 3)]
    assert (result.tally["made"] + result.tally["failed"]).sum(1).tolist() == [30 * 6, 0]
    assert result.tally["defended"].tolist() == [30 * 3, 30 * (6 + 3)]


def test_the_portuguese_score_is_relative() -> None:
    # One card each, trump chosen; the dealer plays 1 when all pass (P3), and scores 1 if it has the highest trump or suit led.
    rules = Ruleset.make("portuguese", players=2, suits=1, hand_size=1)
    result = run_tournament({"bid": Caller(BID + 1), "pass": Caller(PASS)}, rules=rules, deals=40, seed=2)
    points = []
    for deal in range(40):
        match = Match(rules, seed=2, stream="evaluation", number=deal, dealer=deal % 2)
        highest = max(range(2), key=lambda seat: "23456789TJQKA".index(match.hands[seat][0][0]))
        points.append(sum(1 if seat == highest else 0 for seat in range(2)) / 2)  # the bidder declares in both seats
    assert result.schedule.score == "relative"
    assert result.edges()[0, 1].mean == pytest.approx(np.mean(points)) == 0.5


@pytest.mark.parametrize("preset", list(PRESETS))
@pytest.mark.parametrize("players", [2, 3, 6])
def test_identical_players_get_exactly_nothing(preset: str, players: int) -> None:
    result = run_tournament(
        {"a": Caller(BID + 4), "b": Caller(BID + 4)}, rules=preset, players=players, deals=3, max_void_deals=2
    )
    for estimate in (*result.edges().values(), *result.singles().values()):
        assert (estimate.mean, estimate.half_width) == (0, 0)


def test_all_same_seats_sum_to_nothing_where_they_need_not_be_played() -> None:
    for preset in PRESETS:
        rules = Ruleset.make(preset, players=4, deals=3)
        schedule = Schedule(rules=rules, names=("a", "b"), seed=1, deals=200, block=200)
        played = play_tables(
            [Scatter()],
            rules,
            seed=1,
            deals=np.arange(200),
            assigned=np.zeros((200, 4), np.int64),
            keys=np.zeros(200, np.int64),
        )
        assert (schedule.table_scores(played.scores).sum(1) == 0).all()
        assert played.scores.any()


def test_relative_scores_are_payoffs_minus_the_mean_of_the_others() -> None:
    schedule = Schedule(rules=Ruleset.make("russian", players=3), names=("a", "b"), seed=1, deals=1, block=1)
    # 5 - (1 + 0) / 2, 1 - (5 + 0) / 2, 0 - (5 + 1) / 2
    assert (schedule.table_scores(np.array([5, 1, 0])) / schedule.unit).tolist() == [4.5, -1.5, -3.0]


# The schedule.


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("entrants", [2, 4])
def test_within_each_deal_every_entrant_has_every_seat_equally_often(players: int, entrants: int) -> None:
    names = tuple("abcdef"[:entrants])
    schedule = Schedule(rules=Ruleset.make("german", players=players), names=names, seed=1, deals=1, block=1)
    tables = schedule.tables
    assert len({tuple(seats) for seats in tables.tolist()}) == len(tables)
    for seat in range(players):
        assert set(np.bincount(tables[:, seat], minlength=entrants).tolist()) == {len(tables) // entrants}
    for pair, row in zip(schedule.pairs, schedule.table_of, strict=True):
        for seat in range(players):
            seats = tables[row[seat]].tolist()
            assert seats[seat] == pair[0]
            assert [e for s, e in enumerate(seats) if s != seat] == [pair[1]] * (players - 1)


def test_the_report_proves_the_balance_from_the_matches_played() -> None:
    result = run_tournament({"a": Scatter(), "b": Scatter(), "c": Scatter()}, deals=8, seed=3)
    found = balance(result)
    # 8 deals of 24 tables, of which each entrant has a third of the seats
    assert found["seats"] == found["places"] == [[64] * 4] * 3
    assert found["dealt"] == [[64] * 4] * 3
    assert all(found["balanced"].values())
    assert not balance(run_tournament({"a": Scatter(), "b": Scatter()}, deals=7))["balanced"]["dealt"]


def test_deals_are_of_the_evaluation_stream_and_of_no_training_key() -> None:
    assert STREAMS.index("train") != STREAMS.index("evaluation")
    keys = {int(deal_key(seed, index, stream)) for seed in range(20) for index in range(20) for stream in STREAMS}
    assert len(keys) == 800
    assert not keys & {int(decision_base(seed)) for seed in range(20)}


def test_a_later_entrant_does_not_change_the_tables_of_the_others() -> None:
    two = run_tournament({"a": Scatter(), "b": Scatter()}, deals=20)
    three = run_tournament({"c": Scatter(), "b": Scatter(), "a": Scatter()}, deals=20)
    assert three.singles()[2, 1].mean == pytest.approx(two.singles()[0, 1].mean)
    assert two.singles()[0, 1].mean != 0


# A/A.


def test_an_interval_of_two_copies_that_draw_differently_covers_zero_in_95_of_100_replicates() -> None:
    replicates, deals = 1000, 24
    covered = 0
    rules = Ruleset.make("german", players=4)
    schedule = Schedule(rules=rules, names=("a", "b"), seed=7, deals=replicates * deals, block=1000)
    tables, n = len(schedule.tables), schedule.block
    edges = []
    for block in range(schedule.blocks):  # one run cut into replicates: every deal is drawn by itself
        numbers = np.array(schedule.deals_of(block))
        played = play_tables(
            [Scatter(), Scatter()],
            rules,
            seed=7,
            deals=np.repeat(numbers, tables),
            assigned=np.tile(schedule.tables, (n, 1)),
            keys=np.tile(schedule.keys, n),
        )
        sums = schedule.pair_sums(played.scores.reshape(n, tables, 4))
        edges.append((sums[:, 0] - sums[:, 1]) / 8)
    for replicate in np.concatenate(edges).reshape(replicates, deals):
        half = 2.0686576 * replicate.std(ddof=1) / deals**0.5  # t, 23 degrees of freedom
        covered += abs(replicate.mean()) <= half
    assert 930 <= covered <= 970


# The same result however it is run.


def test_a_result_does_not_depend_on_workers_or_interruptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("napoleon_env.tournament.SMALL", -1.0)  # start workers however little there is to do

    def run(path: Path, **how: Any) -> Result:
        return run_tournament(
            ["random", "random as b"], rules="russian", players=3, deals=12, block=2, seed=5, file=path, **how
        )

    whole = run(tmp_path / "whole.jsonl")
    run(tmp_path / "two.jsonl", workers=2)
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()

    def interrupt(result: Result) -> None:
        if result.blocks == 3:
            raise KeyboardInterrupt

    broken = tmp_path / "broken.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run(broken, on_block=interrupt)
    with broken.open("ab") as file:
        file.write(b'{"block":3,"sums":[[1')  # killed while it wrote
    again = run(broken)
    assert broken.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert to_json(again) == to_json(whole)


def test_a_finished_file_is_read_and_nothing_is_played(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    first = run_tournament({"a": Scatter(), "b": Scatter()}, deals=6, file=path)
    before = path.read_bytes()
    second = run_tournament({"a": Scatter(), "b": Scatter()}, deals=6, file=path, on_block=lambda _: pytest.fail("played"))
    assert to_json(first) == to_json(second)
    assert path.read_bytes() == before


def test_numbers_of_numpy_make_the_same_file_as_numbers_of_python(tmp_path: Path) -> None:
    files = []
    for whole, real, truth in ((int, float, bool), (np.int64, np.float32, np.bool_)):
        files.append(tmp_path / f"{whole.__name__}.jsonl")
        how: dict[str, Any] = {"deals": 6, "seed": 3, "block": 2, "players": 2}
        result = run_tournament(
            {"a": Caller(BID + 1), "b": Caller(PASS)}, rules=ONE_CARD, file=files[-1], error=real(0.25), share=real(0.5),
            losses=truth(0),
            **{name: whole(number) for name, number in how.items()},
        )  # fmt: skip
        json.dumps(to_json(result))
    assert files[0].read_bytes() == files[1].read_bytes()


def test_batches_of_any_size_decide_the_same() -> None:
    results = [run_tournament({"a": Scatter(), "b": Scatter()}, deals=20, block=block, seed=9) for block in (1, 5, 20)]
    means = [[estimate.mean for estimate in result.singles().values()] for result in results]
    assert means[0] == pytest.approx(means[1])
    assert means[0] == pytest.approx(means[2])
    assert all((result.tally == results[0].tally).all() for result in results)


def test_views_and_states_ask_the_same_question() -> None:
    seen: dict[str, list[Any]] = {"views": [], "states": []}

    class ByView:
        def act(self, view: View) -> int:
            seen["views"].append((view.seat, view.seed, view.hand, view.log))
            return view.legal_ids()[(view.seed or 0) % len(view.legal_ids())]

    class ByState:
        def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
            assert (states["key"] == 0).all()
            views = [View(rules, states[i : i + 1], int(seats[i]), None, int(seeds[i])) for i in range(len(states))]
            seen["states"] += [(view.seat, view.seed, view.hand, view.log) for view in views]
            return np.array([view.legal_ids()[(view.seed or 0) % len(view.legal_ids())] for view in views])

    for player in (ByView(), ByState()):
        run_tournament({"a": player, "b": player}, rules="russian", players=3, deals=2, block=1, seed=6)
    assert seen["views"] == seen["states"]


def test_views_show_the_deal_before_as_the_seat_saw_it() -> None:
    before: list[View] = []

    class Looks:
        def act(self, view: View) -> int:
            if view.deal_number == 1:
                before.append(view)
            return view.legal_ids()[-1]

    two_deals = Ruleset.make("russian", players=3, deals=2)
    run_tournament({"a": Looks(), "b": Looks()}, rules=two_deals, deals=1)
    assert before
    for view in before:
        assert view.last_deal is not None
        assert len(view.last_deal.dealt(view.seat)) == 5
        assert not any(view.last_deal.dealt(seat) for seat in range(3) if seat != view.seat)
        assert view.last_deal.phase == "over"


# Records of telling deals.


@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("preset", ["german", "russian"])
def test_the_records_of_large_differences_replay_to_them(preset: str, common: bool) -> None:
    players = {"a": Scatter(), "b": RandomPlayer()}
    result = run_tournament(players, rules=preset, players=3, deals=40, seed=8, common_random_numbers=common)
    assert result.swings
    assert result.swings == sorted(result.swings, key=lambda swing: -abs(swing.points))
    schedule = result.schedule
    for swing, (title, records) in zip(result.swings, swing_records(result, players), strict=True):
        assert title.startswith(f"deal {swing.deal}: ")
        scores = np.array([replay(record).scores for record in records])
        (first, second) = schedule.pair_sums(scores[None])[0]
        assert (first - second) / (2 * 3 * schedule.unit) == pytest.approx(swing.points)


# Forfeits.


def leave(error: BaseException) -> None:
    raise error


def forfeiting(act: Callable[[View], Any], **how: Any) -> Result:
    class Player:
        def act(self, view: View) -> Any:
            return act(view)

    return run_tournament({"bad": Player(), "good": Caller(PASS)}, rules=ONE_CARD, deals=4, **how)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda view: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda view: "bid 4", "may not say bid 4: bids run from 1 to 1"),
        (lambda view: "AH of spades", "is not an action"),
        (lambda view: None, "the answer None is no action's name"),
        (lambda view: 1.0, "the answer 1.0 is no action's name"),
        (lambda view: 10**30, "is no action's name and no id"),
        (lambda view: sys.exit("bye"), "the player ended with SystemExit('bye')"),
        (lambda view: leave(GeneratorExit()), "GeneratorExit"),
        (lambda view: leave(asyncio.CancelledError("late")), "CancelledError: late"),
    ],
)
def test_a_player_that_fails_forfeits_its_matches_and_the_rest_goes_on(answer: Callable[[View], Any], says: str) -> None:
    result = forfeiting(answer)
    # worst_contract_cost is 1 trick x 2 (slam) x 2 defenders = 4. Alone, "bad" loses 4 in every seat. Among its like, the first
    # of them that is to speak loses 4 and the passer nothing.
    assert ONE_CARD.worst_contract_cost == 4
    assert result.singles()[0, 1].mean == -4
    assert result.singles()[1, 0].mean == 0
    assert result.edges()[0, 1].mean == -2
    assert result.n_forfeits.tolist() == [4 * (3 + 3), 0]
    assert all(says in forfeit.reason for forfeit in result.forfeits)
    assert {forfeit.entrant for forfeit in result.forfeits} == {0}
    assert to_json(result)["forfeits"][0]["entrant"] == "bad"


def test_an_interrupt_is_the_users_and_stops_the_tournament() -> None:
    with pytest.raises(KeyboardInterrupt):
        forfeiting(lambda view: leave(KeyboardInterrupt()))


def test_only_the_tables_that_fail_are_forfeited() -> None:
    """A batch that fails as a whole is asked again one by one."""

    class Fragile:
        def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
            if (seats == 2).any():
                raise RuntimeError("seat 2")
            return np.full(len(states), PASS)

    rules = Ruleset.make("german", players=3, max_void_deals=1)
    result = run_tournament({"a": Fragile(), "pass": Caller(PASS)}, rules=rules, deals=6)
    assert {forfeit.seat for forfeit in result.forfeits} == {2}
    assert result.n_forfeits[0] == 6 * (1 + 2)  # alone in seat 2, and among its like where seat 2 is one of two


def test_a_batched_player_of_the_wrong_shape_forfeits() -> None:
    class Flat:
        def act_states(self, states: np.ndarray, *_: Any) -> np.ndarray:
            return np.zeros(1 + len(states), np.int64)

    result = run_tournament({"a": Flat(), "pass": Caller(PASS)}, rules=ONE_CARD, deals=1)
    assert "shape (1,)" in result.forfeits[0].reason


def test_a_player_that_hangs_or_comes_down_forfeits_under_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("napoleon_env.external.START_SECONDS", 20.0)
    path = tmp_path / "slow.py"
    path.write_text(
        "import os, time\n"
        "def slow(view):\n"
        "    if view.seat == 1:\n"
        "        time.sleep(60) if view.deal_number == 0 and view.dealer == 0 else os._exit(1)\n"
        "    return view.legal_ids()[0]\n"
    )
    rules = Ruleset.make(ONE_CARD, players=2)
    result = run_tournament([f"{path}:slow as slow", ("pass", Caller(PASS))], rules=rules, deals=2, seconds=0.3)
    assert result.n_forfeits.tolist() == [2, 0]
    reasons = [forfeit.reason for forfeit in result.forfeits]
    assert sorted(reason[:9] for reason in reasons) == ["no answer", "the playe"]


# Refusals.


@pytest.mark.parametrize(
    ("players", "settings", "error", "says"),
    [
        (["random"], {}, ScheduleError, "at least two players"),
        (["random", "random"], {}, ScheduleError, "two players are called 'random'"),
        (["random", "nobody"], {}, RosterError, "'nobody' does not exist"),
        (["random", "human"], {}, RosterError, "human cannot enter"),
        (["random", "gone.onnx"], {}, RosterError, "there is no file"),
        (["random", "random as b"], {"deals": 0}, ScheduleError, "deals=0 must be"),
        (["random", "random as b"], {"deals": 2.5}, ScheduleError, "deals=2.5 must be"),
        (["random", "random as b"], {"seed": -1}, ScheduleError, "seed=-1 must be"),
        (["random", "random as b"], {"workers": 0}, TournamentError, "workers=0 must be"),
        (["random", "random as b"], {"error": 0.7}, TournamentError, "error=0.7 must be"),
        *(
            (
                ["random", "random as b"],
                {"seconds": seconds},
                TournamentError,
                "seconds=.* must be a number above 0 and at most",
            )
            for seconds in (0, -1, float("inf"), float("nan"), 1e12, 86401, "x", True)
        ),
        (["random", "random as b"], {"error": "x"}, TournamentError, "error='x' must be"),
        (["random", "random as b"], {"workers": "x"}, TournamentError, "workers='x' must be"),
        (None, {}, TournamentError, "players=None must be a list"),
        (5, {}, TournamentError, "players=5 must be a list"),
        ("random", {}, TournamentError, "players='random' must be a list"),
        (["random", 5], {}, TournamentError, "the entrant 5 must be"),
        ([("a", "random", 1), "random"], {}, TournamentError, "the entrant .* must be"),
        (["random", ""], {}, RosterError, "an entrant is empty"),
    ],
)
def test_a_tournament_that_cannot_be_is_refused(
    players: Any, settings: dict[str, Any], error: type[Exception], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says):
        run_tournament(players, file=tmp_path / "r.jsonl", **settings)
    assert not (tmp_path / "r.jsonl").exists()


def test_a_file_of_results_is_a_path() -> None:
    with pytest.raises(TournamentError, match="file=5 must be the path"):
        run_tournament(["random", "random as b"], file=5)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"deals": 8}, "its deals is 6, here it is 8"),
        ({"seed": 2}, "its seed"),
        ({"rules": "english"}, "its rules"),
        ({"block": 3}, "its block"),
        ({"common_random_numbers": True}, "its common_random_numbers is False, here it is True"),
    ],
)
def test_a_file_of_another_tournament_is_refused_and_left_alone(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "r.jsonl"
    how: dict[str, Any] = {"deals": 6, "seed": 1, "rules": "german", "block": 2}
    run_tournament({"a": Scatter(), "b": Scatter()}, file=path, **how)
    before = path.read_bytes()
    with pytest.raises(JournalError, match=says):
        run_tournament({"a": Scatter(), "b": Scatter()}, file=path, **(how | change))
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", [b"hello\n", b"{}\n", b'{"a": 1}', b"\n", b"\xff\xfe\n"])
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "thesis.txt"
    path.write_bytes(text)
    with pytest.raises(JournalError, match="something else"):
        run_tournament({"a": Scatter(), "b": Scatter()}, deals=2, file=path)
    assert path.read_bytes() == text


def test_a_file_with_a_broken_block_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    run_tournament({"a": Scatter(), "b": Scatter()}, deals=4, block=1, file=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1], lines[3]]))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="line 3 is not block 1"):
        run_tournament({"a": Scatter(), "b": Scatter()}, deals=4, block=1, file=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        {"sums": None}, {"sums": "x"}, {"sums": []}, {"sums": [[1, 2], [3]]}, {"sums": [[1.5, 2]]}, {"sums": [[10**30, 0]]},
        {"tally": None}, {"tally": []}, {"tally": [{}, {}]}, {"tally": [3, 4]}, {"lines": "x"}, {"lines": 0}, {"forfeits": 5},
        {"played": None}, {"played": 1},
        {"forfeits": [[0, 0, 9, 0, 0, "slow"]]}, {"forfeits": [[0]]}, {"forfeits": [[0, 0, 0, 0, 0, None]]}, {"block": False},
    ],
)  # fmt: skip
def test_a_block_of_another_form_is_refused_and_left_alone(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "r.jsonl"
    run_tournament({"a": Scatter(), "b": Scatter()}, deals=2, block=1, file=path)
    lines = path.read_bytes().splitlines(keepends=True)
    block = {name: value for name, value in {**json.loads(lines[1]), **change}.items() if value is not None}
    path.write_bytes(lines[0] + json.dumps(block).encode() + b"\n" + lines[2])
    before = path.read_bytes()
    with pytest.raises(JournalError, match="line 2 is not block 0"):
        run_tournament({"a": Scatter(), "b": Scatter()}, deals=2, block=1, file=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", [".", "missing/r.jsonl", "/dev/null"])
def test_what_cannot_be_a_file_of_results_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(JournalError, match="cannot be opened"):
        run_tournament({"a": Scatter(), "b": Scatter()}, deals=1, file=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# Sequential.


def test_the_sequential_mode_stops_when_the_order_is_certain_and_goes_on_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    players = {"scatter": Scatter(), "pass": Caller(PASS)}
    result = run_tournament(players, rules=ONE_CARD, deals=5000, block=20, error=0.05, file=path)
    assert result.certain
    assert result.deals < 5000
    assert result.tests[0].verdict == (1 if result.edges()[0, 1].mean > 0 else -1)
    again = run_tournament(
        players, rules=ONE_CARD, deals=5000, block=20, error=0.05, file=path, on_block=lambda _: pytest.fail("played")
    )
    assert to_json(again) == to_json(result)


def test_no_score_is_larger_than_the_bound_that_the_sequential_test_relies_on() -> None:
    for preset in ("german", "portuguese", "english"):
        for players, slam in permutations((2, 3, 4), 2):
            changes = {} if preset == "portuguese" else {"slam": (slam, 1)}
            rules = Ruleset.make(preset, players=players, deals=2, **changes)
            schedule = Schedule(rules=rules, names=("a", "b"), seed=1, deals=1, block=1)
            played = play_tables(
                [Scatter()],
                rules,
                seed=1,
                deals=np.arange(300),
                assigned=np.zeros((300, players), np.int64),
                keys=np.zeros(300, np.int64),
            )
            bound = largest_score(rules)
            assert bound is not None
            assert np.abs(schedule.table_scores(played.scores)).max() <= bound * schedule.unit
            assert rules.worst_contract_cost <= bound
    assert largest_score(PRESETS["german"]) == 30  # Napoleon: 10 from each of three
    assert largest_score(PRESETS["russian"]) is None


# Reports.


def test_the_page_needs_no_network(tmp_path: Path) -> None:
    players = {"<a>": Scatter(), "b & c": Scatter(), "d": Caller(PASS)}
    result = run_tournament(players, deals=8, seed=2)
    write_html(result, tmp_path / "r.html", command="napoleon tournament <x>", swings=swing_records(result, players))
    page = (tmp_path / "r.html").read_text()
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "<a>" not in page_json(page)
    assert "&lt;a&gt;" in page
    assert "data:application/jsonl;base64," in page


def test_numbers_of_the_page_lead_to_the_deals_on_which_the_pair_differed_most(tmp_path: Path) -> None:
    players = {"a": Scatter(), "b": Scatter(), "c": Caller(PASS)}
    result = run_tournament(players, players=3, deals=8, seed=2)
    swings = swing_records(result, players)
    write_html(result, tmp_path / "r.html", swings=swings)
    page = (tmp_path / "r.html").read_text()
    data = page_data(page)
    assert len(data["matches"]) == sum(len(records) for _, records in swings)
    for key, places in data["deals"].items():
        assert f'data-deals="{key}"' in page
        alone, *among = (("a", "b", "c")[int(i)] for i in key.split())
        for place in places:
            names = data["matches"][place]["names"]
            assert names.count(alone) == 1
            assert not among or names.count(among[0]) == 2
    assert {f"{i} {j}" for i in range(3) for j in range(3) if i != j} <= set(data["deals"])


def test_the_csv_holds_every_pair_and_the_json_no_nan(tmp_path: Path) -> None:
    result = run_tournament({"a": Scatter(), "b": Scatter(), "d": Caller(PASS)}, deals=8, seed=2)
    write_csv(result, tmp_path / "r.csv")
    rows = (tmp_path / "r.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 2
    json.dumps(to_json(result), allow_nan=False)


def test_one_deal_has_no_interval_and_still_makes_a_report(tmp_path: Path) -> None:
    result = run_tournament({"a": Scatter(), "b": Scatter()}, deals=1)
    write_html(result, tmp_path / "r.html")
    assert to_json(result)["pairs"][0]["advantage"]["low"] is None


# Asking less.


def test_a_player_is_not_asked_where_one_action_is_legal_and_a_deterministic_one_not_twice_for_a_position() -> None:
    asked: list[int] = []

    class Counting(Caller):
        def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
            views = [View(rules, states[i : i + 1], int(seats[i])) for i in range(len(states))]
            assert all(len(view.legal_ids()) > 1 for view in views)
            asked.append(len(views))
            return np.array([self.act(view) for view in views])

    class Sure(Counting):
        deterministic = True

    def play(kind: type[Counting]) -> tuple[Result, int]:
        asked.clear()
        result = run_tournament({"a": kind(BID + 2), "b": kind(BID + 3)}, deals=10, seed=5)
        return result, sum(asked)

    (twice, n_twice), (once, n_once) = play(Counting), play(Sure)
    assert n_once < n_twice < twice.tally["decisions"].sum()
    assert to_json(once) | {"lines": 0} == to_json(twice) | {"lines": 0}
    assert once.lines < twice.lines == 80


# Common random numbers.


class Noted(Scatter):
    """Remembers what it was asked, and the seeds it was given."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str, str]] = []
        self.seeds: list[int] = []

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        views = [View(rules, states[i : i + 1], int(seats[i])) for i in range(len(states))]
        self.asked += [(view.seat, str(view.hand), str(view.log)) for view in views]
        self.seeds += seeds.tolist()
        return super().act_states(states, rules, seats, seeds)


def test_with_common_random_numbers_a_player_is_asked_once_for_a_position_and_draws_by_it() -> None:
    a, b = Noted(), Noted()
    how: dict[str, Any] = {"rules": "german", "players": 3, "deals": 30, "seed": 4}
    result = run_tournament({"a": a, "b": b}, common_random_numbers=True, **how)
    assert len(set(a.asked)) == len(a.asked)
    assert len(set(a.seeds)) == len(a.seeds)
    assert dict(zip(a.asked, a.seeds, strict=True)) == dict(zip(b.asked, b.seeds, strict=True))
    # Two that do the same in each position play every table of a deal alike, so nothing is left between them.
    assert all(estimate.mean == estimate.half_width == 0 for estimate in result.edges().values())
    assert result.lines == 30
    apart = run_tournament({"a": Scatter(), "b": Scatter()}, **how)
    assert apart.edges()[0, 1].half_width > 0


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_common_random_numbers_change_no_expectation(share: float) -> None:
    means = []
    for common in (False, True):
        players = {"random": RandomPlayer(), "scatter": Scatter(), "pass": Caller(PASS)}
        result = run_tournament(players, rules=ONE_CARD, deals=6000, seed=3, share=share, common_random_numbers=common)
        means.append(result.singles())
    for pair, apart in means[0].items():
        together = means[1][pair]
        assert abs(apart.mean - together.mean) < 1.8 * np.hypot(apart.half_width, together.half_width)


def test_common_random_numbers_leave_the_difference_alone_where_two_entrants_have_a_part_in_common() -> None:
    players = ["split:bidding=random,declarer=counting,defender=random as counts", "random"]
    apart, together = (
        run_tournament(players, rules="german", players=3, deals=400, seed=2, common_random_numbers=common).edges()[0, 1]
        for common in (False, True)
    )
    assert together.low > 0
    assert together.half_width < 0.8 * apart.half_width


# Double-dummy losses.


def test_the_loss_of_a_card_worked_by_hand() -> None:
    """Two cards each, two suits: who throws away a sure trick loses what the contract then costs."""
    rules = Ruleset.make("german", players=2, suits=2, lowest_rank="Q", hand_size=2, min_bid=1)
    result = run_tournament({"a": Caller(BID + 2), "b": Caller(BID + 2)}, rules=rules, deals=60, losses=True, seed=3)
    expected = {"declarer": [0, 0], "defender": [0, 0]}
    for deal in range(60):
        match = Match(rules, seed=3, stream="evaluation", number=deal, dealer=deal % 2)
        while not match.over:
            legal = match.legal_ids()
            choice = match.phase == "play" and len(legal) > 1
            action = BID + 2 if BID + 2 in legal else legal[0]
            if choice:
                role = "declarer" if match.seat == match.declarer else "defender"
                values = {card: best_payoff(match, card) for card in legal}
                best = max(values.values()) if role == "declarer" else min(values.values())
                expected[role][0] += 1
                expected[role][1] += abs(best - values[action])
            match.play(action)
    for role, (cards, loss) in expected.items():
        assert result.tally[f"{role}_cards"].sum() == 2 * cards  # the deal is played at two tables
        assert result.tally[f"{role}_loss"].sum() == 2 * loss
    assert expected["declarer"][1] > 0


def best_payoff(match: Match, action: int) -> int:
    """What the declarer is paid if both sides go on at their best with open cards."""
    after = match.copy()
    declarer = after.declarer
    assert declarer is not None
    ended = after.play(action)
    if ended is not None:
        return ended.payoffs[declarer]
    best = max if after.seat == declarer else min
    return best(best_payoff(after, card) for card in after.legal_ids())


# The command.


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, printed.out, printed.err


def test_the_command_prints_a_table_and_writes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {kind: tmp_path / f"r.{kind}" for kind in ("json", "csv", "html", "jsonl")}
    code, out, _ = command(
        capsys, "tournament", "--players", "random,random as other", "--deals", 8, "--seats", 3, "--set", "min_bid=1", "--json",
        files["json"], "--csv", files["csv"], "--html", files["html"], "--results", files["jsonl"],
    )  # fmt: skip
    assert code == 0
    assert "3 players: 8 deals named by seed 1, 6 tables each" in out
    assert "Balance: each player had every seat, every place after the dealer equally often" in out
    written = json.loads(files["json"].read_text())
    assert written["deals"] == 8
    assert written["results"] == str(files["jsonl"])
    assert {player["name"] for player in written["players"]} == {"random", "other"}
    assert all(path.stat().st_size for path in files.values())


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "tournament", "--players", "random,random as other", "--deals", 2, "--json", "-")
    assert code == 0
    assert json.loads(out)["tables"] == 16


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--players", "random"], "at least two players"),
        (["--players", "random,nobody"], "'nobody' does not exist"),
        (["--players", "random,gone.onnx"], "there is no file"),
        (["--players", "random,random as b", "--seats", "9"], "players=9"),
        (["--players", "random,random as b", "--rules", "dutch"], "'dutch' does not exist"),
        (["--players", "random,random as b", "--deals", "0"], "deals=0"),
        (["--players", "random,random as b", "--share", "0"], "share=0.0 must be"),
        (["--players", "random,random as b", "--workers", "0"], "workers=0 must be"),
        (["--players", "random,random as b", "--until", "0.7"], "--until 0.7 must be between"),
        (["--players", "random,random as b", "--seconds", "inf"], "seconds=inf must be"),
        (["--players", "random,"], "an entrant is empty"),
        (["--players", "random,cmd:/nonexist/prog"], "there is no program '/nonexist/prog'"),
        (["--players", "random,random as b", "--results", "/"], "the file of results '/' cannot be opened"),
        (["--players", "random,random as b", "--json", "/nonexist/r.json"], "--json /nonexist/r.json: there is no folder"),
        (["--players", "random,random as b", "--csv", "/"], "--csv /: this is a folder"),
        (["--players", "random,random as b", "--html", ""], "--html '': this is a folder"),
    ],
)
def test_the_command_refuses_in_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    code, out, err = command(capsys, "tournament", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_an_agent_says_which_rule_sets_it_was_not_trained_for() -> None:
    class Trained(Caller):
        metadata: ClassVar[dict[str, Any]] = {"rules": [{"preset": "german"}]}

    players = {"agent": Trained(PASS), "bid": Caller(BID + 2)}
    assert run_tournament(players, deals=1).warnings == []
    assert run_tournament(players, rules="english", deals=1).warnings == ["agent was not trained for this rule set"]
