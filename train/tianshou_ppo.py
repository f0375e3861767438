"""Tianshou 2's PPO in self-play over all seats, on PettingZoo: `python -m train.tianshou_ppo`.

Tested with tianshou 2.0.1.

Its multi-agent algorithms see only what an action was paid at once, and bootstrap from what the next seat observes
(https://github.com/thu-ml/tianshou/issues/399, open): here, where the last card of a deal pays all seats, three of four would
learn from nothing. So one PPO plays all seats, and `SeatPPO` runs its advantages along each seat's own decisions. Its
on-policy algorithms know no masks either (https://github.com/thu-ml/tianshou/issues/334, open): the mask that `PettingZooEnv`
delivers is applied in the actor, so that it holds in the collector and in the update alike.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.torch_utils import policy_within_training_step
from torch import Tensor, nn

import napoleon_env as ne
from agents.network import MASKED
from train import adapting
from train.adapting import SUIT_ORDER, Clock, Evaluation, begin, finish
from train.command import run
from train.experience import advantages
from train.ppo import reward_scale


@dataclass
class Args(adapting.Args):
    """What a run is."""

    out: Path = Path("runs/tianshou")
    """Folder for agent.onnx."""
    envs: int = 32
    """Matches at once."""
    steps: int = 64
    """Decisions of each between updates."""
    epochs: int = 3
    """Passes over the decisions of an update."""
    lr: float = 1e-3
    """Adam's step size."""


def layers(n_out: int) -> nn.Sequential:
    """A multilayer perceptron on the observation."""
    return nn.Sequential(
        nn.Linear(ne.OBSERVATION_SIZE, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, n_out)
    )  # fmt: skip


class Actor(nn.Module):
    """From Tianshou's observations to the logits of the legal actions."""

    def __init__(self) -> None:
        super().__init__()
        self.net = layers(ne.N_ACTIONS)

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Illegal actions get a logit of probability 0."""
        logits = self.net(torch.as_tensor(obs.obs))
        return torch.where(torch.as_tensor(obs.mask), logits, MASKED), state


class Critic(nn.Module):
    """What is still to be won by the seat to move."""

    def __init__(self) -> None:
        super().__init__()
        self.net = layers(1)

    def forward(self, obs: Any) -> Tensor:
        """Of shape [B]."""
        return self.net(torch.as_tensor(obs.obs)).squeeze(1)


class SeatPPO(PPO):
    """PPO for a table: what is paid to a seat is credited to that seat's own decisions, whoever moved when it was paid."""

    scale = 1.0
    """Of rewards."""

    def _add_returns_and_advantages(self, batch: Any, buffer: Any, indices: np.ndarray) -> Any:
        def by_time(rows: np.ndarray) -> np.ndarray:
            """The buffer holds what one environment played after what the one before played; here a row is a step of all."""
            return np.ascontiguousarray(rows.reshape(buffer.buffer_num, -1, *rows.shape[1:]).swapaxes(0, 1))

        with torch.no_grad():
            batch.v_s = self.critic(batch.obs)
        rewards = (batch.rew * self.scale).astype(np.float32)
        seat = np.char.lstrip(batch.obs.agent_id.astype(str), "seat_").astype(np.int64)
        columns = (rewards, batch.done, seat, batch.v_s.numpy())
        advantage, known = advantages(*map(by_time, columns), self.gae_lambda)
        batch.adv = torch.from_numpy(advantage.T.reshape(-1))
        batch.returns = batch.adv + batch.v_s
        return batch[known.T.reshape(-1)]


def make_algorithm(args: Args) -> SeatPPO:
    """PPO with a fresh network."""
    actor: Any = Actor()  # the library's own actors take no masks
    policy = DiscreteActorPolicy(actor=actor, action_space=ne.env(args.ruleset).action_space("seat_0"))
    algorithm = SeatPPO(
        policy=policy, critic=Critic(), optim=AdamOptimizerFactory(lr=args.lr, eps=1e-5),
        ent_coef=0.01, max_grad_norm=0.5, advantage_normalization=True,
    )  # fmt: skip
    algorithm.scale = reward_scale(args.ruleset)
    return algorithm


def make_collector(args: Args, algorithm: SeatPPO) -> Any:
    """Tianshou's collector, at the first decisions of `args.envs` matches."""
    logging.getLogger("tianshou.data.stats").setLevel(logging.ERROR)  # it warns that rewards are one for each seat
    settings: Any = {"suit_order": SUIT_ORDER, "reward": args.reward, "facts": False, "illegal": "raise"}
    envs = DummyVectorEnv([
        lambda index=index: PettingZooEnv(ne.env(args.ruleset, index=index, **settings)) for index in range(args.envs)
    ])  # fmt: skip
    collector = Collector(algorithm, envs, VectorReplayBuffer(args.envs * args.steps, args.envs))
    collector.reset(gym_reset_kwargs={"seed": args.seed})
    return collector


def train(args: Args) -> tuple[Actor, Clock]:
    """Train for as long as `args` says."""
    begin(args)
    algorithm = make_algorithm(args)
    collector = make_collector(args, algorithm)
    clock = Clock(args.minutes)
    while clock.running:
        clock.count(args.envs * args.steps)
        with policy_within_training_step(algorithm.policy):
            collector.collect(n_step=args.envs * args.steps)
            algorithm.update(buffer=collector.buffer, batch_size=256, repeat=args.epochs)
        collector.reset_buffer(keep_statistics=True)
    return algorithm.policy.actor, clock


def main(args: Args) -> Evaluation:
    """Train, export, evaluate."""
    actor, clock = train(args)
    return finish(actor.net, args, clock)


if __name__ == "__main__":
    run(main, Args, __doc__)
