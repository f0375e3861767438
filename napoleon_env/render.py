"""A match as text: the whole table, or what one seat may know of it; `picture` draws the same.

Both read a `SeenTable`, which for a seat is made from its `View` alone: what the seat may not know isn't there to be shown.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from napoleon_env.match import FinishedDeal, Match, Situation, View
from napoleon_env.notation import NO_SEAT, shown, whole
from napoleon_env.ruleset import Ruleset
from napoleon_env.story import SYMBOLS, card_text

BACK: Final = "##"
"""A card that is there and may not be seen."""
WIDTH: Final = 76
"""Columns of the text; no line is longer."""
_LABEL: Final = 10
_TIE: Final = "\u00a0"
"""A space at which no line is folded."""


class RenderError(ValueError):
    """A seat or a size that cannot be shown."""


@dataclass(frozen=True)
class SeenTable:
    """What may be shown: a situation, the cards in each seat's hand (None is a card's back) and the deal before."""

    now: Situation
    hands: list[list[str | None]]
    last_deal: FinishedDeal | None
    seat: int | None
    """Whose view this is; None for the open table."""

    @property
    def players(self) -> int:
        """Seats at the table."""
        return self.now.rules.players

    @property
    def to_act(self) -> int | None:
        """Who is to decide, or None."""
        seat = int(self.now.state["seat"][0])
        return None if seat == NO_SEAT else seat

    @property
    def dealt(self) -> bool:
        """Whether any cards have been dealt in this match."""
        return self.now.deal_number >= 0

    @property
    def trick(self) -> list[tuple[int, str]]:
        """The cards in the middle: the trick in play, or the last one of a deal that is over."""
        tricks = self.now.tricks if self.dealt else []
        on_table = tricks and (len(tricks[-1]) < self.players or self.now.phase == "over")
        return tricks[-1] if on_table else []

    @property
    def winners(self) -> list[int]:
        """The seats with the highest score (C9); none while the match goes on."""
        scores = self.now.scores
        return [seat for seat, score in enumerate(scores) if score == max(scores)] if self.now.over else []


def seen_table(match: Match | View, seat: int | None) -> SeenTable:
    """The table as `seat` sees it, from its view alone; the open table for None. A view is always its own seat's."""
    if isinstance(match, Match) and seat is None:
        hands: list[list[str | None]] = [list(hand) for hand in match.hands]
        return SeenTable(match, hands if match.deal_number >= 0 else [[] for _ in hands], match.last_deal, None)
    number = whole(match.seat if seat is None else seat)
    if number is None or not 0 <= number < match.rules.players:
        raise RenderError(f"seat={shown(seat)} must be None or a seat from 0 to {match.rules.players - 1}")
    if isinstance(match, View) and number != match.seat:
        raise RenderError(f"seat={number} can't be shown from the view of seat {match.seat}")
    view = match if isinstance(match, View) else match.view(number)
    played = [seat for trick in view.tricks for seat, _ in trick]
    hands = [[None] * (view.rules.hand_size - played.count(other)) for other in range(view.rules.players)]
    hands[number] = list(view.hand)
    return SeenTable(view, hands if view.deal_number >= 0 else [[] for _ in hands], view.last_deal, number)


# Words that the picture shares.


@lru_cache(maxsize=64)
def rules_words(rules: Ruleset) -> tuple[str, str, list[str]]:
    """A rule set in full, the nearest preset's name, and each field that differs from it."""
    preset, *changes = rules.header.items()  # slow to make: most of the time of a text
    return str(rules), str(preset[1]), [f"{name}={value}" for name, value in changes]


def deal_words(table: SeenTable) -> str:
    """Which deal of how many; void deals don't count (C9) and are told apart."""
    now = table.now
    played, begun, total = int(now.state["played"][0]), now.deal_number + 1, now.rules.deals
    running = now.phase != "over"
    void = begun - played - running
    words = f"{played + 1} of {total}" if running else f"{played} of {total} played"
    return words + (f", {void} void" if void else "")


def question(table: SeenTable) -> str:
    """What the seat to act is asked; why nobody is asked anything when none is."""
    now = table.now
    if table.to_act is None:
        if not now.over:
            return "the next deal awaits its cards"
        return "the match was cut short" if now.truncated else "the match is over"
    if now.phase == "play":
        return f"follow {SYMBOLS[now.led_suit]}" if now.led_suit else "lead"
    return {
        "auction": "call",
        "announce": "announce Napoleon?",
        "exchange": "exchange a card?",
        "trump": "choose trump",
    }[now.phase]


def call_words(name: str) -> str:
    """A call in few letters: "bid 3" is "3"."""
    return name.removeprefix("bid ")


def result_words(deal: FinishedDeal) -> str:
    """How a finished deal ended, its payments aside."""
    if deal.declarer is None:
        return "void, everyone passed"
    announced = " (Napoleon announced)" if deal.announced else ""
    tricks = counted(deal.tricks_won[deal.declarer], "trick")
    return f"seat {deal.declarer} {'made' if deal.made else 'failed'} {deal.contract} with {tricks}{announced}"


def trick_winner(now: Situation, index: int) -> int:
    """Who took trick number `index` of the deal, or is winning it: the winner leads the next one (C4)."""
    tricks = now.tricks
    if index + 1 < len(tricks):
        return tricks[index + 1][0][0]
    winning = int(now.state["winning_seat"][0])
    return int(now.state["leader"][0]) if winning == NO_SEAT else winning


