"""Tiny rule sets as whole games: every deal, every decision, the equilibrium, and how far players are from it.

    from napoleon_env import exact

    rules = Ruleset.make("german", players=2, suits=2, lowest_rank="Q", hand_size=2, auction="once",
                         all_pass="dealer_plays_one", min_bid=1)
    exact.nash_conv(rules, "random")

The dealer is drawn by lot (C8), and every deal is as likely as any other. An information state is what a seat has seen,
in order: who deals, its own cards, every call and card, and its own exchange; that is what a `View` holds of one deal. So a
rule set fits whose match is a single deal, void ones included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any, Final

import numpy as np
from numba import types
from numba.typed import Dict

from napoleon_env import rules as core
from napoleon_env.jit import jit, lowest_bit
from napoleon_env.match import View
from napoleon_env.notation import DISCARD, N_ACTIONS, N_CARDS, NO_CARD, PLAY, REWARDS, SOME_DISCARD, shown, whole
from napoleon_env.players import Player, UntoldError
from napoleon_env.roster import make_player
from napoleon_env.ruleset import Ruleset
from napoleon_env.sequence_form import Equilibrium, GameError, SequenceForm
from napoleon_env.tables import Question, ask

MOST_ENDS: Final = 1_000_000
"""Ends that a game may have at most: about 1 GB while it is played out."""
AT_ONCE: Final = 4096
"""Information states that players are asked about in one call."""
ROUNDING: Final = 1e-4
"""How far the probabilities that a player tells may be from a sum of 1."""
NO_ACTION: Final = -1
END_OF_LOG: Final = -1

Policy = Any
"""What plays in every seat: a player or its spec, a sequence of one for each seat, or float64 (sequences,)."""


class ExactGame:
    """All of a tiny rule set.

    Args:
        rules: a preset's name, a `Ruleset` or a record's header; `changes` change fields.
        dealer: the seat that deals; None draws it by lot (C8).
        reward: "payoff", or "relative": payoff minus the mean of the others'.

    Raises:
        RulesetError, GameError: the rule set has matches of several deals, or more than MOST_ENDS ends; no such dealer.
    """

    def __init__(
        self,
        rules: str | Ruleset | Mapping[str, Any] = "german",
        *,
        dealer: int | None = None,
        reward: str = "payoff",
        **changes: Any,
    ) -> None:
        self.rules: Final = Ruleset.make(rules, **changes)
        if reward not in REWARDS:
            raise GameError(f"reward={shown(reward)} must be one of {', '.join(REWARDS)}")
        if self.rules.deals > 1 or (self.rules.all_pass == "void" and self.rules.max_void_deals > 1):
            raise GameError("an exact game is one deal: it needs deals=1, and all_pass=dealer_plays_one or max_void_deals=1")
        players = self.rules.players
        if dealer is not None and (whole(dealer) is None or not 0 <= dealer < players):
            raise GameError(f"dealer={shown(dealer)} must be a seat from 0 to {players - 1}, or None")
        self._dealers = np.arange(players) if dealer is None else np.array([dealer])
        self.n_deals: Final = n_deals(self.rules) * len(self._dealers)
        """Deals that differ in a card that matters or in who deals."""
        if self.n_deals > MOST_ENDS:
            raise GameError(_too_big(self.rules, self.n_deals))
        self._deals = np.array(list(_deals(self.rules)), np.int64)
        n_ends, n_decisions = _count(self._deals, self._dealers, self.rules.struct, core.new_state(core.MAX_LOG + 1))
        if n_ends > MOST_ENDS:
            raise GameError(_too_big(self.rules, self.n_deals))
        walk = _Walk(self._deals, self._dealers, self.rules, n_ends, n_decisions)
        self.decisions: Final = n_decisions
        """Decisions in all deals, forced ones too."""
        self.actions: Final = walk.actions
        """int64 (sequences,): the action of each sequence, NO_ACTION for the empty ones."""
        self._deal_of, self._logs = walk.deal_of, walk.logs
        payoffs = walk.payoffs
        if reward == "relative":
            payoffs = (payoffs * players - payoffs.sum(1, keepdims=True)) / (players - 1)
        self.form: Final = SequenceForm(walk.player, walk.before, walk.first, walk.last, payoffs / self.n_deals)

    @property
    def information_states(self) -> int:
        """Information states of all seats, forced decisions too."""
        return len(self.form.player)

    @property
    def histories(self) -> int:
        """Decisions and ends in all deals: the nodes of the game tree below chance."""
        return self.decisions + len(self.form.last)

    def states(self, numbers: np.ndarray) -> np.ndarray:
        """What the seat to move may know in these information states: dtype `rules.STATE`, shape (len(numbers),)."""
        states = core.new_state(len(numbers))
        _replay(self._deals, self._dealers, self.rules.struct, self._deal_of[numbers], self._logs[numbers], states)
        return states

    def legal(self, number: int) -> list[int]:
        """The action ids of an information state, in the order of its sequences."""
        return self.actions[self.form.first[number] : self.form.first[number + 1]].tolist()

    def policy(self, players: Policy) -> np.ndarray:
        """How `players` play, float64 (sequences,).

        A player with `deterministic = True` plays what it answers, any other what its `probabilities` say.

        Raises:
            RosterError: there is no such player.
            GameError: not one player for each seat, a player that draws by lot and does not tell its probabilities, or one
                that fails or plays illegally.
        """
        if isinstance(players, np.ndarray):
            return players
        if isinstance(players, Sequence) and not isinstance(players, str):
            if len(players) != self.rules.players:
                raise GameError(f"{len(players)} players were given for {self.rules.players} seats")
            seats = [make_player(player, rules=self.rules) for player in players]
        else:
            seats = [make_player(players, rules=self.rules)] * self.rules.players
        policy = self.form.uniform()
        choices = np.flatnonzero(np.diff(self.form.first) > 1)
        for player in {id(player): player for player in seats}.values():
            its = np.array([seat for seat, other in enumerate(seats) if other is player])
            numbers = choices[np.isin(self.form.player[choices], its)]
            for start in range(0, len(numbers), AT_ONCE):
                self._ask(player, numbers[start : start + AT_ONCE], policy)
        return policy

    def _ask(self, player: Player, numbers: np.ndarray, policy: np.ndarray) -> None:
        """Write a player's probabilities in some information states into `policy`."""
        states, seats = self.states(numbers), self.form.player[numbers]
        seeds, before = np.zeros(len(numbers), np.uint64), core.new_state(len(numbers))
        chances = _chances(player, Question(states, self.rules, seats, seeds, before))
        for row, number in enumerate(numbers.tolist()):
            place = slice(self.form.first[number], self.form.first[number + 1])
            mine = chances[row, self.actions[place]]
            if not abs(mine.sum() - 1) < ROUNDING:
                legal = ", ".join(View(self.rules, states[row : row + 1], int(seats[row])).legal())
                raise GameError(f"a player's probabilities of the legal actions ({legal}) add up to {mine.sum()}")
            policy[place] = mine / mine.sum()

    def nash_conv(self, players: Policy) -> float:
        """The sum over seats of what each alone could gain a deal, in points (`SequenceForm.nash_conv`)."""
        return self.form.nash_conv(self.policy(players))

    def solve(self, *, tolerance: float = 1e-4, iterations: int = 100_000) -> Equilibrium:
        """The equilibrium of two players (`SequenceForm.solve`)."""
        return self.form.solve(tolerance=tolerance, iterations=iterations)


