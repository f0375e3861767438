"""One match through RLlib's view of the environment, for the table of equivalence (`tests/adapters/drivers.py`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from napoleon_env.adapters.rllib import RLlibEnv
from napoleon_env.ruleset import Ruleset

Choose = Callable[[int, list[int]], int]


def rllib(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """`RLlibEnv`, which asks one agent in each step."""
    env = RLlibEnv({"rules": rules, "facts": False})
    seen, _ = env.reset(seed=seed)
    paid, over = np.zeros(rules.players), False
    while not over:
        [(agent, observation)] = seen.items()
        action = choose(int(agent[-1]), np.flatnonzero(observation["action_mask"]).tolist())
        seen, rewards, terminated, truncated, _ = env.step({agent: action})
        for other, reward in rewards.items():
            paid[int(other[-1])] += reward
        over = terminated["__all__"] or truncated["__all__"]
    assert list(seen) == env.possible_agents
    return dict(enumerate(paid))


DRIVERS = {"RLlib": rllib}
