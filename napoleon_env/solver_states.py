"""The compiled part of the double-dummy solver above the search: tables of many deals, and what every card of a state is worth.

`work` is a solver's room: (frames, hands, owner, table, info, start), all but the last as in `solver_core`; `start` is a row
like those of `frames` and holds the position whose cards are looked at.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env.jit import count_bits, highest_bit, jit, lowest_bit
from napoleon_env.notation import MAX_HAND, MAX_PLAYERS, N_RANKS, N_SUITS, NO_SUIT
from napoleon_env.ruleset import CHOSEN, EXACTLY, MUST_TRUMP, NEVER
from napoleon_env.solver_core import (
    BUDGET,
    EXACT,
    LANE,
    LED,
    LEFT,
    MUST,
    NEED,
    NODES,
    OPENING,
    PLAYED,
    PLAYER,
    PLAYERS,
    SUIT,
    TRUMP,
    TRUMP_LANE,
    TRUMPS,
    UNKNOWN,
    WINNER,
    WINNING,
    distinct,
    join_words,
    keep,
    known_tricks,
    search,
    suit_word,
)

NO_LEAD: Final = -1
"""In a table of tricks: the declarer has no card of that suit to lead."""
NOT_LEGAL: Final = -1
"""In the tricks of `solve_all`: that card may not be played, or has not been looked at."""
NO_BUDGET: Final = 1 << 62

PAYOFF, TRICKS, BOTH = 0, 1, 2
"""Objectives: what `solve_state` finds out."""

MAX_ROOT_CARDS: Final = 12
"""Deals of so few cards are kept in the table too; those of more hardly ever come again."""


@jit
def to_lanes(cards: int, trump: int) -> int:
    """Cards 13 * suit + rank in lanes: the trump suit (with NO_SUIT the last suit) highest, the others in order below it."""
    top_suit = trump if trump != NO_SUIT else N_SUITS - 1
    lanes = (cards >> top_suit * N_RANKS & SUIT) << TRUMP_LANE * LANE
    place = 0
    for suit in range(N_SUITS):
        if suit != top_suit:
            lanes |= (cards >> suit * N_RANKS & SUIT) << place
            place += LANE
    return lanes


@jit
def set_up(deal: Any, declarer: int, trump: int, hands: Any, owner: Any, info: Any) -> int:
    """Write `deal` (hands by seat, as masks of cards) into `hands` and `owner` by relative seat; returns all cards."""
    n = info[PLAYERS]
    info[TRUMP] = TRUMPS if trump != NO_SUIT else 0
    rest = 0
    for seat in range(n):
        hand = to_lanes(deal[(declarer + seat) % n], trump)
        hands[seat] = hand
        rest |= hand
        while hand != 0:
            owner[lowest_bit(hand)] = seat
            hand &= hand - 1
    return rest


@jit
def ask(work: Any, rest: int, need: int, card: int) -> int:
    """`search` with `need` of the tricks left in the position `start`, after its player has played `card` there.

    `rest` and the hand still hold the card.
    """
    frames, hands, owner, table, info, start = work
    n = info[PLAYERS]
    player = start[PLAYER]
    left = start[LEFT]
    played = start[PLAYED]
    winning = start[WINNING]
    winner = start[WINNER]
    led = start[LED]
    hands[player] ^= card
    if played == 0:
        led = SUIT << (lowest_bit(card) >> 4) * LANE
    if played == 0 or (card > winning and card & (SUIT << (lowest_bit(winning) >> 4) * LANE | info[TRUMP]) != 0):
        winning = card
        winner = player
    played += 1
    after = player + 1 if player + 1 < n else 0
    if played == n:
        played = 0
        left -= 1
        if winner == 0:
            need -= 1
        after = winner
    frames[0, PLAYER] = after
    frames[0, NEED] = need
    frames[0, LEFT] = left
    frames[0, PLAYED] = played
    frames[0, WINNING] = winning
    frames[0, WINNER] = winner
    frames[0, LED] = led
    answer = search(frames, hands, owner, table, info, rest ^ card)
    hands[player] ^= card
    return answer


@jit
def best_tricks(work: Any, rest: int, moves: int) -> int:
    """The most tricks that the declarer, on lead with `start[LEFT]` tricks to come, can take with one of the leads `moves`.

    Wrong if the budget of nodes ends.
    """
    _, hands, _, _, _, start = work
    least, most = 0, start[LEFT]
    guess = count_bits(hands[0] & TRUMPS)
    while least < most:
        guess = max(least + 1, min(most, guess))
        cards = moves
        answer = 0
        while cards != 0 and answer == 0:
            card = 1 << highest_bit(cards)
            cards ^= card
            answer = ask(work, rest, guess, card)
        if answer == 1:
            least = guess
            guess += 1
        else:
            most = guess - 1
            guess -= 1
    return least


@jit
def fill_tricks_table(deals: Any, declarer: int, chosen: bool, out: Any, work: Any) -> None:
    """`solver.tricks_table` of many deals: `out` int8 [B, 4]."""
    _, hands, owner, table, info, start = work
    info[EXACT] = 0
    info[BUDGET] = NO_BUDGET
    size = count_bits(deals[0, 0])
    start[PLAYER] = 0
    start[PLAYED] = 0
    start[LEFT] = size
    small = size * info[PLAYERS] <= MAX_ROOT_CARDS
    words = np.zeros(N_SUITS, np.int64)
    low = high = 0
    for deal in range(deals.shape[0]):
        if small:
            rest = set_up(deals[deal], declarer, NO_SUIT, hands, owner, info)
            for suit in range(N_SUITS):
                words[suit] = suit_word(rest, owner, suit)
        for trump in range(N_SUITS):
            if not chosen and deals[deal, declarer] >> trump * N_RANKS & SUIT == 0:
                out[deal, trump] = NO_LEAD
                continue
            if small:
                a, b, c = words[0 if trump > 0 else 1], words[1 if trump > 1 else 2], words[2 if trump > 2 else 3]
                low, high = join_words(words[trump], a, b, c, 0, 0 if chosen else OPENING)
                high = high << 6 | info[MUST]
                known = known_tricks(table, low, high)
                if known != UNKNOWN:
                    out[deal, trump] = known
                    continue
            rest = set_up(deals[deal], declarer, trump, hands, owner, info)
            moves = distinct(hands[0], rest & ~hands[0])
            if not chosen:
                moves &= TRUMPS
            tricks = best_tricks(work, rest, moves)
            if small:
                keep(table, low, high, size, tricks, 1, False)
                keep(table, low, high, size, tricks + 1, 0, False)
            out[deal, trump] = tricks


@jit
def fill_exact_table(deals: Any, declarer: int, trump: int, chosen: bool, number: int, out: Any, work: Any) -> None:
    """`solver.exact_table` of many deals: can exactly `number` tricks be had? `trump` may be NO_SUIT; `out` bool [B]."""
    _, hands, owner, _, info, start = work
    info[EXACT] = 1
    info[BUDGET] = NO_BUDGET
    start[PLAYER] = 0
    start[PLAYED] = 0
    start[LEFT] = count_bits(deals[0, 0])
    for deal in range(deals.shape[0]):
        rest = set_up(deals[deal], declarer, trump, hands, owner, info)
        moves = distinct(hands[0], rest & ~hands[0])
        if not chosen and trump != NO_SUIT:
            moves &= TRUMPS
        answer = 0
        while moves != 0 and answer == 0:
            card = moves & -moves
            moves ^= card
            answer = ask(work, rest, number, card)
        out[deal] = answer == 1


@jit
def payoffs_by_tricks(state: Any, rules: Any, payoffs: Any, out: Any) -> None:
    """Write into `out` what the declarer is paid for each number of tricks in all, the ante left out.

    The amounts come from the rules' own settlement. Where `stop` ends the play at the tricks asked for, more count as those.
    """
    declarer = state["declarer"]
    level = state["standing"]
    won = state["tricks_won"][declarer]
    pot = state["pot"]
    most = rules["hand_size"]
    if rules["stop"] != NEVER and rules["made"] != EXACTLY and level != core.LEVEL_MISERE:
        most = core.tricks_needed(rules, level)
    for tricks in range(rules["hand_size"] + 1):
        for seat in range(MAX_PLAYERS):
            payoffs[seat] = 0
        state["tricks_won"][declarer] = min(tricks, most)
        core._pay(state, rules, payoffs)
        out[tricks] = payoffs[declarer]
        state["pot"] = pot
    state["tricks_won"][declarer] = won


@jit
def solve_card(
    state: Any, rules: Any, objective: int, paid: Any, least: int, guess: int, card: int, rest: int, work: Any
) -> tuple[int, int, bool]:
    """(further tricks, payoff, whether both are final) of one card in lanes; with the budget gone, what is sure.

    `least` further tricks are known already; `guess` is where to begin.
    """
    _, _, _, _, info, start = work
    level = state["standing"]
    won = state["tricks_won"][state["declarer"]]
    needed = core.tricks_needed(rules, level)
    peaked = level == core.LEVEL_MISERE or rules["made"] == EXACTLY
    payoff = paid[won]
    known = True
    if peaked:
        payoff = paid[needed + 1] if needed < rules["hand_size"] else paid[needed - 1]
        if objective != TRICKS and paid[needed] != payoff:
            info[EXACT] = 1
            answer = ask(work, rest, needed - won, card)
            if answer == 1:
                payoff = paid[needed]
            known = answer != UNKNOWN
    elif objective == BOTH:
        guess = needed - won  # so that a search that ends early has asked first whether the contract is made
    most = start[LEFT]
    info[EXACT] = 0
    while least < most and known:
        if objective == PAYOFF:
            if peaked or paid[won + least] == paid[won + most]:
                break
            guess = least + 1
            while paid[won + guess] == paid[won + least]:
                guess += 1
        else:
            guess = max(least + 1, min(most, guess))
        answer = ask(work, rest, guess, card)
        if answer == 1:
            least = guess
            guess += 1
        elif answer == 0:
            most = guess - 1
            guess -= 1
        else:
            known = False
    return least, payoff if peaked else paid[won + least], known


@jit
def solve_state(state: Any, rules: Any, objective: int, tricks: Any, payoffs: Any, known: Any, work: Any) -> None:
    """One state of `solve_all`: what is final already stays, what is not is gone on with."""
    _, hands, owner, _, info, start = work
    n = rules["players"]
    declarer = state["declarer"]
    deal = state["hand"]
    won = state["tricks_won"][declarer]
    paid = np.zeros(MAX_HAND + 1, np.int64)
    payoffs_by_tricks(state, rules, np.zeros(MAX_PLAYERS, np.int64), paid)
    start[PLAYER] = (state["seat"] - declarer) % n
    start[LEFT] = count_bits(deal[state["seat"]])
    start[PLAYED] = state["in_trick"]
    start[WINNER] = (state["winning_seat"] - declarer) % n
    start[WINNING] = 0
    opening = state["n_log"] == state["first_card"] and rules["trump"] != CHOSEN and state["standing"] != core.LEVEL_MISERE
    legal = core.legal_cards(state, rules)
    guess = start[LEFT] // 2
    end = info[BUDGET]
    for suit in range(N_SUITS):
        cards = legal & core.SUIT_CARDS << N_RANKS * suit
        if cards == 0:
            continue
        trump = suit if opening else state["trump"]
        rest = set_up(deal, declarer, trump, hands, owner, info)
        if state["in_trick"] != 0:
            start[WINNING] = to_lanes(1 << state["winning_card"], trump)
            start[LED] = to_lanes(core.SUIT_CARDS << N_RANKS * state["led_suit"], trump)
        hand = hands[start[PLAYER]]
        differ = distinct(hand, rest & ~hand | start[WINNING])
        equal = 0
        while cards != 0:
            place = lowest_bit(cards)
            cards &= cards - 1
            card = to_lanes(1 << place, trump)
            if card & differ == 0:
                tricks[place], payoffs[place], known[place] = tricks[equal], payoffs[equal], known[equal]
                continue
            equal = place
            if tricks[place] != NOT_LEGAL and known[place]:
                continue
            least = tricks[place] - won if tricks[place] != NOT_LEGAL else 0
            info[BUDGET] = info[NODES] + (end - info[NODES]) // count_bits(legal >> place)
            further, payoff, final = solve_card(state, rules, objective, paid, least, guess, card, rest, work)
            tricks[place], payoffs[place], known[place] = won + further, payoff, final
            guess = further
            if not final:  # a search that ends early leaves the hands half played
                set_up(deal, declarer, trump, hands, owner, info)
    info[BUDGET] = end


@jit
def solve_all(states: Any, rules: Any, objective: int, tricks: Any, payoffs: Any, known: Any, work: Any) -> None:
    """`solver.solve_states`: write tricks in all (NOT_LEGAL before), payoffs and whether they are final at the legal cards.

    `states` [B], the others [B, 52]; `states` comes back unchanged. What is left of the budget is shared evenly at every step.
    """
    info = work[4]
    info[PLAYERS] = rules["players"]
    info[MUST] = 1 if rules["void"] == MUST_TRUMP else 0
    end = info[BUDGET]
    for i in range(states.shape[0]):
        info[BUDGET] = info[NODES] + (end - info[NODES]) // (states.shape[0] - i)
        solve_state(states[i], rules, objective, tricks[i], payoffs[i], known[i], work)
    info[BUDGET] = end
