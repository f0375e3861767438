"""The Gymnasium environments: one learner at a table of opponents, alone and in batches."""

from __future__ import annotations

import copy
import pickle
import random
import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from playing import PRESETS, as_text, finite, seen_id
from random_rules import random_rules, state_bytes

import napoleon_env as ne
from napoleon_env.dealing import SeedError, deal_key
from napoleon_env.match import IllegalActionError, View
from napoleon_env.notation import N_ACTIONS, SOME_DISCARD, NotationError
from napoleon_env.observation import OBSERVATION_SIZE
from napoleon_env.opponents import OpponentError, learner_words
from napoleon_env.roster import RosterError
from napoleon_env.vector_env import EnvError


def lowest(view: View) -> int:
    """A player that is a plain function."""
    return view.legal_ids()[0]


class Careful:
    """A player that notes what it is shown."""

    def __init__(self) -> None:
        self.views: list[View] = []

    def act(self, view: View) -> str:
        self.views.append(view)
        legal = view.legal()
        return legal[int(view.rng().integers(len(legal)))]


class Batched:
    """A player that decides for many states at once."""

    def act(self, view: View) -> int:
        raise AssertionError("asked one by one")

    def act_states(self, states: np.ndarray, rules: ne.Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        legal = [View(rules, states[i : i + 1], int(seat)).legal_ids() for i, seat in enumerate(seats)]
        return np.array([ids[int(seed) % len(ids)] for ids, seed in zip(legal, seeds, strict=True)])


def learner(rng: random.Random, info: dict[str, Any]) -> int:
    return rng.choice(np.flatnonzero(info["action_mask"]).tolist())


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize("mask", ["observation", "info"])
def test_gymnasiums_own_check_passes_without_warnings(rules: str, mask: str) -> None:
    for players in (2, 4, 6):
        check_env(gymnasium.make("Napoleon-v0", rules=rules, players=players, opponents="random", mask=mask).unwrapped)
    check_env(gymnasium.make("Napoleon-v0", rules=rules, opponents=lowest, mask=mask, suit_order="canonical").unwrapped)


@pytest.mark.parametrize("rules", PRESETS)
def test_the_rule_of_thumb_sits_in_the_other_seats_by_default(rules: str) -> None:
    env = gymnasium.make("Napoleon-v0", rules=rules)
    assert {type(player).__name__ for player in env.unwrapped.opponents} == {"RulePlayer"}
    check_env(env.unwrapped)


@pytest.mark.parametrize("mode", ["ansi", "rgb_array", "human"])
def test_render(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = ne.NapoleonEnv(opponents="random", render_mode=mode, render_seat=0)
    env.reset(seed=1)
    shown = env.render()
    assert {"ansi": str, "rgb_array": np.ndarray, "human": type(None)}[mode] is type(shown)
    assert bool(capsys.readouterr().out) == (mode == "human")


def test_masks_reach_the_learner_through_wrappers() -> None:
    env = gymnasium.make("Napoleon-v0", opponents="random")
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.wrappers.TimeLimit(env, 1000))
    observation, info = env.reset(seed=2)
    rng = random.Random(1)
    for _ in range(60):
        masks = env.get_wrapper_attr("action_masks")()
        assert masks.dtype == np.bool_
        assert np.array_equal(masks, observation["action_mask"])
        assert np.array_equal(masks, info["action_mask"])
        assert observation["action_mask"].dtype == info["action_mask"].dtype == np.int8
        assert masks.any()
        observation, _, terminated, truncated, info = env.step(learner(rng, info))
        if terminated or truncated:
            assert not env.get_wrapper_attr("action_masks")().any()
            assert info["episode"]["r"] == info["scores"][info["seat"]]
            observation, info = env.reset()


@pytest.mark.parametrize("rules", PRESETS)
def test_gymnasiums_own_vector_environments_take_it(rules: str) -> None:
    """Their infos need values of one type, also where some deals are void and some matches have no finished deal yet."""
    settings: dict[str, Any] = {"rules": rules, "deals": 2, "opponents": lowest, "mask": "info"}
    envs = gymnasium.make_vec("Napoleon-v0", num_envs=6, vectorization_mode="sync", **settings)
    _, infos = envs.reset(seed=2)
    rng = random.Random(1)
    for _ in range(60):
        masks = np.stack(envs.call("action_masks"))
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks]) if rng.random() < 0.5 else masks.argmax(axis=1)
        observations, _, terminated, truncated, infos = envs.step(actions)
        assert observations.shape == (6, OBSERVATION_SIZE)
        if (terminated | truncated).any():
            _, infos = envs.reset()
    assert infos["action_mask"].shape == (6, N_ACTIONS)
    envs.close()


