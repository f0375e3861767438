"""TorchRL: a policy that beats random play, and advantages that see what is paid while others move."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torchrl.envs.utils import check_env_specs

from napoleon_env.agent import OnnxPlayer
from train.adapting import begin, finish
from train.torchrl_ppo import SEATS, Args, make_collector, make_env, make_loss, perceptron, train


def test_it_learns_to_beat_random_play_and_its_file_decides_as_it_does(tmp_path: Path) -> None:
    args = Args(minutes=0.6, deals=300, out=tmp_path)
    net, clock = train(args)
    assert finish([net], args, clock).p_random < 0.01
    rows = make_env(args, 0).rollout(200, break_when_any_done=False)[SEATS]
    seen, mask = (rows[name][rows["mask"]] for name in ("observation", "action_mask"))
    with torch.no_grad():
        expected = net(seen).where(mask, -torch.inf).argmax(1)
    logits = OnnxPlayer(tmp_path / "agent.onnx").run(seen.numpy(), mask.numpy())["logits"]
    assert (logits.argmax(1) == expected.numpy()).all()


def test_the_environment_is_what_its_specs_say() -> None:
    check_env_specs(make_env(Args(), 0), break_when_any_done="both")


def test_every_decision_is_credited_with_what_its_seat_was_paid_at_the_end_and_every_ratio_is_one(tmp_path: Path) -> None:
    args = Args(envs=2, steps=120, out=tmp_path)
    begin(args)
    policy, loss = make_loss(args, perceptron(124))
    loss.value_estimator.lmbda.fill_(1.0)
    loss.critic_network_params.data.zero_()
    collector = make_collector(args, policy)
    batch = next(iter(collector))
    with torch.no_grad():
        loss.value_estimator(batch)
    assert torch.equal(batch[SEATS, "mask"].sum(-1), torch.ones(2, 120, dtype=torch.int64))
    assert (batch[SEATS, "action_mask"].gather(-1, batch[SEATS, "action"].unsqueeze(-1))).all()
    compared = 0
    for env in batch.unbind(0):
        begins = 0
        for end in np.flatnonzero(env["next", "done"].numpy()):
            acted, paid = env[SEATS, "mask"][begins : end + 1], env["next", SEATS, "reward"][begins : end + 1, :, 0]
            assert not paid[:-1].any()  # a match is one deal, paid at its end
            assert paid[-1].sum() == pytest.approx(0)
            advantage = env["advantage"][begins : end + 1, :, 0]
            assert torch.allclose(advantage[acted], paid[-1].expand_as(advantage)[acted])
            compared += int(acted.sum())
            begins = end + 1
    assert compared > 180
    with torch.no_grad():
        assert loss(batch)["kl_approx"].abs().max() < 1e-6
    collector.shutdown()
