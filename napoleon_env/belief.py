"""Worlds: complete deals that agree with all that one seat knows, drawn uniformly or by how likely a player's decisions were.

A world fixes what is hidden from the seat: the hands, the order of the stock, the card that another declarer laid away and the
one he drew for it. It agrees when every card the seat has seen is where it was seen and replaying the deal from it is legal at
every step. For the cards still held that means exactly: nobody holds a suit that he has shown not to hold (`void_suits`: C5,
R9). The card laid away is under no such rule, for it left the hand before the first trick.

Uniform worlds are exact, without rejection. Seats that are void in the same suits form a group; how many cards of each suit go
to each group is counted suit by suit (`_count_ways`), and a world is drawn by walking through those counts. Who is void in
nothing shares with the stock what is left.
"""

from __future__ import annotations

from math import comb
from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env.counting import counting_action
from napoleon_env.dealing import below as draw_below
from napoleon_env.dealing import fork, uniform
from napoleon_env.jit import jit, lowest_bit
from napoleon_env.match import View
from napoleon_env.notation import (
    BID,
    BLUCHER,
    DISCARD,
    HOLD,
    MAX_HAND,
    MAX_PLAYERS,
    MISERE,
    N_CARDS,
    N_RANKS,
    N_SUITS,
    NO_CARD,
    NO_SEAT,
    PASS,
    PLAY,
    SOME_DISCARD,
    WELLINGTON,
    shown,
    whole,
)
from napoleon_env.players import Player
from napoleon_env.ruleset import Ruleset

_WAYS: Final = np.array([[float(comb(n, k)) for k in range(N_CARDS + 1)] for n in range(N_CARDS + 1)])
"""`_WAYS[n, k]`: the ways to choose k cards out of n."""
NO_GROUP: Final = -1
"""In place of the number of a group of seats: the seat is void in nothing that is unseen."""

FLOOR: Final = 0.01
"""The least chance that a policy's decision is taken to have had: a surprise makes a world unlikely, never impossible."""
CANDIDATES: Final = 8
"""Uniform worlds drawn for each one that is kept by its weight."""
BLOCK: Final = 128
"""Worlds that are resampled together, to bound the memory."""
MOST_WORLDS: Final = 1 << 20
"""In one call, candidates counted: above a gigabyte."""
FARTHEST: Final = 3
"""Calls that are more steps apart than this count as so many."""


class BeliefError(ValueError):
    """Worlds that cannot be drawn; one sentence that says why."""


# What the seat knows, for one state: `cards` holds the unseen ones suit by suit, `counts` how many of each suit; of each group
# of seats the suits it is void in, and how many cards it holds.


@jit
def _unseen(state: Any, rules: Any, seat: int) -> tuple[int, int]:
    """The cards that `seat` cannot place, as a mask, and the other seat that has laid one of them away, or NO_SEAT.

    Reads only what the seat may know, so that a full state and a blanked one give the same.
    """
    suit_cards = core.SUIT_CARDS & ~((1 << rules["lowest_rank"]) - 1)
    unseen = 0
    for suit in range(rules["suits"]):
        unseen |= suit_cards << N_RANKS * suit
    unseen &= ~state["hand"][seat]
    exchanger: Any = NO_SEAT
    for entry in range(state["n_log"]):
        action = np.int64(state["log"][entry])
        if action >= PLAY:
            unseen &= ~(1 << (action - PLAY))
        elif action >= DISCARD or action == SOME_DISCARD:
            if state["log_seat"][entry] == seat:
                unseen &= ~(1 << state["discard"])
            else:
                exchanger = np.int64(state["log_seat"][entry])
    return unseen, exchanger


@jit
def _sizes(state: Any, rules: Any, seat: int, sizes: Any) -> int:
    """Write how many hidden cards each seat holds; returns how many all together."""
    total = 0
    for other in range(rules["players"]):
        sizes[other] = rules["hand_size"] if other != seat else 0
    for entry in range(state["n_log"]):
        if state["log"][entry] >= PLAY and state["log_seat"][entry] != seat:
            sizes[state["log_seat"][entry]] -= 1
    for other in range(rules["players"]):
        total += sizes[other]
    return total


