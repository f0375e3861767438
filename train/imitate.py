"""A network that plays as another player does: a search as fast as a network, that one can train against.

    python -m train.imitate pimc:worlds=100 --players 4 --decisions 400000 --out runs/imitation

The player is asked for every decision of self-made matches, and the actor of `train.ppo` learns its answers by maximum
likelihood (behavioural cloning). In half of the seats `--others` play, so that the network also learns what the player does
where it would not have gone by itself: a network that is only near the player gets there (Ross, Gordon and Bagnell 2011,
arXiv 1011.0686). How often it agrees with the player is measured on matches that it has not learnt from, beside how often the
player, asked again, agrees with itself. The result is `agent.onnx`; with `:sample=true` it varies as the player does.

The answers are gathered in parts, each a file in `out`; the same command goes on from those there are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
import tyro
from numba import njit
from rich.progress import track
from rich.table import Table

from agents.export import save_agent
from agents.network import ROLES, ActorCritic, Inputs, column_scales, log_prob_and_entropy
from napoleon_env.console import print_table
from napoleon_env.notation import N_ACTIONS, shown
from napoleon_env.observation import DIGEST, true_action
from napoleon_env.opponents import make_question
from napoleon_env.roster import fingerprint, make_player, parse_spec
from napoleon_env.ruleset import Ruleset
from napoleon_env.tables import ask, show
from napoleon_env.tournament import end_with_main
from napoleon_env.vector_env import VectorEnv
from train.command import make_ruleset, run, unknown_features
from train.experience import MAX_LEGAL, copy_columns, list_legal, read_roles, spans, varying_inputs
from train.processes import settle

MATCHES, STEPS = 256, 80
"""Of a part: matches that are played at once, and decisions of each."""
PART = MATCHES * STEPS
HELD_OUT = 20
"""One part of so many, and at least one, is not learnt from."""
OWN = 0.5
"""Chance of a seat to be the player's."""


class ImitationError(ValueError):
    """Arguments that do not go together, or a player that does not answer; one sentence."""


