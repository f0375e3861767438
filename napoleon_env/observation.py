"""What a seat observes: one fixed layout of small integers for all rule sets and numbers of players.

`FEATURES` is the layout: one row a feature. The encoder writes int8 and reads only what the seat may know; from it the whole
auction in order and every card with its player and trick can be read back (perfect recall of the deal). Seats are relative:
0 is the observer, k the k-th to the left. With `suit_order="canonical"` the suits are renumbered at each decision (trump,
suit led, then the observer's longest and highest), observation and action ids together, so that positions that differ
only in the names of the suits look the same.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

import numpy as np

from napoleon_env import rules as core
from napoleon_env.jit import count_bits, jit, lowest_bit
from napoleon_env.notation import (
    DISCARD,
    MAX_HAND,
    MAX_PLAYERS,
    N_ACTIONS,
    N_CARDS,
    N_RANKS,
    N_SUITS,
    NO_CARD,
    NO_SEAT,
    NO_SUIT,
    PLAY,
    RANKS,
    SOME_DISCARD,
    TRUMP,
    shown,
)
from napoleon_env.ruleset import BOOLS, CHOICES, PAIRS, Ruleset

SUIT_ORDERS: Final = ("fixed", "canonical")
LOG_BOUND: Final = 110
"""Bound of `signed_log` over the amounts a match can reach (below 10**16, §7)."""


class ObservationError(ValueError):
    """An observation that was asked for in a form that does not exist."""


class Feature(NamedTuple):
    """One row of the layout: `shape` integers from `low` to `high`."""

    name: str
    shape: tuple[int, ...]
    low: int
    high: int
    meaning: str

    @property
    def size(self) -> int:
        """Numbers of this feature."""
        return math.prod(self.shape)


_LEVELS: Final = core.N_LEVELS
_LOG: Final = (-LOG_BOUND, LOG_BOUND)

FEATURES: Final[tuple[Feature, ...]] = (
    Feature("hand", (N_CARDS,), 0, 1, "cards in the observer's hand"),
    Feature("played", (MAX_PLAYERS, N_CARDS), 0, 1, "cards that each relative seat has played in this deal"),
    Feature("seen", (N_CARDS,), 0, 1, "cards played in this deal, by anyone"),
    Feature("trick_of", (N_CARDS,), 0, MAX_HAND, "number of the trick, from 1, in which a card was played; 0: not played"),
    Feature("on_table", (N_CARDS,), 0, 1, "cards of the trick in play"),
    Feature("winning", (N_CARDS,), 0, 1, "the card that is winning the trick in play"),
    Feature("winner", (MAX_PLAYERS,), 0, 1, "the relative seat that is winning the trick in play"),
    Feature("exchange", (N_CARDS,), -1, 1, "the observer's own exchange: -1 the card laid away, 1 the card drawn (R7)"),
    Feature("trump", (N_SUITS,), 0, 1, "the trump suit, once fixed"),
    Feature("led", (N_SUITS,), 0, 1, "the suit led to the trick in play"),
    Feature("void", (MAX_PLAYERS, N_SUITS), 0, 1, "suits that each relative seat has shown not to hold (C5, R9)"),
    Feature("phase", (len(core.PHASES),), 0, 1, "auction, announce, exchange, trump, play, over"),
    Feature("to_act", (MAX_PLAYERS,), 0, 1, "the relative seat that is to decide"),
    Feature("dealer", (MAX_PLAYERS,), 0, 1, "the relative seat that dealt"),
    Feature("declarer", (MAX_PLAYERS,), 0, 1, "the relative seat that has the highest call, or after the auction plays alone"),
    Feature("standing", (_LEVELS,), 0, 1, "level of the highest call or contract: none 1 2 3 misere 4 … 8 wellington blucher"),
    Feature("caller", (_LEVELS, MAX_PLAYERS), 0, 1, "the relative seat that made the call of each level"),
    Feature("held", (_LEVELS,), 0, 1, "levels at which the dealer took over the contract (R4)"),
    Feature("passed", (MAX_PLAYERS,), 0, 1, "relative seats that have passed, or were passed unasked (C10)"),
    Feature("passed_at", (MAX_PLAYERS,), 0, _LEVELS - 1, "the level that stood when the relative seat passed"),
    Feature("announced", (1,), 0, 1, "the declarer has announced Napoleon (R6)"),
    Feature("exchanged", (1,), 0, 1, "the declarer has exchanged a card; the card is not told"),
    Feature("tricks_won", (MAX_PLAYERS,), 0, MAX_HAND, "tricks taken by each relative seat"),
    Feature("tricks_needed", (1,), 0, MAX_HAND, "tricks that the highest call or the contract asks for"),
    Feature("tricks_left", (1,), 0, MAX_HAND, "tricks not yet complete"),
    Feature("in_trick", (1,), 0, MAX_PLAYERS - 1, "cards already played to the trick"),
    Feature("price", (2,), *_LOG, "what the highest call pays a defender when made, and costs when failed; signed_log"),
    Feature("pot", (1,), *_LOG, "the pot; signed_log"),
    Feature("scores", (MAX_PLAYERS,), *_LOG, "scores of the relative seats; signed_log"),
    Feature("void_run", (1,), *_LOG, "void deals in a row; signed_log"),
    Feature("deals_left", (1,), *_LOG, "deals to be played after this one; signed_log"),
    # From here on the rule set alone: the same in all observations of a match.
    Feature("rules.players", (MAX_PLAYERS - 1,), 0, 1, "2, 3, 4, 5 or 6 players"),
    Feature("rules.suits", (1,), 1, N_SUITS, "suits in the pack"),
    Feature("rules.lowest_rank", (1,), 0, N_RANKS - 1, "number of the pack's lowest rank: 0 is the 2"),
    Feature("rules.hand_size", (1,), 1, MAX_HAND, "cards of a hand"),
    Feature("rules.min_bid", (1,), 1, MAX_HAND, "the lowest bid"),
    *(Feature(f"rules.{name}", (len(words),), 0, 1, ", ".join(words)) for name, words in CHOICES.items()),
    *(Feature(f"rules.{name}", (1,), 0, 1, "on") for name in BOOLS),
    *(Feature(f"rules.has_{name}", (1,), 0, 1, "the call exists") for name in PAIRS[:3]),
    *(Feature(f"rules.{name}", (2,), *_LOG, "paid when made, when failed; signed_log") for name in PAIRS),
    *(Feature(f"rules.{name}", (1,), *_LOG, "signed_log") for name in ("ante", "stake", "deals", "max_void_deals")),
)
"""The layout of an observation, in order. New rows go to the end; a change of it changes `DIGEST`."""

_STARTS: Final = dict(zip((f.name for f in FEATURES), np.cumsum([0, *(f.size for f in FEATURES)]).tolist(), strict=False))
OBSERVATION_SIZE: Final = sum(f.size for f in FEATURES)
DIGEST: Final = sha256(repr([(f.name, f.shape, f.low, f.high) for f in FEATURES]).encode()).hexdigest()[:16]
"""Names the layout: agents made for another one are refused."""
RULES_START: Final = _STARTS["rules.players"]
"""Features from here on depend on the rule set alone."""

HIDDEN_FEATURES: Final[tuple[Feature, ...]] = (
    Feature("hands", (MAX_PLAYERS, N_CARDS), 0, 1, "cards in the hand of each relative seat"),
    Feature("next_card", (N_CARDS,), 0, 1, "the top of the stock, until it is drawn or can no longer be"),
    Feature("discard", (N_CARDS,), 0, 1, "the card that the declarer laid away"),
)
"""What `state()` holds after the observation of the seat to move: all secrets that can still matter, for critics alone."""
HIDDEN_SIZE: Final = sum(f.size for f in HIDDEN_FEATURES)


def observation_layout() -> list[dict[str, Any]]:
    """The layout as rows of name, start, stop, shape, low, high and meaning; an observation is their concatenation."""
    return [{"name": f.name, "start": _STARTS[f.name], "stop": _STARTS[f.name] + f.size, **f._asdict()} for f in FEATURES]


def observation_bounds() -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest values, two int8 arrays of shape (OBSERVATION_SIZE,)."""
    low, high = (np.concatenate([np.full(f.size, bound(f), np.int8) for f in FEATURES]) for bound in (_low, _high))
    return low, high


