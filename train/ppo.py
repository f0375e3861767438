"""Proximal policy optimisation in self-play over all seats, on one page: `python -m train.ppo --minutes 5 --out runs/first`.

One network plays every seat and role. Matches are stepped many at a time; decisions without a choice are left out. Each seat's
advantages run along its own decisions and are normalised per role (bidding, declarer, defender). The critic sees all hands; the
actor sees what its seat may know. `--processes` copies of this loop share their gradients (torch.distributed, gloo), each on
one thread.

Sources: PPO, Schulman et al. 2017 (arXiv 1707.06347); recipe of Rudolph et al., "Reevaluating policy gradient methods for
imperfect-information games" (arXiv 2502.08938); critic of PerfectDou (arXiv 2203.16406).
"""

from __future__ import annotations

import copy
import os
import sys
import time
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
import torch.distributed as dist
import tyro
from torch import Tensor

from agents.export import save_agent
from agents.network import ROLES, ActorCritic, divergence, log_prob_and_entropy
from napoleon_env.notation import BID, MAX_HAND, PASS
from napoleon_env.observation import HIDDEN_SIZE, observation_bounds
from napoleon_env.ruleset import Ruleset, parse_changes
from napoleon_env.vector_env import VectorEnv
from train import state
from train.command import run
from train.experience import BIDDING, Batch, Experience, advantages, varying_inputs
from train.progress import Reporter

MEASURED = 12
"""Updates that are timed to turn minutes into a budget, after one that compiles."""
LEAST_BATCHES = 2
"""Minibatches that the decisions of an update must be enough for."""


@dataclass
class Args:
    """What a run is; a resumed run keeps all of it but `out`."""

    rules: str = "german"
    """Preset of the rule set."""
    players: int = 4
    """Number of seats, 2 to 6."""
    out: Path = Path("runs/ppo")
    """Folder for the agent, the training states and the TensorBoard log."""
    minutes: float = 5.0
    """Time for training. The speed is measured at the start and turns this into a budget of decisions."""
    decisions: int = 0
    """Budget in decisions of all processes together; 0 takes `minutes`."""
    resume: bool = False
    """Go on from the newest training state in `out`."""
    seed: int = 0
    """Of the network, the deals and the actions."""
    processes: int = field(default_factory=lambda: min(2, os.cpu_count() or 1))
    """Data-parallel processes, each on one thread."""
    suit_order: Literal["fixed", "canonical"] = "canonical"
    """Canonical renames the suits at each decision, so that nothing has to be learnt four times."""
    omit: tuple[str, ...] = ("trick_of", "played")
    """Features the network does not see: who played which card in which trick is told by voids and `seen` well enough."""
    critic: Literal["all_hands", "public"] = "all_hands"
    """What the critic sees in training; the actor never sees more than its seat."""
    reward: Literal["auto", "payoff", "relative"] = "auto"
    """Relative (payoff minus the mean of the others') where nobody pays, payoff elsewhere."""
    width: int = 256
    """Units of each hidden layer."""
    depth: int = 2
    """Hidden layers of the actor and of the critic."""
    matches: int = 512
    """Matches stepped at once in each process."""
    steps: int = 64
    """Decisions of each match between updates."""
    epochs: int = 1
    """Passes over the decisions of an update."""
    minibatch: int = 512
    """Decisions of one gradient step in each process."""
    lr: float = 2e-3
    """Adam's step size at the start; falls linearly to 0."""
    clip: float = 0.15
    """PPO's bound on the change of a probability ratio."""
    decay: float = 0.95
    """Lambda of generalised advantage estimation; gamma is 1, since a match is short."""
    entropy: float = 0.04
    """Weight of the entropy bonus at the start; falls linearly to `entropy_end` by two thirds of the run."""
    entropy_end: float = 0.004
    """Weight of the entropy bonus in the last third."""
    explore: float = 0.0
    """Share of the calls drawn uniformly at the start, so that no call is given up too early; falls linearly to 0."""
    magnet: float = 0.0
    """Weight of the divergence from the magnet, a moving average of the actor's parameters."""
    magnet_rate: float = 0.02
    """Share of the way that the magnet moves to the actor at each update."""
    value_weight: float = 0.5
    """Weight of the critic's squared error."""
    grad_norm: float = 0.5
    """Bound on the norm of the gradient."""
    precision: Literal["bf16", "fp32"] = "bf16"
    """Type of the hidden layers; parameters stay float32."""
    save_every: float = 60.0
    """Seconds between training states."""
    keep: int = 3
    """How many training states are kept."""
    changes: Annotated[tuple[str, ...], tyro.conf.arg(name="set")] = ()
    """Fields of the rule set to change, each as field=value."""

    def make_ruleset(self) -> Ruleset:
        """The rules that are played.

        Raises:
            RulesetError.
        """
        return Ruleset.make(self.rules, players=self.players, **parse_changes(self.changes))

    def as_json(self) -> dict[str, Any]:
        """The arguments as JSON values."""
        return {f.name: str(v) if isinstance(v := getattr(self, f.name), Path) else v for f in fields(self)}