@jit
def _group_seats(state: Any, rules: Any, unseen: int, sizes: Any, group_of: Any, voids: Any, room: Any) -> int:
    """Put seats that are void in the same suits of the unseen cards into one group; returns the number of groups."""
    there = 0
    for suit in range(N_SUITS):
        if unseen >> N_RANKS * suit & core.SUIT_CARDS:
            there |= 1 << suit
    groups = 0
    for other in range(rules["players"]):
        group_of[other] = NO_GROUP
        void = np.int64(state["void_suits"][other]) & there
        if sizes[other] == 0 or void == 0:
            continue
        group = 0
        while group < groups and voids[group] != void:
            group += 1
        if group == groups:
            voids[group] = void
            room[group] = 0
            groups += 1
        room[group] += sizes[other]
        group_of[other] = group
    return groups


@jit
def _next_split(suit: int, most: int, left: Any, voids: Any, groups: int, split: Any) -> bool:
    """Go on to the next way to give at most `most` cards of a suit to the groups, each within what is `left`."""
    given = 0
    for group in range(groups):
        given += split[group]
    for group in range(groups):
        if not voids[group] >> suit & 1 and split[group] < left[group] and given < most:
            split[group] += 1
            return True
        given -= split[group]
        split[group] = 0
    return False


@jit
def _ways_of(split: Any, groups: int, cards: int) -> float:
    """In how many ways the groups can get so many of `cards` cards."""
    ways = 1.0
    for group in range(groups):
        ways *= _WAYS[cards, split[group]]
        cards -= split[group]
    return ways


@jit
def _place_after(place: int, split: Any, room: Any, groups: int) -> int:
    """The place (`_count_ways`) of what is left of each group when it has got its part of a split."""
    stride = 1
    for group in range(groups):
        place -= stride * split[group]
        stride *= room[group] + 1
    return place


@jit
def _count_ways(counts: Any, voids: Any, room: Any, groups: int, ways: Any) -> None:
    """Write into `ways[suit, place]` in how many ways cards of this suit and later ones can fill what is left of each group.

    `place` numbers the vectors of what is left, in mixed radix with the first group fastest; the vector of all rooms is last.
    float64: relative errors are of the order of 1e-15.
    """
    left = np.zeros(MAX_PLAYERS, np.int64)
    split = np.zeros(MAX_PLAYERS, np.int64)
    n = ways.shape[1]
    ways[N_SUITS, :] = 0.0
    ways[N_SUITS, 0] = 1.0
    for suit in range(N_SUITS - 1, -1, -1):
        left[:] = 0
        for place in range(n):
            if suit > 0 or place == n - 1:  # nothing is asked of the first suit but the whole
                total = 0.0
                split[:] = 0
                while True:
                    below = _place_after(place, split, room, groups)
                    if ways[suit + 1, below] > 0.0:
                        total += _ways_of(split, groups, counts[suit]) * ways[suit + 1, below]
                    if not _next_split(suit, counts[suit], left, voids, groups, split):
                        break
                ways[suit, place] = total
            group = 0
            while group < groups and left[group] == room[group]:
                left[group] = 0
                group += 1
            if group < groups:
                left[group] += 1


@jit
def _draw_split(
    word: Any, suit: int, place: int, counts: Any, voids: Any, room: Any, groups: int, left: Any, ways: Any, split: Any
) -> tuple[Any, int]:
    """Draw how many cards of a suit each group gets; returns the generator's word and the place of what is then left."""
    rest = uniform(word) * ways[suit, place]
    word = fork(word, 0)
    split[:] = 0
    chosen = np.zeros(MAX_PLAYERS, np.int64)
    found = place
    while True:
        below = _place_after(place, split, room, groups)
        if ways[suit + 1, below] > 0.0:
            rest -= _ways_of(split, groups, counts[suit]) * ways[suit + 1, below]
            found = below  # kept where rounding lets the sum fall short at the very end
            chosen[:] = split
            if rest < 0.0:
                break
        if not _next_split(suit, counts[suit], left, voids, groups, split):
            break
    split[:] = chosen
    for group in range(groups):
        left[group] -= split[group]
    return word, found


