"""The rules, compiled: one struct for all state, one function for every variant (RULES.md §1 to §7).

No strings, files, randomness, rewards or agents. `state` and `rules` are single records of dtype STATE and
`ruleset.RULESET` (`array[i]`). Nothing here checks its input: `match.Match` is the checked door. The same source runs
uncompiled under NUMBA_DISABLE_JIT=1.

Each phase is a pair `legal_…` / `apply_…`; `legal` and `apply` dispatch on the phase and never on a preset.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from napoleon_env.jit import count_bits, jit, lowest_bit
from napoleon_env.notation import (
    BID,
    BLUCHER,
    DISCARD,
    HOLD,
    LARGEST_EXACT,
    MAX_HAND,
    MAX_PLAYERS,
    MISERE,
    N_CARDS,
    N_RANKS,
    NAPOLEON,
    NO_CARD,
    NO_NAPOLEON,
    NO_SEAT,
    NO_SUIT,
    PASS,
    PLAY,
    SOME_DISCARD,
    STAND,
    TRUMP,
    WELLINGTON,
)
from napoleon_env.ruleset import (
    CHOSEN,
    CIRCULATING,
    DEALER,
    DEALER_PLAYS_ONE,
    DECIDED,
    DOUBLE_POT_AND_EACH,
    EXACTLY,
    MADE,
    MUST_TRUMP,
    NAPOLEON_ANNOUNCED,
    POINTS_ONLY,
)

AUCTION, ANNOUNCE, EXCHANGE, CHOOSE_TRUMP, TRICKS, NO_DEAL = 0, 1, 2, 3, 4, 5
PHASES: Final = ("auction", "announce", "exchange", "trump", "play", "over")
"""Phases by number; in NO_DEAL nobody is to act: before a deal, and when the match is over."""

RUNNING, FINISHED, TRUNCATED = 0, 1, 2

NO_CALL: Final = 0
LEVEL_MISERE: Final = 4
LEVEL_WELLINGTON: Final = 10
LEVEL_BLUCHER: Final = 11
N_LEVELS: Final = 12
"""A call's level orders the auction: bids 1 2 3 at 1 2 3, misère 4, bids 4 … 8 at 5 … 9, Wellington 10, Blücher 11."""
CALL_AT_LEVEL: Final = (PASS, 1, 2, 3, MISERE, 4, 5, 6, 7, 8, WELLINGTON, BLUCHER)
"""The action that is the call of each level (PASS at NO_CALL)."""

MAX_LOG: Final = 80
"""At most 11 calls, 11 holds, 6 passes, 3 decisions of the declarer and 48 cards make a deal."""

SUIT_CARDS: Final = (1 << N_RANKS) - 1

STATE: Final = np.dtype(
    [
        # The match. `key` and `match` belong to dealing.py: which random deals these are.
        ("key", np.uint64),
        ("match", np.int64),
        ("scores", np.int64, MAX_PLAYERS),
        ("payoffs", np.int64, MAX_PLAYERS),  # of the last finished deal
        ("pot", np.int64),
        ("deal", np.int64),  # deals begun, void ones too: the current one is number deal - 1
        ("played", np.int64),  # deals finished and not void (C9)
        ("void_run", np.int64),  # void deals in a row (§7)
        ("outcome", np.int64),  # RUNNING, FINISHED or TRUNCATED
        # The deal.
        ("phase", np.int64),
        ("seat", np.int64),  # to act, or NO_SEAT
        ("dealer", np.int64),
        ("hand", np.int64, MAX_PLAYERS),  # bit masks of cards
        ("cards", np.int8, N_CARDS),  # as dealt: the hands by seat, then the stock from its top; NO_CARD past the pack
        ("n_log", np.int64),
        ("log", np.int8, MAX_LOG),  # every action of the deal in order
        ("log_seat", np.int8, MAX_LOG),
        # The auction.
        ("silent", np.int64),  # bit mask of seats that are out of the auction
        ("standing", np.int64),  # level of the highest call; after the auction, the contract
        ("declarer", np.int64),  # who made the highest call, or holds it
        ("caller", np.int8, N_LEVELS),  # who called each level first, or NO_SEAT
        ("held", np.int8, N_LEVELS),  # 1 where the dealer took that level over (R4)
        ("passed_at", np.int8, MAX_PLAYERS),  # the level that stood when a seat passed, or -1
        # The declarer's decisions.
        ("announced", np.int64),
        ("discard", np.int64),
        ("drawn", np.int64),
        ("trump", np.int64),
        # The tricks.
        ("first_card", np.int64),  # place in the log of the first card played
        ("led_suit", np.int64),
        ("leader", np.int64),
        ("in_trick", np.int64),
        ("winning_card", np.int64),  # of the trick in play
        ("winning_seat", np.int64),
        ("trick", np.int8, MAX_PLAYERS),  # cards of the trick in play by seat, or NO_CARD
        ("tricks_won", np.int8, MAX_PLAYERS),
        ("void_suits", np.int8, MAX_PLAYERS),  # bit masks of suits each seat has shown not to hold
    ],
    align=True,
)
"""All that changes in a match, public and secret: a copy is one assignment."""


