"""A second, independent, slow and plain reading of RULES.md, to compare the compiled core with.

It was written from RULES.md alone and shares nothing with `napoleon_env`: cards and actions are the strings of a
match record (RULES.md section 8), hands are sets of them, money is Python integers. Keep it so: where the two
implementations differ, RULES.md decides, and neither is corrected by looking at the other.

As a program it checks files of match records: `python tests/reference.py shared/cases/*.jsonl`.
"""

import json
import sys
from typing import Any

SUITS = "CDHS"  # C2: the order in which `suits` takes them; all are equal
RANKS = "23456789TJQKA"  # C2: rising
AMOUNT_LIMIT = 10**15  # section 7

PORTUGUESE: dict[str, Any] = {
    "players": 4,
    "suits": 4,
    "lowest_rank": "2",
    "hand_size": 5,
    "first_speaker": "left",
    "auction": "once",
    "min_bid": 1,
    "dealer_holds": False,
    "misere": None,
    "wellington": None,
    "blucher": None,
    "all_pass": "dealer_plays_one",
    "trump": "chosen",
    "void": "any",
    "exchange": False,
    "stop": "never",
    "made": "exactly",
    "payment": "points_only",
    "slam": (1, 1),
    "ante": 0,
    "stake": 1,
    "napoleon": "bid",
    "deals": 1,
    "max_void_deals": 20,
    "napoleon_failed": "double_pot",
}
GERMAN = PORTUGUESE | {
    "auction": "circulating",
    "min_bid": 2,
    "all_pass": "void",
    "trump": "first_lead",
    "made": "at_least",
    "payment": "each_defender",
    "slam": (2, 2),
}
RUSSIAN = GERMAN | {
    "lowest_rank": "6",
    "first_speaker": "dealer",
    "min_bid": 1,
    "dealer_holds": True,
    "void": "must_trump",
    "exchange": True,
    "stop": "made",
    "slam": (1, 1),
    "ante": 1,
    "napoleon": "announced",
}
ENGLISH = GERMAN | {
    "auction": "once",
    "misere": (3, 3),
    "wellington": (10, 10),
    "blucher": (10, 20),
    "stop": "decided",
    "slam": (2, 1),
}
PRESETS: dict[str, dict[str, Any]] = {
    "german": GERMAN,
    "portuguese": PORTUGUESE,
    "russian": RUSSIAN,
    "english": ENGLISH,
}


