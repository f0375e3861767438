"""One HTML file that opens from disk: styles, scripts, words and frames are in it, and nothing is fetched."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any, Final

from napoleon_env.match import Match
from napoleon_env.notation import shown
from napoleon_env.roster import make_player
from napoleon_env.solver import Solver
from napoleon_env.viewer.frames import changes, match_frames
from napoleon_env.viewer.words import LANGUAGES, OF_PRESET, page_words

POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""Content security policy of every page: what is in it and, for a game, the server that it came from."""


MOST_MATCHES: Final = 200
"""On a page."""


class PageError(ValueError):
    """A page that cannot be made; one sentence."""


def checked_language(language: str | None) -> str | None:
    """A language's code, as it is.

    Raises:
        PageError: there is no such language.
    """
    if language is not None and language not in LANGUAGES:
        raise PageError(f"language {shown(language)} does not exist: there are {', '.join(LANGUAGES)}")
    return language


def policy_player(spec: str) -> Any:
    """A player that tells its probabilities.

    Raises:
        RosterError: there is no such player.
        PageError: it does not tell them.
    """
    player = make_player(spec)
    if not callable(getattr(player, "probabilities", None)):
        raise PageError(f"player {shown(spec, 200)} does not tell how likely its choices are: it has no probabilities(view)")
    return player


def document(title: str, body: str, data: Mapping[str, Any], *scripts: str, language: str = "en") -> str:
    """A whole page.

    Args:
        title: plain text.
        body: HTML.
        data: JSON values for the scripts; the words are added.
        scripts: files of `static/`, run in this order after those that every page has.
        language: a key of `words.LANGUAGES`.
    """
    values = {"language": language, "words": page_words(), **data}
    page = f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="referrer" content="no-referrer">
<title>{html.escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{_static("style.css")}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{_script_json(values)}</script>
<script>
"use strict";
{"".join(_static(name) for name in ("table.js", *scripts))}</script>
</body>
</html>
"""
    return page.encode("utf-8", "replace").decode()  # JSON may name half a character, which no file can hold


def match_page(
    titled: Iterable[tuple[str, Match, Mapping[str, Any] | None]],
    *,
    language: str | None = None,
    solver: Solver | None = None,
    player: Any = None,
    time_ms: float | None = None,
) -> str:
    """The page that shows matches step by step.

    Args:
        titled: the matches, each between its title and the notes of its record.
        language: a key of `words.LANGUAGES`; None takes the language of the first match's rule text.
        solver, player, time_ms: as `frames.match_frames` takes them.

    Raises:
        RecordError, SolverError.
        PageError: there are more than MOST_MATCHES.
    """
    matches = []
    for title, match, notes in titled:
        if len(matches) == MOST_MATCHES:
            raise PageError(f"there are more than {MOST_MATCHES} matches, too many for a page: name one of them")
        matches.append(match_data(title, match, notes, solver=solver, player=player, time_ms=time_ms))
    chosen = language or OF_PRESET[matches[0]["preset"]]
    return document("Napoleon", '<main id="viewer"></main>', {"matches": matches}, "view.js", language=chosen)


def report_page(
    title: str, body: Iterable[str], matches: Sequence[Mapping[str, Any]], deals: Mapping[str, Sequence[int]]
) -> str:
    """A page of numbers; a number of `explained` shows deals under the rest.

    Args:
        title: plain text, also the heading.
        body: parts in HTML.
        matches: of `match_data`.
        deals: for each key of `explained`, the places of its matches in `matches`.
    """
    parts = [f"<h1>{html.escape(title)}</h1>", *body]
    main = f'<main><div class="report">{"".join(parts)}</div><section id="deals" aria-label="Deals"></section></main>'
    return document(title, main, {"matches": matches, "deals": deals}, "view.js", "report.js")


def explained(number: str, key: str, deals: Mapping[str, Sequence[int]]) -> str:
    """A number, as HTML, that can be clicked to see the deals of `key`, where there are any in `deals`."""
    button = f'<button class="number" type="button" data-deals="{html.escape(key)}">{number}</button>'
    return button if key in deals else number


def fold(heading: str, *parts: str) -> str:
    """A part of a report that is opened by a click on its heading; `parts` are HTML."""
    return f'<details class="panel"><summary>{html.escape(heading)}</summary>{"".join(parts)}</details>'


def panel(heading: str, *parts: str) -> str:
    """A part of a report under its heading; `parts` are HTML."""
    return f'<section class="panel"><h2>{html.escape(heading)}</h2>{"".join(parts)}</section>'


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "", label: str = "table") -> str:
    """A table whose cells are HTML; the first cell of a row is its heading, and a cell may bring its own <td>."""
    cells = "".join(f'<th scope="col">{cell}</th>' if cell else "<td></td>" for cell in head)
    body = "".join("<tr>" + "".join(_cell(cell, first=i == 0) for i, cell in enumerate(row)) + "</tr>" for row in rows)
    table = f'<table class="{kind}"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{html.escape(label)}">{table}</div>'


def _cell(cell: str, *, first: bool) -> str:
    if cell.startswith("<td"):
        return cell
    return f'<th scope="row">{cell}</th>' if first else f"<td>{cell}</td>"


def chart(kind: str, values: Any, caption: str = "", figure: str = "") -> str:
    """A figure that `report.js` draws.

    Args:
        kind: "intervals" or "curve".
        values: rows [name, mean, low, high], or points [x, y]; points [x, y, low, high] have a band around the curve.
        caption, figure: over it, plain text.
    """
    data = html.escape(json.dumps(values), quote=True)
    told = f"<figcaption><span>{html.escape(caption)}</span><b>{html.escape(figure)}</b></figcaption>" if caption else ""
    return f'<figure class="chart" data-{kind}="{data}">{told}</figure>'


def match_data(title: str, match: Match, notes: Mapping[str, Any] | None = None, **computed: Any) -> dict[str, Any]:
    """A match as the viewer's script takes it, with the notes of its record; `computed` as `frames.match_frames` takes it."""
    told = dict(notes or {})
    return {
        "title": title,
        "preset": match.rules.preset,
        "rules": str(match.rules),
        "names": seat_names(told.pop("players", None), match.rules.players),
        "notes": {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in told.items()},
        "frames": changes(match_frames(match, **computed)),
    }


def seat_names(players: object, n: int) -> list[str]:
    """Names of the players by seat, from a record's notes; empty where it has none."""
    if isinstance(players, Sequence) and not isinstance(players, str) and len(players) == n:
        return [str(name) for name in players]
    return []


def _static(name: str) -> str:
    return resources.files("napoleon_env.viewer").joinpath("static", name).read_text("utf-8")


def _script_json(value: Any) -> str:
    """JSON that nothing in it can end the script element of."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
