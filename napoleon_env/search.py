"""Players that search: they sample worlds that agree with what a seat knows (`belief`) and see what each action brings there.

`PimcPlayer` is perfect-information Monte Carlo: in every world all cards are then seen by all (the double-dummy solver), and
the action with the best mean is taken. It errs in two known ways. Who sees all cards never needs to guess, so a world counts
for what nobody can play for (strategy fusion); and others' choices tell what they hold, which a fresh sample does not ask about
(non-locality): Frank and Basin, "Search in games with incomplete information", Artificial Intelligence 100, 1998.

`EpimcPlayer` puts the open cards off (extended PIMC: https://arxiv.org/abs/2408.02380): in the auction every deal is also
played out by players who see only their own cards (`counting`), and worlds count for less the worse the calls heard fit them;
in the play the seat's own next decision is again taken on sampled worlds, and only then all cards are seen.

What counts is the seat's own payoff of the deal, the ante left out. Where nobody pays, the declarer's points count as lost to
each defender in equal shares (DESIGN.md, decision 7), so that a hopeless bid that takes the contract from another can be right.
"""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env import solver_core, solver_states
from napoleon_env.belief import BeliefError, fill_likely_worlds, fill_worlds
from napoleon_env.counting import counting_action
from napoleon_env.dealing import fork
from napoleon_env.jit import jit, lowest_bit
from napoleon_env.notation import (
    BLUCHER,
    DISCARD,
    MAX_HAND,
    MAX_PLAYERS,
    N_ACTIONS,
    N_CARDS,
    N_RANKS,
    NAPOLEON,
    NO_NAPOLEON,
    NO_SUIT,
    PLAY,
    STAND,
    SUITS,
    TRUMP,
    shown,
    whole,
)
from napoleon_env.players import StatesPlayer
from napoleon_env.ruleset import CHOSEN, EXACTLY, MUST_TRUMP, NEVER, POINTS_ONLY, Ruleset
from napoleon_env.solver import DEFAULT_MEMORY, Solver

DEFAULT_WORLDS: Final = 100
MOST_WORLDS: Final = 100_000
PROBE: Final = 8
"""Worlds that are looked at first under a time limit, to see how many more there is time for."""
HASTE: Final = 0.8
"""The part of the time left that is planned for."""
MANY_CARDS: Final = 30
"""With more cards than this in all hands, to see them all takes too long: the counting player plays the deals out instead."""
SCREENED: Final = 3
"""Exchanges that are looked at in all worlds; the others are given up after a part of them."""
TRUST: Final = 0.5
"""Measured, calls by playouts alone, english 4, 50 worlds, 500 deals: 0.25 ± 0.22 against PIMC with it, 0.16 ± 0.21 without."""


class SearchError(ValueError):
    """An option of a searching player that is out of range; one sentence that names it."""


# What contracts bring.


@jit
def _is_peaked(rules: Any, level: int) -> bool:
    """Whether a contract is made with one number of tricks alone."""
    return level == core.LEVEL_MISERE or rules["made"] == EXACTLY


@jit
def _price_contracts(state: Any, rules: Any, seat: int, scratch: Any, prices: Any) -> None:
    """Write what contracts bring: `prices[role, level, announced, tricks]` to the declarer (role 0) or each defender (1)."""
    players = rules["players"]
    other = (seat + 1) % players
    payoffs = np.zeros(MAX_PLAYERS, np.int64)
    scratch[0] = state
    s = scratch[0]
    s["declarer"] = seat
    for level in range(1, core.N_LEVELS):
        s["standing"] = level
        most = rules["hand_size"]
        if rules["stop"] != NEVER and not _is_peaked(rules, level):
            most = core.tricks_needed(rules, level)
        for announced in range(2):
            s["announced"] = announced
            for tricks in range(rules["hand_size"] + 1):
                payoffs[:] = 0
                s["pot"] = state["pot"]
                s["tricks_won"][seat] = min(tricks, most)
                core._pay(s, rules, payoffs)
                prices[0, level, announced, tricks] = payoffs[seat]
                prices[1, level, announced, tricks] = payoffs[other]
                if rules["payment"] == POINTS_ONLY:
                    prices[1, level, announced, tricks] = -payoffs[seat] / (players - 1)


