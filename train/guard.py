"""Ends processes of a node of a Ray cluster, for `train.workers`, from one of its own that no rollout can hold up."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import psutil


class Guard:
    """Watches over the Ray processes of its node."""

    def end(self, process: int) -> None:
        """End a process."""
        with suppress(psutil.NoSuchProcess):
            psutil.Process(process).kill()

    def end_stopped(self, processes: Iterable[int]) -> None:
        """End those that are stopped: they would neither go on with a rollout nor begin one."""
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                other = psutil.Process(process)
                still_of_ray = "".join(other.cmdline()).startswith("ray::")  # the system gives numbers again
                if still_of_ray and other.status() == psutil.STATUS_STOPPED:
                    other.kill()
