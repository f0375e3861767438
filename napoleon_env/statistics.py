"""Means, intervals and ratings, with the deal as the unit: all tables of one deal are one observation.

Everything is added up block by block in the order of the deals, in memory that does not grow with their number.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

LEVEL: Final = 0.95
"""Of every interval."""
REPLICATES: Final = 400
"""Of the bootstrap."""


class Estimate(NamedTuple):
    """A mean with the half-width of its interval; nan where there are too few observations."""

    mean: float
    half_width: float

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half_width

    @property
    def json(self) -> dict[str, float | None]:
        """For a program; what is not known is null."""
        return {name: None if math.isnan(x) else x for name, x in (("mean", self.mean), ("low", self.low), ("high", self.high))}

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.half_width:.3f}"


class Moments:
    """Running mean and variance of m quantities.

    Blocks are merged as in Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
    variances", Stanford STAN-CS-79-773 (1979), so nothing cancels and equal blocks give equal numbers.
    """

    def __init__(self, m: int) -> None:
        self.n = 0
        self.mean = np.zeros(m)
        self.squares = np.zeros(m)
        """Sums of squared deviations from the mean."""

    def add(self, values: np.ndarray) -> None:
        """Add observations, of shape (observations, m)."""
        k = len(values)
        if k == 0:
            return
        mean = values.mean(0)
        step, n = mean - self.mean, self.n + k
        self.squares += ((values - mean) ** 2).sum(0) + step**2 * (self.n * k / n)
        self.mean += step * (k / n)
        self.n = n

    def variance(self) -> np.ndarray:
        """Unbiased variances of single observations, of shape (m,); nan below two."""
        return self.squares / (self.n - 1) if self.n > 1 else np.full_like(self.squares, math.nan)

    def estimates(self, level: float = LEVEL) -> list[Estimate]:
        """Each quantity's mean with its interval by Student's t."""
        if self.n < 2:
            return [Estimate(float(mean) if self.n else math.nan, math.nan) for mean in self.mean]
        half = student_quantile((1 + level) / 2, self.n - 1) * np.sqrt(self.variance() / self.n)
        return [Estimate(float(mean), float(h)) for mean, h in zip(self.mean, half, strict=True)]


@lru_cache(maxsize=1024)
def student_quantile(p: float, freedom: int) -> float:
    """The p-quantile of Student's t, 0.5 < p < 1.

    Up to 200 degrees of freedom by bisection of the distribution function (`_student_upper`), above by the expansion of
    Abramowitz and Stegun 26.7.5, whose error is then below 1e-8.
    """
    if freedom > 200:
        x = NormalDist().inv_cdf(p)
        g1 = (x**3 + x) / 4
        g2 = (5 * x**5 + 16 * x**3 + 3 * x) / 96
        g3 = (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384
        return x + g1 / freedom + g2 / freedom**2 + g3 / freedom**3
    low, high = 0.0, 1.0
    while _student_upper(high, freedom) > 1 - p:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_upper(middle, freedom) > 1 - p else (low, middle)
    return (low + high) / 2


def _student_upper(t: float, freedom: int) -> float:
    """P(T > t), exactly, by the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    cos2 = math.cos(angle) ** 2
    term, total = 1.0, 0.0
    first = 1 if freedom % 2 else 0  # sums of cos^k with k of the other parity of freedom, from the first one
    for k in range(first, freedom - 1, 2):
        total += term
        term *= cos2 * (k + 1) / (k + 2)
    if freedom % 2:
        between = (angle + math.sin(angle) * math.cos(angle) * total) * 2 / math.pi if freedom > 1 else angle * 2 / math.pi
    else:
        between = math.sin(angle) * total
    return (1 - between) / 2


class Bootstrap:
    """Sums over deals, and the same sums over REPLICATES resamples of the deals.

    The Poisson bootstrap: each deal counts Poisson(1) times in each resample (Hanley and MacGibbon, "Creating non-parametric
    bootstrap samples using Poisson frequencies", 2006), which needs no second pass. A block's counts depend on the block alone.
    """

    def __init__(self, m: int, seed: int) -> None:
        self.seed = seed
        self.deals = np.zeros(REPLICATES + 1)
        """Deals counted, resamples first, the real ones last."""
        self.sums = np.zeros((REPLICATES + 1, m))

    def add(self, block: int, values: np.ndarray) -> None:
        """Add the observations of a block, of shape (deals, m)."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(3, block)))
        counts = np.ones((REPLICATES + 1, len(values)))
        counts[:REPLICATES] = rng.poisson(1.0, (REPLICATES, len(values)))
        self.deals += counts.sum(1)
        self.sums += counts @ values

    def interval(self, statistics: np.ndarray, level: float = LEVEL) -> list[Estimate]:
        """The statistic of the real deals with the spread of the resamples', as normal intervals; rows as in `sums`."""
        half = NormalDist().inv_cdf((1 + level) / 2) * statistics[:REPLICATES].std(0, ddof=1)
        return [Estimate(float(mean), float(h)) for mean, h in zip(statistics[REPLICATES], half, strict=True)]


ELO: Final = 400 / math.log(10)
"""Elo points in one unit of log odds."""