def test_the_rewards_of_an_episode_add_up_to_the_learners_score() -> None:
    """Rewards that arrive while others play are in the learner's next step; over random rule sets, deals and seats."""
    rng = random.Random(4)
    for number in range(40):
        rules = finite(random_rules(rng))
        reward = rng.choice(("payoff", "relative"))
        env = ne.NapoleonEnv(rules, opponents="random", reward=reward, suit_order=rng.choice(("fixed", "canonical")))
        _, info = env.reset(seed=number)
        total, over, asked = 0.0, False, set()
        while not over:
            assert info["action_mask"].any()  # never asked with nothing to choose
            assert env.match.seat == info["seat"]
            asked.add(info["deal"])
            _, gained, terminated, truncated, info = env.step(learner(rng, info))
            total += gained
            over = terminated or truncated
        scores, seat = info["scores"], info["seat"]
        others = [score for other, score in enumerate(scores) if other != seat]
        assert total == pytest.approx(scores[seat] - (sum(others) / len(others) if reward == "relative" else 0), rel=1e-12)
        assert asked == set(range(info["deal"] + 1))  # every deal asks every seat
        assert (terminated, truncated) == (not env.match.truncated, env.match.truncated)
        assert not env.action_masks().any()


def test_the_learner_sees_what_its_seat_sees_in_the_aec_environment() -> None:
    for rules in PRESETS:
        env = ne.NapoleonEnv(rules, opponents="random", deals=2, index=3, suit_order="canonical")
        aec = ne.raw_env(rules, deals=2, index=3, suit_order="canonical")
        observation, info = env.reset(seed=6)
        aec.reset(seed=6)
        rng, over = random.Random(2), False
        while not over:
            observation, _, terminated, truncated, info = env.step(learner(rng, info))
            over = terminated or truncated
            for _, name in _actions(env.match)[len(_actions(aec.match)) :]:
                aec.step(seen_id(name, aec.infos[aec.agent_selection]["suit_places"]))
            agent = f"seat_{env.seat}"
            assert as_text(observation) == as_text(aec.observe(agent))
            told = {**aec.infos[agent], "seat": env.seat}
            if told["last_deal"] is None:
                del told["last_deal"]
            elif told["last_deal"]["declarer"] is None:
                told["last_deal"] |= {"declarer": -1, "made": False}
            assert as_text(info) == as_text(told)


def _actions(match: Any) -> list[tuple[int, str]]:
    return [step for deal in match.history for step in deal.log] + ([] if match.over else match.log)


# Opponents.


def test_opponents_of_all_kinds() -> None:
    careful = Careful()
    env = ne.NapoleonEnv("russian", opponents=["random", careful, lowest])
    rng = random.Random(1)
    for number in range(6):
        _, info = env.reset(seed=number)
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(learner(rng, info))
            over = terminated or truncated
        assert {view.seat for view in careful.views} == {(env.seat + 2) % 4}  # the second from the learner's left on
        careful.views.clear()


def test_opponents_see_their_own_seat_and_nothing_else() -> None:
    careful = Careful()
    env = ne.NapoleonEnv("russian", opponents=careful, deals=2)
    _, info = env.reset(seed=3)
    rng, over = random.Random(1), False
    while not over:
        _, _, terminated, truncated, info = env.step(learner(rng, info))
        over = terminated or truncated
    assert careful.views
    for view in careful.views:
        state = view.state[0]
        assert view.seat == view.to_act != env.seat
        assert [seat for seat in range(4) if state["hand"][seat]] in ([view.seat], [])
        assert int(state["key"]) == int(state["match"]) == 0
        if view.declarer != view.seat:
            assert all(name in ("discard ?", "stand") for seat, name in view.log if name.startswith(("discard", "stand")))
        last = view.last_deal
        if last is not None:
            assert [seat for seat in range(4) if last.dealt(seat)] == [view.seat]
            assert SOME_DISCARD not in last.state[0]["cards"]


