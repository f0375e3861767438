"""A finished deal told as text, as a person would like to read it: hands, auction, tricks, result."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from napoleon_env.match import FinishedDeal, Match
from napoleon_env.notation import RANKS, SUITS

SYMBOLS = dict(zip(SUITS, "♣♦♥♠", strict=True))
"""Suits as they are printed on cards."""
WIDTH = 100
"""Columns that a line of text keeps to where it can be broken."""

_SHOWN_SUITS = "SHDC"
_COLUMN = 8


def match_text(match: Match, *, symbols: bool = True) -> str:
    """A whole match: its rule set, its finished deals in order, the running one, and who has won.

    With `symbols=False` suits are letters, for terminals that have no suit symbols.
    """
    deals = [deal_text(deal, symbols=symbols) for deal in match.history]
    if match.phase != "over":
        deals.append(deal_text(match, symbols=symbols))
    return "\n\n".join([rules_text(match), *deals, outcome_text(match)])


def match_facts(match: Match) -> dict[str, Any]:
    """A whole match as JSON values: what a record leaves to the rules (seats, contracts, who took which trick) is in it."""
    deals = [_deal_facts(deal) for deal in match.history]
    if match.phase != "over":
        deals.append(_deal_facts(match))
    return {
        "rules": asdict(match.rules),
        "deals": deals,
        "scores": match.scores,
        "over": match.over,
        "truncated": match.truncated,
        "winners": match.winners,
    }


def _deal_facts(deal: FinishedDeal | Match) -> dict[str, Any]:
    players, ended = deal.rules.players, deal if isinstance(deal, FinishedDeal) else None
    return {
        "dealer": deal.dealer,
        "hands": [deal.dealt(seat) for seat in range(players)],
        "log": [list(entry) for entry in deal.log],
        "declarer": deal.declarer,
        "contract": deal.contract,
        "announced": deal.announced,
        "trump": deal.trump,
        "discarded": deal.discarded,
        "drawn": deal.drawn,
        "tricks": [
            {
                "leader": trick[0][0],
                "cards": [card for _, card in trick],
                "winner": _winner(trick, deal.trump) if len(trick) == players else None,
            }
            for trick in deal.tricks
        ],
        "tricks_won": deal.tricks_won,
        "void": ended.void if ended else None,
        "made": ended.made if ended else None,
        "payoffs": ended.payoffs if ended else None,
        "pot": deal.pot,
    }


def rules_text(match: Match) -> str:
    """The rule set: its preset, what players ask first, and the other fields that were changed."""
    rules = match.rules
    preset, *changed = rules.header.items()
    parts = [f"{rules.players} players", f"{rules.hand_size} of {rules.pack_size} cards each", _count(rules.deals, "deal")]
    changes = [f"{name}={_value(value)}" for name, value in changed if name not in ("players", "hand_size", "deals")]
    return "\n".join(_wrapped(f"Rules: {preset[1]}, ", [*parts, *changes]))


def deal_text(deal: FinishedDeal | Match, *, symbols: bool = True) -> str:
    """A deal with all cards open: hands by suit, the auction in a line, the tricks in rows, result, payoffs, scores, pot.

    In a row of tricks `>` stands before the card led and `*` after the card that won. A deal that was broken off is told as
    far as it went.
    """
    lines = [_heading(deal), *_hand_lines(deal, symbols), *_auction_lines(deal)]
    if deal.declarer is not None and deal.phase != "auction":
        lines += _contract_lines(deal, symbols)
        lines += ["", *_trick_lines(deal, symbols)] if deal.tricks else []
    return "\n".join([*lines, "", *_result_lines(deal)])


def outcome_text(match: Match) -> str:
    """How the match ended, in a line."""
    if not match.over:
        return "The match was broken off here."
    how = "The match is over"
    if match.truncated:
        void = int(match.state["void_run"][0]) == match.rules.max_void_deals
        why = f"{_count(match.rules.max_void_deals, 'void deal')} in a row" if void else "an amount has grown too large"
        how = f"The match is truncated, {why}"
    verb = "wins" if len(match.winners) == 1 else "share the win"
    return f"{how}: {_seats(match.winners)} {verb} with {_signed(max(match.scores))}."


def card_text(card: str, *, symbols: bool = True) -> str:
    """A card such as "A♠", or as it is written in records."""
    return card[0] + SYMBOLS[card[1]] if symbols else card


def _heading(deal: FinishedDeal | Match) -> str:
    heading = f"Deal {deal.deal_number}: seat {deal.dealer} deals"
    if not deal.rules.has_pot:
        return heading
    antes = deal.rules.players * deal.rules.ante
    before = deal.pot + sum(deal.payoffs) if isinstance(deal, FinishedDeal) else deal.pot - antes  # R16
    return f"{heading}, {antes} in antes go to the {before} in the pot" if antes else f"{heading}, {before} in the pot"


def _hand_lines(deal: FinishedDeal | Match, symbols: bool) -> list[str]:
    """Each seat's hand, its suits below each other, and the stock as far as it is known."""
    suits = [suit for suit in _SHOWN_SUITS if suit in SUITS[: deal.rules.suits]]
    rows = []
    for seat in range(deal.rules.players):
        held = deal.dealt(seat)
        rows.append([" ".join(_ranks(held, suit)) or "-" for suit in suits])
    widths = [max(len(row[i]) for row in rows) for i in range(len(suits))]
    lines = []
    for seat, row in enumerate(rows):
        cells = [
            f"{SYMBOLS[suit] if symbols else suit} {cell:{width}}" for suit, cell, width in zip(suits, row, widths, strict=True)
        ]
        lines.append(f"  {f'seat {seat}':9} {'  '.join(cells)}".rstrip())
    stock = deal.stock if isinstance(deal, FinishedDeal) else FinishedDeal(deal.rules, deal.state).stock
    if stock and deal.rules.exchange:
        lines.append(f"  {'stock':9} {card_text(stock[0], symbols=symbols)} on top")
    return lines


