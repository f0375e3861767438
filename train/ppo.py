"""Proximal policy optimisation in self-play over all seats, on one page: `python -m train.ppo --minutes 5 --out runs/first`.

One policy plays every seat; each role (bidding, declarer, defender) has a head of its own. Matches of all rule sets are stepped
many at a time; decisions without a choice are left out. Each seat's advantages run along its own decisions and are
normalised per role. The critic sees all hands; the actor sees what its seat may know. `--processes` copies of this loop share
their gradients (`train.processes`), each on one thread; with `--workers ray` a Ray cluster plays for them.

Sources: PPO, Schulman et al. 2017 (arXiv 1707.06347); recipe of Rudolph et al., "Reevaluating policy gradient methods for
imperfect-information games" (arXiv 2502.08938); critic of PerfectDou (arXiv 2203.16406); explored calls as in neural
replicator dynamics, Hennes et al. 2020 (arXiv 1906.00190).
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
import torch.distributed as dist
import tyro
from torch import Tensor, nn

from agents.export import save_agent
from agents.network import ROLES, ActorCritic, RoleSplit, column_scales, divergence, log_prob_and_entropy
from napoleon_env.notation import BID, MAX_HAND, PASS, shown
from napoleon_env.ruleset import Ruleset
from napoleon_env.vector_env import VectorEnv
from train import page, state
from train.command import make_ruleset, run, unknown_features
from train.evaluation import Evaluator
from train.experience import BIDDING, FAILED, MADE, RUNNING, Batch, Experience, Guests, Table, advantages, varying_inputs
from train.page import write_page
from train.pool import PastSelves
from train.processes import LostError, Total, run_processes, settle, share
from train.progress import Reporter
from train.workers import RayWorkers

MEASURED = 12
"""Updates at least that are timed to turn minutes into a budget, after one that compiles."""
MEASURED_SHARE, MEASURED_MOST = 0.05, 30.0
"""Share of the minutes, but no more seconds, that is timed at least: a machine's speed changes from one moment to the next."""
PAST_FROM = 0.25
"""Share of the run before the first past self is kept: earlier ones play too badly to learn from."""
PAST_KEPT = 8
"""How many past selves are kept: the last ones."""
RARE = 0.001
"""Probability below which an action is not made rarer for what came of it when it was drawn uniformly."""
LEAST_BATCHES = 2
"""Minibatches that the decisions of an update must be enough for."""

BOUNDS: dict[str, tuple[float, float]] = (
    dict.fromkeys(("matches", "steps", "epochs", "minibatch", "width", "critic_width", "depth"), (1, math.inf))
    | dict.fromkeys(("processes", "ray_workers", "keep", "past_every"), (1, math.inf))
    | dict.fromkeys(("minutes", "decisions", "save_every", "eval_every", "seed"), (0, math.inf))
    | dict.fromkeys(("lr", "clip", "entropy", "entropy_end", "magnet", "value_weight", "grad_norm"), (0, 1e6))
    | dict.fromkeys(("decay", "explore", "past", "magnet_rate"), (0, 1))
)
"""Least and greatest value of each number among the arguments."""


