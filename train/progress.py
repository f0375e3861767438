"""What a person sees of a training run: a progress bar with the figures that matter, and the same in TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text
from torch.utils.tensorboard import SummaryWriter

if TYPE_CHECKING:
    from train.ppo import Trainer


class _Bar(Progress):
    """A progress bar with a line of figures under it."""

    figures = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        yield Text(self.figures)


class Reporter:
    """Shows a run of process 0; the other processes' reporters are silent."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.shown = trainer, trainer.rank == 0

    def __enter__(self) -> Reporter:
        if self.shown:
            args = self.trainer.args
            self.writer = SummaryWriter(str(args.out / "log"))
            self.writer.add_text("arguments", json.dumps(args.as_json(), indent=1))
            self.bar = _Bar(
                TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("updates"),
                TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
                console=Console(stderr=True),
            )  # fmt: skip
            self.task = self.bar.add_task("", total=self.trainer.updates, completed=self.trainer.update)
            self.bar.start()
        return self

    def show(self, figures: dict[str, float]) -> None:
        """One update's figures."""
        if not self.shown:
            return
        decisions = self.trainer.update * self.trainer.decisions_per_update()
        for name, number in figures.items():
            self.writer.add_scalar(name, number, decisions)
        self.bar.figures = (
            f"{self.speed():,.0f} decisions a second; calls that pass {figures['auction/pass rate']:.2f}, "
            f"mean bid {figures['auction/mean bid']:.2f}; entropy of bids {figures['entropy/bidding']:.2f}, "
            f"declarer {figures['entropy/declarer']:.2f}, defenders {figures['entropy/defender']:.2f}"
        )
        self.bar.update(self.task, completed=self.trainer.update)

    def speed(self) -> float:
        """Decisions a second of all processes so far."""
        seconds = sum(self.trainer.seconds.values())
        return self.trainer.update * self.trainer.decisions_per_update() / max(seconds, 1e-9)

    def __exit__(self, *_: Any) -> None:
        if self.shown:
            self.bar.stop()
            self.writer.close()
            total = sum(self.trainer.seconds.values())
            shares = ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in self.trainer.seconds.items())
            print(f"{self.speed():,.0f} decisions a second in training: {shares}")