@jit
def _tricks_to_pay(hands: Any, rules: Any, declarer: int, level: int, trump: int, work: Any) -> int:
    """A number of tricks that pays as the contract does when everyone sees all cards; the declarer leads, trump is given.

    `work` is a solver's room (`solver_states`).
    """
    _, room, owner, _, info, start = work
    info[solver_core.PLAYERS] = rules["players"]
    info[solver_core.MUST] = 1 if rules["void"] == MUST_TRUMP else 0
    info[solver_core.BUDGET] = solver_states.NO_BUDGET
    need = core.tricks_needed(rules, level)
    peaked = _is_peaked(rules, level)
    info[solver_core.EXACT] = 1 if peaked else 0
    start[solver_core.PLAYER] = 0
    start[solver_core.PLAYED] = 0
    start[solver_core.LEFT] = rules["hand_size"]
    rest = solver_states.set_up(hands, declarer, trump, room, owner, info)
    moves = solver_core.distinct(room[0], rest & ~room[0])
    if rules["trump"] != CHOSEN and trump != NO_SUIT:
        moves &= solver_core.TRUMPS
    if not peaked and rules["payment"] == POINTS_ONLY and rules["stop"] == NEVER:
        return solver_states.best_tricks(work, rest, moves)
    while moves != 0:
        card = moves & -moves
        moves ^= card
        if solver_states.ask(work, rest, need, card) == 1:
            return need
    return need - 1 if need > 0 else need + 1


@jit
def _call_and_see(
    worlds: Any, rules: Any, seat: int, call: int, prices: Any, seen: Any, levels: Any, values: Any, scratch: Any, work: Any
) -> None:
    """What comes of a call in each world when the counting player makes all further calls.

    Where `seat` becomes declarer, its level goes to `levels`, else NO_CALL and what the deal brings to the seat to `values`:
    the other declarer exchanges and chooses trump as the counting player, and then all see all cards. `seen[world, declarer,
    level]` keeps those values for other calls; NaN where none is known yet.
    """
    for i in range(len(worlds)):
        scratch[0] = worlds[i]
        s = scratch[0]
        core.apply(s, rules, call)
        while s["phase"] == core.AUCTION:
            core.apply(s, rules, counting_action(s, rules, s["seat"]))
        levels[i] = core.NO_CALL
        values[i] = 0.0
        if s["phase"] == core.NO_DEAL:
            continue
        declarer = s["declarer"]
        level = s["standing"]
        if declarer == seat:
            levels[i] = level
            continue
        if np.isnan(seen[i, declarer, level]):
            while s["phase"] != core.TRICKS:
                core.apply(s, rules, counting_action(s, rules, s["seat"]))
            trump = s["trump"]
            if trump == NO_SUIT and level != core.LEVEL_MISERE:
                trump = (counting_action(s, rules, declarer) - PLAY) // N_RANKS
            tricks = _tricks_to_pay(s["hand"], rules, declarer, level, trump, work)
            seen[i, declarer, level] = prices[1, level, s["announced"], tricks]
        values[i] = seen[i, declarer, level]


# Deals played out by players who see only their own cards.


@jit
def deal_worth(state: Any, rules: Any, seat: int) -> float:
    """What a deal that is over has brought to a seat, the ante left out; where nobody pays, see the top of this module."""
    declarer = state["declarer"]
    if rules["payment"] == POINTS_ONLY and declarer != seat and declarer >= 0:
        return -state["payoffs"][declarer] / (rules["players"] - 1)
    return np.float64(state["payoffs"][seat] + rules["ante"])


@jit
def _play_out(scratch: Any, rules: Any, seat: int) -> float:
    """Play the deal in `scratch[0]` to its end as the counting player would; what it brings to `seat`."""
    s = scratch[0]
    while s["phase"] != core.NO_DEAL:
        core.apply(s, rules, counting_action(s, rules, s["seat"]))
    return deal_worth(s, rules, seat)


