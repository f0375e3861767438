"""Tournaments on a real Ray cluster: the same file of results, whatever is killed meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from napoleon_env.__main__ import main
from napoleon_env.cluster import ClusterError
from napoleon_env.match import View
from napoleon_env.result import Result
from napoleon_env.tournament import TournamentError, run_tournament

TESTS = Path(__file__).parent

SLOW = """\
import sys, time
from pathlib import Path

HERE = Path(__file__).parent

class Slow:
    '''Plays its first legal action. On a cluster, it never answers where a file says so.'''

    def __init__(self):
        self.ray, self.doomed = sys.modules.get("ray"), HERE / "doomed"

    def act(self, view):
        if self.ray and self.doomed.exists():
            stuck = HERE / "stuck"
            if self.doomed.read_text() in ("all", self.ray.get_runtime_context().get_node_id()):
                stuck.touch()
                time.sleep(1000)
            while not stuck.exists():
                time.sleep(0.02)
        return view.legal_ids()[0]
"""


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters of these tests are of nobody else, and a lost one is given up soon."""
    for name, value in {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "of-these-tests-" + "0" * 32,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
    }.items():
        monkeypatch.setenv(name, value)


@contextmanager
def ray_nodes(number: int) -> Iterator[tuple[str, list[str], Callable[[str], None]]]:
    """The address of a cluster, its nodes' ids, and what says "kill" or "lose" to it (see `ray_nodes`)."""
    command = [sys.executable, str(TESTS / "ray_nodes.py"), str(number)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as nodes:
        assert nodes.stdin is not None
        assert nodes.stdout is not None
        told = json.loads(next(line for line in nodes.stdout if line.startswith("{")))

        def say(word: str) -> None:
            nodes.stdin.write(f"{word}\n")
            nodes.stdin.flush()

        yield told["address"], told["ids"], say
        nodes.stdin.close()


def play(path: Path, **how: Any) -> Result:
    slow = f"{path.parent / 'slow.py'}:Slow"
    return run_tournament([f"{slow} as a", "random"], rules="russian", players=3, deals=24, block=2, seed=5, file=path, **how)


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """The file of results of a run that nothing happened to, by this process alone."""
    (tmp_path / "slow.py").write_text(SLOW)
    play(tmp_path / "whole.jsonl")
    return (tmp_path / "whole.jsonl").read_bytes()


def wait_for(what: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def test_a_node_that_is_killed_while_it_plays_changes_nothing(tmp_path: Path, whole: bytes) -> None:
    with ray_nodes(2) as (address, ids, say):
        (tmp_path / "doomed").write_text(ids[1])

        def kill() -> None:
            wait_for((tmp_path / "stuck").exists)
            say("kill")

        killer = threading.Thread(target=kill)
        killer.start()
        play(tmp_path / "ray.jsonl", engine="ray", address=address)
        killer.join()
    assert (tmp_path / "stuck").exists()
    assert (tmp_path / "ray.jsonl").read_bytes() == whole


def test_a_tournament_whose_cluster_is_lost_goes_on_from_its_file(tmp_path: Path, whole: bytes) -> None:
    with ray_nodes(1) as (address, _, say):

        def lose(result: Result) -> None:
            if result.blocks == 3:
                (tmp_path / "doomed").write_text("all")
                say("lose")

        with pytest.raises(ClusterError, match="the Ray cluster .*goes on from there"):
            play(tmp_path / "ray.jsonl", engine="ray", address=address, on_block=lose)
    kept = (tmp_path / "ray.jsonl").read_bytes()
    assert kept != whole
    assert whole.startswith(kept)
    play(tmp_path / "ray.jsonl")
    assert (tmp_path / "ray.jsonl").read_bytes() == whole
