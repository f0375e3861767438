"""Training states: all that a run needs to go on as if it had never stopped, in safetensors and JSON.

A state is a folder `states/UPDATE/` with one file of tensors and one of JSON values for each process. It is written beside and
then renamed, so it is there wholly or not at all; a damaged one is passed over with a warning and the one before is used.
"""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from napoleon_env.observation import DIGEST

if TYPE_CHECKING:
    from train.ppo import Args, Trainer

KEPT_BY_CALLER = ("out", "resume")
"""Arguments that a resumed run takes from its own command line; all others come from the state."""


class StateError(ValueError):
    """There is no training state to go on from, or it belongs to another layout."""


def save(folder: Path, trainer: Trainer) -> None:
    """Write this process's part; once all have, the first process makes the state visible and drops the oldest."""
    states = folder / "states"
    partial = states / f"{trainer.update:08d}.partial"
    partial.mkdir(parents=True, exist_ok=True)
    tensors = tensors_of(trainer)
    name = f"rank{trainer.rank}"
    save_file(tensors, partial / f"{name}.safetensors")
    facts = {
        "update": trainer.update,
        "updates": trainer.updates,
        "seconds": trainer.seconds,
        "rng": trainer.rng.bit_generator.state,
        "match": trainer.env.next_match,
        "observation": DIGEST,
        "args": trainer.args.as_json(),
        "sha256": sha256((partial / f"{name}.safetensors").read_bytes()).hexdigest(),
    }
    (partial / f"{name}.json").write_text(json.dumps(facts, indent=1))
    trainer.least(0)  # every process has written its part
    if trainer.rank == 0:
        state = states / f"{trainer.update:08d}"
        shutil.rmtree(state, ignore_errors=True)  # a damaged one, which was passed over
        partial.rename(state)
        for old in complete(folder)[: -trainer.args.keep]:
            shutil.rmtree(old)


def complete(folder: Path) -> list[Path]:
    """The states in a run's folder, oldest first."""
    return sorted(p for p in (folder / "states").glob("*") if p.name.isdigit())


def read(path: Path, rank: int) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """One process's tensors and values.

    Raises:
        ValueError, OSError: missing, damaged, or of another observation layout.
    """
    facts = json.loads((path / f"rank{rank}.json").read_text())
    if sha256((path / f"rank{rank}.safetensors").read_bytes()).hexdigest() != facts["sha256"]:
        raise ValueError("its tensors do not match their checksum")
    if facts["observation"] != DIGEST:
        raise StateError(f"{path} is of observation layout {facts['observation']}, this is {DIGEST}")
    return load_file(path / f"rank{rank}.safetensors"), facts


def newest(folder: Path) -> tuple[Path, list[tuple[dict[str, torch.Tensor], dict[str, Any]]]]:
    """The newest state whose every part can be read.

    Raises:
        StateError: there is none.
    """
    for path in reversed(complete(folder)):
        try:
            first = read(path, 0)
            return path, [first, *(read(path, rank) for rank in range(1, first[1]["args"]["processes"]))]
        except StateError:
            raise
        except (ValueError, KeyError, OSError) as error:
            warnings.warn(f"{path} is damaged ({error}); trying the state before it", stacklevel=2)
    raise StateError(f"no training state in {folder / 'states'}: start without --resume")


def resumed_args(args: Args) -> Args:
    """The arguments of the run in `args.out`, to go on with."""
    _, parts = newest(args.out)
    stored = parts[0][1]["args"]
    known = {f.name for f in fields(args)} - set(KEPT_BY_CALLER)
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in stored.items() if name in known}
    return type(args)(**values, **{name: getattr(args, name) for name in KEPT_BY_CALLER})


def load_newest(folder: Path, trainer: Trainer) -> None:
    """Put the newest state into a trainer made with the same arguments."""
    _, parts = newest(folder)
    tensors, facts = parts[trainer.rank]
    put_tensors(trainer, tensors)
    trainer.update, trainer.updates, trainer.seconds = facts["update"], facts["updates"], facts["seconds"]
    trainer.rng.bit_generator.state = facts["rng"]
    trainer.env.next_match = facts["match"]


def tensors_of(trainer: Trainer) -> dict[str, torch.Tensor]:
    """Parameters, their moving average, optimiser moments and the matches in play."""
    tensors = {f"net/{name}": x for name, x in trainer.net.state_dict().items()}
    tensors |= {f"magnet/{name}": x for name, x in trainer.magnet.state_dict().items()}
    for i, moments in trainer.optimizer.state_dict()["state"].items():
        tensors |= {f"adam/{i}/{name}": x for name, x in moments.items()}
    tensors["env/states"] = torch.from_numpy(trainer.env.states.view(np.uint8).copy())
    return {name: x.contiguous() for name, x in tensors.items()}


def put_tensors(trainer: Trainer, tensors: dict[str, torch.Tensor]) -> None:
    """The reverse of `tensors_of`."""
    for part, module in (("net/", trainer.net), ("magnet/", trainer.magnet)):
        module.load_state_dict({n.removeprefix(part): x for n, x in tensors.items() if n.startswith(part)})
    state = trainer.optimizer.state_dict()
    for name, x in tensors.items():
        if name.startswith("adam/"):
            _, i, moment = name.split("/")
            state["state"].setdefault(int(i), {})[moment] = x
    trainer.optimizer.load_state_dict(state)
    trainer.env.load_states(tensors["env/states"].numpy().view(trainer.env.states.dtype))
