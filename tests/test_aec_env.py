"""The PettingZoo environment: its interface, and that it gives the game that `Match` plays."""

from __future__ import annotations

import copy
import importlib
import itertools
import json
import os
import pickle
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, render_test, seed_test, state_test
from pettingzoo.test.save_obs_test import test_save_obs as save_obs_test
from playing import PRESETS, as_text, choose, decisions, finite, outside, plain, play, seen_id
from random_rules import Habits, random_rules, state_bytes

import napoleon_env as ne
from napoleon_env import aec_env
from napoleon_env.dealing import SeedError
from napoleon_env.match import DealError, IllegalActionError
from napoleon_env.notation import ACTION_NAMES, CARDS, N_ACTIONS, SUITS, NotationError
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE, ObservationError
from napoleon_env.ruleset import Ruleset, RulesetError
from napoleon_env.vector_env import ActionError, EnvError

EVERY_PRESET = pytest.mark.parametrize("rules", PRESETS)
EVERY_SIZE = pytest.mark.parametrize("players", range(2, 7))


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """PettingZoo's test keeps lists of its own games in which a Dict and a mask of zeros are no fault; ours joins them."""
    module = importlib.import_module("pettingzoo.test.api_test")
    for name in ("env_obs_dicts", "env_obs_space", "env_all_zeros_obs"):
        monkeypatch.setattr(module, name, [*getattr(module, name), "napoleon_v0"])


# The interface. pytest turns every warning into an error.


@EVERY_PRESET
@EVERY_SIZE
@pytest.mark.usefixtures("listed")
def test_pettingzoos_own_tests_pass(rules: str, players: int) -> None:
    api_test(ne.env(rules, players=players, deals=2), num_cycles=40)
    api_test(ne.raw_env(rules, players=players, suit_order="canonical"), num_cycles=20)
    seed_test(lambda: ne.env(rules, players=players, deals=2), num_cycles=30)
    parallel_api_test(ne.parallel_env(rules, players=players, deals=2), num_cycles=60)
    parallel_seed_test(lambda: ne.parallel_env(rules, players=players), num_cycles=30)
    save_obs_test(ne.env(rules, players=players))
    state_test(ne.env(rules, players=players), ne.parallel_env(rules, players=players))


@EVERY_PRESET
@EVERY_SIZE
def test_with_the_mask_in_the_infos_alone_pettingzoos_test_passes_as_it_is(rules: str, players: int) -> None:
    api_test(ne.env(rules, players=players, mask="info"), num_cycles=40)


@EVERY_PRESET
def test_render(rules: str) -> None:
    render_test(lambda **options: ne.env(rules, **options))
    render_test(lambda **options: ne.raw_env(rules, render_seat=1, **options))


def test_human_rendering_prints_after_reset_and_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    env = ne.env(render_mode="human")
    env.reset(seed=1)
    first = capsys.readouterr().out
    env.step(0)
    assert "call" in first
    assert capsys.readouterr().out not in ("", first)
    assert env.render() is None


def test_rendering_without_a_mode_warns() -> None:
    env = ne.raw_env()
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "float32", np.float64])
def test_observations_have_the_type_that_was_asked_for(dtype: Any) -> None:
    env = ne.env("russian", obs_dtype=dtype)
    env.reset(seed=3)
    for agent in itertools.islice(decisions(env, random.Random(1)), 10):
        observation = env.observe(agent)
        assert observation["observation"].dtype == np.dtype(dtype)
        assert observation in env.observation_space(agent)
        assert env.state() in env.state_space


def test_the_spaces_are_the_same_for_all_rule_sets_and_seats() -> None:
    spaces = [
        (env.observation_space(agent), env.action_space(agent))
        for env in (ne.env("german"), ne.env("russian", players=6), ne.env("english", players=2, suits=3))
        for agent in env.possible_agents
    ]
    assert all(pair == spaces[0] for pair in spaces)
    assert spaces[0][0]["observation"].shape == (OBSERVATION_SIZE,)
    assert spaces[0][1].n == N_ACTIONS


def test_registered_where_there_is_a_registry() -> None:
    env: Any
    if hasattr(pettingzoo, "make"):
        env = pettingzoo.make("aec", "napoleon/napoleon-v0", rules="russian", players=3)
        assert isinstance(pettingzoo.make("parallel", "napoleon/napoleon-v0"), pettingzoo.ParallelEnv)
    else:
        env = ne.env("russian", players=3)
    assert isinstance(env, pettingzoo.AECEnv)
    assert env.possible_agents == ["seat_0", "seat_1", "seat_2"]
    assert str(env) == "napoleon_v0"
    assert env.metadata["is_parallelizable"] is False
    assert env.unwrapped.rules == ne.Ruleset.make("russian", players=3)


