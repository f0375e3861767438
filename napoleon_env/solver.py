"""Double-dummy values: what every card, trump, exchange and contract is worth when all cards are seen by all.

The declarer plays for the most, the defenders together for the least of it (Portuguese too: DESIGN.md, decision 7). There are
two objectives, each the value of its own game:

* `payoff`: what the declarer is paid for the deal, the ante left out; `stop`, `made`, misère, must-trump, slam and the pot of
  an announced Napoleon count. It decides what is best.
* `tricks`: the declarer's tricks in all, those already taken included, when both sides care for tricks alone and every trick
  is played. It decides between equal payoffs. Where a contract is made with at least so many tricks, playing for tricks
  loses no payoff, so the two agree; a misère and `made="exactly"` can be worth most with a card that takes fewest.

The search is in `solver_core`, what is asked of it in `solver_states`. A `Solver` is not for use by two threads at once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from napoleon_env import rules as core
from napoleon_env import solver_core as search
from napoleon_env import solver_states as compiled
from napoleon_env.match import Situation
from napoleon_env.notation import (
    ACTION_NAMES,
    CARDS,
    DISCARD,
    MAX_HAND,
    MAX_PLAYERS,
    N_CARDS,
    N_SUITS,
    NAPOLEON,
    NO_CARD,
    NO_NAPOLEON,
    NO_SUIT,
    STAND,
    SUITS,
    TRUMP,
    cards_of,
    shown,
    whole,
)
from napoleon_env.ruleset import Ruleset

DEFAULT_MEMORY: Final = 16
"""MiB of a solver's table: a million positions. By `speed` at german, 64 or 256 gain 1 % at most, and 1 costs a fifth."""
LARGEST_MEMORY: Final = 1 << 16
NO_LEAD: Final = compiled.NO_LEAD
NOT_LEGAL: Final = compiled.NOT_LEGAL
"""In the tricks of `solve_states`: that card may not be played."""
OBJECTIVES: Final = ("payoff", "tricks", "both")
_NODES_AT_ONCE: Final = 1 << 22  # some tenths of a second without an answer to an interrupt
_NODES_TIMED: Final = 1 << 12


class SolverError(ValueError):
    """A position that has no double-dummy value, or a setting out of range; one sentence that names it."""


class Value(NamedTuple):
    """What the declarer gets, by objective; whole numbers, or means over the cards that may be drawn."""

    payoff: float
    tricks: float


@dataclass(frozen=True)
class Solution:
    """What each action of the seat to move is worth to the declarer."""

    seat: int
    declarer: int
    values: dict[str, Value]
    """By the action's name, in the order of action ids."""
    exact: bool
    """False where the time ran out: then the values of some actions are only what the declarer was seen to be sure of."""
    nodes: int
    """Positions tried."""

    @property
    def value(self) -> Value:
        """The value of the position: that of the best actions."""
        best = max if self.seat == self.declarer else min
        return best(self.values.values())

    @property
    def best(self) -> list[str]:
        """The actions that are best for the seat to move: by payoff, and by tricks among those."""
        return [name for name, value in self.values.items() if value == self.value]


