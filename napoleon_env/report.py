"""A tournament's result for people and programs: tables for a terminal, JSON, CSV and one HTML page without a network."""

from __future__ import annotations

import csv
import html
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from napoleon_env import rules as core
from napoleon_env.notation import ACTION_NAMES, VERSION
from napoleon_env.record import replay
from napoleon_env.result import Result
from napoleon_env.schedule import Schedule
from napoleon_env.statistics import LEVEL, Estimate
from napoleon_env.story import match_text

CONTRACTS: Final = {level: ACTION_NAMES[core.CALL_AT_LEVEL[level]] for level in range(1, core.N_LEVELS)}
"""Names of contracts by level."""


def rate(part: int, whole: int) -> float | None:
    """A share, or None of nothing."""
    return part / whole if whole else None


def roles(tally: Any) -> dict[str, Any]:
    """What an entrant did as declarer and as defender, from its tally (one record of `tables.TALLY`), as JSON values."""
    made, failed = tally["made"].tolist(), tally["failed"].tolist()
    declared, defended, deals = sum(made) + sum(failed), int(tally["defended"]), int(tally["deals"])
    return {
        "deals": deals,
        "void": int(tally["void"]),
        "declared": declared,
        "declares": rate(declared, deals),
        "made": rate(sum(made), declared),
        "points_as_declarer": rate(int(tally["declarer_payoff"]), declared),
        "defended": defended,
        "beats_contract": rate(int(tally["beaten"]), defended),
        "points_as_defender": rate(int(tally["defender_payoff"]), defended),
        "contracts": {
            name: {
                "declared": made[level] + failed[level],
                "share": rate(made[level] + failed[level], declared),
                "made": rate(made[level], made[level] + failed[level]),
            }
            for level, name in CONTRACTS.items()
            if made[level] + failed[level]
        },
        "decisions": int(tally["decisions"]),
        "loss_as_declarer": rate(int(tally["declarer_loss"]), int(tally["declarer_cards"])),
        "loss_as_defender": rate(int(tally["defender_loss"]), int(tally["defender_cards"])),
    }


def balance(result: Result) -> dict[str, Any]:
    """How often each entrant began a match in each seat, each place after the dealer, under each dealer; JSON values."""
    n = result.schedule.rules.players
    counts = {what: result.tally[what][:, :n].tolist() for what in ("seats", "places", "dealt")}
    return {**counts, "balanced": {what: all(len(set(row)) <= 1 for row in rows) for what, rows in counts.items()}}


def to_json(
    result: Result, *, header: Mapping[str, Any] | None = None, command: str | None = None, file: str | None = None
) -> dict[str, Any]:
    """All of a result as JSON values; amounts are points a match (a deal, where a match is one deal).

    Args:
        result: to tell of.
        header: of its file of results, by default what the schedule knows.
        command: that made it.
        file: of results, if there is one.
    """
    names, shares = result.schedule.names, result.alpha_rank()
    fields, ratings, deviations, singles = result.fields(), result.ratings(), result.deviations(), result.singles()
    pairs = []
    for number, ((i, j), edge) in enumerate(result.edges().items()):
        pair: dict[str, Any] = {
            "players": [names[i], names[j]],
            "advantage": edge.json,
            "deviation": _known(deviations[i, j]),
            "first_alone": singles[i, j].json,
            "second_alone": singles[j, i].json,
        }
        if result.tests:
            pair |= {"verdict": result.tests[number].verdict, "certain_after": result.tests[number].certain_after}
        pairs.append(pair)
    return {
        "schedule": dict(header or result.schedule.header),
        "command": command,
        "results": file,
        "versions": versions(),
        "deals": result.deals,
        "tables": result.tables,
        "played": result.played,
        "lines": result.lines,
        "level": LEVEL,
        "score": result.schedule.score,
        "warnings": result.warnings,
        "players": [
            {
                "name": name,
                "advantage": fields[i].json,
                "rating": ratings[i].json,
                "alpha_rank": None if shares is None else shares[i],
                "roles": roles(result.tally[i]),
                "forfeits": int(result.n_forfeits[i]),
            }
            for i, name in enumerate(names)
        ],
        "pairs": pairs,
        "balance": balance(result),
        "forfeits": [forfeit_json(result, forfeit) for forfeit in result.forfeits],
        "swings": [
            {"points": swing.points, "deal": swing.deal, "players": [names[swing.first], names[swing.second]]}
            for swing in result.swings
        ],
    }


