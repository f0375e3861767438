"""BenchMARL: the game as a task, `NapoleonTask(rules="german", suit_order="canonical")`.

BenchMARL has no turns (https://github.com/facebookresearch/BenchMARL/issues/76). What it gets from TorchRL's PettingZoo wrapper
is a row for every seat in every step, also for those that wait: with a mask that allows all, an action that nobody carries
out, and rewards when they come, so that none is lost. The key (GROUP, "mask") is true for the one that acts. Its algorithms
learn from all rows alike; train/benchmarl_ippo.py shows how to keep the idle ones out of the policy's loss.

All seats are one group and share a network, if BenchMARL is told to share (its default). For a critic that sees all hands,
as MAPPO's, nothing more is needed: it reads the observations of all seats.

Tested with benchmarl 1.5.2, torchrl 0.11.1.
"""

# pyright: reportMissingImports=false
# The library is installed in the venv of its group alone.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from benchmarl.environments.common import TaskClass
from torchrl.data import Composite
from torchrl.envs import EnvBase
from torchrl.envs.libs.pettingzoo import PettingZooWrapper

from napoleon_env.aec_env import raw_env

GROUP: Final = "seats"
"""The one group of agents."""
MAX_STEPS: Final = 10**6
"""No bound on an evaluation: a match ends by itself."""


class NapoleonTask(TaskClass):
    """A match is an episode.

    BenchMARL gives all environments of an experiment the same seed; here each has the next `index`, so that their deals differ.
    (Not with `parallel_collection`: its processes would all begin to count at the same number.)

    Args:
        options: keyword arguments of `raw_env`. By default an illegal action ends the match; BenchMARL's networks take
            observations in float32 alone.

    Raises:
        RulesetError, EnvError, ObservationError: a setting that does not exist.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(raw_env(**options).rules.header["preset"], options)
        self.made = 0
        """Environments made so far."""

    def get_env_fun(self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any) -> Callable[[], EnvBase]:
        """What makes one environment; BenchMARL calls it `num_envs` times."""

        def make() -> EnvBase:
            env = raw_env(**{"illegal": "terminate", **self.config}, index=self.made, mask="info", facts=False)
            self.made += 1
            return PettingZooWrapper(
                env, group_map={GROUP: env.possible_agents}, use_mask=True, categorical_actions=True, seed=seed, device=device
            )

        return make

    def supports_continuous_actions(self) -> bool:
        """No."""
        return False

    def supports_discrete_actions(self) -> bool:
        """Yes."""
        return True

    def has_render(self, env: EnvBase) -> bool:
        """No."""
        return False

    def max_steps(self, env: EnvBase) -> int:
        """No bound: a match ends by itself."""
        return MAX_STEPS

    def group_map(self, env: Any) -> dict[str, list[str]]:
        """All seats are one group."""
        return env.group_map

    def observation_spec(self, env: EnvBase) -> Composite:
        """What each seat observes."""
        return _only("observation", env.observation_spec)

    def action_mask_spec(self, env: EnvBase) -> Composite:
        """What each seat may do; all, when it is not to act."""
        return _only("action_mask", env.observation_spec)

    def action_spec(self, env: EnvBase) -> Composite:
        """An action for each seat."""
        return env.full_action_spec

    def state_spec(self, env: EnvBase) -> None:
        """None: a central critic reads the observations of all seats."""

    def info_spec(self, env: EnvBase) -> None:
        """None."""

    @staticmethod
    def env_name() -> str:
        """For the names of experiments."""
        return "napoleon"


def _only(name: str, spec: Composite) -> Composite:
    return Composite({GROUP: Composite({name: spec[GROUP, name].clone()}, shape=spec[GROUP].shape)})
