"""Measurements: what `napoleon bench` runs, each with the numbers to reach."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numba
import numpy as np
from rich.table import Table

from napoleon_env.notation import VERSION, shown
from napoleon_env.solver import speed


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

    @property
    def ratio(self) -> float | None:
        """The value in units of the one to reach."""
        return None if self.to_reach is None else self.value / self.to_reach

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "ratio": self.ratio}


@dataclass(frozen=True)
class Measurement:
    """What is measured and how; `run` takes the seconds to spend on each row."""

    what: str
    run: Callable[[float], Iterator[Row]]


SOLVER_TO_REACH: Final = {2: 400_000, 3: 40_000, 4: 14_000, 5: 6_000, 6: 2_000}
"""Deals a second of the double-dummy solver by number of players, all four trumps, german, one core."""


def _solver(seconds: float) -> Iterator[Row]:
    for players, to_reach in SOLVER_TO_REACH.items():
        deals, nodes = speed(players, seconds=seconds)
        yield Row(f"german, {players} players", deals, "deals/s", to_reach, {"positions a deal": nodes})


MEASUREMENTS: Final[dict[str, Measurement]] = {
    "solver": Measurement(
        "double-dummy deals a second, all four trumps, one core, with a table that some deals have filled before", _solver
    ),
}
"""By name; a new one is a function that yields rows, and a line here."""


def measure(name: str, *, seconds: float = 1.0) -> Iterator[Row]:
    """The rows of a measurement, one after another as they are measured.

    Args:
        name: of `MEASUREMENTS`.
        seconds: for each row, compiling and warming up not counted.

    Raises:
        BenchError: there is no such measurement, or `seconds` is not above 0 and at most 3600.
    """
    if name not in MEASUREMENTS:
        raise BenchError(f"there is no measurement {shown(name)}: there are {', '.join(MEASUREMENTS)}")
    if not 0 < seconds <= 3600:
        raise BenchError(f"seconds={shown(seconds)} must be above 0 and at most 3600")
    return MEASUREMENTS[name].run(seconds)


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "napoleon_env": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "load": load,
    }


def machine_text() -> str:
    """The same in a line."""
    facts = machine()
    load = "" if facts["load"] is None else f", load {facts['load']:.1f}"
    return f"{facts['platform']}, {facts['cores']} cores{load}, Python {facts['python']}, numba {facts['numba']}"


def rows_table(rows: list[Row]) -> Table:
    """Measured rows beside what is to be reached."""
    table = Table("measured", box=None, pad_edge=False, header_style="bold")
    for heading in ("value", "to reach", "ratio"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        to_reach = "" if row.to_reach is None else f"{row.to_reach:,.0f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(
            row.what,
            f"{row.value:,.0f} {row.unit}",
            to_reach,
            ratio,
            ", ".join(f"{n:,.4g} {what}" for what, n in row.more.items()),
        )
    return table


def list_table() -> Table:
    """The measurements there are."""
    table = Table("name", "what is measured", box=None, pad_edge=False, header_style="bold")
    for name, measurement in MEASUREMENTS.items():
        table.add_row(name, measurement.what)
    return table