class ReferenceMatch:
    """One match, told by RULES.md alone: `deal` when `needs_deal`, else `play` one of `legal()` for `seat`.

    `rules` has every field of RULES.md section 6 and is taken to be playable. `pot` is what lies in the pot before
    the first deal's antes. While a deal is played `pot` holds its antes already, and `scores` change when it ends.
    """

    def __init__(self, rules: dict[str, Any], dealer: int, pot: int = 0) -> None:
        self.rules = rules
        self.n_seats: int = rules["players"]
        self.hand_size: int = rules["hand_size"]
        self.dealer = dealer
        self.pot = pot
        self.scores = [0] * self.n_seats
        self.payoffs: list[int] | None = None
        self.needs_deal = True
        self.over = False
        self.truncated = False
        self.deals_played = 0
        self.voids_in_a_row = 0
        self.calls_in_order = [f"bid {number}" for number in range(1, self.hand_size + 1)]
        self.calls_in_order.insert(3, "misere")  # section 6: just above a bid of 3 and below 4
        self._clear_table()

    def _clear_table(self) -> None:
        """Make ready for the next deal: nobody holds, has said or has won anything."""
        self.seat: int | None = None
        self.phase = "no deal"  # then auction, napoleon, exchange, trump, cards
        self.hands: list[set[str]] = [set() for _ in range(self.n_seats)]
        self.stock: list[str] = []
        self.out_of_auction: set[int] = set()
        self.highest_call: str | None = None
        self.highest_caller: int | None = None
        self.declarer: int | None = None
        self.contract: str | None = None
        self.napoleon_announced = False
        self.trump: str | None = None
        self.trick: list[tuple[int, str]] = []
        self.tricks_won = [0] * self.n_seats

    # Dealing

    def deal(self, hands: list[list[str]], stock: list[str]) -> None:
        """Give out the cards of the next deal; `stock` is listed from its top and may be cut short (section 8).

        Raises ValueError if no deal is due or if these cards cannot be dealt under the rule set.
        """
        if not self.needs_deal:
            raise ValueError("no deal is due: the match is over or the last deal is still being played")
        ranks = RANKS[RANKS.index(self.rules["lowest_rank"]) :]
        pack = {rank + suit for suit in SUITS[: self.rules["suits"]] for rank in ranks}
        dealt = [card for hand in hands for card in hand] + stock
        if len(hands) != self.n_seats or any(len(hand) != self.hand_size for hand in hands):
            raise ValueError(f"the hands must be {self.n_seats} of {self.hand_size} cards each (C3)")
        if len(set(dealt)) != len(dealt) or not set(dealt) <= pack:
            raise ValueError("a card is dealt twice or is not in the pack (C2)")
        self._clear_table()
        self.needs_deal = False
        self.hands = [set(hand) for hand in hands]
        self.stock = list(stock)
        self.pot += self.rules["ante"] * self.n_seats  # R1
        self.phase = "auction"
        first_speaker = self.dealer if self.rules["first_speaker"] == "dealer" else self._left_of(self.dealer)
        self._ask_for_a_call(first_speaker)  # G1, P1, R2

    def _left_of(self, seat: int) -> int:
        """The next seat clockwise (C1)."""
        return (seat + 1) % self.n_seats

    # Questions and answers

    def legal(self) -> list[str]:
        """The names of all actions that `seat` may choose, sorted by code point; empty when nobody is to act."""
        if self.seat is None:
            return []
        if self.phase == "auction":
            return self._legal_calls(self.seat)
        if self.phase == "napoleon":
            return ["napoleon", "no napoleon"]
        if self.phase == "exchange":
            return sorted(["stand"] + [f"discard {card}" for card in self.hands[self.seat]])
        if self.phase == "trump":
            return sorted(f"trump {suit}" for suit in SUITS[: self.rules["suits"]])
        return sorted(self._legal_cards(self.seat))

    def play(self, action: str) -> None:
        """Let `seat` do `action`; raises ValueError for one that is not legal or that draws an unlisted card."""
        if self.seat is None or action not in self.legal():
            raise ValueError(f"seat {self.seat} may not do {action!r}: legal are {self.legal()}")
        if self.phase == "auction":
            self._call(self.seat, action)
        elif self.phase == "napoleon":
            self.napoleon_announced = action == "napoleon"
            self._ask_about_the_exchange()
        elif self.phase == "exchange":
            self._exchange(self.seat, action)
        elif self.phase == "trump":
            self.trump = action.removeprefix("trump ")
            self.phase = "cards"
        else:
            self._play_card(self.seat, action)

    # The auction

    def _legal_calls(self, seat: int) -> list[str]:
        """What `seat` may call over the highest call, pass included; sorted."""
        calls = ["pass"]
        for call in self._calls_above_the_highest():
            if call == "misere":
                allowed = self.rules["misere"] is not None
            else:
                allowed = int(call.removeprefix("bid ")) >= self.rules["min_bid"]
            if allowed:
                calls.append(call)
        # The highest caller is never asked, so the call to be beaten is always another player's (G9, E2).
        if self.rules["wellington"] is not None and self.highest_call == f"bid {self.hand_size}":
            calls.append("wellington")
        if self.rules["blucher"] is not None and self.highest_call == "wellington":
            calls.append("blucher")
        # The dealer may hold as often as another player has the highest call, whatever call it is (R4, section 6).
        if self.rules["dealer_holds"] and seat == self.dealer and self.highest_call is not None:
            calls.append("hold")
        return sorted(calls)

    def _calls_above_the_highest(self) -> list[str]:
        """The bids and misere that are higher than the highest call, lowest first."""
        if self.highest_call is None:
            return self.calls_in_order
        if self.highest_call in ("wellington", "blucher"):
            return []
        return self.calls_in_order[self.calls_in_order.index(self.highest_call) + 1 :]

    def _call(self, seat: int, call: str) -> None:
        """Take one call and ask the next seat, or end the auction."""
        if call != "pass":
            self.highest_caller = seat
            if call != "hold":
                self.highest_call = call
        if call == "pass" or self.rules["auction"] == "once":
            self.out_of_auction.add(seat)  # C11; E2 and P1: every seat speaks once
        self._ask_for_a_call(self._left_of(seat))

    def _ask_for_a_call(self, first: int) -> None:
        """Ask the first seat, from `first` on clockwise, that has something to say; if none has, end the auction.

        With no bid yet, the last player who has not passed is asked too (G2): nobody is the highest caller then.
        """
        seat = first
        for _ in range(self.n_seats):
            if seat not in self.out_of_auction and seat != self.highest_caller:
                if self._legal_calls(seat) != ["pass"]:
                    self.seat = seat
                    return
                self.out_of_auction.add(seat)  # C10: passed without being asked
            seat = self._left_of(seat)
        self._end_auction()

    def _end_auction(self) -> None:
        """Name the declarer and the contract, or void the deal."""
        if self.highest_call is not None:
            self.declarer, self.contract = self.highest_caller, self.highest_call
        elif self.rules["all_pass"] == "dealer_plays_one":
            self.declarer, self.contract = self.dealer, "bid 1"  # P3, whatever min_bid is
        else:
            self._end_deal([0] * self.n_seats, void=True)  # G3, R5, E3
            return
        self.seat = self.declarer
        if self.rules["napoleon"] == "announced" and self.contract == f"bid {self.hand_size}":
            self.phase = "napoleon"  # R6
        else:
            self._ask_about_the_exchange()

    # The declarer's decisions before the lead

    def _ask_about_the_exchange(self) -> None:
        """Go on to the exchange if there is one (R7)."""
        if self.rules["exchange"]:
            self.phase = "exchange"
        else:
            self._ask_about_trump()

    def _exchange(self, seat: int, action: str) -> None:
        """Discard one card and take the top card of the stock, or stand (R7)."""
        if action != "stand":
            if not self.stock:
                raise ValueError("no card can be drawn: the stock has no card left or does not list it")
            self.hands[seat].remove(action.removeprefix("discard "))
            self.hands[seat].add(self.stock.pop(0))
        self._ask_about_trump()

    def _ask_about_trump(self) -> None:
        """Go on to the trump question where trump is chosen (P4); there is no trump in a misere (section 6)."""
        if self.rules["trump"] == "chosen" and self.contract != "misere":
            self.phase = "trump"
        else:
            self.phase = "cards"

    # The play of the cards

    def _legal_cards(self, seat: int) -> set[str]:
        """The cards that `seat` may play to the trick."""
        hand = self.hands[seat]
        if not self.trick:
            return hand  # C4: a leader may lead any card
        led_suit = self.trick[0][1][1]
        following = {card for card in hand if card[1] == led_suit}
        if following:
            return following  # C5
        trumps = {card for card in hand if card[1] == self.trump}
        if self.rules["void"] == "must_trump" and trumps:
            return trumps  # R9
        return hand  # G5, P5

    def _play_card(self, seat: int, card: str) -> None:
        """Put one card on the table; the last card of a trick settles it."""
        if self.rules["trump"] == "first_lead" and self.contract != "misere" and self.trump is None:
            self.trump = card[1]  # G4, R8, E1
        self.hands[seat].remove(card)
        self.trick.append((seat, card))
        if len(self.trick) < self.n_seats:
            self.seat = self._left_of(seat)
            return
        winner = self._trick_winner()
        self.tricks_won[winner] += 1
        self.trick = []
        self.seat = winner  # C4
        if self._play_stops():
            self._end_deal(self._settlement(), void=False)

    def _trick_winner(self) -> int:
        """Who takes the full trick: the highest trump, else the highest card of the suit led (C6)."""
        led_suit = self.trick[0][1][1]
        trumped = any(card[1] == self.trump for _, card in self.trick)
        winning_suit = self.trump if trumped else led_suit
        candidates = [(RANKS.index(card[0]), seat) for seat, card in self.trick if card[1] == winning_suit]
        return max(candidates)[1]

    def _promised_tricks(self) -> int:
        """How many tricks the contract promises: none in a misere, all in Wellington and Bluecher (G9, E2)."""
        if self.contract == "misere":
            return 0
        if self.contract is not None and self.contract.startswith("bid "):
            return int(self.contract.removeprefix("bid "))
        return self.hand_size

    def _is_made(self) -> bool:
        """Whether the declarer's tricks so far fulfil the contract."""
        assert self.declarer is not None
        taken = self.tricks_won[self.declarer]
        if self.contract == "misere" or self.rules["made"] == "exactly":
            return taken == self._promised_tricks()  # P6, E2
        return taken >= self._promised_tricks()  # G7

    def _play_stops(self) -> bool:
        """Whether the deal is finished after this trick."""
        assert self.declarer is not None
        tricks_left = self.hand_size - sum(self.tricks_won)
        if tricks_left == 0:
            return True  # G6, P5
        taken = self.tricks_won[self.declarer]
        promised = self._promised_tricks()
        if self.rules["stop"] == "made":
            return self.contract != "misere" and taken >= promised  # R10; a misere is played to the end
        if self.rules["stop"] == "decided":  # E5
            if self.contract == "misere":
                return taken > 0
            if taken + tricks_left < promised:
                return True
            return taken > promised if self.rules["made"] == "exactly" else taken >= promised
        return False

    # The money

    def _settlement(self) -> list[int]:
        """What each seat gets for the played deal, antes left out; moves the pot's share too."""
        assert self.declarer is not None
        made = self._is_made()
        payoffs = [0] * self.n_seats
        if self.rules["payment"] == "points_only":
            if made:
                payoffs[self.declarer] = self.tricks_won[self.declarer]  # P6
            return payoffs
        amount = self._amount_per_defender(made)
        into_pot = 0
        if not made and self.rules["napoleon"] == "announced":
            into_pot = amount  # R12: one defender's share, a misere's too (section 6)
        if self.napoleon_announced and made:
            into_pot = -self.pot  # R13
        if self.napoleon_announced and not made:
            into_pot = self.pot  # R14
            if self.rules["napoleon_failed"] == "double_pot_and_each":
                amount = self.pot  # section 6: K to every defender in place of bid x stake
        self.pot += into_pot
        for seat in range(self.n_seats):
            if seat != self.declarer:
                defender_pays = amount if made else -amount  # G7, R11, R12, E4
                payoffs[seat] -= defender_pays
                payoffs[self.declarer] += defender_pays
        payoffs[self.declarer] -= into_pot
        return payoffs

    def _amount_per_defender(self, made: bool) -> int:
        """What a contract pays or is paid by each defender: the bid in stakes, or the special call's own sum."""
        column = 0 if made else 1
        if self.contract in ("misere", "wellington", "blucher"):
            return self.rules[self.contract][column] * self.rules["stake"]  # G9, E4
        amount = self._promised_tricks() * self.rules["stake"]
        if self._promised_tricks() == self.hand_size:
            amount *= self.rules["slam"][column]  # G8, E4
        return amount

    # The end of a deal and of the match

    def _end_deal(self, gains: list[int], *, void: bool) -> None:
        """Book the deal and say how the match goes on (C7, C9, section 7); `gains` leave out the antes."""
        self.payoffs = [gain - self.rules["ante"] for gain in gains]  # R16
        self.scores = [score + payoff for score, payoff in zip(self.scores, self.payoffs, strict=True)]
        self.seat = None
        self.phase = "no deal"
        if void:
            self.voids_in_a_row += 1  # G3: not one of the `deals`
        else:
            self.voids_in_a_row = 0
            self.deals_played += 1
        if self.deals_played == self.rules["deals"]:
            self.over = True
        elif self.voids_in_a_row == self.rules["max_void_deals"] or self._an_amount_is_too_large():
            self.over = True
            self.truncated = True
        else:
            self.needs_deal = True
            self.dealer = self._left_of(self.dealer)  # C7

    def _an_amount_is_too_large(self) -> bool:
        """Whether the pot or a score, won or lost, is above 10**15 (section 7)."""
        return any(abs(amount) > AMOUNT_LIMIT for amount in [self.pot, *self.scores])


