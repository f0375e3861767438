"""Extensive games in sequence form: values, best responses, NashConv and, for two players, the equilibrium by CFR+.

A *sequence* of a player is an information state and one of its actions, or the empty sequence before its first decision. With
perfect recall the last sequence of a player tells all its earlier ones, so a game is the list of its ends, each with the last
sequence of every player (von Stengel, "Efficient computation of behavior strategies", Games and Economic Behavior 14, 1996).
Every pass over the game is then one loop over ends and one over information states, compiled, for any number of players.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from napoleon_env.jit import jit

FIRST_CHECK: Final = 64
"""CFR+ iterations before NashConv is looked at; then after twice as many each time."""


class GameError(ValueError):
    """A game that cannot be treated in that way; one sentence."""


class BestResponse(NamedTuple):
    """What a player can reach against the others as they are."""

    value: float
    policy: np.ndarray
    """The policy with this player's part replaced by a pure best response, float64 (sequences,)."""


class Equilibrium(NamedTuple):
    """An approximate equilibrium of a zero-sum game of two."""

    policy: np.ndarray
    """The average policy, float64 (sequences,)."""
    values: np.ndarray
    """What each player gets, float64 (2,)."""
    nash_conv: float
    iterations: int


class SequenceForm(NamedTuple):
    """A game of n players with I information states, S sequences and T ends.

    Sequences are numbered: the empty ones of the players first (0 … n - 1), then those of information state i from `first[i]`
    to `first[i + 1]`, one for each of its actions in order. A *policy* is float64 (S,): the probability of each action in its
    information state, and 1 for the empty sequences.
    """

    player: np.ndarray
    """int64 (I,): who decides there. Information states come after those of the same player that lead to them."""
    before: np.ndarray
    """int64 (I,): that player's sequence on the way there."""
    first: np.ndarray
    """int64 (I + 1,)."""
    last: np.ndarray
    """int64 (T, n): each player's last sequence at each end."""
    gain: np.ndarray
    """float64 (T, n): payoff times the probability of all that chance did on the way."""

    @property
    def players(self) -> int:
        """Number of players."""
        return self.last.shape[1]

    @property
    def sequences(self) -> int:
        """Number of sequences, the empty ones included."""
        return int(self.first[-1])

    def uniform(self) -> np.ndarray:
        """The policy that chooses among all actions alike."""
        policy = np.ones(self.sequences)
        counts = np.diff(self.first)
        policy[self.players :] = np.repeat(1 / counts, counts)
        return policy

    def values(self, policy: np.ndarray) -> np.ndarray:
        """What each player gets in the mean when all play `policy`, float64 (n,)."""
        plan = _plan(self, _checked(self, policy))
        reach = np.prod(plan[self.last], axis=1)
        return reach @ self.gain

    def best_response(self, policy: np.ndarray, player: int) -> BestResponse:
        """The best that `player` can do while the others play `policy`."""
        policy = _checked(self, policy).copy()
        gains = _gains(self, _plan(self, policy), player)
        _best(self, gains, player, policy)
        return BestResponse(float(gains[player]), policy)

    def nash_conv(self, policy: np.ndarray) -> float:
        """The sum over players of what each alone could gain by leaving `policy`; 0 in an equilibrium, and only there.

        In a zero-sum game of two it is twice the exploitability.
        """
        best = sum(self.best_response(policy, player).value for player in range(self.players))
        return best - float(self.values(policy).sum())

    def solve(self, *, tolerance: float = 1e-4, iterations: int = 100_000) -> Equilibrium:
        """The equilibrium of a zero-sum game of two, by CFR+ with linear averaging.

        Tammelin, "Solving large imperfect information games using CFR+", 2014, https://arxiv.org/abs/1407.5042.

        Args:
            tolerance: stop when NashConv of the average policy is not above it.
            iterations: stop after so many at the latest.

        Raises:
            GameError: not two players, or payoffs that do not add up to zero.
        """
        if self.players != 2:
            raise GameError(f"CFR+ finds equilibria of two players, not of {self.players}")
        if not np.allclose(self.gain.sum(1), 0, atol=1e-12):
            raise GameError("CFR+ finds equilibria where payoffs add up to zero, and here they do not")
        regret, total = np.zeros(self.sequences), np.zeros(self.sequences)
        current = self.uniform()
        done, check = 0, min(FIRST_CHECK, iterations)
        while True:
            _cfr_plus(self, regret, current, total, done, check)
            done = check
            policy = self.uniform()
            _normalise(self, total, policy, -1)
            found = self.nash_conv(policy)
            if found <= tolerance or done >= iterations:
                return Equilibrium(policy, self.values(policy), found, done)
            check = min(2 * done, iterations)


