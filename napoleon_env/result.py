"""What a tournament has found so far: advantages, ratings, roles, verdicts, forfeits, telling deals.

A `Result` adds up the lines of blocks (`tournament`), in their order, in memory that does not grow with the number of deals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np

from napoleon_env.notation import whole
from napoleon_env.ruleset import Ruleset
from napoleon_env.schedule import Schedule
from napoleon_env.statistics import REPLICATES, Bootstrap, Estimate, Moments, OrderTest, alpha_rank, bradley_terry
from napoleon_env.tables import TALLY, Forfeit

N_SWINGS: Final = 2
"""Deals of the largest differences that are kept for records, of each pair."""
FORFEITS_KEPT: Final = 1000
"""Forfeits told one by one; all are counted."""


class Swing(NamedTuple):
    """A deal on which a pair of entrants differed much."""

    points: float
    """How much the first won more than the second on this deal, averaged over all its tables."""
    deal: int
    first: int
    second: int


class Result:
    """What a tournament has found so far; every number is of whole blocks, in order.

    Args:
        schedule: what is played.
        error: of a false verdict about the order of any pair, for the sequential mode; None without.
    """

    def __init__(self, schedule: Schedule, *, error: float | None = None) -> None:
        k, pairs = len(schedule.names), len(schedule.pairs)
        self.schedule, self.error = schedule, error
        self.warnings: list[str] = []
        """What a reader should know, in sentences."""
        self.blocks = 0
        """Blocks added."""
        self.unordered = list(combinations(range(k), 2))
        self._number = {pair: i for i, pair in enumerate(schedule.pairs)}
        self._moments = tuple(Moments(m) for m in (pairs, len(self.unordered), k))
        """Singles, edges and fields."""
        self._wins = Bootstrap(len(self.unordered), schedule.seed)
        self.tally = np.zeros(k, TALLY)
        self.played = 0
        """Matches played out; all, where the schedule's share is 1."""
        self.lines = 0
        """The same, those of the same course counted once (`tables.Played.lines`)."""
        self.forfeits: list[Forfeit] = []
        self.n_forfeits = np.zeros(k, np.int64)
        self.swings: list[Swing] = []
        bound = largest_score(schedule.rules) if schedule.share == 1 else None
        self.tests = [OrderTest(bound, error / (2 * len(self.unordered))) for _ in self.unordered] if error else []

    @property
    def deals(self) -> int:
        """Observations so far."""
        return self._moments[0].n

    @property
    def tables(self) -> int:
        """Matches begun so far."""
        return self.deals * len(self.schedule.tables)

    def fits(self, line: Mapping[str, Any]) -> bool:
        """Whether a line read from a file has the form of the next block's, so that `add` takes it."""
        schedule = self.schedule
        k, sums = len(schedule.names), (len(schedule.deals_of(self.blocks)), len(schedule.pairs))
        try:
            tally, forfeits = line["tally"], [Forfeit(*forfeit) for forfeit in line["forfeits"]]
            return (
                whole(line["block"]) == self.blocks < schedule.blocks
                and _integers(line["sums"], sums)
                and len(tally) == k
                and all(_integers([mine[name] for mine in tally], self.tally[name].shape) for name in TALLY.names or ())
                and _integers([line["lines"], line["played"]], (2,))
                and (schedule.share == 1) <= line["lines"] <= line["played"]  # of a small part none may have been drawn
                and all(_integers(forfeit[:-1], (len(forfeit) - 1,)) and min(forfeit[:-1]) >= 0 for forfeit in forfeits)
                and all(forfeit.entrant < k and isinstance(forfeit.reason, str) for forfeit in forfeits)
            )
        except (KeyError, TypeError, ValueError):
            return False

    def add(self, line: Mapping[str, Any]) -> None:
        """Add the line of the next block."""
        schedule = self.schedule
        values = self._quantities(line["sums"])
        edges = values[1]
        for moments, value in zip(self._moments, values, strict=True):
            moments.add(value)
        self._wins.add(line["block"], np.where(edges > 0, 1.0, np.where(edges < 0, 0.0, 0.5)))
        for name in TALLY.names or ():
            self.tally[name] += np.array([counts[name] for counts in line["tally"]])
        self.played += line["played"]
        self.lines += line["lines"]
        forfeits = [Forfeit(*forfeit) for forfeit in line["forfeits"]]
        np.add.at(self.n_forfeits, [forfeit.entrant for forfeit in forfeits], 1)
        self.forfeits += forfeits[: FORFEITS_KEPT - len(self.forfeits)]
        if schedule.share == 1:
            self._keep_swings(edges, schedule.deals_of(line["block"]).start)
        for number, test in enumerate(self.tests):
            for value in edges[:, number].tolist():
                test.add(value)
        self.blocks += 1

    def _quantities(self, sums: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Singles, edges and fields of every deal, in points, from `Schedule.pair_sums`."""
        schedule = self.schedule
        table = np.array(sums, np.float64).reshape(-1, len(schedule.pairs))
        singles = table / (schedule.rules.players * schedule.unit * schedule.parts)
        edges = np.stack([singles[:, self._number[i, j]] - singles[:, self._number[j, i]] for i, j in self.unordered], 1) / 2
        return singles, edges, edges @ self._signs() / (len(schedule.names) - 1)

    def _signs(self) -> np.ndarray:
        """Shape (unordered pairs, entrants): 1 for the first of a pair, -1 for the second."""
        signs = np.zeros((len(self.unordered), len(self.schedule.names)))
        for number, (i, j) in enumerate(self.unordered):
            signs[number, i], signs[number, j] = 1, -1
        return signs

    def _keep_swings(self, edges: np.ndarray, first_deal: int) -> None:
        kept: Counter[tuple[int, int]] = Counter()
        found = self.swings
        for number, (first, second) in enumerate(self.unordered):
            size = np.abs(edges[:, number])
            best = [row for row in np.argsort(-size, kind="stable")[:N_SWINGS].tolist() if size[row] > 0]
            found += [Swing(float(edges[row, number]), first_deal + row, first, second) for row in best]
        found.sort(key=lambda swing: (-abs(swing.points), swing.deal, swing.first, swing.second))
        self.swings = []
        for swing in found:
            kept[swing[2:]] += 1
            if kept[swing[2:]] <= N_SWINGS:
                self.swings.append(swing)

    @property
    def certain(self) -> bool:
        """Whether the order of every pair is certain (sequential mode only)."""
        return bool(self.tests) and all(test.verdict for test in self.tests)

    def singles(self) -> dict[tuple[int, int], Estimate]:
        """For (A, B): points of A alone among B's, above what B gets in the same seat among B's."""
        return dict(zip(self.schedule.pairs, self._moments[0].estimates(), strict=True))

    def edges(self) -> dict[tuple[int, int], Estimate]:
        """For A < B: half of what A alone among B's wins and B alone among A's loses; A's advantage in points."""
        return dict(zip(self.unordered, self._moments[1].estimates(), strict=True))

    def fields(self) -> list[Estimate]:
        """Each entrant's mean advantage over all others, in points."""
        return self._moments[2].estimates()

    def deviations(self) -> dict[tuple[int, int], float]:
        """Standard deviations of one deal's advantage (all its tables together), by pair."""
        return dict(zip(self.unordered, np.sqrt(self._moments[1].variance()).tolist(), strict=True))

    def ratings(self) -> list[Estimate]:
        """Bradley-Terry ratings by deals won, with intervals from the bootstrap over deals."""
        k = len(self.schedule.names)
        tables = np.zeros((REPLICATES + 1, k, k))
        for number, (i, j) in enumerate(self.unordered):
            tables[:, i, j] = self._wins.sums[:, number]
            tables[:, j, i] = self._wins.deals - self._wins.sums[:, number]
        return self._wins.interval(bradley_terry(tables))

    def alpha_rank(self) -> list[float] | None:
        """Each entrant's α-rank (`statistics.alpha_rank`), by the advantages whose intervals leave zero out."""
        k = len(self.schedule.names)
        advantages = np.zeros((k, k))
        for (i, j), edge in self.edges().items():
            if abs(edge.mean) > edge.half_width:
                advantages[i, j], advantages[j, i] = edge.mean, -edge.mean
        found = alpha_rank(advantages)
        return None if found is None else found.tolist()

    def ranking(self) -> list[int]:
        """Entrants from best to worst by points."""
        fields = self.fields()
        return sorted(range(len(fields)), key=lambda i: (-fields[i].mean, i))


def _integers(values: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Whether nested lists are whole numbers of 64 bits in this shape."""
    array = np.array(values)
    return array.dtype == np.int64 and array.shape == shape


def largest_score(rules: Ruleset) -> float | None:
    """The largest absolute score that a match can bring a seat, in points; None where a pot has no bound."""
    if rules.has_pot:
        return None
    if rules.payment == "points_only":
        return float(rules.deals * rules.hand_size)
    prices = [n * rules.stake for n in (rules.hand_size * max(rules.slam), rules.hand_size - 1)]
    prices += [max(pair) * rules.stake for pair in (rules.misere, rules.wellington, rules.blucher) if pair]
    return float(rules.deals * (rules.players - 1) * max(*prices, 1))
