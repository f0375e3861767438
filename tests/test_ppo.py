"""The training loop: its numbers before the first step, and that a run goes on as if it had never stopped."""

import json
import math
import multiprocessing
import os
import random
import shutil
import signal
from dataclasses import fields, replace
from itertools import count
from multiprocessing.context import ForkServerContext
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
import torch

from agents.network import RoleSplit, divergence, log_prob_and_entropy
from napoleon_env.agent import OnnxPlayer
from napoleon_env.exact import ExactGame
from napoleon_env.notation import PASS
from napoleon_env.ruleset import RulesetError, parse_changes
from train import state
from train.experience import BIDDING, DECLARER, DEFENDER
from train.ppo import (
    BOUNDS,
    MEASURED,
    Args,
    ArgsError,
    Samples,
    Trainer,
    deal_facts,
    explored_loss,
    normalise_per_role,
    set_budget,
    train,
)

SMALL = Args(
    processes=1, matches=16, steps=32, minibatch=128, width=16, critic_width=16, precision="fp32", save_every=0.0,
    eval_every=0.0, decisions=6 * 512, seed=3,
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
    rows = Samples.of(features, batch, zeros, zeros).rows(np.arange(batch.choice.size))
    log_prob, entropy = log_prob_and_entropy(trainer.net.logits(rows.features, rows.legal), rows.choice)
    ratio = (log_prob - rows.log_prob).exp()
    assert (ratio - 1).abs().max() < 1e-5
    assert abs(((ratio - 1) - (log_prob - rows.log_prob)).mean()) < 1e-6
    assert (entropy > 0).all()  # no decision without a choice is in the batch


def test_advantages_are_normalised_within_each_role() -> None:
    rng = np.random.default_rng(0)
    role = rng.integers(3, size=(50, 20)).astype(np.int8)
    advantage = (rng.normal(size=role.shape) * (1 + 10 * role) + role).astype(np.float32)
    measured = rng.random(role.shape) < 0.8
    advantage[~measured] *= 5
    out = normalise_per_role(advantage, role, measured)
    for number in (BIDDING, DECLARER, DEFENDER):
        part = out[measured & (role == number)]
        assert part.mean() == pytest.approx(0, abs=1e-5)
        assert part.std() == pytest.approx(1, abs=1e-4)
        slope, offset = np.polyfit(advantage[role == number], out[role == number], 1)  # one scale for all of a role
        assert out[role == number] == pytest.approx(advantage[role == number] * slope + offset, abs=1e-3)


def test_an_explored_action_is_followed_as_far_as_its_advantage_says_however_rare_it_is() -> None:
    logits = torch.tensor([[0.0, -12.0], [0.0, -12.0], [0.0, -2.0], [0.0, -2.0]], requires_grad=True)
    advantage = torch.tensor([2.0, -2.0, 2.0, -2.0])
    explored_loss(logits.log_softmax(1)[:, 1], advantage).sum().backward()
    other = 1 / (1 + np.exp(2))  # of its logit: (1 - p) * advantage, but a rare one is not made rarer still
    assert logits.grad is not None
    assert (-logits.grad[:, 1]).tolist() == pytest.approx([2.0, 0.0, 2 * (1 - other), -2 * (1 - other)], rel=1e-4)


def test_a_good_call_that_was_given_up_comes_back_where_it_is_explored(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    changes = ("hand_size=1", "min_bid=1")  # who declares leads a trump that only a higher card of its suit beats
    passes = []
    for explore in (0.0, 0.3):
        trainer = Trainer(replace(SMALL, out=tmp_path, players=(2,), changes=changes, explore=explore, entropy=0.0), 0)
        trainer.updates = 80
        torch.nn.init.constant_(trainer.net.actors[0].last.bias[trainer.net.inputs.actions.index(PASS)], 12.0)
        for _ in range(40):
            facts = trainer.train_update()
        passes.append(facts["auction/pass rate"])
    assert passes[0] > 0.99
    assert passes[1] < 0.3


def test_deals_in_which_a_call_was_explored_are_not_counted() -> None:
    running, unplayed, failed, made = range(4)
    ended = np.array([[running, made, running], [made, running, failed], [failed, unplayed, made]])
    needed = np.array([[0, 2, 0], [3, 2, 2], [3, 2, 4]])
    nowhere = np.zeros(ended.shape, np.bool_)
    facts = deal_facts(SimpleNamespace(ended=ended, needed=needed, explored=nowhere))
    assert facts["deals/declared"] == 5 / 6
    assert facts["deals/made"] == 3 / 5
    assert (facts["made/3"], facts["share/3"], facts["made/4"], facts["share/2"]) == (1 / 2, 2 / 5, 1, 2 / 5)
    explored = nowhere.copy()
    explored[2, 0] = True  # so only what began within the batch counts: the last deal of each match, and not the first match's
    facts = deal_facts(SimpleNamespace(ended=ended, needed=needed, explored=explored))
    assert (facts["deals/declared"], facts["deals/made"], facts["made/4"]) == (1 / 2, 1, 1)


MANY = replace(
    SMALL, explore=0.1, magnet=0.1, past=0.3, past_every=2, rules=("german", "russian"), players=(3, 5), decisions=16 * 512,
)  # fmt: skip
"""All that a state must hold."""


@pytest.fixture(scope="module")
def never_killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("whole")
    train(replace(MANY, out=folder))
    return folder


@pytest.fixture(scope="module")
def quick_starts() -> ForkServerContext:
    """Processes that need not import."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["train.ppo"])
    return context


def train_killed_at(args: Args, function: str, call: int) -> None:
    """Train, in a process that is gone at this call of a function."""
    place, _, name = function.rpartition(".")
    owner = resolve_name(place)
    real, calls = getattr(owner, name), count()

    def deadly(*args: object, **named: object) -> object:
        if next(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **named)

    setattr(owner, name, deadly)
    train(args)


def same(folder: Path, other: Path) -> None:
    """The last states of two runs have equal tensors."""
    first, second = parameters(folder), parameters(other)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("train.ppo:Trainer.gradient_step", 1),  # there is no state yet
        ("train.ppo:Trainer.gradient_step", 10),
        ("train.state.save_file", 3),  # of the fourth state there is a folder without a file
        ("pathlib:Path.read_bytes", 3),  # … with the tensors alone
        ("pathlib:Path.rename", 3),  # … all, but not yet in its place
        ("shutil.rmtree", 4),  # … all in its place, and the oldest not yet dropped
    ],
)
def test_a_run_killed_at_any_moment_and_resumed_equals_one_that_never_was(
    function: str, call: int, never_killed: Path, quick_starts: ForkServerContext, tmp_path: Path
) -> None:
    process = quick_starts.Process(target=train_killed_at, args=(replace(MANY, out=tmp_path), function, call))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    train(replace(MANY, out=tmp_path, resume=bool(state.complete(tmp_path))))
    same(never_killed, tmp_path)
    assert len(list((tmp_path / "states").iterdir())) == MANY.keep  # nothing half written is left


def test_a_run_killed_again_and_again_equals_one_that_never_was(
    never_killed: Path, quick_starts: ForkServerContext, tmp_path: Path
) -> None:
    rng, states, kills = random.Random(0), list[Path](), 0
    while True:
        process = quick_starts.Process(target=train, args=(replace(MANY, out=tmp_path, resume=bool(states)),))
        process.start()
        while process.is_alive() and state.complete(tmp_path)[-1:] == states[-1:]:
            process.join(0.001)
        if kills < 3:
            process.join(rng.uniform(0, 0.05))  # the run is long enough for all of them
            process.kill()
        process.join()
        states = state.complete(tmp_path)
        if process.exitcode == 0:
            break
        kills += 1
    assert kills == 3
    same(never_killed, tmp_path)


def test_two_processes_train_one_network_and_resumed_go_on_as_if_they_had_not_stopped(tmp_path: Path) -> None:
    two = replace(MANY, processes=2, players=(3,), decisions=4 * 1024)
    train(replace(two, out=tmp_path / "whole"))
    train(replace(two, out=tmp_path / "halves"))
    for path in state.complete(tmp_path / "halves")[1:]:
        shutil.rmtree(path)  # all that came after the second update is lost
    train(Args(out=tmp_path / "halves", resume=True))
    whole, halves = ([tensors for tensors, _ in state.newest(tmp_path / run)[1]] for run in ("whole", "halves"))
    for rank in range(2):
        assert whole[rank].keys() == halves[rank].keys()
        assert all(torch.equal(tensor, halves[rank][name]) for name, tensor in whole[rank].items())
    learnt = [name for name in whole[0] if name.startswith(("net/", "magnet/", "adam/", "past/"))]
    assert all(torch.equal(whole[0][name], whole[1][name]) for name in learnt)
    assert not torch.equal(whole[0]["env/0"], whole[1]["env/0"])  # each has its own matches


def test_a_state_of_another_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    train(replace(SMALL, out=tmp_path, decisions=512))
    path = state.complete(tmp_path)[-1] / "rank0.json"
    facts = json.loads(path.read_text())
    args = {("depths" if name == "depth" else name): value for name, value in facts["args"].items()}
    path.write_text(json.dumps(facts | {"args": args}))
    with pytest.raises(state.StateError, match="of another version of this script: only one of the two has depth, depths"):
        train(Args(out=tmp_path, resume=True))
    path.write_text(json.dumps(facts | {"observation": "0123"}))
    with pytest.raises(state.StateError, match="is of observation layout 0123"):
        train(Args(out=tmp_path, resume=True))


def test_what_a_stored_run_asks_for_and_is_not_here_is_refused_in_a_sentence(tmp_path: Path) -> None:
    train(replace(SMALL, out=tmp_path, decisions=512))
    path = state.complete(tmp_path)[-1] / "rank0.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"args": facts["args"] | {"device": "cuda:99"}}))
    with pytest.raises(ArgsError, match="device=cuda:99 is not there: "):
        train(Args(out=tmp_path, resume=True))


def test_a_new_run_leaves_the_states_of_another_one_alone(tmp_path: Path) -> None:
    train(replace(SMALL, out=tmp_path, decisions=512))
    with pytest.raises(ArgsError, match="holds training states: go on from them with --resume, or take another --out"):
        train(replace(SMALL, out=tmp_path))


def test_a_damaged_state_is_passed_over_with_a_warning(tmp_path: Path) -> None:
    train(replace(SMALL, out=tmp_path, decisions=3 * 512))
    newest = state.complete(tmp_path)[-1]
    assert [path.name for path in state.complete(tmp_path)] == ["00000001", "00000002", "00000003"]
    tensors = newest / "rank0.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-1] + b"?")
    with pytest.warns(UserWarning, match="00000003 is damaged"):
        path, _ = state.newest(tmp_path)
    assert path.name == "00000002"
    with pytest.warns(UserWarning, match="00000003 is damaged"):
        train(Args(out=tmp_path, resume=True))  # the damaged one makes room for the one that takes its place
    assert state.newest(tmp_path)[0] == newest


def test_the_updates_whose_time_is_measured_learn_too(tmp_path: Path) -> None:
    trainer = Trainer(replace(SMALL, out=tmp_path, decisions=0, minutes=0.001), 0)
    set_budget(trainer)
    assert trainer.update == 1 + MEASURED
    assert [group["lr"] for group in trainer.optimizer.param_groups] == [SMALL.lr]


def test_a_run_of_no_more_than_these_updates_can_be_resumed(tmp_path: Path) -> None:
    train(replace(SMALL, out=tmp_path, decisions=0, minutes=0.001))
    assert [path.name for path in state.complete(tmp_path)] == [f"{1 + MEASURED:08d}"]


def test_too_few_decisions_for_a_minibatch_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ArgsError, match="matches=2 of steps=16 are too few decisions for minibatch=64"):
        train(replace(SMALL, out=tmp_path / "out", matches=2, steps=16, minibatch=64))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"players": (7,)}, "players=7"),
        ({"players": ()}, "there is no rule set to train on"),
        ({"width": 0}, "width=0 must be at least 1"),
        ({"past": 1.5}, "past=1.5 must be at least 0 and at most 1"),
        ({"lr": math.nan}, "lr=nan must be at least 0"),
        ({"minutes": -1.0}, "minutes=-1.0 must be at least 0"),
        ({"address": "here:1"}, "address=here:1 is of a Ray cluster"),
        ({"omit": ("played", "stars")}, "omit=stars is no feature"),
        ({"device": "gpu"}, "device='gpu' must be cpu, cuda or cuda:N"),
        ({"device": "cuda:99"}, "device=cuda:99 is not there: "),
        ({"matches": 8, "steps": 32, "players": (2, 3, 4), "rules": ("german", "english", "russian")}, "matches=8 are fewer"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is_written(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises((ArgsError, RulesetError), match=why):
        train(replace(SMALL, out=tmp_path / "out", **change))
    assert not (tmp_path / "out").exists()


def test_numbers_among_the_arguments_have_bounds_and_a_file_is_no_folder(tmp_path: Path) -> None:
    numbers = {field.name for field in fields(Args) if field.type in ("int", "float")}
    assert set(BOUNDS) == numbers
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArgsError, match="file' cannot be a folder: "):
        train(replace(SMALL, out=tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"


def test_a_critic_that_sees_what_its_seat_sees_learns_too(tmp_path: Path) -> None:
    train(replace(SMALL, out=tmp_path, critic="public", decisions=2 * 512))
    tensors = parameters(tmp_path)
    assert tensors["net/critics.0.hidden.0.weight"].shape == tensors["net/actors.0.hidden.0.weight"].shape


@pytest.mark.skipif(not torch.cuda.is_available(), reason="what is tested is a CUDA device, and there is none here")
def test_networks_on_a_cuda_device_are_trained_resumed_and_exported(tmp_path: Path) -> None:
    small = replace(SMALL, out=tmp_path, device="cuda", precision="bf16", past=0.2, past_every=1, magnet=0.1)
    train(small)
    assert all(x.isfinite().all() for x in parameters(tmp_path).values())
    shutil.rmtree(state.complete(tmp_path)[-1])
    train(Args(out=tmp_path, resume=True))
    assert OnnxPlayer(tmp_path / "agent.onnx").metadata["training"]["device"] == "cuda"


def test_without_a_state_there_is_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(state.StateError, match="start without --resume"):
        train(Args(out=tmp_path, resume=True))


def test_the_magnet_holds_the_policy_back(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    moved = []
    for magnet in (0.0, 10.0):
        trainer = Trainer(replace(SMALL, out=tmp_path, magnet=magnet, magnet_rate=0.0, lr=1e-2, entropy=0.0), 0)
        trainer.updates = 100
        for _ in range(8):
            trainer.train_update()
        rows, legal = trainer.experience.batch.observation[0], trainer.experience.batch.legal[0]
        start = trainer.logits_of(rows, legal, trainer.magnet)  # it has not moved: where the policy began
        moved.append(float(divergence(*map(torch.from_numpy, (trainer.logits_of(rows, legal), start))).mean()))
    assert moved[1] < 0.1 * moved[0]


def test_in_the_smallest_rule_set_the_policy_comes_near_the_equilibrium(tmp_path: Path) -> None:
    changes = ("suits=2", "lowest_rank=Q", "hand_size=2", "auction=once", "all_pass=dealer_plays_one", "min_bid=1")
    args = Args(
        players=(2,), changes=changes, out=tmp_path, seed=7, processes=1, decisions=40 * 4096, matches=128, steps=32,
        minibatch=256, width=32, critic_width=32, precision="fp32", omit=(), entropy=0.2, entropy_end=0.03, save_every=600.0,
        eval_every=0.0,
    )  # fmt: skip
    train(args)
    game = ExactGame("german", players=2, **parse_changes(changes))
    assert game.nash_conv("random") > 2
    assert game.nash_conv(f"{tmp_path}/agent.onnx:sample=true") < 0.3
