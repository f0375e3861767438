"""Many tables at once: whole matches in lockstep, each player asked once a round for all the tables where it is to act.

A table is a match of which each seat belongs to an entrant. What a player is asked is blanked first (`rules.hide`), whatever
kind of player it is. A player that raises (whatever it raises, an exit too, but no interrupt), runs out of time or answers
with what is not legal *forfeits* that match; the other tables go on.

The seed of a decision is a pure function of the tournament's seed, the deal, the table's key and the number of the decision, so
the result does not depend on what else is played beside it. A player with `deterministic = True`, which draws nothing by lot,
is asked only once where several tables of a deal have come to the same position. With common random numbers the seed is one of
deal and position instead of table and number, and every player is asked only once. Where only one action is legal nobody is
asked at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from napoleon_env import rules as core
from napoleon_env.dealing import check_seed, deal_key, fork, random_deal
from napoleon_env.jit import jit, lowest_bit
from napoleon_env.match import FinishedDeal, Match, View
from napoleon_env.notation import MAX_PLAYERS, N_ACTIONS, NO_SEAT, PLAY, NotationError, action_id, shown, whole
from napoleon_env.players import act_many
from napoleon_env.ruleset import Ruleset

NOBODY: Final = -1
"""In place of an entrant's number."""

TALLY: Final = np.dtype(
    [
        ("deals", np.int64),  # seats held in finished deals, void ones too
        ("void", np.int64),  # of these, in deals that nobody played
        ("made", np.int64, core.N_LEVELS),  # contracts made as declarer, by level
        ("failed", np.int64, core.N_LEVELS),
        ("defended", np.int64),
        ("beaten", np.int64),  # of these, in deals whose contract failed
        ("declarer_payoff", np.int64),  # sums of payoffs, whole units
        ("defender_payoff", np.int64),
        ("void_payoff", np.int64),  # antes
        ("decisions", np.int64),  # forced ones too
        ("declarer_cards", np.int64),  # cards with a choice, played as declarer, where a solver looked on
        ("declarer_loss", np.int64),  # what they gave away against open cards, in what the declarer is paid
        ("defender_cards", np.int64),
        ("defender_loss", np.int64),
        ("seats", np.int64, MAX_PLAYERS),  # matches begun in each seat
        ("places", np.int64, MAX_PLAYERS),  # matches begun so many places to the left of the dealer
        ("dealt", np.int64, MAX_PLAYERS),  # matches begun by the dealer in each seat
    ],
    align=True,
)
"""What is counted for one entrant; every field is a sum, so tallies add up."""


class PlayerError(ValueError):
    """A player that did not answer, or answered with what is no action; one sentence."""


class Question(NamedTuple):
    """What a player is asked for n tables at once."""

    states: np.ndarray
    """Shape (n,), dtype `rules.STATE`, each blanked for its seat."""
    rules: Ruleset
    seats: np.ndarray
    """int64 (n,): who is to act."""
    seeds: np.ndarray
    """uint64 (n,): of each decision's randomness (`View.rng`)."""
    last_states: np.ndarray
    """Shape (n,), dtype `rules.STATE`: how the deal before this one ended, blanked; `deal` is 0 where there was none."""

    def rows(self, rows: Any) -> Question:
        """The question about some of the tables."""
        return Question(self.states[rows], self.rules, self.seats[rows], self.seeds[rows], self.last_states[rows])

    def views(self) -> list[View]:
        """The same as one `View` a table."""
        return [
            View(
                self.rules,
                self.states[i : i + 1],
                int(self.seats[i]),
                FinishedDeal(self.rules, self.last_states[i : i + 1]) if self.last_states["deal"][i] else None,
                int(self.seeds[i]),
            )
            for i in range(len(self.states))
        ]


class Forfeit(NamedTuple):
    """A match that ended because an entrant did not answer with a legal action."""

    deal: int
    table: int
    """Number of the table among those of its deal."""
    entrant: int
    seat: int
    decision: int
    """How many decisions had been taken at that table."""
    reason: str


