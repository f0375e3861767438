"""Many matches in one call: self-play with whoever is to act in each match, into preallocated numpy buffers."""

from __future__ import annotations

from collections.abc import Mapping
from secrets import randbits
from typing import Any

import numpy as np

from napoleon_env import rules as core
from napoleon_env.dealing import check_indices, check_seed, deal_key, random_deal, random_match
from napoleon_env.jit import as_records, jit
from napoleon_env.notation import ACTION_NAMES, N_ACTIONS, N_SUITS, shown, whole
from napoleon_env.observation import (
    HIDDEN_SIZE,
    OBSERVATION_SIZE,
    encode,
    encode_hidden,
    encode_mask,
    is_canonical,
    rules_features,
    suit_places,
    true_action,
)
from napoleon_env.ruleset import Ruleset


class EnvError(ValueError):
    """A setting or an agent that does not exist; one sentence that names it."""


class ActionError(ValueError):
    """Actions of the wrong shape or type, before a match has begun, or illegal in one; nothing has been stepped."""


def check_flag(name: str, value: object) -> bool:
    """A setting that is on or off, as a bool; nothing else counts as one, lest "no" or "False" switch it on.

    Raises:
        EnvError.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise EnvError(f"{name}={shown(value)} must be True or False")
    return bool(value)


# The kernels take rows as records (see `as_records`).


@jit
def _observe(states: Any, rules: Any, fixed: Any, canonical: bool, observation: Any, mask: Any, places: Any, seat: Any) -> None:
    for i in range(len(states)):
        seat[i] = states[i]["seat"]
        _observe_one(states[i], rules[0], fixed, canonical, observation[i]["row"], mask[i]["row"], places[i]["row"])


@jit
def _observe_one(state: Any, rules: Any, fixed: Any, canonical: bool, observation: Any, mask: Any, places: Any) -> None:
    who = state["seat"]
    suit_places(state, rules, who, canonical, places)
    encode(state, rules, fixed, who, places, observation)
    encode_mask(state, rules, who, places, mask)


@jit
def _hidden(states: Any, rules: Any, places: Any, hidden: Any) -> None:
    for i in range(len(states)):
        encode_hidden(states[i], rules[0], states[i]["seat"], places[i]["row"], hidden[i]["row"])


@jit
def _reset(states: Any, rules: Any, skip_forced: bool, match: int) -> None:
    for i in range(len(states)):
        random_match(states[i], rules[0], match)
        if skip_forced:
            core.play_forced(states[i], rules[0])


@jit
def _first_illegal(mask: Any, actions: Any) -> int:
    """Index of the first match whose action is illegal, -1 if there is none."""
    for i in range(len(actions)):
        if actions[i] < 0 or actions[i] >= N_ACTIONS or mask[i, actions[i]] == 0:
            return i
    return -1


@jit
def _step(
    states: Any, rules: Any, fixed: Any, canonical: bool, skip_forced: bool, actions: Any, payoffs: Any, deal_over: Any,
    terminated: Any, truncated: Any, observation: Any, mask: Any, places: Any, seat: Any,
) -> None:  # fmt: skip
    r = rules[0]
    for i in range(len(states)):
        state = states[i]
        core.apply(state, r, true_action(actions[i], places[i]["row"]))
        if skip_forced:
            core.play_forced(state, r)
        over = state["phase"] == core.NO_DEAL
        deal_over[i] = over
        terminated[i] = False
        truncated[i] = False
        for who in range(payoffs.shape[1]):
            payoffs[i, who] = state["payoffs"][who] if over else 0
        if over:
            if state["outcome"] == core.RUNNING:
                random_deal(state, r)
            else:
                terminated[i] = state["outcome"] == core.FINISHED
                truncated[i] = state["outcome"] == core.TRUNCATED
                random_match(state, r, state["match"] + 1)
            if skip_forced:
                core.play_forced(state, r)
        # Observed at once, while the state is in the processor's cache.
        seat[i] = state["seat"]
        _observe_one(state, r, fixed, canonical, observation[i]["row"], mask[i]["row"], places[i]["row"])


class VectorEnv:
    """`num_envs` matches of one rule set, played against oneself: each step takes one action for each match.

    A deal that ends is paid in the step that ended it, and the next deal, or after the last one the next match, is dealt in
    that same step (autoreset "same step"): `payoffs`, `terminated` and `truncated` speak of what ended, all else of what is
    to be decided now. Environment i deals what a single environment with `index=i` deals.

    Buffers, written in place by every `reset` and `step`, F = OBSERVATION_SIZE:
        observation: int8 (num_envs, F), of the seat to move.
        action_mask: int8 (num_envs, N_ACTIONS).
        suit_places: int8 (num_envs, 4), see `observation.Observation`.
        seat: int64 (num_envs,), who is to act.
        payoffs: int64 (num_envs, players), of the deal that the step ended, else 0.
        deal_over, terminated, truncated: bool (num_envs,).
        hidden: int8 (num_envs, HIDDEN_SIZE) with `hidden=True`, else None.

    Args:
        rules: a preset's name, a `Ruleset` or a record's header; `changes` change fields.
        num_envs: how many matches.
        seed, stream: of the deals (`dealing.deal_key`); None draws a seed from the system.
        suit_order: "fixed" or "canonical"; actions are taken in the numbering of the observation.
        hidden: also write what is secret, for a critic.
        skip_forced: play decisions with a single legal action at once, so that every decision asked is a choice.
        check: verify every action before stepping; without it an illegal one corrupts its match.
        first_index: index of the first of them.

    Raises:
        RulesetError, EnvError, ObservationError, SeedError: a setting that does not exist.
    """

    def __init__(
        self,
        rules: str | Ruleset | Mapping[str, Any] = "german",
        *,
        num_envs: int,
        seed: int | None = None,
        stream: str = "train",
        first_index: int = 0,
        suit_order: str = "fixed",
        hidden: bool = False,
        skip_forced: bool = False,
        check: bool = True,
        **changes: Any,
    ) -> None:
        self.rules = Ruleset.make(rules, **changes)
        n = whole(num_envs)
        if n is None or n < 1:
            raise EnvError(f"num_envs={shown(num_envs)} must be a whole number of at least 1")
        self.num_envs, self.stream, self.first_index = n, stream, check_indices(first_index, n)
        self.check, self.skip_forced = check_flag("check", check), check_flag("skip_forced", skip_forced)
        self.canonical = is_canonical(suit_order)
        self.states = core.new_state(n)
        self.observation = np.zeros((n, OBSERVATION_SIZE), np.int8)
        self.action_mask = np.zeros((n, N_ACTIONS), np.int8)
        self.suit_places = np.zeros((n, N_SUITS), np.int8)
        self.hidden = np.zeros((n, HIDDEN_SIZE), np.int8) if check_flag("hidden", hidden) else None
        self.seat = np.zeros(n, np.int64)
        self.payoffs = np.zeros((n, self.rules.players), np.int64)
        self.deal_over, self.terminated, self.truncated = (np.zeros(n, np.bool_) for _ in range(3))
        self.seed = randbits(63) if seed is None else check_seed(seed)
        self._fixed = rules_features(self.rules)
        self.next_match = 0
        self._begun = False
        self._take_records()
        self._key()

    def _key(self) -> None:
        self.states["key"] = [deal_key(self.seed, self.first_index + i, self.stream) for i in range(self.num_envs)]

    def _take_records(self) -> None:
        self._seen = tuple(as_records(rows) for rows in (self.observation, self.action_mask, self.suit_places))
        self._secret = None if self.hidden is None else as_records(self.hidden)

    def __getstate__(self) -> dict[str, Any]:
        # Unpickled, records would have memory of their own; what is read-only would be writable, another type to the compiler.
        return {name: x for name, x in self.__dict__.items() if name not in ("_fixed", "_seen", "_secret")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fixed = rules_features(self.rules)
        self._take_records()

    def reset(self, *, seed: int | None = None) -> None:
        """Begin match 0 of `seed` everywhere; without a seed, the match after the last one begun by a reset."""
        if seed is not None:
            self.seed, self.next_match = check_seed(seed), 0
            self._key()
        _reset(self.states, self.rules.struct, self.skip_forced, self.next_match)
        self.next_match += 1
        self._observe()

    def load_states(self, states: np.ndarray) -> None:
        """Go on from states that `states.copy()` once gave; shape (num_envs,), dtype rules.STATE."""
        self.states[:] = states
        self._observe()

    def _observe(self) -> None:
        self._begun = True
        self.payoffs[:] = 0
        self.deal_over[:] = self.terminated[:] = self.truncated[:] = False
        _observe(self.states, self.rules.struct, self._fixed, self.canonical, *self._seen, self.seat)
        self._write_hidden()

    def step(self, actions: np.ndarray) -> None:
        """Carry out one action for each match: whole numbers of shape (num_envs,); a torch tensor on the CPU will do.

        Raises:
            ActionError: see the class; the sentence names the match.
        """
        if not self._begun:
            raise ActionError("no match has begun: call reset() first")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ActionError(
                f"actions must be whole numbers of shape ({self.num_envs},), not {actions.dtype} of shape {actions.shape}"
            )
        actions = actions.astype(np.int64, copy=False)
        if self.check:
            i = _first_illegal(self.action_mask, actions)
            if i >= 0:
                action = int(actions[i])
                name = ACTION_NAMES[action] if 0 <= action < N_ACTIONS else "no action"
                raise ActionError(f"match {i}: action {action} ({name}) is illegal for seat {int(self.seat[i])}")
        _step(
            self.states, self.rules.struct, self._fixed, self.canonical, self.skip_forced, actions,
            self.payoffs, self.deal_over, self.terminated, self.truncated, *self._seen, self.seat,
        )  # fmt: skip
        self._write_hidden()

    def _write_hidden(self) -> None:
        if self._secret is not None:
            _hidden(self.states, self.rules.struct, self._seen[2], self._secret)
