"""The training loop: its numbers before the first step, and that a run goes on as if it had never stopped."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from agents.network import RoleSplit, divergence, log_prob_and_entropy
from napoleon_env.agent import OnnxPlayer
from napoleon_env.exact import ExactGame
from napoleon_env.ruleset import parse_changes
from train import state
from train.experience import BIDDING, DECLARER, DEFENDER
from train.ppo import MEASURED, Args, ArgsError, Samples, Trainer, main, normalise_per_role, set_budget

SMALL = Args(
    processes=1, matches=16, steps=32, minibatch=128, width=16, critic_width=16, precision="fp32", save_every=0.0,
    decisions=6 * 512, seed=3,
)  # fmt: skip


def parameters(folder: Path) -> dict[str, torch.Tensor]:
    tensors, _ = state.read(state.complete(folder)[-1], 0)
    return tensors


@pytest.mark.parametrize("roles", get_args(RoleSplit))
@pytest.mark.parametrize("rules", ["german", "portuguese", "russian", "english"])
def test_every_ratio_is_one_before_the_first_step(rules: str, roles: RoleSplit) -> None:
    torch.set_num_threads(1)
    trainer = Trainer(replace(SMALL, rules=(rules,), roles=roles), 0)
    batch = trainer.experience.rollout(trainer.logits_of)
    zeros = np.zeros(batch.choice.shape, np.float32)
    features = trainer.net.features(*(torch.from_numpy(x).flatten(0, 1) for x in (batch.observation, batch.hidden)))
    rows = Samples(features, batch, zeros, zeros).rows(np.arange(batch.choice.size))
    log_prob, entropy = log_prob_and_entropy(trainer.net.logits(rows.features), rows.legal, rows.choice)
    ratio = (log_prob - rows.log_prob).exp()
    assert (ratio - 1).abs().max() < 1e-5
    assert abs(((ratio - 1) - (log_prob - rows.log_prob)).mean()) < 1e-6
    assert (entropy > 0).all()  # no decision without a choice is in the batch


def test_advantages_are_normalised_within_each_role() -> None:
    rng = np.random.default_rng(0)
    role = rng.integers(3, size=(50, 20)).astype(np.int8)
    advantage = (rng.normal(size=role.shape) * (1 + 10 * role) + role).astype(np.float32)
    known = rng.random(role.shape) < 0.8
    out = normalise_per_role(advantage, role, known)
    assert (out[~known] == 0).all()
    for number in (BIDDING, DECLARER, DEFENDER):
        part = out[known & (role == number)]
        assert part.mean() == pytest.approx(0, abs=1e-5)
        assert part.std() == pytest.approx(1, abs=1e-4)


def test_a_run_that_is_stopped_and_resumed_equals_one_that_was_not(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    small = replace(SMALL, explore=0.1, magnet=0.1, past=0.3, past_every=2, rules=("german", "russian"), players=(3, 5))
    main(replace(small, out=tmp_path / "whole"))
    stopped = Trainer(replace(small, out=tmp_path / "halves"), 0)
    stopped.updates = 6
    for _ in range(3):
        stopped.train_update()
    state.save(tmp_path / "halves", stopped)
    main(Args(out=tmp_path / "halves", resume=True))
    whole, halves = parameters(tmp_path / "whole"), parameters(tmp_path / "halves")
    assert whole.keys() == halves.keys()
    for name, tensor in whole.items():
        assert torch.equal(tensor, halves[name]), name
    assert (tmp_path / "whole/agent.onnx").read_bytes() != b""
    assert OnnxPlayer(tmp_path / "halves/agent.onnx").metadata["training"]["seed"] == 3


def test_a_damaged_state_is_passed_over_with_a_warning(tmp_path: Path) -> None:
    main(replace(SMALL, out=tmp_path, decisions=3 * 512))
    newest = state.complete(tmp_path)[-1]
    assert [path.name for path in state.complete(tmp_path)] == ["00000001", "00000002", "00000003"]
    tensors = newest / "rank0.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-1] + b"?")
    with pytest.warns(UserWarning, match="00000003 is damaged"):
        path, _ = state.newest(tmp_path)
    assert path.name == "00000002"
    with pytest.warns(UserWarning, match="00000003 is damaged"):
        main(Args(out=tmp_path, resume=True))  # the damaged one makes room for the one that takes its place
    assert state.newest(tmp_path)[0] == newest


def test_the_updates_whose_time_is_measured_learn_too(tmp_path: Path) -> None:
    trainer = Trainer(replace(SMALL, out=tmp_path, decisions=0, minutes=0.001), 0)
    set_budget(trainer)
    assert trainer.update == 1 + MEASURED
    assert [group["lr"] for group in trainer.optimizer.param_groups] == [SMALL.lr]


def test_too_few_decisions_for_a_minibatch_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ArgsError, match="matches=2 of steps=16 are too few decisions for minibatch=64"):
        main(replace(SMALL, out=tmp_path / "out", matches=2, steps=16, minibatch=64))
    assert not (tmp_path / "out").exists()


def test_without_a_state_there_is_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(state.StateError, match="start without --resume"):
        main(Args(out=tmp_path, resume=True))


def test_the_magnet_holds_the_policy_back(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    moved = []
    for magnet in (0.0, 10.0):
        trainer = Trainer(replace(SMALL, out=tmp_path, magnet=magnet, magnet_rate=0.0, lr=1e-2, entropy=0.0), 0)
        trainer.updates = 100
        for _ in range(8):
            trainer.train_update()
        seen, legal = trainer.experience.batch.observation[0], torch.from_numpy(trainer.experience.batch.legal[0])
        start = trainer.logits_of(seen, trainer.magnet)  # it has not moved: where the policy began
        moved.append(float(divergence(*map(torch.from_numpy, (trainer.logits_of(seen), start)), legal).mean()))
    assert moved[1] < 0.1 * moved[0]


def test_in_the_smallest_rule_set_the_policy_comes_near_the_equilibrium(tmp_path: Path) -> None:
    changes = ("suits=2", "lowest_rank=Q", "hand_size=2", "auction=once", "all_pass=dealer_plays_one", "min_bid=1")
    args = Args(
        players=(2,), changes=changes, out=tmp_path, seed=7, processes=1, decisions=40 * 4096, matches=128, steps=32,
        minibatch=256, width=32, critic_width=32, precision="fp32", omit=(), entropy=0.2, entropy_end=0.03, save_every=600.0,
    )  # fmt: skip
    main(args)
    game = ExactGame("german", players=2, **parse_changes(changes))
    assert game.nash_conv("random") > 2
    assert game.nash_conv(f"{tmp_path}/agent.onnx:sample=true") < 0.3


def test_two_processes_train_one_network(tmp_path: Path) -> None:
    main(replace(SMALL, out=tmp_path, processes=2, decisions=2 * 1024))
    path, parts = state.newest(tmp_path)
    assert path.name == "00000002"
    first, second = (tensors for tensors, _ in parts)
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]) != (name == "env/0"), name
