"""TorchRL's PPO in self-play over all seats, turn by turn, on its PettingZoo wrapper: `python -m train.torchrl_ppo`.

Tested with torchrl 0.14.1 and tensordict 0.14.3.

`PettingZooWrapper` gives every seat a row in every step, also the seats that wait: `mask` says who acts, and the `action_mask`
of those who wait allows everything. Who picks the rows of the seats that act breaks the chain from a decision to what it is
paid later, while others move (https://github.com/pytorch/rl/issues/3215). So here nothing is picked before the advantages:
they run over every step of every seat; then the critic learns from all rows, and the policy from those of the seats that
acted. (`PettingZooEnv(task=…)` takes names of PettingZoo's own games alone, https://github.com/pytorch/rl/issues/2461; and
every number in the infos must be one from the first reset on, hence `facts=False`.)
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import EnvBase, SerialEnv
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss, ValueEstimators

import napoleon_env as ne
from train import adapting
from train.adapting import SUIT_ORDER, Clock, Evaluation, begin, finish
from train.command import run
from train.ppo import reward_scale

SEATS = "seats"
"""The group of agents that one network plays."""


@dataclass
class Args(adapting.Args):
    """What a run is."""

    out: Path = Path("runs/torchrl")
    """Folder for agent.onnx."""
    envs: int = 8
    """Matches at once."""
    steps: int = 128
    """Decisions of each between updates."""
    epochs: int = 3
    """Passes over the decisions of an update."""
    minibatch: int = 128
    """Decisions of one gradient step; each has a row for every seat."""
    lr: float = 1e-3
    """Adam's step size."""


def make_env(args: Args, index: int) -> EnvBase:
    """The environment of that number, all seats in one group."""
    env = ne.env(
        args.ruleset, suit_order=SUIT_ORDER, reward=args.reward, mask="info", facts=False, illegal="raise", index=index
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PettingZoo in TorchRL is tested using version == 1.24.3")
        return PettingZooWrapper(env, use_mask=True, group_map={SEATS: env.possible_agents}, seed=args.seed)


def perceptron(n_out: int) -> MLP:
    """A network on the observation."""
    return MLP(ne.OBSERVATION_SIZE, n_out, num_cells=[128, 128], activation_class=nn.ReLU)


def make_loss(args: Args, net: nn.Module) -> tuple[ProbabilisticActor, ClipPPOLoss]:
    """The masked policy and PPO's objective, one number a row."""
    policy = ProbabilisticActor(
        TensorDictModule(net, [(SEATS, "observation")], [(SEATS, "logits")]),
        in_keys={"logits": (SEATS, "logits"), "mask": (SEATS, "action_mask")}, out_keys=[(SEATS, "action")],
        distribution_class=MaskedCategorical, return_log_prob=True,
    )  # fmt: skip
    critic = ValueOperator(perceptron(1), [(SEATS, "observation")], [(SEATS, "state_value")])
    loss = ClipPPOLoss(policy, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5, reduction="none")
    names = ("reward", "done", "terminated", "action")
    loss.set_keys(value=(SEATS, "state_value"), **{name: (SEATS, name) for name in names})
    loss.make_value_estimator(ValueEstimators.GAE, gamma=1.0, lmbda=0.98)  # a seat decides in about every fourth step
    return policy, loss


def make_collector(args: Args, policy: ProbabilisticActor) -> Collector:
    """Decisions of `args.envs` matches without end, of shape [envs, steps] at a time."""
    envs = SerialEnv(args.envs, [lambda index=index: make_env(args, index) for index in range(args.envs)])
    frames = args.envs * args.steps
    return Collector(envs, policy, frames_per_batch=frames, total_frames=-1, auto_register_policy_transforms=False)


def train(args: Args) -> tuple[nn.Module, Clock]:
    """Train for as long as `args` says."""
    begin(args)
    net, scale = perceptron(ne.N_ACTIONS), reward_scale(args.ruleset)
    policy, loss = make_loss(args, net)
    optimizer = torch.optim.Adam(loss.parameters(), lr=args.lr, eps=1e-5)
    collector = make_collector(args, policy)
    clock = Clock(args.minutes)
    for batch in collector:
        batch["next", SEATS, "reward"] *= scale
        with torch.no_grad():
            loss.value_estimator(batch)
        data = batch.reshape(-1)
        for _ in range(args.epochs):
            for chosen in torch.randperm(len(data)).split(args.minibatch):
                gradient_step(data[chosen], loss, optimizer)
        if not clock.count(len(data)):
            break
    collector.shutdown()
    return net, clock


def gradient_step(rows: TensorDict, loss: ClipPPOLoss, optimizer: torch.optim.Optimizer) -> None:
    """One minibatch: the policy learns from the seats that acted, the critic from all."""
    acted = rows[SEATS, "mask"]
    advantage = rows["advantage"][acted]
    rows = rows.set("advantage", (rows["advantage"] - advantage.mean()) / (advantage.std() + 1e-6))
    parts: Any = loss(rows)
    policy_loss = (parts["loss_objective"] + parts["loss_entropy"]).view(acted.shape)[acted].mean()
    optimizer.zero_grad()
    (policy_loss + parts["loss_critic"].mean()).backward()
    nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
    optimizer.step()


def main(args: Args) -> Evaluation:
    """Train, export, evaluate."""
    net, clock = train(args)
    return finish([net], args, clock)


if __name__ == "__main__":
    run(main, Args, __doc__)
