"""The rule-of-thumb player's decisions, compiled: the few rules that a sensible person plays by without reckoning.

* Count tricks: the highest card of a suit is most of one, the next highest a third of one, a long trump half of one. Call what
  the count comes near (`HOPE`), no more.
* Lead what cannot be beaten, the declarer trumps first; otherwise high.
* As the declarer, win what can be won. As a defender, take from the declarer as cheaply as will do, and leave a trick that
  another defender holds. Otherwise throw the lowest card.
* To lose (a misère, or a contract already full): stay as high as is still safe, otherwise low.

Nothing is read but the seat's own cards and what is public. The same position always gives the same decision.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env.jit import count_bits, jit, lowest_bit
from napoleon_env.notation import (
    BID,
    BLUCHER,
    DISCARD,
    HOLD,
    MISERE,
    N_RANKS,
    NAPOLEON,
    NO_CARD,
    NO_NAPOLEON,
    NO_SUIT,
    PASS,
    PLAY,
    STAND,
    TRUMP,
    WELLINGTON,
)
from napoleon_env.ruleset import EXACTLY, POINTS_ONLY

HOPE: Final = 2.25
"""What one may hope for beyond the count, the less the more opponents there are: with n opponents HOPE / n of a trick."""
LOW_RANK: Final = 5
"""A 7 or less is a low card."""


@jit
def _of_suit(cards: int, suit: int) -> int:
    """The cards of a mask that are of one suit."""
    return cards & core.SUIT_CARDS << N_RANKS * suit


@jit
def _without(cards: int, suit: int) -> int:
    """The cards that are not of a suit, or all where there are no others; NO_SUIT takes none away."""
    others = cards if suit == NO_SUIT else cards & ~(core.SUIT_CARDS << N_RANKS * suit)
    return others if others else cards


@jit
def _lowest(cards: int) -> int:
    """The card of the lowest rank; of equals the one of the first suit."""
    best = NO_CARD
    while cards:
        card = lowest_bit(cards)
        cards &= cards - 1
        if best == NO_CARD or card % N_RANKS < best % N_RANKS:
            best = card
    return best


@jit
def _highest(cards: int) -> int:
    """The card of the highest rank; of equals the one of the last suit."""
    best = NO_CARD
    while cards:
        card = lowest_bit(cards)
        cards &= cards - 1
        if best == NO_CARD or card % N_RANKS >= best % N_RANKS:
            best = card
    return best


@jit
def _higher_out(known: int, card: int) -> int:
    """How many higher cards of a card's suit are not among the `known` ones."""
    above = core.SUIT_CARDS & ~((1 << (card % N_RANKS + 1)) - 1)
    return count_bits(above & ~(known >> N_RANKS * (card // N_RANKS)))


@jit
def _worth(hand: int, card: int, trump: int) -> float:
    """What a card counts for its declarer, in tricks."""
    suit = card // N_RANKS
    higher = _higher_out(hand, card)
    length = count_bits(_of_suit(hand, suit))
    if suit == trump:
        if higher == 0:
            return 1.0
        if higher == 1 and length >= 2:
            return 0.75
        return 0.5 if length >= 3 else 0.25
    longer = _of_suit(hand, suit) >> card > 1  # a higher card of the suit is in the hand too
    if higher == 0 and not longer:
        return 0.75
    return 0.35 if higher <= 1 and length >= 2 else 0.0


@jit
def _count(hand: int, trump: int) -> float:
    """The tricks that a declarer with this hand and trump may count on."""
    total = 0.0
    rest = hand
    while rest:
        total += _worth(hand, lowest_bit(rest), trump)
        rest &= rest - 1
    return total


@jit
def _best_suit(rules: Any, hand: int) -> int:
    """The suit with the highest count as trump; of equals the longest."""
    best = NO_SUIT
    most = -1.0
    for suit in range(rules["suits"]):
        length = count_bits(_of_suit(hand, suit))
        count = _count(hand, suit) + 0.01 * length
        if length > 0 and count > most:
            best, most = suit, count
    return best


@jit
def _call(state: Any, rules: Any, seat: int) -> int:
    """The lowest call that raises the auction, if the hand comes near it; otherwise pass."""
    hand = state["hand"][seat]
    legal = core.legal_calls(state, rules, seat)
    hope = HOPE / (rules["players"] - 1)
    if rules["payment"] == POINTS_ONLY:
        hope += 1.0  # a failed bid costs nothing
    count = _count(hand, _best_suit(rules, hand)) + hope
    full = rules["hand_size"]
    if legal >> HOLD & 1 and state["standing"] != core.LEVEL_MISERE:
        needed = core.tricks_needed(rules, state["standing"])
        return HOLD if count >= needed else PASS
    if legal >> MISERE & 1 and count < 3 and _is_low(hand):
        return MISERE
    for call in (WELLINGTON, BLUCHER):
        if legal >> call & 1:
            return call if count - hope >= full else PASS
    for tricks in range(1, full + 1):
        if legal >> (BID + tricks) & 1:
            if count < tricks:
                return PASS
            if rules["made"] == EXACTLY:  # what is bid must come out, so say at once what the hand is worth
                return BID + min(full, int(count))
            return BID + tricks
    return PASS


@jit
def _is_low(hand: int) -> bool:
    """Whether every card is low, or guarded by two lower ones of its suit."""
    rest = hand
    while rest:
        card = lowest_bit(rest)
        rest &= rest - 1
        below = _of_suit(hand, card // N_RANKS) & ((1 << card) - 1)
        if card % N_RANKS > LOW_RANK and count_bits(below) < 2:
            return False
    return True


@jit
def _exchange(state: Any, rules: Any, seat: int) -> int:
    """Lay away the lowest card that counts nothing, if there is one; in a misère the highest card that is not low."""
    hand = state["hand"][seat]
    if state["standing"] == core.LEVEL_MISERE:
        highest = _highest(hand)
        return DISCARD + highest if highest % N_RANKS > LOW_RANK else STAND
    trump = _best_suit(rules, hand)
    idle = 0
    rest = hand
    while rest:
        card = lowest_bit(rest)
        rest &= rest - 1
        if _worth(hand, card, trump) == 0.0:
            idle |= 1 << card
    return DISCARD + _lowest(idle) if idle else STAND


@jit
def _lead(state: Any, rules: Any, seat: int, cards: int, lose: bool) -> int:
    """The card to lead."""
    trump = state["trump"]
    declares = seat == state["declarer"]
    if lose:
        return _lowest(cards)
    if declares and trump == NO_SUIT and state["standing"] != core.LEVEL_MISERE:
        return _highest(_of_suit(cards, _best_suit(rules, cards)))
    known = state["hand"][seat] | _gone(state)
    sure = 0
    rest = cards
    while rest:
        card = lowest_bit(rest)
        rest &= rest - 1
        if _higher_out(known, card) == 0:
            sure |= 1 << card
    trumps = _of_suit(cards, trump) if trump != NO_SUIT else 0
    if declares and trumps & sure:
        return _highest(trumps & sure)
    if sure:
        return _highest(_without(sure, trump))
    if declares and count_bits(trumps) >= 2:
        return _highest(trumps)
    return _highest(_without(cards, trump))


@jit
def _gone(state: Any) -> Any:
    """The cards played in this deal."""
    cards = 0
    for entry in range(state["first_card"], state["n_log"]):
        cards |= 1 << (np.int64(state["log"][entry]) - PLAY)
    return cards


@jit
def _follow(state: Any, rules: Any, seat: int, cards: int, lose: bool) -> Any:
    """The card to play to a trick that another has led."""
    trump, declarer = state["trump"], state["declarer"]
    best = state["winning_card"]
    winners = 0
    rest = cards
    while rest:
        card = lowest_bit(rest)
        rest &= rest - 1
        if card > best if card // N_RANKS == best // N_RANKS else card // N_RANKS == trump:
            winners |= 1 << card
    losers = cards & ~winners
    if lose:
        return _highest(losers) if losers else _lowest(cards)
    last = state["in_trick"] == rules["players"] - 1
    if seat == declarer:
        wanted = winners != 0
        cheap = last
    elif state["trick"][declarer] == NO_CARD:  # the declarer is still to play: second-rate winners are worth topping
        wanted = winners != 0 and _higher_out(state["hand"][seat] | _gone(state), best) > 0
        cheap = False
    else:
        wanted = winners != 0 and state["winning_seat"] == declarer
        cheap = True
    if wanted:
        plain = _without(winners, trump)
        ruffs = trump != NO_SUIT and _of_suit(plain, trump) != 0 and state["led_suit"] != trump
        return _lowest(plain) if cheap or ruffs else _highest(plain)
    return _lowest(_without(losers if losers else cards, trump))


@jit
def _card(state: Any, rules: Any, seat: int) -> int:
    """The card to play."""
    cards = core.legal_cards(state, rules)
    level = state["standing"]
    won = np.int64(state["tricks_won"][state["declarer"]])
    full = rules["made"] == EXACTLY and won >= core.tricks_needed(rules, level)
    declarer_loses = level == core.LEVEL_MISERE or full
    if seat != state["declarer"] and declarer_loses:
        return _lowest(cards)  # the declarer is to be left with the trick
    if state["in_trick"] == 0:
        return _lead(state, rules, seat, cards, declarer_loses)
    return _follow(state, rules, seat, cards, declarer_loses)


@jit
def thumb_action(state: Any, rules: Any, seat: int) -> int:
    """The id of the action that the rules of thumb choose for `seat`, which is to act."""
    phase = state["phase"]
    if phase == core.AUCTION:
        return _call(state, rules, seat)
    hand = state["hand"][seat]
    if phase == core.ANNOUNCE:
        return NAPOLEON if _count(hand, _best_suit(rules, hand)) >= rules["hand_size"] - 0.5 else NO_NAPOLEON
    if phase == core.EXCHANGE:
        return _exchange(state, rules, seat)
    if phase == core.CHOOSE_TRUMP:
        return TRUMP + _best_suit(rules, hand)
    return PLAY + _card(state, rules, seat)