_BYTES: Final = np.dtype((np.void, STATE.itemsize))


def new_state(n: int = 1) -> np.ndarray:
    """`n` states before any match, of shape (n,)."""
    return np.zeros(n, STATE)


def copy_state(states: np.ndarray) -> np.ndarray:
    """A copy of an array of states; as plain bytes, since numpy copies a record field by field, four times slower."""
    return states.view(_BYTES).copy().view(STATE)


@jit
def level_of_bid(tricks: int) -> int:
    """The level of a bid of so many tricks."""
    return tricks if tricks <= 3 else tricks + 1


@jit
def bid_at_level(level: int) -> int:
    """The number bid at a level, 0 for no call and for the special calls."""
    if level <= 3:
        return level
    return level - 1 if level != LEVEL_MISERE and level < LEVEL_WELLINGTON else 0


@jit
def tricks_needed(rules: Any, level: int) -> int:
    """How many tricks the contract at a level asks for: the bid, none, or all."""
    if level == LEVEL_MISERE:
        return 0
    bid = bid_at_level(level)
    return bid if bid > 0 else rules["hand_size"]


@jit
def begin_match(state: Any, rules: Any, dealer: int, pot: int) -> None:
    """Scores at zero, `dealer` to deal first (C8), `pot` on the table; no deal yet."""
    for seat in range(MAX_PLAYERS):
        state["scores"][seat] = 0
        state["payoffs"][seat] = 0
    state["pot"] = pot
    state["deal"] = 0
    state["played"] = 0
    state["void_run"] = 0
    state["outcome"] = RUNNING
    state["phase"] = NO_DEAL
    state["seat"] = NO_SEAT
    state["dealer"] = dealer


@jit
def begin_deal(state: Any, rules: Any) -> None:
    """Deal `state["cards"]`, put the antes into the pot (R1) and ask the first speaker (G1, R2).

    Every deal of a match after its first passes to the left (C7).
    """
    players = rules["players"]
    if state["deal"] > 0:
        state["dealer"] = (state["dealer"] + 1) % players
    state["deal"] += 1
    state["pot"] += players * rules["ante"]
    place = 0
    for seat in range(MAX_PLAYERS):
        hand = 0
        if seat < players:
            for _ in range(rules["hand_size"]):
                hand |= 1 << np.int64(state["cards"][place])
                place += 1
        state["hand"][seat] = hand
        state["passed_at"][seat] = -1
        state["trick"][seat] = NO_CARD
        state["tricks_won"][seat] = 0
        state["void_suits"][seat] = 0
    for level in range(N_LEVELS):
        state["caller"][level] = NO_SEAT
        state["held"][level] = 0
    for entry in range(MAX_LOG):  # nothing of the last deal may stay behind: a view is a copy of this
        state["log"][entry] = 0
        state["log_seat"][entry] = 0
    state["n_log"] = 0
    state["first_card"] = 0
    state["silent"] = 0
    state["standing"] = NO_CALL
    state["declarer"] = NO_SEAT
    state["announced"] = 0
    state["discard"] = NO_CARD
    state["drawn"] = NO_CARD
    state["trump"] = NO_SUIT
    state["led_suit"] = NO_SUIT
    state["leader"] = NO_SEAT
    state["in_trick"] = 0
    state["winning_card"] = NO_CARD
    state["winning_seat"] = NO_SEAT
    state["phase"] = AUCTION
    dealer = state["dealer"]
    state["seat"] = dealer if rules["first_speaker"] == DEALER else (dealer + 1) % players