def _low(feature: Feature) -> int:
    return feature.low


def _high(feature: Feature) -> int:
    return feature.high


_SMALL_LOGS: Final = tuple(int(2.0 * math.log2(1.0 + n) + 0.5) for n in range(64))


@jit
def signed_log(amount: int) -> int:
    """The scale of amounts without bound: sign(x) * round(2 * log2(1 + |x|)), so 0 1 2 3 5 10 100 are 0 2 3 4 5 7 13."""
    if -len(_SMALL_LOGS) < amount < len(_SMALL_LOGS):
        return _SMALL_LOGS[amount] if amount >= 0 else -_SMALL_LOGS[-amount]
    size = int(2.0 * math.log2(1.0 + abs(amount)) + 0.5)
    return size if amount > 0 else -size


@lru_cache(maxsize=256)
def rules_features(rules: Ruleset) -> np.ndarray:
    """What a rule set fixes: an observation with all else 0, then `price` and `tricks_needed` for each level of the auction.

    int8 of shape (OBSERVATION_SIZE + 3 * N_LEVELS,), read-only.
    """
    fields = asdict(rules)
    row: list[int] = [0] * RULES_START
    row += [int(rules.players == n) for n in range(2, MAX_PLAYERS + 1)]
    row += [rules.suits, RANKS.index(rules.lowest_rank), rules.hand_size, rules.min_bid]
    for name, words in CHOICES.items():
        row += [int(fields[name] == word) for word in words]
    row += [int(fields[name]) for name in BOOLS]
    row += [int(fields[name] is not None) for name in PAIRS[:3]]
    for name in PAIRS:
        row += [signed_log(amount) for amount in fields[name] or (0, 0)]
    row += [signed_log(fields[name]) for name in ("ante", "stake", "deals", "max_void_deals")]
    struct = rules.struct[0]
    row += [0, 0, 0]  # no call
    for level in range(1, _LEVELS):
        row += [signed_log(int(core.contract_price(struct, level, made))) for made in (True, False)]
        row.append(int(core.tricks_needed(struct, level)))
    features = np.array(row, np.int8)
    features.flags.writeable = False
    return features