class Solver:
    """A table of solved positions and the room to search in; the more it is used, the more it knows.

    Args:
        memory: MiB that the table may take. It never outgrows them: old positions make room, and answers stay exact.

    Raises:
        SolverError: `memory` is no whole number from 1 to 65,536, or this machine does not have it.
    """

    def __init__(self, *, memory: int = DEFAULT_MEMORY) -> None:
        size = whole(memory)
        if size is None or not 1 <= size <= LARGEST_MEMORY:
            raise SolverError(f"memory={shown(memory)} must be a whole number of MiB from 1 to {LARGEST_MEMORY}")
        rows = 1 << (size * 2**20 // 16).bit_length() - 1
        try:
            table = np.zeros((rows, 2), np.int64)
        except MemoryError:
            raise SolverError(f"memory={size} MiB is more than this machine can give: ask for less") from None
        self._info = np.zeros(search.N_INFO, np.int64)
        frames = np.zeros((search.MAX_DEPTH, search.N_COLUMNS), np.int64)
        hands, owner = np.zeros(MAX_PLAYERS, np.int64), np.zeros(N_SUITS * search.LANE, np.int64)
        self._work = frames, hands, owner, table, self._info, np.zeros(search.N_COLUMNS, np.int64)

    @property
    def nodes(self) -> int:
        """Positions tried in the last call."""
        return int(self._info[search.NODES])

    def solve(self, position: Situation, *, stock: str = "known", time_ms: float | None = None) -> Solution:
        """What every action is worth in a decision of the declarer or in the play of the cards.

        Args:
            position: a match (or a copy, or a view that can see all cards that are left).
            stock: "known": an exchange draws the top card of the stock; "unknown": any card that is in no hand, all equally
                likely, the declarer deciding all else with open cards after drawing.
            time_ms: stop after about so many milliseconds and tell what is known by then (`Solution.exact`).

        Raises:
            SolverError: nobody is to act, an auction (see `contracts`), or cards that are hidden.
        """
        deadline = _deadline(time_ms)
        tree = _Tree(position.rules, stock)
        state = _open_state(position)
        if state["phase"][0] == core.AUCTION:
            raise SolverError("an auction has no double-dummy value: ask what every contract is worth (contracts)")
        rules = position.rules
        seat, declarer = int(state["seat"][0]), int(state["declarer"][0])
        if state["phase"][0] == core.TRICKS:
            tricks, payoffs, known = self._run(state, rules, deadline)
            values = {CARDS[c]: Value(int(payoffs[0, c]), int(tricks[0, c])) for c in np.flatnonzero(tricks[0] >= 0)}
            return Solution(seat, declarer, values, bool(known.all()), self.nodes)
        options = tree.options(state)
        leaves, exact = self._leaves(tree, rules, deadline)
        values = {name: tree.value(node, leaves) for name, node in options.items()}
        return Solution(seat, declarer, values, exact, self.nodes)

    def contracts(
        self, position: Situation, *, seat: int | None = None, stock: str = "known", time_ms: float | None = None
    ) -> Solution:
        """What every contract is worth to `seat` (default: the seat to move) as declarer of the deal as it was dealt.

        Everything after the auction is played at its best: Napoleon announced or not, the exchange, the trump, the cards. The
        names are calls, all that this rule set knows, whether the auction still allows them or not.

        Raises:
            SolverError: no deal is running, cards that are hidden, or no such seat.
        """
        deadline = _deadline(time_ms)
        rules = position.rules
        if position.phase == "over":
            raise SolverError("no deal is running: contracts are worth something only while one is")
        chosen = int(position.state["seat"][0]) if seat is None else whole(seat)
        if chosen is None or not 0 <= chosen < rules.players:
            raise SolverError(f"seat={shown(seat)} must be a seat from 0 to {rules.players - 1}")
        tree = _Tree(rules, stock)
        nodes: dict[str, Any] = {}
        for level in _levels(rules, chosen == position.dealer):
            nodes[ACTION_NAMES[core.CALL_AT_LEVEL[level]]] = tree.node(_at_contract(position, chosen, level))
        leaves, exact = self._leaves(tree, rules, deadline)
        return Solution(chosen, chosen, {name: tree.value(node, leaves) for name, node in nodes.items()}, exact, self.nodes)

    def solve_states(self, states: np.ndarray, rules: Ruleset, *, objective: str = "both") -> tuple[np.ndarray, np.ndarray]:
        """What every card is worth in many positions of the play, in one compiled call: the worlds of a search player.

        Args:
            states: dtype `rules.STATE`, shape [B], each in the play with every hand known.
            rules: of all of them.
            objective: "both", "tricks", or "payoff", which is the fastest.

        Returns:
            The declarer's tricks in all, int8 [B, 52], and payoff, int64 [B, 52], by card; tricks are NOT_LEGAL and payoffs 0
            where a card may not be played. What was not asked for is 0 (tricks) or not to be used (payoffs).

        Raises:
            SolverError: a position that cannot arise; the sentence gives its index.
        """
        if objective not in OBJECTIVES:
            raise SolverError(f"objective={shown(objective)} must be one of {', '.join(OBJECTIVES)}")
        if not isinstance(states, np.ndarray) or states.dtype != core.STATE or states.ndim != 1:
            raise SolverError("states must be an array of shape (B,) and of dtype rules.STATE")
        _check_play(states, rules)
        self._info[search.NODES] = 0
        tricks, payoffs, known = _blank(len(states))
        self._call(states.copy(), rules, OBJECTIVES.index(objective), compiled.NO_BUDGET, (tricks, payoffs, known))
        if objective == "payoff":
            tricks[tricks > 0] = 0
        return tricks, payoffs

    def tricks_table(self, hands: Any, *, declarer: int = 0, trump: str = "first_lead", void: str = "any") -> np.ndarray:
        """The most tricks of a declarer who leads, for each trump suit, in many deals in one compiled call.

        Args:
            hands: whole numbers [B, players]: masks of cards (bit 13 * suit + rank), equally many for all seats.
            declarer: the seat that plays alone and leads.
            trump: "first_lead": the declarer's first card must be of the trump suit (G4); "chosen": any (P4).
            void: "any" or "must_trump".

        Returns:
            int8 [B, 4], by suit; NO_LEAD where trump="first_lead" and the declarer has no card of the suit.

        Raises:
            SolverError: hands that cannot be dealt, or another value out of range.
        """
        deals, seat = self._check_deals(hands, declarer, void)
        out = np.zeros((len(deals), N_SUITS), np.int8)
        if len(deals):
            compiled.fill_tricks_table(deals, seat, _chosen(trump), out, self._work)
        return out

    def exact_table(
        self, hands: Any, number: int, *, suit: str | None, declarer: int = 0, trump: str = "chosen", void: str = "any"
    ) -> np.ndarray:
        """Whether a declarer who leads can take exactly `number` tricks, in many deals; with 0 and suit=None a misère.

        Args:
            hands, declarer, trump, void: as in `tricks_table`.
            number: of tricks.
            suit: the trump suit, one of C, D, H, S, or None for no trumps.

        Returns:
            bool [B].

        Raises:
            SolverError: as `tricks_table`.
        """
        deals, seat = self._check_deals(hands, declarer, void)
        wanted = whole(number)
        if wanted is None or not 0 <= wanted <= MAX_HAND:
            raise SolverError(f"number={shown(number)} must be a number of tricks from 0 to {MAX_HAND}")
        if suit is not None and suit not in tuple(SUITS):
            raise SolverError(f"suit={shown(suit)} must be one of {', '.join(SUITS)}, or None for no trumps")
        place = NO_SUIT if suit is None else SUITS.index(suit)
        out = np.zeros(len(deals), np.bool_)
        if len(deals):
            compiled.fill_exact_table(deals, seat, place, _chosen(trump), wanted, out, self._work)
        return out

    def _check_deals(self, hands: Any, declarer: object, void: str) -> tuple[np.ndarray, int]:
        """Checked hands as int64 and the declarer's seat; sets the kind of game."""
        deals = np.asarray(hands)
        if deals.ndim != 2 or not np.issubdtype(deals.dtype, np.integer) or not 2 <= deals.shape[1] <= MAX_PLAYERS:
            raise SolverError(f"hands must be whole numbers of shape (deals, players) with 2 to {MAX_PLAYERS} players")
        seat = whole(declarer)
        if seat is None or not 0 <= seat < deals.shape[1]:
            raise SolverError(f"declarer={shown(declarer)} must be a seat from 0 to {deals.shape[1] - 1}")
        if void not in ("any", "must_trump"):
            raise SolverError(f"void={shown(void)} must be any or must_trump")
        deals = np.ascontiguousarray(deals, np.int64)
        if len(deals):
            sizes = np.bitwise_count(deals)
            size = int(sizes[0, 0])
            wrong = (sizes != size).any(axis=1) | (np.bitwise_or.reduce(deals, axis=1) >> N_CARDS != 0)
            wrong |= np.bitwise_count(np.bitwise_or.reduce(deals, axis=1)) != size * deals.shape[1]
            if not 1 <= size <= MAX_HAND or wrong.any():
                raise SolverError(
                    f"hands[{int(wrong.argmax())}] cannot be dealt: every hand needs the same number of cards, from 1 to "
                    f"{MAX_HAND}, of the {N_CARDS} in the pack, and no card may be in two"
                )
        self._info[search.PLAYERS] = deals.shape[1]
        self._info[search.MUST] = void == "must_trump"
        self._info[search.NODES] = 0
        return deals, seat

    def _leaves(self, tree: _Tree, rules: Ruleset, deadline: float | None) -> tuple[list[Value], bool]:
        """The value of every position before the first lead that `tree` has met, and whether all are exact."""
        tricks, payoffs, known = self._run(np.concatenate(tree.leaves), rules, deadline)
        worst = np.iinfo(np.int64).min
        best = np.where(tricks >= 0, payoffs, worst).max(axis=1)
        return [Value(int(p), int(t)) for p, t in zip(best, tricks.max(axis=1), strict=True)], bool(known.all())

    def _run(self, states: np.ndarray, rules: Ruleset, deadline: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values of all cards in all `states` and whether they are final, going on until they are or `deadline` is over."""
        start = time.monotonic()
        budget = _NODES_AT_ONCE if deadline is None else _NODES_TIMED
        self._info[search.NODES] = 0
        result = _blank(len(states))
        while True:
            self._call(states, rules, compiled.BOTH, self.nodes + budget, result)
            now = time.monotonic()
            if result[2].all() or (deadline is not None and now >= deadline):
                return result
            # Starting a card over costs little: the table knows what was found. The budget doubles, but not past the deadline.
            budget *= 2
            if deadline is not None:
                budget = min(budget, int((deadline - now) * self.nodes / (now - start)) + 1)

    def _call(
        self,
        states: np.ndarray,
        rules: Ruleset,
        objective: int,
        budget: int,
        result: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> None:
        """One compiled pass over the cards of `result` that are not final, up to `budget` nodes."""
        self._info[search.BUDGET] = budget
        compiled.solve_all(states, rules.struct[0], objective, *result, self._work)


def _blank(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nothing known: tricks int8, payoffs int64 and whether final, each [n, 52]."""
    shape = (n, N_CARDS)
    return np.full(shape, NOT_LEGAL, np.int8), np.zeros(shape, np.int64), np.ones(shape, np.bool_)


@lru_cache(maxsize=1)
def _shared(memory: int) -> Solver:
    return Solver(memory=memory)


def solve(position: Situation, *, stock: str = "known", memory: int = DEFAULT_MEMORY, time_ms: float | None = None) -> Solution:
    """`Solver.solve` with a solver that this process keeps; `memory` in MiB."""
    return _shared(memory).solve(position, stock=stock, time_ms=time_ms)


def contracts(
    position: Situation,
    *,
    seat: int | None = None,
    stock: str = "known",
    memory: int = DEFAULT_MEMORY,
    time_ms: float | None = None,
) -> Solution:
    """`Solver.contracts` with a solver that this process keeps; `memory` in MiB."""
    return _shared(memory).contracts(position, seat=seat, stock=stock, time_ms=time_ms)


def tricks_table(hands: Any, *, declarer: int = 0, trump: str = "first_lead", void: str = "any") -> np.ndarray:
    """`Solver.tricks_table` with a solver that this process keeps."""
    return _shared(DEFAULT_MEMORY).tricks_table(hands, declarer=declarer, trump=trump, void=void)


def speed(players: int, *, seconds: float = 1.0, memory: int = DEFAULT_MEMORY, seed: int = 0) -> tuple[float, float]:
    """Deals a second and positions tried a deal: all four trumps of random german deals, the declarer leading, one core.

    Seconds are of this process's processor time, so that others on the machine count little. Compiling and one chunk of deals,
    which begins to fill the table, come before the clock starts.
    """
    if whole(players) not in range(2, MAX_PLAYERS + 1):
        raise SolverError(f"players={shown(players)} must be from 2 to {MAX_PLAYERS}")
    solver, rng = Solver(memory=memory), np.random.default_rng(seed)
    chunk = 40_000 >> 2 * (players - 2)
    hand_size = Ruleset.make("german").hand_size
    solver.tricks_table(_random_hands(rng, chunk, players, hand_size))
    deals = nodes = 0
    spent = 0.0
    while spent < seconds:
        hands = _random_hands(rng, chunk, players, hand_size)
        start = time.process_time()
        solver.tricks_table(hands)
        spent += time.process_time() - start
        deals += chunk
        nodes += solver.nodes
    return deals / spent, nodes / deals


def _random_hands(rng: np.random.Generator, deals: int, players: int, size: int) -> np.ndarray:
    """Random hands as masks of cards, int64 [deals, players]."""
    packs = rng.permuted(np.tile(np.arange(N_CARDS), (deals, 1)), axis=1)
    return (np.int64(1) << packs[:, : players * size].reshape(deals, players, size)).sum(axis=2)


class _Tree:
    """The declarer's decisions before the first lead, down to the positions in which the play begins."""

    def __init__(self, rules: Ruleset, stock: str) -> None:
        if stock not in ("known", "unknown"):
            raise SolverError(f"stock={shown(stock)} must be known or unknown")
        self.rules, self.known_stock = rules, stock == "known"
        self.leaves: list[np.ndarray] = []

    def node(self, state: np.ndarray) -> Any:
        """A number in `leaves`, a dict of options to choose from, or a list of equally likely nodes."""
        if state["phase"][0] == core.TRICKS:
            self.leaves.append(state)
            return len(self.leaves) - 1
        return self.options(state)

    def options(self, state: np.ndarray) -> dict[str, Any]:
        """What the declarer may decide next, by name."""
        phase = state["phase"][0]
        if phase == core.ANNOUNCE:
            actions: Sequence[int] = (NAPOLEON, NO_NAPOLEON)
        elif phase == core.CHOOSE_TRUMP:
            actions = range(TRUMP, TRUMP + self.rules.suits)
        else:
            actions = [STAND, *(DISCARD + card for card in cards_of(int(state["hand"][0][state["seat"][0]])))]
        return {ACTION_NAMES[action]: self.after(state, action) for action in actions}

    def after(self, state: np.ndarray, action: int) -> Any:
        """The node that an action leads to."""
        top = self.rules.players * self.rules.hand_size
        if not DISCARD <= action < DISCARD + N_CARDS:
            drawn = [int(state["cards"][0][top])] if top < N_CARDS else [NO_CARD]
        elif self.known_stock:
            drawn = [int(state["cards"][0][top])]
            if drawn == [NO_CARD]:
                raise SolverError('the top of the stock is not known: ask with stock="unknown"')
        else:
            held = int(np.bitwise_or.reduce(state["hand"][0][: self.rules.players]))
            drawn = [card for card in self.rules.pack if not held >> card & 1]
        nodes = []
        for card in drawn:
            child = state.copy()
            if card != NO_CARD:
                child["cards"][0][top] = card
            core.apply(child[0], self.rules.struct[0], action)
            nodes.append(self.node(child))
        return nodes[0] if len(nodes) == 1 else nodes

    def value(self, node: Any, leaves: list[Value]) -> Value:
        """The value of a node: each objective for itself."""
        if isinstance(node, int):
            return leaves[node]
        below = [self.value(child, leaves) for child in (node.values() if isinstance(node, dict) else node)]
        if isinstance(node, dict):
            return Value(max(v.payoff for v in below), max(v.tricks for v in below))
        return Value(sum(v.payoff for v in below) / len(below), sum(v.tricks for v in below) / len(below))


def _deadline(time_ms: float | None) -> float | None:
    """The moment when the time is over."""
    if time_ms is None:
        return None
    if isinstance(time_ms, bool) or not isinstance(time_ms, (int, float)) or not 0 <= time_ms < 1e12:
        raise SolverError(f"time_ms={shown(time_ms)} must be a number of milliseconds, at least 0")
    return time.monotonic() + time_ms / 1000


def _chosen(trump: str) -> bool:
    """Whether the declarer may lead any suit."""
    if trump not in ("first_lead", "chosen"):
        raise SolverError(f"trump={shown(trump)} must be first_lead or chosen")
    return trump == "chosen"


def _open_state(position: Situation) -> np.ndarray:
    """A copy of the position's state, in which somebody is to act and every card that is left is known."""
    state = position.state.copy()
    if state["phase"][0] == core.NO_DEAL:
        raise SolverError("nobody is to act: the deal is over, or not dealt yet")
    if state["phase"][0] == core.TRICKS:
        _check_play(state, position.rules)
    elif (np.bitwise_count(state["hand"][0][: position.rules.players]) != position.rules.hand_size).any():
        raise SolverError("hands are hidden: a double-dummy value needs every hand (sample the hidden ones first)")
    return state


def _check_play(states: np.ndarray, rules: Ruleset) -> None:
    """Refuse what is not a position in the play of `rules` with all hands known."""
    players = rules.players
    hands = states["hand"][:, :players]
    sizes = np.bitwise_count(hands).astype(np.int64)
    cards_played = states["n_log"] - states["first_card"]
    in_trick = states["in_trick"][:, None]
    seats = np.arange(players)
    already = (seats - states["leader"][:, None]) % players < in_trick
    wanted = rules.hand_size - cards_played[:, None] // players - already
    pack = sum(1 << card for card in rules.pack)
    together = np.bitwise_or.reduce(hands, axis=1)
    wrong = (states["phase"] != core.TRICKS) | (sizes != wanted).any(axis=1) | (together & ~pack != 0)
    wrong |= (cards_played % players != states["in_trick"]) | (np.bitwise_count(together) != sizes.sum(axis=1))
    wrong |= states["seat"] != (states["leader"] + states["in_trick"]) % players
    wrong |= (states["in_trick"] > 0) & ((states["winning_card"] < 0) | (states["led_suit"] < 0))
    if wrong.any():
        place = int(wrong.argmax())
        hidden = bool((sizes[place] < wanted[place]).any())
        raise SolverError(
            (f"position {place} of {len(states)} " if len(states) > 1 else "this position ")
            + (
                "hides cards: a double-dummy value needs every hand (sample the hidden ones first)"
                if hidden
                else f"cannot arise in the play of {rules}: hands, trick and log do not fit together"
            )
        )


def _levels(rules: Ruleset, is_dealer: bool) -> list[int]:
    """The levels of all contracts that a seat can come to play."""
    levels = [core.level_of_bid(n) for n in range(rules.min_bid, rules.hand_size + 1)]
    if rules.all_pass == "dealer_plays_one" and is_dealer and rules.min_bid > 1:
        levels.append(core.level_of_bid(1))
    special = {"misere": core.LEVEL_MISERE, "wellington": core.LEVEL_WELLINGTON, "blucher": core.LEVEL_BLUCHER}
    levels += [level for name, level in special.items() if getattr(rules, name) is not None]
    return sorted(levels)


def _at_contract(position: Situation, seat: int, level: int) -> np.ndarray:
    """The deal of `position` as it would stand after an auction that `seat` won at `level`."""
    rules = position.rules
    state = position.state.copy()
    hands = state["cards"][0][: rules.players * rules.hand_size]
    if (hands == NO_CARD).any():
        raise SolverError("hands are hidden: a double-dummy value needs every hand (sample the hidden ones first)")
    state["deal"] = 0  # so that the deal does not pass on
    state["pot"] -= rules.players * rules.ante
    core.begin_deal(state[0], rules.struct[0])
    state["declarer"] = state["seat"] = seat
    state["standing"] = level
    state["silent"] = (1 << rules.players) - 1
    core._next_decision(state[0], rules.struct[0])
    return state
