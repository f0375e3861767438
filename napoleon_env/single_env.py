"""One match behind an environment of one table: what `aec_env` and `gym_env` share.

`Game` deals, steps and observes; around it are the settings that both take, what they refuse, and their spaces.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from numbers import Real
from secrets import randbits
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from napoleon_env import rules as core
from napoleon_env.dealing import N_INDICES, check_seed, deal_key, random_deal, random_match
from napoleon_env.jit import jit
from napoleon_env.match import DealError, FinishedDeal, IllegalActionError, Match
from napoleon_env.notation import (
    ACTION_NAMES,
    CARDS,
    MAX_PLAYERS,
    N_ACTIONS,
    N_SUITS,
    NO_SEAT,
    PLAY,
    REWARDS,
    TRUMP,
    NotationError,
    card_number,
    shown,
    whole,
)
from napoleon_env.observation import (
    HIDDEN_SIZE,
    OBSERVATION_SIZE,
    central_state,
    encode,
    encode_mask,
    is_canonical,
    observation_bounds,
    rules_features,
    suit_places,
    true_action,
)
from napoleon_env.ruleset import Ruleset
from napoleon_env.vector_env import EnvError, check_flag

ILLEGAL: Final = ("raise", "terminate")
MASKS: Final = ("observation", "info")
DEAL_OPTIONS: Final = ("dealer", "hands", "stock", "pot")
"""Options of `reset` that set the first deal."""
RENDER_MODES: Final = ("human", "ansi", "rgb_array")
OBS_DTYPES: Final = ("int8", "int16", "int32", "int64", "float16", "float32", "float64")
"""Types that hold every observation exactly."""

REFUSED, GOES_ON, DEAL_OVER, FINISHED, TRUNCATED = -1, 0, 1, 2, 3
"""What an action led to: nothing (it is illegal), a decision of the same deal, the next deal, the end of the match."""

EVERYONE: Final = -1
"""`watch` for a game whose every seat to move is observed."""


# The kernels: everything a step needs in one call, over arrays of one state, since single records are slow to hand over.


@jit
def _look(state: Any, rules: Any, fixed: Any, canonical: bool, watch: int, observation: Any, mask: Any, places: Any) -> None:
    """Write what the seat to move observes, if it is the one to `watch`, and under which numbers all seats see the suits."""
    s, r = state[0], rules[0]
    seat = s["seat"]
    if canonical:
        for other in range(r["players"]):
            suit_places(s, r, other, True, places[other])
    if seat != NO_SEAT and watch in (EVERYONE, seat):
        encode(s, r, fixed, seat, places[seat], observation)
        encode_mask(s, r, seat, places[seat], mask)


@jit
def _play(
    state: Any, rules: Any, fixed: Any, canonical: bool, watch: int, action: int, as_seen: bool,
    ended: Any, observation: Any, mask: Any, places: Any,
) -> tuple[int, int]:  # fmt: skip
    """Carry out an action, if it is legal, and deal on; returns what it led to and who is to act then.

    Where a deal ends, its last state is copied to `ended`.
    """
    s, r = state[0], rules[0]
    seat = s["seat"]
    if seat == NO_SEAT:
        return REFUSED, seat
    if as_seen:
        action = true_action(action, places[seat])
    if action < 0 or action >= N_ACTIONS or not core.is_legal(s, r, action):
        return REFUSED, seat
    core.apply(s, r, action)
    code = GOES_ON
    if s["phase"] == core.NO_DEAL:
        ended[0] = s
        code = DEAL_OVER + s["outcome"]
        if s["outcome"] == core.RUNNING:
            random_deal(s, r)
    _look(state, rules, fixed, canonical, watch, observation, mask, places)
    return code, s["seat"]


@jit
def _peek(state: Any, rules: Any, fixed: Any, seat: int, places: Any, observation: Any) -> None:
    """Write what any seat observes."""
    encode(state[0], rules[0], fixed, seat, places[seat], observation)


@jit
def _begin_match(state: Any, rules: Any, match: int) -> None:
    random_match(state[0], rules[0], match)


@jit
def _deal(state: Any, rules: Any) -> None:
    random_deal(state[0], rules[0])


class Game:
    """The matches of one environment, one after another, with what a seat observes and earns; no agents and no episodes.

    Args:
        rules: of all matches.
        reward, suit_order, obs_dtype: as in the environments.
        stream, index: of the deals (`dealing.deal_key`).
        facts: whether infos hold more than the mask.

    Attributes:
        match: the match being played, to be read; whoever wants to try something plays on a copy of it.
        number: of the match, among those of the seed.
        watch: the seat whose observations are prepared, or EVERYONE.
        seat: who is to act, or NO_SEAT.
        over: whether the match has ended.
        rewards: what each seat earned in the last finished deal.
        facts: what is public beside the observation: deal, scores, pot, last_deal (`aec_env` describes them).
    """

    def __init__(
        self, rules: Ruleset, *, reward: str, suit_order: str, obs_dtype: Any, stream: str, index: int, facts: bool
    ) -> None:
        check_word("reward", reward, REWARDS)
        try:
            self.dtype = np.dtype(object if obs_dtype is None else obs_dtype)  # None is float64 to numpy
        except (TypeError, ValueError):
            self.dtype = np.dtype(object)
        if self.dtype.name not in OBS_DTYPES:
            raise EnvError(f"obs_dtype={shown(obs_dtype)} must be one of {', '.join(OBS_DTYPES)}")
        number = check_seed(index, "index", N_INDICES)
        deal_key(0, number, stream)  # refuses a stream that does not exist
        self.rules, self.relative, self.canonical = rules, reward == "relative", is_canonical(suit_order)
        self.stream, self.index, self._tells_facts = stream, number, check_flag("facts", facts)
        self.seed: int | None = None
        self.number = self._next = 0
        self._key = np.uint64(0)
        self.watch = EVERYONE
        self.match: Match | None = None
        self.seat, self.over = NO_SEAT, False
        self.rewards: list[float] = []
        self.facts: dict[str, Any] = {}
        self._ended = core.new_state()
        self._observation, self._other = (np.zeros(OBSERVATION_SIZE, np.int8) for _ in range(2))
        self._mask = np.zeros(N_ACTIONS, np.int8)
        self._places = np.tile(np.arange(N_SUITS, dtype=np.int8), (MAX_PLAYERS, 1))
        self._connect()

    def _connect(self) -> None:
        """What is computed from the rule set alone and shared by all copies."""
        self._struct, self._fixed = self.rules.struct, rules_features(self.rules)

    def copy(self) -> Game:
        """An independent game in the same state, whose later deals are the same."""
        twin = Game.__new__(Game)
        twin.__dict__.update(self.__dict__)
        twin.match = self.match and self.match.copy()
        twin._ended = core.new_state()
        twin._observation, twin._other = self._observation.copy(), self._other.copy()
        twin._mask, twin._places = self._mask.copy(), self._places.copy()
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Game:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_struct", "_fixed")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._connect()

    def reset(self, seed: int | None, options: Mapping[str, Any] | None) -> None:
        """Begin match 0 of `seed`, or without a seed the next match.

        Raises:
            SeedError, EnvError, DealError: the seed and the match before stay.
        """
        check_options(options)
        base, key, number = self.seed, self._key, self._next
        if seed is not None or base is None:
            base = randbits(63) if seed is None else check_seed(seed)
            key, number = deal_key(base, self.index, self.stream), 0
        match = Match.__new__(Match)
        match.rules, match.state, match.history, match._random = self.rules, core.new_state(), [], True
        match.state["key"] = key
        _begin_match(match.state, self._struct, number)
        given = {name: (options or {}).get(name) for name in DEAL_OPTIONS}
        if any(value is not None for value in given.values()):
            self._begin_given(match, **given)
        self.seed, self._key = base, key
        self.number, self._next = number, number + 1
        self.match, self.over = match, False
        self.seat = int(match.state["seat"][0])
        self.facts = {"deal": 0, "scores": tuple(match.scores), "pot": match.pot, "last_deal": None}
        self.look()

    def _begin_given(self, match: Match, dealer: Any, hands: Any, stock: Any, pot: Any) -> None:
        """Begin a random match over with what the user has set of its first deal."""
        if stock is not None and hands is None:
            raise DealError("options: stock needs hands")
        shuffled = [CARDS[card] for card in match.state["cards"][0][: self.rules.pack_size]]
        match.begin(dealer=match.dealer if dealer is None else dealer, pot=0 if pot is None else pot)
        if hands is None:
            _deal(match.state, self._struct)
        else:
            match.copy().begin_deal(hands, stock)  # refuses what is wrong with them
            listed = [card for hand in hands for card in hand] + list(stock or [])
            taken = {card_number(card) for card in listed}
            match.begin_deal(hands, [*(stock or []), *(card for card in shuffled if card_number(card) not in taken)])
        match._random = True

    def look(self) -> None:
        """Observe again, after `seat` or `watch` has changed."""
        assert self.match is not None
        _look(
            self.match.state, self._struct, self._fixed, self.canonical, self.watch,
            self._observation, self._mask, self._places,
        )  # fmt: skip
        self._observer = self.seat if self.watch in (EVERYONE, self.seat) else NO_SEAT

    def play(self, action: Any, as_seen: bool = True) -> int:
        """Carry out an action of the seat to move; returns what it led to. After REFUSED nothing has changed.

        Args:
            action: its id.
            as_seen: whether the suits in it are numbered as the seat sees them.

        Raises:
            NotationError: no action has this id.
        """
        match = self.match
        assert match is not None
        number = whole(action)
        if number is None or not 0 <= number < N_ACTIONS:
            raise NotationError(f"{shown(action)} is not an action id: ids run from 0 to {N_ACTIONS - 1}")
        code, seat = _play(
            match.state, self._struct, self._fixed, self.canonical, self.watch, number, as_seen,
            self._ended, self._observation, self._mask, self._places,
        )  # fmt: skip
        if code == REFUSED:
            return code
        self.seat = seat
        self._observer = seat if self.watch in (EVERYONE, seat) else NO_SEAT
        if code != GOES_ON:
            self._end_deal(match)
            self.over = code != DEAL_OVER
        return code

    def _end_deal(self, match: Match) -> None:
        deal = FinishedDeal(self.rules, self._ended)
        self._ended = core.new_state()
        match.history.append(deal)
        payoffs = deal.payoffs
        if self.relative:
            total, others = sum(payoffs), len(payoffs) - 1
            self.rewards = [payoff - (total - payoff) / others for payoff in payoffs]
        else:
            self.rewards = [float(payoff) for payoff in payoffs]
        self.facts = {
            "deal": match.deal_number,
            "scores": tuple(match.scores),
            "pot": match.pot,
            "last_deal": deal_facts(deal),
        }

    def true_action(self, action: int) -> int:
        """The id in fixed suit order of what the seat to move means by `action`."""
        return int(true_action(action, self._places[self.seat]))

    def why_refused(self, action: int) -> IllegalActionError:
        """The error for an action, numbered as the seat to move sees it, that `play` refused."""
        assert self.match is not None
        return IllegalActionError(self.match.why_illegal(self.true_action(action) if self.seat != NO_SEAT else action))

    def forfeit(self, action: int) -> None:
        """End the match because the seat to move has chosen `action`, numbered as it sees it, which is illegal."""
        self.facts = {**self.facts, "illegal": {"agent": f"seat_{self.seat}", "action": ACTION_NAMES[self.true_action(action)]}}
        self.over = True

    def observe(self, seat: int) -> np.ndarray:
        """What a seat observes, as a fresh array of shape (OBSERVATION_SIZE,)."""
        if seat == self._observer:
            return self._observation.astype(self.dtype)
        assert self.match is not None
        _peek(self.match.state, self._struct, self._fixed, seat, self._places, self._other)
        return self._other.astype(self.dtype)

    def mask(self, seat: int) -> np.ndarray:
        """A seat's legal actions, as a fresh int8 array of shape (N_ACTIONS,)."""
        return self._mask.copy() if seat == self._observer and not self.over else np.zeros(N_ACTIONS, np.int8)

    def info(self, seat: int) -> dict[str, Any]:
        """A seat's info, as a fresh dict of its own; all but the mask are JSON values."""
        if not self._tells_facts:
            return {"action_mask": self.mask(seat)}
        facts = self.facts
        info = {"action_mask": self.mask(seat), **facts}
        for name in ("last_deal", "illegal"):
            if facts.get(name) is not None:
                info[name] = facts[name].copy()
        if self.canonical:
            info["suit_places"] = tuple(self._places[seat].tolist())
        return info

    def state(self) -> np.ndarray:
        """`observation.central_state` in the type of the observations."""
        assert self.match is not None
        return central_state(self.match.state, self.rules).astype(self.dtype)

    def render(self, mode: str, seat: int | None) -> Any:
        """The match as text ("ansi", "human") or as a picture ("rgb_array")."""
        from napoleon_env import picture, render  # only for who looks

        assert self.match is not None
        if mode == "rgb_array":
            return picture.picture(self.match, seat)
        text = render.text(self.match, seat)
        if mode == "ansi":
            return text
        sys.stdout.write(text + "\n\n")
        sys.stdout.flush()
        return None