def _checked(form: SequenceForm, policy: np.ndarray) -> np.ndarray:
    """`policy`, if it is one.

    Raises:
        GameError: it has another shape, or probabilities that are negative or do not add up to 1.
    """
    policy = np.asarray(policy, np.float64)
    if policy.shape != (form.sequences,):
        raise GameError(f"a policy of this game has shape ({form.sequences},), not {policy.shape}")
    n = form.players
    sums = np.add.reduceat(policy, form.first[:-1]) if len(form.player) else np.ones(0)
    if not ((policy >= 0).all() and (policy[:n] == 1).all() and np.allclose(sums, 1, atol=1e-6)):
        raise GameError("the probabilities of a policy must be at least 0 and add up to 1 in every information state")
    return policy


@jit
def _plan(form: Any, policy: Any) -> Any:
    """The probability that a player lets each of its sequences happen: the product of its own choices (realisation plan)."""
    plan = policy.copy()
    for i in range(len(form.player)):
        reach = plan[form.before[i]]
        for s in range(form.first[i], form.first[i + 1]):
            plan[s] *= reach
    return plan


@jit
def _gains(form: Any, plan: Any, player: int) -> Any:
    """What `player` gets at the ends that follow each of its sequences at once, weighted by chance and the others."""
    gains = np.zeros(len(plan))
    ends, players = form.last.shape
    for z in range(ends):
        gain = form.gain[z, player]
        if gain != 0.0:
            for other in range(players):
                if other != player:
                    gain *= plan[form.last[z, other]]
            gains[form.last[z, player]] += gain
    return gains


@jit
def _best(form: Any, gains: Any, player: int, policy: Any) -> None:
    """Add to each sequence what follows when `player` takes the best action (the first of equals); writes that policy."""
    for i in range(len(form.player) - 1, -1, -1):
        if form.player[i] == player:
            best = form.first[i]
            for s in range(form.first[i], form.first[i + 1]):
                policy[s] = 0.0
                if gains[s] > gains[best]:
                    best = s
            policy[best] = 1.0
            gains[form.before[i]] += gains[best]


@jit
def _cfr_plus(form: Any, regret: Any, current: Any, total: Any, begin: int, end: int) -> None:
    """Iterations `begin` to `end` of CFR+, the players in turn; `total` adds up their plans, weighted by the iteration."""
    for iteration in range(begin, end):
        for player in range(2):
            gains = _gains(form, _plan(form, current), player)
            for i in range(len(form.player) - 1, -1, -1):
                if form.player[i] == player:
                    value = 0.0
                    for s in range(form.first[i], form.first[i + 1]):
                        value += current[s] * gains[s]
                    for s in range(form.first[i], form.first[i + 1]):
                        regret[s] = max(regret[s] + gains[s] - value, 0.0)
                    gains[form.before[i]] += value
            _normalise(form, regret, current, player)
            plan = _plan(form, current)
            for i in range(len(form.player)):
                if form.player[i] == player:
                    for s in range(form.first[i], form.first[i + 1]):
                        total[s] += (iteration + 1) * plan[s]


@jit
def _normalise(form: Any, weights: Any, policy: Any, player: int) -> None:
    """Write the policy of `player` (-1: of all) that is proportional to `weights`, uniform where they are all 0."""
    for i in range(len(form.player)):
        if player < 0 or form.player[i] == player:
            first, after = form.first[i], form.first[i + 1]
            whole = 0.0
            for s in range(first, after):
                whole += weights[s]
            for s in range(first, after):
                policy[s] = weights[s] / whole if whole > 0 else 1.0 / (after - first)