# The auction.


@jit
def legal_calls(state: Any, rules: Any, seat: int) -> int:
    """Bit mask over action ids of what `seat` could say now (C10, G2, G9, P2, R3, R4, E2)."""
    standing = state["standing"]
    if standing < LEVEL_MISERE:
        lowest = standing + 1
    elif standing == LEVEL_MISERE:
        lowest = 4
    elif standing < LEVEL_WELLINGTON:
        lowest = standing
    else:
        lowest = MAX_HAND + 1
    lowest = max(lowest, rules["min_bid"])
    calls = 1 << PASS
    if lowest <= rules["hand_size"]:
        calls |= (1 << (BID + rules["hand_size"] + 1)) - (1 << (BID + lowest))
    if rules["has_misere"] and standing < LEVEL_MISERE:
        calls |= 1 << MISERE
    if rules["has_wellington"] and standing == level_of_bid(rules["hand_size"]):
        calls |= 1 << WELLINGTON
    if rules["has_blucher"] and standing == LEVEL_WELLINGTON:
        calls |= 1 << BLUCHER
    if rules["dealer_holds"] and seat == state["dealer"] and standing != NO_CALL and state["declarer"] != seat:
        calls |= 1 << HOLD
    return calls


@jit
def apply_call(state: Any, rules: Any, action: int) -> None:
    """Take the call of the seat to move and find who speaks next, or close the auction."""
    seat = state["seat"]
    if action == PASS:
        state["silent"] |= 1 << seat
        state["passed_at"][seat] = state["standing"]
    else:
        if action == HOLD:
            state["held"][state["standing"]] = 1
        else:
            if action == MISERE:
                level = LEVEL_MISERE
            elif action == WELLINGTON:
                level = LEVEL_WELLINGTON
            elif action == BLUCHER:
                level = LEVEL_BLUCHER
            else:
                level = level_of_bid(action - BID)
            state["standing"] = level
            state["caller"][level] = seat
        state["declarer"] = seat
        if rules["auction"] != CIRCULATING:
            state["silent"] |= 1 << seat
    _next_speaker(state, rules)


@jit
def _next_speaker(state: Any, rules: Any) -> None:
    """Move on to the next seat that has something to say; who could only pass is passed unasked (C10)."""
    players = rules["players"]
    everyone = (1 << players) - 1
    seat = state["seat"]
    for _ in range(players):
        seat = (seat + 1) % players
        if state["silent"] >> seat & 1 or seat == state["declarer"]:
            continue
        if legal_calls(state, rules, seat) != 1 << PASS:
            state["seat"] = seat
            return
        state["silent"] |= 1 << seat
        state["passed_at"][seat] = state["standing"]
    if state["declarer"] == NO_SEAT:
        if rules["all_pass"] != DEALER_PLAYS_ONE:
            _settle(state, rules, True)
            return
        state["declarer"] = state["dealer"]
        state["standing"] = level_of_bid(1)
    state["silent"] = everyone
    state["seat"] = state["declarer"]
    state["phase"] = AUCTION
    _next_decision(state, rules)


