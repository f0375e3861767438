"""A tournament's result for people and programs: tables for a terminal, JSON, CSV and one HTML page without a network."""

from __future__ import annotations

import csv
import html
import json
import math
import os
import platform
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
from napoleon_env.solver import Solver
from napoleon_env.statistics import LEVEL, Estimate
from napoleon_env.viewer.page import chart, explained, fold, html_table, match_data, panel, report_page

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


def to_json(result: Result, *, command: str | None = None, file: str | None = None) -> dict[str, Any]:
    """All of a result as JSON values; amounts are points a match (a deal, where a match is one deal).

    Args:
        result: to tell of.
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
        "schedule": dict(result.schedule.header),
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
    common = ", common random numbers" if schedule.common_random_numbers else ""
    part = "" if result.deals == schedule.deals else f" of {schedule.deals:,}"
    return (
        f"{schedule.rules}, {schedule.rules.players} players: {result.deals:,}{part} {whole} named by seed {schedule.seed}, "
        f"{len(schedule.tables)} tables each\n{unit(schedule)}, ± is the {LEVEL:.0%} interval over {whole}{common}{share}"
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


def write_html(
    result: Result,
    path: str | os.PathLike[str],
    *,
    command: str | None = None,
    swings: Sequence[tuple[str, Sequence[Mapping[str, Any]]]] = (),
) -> None:
    """Write one page that opens from disk, without a network; its numbers lead to deals that explain them.

    Args:
        result: of the tournament.
        path: of the page.
        command: that made it.
        swings: telling deals (`tournament.swing_records`); what every card was worth in them is solved here.
    """
    matches, deals = _explaining(result, swings)
    made = [f"<pre>{_escape(command)}</pre>"] if command else []
    made.append(f"<pre>{_escape(json.dumps({**result.schedule.header, 'versions': versions()}, indent=1))}</pre>")
    hint = "<p class='note'>A number that is underlined shows deals that explain it: those on which the pair differed most.</p>"
    body = [
        f"<p>{_escape(heading(result)).replace(chr(10), '<br>')}</p>",
        *(f"<p class='bad'>Note: {_escape(warning)}.</p>" for warning in result.warnings),
        panel("Standing", html_standings(result, deals)),
        panel("Who wins alone among whom", html_matrix(result, deals), hint if deals else ""),
        panel("Roles", _html_roles(result)),
        panel("Balance", _html_balance(result)),
        _html_forfeits(result),
        panel("Deals with the largest differences", *(_html_records(*swing) for swing in swings)) if swings else "",
        fold("How it was made", *made),
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.write(report_page("Napoleon tournament", body, matches, deals))


def _explaining(
    result: Result, swings: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]
) -> tuple[list[dict[str, Any]], dict[str, list[int]]]:
    """The telling deals as the page shows them, and which explain which number: "i" of a player, "i j" of i alone among j."""
    matches: list[dict[str, Any]] = []
    deals: dict[str, list[int]] = {}
    names, solver = result.schedule.names, Solver()
    for title, records in swings:
        for record in records:
            seated = [names.index(name) for name in record["notes"]["players"]]
            pairs = [(i, j) for i in set(seated) for j in set(seated) - {i} if seated.count(i) == 1]
            for i, j in pairs:
                for key in (f"{i}", f"{i} {j}"):
                    deals.setdefault(key, []).append(len(matches))
            alone = ", ".join(f"{names[i]} in seat {seated.index(i)}" for i, _ in pairs[:1])
            matches.append(match_data(f"{title} · {alone}", replay(record), record["notes"], solver=solver))
    return matches, deals


def _escape(text: object) -> str:
    return html.escape(str(text))


def html_standings(result: Result, deals: Mapping[str, Sequence[int]]) -> str:
    """Who is better, as a table and as intervals; `deals` as `explained` takes them."""
    fields, ratings, names, order = result.fields(), result.ratings(), result.schedule.names, result.ranking()
    shares = result.alpha_rank()
    rows = []
    for place, i in enumerate(order, 1):
        rating = f"{ratings[i].mean:+.0f} ± {ratings[i].half_width:.0f}"
        rows.append([_escape(names[i]), str(place), explained(signed(fields[i]), f"{i}", deals), rating])
        rows[-1] += [] if shares is None else [percent(shares[i])]
    head = ["player", "place", "advantage", "rating", *([] if shares is None else ["α-rank"])]
    table = html_table(head, rows, label="Standing")
    charts = [
        chart("intervals", [_interval(names[i], estimates[i]) for i in order], caption)
        for caption, estimates in (("advantage", fields), ("rating (Bradley-Terry, Elo scale)", ratings))
    ]
    more = f"<p>{_escape(order_text(result))}</p>" if result.tests else ""
    return f"{table}<div class='charts wide'>{''.join(charts)}</div>{more}"


def _interval(name: str, estimate: Estimate) -> list[Any]:
    known = not math.isnan(estimate.half_width)
    return [name, estimate.mean, estimate.low if known else None, estimate.high if known else None]


def html_matrix(result: Result, deals: Mapping[str, Sequence[int]]) -> str:
    """Each player alone among each other one's, with intervals; `deals` as `explained` takes them."""
    singles, names, order = result.singles(), result.schedule.names, result.ranking()
    widest = max([abs(single.mean) for single in singles.values()] + [1e-9])

    def cell(i: int, j: int) -> str:
        if i == j:
            return "<td></td>"
        single = singles[i, j]
        tint, share = "--bar" if single.mean > 0 else "--heat", f"{60 * abs(single.mean) / widest:.0f}%"
        number = explained(f"{single.mean:+.3f}<small>± {single.half_width:.3f}</small>", f"{i} {j}", deals)
        return f"<td style='--tint:var({tint});--share:{share}'>{number}</td>"

    rows = [[_escape(names[i]), *(cell(i, j) for j in order)] for i in order]
    note = "<p class='note'>A row's player sits alone among players of the column.</p>"
    head = ["alone \\ among", *(_escape(names[j]) for j in order)]
    return html_table(head, rows, kind="heat", label="Who wins alone among whom") + note


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
    return html_table(head, rows, label="Roles")


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
    return f"<p>{_escape(balance_text(result))} Matches begun:</p>" + html_table(head, rows, label="Balance")


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
    return panel("Forfeited matches", f"<p class='bad'>{total}</p>", html_table(head, rows, label="Forfeited matches"))


def _html_records(title: str, records: Sequence[Mapping[str, Any]]) -> str:
    """A link that holds the records of a deal's tables."""
    lines = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    name = _escape("".join(c if c.isalnum() else "-" for c in title))
    link = "data:application/jsonl;base64," + _base64(lines)
    return f"<p>{_escape(title)} · <a download='{name}.jsonl' href='{link}'>records</a></p>"


def _base64(text: str) -> str:
    from base64 import b64encode

    return b64encode(text.encode()).decode()
