"""The processes of a run: they are started together, share numbers, and end together."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, MutableSequence, Sequence
from datetime import timedelta
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist

from napoleon_env.cluster import ClusterError

PATIENCE = 20.0
"""Seconds without a sign of life after which a process counts as lost."""
STARTING = 120.0
"""The same before the first sign: it imports."""
MOMENT = 5.0
"""Seconds in which the others of a lost process end by themselves."""
DEADLOCK = timedelta(minutes=10)
"""What one process waits for another that is alive: it may be compiling, or playing against fixed players."""
SPUN = 0.05
"""Seconds of a wait in which the processor is kept: waking a process takes longer than what the others are late."""
KEPT = {-3: 1 << 25, -1: 1 << 30}
"""Options of glibc's `mallopt`: M_MMAP_THRESHOLD, the most it takes, and M_TRIM_THRESHOLD, in bytes."""
PEER_LOST = 75
"""Exit code of a process that ends because another one is gone."""


class LostError(ValueError):
    """A process of the run was lost; one sentence."""


def run_processes(work: Callable[..., None], number: int, meeting: Path, *args: Any) -> None:
    """Call `work(rank, *args)` in `number` processes that can share tensors; none of them is left behind, whatever happens.

    Args:
        work: a function of a module.
        number: at least 1.
        meeting: a file at which they find each other.
        args: pickled.

    Raises:
        LostError: one of them failed, was killed or has stopped.
        ClusterError: one of them has lost its cluster, or found none.
    """
    context = get_context("spawn")
    beats = context.Array("d", [time.monotonic()] * number, lock=False)
    said, lock, memory = context.SimpleQueue(), context.Lock(), meeting.with_suffix(".memory")
    meeting.unlink(missing_ok=True)
    processes = [
        context.Process(target=_work, args=(rank, beats, said, meeting, Here(memory, lock), work, args))
        for rank in range(number)
    ]
    try:
        for rank, process in enumerate(processes):
            process.start()
            beats[rank] = time.monotonic() + STARTING - PATIENCE
        while True:
            running = [process.sentinel for process in processes if process.exitcode is None]
            if any(process.exitcode for process in processes):  # looked at after `running`: it is the last look when none is
                if not said.empty():
                    raise ClusterError(said.get())
                raise LostError(_told(processes))
            if not running:
                break
            wait(running, 1.0)
            silent = [rank for rank, beat in enumerate(beats) if time.monotonic() - beat > PATIENCE]
            silent = [rank for rank in silent if processes[rank].exitcode is None]
            if silent:
                raise LostError(f"process {silent[0]} of {number} has stopped")
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()  # SIGKILL ends a stopped one too
                process.join()
        meeting.unlink(missing_ok=True)
        memory.unlink(missing_ok=True)


def settle() -> None:
    """Have this process compute in one thread and keep what memory it frees, where the C library can be told so (glibc).

    Else each minibatch gives its memory back to the system and gets it again page by page, which takes a twentieth of the time.
    """
    torch.set_num_threads(1)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    for option, value in KEPT.items() if mallopt else ():
        mallopt(option, value)


def _told(processes: list[Any]) -> str:
    """Which process ended first, and how; those that end for its sake are given a moment to be told apart from it."""
    end = time.monotonic() + MOMENT
    while time.monotonic() < end:
        for rank, process in enumerate(processes):
            if (code := process.exitcode) not in (None, 0, PEER_LOST):
                who = f"process {rank} of {len(processes)}"
                return f"{who} was ended by {signal.Signals(-code).name}" if code < 0 else f"{who} failed with exit code {code}"
        time.sleep(0.01)
    return f"the {len(processes)} processes lost one another"


def _work(
    rank: int, beats: MutableSequence[float], said: Any, meeting: Path, here: Here, work: Callable[..., None],
    args: tuple[Any, ...],
) -> None:  # fmt: skip
    global _here
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # the first process tells of an interrupt, the others just end
    threading.Thread(target=_live, args=(rank, beats), daemon=True).start()
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting.resolve()}", rank=rank, world_size=len(beats), timeout=DEADLOCK
    )  # fmt: skip
    _here = here
    code = 1
    try:
        work(rank, *args)
        code = 0
    except ClusterError as error:
        said.put(str(error))
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # gloo's threads may abort a process that tears them down after another has gone


def _live(rank: int, beats: MutableSequence[float]) -> None:
    """Give signs of life for as long as the first process lives."""
    parent = parent_process()
    assert parent is not None
    while parent.is_alive():
        beats[rank] = time.monotonic()
        wait([parent.sentinel], 1.0)
    os._exit(1)


def share(values: torch.Tensor, operation: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM) -> torch.Tensor:
    """Sum, or whatever else, over all processes, in place; alone, nothing is changed."""
    if dist.is_initialized():
        try:
            dist.all_reduce(values, operation)
        except RuntimeError:  # of gloo
            os._exit(PEER_LOST)
    return values


class Here(NamedTuple):
    """What the processes of a run have in common beside their group."""

    memory: Path
    """Of the file that they all see as memory; it has no name any more once they do."""
    lock: Any
    """What one process wrote before it had the lock, another one reads after it has had it."""


_here: Here | None = None
"""Of this process."""


class Total:
    """Sums long vectors over all processes through memory that they share, which takes a tenth of the time of a socket.

    Each process adds all vectors in the order of the processes, so all have the same sum to the bit.

    Args:
        size: of the longest vector, the same in all processes.
    """

    def __init__(self, size: int) -> None:
        self.turn = 0
        if _here is None:
            self.rank, self.flags, self.rows = 0, np.zeros((1, 8), np.int64), torch.zeros(2, 1, size)
            return
        self.rank, number = dist.get_rank(), dist.get_world_size()
        flags = 64 * number  # a cache line each
        if self.rank == 0:
            _here.memory.write_bytes(bytes(flags + 2 * number * size * 4))
        share(torch.zeros(1))
        memory = np.memmap(_here.memory, np.uint8, "r+")
        share(torch.zeros(1))
        if self.rank == 0:
            _here.memory.unlink()
        self.flags = memory[:flags].view(np.int64).reshape(number, 8)
        self.rows = torch.from_numpy(memory[flags:].view(np.float32).reshape(2, number, size))

    def of(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """The sum over all processes of these parts in a row, float32 [n]; every process gives as many numbers."""
        self.turn += 1
        rows = self.rows[self.turn % 2, :, : sum(part.numel() for part in parts)]  # the other half may still be read
        torch.cat([part.reshape(-1) for part in parts], out=rows[self.rank])
        if _here is not None:
            with _here.lock:
                self.flags[self.rank, 0] = self.turn
            self._wait()
            with _here.lock:
                pass
        total = rows[0].clone()
        for row in rows[1:]:
            total += row
        return total

    def _wait(self) -> None:
        """For the others to be as far."""
        start = time.monotonic()
        while (self.flags[:, 0] < self.turn).any():
            if (waited := time.monotonic() - start) < SPUN:
                os.sched_yield()
            elif waited < DEADLOCK.total_seconds():
                time.sleep(0.001)
            else:
                os._exit(PEER_LOST)
