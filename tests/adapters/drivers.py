"""One match through each of our own environments, for the table of equivalence; those of other libraries are beside it.

A driver plays match 0 of `seed` under `rules`. It asks `choose(seat, legal)` for every decision, with the legal ids that the
environment shows, ascending, and returns what each seat was paid in all, as far as the environment tells. Ids are in fixed
suit order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import napoleon_env as ne
from napoleon_env.ruleset import Ruleset

Choose = Callable[[int, list[int]], int]


def _aec(make: Callable[..., Any]) -> Callable[[Ruleset, int, Choose], dict[int, float]]:
    def driver(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
        env = make(rules)
        env.reset(seed=seed)
        paid = dict.fromkeys(range(rules.players), 0.0)
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, info = env.last()
            seat = env.possible_agents.index(agent)
            paid[seat] += reward
            if terminated or truncated:
                env.step(None)
                continue
            assert np.array_equal(observation["action_mask"], info["action_mask"])
            env.step(choose(seat, np.flatnonzero(observation["action_mask"]).tolist()))
        return paid

    return driver


def parallel_env(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """Turn by turn: all agents' actions are the same, one is listened to."""
    env = ne.parallel_env(rules)
    _, infos = env.reset(seed=seed)
    paid = dict.fromkeys(range(rules.players), 0.0)
    while env.agents:
        [agent] = [agent for agent in env.agents if infos[agent]["action_mask"].any()]
        action = choose(env.agents.index(agent), np.flatnonzero(infos[agent]["action_mask"]).tolist())
        _, rewards, _, _, infos = env.step(dict.fromkeys(env.agents, action))
        for other, reward in enumerate(rewards.values()):
            paid[other] += reward
    return paid


def gymnasium_env(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """One learner: the others are asked as opponents, and only the learner is paid."""
    env: Any = gymnasium.make("Napoleon-v0", rules=rules, opponents=lambda view: choose(view.seat, view.legal_ids()))
    _, info = env.reset(seed=seed)
    paid, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(choose(info["seat"], np.flatnonzero(info["action_mask"]).tolist()))
        paid += reward
        over = terminated or truncated
    return {info["seat"]: paid}


def vector_entry_point(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """The same through Gymnasium's vector interface; in the match that follows at once the lowest legal actions are taken."""

    def opponent(view: ne.View) -> int:
        beyond = env.unwrapped.match(0).state["match"][0] > 0
        return view.legal_ids()[0] if beyond else choose(view.seat, view.legal_ids())

    env: Any = gymnasium.make_vec(
        "Napoleon-v0", num_envs=1, vectorization_mode="vector_entry_point", rules=rules, opponents=opponent
    )
    _, infos = env.reset(seed=seed)
    seat, paid, over = int(infos["seat"][0]), 0.0, False
    while not over:
        action = choose(seat, np.flatnonzero(infos["action_mask"][0]).tolist())
        _, rewards, terminated, truncated, infos = env.step(np.array([action]))
        paid += rewards[0]
        over = bool(terminated[0] or truncated[0])
    return {seat: paid}


def vector_env(rules: Ruleset, seed: int, choose: Choose) -> dict[int, float]:
    """The first of three matches; in the others the lowest legal action is taken."""
    env = ne.VectorEnv(rules, num_envs=3, seed=seed)
    env.reset()
    paid = np.zeros(rules.players)
    while not (env.terminated[0] or env.truncated[0]):
        actions = env.action_mask.argmax(1)
        actions[0] = choose(int(env.seat[0]), np.flatnonzero(env.action_mask[0]).tolist())
        env.step(actions)
        paid += env.payoffs[0]
    return dict(enumerate(paid.tolist()))


DRIVERS = {
    "PettingZoo raw_env": _aec(ne.raw_env),
    "PettingZoo env": _aec(ne.env),
    "PettingZoo parallel_env": parallel_env,
    "Gymnasium": gymnasium_env,
    "Gymnasium vector entry point": vector_entry_point,
    "VectorEnv": vector_env,
}
"""By name."""