def check_record(record: dict[str, Any]) -> str | None:
    """Replay one match record (RULES.md section 8); None, or one sentence on the first disagreement.

    It judges the game, not the form: unknown or missing fields are the business of a reader of records.
    """
    fields = dict(record["rules"])
    rules = PRESETS[fields.pop("preset")] | {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    match = ReferenceMatch(rules, record["deals"][0]["dealer"], pot=record.get("pot", 0))
    for number, deal in enumerate(record["deals"]):
        if deal["dealer"] != match.dealer:
            return f"deal {number}: the dealer is {match.dealer}, the record says {deal['dealer']}"
        try:
            match.deal(deal["hands"], deal.get("stock", []))
            for index, action in enumerate(deal["actions"]):
                if action[1:] and action[1] != match.legal():
                    return f"deal {number}, action {index}: legal are {match.legal()}, the record says {action[1]}"
                match.play(action[0])
        except ValueError as error:
            return f"deal {number}: {error}"
        broken_off = record.get("unfinished", False) and deal is record["deals"][-1]
        if match.seat is not None and not broken_off:
            return f"deal {number}: the record ends it while seat {match.seat} is to act"
        payoffs = match.payoffs if match.seat is None else None
        if "payoffs" in deal and deal["payoffs"] != payoffs:
            return f"deal {number}: the payoffs are {payoffs}, the record says {deal['payoffs']}"
        if "pot" in deal and deal["pot"] != match.pot:
            return f"deal {number}: the pot is {match.pot}, the record says {deal['pot']}"
    if not match.over and not record.get("unfinished", False):
        return "the record ends while the match goes on"
    if record["scores"] != match.scores:
        return f"the scores are {match.scores}, the record says {record['scores']}"
    return None


def main(paths: list[str]) -> int:
    """Check every record of the files and print what was found; 0 when all agree."""
    n_failed = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        findings = [(line, check_record(record)) for line, record in enumerate(records, start=1)]
        failures = [(line, finding) for line, finding in findings if finding is not None]
        n_failed += len(failures)
        for line, finding in failures:
            print(f"{path}, line {line}: {finding}")
        n_decisions = sum(len(deal["actions"]) for record in records for deal in record["deals"])
        print(f"{path}: {len(records) - len(failures)} of {len(records)} records agree, {n_decisions} decisions")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