def deal_facts(deal: FinishedDeal) -> dict[str, Any]:
    """What everybody knows of a finished deal: words, numbers and tuples of them."""
    state = deal.state
    n = int(state["n_log"][0])
    log = list(zip(state["log_seat"][0][:n].tolist(), state["log"][0][:n].tolist(), strict=True))
    return {
        "number": deal.deal_number,
        "dealer": deal.dealer,
        "declarer": deal.declarer,
        "contract": deal.contract,
        "announced": deal.announced,
        "trump": deal.trump,
        "tricks_won": tuple(deal.tricks_won),
        "made": deal.made,
        "payoffs": tuple(deal.payoffs),
        "pot": deal.pot,
        "calls": tuple((seat, ACTION_NAMES[action]) for seat, action in log if action < TRUMP),
        "last_trick": tuple((seat, ACTION_NAMES[action]) for seat, action in log[-deal.rules.players :] if action >= PLAY),
    }


def observation_space(dtype: np.dtype, with_mask: bool) -> spaces.Space[Any]:
    """The space of one seat's observations; a new one, since each has a generator of its own."""
    return deepcopy(_observation_space(dtype, with_mask))


@cache
def _observation_space(dtype: np.dtype, with_mask: bool) -> spaces.Space[Any]:
    """To be copied: Gymnasium writes out a Box's bounds as text when it makes one, which takes milliseconds."""
    low, high = observation_bounds()
    box = spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)
    if not with_mask:
        return box
    return spaces.Dict({"observation": box, "action_mask": spaces.Box(0, 1, (N_ACTIONS,), np.int8)})