def test_before_reset_everything_says_that_it_needs_one() -> None:
    raw = ne.raw_env()
    for ask in (lambda: raw.observe("seat_0"), raw.state, raw.render, lambda: raw.step(0), lambda: raw.match):
        with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
            ask()
    for ask in (lambda: ne.env().observe("seat_0"), lambda: ne.env().last(), lambda: ne.env().step(0)):
        with pytest.raises((AssertionError, AttributeError), match="reset"):
            ask()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"reward": "points"}, EnvError, "reward='points' must be one of payoff, relative"),
        ({"illegal": None}, EnvError, "illegal=None must be one of raise, terminate"),
        ({"suit_order": "trump"}, ObservationError, "suit_order='trump' must be one of fixed, canonical"),
        ({"obs_dtype": "uint8"}, EnvError, "obs_dtype='uint8' must be one of int8"),
        ({"obs_dtype": "no type"}, EnvError, "obs_dtype='no type' must be one of int8"),
        ({"mask": "both"}, EnvError, "mask='both' must be one of observation, info"),
        ({"render_mode": "svg"}, EnvError, "render_mode='svg' must be one of human, ansi, rgb_array"),
        ({"render_seat": 4}, EnvError, "render_seat=4 must be a seat from 0 to 3"),
        ({"stream": "test"}, SeedError, "stream='test' must be one of train, evaluation"),
        ({"index": -1}, SeedError, "index=-1 must be a whole number of at least 0"),
        ({"index": 2**32}, SeedError, "index=4294967296 must be a whole number of at least 0 and below 4294967296"),
        ({"obs_dtype": None}, EnvError, "obs_dtype=None must be one of int8"),
        ({"facts": "no"}, EnvError, "facts='no' must be True or False"),
        ({"illegal_reward": True}, EnvError, "illegal_reward=True must be a finite number, or None"),
        ({"illegal_reward": "-1"}, EnvError, "illegal_reward='-1' must be a finite number, or None"),
        ({"illegal_reward": float("nan")}, EnvError, "illegal_reward=nan must be a finite number, or None"),
        ({"illegal_reward": 10**400}, EnvError, "must be a finite number, or None"),
        ({"player": 3}, RulesetError, "'player' is not a field of a rule set"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused_in_a_sentence(settings: dict[str, Any], error: type, message: str) -> None:
    for make in (ne.raw_env, ne.env, ne.parallel_env):
        with pytest.raises(error, match=re.escape(message)):
            make("german", **settings)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"num_envs": 0}, EnvError, "num_envs=0 must be a whole number of at least 1"),
        ({"first_index": -1}, SeedError, "first_index=-1 must be a whole number of at least 0 and below 4294967296"),
        ({"first_index": 1.0}, SeedError, "first_index=1.0 must be a whole number"),
        ({"first_index": 2**32 - 1}, SeedError, "first_index=4294967295 with num_envs=2 must not pass index 4294967295"),
        ({"hidden": 1}, EnvError, "hidden=1 must be True or False"),
        ({"skip_forced": "no"}, EnvError, "skip_forced='no' must be True or False"),
        ({"check": None}, EnvError, "check=None must be True or False"),
    ],
)
def test_the_vector_environment_refuses_a_setting_in_a_sentence(settings: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        ne.VectorEnv(**{"num_envs": 2, **settings})


def test_the_vector_environment_takes_the_last_indices_there_are() -> None:
    assert ne.VectorEnv(num_envs=2, first_index=2**32 - 2).first_index == 2**32 - 2


@pytest.mark.parametrize("check", [True, False])
def test_the_vector_environment_is_not_stepped_before_a_match_has_begun(check: bool) -> None:
    env = ne.VectorEnv(num_envs=2, seed=1, check=check)
    with pytest.raises(ActionError, match=re.escape("no match has begun: call reset() first")):
        env.step(np.zeros(2, np.int64))
    begun = ne.VectorEnv(num_envs=2, seed=1)
    begun.reset()
    env.load_states(begun.states.copy())
    env.step(env.action_mask.argmax(axis=1))


def test_an_agent_that_does_not_exist_is_named() -> None:
    env = ne.env()
    env.reset()
    with pytest.raises(EnvError, match="'player_1' must be one of seat_0, seat_1, seat_2, seat_3"):
        env.observe("player_1")


# Legal actions.


def test_both_masks_are_equal_int8_and_zero_for_whoever_is_not_to_act() -> None:
    for seed in range(12):
        rng = random.Random(seed)
        env = ne.env(finite(random_rules(rng)), suit_order=rng.choice(("fixed", "canonical")))
        env.reset(seed=seed)
        for acting in decisions(env, rng):
            for agent in env.agents:
                mask, told = env.observe(agent)["action_mask"], env.infos[agent]["action_mask"]
                assert np.array_equal(mask, told)
                assert mask.dtype == told.dtype == np.int8
                assert mask.shape == (N_ACTIONS,)
                assert mask.any() == (agent == acting)
        for agent in env.possible_agents:
            assert not env.observe(agent)["action_mask"].any()
            assert not env.infos[agent]["action_mask"].any()


@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
def test_legal_is_what_is_accepted(suit_order: str) -> None:
    """In random positions of random rule sets every action is tried on a clone."""
    rng = random.Random(5)
    phases = set()
    for number in range(60):
        env = ne.raw_env(finite(random_rules(rng)), suit_order=suit_order)
        env.reset(seed=number)
        for agent in decisions(env, rng):
            if rng.random() > (0.08 if env.match.phase in ("auction", "play") else 0.3):
                continue
            phases.add(env.match.phase)
            mask = env.observe(agent)["action_mask"]
            before = state_bytes(env.match.state)
            for action in range(N_ACTIONS):
                twin = env.clone()
                try:
                    twin.step(action)
                except IllegalActionError:
                    assert not mask[action]
                    assert state_bytes(twin.match.state) == before
                else:
                    assert mask[action]
    assert phases == {"auction", "announce", "exchange", "trump", "play"}


def test_an_illegal_action_raises_and_names_the_rule() -> None:
    env = ne.raw_env("german")
    env.reset(options={"dealer": 3, "hands": _hands("AS KS QS JS TS | AH KH 2C 3C 4C | AD KD 5C 6C 7C | 2S 8C 9C TC JC")})
    play(env, "bid 2,pass,pass,pass,AS")
    with pytest.raises(IllegalActionError, match="seat 1 may not play AS: does not hold it"):
        env.step(ne.action_id("AS"))
    play(env, "AH,AD")
    with pytest.raises(IllegalActionError, match=re.escape("seat 3 may not play 8C: holds spades and spades were led (C5)")):
        env.step(ne.action_id("8C"))
    env.step(ne.action_id("2S"))
    for wrong in (N_ACTIONS, -1, None, 1.0, "pass", True):
        with pytest.raises(NotationError, match="is not an action id"):
            env.step(wrong)
    assert env.match.tricks_won == [1, 0, 0, 0]


def test_a_canonical_illegal_action_is_named_as_it_was_meant() -> None:
    """Seat 0 sees spades, its longest suit, as number 0: its "KC" is the king of spades, which it lacks."""
    env = ne.raw_env("german", suit_order="canonical")
    env.reset(options={"dealer": 3, "hands": _hands("AS QS JS TS 9S | AH KH 2C 3C 4C | AD KD 5C 6C 7C | 2S 8C 9C TC JC")})
    play(env, "bid 2,pass,pass,pass")
    assert env.infos["seat_0"]["suit_places"][SUITS.index("S")] == 0
    with pytest.raises(IllegalActionError, match="seat 0 may not play KS: does not hold it"):
        env.step(ne.action_id("KC"))
    env.step(ne.action_id("AC"))
    assert env.match.tricks == [[(0, "AS")]]


@pytest.mark.parametrize("illegal_reward", [None, -0.5])
def test_an_illegal_action_ends_the_match_for_the_offender_alone(illegal_reward: float | None) -> None:
    env = ne.env("russian", deals=3, illegal_reward=illegal_reward)
    env.reset(seed=4)
    rng = random.Random(2)
    for _ in itertools.islice(decisions(env, rng), 5):
        pass
    offender, pending = env.agent_selection, dict(env.unwrapped._cumulative_rewards)
    env.step(ne.action_id("wellington"))
    price = -env.unwrapped.rules.worst_contract_cost if illegal_reward is None else illegal_reward
    assert env.unwrapped.rules.worst_contract_cost == 5 * 4  # bid 5 to each of three defenders and to the pot
    assert env.rewards == {agent: price if agent == offender else 0.0 for agent in env.possible_agents}
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    for agent in env.possible_agents:
        assert env.infos[agent]["illegal"] == {"agent": offender, "action": "wellington"}
        assert not env.observe(agent)["action_mask"].any()
    closed = []
    for agent in env.agent_iter():
        _, reward, terminated, _, _ = env.last()
        assert terminated
        assert reward == (price if agent == offender else pending[agent])
        closed.append(agent)
        env.step(None)
    assert closed == env.possible_agents
    assert env.agents == []


def test_after_an_illegal_action_the_next_match_is_as_on_a_new_object() -> None:
    used = ne.env("russian", deals=2)
    used.reset(seed=1)
    used.step(ne.action_id("AS"))
    for _ in used.agent_iter():
        used.step(None)
    used.reset(seed=9)
    new = ne.env("russian", deals=2)
    new.reset(seed=9)
    for _ in decisions(new, random.Random(3), beside=[used]):
        assert outside(used) == outside(new)
    assert outside(used) == outside(new)


def test_a_number_that_is_no_action_fails_at_once_in_the_wrapped_environment_too() -> None:
    env = ne.env()
    env.reset(seed=1)
    with pytest.raises(AssertionError, match="action space"):
        env.step(N_ACTIONS)


# Rewards and endings.


@pytest.mark.parametrize("reward", ["payoff", "relative"])
def test_what_last_gives_adds_up_to_the_scores(reward: str) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        rules = finite(random_rules(rng))
        env = ne.env(rules, reward=reward)
        env.reset(seed=seed)
        habits = Habits.draw(rng, rules)
        earned = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            _, gained, terminated, truncated, _ = env.last()
            earned[agent] += gained
            env.step(None if terminated or truncated else choose(env, rng, habits))
        scores = env.unwrapped.match.scores
        for seat, agent in enumerate(env.possible_agents):
            others = [score for other, score in enumerate(scores) if other != seat]
            expected = scores[seat] if reward == "payoff" else scores[seat] - sum(others) / len(others)
            assert earned[agent] == pytest.approx(expected, rel=1e-12), env.unwrapped.match.rules


def test_a_deal_pays_all_seats_in_the_step_that_ends_it_and_the_next_is_dealt_in_it() -> None:
    """German, seat 0 bids 2 and takes all five spades: each defender pays 2."""
    env = ne.env("german", deals=2)
    hands = "AS KS QS JS TS | 2H 3H 4H 5H 6H | 2D 3D 4D 5D 6D | 2C 3C 4C 5C 6C"
    env.reset(seed=8, options={"dealer": 3, "hands": _hands(hands)})
    play(env, "bid 2,pass,pass,pass,AS,2H,2D,2C,KS,3H,3D,3C,QS,4H,4D,4C,JS,5H,5D,5C,TS,6H,6D")
    assert set(env.rewards.values()) == set(env.unwrapped._cumulative_rewards.values()) == {0.0}
    assert env.infos["seat_0"]["last_deal"] is None
    play(env, "6C")
    assert env.rewards == {"seat_0": 6.0, "seat_1": -2.0, "seat_2": -2.0, "seat_3": -2.0}
    assert not any(env.terminations.values())
    assert env.agent_selection == "seat_1"  # seat 0 deals, so its left speaks first
    for agent in env.agents:
        assert env.infos[agent]["last_deal"] == {
            "number": 0,
            "dealer": 3,
            "declarer": 0,
            "contract": "bid 2",
            "announced": False,
            "trump": "S",
            "tricks_won": (5, 0, 0, 0),
            "made": True,
            "payoffs": (6, -2, -2, -2),
            "pot": 0,
            "calls": ((0, "bid 2"), (1, "pass"), (2, "pass"), (3, "pass")),
            "last_trick": ((0, "TS"), (1, "6H"), (2, "6D"), (3, "6C")),
        }
        assert env.infos[agent]["deal"] == 1
        assert env.infos[agent]["scores"] == (6, -2, -2, -2)
    env.step(ne.action_id("pass"))
    assert set(env.rewards.values()) == {0.0}
    assert env.last()[1] == -2.0  # seat 2 has not been asked since


def test_in_the_portuguese_game_relative_rewards_reach_the_defenders() -> None:
    """Seat 0's dealer contract of 1 is made exactly: it gets 1 point, so each defender is (0 + 0 + 1) / 3 behind the others."""
    env = ne.env("portuguese", reward="relative")
    env.reset(options={"dealer": 0, "hands": _hands("AS 2C 2D 2H 3H | 4S AC AD AH KH | 5S KC KD QH JH | 6S QC QD TH 9H")})
    play(env, "pass,pass,pass,pass,trump S,AS,4S,5S,6S,2C,AC,KC,QC")
    play(env, "AD,KD,QD,2D,AH,QH,TH,2H,KH,JH,9H,3H")
    assert env.rewards == pytest.approx({"seat_0": 1.0, "seat_1": -1 / 3, "seat_2": -1 / 3, "seat_3": -1 / 3})


def test_infos_hold_the_exact_amounts_and_are_json() -> None:
    env = ne.env("russian", deals=2)
    env.reset(seed=2, options={"pot": 10**15 - 4})
    assert env.infos["seat_1"]["pot"] == 10**15  # four antes
    for seed in range(6):
        rng = random.Random(seed)
        env = ne.env(finite(random_rules(rng)), suit_order="canonical")
        env.reset(seed=seed)
        for _ in decisions(env, rng):
            match = env.unwrapped.match
            for seat, agent in enumerate(env.agents):
                info = {name: value for name, value in env.infos[agent].items() if name != "action_mask"}
                assert json.loads(json.dumps(info)) == plain(info)
                assert (info["pot"], list(info["scores"]), info["deal"]) == (match.pot, match.scores, match.deal_number)
                assert sorted(info["suit_places"]) == [0, 1, 2, 3]
                finished = match.last_deal
                if finished is not None:
                    told = info["last_deal"]
                    assert list(told["payoffs"]) == finished.payoffs
                    assert list(told["calls"]) == finished.calls
                    assert told["made"] == finished.made
                    assert list(told["last_trick"]) == ([] if finished.void else finished.tricks[-1])
                assert seat == env.possible_agents.index(agent)


def test_without_facts_the_infos_hold_the_mask_alone() -> None:
    env = ne.env("russian", facts=False, suit_order="canonical", deals=2)
    env.reset(seed=1)
    for _ in decisions(env, random.Random(1)):
        assert all(list(info) == ["action_mask"] for info in env.infos.values())
    env.reset()
    env.step(ne.action_id("wellington"))
    assert all(list(info) == ["action_mask"] for info in env.infos.values())


@pytest.mark.parametrize("rules", [{"preset": "german", "max_void_deals": 3}, {"preset": "russian", "max_void_deals": 3}])
def test_nothing_but_void_deals_truncates_for_all(rules: dict[str, Any]) -> None:
    env = ne.env(rules)
    env.reset(seed=1)
    steps = 0
    while not any(env.truncations.values()):
        env.step(ne.action_id("pass"))
        steps += 1
    assert steps == 12
    assert all(env.truncations.values())
    assert not any(env.terminations.values())
    _assert_closing_order(env)


def test_an_amount_out_of_bounds_truncates_after_the_deal_is_paid() -> None:
    """Russian: 10^15 in the pot, doubled by a Napoleon that fails."""
    env = ne.env("russian", players=2, deals=5)
    hands = _hands("6C 7C 8C 9C TC | AC AD AH AS KS")
    env.reset(seed=1, options={"dealer": 0, "hands": hands, "stock": ["6D"], "pot": 10**15 - 2})
    play(env, "bid 5,napoleon,stand,6C,AC")
    while not env.truncations[env.agent_selection]:
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    assert env.infos["seat_0"]["pot"] == 2 * 10**15
    assert env.rewards == {"seat_0": -(10.0**15) - 5 - 1, "seat_1": 5.0 - 1}  # the pot, the bid, the ante
    assert all(env.truncations.values())
    _assert_closing_order(env)


@EVERY_SIZE
def test_the_closing_steps_are_in_the_order_of_the_seats(players: int) -> None:
    for rules, seed in itertools.product(PRESETS, range(3)):
        env = ne.env(rules, players=players)
        env.reset(seed=seed)
        for _ in decisions(env, random.Random(seed)):
            assert env.agent_selection in env.agents
        _assert_closing_order(env)


def _assert_closing_order(env: Any) -> None:
    for number, agent in enumerate(env.agent_iter()):
        assert agent == env.possible_agents[number]
        assert env.agents == env.possible_agents[number:]
        env.last()
        with pytest.raises(ValueError, match="the only valid action is None"):
            env.unwrapped.step(0)
        env.step(None)
    assert env.agents == list(env.rewards) == list(env.infos) == list(env.terminations) == []
    with pytest.raises(gymnasium.error.ResetNeeded, match="the match is over"):
        env.unwrapped.step(None)
    assert env.observe("seat_0")["observation"].any()  # still answers


# Deals.


def test_reset_goes_on_to_the_next_match_and_a_seed_starts_over() -> None:
    env = ne.env("german")
    env.reset(seed=11)
    first = env.unwrapped.match.hands
    env.reset()
    second = env.unwrapped.match.hands
    env.reset(seed=11)
    assert env.unwrapped.match.hands == first != second
    assert env.unwrapped.match.dealer == ne.Match("german", seed=11).dealer
    env.reset()
    assert env.unwrapped.match.hands == second == ne.Match("german", seed=11, number=1).hands


def test_environment_i_deals_what_the_vector_environment_deals_at_i() -> None:
    vector = ne.VectorEnv("russian", num_envs=3, seed=5, deals=2)
    vector.reset()
    singles = [ne.raw_env("russian", index=i, deals=2) for i in range(3)]
    for env in singles:
        env.reset(seed=5)
    rng = np.random.default_rng(1)
    for _ in range(150):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in vector.action_mask])
        for i, env in enumerate(singles):
            seen, _, _, _, _ = env.last()
            assert env.agent_selection == f"seat_{vector.seat[i]}"
            assert np.array_equal(seen["observation"], vector.observation[i])
            assert np.array_equal(seen["action_mask"], vector.action_mask[i])
            env.step(int(actions[i]))
        vector.step(actions)
        for i, env in enumerate(singles):
            assert list(env.rewards.values()) == list(vector.payoffs[i])
            if vector.terminated[i] or vector.truncated[i]:
                assert env.terminations["seat_0"] == vector.terminated[i]
                env.reset()


