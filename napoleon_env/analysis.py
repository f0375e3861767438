"""What each decision cost against double dummy: places in matches, what every choice there is worth, losses by role.

A loss is in what the declarer is paid, never negative, and told from the side of whoever decided: what a declarer's choice gave
away, or what a defender's choice let the declarer have (where every defender pays, each pays a share of it). Both sides play at
their best with all cards open from there on, so a loss is known only afterwards: a good choice can have one. Over a deal the
losses account for the result: paid = worth after the auction - losses of the declarer + losses of the defenders.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.table import Table

from napoleon_env.match import FinishedDeal, IllegalActionError, Match
from napoleon_env.notation import NotationError, shown
from napoleon_env.ruleset import Ruleset
from napoleon_env.solver import Solution, Solver, Value
from napoleon_env.story import SYMBOLS, card_text

ROLES: Final = ("declarer", "defender")
PHASES: Final = ("announce", "exchange", "trump", "play")
"""Phases whose decisions have a double-dummy value."""
_HIDDEN: Final = frozenset("?-*_xX")
_MOST_NAMED: Final = 4


class AnalysisError(ValueError):
    """A place that is not in a match, or a position that cannot arise; one sentence that names it."""


# Places.


def positions(deal: FinishedDeal | Match) -> Iterator[tuple[Match, str]]:
    """Every decision of a deal in order: the match as it stood before (one object, played on), and the action taken.

    The match begins with this deal: its scores and its number are 0.
    """
    match = _begun(deal)
    for _, action in deal.log:
        yield match, action
        match.play(action)


def place(match: Match, *, deal: int, action: int | None = None) -> tuple[Match, str | None]:
    """A match as it stood before an action, and that action; None at the end of a deal that was broken off.

    Args:
        match: with its whole history.
        deal: its number, from 0.
        action: its number in the deal, from 0; None is the first one after the auction.

    Raises:
        AnalysisError: there is no such place; the sentence says which there are.
    """
    deals = deals_of(match)
    if not 0 <= deal < len(deals):
        raise AnalysisError(f"there is no deal {deal}: {_range('deals', len(deals))}")
    chosen, log = deals[deal], deals[deal].log
    number = len(chosen.calls) if action is None else action
    ended = isinstance(chosen, FinishedDeal)
    if action is None and number == len(log) and (ended or chosen.phase == "auction"):
        raise AnalysisError(f"deal {deal} has no decision after the auction: name one of its calls (--action)")
    if not 0 <= number < len(log) + (0 if ended else 1):
        raise AnalysisError(f"there is no action {number} in deal {deal}: {_range('actions', len(log) + (0 if ended else 1))}")
    position = _begun(chosen)
    for _, name in log[:number]:
        position.play(name)
    return position, log[number][1] if number < len(log) else None


def deals_of(match: Match) -> list[FinishedDeal | Match]:
    """The deals of a match in order: the finished ones, and the match itself while a deal is running."""
    return [*match.history, *([match] if match.phase != "over" else [])]


def after_auction(
    rules: Ruleset,
    *,
    dealer: int,
    hands: Sequence[Sequence[str]],
    declarer: int | None = None,
    contract: str | None = None,
    trump: str | None = None,
    stock: Sequence[str] | None = None,
    pot: int = 0,
    then: Sequence[str] = (),
) -> Match:
    """A deal of these cards after the shortest auction that ends in this contract; without one, before the auction.

    Args:
        rules: of the deal.
        dealer, hands, stock, pot: as in `Match.deal`.
        declarer, contract: who plays which contract, as its call: "bid 3", "misere" …
        trump: the suit that the declarer chooses, where it is chosen.
        then: further decisions, in order.

    Raises:
        AnalysisError, DealError: no such position can arise.
    """
    for seat, hand in enumerate(hands):
        hidden = next((card for card in hand if card and set(card) <= _HIDDEN), None)
        if hidden is not None:
            raise AnalysisError(f"hands[{seat}]: {shown(hidden)} hides a card: a double-dummy value needs every hand")
    match = Match(rules, seed=0)
    match.begin(dealer=dealer, pot=pot)
    match.begin_deal(hands, stock)
    if contract is None:
        if trump is not None or then:
            raise AnalysisError("trump and further decisions follow a contract: name it, and its declarer")
        return match
    if declarer is None or not 0 <= declarer < rules.players:
        raise AnalysisError(f"declarer={shown(declarer)} must be a seat from 0 to {rules.players - 1}")
    match = _auction(match, declarer, contract)
    for number, action in enumerate(then):
        if match.phase == "trump" and trump is not None:
            match, trump = _played(match, f"trump {trump}", "trump"), None
        match = _played(match, action, f"decision {number} after the auction")
    if trump is not None and match.phase == "trump":
        match, trump = _played(match, f"trump {trump}", "trump"), None
    if trump is not None and match.phase in ("announce", "exchange") and rules.trump == "chosen":
        raise AnalysisError(f"trump={shown(trump)} is chosen later: seat {match.seat} is asked first to {_question(match)}")
    if trump is not None:
        why = "the first card led fixes trump (G4, R8)" if rules.trump == "first_lead" else "nobody is asked for it here"
        raise AnalysisError(f"trump={shown(trump)} cannot be chosen: {why}")
    if match.phase == "over":
        raise AnalysisError("the deal is over after these decisions: there is nothing left to decide")
    return match


def _begun(deal: FinishedDeal | Match) -> Match:
    """A match that begins with the cards of `deal`, before its auction."""
    rules, pot = deal.rules, 0
    if rules.has_pot:  # payoffs and the change of the pot add up to zero (R16)
        pot = deal.pot + sum(deal.payoffs) if isinstance(deal, FinishedDeal) else deal.pot - rules.players * rules.ante
    match = Match(rules, seed=0)
    match.begin(dealer=deal.dealer, pot=pot)
    match.begin_deal([deal.dealt(seat) for seat in range(rules.players)], FinishedDeal(rules, deal.state).stock)
    return match


def _contracts(rules: Ruleset) -> list[str]:
    """The contracts that a rule set knows, by their calls."""
    lowest = 1 if rules.all_pass == "dealer_plays_one" else rules.min_bid
    bids = [n for n in range(1, rules.hand_size + 1) if n >= rules.min_bid or n == lowest]
    special = [name for name in ("misere", "wellington", "blucher") if getattr(rules, name) is not None]
    return [*(f"bid {n}" for n in bids), *special]


def _auction(match: Match, declarer: int, contract: str) -> Match:
    """The match after the shortest auction in which `declarer` gets `contract`."""
    rules = match.rules
    known = _contracts(rules)
    if contract not in known:
        raise AnalysisError(f"contract={shown(contract)} is not one of {rules}: they are {', '.join(known)}")
    # No other call can help: a bid may jump to any number, and only Wellington and Blücher stand on calls of others.
    calls = {"pass", "hold", contract}
    if contract in ("wellington", "blucher"):
        calls |= {f"bid {rules.hand_size}", *(["wellington"] if contract == "blucher" else [])}
    waiting, seen = deque([match]), set()
    while waiting:
        here = waiting.popleft()
        for call in sorted(calls.intersection(here.legal()), key=lambda call: call != contract):
            after = here.copy()
            after.play(call)
            if after.phase not in ("auction", "over") and (after.declarer, after.contract) == (declarer, contract):
                return after
            key = after.seat, after.declarer, after.contract, int(after.state["silent"][0])
            if after.phase == "auction" and key not in seen:
                seen.add(key)
                waiting.append(after)
    raise AnalysisError(
        f"declarer={declarer} with contract={shown(contract)} cannot arise: no auction of {rules} in which seat "
        f"{match.dealer} deals ends so"
    )


def _played(match: Match, action: str, what: str) -> Match:
    if match.phase == "over":
        raise AnalysisError(f"{what}: the deal is over before {shown(action)}")
    try:
        match.play(action)
    except (NotationError, IllegalActionError) as error:
        raise AnalysisError(f"{what}: {error}") from None
    return match


def _range(what: str, n: int) -> str:
    return f"its {what} are numbered from 0 to {n - 1}" if n else f"it has no {what}"


def _question(position: Match) -> str:
    """What the seat to move is asked to do."""
    return {
        "auction": "call",
        "announce": "announce Napoleon or not",
        "exchange": "discard a card or to stand",
        "trump": "choose trump",
        "play": "play a card",
    }[position.phase]


# What every choice is worth.


def stock_used(position: Match, *, unknown: bool = False) -> str | None:
    """How an exchange to come is valued: "known" by the top of the stock, "unknown" by all that may lie there.

    None where no exchange can come. Where no stock is listed it is unknown, whatever is asked.
    """
    if not position.rules.exchange or position.phase not in ("auction", "announce", "exchange"):
        return None
    return "unknown" if unknown or not FinishedDeal(position.rules, position.state).stock else "known"


def worth(
    position: Match,
    solver: Solver,
    *,
    seat: int | None = None,
    unknown_stock: bool = False,
    time_ms: float | None = None,
) -> Solution:
    """What every choice is worth to the declarer; in an auction, every contract to `seat` (default: the seat to move).

    Raises:
        SolverError: as `Solver.solve` and `Solver.contracts`.
    """
    stock = stock_used(position, unknown=unknown_stock) or "known"
    if position.phase == "auction":
        return solver.contracts(position, seat=seat, stock=stock, time_ms=time_ms)
    return solver.solve(position, stock=stock, time_ms=time_ms)


def loss(solution: Solution, action: str) -> Value:
    """What `action` gives away against the best one, by objective and from the side of the seat to move; at least 0.

    Each objective is a game of its own: an action can lose tricks and no payoff.
    """
    declares = solution.seat == solution.declarer
    payoffs, tricks = zip(*solution.values.values(), strict=True)
    mine = solution.values[action]
    if declares:
        return Value(max(payoffs) - mine.payoff, max(tricks) - mine.tricks)
    return Value(mine.payoff - min(payoffs), mine.tricks - min(tricks))


def best(solution: Solution, *, counts_tricks: bool) -> list[str]:
    """The best choices: by payoff, and by tricks among equals where more tricks are wanted (`wants_tricks`)."""
    return solution.best if counts_tricks else [name for name in solution.values if not loss(solution, name).payoff]


def wants_tricks(position: Match | FinishedDeal) -> bool:
    """Whether more tricks are never worse for the declarer: not in a misère and not where a bid is made exactly."""
    return position.contract != "misere" and position.rules.made == "at_least"


def solution_facts(
    position: Match, solution: Solution, *, chosen: str | None = None, unknown_stock: bool = False
) -> dict[str, Any]:
    """A position and what its choices are worth, as JSON values."""
    in_auction = position.phase == "auction"
    tricks = position.tricks
    return {
        "rules": position.rules.header,
        "phase": position.phase,
        "seat": solution.seat,
        "declarer": solution.declarer,
        "contract": None if in_auction else position.contract,
        "announced": position.announced,
        "trump": position.trump,
        "hands": position.hands,
        "trick": [list(play) for play in tricks[-1]] if tricks and len(tricks[-1]) < position.rules.players else [],
        "tricks_won": position.tricks_won,
        "pot": position.pot,
        "stock": stock_used(position, unknown=unknown_stock),
        "choices": {name: {**value._asdict(), "loss": loss(solution, name).payoff} for name, value in solution.values.items()},
        "best": best(solution, counts_tricks=wants_tricks(position)),
        "chosen": chosen,
        "exact": solution.exact,
        "nodes": solution.nodes,
    }


@dataclass(frozen=True)
class Decision:
    """One decision after the auction, beside what its choices were worth."""

    number: int
    """Its place in the deal's actions, from 0."""
    phase: str
    action: str
    solution: Solution
    counts_tricks: bool

    @property
    def seat(self) -> int:
        """Who decided."""
        return self.solution.seat

    @property
    def role(self) -> str:
        """Of `ROLES`."""
        return ROLES[self.seat != self.solution.declarer]

    @property
    def is_choice(self) -> bool:
        """Whether there was more than one legal action."""
        return len(self.solution.values) > 1

    @property
    def loss(self) -> float:
        """In what the declarer is paid."""
        return loss(self.solution, self.action).payoff

    @property
    def tricks_loss(self) -> float | None:
        """In tricks, where both sides care for tricks alone; None where the contract asks for no more tricks."""
        return loss(self.solution, self.action).tricks if self.counts_tricks else None

    @property
    def best(self) -> list[str]:
        """The best choices."""
        return best(self.solution, counts_tricks=self.counts_tricks)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "action": self.number,
            "seat": self.seat,
            "role": self.role,
            "phase": self.phase,
            "chosen": self.action,
            "best": self.best,
            "choices": len(self.solution.values),
            "payoff": self.solution.values[self.action].payoff,
            "best_payoff": self.solution.value.payoff,
            "loss": self.loss,
            "tricks_loss": self.tricks_loss,
            "exact": self.solution.exact,
        }


