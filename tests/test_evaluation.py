"""Evaluations against fixed players: whose turn it is, how much time they take, what a resumed run keeps of them."""

from pathlib import Path

import pytest
import torch

from agents.export import save_agent
from agents.network import ActorCritic
from napoleon_env import Ruleset
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE
from napoleon_env.tournament import run_tournament
from train import evaluation
from train.evaluation import MOST, PLAYERS, SEED, Evaluator, read_evaluations
from train.experience import varying_inputs

RULES = [Ruleset.make("german", players=3), Ruleset.make("russian", players=4)]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    net = ActorCritic(varying_inputs(RULES, "fixed", ()), torch.ones(OBSERVATION_SIZE), torch.ones(HIDDEN_SIZE), 16, 1)
    return save_agent(tmp_path_factory.mktemp("agent") / "agent.onnx", net, RULES, "fixed", training={})


def test_rule_sets_take_turns_against_each_fixed_player(agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "DEALS", 24)
    evaluator = Evaluator(RULES, 60.0, tmp_path, 0)
    found = [evaluator.next(agent, decisions) for decisions in (100, 200, 300)]
    assert [[(e.decisions, e.rules, e.player) for e in now] for now in found] == [
        [(decisions, rules, player) for player in PLAYERS]
        for decisions, rules in ((100, "german-3"), (200, "russian-4"), (300, "german-3"))
    ]
    assert [e[3:] for e in found[0]] == [e[3:] for e in found[2]]  # always the same deals
    edge = run_tournament([("x", str(agent)), "rule"], rules=RULES[0], deals=24, seed=SEED).edges()[0, 1]
    assert found[0][0][3:] == (edge.mean, edge.low, edge.high)
    assert read_evaluations(tmp_path) == [*found[0], *found[1], *found[2]]
    everything = evaluator.all(agent, 400)
    assert [(e.rules, e.player) for e in everything] == [(rules, p) for rules in ("german-3", "russian-4") for p in PLAYERS]
    # A run that goes on from a state after 200 decisions knows nothing of later ones, a new run of none.
    assert Evaluator(RULES, 60.0, tmp_path, 200).found == [*found[0], *found[1]]
    assert Evaluator(RULES, 60.0, tmp_path, 0).found == []


def test_evaluations_take_a_small_part_of_the_time(agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(evaluation.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(evaluation, "evaluate", lambda *_: now.__setitem__(0, now[0] + 6.0) or [])
    evaluator = Evaluator(RULES, 60.0, tmp_path, 0)
    due = []
    for now[0] in range(1, 1000):
        if evaluator.due():
            due.append(now[0])
            evaluator.next(agent, 0)
    assert due == [60, 126, 332, 538, 744, 950]  # six seconds are 3 % of 200, and the first, which compiles, does not count
    assert (6 + 200) * MOST > 6
    assert not Evaluator(RULES, 0.0, tmp_path, 0).due()
