"""MaskablePPO of sb3-contrib: against one player, and in self-play."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.env_checker import check_env

from napoleon_env.agent import OnnxPlayer
from train.sb3_ppo import Args, Pool, finish, make_env, policy_layers, train


@pytest.mark.parametrize("opponents", ["pool", "rule"])
def test_it_learns_to_beat_random_play_and_its_file_decides_as_it_does(tmp_path: Path, opponents: str) -> None:
    args = Args(minutes=0.4, deals=300, out=tmp_path, opponents=opponents, every=1)
    model, clock = train(args)
    assert finish(policy_layers(model), args, clock).p_random < 0.01
    player = OnnxPlayer(tmp_path / "agent.onnx")
    env = make_env(Args(opponents="random"), 0, None)
    for seed in range(20):
        seen, info = env.reset(seed=seed)
        done = False
        while not done:
            mask = info["action_mask"]
            action, _ = model.predict(seen, action_masks=mask != 0, deterministic=True)
            assert action == player.run(seen[None], mask[None])["logits"][0].argmax()
            seen, _, terminated, truncated, info = env.step(action)
            done = terminated or truncated


def test_opponents_of_the_pool_stay_for_a_match_and_others_come_for_the_next(tmp_path: Path) -> None:
    pool = Pool(Args(out=tmp_path))
    pool.players = [object() for _ in range(5)]  # type: ignore[list-item]  # whoever they are: they are seated, not asked
    rng = np.random.default_rng(0)
    tables = set()
    env = make_env(Args(), 0, None)
