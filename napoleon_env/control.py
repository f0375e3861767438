"""A control variate: what the entrants' calls bring on a deal when the counting player plays the cards, against other deals.

For every deal d the same tables are played once more in a cheap way: the entrants decide up to the first lead, then the
counting player plays for all (`CallsOnly`). With z(d) for what that brings, and deals d1 … dr of their own drawn in the same
way,

    control(d) = z(d) - mean of z(d1) … z(dr)

has mean 0, whoever plays: z(d) and each z(di) have the same distribution. It tells how lucky the deal was for these calls, so
subtracting a multiple of it takes luck out of the result and leaves its mean as it is (`statistics.Adjusted` chooses the
multiple). This is the idea of AIVAT (Burch et al., AAAI 2018, https://arxiv.org/abs/1612.06915) with a sampled baseline, as in
multifidelity Monte Carlo (Peherstorfer, Willcox and Gunzburger, SIAM J. Sci. Comput. 38, 2016). It saves played deals, and
time where the cards cost more than the calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env.counting import counting_action
from napoleon_env.jit import jit
from napoleon_env.schedule import Schedule
from napoleon_env.tables import Question, ask, play_tables

FIRST_EXTRA_DEAL: Final = 1 << 40
"""Deals that are only called have numbers from here on; those that are played stay below (`schedule.MOST_DEALS`)."""


@jit
def _play_on(states: Any, rules: Any, seats: Any, entrants: Any, actions: Any) -> None:
    """Write whose decision it is, and the counting player's action where it is not the entrant's."""
    for i in range(len(states)):
        entrants[i] = states[i]["phase"] != core.TRICKS or states[i]["n_log"] == states[i]["first_card"]
        if not entrants[i]:
            actions[i] = counting_action(states[i], rules[0], seats[i])


class CallsOnly:
    """A player's calls, exchange, trump and first lead; all other cards by the counting player."""

    def __init__(self, player: Any) -> None:
        self.player = player
        self.deterministic = getattr(player, "deterministic", False)

    def answer(self, question: Question) -> tuple[np.ndarray, dict[int, str]]:
        """As `tables.answer`."""
        n = len(question.states)
        actions, entrants = np.empty(n, np.int64), np.empty(n, np.bool_)
        _play_on(question.states, question.rules.struct, question.seats, entrants, actions)
        rows = np.flatnonzero(entrants)
        faults: dict[int, str] = {}
        if len(rows):
            actions[rows], wrong = ask(self.player, question.rows(rows))
            faults = {int(rows[k]): reason for k, reason in wrong.items()}
        return actions, faults


def control_sums(players: Sequence[Any], schedule: Schedule, deals: np.ndarray) -> np.ndarray:
    """The control of each pair on each deal.

    Args:
        players: of the entrants.
        schedule: with `control` extra deals a deal.
        deals: int64 (n,), numbers of deals.

    Returns:
        int64 of shape (n, pairs), in multiples of 1 / (unit * control) points, summed over the single's seats.
    """
    r, tables = schedule.control, len(schedule.tables)
    extra = FIRST_EXTRA_DEAL + deals[:, None] * r + np.arange(r)
    numbers = np.concatenate([deals[:, None], extra], 1).ravel()
    dealers = np.repeat(deals % schedule.rules.players, r + 1)  # the extra deals' too, so that all are drawn alike
    played = play_tables(
        [CallsOnly(player) for player in players],
        schedule.rules,
        seed=schedule.seed,
        deals=np.repeat(numbers, tables),
        dealers=np.repeat(dealers, tables),
        assigned=np.tile(schedule.tables, (len(numbers), 1)),
        keys=np.tile(schedule.keys, len(numbers)),
    )
    sums = schedule.pair_sums(played.scores.reshape(len(numbers), tables, -1)).reshape(len(deals), r + 1, -1)
    return r * sums[:, 0] - sums[:, 1:].sum(1)
