"""The truth about a tiny rule set: its equilibrium, and how far players are from it.

    python -m train.exact --players 2 --set suits=2 lowest_rank=Q hand_size=2 auction=once all_pass=dealer_plays_one min_bid=1 \
        --policies runs/tiny/agent.onnx counting

The equilibrium (two players) is found by CFR+. NashConv is the sum over seats of what each alone could gain a deal, in points.
An agent file is looked at as the policy that it holds (`sample=true`) and as it plays by default, its likeliest action.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from napoleon_env.exact import ExactGame
from napoleon_env.roster import make_player, parse_spec
from train.command import make_ruleset, run
from train.ppo import fitting_reward


@dataclass
class Args:
    """Which game, and whose play."""

    rules: str = "german"
    """Preset of the rule set."""
    players: int = 2
    """Number of seats, 2 to 6."""
    changes: Annotated[tuple[str, ...], tyro.conf.arg(name="set")] = ()
    """Fields of the rule set to change, each as field=value."""
    policies: tuple[str, ...] = ("random",)
    """Players (as in `napoleon tournament`), each in all seats."""
    tolerance: float = 1e-4
    """NashConv at which CFR+ stops."""
    iterations: int = 10_000
    """Iterations after which CFR+ stops at the latest; 0 leaves the equilibrium out."""
    json: bool = False
    """Print JSON for programs."""


def report(args: Args) -> dict[str, Any]:
    """What `main` prints, as JSON values."""
    rules = make_ruleset(args.rules, args.players, args.changes)
    players = {spec: make_player(spec, rules=rules) for policy in args.policies for spec in as_played(policy)}
    reward = fitting_reward(rules)
    game = ExactGame(rules, reward=reward)
    found: dict[str, Any] = {
        "rules": rules.header,
        "reward": reward,
        "deals": game.n_deals,
        "information_states": game.information_states,
        "histories": game.histories,
        "ends": len(game.form.last),
    }
    if rules.players == 2 and args.iterations:
        start = time.perf_counter()
        # Over both dealers the value is 0: what the first speaker gets is what the game is worth.
        solved = ExactGame(rules, reward=reward, dealer=0).solve(tolerance=args.tolerance, iterations=args.iterations)
        found["equilibrium"] = {
            "first_speaker_gets": float(solved.values[1 if rules.first_speaker == "left" else 0]),
            "nash_conv": solved.nash_conv,
            "iterations": solved.iterations,
            "seconds": time.perf_counter() - start,
        }
    found["nash_conv"] = {spec: game.nash_conv(player) for spec, player in players.items()}
    return found


def as_played(policy: str) -> list[str]:
    """The players that a spec stands for here: an agent file without options is its policy, and its likeliest action."""
    spec = parse_spec(policy)
    return [f"{policy}:sample=true", policy] if spec.kind == "agent" and not spec.options else [policy]


def main(args: Args) -> None:
    """Print the sizes of the game, its equilibrium and the distance of the players from one."""
    found = report(args)
    if args.json:
        print(json.dumps(found, indent=1))
        return
    print(
        f"{found['deals']:,} deals, {found['information_states']:,} information states, {found['histories']:,} histories, "
        f"{found['ends']:,} ends"
    )
    if "equilibrium" in found:
        e = found["equilibrium"]
        print(
            f"equilibrium: the first speaker gets {e['first_speaker_gets']:+.5f} a deal "
            f"(CFR+, {e['iterations']:,} iterations, NashConv {e['nash_conv']:.6f}, {e['seconds']:.1f} s)"
        )
    table = Table("player", box=None, pad_edge=False, header_style="bold")
    table.add_column("NashConv", justify="right")
    for name, distance in found["nash_conv"].items():
        table.add_row(name, f"{max(distance, 0.0):.5f}")  # rounding can leave it a hair below 0
    Console().print(table)


if __name__ == "__main__":
    run(main, Args, __doc__)
