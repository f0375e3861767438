"""Experience from a Ray cluster (https://docs.ray.io, extra `ray`): its processes play what one process learns from.

A rollout is a function of the network and of where its matches stand, and gives both what is learnt from and where they stand
then; so any process of the cluster can play any rollout, and one that is lost with its process or node is played again, with
the same result. The process that learns waits for all rollouts of an update: what is learnt depends on their number alone,
and equals what as many processes learn that play for themselves.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from inspect import getfile
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

import napoleon_env
from napoleon_env.cluster import ClusterError, connect
from train import state
from train.processes import settle

if TYPE_CHECKING:
    from train.ppo import Played, Trainer

GIVEN = 60.0
"""Seconds in which the cluster must give a process."""
PREPARING = 600.0
"""Seconds for the first rollout of a process, which compiles, and as long as no other one is known."""
LOOKED = 20.0
"""Seconds after which it is looked again whether a process is stopped."""
SLOWER = 10.0
"""How many times longer than the longest before a rollout may take until its process is ended."""
SHORT = 3.0
"""Seconds that the longest is at least taken for."""
RETRIES = 3
"""Losses in one update, for each rollout of it, after which the run ends."""
GO_ON = "go on with --resume"

State = tuple[dict[str, torch.Tensor], dict[str, Any]]
"""Where the matches of a rollout stand (`state.play_tensors`, `state.play_facts`)."""


@cache
def code() -> str:
    """A digest of the sources and of torch's version: all that must be the same on every node."""
    root = Path(napoleon_env.__file__).parent.parent
    files = sorted(path for folder in ("napoleon_env", "agents", "train") for path in (root / folder).glob("*.py"))
    return sha256(b"\0".join([torch.__version__.encode(), *(path.read_bytes() for path in files)])).hexdigest()


def name(kind: type) -> str:
    """By which another process finds a class of this folder, though its module is the one that is run here."""
    return f"train.{Path(getfile(kind)).stem}:{kind.__qualname__}"


class Begun(NamedTuple):
    """What a process tells when it begins a rollout."""

    first: bool
    """Whether it is its first one."""
    node: str
    process: int


@dataclass
class Rollout:
    """One that is being played."""

    number: int
    limit: float = 0.0
    """Time by which it is to have ended, once it has begun."""
    begun: Begun | None = None


class RayWorkers:
    """Plays the rollouts of one learning process on a Ray cluster.

    Args:
        trainer: the learning process.

    Raises:
        ClusterError: there is no Ray, or no such cluster.
    """

    def __init__(self, trainer: Trainer) -> None:
        args = trainer.args
        os.environ.setdefault("RAY_worker_niceness", "0")  # of a local cluster: the others wait for the slowest
        connect(args.ray_workers, args.address)
        import ray

        self.ray: Any = ray  # its types know no generators among what is waited for
        self.first, self.number = trainer.rank * args.ray_workers, args.ray_workers
        self.states: list[State] = []
        self.task = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(play)
        self.job = ray.put((name(type(trainer)), name(type(args)), vars(args) | {"device": "cpu"}, code()))
        self.past: dict[int, Any] = {}
        self.longest = 0.0
        self.processes: dict[str, set[int]] = {}
        self.guards: dict[str, Any] = {}
        self.looks: dict[str, Any] = {}
        self.looked = time.monotonic()

    def play(self, trainer: Trainer) -> list[Played]:
        """The rollouts of one update, in order.

        Raises:
            ClusterError: the cluster is lost, gives no process, has another version, or a process cannot play.
        """
        start = time.perf_counter()
        trainer.freeze_past()
        owners = [tensors["owner"].numpy().ravel() for tensors, _ in self.states]
        trainer.past.turn(np.concatenate(owners) if owners else np.empty(0, np.int64))
        try:
            results = self._gather(trainer)
        except ClusterError:
            raise
        except Exception as error:
            raise ClusterError(f"the Ray cluster fails: {_line(error)}: {GO_ON}") from None
        self.states = [state_of for _, state_of in results]
        trainer.seconds["workers"] += time.perf_counter() - start
        return [played for played, _ in results]

    def _gather(self, trainer: Trainer) -> list[tuple[Played, State]]:
        from ray import exceptions

        ray = self.ray
        actors = trainer.past.actors
        self.past = {n: self.past.get(n) or ray.put(_arrays(actors[n])) for n in actors}
        weights = ray.put(_arrays(trainer.net))

        def begin(number: int) -> Any:
            begins_at = self.states[number] if self.states else None
            return self.task.remote(
                self.job, self.first + number, begins_at, weights, self.past, trainer.update, trainer.updates
            )

        playing = {begin(number): Rollout(number) for number in range(self.number)}
        results: dict[int, tuple[Played, State]] = {}
        losses, heard = 0, time.monotonic()
        while playing:
            ready, _ = ray.wait([*playing], timeout=1.0)
            now = time.monotonic()
            for rollout in playing.values():
                if rollout.begun and now > rollout.limit:  # when its process has ended, the rollout is lost
                    self._guard(rollout.begun.node).end.remote(rollout.begun.process)
                    rollout.limit = now + GIVEN
            if now - self.looked > LOOKED:
                self.looked = now
                self._look()
            for task in ready:
                rollout, heard = playing[task], now
                try:
                    told = ray.get(next(task))
                except exceptions.RayTaskError as error:
                    if isinstance(error.cause, ClusterError):
                        raise error.cause from None
                    raise ClusterError(f"a worker of the Ray cluster cannot play: {_line(error.cause)}") from None
                except exceptions.RayError:
                    losses += 1
                    if rollout.begun:
                        self.processes.get(rollout.begun.node, set()).discard(rollout.begun.process)
                    del playing[task]
                    playing[begin(rollout.number)] = Rollout(rollout.number)
                    continue
                if isinstance(told, Begun):
                    known = self.longest and not told.first
                    rollout.begun, rollout.limit = told, now + (SLOWER * max(SHORT, self.longest) if known else PREPARING)
                    self.processes.setdefault(told.node, set()).add(told.process)
                    self._guard(told.node)
                else:
                    sent, state_of, seconds = told
                    if rollout.begun and not rollout.begun.first:
                        self.longest = max(self.longest, seconds)
                    results[rollout.number] = unpack(trainer, sent), state_of
                    del playing[task]
            if losses > RETRIES * self.number:
                raise ClusterError(f"the Ray cluster has lost {losses} workers within one update: {GO_ON}")
            if now - heard > GIVEN and not any(rollout.begun for rollout in playing.values()):
                raise ClusterError(f"the Ray cluster has given no worker within {GIVEN:g} s: {GO_ON}")
        return [results[number] for number in range(self.number)]

    def _look(self) -> None:
        """Have stopped processes ended, on each node whose guard has answered since the last time; one that is lost is left."""
        from ray import exceptions

        for node, processes in [*self.processes.items()]:
            before = [self.looks[node]] if node in self.looks else []
            ready, unready = self.ray.wait(before, timeout=0) if before else ([], [])
            try:
                self.ray.get(ready)
            except exceptions.RayError:
                del self.processes[node], self.guards[node], self.looks[node]
            else:
                self.looks[node] = unready[0] if unready else self._guard(node).end_stopped.remote([*processes])

    def _guard(self, node: str) -> Any:
        """That of a node; made before it is needed, while the node has nothing to hold it up."""
        if node not in self.guards:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            from train.guard import Guard

            there = NodeAffinitySchedulingStrategy(node, soft=False)
            self.guards[node] = self.ray.remote(num_cpus=0, scheduling_strategy=there)(Guard).remote()
        return self.guards[node]

    def close(self) -> None:
        """Take leave of the cluster; a local one ends."""
        self.ray.shutdown()


