"""Ray RLlib: the game as a `MultiAgentEnv` of its new API stack.

`PPOConfig().environment(RLlibEnv, env_config={"rules": "german", "suit_order": "canonical"})`; train/rllib_ppo.py is a run.

RLlib's own `PettingZooEnv` takes `napoleon_env.env()` too. But RLlib's modules for masked actions look for the observation
under the key `observations`, where PettingZoo has `observation`; and several runners would play the same deals, since RLlib
seeds the environment i of runner w with seed + w + i (https://github.com/ray-project/ray/issues/46986).

Tested with ray 2.60.0.
"""

# pyright: reportMissingImports=false
# The library is installed in the venv of its group alone.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from napoleon_env.aec_env import raw_env
from napoleon_env.vector_env import check_flag

AGENTS: Final = "__all__"
"""RLlib's key for all agents together."""
ByAgent = dict[Any, Any]
"""What RLlib takes by agent; its agents may be anything that can be a key."""


class RLlibEnv(MultiAgentEnv):
    """A match is an episode; each step asks the one seat that is to act.

    Agents are `seat_0`, `seat_1`, … Observations are {"observations": Box, "action_mask": Box}, as RLlib's
    `ActionMaskingTorchRLModule` wants them. A deal's rewards come to all seats in the step that ends it; RLlib adds what a seat
    gets while others move to its last action. In the step that ends the match all seats have an observation.

    Use `batch_mode="complete_episodes"`: where RLlib cuts an episode it drops the last action of every seat that waits, with
    what it earns (https://github.com/ray-project/ray/pull/44677). In that mode it resets the environments for every sample,
    always with the same seed if `debugging(seed=...)` gave one, hence to the same deals: give none there and call
    `reset(seed=...)` in `on_environment_created`, as the script does.

    Args:
        config: keyword arguments of `raw_env`, and `skip_forced`: play decisions with a single legal action at once. Illegal
            actions end the match by default; with illegal="raise", RLlib's check of environments, which plays without masks,
            must be left out (`disable_env_checking`). From an `EnvContext`, `index` is the number of the runner by default.

    Raises:
        RulesetError, EnvError, ObservationError, SeedError: a setting that does not exist.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        options: dict[str, Any] = {"illegal": "terminate", "index": getattr(config, "worker_index", 0), **(config or {})}
        self.skip_forced = check_flag("skip_forced", options.pop("skip_forced", False))
        self.env = raw_env(**options)
        self.possible_agents, self.agents = (list[Any](self.env.possible_agents) for _ in range(2))
        self.observation_spaces = {
            agent: _renamed_space(self.env.observation_space(agent)) for agent in self.env.possible_agents
        }
        self.action_spaces = {agent: self.env.action_space(agent) for agent in self.env.possible_agents}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ByAgent, ByAgent]:
        """Begin match 0 of `seed`, or without a seed the next match; as `raw_env.reset`."""
        self.env.reset(seed, options)  # the first call of a deal is never forced (C10)
        return self._asked()

    def step(self, action_dict: ByAgent) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Carry out the action of the seat that is to act.

        Returns:
            (observations, rewards, terminated, truncated, infos) by agent: of the seat that is to act now, and rewards of all
            who earned something; of all seats when the match is over.
        """
        rewards: dict[str, float] = {}
        self._step(action_dict[self.env.agent_selection], rewards)
        self._play_forced(rewards)
        over, cut = self._ended()
        observations, infos = self._asked()
        for agent in observations:
            rewards.setdefault(agent, 0.0)
        return observations, rewards, {AGENTS: over}, {AGENTS: cut}, infos

    def _step(self, action: Any, rewards: ByAgent) -> None:
        self.env.step(int(action))
        for agent, reward in self.env.rewards.items():
            if reward:
                rewards[agent] = rewards.get(agent, 0.0) + reward

    def _play_forced(self, rewards: ByAgent) -> None:
        while self.skip_forced and not any(self._ended()):
            legal = np.flatnonzero(self.env.infos[self.env.agent_selection]["action_mask"])
            if len(legal) > 1:
                return
            self._step(legal[0], rewards)

    def _ended(self) -> tuple[bool, bool]:
        agent = self.env.agent_selection
        return self.env.terminations[agent], self.env.truncations[agent]

    def _asked(self) -> tuple[ByAgent, ByAgent]:
        """Observations and infos of the seat that is to act, or of all when the match is over."""
        agents = self.env.possible_agents if any(self._ended()) else [self.env.agent_selection]
        observations = {}
        for agent in agents:
            seen = self.env.observe(agent)
            observations[agent] = {"observations": seen["observation"], "action_mask": seen["action_mask"]}
        return observations, {agent: self.env.infos[agent] for agent in agents}


def _renamed_space(space: Any) -> spaces.Dict:
    return spaces.Dict({"observations": space["observation"], "action_mask": space["action_mask"]})