def nash_conv(
    rules: str | Ruleset | Mapping[str, Any],
    players_or_policy: Policy,
    *,
    dealer: int | None = None,
    reward: str = "payoff",
    **changes: Any,
) -> float:
    """How far players are from an equilibrium of a tiny rule set: 0 there, and only there; points (stakes) a deal.

    Args:
        rules: a preset's name, a `Ruleset` or a record's header; `changes` change fields.
        players_or_policy: what plays in every seat: a player or its spec, one for each seat, or a policy of
            `ExactGame(rules).form`.
        dealer, reward: as in `ExactGame`.

    Raises:
        RulesetError, RosterError, GameError: as `ExactGame` and `ExactGame.policy`.
    """
    return ExactGame(rules, dealer=dealer, reward=reward, **changes).nash_conv(players_or_policy)


def _too_big(rules: Ruleset, deals: int) -> str:
    return f"{rules} has {deals:,} deals and more than {MOST_ENDS:,} ends, too many to play them all"


def n_deals(rules: Ruleset) -> int:
    """How many ways there are to deal the hands, and with an exchange the top of the stock, for one dealer."""
    left, n = rules.pack_size, 1
    for _ in range(rules.players):
        n *= comb(left, rules.hand_size)
        left -= rules.hand_size
    return n * left if rules.exchange else n


