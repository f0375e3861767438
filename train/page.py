"""A page of a training run: `python -m train.page runs/first` writes runs/first/training.html.

Who wins alone among whom, the agent and the built-in players; how it fared against them while it was trained; what its
decisions give away against open cards in self-play, by role, where a number leads to the matches in which most was given away;
and the learning curves of the run's log. A run that has ended has written it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from napoleon_env.agent import OnnxPlayer
from napoleon_env.analysis import PHASES, ROLES, Analysis, analyse
from napoleon_env.match import Match
from napoleon_env.report import heading, html_matrix, html_standings
from napoleon_env.ruleset import Ruleset
from napoleon_env.solver import Solver
from napoleon_env.statistics import LEVEL
from napoleon_env.tournament import run_tournament
from napoleon_env.viewer.page import chart, explained, fold, html_table, match_data, panel, report_page
from train.command import run
from train.evaluation import PLAYERS, Evaluation, read_evaluations, title

POINTS = 300
"""Of a curve; longer logs are thinned out."""
SHOWN = 8
"""Matches that a number leads to."""


class PageError(ValueError):
    """A run that has nothing to show; one sentence."""


@dataclass
class Args:
    """What is shown."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    deals: int = 600
    """Deals of the agent's tournament against the built-in players, under each of its rule sets."""
    matches: int = 100
    """Matches that the agent plays against itself for the table of losses."""
    seed: int = 0
    """Of all these deals, which are evaluation deals: none of them was trained on."""


def read_curves(log: Path) -> dict[str, list[tuple[int, float]]]:
    """The figures of a TensorBoard log as (decisions, number), by name, thinned out to POINTS between their ends.

    Raises:
        PageError: there are none.
    """
    events = EventAccumulator(str(log), size_guidance={"scalars": 0}).Reload()
    curves = {}
    for name in events.Tags()["scalars"]:
        points = [(event.step, event.value) for event in events.Scalars(name)]
        places = np.linspace(0, len(points) - 1, min(len(points), POINTS)).round().astype(int)
        curves[name] = [points[place] for place in places]
    if not curves:
        raise PageError(f"{log} holds no learning curves: is it the log of a training run?")
    return curves


def curves_part(curves: dict[str, list[tuple[int, float]]]) -> list[str]:
    """The curves as panels, one for each group of names ("loss/value" is in "loss")."""
    groups: dict[str, list[str]] = {}
    for name, points in sorted(curves.items()):
        if name.startswith("eval/"):
            continue  # `evaluations_part` has them with their intervals
        group, _, what = name.rpartition("/")
        groups.setdefault(group or "update", []).append(chart("curve", points, what, f"{points[-1][1]:.4g}"))
    return [panel(group, f'<div class="charts">{"".join(charts)}</div>') for group, charts in groups.items()]


def evaluations_part(evaluations: Sequence[Evaluation]) -> str:
    """How the policy fared against fixed players while it was trained: a curve for each rule set and player, with intervals."""
    series: dict[tuple[str, str], list[Evaluation]] = {}
    for evaluation in evaluations:
        series.setdefault((evaluation.rules, evaluation.player), []).append(evaluation)
    charts = [
        chart("curve", [[e.decisions, e.mean, e.low, e.high] for e in found], f"{rules} over {player}", str(found[-1]))
        for (rules, player), found in series.items()
    ]
    note = f"<p class='note'>Advantage in points a match by decisions of training, with the {LEVEL:.0%} interval.</p>"
    return panel("Against fixed players", f'<div class="charts">{"".join(charts)}</div>', note) if charts else ""


