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
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from napoleon_env.observation import DIGEST

if TYPE_CHECKING:
    from train.ppo import Args, Trainer

ArgsType = TypeVar("ArgsType", bound="Args")

KEPT_BY_CALLER = ("out", "resume", "address")
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
        **play_facts(trainer),
        "workers": [facts for _, facts in trainer.workers.states] if trainer.workers else [],
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
        for old in (*complete(folder)[: -trainer.args.keep], *states.glob("*.partial")):  # left over from a run that was killed
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


def resumed_args(args: ArgsType) -> ArgsType:
    """The arguments of the run in `args.out`, to go on with, of the type of `args`.

    Raises:
        StateError: there is no run, or one with other arguments than this version has.
    """
    path, parts = newest(args.out)
    stored, known = parts[0][1]["args"], {f.name for f in fields(args)}
    if odd := sorted(known ^ set(stored)):
        raise StateError(f"{path} is of another version of this script: only one of the two has {', '.join(odd)}")
    values = {n: tuple(v) if isinstance(v, list) else v for n, v in stored.items() if n not in KEPT_BY_CALLER}
    return type(args)(**values, **{name: getattr(args, name) for name in KEPT_BY_CALLER})


def load_newest(folder: Path, trainer: Trainer) -> None:
    """Put the newest state into a trainer made with the same arguments."""
    _, parts = newest(folder)
    tensors, facts = parts[trainer.rank]
    put_tensors(trainer, tensors)
    put_play(trainer, tensors, facts)
    if trainer.workers:
        trainer.workers.states = [(of(tensors, f"worker/{i}/"), worker) for i, worker in enumerate(facts["workers"])]
    trainer.update, trainer.updates, trainer.seconds = facts["update"], facts["updates"], facts["seconds"]
    played = trainer.experience.seconds
    played |= {name: trainer.seconds[name] for name in played if name in trainer.seconds}


def tensors_of(trainer: Trainer) -> dict[str, torch.Tensor]:
    """Parameters, their moving average and past states, optimiser moments, and the matches in play and who plays them."""
    tensors = {f"net/{name}": x for name, x in trainer.net.state_dict().items()}
    tensors |= {f"magnet/{name}": x for name, x in trainer.magnet.state_dict().items()}
    for i, moments in trainer.optimizer.state_dict()["state"].items():
        tensors |= {f"adam/{i}/{name}": x for name, x in moments.items()}
    tensors |= {f"past/{name}": x for name, x in trainer.past.tensors().items()}
    tensors |= play_tensors(trainer)
    for i, (of_worker, _) in enumerate(trainer.workers.states if trainer.workers else ()):
        tensors |= {f"worker/{i}/{name}": x for name, x in of_worker.items()}
    return {name: x.contiguous() for name, x in tensors.items()}


def of(tensors: dict[str, torch.Tensor], part: str) -> dict[str, torch.Tensor]:
    """The tensors of a part, without its name."""
    return {n.removeprefix(part): x for n, x in tensors.items() if n.startswith(part)}


def put_tensors(trainer: Trainer, tensors: dict[str, torch.Tensor]) -> None:
    """Take back what is learnt of what `tensors_of` gave."""
    trainer.net.load_state_dict(of(tensors, "net/"))
    trainer.magnet.load_state_dict(of(tensors, "magnet/"))
    state = trainer.optimizer.state_dict()
    for name, x in of(tensors, "adam/").items():
        i, moment = name.split("/")
        state["state"].setdefault(int(i), {})[moment] = x
    trainer.optimizer.load_state_dict(state)


def play_tensors(trainer: Trainer) -> dict[str, torch.Tensor]:
    """The matches in play and who plays them."""
    tables = enumerate(trainer.experience.tables)
    tensors = {f"env/{i}": torch.from_numpy(table.env.states.view(np.uint8).copy()) for i, table in tables}
    return tensors | {"owner": torch.from_numpy(trainer.experience.owner.copy())}


def play_facts(trainer: Trainer) -> dict[str, Any]:
    """All else that playing changes, but the past selves' networks, as JSON values."""
    return {
        "rng": trainer.rng.bit_generator.state,
        "matches": [table.env.next_match for table in trainer.experience.tables],
        "past": trainer.past.facts(),
    }


def put_play(trainer: Trainer, tensors: dict[str, torch.Tensor], facts: dict[str, Any]) -> None:
    """Take back what `play_tensors` and `play_facts` gave, and past selves if they are among the tensors."""
    trainer.past.restore(trainer.net, of(tensors, "past/"), facts["past"])
    trainer.rng.bit_generator.state = facts["rng"]
    for i, (table, match) in enumerate(zip(trainer.experience.tables, facts["matches"], strict=True)):
        table.env.next_match = match
        table.env.load_states(tensors[f"env/{i}"].numpy().view(table.env.states.dtype))
    trainer.experience.owner[:] = tensors["owner"].numpy()
