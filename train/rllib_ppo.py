"""RLlib's PPO in self-play over all seats, on this machine or a Ray cluster: `python -m train.rllib_ppo --workers 2`.

Tested with ray 2.60.0 (new API stack), gymnasium 1.2.2.

One module plays all seats. All roles share its layers but the last, of which each role has its own (`RoleHeads`). What has
to be worked around:

* RLlib makes no default network for observations with a mask (https://github.com/ray-project/ray/issues/44780), and its example
  module takes the mask for float: hence a module of our own, which reads int8.
* Where it cuts episodes it loses actions of waiting seats and what they earn (https://github.com/ray-project/ray/pull/44677):
  hence whole episodes. For them it seeds the environments anew at every sample, and different ones with the same seed
  (https://github.com/ray-project/ray/issues/46986): hence `deal`. Its check of an environment plays illegal actions, so it is
  left out.
* It starts with usage statistics and a dashboard; both are switched off. Its new local clusters ask for a token, which it
  leaves in the home folder (https://github.com/ray-project/ray/pull/64755); here they get one that goes with the run. And its
  workers are so nice (15) that beside any other load they hardly run.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import Tensor, nn

import agents
import napoleon_env as ne
import train as scripts
from agents.network import MASKED, RoleHeads
from napoleon_env.adapters.rllib import RLlibEnv
from train import adapting
from train.adapting import SUIT_ORDER, Clock, Evaluation, begin, finish
from train.command import run
from train.ppo import reward_scale

SELF = "self"
"""The one module."""
DECISIONS = "decisions"
"""The name of our count."""
LOCAL = "local"
"""Ray's word for a cluster of its own; without it Ray joins whatever runs on the machine."""


@dataclass
class Args(adapting.Args):
    """What a run is."""

    out: Path = Path("runs/rllib")
    """Folder for agent.onnx."""
    workers: int = 2
    """Processes that play; each takes one of the cluster's CPUs."""
    envs: int = 64
    """Tables at once in each of them."""
    address: str = LOCAL
    """Of a running Ray cluster, "auto" for one on this machine; "local" starts Ray here for the run."""
    batch: int = 4096
    """Decisions of an update, at least."""


class RoleModule(TorchRLModule, InferenceOnlyAPI, ValueFunctionAPI):
    """Actor and critic whose last layers are there once for each role."""

    def setup(self) -> None:
        """Build the layers."""
        width = self.model_config["width"]
        self.actor, self.critic = (
            nn.Sequential(nn.Linear(ne.OBSERVATION_SIZE, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
            for _ in range(2)
        )
        self.policy_heads, self.value_heads = RoleHeads(width, ne.N_ACTIONS), RoleHeads(width, 1)

    def get_non_inference_attributes(self) -> list[str]:
        """What the processes that play do without."""
        return ["critic", "value_heads"]

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]["observations"].float()
        logits = self.policy_heads(self.actor(seen), seen)
        return {Columns.ACTION_DIST_INPUTS: torch.where(batch[Columns.OBS]["action_mask"] != 0, logits, MASKED)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        """What is still to be won, in points, [B]."""
        seen = batch[Columns.OBS]["observations"].float()
        return self.value_heads(self.critic(seen), seen).squeeze(1) / self.model_config["scale"]

    @property
    def policy_layers(self) -> list[nn.Module]:
        """From the observation to the logits."""
        return [self.actor, self.policy_heads]


def deal(env: Any, env_context: Any, *, seed: int, **_: Any) -> None:
    """Give every table of a process deals of its own, and the process its randomness; called once in each."""
    torch.manual_seed(seed + env_context.worker_index)
    for number, table in enumerate(env.envs):
        table.unwrapped.reset(seed=seed + number)  # the number of the process is the table's index


def count(samples: list[Any], metrics_logger: Any, **_: Any) -> None:
    """Count the decisions that are learnt from; RLlib's own count has those of the matches that a sample breaks off too."""
    metrics_logger.log_value(DECISIONS, sum(len(match) for match in samples), reduce="sum")


def config(args: Args) -> PPOConfig:
    """All of the run but its length."""
    scale = reward_scale(args.ruleset)
    options = {
        "rules": args.ruleset.header, "suit_order": SUIT_ORDER, "obs_dtype": "int8", "skip_forced": True, "facts": False,
        "reward": args.reward, "illegal": "raise",
    }  # fmt: skip
    return (
        PPOConfig()
        .environment(
            RLlibEnv, env_config=options, disable_env_checking=True, normalize_actions=False, clip_actions=False
        )
        .env_runners(num_env_runners=args.workers, num_envs_per_env_runner=args.envs, batch_mode="complete_episodes")
        .callbacks(on_environment_created=partial(deal, seed=args.seed), on_sample_end=count)
        .multi_agent(policies={SELF}, policy_mapping_fn=lambda agent, episode, **_: SELF)
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(
                rl_module_specs={SELF: RLModuleSpec(module_class=RoleModule, model_config={"width": 128, "scale": scale})}
            )
        )
        .training(
            gamma=1.0, lambda_=0.95, lr=1e-3, clip_param=0.2, entropy_coeff=0.01, use_kl_loss=False, grad_clip=0.5,
            vf_loss_coeff=0.5 * scale**2, vf_clip_param=float("inf"),
            train_batch_size_per_learner=args.batch, minibatch_size=512, num_epochs=4,
        )
    )  # fmt: skip


def start_ray(args: Args) -> None:
    """Join the cluster at `address`, which gets this code, or start one for this run."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if args.address != LOCAL:
        ray.init(args.address, runtime_env={"py_modules": [agents, ne, scripts]})
        return
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(LOCAL, num_cpus=args.workers + 1, include_dashboard=False)


def train(args: Args) -> tuple[RoleModule, Clock]:
    """Train for as long as `args` says."""
    begin(args)
    algorithm = config(args).build_algo()
    clock = Clock(args.minutes)
    while clock.count(int(algorithm.train()["env_runners"][DECISIONS])):
        pass
    module = algorithm.get_module(SELF)
    algorithm.stop()
    return module, clock


def main(args: Args) -> Evaluation:
    """Train, export, evaluate."""
    start_ray(args)
    module, clock = train(args)
    ray.shutdown()
    return finish(module.policy_layers, args, clock)


if __name__ == "__main__":
    run(main, Args, __doc__)
