"""MaskablePPO of sb3-contrib: against one player, and in self-play."""

from pathlib import Path

import numpy as np
import pytest

from napoleon_env.agent import OnnxPlayer
from napoleon_env.roster import make_player
from train.adapting import finish
from train.sb3_ppo import Args, Pool, make_env, policy_layers, train


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


def test_opponents_from_the_pool_stay_for_a_match_and_others_come_for_the_next(tmp_path: Path) -> None:
    pool = Pool(Args(out=tmp_path))
    pool.players = [make_player("random") for _ in range(5)]
    env = make_env(Args(), 0, pool)
    rng, tables = np.random.default_rng(0), []
    for _ in range(10):
        _, info = env.reset()
        tables.append(list(env.unwrapped.opponents))
        done = False
        while not done:
            _, _, terminated, truncated, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
            assert env.unwrapped.opponents == tables[-1]
            done = terminated or truncated
    assert len({tuple(map(id, table)) for table in tables}) > 1


def test_the_pool_keeps_to_its_size(tmp_path: Path) -> None:
    args = Args(out=tmp_path, size=2, minutes=0.0)
    model, _ = train(args)
    pool = Pool(args)
    for _ in range(3):
        pool.join(model)
    assert [player.path.stem for player in pool.players] == ["0001", "0002"]
