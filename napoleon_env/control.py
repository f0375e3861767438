"""Fewer played tables: every table is called, what it will bring is forecast, and only a part, drawn by lot, is played out.

At every table the entrants call, and the declarer leads. Then `forecasts` say what the table would bring: the rule of thumb and
the counting player finish it in each other's roles, and so do players who see all cards (the double-dummy solver). A table is
played to its end with a probability of p = 1/w, the larger the less the forecasts agree. It then counts as

    forecast + w * (what it brought - forecast),

and as its forecast where it is not played out. The mean of this over the draw is p * w * (what it brings - forecast) +
forecast = what it brings, whoever plays and however wrong the forecasts are: no bias, deal by deal. The better they are, the
less is left to chance by playing few tables; so luck with the cards, and with cards that anybody would play alike, is averaged
over deals that cost no play.

The forecast is a control variate, as in AIVAT (Burch et al., AAAI 2018, https://arxiv.org/abs/1612.06915), from the solver's
value of the deal and from players whose policies are known; playing a part with known probabilities is the estimator of Horvitz
and Thompson (J. Am. Stat. Assoc. 47, 1952), its difference form that of Cassel, Särndal and Wretman (Biometrika 63, 1976).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env.counting import counting_action
from napoleon_env.dealing import fork, uniform
from napoleon_env.jit import jit
from napoleon_env.notation import PLAY
from napoleon_env.ruleset import Ruleset
from napoleon_env.schedule import PARTS, Schedule
from napoleon_env.search import MANY_CARDS
from napoleon_env.solver import Solver
from napoleon_env.tables import Played
from napoleon_env.thumb import thumb_action

SURPRISE: Final = 0.06
"""How much a table may surprise where all forecasts agree: the part of their mean square that is added to their variance.
Measured: where an agent or a search plays, 0.03 to 0.1 need the same number of tables within 3 %, 0.3 needs 11 % more."""
LEAST: Final = 0.1
"""The least probability of being played out, in units of the mean one."""
_COIN: Final = 1 << 40  # a number that no decision of a match has


@jit
def _play_out(states: Any, rules: Any, declarer_counts: bool, defenders_count: bool) -> None:
    """Finish the deal at every table: each role by the counting player or the rule of thumb."""
    for i in range(len(states)):
        state = states[i]
        while state["phase"] == core.TRICKS:
            seat = state["seat"]
            counts = declarer_counts if seat == state["declarer"] else defenders_count
            core.apply(
                state, rules[0], counting_action(state, rules[0], seat) if counts else thumb_action(state, rules[0], seat)
            )


@jit
def _apply(states: Any, rules: Any, rows: Any, actions: Any) -> None:
    for k in range(len(rows)):
        core.apply(states[rows[k]], rules[0], actions[k])


def _play_open(states: np.ndarray, rules: Ruleset, solver: Solver) -> None:
    """Finish the deal at every table by players who see all cards."""
    while len(rows := np.flatnonzero(states["phase"] == core.TRICKS)):
        here = states[rows]
        tricks, payoffs = solver.solve_states(here, rules, objective="payoff")
        sign = np.where(here["seat"] == here["declarer"], 1, -1)[:, None]
        best = np.where(tricks >= 0, sign * payoffs, np.iinfo(np.int64).min).argmax(1)
        _apply(states, rules.struct, rows, PLAY + best)


def forecasts(states: np.ndarray, rules: Ruleset, solver: Solver) -> np.ndarray:
    """What n tables may bring, once a first card has been led.

    Args:
        states: dtype rules.STATE, shape (n,), each in the play of its match's one deal.
        rules: of all tables.
        solver: room to look for the best cards; it is left out where there are too many (`search.MANY_CARDS`).

    Returns:
        Scores at the end of the match, int64 of shape (n, 4 or 5, players), one for each way to play on.
    """
    ends = [core.copy_state(states) for _ in range(4 + (rules.players * rules.hand_size <= MANY_CARDS))]
    for number, end in enumerate(ends[:4]):
        _play_out(end, rules.struct, number < 2, number % 2 == 0)
    if len(ends) > 4:
        _play_open(ends[4], rules, solver)
    return np.stack([end["scores"][:, : rules.players] for end in ends], 1)


@jit
def _draw(seeds: Any, weights: Any, drawn: Any) -> None:
    """Write the weight of each table with a probability of 1 / weight, else 0."""
    for i in range(len(seeds)):
        drawn[i] = weights[i] if uniform(fork(seeds[i], _COIN)) * weights[i] < 1 else 0


class Part:
    """The part of a schedule's tables that is played out; a `tables.Draw` for all tables of some deals, deal by deal."""

    def __init__(self, schedule: Schedule, solver: Solver) -> None:
        self.schedule, self.solver = schedule, solver

    def __call__(self, rows: np.ndarray, states: np.ndarray, seeds: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """The weights of the tables that are drawn, 0 for the others; what is forecast for all is kept for `scores`."""
        schedule = self.schedule
        _, first, which = np.unique(positions, return_index=True, return_inverse=True)
        found = forecasts(states[first], schedule.rules, self.solver)[which]
        self.rows, self.forecast = rows, found.sum(1) * (PARTS // found.shape[1])
        self.weights = self._weigh(found, schedule.alone[rows % len(schedule.tables)])
        drawn = np.empty_like(self.weights)
        _draw(seeds, self.weights, drawn)
        return drawn

    def _weigh(self, found: np.ndarray, alone: np.ndarray) -> np.ndarray:
        """One over the probability that a table is played out, as whole numbers; in the mean `share` of them are.

        Args:
            found: forecasts, shape (n, ways, players).
            alone: the seats whose scores count.
        """
        own = self.schedule.table_scores(found)[np.arange(len(found)), :, alone]
        doubt = np.sqrt(own.var(1) + SURPRISE * (own**2).mean(1))
        mean = doubt.mean() if doubt.any() else 1.0
        expected = self.schedule.share * np.maximum(doubt / mean, LEAST)
        return np.maximum(np.rint(1 / expected), 1).astype(np.int64)

    def scores(self, played: Played) -> np.ndarray:
        """What each table counts as: int64 of shape (n, players), in parts of 1 / PARTS."""
        scores = PARTS * played.scores
        weights = played.weights[self.rows, None]
        scores[self.rows] = self.forecast + weights * (scores[self.rows] - self.forecast)
        return scores
