"""Processes of a run: what they share, and that all end when one is lost, however it is lost."""

import multiprocessing
import os
import signal
import time
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path

import pytest
import torch

from train import processes
from train.processes import LostError, Total, run_processes, share


def add(rank: int, folder: Path) -> None:
    """Share a number until the end of the test of a loss, or once."""
    (folder / f"{rank}.pid").write_text(str(os.getpid()))
    total = share(torch.tensor([1.0 + rank]))
    (folder / f"{rank}.sum").write_text(str(float(total)))


def lose(rank: int, folder: Path, how: str) -> None:
    """Share numbers without end; one of the processes is lost."""
    add(rank, folder)
    if rank == 1:
        if how == "error":
            raise RuntimeError("this is a test")
        os.kill(os.getpid(), signal.Signals[how])
    while True:
        share(torch.zeros(1))


def forever(rank: int, folder: Path) -> None:
    """Share one number and stay."""
    add(rank, folder)
    time.sleep(600)


def fail(_: int) -> None:
    raise RuntimeError("this is a test")


class EndsBetweenLooks(SpawnProcess):
    """A process that is seen to run once more after its sentinel has told of its end, as it may be in the system's eyes."""

    looks = 0

    @property
    def exitcode(self) -> int | None:
        if self.pid is None or not wait([self.sentinel], 0):
            return None
        self.looks += 1
        if self.looks == 1:
            return None
        self.join()
        return super().exitcode


class EndingBetweenLooks(SpawnContext):
    Process = EndsBetweenLooks


def pids(folder: Path) -> list[int]:
    return [int(path.read_text()) for path in folder.glob("*.pid")]


def gone(pid: int) -> bool:
    """No process of this number runs (one that nobody has waited for yet does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def add_vectors(rank: int, folder: Path) -> None:
    """Sum vectors of several lengths many times, one process later than the other."""
    total, sums = Total(70_000), []
    for turn in range(300):
        if turn % 50 == 25 * rank:
            time.sleep(0.1)
        parts = [torch.full((turn % 7, 3), 1.5 + rank), torch.arange(turn * 200.0) * (rank + turn % 20)]
        sums.append(total.of(parts))
        expected = [torch.full((turn % 7 * 3,), 4.0), torch.arange(turn * 200.0) * (1 + 2 * (turn % 20))]
        assert torch.equal(sums[-1], torch.cat(expected))
    (folder / f"{rank}.pid").write_text(str(os.getpid()))
    (folder / f"{rank}.sum").write_text(str(sum(float(s.sum()) for s in sums)))


def test_processes_sum_vectors_in_memory_that_leaves_no_file(tmp_path: Path) -> None:
    run_processes(add_vectors, 2, tmp_path / "meeting", tmp_path)
    assert (tmp_path / "0.sum").read_text() == (tmp_path / "1.sum").read_text()
    assert not (tmp_path / "meeting.memory").exists()


def test_alone_the_sum_is_the_vector_itself() -> None:
    assert Total(4).of([torch.tensor([[1.0, 2.0]]), torch.tensor([3.0])]).tolist() == [1, 2, 3]


def test_all_processes_share_sums(tmp_path: Path) -> None:
    run_processes(add, 2, tmp_path / "meeting", tmp_path)
    assert [(tmp_path / f"{rank}.sum").read_text() for rank in range(2)] == ["3.0", "3.0"]
    assert all(gone(pid) for pid in pids(tmp_path))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("SIGKILL", "process 1 of 2 was ended by SIGKILL"),
        ("SIGSTOP", "process 1 of 2 has stopped"),
        ("error", "process 1 of 2 failed with exit code 1"),
    ],
)
def test_the_loss_of_a_process_ends_all_with_a_sentence(
    how: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 3.0)
    with pytest.raises(LostError, match=sentence):
        run_processes(lose, 2, tmp_path / "meeting", tmp_path, how)
    assert len(pids(tmp_path)) == 2
    assert all(gone(pid) for pid in pids(tmp_path))


def test_a_process_that_is_lost_between_two_looks_did_not_end_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "get_context", lambda _: EndingBetweenLooks())
    with pytest.raises(LostError, match="process 0 of 1 failed with exit code 1"):
        run_processes(fail, 1, tmp_path / "meeting")


def test_no_process_outlives_the_one_that_started_it(tmp_path: Path) -> None:
    first = multiprocessing.get_context("spawn").Process(
        target=run_processes, args=(forever, 2, tmp_path / "meeting", tmp_path)
    )  # fmt: skip
    first.start()
    while len(list(tmp_path.glob("*.sum"))) < 2:
        first.join(0.05)
        assert first.is_alive()
    first.kill()
    first.join()
    end = time.monotonic() + 10
    while not all(gone(pid) for pid in pids(tmp_path)):
        assert time.monotonic() < end
        time.sleep(0.05)
