"""Numbers and text: suits, ranks, cards and the names and ids of actions.

Everything here is a constant or a pure function between an integer of the compiled core and the text of a record. A card is
`13 * suit + rank`; an action id is fixed for all rule sets and numbers of players (the table is in README).
"""

from __future__ import annotations

import operator
from numbers import Real
from typing import Final, SupportsIndex, TypeGuard

VERSION: Final = "0.1.0"
"""Of the package and of its environments; rises when the same seed and actions can give another mask, observation or payoff."""

REWARDS: Final = ("payoff", "relative")
"""What a seat may earn in a deal: what it wins, or that minus the mean of what the others win."""

SUITS: Final = "CDHS"
"""Suits by number, equal in play (C2)."""
RANKS: Final = "23456789TJQKA"
"""Ranks by number, rising (C2)."""

N_SUITS: Final = 4
N_RANKS: Final = 13
N_CARDS: Final = N_SUITS * N_RANKS
MAX_PLAYERS: Final = 6
MAX_HAND: Final = 8
"""The most cards a hand may have, and so the highest number bid (RULES.md §6)."""

NO_CARD: Final = -1
NO_SUIT: Final = -1
NO_SEAT: Final = -1
SOME_DISCARD: Final = -2
"""In a log, in place of a discard whose card the viewer may not know."""

PASS: Final = 0
BID: Final = 0
"""`BID + n` is the bid of n tricks, 1 <= n <= 8."""
HOLD: Final = 9
MISERE: Final = 10
WELLINGTON: Final = 11
BLUCHER: Final = 12
TRUMP: Final = 13
"""`TRUMP + suit` chooses the trump suit (P4)."""
NAPOLEON: Final = 17
NO_NAPOLEON: Final = 18
STAND: Final = 19
DISCARD: Final = 20
"""`DISCARD + card` lays that card away and draws the top of the stock (R7)."""
PLAY: Final = 72
"""`PLAY + card` leads or follows with that card."""
N_ACTIONS: Final = PLAY + N_CARDS

CARDS: Final = tuple(rank + suit for suit in SUITS for rank in RANKS)
"""Card names by number: rank, then suit."""

ACTION_NAMES: Final = (
    "pass",
    *(f"bid {n}" for n in range(1, MAX_HAND + 1)),
    "hold",
    "misere",
    "wellington",
    "blucher",
    *(f"trump {suit}" for suit in SUITS),
    "napoleon",
    "no napoleon",
    "stand",
    *(f"discard {card}" for card in CARDS),
    *CARDS,
)
"""Action names by id, as records spell them (RULES.md §8)."""

_CARD_NUMBER: Final = {name: number for number, name in enumerate(CARDS)}
_ACTION_ID: Final = {name: number for number, name in enumerate(ACTION_NAMES)}

LARGEST_EXACT: Final = 10**15
"""A match is truncated after a deal that leaves more than this in the pot or a score (RULES.md §7)."""
LARGEST_SETTING: Final = 1_000_000
"""The largest stake, ante, number of deals or payment that a rule set may name (RULES.md §6)."""


class NotationError(ValueError):
    """Text or a number that names no card, action or rule set."""


def shown(value: object, limit: int = 60) -> str:
    """A value of the user's for an error message: one printable line of at most `limit` characters."""
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # an int of more digits than Python prints, or a value nested too deep
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def card_number(name: str) -> int:
    """The number of a card such as "AS" (0 … 51).

    Raises:
        NotationError: the text names no card.
    """
    number = _CARD_NUMBER.get(name) if isinstance(name, str) else None
    if number is None:
        raise NotationError(f'{shown(name)} is not a card: cards are rank then suit, such as "AS" or "TD" (C2)')
    return number


def action_id(name: str) -> int:
    """The id of an action's name such as "bid 3", "trump H", "discard AS" or "AS" (0 … N_ACTIONS - 1).

    Raises:
        NotationError: the text names no action.
    """
    number = _ACTION_ID.get(name) if isinstance(name, str) else None
    if number is None:
        raise NotationError(
            f"{shown(name)} is not an action: actions are pass, bid N, hold, misere, wellington, blucher, "
            "trump C|D|H|S, napoleon, no napoleon, stand, discard CARD, CARD"
        )
    return number


def action_name(action: int) -> str:
    """The name of an action id.

    Raises:
        NotationError: the number is no action id.
    """
    number = whole(action)
    if number is None or not 0 <= number < N_ACTIONS:
        raise NotationError(f"{shown(action)} is not an action id: ids run from 0 to {N_ACTIONS - 1}")
    return ACTION_NAMES[number]


def whole(value: object) -> int | None:
    """`value` as an int if it is a whole number (of Python or numpy), else None. A bool or a float is not one."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # a numpy array of more than one element has the method and refuses
        return None


def is_real(value: object) -> TypeGuard[float]:
    """Whether `value` is a real number (of Python or numpy); a bool is not one."""
    return isinstance(value, Real) and not isinstance(value, bool)


def cards_of(mask: int) -> list[int]:
    """The card numbers in a bit mask (bit c set: card c is in), ascending."""
    mask = int(mask)
    return [card for card in range(N_CARDS) if mask >> card & 1]


def mask_of(cards: list[int]) -> int:
    """The bit mask of card numbers."""
    return sum(1 << card for card in set(cards))