def test_the_opponents_luck_is_repeatable_and_is_not_the_deals() -> None:
    seeds: list[list[int | None]] = []
    for _ in range(2):
        careful = Careful()
        env = ne.NapoleonEnv("german", opponents=careful)
        _, info = env.reset(seed=8)
        rng, over = random.Random(1), False
        while not over:
            _, _, terminated, truncated, info = env.step(learner(rng, info))
            over = terminated or truncated
        seeds.append([view.seed for view in careful.views])
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == len(seeds[0])
    bases = {
        int(learner_words(seed, index, stream)[0])
        for seed in range(9)
        for index in range(9)
        for stream in ("train", "evaluation")
    }
    keys = {int(deal_key(seed, index, stream)) for seed in range(9) for index in range(9) for stream in ("train", "evaluation")}
    assert len(bases) == len(keys) == 9 * 9 * 2
    assert not bases & keys


def test_one_by_one_and_batched_players_are_both_asked() -> None:
    env = ne.NapoleonEnv("english", opponents=Batched(), players=3)
    _, info = env.reset(seed=1)
    rng = random.Random(1)
    for _ in range(30):
        _, _, terminated, truncated, info = env.step(learner(rng, info))
        if terminated or truncated:
            _, info = env.reset()


@pytest.mark.parametrize("answer", [0.5, None, "AS of spades", 124, "napoleon"])
def test_an_opponent_that_does_not_answer_with_a_legal_action_is_named(answer: Any) -> None:
    env = ne.NapoleonEnv("german", opponents=lambda view: answer, seat=0)
    with pytest.raises(OpponentError, match=r"the opponent in seat 1"):
        env.reset(seed=1, options={"dealer": 0})
    envs = ne.NapoleonVectorEnv(2, "german", opponents=lambda view: answer, seat=0)
    with pytest.raises(OpponentError, match=r"the opponent in seat \d"):
        envs.reset(seed=1)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"opponents": "nobody"}, RosterError, "player 'nobody' does not exist"),
        ({"opponents": 3}, RosterError, "3 is no player"),
        ({"opponents": ["random"] * 2}, EnvError, "opponents must be one player, or a list of 3"),
        ({"opponents": ne.Match}, EnvError, "opponents: <class 'napoleon_env.match.Match'> is a class"),
        ({"opponents": ["random", "random", Careful]}, EnvError, "is a class: a player must be an object of one"),
        ({"obs_dtype": None}, EnvError, "obs_dtype=None must be one of int8"),
        ({"facts": 1}, EnvError, "facts=1 must be True or False"),
        ({"illegal_reward": float("inf")}, EnvError, "illegal_reward=inf must be a finite number, or None"),
        ({"illegal_reward": False}, EnvError, "illegal_reward=False must be a finite number, or None"),
        ({"seat": 4}, EnvError, "seat=4 must be a seat from 0 to 3"),
        ({"seat": "last"}, EnvError, "seat='last' must be one of rotate"),
        ({"seat": None}, EnvError, "seat=None must be a seat from 0 to 3"),
        ({"mask": "none"}, EnvError, "mask='none' must be one of observation, info"),
        ({"render_mode": "svg"}, EnvError, "render_mode='svg' must be one of"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused_in_a_sentence(settings: dict[str, Any], error: type, message: str) -> None:
    options = {"opponents": "random", **settings}
    for make in (lambda: ne.NapoleonEnv(**options), lambda: ne.NapoleonVectorEnv(2, **options)):
        with pytest.raises(error, match=re.escape(message)):
            make()
    with pytest.raises(EnvError, match="num_envs=0 must be a whole number of at least 1"):
        ne.NapoleonVectorEnv(0, opponents="random")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"first_index": -1}, SeedError, "first_index=-1 must be a whole number of at least 0 and below 4294967296"),
        ({"first_index": 2**32 - 1}, SeedError, "first_index=4294967295 with num_envs=2 must not pass index 4294967295"),
        ({"copy": "no"}, EnvError, "copy='no' must be True or False"),
        ({"opponents": "human"}, EnvError, "opponents='human': human can play in a single environment only"),
        ({"opponents": ["random", "human", "random"]}, EnvError, "human can play in a single environment only"),
    ],
)
def test_the_vector_environment_refuses_a_setting_in_a_sentence(settings: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        ne.NapoleonVectorEnv(2, **{"opponents": "random", **settings})


def test_what_an_opponents_own_code_raises_comes_through_as_it_is() -> None:
    def broken(view: View) -> int:
        raise ZeroDivisionError("of the opponent's own")

    for env in (ne.NapoleonEnv(opponents=broken, seat=0), ne.NapoleonVectorEnv(8, opponents=broken, seat=0)):
        with pytest.raises(ZeroDivisionError, match="of the opponent's own"):
            [env.reset(seed=seed) for seed in range(8)]  # in one of them an opponent is asked before the learner


# Seats, deals and options.


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_that_is_none_is_refused_and_the_match_goes_on(seed: Any) -> None:
    single, many = ne.NapoleonEnv(opponents="random"), ne.NapoleonVectorEnv(2, opponents="random")
    single.reset(seed=1)
    many.reset(seed=1)
    for env, match in ((single, lambda: single.match), (many, lambda: many.match(0))):
        before = state_bytes(match().state)
        with pytest.raises(SeedError, match=re.escape(f"seed={seed!r} must be a whole number of at least 0")):
            env.reset(seed=seed)
        assert state_bytes(match().state) == before
        assert env.np_random_seed == 1


def test_a_seed_may_be_a_whole_number_of_numpy() -> None:
    for make in (lambda: ne.NapoleonEnv(opponents="random"), lambda: ne.NapoleonVectorEnv(2, opponents="random")):
        assert as_text(make().reset(seed=np.int64(7))) == as_text(make().reset(seed=7))


@pytest.mark.parametrize("options", [{"dealer": 4}, [1], "abc", 5])
def test_a_reset_that_fails_leaves_the_seed_and_its_next_match(options: Any) -> None:
    single, many = ne.NapoleonEnv(opponents="random"), ne.NapoleonVectorEnv(2, opponents="random")
    for env, match in ((single, lambda: single.match), (many, lambda: many.match(0))):
        env.reset(seed=11)
        with pytest.raises(ValueError, match=r"dealer|options=.* must be a mapping from names to values, or None"):
            env.reset(seed=12, options=options)
        assert env.np_random_seed == 11
        env.reset()
        dealt = ne.Match(seed=11, number=1)
        assert [sorted(match().dealt(seat)) for seat in range(4)] == [sorted(dealt.dealt(seat)) for seat in range(4)]


def test_the_learners_seat() -> None:
    env = ne.NapoleonEnv(opponents="random", seat=2)
    assert {env.reset(seed=seed)[1]["seat"] for seed in range(5)} == {2}
    env = ne.NapoleonEnv(opponents="random")
    first = env.reset(seed=5)[1]["seat"]
    assert [env.reset()[1]["seat"] for _ in range(8)] == [(first + number) % 4 for number in range(1, 9)]
    assert {env.reset(seed=seed)[1]["seat"] for seed in range(30)} == {0, 1, 2, 3}


def test_deals_are_those_of_a_match_and_can_be_set() -> None:
    env = ne.NapoleonEnv("russian", opponents="random", seat=1, index=4)
    env.reset(seed=5)
    env.reset()
    dealt = [sorted(env.match.dealt(seat)) for seat in range(4)]
    match = ne.Match("russian", seed=5, number=1, index=4)
    assert dealt == [sorted(match.dealt(seat)) for seat in range(4)]
    hands = [["6C", "7C", "8C", "9C", "TC"], ["AC", "AD", "AH", "AS", "KS"]]
    env = ne.NapoleonEnv("russian", opponents="random", seat=1, players=2)
    _, info = env.reset(options={"dealer": 1, "hands": hands, "pot": 7})
    assert (info["pot"], env.match.hands[1], env.match.dealer) == (9, ["AC", "AD", "AH", "KS", "AS"], 1)


# Illegal actions.


def test_an_illegal_action_ends_the_episode_or_raises() -> None:
    for make in (ne.NapoleonEnv, gymnasium.make):
        settings = {"opponents": "random", "rules": "german"}
        env: Any = make("Napoleon-v0", **settings) if make is gymnasium.make else make(**settings)
        env.reset(seed=1)
        observation, reward, terminated, truncated, info = env.step(ne.action_id("napoleon"))
        assert (reward, terminated, truncated) == (-30.0, True, False)  # 10 to each of three defenders
        assert info["illegal"] == {"agent": f"seat_{info['seat']}", "action": "napoleon"}
        assert not observation["action_mask"].any()
        env.reset()
    env = ne.NapoleonEnv(opponents="random", illegal="raise")
    env.reset(seed=1)
    before = state_bytes(env.match.state)
    with pytest.raises(IllegalActionError, match="may not say napoleon: "):
        env.step(ne.action_id("napoleon"))
    with pytest.raises(NotationError):
        env.step(N_ACTIONS)
    assert state_bytes(env.match.state) == before
    with pytest.raises(gymnasium.error.ResetNeeded):
        ne.NapoleonEnv(opponents="random").step(0)


# Copies.


def test_copies_go_on_identically() -> None:
    env = ne.NapoleonEnv("russian", opponents=["random", Careful(), lowest], deals=2, suit_order="canonical")
    _, info = env.reset(seed=3)
    rng, over = random.Random(1), False
    while not over:
        twins = [env.clone(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))] if rng.random() < 0.5 else []
        action = learner(rng, info)
        answers = [as_text(twin.step(action)) for twin in twins]
        answer = env.step(action)
        info, over = answer[4], answer[2] or answer[3]
        assert all(other == as_text(answer) for other in answers)
        if over:
            assert all(as_text(twin.reset()) == as_text(copy.deepcopy(env).reset()) for twin in twins)