def _deals(rules: Ruleset) -> Iterator[tuple[int, ...]]:
    """The cards of every deal by place, as far as they matter: the hands by seat, then the card that may be drawn."""

    def hands(pack: tuple[int, ...], seats: int) -> Iterator[tuple[int, ...]]:
        if seats == 0:
            yield from ((card,) for card in pack) if rules.exchange else ((),)
            return
        for hand in combinations(pack, rules.hand_size):
            rest = tuple(card for card in pack if card not in hand)
            for others in hands(rest, seats - 1):
                yield hand + others

    return hands(tuple(rules.pack), rules.players)


def _chances(player: Any, question: Question) -> np.ndarray:
    """How likely a player takes each action, float64 (n, N_ACTIONS)."""
    n = len(question.states)
    if getattr(player, "deterministic", False) is True:
        actions, faults = ask(player, question)
        if faults:
            raise GameError(f"a player failed: {next(iter(faults.values()))}")
        chances = np.zeros((n, N_ACTIONS))
        chances[np.arange(n), actions] = 1
        return chances
    if hasattr(player, "probabilities_states"):
        return player.probabilities_states(question.states, question.rules, question.seats)
    try:
        if hasattr(player, "probabilities"):
            return np.array([player.probabilities(view) for view in question.views()], np.float64).reshape(n, N_ACTIONS)
        raise UntoldError(f"a {type(player).__name__} does not tell its probabilities")
    except UntoldError as error:
        raise GameError(f"{error}: probabilities(view) or deterministic = True is needed") from None


class _Walk:
    """Every deal by every dealer played out in all ways; the arrays are those of `SequenceForm` and `ExactGame`."""

    def __init__(self, deals: np.ndarray, dealers: np.ndarray, rules: Ruleset, n_ends: int, n_decisions: int) -> None:
        # Room for information states as if no two decisions were in the same one; what is not needed is let go below.
        player, before, deal_of = (np.empty(n_decisions, np.int64) for _ in range(3))
        first, logs = np.empty(n_decisions + 1, np.int64), np.empty((n_decisions, core.MAX_LOG), np.int8)
        actions = np.full(rules.players + n_decisions + n_ends, NO_ACTION)
        self.last, self.payoffs = np.empty((n_ends, rules.players), np.int64), np.empty((n_ends, rules.players))
        n = _walk(
            deals, dealers, rules.struct, core.new_state(core.MAX_LOG + 1), player, before, first, actions, deal_of, logs,
            self.last, self.payoffs,
        )  # fmt: skip
        self.player, self.before, self.deal_of, self.logs = (x[:n].copy() for x in (player, before, deal_of, logs))
        self.first, self.actions = first[: n + 1].copy(), actions[: first[n]].copy()


@jit
def _begin(state: Any, rules: Any, deal: Any, dealer: int) -> None:
    """Deal these cards."""
    core.begin_match(state, rules, dealer, 0)
    for place in range(N_CARDS):
        state["cards"][place] = deal[place] if place < len(deal) else NO_CARD
    core.begin_deal(state, rules)