@dataclass
class Args:
    """What a run is."""

    rules: tuple[str, ...] = ("german",)
    """Presets of rule sets; the matches are of each with each number of players, as many of one as of another."""
    players: tuple[int, ...] = (4,)
    """Numbers of seats, 2 to 6."""
    out: Path = Path("runs/ppo")
    """Folder for the agent, the training states and the TensorBoard log."""
    minutes: float = 5.0
    """Time for training. The speed is measured at the start and turns this into a budget of decisions."""
    decisions: int = 0
    """Budget in decisions of all processes together; 0 takes `minutes`."""
    resume: bool = False
    """Go on from the newest training state in `out`, with its arguments: of those given here only `out` and `address` count."""
    seed: int = 0
    """Of the network, the deals and the actions."""
    processes: int = field(default_factory=lambda: min(2, os.cpu_count() or 1))
    """Data-parallel processes, each on one thread."""
    workers: Literal["own", "ray"] = "own"
    """Who plays: each process itself, or for each `ray_workers` processes of a Ray cluster, whose gradients it averages."""
    ray_workers: int = 2
    """With `workers` ray, how many play for each process; every one takes a CPU of the cluster while it plays."""
    address: str | None = None
    """With `workers` ray, HOST:PORT of a running cluster; without, each process starts a local one for itself."""
    suit_order: Literal["fixed", "canonical"] = "canonical"
    """Canonical renames the suits at each decision, so that nothing has to be learnt four times."""
    omit: tuple[str, ...] = ("trick_of", "played")
    """Features the network does not see: who played which card in which trick is told by voids and `seen` well enough."""
    critic: Literal["all_hands", "public"] = "all_hands"
    """What the critic sees in training; the actor never sees more than its seat."""
    reward: Literal["auto", "payoff", "relative"] = "auto"
    """Relative (payoff minus the mean of the others') where nobody pays, payoff elsewhere."""
    roles: RoleSplit = "heads"
    """What bidding, declarer and defender have of their own: nothing, the last layer of the actor, or all."""
    width: int = 256
    """Units of each hidden layer of an actor."""
    critic_width: int = 128
    """Units of each hidden layer of a critic."""
    depth: int = 2
    """Hidden layers of the actor and of the critic."""
    matches: int = 1024
    """Matches stepped at once in each process, with `workers` ray in each worker."""
    steps: int = 64
    """Decisions of each match between updates."""
    epochs: int = 1
    """Passes over the decisions of an update."""
    minibatch: int = 2048
    """Decisions of one gradient step in each process, with `workers` ray of each worker."""
    lr: float = 4e-3
    """Adam's step size at the start; falls linearly to 0."""
    clip: float = 0.15
    """PPO's bound on the change of a probability ratio."""
    decay: float = 0.95
    """Lambda of generalised advantage estimation; gamma is 1, since a match is short."""
    entropy: float = 0.04
    """Weight of the entropy bonus at the start; falls linearly to `entropy_end` by two thirds of the run."""
    entropy_end: float = 0.01
    """Weight of the entropy bonus in the last third."""
    explore: float = 0.2
    """Share of the calls drawn uniformly at the start, so that no call is given up too early; falls linearly to 0."""
    past: float = 0.0
    """Share of the seats, from a quarter of the run on, that a past self plays; it stays for the whole match."""
    past_every: int = 20
    """Updates between the past selves that are kept."""
    magnet: float = 0.05
    """Weight of the divergence from the magnet, a moving average of the actor's parameters."""
    magnet_rate: float = 0.02
    """Share of the way that the magnet moves to the actor at each update."""
    value_weight: float = 0.5
    """Weight of the critic's squared error."""
    grad_norm: float = 0.5
    """Bound on the norm of the gradient."""
    device: str = "cpu"
    """Where the networks are: cpu, cuda or cuda:N. Matches are always played on the CPU."""
    precision: Literal["bf16", "fp32"] = "bf16"
    """Type of the hidden layers; parameters stay float32."""
    save_every: float = 60.0
    """Seconds between training states."""
    keep: int = 3
    """How many training states are kept."""
    eval_every: float = 60.0
    """Seconds between evaluations against fixed players, of one rule set each; all are evaluated at the end. 0: never."""
    changes: Annotated[tuple[str, ...], tyro.conf.arg(name="set")] = ()
    """Fields of the rule set to change, each as field=value."""

    def rule_sets(self) -> list[Ruleset]:
        """The rules that are played.

        Raises:
            RulesetError.
        """
        return [make_ruleset(preset, players, self.changes) for preset in self.rules for players in self.players]

    def players_at_once(self) -> int:
        """Processes that play, here or on a cluster."""
        return self.processes * (self.ray_workers if self.workers == "ray" else 1)

    def as_json(self) -> dict[str, Any]:
        """The arguments as JSON values."""
        return {f.name: str(v) if isinstance(v := getattr(self, f.name), Path) else v for f in fields(self)}


class ArgsError(ValueError):
    """Arguments that do not go together; one sentence."""