# Many at once.


@pytest.mark.parametrize("seed", range(12))
def test_the_vector_environment_plays_what_single_ones_play(seed: int) -> None:
    """Environment i against NapoleonEnv(index=i): observations, masks, rewards, flags, last observations and infos."""
    rng = random.Random(seed)
    rules = PRESETS[seed] if seed < 4 else finite(random_rules(rng))
    rules = ne.Ruleset.make(rules, deals=rng.randint(1, 2), max_void_deals=3)
    settings: dict[str, Any] = {
        "opponents": rng.choice(
            ("random", lowest, [rng.choice(("random", lowest, Batched())) for _ in range(rules.players - 1)])
        ),
        "seat": rng.choice(("rotate", rng.randrange(rules.players))),
        "reward": rng.choice(("payoff", "relative")),
        "suit_order": rng.choice(("fixed", "canonical")),
        "obs_dtype": rng.choice(("int8", "float32")),
        "mask": rng.choice(("observation", "info")),
        "stream": rng.choice(("train", "evaluation")),
    }
    n = 5
    envs = gymnasium.make_vec("Napoleon-v0", num_envs=n, rules=rules, first_index=2, **settings)
    singles = [ne.NapoleonEnv(rules, index=2 + i, **settings) for i in range(n)]
    observations, infos = envs.reset(seed=seed)
    for i, env in enumerate(singles):
        _assert_same(observations, infos, i, *env.reset(seed=seed))
    ended = 0
    for step in range(60):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in infos["action_mask"]])
        if step % 10 == 9:
            actions[rng.randrange(n)] = ne.action_id(
                "discard AS" if not rules.exchange else "pass"
            )  # illegal but in the auction
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        done = terminations | truncations
        assert ("final_obs" in infos) == done.any()
        for i, env in enumerate(singles):
            observation, reward, terminated, truncated, info = env.step(int(actions[i]))
            assert (rewards[i], terminations[i], truncations[i]) == (reward, terminated, truncated)
            if done[i]:
                ended += 1
                assert infos["_final_obs"][i]
                assert infos["_final_info"][i]
                assert as_text(infos["final_obs"][i]) == as_text(observation)
                _assert_same(None, infos["final_info"], i, observation, info)
                observation, info = env.reset()
            elif done.any():
                assert not infos["_final_obs"][i]
                assert infos["final_obs"][i] is None
                assert not infos["final_info"]["scores"][i].any()
            _assert_same(observations, infos, i, observation, info)
    assert ended > n


