"""BenchMARL's IPPO in self-play over all seats: `python -m train.benchmarl_ippo --minutes 3`.

Tested with benchmarl 1.5.2, torchrl 0.11.1, tensordict 0.11.0.

BenchMARL has no turns (https://github.com/facebookresearch/BenchMARL/issues/76): in every step it has a row for each seat, and
only one of them acts. Time runs for all of them, so what is paid meanwhile reaches each seat's last action through its critic
and its advantages; but the idle rows' actions mean nothing, and `TurnBasedIppo` gives them no advantage. Three rows of four are
thus computed in vain: that is how far its support goes. It has no time limit either: `Stop` ends a run as Ctrl-C would.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from benchmarl.algorithms import IppoConfig
from benchmarl.algorithms.ippo import Ippo
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from torch import nn

from napoleon_env.adapters.benchmarl import NapoleonTask
from train import adapting
from train.adapting import SUIT_ORDER, Clock, Evaluation, begin, finish
from train.command import run


@dataclass
class Args(adapting.Args):
    """What a run is."""

    out: Path = Path("runs/benchmarl")
    """Folder for agent.onnx, and for what BenchMARL notes of the run."""
    envs: int = 16
    """Tables at once."""
    frames: int = 1024
    """Decisions of an update."""


class TurnBasedIppo(Ippo):
    """IPPO whose policy learns from the seat that acted alone."""

    def process_batch(self, group: str, batch: Any) -> Any:
        """Advantages of mean 0 and deviation 1 among the rows that acted, and 0 in the others."""
        batch = super().process_batch(group, batch)
        acted, advantage = batch[group, "mask"], batch[group, "advantage"]
        of_acting = advantage[acted]
        advantage[:] = torch.where(acted.unsqueeze(-1), (advantage - of_acting.mean()) / (of_acting.std() + 1e-6), 0.0)
        return batch


class TurnBasedIppoConfig(IppoConfig):
    """BenchMARL finds the algorithm through the class of its configuration."""

    @staticmethod
    def associated_class() -> type[Ippo]:
        """The algorithm."""
        return TurnBasedIppo


class TimeOver(KeyboardInterrupt):
    """The one way to end an experiment in good order."""


class Stop(Callback):
    """Ends the experiment in time."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def on_batch_collected(self, batch: Any) -> None:
        """Count the decisions, of which a step has one."""
        if not self.clock.count(batch.numel()):
            raise TimeOver


def settings(args: Args) -> tuple[ExperimentConfig, MlpConfig]:
    """BenchMARL's settings of a run without end, and of its networks."""
    config = ExperimentConfig.get_from_yaml()
    config.gamma, config.lr, config.clip_grad_val = 1.0, 1e-3, 0.5
    config.on_policy_collected_frames_per_batch, config.on_policy_n_envs_per_worker = args.frames, args.envs
    config.on_policy_minibatch_size, config.on_policy_n_minibatch_iters = 128, 4
    config.max_n_frames, config.max_n_iters = None, 10**9
    config.evaluation, config.render, config.loggers, config.create_json = False, False, [], False
    config.save_folder = str(args.out)
    return config, MlpConfig(num_cells=[128, 128], layer_class=nn.Linear, activation_class=nn.ReLU)


def experiment(args: Args, clock: Clock) -> Experiment:
    """The whole run."""
    config, net = settings(args)
    ippo = IppoConfig.get_from_yaml()
    ippo.lmbda, ippo.entropy_coef = 0.98, 0.01  # a seat decides in about every fourth step
    task = NapoleonTask(rules=args.ruleset, suit_order=SUIT_ORDER, reward=args.reward, illegal="raise")
    return Experiment(
        task=task, algorithm_config=TurnBasedIppoConfig(**vars(ippo)), model_config=net,
        seed=args.seed, config=config, callbacks=[Stop(clock)],
    )  # fmt: skip


def train(args: Args) -> tuple[Experiment, Clock]:
    """Train for as long as `args` says."""
    begin(args)
    clock = Clock(args.minutes)
    run = experiment(args, clock)
    with suppress(TimeOver):
        run.run()
    return run, clock


def policy_layers(run: Experiment) -> list[nn.Module]:
    """From the observation to the logits, shared by all seats."""
    policy: Any = run.policy
    return [policy[0].module[0].mlp.get_stateful_net()]


def main(args: Args) -> Evaluation:
    """Train, export, evaluate."""
    run, clock = train(args)
    return finish(policy_layers(run), args, clock)


if __name__ == "__main__":
    run(main, Args, __doc__)