def test_copies_of_a_vector_environment_go_on_alike_each_in_its_own_memory() -> None:
    env = ne.VectorEnv("russian", num_envs=4, seed=3, suit_order="canonical", hidden=True)
    env.reset()
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_mask])
        before = env.observation.copy()
        for stepped, other in itertools.pairwise([env, *twins]):
            stepped.step(actions)
            assert not np.array_equal(stepped.observation, before)
            assert np.array_equal(other.observation, before)
        twins[-1].step(actions)
        for twin in twins:
            for name in ("observation", "action_mask", "suit_places", "hidden", "seat", "payoffs"):
                assert np.array_equal(getattr(twin, name), getattr(env, name))


def test_streams_indices_and_seeds_give_different_deals() -> None:
    deals = set()
    for stream, seed, index in itertools.product(("train", "evaluation"), range(8), range(16)):
        env = ne.raw_env(stream=stream, index=index)
        env.reset(seed=seed)
        deals.add(as_text(env.match.hands))
    assert len(deals) == 2 * 8 * 16


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
def test_a_seed_that_is_none_is_refused_and_the_match_goes_on(seed: Any) -> None:
    env = ne.raw_env()
    env.reset(seed=1)
    before = outside(env)
    with pytest.raises(SeedError, match="seed="):
        env.reset(seed=seed)
    assert outside(env) == before