@dataclass
class Tally:
    """Decisions of one kind, added up."""

    decisions: int = 0
    choices: int = 0
    """Decisions with more than one legal action."""
    mistakes: int = 0
    """Decisions with a loss above 0."""
    loss: float = 0
    tricks_loss: float = 0
    """Of the decisions that count tricks."""

    def add(self, other: Tally) -> None:
        """Add another tally to this one."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class Analysis:
    """The decisions of many deals, added up."""

    matches: int = 0
    deals: int = 0
    """Played ones: void deals have no decision after the auction."""
    inexact: int = 0
    """Decisions whose loss is not exact, since time ran out."""
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    """By role and phase."""

    def add(self, decisions: Iterable[Decision]) -> None:
        """Count the decisions of one more deal."""
        counted = False
        for decision in decisions:
            counted = True
            more = Tally(1, decision.is_choice, decision.loss > 0, decision.loss, decision.tricks_loss or 0)
            self.tallies.setdefault((decision.role, decision.phase), Tally()).add(more)
            self.inexact += not decision.solution.exact
        self.deals += counted

    def of_role(self, role: str) -> Tally:
        """All phases of a role together."""
        total = Tally()
        for (who, _), tally in self.tallies.items():
            if who == role:
                total.add(tally)
        return total

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        roles = {
            role: {
                **vars(self.of_role(role)),
                "phases": {phase: vars(self.tallies[role, phase]) for phase in PHASES if (role, phase) in self.tallies},
            }
            for role in ROLES
        }
        return {"matches": self.matches, "deals": self.deals, "inexact": self.inexact, "roles": roles}


def analyse(
    deal: FinishedDeal | Match, solver: Solver, *, unknown_stock: bool = False, time_ms: float | None = None
) -> list[Decision]:
    """Every decision of a deal after its auction, solved; a match is its running deal.

    Args:
        deal: with all its cards known.
        solver: whose table is used.
        unknown_stock: value an exchange by all cards that may be drawn, not by the one that was.
        time_ms: for each decision; what is not exact then says so.
    """
    return [
        Decision(
            number,
            position.phase,
            action,
            worth(position, solver, unknown_stock=unknown_stock, time_ms=time_ms),
            wants_tricks(position),
        )
        for number, (position, action) in enumerate(positions(deal))
        if position.phase in PHASES
    ]


def deal_facts(number: int, deal: FinishedDeal | Match, decisions: Sequence[Decision]) -> dict[str, Any]:
    """One analysed deal as JSON values; amounts are the declarer's, the ante left out."""
    after = deal.phase != "auction" and deal.declarer is not None
    return {
        "deal": number,
        "declarer": deal.declarer if after else None,
        "contract": deal.contract if after else None,
        "worth": decisions[0].solution.value.payoff if decisions else None,
        "paid": _paid(deal),
        "decisions": [decision.to_json() for decision in decisions],
    }