@jit
def _next_decision(state: Any, rules: Any) -> None:
    """Put the declarer's next question: announce, exchange, choose trump, lead; in this order (RULES.md §6)."""
    phase = state["phase"]
    all_tricks = state["standing"] == level_of_bid(rules["hand_size"])
    if phase < ANNOUNCE and rules["napoleon"] == NAPOLEON_ANNOUNCED and all_tricks:
        state["phase"] = ANNOUNCE
    elif phase < EXCHANGE and rules["exchange"]:
        state["phase"] = EXCHANGE
    elif phase < CHOOSE_TRUMP and rules["trump"] == CHOSEN and state["standing"] != LEVEL_MISERE:
        state["phase"] = CHOOSE_TRUMP
    else:
        state["phase"] = TRICKS
        state["leader"] = state["declarer"]
        state["first_card"] = state["n_log"]


# The declarer's decisions.


@jit
def apply_announce(state: Any, rules: Any, action: int) -> None:
    """R6."""
    state["announced"] = 1 if action == NAPOLEON else 0
    _next_decision(state, rules)


@jit
def apply_exchange(state: Any, rules: Any, action: int) -> None:
    """R7: lay one card away, then draw the top of the stock; or stand."""
    if action != STAND:
        seat = state["seat"]
        card = action - DISCARD
        drawn = np.int64(state["cards"][rules["players"] * rules["hand_size"]])
        state["discard"] = card
        state["drawn"] = drawn
        state["hand"][seat] = state["hand"][seat] & ~(1 << card) | 1 << drawn
    _next_decision(state, rules)


@jit
def apply_trump(state: Any, rules: Any, action: int) -> None:
    """P4."""
    state["trump"] = action - TRUMP
    _next_decision(state, rules)


# The tricks.


@jit
def legal_cards(state: Any, rules: Any) -> int:
    """Bit mask of the cards that the seat to move may play (C4, C5, G5, R9)."""
    hand = state["hand"][state["seat"]]
    if state["in_trick"] == 0:
        return hand
    following = hand & SUIT_CARDS << N_RANKS * state["led_suit"]
    if following != 0:
        return following
    if rules["void"] == MUST_TRUMP and state["trump"] != NO_SUIT:
        trumps = hand & SUIT_CARDS << N_RANKS * state["trump"]
        if trumps != 0:
            return trumps
    return hand


@jit
def apply_card(state: Any, rules: Any, action: int) -> None:
    """Play a card; after the last of a trick, give it to its winner (C6), who leads next (C4)."""
    players = rules["players"]
    seat = state["seat"]
    card = action - PLAY
    suit = card // N_RANKS
    state["hand"][seat] &= ~(1 << card)
    state["trick"][seat] = card
    if state["in_trick"] == 0:
        if state["n_log"] == state["first_card"] and rules["trump"] != CHOSEN and state["standing"] != LEVEL_MISERE:
            state["trump"] = suit  # G4, R8
        state["led_suit"] = suit
        state["winning_card"] = card
        state["winning_seat"] = seat
    else:
        trump = state["trump"]
        winning_suit = state["winning_card"] // N_RANKS
        wins = card > state["winning_card"] if suit == winning_suit else suit == trump
        if wins:
            state["winning_card"] = card
            state["winning_seat"] = seat
        if suit != state["led_suit"]:
            state["void_suits"][seat] |= 1 << state["led_suit"]
            if rules["void"] == MUST_TRUMP and trump != NO_SUIT and suit != trump:
                state["void_suits"][seat] |= 1 << trump  # R9: a trump would have had to be played
    state["in_trick"] += 1
    if state["in_trick"] < players:
        state["seat"] = (seat + 1) % players
        return
    winner = state["winning_seat"]
    state["tricks_won"][winner] += 1
    if _play_is_over(state, rules):
        _settle(state, rules, False)
        return
    for other in range(players):
        state["trick"][other] = NO_CARD
    state["in_trick"] = 0
    state["led_suit"] = NO_SUIT
    state["winning_card"] = NO_CARD
    state["winning_seat"] = NO_SEAT
    state["leader"] = winner
    state["seat"] = winner