def test_options_set_the_first_deal() -> None:
    hands = _hands("6D 6S JD 7D JC | 6C TH AH KS JS")
    env = ne.env("russian", players=2)
    env.reset(seed=1, options={"dealer": 1, "hands": hands, "stock": ["9D", "QC"], "pot": 4})
    match = env.unwrapped.match
    assert (match.dealer, match.pot) == (1, 6)
    assert [set(hand) for hand in match.hands] == [set(hand) for hand in hands]
    twin = ne.Match.deal("russian", players=2, dealer=1, hands=hands, stock=["9D", "QC"], pot=4)
    names = "bid 1,bid 5,hold,napoleon,stand,AH,6D,KS,6S,TH,JD,JS,7D,6C,JC"
    for name in names.split(","):
        assert env.infos[env.agent_selection]["action_mask"].tolist() == twin.mask().tolist()
        play(env, name)
        twin.play(name)
    assert list(env.rewards.values()) == twin.payoffs == [5 - 1, -5 - 6 - 1]  # the bid, the pot, the ante


def test_a_stock_that_is_not_listed_is_filled_up_by_the_seed() -> None:
    hands = _hands("6D 6S JD 7D JC | 6C TH AH KS JS")
    stocks = []
    for seed in (1, 1, 2):
        env = ne.env("russian", players=2)
        env.reset(seed=seed, options={"dealer": 0, "hands": hands, "stock": ["9D"]})
        cards = [CARDS[card] for card in env.unwrapped.match.state["cards"][0][:36]]
        assert sorted(cards) == sorted(CARDS[card] for card in env.unwrapped.rules.pack)
        assert cards[10] == "9D"
        stocks.append(cards[10:])
    assert stocks[0] == stocks[1] != stocks[2]


