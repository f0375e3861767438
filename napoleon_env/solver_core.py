"""The compiled part of the double-dummy solver: one boolean search on an explicit stack, its table and its bounds.

Seats are relative here: 0 is the declarer, 1 … players - 1 the defenders clockwise. Cards are bits in four lanes of 16 bits
(one suit a lane, 13 bits used); the trump suit has the highest lane, so one of two cards that are not both of plain suits
beats the other exactly when its bit is higher. A search asks one question: can the declarer take at least (or exactly)
`need` of the remaining tricks, against defenders who see all cards and cooperate? Values are found by asking it for several
numbers; the answers are kept in a table whose keys name a position up to what cannot matter: suits are relabelled and ranks
are relative to the cards that are left.
"""

from __future__ import annotations

from typing import Any, Final

from napoleon_env.jit import count_bits, highest_bit, jit, lowest_bit
from napoleon_env.notation import MAX_HAND, MAX_PLAYERS, N_RANKS, N_SUITS

LANE: Final = 16
"""Bits a lane: 13 ranks and room for the carries of `distinct`."""
SUIT: Final = (1 << N_RANKS) - 1
LANES: Final = SUIT | SUIT << LANE | SUIT << 2 * LANE | SUIT << 3 * LANE
TRUMP_LANE: Final = 3
TRUMPS: Final = SUIT << TRUMP_LANE * LANE

MAX_KEY_CARDS: Final = 30
"""Positions with more cards than this (the first tricks of six long hands) are not kept in the table."""

KEY_BITS: Final = 60

OPENING: Final = 6
"""In a key in place of the leader: the declarer leads, and must lead a trump."""

# Columns of `frames`: one row a card of the line that is being looked at.
PLAYER, UNTRIED, FIRST, FROM_TOP, CARD, WINNING, WINNER, LED, NEED, LEFT, PLAYED, KEY_LOW, KEY_HIGH, N_COLUMNS = range(14)
MAX_DEPTH: Final = MAX_PLAYERS * MAX_HAND + 2

# Places of `info`: what is asked, and counters.
PLAYERS, TRUMP, MUST, EXACT, NODES, BUDGET, N_INFO = range(7)

UNKNOWN: Final = -1
"""In place of the answer 0 or 1: not seen yet, or the budget of nodes ended first."""


@jit
def distinct(hand: int, others: int) -> int:
    """The lowest card of every run of `hand` that no card of `others` interrupts: equal cards are tried once."""
    holes = LANES & ~(hand | others)
    own = hand | holes
    starts = own & ~(own << 1)
    return ((holes + (starts & holes)) | starts) & hand


@jit
def suit_word(rest: int, owner: Any, lane: int) -> int:
    """Who owns the cards of one suit, from the lowest up, three bits a card under a leading 7; 0 for no cards."""
    cards = rest >> lane * LANE & SUIT
    if cards == 0:
        return 0
    word = 7
    while cards != 0:
        word = word << 3 | owner[lane * LANE + lowest_bit(cards)]
        cards &= cards - 1
    return word


@jit
def join_words(trumps: int, a: int, b: int, c: int, e: int, leader: int) -> tuple[int, int]:
    """The key of a position of which these are the words, plain suits in any order: 63 bits, and 46 for up to 30 cards."""
    if a < b:
        a, b = b, a
    if c < e:
        c, e = e, c
    if a < c:
        a, c = c, a
    if b < e:
        b, e = e, b
    if b < c:
        b, c = c, b
    # The 7 over a plain suit parts it from the one before; the trumps need none. The first 1 marks the length of it all.
    low = trumps ^ 6 << highest_bit(trumps) - 2 if trumps != 0 else 1
    high = 0
    for word in (a, b, c, e):
        if word == 0:
            break
        width = highest_bit(word) + 1
        high = high << width | low >> KEY_BITS - width
        low = (low << width | word) & ((1 << KEY_BITS) - 1)
    return low << 3 | leader, high


@jit
def position_key(rest: int, owner: Any, trump: int, leader: int) -> tuple[int, int]:
    """The position before a trick as two numbers, equal for positions that differ in names of suits and ranks alone."""
    a, b, c = suit_word(rest, owner, 0), suit_word(rest, owner, 1), suit_word(rest, owner, 2)
    last = suit_word(rest, owner, TRUMP_LANE)
    return join_words(last, a, b, c, 0, leader) if trump != 0 else join_words(0, a, b, c, last, leader)


@jit
def row_of(table: Any, low: int, high: int) -> int:
    """The first of the two rows of the table where this key may be."""
    mixed = (low ^ high * 0x9E3779B97F4A7C1) * 0x2545F4914F6CDD1D
    mixed ^= mixed >> 29
    return (mixed * 0x5851F42D4C957F2D >> 20) & (table.shape[0] - 2)


@jit
def top(own: int, others: int) -> int:
    """How many of one suit's cards `own` are above all of `others`."""
    return count_bits(own) if others == 0 else count_bits(own >> highest_bit(others))


