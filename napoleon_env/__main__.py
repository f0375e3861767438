"""The `napoleon` command: one function a command, which imports what it needs when it is called.

Exit codes of all commands: 0 good, 1 a finding (such as a record that disagrees with the rules), 2 bad usage or input that
cannot be read as what it should be, 130 interrupted. Every error is one sentence on stderr.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from napoleon_env.console import (
    HTML_BEGINS,
    CommandError,
    can_print,
    check_outputs,
    check_writable,
    json_text,
    make_ruleset,
    print_error,
    print_json,
    print_story,
    print_table,
    printable,
    read_json,
    refused,
    setting_text,
    words,
)

if TYPE_CHECKING:
    from napoleon_env.match import Match
    from napoleon_env.ruleset import Ruleset

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Nap (Napoleon): the card game for reinforcement learning.",
)


Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the rule set, such as players=5 or misere=[3,3]."),
]

UnknownStock = Annotated[
    bool, typer.Option("--unknown-stock", help="Value an exchange by all cards that may be drawn, not by the stock's top card.")
]
Memory = Annotated[int | None, typer.Option(metavar="MIB", help="Of the solver's table; 16 without. It never outgrows them.")]
TimeMs = Annotated[
    float | None, typer.Option("--time-ms", metavar="MS", help="For one decision; what is not exact then says so.")
]
Language = Annotated[str | None, typer.Option("--lang", metavar="LANG", help="en, de, pt, ru; the rule text's own without.")]


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
    from napoleon_env.story import match_facts, match_text

    for line, record, played in matches_of(file, match):
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
    from rich.table import Table

    table = Table("field", *fields, box=None, pad_edge=False, header_style="bold")
    for field in next(iter(fields.values())):
        values = [setting_text(every[field]) for every in fields.values()]
        table.add_row(field, *values, style="bold" if settings and len(set(values)) > 1 else None)
    print_table(table)


@app.command()
def tournament(
    context: typer.Context,
    players: Annotated[
        list[str] | None,
        typer.Option(
            "--players",
            metavar="SPECS",
            help="Who takes part, with commas between: random, rule, path.onnx, module:name, pimc:worlds=100, cmd:program, "
            'split:bidding=SPEC,declarer=SPEC,defender=SPEC; "SPEC as NAME" gives a name.',
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="Measure one player in a named task (german-4, …); the result is JSON.")
    ] = None,
    verify: Annotated[
        str | None, typer.Option(metavar="FILE", help="Measure the player of a task's result again and compare the numbers.")
    ] = None,
    preset: Annotated[str, typer.Option("--rules", metavar="PRESET", help="german, portuguese, russian, english.")] = "german",
    settings: Settings = None,
    seats: Annotated[int | None, typer.Option(metavar="N", help="Players at a table; the same as --set players=N.")] = None,
    deals: Annotated[int, typer.Option(metavar="N", help="Deals (matches, where one has several) for every table.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Names the deals and all randomness.")] = 1,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Processes; all cores without.")] = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="processes of this machine, or ray: a Ray cluster.")
    ] = "processes",
    address: Annotated[
        str | None, typer.Option(metavar="ADDR", help="Of a running Ray cluster, all of whose CPUs play; else a local one.")
    ] = None,
    results: Annotated[
        str | None, typer.Option(metavar="FILE", help="File of results that is appended to; an interrupted run goes on there.")
    ] = None,
    error: Annotated[
        float | None, typer.Option("--until", metavar="ERROR", help="Stop when the order is certain at this error: 0.05, say.")
    ] = None,
    share: Annotated[
        float, typer.Option(metavar="S", help="Play out about this part of the tables; the others are only called: 0.02, say.")
    ] = 1.0,
    losses: Annotated[
        bool, typer.Option("--losses", help="Count what every card gives away against open cards (double dummy).")
    ] = False,
    common_random_numbers: Annotated[
        bool,
        typer.Option(
            "--common-random-numbers",
            help="At all tables of a deal that have come to the same position a player does the same, and is asked once: "
            "quicker with players that search, and what two of them call alike cancels out.",
        ),
    ] = False,
    seconds: Annotated[float | None, typer.Option(metavar="S", help="Time for one decision; who exceeds it forfeits.")] = None,
    json_file: Annotated[str | None, typer.Option("--json", metavar="FILE", help='JSON for programs; "-" prints it.')] = None,
    csv_file: Annotated[str | None, typer.Option("--csv", metavar="FILE", help="The cross table as CSV.")] = None,
    html_file: Annotated[str | None, typer.Option("--html", metavar="FILE", help="A page to look at.")] = None,
) -> None:
    """Play duplicate deals in all seats and say who plays better, by how much and how sure that is."""
    from napoleon_env import report
    from napoleon_env.cluster import ClusterError
    from napoleon_env.journal import JournalError
    from napoleon_env.roster import RosterError, split_specs
    from napoleon_env.schedule import ScheduleError
    from napoleon_env.tournament import MOST_ERROR, TournamentError, run_tournament, swing_records

    check_outputs(results, json_file, csv_file, html_file)
    if error is not None and not 0 < error < MOST_ERROR:
        raise CommandError(f"--until {error:g} must be between 0 and {MOST_ERROR}")
    if address is not None and workers is not None:
        raise CommandError("--workers does not go with --address: all CPUs of that cluster play")
    specs = [spec for text in players or () for spec in split_specs(text)]
    if task is not None or verify is not None:
        check_task_options(context, "task" if verify is None else "verify")
        run_task(task or "", specs, verify, workers=workers, results=results, json_file=json_file)
        return
    ruleset = make_ruleset(preset, [*(settings or ()), *([] if seats is None else [f"players={seats}"])])
    with refused(RosterError, ScheduleError, JournalError, ClusterError, TournamentError), report.progress() as on_block:
        result = run_tournament(
            specs, rules=ruleset, deals=deals, seed=seed, file=results,
            workers=(os.cpu_count() or 1) if workers is None else workers, engine=engine, address=address,
            seconds=seconds, error=error, share=share, losses=losses, common_random_numbers=common_random_numbers,
            on_block=on_block,
        )  # fmt: skip
    command = shlex.join(["napoleon", *sys.argv[1:]])
    if json_file != "-":
        print_table(report.terminal(result))
    else:
        print_json(report.to_json(result, command=command, file=results))
    if json_file not in (None, "-"):
        with open(json_file, "w", encoding="utf-8") as file:
            file.write(json.dumps(report.to_json(result, command=command, file=results), indent=1) + "\n")
    if csv_file is not None:
        report.write_csv(result, csv_file)
    if html_file is not None:
        report.write_html(result, html_file, command=command, swings=swing_records(result, specs, seconds=seconds))


@app.command()
def solve(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help='Match records, one a line; "-" is standard input.')
    ] = None,
    match: Annotated[int | None, typer.Option(min=1, metavar="N", help="Line of the file, counted from 1; 1 without.")] = None,
    deal: Annotated[int | None, typer.Option(min=0, metavar="D", help="Deal of the match, counted from 0; 0 without.")] = None,
    action: Annotated[
        int | None,
        typer.Option(min=0, metavar="A", help="Action of the deal, counted from 0; without, the first after the auction."),
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--rules", metavar="PRESET", help="german (without), portuguese, russian, english.")
    ] = None,
    settings: Settings = None,
    hands: Annotated[
        list[str] | None, typer.Option(metavar="CARDS", help='Instead of a file: "AS KS QS 3H 2D", once for each seat.')
    ] = None,
    dealer: Annotated[int | None, typer.Option(metavar="SEAT", help="Who deals; the last seat without.")] = None,
    declarer: Annotated[int | None, typer.Option(metavar="SEAT", help="Who plays alone, or may come to.")] = None,
    contract: Annotated[
        str | None, typer.Option(metavar="CALL", help='"bid 3", misere, ...; without, what every contract is worth.')
    ] = None,
    trump: Annotated[str | None, typer.Option(metavar="SUIT", help="C, D, H or S, where the declarer chooses it.")] = None,
    stock: Annotated[str | None, typer.Option(metavar="CARDS", help="The undealt cards from the top, or the first.")] = None,
    pot: Annotated[int | None, typer.Option(metavar="N", help="What lies in the pot before this deal's antes.")] = None,
    then: Annotated[
        str | None, typer.Option(metavar="ACTIONS", help='Decisions after the auction, with commas: "napoleon, stand, AS".')
    ] = None,
    unknown_stock: UnknownStock = False,
    memory: Memory = None,
    time_ms: TimeMs = None,
    as_json: Json = False,
) -> None:
    """Print what every choice is worth with open cards (double dummy).

    At a place in a record (FILE --match N --deal D --action A), or in hands typed here (--hands for each seat, --dealer,
    --declarer, --contract). Payoff is what the declarer is paid for the deal, tricks what the declarer takes when both sides
    care for tricks alone; loss is what a choice gives away. In an auction it is every contract, to the seat that is to call
    or to --declarer.
    """
    from napoleon_env import analysis
    from napoleon_env.match import DealError
    from napoleon_env.solver import DEFAULT_MEMORY, Solver, SolverError

    places = {"--match": match, "--deal": deal, "--action": action}
    cards = {
        "--rules": preset, "--set": settings, "--hands": hands, "--dealer": dealer, "--contract": contract,
        "--trump": trump, "--stock": stock, "--pot": pot, "--then": then,
    }  # fmt: skip
    for name, value in (cards if file is not None else places).items():
        if value is not None:
            goes, not_with = ("--hands", "a file") if file is not None else ("a file", "--hands")
            raise CommandError(f"{name} goes with {goes}, not with {not_with}")
    with refused(analysis.AnalysisError, DealError, SolverError):
        done, where = None, {}
        if file is not None:
            where = {"file": file, "line": match or 1, "deal": deal or 0}
            ((_, _, played),) = matches_of(file, match or 1)
            position, done = analysis.place(played, deal=deal or 0, action=action)
            where["action"] = len(position.log)
            if declarer is not None and position.phase != "auction":
                raise CommandError("--declarer goes with a place in an auction, or with --hands")
        elif hands:
            position = typed_position(
                make_ruleset(preset or "german", [f"players={len(hands)}", *(settings or ())]),
                hands=hands, dealer=dealer, declarer=declarer, contract=contract, trump=trump, stock=stock, pot=pot, then=then,
            )  # fmt: skip
        else:
            raise CommandError("name a file of records, or give --hands once for each seat")
        solver = Solver(memory=DEFAULT_MEMORY if memory is None else memory)
        solution = analysis.worth(position, solver, seat=declarer, unknown_stock=unknown_stock, time_ms=time_ms)
    if as_json:
        print_json({**where, **analysis.solution_facts(position, solution, chosen=done, unknown_stock=unknown_stock)})
        return
    if where:
        print(f"Match {where['line']} of {printable(where['file'])}, deal {where['deal']}, action {where['action']}")
    print_story(f"{analysis.position_text(position, symbols=can_print('♠'))}\n")
    if position.phase == "auction":
        print(f"Worth of every contract to seat {solution.seat} as declarer:")
    print_table(analysis.solution_table(solution, counts_tricks=analysis.wants_tricks(position), chosen=done))
    if analysis.stock_used(position, unknown=unknown_stock) == "unknown":
        print("An exchange draws any card that is in no hand, all equally likely.")
    if not solution.exact:
        print("Not exact: the time was over first, and some values are only what the declarer was seen to be sure of.")


@app.command()
def analyse(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Match records, one a line; "-" is standard input.')],
    match: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Every decision of the match in line N, counted from 1.")
    ] = None,
    unknown_stock: UnknownStock = False,
    memory: Memory = None,
    time_ms: TimeMs = None,
    as_json: Json = False,
) -> None:
    """Tell what each decision cost against open cards (double dummy), by role.

    The decisions after the auction: announcement, exchange, trump and every card. A loss is in what the declarer is paid,
    whoever gave it away. Of all matches of a file it prints the sums; with --match each decision of one.
    """
    from napoleon_env import analysis
    from napoleon_env.solver import DEFAULT_MEMORY, Solver, SolverError

    total, told = analysis.Analysis(), []
    with refused(SolverError):
        solver = Solver(memory=DEFAULT_MEMORY if memory is None else memory)
        for _, _, played in matches_of(file, match):
            total.matches += 1
            for number, deal in enumerate(analysis.deals_of(played)):
                decisions = analysis.analyse(deal, solver, unknown_stock=unknown_stock, time_ms=time_ms)
                total.add(decisions)
                if match is not None:
                    told.append((analysis.deal_facts(number, deal, decisions), decisions))
    if as_json:
        one = {} if match is None else {"line": match, "played": [facts for facts, _ in told]}
        print_json({"file": file, **total.to_json(), **one})
        return
    if match is not None:
        print(f"Match {match} of {printable(file)}")
    for facts, decisions in told:
        print(f"\n{analysis.deal_heading(facts)}")
        if decisions:
            print_table(analysis.decisions_table(decisions))
    print(f"{'' if match is None else chr(10)}{total.matches:,} matches, {total.deals:,} deals played")
    print_table(analysis.summary_table(total))
    if total.inexact:
        print(f"Not exact: at {total.inexact:,} decisions the time was over first.")


@app.command()
def view(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Match records, one a line; "-" is standard input.')],
    match: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the match in line N of the file, counted from 1.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="PAGE", help="The page; without, FILE with .html at its end.")] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the page on this machine instead of writing it.")] = False,
    port: Annotated[int | None, typer.Option(metavar="N", help="Of --serve; a free one without.")] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Whose probabilities stand beside every decision: path.onnx, rule, ...")
    ] = None,
    no_worth: Annotated[
        bool, typer.Option("--no-worth", help="Leave out what every choice is worth with open cards (double dummy).")
    ] = False,
    time_ms: TimeMs = None,
    language: Language = None,
) -> None:
    """Write a page that shows matches step by step; it opens from disk, and nothing is fetched."""
    from napoleon_env.roster import RosterError
    from napoleon_env.solver import Solver, SolverError
    from napoleon_env.viewer.page import PageError, checked_language, match_page, policy_player

    if out is not None and serve:
        raise CommandError("--out writes a page and --serve serves it: give one of the two")
    if port is not None and not serve:
        raise CommandError("--port goes with --serve")
    path = out or ("match.html" if file == "-" else f"{file.removesuffix('.jsonl')}.html")
    if not serve:
        check_writable("--out", path, HTML_BEGINS)
    with refused(RosterError, SolverError, PageError):
        player = None if agent is None else policy_player(agent)
        name = "standard input" if file == "-" else os.path.basename(file)
        page = match_page(
            ((f"{name} · {line}", played, record.get("notes")) for line, record, played in matches_of(file, match)),
            language=checked_language(language), solver=None if no_worth else Solver(), player=player, time_ms=time_ms,
        )  # fmt: skip
    if not serve:
        with open(path, "w", encoding="utf-8") as page_file:
            page_file.write(page)
        print(printable(path))
        return
    try:
        from napoleon_env.viewer.server import ServeError, serve_page
    except ModuleNotFoundError as error:
        raise CommandError(f"--serve needs {error.name}: pip install 'napoleon-env[play]'") from None
    with refused(ServeError):
        serve_page(page, port=port or 0, say=lambda address: print(f"{address}  (Ctrl-C ends it)", flush=True))


@app.command()
def play(
    players: Annotated[
        str,
        typer.Option(
            "--players",
            metavar="SPECS",
            help="Who sits in seat 0, 1, ..., with commas between; human is a person, the others as in tournaments.",
        ),
    ] = "human,counting,counting,counting",
    preset: Annotated[str, typer.Option("--rules", metavar="PRESET", help="german, portuguese, russian, english.")] = "german",
    settings: Settings = None,
    deals: Annotated[int, typer.Option(metavar="N", help="Deals of the match.")] = 8,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Of the deals; drawn without.")] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="In this terminal instead of a browser.")] = False,
    practice: Annotated[bool, typer.Option("--practice", help="Decisions may be taken back.")] = False,
    hint: Annotated[
        str | None, typer.Option(metavar="SPEC", help="The player that gives hints; one that searches without.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Record of the match; napoleon-TIME.jsonl without.")] = None,
    host: Annotated[str | None, typer.Option(help="Where to listen; other machines can reach it only if this says so.")] = None,
    port: Annotated[int, typer.Option(metavar="N", help="0 takes a free one.")] = 8765,
    language: Language = None,
) -> None:
    """Sit down at a table with any players: in the browser, or in the terminal."""
    import time

    from napoleon_env.roster import RosterError, split_specs
    from napoleon_env.viewer.game import HINTS, Game, GameError
    from napoleon_env.viewer.page import PageError, checked_language
    from napoleon_env.viewer.words import OF_PRESET

    path = time.strftime("napoleon-%Y%m%d-%H%M%S.jsonl") if out is None else out
    if os.path.exists(path):
        raise CommandError(f"--out {path}: it is there already, and this match would take its place")
    check_writable("--out", path)
    specs = split_specs(players)
    rules = make_ruleset(preset, [*(settings or ()), f"players={len(specs)}", f"deals={deals}"])
    with refused(PageError):
        language = checked_language(language) or OF_PRESET[rules.preset]
    with refused(RosterError, GameError):
        game = Game(rules, specs, seed=seed, hint=HINTS if hint is None else hint, practice=practice, path=path)
    if terminal:
        from napoleon_env.viewer.terminal import play_here

        with refused(GameError):
            play_here(game, language)
        return
    try:
        from napoleon_env.viewer.server import LOOPBACK, GameServer, ServeError
    except ModuleNotFoundError as error:
        raise CommandError(
            f"playing in a browser needs {error.name}: pip install 'napoleon-env[play]', or --terminal"
        ) from None
    with refused(ServeError, GameError):
        server = GameServer(game, language=language, host=LOOPBACK[0] if host is None else host, port=port)
        for seat in game.people:
            print(f"seat {seat}  {server.url(seat)}", flush=True)
        print(f"The match is saved as {printable(path)}; Ctrl-C ends it.", flush=True)
        server.run()


@app.command()
def bench(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="What to measure; without, what there is.")] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="Time for each row, compiling not counted.")] = 1.0,
    as_json: Json = False,
) -> None:
    """Measure speed on this machine, beside the numbers to reach."""
    from napoleon_env.bench import MEASUREMENTS, BenchError, list_table, machine, machine_text, measure, rows_table

    if name is None:
        if as_json:
            print_json({each: measurement.what for each, measurement in MEASUREMENTS.items()})
        else:
            print_table(list_table())
        return
    with refused(BenchError):
        rows = list(measure(name, seconds=seconds))
    if as_json:
        print_json({"name": name, "machine": machine(), "rows": [row.to_json() for row in rows]})
        return
    print(f"{MEASUREMENTS[name].what}\n{machine_text()}\n")
    print_table(rows_table(rows))


def matches_of(file: str, only: int | None) -> Iterator[tuple[int, Mapping[str, Any], Match]]:
    """The matches of a file, or the one in a line, as (line, record, match); ends the command if one disagrees."""
    from napoleon_env.record import Disagreement, RecordError, read_record, read_records
    from napoleon_env.record import replay as play_again

    with refused(RecordError), refused(Disagreement, code=1):
        for line, record in read_records(file) if only is None else [(only, read_record(file, only))]:
            try:
                played = play_again(record)
            except (RecordError, Disagreement) as problem:
                problem.path, problem.line = file, line
                raise
            yield line, record, played


def typed_position(
    rules: Ruleset,
    *,
    hands: Sequence[str],
    dealer: int | None,
    declarer: int | None,
    contract: str | None,
    trump: str | None,
    stock: str | None,
    pot: int | None,
    then: str | None,
) -> Match:
    """A position in texts from the command line."""
    from napoleon_env.analysis import AnalysisError, after_auction

    if rules.players != len(hands):
        raise CommandError(f"--hands must be given {rules.players} times, once for each seat, not {len(hands)} times")
    if contract is not None and declarer is None:
        raise CommandError("--contract needs --declarer: who plays it?")
    with refused(AnalysisError):
        return after_auction(
            rules,
            dealer=rules.players - 1 if dealer is None else dealer,
            hands=[words(text) for text in hands],
            declarer=declarer,
            contract=contract,
            trump=trump,
            stock=None if stock is None else words(stock),
            pot=pot or 0,
            then=[] if then is None else [part.strip() for part in then.split(",") if part.strip()],
        )


TASK_OPTIONS = {"task": ("players", "workers", "results", "json_file"), "verify": ("workers", "results")}
"""What may stand beside an option that fixes all the rest."""


def check_task_options(context: typer.Context, option: str) -> None:
    """End the command if options are given that a task fixes."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in (option, *TASK_OPTIONS[option]):
            given = next(p.opts[0] for p in context.command.params if p.name == name)
            raise CommandError(f"--{option} fixes what is played, so {given} does not go with it")