def forfeit_json(result: Result, forfeit: Any) -> dict[str, Any]:
    """Where and why a match was forfeited."""
    schedule = result.schedule
    seats = [schedule.names[entrant] for entrant in schedule.tables[forfeit.table]]
    return {**forfeit._asdict(), "entrant": schedule.names[forfeit.entrant], "players": seats}


def versions() -> dict[str, str]:
    """What the numbers depend on."""
    import numba

    return {
        "napoleon_env": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "platform": platform.platform(),
    }


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


# The terminal.


def unit(schedule: Schedule) -> str:
    """What amounts are, in words."""
    match = "deal" if schedule.rules.deals == 1 else f"match of {schedule.rules.deals} deals"
    points = "points" if schedule.score == "payoff" else "points above the mean of the others"
    return f"{points} a {match}"


def heading(result: Result) -> str:
    """What was played, in two lines."""
    schedule = result.schedule
    whole = "deals" if schedule.rules.deals == 1 else "matches"
    share = (
        "" if schedule.share == 1 else f"; {result.played:,} tables played out, {result.tables - result.played:,} only called"
    )
    part = "" if result.deals == schedule.deals else f" of {schedule.deals:,}"
    return (
        f"{schedule.rules}, {schedule.rules.players} players: {result.deals:,}{part} {whole} named by seed {schedule.seed}, "
        f"{len(schedule.tables)} tables each\n{unit(schedule)}, ± is the {LEVEL:.0%} interval over {whole}{share}"
    )


def terminal(result: Result) -> RenderableType:
    """The result as tables for a terminal."""
    parts: list[RenderableType] = [
        Text(heading(result)),
        Text(),
        _standings(result),
        Text(),
        _matrix(result),
        Text(),
        _roles(result),
    ]
    parts += [Text(), Text(balance_text(result))]
    parts += [Text(f"Note: {warning}.", style="yellow") for warning in result.warnings]
    if result.tests:
        parts.append(Text(order_text(result)))
    for entrant, n in enumerate(result.n_forfeits.tolist()):
        if n:
            first = next((forfeit for forfeit in result.forfeits if forfeit.entrant == entrant), None)
            where = f"; the first: deal {first.deal}, seat {first.seat}: {first.reason}" if first else ""
            parts.append(Text(f"{result.schedule.names[entrant]} forfeited {n:,} matches{where}", style="bold red"))
    return Group(*parts)


def _standings(result: Result) -> Table:
    fields, ratings, edges, shares = result.fields(), result.ratings(), result.edges(), result.alpha_rank()
    names = result.schedule.names
    table = Table("", "player", box=None, pad_edge=False, header_style="bold")
    table.add_column("advantage", justify="right")
    table.add_column("rating", justify="right")
    if shares is not None:
        table.add_column("α-rank", justify="right")
    for place, i in enumerate(result.ranking(), 1):
        rating = f"{ratings[i].mean:+.0f} ± {ratings[i].half_width:.0f}"
        table.add_row(str(place), Text(names[i]), signed(fields[i]), rating, *([] if shares is None else [percent(shares[i])]))
    if len(names) == 2:
        table.caption = Text(f"{names[0]} over {names[1]}: {signed(edges[0, 1])}")
        table.caption_justify = "left"
    return table


def _matrix(result: Result) -> Table:
    singles, names = result.singles(), result.schedule.names
    table = Table("alone \\ among", box=None, pad_edge=False, header_style="bold")
    order = result.ranking()
    for j in order:
        table.add_column(Text(names[j]), justify="right")
    for i in order:
        table.add_row(Text(names[i]), *("" if i == j else signed(singles[i, j]) for j in order))
    return table


