"""AgileRL: a policy that beats random play, credit for every seat, and masks in the update."""

from pathlib import Path

import numpy as np
import pytest
import torch

from napoleon_env.agent import OnnxPlayer
from train.adapting import begin, finish
from train.agilerl_ppo import Args, Table, experiences, make_agent, policy_layers, train
from train.ppo import reward_scale


def test_it_learns_to_beat_random_play_and_its_file_decides_as_it_does(tmp_path: Path) -> None:
    args = Args(minutes=0.3, deals=300, out=tmp_path)
    agent, clock = train(args)
    assert finish(policy_layers(agent), args, clock).p_random < 0.01
    rows = Table(args, agent).rollout()
    seen, mask = (rows[name].reshape(-1, rows[name].shape[-1]) for name in ("observations", "action_masks"))
    with torch.no_grad():
        logits = agent.actor.head_net.wrapped(agent.actor.encoder(torch.from_numpy(seen))).numpy()
    written = OnnxPlayer(tmp_path / "agent.onnx").run(seen, mask)["logits"]
    assert written[mask == 1] == pytest.approx(logits[mask == 1], abs=1e-4)


def test_every_decision_is_credited_with_what_its_seat_was_paid_at_the_end() -> None:
    args = Args(envs=8, steps=64)
    begin(args)
    rows = Table(args, make_agent()).rollout()
    rows["values"][:] = 0
    batch = experiences(rows, 1.0)
    expected = np.full(rows["seat"].shape, np.nan)
    for env in range(args.envs):
        begins = 0
        for end in np.flatnonzero(rows["over"][:, env]):
            assert not rows["paid"][begins:end, env].any()  # a match is one deal, paid at its end
            expected[begins : end + 1, env] = rows["paid"][end, env][rows["seat"][begins : end + 1, env]]
            begins = end + 1
        # The match that is not over has paid nothing; nobody knows yet what a seat's latest decision leads to.
        unfinished = rows["seat"][begins:, env].tolist()
        expected[begins:, env] = [0.0 if seat in unfinished[i + 1 :] else np.nan for i, seat in enumerate(unfinished)]
    known = ~np.isnan(expected)
    assert known.mean() > 0.9
    assert batch["advantages"].numpy() == pytest.approx(expected[known], abs=1e-6)
    assert np.abs(rows["paid"]).max() >= 2 * reward_scale(args.ruleset)


def test_choices_are_legal_and_every_ratio_is_one_before_the_first_step() -> None:
    args = Args(envs=32, steps=16)
    begin(args)
    agent = make_agent()
    batch = experiences(Table(args, agent).rollout(), 0.95)
    assert batch["action_masks"].gather(1, batch["actions"].unsqueeze(1)).all()
    with torch.no_grad():
        log_probs, entropy, _ = agent.evaluate_actions(
            batch["observations"], batch["actions"], action_mask=batch["action_masks"]
        )
    assert log_probs.numpy() == pytest.approx(batch["log_probs"].numpy(), abs=1e-5)
    assert (entropy <= batch["action_masks"].sum(1).log() + 1e-5).all()