def _assert_same(observations: Any, infos: dict[str, Any], i: int, observation: Any, info: dict[str, Any]) -> None:
    if isinstance(observations, dict):
        assert all(np.array_equal(observations[name][i], observation[name]) for name in observation)
        assert observations["observation"].dtype == observation["observation"].dtype
    elif observations is not None:
        assert np.array_equal(observations[i], observation)
    assert np.array_equal(infos["action_mask"][i], info["action_mask"])
    assert infos["_action_mask"][i]
    for name in ("seat", "deal", "pot"):
        assert infos[name][i] == info[name]
    assert infos["scores"][i].tolist() == list(info["scores"])
    if "suit_places" in info:
        assert infos["suit_places"][i].tolist() == list(info["suit_places"])
    last = info.get("last_deal")
    assert infos["_last_deal"][i] == (last is not None)
    if last is not None:
        told = infos["last_deal"]
        assert (told["number"][i], told["dealer"][i], told["pot"][i]) == (last["number"], last["dealer"], last["pot"])
        assert told["declarer"][i] == last["declarer"]
        assert told["payoffs"][i].tolist() == list(last["payoffs"])
        assert told["tricks_won"][i].tolist() == list(last["tricks_won"])


def test_the_vector_environment_keeps_to_gymnasiums_form() -> None:
    envs = gymnasium.make_vec("Napoleon-v0", num_envs=7, opponents="random")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    observations, infos = envs.reset(seed=1)
    kept = copy.deepcopy(observations)
    assert observations in envs.observation_space
    assert envs.single_observation_space == ne.NapoleonEnv(opponents="random").observation_space
    recorded = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    observations, infos = recorded.reset(seed=1)
    assert as_text(observations) == as_text(kept)
    returns = 0
    for _ in range(40):
        before = copy.deepcopy(observations)
        previous, actions = observations, infos["action_mask"].argmax(axis=1)
        assert actions in envs.action_space
        observations, _, _, _, infos = recorded.step(actions)
        assert as_text(previous) == as_text(before)  # what was returned is not written over
        if "final_info" in infos:
            done = infos["_final_info"]
            scores = infos["final_info"]["scores"][done, infos["final_info"]["seat"][done]]
            assert infos["episode"]["r"][done].tolist() == scores.tolist()
            returns += int(done.sum())
    assert returns > 10
    recorded.close()


