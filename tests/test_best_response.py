"""Best responses in rule sets so small that the best one is known, and what is refused."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.export import save_agent
from agents.network import ActorCritic
from napoleon_env.agent import OnnxPlayer
from napoleon_env.exact import ExactGame
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE, true_action
from napoleon_env.roster import make_player
from napoleon_env.ruleset import Ruleset, parse_changes
from napoleon_env.vector_env import VectorEnv
from train import state
from train.best_response import AGENT, Args, Frozen, Responder, main
from train.experience import LEARNER, losses_of_guests, varying_inputs
from train.ppo import ArgsError

TWO = ("suits=2", "lowest_rank=Q", "hand_size=2", "auction=once", "all_pass=dealer_plays_one", "min_bid=1")
THREE = ("suits=2", "lowest_rank=K", "hand_size=1", "min_bid=1", "max_void_deals=1")
"""One card each of K K A A; with one dealer each seat has 4 decisions with a choice, a call for each card."""


def make_agent(path: Path, rules: Ruleset, suit_order: str = "canonical") -> str:
    """An agent file of random weights, large enough that some actions are much likelier than others."""
    torch.manual_seed(1)
    inputs = varying_inputs([rules], suit_order, ())
    net = ActorCritic(inputs, torch.ones(OBSERVATION_SIZE), torch.ones(HIDDEN_SIZE), width=16)
    for name, parameter in net.actors.named_parameters():
        if name.endswith("last.weight"):
            parameter.data *= 100
    return str(save_agent(path, net, [rules], suit_order, training={}))


def small(out: Path, against: str, by: Any, players: int, changes: tuple[str, ...]) -> Args:
    return Args(
        against=against, by=by, players=(players,), changes=changes, out=out, seed=7, processes=1, decisions=16 * 4096,
        matches=128, steps=32, minibatch=256, width=32, critic_width=32, lr=4e-3, precision="fp32", omit=(), entropy=0.05,
        entropy_end=0.0, save_every=600.0, deals=8000,
    )  # fmt: skip


def trained(args: Args) -> dict[str, float]:
    """What the trained best response was measured to gain: {"mean", "low", "high"}."""
    torch.set_num_threads(1)
    main(args)
    found = json.loads((args.out / "best_response.json").read_text())
    assert found["decisions"] == args.decisions
    (gains,) = found["gains"]
    assert gains["deals"] == args.deals
    return gains[args.by]


def mean_value(game: ExactGame, lone: Any, others: Any) -> float:
    """What a player gets alone among others, over all seats."""
    seats = range(game.rules.players)
    values = [game.form.values(game.policy([lone if seat == own else others for seat in seats]))[own] for own in seats]
    return float(np.mean(values))


def test_in_one_seat_it_gains_most_of_what_can_be_gained_and_no_more(tmp_path: Path) -> None:
    game = ExactGame("german", players=2, **parse_changes(TWO))
    agent = f"{make_agent(tmp_path / 'weak.onnx', game.rules)}:sample=true"
    best = game.nash_conv(agent) / 2  # the mean over the two seats; the agent gets 0 against itself
    assert best > 1
    args = small(tmp_path, agent, "seat", 2, TWO)
    gain, true_gain = trained(args), mean_value(game, make_player(str(args.out / "agent.onnx")), make_player(agent))
    assert 0.7 * best < true_gain <= best + 1e-9
    assert gain["mean"] == pytest.approx(true_gain, abs=gain["high"] - gain["low"])  # four standard errors
    assert 0.7 * best < gain["mean"]
    assert gain["low"] < best


def test_as_a_team_it_takes_most_of_what_the_agent_can_be_made_to_lose_and_no_more(tmp_path: Path) -> None:
    game = ExactGame("german", players=3, **parse_changes(THREE))
    agent = f"{make_agent(tmp_path / 'weak.onnx', game.rules)}:sample=true"
    best = float(np.mean([most_lost(agent, game.rules, seat, dealer) for seat in range(3) for dealer in range(3)]))
    args = small(tmp_path, agent, "team", 3, THREE)
    gain, true_gain = trained(args), -mean_value(game, make_player(agent), make_player(str(args.out / "agent.onnx")))
    assert 0.7 * best < true_gain <= best + 1e-9
    assert gain["mean"] == pytest.approx(true_gain, abs=gain["high"] - gain["low"])  # four standard errors
    assert 0.7 * best < gain["mean"]
    assert gain["low"] < best


def test_a_resumed_run_goes_on_against_the_same_agent_and_ends_the_same(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    agent = make_agent(tmp_path / "weak.onnx", Ruleset.make("german", players=3))
    args = replace(small(tmp_path / "whole", agent, "team", 3, ()), decisions=4 * 4096, deals=120)
    main(args)
    stopped = Responder(replace(args, out=tmp_path / "halves"), 0)
    stopped.updates = 4
    for _ in range(2):
        stopped.train_update()
    state.save(tmp_path / "halves", stopped)
    main(Args(against="left to the state", out=tmp_path / "halves", resume=True))
    whole, halves = (json.loads((tmp_path / out / "best_response.json").read_text()) for out in ("whole", "halves"))
    assert whole["gains"] == halves["gains"]
    tensors = [state.newest(tmp_path / out)[1][0][0] for out in ("whole", "halves")]
    assert all(torch.equal(tensor, tensors[1][name]) for name, tensor in tensors[0].items())


def most_lost(agent: str, rules: Ruleset, seat: int, dealer: int) -> float:
    """The most that an agent in a seat loses to any pair of pure strategies of the other two."""
    game = ExactGame(rules, dealer=dealer)
    form, policy = game.form, game.policy(agent)
    theirs = np.flatnonzero((form.player != seat) & (np.diff(form.first) > 1))
    losses = []
    for choices in product(*(range(form.first[i], form.first[i + 1]) for i in theirs)):
        for i, chosen in zip(theirs, choices, strict=True):
            policy[form.first[i] : form.first[i + 1]] = 0
            policy[chosen] = 1
        losses.append(-form.values(policy)[seat])
    return float(max(losses))


@pytest.mark.parametrize(("by", "n_learners"), [("seat", 1), ("team", 4)])
def test_one_side_has_one_seat_which_changes_and_the_other_all_others(by: str, n_learners: int, tmp_path: Path) -> None:
    agent = OnnxPlayer(make_agent(tmp_path / "agent.onnx", Ruleset.make("german", players=5)))
    owner = Frozen(agent, by, np.random.default_rng(0), np.arange(3)).seat(5, 5000)
    assert set(np.unique(owner)) == {LEARNER, AGENT}
    assert ((owner == LEARNER).sum(1) == n_learners).all()
    assert (owner == LEARNER).mean(0) == pytest.approx([n_learners / 5] * 5, abs=0.03)


def test_what_the_guests_lose_is_the_reward_of_each_in_the_team() -> None:
    reward = np.array([[3.0, -1.0, -2.0], [-2.0, 1.0, 1.0]])
    owner = np.array([[LEARNER, LEARNER, AGENT], [AGENT, LEARNER, LEARNER]])
    assert losses_of_guests(reward, owner).tolist() == [[2.0], [2.0]]


@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
def test_the_agent_plays_as_its_file_does(tmp_path: Path, suit_order: Any) -> None:
    rules = Ruleset.make("german", players=4)
    agent = OnnxPlayer(make_agent(tmp_path / "agent.onnx", rules, suit_order))
    args = replace(small(tmp_path, str(agent.path), "seat", 4, ()), suit_order=suit_order)
    experience = Responder(args, 0).experience
    batch = experience.rollout(lambda rows, legal: np.zeros(legal.shape, np.float32))
    taken = experience.actions[batch.taken()]
    # The same matches again, in which the player is asked for what it does.
    env = VectorEnv(rules, num_envs=args.matches, seed=args.seed, suit_order=suit_order, skip_forced=True)
    env.reset()
    for t in range(args.steps):
        rows, no_seeds = np.flatnonzero(batch.foreign[t]), np.zeros(args.matches, np.uint64)
        expected = agent.act_states(env.states, rules, env.seat, no_seeds)
        assert [true_action(int(taken[t, i]), env.suit_places[i]) for i in rows] == expected[rows].tolist()
        env.step(taken[t])
    assert batch.foreign.mean() == pytest.approx(3 / 4, abs=0.05)


def test_what_is_no_agent_file_or_has_other_suits_is_refused_in_a_sentence(tmp_path: Path) -> None:
    agent = make_agent(tmp_path / "fixed.onnx", Ruleset.make("german"), "fixed")
    args = Args(against=agent, out=tmp_path / "out")
    with pytest.raises(ArgsError, match="suits in fixed order, so its opponent needs --suit-order fixed too"):
        main(args)
    with pytest.raises(ArgsError, match="'counting' is no agent file"):
        main(replace(args, against="counting"))
    with pytest.raises(ArgsError, match="no seat is left for a past self"):
        main(replace(args, suit_order="fixed", past=0.2))
    assert not args.out.exists()
