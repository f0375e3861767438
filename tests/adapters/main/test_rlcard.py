"""The environment in RLCard: its shape, steps taken back, and its agents trained on it."""

from __future__ import annotations

import multiprocessing
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rlcard
import torch
from random_rules import Habits, random_rules
from rlcard.agents import CFRAgent, NFSPAgent, RandomAgent
from rlcard.agents.dmc_agent import DMCTrainer
from rlcard.utils import reorganize, set_seed, tournament

import napoleon_env as ne
import napoleon_env.adapters.rlcard  # registers the environment
from napoleon_env.dealing import SeedError
from napoleon_env.match import IllegalActionError
from napoleon_env.observation import OBSERVATION_SIZE, observe
from napoleon_env.ruleset import RulesetError

ONE_DEAL = {"auction": "once", "all_pass": "dealer_plays_one", "min_bid": 1}
TINY = {"players": 2, "suits": 2, "lowest_rank": "K", "hand_size": 2, **ONE_DEAL}
"""Four cards, all dealt."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def make(rules: Any = "german", **config: Any) -> Any:
    return rlcard.make("napoleon", config={"rules": rules, "seed": 1, **config})


def test_a_state_has_what_rlcard_s_agents_look_for() -> None:
    env = make("russian", players=3)
    state, seat = env.reset()
    match = ne.Match("russian", players=3, seed=1)
    assert seat == env.get_player_id() == match.seat
    assert np.array_equal(state["obs"], observe(match.state, match.rules, seat).observation)
    assert (state["obs"].dtype, env.state_shape[seat]) == (np.int8, [OBSERVATION_SIZE])
    assert list(state["legal_actions"]) == match.legal_ids()
    assert state["raw_legal_actions"] == [ne.action_name(action) for action in match.legal_ids()]
    assert state["raw_obs"].hand == match.view(seat).hand
    env.step(ne.action_id("bid 1"))
    assert env.get_state(seat)["action_record"] == [(seat, "bid 1")]
    assert env.get_state(seat)["legal_actions"] == {}  # another seat is to act
    assert (env.num_players, env.num_actions) == (3, ne.N_ACTIONS)
    assert env.get_action_feature(5).tolist() == [action == 5 for action in range(ne.N_ACTIONS)]
    assert env.get_perfect_information()["hands"] == match.hands


def test_each_reset_is_the_next_match_of_the_seed() -> None:
    env = make()
    for number in range(3):
        env.reset()
        assert env.game.match.hands == ne.Match("german", seed=1, number=number).hands
    env.seed(9)
    env.reset()
    assert env.game.match.hands == ne.Match("german", seed=9).hands
    env = make(stream="evaluation")
    env.reset()
    assert env.game.match.hands == ne.Match("german", seed=1, stream="evaluation").hands


@pytest.mark.parametrize(
    ("config", "error"),
    [({"players": 9}, RulesetError), ({"seed": -1}, SeedError), ({"bots": 1}, RulesetError), ({"stream": "x"}, SeedError)],
)
def test_what_does_not_fit_is_refused(config: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        make(**config)


def test_an_illegal_action_is_refused_with_the_rule() -> None:
    env = make()
    env.reset()
    with pytest.raises(IllegalActionError, match="auction"):
        env.step("AS", raw_action=True)


def test_steps_are_taken_back_to_the_beginning() -> None:
    rng = random.Random(1)
    for number in range(20):
        rules = random_rules(rng)
        rules = ne.Ruleset.make(rules, deals=min(rules.deals, 2), max_void_deals=min(rules.max_void_deals, 3))
        env, habits = make(rules, seed=number, allow_step_back=True), Habits.draw(rng, rules)
        state, seat = env.reset()
        stack = []
        while not env.is_over():
            match = env.game.match
            stack.append((match.hands, match.log, match.scores, seat, state["obs"].tobytes(), len(env.action_recorder)))
            action = habits.choose(rng, match.legal(), match.deal_number)
            state, seat = env.step(action, raw_action=True)
        assert len(stack) > 1
        while stack:
            state, seat = env.step_back()
            match = env.game.match
            assert (match.hands, match.log, match.scores, seat, state["obs"].tobytes(), len(env.action_recorder)) == stack.pop()
        assert env.step_back() is False


def test_nothing_is_taken_back_where_that_is_off() -> None:
    env = make()
    env.reset()
    with pytest.raises(Exception, match="allow_step_back"):
        env.step_back()


def test_canonical_suits_are_named_back() -> None:
    """The same match with actions numbered as the seat sees them."""
    rng, env = random.Random(2), make("portuguese", suit_order="canonical")
    for _ in range(5):
        state, seat = env.reset()
        while not env.is_over():
            match = env.game.match
            assert sorted(state["raw_legal_actions"]) == match.legal()
            assert np.array_equal(state["obs"], observe(match.state, match.rules, seat, True).observation)
            place = rng.randrange(len(state["legal_actions"]))
            name = state["raw_legal_actions"][place]
            action = list(state["legal_actions"])[place]
            state, next_seat = env.step(action)
            assert env.action_recorder[-1] == (seat, name)
            seat = next_seat


def test_run_and_tournament_give_the_scores() -> None:
    env = make("english", players=5)
    env.set_agents([RandomAgent(env.num_actions) for _ in range(5)])
    trajectories, payoffs = env.run(is_training=False)
    assert payoffs.tolist() == env.game.match.scores
    assert [len(trajectory) % 2 for trajectory in trajectories] == [1] * 5  # state, action, …, state
    assert sum(tournament(env, 20)) == pytest.approx(0.0)


def test_a_player_of_ours_plays_as_an_agent_with_names() -> None:
    class RuleAgent:
        use_raw = True

        def eval_step(self, state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
            return ne.action_name(int(ne.make_player("rule").act(state["raw_obs"]))), {}

    env = make()
    env.set_agents([RuleAgent(), *(RandomAgent(env.num_actions) for _ in range(3))])
    assert tournament(env, 60)[0] > 0


def test_a_pickled_environment_goes_on_alike() -> None:
    env = make("russian", players=2)
    env.reset()
    twin = pickle.loads(pickle.dumps(env))
    for _ in range(3):
        action = env.game.match.legal()[0]
        first, second = env.step(action, raw_action=True), twin.step(action, raw_action=True)
        assert first[1] == second[1]
        assert np.array_equal(first[0]["obs"], second[0]["obs"])


# Its agents.


def test_cfr_learns_a_tiny_game(tmp_path: Path) -> None:
    set_seed(1)
    env = make("german", **TINY, allow_step_back=True)
    agent = CFRAgent(env, str(tmp_path / "cfr"))
    for _ in range(150):
        agent.train()
    judge = make("german", **TINY, seed=2)
    judge.set_agents([agent, RandomAgent(judge.num_actions)])
    assert tournament(judge, 400)[0] > 0.5
    agent.save()
    again = CFRAgent(env, str(tmp_path / "cfr"))
    again.load()
    assert again.iteration == 150


def test_nfsp_trains(capsys: pytest.CaptureFixture[str]) -> None:
    """And its DQN within."""
    set_seed(1)
    env = make("german", **TINY)
    agents = [
        NFSPAgent(
            num_actions=env.num_actions, state_shape=env.state_shape[0], hidden_layers_sizes=[32], q_mlp_layers=[32],
            device=torch.device("cpu"), rl_learning_rate=0.002, sl_learning_rate=0.01, batch_size=32, anticipatory_param=0.5,
        )
        for _ in range(env.num_players)
    ]  # fmt: skip
    nets = [net for agent in agents for net in (agent.policy_network, agent._rl_agent.q_estimator.qnet)]
    before = [[parameter.clone() for parameter in net.parameters()] for net in nets]
    env.set_agents(agents)
    for _ in range(150):
        for agent in agents:
            agent.sample_episode_policy()
        trajectories, payoffs = env.run(is_training=True)
        for agent, trajectory in zip(agents, reorganize(trajectories, payoffs), strict=True):
            for transition in trajectory:
                agent.feed(transition)
    capsys.readouterr()
    assert all(agent.train_t > 50 for agent in agents)
    for net, old in zip(nets, before, strict=True):
        new = list(net.parameters())
        assert all(bool(torch.isfinite(parameter).all()) for parameter in new)
        assert all(not torch.equal(mine, other) for mine, other in zip(new, old, strict=True) if mine.ndim == 2)
    assert len(tournament(env, 20)) == 2


def test_dmc_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder outside any repository, and its actors are ended: see the adapter."""
    monkeypatch.chdir(tmp_path)
    env = make("german", **TINY, suit_order="canonical")
    trainer = DMCTrainer(
        env, savedir=str(tmp_path), num_actors=1, num_threads=1, unroll_length=10, batch_size=4, num_buffers=8, total_frames=400
    )
    try:
        trainer.start()
    finally:
        for actor in multiprocessing.active_children():
            actor.terminate()
            actor.join()
    saved = torch.load(tmp_path / "dmc" / "model.tar", weights_only=False)
    assert saved["frames"] >= 400
    agent = torch.load(sorted((tmp_path / "dmc").glob("0_*.pth"))[-1], weights_only=False)
    judge = make("german", **TINY, suit_order="canonical", seed=2)
    judge.set_agents([agent, RandomAgent(judge.num_actions)])
    assert len(tournament(judge, 20)) == 2
