"""Tianshou: a policy that beats random play, and advantages that see what is paid while others move."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tianshou.data import Batch

from napoleon_env.agent import OnnxPlayer
from train.adapting import finish
from train.ppo import reward_scale
from train.tianshou_ppo import Args, make_algorithm, make_collector, train


def test_it_learns_to_beat_random_play_and_its_file_decides_as_it_does(tmp_path: Path) -> None:
    args = Args(minutes=0.4, deals=300, out=tmp_path)
    actor, clock = train(args)
    assert finish(actor.net, args, clock).p_random < 0.01
    collector = make_collector(args, make_algorithm(args))
    collector.collect(n_step=args.envs * 20)
    obs = collector.buffer.sample(0)[0].obs
    with torch.no_grad():
        logits, _ = actor(obs)
    assert (logits.numpy().argmax(1) == OnnxPlayer(tmp_path / "agent.onnx").run(obs.obs, obs.mask)["logits"].argmax(1)).all()


def test_every_decision_is_credited_with_what_its_seat_was_paid_at_the_end() -> None:
    args = Args(envs=4, steps=100)
    algorithm = make_algorithm(args)
    algorithm.gae_lambda = 1.0
    for parameter in algorithm.critic.parameters():
        torch.nn.init.zeros_(parameter)
    collector = make_collector(args, algorithm)
    collector.collect(n_step=args.envs * args.steps)
    buffer = collector.buffer
    batch, indices = buffer.sample(0)
    known = algorithm._add_returns_and_advantages(Batch(batch, copy=True), buffer, indices)
    expected = []
    for env in range(args.envs):
        rows = batch[env * args.steps : (env + 1) * args.steps]
        begin = 0
        for end in np.flatnonzero(rows.done):
            seats = [int(agent[-1]) for agent in rows.obs.agent_id[begin : end + 1]]
            assert not rows.rew[begin:end].any()  # a match is one deal, paid at its end
            expected += [rows.rew[end, seat] * reward_scale(args.ruleset) for seat in seats]
            begin = end + 1
        # The match that is not over has paid nothing; nobody knows yet what a seat's latest decision leads to.
        unfinished = rows.obs.agent_id[begin:].tolist()
        expected += [0.0 for i, agent in enumerate(unfinished) if agent in unfinished[i + 1 :]]
    assert len(expected) > 300
    assert known.adv.numpy() == pytest.approx(np.array(expected), abs=1e-5)