def _roles(result: Result) -> Table:
    every = [roles(mine) for mine in result.tally]
    contracts = [name for name in CONTRACTS.values() if any(name in mine["contracts"] for mine in every)]
    table = Table("player", "declares", "as declarer", "made", box=None, pad_edge=False, header_style="bold")
    for name in contracts:
        table.add_column(name, justify="right")
    table.add_column("as defender", justify="right")
    table.add_column("beats contract", justify="right")
    if result.schedule.losses:
        table.add_column("lost a card as declarer", justify="right")
        table.add_column("as defender", justify="right")
    for i in result.ranking():
        mine = every[i]
        bids = [
            f"{percent(mine['contracts'][name]['share'])} made {percent(mine['contracts'][name]['made'])}"
            if name in mine["contracts"]
            else "-"
            for name in contracts
        ]
        table.add_row(
            Text(result.schedule.names[i]), percent(mine["declares"]), points(mine["points_as_declarer"]),
            percent(mine["made"]), *bids, points(mine["points_as_defender"]), percent(mine["beats_contract"]),
            *_losses(result, mine),
        )  # fmt: skip
    return table


def _losses(result: Result, mine: Mapping[str, Any]) -> list[str]:
    """What a card with a choice gave away on average against open cards, by role; nothing where that was not counted."""
    if not result.schedule.losses:
        return []
    return ["-" if loss is None else f"{loss:.3f}" for loss in (mine["loss_as_declarer"], mine["loss_as_defender"])]


def balance_text(result: Result) -> str:
    """Whether every entrant met every seat, place and dealer equally often, in a sentence."""
    found = balance(result)["balanced"]
    words = {"seats": "every seat", "places": "every place after the dealer", "dealt": "every dealer's seat"}
    good = [words[what] for what, is_so in found.items() if is_so]
    bad = [words[what] for what, is_so in found.items() if not is_so]
    text = f"Balance: each player had {', '.join(good)} equally often" if good else "Balance:"
    if bad:
        text += f"; not exactly {', '.join(bad)} (deals are no multiple of the players)"
    return text + "."


def order_text(result: Result) -> str:
    """What the sequential test has found."""
    names = result.schedule.names
    parts = []
    for (i, j), test in zip(result.unordered, result.tests, strict=True):
        if test.verdict:
            better, worse = (i, j) if test.verdict > 0 else (j, i)
            parts.append(f"{names[better]} is better than {names[worse]} (certain after {test.certain_after:,})")
        else:
            parts.append(f"{names[i]} and {names[j]}: not certain")
    kind = "" if result.tests[0].bound is not None else ", in the limit of many matches (the scores have no small bound)"
    return f"Sequential, error {result.error:g} in all{kind}: " + "; ".join(parts) + "."


def signed(estimate: Estimate) -> str:
    """Such as "+0.123 ± 0.045"."""
    return f"{estimate.mean:+.3f} ± {estimate.half_width:.3f}"


def percent(share: float | None) -> str:
    """Such as "26 %"."""
    return "-" if share is None else f"{100 * share:.1f} %"


def points(amount: float | None) -> str:
    """Such as "+1.25"."""
    return "-" if amount is None else f"{amount:+.2f}"


@contextmanager
def progress() -> Iterator[Callable[[Result], None]]:
    """A bar with the time left, on stderr if that is a terminal; yields what `run_tournament` is to tell of each block."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("deals"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("deals", total=None)

        def on_block(result: Result) -> None:
            bar.update(task, total=result.schedule.deals, completed=result.deals)

        yield on_block


def print_result(result: Result) -> None:
    """Print the tables on standard output, never narrower than they are."""
    Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 250).print(terminal(result))


# CSV.


def write_csv(result: Result, path: str | os.PathLike[str]) -> None:
    """One row an ordered pair: who sits alone among whom, points with the interval, and the pair's advantage."""
    names, singles, edges = result.schedule.names, result.singles(), result.edges()
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["player", "opponents", "alone", "alone_low", "alone_high", "advantage", "advantage_low", "advantage_high", "deals"]
        )
        for (i, j), single in singles.items():
            edge = edges[i, j] if i < j else Estimate(-edges[j, i].mean, edges[j, i].half_width)
            row = [x for e in (single, edge) for x in (e.mean, e.low, e.high)]
            writer.writerow([names[i], names[j], *("" if math.isnan(x) else x for x in row), result.deals])


