"""The benchmark's tasks: pinned deals and opponents, one result that verifies."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_tournament import command

from napoleon_env import tasks
from napoleon_env.exact import nash_conv
from napoleon_env.roster import RosterError
from napoleon_env.tasks import TASKS, ChangedError, TaskError, opponent_digest, run_task, verify
from napoleon_env.tournament import run_tournament

SHORT = 40


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few deals; the opponents as pinned."""
    for name, task in TASKS.items():
        if not task.exact:
            monkeypatch.setitem(TASKS, name, task._replace(deals=SHORT // task.rules.deals))


def resealed(result: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A result with other values and a digest that fits them."""
    changed = {name: value for name, value in {**result, **changes}.items() if name != "digest"}
    return {**changed, "digest": tasks.result_digest(changed)}


@pytest.mark.parametrize("name", TASKS)
def test_deals_and_opponents_are_what_they_were(name: str) -> None:
    """If this fails, something that a task rests on plays or deals differently: give the task a new version and new digests."""
    for what, digest in TASKS[name].pinned.items():
        assert tasks.digest(name, what) == digest, f"{name}: {what}"


def test_the_tasks_are_the_ones_that_were_promised() -> None:
    assert list(TASKS) == ["german-4", "german-3", "german-5", "portuguese-4", "russian-4", "english-4", "tiny-exact"]
    assert {name: task.rules.players for name, task in TASKS.items() if name[-1].isdigit()} == {
        name: int(name[-1]) for name in TASKS if name[-1].isdigit()
    }
    russian = TASKS["russian-4"].rules
    assert russian.deals == 8
    assert russian.has_pot


def test_the_score_is_the_mean_advantage_over_the_opponents(short: None) -> None:
    result = run_task("german-3", "random")
    players = {"player": "random", "rule": "rule", "counting": "counting"}
    played = run_tournament(players, rules=TASKS["german-3"].rules, deals=SHORT, seed=tasks.SEED)
    against = [played.edges()[0, 1], played.edges()[0, 2]]
    assert [result["against"][name]["mean"] for name in ("rule", "counting")] == [edge.mean for edge in against]
    assert result["score"]["mean"] == pytest.approx(sum(edge.mean for edge in against) / 2)
    assert result["score"]["low"] < result["score"]["mean"] < result["score"]["high"]
    assert (result["deals"], result["seed"], result["stream"]) == (SHORT, tasks.SEED, "evaluation")


def test_a_player_against_itself_has_no_advantage(short: None) -> None:
    result = run_task("german-4", "counting")
    assert result["against"]["counting"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert result["score"]["mean"] == result["against"]["rule"]["mean"] / 2


def test_the_exact_task_is_scored_by_nash_conv() -> None:
    result = run_task("tiny-exact", "counting")
    assert result["score"]["mean"] == nash_conv(TASKS["tiny-exact"].rules, "counting")
    assert "less is better" in result["measure"]
    assert verify(json.loads(json.dumps(result)))["score"] == result["score"]


def test_a_result_verifies_and_an_edited_one_does_not(short: None) -> None:
    result = json.loads(json.dumps(run_task("english-4", "rule")))
    assert verify(result)["score"] == result["score"]
    with pytest.raises(ChangedError, match="edited after it was made"):
        verify({**result, "score": {"mean": 1.0, "low": 0.9, "high": 1.1}})
    with pytest.raises(ChangedError, match="measured again, the score of 'rule' is"):
        verify(resealed(result, score={"mean": 1.0, "low": 0.9, "high": 1.1}))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"version": 2}, "of another english-4: its version is 2, here it is 1"),
        ({"deals": 7}, "its deals is 7, here it is 40"),
        ({"level": 0.5}, "its level is 0.5, here it is 0.95"),
        ({"pinned": {"rule": "0", "counting": "0"}}, "its pinned is"),
        ({"task": "dutch-4"}, "task 'dutch-4' does not exist: there are german-4"),
        ({"player": {"spec": "rule", "fingerprint": "napoleon-env 0.0.1"}}, "not the one that was measured"),
        ({"napoleon_task": 0}, "no result of a task"),
    ],
)
def test_a_result_of_other_things_is_not_comparable(short: None, changes: dict[str, Any], sentence: str) -> None:
    result = json.loads(json.dumps(run_task("english-4", "rule")))
    with pytest.raises(TaskError, match=sentence):
        verify(resealed(result, **changes))


def test_a_task_whose_opponent_has_changed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    task = TASKS["german-4"]
    monkeypatch.setitem(TASKS, "german-4", task._replace(pinned={**task.pinned, "rule": "0123456789abcdef"}))
    with pytest.raises(TaskError, match="german-4 cannot be played: rule is not what it was"):
        run_task("german-4", "random")


def test_the_digest_of_an_opponent_tells_one_player_rule_set_and_deal_from_another() -> None:
    rules = TASKS["german-4"].rules
    digests = [
        opponent_digest(rules, "rule"),
        opponent_digest(rules, "counting"),
        opponent_digest(TASKS["german-3"].rules, "rule"),
    ]
    assert len(set(digests)) == 3
    assert digests[0] == opponent_digest(rules, "rule")


def test_a_player_that_does_not_exist_and_a_task_that_does_not_are_refused() -> None:
    with pytest.raises(RosterError, match="does not exist"):
        run_task("german-4", "nobody")
    with pytest.raises(TaskError, match="task 'german-7' does not exist"):
        run_task("german-7", "random")


def test_a_policy_from_a_file_is_measured(short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def policy(view):\n    return view.legal_ids()[0]\n")
    result = run_task("german-4", "mine.py:policy")
    assert result["player"]["fingerprint"].startswith("sha256:")
    assert verify(json.loads(json.dumps(result)))["score"] == result["score"]
    Path("mine.py").write_text("def policy(view):\n    return view.legal_ids()[-1]\n")
    with pytest.raises(TaskError, match="not the one that was measured"):
        verify(result)


def test_the_command_measures_and_verifies(
    short: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, results = tmp_path / "result.json", tmp_path / "results.jsonl"
    code, out, _ = command(capsys, "tournament", "--task", "german-3", "--players", "rule", "--workers", 1)
    assert code == 0
    measure = ("tournament", "--task", "german-3", "--players", "rule", "--json", file, "--results", results)
    assert command(capsys, *measure)[:2] == (0, "")
    written = json.loads(file.read_text())
    assert written == json.loads(out) == run_task("german-3", "rule", workers=1, file=results)
    code, out, _ = command(capsys, "tournament", "--verify", file)
    assert (code, out) == (0, f"{file}: german-3, rule: the same again\n")
    file.write_text(json.dumps({**written, "score": {"mean": 9.0, "low": 8.0, "high": 10.0}}))
    code, _, err = command(capsys, "tournament", "--verify", file)
    assert code == 1
    assert "edited after it was made" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--task", "german-7", "--players", "random"], "task 'german-7' does not exist"),
        (["--task", "german-4", "--players", "random,rule"], "--task measures one player, and --players names 2"),
        (["--task", "german-4"], "--players names 0"),
        (["--task", "german-4", "--players", "nobody"], "'nobody' does not exist"),
        (["--task", "german-4", "--players", "random", "--deals", "5"], "--task fixes what is played, so --deals does not go"),
        (["--task", "german-4", "--players", "random", "--rules", "german"], "so --rules does not go with it"),
        (["--task", "tiny-exact", "--players", "pimc"], "does not tell its probabilities"),
        (["--verify", "/nonexist/r.json"], "/nonexist/r.json cannot be read as JSON: No such file"),
        (["--verify", "/nonexist/r.json", "--players", "rule"], "so --players does not go with it"),
    ],
)
def test_the_command_refuses_in_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    code, out, err = command(capsys, "tournament", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