class Trainer:
    """The loop of one process.

    Args:
        args: of the run.
        rank: the number of the process; of a Ray worker, its number among all workers.
    """

    def __init__(self, args: Args, rank: int) -> None:
        self.args, self.rank = args, rank
        self.rule_sets = args.rule_sets()
        self.device, self.dtype = torch.device(args.device), torch.bfloat16 if args.precision == "bf16" else torch.float32
        torch.manual_seed(args.seed)
        inputs = varying_inputs(self.rule_sets, args.suit_order, args.omit)
        if args.critic == "public":
            inputs = replace(inputs, hidden=())
        self.net = ActorCritic(inputs, *column_scales(), args.width, args.depth, args.critic_width, args.roles).to(self.device)
        self.magnet = copy.deepcopy(self.net.actors).requires_grad_(False)
        self.parameters = [*self.net.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=args.lr, eps=1e-5, fused=True)
        self.total = Total(sum(p.numel() for p in self.parameters))
        self.rng = np.random.default_rng([args.seed, rank])
        self.past = PastSelves(args.past, PAST_KEPT, np.random.default_rng([args.seed, rank, 1]), self.logits_of)
        self.experience = Experience(self.lay_tables(), inputs, args.steps, self.rng, self.guests())
        self.features: Tensor | None = None
        self.workers: RayWorkers | None = None
        self.update, self.updates = 0, 0
        self.seconds: dict[str, float] = dict.fromkeys(("environment", "batch", "inference", "critic", "update"), 0.0)

    def lay_tables(self) -> list[Table]:
        """The matches of this process, as many of each rule set."""
        args, tables = self.args, []
        for number, rules in enumerate(self.rule_sets):
            start, stop = (args.matches * n // len(self.rule_sets) for n in (number, number + 1))
            env = VectorEnv(
                rules, num_envs=stop - start, seed=args.seed, first_index=self.rank * args.matches + start,
                suit_order=args.suit_order, hidden=True, skip_forced=True, check=False,
            )  # fmt: skip
            env.reset()
            tables.append(self.lay_table(env, slice(start, stop)))
        return tables

    def lay_table(self, env: VectorEnv, rows: slice) -> Table:
        """The matches of one rule set, and what is learnt from there."""
        relative = (fitting_reward(env.rules) if self.args.reward == "auto" else self.args.reward) == "relative"
        return Table(env, rows, reward_scale(env.rules), relative)

    def guests(self) -> Guests:
        """Who else sits at the tables."""
        return self.past

    def autocast(self) -> torch.autocast:
        """Hidden layers in bfloat16, if asked for."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.args.precision == "bf16")

    @torch.no_grad()
    def logits_of(self, rows: np.ndarray, legal: np.ndarray, actors: nn.ModuleList | None = None) -> np.ndarray:
        """The policy in numpy, for the rollout (see `Policy`); of an earlier state's `actors`, if given."""
        seen, asked = (torch.from_numpy(x).to(self.device) for x in (rows, legal))
        with self.autocast():
            return self.net.logits(self.net.features(seen, seen[:, :0], self.dtype), asked, actors).numpy(force=True)

    @torch.no_grad()
    def values_of(self, features: Tensor) -> np.ndarray:
        """The critic on a whole batch, float32 [T * N]."""
        with self.autocast():
            return torch.cat([self.net.value(part) for part in features.split(4096)]).numpy(force=True)

    def progress(self) -> float:
        """The part of the run that is done; none while there is no budget yet, for the speed is being measured."""
        return self.update / self.updates if self.updates else 0.0

    def train_update(self) -> dict[str, float]:
        """One rollout and the gradient steps on it."""
        args, progress = self.args, self.progress()
        played = self.workers.play(self) if self.workers else [self.play()]
        start = time.perf_counter()
        for group in self.optimizer.param_groups:
            group["lr"] = args.lr * (1.0 - progress)
        entropy_weight = args.entropy + (args.entropy_end - args.entropy) * min(1.0, 1.5 * progress)
        figures: dict[str, list[float]] = {}
        for orders in zip(*(part.orders for part in played), strict=True):
            for chunks in self.minibatches(orders):
                rows = [part.samples.rows(chunk) for part, chunk in zip(played, chunks, strict=True)]
                for name, number in self.gradient_step(rows, entropy_weight):
                    figures.setdefault(name, []).append(number)
        self.move_magnet()
        self.update += 1
        self.seconds["update"] += time.perf_counter() - start
        means = {name: sum(numbers) / len(numbers) for name, numbers in figures.items()}
        return means | played[0].facts | {"entropy weight": entropy_weight}

    def freeze_past(self) -> None:
        """Keep the policy as a past self, if it is time for one."""
        if self.args.past and self.progress() >= PAST_FROM and self.update % self.args.past_every == 0:
            self.past.add(self.net)

    def play(self) -> Played:
        """One rollout, and what is to be learnt from it."""
        args, clock = self.args, time.perf_counter
        self.freeze_past()
        self.past.turn(self.experience.owner)
        batch = self.experience.rollout(self.logits_of, args.explore * (1 - self.progress()))
        start = clock()
        seen, secret = (torch.from_numpy(x).flatten(0, 1).to(self.device) for x in (batch.observation, batch.hidden))
        features = self.features = self.net.features(seen, secret, self.dtype, self.features)
        value = self.values_of(features).reshape(batch.seat.shape)
        advantage, known = advantages(
            batch.reward, batch.match_over, batch.seat, value, args.decay, foreign=batch.foreign, explored=batch.explored
        )
        target = advantage + value
        samples = Samples.of(features, batch, normalise_per_role(advantage, batch.role, known & ~batch.explored), target)
        orders = [self.order(batch.role.reshape(-1), known.reshape(-1)) for _ in range(args.epochs)]
        self.seconds |= self.experience.seconds
        self.seconds["critic"] += clock() - start
        return Played(samples, orders, self.facts(batch, value, target, known))

    def order(self, role: np.ndarray, known: np.ndarray) -> Order:
        """The known decisions in the order of a pass over them."""
        groups = [known & (role == r) for r in range(len(ROLES))] if self.args.roles == "networks" else [known]
        return [self.rng.permutation(np.flatnonzero(group)) for group in groups]

    def minibatches(self, orders: Sequence[Order]) -> list[tuple[np.ndarray, ...]]:
        """Minibatches, each one part of every order; alike in number and size in all processes, and of one group."""
        args, chunks = self.args, []
        for groups in zip(*orders, strict=True):
            if least := self.least(min(map(len, groups))):
                size = min(args.minibatch, least)
                chunks += zip(*(index[: least // size * size].reshape(-1, size) for index in groups), strict=True)
        order = np.random.default_rng([args.seed, self.update]).permutation(len(chunks))  # the same in every process
        return [chunks[i] for i in order]

    def gradient_step(self, parts: Sequence[Rows], entropy_weight: float) -> list[tuple[str, float]]:
        """One step along the mean gradient of the parts of a minibatch, in all processes; returns the figures of each."""
        self.optimizer.zero_grad()
        figures = [figure for rows in parts for figure in self.add_gradient(rows, entropy_weight).items()]
        self.share_gradients()
        torch.nn.utils.clip_grad_norm_(self.parameters, self.args.grad_norm)
        self.optimizer.step()
        return figures

    def add_gradient(self, rows: Rows, entropy_weight: float) -> dict[str, float]:
        """That of a part of a minibatch: PPO's clipped objective, the critic's error, the entropy bonus."""
        args = self.args
        with self.autocast():
            logits = self.net.logits(rows.features, rows.legal, role=rows.one_role)
            value = self.net.value(rows.features, rows.one_role)
            magnet = self.net.logits(rows.features, rows.legal, self.magnet, rows.one_role) if args.magnet else None
        log_prob, entropy = log_prob_and_entropy(logits, rows.choice)
        ratio = (log_prob - rows.log_prob).exp()
        clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
        drawn = -torch.min(ratio * rows.advantage, clipped * rows.advantage)
        policy_loss = torch.where(rows.explored, explored_loss(log_prob, rows.advantage), drawn).mean()
        value_loss = 0.5 * torch.where(rows.explored, 0.0, (value - rows.target).square()).mean()
        loss = policy_loss + args.value_weight * value_loss - entropy_weight * entropy.mean()
        if magnet is not None:
            loss = loss + args.magnet * divergence(logits, magnet).mean()
        loss.backward()
        with torch.no_grad():
            kl = ((ratio - 1) - (log_prob - rows.log_prob)).mean()  # Schulman's low-variance estimate
            by_role = {f"entropy/{name}": entropy[rows.role == i] for i, name in enumerate(ROLES)}
        return {
            "loss/policy": policy_loss.item(),
            "loss/value": value_loss.item(),
            "kl": kl.item(),
            "clipped": (ratio != clipped).float().mean().item(),
            **{name: float(x.mean()) for name, x in by_role.items() if len(x)},
        }

    @torch.no_grad()
    def move_magnet(self) -> None:
        """Bring the magnet a little nearer to the actor."""
        for average, parameter in zip(self.magnet.parameters(), self.net.actors.parameters(), strict=True):
            average.lerp_(parameter, self.args.magnet_rate)

    def share_gradients(self) -> None:
        """Average the gradients over all that play."""
        if self.args.players_at_once() == 1:
            return
        grads = [p.grad for p in self.parameters if p.grad is not None]
        mean = self.total.of(grads).div_(self.args.players_at_once())
        for grad, part in zip(grads, mean.split([g.numel() for g in grads]), strict=True):
            grad.copy_(part.view_as(grad))

    def least(self, number: int) -> int:
        """The least of a number over all processes."""
        return int(share(torch.tensor(number), dist.ReduceOp.MIN))

    def facts(self, batch: Batch, value: np.ndarray, target: np.ndarray, known: np.ndarray) -> dict[str, float]:
        """What a person watches: is the auction alive, does the critic explain the payoffs."""
        explained = 1 - (target - value)[known].var() / max(target[known].var(), 1e-9)
        return {"explained variance": float(explained)} | auction_facts(batch, self.experience.actions) | deal_facts(batch)

    def decisions(self) -> int:
        """Decisions of all processes so far."""
        return self.update * self.decisions_per_update()

    def decisions_per_update(self) -> int:
        """Decisions of all processes in one update."""
        return self.args.steps * self.args.matches * self.args.players_at_once()


def fitting_reward(rules: Ruleset) -> str:
    """What is learnt from: the payoff, and where nobody pays, how it compares, or defenders would learn nothing."""
    return "relative" if rules.payment == "points_only" else "payoff"


def reward_scale(rules: Ruleset) -> float:
    """Brings the payoff of a seat to about unit size: contracts cluster at 2.5 tricks, the declarer meets all defenders."""
    if rules.payment == "points_only":
        return 1.0
    return 1.0 / (2.5 * rules.stake * (rules.players - 1) ** 0.5)


def normalise_per_role(advantage: np.ndarray, role: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Advantages with mean 0 and deviation 1 within each role's measured decisions; the others are on the same scale."""
    out = np.zeros_like(advantage)
    for number in range(len(ROLES)):
        of_role = role == number
        part = advantage[of_role & measured]
        if len(part):
            out[of_role] = (advantage[of_role] - part.mean()) / (part.std() + 1e-6)
    return out


def explored_loss(log_prob: Tensor, advantage: Tensor) -> Tensor:
    """Of actions that were drawn uniformly: each is made likelier, or less likely down to RARE, as its advantage says.

    A policy gradient would weigh them by their probability, so an action that is almost given up could hardly come back
    where it is good; without that weight it does (Hennes et al. 2020, "Neural replicator dynamics", arXiv 1906.00190).
    """
    return torch.where((advantage < 0) & (log_prob < math.log(RARE)), 0.0, -advantage * log_prob)


def auction_facts(batch: Batch, actions: np.ndarray) -> dict[str, float]:
    """Share of calls that are passes, and the mean number bid."""
    bidding = (batch.role == BIDDING) & ~batch.foreign & ~batch.explored
    called = actions[batch.taken()[bidding]]
    bids = called[(called > PASS) & (called <= BID + MAX_HAND)]
    return {
        "auction/pass rate": float((called == PASS).mean()) if len(called) else 0.0,
        "auction/mean bid": float(bids.mean()) if len(bids) else 0.0,
    }


def deal_facts(batch: Batch) -> dict[str, float]:
    """Share of the deals that are played, and of those that their declarers win, in all and by the tricks needed.

    Deals in which a call was explored do not count, nor do those that began before the batch if any call was.
    """
    own, explored = np.empty(batch.ended.shape, np.bool_), np.full(batch.ended.shape[1], batch.explored.any())
    for t, ended in enumerate(batch.ended):
        explored |= batch.explored[t]
        own[t] = ~explored
        explored &= ended == RUNNING
    ended, played = (batch.ended != RUNNING) & own, (batch.ended >= FAILED) & own
    facts = {"deals/declared": float(played.sum() / max(ended.sum(), 1))}
    if played.any():
        facts["deals/made"] = float((batch.ended[played] == MADE).mean())
    for needed in np.unique(batch.needed[played]):
        of_bid = batch.ended[played & (batch.needed == needed)]
        facts |= {f"made/{needed}": float((of_bid == MADE).mean()), f"share/{needed}": len(of_bid) / played.sum()}
    return facts


@dataclass
class Rows:
    """One minibatch as tensors, [B, …]."""

    features: Tensor
    legal: Tensor
    choice: Tensor
    log_prob: Tensor
    role: Tensor
    explored: Tensor
    advantage: Tensor
    target: Tensor

    @cached_property
    def one_role(self) -> int | None:
        """The role of all rows, if they have the same."""
        low, high = self.role.aminmax()
        return int(low) if low == high else None


Order = list[np.ndarray]
"""Numbers of decisions, in groups of which no minibatch mixes two; each role's own, if roles have networks."""


@dataclass
class Played:
    """What is to be learnt from a rollout."""

    samples: Samples
    orders: list[Order]
    """Of each pass."""
    facts: dict[str, float]


class Samples:
    """A batch flattened to [T * N, …], from which minibatches are drawn; the columns are those of `Rows`."""

    def __init__(self, columns: list[Tensor]) -> None:
        self.columns = columns

    @classmethod
    def of(cls, features: Tensor, batch: Batch, advantage: np.ndarray, target: np.ndarray) -> Samples:
        """Those of a batch."""
        columns = (batch.legal, batch.choice, batch.log_prob, batch.role, batch.explored, advantage, target)
        return cls([features, *(torch.from_numpy(x.reshape(-1, *x.shape[2:])).to(features.device) for x in columns)])

    def rows(self, index: np.ndarray) -> Rows:
        """The decisions of these numbers."""
        chosen = torch.from_numpy(index).to(self.columns[0].device)
        features, legal, *others = (column.index_select(0, chosen) for column in self.columns)
        return Rows(features, legal[:, : int((legal >= 0).any(0).sum())], *others)


def set_budget(trainer: Trainer) -> None:
    """Fix the number of updates: from `decisions`, or from `minutes` and the speed of the first updates."""
    args, start = trainer.args, time.perf_counter()
    if args.decisions:
        trainer.updates = max(1, -(-args.decisions // trainer.decisions_per_update()))
        return
    trainer.train_update()  # compiles
    now = warm = time.perf_counter()
    wanted = min(MEASURED_SHARE * args.minutes * 60, MEASURED_MOST)
    while trainer.update <= MEASURED or not trainer.least(int(now - warm > wanted)):
        trainer.train_update()
        now = time.perf_counter()
    left = int((args.minutes * 60 - (now - start)) * (trainer.update - 1) / (now - warm))
    trainer.updates = trainer.update + max(0, trainer.least(left))


def export(trainer: Trainer) -> Path:
    """Write the policy as it is now as an agent file, and tell where."""
    training = trainer.args.as_json() | {"update": trainer.update, "updates": trainer.updates}
    path = trainer.args.out / "agent.onnx"
    return save_agent(path, trainer.net, trainer.rule_sets, trainer.args.suit_order, training=training)


def work(rank: int, args: Args, make: type[Trainer]) -> None:
    """One process from start to end."""
    settle()
    trainer = make(args, rank)
    if args.workers == "ray":
        trainer.workers = RayWorkers(trainer)
        trainer.seconds = dict.fromkeys(("workers", "update"), 0.0)
    if args.resume:
        state.load_newest(args.out, trainer)
    else:
        set_budget(trainer)
    every, gone_on_from = args.eval_every if rank == 0 else 0, trainer.decisions() if args.resume else 0
    evaluator = Evaluator(trainer.rule_sets, every, args.out, gone_on_from)
    with Reporter(trainer, evaluator) as reporter:
        saved, newest = time.perf_counter(), -1
        while trainer.update < trainer.updates:
            reporter.show(trainer.train_update())
            if trainer.least(int(time.perf_counter() - saved > args.save_every)):
                state.save(args.out, trainer)
                saved, newest = time.perf_counter(), trainer.update
            if evaluator.due() and trainer.update < trainer.updates:
                reporter.tell(evaluator.next(export(trainer), trainer.decisions()))
        if trainer.update != newest:
            state.save(args.out, trainer)
        if rank == 0:
            agent = export(trainer)
            if every:
                reporter.tell(evaluator.all(agent, trainer.decisions()))
    if trainer.workers:
        trainer.workers.close()


def check(args: Args) -> None:
    """Whether a run can be as the arguments say.

    Raises:
        RulesetError, ArgsError: it cannot.
    """
    for name, (low, high) in BOUNDS.items():
        if not low <= getattr(args, name) <= high:  # neither is a number that is none
            most = "" if high == math.inf else f" and at most {high}"
            raise ArgsError(f"{name}={getattr(args, name)} must be at least {low}{most}")
    rule_sets = args.rule_sets()
    if not rule_sets:
        raise ArgsError("there is no rule set to train on: name one with --rules and a number of seats with --players")
    if args.matches < len(rule_sets):
        raise ArgsError(f"matches={args.matches} are fewer than the {len(rule_sets)} rule sets")
    if args.matches * args.steps < LEAST_BATCHES * args.minibatch:
        raise ArgsError(
            f"matches={args.matches} of steps={args.steps} are too few decisions for minibatch={args.minibatch}: "
            f"an update needs {LEAST_BATCHES} times as many, for the worth of some of them is not known yet"
        )
    if args.device.split(":")[0] not in ("cpu", "cuda"):
        raise ArgsError(f"device={shown(args.device)} must be cpu, cuda or cuda:N")
    try:
        torch.empty(0, device=args.device)
    except (RuntimeError, AssertionError) as error:  # CUDA's is an assertion
        raise ArgsError(f"device={args.device} is not there: {str(error).splitlines()[0]}") from None
    if wrong := unknown_features(args.omit):
        raise ArgsError(wrong)
    if args.address and args.workers != "ray":
        raise ArgsError(f"address={args.address} is of a Ray cluster, which plays with --workers ray")


def train(args: Args, make: type[Trainer] = Trainer) -> Args:
    """Train; the agent is `out`/agent.onnx afterwards. Returns the arguments, which are the stored ones of a resumed run.

    Args:
        args: what the run is.
        make: the loop of each process, where it is a variant.

    Raises:
        RulesetError, ArgsError, StateError: nothing has been written.
        LostError, ClusterError: a process or the cluster was lost, or there is none; what the last training state holds is not.
    """
    if args.resume:
        args = state.resumed_args(args)
    check(args)  # before any process is started
    if not args.resume and state.complete(args.out):
        raise ArgsError(f"{args.out} holds training states: go on from them with --resume, or take another --out")
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgsError(f"out={shown(str(args.out), 200)} cannot be a folder: {error.strerror}") from None
    if args.processes == 1 and args.workers == "own":
        work(0, args, make)
    else:
        try:
            run_processes(work, args.processes, args.out / "rendezvous", args, make)
        except LostError as error:
            may_be = "" if args.workers == "own" else "the Ray cluster may be lost, for then Ray ends processes: "
            saved = "go on with --resume" if state.complete(args.out) else "no training state had been saved"
            raise LostError(f"{may_be}{error}: {saved}") from None
    return args


def main(args: Args) -> None:
    """Train, and write the page of the run."""
    run_folder = train(args).out
    try:
        print(write_page(page.Args(run_folder)))
    except page.PageError as error:  # a run of no more updates than those whose time was measured
        print(f"no page: {error}")


if __name__ == "__main__":
    run(main, Args, __doc__)