@jit
def _shuffle(word: Any, cards: Any, start: int, stop: int) -> Any:
    """Shuffle a stretch of cards; returns the generator's word."""
    for place in range(start, stop - 1):
        word, step = draw_below(word, stop - place)
        card = cards[place]
        cards[place] = cards[place + step]
        cards[place + step] = card
    return word


@jit
def _write_world(world: Any, rules: Any, seat: int, exchanger: int, drawn: int, discard: int, stock: Any, stock_start: int,
                 stock_stop: int) -> None:  # fmt: skip
    """Complete a world whose hands are written: the cards as dealt, another's exchange and what no seat may know."""
    size = rules["hand_size"]
    players = rules["players"]
    world["key"] = 0
    world["match"] = 0
    if exchanger != NO_SEAT:
        world["discard"] = discard
        world["drawn"] = drawn
    for other in range(players):
        if other == seat:
            continue
        dealt = world["hand"][other]
        for entry in range(world["n_log"]):
            if world["log_seat"][entry] == other:
                action = np.int64(world["log"][entry])
                if action >= PLAY:
                    dealt |= 1 << (action - PLAY)
                elif action >= DISCARD or action == SOME_DISCARD:
                    world["log"][entry] = DISCARD + discard
        if other == exchanger:
            dealt = dealt & ~(1 << drawn) | 1 << discard
        place = other * size
        while dealt != 0:
            world["cards"][place] = lowest_bit(dealt)
            dealt &= dealt - 1
            place += 1
    place = players * size
    if world["drawn"] != NO_CARD:
        world["cards"][place] = world["drawn"]
        place += 1
    for i in range(stock_start, stock_stop):
        world["cards"][place] = stock[i]
        place += 1
    while place < N_CARDS:
        world["cards"][place] = NO_CARD
        place += 1