def unpack(trainer: Trainer, sent: dict[str, Any]) -> Played:
    """What `pack` has packed, for the process that learns; copied, so that the cluster's memory is free again."""
    from train.ppo import Played, Samples

    rows, *columns = (torch.tensor(column, device=trainer.device) for column in sent["columns"])
    features = trainer.net.features(rows, rows[:, :0], trainer.dtype)
    orders = [[index.astype(np.int64) for index in order] for order in sent["orders"]]
    return Played(Samples([features, *columns]), orders, sent["facts"])


# In the processes that play.

_trainer: Trainer | None = None
"""Of this process: the network and matches, into which those of a rollout are put."""


def play(
    job: tuple[str, str, dict[str, Any], str], number: int, begins_at: State | None, weights: dict[str, np.ndarray],
    past: dict[int, Any], update: int, updates: int,
) -> Generator[Any, None, None]:  # fmt: skip
    """Play a rollout.

    Yields what has begun; then what `pack` gives, where the matches stand now, and how many
    seconds it took.

    Args:
        job: names of the loop's and the arguments' types, the arguments, and the digest of the code.
        number: of the worker.
        begins_at: where its matches stand; None at the beginning of the run.
        weights: of the network.
        past: references to the past selves' networks.
        update, updates: of the learning process.
    """
    global _trainer
    import ray

    trainer_type, args_type, values, wanted = job
    if code() != wanted:
        raise ClusterError(
            f"the node {ray.util.get_node_ip_address()} has another version of the code or of torch than the learning process"
        )
    start, processor = time.perf_counter(), time.process_time()
    yield Begun(_trainer is None, ray.get_runtime_context().get_node_id(), os.getpid())
    settle()
    if _trainer is None or begins_at is None:
        _trainer = trainer = resolve_name(trainer_type)(resolve_name(args_type)(**values), number)
    else:
        trainer = _trainer
    for n in past.keys() - trainer.past.actors.keys():
        trainer.past.put(trainer.net, n, _tensors(ray.get(past[n])))
    if begins_at is not None:
        state.put_play(trainer, *begins_at)
    trainer.net.load_state_dict(_tensors(weights))
    trainer.update, trainer.updates = update, updates
    sent = pack(trainer, trainer.play())
    sent["facts"]["worker/processor seconds"] = time.process_time() - processor
    yield sent, (state.play_tensors(trainer), state.play_facts(trainer)), time.perf_counter() - start


def pack(trainer: Trainer, played: Played) -> dict[str, Any]:
    """A rollout in as few bytes as hold it."""
    batch, columns = trainer.experience.batch, played.samples.columns
    rows = np.concatenate([batch.observation, batch.hidden], 2).reshape(len(columns[0]), -1)
    packed = [rows, *(column.numpy() for column in columns[1:])]
    orders = [[index.astype(np.int32) for index in order] for order in played.orders]
    size = sum(x.nbytes for x in (*packed, *(index for order in orders for index in order)))
    return {"columns": packed, "orders": orders, "facts": played.facts | {"worker/bytes a decision": size / len(rows)}}


def _arrays(module: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: x.numpy(force=True) for name, x in module.state_dict().items()}


def _tensors(arrays: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(x) for name, x in arrays.items()}


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
