"""Search that an agent guides: the network calls, and its policy says which worlds are likely and which cards are worth a look.

In the play, worlds are drawn in proportion to how likely the agent would have made all calls and plays that the others made
(`belief.sample_worlds`), so what was said and played tells what they hold; each card's mean over them is then compared, with
the agent's own preference as a prior. Everything before the play is the agent's own decision.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env.agent import OnnxPlayer
from napoleon_env.belief import CANDIDATES, sample_worlds
from napoleon_env.match import View
from napoleon_env.notation import N_CARDS, PLAY, shown
from napoleon_env.roster import parse_spec
from napoleon_env.ruleset import Ruleset
from napoleon_env.search import Decision, EpimcPlayer, SearchError
from napoleon_env.solver import DEFAULT_MEMORY

PRIOR: Final = 0.1


class GuidedPlayer(EpimcPlayer):
    """An agent that looks ahead in the play.

    Args:
        agent: an agent file, or the name of a released agent.
        worlds, time_ms, memory, inner: as for `EpimcPlayer`; cards are open at once by default.
        candidates: worlds drawn for each that is kept by its likelihood.
        prior: what a factor of e in the agent's probability of a card counts for, in stakes.

    Raises:
        RosterError, AgentError: there is no such agent.
        SearchError, SolverError: an option out of range.
    """

    def __init__(
        self,
        *,
        agent: str,
        worlds: int | None = None,
        time_ms: float | None = None,
        inner: int = 0,
        candidates: int = CANDIDATES,
        prior: float = PRIOR,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        super().__init__(worlds=worlds, time_ms=time_ms, inner=inner, memory=memory)
        spec = parse_spec(agent)
        if spec.kind != "agent" or spec.options:
            raise SearchError(f"agent={shown(agent)} must be an agent file or the name of a released agent")
        self.agent = OnnxPlayer(spec.name)
        if isinstance(prior, bool) or not isinstance(prior, (int, float)) or not 0 <= prior <= 100:
            raise SearchError(f"prior={shown(prior)} must be a number from 0 to 100")
        self.candidates, self.prior = candidates, float(prior)

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """The agent's action before the play, and in the play the card with the best mean and prior."""
        actions = self.agent.act_states(states, rules, seats, seeds)
        for i in np.flatnonzero(states["phase"] == core.TRICKS):
            actions[i] = self._decide(states[i : i + 1], rules, int(seats[i]), seeds[i])
        return actions

    def fill(self, state: np.ndarray, rules: Ruleset, seat: int, word: Any, worlds: np.ndarray) -> bool:
        """Worlds as likely as the agent would have done what the others did."""
        view = View(rules, state, seat)
        worlds[:] = sample_worlds(view, len(worlds), np.random.default_rng(word), policy=self.agent, candidates=self.candidates)
        return True

    def _card(self, decision: Decision) -> int:
        payoffs, tricks = decision.postponed_sums(self.inner) if self.inner else decision.card_sums()
        if self.prior:
            view = View(decision.rules, decision.state.reshape(1), decision.seat)
            likely = np.maximum(self.agent.probabilities(view)[PLAY : PLAY + N_CARDS], 1e-9)
            sign = 1 if decision.state["declarer"] == decision.seat else -1
            payoffs = payoffs + sign * self.prior * decision.rules.stake * len(decision.worlds) * np.log(likely)
        return decision.best_card(payoffs, tricks)