def test_a_dealer_or_a_pot_alone_leaves_the_cards_random() -> None:
    env = ne.env("russian")
    for dealer in range(4):
        env.reset(seed=6, options={"dealer": dealer, "pot": None})
        assert env.unwrapped.match.hands == ne.Match("russian", seed=6, dealer=dealer).hands
        assert env.agent_selection == f"seat_{dealer}"
    env.reset(seed=6, options={"pot": 9, "another wrapper's option": 1})
    assert env.unwrapped.match.pot == 9 + 4
    assert env.unwrapped.match.dealer == ne.Match("russian", seed=6).dealer


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dealer": 4}, "dealer=4 must be a seat from 0 to 3"),
        ({"pot": 3}, "pot=3 must be 0"),
        ({"stock": ["AS"]}, "stock needs hands"),
        ({"hands": [["AS"]]}, "hands must be a list of 4 hands"),
        ({"hands": [["AS"] * 5] * 4}, "AS is dealt twice"),
    ],
)
def test_a_deal_that_cannot_be_is_refused_and_the_match_goes_on(options: dict[str, Any], message: str) -> None:
    env = ne.env("german")
    env.reset(seed=1)
    before = outside(env)
    with pytest.raises(DealError, match=re.escape(message)):
        env.reset(seed=1, options=options)
    assert outside(env) == before


