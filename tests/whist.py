"""Two-person single-suit whist by plain recursion: an oracle for the solver that shares no code and no idea with it.

Two players hold n cards each of one ordered suit of 2n; the leader plays a card, the other any card, the higher takes the trick
and leads. Nap with two players and a pack of one suit is this game: every card is a trump and every hand can follow.

A deal is a string of L (a card of whoever is on lead) and F (the other's), from the highest card down.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations


def deals(n: int) -> list[str]:
    """All (2n choose n) deals."""
    return ["".join("L" if place in held else "F" for place in range(2 * n)) for held in combinations(range(2 * n), n)]


@cache
def leader_tricks(deal: str) -> int:
    """How many tricks the player on lead takes."""
    return max((_after_lead(deal, lead) for lead, holder in enumerate(deal) if holder == "L"), default=0)


def _after_lead(deal: str, lead: int) -> int:
    """The leader's tricks once the card at place `lead` is on the table and the other answers best."""
    worst = len(deal)
    for answer, holder in enumerate(deal):
        if holder == "F":
            left = "".join(card for place, card in enumerate(deal) if place not in (lead, answer))
            if lead < answer:  # the leader's card is the higher one
                tricks = 1 + leader_tricks(left)
            else:
                tricks = len(left) // 2 - leader_tricks(left.translate(str.maketrans("LF", "FL")))
            worst = min(worst, tricks)
    return worst
