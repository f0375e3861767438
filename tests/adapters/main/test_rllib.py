"""RLlib: a policy that beats random play, whole matches, and deals that no two tables share."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import ray
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from napoleon_env.adapters.rllib import RLlibEnv
from napoleon_env.agent import OnnxPlayer
from train.rllib_ppo import Args, config, finish, start_ray, train

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    start_ray(Args())
    yield
    ray.shutdown()


def runner(number: int, *, facts: bool = False) -> MultiAgentEnvRunner:
    settings = config(Args(envs=4, workers=0))
    settings.env_config["facts"] = facts
    return MultiAgentEnvRunner(config=settings, worker_index=number)


def test_it_learns_to_beat_random_play_and_its_file_decides_as_it_does(tmp_path: Path) -> None:
    args = Args(minutes=0.4, deals=300, out=tmp_path)
    module, clock = train(args)
    assert finish(module.policy_layers, args, clock).p_random < 0.01
    player = OnnxPlayer(tmp_path / "agent.onnx")
    for match in runner(0).sample():
        for seat in match.agent_episodes.values():
            seen = seat.get_observations(slice(0, len(seat)))
            rows = {name: torch.from_numpy(column) for name, column in seen.items()}
            with torch.no_grad():
                logits = module.forward_inference({Columns.OBS: rows})[Columns.ACTION_DIST_INPUTS].numpy()
            assert player.run(seen["observations"], seen["action_mask"])["logits"] == pytest.approx(logits, abs=1e-4)


def test_every_seat_gets_what_the_deal_paid_with_its_last_action() -> None:
    matches = [match for _ in range(3) for match in runner(0, facts=True).sample()]
    assert len(matches) == 12
    for match in matches:
        assert match.is_done
        for agent, seat in match.agent_episodes.items():
            deal = seat.get_infos(-1)["last_deal"]
            rewards = seat.get_rewards()
            assert rewards[-1] == deal["payoffs"][int(agent[-1])]
            assert not rewards[:-1].any()
            masks = seat.get_observations(slice(0, len(seat)))["action_mask"]
            assert masks[np.arange(len(seat)), seat.get_actions()].all()
            assert (masks.sum(1) > 1).all()  # forced decisions are skipped


def test_no_two_tables_and_no_two_samples_have_the_same_deals() -> None:
    hands = set()
    for number in (1, 2):
        tables = runner(number)
        for _ in range(3):
            for match in tables.sample():
                first = {
                    agent: seat.get_observations(0)["observations"].tobytes() for agent, seat in match.agent_episodes.items()
                }
                hands.add(tuple(sorted(first.items())))
    assert len(hands) == 2 * 3 * 4
    again = [RLlibEnv({"index": 1}), RLlibEnv({"index": 1})]
    first, second = (env.reset(seed=7)[0] for env in again)
    assert first.keys() == second.keys()
    assert all((first[agent]["observations"] == second[agent]["observations"]).all() for agent in first)


@pytest.mark.parametrize("rules", ["german", "portuguese", "russian", "english"])
def test_rllib_finds_the_environment_in_order(rules: str) -> None:
    check_multiagent_environments(RLlibEnv({"rules": rules, "deals": 2}))


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="skip_forced='no' must be True or False"):
        RLlibEnv({"skip_forced": "no"})


def test_it_trains_on_a_cluster_that_runs_already(tmp_path: Path) -> None:
    address = ray.get_runtime_context().gcs_address
    options = ["--address", address, "--workers", "1", "--minutes", "0.01", "--deals", "10", "--out", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "train.rllib_ppo", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "decisions" in run.stdout
    assert OnnxPlayer(tmp_path / "agent.onnx").metadata["training"]["address"] == address