class Draw(Protocol):
    """Decides which tables are played on once the first card has been led at all of them (`control`)."""

    def __call__(self, rows: np.ndarray, states: np.ndarray, seeds: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """For how many tables each of the tables `rows` is played on: int64, 0 where it is not.

        `seeds` are words of each table's own randomness; `positions` are the same where deal and actions are.
        """
        ...


class Recorder(Protocol):
    """Told of every deal that ends."""

    def __call__(self, rows: np.ndarray, states: np.ndarray) -> None:
        """`rows` are the tables, `states` how their deals ended (`phase` is over)."""


# The kernels.


@jit
def _begin(states: Any, rules: Any, key: Any, deals: Any, dealers: Any) -> None:
    """Begin match number `deals[i]` of the key, dealt by `dealers[i]`, at every table."""
    for i in range(len(states)):
        states[i]["key"] = key
        states[i]["match"] = deals[i]
        core.begin_match(states[i], rules[0], dealers[i], 0)
        random_deal(states[i], rules[0])


@jit
def _card_is_led(state: Any) -> bool:
    """Whether the first card of the deal has been led, and others are to come."""
    return state["phase"] == core.TRICKS and state["n_log"] > state["first_card"]


@jit
def _acting(states: Any, rules: Any, assigned: Any, waits: Any, acting: Any, forced: Any) -> int:
    """Write the entrant that is to act at every table, or NOBODY; returns how many tables still play.

    A table that `waits` stops after the first card. Where only one action is legal, `acting` is NOBODY and `forced` that
    action; elsewhere `forced` is -1.
    """
    n = 0
    for i in range(len(states)):
        acting[i] = NOBODY
        forced[i] = -1
        seat = states[i]["seat"]
        if seat == NO_SEAT or (waits[i] and _card_is_led(states[i])):
            continue
        n += 1
        named, cards, base = core.legal(states[i], rules[0])
        if named == 0 and cards & (cards - 1) == 0:
            forced[i] = base + lowest_bit(cards)
        elif cards == 0 and named & (named - 1) == 0:
            forced[i] = lowest_bit(named)
        else:
            acting[i] = assigned[i, seat]
    return n


@jit
def show(states: Any, last: Any, rules: Any, rows: Any, seen: Any, last_seen: Any, seats: Any) -> None:
    """Copy what the seats to act at the tables `rows` may know."""
    for k in range(len(rows)):
        row = rows[k]
        seat = states[row]["seat"]
        seats[k] = seat
        seen[k] = states[row]
        core.hide(seen[k], rules[0], seat)
        last_seen[k] = last[row]
        if last_seen[k]["deal"] > 0:
            core.hide(last_seen[k], rules[0], seat)


@jit
def _seeds(
    base: Any, deals: Any, keys: Any, decisions: Any, histories: Any, rows: Any, common: bool, seeds: Any, positions: Any
) -> None:
    """Write the seeds of the next decisions at the tables `rows`, and words that are the same for equal positions of a deal.

    The seeds are of table and number of the decision, or with `common` of the position.
    """
    for k in range(len(rows)):
        row = rows[k]
        of_deal = fork(base, deals[row])
        positions[k] = of_deal ^ histories[row]
        seeds[k] = fork(positions[k], 0) if common else fork(fork(of_deal, keys[row]), decisions[row])


@jit
def _count_deal(state: Any, rules: Any, assigned: Any, weight: int, tally: Any) -> None:
    """Add a deal that has just ended, `weight` times, to the tallies of the entrants at its table."""
    declarer = state["declarer"]
    made = declarer != NO_SEAT and core.contract_is_made(state, rules)
    for seat in range(rules["players"]):
        mine = tally[assigned[seat]]
        payoff = weight * state["payoffs"][seat]
        mine["deals"] += weight
        if declarer == NO_SEAT:
            mine["void"] += weight
            mine["void_payoff"] += payoff
        elif seat == declarer:
            mine["declarer_payoff"] += payoff
            if made:
                mine["made"][state["standing"]] += weight
            else:
                mine["failed"][state["standing"]] += weight
        else:
            mine["defended"] += weight
            mine["defender_payoff"] += payoff
            if not made:
                mine["beaten"] += weight


@jit
def _step(
    states: Any,
    last: Any,
    rules: Any,
    assigned: Any,
    rows: Any,
    actions: Any,
    weights: Any,
    decisions: Any,
    histories: Any,
    legal: Any,
    over: Any,
    tally: Any,
) -> None:
    """Carry out `actions[k]` at table `rows[k]`; `legal[k]` is False where nothing was done because the rules forbid it.

    `over[k]` is True where that ended a deal: it then stands in `last`, and the next one of the match is dealt.
    """
    r = rules[0]
    for k in range(len(rows)):
        state = states[rows[k]]
        action = actions[k]
        over[k] = False
        legal[k] = 0 <= action < N_ACTIONS and core.is_legal(state, r, action)
        if not legal[k]:
            continue
        decisions[rows[k]] += 1
        histories[rows[k]] = fork(histories[rows[k]], action)
        tally[assigned[rows[k], state["seat"]]]["decisions"] += 1
        core.apply(state, r, action)
        if state["phase"] == core.NO_DEAL:
            over[k] = True
            last[rows[k]] = state
            _count_deal(state, r, assigned[rows[k]], weights[rows[k]], tally)
            if state["outcome"] == core.RUNNING:
                random_deal(state, r)


# The round.


@dataclass(frozen=True)
class Played:
    """What came of a set of tables."""

    scores: np.ndarray
    """int64 (n, players): each seat's score at the end of its match; an offender's is less by the price of a forfeit."""
    tally: np.ndarray
    """Shape (entrants,), dtype TALLY."""
    forfeits: list[Forfeit]
    lines: int
    """How many courses of play: tables of players asked once for a position that took the same one on a deal count once."""
    weights: np.ndarray
    """int64 (n,): how often each table counts in the tally; 0 where it was not played on, so that its scores say nothing."""


def decision_base(seed: int) -> np.uint64:
    """The key of all decisions' randomness in a tournament; of another domain than any deal's key (`dealing.deal_key`)."""
    return np.random.SeedSequence(check_seed(seed), spawn_key=(2, 0, 0)).generate_state(1, np.uint64)[0]


def play_tables(
    players: Sequence[Any],
    rules: Ruleset,
    *,
    seed: int,
    deals: np.ndarray,
    assigned: np.ndarray,
    keys: np.ndarray,
    dealers: np.ndarray | None = None,
    tables: np.ndarray | None = None,
    recorder: Recorder | None = None,
    solver: Any = None,
    draw: Draw | None = None,
    common_random_numbers: bool = False,
) -> Played:
    """Play n matches to their ends.

    Args:
        players: by entrant number; each with `act_states`, `act_many` or `act` (`players.Player`).
        rules: of all matches.
        seed: names the deals: those of stream "evaluation", index 0.
        deals: int64 (n,): the match number of each table.
        assigned: int64 (n, players): which entrant has each seat.
        keys: int64 (n,), at least 0: tells the tables of a deal apart in the seeds of decisions.
        dealers: int64 (n,): who deals first; by default seat d mod players in match d.
        tables: int64 (n,): numbers for `Forfeit.table`; by default 0 … n - 1.
        recorder: told of every deal that ends.
        solver: a `solver.Solver` that looks on, for the double-dummy loss of every card with a choice.
        draw: decides which tables are played on after the first lead; all without. Matches of one deal only.
        common_random_numbers: an entrant does the same at all tables of a deal that have come to the same position.
    """
    room = _Room(players, rules, seed, deals, assigned, keys, np.arange(len(deals)) if tables is None else tables, recorder)
    room.solver, room.common = solver, common_random_numbers
    first = deals % rules.players if dealers is None else dealers
    with np.errstate(over="ignore"):  # the words of the generator wrap, on purpose; only uncompiled numpy minds
        room.begin(first)
        if draw is not None:
            room.draw(draw)
        while room.round():
            pass
    return Played(room.states["scores"][:, : rules.players].copy(), room.tally, room.forfeits, room.lines(), room.weights)


class _Room:
    """The tables of one call of `play_tables`."""

    def __init__(
        self,
        players: Sequence[Any],
        rules: Ruleset,
        seed: int,
        deals: np.ndarray,
        assigned: np.ndarray,
        keys: np.ndarray,
        tables: np.ndarray,
        recorder: Recorder | None,
    ) -> None:
        n = len(deals)
        self.players, self.rules, self.recorder = players, rules, recorder
        self.solver: Any = None
        self.common = False
        self.key, self.base = deal_key(seed, 0, "evaluation"), decision_base(seed)
        self.deals, self.assigned, self.keys, self.tables = (
            np.ascontiguousarray(x, np.int64) for x in (deals, assigned, keys, tables)
        )
        self.states, self.last = core.new_state(n), core.new_state(n)
        self.decisions, self.acting, self.forced = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.histories = np.zeros(n, np.uint64)
        """A digest of all actions at each table."""
        self.weights, self.waits = np.ones(n, np.int64), np.zeros(n, np.bool_)
        self.tally = np.zeros(len(players), TALLY)
        self.forfeits: list[Forfeit] = []

    def begin(self, dealers: np.ndarray) -> None:
        """Deal at every table and count who sits where."""
        n = self.rules.players
        dealers = np.ascontiguousarray(dealers, np.int64)
        _begin(self.states, self.rules.struct, self.key, self.deals, dealers)
        for seat in range(n):
            for what, where in (("seats", np.full_like(dealers, seat)), ("places", (seat - dealers) % n), ("dealt", dealers)):
                counts = np.bincount(self.assigned[:, seat] * MAX_PLAYERS + where, minlength=len(self.players) * MAX_PLAYERS)
                self.tally[what] += counts.reshape(-1, MAX_PLAYERS)

    def draw(self, draw: Draw) -> None:
        """Play all tables up to the first card that is led, and then only those on that `draw` chooses."""
        self.waits[:] = True
        while self.round():
            pass
        rows = np.flatnonzero(self.states["seat"] != NO_SEAT)
        seeds, positions = self._words(rows, False)  # each table's own lot
        self.weights[rows] = draw(rows, self.states[rows], seeds, positions)
        self.waits = self.weights == 0

    def lines(self) -> int:
        """See `Played.lines`; once all is played."""
        sure = np.array([self._asked_once(player) for player in self.players])
        played = self.weights > 0
        once = played & sure[self.assigned].all(1)
        courses = np.stack([self.deals[once].astype(np.uint64), self.histories[once]], 1)
        return int((played & ~once).sum()) + len(np.unique(courses, axis=0))

    def round(self) -> bool:
        """One action at every table that still plays; whether there was any."""
        if _acting(self.states, self.rules.struct, self.assigned, self.waits, self.acting, self.forced) == 0:
            return False
        rows = np.flatnonzero(self.forced >= 0)
        if len(rows):
            self._play(rows, self.forced[rows])
        for entrant, player in enumerate(self.players):
            rows = np.flatnonzero(self.acting == entrant)
            if len(rows):
                self._ask(entrant, player, rows)
        return True

    def _ask(self, entrant: int, player: Any, rows: np.ndarray) -> None:
        n = len(rows)
        seen, last_seen = core.new_state(n), core.new_state(n)
        seats = np.empty(n, np.int64)
        show(self.states, self.last, self.rules.struct, rows, seen, last_seen, seats)
        seeds, positions = self._words(rows, self.common)
        question, which = Question(seen, self.rules, seats, seeds, last_seen), np.arange(n)
        if self._asked_once(player):
            _, first, which = np.unique(positions, return_index=True, return_inverse=True)
            question = question.rows(first)
        answers, faults = ask(player, question)
        actions = answers[which]
        if self.solver is not None:
            self._count_losses(entrant, rows, actions)
        for k in np.flatnonzero(~self._play(rows, actions)):
            self._forfeit(int(rows[k]), entrant, faults.get(int(which[k])) or self._why_illegal(int(rows[k]), int(actions[k])))

    def _asked_once(self, player: Any) -> bool:
        """Whether a player does the same at all tables of a deal that have come to the same position."""
        return self.common or getattr(player, "deterministic", False) is True

    def _words(self, rows: np.ndarray, common: bool) -> tuple[np.ndarray, np.ndarray]:
        """The seeds of the next decisions at some tables, and words of their positions (`_seeds`)."""
        seeds, positions = np.empty(len(rows), np.uint64), np.empty(len(rows), np.uint64)
        _seeds(self.base, self.deals, self.keys, self.decisions, self.histories, rows, common, seeds, positions)
        return seeds, positions

    def _count_losses(self, entrant: int, rows: np.ndarray, actions: np.ndarray) -> None:
        """Add what the cards about to be played give away, against open cards that both sides then play at their best."""
        cards = (self.states["phase"][rows] == core.TRICKS) & (actions >= PLAY) & (actions < N_ACTIONS)
        if not cards.any():
            return
        states, chosen = self.states[rows[cards]], actions[cards] - PLAY
        tricks, payoffs = self.solver.solve_states(states, self.rules, objective="payoff")
        legal = tricks >= 0
        declares = states["seat"] == states["declarer"]
        sign = np.where(declares, 1, -1)[:, None]  # the payoff is the declarer's; defenders want it low
        values = np.where(legal, sign * payoffs, np.iinfo(np.int64).min)
        places, weights = np.arange(len(states)), self.weights[rows[cards]]
        losses = values.max(1) - values[places, chosen]
        for role, mine in (("declarer", declares), ("defender", ~declares)):
            counted = mine & legal[places, chosen]
            self.tally[f"{role}_cards"][entrant] += weights[counted].sum()
            self.tally[f"{role}_loss"][entrant] += (weights * losses)[counted].sum()

    def _play(self, rows: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Carry out an action at each of some tables; which of them were legal and so done, as booleans."""
        legal, over = np.empty(len(rows), np.bool_), np.empty(len(rows), np.bool_)
        _step(
            self.states, self.last, self.rules.struct, self.assigned, rows, actions, self.weights, self.decisions,
            self.histories, legal, over, self.tally,
        )  # fmt: skip
        if self.recorder is not None and over.any():
            self.recorder(rows[over], self.last[rows[over]])
        return legal

    def _forfeit(self, row: int, entrant: int, reason: str) -> None:
        """End the match at a table: the seat to act loses the price of a forfeit, the others nothing more."""
        state = self.states[row]
        seat = int(state["seat"])
        place = (int(self.deals[row]), int(self.tables[row]), entrant, seat, int(self.decisions[row]))
        self.forfeits.append(Forfeit(*place, reason))
        state["scores"][seat] -= self.rules.worst_contract_cost
        state["phase"], state["seat"], state["outcome"] = core.NO_DEAL, NO_SEAT, core.TRUNCATED

    def _why_illegal(self, row: int, action: int) -> str:
        match = Match(self.rules, seed=0)
        match.state = self.states[row : row + 1].copy()
        return match.why_illegal(action) or ""


# One player's answers.


def ask(player: Any, question: Question) -> tuple[np.ndarray, dict[int, str]]:
    """A player's actions, int64 (n,), and for tables without one (-1 there) what was wrong, in a sentence.

    When a question about many tables fails as a whole, each is asked by itself, so that only those that fail forfeit.
    """
    try:
        return answer(player, question)
    except KeyboardInterrupt:  # the user's, not the player's
        raise
    except BaseException as error:  # a player that exits would end the tournament for all
        n = len(question.states)
        if n == 1:
            return np.array([-1]), {0: fault(error)}
    actions, faults = np.full(n, -1), {}
    for i in range(n):
        one, wrong = ask(player, question.rows(slice(i, i + 1)))
        actions[i] = one[0]
        if wrong:
            faults[i] = wrong[0]
    return actions, faults


def fault(error: BaseException) -> str:
    """An exception of a player's as one line."""
    if isinstance(error, PlayerError):
        return str(error)
    if isinstance(error, SystemExit):
        return f"the player ended with {error!r}"[:200]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def answer(player: Any, question: Question) -> tuple[np.ndarray, dict[int, str]]:
    """The same, raising what the player raises; through the widest door that the player has."""
    relay = getattr(player, "answer", None)
    if relay is not None:  # a player in another process
        return relay(question)
    batched = getattr(player, "act_states", None)
    if batched is not None:
        actions = np.asarray(batched(question.states, question.rules, question.seats, question.seeds))
        if actions.shape != question.seats.shape or actions.dtype.kind not in "iu":
            raise PlayerError(
                f"act_states must return whole numbers of shape {question.seats.shape}, "
                f"not {actions.dtype} of shape {actions.shape}"
            )
        return actions.astype(np.int64, copy=False), {}
    answers = act_many(player, question.views())
    if len(answers) != len(question.states):
        raise PlayerError(f"act_many returned {len(answers)} actions for {len(question.states)} views")
    actions, faults = np.full(len(answers), -1), {}
    for i, given in enumerate(answers):
        try:
            actions[i] = number_of(given)
        except PlayerError as error:
            faults[i] = str(error)
    return actions, faults


def number_of(action: object) -> int:
    """The id of an action given by name or by id.

    Raises:
        PlayerError: it is neither.
    """
    if isinstance(action, str):
        try:
            return action_id(action)
        except NotationError as error:
            raise PlayerError(f"the answer {error}") from None
    number = whole(action)
    if number is None or not 0 <= number < N_ACTIONS:
        raise PlayerError(f"the answer {shown(action)} is no action's name and no id from 0 to {N_ACTIONS - 1}")
    return number
