"""What the scripts for other libraries share: the verdict on what they have trained."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from napoleon_env.agent import OnnxPlayer
from napoleon_env.notation import N_ACTIONS
from napoleon_env.observation import OBSERVATION_SIZE
from napoleon_env.statistics import Estimate
from train.adapting import Args, Clock, Evaluation, evaluate, finish


def test_the_probability_is_that_of_a_normal_deviate() -> None:
    # 1.96 standard errors are the half-width; a mean of 2.326 of them has one chance in a hundred (any table of the normal).
    found = Evaluation(random=Estimate(2.3263, 1.95996), rule=Estimate(0.0, 1.0), decisions_per_second=0.0)
    assert found.p_random == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(("player", "better"), [("rule", True), ("random", False)])
def test_the_rule_of_thumb_is_better_than_random_play_and_random_play_is_not(tmp_path: Path, player: str, better: bool) -> None:
    found = evaluate(player, Args(deals=60, out=tmp_path), Clock(0.0))
    assert (found.p_random < 0.01) == better
    written = json.loads((tmp_path / "evaluation.json").read_text())
    assert written["random"]["mean"] == found.random.mean


def test_the_file_of_a_run_says_how_it_was_trained(tmp_path: Path) -> None:
    torch.manual_seed(0)
    clock = Clock(1.0)
    assert clock.count(40)
    assert clock.count(2)
    finish([nn.Linear(OBSERVATION_SIZE, N_ACTIONS)], Args(deals=8, players=3, out=tmp_path), clock)
    metadata = OnnxPlayer(tmp_path / "agent.onnx").metadata
    assert metadata["rules"][0]["players"] == 3
    assert metadata["suit_order"] == "canonical"
    assert metadata["training"]["decisions"] == 42