def tournament_part(player: OnnxPlayer, rules: Ruleset, args: Args) -> str:
    """The agent and the built-in players under one rule set: who wins alone among whom."""
    deals = max(rules.players, args.deals // rules.deals)
    result = run_tournament([("agent", player), *PLAYERS], rules=rules, deals=deals, seed=args.seed)
    note = f"<p class='note'>{html.escape(heading(result))}</p>".replace("\n", "<br>")
    return panel(f"Head to head: {title(rules)}", html_standings(result, {}), html_matrix(result, {}), note)


def losses_part(player: OnnxPlayer, rules: Ruleset, args: Args) -> tuple[str, list[dict[str, Any]], dict[str, list[int]]]:
    """The table of losses by role, the matches behind its numbers as a page takes them, and which number they are behind."""
    solver, total = Solver(), Analysis()
    played: list[tuple[Match, dict[tuple[str, str], float]]] = []
    for number in range(args.matches):
        match = Match(rules, seed=args.seed, stream="evaluation", number=number)
        while match.seat is not None:
            match.play(player.act(match.view(match.seat)))
        lost: dict[tuple[str, str], float] = {}
        for deal in match.history:
            decisions = analyse(deal, solver)
            total.add(decisions)
            for decision in decisions:
                lost[decision.role, decision.phase] = lost.get((decision.role, decision.phase), 0) + decision.loss
        played.append((match, lost))
    wanted: dict[str, list[int]] = {}
    for role, phase in total.tallies:
        worst = sorted(
            (i for i in range(len(played)) if played[i][1].get((role, phase), 0) > 0), key=lambda i: -played[i][1][role, phase]
        )
        if worst:
            wanted[f"{role} {phase}"] = worst[:SHOWN]
    kept = sorted({i for places in wanted.values() for i in places})
    matches = [match_data(f"match {i}", played[i][0], solver=solver, player=player) for i in kept]
    rows = []
    for role in ROLES:
        for phase in PHASES:
            tally, key = total.tallies.get((role, phase)), f"{role} {phase}"
            if tally is None:
                continue
            a_deal = f"{tally.loss / max(1, total.deals):.3f}"
            numbers = [f"{tally.mistakes:,}", a_deal]
            rows.append(
                [
                    f"{role}, {phase}",
                    f"{tally.decisions:,}",
                    f"{tally.choices:,}",
                    *(explained(number, key, wanted) for number in numbers),
                ]
            )
    head = ["decisions of", "in all", "with a choice", "that gave something away", "loss a deal"]
    note = (
        f"<p class='note'>{total.deals:,} evaluation deals that the agent played against itself; a loss is what was given away "
        "against open cards, in what the declarer is paid. An underlined number shows the matches with the most of it.</p>"
    )
    places = {key: [kept.index(i) for i in found] for key, found in wanted.items()}
    return panel("What the agent gives away", html_table(head, rows, label="Losses"), note), matches, places


def write_page(args: Args) -> Path:
    """Write the page and return its path.

    Raises:
        PageError, AgentError: the folder holds no run, or nothing is to be played.
    """
    for name in ("deals", "matches"):
        if (number := getattr(args, name)) < 1:
            raise PageError(f"--{name} {number} must be at least 1: the tables are made of what the agent plays")
    log, agent = args.run / "log", args.run / "agent.onnx"
    if not log.is_dir():
        raise PageError(f"{args.run} is not the folder of a training run: there is no {log}")
    curves = read_curves(log)
    player = OnnxPlayer(agent)
    rule_sets = [Ruleset.make(header) for header in player.metadata["rules"]]
    losses, matches, deals = losses_part(player, rule_sets[0], args)
    training = json.dumps(player.metadata["training"], indent=1)
    decisions = max(points[-1][0] for points in curves.values())
    body = [
        f"<p>{', '.join(map(title, rule_sets))}: {decisions:,} decisions</p>",
        *(tournament_part(player, rules, args) for rules in rule_sets),
        evaluations_part(read_evaluations(args.run)),
        losses,
        *curves_part(curves),
        fold("How it was made", f"<pre>{html.escape(training)}</pre>"),
    ]
    path = args.run / "training.html"
    path.write_text(report_page(f"Training run {args.run.name}", body, matches, deals), "utf-8")
    return path


def main(args: Args) -> None:
    """Write the page of a run and tell where it is."""
    print(write_page(args))


if __name__ == "__main__":
    run(main, Args, __doc__)
