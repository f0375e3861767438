"""Training from a real Ray cluster: what is learnt is the same, whatever is killed meanwhile."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from test_cluster import APART, ray_nodes, wait_for
from test_ppo import MANY

from napoleon_env.cluster import ClusterError, connect
from train import state, workers
from train.ppo import Args, ArgsError, Trainer, train
from train.processes import LostError
from train.workers import RayWorkers

UPDATES = 60
"""So many that a cluster is lost well before the end, however fast the machine is."""
PROCESSES = replace(MANY, processes=2, players=(3,), keep=100, decisions=UPDATES * 1024)
RAY = replace(PROCESSES, processes=1, workers="ray")
RAY_NOTICES = 400.0
"""Seconds after which Ray itself would notice a stopped process: it asks after 300, and waits 120 for an answer."""


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in APART.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def by_processes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, torch.Tensor]]:
    """What the last state holds of a run of two processes that play for themselves."""
    folder = tmp_path_factory.mktemp("own")
    train(replace(PROCESSES, out=folder))
    return [tensors for tensors, _ in state.newest(folder)[1]]


def same(folder: Path, ranks: list[dict[str, torch.Tensor]]) -> None:
    """The last state of a run of one process and its Ray workers has what is learnt, and the matches of the other's ranks."""
    tensors, _ = state.read(state.complete(folder)[-1], 0)
    for name, tensor in ranks[0].items():
        if name.startswith(("net/", "magnet/", "adam/")):
            assert torch.equal(tensor, tensors[name]), name
    for rank, of_rank in enumerate(ranks):
        for name in ("env/0", "env/1", "owner"):
            assert torch.equal(of_rank[name], tensors[f"worker/{rank}/{name}"]), (rank, name)


def test_a_node_that_is_lost_costs_time_and_a_cluster_the_updates_since_the_last_state(
    by_processes: list[dict[str, torch.Tensor]], tmp_path: Path
) -> None:
    def after(states: int, do: Callable[[], None]) -> threading.Thread:
        def wait() -> None:
            wait_for(lambda: len(state.complete(tmp_path)) >= states)
            do()

        thread = threading.Thread(target=wait)
        thread.start()
        return thread

    with ray_nodes(2) as (address, _, say):
        threads = [after(3, lambda: say("kill")), after(6, lambda: say("lose"))]
        with pytest.raises((ClusterError, LostError), match=r"the Ray cluster .*go on with --resume"):
            train(replace(RAY, out=tmp_path, address=address))
        for thread in threads:
            thread.join()
    assert 6 <= len(state.complete(tmp_path)) < UPDATES
    train(Args(out=tmp_path, resume=True))  # on a local one
    assert len(state.complete(tmp_path)) == UPDATES
    same(tmp_path, by_processes)


@pytest.mark.parametrize("critic", ["all_hands", "public"])
def test_what_is_sent_is_what_was_played(critic: Literal["all_hands", "public"]) -> None:
    trainer = Trainer(replace(RAY, critic=critic), 0)
    played = trainer.play()
    received = workers.unpack(trainer, workers.pack(trainer, played))
    for sent, column in zip(received.samples.columns, played.samples.columns, strict=True):
        assert sent.dtype == column.dtype
        assert torch.equal(sent, column)
    for sent_order, order in zip(received.orders, played.orders, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(sent_order, order, strict=True))


def elsewhere(work: Callable[..., None], *args: object) -> str:
    """What a function says in a process of its own, which Ray may change as it likes."""
    context = multiprocessing.get_context("spawn")
    said: SimpleQueue[str] = context.SimpleQueue()
    process = context.Process(target=work, args=(said, *args))
    process.start()
    process.join()
    assert process.exitcode == 0
    return said.get()


class Stopped(workers.Rollout):
    """A rollout in a process that is stopped when it has told that it has begun; it may then be over, which changes nothing."""

    trainer: Trainer
    wanted = 0
    stopped = False

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "begun" and value and self.trainer.update == self.wanted and not Stopped.stopped:
            Stopped.stopped = True
            os.kill(value.process, signal.SIGSTOP)


def play_beside_a_stopped_process(said: "SimpleQueue[str]", out: Path, update: int, looked: float, preparing: float) -> None:
    workers.LOOKED, workers.PREPARING, workers.Rollout = looked, preparing, Stopped
    trainer = Stopped.trainer = Trainer(replace(RAY, out=out), 0)
    Stopped.wanted = update
    trainer.updates = UPDATES
    trainer.workers = RayWorkers(trainer)
    trainer.seconds = dict.fromkeys(("workers", "update"), 0.0)
    seconds = []
    for _ in range(UPDATES):
        start = time.monotonic()
        trainer.train_update()
        seconds.append(time.monotonic() - start)
    state.save(out, trainer)
    trainer.workers.close()
    said.put("stopped" if Stopped.stopped and max(seconds) < RAY_NOTICES else f"{Stopped.stopped}, {max(seconds)} s")


@pytest.mark.parametrize(
    ("update", "looked", "preparing"),
    [(0, 2.0, 600.0), (4, 2.0, 600.0), (0, 600.0, 20.0)],
    ids=["at its first rollout", "later", "and found by its time alone"],
)
def test_the_rollout_of_a_stopped_process_is_played_again(
    by_processes: list[dict[str, torch.Tensor]], tmp_path: Path, update: int, looked: float, preparing: float
) -> None:
    assert elsewhere(play_beside_a_stopped_process, tmp_path, update, looked, preparing) == "stopped"
    same(tmp_path, by_processes)


def sentences(said: "SimpleQueue[str]", cpus: int) -> None:
    """What is said of a cluster without a CPU, or if it has one, of other code there."""
    if not cpus:
        workers.GIVEN = 3.0
    workers.connect = lambda *_: connect(cpus, None)
    trainer = Trainer(RAY, 0)
    trainer.workers = RayWorkers(trainer)
    trainer.workers.job = trainer.workers.ray.put(("train.ppo:Trainer", "train.ppo:Args", vars(RAY), "0123"))
    try:
        trainer.train_update()
    except ClusterError as error:
        said.put(str(error))


@pytest.mark.parametrize(
    ("cpus", "says"),
    [
        (0, "the Ray cluster has given no worker within 3 s: go on with --resume"),
        (1, "has another version of the code or of torch than the learning process"),
    ],
)
def test_a_cluster_that_cannot_play_is_refused_in_a_sentence(cpus: int, says: str) -> None:
    assert says in elsewhere(sentences, cpus)


def test_a_cluster_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"there is no Ray cluster at '127\.0\.0\.1:9' to be used"):
        train(replace(RAY, out=tmp_path, address="127.0.0.1:9"))
    assert not state.complete(tmp_path)


def test_arguments_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgsError, match=r"address=127\.0\.0\.1:6379 is of a Ray cluster, which plays with --workers ray"):
        train(replace(PROCESSES, out=tmp_path, address="127.0.0.1:6379"))
    with pytest.raises(ArgsError, match="ray_workers=0 must be at least 1"):
        train(replace(RAY, out=tmp_path, ray_workers=0))
