"""The processes of a run: they are started together, share numbers, and end together."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, MutableSequence
from datetime import timedelta
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

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
    said = context.SimpleQueue()
    meeting.unlink(missing_ok=True)
    processes = [context.Process(target=_work, args=(rank, beats, said, meeting, work, args)) for rank in range(number)]
    try:
        for rank, process in enumerate(processes):
            process.start()
            beats[rank] = time.monotonic() + STARTING - PATIENCE
        while running := [process.sentinel for process in processes if process.exitcode is None]:
            wait(running, 1.0)
            silent = [rank for rank, beat in enumerate(beats) if time.monotonic() - beat > PATIENCE]
            silent = [rank for rank in silent if processes[rank].exitcode is None]
            if silent:
                raise LostError(f"process {silent[0]} of {number} has stopped")
            if any(process.exitcode for process in processes):
                if not said.empty():
                    raise ClusterError(said.get())
                raise LostError(_told(processes))
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()  # SIGKILL ends a stopped one too
                process.join()
        meeting.unlink(missing_ok=True)


def _told(processes: list[Any]) -> str:
    """Which process ended first, and how; those that end for its sake are given a moment to be told apart from it."""
    end = time.monotonic() + MOMENT
    for process in processes:
        process.join(max(0.0, end - time.monotonic()))
    codes = {rank: process.exitcode for rank, process in enumerate(processes) if process.exitcode}
    rank = next((rank for rank, code in codes.items() if code != PEER_LOST), None)
    if rank is None:
        return f"the {len(processes)} processes lost one another"
    code, who = codes[rank], f"process {rank} of {len(processes)}"
    return f"{who} was ended by {signal.Signals(-code).name}" if code < 0 else f"{who} failed with exit code {code}"


def _work(
    rank: int, beats: MutableSequence[float], said: Any, meeting: Path, work: Callable[..., None], args: tuple[Any, ...]
) -> None:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # the first process tells of an interrupt, the others just end
    threading.Thread(target=_live, args=(rank, beats), daemon=True).start()
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting.resolve()}", rank=rank, world_size=len(beats), timeout=DEADLOCK
    )  # fmt: skip
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