@jit
def _try_actions(worlds: Any, rules: Any, seat: int, actions: Any, scratch: Any, sums: Any) -> None:
    """Add to `sums[k]` what comes of `actions[k]` in every world when all is then played out.

    Calls that lead to the same contract lead to the same play, which is played once.
    """
    seen = np.empty((MAX_PLAYERS, core.N_LEVELS))
    for i in range(len(worlds)):
        seen[:] = np.nan
        calling = worlds[i]["phase"] == core.AUCTION
        for k in range(len(actions)):
            scratch[0] = worlds[i]
            s = scratch[0]
            core.apply(s, rules, actions[k])
            if not calling:
                sums[k] += _play_out(scratch, rules, seat)
                continue
            while s["phase"] == core.AUCTION:
                core.apply(s, rules, counting_action(s, rules, s["seat"]))
            if s["phase"] != core.NO_DEAL:
                declarer = s["declarer"]
                level = s["standing"]
                if np.isnan(seen[declarer, level]):
                    seen[declarer, level] = _play_out(scratch, rules, seat)
                sums[k] += seen[declarer, level]


# The play, with one more decision before all see all cards.


@jit
def _best_card(cards: int, sign: int, trump: int, payoffs: Any, tricks: Any) -> int:
    """Of `cards` the one with the best sum of payoffs (`sign` 1: the most), of equals that of tricks, then the cheapest."""
    best = lowest_bit(cards)
    for card in range(best + 1, N_CARDS):
        if cards >> card & 1:
            gain = sign * (payoffs[card] - payoffs[best])
            if gain == 0:
                gain = sign * (tricks[card] - tricks[best])
            if gain == 0:
                gain = np.float64(best // N_RANKS == trump) - np.float64(card // N_RANKS == trump)
            if gain == 0:
                gain = np.float64(best % N_RANKS - card % N_RANKS)
            if gain > 0:
                best = card
    return best


@jit
def _solve(states: Any, rules: Any, objective: int, room: Any, start: int, work: Any) -> None:
    """What every card of `states` is worth, into the rows of `room` from `start` on."""
    tricks, payoffs, known = room
    stop = start + len(states)
    tricks[start:stop] = solver_states.NOT_LEGAL
    payoffs[start:stop] = 0
    known[start:stop] = True
    work[4][solver_core.BUDGET] = solver_states.NO_BUDGET
    solver_states.solve_all(states, rules, objective, tricks[start:stop], payoffs[start:stop], known[start:stop], work)


@jit
def _postpone(
    worlds: Any, rules: Any, seat: int, word: Any, objective: int, inner: Any, room: Any, sums: Any, scratch: Any, work: Any
) -> None:
    """Add to `sums[0, card]` and `sums[1, card]` the declarer's payoff and tricks after each legal card, in every world.

    The others play as if they saw all cards, up to the seat's own next choice. That is taken by the best mean over the worlds
    `inner`, drawn from what the seat will then know; only after it all see all cards. `room` has a row more than `inner`.
    """
    tricks, payoffs, _ = room
    cards = core.legal_cards(worlds[0], rules)
    declarer = worlds[0]["declarer"]
    means = np.zeros((2, N_CARDS))
    for i in range(len(worlds)):
        for card in range(N_CARDS):
            if not cards >> card & 1:
                continue
            scratch[0] = worlds[i]
            s = scratch[0]
            core.apply(s, rules, PLAY + card)
            choosing = True
            while choosing and s["phase"] != core.NO_DEAL:
                who = s["seat"]
                moves = core.legal_cards(s, rules)
                sign = 1 if who == declarer else -1
                if moves & (moves - 1) == 0:
                    core.apply(s, rules, PLAY + lowest_bit(moves))
                    continue
                _solve(scratch, rules, objective, room, 0, work)
                if who != seat:
                    core.apply(s, rules, PLAY + _best_card(moves, sign, s["trump"], payoffs[0], tricks[0]))
                    continue
                fill_worlds(s, rules, seat, fork(word, i), inner)
                _solve(inner, rules, objective, room, 1, work)
                means[:] = 0.0
                for w in range(1, len(inner) + 1):
                    for c in range(N_CARDS):
                        if moves >> c & 1:
                            means[0, c] += payoffs[w, c]
                            means[1, c] += tricks[w, c]
                choice = _best_card(moves, sign, s["trump"], means[0], means[1])
                sums[0, card] += payoffs[0, choice]
                sums[1, card] += tricks[0, choice]
                choosing = False
            if choosing:
                sums[0, card] += s["payoffs"][declarer] + rules["ante"]
                sums[1, card] += s["tricks_won"][declarer]


# The players.


class PimcPlayer(StatesPlayer):
    """Perfect-information Monte Carlo: the best mean over sampled worlds, in each of which all cards are then seen by all.

    * Play: payoff, of equal means the declarer's tricks, then the cheapest card.
    * Trump, exchange, Napoleon: the plan with the best mean (`_Plans`): the best of means, never the mean of the best.
    * Auction: in every world the other seats, and this one from its next call on, go on as the counting player. Where the seat
      becomes declarer it gets what its best plan brings; where another does, what a defender gets against the trump suit that
      the counting player would choose; where all pass, what the rules say. So a pass is worth what then happens.

    Args:
        worlds: sampled for each decision; by default 100, or under a time limit as many as there is time for.
        time_ms: milliseconds that a decision may take, about (at least PROBE worlds are looked at); moves are then not
            reproducible (`timed`).
        memory: MiB for the table of solved positions.

    Raises:
        SearchError, SolverError: an option out of range.
    """

    deterministic = False

    def __init__(self, *, worlds: int | None = None, time_ms: float | None = None, memory: int = DEFAULT_MEMORY) -> None:
        default = _default_worlds(time_ms)
        self.worlds = check_worlds("worlds", default if worlds is None else worlds)
        self.time_ms = time_ms
        self.timed: Final = time_ms is not None
        """Whether moves depend on the machine's speed, so that they cannot be repeated."""
        self._solver = Solver(memory=memory)

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """The action with the best mean at each table; worlds are drawn from the seeds alone."""
        return np.array([self._decide(states[i : i + 1], rules, int(seats[i]), seeds[i]) for i in range(len(states))], np.int64)

    def fill(self, state: np.ndarray, rules: Ruleset, seat: int, word: Any, worlds: np.ndarray) -> bool:
        """Fill `worlds` with what agrees with what `seat` knows in a state of shape (1,); False where nothing does."""
        return fill_worlds(state[0], rules.struct[0], seat, word, worlds)

    def _decide(self, state: np.ndarray, rules: Ruleset, seat: int, word: Any) -> int:
        """One decision, from a state of shape (1,); `word` is the uint64 that all worlds are drawn from."""
        named, cards, base = core.legal(state[0], rules.struct[0])
        if named == 0 and cards & (cards - 1) == 0:
            return base + int(cards).bit_length() - 1
        if self.time_ms is None:
            return self._choose(Decision(self, state, rules, seat, self.worlds, word))
        deadline = time.monotonic() + self.time_ms / 1000
        number = min(PROBE, self.worlds)
        while True:
            start = time.monotonic()
            action = self._choose(Decision(self, state, rules, seat, number, word))
            now = time.monotonic()
            more = min(self.worlds, int(number * HASTE * (deadline - now) / max(now - start, 1e-6)))
            if more < 2 * number:
                return action
            number = min(more, 8 * number)

    def _choose(self, decision: Decision) -> int:
        """The action in a decision with its worlds sampled."""
        state = decision.state
        phase, level, announced = int(state["phase"]), int(state["standing"]), int(state["announced"])
        if decision.many_cards:
            actions, means = decision.playouts()
            return int(actions[means.argmax()])
        if phase == core.TRICKS:
            return self._card(decision)
        if phase == core.AUCTION:
            values = decision.call_values()
            return max(values, key=lambda call: values[call])  # of equals the first: pass, then the lowest
        plans = _Plans(decision)
        if phase == core.ANNOUNCE:
            plain, bold = (plans.best(level, choice)[0] for choice in (0, 1))
            return NAPOLEON if bold > plain else NO_NAPOLEON
        return plans.best(level, announced)[1] if phase == core.EXCHANGE else TRUMP + plans.trump(level, announced)

    def _card(self, decision: Decision) -> int:
        return decision.best_card(*decision.card_sums())


class EpimcPlayer(PimcPlayer):
    """PIMC that puts the open cards off.

    * Auction: a call is worth the mean of what it is with open cards, as for PIMC, and of what comes when the counting player
      plays all cards out, who sees only its own. The first errs where defence with open cards is too good (misère, an exact
      number of tricks), the second where the counting player is weak (the exchange).
    * Play: cards are open after the seat's own next decision, which is taken on `inner` sampled worlds.

    Args:
        worlds, time_ms, memory: as for `PimcPlayer`.
        inner: worlds for the next decision in the play; 0: all cards are seen at once, as in PIMC.
        trust: how much a world loses in the auction, as a power of e, for each step by which a call heard is higher or lower
            than the counting player's would have been in it; 0 takes no notice of the calls.

    Raises:
        SearchError, SolverError: an option out of range.
    """

    def __init__(
        self,
        *,
        worlds: int | None = None,
        time_ms: float | None = None,
        inner: int = 20,
        trust: float = TRUST,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        super().__init__(worlds=worlds, time_ms=time_ms, memory=memory)
        self.inner = check_worlds("inner", inner, 0)
        if isinstance(trust, bool) or not isinstance(trust, (int, float)) or not 0 <= trust <= 100:
            raise SearchError(f"trust={shown(trust)} must be a number from 0 to 100")
        self.trust = float(trust)

    def fill(self, state: np.ndarray, rules: Ruleset, seat: int, word: Any, worlds: np.ndarray) -> bool:
        """The same; in the auction the better the calls heard fit a world, the likelier it is."""
        if state["phase"][0] != core.AUCTION:
            return super().fill(state, rules, seat, word, worlds)
        return fill_likely_worlds(state[0], rules.struct[0], seat, word, self.trust, worlds)

    def _choose(self, decision: Decision) -> int:
        if decision.state["phase"] != core.AUCTION or decision.many_cards:
            return super()._choose(decision)
        actions, played_out = decision.playouts()
        seen = decision.call_values()
        return int(actions[(played_out + [seen[call] for call in actions.tolist()]).argmax()])

    def _card(self, decision: Decision) -> int:
        return decision.best_card(*(decision.postponed_sums(self.inner) if self.inner else decision.card_sums()))


def _default_worlds(time_ms: float | None) -> int:
    """How many worlds when none are asked for; checks the time limit."""
    if time_ms is None:
        return DEFAULT_WORLDS
    if isinstance(time_ms, bool) or not isinstance(time_ms, (int, float)) or not 0 < time_ms < 1e9:
        raise SearchError(f"time_ms={shown(time_ms)} must be a number of milliseconds above 0")
    return MOST_WORLDS


def check_worlds(name: str, value: object, least: int = 1) -> int:
    """A number of worlds among a player's options.

    Raises:
        SearchError: it is none.
    """
    number = whole(value)
    if number is None or not least <= number <= MOST_WORLDS:
        raise SearchError(f"{name}={shown(value)} must be a whole number from {least} to {MOST_WORLDS}")
    return number


class Decision:
    """One decision: the worlds, and what is found in them."""

    def __init__(self, player: PimcPlayer, state: np.ndarray, rules: Ruleset, seat: int, n: int, word: Any) -> None:
        self.state, self.rules, self.seat, self.word, self.solver = state[0], rules, seat, word, player._solver
        self.worlds = core.new_state(n)
        if not player.fill(state, rules, seat, word, self.worlds):
            raise BeliefError(f"no world agrees with what seat {seat} knows: this position cannot arise in {rules}")
        self.scratch = core.new_state()
        self.prices = np.zeros((2, core.N_LEVELS, 2, MAX_HAND + 1))
        """`_price_contracts`; filled before the play alone."""
        if self.state["phase"] != core.TRICKS:
            _price_contracts(self.state, rules.struct[0], seat, self.scratch, self.prices)

    # The play: the declarer's payoffs and tricks by card, summed over the worlds, float64 (52,) each.

    @property
    def many_cards(self) -> bool:
        """Whether there are too many cards in all hands to see them all."""
        return int(np.bitwise_count(self.worlds["hand"][0, : self.rules.players]).sum()) > MANY_CARDS

    @property
    def objective(self) -> str:
        """What the solver is asked for: tricks decide between equal payoffs only where more of them are better."""
        return "payoff" if _is_peaked(self.rules.struct[0], self.state["standing"]) else "both"

    def card_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """All cards are seen at once."""
        tricks, payoffs = self.solver.solve_states(self.worlds, self.rules, objective=self.objective)
        return payoffs.sum(0, dtype=np.float64), tricks.sum(0, dtype=np.float64)

    def postponed_sums(self, inner: int) -> tuple[np.ndarray, np.ndarray]:
        """All cards are seen after the seat's next decision, which is taken over so many worlds."""
        shape = inner + 1, N_CARDS
        room = np.zeros(shape, np.int8), np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        objective = solver_states.BOTH if self.objective == "both" else solver_states.PAYOFF
        sums = np.zeros((2, N_CARDS))
        _postpone(
            self.worlds, self.rules.struct[0], self.seat, self.word, objective, core.new_state(inner), room, sums, self.scratch,
            self.solver._work,
        )  # fmt: skip
        return sums[0], sums[1] if self.objective == "both" else np.zeros(N_CARDS)

    def best_card(self, payoffs: np.ndarray, tricks: np.ndarray) -> int:
        """The action with the best sum of payoffs, of equals that of tricks, then the cheapest card."""
        cards = core.legal_cards(self.state, self.rules.struct[0])
        sign = 1 if self.state["declarer"] == self.seat else -1
        return PLAY + int(_best_card(cards, sign, self.state["trump"], payoffs, tricks))

    # Before the play.

    def legal(self) -> np.ndarray:
        """The legal actions, ascending."""
        mask = np.zeros(N_ACTIONS, np.int8)
        core.legal_mask(self.state, self.rules.struct[0], mask)
        return np.flatnonzero(mask)

    def playouts(self) -> tuple[np.ndarray, np.ndarray]:
        """The legal actions, and the mean of what each brings when the counting player plays on for all."""
        actions = self.legal()
        sums = np.zeros(len(actions))
        _try_actions(self.worlds, self.rules.struct[0], self.seat, actions, self.scratch, sums)
        return actions, sums / len(self.worlds)

    def call_values(self) -> dict[int, float]:
        """The mean of what each legal call brings, by action, when after the auction all cards are seen by all."""
        n, calls = len(self.worlds), self.legal()
        assert calls[-1] <= BLUCHER
        seen = np.full((n, MAX_PLAYERS, core.N_LEVELS), np.nan)
        levels, values = np.zeros((len(calls), n), np.int64), np.zeros((len(calls), n))
        for k, call in enumerate(calls):
            _call_and_see(
                self.worlds, self.rules.struct[0], self.seat, call, self.prices, seen, levels[k], values[k], self.scratch,
                self.solver._work,
            )  # fmt: skip
        plans = _Plans(self)
        for level in np.unique(levels):
            if level != core.NO_CALL:
                values = np.where(levels == level, plans.outcome(int(level)), values)
        return {int(call): float(mean) for call, mean in zip(calls, values.mean(1), strict=True)}


class _Exchange:
    """One way to exchange, or none: the hands that it leads to and, lazily, what can be made of them with open cards."""

    def __init__(self, decision: Decision, action: int, hands: np.ndarray, groups: np.ndarray) -> None:
        self.decision, self.action, self.hands, self.groups = decision, action, hands, groups
        self._tables: dict[int, np.ndarray] = {}

    def table(self, level: int, rows: int) -> np.ndarray:
        """Of the first `rows` worlds: the most tricks by trump suit, or for a peaked contract 1 where it can be made.

        int8 [rows, suits], or of one column for a misère; NO_LEAD where that suit cannot be led.
        """
        peaked = _is_peaked(self.decision.rules.struct[0], level)
        key = level if peaked else core.NO_CALL
        known = self._tables.get(key)
        start = 0 if known is None else len(known)
        if start < rows:
            hands = self.hands[start:rows]
            more = self._can(hands, level) if peaked else self._tricks(hands)
            self._tables[key] = more if known is None else np.concatenate([known, more])
        return self._tables[key][:rows]

    def _tricks(self, hands: np.ndarray) -> np.ndarray:
        rules, decision = self.decision.rules, self.decision
        table = decision.solver.tricks_table(hands, declarer=decision.seat, trump=rules.trump, void=rules.void)
        return table[:, : rules.suits]

    def _can(self, hands: np.ndarray, level: int) -> np.ndarray:
        rules, decision = self.decision.rules, self.decision
        misere = level == core.LEVEL_MISERE
        number = int(core.tricks_needed(rules.struct[0], level))
        table = np.full((len(hands), 1 if misere else rules.suits), solver_states.NO_LEAD, np.int8)
        for suit in range(table.shape[1]):
            leads = hands[:, decision.seat] >> N_RANKS * suit & core.SUIT_CARDS != 0
            if misere or rules.trump == "chosen":
                leads[:] = True
            table[leads, suit] = decision.solver.exact_table(
                hands[leads],
                number,
                suit=None if misere else SUITS[suit],
                declarer=decision.seat,
                trump=rules.trump,
                void=rules.void,
            )
        return table


class _Plans:
    """What a seat can make of its hand as declarer, world by world, when from the first lead on all cards are seen by all.

    A plan is a card to lay away, or none, and a trump suit; after an exchange the trump may depend on the suit of the card
    drawn, which is what the declarer will know then. A plan is worth its mean over the worlds. The best of these means is
    taken, never the mean of what is best in each world, for the declarer has to choose without seeing the world.
    """

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        rules, seat, worlds = decision.rules, decision.seat, decision.worlds
        hands = np.ascontiguousarray(worlds["hand"][:, : rules.players])
        self.n = len(hands)
        self.exchanges = [_Exchange(decision, STAND, hands, np.zeros(self.n, np.int64))]
        if rules.exchange and decision.state["phase"] <= core.EXCHANGE:
            drawn = worlds["cards"][:, rules.players * rules.hand_size].astype(np.int64)
            own = int(hands[0, seat])
            for card in range(N_CARDS):
                if own >> card & 1:
                    after = hands.copy()
                    after[:, seat] = own & ~(1 << card) | np.int64(1) << drawn
                    self.exchanges.append(_Exchange(decision, DISCARD + card, after, drawn // N_RANKS))
        self._best: dict[tuple[int, int], tuple[float, int, np.ndarray]] = {}

    def worth(self, exchange: _Exchange, level: int, announced: int, rows: int) -> np.ndarray:
        """What a contract brings by world and trump suit, float [rows, suits]; -inf where that suit cannot be led."""
        table, price = exchange.table(level, rows), self.decision.prices[0, level, announced]
        if _is_peaked(self.decision.rules.struct[0], level):
            need = int(core.tricks_needed(self.decision.rules.struct[0], level))
            brings = np.where(table == 1, price[need], price[need - 1 if need > 0 else need + 1])
        else:
            brings = price[np.maximum(table, 0)]
        return np.where(table == solver_states.NO_LEAD, -np.inf, brings)

    def brings(self, exchange: _Exchange, level: int, announced: int, rows: int) -> np.ndarray:
        """What the best trump brings in each of the first `rows` worlds, float [rows]."""
        worth, groups = self.worth(exchange, level, announced, rows), exchange.groups[:rows]
        out = np.empty(rows)
        for group in np.unique(groups):
            inside = groups == group
            out[inside] = worth[inside, int(worth[inside].mean(0).argmax())]
        return out

    def best(self, level: int, announced: int) -> tuple[float, int, np.ndarray]:
        """The best plan: its mean, its exchange as an action, and what it brings in each world."""
        key = level, announced
        if key not in self._best:
            exchanges = self.exchanges
            if len(exchanges) > SCREENED:
                part = min(self.n, max(PROBE, self.n // 4))
                means = [self.brings(exchange, level, announced, part).mean() for exchange in exchanges]
                exchanges = [exchanges[k] for k in sorted(np.argsort(means, kind="stable")[-SCREENED:])]
            found = [(self.brings(exchange, level, announced, self.n), exchange.action) for exchange in exchanges]
            worlds, action = max(found, key=lambda plan: plan[0].mean())
            self._best[key] = float(worlds.mean()), action, worlds
        return self._best[key]

    def outcome(self, level: int) -> np.ndarray:
        """What the best plan brings in each world, Napoleon announced where that is possible and better."""
        rules = self.decision.rules
        plain = self.best(level, 0)
        if rules.napoleon == "announced" and level == core.level_of_bid(rules.hand_size):
            bold = self.best(level, 1)
            if bold[0] > plain[0]:
                return bold[2]
        return plain[2]

    def trump(self, level: int, announced: int) -> int:
        """The suit with the best mean; of equals the one that takes more tricks."""
        means = self.worth(self.exchanges[0], level, announced, self.n).mean(0)
        tricks = self.exchanges[0]._tricks(self.exchanges[0].hands).mean(0)
        return max(range(len(means)), key=lambda suit: (means[suit], tricks[suit]))
