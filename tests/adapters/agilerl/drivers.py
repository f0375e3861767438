"""One match through AgileRL's view of `parallel_env`, for the table of equivalence (`tests/adapters/drivers.py`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from agilerl.vector import PzDummyVecEnv

import napoleon_env as ne
from napoleon_env.ruleset import Ruleset

Choose = Callable[[int, list[int]], int]


def agilerl(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """Its vector environment of one, whose every step asks all seats and listens to the one that acts."""
    env = PzDummyVecEnv(ne.parallel_env(rules, mask="info", facts=False))
    _, infos = env.reset(seed=seed)
    paid, over = np.zeros(rules.players), False
    while not over:
        masks = [infos[f"seat_{seat}"]["action_mask"] for seat in range(rules.players)]
        [seat] = [seat for seat, mask in enumerate(masks) if mask.any()]
        action = choose(seat, np.flatnonzero(masks[seat]).tolist())
        _, rewards, terminated, truncated, infos = env.step(
            {f"seat_{other}": np.array([action]) for other in range(rules.players)}
        )
        paid += [rewards[f"seat_{other}"][0] for other in range(rules.players)]
        over = bool(terminated["seat_0"][0] or truncated["seat_0"][0])
    return dict(enumerate(paid))


DRIVERS = {"AgileRL": agilerl}