def test_deals_of_many_differ_and_are_repeatable() -> None:
    envs = ne.NapoleonVectorEnv(256, opponents=lowest, seat=0)
    envs.reset(seed=1)
    first = [as_text(envs.match(i).dealt(0)) for i in range(256)]
    assert len(set(first)) == 256
    envs.reset()
    assert not set(first) & {as_text(envs.match(i).dealt(0)) for i in range(256)}
    envs.reset(seed=1)
    assert [as_text(envs.match(i).dealt(0)) for i in range(256)] == first


def test_vector_copies_go_on_identically() -> None:
    envs = ne.NapoleonVectorEnv(6, "russian", opponents="random", deals=2)
    _, infos = envs.reset(seed=3)
    for _ in range(25):
        twins = [copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))]
        actions = infos["action_mask"].argmax(axis=1)
        answers = [as_text(_jsonable(twin.step(actions))) for twin in twins]
        answer = envs.step(actions)
        infos = answer[4]
        assert all(other == as_text(_jsonable(answer)) for other in answers)


def _jsonable(answer: tuple[Any, ...]) -> list[Any]:
    infos = dict(answer[4])
    finals = infos.pop("final_obs", [])
    return [*answer[:4], infos, list(finals)]


def test_the_vector_environment_refuses_what_it_cannot_do() -> None:
    envs = ne.NapoleonVectorEnv(3, opponents="random", illegal="raise")
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros(3, np.int64))
    with pytest.raises(EnvError, match="hands can be set in a single environment only"):
        envs.reset(options={"hands": []})
    envs.reset(seed=1)
    before = envs._states.tobytes()
    for actions, error, message in (
        ([0, 0], EnvError, r"whole numbers of shape \(3,\), not int64 of shape \(2,\)"),
        ([0.0, 0.0, 0.0], EnvError, "not float64"),
        ([0, 0, 124], NotationError, "environment 2: 124 is not an action id"),
        ([17, 17, 17], IllegalActionError, "seat [0-3] may not say napoleon: "),
    ):
        with pytest.raises(error, match=message):
            envs.step(actions)
    assert envs._states.tobytes() == before


def test_vector_buffers_without_copies() -> None:
    envs = ne.NapoleonVectorEnv(4, opponents="random", obs_dtype="int8", copy=False)
    observations, infos = envs.reset(seed=1)
    again, *_ = envs.step(infos["action_mask"].argmax(axis=1))
    assert np.shares_memory(observations["observation"], again["observation"])
    assert np.array_equal(envs.action_masks(), again["action_mask"] == 1)


def test_without_facts_the_infos_hold_the_mask_and_the_seat_alone() -> None:
    env = ne.NapoleonEnv("russian", opponents="random", facts=False, suit_order="canonical")
    _, info = env.reset(seed=1)
    assert list(info) == ["action_mask", "seat"]
    envs = ne.NapoleonVectorEnv(3, "russian", opponents="random", facts=False)
    _, infos = envs.reset(seed=1)
    names = {"action_mask", "_action_mask", "seat", "_seat"}
    assert set(infos) == names
    while "final_info" not in infos:
        *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
    assert set(infos["final_info"]) == names


def test_vector_rendering() -> None:
    envs = ne.NapoleonVectorEnv(2, opponents="random", render_mode="ansi", render_seat=0)
    envs.reset(seed=1)
    shown = envs.render()
    assert shown is not None
    assert len(shown) == 2
    assert all(isinstance(text, str) for text in shown)
    assert ne.NapoleonVectorEnv(1, opponents="random", render_mode="rgb_array").metadata["render_modes"]
