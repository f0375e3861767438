"""A tournament's blocks on a Ray cluster (https://docs.ray.io, extra `ray`), as `tournament` has them played by processes.

A block that a lost node was at is played again, which costs nothing but time: a block is the same whoever plays it. A process
of its own is connected to the cluster, since Ray ends the connected process when the whole cluster is lost, prints on standard
output and changes the environment. It gets the blocks through a pipe, answers with their lines in order, and ends with the
pipe.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

RETRIES: Final = 3
"""How often a block is begun anew when the process that plays it or its node comes down; more, and a player does it."""
STARTING: Final = 120.0
"""Seconds for a cluster to answer."""
ANSWERING: Final = 10.0
"""Seconds for the port of a running one to be open."""
QUIET: Final[dict[str, Any]] = {"log_to_driver": False, "logging_level": logging.ERROR}
"""Ray keeps logs of its own."""
LEAVING: Final = 10.0
"""Seconds to take leave of a cluster."""

FELL: Final = (
    "a worker process came down: a player brought it down or does not pickle; with a time limit (seconds) each player has a "
    "process of its own"
)
KEPT: Final = "what a file of results holds of it is kept, and the same tournament goes on from there"


class ClusterError(ValueError):
    """A tournament that cannot be played on a cluster; one sentence."""


class Crew(Protocol):
    """What plays blocks."""

    def line(self, block: int) -> dict[str, Any]:
        """What the file of results holds of a block."""
        ...


class RayCluster:
    """A connection to a Ray cluster, until it is closed.

    Args:
        make: makes a crew, in every process that plays; must pickle (cloudpickle).
        workers: processes, where the cluster is a local one.
        address: of a running cluster, as Ray takes it, all CPUs of which are used; None starts a local one.

    Raises:
        ClusterError: there is no Ray, or no such cluster.
    """

    def __init__(self, make: Callable[[], Crew], *, workers: int, address: str | None) -> None:
        try:
            import cloudpickle

            made = cloudpickle.dumps(make)
        except Exception as error:
            raise ClusterError(f"the players cannot be sent to a cluster: {_line(error)}") from None
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_drive, args=(theirs, made, os.getcwd(), workers, address), daemon=True)
        try:
            self._process.start()
            theirs.close()
            if not self._pipe.poll(STARTING):
                raise ClusterError(f"no Ray cluster answers within {STARTING:g} s")
            self._receive()
        except BaseException:
            self.close()
            raise

    def lines(self, blocks: range) -> Generator[dict[str, Any], None, None]:
        """The lines of blocks, in order; once for a connection.

        Raises:
            ClusterError: the cluster is lost, or a player brings its workers down.
        """
        with suppress(OSError):  # a process that is gone has nothing to receive, and that is told
            self._pipe.send(blocks)
        for _ in blocks:
            yield self._receive()

    def _receive(self) -> Any:
        try:
            received = self._pipe.recv()
        except (EOFError, OSError):
            raise ClusterError(f"the Ray cluster is lost: {KEPT}") from None
        if isinstance(received, ClusterError):
            raise received
        return received

    def close(self) -> None:
        """Take leave of the cluster; a local one ends."""
        self._pipe.close()
        self._process.join(LEAVING)
        self._process.kill()
        self._process.join()


# In the process that is connected.


def _drive(pipe: Connection, made: bytes, folder: str, workers: int, address: str | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process tells of an interrupt, by its end of the pipe
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)  # Ray keeps logs of its own
    with suppress(BrokenPipeError, EOFError):
        try:
            connect(workers, address)
            pipe.send(None)
            blocks = pipe.recv()
            threading.Thread(target=_leave_with, args=(pipe,), daemon=True).start()
            for line in _play(made, folder, blocks):
                pipe.send(line)
            threading.Event().wait()  # for the other end of the pipe
        except ClusterError as error:
            pipe.send(error)


def connect(workers: int, address: str | None) -> None:
    """Connect this process to a Ray cluster, which gets no usage statistics from it; arguments as of `RayCluster`.

    Raises:
        ClusterError: there is no Ray, or no such cluster.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ClusterError(f"the engine ray needs {error.name}: pip install napoleon-env[ray] brings it") from None
    try:
        if address is None:
            ray.init("local", num_cpus=workers, include_dashboard=False, **QUIET)
        else:
            place = urlsplit(address if "://" in address else f"//{address}")
            if place.port is not None:  # Ray itself tries a closed port for minutes
                socket.create_connection((place.hostname, place.port), ANSWERING).close()
            ray.init(address, **QUIET)
    except Exception as error:
        what = "no local Ray cluster starts" if address is None else f"there is no Ray cluster at {address!r} to be used"
        raise ClusterError(f"{what}: {_line(error)}") from None


def _leave_with(pipe: Connection) -> None:
    """Leave the cluster when the other end of the pipe is closed, by the main process or by its end."""
    with suppress(EOFError, OSError):
        pipe.recv()
    import ray

    ray.shutdown()
    os._exit(0)


def _play(made: bytes, folder: str, blocks: range) -> Iterator[dict[str, Any]]:
    import ray
    from ray import exceptions

    work = ray.remote(num_cpus=1, max_retries=RETRIES)(_work)
    sent = ray.put(made)
    waiting: deque[Any] = deque()
    left = iter(blocks)
    try:
        for _ in blocks:
            ahead = 1 + 2 * int(ray.cluster_resources().get("CPU", 0))  # nodes come and go
            while len(waiting) < ahead and (block := next(left, None)) is not None:
                waiting.append(work.remote(sent, folder, block))
            yield ray.get(waiting.popleft())
    except exceptions.RayTaskError as error:
        raise ClusterError(f"a worker of the Ray cluster cannot play: {_line(error.cause)}") from None
    except exceptions.WorkerCrashedError:
        raise ClusterError(FELL) from None
    except Exception as error:
        raise ClusterError(f"the Ray cluster fails: {_line(error)}; {KEPT}") from None


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


# In the processes that play.


def _work(made: bytes, folder: str, block: int) -> dict[str, Any]:
    return _crew(made, folder).line(block)


@lru_cache(maxsize=1)
def _crew(made: bytes, folder: str) -> Crew:
    with suppress(OSError):
        os.chdir(folder)  # players' files are named from there
    return pickle.loads(made)()
