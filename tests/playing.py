"""Playing environments at random: the same habits as `random_rules`, through the numbering of suits that the seat sees."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from random_rules import Habits

import napoleon_env as ne
from napoleon_env.notation import DISCARD, N_RANKS, PLAY, SUITS, TRUMP
from napoleon_env.ruleset import Ruleset

PRESETS = ("german", "portuguese", "russian", "english")


def seen_id(name: str, places: Any = (0, 1, 2, 3)) -> int:
    """The id of an action for a seat that sees the suits under the numbers `places`."""
    action = ne.action_id(name)
    if TRUMP <= action < TRUMP + len(SUITS):
        return TRUMP + int(places[action - TRUMP])
    if action < DISCARD:
        return action
    base = PLAY if action >= PLAY else DISCARD
    return base + N_RANKS * int(places[(action - base) // N_RANKS]) + (action - base) % N_RANKS


def choose(env: Any, rng: random.Random, habits: Habits) -> int:
    """A legal action for the seat to move, as it sees it."""
    match = env.unwrapped.match
    name = habits.choose(rng, match.legal(), match.deal_number)
    game = env.unwrapped._game
    return seen_id(name, game._places[game.seat])


def decisions(
    env: Any, rng: random.Random, habits: Habits | None = None, beside: Iterable[Any] = (), longest: int = 2000
) -> Iterator[str]:
    """Play the match that has been reset to its end, yielding the agent to act before each decision.

    The environments in `beside` are stepped before it with the same actions.
    """
    habits = habits or Habits.draw(rng, env.unwrapped.rules)
    for _ in range(longest):
        agent = env.agent_selection
        if env.terminations[agent] or env.truncations[agent]:
            return
        yield agent
        action = choose(env, rng, habits)
        for other in [*beside, env]:
            other.step(action)
    raise AssertionError(f"no end after {longest} decisions")


def play(env: Any, names: str) -> None:
    """Carry out actions by name, written with commas."""
    for name in names.split(","):
        env.step(ne.action_id(name.strip()))


def finite(rules: Ruleset) -> Ruleset:
    """The rule set with matches short enough for a test of every decision."""
    return Ruleset.make(rules, deals=min(rules.deals, 3), max_void_deals=min(rules.max_void_deals, 4))


def plain(value: Any) -> Any:
    """Infos, observations and rewards as JSON values, arrays with their type."""
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def as_text(value: Any) -> str:
    """The same as one line, to compare."""
    return json.dumps(plain(value), sort_keys=True)


def outside(env: Any) -> tuple[bytes, str]:
    """All that an AEC environment shows, of every seat, to compare."""
    raw = env.unwrapped
    arrays = [env.state()]
    for agent in env.possible_agents:
        seen = env.observe(agent)
        arrays += list(seen.values()) if isinstance(seen, dict) else [seen]
    shown = (
        raw.agents,
        raw.agent_selection,
        raw.rewards,
        raw._cumulative_rewards,
        raw.terminations,
        raw.truncations,
        raw.infos,
    )
    return b"".join(array.tobytes() for array in arrays), as_text(shown)
