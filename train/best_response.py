"""What could be gained against an agent: a best response is trained, and its gain measured on deals of its own.

    python -m train.best_response --against runs/first/agent.onnx --by seat --minutes 15 --out runs/by-seat

PPO from fresh parameters (`train.ppo`, all of whose options hold) learns against the agent, which stays as it is and plays as
in tournaments: its likeliest action, or with `path.onnx:sample=true` one drawn from its policy. By "seat" it has one seat of
each match among copies of the agent. By "team" it has all seats but one, and what the agent loses is the reward of each: the
defenders as one team. They share a network and no cards; the auction settles who plays alone, so one of them may declare too.
Who sits where is drawn for each match.

What was learnt then plays duplicate evaluation deals in all seats. Its mean gain is a lower bound on what a best response gains
(Timbers et al. 2022, arXiv 2004.09677), to be read with its budget: a better learner may find more.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from napoleon_env.agent import OnnxPlayer
from napoleon_env.notation import shown
from napoleon_env.result import Result
from napoleon_env.roster import fingerprint, make_player
from napoleon_env.statistics import LEVEL, Estimate
from napoleon_env.tournament import run_tournament
from napoleon_env.vector_env import VectorEnv
from train import ppo, state
from train.command import run
from train.experience import LEARNER, Guests, Policy, Table

AGENT = LEARNER + 1
"""The number of the agent's policy at the tables."""
IMPOSSIBLE = -1e9
"""Logit of what an agent that takes its likeliest action does not do."""


@dataclass(kw_only=True)
class Args(ppo.Args):
    """What a run is: of `train.ppo`, against an agent; decisions are counted with the agent's."""

    against: str
    """The agent: path.onnx, or path.onnx:sample=true."""
    by: Literal["seat", "team"] = "seat"
    """Who responds: one seat among copies of the agent, or all others against the agent in one."""
    out: Path = field(default_factory=lambda: Path("runs/best_response"))
    """As in `train.ppo`."""
    deals: int = 4000
    """Evaluation deals on which the gain is measured, each in all seats."""
    explore: float = 0.3
    """As in `train.ppo`; among good players a beginner who declares loses, so without it the learner would soon only pass."""
    entropy: float = 0.15
    """As in `train.ppo`, for the same reason."""
    epochs: int = 2
    """As in `train.ppo`; only some of the decisions are the learner's, so each is used more."""
    minibatch: int = 1024
    """As in `train.ppo`, for the same reason."""


def frozen_agent(args: Args) -> OnnxPlayer:
    """The agent that is played against.

    Raises:
        RosterError, AgentError, ArgsError: there is none, or it numbers suits in another way.
    """
    agent = make_player(args.against)
    if not isinstance(agent, OnnxPlayer):
        raise ppo.ArgsError(f"{shown(args.against, 200)} is no agent file (path.onnx), and only against one is trained")
    if (order := agent.metadata["suit_order"]) != args.suit_order:
        raise ppo.ArgsError(f"{args.against} has the suits in {order} order, so its opponent needs --suit-order {order} too")
    return agent


class Frozen:
    """An agent in all seats that are not the learner's (`experience.Guests`).

    Args:
        agent: plays there.
        by: see `Args`.
        rng: of who sits where.
        actions: the ids of those that logits are of, int64 [A].
    """

    def __init__(self, agent: OnnxPlayer, by: str, rng: np.random.Generator, actions: np.ndarray) -> None:
        self.agent, self.by, self.rng, self.actions = agent, by, rng, actions

    def seat(self, players: int, matches: int) -> np.ndarray:
        """See `Guests`: one seat of each match is for the one side, all others for the other."""
        alone = np.arange(players) == self.rng.integers(players, size=(matches, 1))
        return np.where(alone == (self.by == "seat"), LEARNER, AGENT)

    def policy(self, number: int) -> Policy:
        """See `Guests`: the agent's."""
        return self.logits

    def logits(self, rows: np.ndarray, legal: np.ndarray, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """See `Policy`."""
        logits = self.agent.run(observation, mask)["logits"]
        if not self.agent.sample:
            likeliest = np.where(mask, logits, -np.inf).argmax(1)
            logits = np.full(mask.shape, IMPOSSIBLE, np.float32)
            logits[np.arange(len(mask)), likeliest] = 0
        return np.take_along_axis(logits, self.actions[legal], 1)


class Responder(ppo.Trainer):
    """The loop of one process, against the agent."""

    args: Args

    def guests(self) -> Guests:
        """The agent; it draws from the loop's own generator, which training states keep."""
        return Frozen(frozen_agent(self.args), self.args.by, self.rng, np.array(self.net.inputs.actions))

    def lay_table(self, env: VectorEnv, rows: slice) -> Table:
        """Rewards are what is measured at the end: where payoffs do not add up to zero, how they compare."""
        table = super().lay_table(env, rows)
        if self.args.reward == "auto":
            table.relative = not env.rules.zero_sum
        table.team = self.args.by == "team"
        return table


def gains(result: Result) -> dict[str, Estimate]:
    """What the second entrant of a tournament gains against the first, in points a match, in the mean over all seats.

    "seat": what it gets alone among copies of the first, above what the first gets there. "team": what the first loses alone
    among copies of the second; among its own it loses nothing, since scores add up to zero at every table.
    """
    singles = result.singles()
    lost = singles[0, 1]
    return {"seat": singles[1, 0], "team": Estimate(-lost.mean, lost.half_width)}


def main(args: Args) -> None:
    """Train, measure and tell; the numbers are in `out`/best_response.json afterwards.

    Raises:
        RulesetError, RosterError, AgentError, ArgsError, StateError: nothing has been written.
    """
    if args.resume:
        args = state.resumed_args(args)
    frozen_agent(args)
    if args.deals < 100:
        raise ppo.ArgsError(f"deals={args.deals} must be at least 100: the gain of fewer would say nothing")
    if args.past:
        raise ppo.ArgsError(f"past={args.past:g} is not for best responses: no seat is left for a past self")
    ppo.train(args, Responder)
    facts = state.newest(args.out)[1][0][1]
    found: dict[str, Any] = {
        "command": shlex.join(["python", "-m", "train.best_response", *sys.argv[1:]]),
        "arguments": args.as_json(),
        "against": fingerprint(args.against),
        "decisions": facts["update"] * args.steps * args.matches * args.players_at_once(),
        "seconds": sum(facts["seconds"].values()),
        "level": LEVEL,
        "gains": [],
    }
    print(
        f"trained by {args.by} for {found['decisions']:,} decisions in {found['seconds']:,.0f} s; "
        f"it gains, in points a match over {args.deals:,} deals:"
    )
    for rules in args.rule_sets():
        entrants = [("agent", args.against), ("best response", str(args.out / "agent.onnx"))]
        result = run_tournament(entrants, rules=rules, deals=args.deals, seed=args.seed, workers=args.processes)
        by = gains(result)
        found["gains"].append(
            {
                "rules": rules.header,
                "deals": result.deals,
                "score": result.schedule.score,
                **{name: gain.json for name, gain in by.items()},
                "warnings": result.warnings,
            }
        )
        print(f"{rules}, {rules.players} players: in one seat {by['seat']}, as the team against one {by['team']}")
    (args.out / "best_response.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    run(main, Args, __doc__)
