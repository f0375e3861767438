"""Nap (Napoleon) for reinforcement learning: the rules, environments, players, records and tournaments.

    import napoleon_env as ne

Every public name is here and is imported from its module when it is first used, so that the import itself is quick. Importing
also registers the environments: `gymnasium.make("Napoleon-v0")`, `gymnasium.make_vec("Napoleon-v0", num_envs=…)` and, where
PettingZoo has a registry, `pettingzoo.make("aec", "napoleon/napoleon-v0")` and `make("parallel", …)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import gymnasium
import pettingzoo

from napoleon_env.notation import N_ACTIONS, VERSION, action_id, action_name

if TYPE_CHECKING:
    from napoleon_env.aec_env import env, parallel_env, raw_env
    from napoleon_env.belief import sample_worlds
    from napoleon_env.gym_env import NapoleonEnv
    from napoleon_env.gym_vector_env import NapoleonVectorEnv
    from napoleon_env.match import IllegalActionError, Match, View
    from napoleon_env.observation import OBSERVATION_SIZE, observation_layout
    from napoleon_env.players import Player
    from napoleon_env.record import read_records, replay, write_records
    from napoleon_env.roster import make_player
    from napoleon_env.ruleset import PRESETS, Ruleset, RulesetError
    from napoleon_env.solver import solve
    from napoleon_env.tournament import run_tournament
    from napoleon_env.vector_env import EnvError, VectorEnv

__version__ = VERSION

__all__ = [
    "N_ACTIONS",
    "OBSERVATION_SIZE",
    "PRESETS",
    "EnvError",
    "IllegalActionError",
    "Match",
    "NapoleonEnv",
    "NapoleonVectorEnv",
    "Player",
    "Ruleset",
    "RulesetError",
    "VectorEnv",
    "View",
    "action_id",
    "action_name",
    "env",
    "make_player",
    "observation_layout",
    "parallel_env",
    "raw_env",
    "read_records",
    "replay",
    "run_tournament",
    "sample_worlds",
    "solve",
    "write_records",
]

_NAMES_IN: Final = {
    "ruleset": ("PRESETS", "Ruleset", "RulesetError"),
    "match": ("IllegalActionError", "Match", "View"),
    "observation": ("OBSERVATION_SIZE", "observation_layout"),
    "record": ("read_records", "replay", "write_records"),
    "players": ("Player",),
    "roster": ("make_player",),
    "solver": ("solve",),
    "belief": ("sample_worlds",),
    "aec_env": ("env", "parallel_env", "raw_env"),
    "gym_env": ("NapoleonEnv",),
    "gym_vector_env": ("NapoleonVectorEnv",),
    "vector_env": ("EnvError", "VectorEnv"),
    "tournament": ("run_tournament",),
}
_MODULE_OF: Final = {name: module for module, names in _NAMES_IN.items() for name in names}
"""Where each public name is, beyond those of `notation`."""


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _register() -> None:
    """Tell Gymnasium and, where it has a registry (from 1.27 on), PettingZoo how to make the environments."""
    if "Napoleon-v0" not in gymnasium.registry:
        gymnasium.register(
            "Napoleon-v0",
            entry_point="napoleon_env.gym_env:NapoleonEnv",
            vector_entry_point="napoleon_env.gym_vector_env:NapoleonVectorEnv",
        )
    register = getattr(pettingzoo, "register", None)
    if register is not None:
        for kind, maker in (("aec", "env"), ("parallel", "parallel_env")):
            if "napoleon/napoleon-v0" not in getattr(pettingzoo, f"{kind}_registry"):
                register(kind, "napoleon/napoleon-v0", f"napoleon_env.aec_env:{maker}")


_register()