@jit
def _count(deals: Any, dealers: Any, all_rules: Any, stack: Any) -> tuple[int, int]:
    """The numbers of ends and of decisions; stops where there are more than MOST_ENDS ends."""
    rules = all_rules[0]
    named, cards, base = np.zeros((3, len(stack)), np.int64)
    ends, decisions = 0, 0
    for number in range(len(deals) * len(dealers)):
        _begin(stack[0], rules, deals[number // len(dealers)], dealers[number % len(dealers)])
        depth = 0
        named[0], cards[0], base[0] = core.legal(stack[0], rules)
        decisions += 1
        while depth >= 0:
            if named[depth] == 0 and cards[depth] == 0:
                depth -= 1
                continue
            if named[depth]:
                action = lowest_bit(named[depth])
                named[depth] &= named[depth] - 1
            else:
                action = base[depth] + lowest_bit(cards[depth])
                cards[depth] &= cards[depth] - 1
            stack[depth + 1] = stack[depth]
            core.apply(stack[depth + 1], rules, action)
            if stack[depth + 1]["phase"] == core.NO_DEAL:
                ends += 1
                if ends > MOST_ENDS:
                    return ends, decisions
            else:
                depth += 1
                decisions += 1
                named[depth], cards[depth], base[depth] = core.legal(stack[depth], rules)
    return ends, decisions


@jit
def _seen(action: int, mine: bool, drawn: int) -> int:
    """What a seat sees of an action, as a number from 64 on: another's discard is face down, one's own brings a card."""
    if DISCARD <= action < PLAY:
        return 256 + (action - DISCARD) * 64 + drawn if mine else 64 + SOME_DISCARD
    return 64 + action


@jit
def _learn(knowledge: Any, known: int, seen: int) -> Any:
    """The number of what a seat knows once it has seen one thing more; `knowledge` numbers all that any seat may know."""
    key = known << 16 | seen
    if key not in knowledge:
        knowledge[key] = len(knowledge)
    return knowledge[key]


@jit
def _knows_at_first(knowledge: Any, rules: Any, deal: Any, dealer: int, seat: int) -> Any:
    """The number of what a seat knows of a deal before anything is said: who deals, its place and its cards."""
    known = _learn(knowledge, dealer * rules["players"] + seat, 0)  # nothing else is ever seen as 0
    for place in range(seat * rules["hand_size"], (seat + 1) * rules["hand_size"]):
        known = _learn(knowledge, known, 1 + deal[place])
    return known


@jit
def _list_actions(named: int, cards: int, base: int, actions: Any, place: int) -> int:
    """Write the actions of two masks (`rules.legal`) from `place` on, ascending; returns the place after them."""
    while named:
        actions[place] = lowest_bit(named)
        named &= named - 1
        place += 1
    while cards:
        actions[place] = base + lowest_bit(cards)
        cards &= cards - 1
        place += 1
    return place


@jit
def _walk(
    deals: Any, dealers: Any, all_rules: Any, stack: Any, player: Any, before: Any, first: Any, actions: Any, deal_of: Any,
    logs: Any, last: Any, payoffs: Any,
) -> int:  # fmt: skip
    """Depth first through all deals; returns the number of information states."""
    rules = all_rules[0]
    players = rules["players"]
    knowledge = Dict.empty(types.int64, types.int64)
    number_of = Dict.empty(types.int64, types.int64)  # the information state of whoever knows this and is to act
    known = np.zeros((len(stack), players), np.int64)
    sequence = np.zeros((len(stack), players), np.int64)
    following = np.zeros(len(stack), np.int64)  # the sequence of the action to be taken next
    left = np.zeros(len(stack), np.int64)  # how many actions are still to be taken
    states, ends = 0, 0
    first[0] = players
    for number in range(len(deals) * len(dealers)):
        deal, dealer = deals[number // len(dealers)], dealers[number % len(dealers)]
        _begin(stack[0], rules, deal, dealer)
        for seat in range(players):
            known[0, seat] = _knows_at_first(knowledge, rules, deal, dealer, seat)
            sequence[0, seat] = seat
        depth, entered = 0, True
        while depth >= 0:
            state = stack[depth]
            if entered and state["phase"] == core.NO_DEAL:
                for seat in range(players):
                    last[ends, seat] = sequence[depth, seat]
                    payoffs[ends, seat] = state["payoffs"][seat]
                ends += 1
                depth, entered = depth - 1, False
                continue
            seat = state["seat"]
            if entered:
                here = known[depth, seat]
                if here not in number_of:
                    number_of[here] = states
                    player[states], before[states], deal_of[states] = seat, sequence[depth, seat], number
                    logs[states, : state["n_log"]] = state["log"][: state["n_log"]]
                    logs[states, state["n_log"]] = END_OF_LOG
                    named, cards, base = core.legal(state, rules)
                    first[states + 1] = _list_actions(named, cards, base, actions, first[states])
                    states += 1
                following[depth] = first[number_of[here]]
                left[depth] = first[number_of[here] + 1] - following[depth]
            if left[depth] == 0:
                depth, entered = depth - 1, False
                continue
            action = actions[following[depth]]
            stack[depth + 1] = state
            core.apply(stack[depth + 1], rules, action)
            for other in range(players):
                seen = _seen(action, other == seat, np.int64(stack[depth + 1]["drawn"]))
                known[depth + 1, other] = _learn(knowledge, known[depth, other], seen)
                sequence[depth + 1, other] = sequence[depth, other]
            sequence[depth + 1, seat] = following[depth]
            following[depth] += 1
            left[depth] -= 1
            depth, entered = depth + 1, True
    return states


@jit
def _replay(deals: Any, dealers: Any, rules: Any, deal_of: Any, logs: Any, states: Any) -> None:
    """Write the states that logs lead to, blanked for the seat to move."""
    for i in range(len(states)):
        deal, dealer = deals[deal_of[i] // len(dealers)], dealers[deal_of[i] % len(dealers)]
        _begin(states[i], rules[0], deal, dealer)
        entry = 0
        while logs[i, entry] != END_OF_LOG:
            core.apply(states[i], rules[0], np.int64(logs[i, entry]))
            entry += 1
        core.hide(states[i], rules[0], states[i]["seat"])