def state_space(dtype: np.dtype) -> spaces.Box:
    """The space of `state()`; a new one."""
    return deepcopy(_state_space(dtype))


@cache
def _state_space(dtype: np.dtype) -> spaces.Box:
    low, high = observation_bounds()
    low = np.concatenate([low, np.zeros(HIDDEN_SIZE, np.int8)])
    high = np.concatenate([high, np.ones(HIDDEN_SIZE, np.int8)])
    return spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)


def check_word(name: str, value: object, words: tuple[str, ...]) -> None:
    """Refuse a setting that is none of a few words.

    Raises:
        EnvError.
    """
    if not isinstance(value, str) or value not in words:
        raise EnvError(f"{name}={shown(value)} must be one of {', '.join(words)}")


def check_options(options: object) -> None:
    """Refuse `options` of a reset that cannot be looked up by name; which names there are is not asked.

    Raises:
        EnvError.
    """
    if options is not None and not isinstance(options, Mapping):
        raise EnvError(f"options={shown(options)} must be a mapping from names to values, or None")


def check_illegal_reward(value: object, rules: Ruleset) -> float:
    """What the offender earns; None stands for minus `Ruleset.worst_contract_cost`.

    Raises:
        EnvError: no finite number.
    """
    if value is None:
        return float(-rules.worst_contract_cost)
    try:
        reward = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:  # an int beyond all floats
        reward = math.inf
    if not math.isfinite(reward):
        raise EnvError(f"illegal_reward={shown(value)} must be a finite number, or None")
    return reward


def check_seat(name: str, seat: object, rules: Ruleset) -> int:
    """A seat of the rule set as an int.

    Raises:
        EnvError.
    """
    number = whole(seat)
    if number is None or not 0 <= number < rules.players:
        raise EnvError(f"{name}={shown(seat)} must be a seat from 0 to {rules.players - 1}")
    return number