def counted(n: int, noun: str) -> str:
    """A number of things: "1 trick", "2 tricks"."""
    return f"{n} {noun}" + ("" if n == 1 else "s")


def with_sign(amount: int) -> str:
    """An amount that is gained or lost: "+2", "-2", "0"."""
    return f"{amount:+d}" if amount else "0"


# The text.


def text(match: Match | View, seat: int | None = None) -> str:
    """The table as lines of at most WIDTH columns, with suit symbols and no colour codes.

    Args:
        match: a match, or one seat's view.
        seat: whose knowledge to show, other cards as `##`; None shows the open table, and of a view what is in it.

    Raises:
        RenderError: no such seat, or a view of another one.
    """
    table = seen_table(match, seat)
    rows = [
        *_head_lines(table),
        "-" * WIDTH,
        *_seat_rows(table),
        "-" * WIDTH,
        *_auction_lines(table),
        *_trick_lines(table),
        *_last_deal_lines(table),
    ]
    return "\n".join(rows)


def _line(label: str, words: str) -> list[str]:
    """A labelled line, folded under itself where it is too long."""
    indent = " " * _LABEL
    start = f"{label:<{_LABEL}}"
    rows = textwrap.wrap(words, WIDTH, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False)
    return [row.replace(_TIE, " ") for row in rows]


def _head_lines(table: SeenTable) -> list[str]:
    now = table.now
    dealer = "dealt by" if table.dealt else "first dealer"
    shows = "the open table" if table.seat is None else f"what seat {table.seat} may know"
    act = "nobody, " if table.to_act is None else f"seat {table.to_act}: "
    winners = ", ".join(f"seat {seat}" for seat in table.winners)
    win = f"; {winners} {'wins' if len(table.winners) == 1 else 'share the win'}" if winners else ""
    return [
        *_line("rules", rules_words(now.rules)[0]),
        *_line("shows", shows),
        *_line("deal", f"{deal_words(table)}, {dealer} seat {now.dealer}"),
        *_line("to act", act + question(table) + win),
        *(_line("pot", str(now.pot)) if now.rules.has_pot else []),
    ]


def _seat_rows(table: SeenTable) -> list[str]:
    now = table.now
    rows = [f"  seat {'':<15}  {'hand':<23}  tricks {'score':>19}"]
    for seat, hand in enumerate(table.hands):
        roles = ["dealer"] * (seat == now.dealer) + ["declarer"] * (table.dealt and seat == now.declarer)
        cards = " ".join(BACK if card is None else card_text(card) for card in hand)
        tricks = now.tricks_won[seat] if table.dealt else 0
        mark = ">" if seat == table.to_act else " "
        rows.append(f"{mark} {seat:<4} {' '.join(roles):<15}  {cards:<23}  {tricks:>6} {with_sign(now.scores[seat]):>19}")
    return rows


def _auction_lines(table: SeenTable) -> list[str]:
    """The calls as spoken, the contract, and what the declarer decided before the first lead."""
    now = table.now
    if not table.dealt:
        return []
    spoken = [f"seat {seat} {call}".replace(" ", _TIE) for seat, call in now.calls]
    lines = _line("auction", ", ".join(spoken) or "nobody has spoken")
    if now.declarer is not None:
        forced = ", everyone passed" if all(call == "pass" for _, call in now.calls) else ""
        settled = now.phase != "auction"
        none = ", no trump" if settled and now.contract == "misere" else ""
        trump = f", trump {SYMBOLS[now.trump]}" if now.trump else none
        label = "contract" if settled else "highest"
        lines += _line(label, f"{now.contract} by seat {now.declarer}{forced}{trump}")
    for seat, name in now.log:
        if name in ("napoleon", "no napoleon"):
            lines += _line("napoleon", f"seat {seat} {'announces' if now.announced else 'does not announce'} Napoleon")
        elif name == "stand":
            lines += _line("exchange", f"seat {seat} stands")
        elif name.startswith("discard"):
            out, drawn = (BACK if card is None else card_text(card) for card in (now.discarded, now.drawn))
            lines += _line("exchange", f"seat {seat} discards {out}, draws {drawn}")
    return lines


def _trick_lines(table: SeenTable) -> list[str]:
    """Every trick of the deal in the order of play, with who took it or is winning it."""
    now = table.now
    lines = []
    for index, trick in enumerate(now.tricks if table.dealt else []):
        complete = len(trick) == table.players
        winner = f"seat {trick_winner(now, index)} {'took it' if complete else 'is winning'}"
        lines += _line(f"trick {index + 1}", f"seat {trick[0][0]} led: {_trick_words(trick)}, {winner}")
    return lines


def _last_deal_lines(table: SeenTable) -> list[str]:
    """The result of the deal that ended last, and its last trick unless that is still on the table."""
    deal = table.last_deal
    if deal is None:
        return []
    trump = f", trump {SYMBOLS[deal.trump]}" if deal.trump else ""
    paid = " ".join(f"{seat}:{with_sign(payoff)}" for seat, payoff in enumerate(deal.payoffs))
    lines = _line("last deal", f"{result_words(deal)}{trump}; payoffs {paid}")
    if deal.tricks and table.now.phase != "over":
        won = trick_winner(deal, len(deal.tricks) - 1)
        lines += _line("", f"last trick: {_trick_words(deal.tricks[-1])}, seat {won} took it")
    return lines


def _trick_words(trick: list[tuple[int, str]]) -> str:
    return " ".join(f"{seat}:{card_text(card)}" for seat, card in trick)
