"""Who plays whom, where and on which deals: duplicate tables for every pair of entrants, all seats rotated.

On every deal, for every ordered pair (A, B), A sits alone among B's in each of the n seats in turn: same cards, same dealer.
Both orders of a pair are played, so A is alone among B's and B alone among A's (with two players these are the same tables). So
within each deal every entrant meets every seat, every place after the dealer and every hand equally often.

The score of A in a seat is compared with what B gets in that seat at a table of B's alone. Summed over all seats, scores that
add up to zero at every table make that table's sum zero, so it need not be played. Payoffs add up to zero where each
defender pays or is paid and there is no pot; elsewhere the relative score (payoff minus the mean of the others') does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import combinations, permutations
from typing import Any, Final

import numpy as np

from napoleon_env.notation import VERSION, is_real, shown, whole
from napoleon_env.ruleset import Ruleset

TABLES_PER_BLOCK: Final = 2048
"""About how many tables are played at once, where all entrants decide for many tables in one call."""
SLOW_TABLES_PER_BLOCK: Final = 128
"""The same where one does not: less is lost when a run is stopped."""
MOST_DEALS: Final = 10**9
LEAST_SHARE: Final = 1e-4
PARTS: Final = 20
"""Scores that are forecast in part (`control`) are multiples of one over this."""


class ScheduleError(ValueError):
    """A tournament that cannot be played; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """All that fixes which tables a tournament plays; results with equal schedules can be joined.

    Args:
        rules: of every match.
        names: of the entrants, no two the same.
        seed: names the deals and the randomness of decisions.
        deals: how many matches each table is repeated for; one of them is one observation.
        block: deals that are played and stored together.
        losses: also count what every card gives away against open cards (double dummy).
        share: the part of the tables, about, that is played out; the others are only called, and forecast (`control`).
        common_random_numbers: an entrant does the same at all tables of a deal that have come to the same position.

    Raises:
        ScheduleError.
    """

    rules: Ruleset
    names: tuple[str, ...]
    seed: int
    deals: int
    block: int
    share: float = 1.0
    losses: bool = False
    common_random_numbers: bool = False

    def __post_init__(self) -> None:
        if len(self.names) < 2:
            raise ScheduleError(f"a tournament needs at least two players, not {len(self.names)}")
        for place, name in enumerate(self.names):
            if name in self.names[:place]:
                raise ScheduleError(
                    f'two players are called {shown(name)}: give one another name, such as "{name} as other", to enter it twice'
                )
        for what in ("deals", "block"):
            number = self._made_int(what)
            if number is None or not 1 <= number <= MOST_DEALS:
                raise ScheduleError(f"{what}={shown(getattr(self, what))} must be a whole number from 1 to {MOST_DEALS}")
        if not is_real(self.share) or not LEAST_SHARE <= self.share <= 1:
            raise ScheduleError(f"share={shown(self.share)} must be a number from {LEAST_SHARE} to 1")
        if self.share < 1 and self.rules.deals > 1:
            raise ScheduleError(f"share={self.share:g} goes with matches of one deal, not with deals={self.rules.deals}")
        number = self._made_int("seed")
        if number is None or number < 0:
            raise ScheduleError(f"seed={shown(self.seed)} must be a whole number of at least 0")

    def _made_int(self, what: str) -> int | None:
        """A field as an int, which it is from here on (numpy's numbers are no JSON); None if it is no whole number."""
        number = whole(getattr(self, what))
        if number is not None:
            object.__setattr__(self, what, number)
        return number

    @property
    def header(self) -> dict[str, Any]:
        """The schedule as JSON values; equal for equal schedules of equal versions."""
        return {
            "napoleon_env": VERSION,
            "rules": self.rules.header,
            "players": list(self.names),
            "seed": self.seed,
            "deals": self.deals,
            "block": self.block,
            "share": float(self.share),
            "losses": bool(self.losses),
            "common_random_numbers": bool(self.common_random_numbers),
            "score": self.score,
        }

    @property
    def score(self) -> str:
        """payoff, or relative: payoff minus the mean of the others' (see the module)."""
        return "payoff" if self.rules.zero_sum else "relative"

    @property
    def unit(self) -> int:
        """What whole-number scores (`table_scores`) are multiples of: one point is `unit` of them."""
        return 1 if self.score == "payoff" else self.rules.players - 1

    @property
    def parts(self) -> int:
        """What the sums of scores in the file of results are further multiplied by."""
        return PARTS if self.share < 1 else 1

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Ordered pairs of entrants (single, rest), in the order of all results."""
        return list(permutations(range(len(self.names)), 2))

    @cached_property
    def tables(self) -> np.ndarray:
        """The tables of one deal, int64 of shape (tables, players): which entrant has each seat."""
        n = self.rules.players
        if n == 2:
            return np.array([seats for a, b in combinations(range(len(self.names)), 2) for seats in ((a, b), (b, a))])
        return np.array([[a if seat == alone else b for seat in range(n)] for a, b in self.pairs for alone in range(n)])

    @cached_property
    def table_of(self) -> np.ndarray:
        """int64 of shape (pairs, players): the table where the single of a pair has that seat."""
        number = {tuple(seats): table for table, seats in enumerate(self.tables.tolist())}
        n = self.rules.players
        return np.array(
            [[number[tuple(a if seat == alone else b for seat in range(n))] for alone in range(n)] for a, b in self.pairs]
        )

    @cached_property
    def alone(self) -> np.ndarray:
        """int64 of shape (tables,): the seat of a single at each table."""
        alone = np.zeros(len(self.tables), np.int64)
        alone[self.table_of] = np.arange(self.rules.players)
        return alone

    def tables_of(self, first: int, second: int) -> list[int]:
        """The tables of a deal at which two entrants meet, each once."""
        tables = [self.table_of[self.pairs.index(pair)].tolist() for pair in ((first, second), (second, first))]
        return list(dict.fromkeys(tables[0] + tables[1]))

    @cached_property
    def keys(self) -> np.ndarray:
        """A number for each table of a deal, int64 of shape (tables,): a digest of the names in their seats.

        So a table's randomness does not depend on who else takes part, and two entrants of one kind draw differently.
        """
        return np.array([_key([self.names[entrant] for entrant in seats]) for seats in self.tables.tolist()], np.int64)

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return -(-self.deals // self.block)

    def deals_of(self, block: int) -> range:
        """The deals of a block."""
        return range(block * self.block, min((block + 1) * self.block, self.deals))

    def table_scores(self, scores: np.ndarray) -> np.ndarray:
        """Payoffs (…, players) as whole-number scores: themselves, or the relative ones times `unit`."""
        if self.score == "payoff":
            return scores
        return scores * self.rules.players - scores.sum(-1, keepdims=True)

    def pair_sums(self, scores: np.ndarray) -> np.ndarray:
        """What the single of each pair scored in all its seats together.

        Args:
            scores: payoffs, int64 of shape (deals, tables, players).

        Returns:
            int64 of shape (deals, pairs), in multiples of 1 / unit points.
        """
        seats = np.arange(self.rules.players)
        return self.table_scores(scores)[:, self.table_of, seats].sum(-1)


def block_size(tables_per_deal: int, *, batched: bool) -> int:
    """How many deals a block has by default."""
    return max(1, (TABLES_PER_BLOCK if batched else SLOW_TABLES_PER_BLOCK) // tables_per_deal)


def n_tables(entrants: int, players: int) -> int:
    """How many tables a deal has."""
    pairs = entrants * (entrants - 1)
    return pairs if players == 2 else pairs * players


def _key(names: list[str]) -> int:
    return int.from_bytes(sha256("\0".join(names).encode()).digest()[:8], "big") >> 1