@jit
def bounds(hands: Any, owner: Any, info: Any, rest: int, leader: int, left: int, need: int) -> int:
    """1 or 0 where the answer can be seen without a search, else -1; before a trick, with 0 <= need <= left, left > 1.

    A trump wins its trick unless a higher one of the other side falls on it, and one card falls on at most one. So whatever
    is played the declarer takes at least as many tricks as there are trumps left over when each is matched with a higher one
    of the defenders', and so does each defender against the declarer. Who is on lead can besides cash top cards of plain
    suits as long as everyone with a trump must follow.
    """
    n = info[PLAYERS]
    trump = info[TRUMP]
    exact = info[EXACT] != 0
    hand = hands[0]
    trumps = rest & trump
    mine = 0
    theirs = 0  # four bits a seat
    cards = trumps
    while cards != 0:
        holder = owner[lowest_bit(cards)]
        cards &= cards - 1
        if holder == 0:
            mine += 1
            theirs -= (theirs | theirs >> 1 | theirs >> 2 | theirs >> 3) & 0x1111111
        else:
            theirs += 1 << 4 * holder
            if mine > 0:
                mine -= 1
    if mine >= need:
        if not exact:
            return 1
        if mine > need:
            return 0
    losers = 0
    for seat in range(1, n):
        losers = max(losers, theirs >> 4 * seat & 15)
    if left - losers < need:
        return 0
    if exact:
        return -1
    lanes = TRUMP_LANE if trump != 0 else N_SUITS
    if leader == 0:
        possible = mine
        for lane in range(lanes):
            suit = SUIT << lane * LANE
            possible += count_bits(hand & suit)
        if possible < need:
            return -1
        sure = mine
        drawn = top(hand & trumps, trumps & ~hand)
        for lane in range(lanes):
            suit = SUIT << lane * LANE
            own = hand & suit
            run = top(own, rest & suit & ~hand)
            if run > 0:
                longest = 0
                for seat in range(1, n):
                    length = count_bits(hands[seat] & suit)
                    longest = max(longest, length)
                    if count_bits(hands[seat] & trump) > drawn:
                        run = min(run, length)
                        longest = N_RANKS
                if run >= longest:
                    run = count_bits(own)
                sure += run
        return 1 if sure >= need else -1
    hand = hands[leader]
    losers = theirs >> 4 * leader & 15
    if left - losers - count_bits(hand & ~trump) >= need:
        return -1
    if info[MUST] != 0 and n > 2:  # a defender may have to trump another's winner, and so take over the lead
        return -1
    mine = hands[0]
    helpless = mine & trump == 0
    for lane in range(lanes):
        suit = SUIT << lane * LANE
        run = top(hand & suit, rest & suit & ~hand)
        if not helpless:
            run = min(run, count_bits(mine & suit))
        losers += run
    return 0 if left - losers < need else -1


@jit
def last_trick(hands: Any, n: int, player: int, trump: int) -> int:
    """1 if the declarer takes the last trick, to which `player` leads, else 0."""
    winning = hands[player]
    winner = player
    fitting = SUIT << (lowest_bit(winning) >> 4) * LANE | trump
    for _ in range(n - 1):
        player += 1
        if player == n:
            player = 0
        card = hands[player]
        if card > winning and card & fitting != 0:
            winning = card
            winner = player
    return 1 if winner == 0 else 0


@jit
def decided(hands: Any, owner: Any, info: Any, rest: int, player: int, left: int, need: int) -> int:
    """The answer before a trick where no move need be tried, else UNKNOWN."""
    exact = info[EXACT] != 0
    if need > left or need < 0:
        return 0 if need > 0 or exact else 1
    if need == 0 and not exact:
        return 1
    if left == 0:
        return 1
    if left == 1:
        return 1 if last_trick(hands, info[PLAYERS], player, info[TRUMP]) == need else 0
    return bounds(hands, owner, info, rest, player, left, need)


@jit
def followers(hand: int, rest: int, led: int, winning: int, trump: int, must: bool) -> int:
    """The cards that differ among those that may follow (C5, G5, R9)."""
    moves = hand & led
    if moves == 0:
        moves = hand & trump if must else 0
        if moves == 0:
            moves = hand
    return moves & distinct(hand, rest & ~hand | winning)


