"""Search that an agent guides: what each action brings when all then play on as the agent would.

Worlds are drawn in proportion to how likely the agent would have made all calls and plays that the others made
(`belief.sample_worlds`), so what was said and played tells what they hold. In each of them, after each action that is worth a
look, the agent plays on for all seats, each from what that seat may know; the action with the best mean is taken. That is one
step of policy improvement (Tesauro and Galperin, "On-line policy improvement using Monte-Carlo search", NIPS 1996), in calls
and cards alike, and other than with the solver nobody sees what others hold.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env.agent import OnnxPlayer
from napoleon_env.belief import sample_worlds
from napoleon_env.jit import jit
from napoleon_env.match import View
from napoleon_env.notation import shown
from napoleon_env.players import StatesPlayer
from napoleon_env.roster import parse_spec
from napoleon_env.ruleset import Ruleset
from napoleon_env.search import SearchError, check_worlds, deal_worth

DEFAULT_WORLDS: Final = 512
CANDIDATES: Final = 3
"""Uniform worlds for each one that is kept by its likelihood."""
LEAST: Final = 0.002
"""Chance under the agent from which an action is worth a look."""
FIRST: Final = 64
"""Worlds of the first round; each further round doubles those there are."""
GIVEN_UP: Final = 3.0
"""Standard errors by which an action is behind the best one when it is given up."""
BETTER: Final = 1.0
"""Standard errors by which an action must be better than the agent's own to be taken."""


class GuidedPlayer(StatesPlayer):
    """An agent that looks ahead.

    Args:
        agent: an agent file, or the name of a released agent; a decision that it has no doubt about (LEAST) is its own.
        worlds: the most that are looked at for a decision: fewer where one action is soon seen to be the best.
        candidates: uniform worlds drawn for each one that is kept by its likelihood.

    Raises:
        RosterError, AgentError: there is no such agent.
        SearchError: an option out of range.
    """

    deterministic = False

    def __init__(self, *, agent: str, worlds: int = DEFAULT_WORLDS, candidates: int = CANDIDATES) -> None:
        spec = parse_spec(agent)
        if spec.kind != "agent" or spec.options:
            raise SearchError(f"agent={shown(agent)} must be an agent file or the name of a released agent")
        self.agent = OnnxPlayer(spec.name)
        self.worlds, self.candidates = check_worlds("worlds", worlds, 2), check_worlds("candidates", candidates)

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """The agent's action where it has no doubt, else what a search finds; worlds are drawn from the seeds alone."""
        chances = self.agent.probabilities_states(states, rules, seats)
        actions = chances.argmax(1)
        for i in np.flatnonzero((chances >= LEAST).sum(1) > 1):
            view, doubtful = View(rules, states[i : i + 1], int(seats[i])), np.flatnonzero(chances[i] >= LEAST)
            actions[i] = self._search(view, int(actions[i]), doubtful, np.random.default_rng(seeds[i]))
        return actions

    def _search(self, view: View, own: int, actions: np.ndarray, rng: np.random.Generator) -> int:
        """The best of some actions, or the agent's own where none is clearly better."""
        worths = np.empty((len(actions), 0))
        while (done := worths.shape[1]) < self.worlds and len(actions) > 1:
            number = min(max(done, FIRST), self.worlds - done)
            worlds = sample_worlds(view, number, rng, policy=self.agent, candidates=self.candidates)
            worths = np.concatenate([worths, self._play_out(worlds, view, actions)], 1)
            kept = ahead(worths, int(worths.mean(1).argmax())) > -GIVEN_UP
            actions, worths = actions[kept], worths[kept]
        if own not in actions:
            return int(actions[worths.mean(1).argmax()])
        first = int(np.flatnonzero(actions == own)[0])
        best = int(worths.mean(1).argmax())
        return int(actions[best]) if ahead(worths, first)[best] > BETTER else own

    def _play_out(self, worlds: np.ndarray, view: View, actions: np.ndarray) -> np.ndarray:
        """What comes of each action in each world when all then play as the agent does, float64 [actions, worlds]."""
        rules = view.rules
        states = np.tile(worlds, len(actions))
        rows, chosen, going = np.arange(len(states)), np.repeat(actions, len(worlds)), np.empty(len(states), np.int64)
        while n := _play_on(states, rules.struct, rows, chosen, going):
            rows = going[:n].copy()
            asked = states[rows]
            chosen = self.agent.act_states(asked, rules, asked["seat"].astype(np.int64), np.zeros(n, np.uint64))
        worths = np.empty(len(states))
        _worths(states, rules.struct, view.seat, worths)
        return worths.reshape(len(actions), len(worlds))


def ahead(worths: np.ndarray, other: int) -> np.ndarray:
    """By how many standard errors of the difference each row's mean is above that of row `other`; for itself, 0."""
    difference = worths - worths[other]
    error = np.maximum(difference.std(1, ddof=1) / worths.shape[1] ** 0.5, 1e-9)
    return difference.mean(1) / error


@jit
def _play_on(states: Any, rules: Any, rows: Any, actions: Any, going: Any) -> int:
    """Do `actions` in those rows and then what is forced; writes the rows that go on into `going` and returns how many."""
    n = 0
    for i in range(len(rows)):
        state = states[rows[i]]
        core.apply(state, rules[0], actions[i])
        if core.play_forced(state, rules[0]):
            going[n] = rows[i]
            n += 1
    return n


@jit
def _worths(states: Any, rules: Any, seat: int, worths: Any) -> None:
    for i in range(len(states)):
        worths[i] = deal_worth(states[i], rules[0], seat)
