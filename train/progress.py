"""What a person sees of a training run: the time left and the figures that matter, and the same in TensorBoard."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from torch.utils.tensorboard import SummaryWriter

from agents.network import ROLES
from train.evaluation import PLAYERS, Evaluation, Evaluator

if TYPE_CHECKING:
    from train.ppo import Trainer

LINE_EVERY = 60.0
"""Seconds between lines where there is no terminal."""
STEADY = 300.0
"""Seconds over which the time left is estimated: evaluations and states come and go."""


def told(figures: dict[str, float]) -> list[str]:
    """The auction and the deals of an update in one line, the entropies in one; what did not occur is left out."""
    deals = {
        "deals declared": ("deals/declared", "{:.0%}"),
        "made": ("deals/made", "{:.0%}"),
        "calls that pass": ("auction/pass rate", "{:.0%}"),
        "mean bid": ("auction/mean bid", "{:.2f}"),
    }
    entropies = {f"entropy of {role}": (f"entropy/{role}", "{:.2f}") for role in ROLES}
    return [
        ", ".join(f"{what} {form.format(figures[name])}" for what, (name, form) in line.items() if name in figures)
        for line in (deals, entropies)
    ]


def bids(figures: dict[str, float]) -> list[tuple[str, float, float]]:
    """The tricks that contracts need, the share of the contracts that need them, and the share of these that are made."""
    needed = sorted(int(name.split("/")[1]) for name in figures if name.startswith("made/"))
    return [(str(n), figures[f"share/{n}"], figures[f"made/{n}"]) for n in needed]


class Reporter:
    """Shows a run of process 0; the other processes' reporters are silent.

    On a terminal the display is renewed in place; elsewhere, as in a log, it is a line a minute.
    """

    def __init__(self, trainer: Trainer, evaluator: Evaluator) -> None:
        self.trainer, self.shown = trainer, trainer.rank == 0
        self.figures: dict[str, float] = {}
        self.latest = {(e.rules, e.player): e for e in evaluator.found}

    def __enter__(self) -> Reporter:
        if self.shown:
            args, trainer = self.trainer.args, self.trainer
            # What a killed run has logged after the state that this one goes on from is hidden.
            purge = trainer.decisions() + 1 if args.resume else 0
            self.writer = SummaryWriter(str(args.out / "log"), purge_step=purge)
            self.writer.add_text("arguments", json.dumps(args.as_json(), indent=1))
            self.console = Console(stderr=True)
            self.bar = Progress(
                TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("updates"),
                TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), speed_estimate_period=STEADY,
            )  # fmt: skip
            self.task = self.bar.add_task("", total=trainer.updates, completed=trainer.update)
            self.live = Live(get_renderable=self.display, console=self.console, auto_refresh=False)
            self.printed = -LINE_EVERY
            if self.console.is_terminal:
                self.live.start()
        return self

    def show(self, figures: dict[str, float]) -> None:
        """One update's figures."""
        if not self.shown:
            return
        for name, number in figures.items():
            self.writer.add_scalar(name, number, self.trainer.decisions())
        self.figures = figures
        self.bar.update(self.task, completed=self.trainer.update)
        self.renew()

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        """What fixed players have shown."""
        for e in evaluations:
            for name, number in (("", e.mean), (" low", e.low), (" high", e.high)):
                self.writer.add_scalar(f"eval/{e.rules}/{e.player}{name}", number, e.decisions)
            self.latest[e.rules, e.player] = e
        self.renew()

    def renew(self) -> None:
        """Show what is known now."""
        if self.console.is_terminal:
            self.live.refresh()
        elif (now := time.perf_counter()) - self.printed >= LINE_EVERY or self.trainer.update == self.trainer.updates:
            self.printed = now
            self.console.print(self.line(), soft_wrap=True, highlight=False, markup=False)

    def line(self) -> str:
        """All in one line."""
        left = 0 if self.trainer.update == self.trainer.updates else self.bar.tasks[0].time_remaining
        parts = [
            f"{self.trainer.update:,}/{self.trainer.updates:,} updates",
            f"{'?' if left is None else timedelta(seconds=int(left))} left",
            f"{self.speed():,.0f} decisions a second",
            *told(self.figures),
            ", ".join(f"made of {needed}s {made:.0%}" for needed, _, made in bids(self.figures)),
            *(f"{rules} against {player} {evaluation}" for (rules, player), evaluation in self.latest.items()),
        ]
        return "; ".join(part for part in parts if part)

    def display(self) -> Group:
        """All as a small table under a bar."""
        parts: list[Any] = [self.bar.get_renderable(), f"{self.speed():,.0f} decisions a second", *told(self.figures)]
        if found := bids(self.figures):
            table = Table("tricks needed", *(needed for needed, _, _ in found), box=None, pad_edge=False)
            table.add_row("share of contracts", *(f"{share:.0%}" for _, share, _ in found))
            table.add_row("made", *(f"{made:.0%}" for _, _, made in found))
            parts.append(table)
        if self.latest:
            table = Table("advantage over", *PLAYERS, box=None, pad_edge=False)
            for rules in dict.fromkeys(rules for rules, _ in self.latest):
                table.add_row(rules, *(str(self.latest[rules, player]) for player in PLAYERS))
            parts.append(table)
        return Group(*parts)

    def speed(self) -> float:
        """Decisions a second of all processes so far, in training."""
        return self.trainer.decisions() / max(sum(self.trainer.seconds.values()), 1e-9)

    def __exit__(self, *_: Any) -> None:
        if self.shown:
            self.live.stop()
            self.writer.close()
            total = sum(self.trainer.seconds.values())
            shares = ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in self.trainer.seconds.items())
            print(f"{self.speed():,.0f} decisions a second in training: {shares}")