# HTML.

_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; } th, td { padding: .25rem .6rem; text-align: right; }
th { border-bottom: 1px solid #999; } td:first-child, th:first-child { text-align: left; }
.matrix td { min-width: 6.5rem; } small { color: #555; } pre { white-space: pre-wrap; background: #f4f4f4; padding: .6rem; }
.bar { display: inline-block; height: .7rem; background: #3b6fb6; } details { margin: .4rem 0; }
.bad { color: #a00; }
"""


def write_html(
    result: Result,
    path: str | os.PathLike[str],
    *,
    command: str | None = None,
    header: Mapping[str, Any] | None = None,
    swings: Sequence[tuple[str, Sequence[Mapping[str, Any]]]] = (),
) -> None:
    """Write one page that opens from disk: no script, no network.

    Args:
        result: of the tournament.
        path: of the page.
        command: that made it.
        header: of the file of results.
        swings: telling deals (`tournament.swing_records`).
    """
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Napoleon tournament</title>",
        f"<style>{_STYLE}</style></head><body><h1>Napoleon tournament</h1>",
        f"<p>{_escape(heading(result)).replace(chr(10), '<br>')}</p>",
        *(f"<p class='bad'>Note: {_escape(warning)}.</p>" for warning in result.warnings),
        "<h2>Standing</h2>", _html_standings(result),
        "<h2>Who wins alone among whom</h2>", _html_matrix(result),
        "<h2>Roles</h2>", _html_roles(result),
        "<h2>Balance</h2>", _html_balance(result),
        _html_forfeits(result),
        "<h2>Deals with the largest differences</h2>" if swings else "",
        *(_html_records(title, records) for title, records in swings),
        "<h2>How it was made</h2>",
        f"<pre>{_escape(command)}</pre>" if command else "",
        f"<pre>{_escape(json.dumps({**(header or result.schedule.header), 'versions': versions()}, indent=1))}</pre>",
        "</body></html>\n",
    ]  # fmt: skip
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(part for part in parts if part))


def _escape(text: object) -> str:
    return html.escape(str(text))


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """Rows of cells that are HTML already; a cell may bring its own <td>."""
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(c if c.startswith("<td") else f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table class='{kind}'><tr>{cells}</tr>{body}</table>"


def _html_standings(result: Result) -> str:
    fields, ratings, names, shares = result.fields(), result.ratings(), result.schedule.names, result.alpha_rank()
    widest = max([abs(field.mean) for field in fields] + [1e-9])
    rows = []
    for place, i in enumerate(result.ranking(), 1):
        width, opacity = 8 * abs(fields[i].mean) / widest, 1 if fields[i].mean > 0 else 0.35
        bar = f"<span class='bar' style='width:{width:.2f}rem;opacity:{opacity}'></span>"
        rating = f"{ratings[i].mean:+.0f} ± {ratings[i].half_width:.0f}"
        rows.append([str(place), _escape(names[i]), signed(fields[i]), f"<td style='text-align:left'>{bar}</td>", rating])
        rows[-1] += [] if shares is None else [percent(shares[i])]
    head = ["", "player", "advantage", "", "rating (Bradley-Terry, Elo scale)", *([] if shares is None else ["α-rank"])]
    more = f"<p>{_escape(order_text(result))}</p>" if result.tests else ""
    return _html_table(head, rows) + more


def _html_matrix(result: Result) -> str:
    singles, names, order = result.singles(), result.schedule.names, result.ranking()
    widest = max([abs(single.mean) for single in singles.values()] + [1e-9])

    def cell(i: int, j: int) -> str:
        if i == j:
            return "<td></td>"
        single = singles[i, j]
        shade = abs(single.mean) / widest
        colour = f"rgba({'59,111,182' if single.mean > 0 else '196,84,60'},{0.75 * shade:.3f})"
        return f"<td style='background:{colour}'>{single.mean:+.3f}<br><small>± {single.half_width:.3f}</small></td>"

    rows = [[_escape(names[i]), *(cell(i, j) for j in order)] for i in order]
    note = "<p><small>A row's player sits alone among players of the column.</small></p>"
    return _html_table(["alone \\ among", *(_escape(names[j]) for j in order)], rows, "matrix") + note


def _html_roles(result: Result) -> str:
    every = [roles(mine) for mine in result.tally]
    contracts = [name for name in CONTRACTS.values() if any(name in mine["contracts"] for mine in every)]
    rows = []
    for i in result.ranking():
        mine = every[i]
        bids = [mine["contracts"].get(name) for name in contracts]
        rows.append(
            [
                _escape(result.schedule.names[i]),
                percent(mine["declares"]),
                points(mine["points_as_declarer"]),
                percent(mine["made"]),
            ]
            + [f"{percent(bid['share'])}<br><small>made {percent(bid['made'])}</small>" if bid else "-" for bid in bids]
            + [points(mine["points_as_defender"]), percent(mine["beats_contract"]), *_losses(result, mine)]
        )
    head = ["player", "declares", "points as declarer", "made", *contracts, "points as defender", "beats contract"]
    head += ["lost a card as declarer", "as defender"] if result.schedule.losses else []
    return _html_table(head, rows)


def _html_balance(result: Result) -> str:
    found, names = balance(result), result.schedule.names
    n = result.schedule.rules.players
    head = [
        "player",
        *(f"seat {s}" for s in range(n)),
        *(f"dealer + {s}" for s in range(n)),
        *(f"seat {s} deals" for s in range(n)),
    ]
    rows = [
        [_escape(name), *(f"{count:,}" for what in ("seats", "places", "dealt") for count in found[what][i])]
        for i, name in enumerate(names)
    ]
    return f"<p>{_escape(balance_text(result))} Matches begun:</p>" + _html_table(head, rows)


def _html_forfeits(result: Result) -> str:
    if not result.n_forfeits.any():
        return ""
    rows = [
        [
            str(f["deal"]),
            _escape(f["entrant"]),
            str(f["seat"]),
            _escape(", ".join(f["players"])),
            str(f["decision"]),
            _escape(f["reason"]),
        ]
        for f in (forfeit_json(result, forfeit) for forfeit in result.forfeits[:200])
    ]
    total = ", ".join(
        f"{_escape(n)}: {c:,}" for n, c in zip(result.schedule.names, result.n_forfeits.tolist(), strict=True) if c
    )
    head = ["deal", "player", "seat", "table", "decision", "why"]
    return f"<h2 class='bad'>Forfeited matches</h2><p>{total}</p>" + _html_table(head, rows)


def _html_records(title: str, records: Sequence[Mapping[str, Any]]) -> str:
    lines = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    link = "data:application/jsonl;base64," + _base64(lines)
    name = _escape("".join(c if c.isalnum() else "-" for c in title))
    seats = [", ".join(f"seat {s}: {name}" for s, name in enumerate(record["notes"]["players"])) for record in records]
    texts = [f"{who}\n\n{match_text(replay(record))}" for who, record in zip(seats, records, strict=True)]
    told = "".join(f"<pre>{_escape(text)}</pre>" for text in texts)
    return (
        f"<details><summary>{_escape(title)} · <a download='{name}.jsonl' href='{link}'>records</a></summary>{told}</details>"
    )


def _base64(text: str) -> str:
    from base64 import b64encode

    return b64encode(text.encode()).decode()
