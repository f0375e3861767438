"""What a tournament saves: tables, by playing out a part drawn of those called; decisions, by common random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from napoleon_env.bench.rows import Row
from napoleon_env.control import Part
from napoleon_env.match import View
from napoleon_env.roster import make_player
from napoleon_env.ruleset import PRESETS, Ruleset
from napoleon_env.schedule import PARTS, Schedule
from napoleon_env.solver import Solver
from napoleon_env.tables import Draw, Played, play_tables

PAIRS: Final = {("rule", "counting"): 1000, ("rule", "pimc:worlds=30"): 20, ("counting", "pimc:worlds=30"): 20}
"""Deals for each second asked for, by pair: a number of its own, so that the result is the same on every machine."""
SEARCH: Final = "pimc:worlds=30"
COMMON: Final = {
    ("rule", SEARCH): 20,
    ("epimc:worlds=10", SEARCH): 10,
    (f"split:bidding=counting,declarer={SEARCH},defender={SEARCH}", SEARCH): 20,
    (f"split:bidding={SEARCH},declarer=counting,defender={SEARCH}", SEARCH): 20,
}
"""The same where each table draws its own random numbers and where they have them in common."""
LEAST: Final = 200
SHARE: Final = 0.02
TO_REACH: Final = 10.0


class _Asked:
    """A built-in player that counts what it is asked."""

    def __init__(self, spec: str) -> None:
        self.player: Any = make_player(spec)
        self.deterministic, self.asked = self.player.deterministic, 0

    def act(self, view: View) -> int:
        return self.player.act(view)

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        self.asked += len(states)
        return self.player.act_states(states, rules, seats, seeds)


def tournament_rows(seconds: float) -> Iterator[Row]:
    """For each pair how many times fewer tables are played out, or searching players asked, for the same interval."""
    for pair, deals_a_second in PAIRS.items():
        yield _part_row(pair, max(LEAST, round(deals_a_second * seconds)))
    for pair, deals_a_second in COMMON.items():
        yield _common_row(pair, max(LEAST, round(deals_a_second * seconds)))


def _part_row(pair: tuple[str, str], deals: int) -> Row:
    """All tables of some deals are played out, so that nothing of what is compared hangs on which are drawn.

    Independent: each table has a deal of its own, one player alone among three of the other, in every seat under every dealer.
    Its advantage is that player's score, so its variance is the score's mean square. A part: the advantage on a deal is the
    mean over its tables, to whose variance the draw adds (weight - 1) * error ** 2 for each table, the error being what it
    brings less its forecast; and 1 / weight of it is played out, that is, has a card asked for after the first lead.
    """
    schedule = Schedule(rules=PRESETS["german"], names=pair, seed=1, deals=deals, block=deals, share=SHARE)
    tables, players, part = len(schedule.tables), [_Asked(spec) for spec in pair], Part(schedule, Solver())
    called: list[int] = []

    def draw_all(rows: np.ndarray, states: np.ndarray, seeds: np.ndarray, positions: np.ndarray) -> np.ndarray:
        called.append(sum(player.asked for player in players))
        part(rows, states, seeds, positions)
        return part.weights

    numbers = np.repeat(np.arange(deals), tables)
    played = _play(schedule, players, numbers, np.tile(np.arange(tables), deals), draw_all)
    alone = np.tile(schedule.alone, deals)
    scores = played.scores[np.arange(len(alone)), alone]
    error = scores[part.rows] - part.forecast[np.arange(len(part.rows)), alone[part.rows]] / PARTS
    sums = schedule.pair_sums(played.scores.reshape(deals, tables, -1))
    drawn = ((part.weights - 1) * error**2).sum() / (deals * tables**2)
    variance = ((sums[:, 0] - sums[:, 1]) / tables).var(ddof=1) + drawn
    n_played = float((1 / part.weights).sum())
    fewer = float((scores**2).mean() / (variance * n_played / deals))
    # Decisions: of independent tables all, of a part those up to the first lead, and of the tables played out the others too.
    before = sum(player.asked for player in players)
    own = np.arange(LEAST)
    _play(schedule, players, own, own // schedule.rules.players % tables, draw_all)
    calls, all_ = called[1] - before, sum(player.asked for player in players) - before
    decisions = called[0] + n_played * (all_ - calls) / LEAST
    more = {
        "% of tables played out": 100 * n_played / (deals * tables),
        "times fewer decisions": fewer * n_played * all_ / LEAST / decisions,
    }
    return Row(f"{pair[0]}, {pair[1]}: german, 4 players, {deals:,} deals", fewer, "times fewer tables", TO_REACH, more)


def _common_row(pair: tuple[str, str], deals: int) -> Row:
    """Duplicate deals, every table with random numbers of its own, beside the same with common ones.

    What is counted is what players are asked that draw by lot, times the variance of the advantage: of how many deals the same
    interval needs.
    """
    schedule = Schedule(rules=PRESETS["german"], names=pair, seed=1, deals=deals, block=deals)
    tables = len(schedule.tables)
    numbers, variance, asked = np.repeat(np.arange(deals), tables), [], []
    for common in (False, True):
        players = [_Asked(spec) for spec in pair]
        played = _play(schedule, players, numbers, np.tile(np.arange(tables), deals), common=common)
        sums = schedule.pair_sums(played.scores.reshape(deals, tables, -1))
        variance.append(float((sums[:, 0] - sums[:, 1]).var(ddof=1)))
        asked.append(sum(player.asked for player in players if not player.deterministic))
    fewer = asked[0] * variance[0] / (asked[1] * variance[1])
    more = {"times fewer a deal": asked[0] / asked[1], "times fewer deals": variance[0] / variance[1]}
    what = f"{pair[0]}, {pair[1]}: german, 4 players, {deals:,} deals, common random numbers"
    return Row(what, fewer, "times fewer decisions", more=more)


def _play(
    schedule: Schedule,
    players: list[_Asked],
    deals: np.ndarray,
    tables: np.ndarray,
    draw: Draw | None = None,
    common: bool = False,
) -> Played:
    return play_tables(
        players,
        schedule.rules,
        seed=schedule.seed,
        deals=deals,
        assigned=schedule.tables[tables],
        keys=schedule.keys[tables],
        draw=draw,
        common_random_numbers=common,
    )