def _paid(deal: FinishedDeal | Match) -> int | None:
    if not isinstance(deal, FinishedDeal) or deal.declarer is None:
        return None
    return deal.payoffs[deal.declarer] + deal.rules.ante


# Text and tables.


def position_text(position: Match, *, symbols: bool = True) -> str:
    """Where a match stands, all cards open: the hands as they are now, the contract, the trick in play, who decides."""

    def cards(names: Iterable[str]) -> str:
        return " ".join(card_text(name, symbols=symbols) for name in names) or "-"

    lines = [f"Rules: {position.rules}, seat {position.dealer} deals"]
    for seat, hand in enumerate(position.hands):
        lines.append(f"  {f'seat {seat}':9} {cards(reversed(hand))}")
    stock = FinishedDeal(position.rules, position.state).stock
    if stock and position.rules.exchange and not position.drawn:
        lines.append(f"  {'stock':9} {cards(stock[:1])} on top")
    if position.rules.has_pot:
        lines.append(f"  {'pot':9} {position.pot}")
    if position.phase == "auction":
        calls = [f"{seat}: {name}" for seat, name in position.calls]
        lines.append(f"  {'auction':9} {', '.join(calls) or 'nobody has spoken'}")
    else:
        trump = f", trump is {SYMBOLS[position.trump] if symbols else position.trump}" if position.trump else ""
        announced = ", announced Napoleon" if position.announced else ""
        won = position.tricks_won[position.declarer or 0]
        has = f", has {won} trick{'' if won == 1 else 's'}"
        lines.append(f"  {'contract':9} seat {position.declarer} plays {position.contract}{announced}{trump}{has}")
    if position.phase == "play" and position.tricks and len(position.tricks[-1]) < position.rules.players:
        trick = ", ".join(f"{seat}: {card_text(card, symbols=symbols)}" for seat, card in position.tricks[-1])
        lines.append(f"  {'trick':9} {trick}")
    role = (
        ""
        if position.phase == "auction"
        else f", the {ROLES[0]},"
        if position.seat == position.declarer
        else f", a {ROLES[1]},"
    )
    return "\n".join([*lines, f"  {'to act':9} seat {position.seat}{role} is asked to {_question(position)}"])


