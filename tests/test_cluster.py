"""Tournaments on a real Ray cluster: the same file of results, whatever is killed meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from napoleon_env.__main__ import main
from napoleon_env.cluster import ClusterError
from napoleon_env.notation import VERSION
from napoleon_env.result import Result
from napoleon_env.roster import RosterError
from napoleon_env.ruleset import Ruleset
from napoleon_env.schedule import Schedule
from napoleon_env.tournament import TournamentError, crew_elsewhere, entrant, run_tournament

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


APART = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": f"of-these-tests-{uuid4().hex}",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
}
"""Clusters of these tests are of nobody else, and a lost one is given up soon."""


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in APART.items():
        monkeypatch.setenv(name, value)


@contextmanager
def ray_nodes(number: int) -> Iterator[tuple[str, list[str], Callable[[str], None]]]:
    """The address of a cluster, its nodes' ids, and what says "kill" or "lose" to it (see `ray_nodes`)."""
    command = [sys.executable, str(TESTS / "ray_nodes.py"), str(number)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as nodes:
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


def wait_for(what: Callable[[], Any], seconds: float = 300) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def test_lost_nodes_cost_time_and_a_lost_cluster_costs_the_blocks_that_were_being_played(tmp_path: Path, whole: bytes) -> None:
    doomed = tmp_path / "doomed"
    with ray_nodes(2) as (address, ids, say):
        # One of two nodes is killed in the middle of a block, which the other plays again.
        doomed.write_text(ids[1])

        def kill() -> None:
            wait_for((tmp_path / "stuck").exists)
            say("kill")

        killer = threading.Thread(target=kill)
        killer.start()
        play(tmp_path / "node.jsonl", engine="ray", address=address)
        killer.join()
        assert (tmp_path / "stuck").exists()
        assert (tmp_path / "node.jsonl").read_bytes() == whole
        doomed.unlink()

        # The other is killed too.
        def lose(result: Result) -> None:
            if result.blocks == 3:
                doomed.write_text("all")
                say("lose")

        with pytest.raises(ClusterError, match=r"the Ray cluster .*goes on from there"):
            play(tmp_path / "lost.jsonl", engine="ray", address=address, on_block=lose)
    kept = (tmp_path / "lost.jsonl").read_bytes()
    assert kept != whole
    assert whole.startswith(kept)
    play(tmp_path / "lost.jsonl")
    assert (tmp_path / "lost.jsonl").read_bytes() == whole


def processes_marked(mark: str) -> list[str]:
    """The processes of this machine that were started with a word in their environment."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in file.read_bytes():
                found.append(file.parent.name)
    return found


@pytest.mark.parametrize("how", [{"workers": 2}, {"engine": "ray"}], ids=["workers", "ray"])
def test_a_tournament_killed_at_once_leaves_no_process_and_goes_on_from_its_file(
    tmp_path: Path, whole: bytes, how: dict[str, Any]
) -> None:
    path, mark = tmp_path / "killed.jsonl", f"mark={tmp_path}"
    program = f"""
import sys, time
import napoleon_env.tournament
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
from test_cluster import play
napoleon_env.tournament.SMALL = -1.0

def wait(result):
    if result.blocks == 3:
        print("three", flush=True)
        time.sleep(1000)

play(Path({str(path)!r}), on_block=wait, **{how!r})
"""
    environment = {**os.environ, "mark": str(tmp_path), "PYTHONPATH": str(TESTS.parent)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "three\n"
        process.kill()
    wait_for(lambda: not processes_marked(mark))
    assert path.read_bytes().splitlines() == whole.splitlines()[:4]
    play(path)
    assert path.read_bytes() == whole


def test_without_ray_a_sentence_names_what_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bytes) -> None:
    (tmp_path / "ray.py").write_text("raise ModuleNotFoundError('No module named ray', name='ray')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ClusterError, match=r"engine ray needs ray: pip install napoleon-env\[ray\] brings it"):
        play(tmp_path / "r.jsonl", engine="ray")
    assert not (tmp_path / "r.jsonl").exists()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"engine": "rays"}, "engine='rays' must be processes or ray"),
        (
            {"address": "127.0.0.1:6379"},
            "address='127.0.0.1:6379' must be the address of a running Ray cluster, for engine ray",
        ),
        ({"engine": "ray", "address": ""}, "address='' must be"),
        ({"engine": "ray", "address": 5}, "address=5 must be"),
    ],
)
def test_an_engine_that_is_none_is_refused(how: dict[str, Any], says: str) -> None:
    with pytest.raises(TournamentError, match=says):
        run_tournament(["random", "random as b"], **how)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--address", "127.0.0.1:9"], "there is no Ray cluster at '127.0.0.1:9' to be used"),
        (["--address", "nonsense"], "there is no Ray cluster at 'nonsense' to be used"),
        (["--address", "127.0.0.1:9", "--workers", "2"], "--workers does not go with --address"),
    ],
)
def test_the_command_refuses_a_cluster_that_is_not_there_in_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], says: str
) -> None:
    path = tmp_path / "r.jsonl"
    with pytest.raises(SystemExit) as caught:
        main(["tournament", "--players", "random,random as b", "--engine", "ray", "--results", str(path), *arguments])
    printed = capsys.readouterr()
    assert (caught.value.code, printed.out) == (2, "")
    assert says in printed.err
    assert printed.err.count("\n") == 1
    assert not path.exists()


def test_another_player_under_the_same_name_elsewhere_is_refused(tmp_path: Path, whole: bytes) -> None:
    entrants = [entrant(f"{tmp_path / 'slow.py'}:Slow as a"), entrant("random")]
    schedule = Schedule(rules=Ruleset.make("german"), names=("a", "random"), seed=1, deals=1, block=1)
    assert crew_elsewhere(VERSION, schedule, entrants, None).line(0)["block"] == 0
    with pytest.raises(RosterError, match=r"has napoleon-env .*, not 0\.0"):
        crew_elsewhere("0.0", schedule, entrants, None)
    (tmp_path / "slow.py").write_text(SLOW + "# changed")
    with pytest.raises(RosterError, match=r"the player a on .* is another one"):
        crew_elsewhere(VERSION, schedule, entrants, None)
