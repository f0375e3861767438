"""The CleanRL-style file on Gymnasium's vector interface."""

from pathlib import Path

import torch

from napoleon_env import VectorEnv
from napoleon_env.agent import OnnxPlayer
from train.adapting import SUIT_ORDER, finish
from train.cleanrl_ppo import Args, train


def test_it_learns_to_beat_random_play_and_its_file_decides_as_it_does(tmp_path: Path) -> None:
    args = Args(minutes=0.4, deals=300, out=tmp_path)
    agent, clock = train(args)
    assert finish(agent.actor, args, clock).p_random < 0.01
    env = VectorEnv(args.ruleset, num_envs=200, seed=1, suit_order=SUIT_ORDER)
    env.reset()
    for _ in range(20):
        seen, mask = torch.from_numpy(env.observation).float(), torch.from_numpy(env.action_mask == 1)
        with torch.no_grad():
            policy = agent.policy(seen, mask)
        assert (policy.probs[~mask] == 0).all()
        choice = policy.mode.numpy()
        logits = OnnxPlayer(tmp_path / "agent.onnx").run(env.observation, env.action_mask)["logits"]
        assert (logits.argmax(1) == choice).all()
        env.step(choice)