@jit
def fill_worlds(state: Any, rules: Any, seat: int, word: Any, worlds: Any) -> bool:
    """Fill `worlds` (dtype `rules.STATE`) with uniform worlds of what `seat` may know of `state`, which may be blanked or not.

    `word` is the uint64 that they are drawn from. False, and nothing written, where there is no such world.
    """
    players = rules["players"]
    unseen, exchanger = _unseen(state, rules, seat)
    sizes = np.zeros(MAX_PLAYERS, np.int64)
    hidden = _sizes(state, rules, seat, sizes)
    group_of = np.zeros(MAX_PLAYERS, np.int64)
    voids = np.zeros(MAX_PLAYERS, np.int64)
    room = np.zeros(MAX_PLAYERS, np.int64)
    groups = _group_seats(state, rules, unseen, sizes, group_of, voids, room)
    counts = np.zeros(N_SUITS, np.int64)
    by_suit = np.zeros((N_SUITS, N_RANKS), np.int64)
    total = 0
    cards = unseen
    while cards != 0:
        card = lowest_bit(cards)
        cards &= cards - 1
        by_suit[card // N_RANKS, counts[card // N_RANKS]] = card
        counts[card // N_RANKS] += 1
        total += 1
    if total < hidden + (exchanger != NO_SEAT):
        return False
    n_places = 1
    for group in range(groups):
        n_places *= room[group] + 1
    ways = np.zeros((N_SUITS + 1, n_places))
    _count_ways(counts, voids, room, groups, ways)
    if ways[0, n_places - 1] == 0.0:
        return False
    pools = np.zeros((MAX_PLAYERS, N_CARDS), np.int64)
    fill = np.zeros(MAX_PLAYERS, np.int64)
    rest = np.zeros(N_CARDS, np.int64)
    left = np.zeros(MAX_PLAYERS, np.int64)
    split = np.zeros(MAX_PLAYERS, np.int64)
    for number in range(len(worlds)):
        world = worlds[number]
        worlds[number] = state
        n_rest = 0
        fill[:] = 0
        left[:] = room
        place = n_places - 1
        for suit in range(N_SUITS):
            start = 0
            if groups > 0 and counts[suit] > 0:
                word, place = _draw_split(word, suit, place, counts, voids, room, groups, left, ways, split)
                word = _shuffle(word, by_suit[suit], 0, counts[suit])
                for group in range(groups):
                    for _ in range(split[group]):
                        pools[group, fill[group]] = by_suit[suit, start]
                        fill[group] += 1
                        start += 1
            for i in range(start, counts[suit]):
                rest[n_rest] = by_suit[suit, i]
                n_rest += 1
        word = _shuffle(word, rest, 0, n_rest)
        for group in range(groups):
            word = _shuffle(word, pools[group], 0, fill[group])
        used = 0
        for other in range(players):
            if other == seat:
                continue
            hand = 0
            group = group_of[other]
            for _ in range(sizes[other]):
                if group == NO_GROUP:
                    hand |= 1 << rest[used]
                    used += 1
                else:
                    fill[group] -= 1
                    hand |= 1 << pools[group, fill[group]]
            world["hand"][other] = hand
        discard = drawn = NO_CARD
        if exchanger != NO_SEAT:
            discard = rest[used]
            used += 1
            held = world["hand"][exchanger]
            for entry in range(state["n_log"]):
                if state["log_seat"][entry] == exchanger and state["log"][entry] >= PLAY:
                    held |= 1 << (np.int64(state["log"][entry]) - PLAY)
            word, skip = draw_below(word, rules["hand_size"])  # any card that he has held since may be the one drawn
            for _ in range(skip):
                held &= held - 1
            drawn = lowest_bit(held)
        _write_world(world, rules, seat, exchanger, drawn, discard, rest, used, n_rest)
    return True


# How well a world explains what the others have called.


@jit
def rewind(worlds: Any, number: int, rules: Any, starts: Any, place: int) -> None:
    """Write into `starts[place]` how the deal of a world that is still being played began: no call made yet."""
    starts[place] = worlds[number]
    start = starts[place]
    deal = start["deal"]
    start["deal"] = 0  # so that the deal does not pass on
    start["pot"] -= rules["players"] * rules["ante"]
    core.begin_deal(start, rules)
    start["deal"] = deal


@jit
def _height(call: int, standing: int, lowest: int) -> int:
    """The level that a call takes the auction to; for a pass, one below the lowest that could be called."""
    if call == PASS:
        return lowest - 1
    if call == HOLD:
        return standing
    if call == MISERE:
        return core.LEVEL_MISERE
    if call == WELLINGTON:
        return core.LEVEL_WELLINGTON
    return core.LEVEL_BLUCHER if call == BLUCHER else core.level_of_bid(call - BID)


@jit
def call_distance(worlds: Any, number: int, rules: Any, seat: int, starts: Any) -> int:
    """How many steps of the auction the others' calls are away from what the counting player would have called in a world."""
    rewind(worlds, number, rules, starts, 0)
    state = starts[0]
    world = worlds[number]
    distance = 0
    for entry in range(world["n_log"]):
        action = np.int64(world["log"][entry])
        if action > BLUCHER or action < 0:
            break  # the auction is over
        if world["log_seat"][entry] != seat:
            thought = counting_action(state, rules, np.int64(world["log_seat"][entry]))
            if thought != action:
                calls = core.legal_calls(state, rules, np.int64(world["log_seat"][entry]))
                standing = state["standing"]
                lowest = MAX_HAND + core.N_LEVELS
                for call in range(PASS + 1, BLUCHER + 1):
                    if calls >> call & 1:
                        lowest = min(lowest, _height(call, standing, 0))
                apart = abs(_height(thought, standing, lowest) - _height(action, standing, lowest))
                distance += min(max(apart, 1), FARTHEST)
        core.apply(state, rules, action)
    return distance


@jit
def fill_likely_worlds(state: Any, rules: Any, seat: int, word: Any, trust: float, worlds: Any) -> bool:
    """`fill_worlds` by how well the others' calls fit the counting player: a world loses e ** -trust for each step between.

    With a trust above 0, CANDIDATES times as many worlds are drawn uniformly and kept by systematic resampling.
    """
    n = len(worlds)
    said = 0
    for entry in range(state["n_log"]):
        if state["log_seat"][entry] != seat and 0 <= state["log"][entry] <= BLUCHER:
            said += 1
    if trust <= 0.0 or said == 0 or state["phase"] == core.NO_DEAL:
        return fill_worlds(state, rules, seat, word, worlds)
    drawn = np.empty(min(n, BLOCK) * CANDIDATES, worlds.dtype)
    edges = np.empty(len(drawn))
    starts = np.empty(1, worlds.dtype)
    for begin in range(0, n, BLOCK):
        size = min(BLOCK, n - begin)
        word = fork(word, begin)
        if not fill_worlds(state, rules, seat, word, drawn[: size * CANDIDATES]):
            return False
        total = 0.0
        for i in range(size * CANDIDATES):
            total += np.exp(-trust * call_distance(drawn, i, rules, seat, starts))
            edges[i] = total
        word = fork(word, 1)
        point = uniform(word) * total / size
        i = 0
        for number in range(begin, begin + size):
            while edges[i] < point and i < size * CANDIDATES - 1:
                i += 1
            worlds[number] = drawn[i]
            point += total / size
    return True


# For people.


def sample_worlds(
    view: View, n: int, rng: np.random.Generator, *, policy: Player | None = None, candidates: int = CANDIDATES
) -> np.ndarray:
    """Draw worlds that agree with what a seat knows: complete states, ready for `rules`, `Solver.solve_states` and the like.

    Without `policy` all consistent worlds are equally likely: every hidden hand, order of the stock, discard and draw. Such a
    world is what is left after the exchange too, so the card that another declarer laid away may be any that it could have
    been, as if he had chosen it by lot.

    With `policy` a world is as likely as uniform, times the chance that the policy would have made the calls, the exchange and
    the plays of the other seats: n * candidates uniform worlds are drawn and n of them kept by their weight (importance
    resampling; a world may come more than once). It tends to the exact posterior as `candidates` grows. No decision counts as
    less likely than FLOOR, so that a policy that would never have done what was done still leaves worlds.

    Args:
        view: what the seat knows of the deal that is on the table.
        n: how many.
        rng: where they come from; equal generators give equal worlds.
        policy: a player with `probabilities(view)`; `probabilities_states` is asked where it has it, once a decision.
        candidates: for each world that is kept, with a policy.

    Returns:
        Shape (n,), dtype `rules.STATE`. The deals' key is 0: a world does not tell where cards come from.

    Raises:
        BeliefError: there is no deal or no such world, or an argument out of range.
    """
    if not isinstance(view, View):
        raise BeliefError(
            f"worlds are drawn from what one seat knows, a View (match.view(seat)), not from a {type(view).__name__}"
        )
    number = whole(n)
    if number is None or not 0 <= number <= MOST_WORLDS:
        raise BeliefError(f"n={shown(n)} must be a whole number of worlds from 0 to {MOST_WORLDS}")
    if not isinstance(rng, np.random.Generator):
        raise BeliefError(f"rng={shown(rng)} must be a numpy Generator, such as view.rng() or numpy.random.default_rng(1)")
    if policy is None or number == 0:
        return _uniform(view, number, rng)
    factor = whole(candidates)
    if factor is None or not 1 <= factor <= MOST_WORLDS:
        raise BeliefError(f"candidates={shown(candidates)} must be a whole number from 1 to {MOST_WORLDS}")
    if view.phase == "over":
        raise BeliefError("a policy weighs the decisions of a deal that is being played, and this one is over")
    if number * factor > MOST_WORLDS:
        raise BeliefError(f"n={number} with candidates={factor} are more than {MOST_WORLDS} worlds at once")
    worlds = _uniform(view, number * factor, rng)
    weights = _weights(view, worlds, policy)
    return worlds[_resample(weights, number, rng)]


def _uniform(view: View, n: int, rng: np.random.Generator) -> np.ndarray:
    if view.state["deal"][0] == 0:
        raise BeliefError("no cards are dealt yet, so there is nothing that a world could agree with")
    worlds = core.new_state(n)
    with np.errstate(over="ignore"):  # the generator's words wrap, on purpose; only uncompiled numpy minds
        if not fill_worlds(view.state[0], view.rules.struct[0], view.seat, rng.integers(1 << 64, dtype=np.uint64), worlds):
            raise BeliefError(f"no world agrees with what seat {view.seat} knows: this view cannot arise in {view.rules}")
    return worlds


def _weights(view: View, worlds: np.ndarray, policy: Player) -> np.ndarray:
    """How likely the policy would have made all decisions of the other seats in each world; the largest is 1."""
    rules, seat = view.rules, view.seat
    if not hasattr(policy, "probabilities"):
        raise BeliefError(f"policy={shown(policy)} does not tell probabilities(view), so it cannot weigh worlds")
    states = core.new_state(len(worlds))
    logs = np.zeros(len(worlds))
    _rewind_all(worlds, rules.struct, states)
    for entry in range(int(view.state["n_log"][0])):
        actor = int(view.state["log_seat"][0][entry])
        if actor != seat:
            chances = _chances(policy, states, rules, actor, worlds["log"][:, entry])
            logs += np.log(np.maximum(chances, FLOOR))
        _follow(worlds, rules.struct, entry, states)
    return np.exp(logs - logs.max())


@jit
def _rewind_all(worlds: Any, rules: Any, starts: Any) -> None:
    for i in range(len(worlds)):
        rewind(worlds, i, rules[0], starts, i)


@jit
def _follow(worlds: Any, rules: Any, entry: int, states: Any) -> None:
    """Do in every state what was done in its world."""
    for i in range(len(worlds)):
        core.apply(states[i], rules[0], np.int64(worlds[i]["log"][entry]))


def _chances(policy: Any, states: np.ndarray, rules: Ruleset, seat: int, actions: np.ndarray) -> np.ndarray:
    """How likely a policy takes `actions[i]` for a seat in state i, float64 (n,).

    The states are worlds of one course of play, so all that tells them apart to the seat is its hand and what it has exchanged:
    the policy is asked once for each of these.
    """
    private = states["hand"][:, seat].astype(np.uint64)
    if states["declarer"][0] == seat:
        for shift, card in ((N_CARDS, "discard"), (N_CARDS + 6, "drawn")):
            private |= (states[card] + 1).astype(np.uint64) << np.uint64(shift)
    _, first, which = np.unique(private, return_index=True, return_inverse=True)
    seen = states[first]
    if hasattr(policy, "probabilities_states"):
        chances = policy.probabilities_states(seen, rules, np.full(len(seen), seat))
    else:
        chances = np.array([policy.probabilities(View(rules, seen[i : i + 1], seat)) for i in range(len(seen))], np.float64)
    return chances[which, actions]


def _resample(weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of n worlds, each drawn in proportion to its weight: systematic resampling, in a random order."""
    edges = np.cumsum(weights)
    points = (rng.random() + np.arange(n)) * edges[-1] / n
    return rng.permutation(np.minimum(np.searchsorted(edges, points, side="right"), len(weights) - 1))
