"""What a measurement gives: rows of a number beside the one to reach, the machine that they depend on, a table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

import numpy as np
from rich.table import Table

from napoleon_env.report import versions


class BenchError(ValueError):
    """A measurement that there is not, or a setting out of range; one sentence that names it."""


@dataclass(frozen=True)
class Row:
    """One number measured, beside the one to reach."""

    what: str
    value: float
    unit: str
    to_reach: float | None = None
    more: Mapping[str, float] = field(default_factory=dict)
    """What else was counted, by its unit."""
    at_most: bool = False
    """Less is better: `to_reach` is a bound from above."""

    @property
    def ratio(self) -> float | None:
        """How well the value does in units of the one to reach: at least 1 where it is reached."""
        if self.to_reach is None:
            return None
        return self.to_reach / self.value if self.at_most else self.value / self.to_reach

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "ratio": self.ratio}


def rate(loop: Callable[[], int], seconds: float) -> float:
    """What a loop counts in a second of processor time; it is called once before the clock starts."""
    loop()
    count, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        count += loop()
    return count / spent


def any_legal(mask: np.ndarray, rng: Random) -> int:
    """A random one of the actions that a mask allows."""
    legal = mask.nonzero()[0]
    return int(legal[int(rng.random() * len(legal))])


def aec_loop(env: Any) -> Callable[[], int]:
    """Plays a game of PettingZoo's at random; a call plays it once and returns its number of decisions."""
    rng = Random(0)
    env.reset(seed=0)

    def loop() -> int:
        env.reset()
        decisions = 0
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else any_legal(observation["action_mask"], rng))
            decisions += not over
        return decisions

    return loop


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {**versions(), "cores": os.cpu_count(), "load": load}


def machine_text() -> str:
    """The same in a line."""
    facts = machine()
    load = "" if facts["load"] is None else f", load {facts['load']:.1f}"
    return f"{facts['platform']}, {facts['cores']} cores{load}, Python {facts['python']}, numba {facts['numba']}"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rows_table(rows: list[Row]) -> Table:
    """Measured rows beside what is to be reached."""
    table = Table("measured", box=None, pad_edge=False, header_style="bold")
    for heading in ("value", "to reach", "reached"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        to_reach = "" if row.to_reach is None else _amount(row.to_reach)
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(
            row.what,
            f"{_amount(row.value)} {row.unit}",
            to_reach,
            ratio,
            ", ".join(f"{n:,.4g} {what}" for what, n in row.more.items()),
        )
    return table
