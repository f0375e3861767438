"""One match through each library's own view of the environment, for the table of equivalence.

A driver plays match 0 of `seed` under `rules`. It asks `choose(seat, legal)` for every decision, with the legal ids that the
library shows, in order, and returns what each seat was paid in all, as far as the library tells. Ids are in fixed suit order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.vec_env import DummyVecEnv
from tianshou.env import PettingZooEnv
from torchrl.envs.libs.pettingzoo import PettingZooWrapper

import napoleon_env as ne
from napoleon_env.ruleset import Ruleset

Choose = Callable[[int, list[int]], int]


def tianshou(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """Tianshou's `PettingZooEnv`."""
    env = PettingZooEnv(ne.env(rules, facts=False))
    seen, _ = env.reset(seed=seed)
    paid, over = np.zeros(rules.players), False
    while not over:
        action = choose(int(seen["agent_id"][-1]), np.flatnonzero(seen["mask"]).tolist())
        seen, rewards, terminated, truncated, _ = env.step(action)
        paid += rewards
        over = terminated or truncated
    return dict(enumerate(paid))


def torchrl(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """TorchRL's `PettingZooWrapper`; its rewards are float32."""
    env = ne.env(rules, mask="info", facts=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PettingZoo is newer than the one it was tested with
        wrapped = PettingZooWrapper(env, use_mask=True, group_map={"seats": env.possible_agents}, seed=seed)
    data = wrapped.reset(seed=seed)
    paid = np.zeros(rules.players)
    while not data["done"]:
        [seat] = data["seats", "mask"].nonzero()[:, 0].tolist()
        action = choose(seat, data["seats", "action_mask"][seat].nonzero()[:, 0].tolist())
        data["seats", "action"] = torch.full((rules.players,), action)  # of the seats that wait nothing is read
        data = wrapped.step(data)["next"]
        paid += data["seats", "reward"][:, 0].numpy()
    return dict(enumerate(paid))


def sb3(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """Stable-Baselines3's `DummyVecEnv` of `Napoleon-v0`: only the learner is paid; the match after is not followed."""

    def opponent(view: ne.View) -> int:
        beyond = table.match.state["match"][0] > 0
        return view.legal_ids()[0] if beyond else choose(view.seat, view.legal_ids())

    env = DummyVecEnv([lambda: gymnasium.make("Napoleon-v0", rules=rules, opponents=opponent, mask="info", facts=False)])
    table: Any = env.envs[0].unwrapped
    env.seed(seed)
    env.reset()
    seat, paid, over = table.seat, 0.0, False
    while not over:
        action = choose(seat, np.flatnonzero(get_action_masks(env)[0]).tolist())
        _, rewards, dones, _ = env.step(np.array([action]))
        paid += float(rewards[0])
        over = bool(dones[0])
    return {seat: paid}


DRIVERS = {"Tianshou": tianshou, "TorchRL": torchrl, "Stable-Baselines3": sb3}
"""By name."""