@dataclass
class Args:
    """Who is imitated, in which game."""

    player: Annotated[str, tyro.conf.Positional]
    """As in `napoleon tournament`."""
    rules: str = "german"
    """Preset of the rule set."""
    players: int = 4
    """Number of seats, 2 to 6."""
    changes: Annotated[tuple[str, ...], tyro.conf.arg(name="set")] = ()
    """Fields of the rule set to change, each as field=value."""
    others: tuple[str, ...] = ("counting", "rule")
    """Players who have half of the seats, drawn for each match; the player is asked for their decisions too."""
    out: Path = Path("runs/imitation")
    """Folder for the answers and the agent."""
    decisions: int = 400_000
    """Answers that are gathered, in whole parts."""
    workers: int = 2
    """Processes that gather."""
    seed: int = 0
    """Of the deals, the others' seats and the network."""
    suit_order: Literal["fixed", "canonical"] = "canonical"
    """As in `train.ppo`."""
    omit: tuple[str, ...] = ("trick_of", "played")
    """As in `train.ppo`."""
    width: int = 256
    """Units of each hidden layer."""
    depth: int = 2
    """Hidden layers."""
    epochs: int = 8
    """Passes over the answers."""
    minibatch: int = 1024
    """Answers of one gradient step."""
    lr: float = 2e-3
    """Adam's step size at the start; falls linearly to 0."""

    @property
    def ruleset(self) -> Ruleset:
        """The rules that are played."""
        return make_ruleset(self.rules, self.players, self.changes)

    @property
    def parts(self) -> int:
        """How many are gathered: one is held out, so at least two."""
        return max(2, -(-self.decisions // PART))

    def inputs(self) -> Inputs:
        """Columns that the network sees; of the actions all, since a player may do what random play never met."""
        found = varying_inputs([self.ruleset], self.suit_order, self.omit)
        return replace(found, hidden=(), actions=tuple(range(N_ACTIONS)))

    def gathered(self) -> dict[str, Any]:
        """What the answers depend on, as JSON values."""
        others = ("out", "decisions", "workers", "width", "depth", "epochs", "minibatch", "lr")
        mine = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in others}
        players = [fingerprint(spec) for spec in (self.player, *self.others)]
        return mine | {"fingerprints": players, "columns": self.inputs().observation, "observation": DIGEST}


class Answers(NamedTuple):
    """Decisions with a choice, and what the player does there; n rows."""

    rows: np.ndarray
    """int8 [n, C], the selected columns of the observation."""
    legal: np.ndarray
    """int8 [n, MAX_LEGAL]: numbers of the legal actions, then -1 (`experience.Batch`)."""
    choice: np.ndarray
    """int8 [n]: the place in `legal` of the player's action."""
    again: np.ndarray
    """int8 [n]: of its action when it was asked once more; -1 where it was not."""
    role: np.ndarray
    """int8 [n]: the number among ROLES."""


def gather(args: Args, inputs: Inputs, number: int) -> Path:
    """Play a part, and write its answers, unless they are there already.

    Raises:
        RosterError, ImitationError: there is no such player, or it does not answer with a legal action.
    """
    path = args.out / f"part-{number:05d}.npz"
    if read(path, inputs) is None:
        unfinished = args.out / f"part-{number:05d}.{os.getpid()}.partial"
        with unfinished.open("wb") as file:
            np.savez(file, **play(args, inputs, number)._asdict())
        os.replace(unfinished, path)
    return path


def read(path: Path, inputs: Inputs) -> Answers | None:
    """The answers of a part; None where there are none, or damaged ones."""
    try:
        with path.open("rb") as file, np.load(file) as stored:
            found = Answers(*(stored[name] for name in Answers._fields))
    except Exception:  # of a damaged file, numpy, zipfile and zlib raise what they come upon
        return None
    shapes = (PART, len(inputs.observation)), (PART, MAX_LEGAL), (PART,), (PART,), (PART,)
    if any(x.shape != shape or x.dtype != np.int8 for x, shape in zip(found, shapes, strict=True)):
        return None
    last = (found.legal >= 0).sum(1) - 1
    sound = (found.choice >= 0) & (found.choice <= last) & (found.again <= last) & (found.legal < N_ACTIONS).all(1)
    return found if sound.all() else None


def play(args: Args, inputs: Inputs, number: int) -> Answers:
    """Part `number`: its matches are those of no other."""
    rules, rng, every = args.ruleset, np.random.default_rng([args.seed, number]), np.arange(MATCHES)
    cast = [make_player(spec, rules=rules) for spec in (args.player, *args.others)]
    env = VectorEnv(
        rules, num_envs=MATCHES, seed=args.seed, first_index=number * MATCHES, suit_order=args.suit_order, skip_forced=True
    )
    env.reset()
    actions, columns, question = np.array(inputs.actions), spans(inputs.observation), make_question(MATCHES, rules)
    shape = (STEPS, MATCHES)
    found = Answers(
        np.zeros((*shape, len(inputs.observation)), np.int8), np.zeros((*shape, MAX_LEGAL), np.int8),
        np.zeros(shape, np.int8), np.full(shape, -1, np.int8), np.zeros(shape, np.int8),
    )  # fmt: skip
    owner = draw_owners(rng, MATCHES, rules.players, len(args.others))

    def answers_of(who: int, rows: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Where among the legal actions of those rows the one is that a player of the cast chooses."""
        seeds = rng.integers(2**64, size=len(rows), dtype=np.uint64)
        given, faults = ask(cast[who], question.rows(rows)._replace(seeds=seeds))
        places = np.empty(len(rows), np.int8)
        find_places(given, env.suit_places[rows], legal[rows], places)
        if (places < 0).any():
            fault = next(iter(faults.values()), "the answer is illegal")
            raise ImitationError(f"{shown((args.player, *args.others)[who], 200)} cannot be asked: {fault}")
        return places

    for t in range(STEPS):
        show(env.states, question.last_states, rules.struct, every, question.states, question.last_states, question.seats)
        copy_columns(env.observation, columns, found.rows[t])
        list_legal(env.action_mask, actions, found.legal[t])
        read_roles(env.observation, found.role[t])
        found.choice[t] = taken = answers_of(0, every, found.legal[t])
        if number % HELD_OUT == 0:
            found.again[t] = answers_of(0, every, found.legal[t])
        for who in range(1, len(cast)):
            if len(mine := np.flatnonzero(owner[every, env.seat] == who)):
                taken[mine] = answers_of(who, mine, found.legal[t])
        env.step(found.legal[t][every, taken])
        over = env.terminated | env.truncated
        owner[over] = draw_owners(rng, int(over.sum()), rules.players, len(args.others))
    return Answers(*(x.reshape(PART, *x.shape[2:]) for x in found))


def draw_owners(rng: np.random.Generator, matches: int, players: int, others: int) -> np.ndarray:
    """Who has each seat: 0 the player, else one of the others, from 1 on; int64 [matches, players]."""
    own = (rng.random((matches, players)) < OWN) | (others == 0)
    return np.where(own, 0, rng.integers(1, max(others, 1) + 1, size=(matches, players)))


@njit(cache=True)
def find_places(given: Any, places: Any, legal: Any, found: Any) -> None:
    """Write where among each row's legal actions the one of an id is that is given in the rules' own suits; -1: nowhere."""
    for i in range(len(found)):
        found[i] = -1
        for k in range(legal.shape[1]):
            if legal[i, k] < 0:
                break
            if true_action(legal[i, k], places[i]) == given[i]:
                found[i] = k


def gather_all(args: Args, inputs: Inputs) -> Iterator[Path]:
    """All parts, in order, by `workers` processes.

    Raises:
        RosterError, ImitationError: as `gather`, or a process was lost.
    """
    pool = ProcessPoolExecutor(min(args.workers, args.parts), get_context("spawn"), initializer=begin_worker)
    try:
        yield from pool.map(partial(gather, args, inputs), range(args.parts))
    except BrokenProcessPool:
        raise ImitationError("a process that gathered was lost: the same command goes on from what there is") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def begin_worker() -> None:
    """Of a process that gathers."""
    end_with_main()
    settle()


def load(paths: Sequence[Path], inputs: Inputs) -> tuple[Answers, Answers]:
    """Those that are held out, and those that are learnt from.

    Raises:
        ImitationError: a part was damaged after it had been gathered.
    """
    parts = [read(path, inputs) for path in paths]
    if None in parts:
        raise ImitationError(f"{paths[parts.index(None)]} was damaged meanwhile: the same command gathers it again")
    sides = parts[::HELD_OUT], [part for number, part in enumerate(parts) if number % HELD_OUT]
    held, learnt = (Answers(*(np.concatenate(column) for column in zip(*side, strict=True))) for side in sides)
    return held, learnt


def fit(args: Args, inputs: Inputs, answers: Answers) -> ActorCritic:
    """The actor that finds the answers most likely."""
    torch.manual_seed(args.seed)
    net = ActorCritic(inputs, *column_scales(), args.width, args.depth, 1, "heads")
    optimizer = torch.optim.Adam(net.actors.parameters(), lr=args.lr, eps=1e-5, fused=True)
    rows, legal, choice = (torch.from_numpy(x) for x in (answers.rows, answers.legal, answers.choice))
    steps = -(-len(rows) // args.minibatch)
    for epoch in track(range(args.epochs), "learning"):
        for number, batch in enumerate(torch.randperm(len(rows)).split(args.minibatch)):
            for group in optimizer.param_groups:
                group["lr"] = args.lr * (1 - (epoch * steps + number) / (args.epochs * steps))
            log_prob, _ = log_prob_and_entropy(logits_of(net, rows[batch], legal[batch]), choice[batch])
            optimizer.zero_grad()
            (-log_prob.mean()).backward()
            optimizer.step()
    return net


def logits_of(net: ActorCritic, rows: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
    """Those of the legal actions, float32 [n, MAX_LEGAL]."""
    return net.logits(net.features(rows, rows[:, :0]), legal)


@torch.no_grad()
def compare(net: ActorCritic, answers: Answers) -> dict[str, dict[str, float]]:
    """How the network stands to the player, by role.

    Told are the decisions, how often the network's likeliest action is the player's, how often that of the player when it was
    asked again is, and the mean surprise of the player's action under the network, in nats.
    """
    chunks = (torch.from_numpy(x).split(4096) for x in (answers.rows, answers.legal))
    logits = torch.cat([logits_of(net, *chunk) for chunk in zip(*chunks, strict=True)])
    log_prob, _ = log_prob_and_entropy(logits, torch.from_numpy(answers.choice))
    same, surprise = logits.argmax(1).numpy() == answers.choice, -log_prob.numpy()
    return {
        role: {
            "decisions": len(mine),
            "agreement": float(same[mine].mean()),
            "own agreement": float((answers.again == answers.choice)[mine].mean()),
            "surprise": float(surprise[mine].mean()),
        }
        for number, role in enumerate(ROLES)
        if len(mine := np.flatnonzero(answers.role == number))
    }


def check(args: Args) -> None:
    """Whether a run can be as the arguments say; then its folder is there, and tells what it holds.

    Raises:
        RulesetError, RosterError, AgentError, ImitationError: it cannot.
    """
    for name in ("decisions", "workers", "width", "depth", "epochs", "minibatch"):
        if getattr(args, name) < 1:
            raise ImitationError(f"{name}={getattr(args, name)} must be at least 1")
    if not 0 < args.lr < 1:
        raise ImitationError(f"lr={args.lr} must be above 0 and below 1")
    if not 0 <= args.seed < 2**63:
        raise ImitationError(f"seed={args.seed} must be from 0 to 2**63 - 1")
    if wrong := unknown_features(args.omit):
        raise ImitationError(wrong)
    if (deals := args.ruleset.deals) > 1:
        raise ImitationError(f"deals={deals} must be 1: the answers gathered are of matches of one deal")
    for spec in (args.player, *args.others):
        if parse_spec(spec).name == "human":
            raise ImitationError("human cannot be asked: it would be for thousands of decisions, without a terminal")
        make_player(spec, rules=args.ruleset)
    path, own = args.out / "answers.json", json.dumps(args.gathered()).encode() + b"\n"
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(own)
        elif path.read_bytes() != own:
            raise ImitationError(f"{args.out} holds answers to other arguments, which {path} tells: take another --out")
    except OSError as error:
        raise ImitationError(f"out={shown(str(args.out), 200)} cannot be written into: {error.strerror}") from None


def main(args: Args) -> None:
    """Gather, learn, and print how far the network agrees.

    Raises:
        RulesetError, RosterError, AgentError, ImitationError: one sentence.
    """
    check(args)
    settle()
    inputs = args.inputs()
    with closing(gather_all(args, inputs)) as gathering:
        paths = [*track(gathering, "asking", total=args.parts)]
    for left in args.out.glob("part-*.partial"):  # by a run that was killed
        left.unlink()
    held, learnt = load(paths, inputs)
    net = fit(args, inputs, learnt)
    found = compare(net, held)
    training = {"imitated": args.player, "answers": len(learnt.rows), "others": list(args.others), "held out": found}
    path = save_agent(args.out / "agent.onnx", net, [args.ruleset], args.suit_order, training=training)
    table = Table("role", "decisions held out", "agrees", "itself", "surprise", box=None, pad_edge=False, header_style="bold")
    for role, mine in found.items():
        told = (f"{mine['decisions']:,}", f"{mine['agreement']:.1%}", f"{mine['own agreement']:.1%}", f"{mine['surprise']:.3f}")
        table.add_row(role, *told)
    print_table(table)
    print(f"{path} plays as {args.player}, learnt from {len(learnt.rows):,} answers")


if __name__ == "__main__":
    run(main, Args, __doc__)
