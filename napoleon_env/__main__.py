"""The `napoleon` command: one function a command, which imports what it needs when it is called.

Exit codes of all commands: 0 good, 1 a finding (such as a record that disagrees with the rules), 2 bad usage or input that
cannot be read as what it should be, 130 interrupted. Every error is one sentence on stderr.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from napoleon_env.ruleset import Ruleset

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Nap (Napoleon): the card game for reinforcement learning.",
)


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


Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the rule set, such as players=5 or misere=[3,3]."),
]


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Nap (Napoleon): the card game for reinforcement learning."""
    if version:
        from napoleon_env.notation import VERSION

        print(f"napoleon-env {VERSION}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)


@app.command()
def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help='Match records, one a line; "-" is standard input.')],
    as_json: Json = False,
) -> None:
    """Verify match records against the rules.

    Every line of every file is looked at. When all agree, it prints how many matches, deals and actions there are; else the
    first problem with its file, line (from 1), deal and action (from 0). Exit code 1: a record disagrees with the rules;
    2: something cannot be read as a record.
    """
    from napoleon_env.record import PlacedError, RecordError
    from napoleon_env.record import check as check_files

    report = check_files(*files)
    counts = {"matches": report.matches, "deals": report.deals, "actions": report.actions}

    def told(problem: PlacedError | None) -> dict[str, Any] | None:
        if problem is None:
            return None
        kind = "unreadable" if isinstance(problem, RecordError) else "disagreement"
        place = {"file": problem.path, "line": problem.line, "deal": problem.deal, "action": problem.action}
        return {"kind": kind, **place, "message": problem.sentence}

    if as_json:
        found = {"problems": report.problems, "first": told(report.first), "first_unreadable": told(report.first_unreadable)}
        print_json({"agree": report.first is None, "agreeing": counts, **found})
    elif report.first is None:
        print(f"{', '.join(f'{n} {what}' for what, n in counts.items())}: all agree")
    if report.first is None:
        return
    print_error(str(report.first))
    if report.first_unreadable not in (None, report.first):
        print_error(str(report.first_unreadable))
    if report.problems > 1:
        print_error(f"{report.problems} problems in all, and {report.matches} matches that agree")
    raise typer.Exit(report.exit_code)