@jit
def _play_is_over(state: Any, rules: Any) -> bool:
    """Whether the last trick has been played, or `stop` ends the play before it (G6, R10, E5)."""
    declarer = state["declarer"]
    left = 0
    for seat in range(rules["players"]):
        left |= state["hand"][seat]
    if left == 0:
        return True
    stop = rules["stop"]
    if stop != MADE and stop != DECIDED:
        return False
    level = state["standing"]
    won = state["tricks_won"][declarer]
    if level == LEVEL_MISERE:
        return stop == DECIDED and won > 0
    needed = tricks_needed(rules, level)
    if stop == MADE:
        return won >= needed
    remaining = rules["hand_size"] - (state["n_log"] - state["first_card"] + 1) // rules["players"]
    return won + remaining < needed or (won > needed if rules["made"] == EXACTLY else won >= needed)


@jit
def contract_is_made(state: Any, rules: Any) -> bool:
    """Whether the tricks taken so far fulfil the contract (G7, P6, E2)."""
    won = state["tricks_won"][state["declarer"]]
    level = state["standing"]
    needed = tricks_needed(rules, level)
    if level == LEVEL_MISERE or rules["made"] == EXACTLY:
        return won == needed
    return won >= needed


@jit
def contract_price(rules: Any, level: int, made: bool) -> int:
    """What each defender pays (made) or gets (failed) for the contract at a level, the pot aside (G7 to G9, R11, R12, E4)."""
    side = 0 if made else 1
    stake = rules["stake"]
    if level == LEVEL_MISERE:
        return rules["misere"][side] * stake
    if level == LEVEL_WELLINGTON:
        return rules["wellington"][side] * stake
    if level == LEVEL_BLUCHER:
        return rules["blucher"][side] * stake
    bid = bid_at_level(level)
    return bid * stake * (rules["slam"][side] if bid == rules["hand_size"] else 1)


# The end of a deal.


@jit
def _settle(state: Any, rules: Any, void: bool) -> None:
    """Pay the deal (P6, R11 to R16, E4), add it to the scores and see whether the match goes on (C9, §7)."""
    players = rules["players"]
    payoffs = state["payoffs"]
    for seat in range(MAX_PLAYERS):
        payoffs[seat] = -rules["ante"] if seat < players else 0
    if void:
        state["void_run"] += 1
    else:
        state["void_run"] = 0
        state["played"] += 1
        _pay(state, rules, payoffs)
    beyond = state["pot"] > LARGEST_EXACT
    for seat in range(players):
        state["scores"][seat] += payoffs[seat]
        beyond = beyond or abs(state["scores"][seat]) > LARGEST_EXACT
    state["phase"] = NO_DEAL
    state["seat"] = NO_SEAT
    if state["played"] == rules["deals"]:
        state["outcome"] = FINISHED
    elif beyond or state["void_run"] == rules["max_void_deals"]:
        state["outcome"] = TRUNCATED


@jit
def _pay(state: Any, rules: Any, payoffs: Any) -> None:
    """Add what the played deal moves between purses and the pot to `payoffs`."""
    declarer = state["declarer"]
    made = contract_is_made(state, rules)
    if rules["payment"] == POINTS_ONLY:
        if made:
            payoffs[declarer] += state["tricks_won"][declarer]
        return
    pot = state["pot"]
    price = contract_price(rules, state["standing"], made)
    if made:
        share = price
        if state["announced"]:  # R13
            payoffs[declarer] += pot
            state["pot"] = 0
    else:
        share = -price
        if rules["napoleon"] == NAPOLEON_ANNOUNCED:  # R12, R14: what the declarer puts into the pot
            penalty = price
            if state["announced"]:
                penalty = pot
                if rules["napoleon_failed"] == DOUBLE_POT_AND_EACH:
                    share = -pot
            payoffs[declarer] -= penalty
            state["pot"] += penalty
    for seat in range(rules["players"]):
        if seat != declarer:
            payoffs[seat] -= share
            payoffs[declarer] += share


