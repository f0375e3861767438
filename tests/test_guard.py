"""A guard ends what is stopped and of Ray, and nothing else."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from train.guard import Guard


@contextmanager
def sleeper(name: str, *, stopped: bool) -> Iterator[subprocess.Popen[bytes]]:
    """A process that goes by a name."""
    with subprocess.Popen([name, "600"], executable="/bin/sleep") as process:
        try:
            if stopped:
                process.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            yield process
        finally:
            process.kill()


def test_of_the_processes_told_the_stopped_ones_of_ray_are_ended() -> None:
    with ExitStack() as stack:
        stopped, computing, other = (
            stack.enter_context(sleeper(name, stopped=stopped))
            for name, stopped in [("ray::play", True), ("ray::play", False), ("sleep", True)]
        )
        with sleeper("ray::play", stopped=False) as gone:
            pass
        Guard().end_stopped([process.pid for process in (gone, other, computing, stopped)])
        assert stopped.wait(10) == -signal.SIGKILL
        assert computing.poll() is None
        assert other.poll() is None


def test_a_process_is_ended_and_one_that_is_gone_is_no_error() -> None:
    with sleeper("ray::play", stopped=False) as process:
        Guard().end(process.pid)
        assert process.wait(10) == -signal.SIGKILL
    Guard().end(process.pid)