def _ranks(cards: list[str], suit: str) -> list[str]:
    """The ranks of a suit's cards, the highest first."""
    return sorted((card[0] for card in cards if card[1] == suit), key=RANKS.index, reverse=True)


def _auction_lines(deal: FinishedDeal | Match) -> list[str]:
    return _wrapped(f"  {'auction':9} ", [f"{seat}: {name}" for seat, name in deal.calls] or ["nobody has spoken"])


def _contract_lines(deal: FinishedDeal | Match, symbols: bool) -> list[str]:
    """What the declarer plays, and the decisions before the first lead."""
    rules, name = deal.rules, str(deal.contract)
    parts = [f"seat {deal.declarer} plays {name.removeprefix('bid ')}"]
    if all(call == "pass" for _, call in deal.calls):
        parts[0] += " as the dealer must, since everyone passed"
    if name == f"bid {rules.hand_size}" and rules.napoleon == "bid":
        parts[0] += " (Napoleon)"
    chosen = [action for _, action in deal.log if action in ("napoleon", "no napoleon", "stand")]
    parts += [{"napoleon": "announces Napoleon", "no napoleon": "announces nothing", "stand": "stands"}[a] for a in chosen]
    if deal.discarded and deal.drawn:
        parts.append(
            f"discards {card_text(deal.discarded, symbols=symbols)} and draws {card_text(deal.drawn, symbols=symbols)}"
        )
    if deal.trump:
        parts.append(f"trump is {SYMBOLS[deal.trump] if symbols else deal.trump}")
    elif name == "misere":
        parts.append("no trump")
    return _wrapped(f"  {'contract':9} ", parts)


def _trick_lines(deal: FinishedDeal | Match, symbols: bool) -> list[str]:
    """One row a trick and one column a seat, and how many tricks the declarer has by then."""
    players = deal.rules.players
    seats = "".join(f"{f'seat {seat}':{_COLUMN}}" for seat in range(players))
    lines = [f"  {'trick':9} {seats}declarer"]
    tricks, taken = deal.tricks, 0
    for number, trick in enumerate(tricks):
        whole = len(trick) == players
        winner = _winner(trick, deal.trump) if whole else None
        taken += winner == deal.declarer
        cells = {seat: f"{'>' if seat == trick[0][0] else ' '}{card_text(card, symbols=symbols)}" for seat, card in trick}
        row = "".join(f"{cells.get(seat, '') + ('*' if seat == winner else ''):{_COLUMN}}" for seat in range(players))
        lines.append(f"  {number + 1:<8} {row} {taken if whole else ''}".rstrip())
    return lines


def _winner(trick: list[tuple[int, str]], trump: str | None) -> int:
    """Who takes a whole trick (C6)."""
    led = trick[0][1][1]
    return max(trick, key=lambda play: (play[1][1] == trump, play[1][1] == led, RANKS.index(play[1][0])))[0]


def _result_lines(deal: FinishedDeal | Match) -> list[str]:
    """The result in a line, and the amounts by seat."""
    if not isinstance(deal, FinishedDeal):
        return [f"  {'result':9} broken off, seat {deal.seat} was to act"]
    if deal.void:
        result = "everyone passed: the deal is void"
    else:
        verdict = "made" if deal.made else "failed"
        result = f"{verdict}: seat {deal.declarer} took {_count(deal.tricks_won[deal.declarer or 0], 'trick')}"
    rows = {"payoffs": [_signed(amount) for amount in deal.payoffs], "scores": [_signed(amount) for amount in deal.scores]}
    width = max(_COLUMN, *(len(amount) + 2 for amounts in rows.values() for amount in amounts))
    lines = [f"  {'result':9} {result}"]
    for label, cells in {"": [f"seat {seat}" for seat in range(deal.rules.players)], **rows}.items():
        lines.append(f"  {label:9} {''.join(f'{cell:{width}}' for cell in cells)}".rstrip())
    return [*lines, f"  {'pot':9} {deal.pot}"] if deal.rules.has_pot else lines


def _wrapped(heading: str, parts: list[str]) -> list[str]:
    """The parts after the heading, in as many lines as they need; no part is broken."""
    lines, line = [], heading + parts[0]
    for part in parts[1:]:
        if len(line) + len(part) + 3 > WIDTH:
            lines.append(f"{line},")
            line = " " * 12 + part
        else:
            line += f", {part}"
    return [*lines, line]


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _seats(seats: list[int]) -> str:
    """Such as "seat 2" or "seats 0, 2 and 3"."""
    *first, last = (str(seat) for seat in seats)
    return f"seats {', '.join(first)} and {last}" if first else f"seat {last}"


def _signed(amount: int) -> str:
    return f"{amount:+d}" if amount else "0"


def _value(value: object) -> str:
    """A rule set's field as `napoleon rules --set` takes it."""
    if isinstance(value, (list, tuple)):
        return f"[{','.join(str(number) for number in value)}]"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
