"""The file of a tournament's results: appended to block by block, so that a run that was stopped goes on where it was.

JSON Lines: first the header (schedule, players' fingerprints, versions), then one line a block in order: "sums" (for each deal,
what the single of each ordered pair scored in all its seats, `Schedule.pair_sums`, times `Schedule.parts`), "tally" (a
`tables.TALLY` of every entrant), "played" (how many tables were played out), "lines" and "forfeits" (`tables.Played`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from napoleon_env.notation import shown

FORMAT: Final = 1
"""Of the file."""


class JournalError(ValueError):
    """A file that is not this tournament's; one sentence. It is left as it is."""


class Journal:
    """The file of results: its header is checked or written, whole lines are read, and new ones go to its end.

    A last line without its end was being written when a run was stopped; it is cut off.

    Raises:
        JournalError: it belongs to another schedule or version, or is no file of results; it is left as it is.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.header = {"napoleon_tournament": FORMAT, **header}
        if self.path.exists() and not self.path.is_file():
            raise JournalError(f"{self._name} cannot be opened: it is no file that can be appended to")
        try:
            self._file: BinaryIO = open(self.path, "r+b" if self.path.exists() else "x+b")  # noqa: SIM115  # open until `close`: a line is added after every block
        except OSError as error:
            raise JournalError(f"{self._name} cannot be opened: {error.strerror or error}") from None
        try:
            self._lock()
            self._check()
        except BaseException:
            self._file.close()
            raise

    @property
    def _name(self) -> str:
        return f"the file of results {shown(os.fspath(self.path), 200)}"

    def _lock(self) -> None:
        """Two runs that write to one file would spoil it."""
        with suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise JournalError(f"{self._name} is being written by another run") from None
            except OSError:
                return  # a file system without locks

    def _check(self) -> None:
        first = self._file.readline()
        if not first.endswith(b"\n"):
            if first and not json_line(self.header).startswith(first):
                raise JournalError(f"{self._name} is something else: it is left as it is")
            self._file.seek(0)
            self._file.truncate()
            self.append(self.header)
            return
        try:
            header = json.loads(first)
        except (ValueError, RecursionError):
            header = None
        if not isinstance(header, dict) or "napoleon_tournament" not in header:
            raise JournalError(f"{self._name} is something else: it is left as it is")
        for name in {**header, **self.header}:
            if header.get(name) != self.header.get(name):
                raise JournalError(
                    f"{self._name} is of another tournament: its {name} is {shown(header.get(name))}, "
                    f"here it is {shown(self.header.get(name))}"
                )

    def lines(self) -> Iterator[dict[str, Any]]:
        """The blocks that are there, in order; then the file stands at its end, ready to be appended to."""
        block = 0
        while True:
            start = self._file.tell()
            text = self._file.readline()
            if not text.endswith(b"\n"):
                self._file.seek(start)
                self._file.truncate()
                return
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                line = None
            if not isinstance(line, dict) or line.get("block") != block:
                raise self.damaged(block)
            yield line
            block += 1

    def damaged(self, block: int) -> JournalError:
        """The error for a line that should be this block and is not."""
        return JournalError(f"{self._name}: line {block + 2} is not block {block}; it is left as it is")

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one more line, and see it to the disk."""
        self._file.write(json_line(line))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def json_line(value: Mapping[str, Any]) -> bytes:
    """One line of JSON."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