def bradley_terry(wins: np.ndarray) -> np.ndarray:
    """Ratings on the Elo scale, of mean 0, from deals won: P(i beats j) = 1 / (1 + 10 ** ((r_j - r_i) / 400)).

    The maximum of the likelihood of Bradley and Terry, "Rank analysis of incomplete block designs" (Biometrika 39, 1952), by
    Newton's method for all tables at once. One drawn deal is added to every pair, so that who wins every deal has a rating.
    How many points a deal was won by does not count here.

    Args:
        wins: shape (..., k, k): how often i beat j, a draw being half a win for both.

    Returns:
        Shape (..., k).
    """
    k = wins.shape[-1]
    wins = wins + 0.5 * (1 - np.eye(k))
    met = wins + np.swapaxes(wins, -1, -2)
    log_odds = np.zeros(wins.shape[:-1])
    for _ in range(200):
        expected = 1 / (1 + np.exp(log_odds[..., None, :] - log_odds[..., :, None]))
        weight = met * expected * (1 - expected)
        hessian = weight.sum(-1)[..., None] * np.eye(k) - weight
        surplus = (wins - met * expected).sum(-1)
        # Ratings are differences: a constant matrix fixes their mean, in which the Hessian says nothing.
        step = np.linalg.solve(hessian + weight.max((-1, -2), keepdims=True), surplus[..., None])[..., 0]
        step *= np.minimum(1, 2 / np.maximum(np.abs(step).max(-1, keepdims=True), 1e-300))  # far off, Newton would overshoot
        log_odds += step
        if np.abs(step).max(initial=0) < 1e-10:
            break
    return (log_odds - log_odds.mean(-1, keepdims=True)) * ELO


def alpha_rank(advantages: np.ndarray) -> np.ndarray | None:
    """How much of the time each player holds out in a world where whoever is beaten is replaced by who beats it.

    α-rank of one population with α at infinity (Omidshafiei et al., "α-rank: multi-agent evaluation by evolution", Scientific
    Reports 9, 2019), by OpenSpiel: the best player has all, where there is one; who beat each other in a circle share.

    Args:
        advantages: shape (k, k): of the row's player over the column's; 0 where it is not known who is better.

    Returns:
        Shape (k,), of sum 1; None where OpenSpiel is not installed.
    """
    try:
        from open_spiel.python.egt import alpharank  # pyright: ignore[reportMissingImports]  # an extra
    except ImportError:
        return None
    return alpharank.compute([advantages], use_inf_alpha=True)[2]


class OrderTest:
    """Says when the order of two players is certain, however often one looks.

    For scores within ±bound: two gamblers bet on every observation, one that the mean is above 0, the other below; no bet can
    be made that is fair under "the mean is not above 0", so by Ville's inequality the first one's capital passes 1/error at any
    time with a probability of at most `error` if it is not. Waudby-Smith and Ramdas, "Estimating means of bounded random
    variables by betting", J. R. Statist. Soc. B 86 (2024), section 4; bets by their "aGRAPA",
    at most half of what could be lost.

    Without a bound (a pot that can double): the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and
    Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics 52 (2024), theorem
    2.2, from 100 observations on; its error is right only in the limit, and reports say so.

    Each observation must have a mean not above 0 (below 0) under the hypothesis, given those before it: true of deals of
    their own with every seat rotated, whoever deals.

    Args:
        bound: the largest absolute value of an observation, or None.
        error: of a false verdict, each way.
    """

    LEAST = 100

    def __init__(self, bound: float | None, error: float) -> None:
        self.bound, self.error = bound, error
        self.n, self.total, self.squares = 0, 0.0, 0.0
        self.log_capital = [0.0, 0.0]
        self.verdict = 0
        """1: the mean is above 0; -1: below; 0: not certain yet. A verdict stays."""
        self.certain_after: int | None = None
        """After how many observations the verdict fell."""

    def add(self, value: float) -> None:
        """Take one observation."""
        value = float(value)
        if self.bound is not None:
            self._bet(value, self.bound)
        self.n, self.total, self.squares = self.n + 1, self.total + value, self.squares + value * value
        if self.verdict == 0:
            self.verdict = self._by_capital() if self.bound is not None else self._by_sequence()
            self.certain_after = self.n if self.verdict else None

    def _bet(self, value: float, bound: float) -> None:
        # The stake rests on what came before alone; one imaginary observation of a tenth of the bound steadies the first ones.
        mean = self.total / (self.n + 1)
        square = (self.squares + bound * bound / 100) / (self.n + 1)
        stake = min(max(mean / square, -0.5 / bound), 0.5 / bound)
        for side, sign in enumerate((1, -1)):
            self.log_capital[side] += math.log1p(max(sign * stake, 0.0) * sign * value)

    def _by_capital(self) -> int:
        needed = -math.log(self.error)
        return (self.log_capital[0] >= needed) - (self.log_capital[1] >= needed)

    def _by_sequence(self) -> int:
        if self.n < self.LEAST:
            return 0
        mean = self.total / self.n
        variance = max(self.squares / self.n - mean * mean, 0.0)
        two_sided = 2 * self.error
        # Narrowest at about 1,000 observations: their approximation of the best rho (appendix B.2).
        rho2 = (2 * math.log(1 / two_sided) + math.log(1 + 2 * math.log(1 / two_sided))) / 1000
        t = self.n * rho2
        half = math.sqrt(variance * 2 * (t + 1) / (self.n * t) * math.log(math.sqrt(t + 1) / two_sided))
        return (mean > half) - (mean < -half)
