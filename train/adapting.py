"""What the scripts for other libraries share: their arguments, the clock, and the end: an agent file and its tournament.

Each script trains with its library's own collector, networks and update, always through masks (an illegal action raises), and
says at its top which version it was tested with and what it has to work around.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import torch
from torch import nn

from agents.export import save_layers
from napoleon_env.agent import OnnxPlayer
from napoleon_env.console import print_table
from napoleon_env.players import Player
from napoleon_env.report import terminal
from napoleon_env.ruleset import Ruleset
from napoleon_env.statistics import LEVEL, Estimate
from napoleon_env.tournament import run_tournament
from train.ppo import fitting_reward

SUIT_ORDER = "canonical"
"""Of all environments here: nothing has to be learnt four times."""


@dataclass
class Args:
    """What a run is."""

    rules: str = "german"
    """Preset of the rule set."""
    players: int = 4
    """Number of seats, 2 to 6."""
    minutes: float = 3.0
    """Time for training."""
    seed: int = 0
    """Of the network, the deals and the actions."""
    out: Path = Path("runs/adapter")
    """Folder for agent.onnx and what the library itself writes."""
    deals: int = 1000
    """Of the tournament at the end."""

    @property
    def ruleset(self) -> Ruleset:
        """The rules that are played."""
        return Ruleset.make(self.rules, players=self.players)

    @property
    def reward(self) -> str:
        """What is learnt from."""
        return fitting_reward(self.ruleset)


def begin(args: Args) -> None:
    """Seed torch, keep it to one thread (networks this small lose by more), and make the folder."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)


class Clock:
    """Counts decisions until the time is over."""

    def __init__(self, minutes: float) -> None:
        self.start, self.seconds, self.decisions = time.perf_counter(), 60 * minutes, 0

    @property
    def running(self) -> bool:
        """Whether there is time left."""
        return time.perf_counter() < self.start + self.seconds

    def count(self, decisions: int) -> bool:
        """Add decisions that the learner has taken; whether there is time left."""
        self.decisions += decisions
        return self.running

    @property
    def speed(self) -> float:
        """Decisions a second so far."""
        return self.decisions / (time.perf_counter() - self.start)


class Evaluation(NamedTuple):
    """How a trained player fares in duplicate deals, in points a deal."""

    random: Estimate
    """Its advantage over random play."""
    rule: Estimate
    """Its advantage over the rule of thumb."""
    decisions_per_second: float
    """Of training."""

    @property
    def p_random(self) -> float:
        """One-sided probability of so large an advantage, or a larger one, if random play were as good."""
        z = NormalDist().inv_cdf((1 + LEVEL) / 2)  # Student's t is normal at these numbers of deals
        return NormalDist().cdf(-self.random.mean / max(self.random.half_width / z, 1e-9))


def evaluate(player: str | Player, args: Args, clock: Clock) -> Evaluation:
    """Play a tournament against random and the rule of thumb, print it, and keep it in `args.out`/evaluation.json."""
    entrants: list[tuple[str, str | Player]] = [("trained", player), ("rule", "rule"), ("random", "random")]
    result = run_tournament(entrants, rules=args.ruleset, deals=args.deals)
    print_table(terminal(result))
    edges = result.edges()
    found = Evaluation(random=edges[0, 2], rule=edges[0, 1], decisions_per_second=clock.speed)
    print(f"{clock.decisions:,} decisions, {clock.speed:,.0f} a second; no better than random: p = {found.p_random:.1g}")
    numbers = {"random": found.random.json, "rule": found.rule.json, "p_random": found.p_random}
    text = json.dumps({**numbers, "decisions": clock.decisions, "decisions_per_second": math.floor(clock.speed)}, indent=1)
    (args.out / "evaluation.json").write_text(text + "\n")
    return found


def finish(layers: Iterable[nn.Module], args: Args, clock: Clock) -> Evaluation:
    """Write the policy's layers (`agents.export.save_layers`) to `args.out`/agent.onnx, and evaluate that file."""
    path = args.out / "agent.onnx"
    training: dict[str, Any] = {**asdict(args), "out": str(args.out), "decisions": clock.decisions}
    save_layers(path, layers, [args.ruleset], SUIT_ORDER, training=training)
    return evaluate(OnnxPlayer(path), args, clock)