@pytest.mark.parametrize("options", [[1], "abc", 5, []])
def test_options_that_are_no_mapping_are_refused(options: Any) -> None:
    env = ne.env("german")
    env.reset(seed=1)
    before = outside(env)
    with pytest.raises(EnvError, match=re.escape(f"options={options!r} must be a mapping from names to values, or None")):
        env.reset(seed=1, options=options)
    assert outside(env) == before


@pytest.mark.parametrize("options", [{"dealer": 4}, 5])
def test_a_reset_that_fails_leaves_the_seed_and_its_next_match(options: Any) -> None:
    env = ne.env("german")
    env.reset(seed=11)
    with pytest.raises(ValueError, match=r"dealer=4|options=5"):
        env.reset(seed=12, options=options)
    env.reset()
    assert env.unwrapped.match.hands == ne.Match("german", seed=11, number=1).hands


def test_the_global_generators_are_left_alone() -> None:
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), pickle.dumps(np.random.get_state())
    env = ne.env("russian", render_mode="ansi")
    env.reset()
    for _ in decisions(env, random.Random(1)):
        env.render()
    assert (random.getstate(), pickle.dumps(np.random.get_state())) == before


_DIGEST = """
import hashlib, random, sys
sys.path.insert(0, {tests!r})
import napoleon_env as ne
from playing import decisions, outside
digest = hashlib.sha256()
for rules in ("german", "portuguese", "russian", "english"):
    for order in ("fixed", "canonical"):
        env = ne.env(rules, deals=2, suit_order=order)
        env.reset(seed=3)
        for _ in decisions(env, random.Random(5)):
            digest.update(repr(outside(env)).encode())
print(digest.hexdigest())
"""


def test_every_process_plays_the_same_whatever_its_hashes() -> None:
    tests = Path(__file__).parent
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _DIGEST.format(tests=str(tests))],
            env={**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": str(tests.parent)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for hashes in ("0", "1")
    ]
    digests = [process.communicate(timeout=120)[0] for process in processes]
    assert len(digests[0]) == 65
    assert digests[0] == digests[1]


# Seats.


