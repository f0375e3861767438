"""What the commands of `__main__` share: input that is refused in a sentence, files that are not to be lost, and printing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import RenderableType

    from napoleon_env.ruleset import Ruleset


class CommandError(Exception):
    """Ends the command with one sentence on stderr and an exit code."""

    def __init__(self, sentence: str, code: int = 2) -> None:
        super().__init__(sentence)
        self.code = code


@contextmanager
def refused(*errors: type[Exception], code: int = 2) -> Iterator[None]:
    """Turn errors of these kinds, whose text is one sentence, into the end of the command."""
    try:
        yield
    except errors as error:
        raise CommandError(str(error), code) from None


# Input.


def read_json(path: str) -> Any:
    """The JSON value in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise CommandError(f"{path} cannot be read as JSON: {getattr(error, 'strerror', None) or error}") from None


HTML_BEGINS: Final = "<!doctype html>"
CSV_BEGINS: Final = "player,opponents,"
JSON_BEGINS: Final = ('{\n "schedule"', '{"napoleon_task"')
"""How the files begin that `tournament` writes."""


def check_writable(option: str, path: str, *beginnings: str) -> None:
    """End the command if a file that an option names cannot be written; before the work whose outcome it is to hold.

    A file that is there already is replaced only if it begins as what is to be written does.
    """
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise CommandError(f"{option} {path}: there is no folder {folder}")
    if not path or os.path.isdir(path):
        raise CommandError(f"{option} {path or repr(path)}: this is a folder, not a file to write")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise CommandError(f"{option} {path}: it may not be written")
    if os.path.isfile(path) and os.path.getsize(path):
        with open(path, "rb") as file:
            there = file.read(100)
        if not any(there.startswith(beginning.encode()) for beginning in beginnings):
            raise CommandError(f"{option} {path}: this is there already and is something else, so it is left as it is")


def check_outputs(results: str | None, json_file: str | None, csv_file: str | None, html_file: str | None) -> None:
    """`check_writable` for the files of a tournament, no two of which may be one."""
    begins = {"--json": JSON_BEGINS, "--csv": (CSV_BEGINS,), "--html": (HTML_BEGINS,)}
    paths = {} if results is None else {os.path.realpath(results): "--results"}
    for (option, beginnings), path in zip(begins.items(), (json_file, csv_file, html_file), strict=True):
        if path is None or (option, path) == ("--json", "-"):
            continue
        check_writable(option, path, *beginnings)
        other = paths.setdefault(os.path.realpath(path), option)
        if other != option:
            raise CommandError(f"{other} and {option} name the same file, {path}")


def words(text: str) -> list[str]:
    """Words with spaces or commas between."""
    return text.replace(",", " ").split()


def make_ruleset(preset: str, settings: Sequence[str] | None = None) -> Ruleset:
    """The rule set of a preset's name and texts such as "players=5"; ends the command if there is none."""
    from napoleon_env.ruleset import Ruleset, RulesetError, parse_changes

    with refused(RulesetError):
        changes = parse_changes(settings or ())
        if "preset" in changes:
            raise RulesetError("--set preset: the preset is named before, it is not a field of a rule set")
        return Ruleset.make({"preset": preset, **changes})


def setting_text(value: Any) -> str:
    """A field's value as `--set` reads it."""
    if isinstance(value, tuple):
        return f"[{','.join(str(number) for number in value)}]"
    return {None: "none", True: "yes", False: "no"}[value] if value is None or isinstance(value, bool) else str(value)


# Printing.


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(json_text(value))


def json_text(value: Any) -> str:
    """A value as one line of JSON."""
    try:
        return json.dumps(value)
    except RecursionError:
        raise CommandError("a note is nested too deep to print") from None


def print_error(sentence: str) -> None:
    """Print one line on stderr."""
    with suppress(BrokenPipeError):
        print(f"napoleon: {printable(sentence)}", file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """A text of the user's on one line, with what no terminal should get written as escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def can_print(text: str) -> bool:
    """Whether standard output takes these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_story(text: str) -> None:
    """Print text with cards in it; on a terminal that has colours, red suits are red and headings bold."""
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    story = Text(text)
    story.highlight_regex(r"[2-9TJQKA][♥♦]", "red")
    story.highlight_regex(r"[♥♦]( [2-9TJQKA-])*", "red")
    story.highlight_regex(r"(?m)^(Deal \d+|The match is \w+)", "bold")
    story.highlight_regex(r"(?m)^  (auction|contract|trick  .*|result|payoffs|scores|pot|stock|seat \d  ) ", "dim")
    Console(highlight=False, soft_wrap=True).print(story)


def print_table(table: RenderableType) -> None:
    """Print a table, or text and tables; what reads it through a pipe gets all of its columns, however wide."""
    from rich.console import Console

    Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 250).print(table)