# What a seat may know.


@jit
def hide(state: Any, rules: Any, seat: int) -> None:
    """Blank all that `seat` may not know: other hands, the stock, another's discard and draw, where the deals come from."""
    hand_size = rules["hand_size"]
    state["key"] = 0
    state["match"] = 0
    for other in range(rules["players"]):
        if other != seat:
            state["hand"][other] = 0
    for place in range(N_CARDS):
        if not seat * hand_size <= place < (seat + 1) * hand_size:
            state["cards"][place] = NO_CARD
    if seat != state["declarer"]:
        state["discard"] = NO_CARD
        state["drawn"] = NO_CARD
        for place in range(state["n_log"]):
            if DISCARD <= state["log"][place] < PLAY:
                state["log"][place] = SOME_DISCARD


# All phases.


@jit
def legal(state: Any, rules: Any) -> tuple[int, int, int]:
    """What the seat to move may choose, as (named, cards, base).

    `named` is a bit mask over the action ids below DISCARD, `cards` a bit mask of cards, each standing for the action
    `base + card`. Both are zero when nobody is to act.
    """
    phase = state["phase"]
    if phase == TRICKS:
        return 0, legal_cards(state, rules), PLAY
    if phase == AUCTION:
        return legal_calls(state, rules, state["seat"]), 0, PLAY
    if phase == EXCHANGE:
        return 1 << STAND, state["hand"][state["seat"]], DISCARD
    if phase == CHOOSE_TRUMP:
        return ((1 << rules["suits"]) - 1) << TRUMP, 0, PLAY
    if phase == ANNOUNCE:
        return 1 << NAPOLEON | 1 << NO_NAPOLEON, 0, PLAY
    return 0, 0, PLAY


@jit
def legal_mask(state: Any, rules: Any, mask: Any) -> None:
    """Write the legal actions as ones and all others as zeros into `mask`, int8 of shape (N_ACTIONS,)."""
    mask[:] = 0
    named, cards, base = legal(state, rules)
    while named:
        mask[lowest_bit(named)] = 1
        named &= named - 1
    while cards:
        mask[base + lowest_bit(cards)] = 1
        cards &= cards - 1


@jit
def is_legal(state: Any, rules: Any, action: int) -> bool:
    """Whether the seat to move may choose `action`, an id from 0 to N_ACTIONS - 1."""
    named, cards, base = legal(state, rules)
    if action < DISCARD:
        return (named >> action & 1) == 1
    card = action - base
    return 0 <= card < N_CARDS and (cards >> card & 1) == 1


@jit
def apply(state: Any, rules: Any, action: int) -> None:
    """Carry out a legal action of the seat to move.

    Afterwards another decision is asked, or the deal is paid and over: `phase` is NO_DEAL, and `outcome` tells whether the
    match goes on.
    """
    phase = state["phase"]
    # The end of a deal keeps the log, so the entry is made first; the phases below count it through n_log.
    place = state["n_log"]
    state["log"][place] = action
    state["log_seat"][place] = state["seat"]
    if phase == TRICKS:
        apply_card(state, rules, action)
        state["n_log"] = place + 1
    else:
        state["n_log"] = place + 1
        if phase == AUCTION:
            apply_call(state, rules, action)
        elif phase == EXCHANGE:
            apply_exchange(state, rules, action)
        elif phase == CHOOSE_TRUMP:
            apply_trump(state, rules, action)
        else:
            apply_announce(state, rules, action)


@jit
def play_forced(state: Any, rules: Any) -> bool:
    """Play on while the seat to move has one legal action; whether a choice is asked then, and not the deal over."""
    while state["phase"] != NO_DEAL:
        named, cards, base = legal(state, rules)
        if count_bits(named) + count_bits(cards) != 1:
            return True
        apply(state, rules, lowest_bit(named) if named else base + lowest_bit(cards))
    return False