def test_another_seat_of_the_same_deal_sees_the_same_from_its_place() -> None:
    """All hands and the dealer moved k places to the left: every seat's observation moves with them, and nothing else."""
    rng = random.Random(9)
    for number in range(16):
        rules = Ruleset.make(finite(random_rules(rng)), deals=1)
        n, size = rules.players, rules.hand_size
        pack = [CARDS[card] for card in rules.pack]
        rng.shuffle(pack)
        hands, stock = [pack[seat * size : (seat + 1) * size] for seat in range(n)], pack[n * size :]
        shift, dealer, order = rng.randrange(1, n), rng.randrange(n), rng.choice(("fixed", "canonical"))
        env, moved = (ne.raw_env(rules, suit_order=order) for _ in range(2))
        env.reset(options={"dealer": dealer, "hands": hands, "stock": stock})
        moved_hands = [hands[(seat - shift) % n] for seat in range(n)]
        moved.reset(options={"dealer": (dealer + shift) % n, "hands": moved_hands, "stock": stock})
        habits = Habits.draw(rng, rules)
        while not env.match.history or env.match.over:  # the next deal is another one
            for seat in range(n):
                seen, other = env.observe(f"seat_{seat}"), moved.observe(f"seat_{(seat + shift) % n}")
                assert as_text(seen) == as_text(other), number
            if env.match.over:
                break
            action = choose(env, rng, habits)
            env.step(action)
            moved.step(action)


def test_observing_changes_nothing_and_gives_arrays_of_its_own() -> None:
    env = ne.env("russian", deals=2)
    env.reset(seed=3)
    for acting in itertools.islice(decisions(env, random.Random(4)), 40):
        before, state = outside(env), state_bytes(env.unwrapped.match.state)
        for agent in env.possible_agents:
            observation = env.observe(agent)
            observation["observation"][:] = 7
            observation["action_mask"][:] = 1
        env.last()[0]["action_mask"][:] = 0
        env.state()[:] = 3
        assert outside(env) == before
        assert state_bytes(env.unwrapped.match.state) == state
        assert acting == env.agent_selection


def test_infos_that_were_kept_do_not_change_later() -> None:
    env = ne.env("german", deals=2)
    env.reset(seed=3)
    kept = [(env.infos[agent], as_text(env.infos[agent])) for agent in decisions(env, random.Random(4))]
    assert all(as_text(info) == text for info, text in kept)


def test_state_holds_the_observation_of_the_seat_to_move_and_the_secrets() -> None:
    env = ne.env("german", obs_dtype="int8")
    env.reset(seed=3)
    state = env.state()
    assert state.shape == env.state_space.shape == (OBSERVATION_SIZE + HIDDEN_SIZE,)
    assert np.array_equal(state[:OBSERVATION_SIZE], env.last()[0]["observation"])
    assert state[OBSERVATION_SIZE:].sum() == 4 * 5  # every seat's cards; nobody exchanges


# Suits in canonical order.


def test_the_names_of_the_suits_make_no_difference_in_canonical_order() -> None:
    """A deal and the same deal with its suits renamed, played alike: every seat sees and may do the same."""
    rng = random.Random(3)
    compared = 0
    for number in range(30):
        rules = Ruleset.make(rng.choice(PRESETS), players=rng.randint(2, 6), deals=1)
        n, size = rules.players, rules.hand_size
        pack = [CARDS[card] for card in rules.pack]
        rng.shuffle(pack)
        new = dict(zip(SUITS, rng.sample(SUITS, 4), strict=True))
        renamed = [card[0] + new[card[1]] for card in pack]
        pair = []
        for cards in (pack, renamed):
            env = ne.raw_env(rules, suit_order="canonical")
            hands = [cards[seat * size : (seat + 1) * size] for seat in range(n)]
            env.reset(options={"dealer": number % n, "hands": hands, "stock": cards[n * size :]})
            pair.append(env)
        env, other = pair
        habits = Habits.draw(rng, rules)
        while not env.match.history or env.match.over:  # the next deal is another one
            for agent in env.possible_agents:
                compared += 1
                assert as_text(env.observe(agent)) == as_text(other.observe(agent))
            if env.match.over:
                break
            name = habits.choose(rng, env.match.legal(), 0)
            agent = env.agent_selection
            env.step(seen_id(name, env.infos[agent]["suit_places"]))
            called = name[:-1] + new[name[-1]] if name[-1] in SUITS and name[-2] in "23456789TJQKA " else name
            other.step(seen_id(called, other.infos[agent]["suit_places"]))
    assert compared > 2000


def test_canonical_actions_are_mapped_back() -> None:
    rng = random.Random(6)
    for number in range(20):
        rules = finite(random_rules(rng))
        env = ne.raw_env(rules, suit_order="canonical")
        env.reset(seed=number)
        for agent in decisions(env, rng):
            places = env.infos[agent]["suit_places"]
            assert np.flatnonzero(env.observe(agent)["action_mask"]).tolist() == sorted(
                seen_id(name, places) for name in env.match.legal()
            )


# Copies.


def _copies(env: Any) -> list[Any]:
    return [env.clone(), copy.deepcopy(env), pickle.loads(pickle.dumps(env)), pickle.loads(pickle.dumps(env, 5))]


