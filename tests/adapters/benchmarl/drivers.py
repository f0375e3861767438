"""One match through BenchMARL's view of the environment, for the table of equivalence (`tests/adapters/drivers.py`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import torch

from napoleon_env.adapters.benchmarl import GROUP, NapoleonTask
from napoleon_env.ruleset import Ruleset

Choose = Callable[[int, list[int]], int]


def benchmarl(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """The environment of `NapoleonTask`; its rewards are float32."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PettingZoo is newer than the one TorchRL was tested with
        env = NapoleonTask(rules=rules).get_env_fun(1, False, seed, "cpu")()
    data = env.reset(seed=seed)
    paid = np.zeros(rules.players)
    while not data["done"]:
        [seat] = data[GROUP, "mask"].nonzero()[:, 0].tolist()
        action = choose(seat, data[GROUP, "action_mask"][seat].nonzero()[:, 0].tolist())
        data[GROUP, "action"] = torch.full((rules.players,), action)  # of the seats that wait nothing is read
        data = env.step(data)["next"]
        paid += data[GROUP, "reward"][:, 0].numpy()
    return dict(enumerate(paid))


DRIVERS = {"BenchMARL": benchmarl}
