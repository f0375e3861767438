"""Measurements: what `napoleon bench` runs, each with the numbers to reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rich.table import Table

from napoleon_env.bench.environments import environment_rows
from napoleon_env.bench.players import player_rows
from napoleon_env.bench.rows import BenchError, Row, machine, machine_text, rows_table
from napoleon_env.bench.tournaments import tournament_rows
from napoleon_env.notation import shown
from napoleon_env.solver import speed

__all__ = ["MEASUREMENTS", "BenchError", "Measurement", "Row", "list_table", "machine", "machine_text", "measure", "rows_table"]


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
    "environments": Measurement(
        "decisions a second of every way to step the game, german, 4 players, beside a floor and installed peers",
        environment_rows,
    ),
    "players": Measurement("microseconds a decision of the built-in players, by rule set and phase, one core", player_rows),
    "solver": Measurement(
        "double-dummy deals a second, all four trumps, one core, with a table that some deals have filled before", _solver
    ),
    "tournament": Measurement(
        "what the same interval needs less of: tables, where all are called and a part is played out; decisions of searching "
        "players, where tables have their random numbers in common",
        tournament_rows,
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


def list_table() -> Table:
    """The measurements there are."""
    table = Table("name", "what is measured", box=None, pad_edge=False, header_style="bold")
    for name, measurement in MEASUREMENTS.items():
        table.add_row(name, measurement.what)
    return table