@pytest.mark.parametrize("make", [ne.raw_env, ne.env])
def test_copies_go_on_identically_from_any_point(make: Any) -> None:
    """From each phase of two deals, from between them and from the end, through the closing steps and into the next match."""
    rng, announcing = random.Random(12), Habits(passing=0.0, lowest=0.0, announcing=0.5, only_pass_after=9)
    points = set()
    for number, rules in enumerate(("russian", "english", "portuguese", "russian")):
        env = make(rules, deals=2, max_void_deals=3, suit_order=("fixed", "canonical")[number % 2])
        env.reset(seed=number)
        pending: list[Any] = []
        for _ in decisions(env, rng, announcing, beside=pending):
            before = outside(env)
            assert all(outside(twin) == before for twin in pending)
            match = env.unwrapped.match
            point = (match.phase, len(match.history), len(match.tricks) // 3)
            if point in points:
                continue
            points.add(point)
            for twin in _copies(env):  # what a copy does leaves the original
                assert type(twin) is type(env)
                for _ in itertools.islice(decisions(twin, random.Random(1)), 9):
                    pass
            assert outside(env) == before
            if len(pending) < 12:
                pending += _copies(env)
        pending += _copies(env)
        while env.agents:
            for twin in pending:
                assert outside(twin) == outside(env)
                twin.step(None)
            env.step(None)
        for twin in [env, *pending]:
            twin.reset()
        assert all(outside(twin) == outside(env) for twin in pending)
    assert {phase for phase, *_ in points} == {"auction", "announce", "exchange", "trump", "play"}
    assert any(history for _, history, _ in points)


def test_copies_of_the_parallel_environment_go_on_identically() -> None:
    env = ne.parallel_env("russian", deals=2)
    env.reset(seed=5)
    rng = random.Random(1)
    while env.agents:
        agent = env.aec_env.agent_selection
        action = int(rng.choice(np.flatnonzero(env.aec_env.observe(agent)["action_mask"])))
        copies = _copies(env) if rng.random() < 0.2 else []
        actions = {other: action if other == agent else 0 for other in env.agents}
        answers = [as_text(twin.step(actions)) for twin in copies]
        assert all(answer == answers[0] for answer in answers)
        mine = as_text(env.step(actions))
        assert all(answer == mine for answer in answers)
        assert all(twin.agents == env.agents for twin in copies)


def test_copies_made_before_reset_work() -> None:
    for env in _copies(ne.env("german")):
        env.reset(seed=1)
        assert env.unwrapped.match.hands == ne.Match("german", seed=1).hands


def test_clones_share_what_never_changes() -> None:
    env = ne.env("german")
    env.reset(seed=1)
    twin = env.clone()
    assert twin.unwrapped.rules is env.unwrapped.rules
    assert twin.action_space("seat_0") is env.action_space("seat_0")
    assert twin.unwrapped is not env.unwrapped


def test_thousands_of_matches_and_environments_leave_no_memory_behind() -> None:
    resource = pytest.importorskip("resource", reason="Windows does not tell a process its memory so")
    env = ne.env("german")

    def use(n: int) -> None:
        for _ in range(n):
            env.reset()
            for _ in range(12):
                env.step(int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])[0]))
        for _ in range(n // 10):
            ne.raw_env().close()

    use(200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    use(2000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB


# The turn-based parallel environment.


def test_the_parallel_environment_plays_the_same_match() -> None:
    for rules in PRESETS:
        env, parallel = ne.env(rules, deals=2), ne.parallel_env(rules, deals=2)
        env.reset(seed=7)
        observations, infos = parallel.reset(seed=7)
        rng = random.Random(3)
        totals = dict.fromkeys(env.possible_agents, 0.0)
        while parallel.agents:
            agent = env.agent_selection
            assert as_text(observations) == as_text({other: env.observe(other) for other in env.agents})
            assert infos[agent].get("active_agent", agent) == agent
            action = int(rng.choice(np.flatnonzero(observations[agent]["action_mask"])))
            env.step(action)
            observations, rewards, _, _, infos = parallel.step(dict.fromkeys(parallel.agents, action))
            assert rewards == env.rewards
            totals = {other: total + rewards[other] for other, total in totals.items()}
        assert list(totals.values()) == env.unwrapped.match.scores


# What the package shows.


def test_the_page_of_the_environment_names_every_action() -> None:
    page = aec_env.__doc__ or ""
    for names, first in (("pass", 0), ("hold", 9), ("trump C", 13), ("stand", 19), ("discard 2C", 20), ("2C", 72)):
        row = next(line for line in page.splitlines() if line.startswith("| ") and f"| {first}" in line[:5])
        assert names in row
        assert ACTION_NAMES[first] == names
    for heading in ("Observation Space", "Legal Actions Mask", "Action Space", "Rewards", "Version History"):
        assert f"## {heading}" in page
    assert all(f"`{name}`" in page or name in page for name in ("last_trick", "tricks_won", "suit_places", "illegal_reward"))


def test_every_public_name_is_there_and_is_loaded_when_it_is_used() -> None:
    assert sorted([*ne._MODULE_OF, "N_ACTIONS", "action_id", "action_name"]) == sorted(ne.__all__)
    assert set(ne.__all__) <= set(dir(ne))
    for name in ne.__all__:
        assert getattr(ne, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        ne.nonsense  # noqa: B018  # to ask for it is the test


def test_importing_compiles_and_loads_nothing_heavy() -> None:
    code = "import sys, napoleon_env; print([name for name in ('numba', 'PIL', 'torch') if name in sys.modules])"
    root = str(Path(__file__).parent.parent)
    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def _hands(text: str) -> list[list[str]]:
    return [hand.split() for hand in text.split("|")]