def solution_table(solution: Solution, *, counts_tricks: bool = True, chosen: str | None = None) -> Table:
    """What every choice is worth, the best ones marked; `chosen` is marked as what was done."""
    good = best(solution, counts_tricks=counts_tricks)
    table = Table("choice", box=None, pad_edge=False, header_style="bold")
    for heading in ("payoff", "tricks", "loss"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for name, value in solution.values.items():
        marks = [*(["best"] if name in good else []), *(["chosen"] if name == chosen else [])]
        given_away = loss(solution, name).payoff
        table.add_row(
            name,
            amount(value.payoff, sign=True),
            amount(value.tricks),
            amount(given_away) if given_away else "",
            ", ".join(marks),
            style="bold green" if name in good else None,
        )
    return table


def decisions_table(decisions: Sequence[Decision]) -> Table:
    """The decisions of one deal, the ones that cost something marked."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("action", justify="right")
    for heading in ("seat", "role", "chosen"):
        table.add_column(heading, justify="right" if heading == "seat" else "left")
    for heading in ("payoff", "loss", "in tricks"):
        table.add_column(heading, justify="right")
    table.add_column("better")
    for decision in decisions:
        given_away, tricks = decision.loss, decision.tricks_loss
        better = [] if decision.action in decision.best else decision.best
        table.add_row(
            str(decision.number),
            str(decision.seat),
            decision.role,
            decision.action,
            amount(decision.solution.values[decision.action].payoff, sign=True),
            amount(given_away) if given_away else "" if decision.is_choice else "forced",
            amount(tricks) if tricks else "",
            ", ".join(better[:_MOST_NAMED]) + (" ..." if len(better) > _MOST_NAMED else ""),
            style="bold red" if given_away else None,
        )
    return table


def summary_table(analysis: Analysis) -> Table:
    """Losses by role; a role with decisions in more phases than one has a row for each too."""
    table = Table("role", box=None, pad_edge=False, header_style="bold")
    for heading in ("decisions", "choices", "mistakes", "loss", "a deal", "in tricks", "a deal"):
        table.add_column(heading, justify="right")
    for role in ROLES:
        parts = [phase for phase in PHASES if (role, phase) in analysis.tallies]
        rows: Mapping[str, Tally] = {role: analysis.of_role(role)}
        if len(parts) > 1:
            rows = {**rows, **{f"  {phase}": analysis.tallies[role, phase] for phase in parts}}
        for name, tally in rows.items():
            a_deal = [f"{total / analysis.deals:.3f}" if analysis.deals else "" for total in (tally.loss, tally.tricks_loss)]
            table.add_row(
                name,
                f"{tally.decisions:,}",
                f"{tally.choices:,}",
                f"{tally.mistakes:,}",
                amount(tally.loss),
                a_deal[0],
                amount(tally.tricks_loss),
                a_deal[1],
            )
    return table


def deal_heading(facts: Mapping[str, Any]) -> str:
    """A line above the decisions of a deal, of `deal_facts`."""
    if facts["declarer"] is None:
        return f"Deal {facts['deal']}: nothing to analyse, nobody has come to play a contract"
    line = f"Deal {facts['deal']}: seat {facts['declarer']} plays {facts['contract']}"
    if facts["worth"] is not None:
        line += f", worth {amount(facts['worth'], sign=True)} with open cards"
    return line + (f", paid {amount(facts['paid'], sign=True)}" if facts["paid"] is not None else ", broken off")


def amount(value: float, *, sign: bool = False) -> str:
    """A number as a table shows it: whole where it is whole."""
    if value == int(value):
        return f"{int(value):+,d}" if sign and value else f"{int(value):,d}"
    return f"{value:+,.3f}" if sign else f"{value:,.3f}"