def is_canonical(suit_order: str) -> bool:
    """Whether `suit_order` is "canonical".

    Raises:
        ObservationError: it is neither "fixed" nor "canonical".
    """
    if suit_order not in SUIT_ORDERS:
        raise ObservationError(f"suit_order={shown(suit_order)} must be one of {', '.join(SUIT_ORDERS)}")
    return suit_order == "canonical"


# Offsets as plain integers, which the compiler takes as constants.
_HAND, _PLAYED, _SEEN, _TRICK_OF = _STARTS["hand"], _STARTS["played"], _STARTS["seen"], _STARTS["trick_of"]
_ON_TABLE, _WINNING, _WINNER = _STARTS["on_table"], _STARTS["winning"], _STARTS["winner"]
_EXCHANGE = _STARTS["exchange"]
_TRUMP, _LED, _VOID = _STARTS["trump"], _STARTS["led"], _STARTS["void"]
_PHASE, _TO_ACT, _DEALER, _DECLARER = _STARTS["phase"], _STARTS["to_act"], _STARTS["dealer"], _STARTS["declarer"]
_STANDING, _CALLER, _HELD = _STARTS["standing"], _STARTS["caller"], _STARTS["held"]
_PASSED, _PASSED_AT = _STARTS["passed"], _STARTS["passed_at"]
_ANNOUNCED, _EXCHANGED = _STARTS["announced"], _STARTS["exchanged"]
_TRICKS_WON, _TRICKS_NEEDED, _TRICKS_LEFT = _STARTS["tricks_won"], _STARTS["tricks_needed"], _STARTS["tricks_left"]
_IN_TRICK, _PRICE, _POT, _SCORES = _STARTS["in_trick"], _STARTS["price"], _STARTS["pot"], _STARTS["scores"]
_VOID_RUN, _DEALS_LEFT = _STARTS["void_run"], _STARTS["deals_left"]
_NEXT_CARD, _DISCARD = MAX_PLAYERS * N_CARDS, (MAX_PLAYERS + 1) * N_CARDS


