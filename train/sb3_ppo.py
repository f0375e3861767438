"""Stable-Baselines3's MaskablePPO, against past selves or against any player: `python -m train.sb3_ppo --opponents pool`.

Tested with sb3-contrib 2.9.2 and stable-baselines3 2.9.2.

MaskablePPO knows one agent and no turns (https://github.com/Stable-Baselines-Team/stable-baselines3-contrib/issues/250), so
what it trains in is `Napoleon-v0`: one learner's seat, whose step lasts until its next decision and brings all that was paid
meanwhile. Self-play is a pool of its own past selves in the other seats: a copy of the policy joins it from time to time, and
whoever sits down for a match stays to its end. Masks are asked for by a call of each environment's
`action_masks` (https://github.com/Stable-Baselines-Team/stable-baselines3-contrib/issues/279, open), so the environments are
single ones; and a mask in the observation would be fed to the network too, hence `mask="info"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from agents.export import save_layers
from napoleon_env.agent import OnnxPlayer
from napoleon_env.players import Player
from train import adapting
from train.adapting import SUIT_ORDER, Clock, Evaluation, begin, finish
from train.command import run
from train.ppo import reward_scale


@dataclass
class Args(adapting.Args):
    """What a run is."""

    out: Path = Path("runs/sb3")
    """Folder for agent.onnx and the pool."""
    opponents: str = "pool"
    """"pool": past selves; else a player, such as rule or path.onnx."""
    envs: int = 16
    """Tables at once."""
    every: int = 8
    """Updates after which a copy of the policy joins the pool."""
    size: int = 12
    """Of the pool; the oldest leave it."""


class Pool:
    """Past selves, as agent files that play by their probabilities."""

    def __init__(self, args: Args) -> None:
        self.args, self.joined = args, 0
        self.players: list[Player] = []
        (args.out / "pool").mkdir(exist_ok=True, parents=True)

    def join(self, model: Any) -> None:
        """Take in a copy of the policy."""
        path = self.args.out / "pool" / f"{self.joined:04}.onnx"
        save_layers(path, policy_layers(model), [self.args.ruleset], SUIT_ORDER, training={"decisions": model.num_timesteps})
        self.players = [*self.players, OnnxPlayer(path, sample=True)][-self.args.size :]
        self.joined += 1


class FromPool(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Draws the opponents of each match from a pool."""

    def __init__(self, env: gymnasium.Env[Any, Any], pool: Pool, rng: np.random.Generator) -> None:
        super().__init__(env)
        self.pool, self.rng = pool, rng

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin the next match with other opponents."""
        table: Any = self.unwrapped
        table.opponents = [self.pool.players[i] for i in self.rng.integers(len(self.pool.players), size=len(table.opponents))]
        return self.env.reset(**options)


class Watch(BaseCallback):
    """Ends the training in time, and feeds the pool."""

    def __init__(self, clock: Clock, pool: Pool | None, every: int) -> None:
        super().__init__()
        self.clock, self.pool, self.every, self.rollouts = clock, pool, every, 0

    def _on_rollout_start(self) -> None:
        self.rollouts += 1
        if self.pool is not None and self.rollouts % self.every == 0:
            self.pool.join(self.model)

    def _on_step(self) -> bool:
        return self.clock.count(self.training_env.num_envs)


def policy_layers(model: Any) -> list[nn.Module]:
    """From the observation to the logits."""
    return [model.policy.mlp_extractor.policy_net, model.policy.action_net]


def make_env(args: Args, index: int, pool: Pool | None) -> gymnasium.Env[Any, Any]:
    """The table of that number."""
    env: gymnasium.Env[Any, Any] = gymnasium.make(
        "napoleon_env:Napoleon-v0", rules=args.ruleset, opponents="random" if pool else args.opponents,
        suit_order=SUIT_ORDER, reward=args.reward, mask="info", facts=False, illegal="raise", index=index,
    )  # fmt: skip
    if pool is not None:
        env = FromPool(env, pool, np.random.default_rng([args.seed, index]))
    scale = reward_scale(args.ruleset)
    return gymnasium.wrappers.TransformReward(env, lambda reward: float(reward) * scale)


def train(args: Args) -> tuple[MaskablePPO, Clock]:
    """Train for as long as `args` says."""
    begin(args)
    pool = Pool(args) if args.opponents == "pool" else None
    env = DummyVecEnv([lambda index=index: make_env(args, index, pool) for index in range(args.envs)])
    model = MaskablePPO(
        "MlpPolicy", env, seed=args.seed, device="cpu", gamma=1.0, gae_lambda=0.95, n_steps=2048 // args.envs,
        batch_size=256, n_epochs=4, learning_rate=1e-3, ent_coef=0.01,
        policy_kwargs={"net_arch": [128, 128], "activation_fn": nn.ReLU},
    )  # fmt: skip
    if pool is not None:
        pool.join(model)  # there must be opponents at the first reset
    clock = Clock(args.minutes)
    model.learn(10**12, callback=Watch(clock, pool, args.every))
    return model, clock


def main(args: Args) -> Evaluation:
    """Train, export, evaluate."""
    model, clock = train(args)
    return finish(policy_layers(model), args, clock)


if __name__ == "__main__":
    run(main, Args, __doc__)
