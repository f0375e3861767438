"""What players give away against open cards (double dummy), a decision, by role, each against itself.

    python -m train.losses --players 4 --deals 1000 runs/first/agent.onnx pimc:worlds=100

Counted are the cards that were played where there was a choice; calls have no double-dummy value. A loss is in what the
declarer is paid, whoever gave it away (`napoleon_env.analysis`); the cards are open to the solver alone, so nobody loses
nothing. All players meet the same evaluation deals; the interval is over groups of deals.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import tyro
from rich.table import Table

from napoleon_env.console import print_table
from napoleon_env.notation import shown
from napoleon_env.roster import make_player
from napoleon_env.ruleset import Ruleset
from napoleon_env.solver import Solver
from napoleon_env.statistics import Estimate, Moments
from napoleon_env.tables import play_tables
from train.command import make_ruleset, run

ROLES = ("declarer", "defender")
GROUP = 10
"""Deals whose sums are one observation."""
LEAST = 10
"""Groups that an interval is made of: one of fewer says little."""


class LossesError(ValueError):
    """Deals that make no table; one sentence."""


@dataclass
class Args:
    """Whose losses, in which game."""

    specs: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Players (as in `napoleon tournament`), each in all seats."""
    rules: str = "german"
    """Preset of the rule set."""
    players: int = 4
    """Number of seats, 2 to 6."""
    changes: Annotated[tuple[str, ...], tyro.conf.arg(name="set")] = ()
    """Fields of the rule set to change, each as field=value."""
    deals: int = 1000
    """Evaluation deals (matches, where one has several)."""
    seed: int = 1
    """Of the deals and the decisions."""
    json: bool = False
    """Print JSON for programs."""


def losses(spec: str, rules: Ruleset, deals: int, seed: int) -> dict[str, Estimate]:
    """The mean loss of a decision with a choice in each of ROLES, with its interval over groups of deals.

    Raises:
        RosterError: there is no such player.
        LossesError: it forfeits a match.
    """
    player, solver = make_player(spec, rules=rules), Solver()
    sums = []
    for group in np.split(np.arange(deals), range(GROUP, deals, GROUP)):
        seats, keys = np.zeros((len(group), rules.players), np.int64), np.zeros(len(group), np.int64)
        played = play_tables([player], rules, seed=seed, deals=group, assigned=seats, keys=keys, solver=solver)
        if played.forfeits:
            raise LossesError(f"{shown(spec, 200)} forfeits a match: {played.forfeits[0].reason}")
        (tally,) = played.tally
        sums.append([[tally[f"{role}_{what}"] for what in ("loss", "cards")] for role in ROLES])
    return {role: ratio(np.array(sums)[:, i]) for i, role in enumerate(ROLES)}


def ratio(sums: np.ndarray) -> Estimate:
    """The ratio of two totals, [n, 2], and its interval by linearisation (Cochran, Sampling Techniques, 1977, ch. 6)."""
    over, under = sums.mean(0)
    moments = Moments(1)
    moments.add((sums[:, :1] - over / under * sums[:, 1:]) / under)
    return Estimate(float(over / under), moments.estimates()[0].half_width)


def main(args: Args) -> None:
    """Print the losses of each player by role.

    Raises:
        RulesetError, RosterError, AgentError, LossesError: one sentence.
    """
    if args.deals < LEAST * GROUP:
        raise LossesError(f"deals={args.deals} must be at least {LEAST * GROUP}: the interval is over groups of {GROUP}")
    if not args.specs:
        raise LossesError("name the players whose losses are wanted")
    rules = make_ruleset(args.rules, args.players, args.changes)
    found = {spec: losses(spec, rules, args.deals, args.seed) for spec in args.specs}
    if args.json:
        players = {spec: {role: loss.json for role, loss in mine.items()} for spec, mine in found.items()}
        print(json.dumps({"rules": rules.header, "deals": args.deals, "seed": args.seed, "losses": players}, indent=1))
        return
    table = Table("player", *(f"{role} loses a decision" for role in ROLES), box=None, pad_edge=False, header_style="bold")
    for spec, mine in found.items():
        table.add_row(spec, *(f"{loss.mean:.3f} ± {loss.half_width:.3f}" for loss in mine.values()))
    print_table(table)


if __name__ == "__main__":
    run(main, Args, __doc__)
