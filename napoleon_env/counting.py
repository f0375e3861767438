"""The counting player's decisions, compiled: how a person bids, exchanges, chooses trump and plays who reckons every chance.

One idea carries all of it: every card of a hand has a chance to take a trick, and a hand is worth the sum of them.

* A card takes its trick unless an opponent holds a higher one of the suit that is guarded long enough to be kept, or is void
  and ruffs. With so many cards unseen, that is simple counting (`_kept`, `_chances`).
* The chances of the cards together say how likely a number of tricks is (`_spread`), and so what a bid is worth.
* A card is played for the chance to take this trick and for what the rest of the hand is then worth.

Nothing is read but the seat's own cards and what is public, and nothing is drawn by lot: the same position always gives the
same decision, on the full state and on a state blanked by `rules.hide`.
"""

from __future__ import annotations

from math import comb
from typing import Any, Final

import numpy as np

from napoleon_env.jit import jit
from napoleon_env.notation import (
    BID,
    BLUCHER,
    DISCARD,
    HOLD,
    MAX_HAND,
    MISERE,
    N_CARDS,
    N_RANKS,
    N_SUITS,
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
from napoleon_env.rules import (
    ANNOUNCE,
    AUCTION,
    CHOOSE_TRUMP,
    EXCHANGE,
    LEVEL_BLUCHER,
    LEVEL_MISERE,
    LEVEL_WELLINGTON,
    NO_CALL,
    SUIT_CARDS,
    bid_at_level,
    contract_price,
    legal_calls,
    legal_cards,
    level_of_bid,
    tricks_needed,
)
from napoleon_env.ruleset import (
    CHOSEN,
    DEALER_PLAYS_ONE,
    DOUBLE_POT_AND_EACH,
    EXACTLY,
    NAPOLEON_ANNOUNCED,
    POINTS_ONLY,
)

_WAYS: Final = np.array([[float(comb(n, k)) for k in range(MAX_HAND + 1)] for n in range(N_CARDS + 1)])
"""`_WAYS[n, k]`: the hands of k cards out of n."""
_COUNT: Final = np.array([bin(cards).count("1") for cards in range(1 << N_RANKS)], np.int64)
"""How many cards are in a bit mask of one suit."""

# What counting can't say. RUFF to HELP were fitted in german with 3 to 5 players, so that the card chosen loses least against
# the double-dummy average of 60 to 100 sampled worlds (20,000 positions); the others say where they are from.
RUFF: Final = 1.0
"""A last small trump's chance to be of use once others have the lead and the hand is void in every side suit."""
OVERRUFF: Final = 0.4
"""How often an opponent with a higher trump is in a position to ruff over it."""
LATE: Final = 0.37
"""What is left of a side card's chance when somebody else has the lead: the suit may never be led."""
EVEN: Final = 0.002
"""What a trick counts that decides nothing, so that of equal cards the better is kept."""
STOPPER: Final = 0.1
"""What a defender's later trick with a side card counts beside one that can be taken now; one with a trump counts full."""
HELP: Final = 0.1
"""How often a partner who plays after the declarer wins what the declarer would win."""
LOW: Final = 0.1
"""How much a defender minds parting with a low card against a declarer who must not take a trick. From 0.02 to 0.2 nothing
changes in duplicate deals (6,000, english); 0.4 and more is worse."""
DANGER: Final = 0.78
"""How often, with one opponent, a card that could be left with the trick is. Measured: made misères against predicted ones."""
DRAW: Final = 0.25
"""How far one exchanged card closes the gap between the worst card's chance and certainty. Measured: duplicate deals, russian
with 4 and 6 players; 0.15 to 0.35 are within 0.02 a deal, 0 and 0.5 lose up to 0.1."""
OTHERS_MAKE: Final = 0.76
"""How often other declarers make their contracts. Measured: 20,000 deals among equals, german with 4 players."""
OTHERS_AGREE: Final = 0.5
"""The same where only the declarer scores. Measured: 20,000 deals among equals, portuguese with 4 players."""
STEEP: Final = 1.8
BOLD: Final = 0.6
"""How the chance that another goes higher falls with the tricks it takes: `_overcalled`. Measured: 5,000 hands for 2 to 6
players give a slope of 1.8 and a middle 0.4 above the average hand; of -0.3, 0, 0.3 and
0.6 the last wins most in duplicate deals."""
SENSIBLE: Final = 0.2
"""The least chance worth a bid where a failed one costs nothing. A judgement: blocking with hopeless bids would win more."""
SURE: Final = 0.8
"""The least chance worth calling over another's bid of all tricks, whose caller must hold something too. A judgement."""


# Counting: what a seat that holds h of the u unseen cards may have. "Special" cards are any s of the u.


@jit
def _none(special: int, h: int, u: int) -> float:
    """The chance that a seat holds none of the special cards."""
    return _WAYS[u - special, h] / _WAYS[u, h]


@jit
def _at_least(number: int, special: int, h: int, u: int, barred: int) -> float:
    """The chance that a seat holds at least so many of the special cards, and none of some `barred` ones among them."""
    ways = 0.0
    for held in range(number, min(special - barred, h) + 1):
        ways += _WAYS[special - barred, held] * _WAYS[u - special, h - held]
    return ways / _WAYS[u, h]


@jit
def _suit_of(cards: int, suit: int) -> int:
    """The ranks of one suit in a mask of cards, as a mask of N_RANKS bits."""
    return cards >> N_RANKS * suit & SUIT_CARDS


@jit
def _n_cards(cards: int) -> int:
    """How many cards are in a mask."""
    n = 0
    for suit in range(N_SUITS):
        n += int(_COUNT[_suit_of(cards, suit)])
    return n


@jit
def _pack(rules: Any) -> int:
    """All cards of the pack as a mask."""
    ranks = SUIT_CARDS >> rules["lowest_rank"] << rules["lowest_rank"]
    cards = 0
    for suit in range(rules["suits"]):
        cards |= ranks << N_RANKS * suit
    return cards


@jit
def _unseen(state: Any, rules: Any, seat: int) -> int:
    """The cards that `seat` has not seen: others' hands, the stock and a discard of another."""
    cards = _pack(rules) & ~state["hand"][seat]
    for place in range(state["n_log"]):
        action = np.int64(state["log"][place])
        if action >= PLAY or (action >= DISCARD and state["log_seat"][place] == seat):
            cards &= ~(1 << (action - PLAY if action >= PLAY else action - DISCARD))
    return cards


# What a hand is worth.


@jit
def _kept(round_: int, n_out: int, barred: int, h: int, u: int, seats: int) -> float:
    """The chance that none of so many seats holds both a barred card of a suit and enough others to keep it to this round."""
    one = _at_least(round_, n_out, h, u, 0) - _at_least(round_, n_out, h, u, barred)
    return (1.0 - one) ** seats


@jit
def _trump_chances(
    hand: int, trump: int, unseen: int, h: int, seats: int, round_: int, late: int, chance: Any
) -> tuple[int, int]:
    """`_chances` of the trumps, `round_` rounds of which are played; returns their number and the rounds the declarer leads."""
    u = _n_cards(unseen)
    own = _suit_of(hand, trump)
    out = _suit_of(unseen, trump)
    n_out = _COUNT[out]
    voids = 0
    for suit in range(N_SUITS):
        if suit != trump and _suit_of(hand, suit) == 0:
            voids += 1
    n = 0
    drawn = round_
    for step in range(N_RANKS):
        rank = N_RANKS - 1 - step
        if not own >> rank & 1:
            continue
        round_ += 1
        higher = _COUNT[out >> (rank + 1)]
        p = _kept(round_, n_out, higher, h, u, seats)
        if p > 0.5:
            drawn += 1
        if late and own & (own - 1) == 0:  # the last trump waits for a ruff
            not_over = (1.0 - OVERRUFF * (1.0 - _none(higher, h, u))) ** seats
            p = max(p, RUFF * voids / (N_SUITS - 1) * not_over)
        chance[n] = p
        n += 1
    return n, drawn


@jit
def _chances(
    hand: int, trump: int, unseen: int, h: int, open_seats: Any, ruffers: Any, now: int, late: int, chance: Any
) -> int:
    """Write each card's chance to take a trick for the declarer into `chance`; returns the number of cards.

    Trumps are thought to be led first, and of every suit the highest card.

    Args:
        hand: the declarer's cards.
        trump: the suit.
        unseen: cards that opponents may hold, `h` each.
        open_seats: how many opponents may still hold the suit, by suit.
        ruffers: how many opponents are known void in the suit and not in trumps, by suit.
        now: a suit whose first round is being played with a card that is not in `hand`, or NO_SUIT.
        late: 1 if another has the lead, so that side cards must wait for their suit to be led.
        chance: float64 of shape (MAX_HAND,), trumps first.
    """
    u = _n_cards(unseen)
    n, drawn = _trump_chances(hand, trump, unseen, h, open_seats[trump], 1 if now == trump else 0, late, chance)
    trumps_out = _COUNT[_suit_of(unseen, trump)]
    can_ruff = _at_least(drawn + 1, trumps_out, h, u, 0)
    for suit in range(N_SUITS):
        own = _suit_of(hand, suit)
        if suit == trump or own == 0:
            continue
        out = _suit_of(unseen, suit)
        n_out = _COUNT[out]
        seats = open_seats[suit]
        round_ = 1 if suit == now else 0
        lead = 0.0 if late else 1.0  # the chance to have the lead when the card's turn comes
        for step in range(N_RANKS):
            rank = N_RANKS - 1 - step
            if not own >> rank & 1:
                continue
            round_ += 1
            p = _kept(round_, n_out, _COUNT[out >> (rank + 1)], h, u, seats)
            short = 1.0 - _at_least(round_, n_out, h, u, 0)
            p *= (1.0 - short * can_ruff) ** min(seats, open_seats[trump]) * (1.0 - can_ruff) ** ruffers[suit]
            chance[n] = p * (lead + (1.0 - lead) * LATE)
            lead *= p
            n += 1
    return n


@jit
def _spread(chance: Any, n: int, spread: Any) -> None:
    """Write the chance of exactly t tricks into `spread[t]`, taking the n cards' chances as independent."""
    spread[:] = 0.0
    spread[0] = 1.0
    for card in range(n):
        p = chance[card]
        for tricks in range(card + 1, 0, -1):
            spread[tricks] = spread[tricks] * (1.0 - p) + spread[tricks - 1] * p
        spread[0] *= 1.0 - p


@jit
def _dangers(rules: Any, hand: int, unseen: int, h: int, open_seats: Any, chance: Any) -> int:
    """Write each card's chance to be left with a trick nobody wants into `chance`; returns the number of cards.

    The lowest card of a suit is thought to be played in its first round. It takes the trick if every opponent gets under it
    or is void; if all are void nobody can lead the suit.
    """
    u = _n_cards(unseen)
    led = DANGER / np.sqrt(rules["players"] - 1.0)
    n = 0
    for suit in range(N_SUITS):
        own = _suit_of(hand, suit)
        out = _suit_of(unseen, suit)
        n_out = _COUNT[out]
        round_ = 0
        for rank in range(N_RANKS):
            if own >> rank & 1:
                round_ += 1
                lower = _COUNT[out & ((1 << rank) - 1)]
                stuck = _at_least(round_, n_out, h, u, lower)
                short = 1.0 - _at_least(round_, n_out, h, u, 0)
                chance[n] = led * ((1.0 - stuck) ** open_seats[suit] - short ** open_seats[suit])
                n += 1
    return n


@jit
def _stoppers(hand: int, trump: int, unseen: int, h: int, declarer_voids: int) -> float:
    """What a defender's cards are worth: the tricks they may still take from a declarer who holds `h` cards.

    A card takes its trick when the declarer holds no more higher ones than the defender has smaller cards to give to them: a
    king needs one guard, a queen two.
    """
    u = _n_cards(unseen)
    worth = 0.0
    for suit in range(N_SUITS):
        own = _suit_of(hand, suit)
        if own == 0:
            continue
        out = _suit_of(unseen, suit)
        n_out = _COUNT[out]
        if declarer_voids >> suit & 1:
            continue
        guards = _COUNT[own]
        for step in range(N_RANKS):
            rank = N_RANKS - 1 - step
            if not own >> rank & 1:
                continue
            guards -= 1
            higher = _COUNT[out >> (rank + 1)]
            p = _at_least(_COUNT[own] - guards, n_out - higher, h, u, 0) * (1.0 - _at_least(guards + 1, higher, h, u, 0))
            worth += p if suit == trump else STOPPER * p
    return worth


@jit
def _lowness(hand: int, unseen: int) -> float:
    """How low a hand is: for each card the part of the unseen ones of its suit that are higher."""
    low = 0.0
    for card in range(N_CARDS):
        if hand >> card & 1:
            out = _suit_of(unseen, card // N_RANKS)
            low += float(_COUNT[out >> (card % N_RANKS + 1)] / (_COUNT[out] + 1.0))
    return low


# The tricks.


@jit
def _wins(card: int, winning_card: int, trump: int) -> bool:
    """Whether `card` beats the card that is winning the trick (C6)."""
    if winning_card == NO_CARD:
        return True
    suit = card // N_RANKS
    if suit == winning_card // N_RANKS:
        return card > winning_card
    return suit == trump


@jit
def _can_beat(winning_card: int, led_suit: int, trump: int, unseen: int, h: int, voids: int) -> float:
    """The chance that a seat yet to play, with `h` cards and these known voids, can beat the winning card."""
    u = _n_cards(unseen)
    suit = winning_card // N_RANKS
    out = _suit_of(unseen, suit)
    higher = _COUNT[out >> (winning_card % N_RANKS + 1)]
    if suit == led_suit:
        void = voids >> suit & 1
        p = 0.0 if void else 1.0 - _none(higher, h, u)
        if trump != NO_SUIT and suit != trump and not voids >> trump & 1:
            n_out = _COUNT[out]
            trumps_out = _COUNT[_suit_of(unseen, trump)]
            if void:
                p += 1.0 - _none(trumps_out, h, u)
            else:
                p += _none(n_out, h, u) - _none(n_out + trumps_out, h, u)
        return p
    # A ruff is winning: only a higher trump of a seat that is void too beats it.
    if voids >> suit & 1:
        return 0.0
    if voids >> led_suit & 1:
        return 1.0 - _none(higher, h, u)
    n_out = _COUNT[_suit_of(unseen, led_suit)]
    return _none(n_out, h, u) - _none(n_out + higher, h, u)


@jit
def _can_duck(winning_card: int, led_suit: int, unseen: int, h: int, voids: int) -> float:
    """The chance that a seat yet to play can stay under the winning card: with a lower one of the suit led, or void in it."""
    if voids >> led_suit & 1 or winning_card // N_RANKS != led_suit:
        return 1.0
    u = _n_cards(unseen)
    out = _suit_of(unseen, led_suit)
    lower = _COUNT[out & ((1 << winning_card % N_RANKS) - 1)]
    return 1.0 - (_none(lower, h, u) - _none(_COUNT[out], h, u))


@jit
def _must_not_win(rules: Any, level: int, need: int) -> bool:
    """Whether the declarer, who needs `need` more tricks, is to lose all that are left: misère, or an exact number reached."""
    return level == LEVEL_MISERE or (rules["made"] == EXACTLY and need <= 0)


@jit
def _goal(rules: Any, spread: Any, n: int, level: int, need: int) -> float:
    """What a spread of the n tricks to come is worth to a declarer who needs `need` more of them."""
    if rules["made"] == EXACTLY:
        return spread[need] if 0 <= need <= n else 0.0
    worth = 0.0
    expected = 0.0
    taken = tricks_needed(rules, level) - need
    for tricks in range(n + 1):
        expected += tricks * spread[tricks]
        if tricks >= need:
            worth += spread[tricks] * (taken + tricks if rules["payment"] == POINTS_ONLY else 1)
    return worth + EVEN * expected


@jit
def _declarer_takes(state: Any, rules: Any, seat: int, card: int, trump: int, unseen: int, h: int, duck: bool) -> float:
    """The chance that the declarer at `seat`, with `h` cards, takes the trick with `card`; `duck`: against opponents' will."""
    if not _wins(card, state["winning_card"], trump):
        return 0.0
    led_suit = state["led_suit"] if state["in_trick"] else card // N_RANKS
    p = 1.0
    for step in range(1, rules["players"] - state["in_trick"]):
        voids = np.int64(state["void_suits"][(seat + step) % rules["players"]])
        if duck:
            p *= _can_duck(card, led_suit, unseen, h, voids)
        else:
            p *= 1.0 - _can_beat(card, led_suit, trump, unseen, h, voids)
    return p


@jit
def _declarers_card(state: Any, rules: Any, seat: int, cards: int) -> int:
    """The declarer's card: the best for the contract, this trick and the rest of the hand together.

    The first lead fixes trump where it was not chosen (G4), so each of its suits is tried as trump.
    """
    level = state["standing"]
    need = tricks_needed(rules, level) - np.int64(state["tricks_won"][seat])
    duck = _must_not_win(rules, level, need)
    hand = np.int64(state["hand"][seat])
    h = _n_cards(hand)
    unseen = _unseen(state, rules, seat)
    trump = state["trump"]
    leading = state["in_trick"] == 0
    opens_trump = leading and trump == NO_SUIT and level != LEVEL_MISERE
    open_seats = np.zeros(N_SUITS, np.int64)
    ruffers = np.zeros(N_SUITS, np.int64)
    for other in range(rules["players"]):
        if other != seat:
            voids = np.int64(state["void_suits"][other])
            for suit in range(N_SUITS):
                if not voids >> suit & 1:
                    open_seats[suit] += 1
                elif trump != NO_SUIT and not voids >> trump & 1:
                    ruffers[suit] += 1
    chance = np.zeros(MAX_HAND)
    spread = np.zeros(MAX_HAND + 1)
    best_card = NO_CARD
    best = -1.0
    for card in range(N_CARDS):
        if not cards >> card & 1:
            continue
        if opens_trump:
            trump = card // N_RANKS
        rest = hand & ~(1 << card)
        p = _declarer_takes(state, rules, seat, card, trump, unseen, h, duck)
        if duck:
            n = _dangers(rules, rest, unseen, h - 1, open_seats, chance)
            value = 1.0 - p
            for i in range(n):
                value *= 1.0 - chance[i]
        else:
            now = card // N_RANKS if leading else NO_SUIT
            held = h if leading else h - 1
            value = EVEN * p
            for lost in range(2):
                weight = 1.0 - p if lost else p
                if weight > 0.0:
                    n = _chances(rest, trump, unseen, held, open_seats, ruffers, now, lost, chance)
                    _spread(chance, n, spread)
                    value += weight * _goal(rules, spread, n, level, need - 1 + lost)
        if value > best or (leading and value == best):  # of equals the highest is led, the lowest followed with
            best = value
            best_card = card
    return best_card


@jit
def _declarer_gets(state: Any, rules: Any, seat: int, card: int, unseen: int, h: int, duck: bool) -> float:
    """The chance that the trick is the declarer's if the defender at `seat`, with `h` cards, plays `card`.

    `duck`: the defenders want it to be; else they beat the declarer where they can.
    """
    players = rules["players"]
    declarer = state["declarer"]
    trump = state["trump"]
    led_suit = state["led_suit"] if state["in_trick"] else card // N_RANKS
    winning_card = state["winning_card"]
    winner = state["winning_seat"]
    if _wins(card, winning_card, trump):
        winning_card = card
        winner = seat
    declarer_played = state["trick"][declarer] != NO_CARD
    if declarer_played and winner != declarer:
        return 0.0  # a partner has it already, or this card takes it
    p = 1.0
    after = declarer_played
    for step in range(1, players - state["in_trick"]):
        other = (seat + step) % players
        voids = np.int64(state["void_suits"][other])
        if other == declarer:
            after = True
            if duck:
                p *= 1.0 - _can_duck(winning_card, led_suit, unseen, h, voids)
            else:
                p *= _can_beat(winning_card, led_suit, trump, unseen, h, voids)
        elif after and not declarer_played:
            p *= 1.0 - HELP
        elif after and duck:
            p *= _can_duck(winning_card, led_suit, unseen, h, voids)
        elif after:
            p *= 1.0 - _can_beat(winning_card, led_suit, trump, unseen, h, voids)
    return p


@jit
def _defenders_card(state: Any, rules: Any, seat: int, cards: int) -> int:
    """A defender's card.

    Against most contracts: take the trick from the declarer, as cheaply as possible and never from a partner without need, and
    keep what may stop a later one. Against a declarer who must not take another trick: stay low and let it be the declarer's.
    """
    declarer = state["declarer"]
    level = state["standing"]
    need = tricks_needed(rules, level) - np.int64(state["tricks_won"][declarer])
    duck = _must_not_win(rules, level, need)
    hand = np.int64(state["hand"][seat])
    h = _n_cards(hand)
    unseen = _unseen(state, rules, seat)
    trump = state["trump"]
    declarer_voids = np.int64(state["void_suits"][declarer])
    best_card = NO_CARD
    best = -1.0
    for card in range(N_CARDS):
        if not cards >> card & 1:
            continue
        rest = hand & ~(1 << card)
        p = _declarer_gets(state, rules, seat, card, unseen, h, duck)
        value = p + LOW * _lowness(rest, unseen)
        if not duck:
            value = 1.0 - p + _stoppers(rest, trump, unseen, h - 1, declarer_voids)
        if value > best:
            best = value
            best_card = card
    return best_card


# Before the tricks.


@jit
def _fresh_chances(rules: Any, hand: int, trump: int, unseen: int, chance: Any) -> int:
    """`_chances` before any lead."""
    open_seats = np.zeros(N_SUITS, np.int64)
    open_seats[:] = rules["players"] - 1
    ruffers = np.zeros(N_SUITS, np.int64)
    # int64(), here and below: numba compiles a function anew for a literal argument, which costs seconds.
    return _chances(hand, trump, unseen, rules["hand_size"], open_seats, ruffers, np.int64(NO_SUIT), np.int64(0), chance)


@jit
def _spreads(rules: Any, hand: int, unseen: int, draws: int, spreads: Any) -> None:
    """Write into `spreads[suit, t]` the chance of exactly t tricks for a declarer with that suit as trump, before any lead.

    `draws`: 1 if a card is still to be exchanged. A suit that can't be trump is left at zero.
    """
    chance = np.zeros(MAX_HAND)
    spreads[:] = 0.0
    for suit in range(rules["suits"]):
        if _suit_of(hand, suit) == 0 and rules["trump"] != CHOSEN:
            continue
        n = _fresh_chances(rules, hand, suit, unseen, chance)
        if draws:
            worst = 0
            for card in range(1, n):
                if chance[card] < chance[worst]:
                    worst = card
            chance[worst] += (1.0 - chance[worst]) * DRAW
        _spread(chance, n, spreads[suit])


@jit
def _p_misere(rules: Any, hand: int, unseen: int) -> float:
    """The chance to lose every trick with this hand."""
    open_seats = np.zeros(N_SUITS, np.int64)
    open_seats[:] = rules["players"] - 1
    chance = np.zeros(MAX_HAND)
    n = _dangers(rules, hand, unseen, rules["hand_size"], open_seats, chance)
    p = 1.0
    for card in range(n):
        p *= 1.0 - chance[card]
    return p


@jit
def _p_made(rules: Any, hand: int, unseen: int, spreads: Any, level: int) -> float:
    """The chance to make the contract at a level, with the trump suit that is best for it."""
    if level == LEVEL_MISERE:
        return _p_misere(rules, hand, unseen)
    tricks = tricks_needed(rules, level)
    best = 0.0
    for suit in range(N_SUITS):
        p = spreads[suit, tricks]
        if rules["made"] != EXACTLY:
            for more in range(tricks + 1, rules["hand_size"] + 1):
                p += spreads[suit, more]
        best = max(best, p)
    return best


@jit
def _declaring(state: Any, rules: Any, level: int, p: float) -> float:
    """What the contract at a level, made with chance `p`, is worth to its declarer; a void deal is worth 0."""
    if rules["payment"] == POINTS_ONLY:
        return p * tricks_needed(rules, level)
    defenders = rules["players"] - 1
    lost = contract_price(rules, level, False)
    value = p * contract_price(rules, level, True) * defenders - (1.0 - p) * lost * defenders
    if rules["napoleon"] == NAPOLEON_ANNOUNCED:
        value -= (1.0 - p) * lost  # R12
        if level == level_of_bid(rules["hand_size"]):
            value += max(_announcing(state, rules, level, p), 0.0)
    return value


@jit
def _announcing(state: Any, rules: Any, level: int, p: float) -> float:
    """What announcing Napoleon adds for a declarer who takes all tricks with chance `p`: the pot, won or doubled (R13, R14)."""
    pot = np.float64(state["pot"])
    more = pot - contract_price(rules, level, False)
    if rules["napoleon_failed"] == DOUBLE_POT_AND_EACH:
        more *= rules["players"]
    return p * pot - (1.0 - p) * more


@jit
def _defending(rules: Any, level: int) -> float:
    """What another's contract at a level is worth to a defender."""
    if rules["payment"] == POINTS_ONLY:
        return -OTHERS_AGREE * tricks_needed(rules, level) / (rules["players"] - 1)
    won = contract_price(rules, level, True)
    lost = contract_price(rules, level, False)
    return (1.0 - OTHERS_MAKE) * lost - OTHERS_MAKE * won


@jit
def _average_hand(rules: Any) -> float:
    """How many tricks an average hand is worth with its best trump. Measured: 5,000 hands each in 14 rule sets, within 0.4."""
    return rules["hand_size"] * 1.6 / (rules["players"] + 0.4)


@jit
def _overcalled(rules: Any, level: int, seats: int) -> float:
    """The chance that one of so many seats goes above a call at this level; NO_CALL: that one of them calls at all."""
    if rules["payment"] == POINTS_ONLY:
        return 0.0  # there a bid says what the hand is worth
    lowest = 4 if level == LEVEL_MISERE else max(rules["min_bid"], bid_at_level(level) + 1)
    if level >= LEVEL_WELLINGTON or lowest > rules["hand_size"]:
        return 0.0
    one = 1.0 / (1.0 + np.exp(STEEP * (lowest - _average_hand(rules) - BOLD)))
    return 1.0 - (1.0 - one) ** seats


@jit
def _passing(state: Any, rules: Any, seat: int, others: int) -> float:
    """What passing is worth while so many others may still call."""
    standing = state["standing"]
    if standing != NO_CALL:
        return _defending(rules, standing)
    likely = min(max(np.int64(_average_hand(rules) + 1.2), rules["min_bid"]), rules["hand_size"])
    over = _overcalled(rules, standing, others)
    value = over * _defending(rules, level_of_bid(likely))
    if rules["all_pass"] == DEALER_PLAYS_ONE and seat != state["dealer"]:
        value += (1.0 - over) * _defending(rules, level_of_bid(1))
    return value


@jit
def _level_of_call(call: int, standing: int) -> int:
    """The level that a call takes the auction to."""
    if call == HOLD:
        return standing
    if call == MISERE:
        return LEVEL_MISERE
    if call == WELLINGTON:
        return LEVEL_WELLINGTON
    if call == BLUCHER:
        return LEVEL_BLUCHER
    return level_of_bid(call - BID)


@jit
def _call(state: Any, rules: Any, seat: int) -> int:
    """The call with the best prospects: what it pays if it stands, what defending costs if it is overcalled.

    Defending costs, so a contract may be worth bidding that loses a little.
    """
    calls = legal_calls(state, rules, seat)
    hand = np.int64(state["hand"][seat])
    unseen = _pack(rules) & ~hand
    spreads = np.zeros((N_SUITS, MAX_HAND + 1))
    _spreads(rules, hand, unseen, rules["exchange"], spreads)
    standing = state["standing"]
    others = np.int64(0)
    for other in range(rules["players"]):
        # Who has the highest call speaks again only when overcalled, and then this seat's call is in question too.
        if other != seat and not state["silent"] >> other & 1 and other != state["declarer"]:
            others += 1
    best_call = PASS
    best = _passing(state, rules, seat, others)
    if standing == NO_CALL and rules["all_pass"] == DEALER_PLAYS_ONE and seat == state["dealer"]:
        p = _p_made(rules, hand, unseen, spreads, level_of_bid(1))
        best += (1.0 - _overcalled(rules, standing, others)) * _declaring(state, rules, level_of_bid(1), p)
    for call in range(BID + 1, BLUCHER + 1):
        if not calls >> call & 1:
            continue
        level = _level_of_call(call, standing)
        p = _p_made(rules, hand, unseen, spreads, level)
        if p < (SURE if level >= LEVEL_WELLINGTON else SENSIBLE if rules["payment"] == POINTS_ONLY else 0.0):
            continue
        over = _overcalled(rules, level, others)
        value = (1.0 - over) * _declaring(state, rules, level, p) + over * _defending(rules, level)
        if value > best:
            best = value
            best_call = call
    return best_call


@jit
def _best_trump(rules: Any, spreads: Any, level: int) -> int:
    """The suit with the best prospects for the contract at a level; the first of equals."""
    best = -1.0
    best_suit = 0
    for suit in range(rules["suits"]):
        value = _goal(rules, spreads[suit], rules["hand_size"], level, tricks_needed(rules, level))
        if value > best:
            best = value
            best_suit = suit
    return best_suit


@jit
def _prospects(rules: Any, hand: int, unseen: int, trump: int, level: int) -> float:
    """What a declarer's hand is worth for the contract at a level with a trump suit already in mind."""
    if level == LEVEL_MISERE:
        return _p_misere(rules, hand, unseen)
    chance = np.zeros(MAX_HAND)
    spread = np.zeros(MAX_HAND + 1)
    n = _fresh_chances(rules, hand, trump, unseen, chance)
    _spread(chance, n, spread)
    return _goal(rules, spread, n, level, tricks_needed(rules, level))


@jit
def _exchange(state: Any, rules: Any, seat: int) -> int:
    """Discard the card that the hand misses least, if the average card drawn makes it better than standing (R7)."""
    hand = np.int64(state["hand"][seat])
    unseen = _pack(rules) & ~hand
    level = state["standing"]
    trump = NO_SUIT
    if level != LEVEL_MISERE:
        spreads = np.zeros((N_SUITS, MAX_HAND + 1))
        _spreads(rules, hand, unseen, rules["exchange"], spreads)
        trump = _best_trump(rules, spreads, level)
    best_action = STAND
    best = _prospects(rules, hand, unseen, trump, level)
    for card in range(N_CARDS):
        if not hand >> card & 1:
            continue
        total = 0.0
        for drawn in range(N_CARDS):
            if unseen >> drawn & 1:
                total += _prospects(rules, hand & ~(1 << card) | 1 << drawn, unseen & ~(1 << drawn), trump, level)
        value = total / _n_cards(unseen)
        if value > best:
            best = value
            best_action = DISCARD + card
    return best_action


@jit
def counting_action(state: Any, rules: Any, seat: int) -> int:
    """The action id that counting chooses for `seat`, which must be the seat to act.

    `state` and `rules` are records of dtype `rules.STATE` and `ruleset.RULESET`. Reads only what that seat may know, so a full
    state and a blanked one give the same answer; changes nothing; may be called from compiled loops.
    """
    phase = state["phase"]
    if phase == AUCTION:
        return _call(state, rules, seat)
    if phase == EXCHANGE:
        return _exchange(state, rules, seat)
    if phase in (ANNOUNCE, CHOOSE_TRUMP):
        hand = np.int64(state["hand"][seat])
        unseen = _unseen(state, rules, seat)
        level = state["standing"]
        spreads = np.zeros((N_SUITS, MAX_HAND + 1))
        _spreads(rules, hand, unseen, rules["exchange"] if phase == ANNOUNCE else 0, spreads)
        if phase == CHOOSE_TRUMP:
            return TRUMP + _best_trump(rules, spreads, level)
        p = _p_made(rules, hand, unseen, spreads, level)
        return NAPOLEON if _announcing(state, rules, level, p) > 0.0 else NO_NAPOLEON
    cards = legal_cards(state, rules)
    if seat == state["declarer"]:
        return PLAY + _declarers_card(state, rules, seat, cards)
    return PLAY + _defenders_card(state, rules, seat, cards)