@jit
def suit_places(state: Any, rules: Any, seat: int, canonical: bool, places: Any) -> None:
    """Write into `places` (int8, shape (4,)) the number under which `seat` sees each suit.

    Canonical: trump, then the suit led, then by the number of cards in the seat's hand, their ranks, the ranks that have been
    played, which was played first, the seat's own exchange. Suits that still tie look the same to the seat and keep the pack's
    order; suits that are not in the pack come last. Only public and own cards are read.
    """
    if not canonical:
        for suit in range(N_SUITS):
            places[suit] = suit
        return
    hand = state["hand"][seat]
    seen = 0
    first = 0  # for each suit 7 bits: the larger, the earlier its first card was played
    if state["phase"] >= core.TRICKS:
        for entry in range(state["n_log"] - 1, state["first_card"] - 1, -1):
            card = np.int64(state["log"][entry]) - PLAY
            seen |= 1 << card
            shift = 7 * (card // N_RANKS)
            first = first & ~(127 << shift) | (core.MAX_LOG - entry) << shift
    laid, drawn = NO_SUIT, NO_SUIT
    if state["declarer"] == seat and state["discard"] != NO_CARD:
        laid, drawn = state["discard"] // N_RANKS, state["drawn"] // N_RANKS
    for suit in range(N_SUITS):
        places[suit] = 0
    keys_0, keys_1, keys_2, keys_3 = 0, 0, 0, 0
    for suit in range(N_SUITS):
        own = hand >> N_RANKS * suit & core.SUIT_CARDS
        key = count_bits(own) << 2 * N_RANKS | own << N_RANKS | (seen >> N_RANKS * suit & core.SUIT_CARDS)
        key = key << 9 | (first >> 7 * suit & 127) << 2 | (2 if suit == laid else 0) | (1 if suit == drawn else 0)
        if suit < rules["suits"]:
            key |= 1 << 50
        if suit == state["led_suit"]:
            key |= 1 << 51
        if suit == state["trump"]:
            key |= 1 << 52
        if suit == 0:
            keys_0 = key
        elif suit == 1:
            keys_1 = key
        elif suit == 2:
            keys_2 = key
        else:
            keys_3 = key
    # Each pair compared once; the suit with the smaller key, or the later of equals, moves one place down.
    places[1 if keys_0 >= keys_1 else 0] += 1
    places[2 if keys_0 >= keys_2 else 0] += 1
    places[3 if keys_0 >= keys_3 else 0] += 1
    places[2 if keys_1 >= keys_2 else 1] += 1
    places[3 if keys_1 >= keys_3 else 1] += 1
    places[3 if keys_2 >= keys_3 else 2] += 1


@jit
def _place_of(card: int, places: Any) -> Any:
    """The number under which a card is seen."""
    return (N_RANKS * np.int64(places[card // N_RANKS]) + card % N_RANKS) & 63


@jit
def _write_cards(cards: int, places: Any, out: Any, start: int) -> None:
    """Set `out[start + c]` to 1 for every card of a bit mask, suits renumbered."""
    while cards:
        card = lowest_bit(cards)
        cards &= cards - 1
        out[start + _place_of(card, places)] = 1


@jit
def _left_of(seat: int, other: int, players: int) -> int:
    """How many places to the left of `seat` another seat sits."""
    return (other - seat if other >= seat else other - seat + players) & 7


@jit
def _encode_tricks(state: Any, rules: Any, seat: int, places: Any, out: Any) -> None:
    """The features of the cards played."""
    players = rules["players"]
    in_play = state["phase"] == core.TRICKS
    first = state["first_card"]
    last = state["n_log"]
    on_table = last - state["in_trick"] if in_play else last
    trick, in_trick = 1, 0
    for entry in range(first, last):
        card = _place_of(np.int64(state["log"][entry]) - PLAY, places)
        out[_PLAYED + N_CARDS * _left_of(seat, np.int64(state["log_seat"][entry]), players) + card] = 1
        out[_SEEN + card] = 1
        out[_TRICK_OF + card] = trick
        out[_ON_TABLE + card] = entry >= on_table
        in_trick += 1
        if in_trick == players:
            trick += 1
            in_trick = 0
    out[_TRICKS_LEFT] = rules["hand_size"] + 1 - trick
    if in_play and state["in_trick"] > 0:
        out[_WINNING + _place_of(state["winning_card"], places)] = 1
        out[_WINNER + _left_of(seat, state["winning_seat"], players)] = 1
        out[_LED + np.int64(places[state["led_suit"]])] = 1
        out[_IN_TRICK] = state["in_trick"]
    if state["trump"] != NO_SUIT:
        out[_TRUMP + np.int64(places[state["trump"]])] = 1
    for who in range(players):
        other = seat + who if seat + who < players else seat + who - players
        out[_TRICKS_WON + who] = state["tricks_won"][other]
        void = np.int64(state["void_suits"][other])
        for suit in range(N_SUITS):
            out[_VOID + N_SUITS * who + (np.int64(places[suit]) & 3)] = void >> suit & 1


@jit
def _encode_exchange(state: Any, seat: int, last: int, places: Any, out: Any) -> None:
    """Whether the declarer has exchanged, and for the declarer alone the cards."""
    for entry in range(last):
        action = state["log"][entry]
        if action == SOME_DISCARD or DISCARD <= action < PLAY:
            out[_EXCHANGED] = 1
    if state["declarer"] == seat and state["discard"] != NO_CARD:
        out[_EXCHANGE + _place_of(state["discard"], places)] = -1
        out[_EXCHANGE + _place_of(state["drawn"], places)] = 1


@jit
def _encode_auction(state: Any, rules: Any, fixed: Any, seat: int, out: Any) -> None:
    """The features of the auction and the contract."""
    players = rules["players"]
    level = state["standing"]
    out[_STANDING + level] = 1
    price = OBSERVATION_SIZE + 3 * level
    out[_PRICE] = fixed[price]
    out[_PRICE + 1] = fixed[price + 1]
    out[_TRICKS_NEEDED] = fixed[price + 2]
    for call in range(1, level + 1):
        caller = np.int64(state["caller"][call])
        if caller != NO_SEAT:
            out[_CALLER + MAX_PLAYERS * call + _left_of(seat, caller, players)] = 1
            out[_HELD + call] = state["held"][call]
    if state["declarer"] != NO_SEAT:
        out[_DECLARER + _left_of(seat, state["declarer"], players)] = 1
    out[_DEALER + _left_of(seat, state["dealer"], players)] = 1
    for other in range(players):
        who = _left_of(seat, other, players)
        passed_at = np.int64(state["passed_at"][other])
        out[_PASSED + who] = passed_at >= 0
        out[_PASSED_AT + who] = max(passed_at, 0)


@jit
def encode(state: Any, rules: Any, fixed: Any, seat: int, places: Any, out: Any) -> None:
    """Write what `seat` observes into `out`, int8 of shape (OBSERVATION_SIZE,).

    `fixed` is `rules_features`, `places` is from `suit_places`. Works the same on a full state and on one blanked by
    `rules.hide`: nothing secret is read.
    """
    players = rules["players"]
    phase = state["phase"]
    for i in range(OBSERVATION_SIZE):  # an assignment of slices would take twice as long
        out[i] = fixed[i]
    out[_PHASE + phase] = 1
    out[_ANNOUNCED] = state["announced"]
    out[_TRICKS_LEFT] = rules["hand_size"]
    if state["seat"] != NO_SEAT:
        out[_TO_ACT + _left_of(seat, state["seat"], players)] = 1
    _write_cards(state["hand"][seat], places, out, _HAND)
    _encode_auction(state, rules, fixed, seat, out)
    played = phase == core.TRICKS or (phase == core.NO_DEAL and state["declarer"] != NO_SEAT)
    if played:
        _encode_tricks(state, rules, seat, places, out)
    elif state["trump"] != NO_SUIT:
        out[_TRUMP + np.int64(places[state["trump"]])] = 1
    if rules["exchange"]:
        _encode_exchange(state, seat, state["first_card"] if played else state["n_log"], places, out)
    for who in range(players):
        other = seat + who if seat + who < players else seat + who - players
        out[_SCORES + who] = signed_log(state["scores"][other])
    out[_POT] = signed_log(state["pot"])
    out[_VOID_RUN] = signed_log(state["void_run"])
    out[_DEALS_LEFT] = signed_log(rules["deals"] - state["played"] - (0 if phase == core.NO_DEAL else 1))


@jit
def encode_mask(state: Any, rules: Any, seat: int, places: Any, mask: Any) -> None:
    """Write the legal actions as `seat` sees them, int8 of shape (N_ACTIONS,); all zero when it is not to act."""
    mask[:] = 0
    if state["seat"] != seat:
        return
    named, cards, base = core.legal(state, rules)
    while named:
        action = lowest_bit(named)
        named &= named - 1
        mask[TRUMP + np.int64(places[action - TRUMP]) if TRUMP <= action < TRUMP + N_SUITS else action] = 1
    _write_cards(cards, places, mask, base)


@jit
def encode_hidden(state: Any, rules: Any, seat: int, places: Any, out: Any) -> None:
    """Write `HIDDEN_FEATURES` as seen from `seat` into `out`, int8 of shape (HIDDEN_SIZE,)."""
    out[:] = 0
    players = rules["players"]
    for who in range(players):
        _write_cards(state["hand"][(seat + who) % players], places, out, N_CARDS * who)
    if rules["exchange"] and state["phase"] <= core.EXCHANGE:
        card = np.int64(state["cards"][players * rules["hand_size"]])
        if card != NO_CARD:
            out[_NEXT_CARD + _place_of(card, places)] = 1
    if state["discard"] != NO_CARD:
        out[_DISCARD + _place_of(state["discard"], places)] = 1


@jit
def true_action(action: int, places: Any) -> int:
    """The action id that a seat which sees the suits at `places` means by `action`."""
    if TRUMP <= action < TRUMP + N_SUITS:
        for suit in range(N_SUITS):
            if TRUMP + places[suit] == action:
                return TRUMP + suit
    if action >= DISCARD:
        base = PLAY if action >= PLAY else DISCARD
        seen = (action - base) // N_RANKS
        for suit in range(N_SUITS):
            if places[suit] == seen:
                return base + N_RANKS * suit + (action - base) % N_RANKS
    return action


class Observation(NamedTuple):
    """What one seat observes."""

    observation: np.ndarray
    """int8 of shape (OBSERVATION_SIZE,)."""
    action_mask: np.ndarray
    """int8 of shape (N_ACTIONS,)."""
    suit_places: np.ndarray
    """int8 of shape (4,): the number under which each suit is seen; 0 1 2 3 in fixed order."""


def observe(state: np.ndarray, rules: Ruleset, seat: int, canonical: bool = False) -> Observation:
    """What `seat` observes in a state array of shape (1,), as fresh arrays."""
    observation, mask = np.empty(OBSERVATION_SIZE, np.int8), np.empty(N_ACTIONS, np.int8)
    places = np.empty(N_SUITS, np.int8)
    _observe(state, rules.struct, rules_features(rules), seat, canonical, observation, mask, places)
    return Observation(observation, mask, places)


@jit
def _observe(state: Any, rules: Any, fixed: Any, seat: int, canonical: bool, observation: Any, mask: Any, places: Any) -> None:
    suit_places(state[0], rules[0], seat, canonical, places)
    encode(state[0], rules[0], fixed, seat, places, observation)
    encode_mask(state[0], rules[0], seat, places, mask)


def central_state(state: np.ndarray, rules: Ruleset) -> np.ndarray:
    """The observation of the seat to move (seat 0 when nobody is) and after it HIDDEN_FEATURES; int8, fixed suit order."""
    seat = max(int(state["seat"][0]), 0)
    seen = observe(state, rules, seat)
    hidden = np.empty(HIDDEN_SIZE, np.int8)
    encode_hidden(state[0], rules.struct[0], seat, seen.suit_places, hidden)
    return np.concatenate([seen.observation, hidden])