@jit
def search(frames: Any, hands: Any, owner: Any, table: Any, info: Any, rest: int) -> int:
    """1 if the declarer can take the tricks asked for, 0 if not, UNKNOWN if the budget ended first.

    Row 0 of `frames` is the position: PLAYER to act, NEED, LEFT tricks with the current one, PLAYED cards in it and, where
    that is not 0, WINNING card, WINNER, LED suit's lane. `rest` is all cards in `hands`, which come back as they were, but
    for UNKNOWN.
    """
    n = info[PLAYERS]
    trump = info[TRUMP]
    must = info[MUST] != 0
    exact = info[EXACT] != 0
    rule_bits = 2 * info[EXACT] + info[MUST]
    nodes = info[NODES]
    d = 0
    player = frames[0, PLAYER]
    need = frames[0, NEED]
    left = frames[0, LEFT]
    played = frames[0, PLAYED]
    winning = frames[0, WINNING]
    winner = frames[0, WINNER]
    led = frames[0, LED]
    while True:
        answer = UNKNOWN
        low = high = 0
        if played == 0:
            answer = decided(hands, owner, info, rest, player, left, need)
            if answer == UNKNOWN and left * n <= MAX_KEY_CARDS:
                low, high = position_key(rest, owner, trump, player)
                high = high << 6 | (need << 2 if exact else 0) | rule_bits
                answer = look_up(table, low, high, need, exact)
        if answer == UNKNOWN:
            nodes += 1
            hand = hands[player]
            if played == 0:
                moves = distinct(hand, rest & ~hand)
                first = moves & ~trump
                from_top = player == 0
            else:
                moves = followers(hand, rest, led, winning, trump, must)
                first = moves & (SUIT << (lowest_bit(winning) >> 4) * LANE | trump) & -winning
                from_top = winner != 0
                if player == 0:
                    from_top = played < n - 1
                elif winner != 0 and player <= played:  # the declarer has lost the trick already
                    first = moves & ~first
                    from_top = False
            frames[d, PLAYER] = player
            frames[d, UNTRIED] = moves
            frames[d, FIRST] = first
            frames[d, FROM_TOP] = from_top
            frames[d, WINNING] = winning
            frames[d, WINNER] = winner
            frames[d, LED] = led
            frames[d, NEED] = need
            frames[d, LEFT] = left
            frames[d, PLAYED] = played
            frames[d, KEY_LOW] = low
            frames[d, KEY_HIGH] = high
        else:
            going_back = True
            while going_back:
                if d == 0:
                    info[NODES] = nodes
                    return answer
                d -= 1
                card = frames[d, CARD]
                player = frames[d, PLAYER]
                hands[player] |= card
                rest |= card
                if (player == 0) != (answer == 1) and frames[d, UNTRIED] != 0:
                    going_back = False
                elif frames[d, KEY_LOW] != 0:
                    keep(table, frames[d, KEY_LOW], frames[d, KEY_HIGH], frames[d, LEFT], frames[d, NEED], answer, exact)
            winning = frames[d, WINNING]
            winner = frames[d, WINNER]
            led = frames[d, LED]
            need = frames[d, NEED]
            left = frames[d, LEFT]
            played = frames[d, PLAYED]
        if nodes >= info[BUDGET]:
            info[NODES] = nodes
            return UNKNOWN
        moves = frames[d, UNTRIED]
        first = frames[d, FIRST] & moves
        if first == 0:
            card = moves & -moves
        elif frames[d, FROM_TOP]:
            card = 1 << highest_bit(first)
        else:
            card = first & -first
        frames[d, UNTRIED] = moves ^ card
        frames[d, CARD] = card
        hands[player] ^= card
        rest ^= card
        if played == 0:
            led = SUIT << (lowest_bit(card) >> 4) * LANE
            winning = card
            winner = player
        elif card > winning and card & (SUIT << (lowest_bit(winning) >> 4) * LANE | trump) != 0:
            winning = card
            winner = player
        played += 1
        d += 1
        if played == n:
            played = 0
            left -= 1
            if winner == 0:
                need -= 1
            player = winner
        else:
            player += 1
            if player == n:
                player = 0


# The table: a position's key in one number and a part of another, whose low bits hold what is known of it: twelve bits for
# the tricks left, the fewest tricks that the declarer is known to get and the most; or under EXACT the answer alone.


@jit
def look_up(table: Any, low: int, high: int, need: int, exact: bool) -> int:
    """What the table knows of the question, or UNKNOWN."""
    row = row_of(table, low, high)
    for way in range(row, row + 2):
        if table[way, 0] == low and table[way, 1] >> 12 == high:
            value = table[way, 1]
            if exact:
                return value & 1
            if need <= (value >> 4 & 15):
                return 1
            if need > (value & 15):
                return 0
    return UNKNOWN


@jit
def known_tricks(table: Any, low: int, high: int) -> int:
    """The most tricks in a position whose value is known for sure, or UNKNOWN."""
    row = row_of(table, low, high)
    for way in range(row, row + 2):
        if table[way, 0] == low and table[way, 1] >> 12 == high and table[way, 1] >> 4 & 15 == table[way, 1] & 15:
            return table[way, 1] & 15
    return UNKNOWN


@jit
def keep(table: Any, low: int, high: int, left: int, need: int, answer: int, exact: bool) -> None:
    """Keep an answer: in the row of its key, else in the first of its two unless that holds a longer position."""
    row = row_of(table, low, high)
    least, most = 0, left
    known = -1
    if table[row, 0] == low and table[row, 1] >> 12 == high:
        known = table[row, 1]
    elif table[row + 1, 0] == low and table[row + 1, 1] >> 12 == high:
        row += 1
        known = table[row, 1]
    elif table[row, 0] != 0 and (table[row, 1] >> 8 & 15) > left:
        row += 1
    if known >= 0:
        least = known >> 4 & 15
        most = known & 15
    if exact:  # the number asked for is in the key
        least, most = 0, answer
    elif answer == 1:
        least = max(least, need)
    else:
        most = min(most, need - 1)
    table[row, 0] = low
    table[row, 1] = high << 12 | left << 8 | least << 4 | most
