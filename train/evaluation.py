"""How the policy fares against fixed players while it is trained: small duplicate tournaments, always of the same deals."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from napoleon_env.agent import OnnxPlayer
from napoleon_env.ruleset import Ruleset
from napoleon_env.tournament import run_tournament

PLAYERS = ("rule", "counting")
"""Whom the policy meets."""
DEALS = 600
"""Of an evaluation: each number of players divides it."""
SEED = 20
"""Of these deals; a tournament of another seed is not biased by what was chosen by evaluations."""
MOST = 0.03
"""Share of the time that evaluations may take."""


class Evaluation(NamedTuple):
    """The policy's advantage over a fixed player, in points a match, with its 95 % interval."""

    decisions: int
    """After how many of training."""
    rules: str
    player: str
    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ± {self.mean - self.low:.2f}"


def title(rules: Ruleset) -> str:
    """Such as "german-4"."""
    return f"{rules.preset}-{rules.players}"


def read_evaluations(folder: Path) -> list[Evaluation]:
    """Those of a run, in their order."""
    path = folder / "evaluations.jsonl"
    return [Evaluation(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


class Evaluator:
    """Evaluates one rule set after another, for a small part of the time.

    Args:
        rule_sets: at least one.
        every: seconds from one to the next; 0 for never.
        folder: of the run; `evaluations.jsonl` in it holds them all.
        decisions: of the state that is gone on from, or 0; what is there of later ones is of a run that was killed and is
            forgotten.
    """

    def __init__(self, rule_sets: Sequence[Ruleset], every: float, folder: Path, decisions: int) -> None:
        self.rule_sets, self.every, self.folder = rule_sets, every, folder
        self.found = [evaluation for evaluation in read_evaluations(folder) if evaluation.decisions <= decisions]
        self.turn = 0
        self.resting_until = time.perf_counter() + every

    def due(self) -> bool:
        """Whether the time for the next one has come."""
        return self.every > 0 and time.perf_counter() >= self.resting_until

    def next(self, agent: Path, decisions: int) -> list[Evaluation]:
        """Play the rule set whose turn it is against each of PLAYERS.

        Args:
            agent: file of the policy.
            decisions: that it was trained for.
        """
        start, rules = time.perf_counter(), self.rule_sets[self.turn % len(self.rule_sets)]
        self.turn += 1
        now = evaluate(agent, rules, decisions)
        self._add(now)
        end = time.perf_counter()
        rest = (end - start) / MOST if self.turn > 1 else 0.0  # the first one compiles
        self.resting_until = end + max(self.every, rest)
        return now

    def all(self, agent: Path, decisions: int) -> list[Evaluation]:
        """The same with every rule set."""
        now = [evaluation for rules in self.rule_sets for evaluation in evaluate(agent, rules, decisions)]
        self._add(now)
        return now

    def _add(self, now: list[Evaluation]) -> None:
        self.found += now
        path = self.folder / "evaluations.jsonl"
        partial = path.with_suffix(".partial")
        partial.write_text("".join(json.dumps(evaluation._asdict()) + "\n" for evaluation in self.found))
        os.replace(partial, path)


def evaluate(agent: Path, rules: Ruleset, decisions: int) -> list[Evaluation]:
    """The policy's advantage over each of PLAYERS, on DEALS deals, or as many matches as have so many."""
    policy, found = OnnxPlayer(agent), []
    matches = max(rules.players, DEALS // rules.deals)
    for player in PLAYERS:
        result = run_tournament([("policy", policy), player], rules=rules, deals=matches, seed=SEED)
        edge = result.edges()[0, 1]
        found.append(Evaluation(decisions, title(rules), player, edge.mean, edge.low, edge.high))
    return found