class ArgsError(ValueError):
    """Arguments that do not go together; one sentence."""


class Trainer:
    """The loop of one process."""

    def __init__(self, args: Args, rank: int) -> None:
        self.args, self.rank = args, rank
        self.rules = args.make_ruleset()
        relative = (fitting_reward(self.rules) if args.reward == "auto" else args.reward) == "relative"
        torch.manual_seed(args.seed)
        inputs = varying_inputs([self.rules], args.suit_order, args.omit)
        if args.critic == "public":
            inputs = type(inputs)(inputs.observation, (), inputs.actions)
        low, high = observation_bounds()
        scale = 1.0 / torch.from_numpy(np.maximum(np.abs(low), np.abs(high)).astype(np.float32))
        self.net = ActorCritic(inputs, scale, torch.ones(HIDDEN_SIZE), args.width, args.depth)
        self.magnet = copy.deepcopy(self.net.actor).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=args.lr, eps=1e-5, fused=True)
        self.env = VectorEnv(
            self.rules, num_envs=args.matches, seed=args.seed, first_index=rank * args.matches,
            suit_order=args.suit_order, hidden=True, skip_forced=True, check=False,
        )  # fmt: skip
        self.env.reset()
        self.rng = np.random.default_rng([args.seed, rank])
        self.experience = Experience(self.env, inputs, args.steps, reward_scale(self.rules), relative, self.rng)
        self.update, self.updates = 0, 0
        self.seconds = dict.fromkeys(("environment and inference", "critic", "update"), 0.0)

    def autocast(self) -> torch.autocast:
        """Hidden layers in bfloat16, if asked for."""
        return torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.args.precision == "bf16")

    @torch.no_grad()
    def logits_of(self, observation: np.ndarray) -> np.ndarray:
        """The policy in numpy, for the rollout."""
        with self.autocast():
            return self.net.logits(torch.from_numpy(observation)).numpy()

    @torch.no_grad()
    def values_of(self, batch: Batch) -> np.ndarray:
        """The critic on a whole batch, float32 [T, N]."""
        with self.autocast():
            rows = [
                self.net.value(torch.from_numpy(seen), torch.from_numpy(secret))
                for seen, secret in zip(batch.observation, batch.hidden, strict=True)
            ]
        return torch.stack(rows).numpy()

    def train_update(self) -> dict[str, float]:
        """One rollout and the gradient steps on it."""
        args, clock = self.args, time.perf_counter
        progress = self.update / self.updates if self.updates else 0.0  # no budget yet: the speed is being measured
        for group in self.optimizer.param_groups:
            group["lr"] = args.lr * (1.0 - progress)
        entropy_weight = args.entropy + (args.entropy_end - args.entropy) * min(1.0, 1.5 * progress)
        start = clock()
        batch = self.experience.rollout(self.logits_of, args.explore * (1 - progress))
        played = clock()
        value = self.values_of(batch)
        advantage, known = advantages(batch.reward, batch.match_over, batch.seat, value, batch.explored, args.decay)
        judged = clock()
        index = np.flatnonzero(known)
        target = (advantage + value).reshape(-1)
        data = Samples(batch, normalise_per_role(advantage, batch.role, known), target)
        n_steps = int(self.least(len(index)) // args.minibatch)
        sums: dict[str, float] = {}
        for _ in range(args.epochs):
            self.rng.shuffle(index)
            for chunk in index[: n_steps * args.minibatch].reshape(-1, args.minibatch):
                for name, number in self.gradient_step(data.rows(chunk), entropy_weight).items():
                    sums[name] = sums.get(name, 0.0) + number / (args.epochs * n_steps)
        self.move_magnet()
        self.update += 1
        for name, seconds in zip(self.seconds, (played - start, judged - played, clock() - judged), strict=True):
            self.seconds[name] += seconds
        return sums | self.facts(batch, value, target, known) | {"entropy weight": entropy_weight}

    def gradient_step(self, rows: Rows, entropy_weight: float) -> dict[str, float]:
        """One minibatch: PPO's clipped objective, the critic's error, the entropy bonus."""
        args = self.args
        with self.autocast():
            logits = self.net.logits(rows.observation)
            log_prob, entropy = log_prob_and_entropy(logits, rows.legal, rows.choice)
            value = self.net.value(rows.observation, rows.hidden)
            if args.magnet:
                magnet = self.magnet(rows.observation * self.net.scale)
        ratio = (log_prob - rows.log_prob).exp()
        clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
        policy_loss = -torch.min(ratio * rows.advantage, clipped * rows.advantage).mean()
        value_loss = 0.5 * (value - rows.target).square().mean()
        loss = policy_loss + args.value_weight * value_loss - entropy_weight * entropy.mean()
        if args.magnet:
            loss = loss + args.magnet * divergence(logits, magnet, rows.legal).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.share_gradients()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), args.grad_norm)
        self.optimizer.step()
        with torch.no_grad():
            kl = ((ratio - 1) - (log_prob - rows.log_prob)).mean()  # Schulman's low-variance estimate
            by_role = {f"entropy/{name}": entropy[rows.role == i] for i, name in enumerate(ROLES)}
        return {
            "loss/policy": policy_loss.item(),
            "loss/value": value_loss.item(),
            "kl": kl.item(),
            "clipped": (ratio != clipped).float().mean().item(),
            **{name: float(x.mean()) if len(x) else 0.0 for name, x in by_role.items()},
        }

    @torch.no_grad()
    def move_magnet(self) -> None:
        """Bring the magnet a little nearer to the actor."""
        for average, parameter in zip(self.magnet.parameters(), self.net.actor.parameters(), strict=True):
            average.lerp_(parameter, self.args.magnet_rate)

    def share_gradients(self) -> None:
        """Average the gradients over all processes."""
        if self.args.processes == 1:
            return
        grads = [p.grad for p in self.net.parameters() if p.grad is not None]
        flat = torch.cat([g.reshape(-1) for g in grads])
        dist.all_reduce(flat)
        flat /= self.args.processes
        for grad, part in zip(grads, flat.split([g.numel() for g in grads]), strict=True):
            grad.copy_(part.view_as(grad))

    def least(self, number: int) -> int:
        """The least of a number over all processes."""
        if self.args.processes == 1:
            return number
        shared = torch.tensor(number)
        dist.all_reduce(shared, dist.ReduceOp.MIN)
        return int(shared)

    def facts(self, batch: Batch, value: np.ndarray, target: np.ndarray, known: np.ndarray) -> dict[str, float]:
        """What a person watches: is the auction alive, does the critic explain the payoffs."""
        residual = (target - value.reshape(-1))[known.reshape(-1)]
        explained = 1 - residual.var() / max(target[known.reshape(-1)].var(), 1e-9)
        return {"explained variance": float(explained)} | auction_facts(batch, self.experience.actions)

    def decisions_per_update(self) -> int:
        """Decisions of all processes in one update."""
        return self.args.steps * self.args.matches * self.args.processes