def run_task(
    task: str,
    specs: Sequence[str],
    result: str | None,
    *,
    workers: int | None,
    results: str | None,
    json_file: str | None,
) -> None:
    """Measure a player in a task and print or write the result, or do so again and compare."""
    from napoleon_env import report, tasks
    from napoleon_env.journal import JournalError
    from napoleon_env.roster import RosterError
    from napoleon_env.sequence_form import GameError
    from napoleon_env.tournament import TournamentError

    errors = (tasks.TaskError, RosterError, JournalError, TournamentError, GameError)
    n_workers = (os.cpu_count() or 1) if workers is None else workers
    with refused(*errors), refused(tasks.ChangedError, code=1), report.progress() as on_block:
        running: dict[str, Any] = {"workers": n_workers, "file": results, "on_block": on_block}
        if result is not None:
            again = tasks.verify(read_json(result), **running)
            print(f"{result}: {again['task']}, {again['player']['spec']}: the same again")
            return
        if len(specs) != 1:
            raise CommandError(f"--task measures one player, and --players names {len(specs)}")
        found = tasks.run_task(task, specs[0], **running)
    if json_file in (None, "-"):
        print_json(found)
    else:
        with open(json_file, "w", encoding="utf-8") as file:
            file.write(json_text(found) + "\n")


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
