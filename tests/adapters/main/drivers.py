"""One match through each library's own view of the environment, for the table of equivalence.

A driver plays match 0 of `seed` under `rules`. It asks `choose(seat, legal)` for every decision, with the legal ids that the
library shows, in order, and returns what each seat was paid in all, as far as the library tells. Ids are in fixed suit order.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
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


def one_learner(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """`Napoleon-v0`, as MaskablePPO trains in it: only the learner's seat is paid, the others are asked as opponents."""

    def opponent(view: ne.View) -> int:
        return choose(view.seat, view.legal_ids())

    env: Any = gymnasium.make("Napoleon-v0", rules=rules, opponents=opponent, mask="info", facts=False)
    _, info = env.reset(seed=seed)
    paid: Counter[int] = Counter()
    over = False
    while not over:
        action = choose(info["seat"], np.flatnonzero(env.get_wrapper_attr("action_masks")()).tolist())
        _, reward, terminated, truncated, info = env.step(action)
        paid[info["seat"]] += reward
        over = terminated or truncated
    return dict(paid)


DRIVERS = {"tianshou": tianshou, "torchrl": torchrl, "one learner": one_learner}