def fitting_reward(rules: Ruleset) -> str:
    """What is learnt from: the payoff, and where nobody pays, how it compares, or defenders would learn nothing."""
    return "relative" if rules.payment == "points_only" else "payoff"


def reward_scale(rules: Ruleset) -> float:
    """Brings the payoff of a seat to about unit size: contracts cluster at 2.5 tricks, the declarer meets all defenders."""
    if rules.payment == "points_only":
        return 1.0
    return 1.0 / (2.5 * rules.stake * (rules.players - 1) ** 0.5)


def normalise_per_role(advantage: np.ndarray, role: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Advantages with mean 0 and deviation 1 within each role's known decisions, float32 of the same shape."""
    out = np.zeros_like(advantage)
    for number in range(len(ROLES)):
        chosen = known & (role == number)
        if chosen.any():
            part = advantage[chosen]
            out[chosen] = (part - part.mean()) / (part.std() + 1e-6)
    return out


def auction_facts(batch: Batch, actions: np.ndarray) -> dict[str, float]:
    """Share of calls that are passes, and the mean number bid."""
    bidding = (batch.role == BIDDING) & ~batch.explored
    called = actions[batch.taken()[bidding]]
    bids = called[(called > PASS) & (called <= BID + MAX_HAND)]
    return {
        "auction/pass rate": float((called == PASS).mean()) if len(called) else 0.0,
        "auction/mean bid": float(bids.mean()) if len(bids) else 0.0,
    }


@dataclass
class Rows:
    """One minibatch as tensors, [B, …]."""

    observation: Tensor
    hidden: Tensor
    legal: Tensor
    choice: Tensor
    log_prob: Tensor
    role: Tensor
    advantage: Tensor
    target: Tensor


class Samples:
    """A batch flattened to [T * N, …], from which minibatches are drawn."""

    def __init__(self, batch: Batch, advantage: np.ndarray, target: np.ndarray) -> None:
        columns = (batch.observation, batch.hidden, batch.legal, batch.choice, batch.log_prob, batch.role)
        self.columns = [torch.from_numpy(x.reshape(-1, *x.shape[2:])) for x in columns]
        self.columns += [torch.from_numpy(advantage.reshape(-1)), torch.from_numpy(target)]

    def rows(self, index: np.ndarray) -> Rows:
        """The decisions of these numbers."""
        chosen = torch.from_numpy(index)
        return Rows(*(column.index_select(0, chosen) for column in self.columns))


def set_budget(trainer: Trainer) -> None:
    """Fix the number of updates: from `decisions`, or from `minutes` and the speed of the first updates."""
    args, start = trainer.args, time.perf_counter()
    if args.decisions:
        trainer.updates = max(1, -(-args.decisions // trainer.decisions_per_update()))
        return
    trainer.train_update()  # compiles
    warm = time.perf_counter()
    for _ in range(MEASURED):
        trainer.train_update()
    now = time.perf_counter()
    left = int((args.minutes * 60 - (now - start)) * MEASURED / (now - warm))
    trainer.updates = trainer.update + max(0, trainer.least(left))


def work(rank: int, args: Args) -> None:
    """One process from start to end."""
    torch.set_num_threads(1)
    if args.processes > 1:
        meeting = args.out / "rendezvous"
        dist.init_process_group("gloo", init_method=f"file://{meeting.resolve()}", rank=rank, world_size=args.processes)
    trainer = Trainer(args, rank)
    if args.resume:
        state.load_newest(args.out, trainer)
    else:
        set_budget(trainer)
    with Reporter(trainer) as reporter:
        saved = time.perf_counter()
        while trainer.update < trainer.updates:
            reporter.show(trainer.train_update())
            done = trainer.update == trainer.updates
            if done or trainer.least(int(time.perf_counter() - saved > args.save_every)):
                state.save(args.out, trainer)
                saved = time.perf_counter()
    if rank == 0:
        save_agent(args.out / "agent.onnx", trainer.net, [trainer.rules], args.suit_order, training=args.as_json())
    if args.processes > 1:
        dist.barrier()
        sys.stdout.flush()
        os._exit(0)  # gloo's threads may abort a process that tears them down after another has gone


def main(args: Args) -> None:
    """Train; the agent is `out`/agent.onnx afterwards.

    Raises:
        RulesetError, ArgsError, StateError: nothing has been written.
    """
    args.make_ruleset()  # refused here, before any process is started
    if args.matches * args.steps < LEAST_BATCHES * args.minibatch:
        raise ArgsError(
            f"matches={args.matches} of steps={args.steps} are too few decisions for minibatch={args.minibatch}: "
            f"an update needs {LEAST_BATCHES} times as many, for the worth of some of them is not known yet"
        )
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "rendezvous").unlink(missing_ok=True)
    if args.resume:
        args = state.resumed_args(args)
    if args.processes == 1:
        work(0, args)
    else:
        torch.multiprocessing.spawn(work, (args,), nprocs=args.processes)


if __name__ == "__main__":
    run(main, Args, __doc__)