@app.command()
def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Match records, one a line; "-" is standard input.')],
    match: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the match in line N of the file, counted from 1.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print matches of a file as a person reads them.

    Hands, auction, tricks, result; each match is verified before it is printed.
    """
    from napoleon_env.record import Disagreement, RecordError, read_record, read_records
    from napoleon_env.record import replay as play_again
    from napoleon_env.story import match_facts, match_text

    with refused(RecordError), refused(Disagreement, code=1):
        numbered = read_records(file) if match is None else [(match, read_record(file, match))]
        for line, record in numbered:
            try:
                played = play_again(record)
            except (RecordError, Disagreement) as problem:
                problem.path, problem.line = file, line
                raise
            notes = record.get("notes")
            if as_json:
                print_json({"line": line, **match_facts(played), "notes": notes})
                continue
            print(f"Match {line} of {printable(file)}")
            for name, value in (notes or {}).items():
                print(f"  {printable(name)}: {printable(value if isinstance(value, str) else json_text(value))}")
            print_story(f"{match_text(played, symbols=can_print('♠'))}\n")


@app.command()
def rules(
    preset: Annotated[str | None, typer.Argument(help="german, portuguese, russian or english; all of them without.")] = None,
    settings: Settings = None,
    as_json: Json = False,
) -> None:
    """Print the fields of rule sets.

    Of the four presets beside each other, or of one preset; with --set, before and after the changes.
    """
    from dataclasses import asdict

    from napoleon_env.ruleset import PRESETS

    if preset is None and settings:
        raise CommandError(
            "--set changes a rule set: name the preset it starts from, such as `napoleon rules german --set ...`"
        )
    shown = PRESETS if preset is None else {preset: make_ruleset(preset, settings)}
    if as_json:
        every = {name: {"header": ruleset.header, "fields": asdict(ruleset)} for name, ruleset in shown.items()}
        print_json(every if preset is None else every[preset])
        return
    fields = {name: asdict(ruleset) for name, ruleset in shown.items()}
    if preset is not None and settings:
        fields = {preset: asdict(PRESETS[preset]), "changed": fields[preset]}
    from rich.console import Console
    from rich.table import Table

    table = Table("field", *fields, box=None, pad_edge=False, header_style="bold")
    for field in next(iter(fields.values())):
        values = [setting_text(every[field]) for every in fields.values()]
        table.add_row(field, *values, style="bold" if settings and len(set(values)) > 1 else None)
    Console(highlight=False, soft_wrap=True).print(table)


@app.command()
def tournament(
    players: Annotated[
        list[str],
        typer.Option(
            "--players",
            metavar="SPECS",
            help="Who takes part, with commas between: random, rule, path.onnx, module:name, pimc:worlds=100, cmd:program; "
            '"SPEC as NAME" gives a name.',
        ),
    ],
    preset: Annotated[str, typer.Option("--rules", metavar="PRESET", help="german, portuguese, russian, english.")] = "german",
    settings: Settings = None,
    seats: Annotated[int | None, typer.Option(metavar="N", help="Players at a table; the same as --set players=N.")] = None,
    deals: Annotated[int, typer.Option(metavar="N", help="Deals (matches, where one has several) for every table.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Names the deals and all randomness.")] = 1,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Processes; all cores without.")] = None,
    results: Annotated[
        str | None, typer.Option(metavar="FILE", help="File of results that is appended to; an interrupted run goes on there.")
    ] = None,
    error: Annotated[
        float | None, typer.Option("--until", metavar="ERROR", help="Stop when the order is certain at this error: 0.05, say.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(metavar="S", help="Time for one decision; who exceeds it forfeits.")] = None,
    json_file: Annotated[str | None, typer.Option("--json", metavar="FILE", help='JSON for programs; "-" prints it.')] = None,
    csv_file: Annotated[str | None, typer.Option("--csv", metavar="FILE", help="The cross table as CSV.")] = None,
    html_file: Annotated[str | None, typer.Option("--html", metavar="FILE", help="A page to look at.")] = None,
) -> None:
    """Play duplicate deals in all seats and say who plays better, by how much and how sure that is."""
    from napoleon_env import report
    from napoleon_env.roster import RosterError, split_specs
    from napoleon_env.schedule import ScheduleError
    from napoleon_env.tournament import TournamentError, run_tournament, swing_records

    specs = [spec for text in players for spec in split_specs(text)]
    ruleset = make_ruleset(preset, [*(settings or ()), *([] if seats is None else [f"players={seats}"])])
    with refused(RosterError, ScheduleError, TournamentError), report.progress() as on_block:
        result = run_tournament(
            specs, rules=ruleset, deals=deals, seed=seed, workers=workers or os.cpu_count() or 1, file=results,
            seconds=seconds, error=error, on_block=on_block,
        )  # fmt: skip
    command = shlex.join(["napoleon", *sys.argv[1:]])
    if json_file != "-":
        report.print_result(result)
    else:
        print_json(report.to_json(result, command=command))
    if json_file not in (None, "-"):
        with open(json_file, "w", encoding="utf-8") as file:
            file.write(json.dumps(report.to_json(result, command=command), indent=1) + "\n")
    if csv_file is not None:
        report.write_csv(result, csv_file)
    if html_file is not None:
        report.write_html(result, html_file, command=command, swings=swing_records(result, specs, seconds=seconds))


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


# The way in and out.


def run(arguments: Sequence[str] | None) -> int:
    """Run one command and return its exit code; what a user can cause is a sentence on stderr."""
    command = typer.main.get_command(app)
    try:
        result = command.main(None if arguments is None else list(arguments), prog_name="napoleon", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except CommandError as error:
        print_error(str(error))
        return error.code
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except (BrokenPipeError, SystemExit):  # the reader of our output has gone, as `head` does; typer makes it an exit
        leave_pipe()
        return 141
    except OSError as error:
        print_error(f"{error.filename or 'the output'}: {error.strerror or error}")
        return 2
    except Exception as error:
        explain = getattr(error, "format_message", None)  # of typer's usage errors, whose class has moved between its versions
        if explain is None:
            raise
        sentence = " ".join(explain().split()).rstrip(".")
        print_error(f"{sentence[:1].lower()}{sentence[1:]}; `napoleon --help` tells how it is used")
        return 2


def leave_pipe() -> None:
    """Point standard output elsewhere, so that Python's own flush at the end has nothing to complain of."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point of `napoleon`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
