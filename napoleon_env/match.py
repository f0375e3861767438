"""Rules for people: a match with named, checked moves, and the view that one seat has of it.

`Match` is the checked door to the compiled rules: `legal()` asks, `play()` checks and does, `view(seat)` shows what that seat
may know and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import randbits
from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env.dealing import check_seed, deal_key, random_deal, random_match
from napoleon_env.notation import (
    ACTION_NAMES,
    CARDS,
    DISCARD,
    HOLD,
    LARGEST_EXACT,
    N_ACTIONS,
    N_CARDS,
    N_RANKS,
    NO_CARD,
    NO_SEAT,
    NO_SUIT,
    PLAY,
    SOME_DISCARD,
    SUITS,
    TRUMP,
    NotationError,
    action_id,
    card_number,
    cards_of,
    shown,
    whole,
)
from napoleon_env.ruleset import MUST_TRUMP, Ruleset

SUIT_NAMES: Final = ("clubs", "diamonds", "hearts", "spades")


class IllegalActionError(ValueError):
    """An action that the rules forbid there; the sentence names the rule."""


class DealError(ValueError):
    """Cards, a dealer or a pot that cannot begin a deal; the sentence names the place."""


def log_name(action: int) -> str:
    """The name of an entry of a log; "discard ?" where the card is hidden."""
    return "discard ?" if action == SOME_DISCARD else ACTION_NAMES[action]


class Situation:
    """A state and its rule set, read in names: the common part of a match, a finished deal and a view.

    Seats are 0 … players - 1, cards and actions are text as in records; what is not there yet is None.
    """

    __slots__ = ("rules", "state")

    rules: Ruleset
    state: np.ndarray
    """Shape (1,), dtype `rules.STATE`."""

    @property
    def phase(self) -> str:
        """One of `rules.PHASES`: auction, announce, exchange, trump, play, over."""
        return core.PHASES[self.state["phase"][0]]

    @property
    def dealer(self) -> int:
        """Who dealt the current deal."""
        return int(self.state["dealer"][0])

    @property
    def declarer(self) -> int | None:
        """Who plays alone; during the auction, who has the highest call so far."""
        return _or_none(self.state["declarer"][0], NO_SEAT)

    @property
    def contract(self) -> str | None:
        """The highest call so far ("bid 3", "misere" …); after the auction, the contract."""
        level = int(self.state["standing"][0])
        return None if level == core.NO_CALL else ACTION_NAMES[core.CALL_AT_LEVEL[level]]

    @property
    def announced(self) -> bool:
        """Whether the declarer has announced Napoleon (R6)."""
        return bool(self.state["announced"][0])

    @property
    def trump(self) -> str | None:
        """The trump suit, once it is fixed."""
        suit = _or_none(self.state["trump"][0], NO_SUIT)
        return None if suit is None else SUITS[suit]

    @property
    def led_suit(self) -> str | None:
        """The suit led to the trick in play."""
        suit = _or_none(self.state["led_suit"][0], NO_SUIT)
        return None if suit is None else SUITS[suit]

    @property
    def log(self) -> list[tuple[int, str]]:
        """Every decision of the deal in order, as (seat, action name)."""
        n = int(self.state["n_log"][0])
        return [
            (int(seat), log_name(int(action)))
            for seat, action in zip(self.state["log_seat"][0][:n], self.state["log"][0][:n], strict=True)
        ]

    @property
    def calls(self) -> list[tuple[int, str]]:
        """The auction in order as (seat, call); seats passed unasked (C10) are not in it."""
        return [(seat, name) for seat, name in self.log if action_is_call(name)]

    @property
    def tricks(self) -> list[list[tuple[int, str]]]:
        """The tricks in order, the one in play last; each a list of (seat, card) in the order of play."""
        plays = [(seat, name) for seat, name in self.log if name in _CARD_NAMES]
        return [plays[i : i + self.rules.players] for i in range(0, len(plays), self.rules.players)]

    @property
    def tricks_won(self) -> list[int]:
        """Tricks taken, by seat."""
        return [int(n) for n in self.state["tricks_won"][0][: self.rules.players]]

    @property
    def discarded(self) -> str | None:
        """The card that the declarer laid away, where it may be known."""
        card = _or_none(self.state["discard"][0], NO_CARD)
        return None if card is None else CARDS[card]

    @property
    def drawn(self) -> str | None:
        """The card that the declarer drew, where it may be known."""
        card = _or_none(self.state["drawn"][0], NO_CARD)
        return None if card is None else CARDS[card]

    @property
    def payoffs(self) -> list[int]:
        """What each seat won or lost in the last finished deal, in whole units (R16)."""
        return [int(x) for x in self.state["payoffs"][0][: self.rules.players]]

    @property
    def scores(self) -> list[int]:
        """The sum of each seat's payoffs in the finished deals."""
        return [int(x) for x in self.state["scores"][0][: self.rules.players]]

    @property
    def pot(self) -> int:
        """What lies in the pot now, this deal's antes included."""
        return int(self.state["pot"][0])

    @property
    def deal_number(self) -> int:
        """The number of the current deal, void ones counted, from 0."""
        return int(self.state["deal"][0]) - 1

    @property
    def over(self) -> bool:
        """Whether the match is finished or truncated."""
        return bool(self.state["outcome"][0] != core.RUNNING)

    @property
    def truncated(self) -> bool:
        """Whether the match was ended by a bound of RULES.md §7 before its last deal."""
        return bool(self.state["outcome"][0] == core.TRUNCATED)

    def dealt(self, seat: int) -> list[str]:
        """The cards that a seat was dealt; empty where they may not be known."""
        size = self.rules.hand_size
        return [CARDS[c] for c in self.state["cards"][0][seat * size : (seat + 1) * size] if c != NO_CARD]


class FinishedDeal(Situation):
    """A deal that is over, as it stood after its last action."""

    __slots__ = ()

    def __init__(self, rules: Ruleset, state: np.ndarray) -> None:
        self.rules, self.state = rules, state

    @property
    def void(self) -> bool:
        """Whether everyone passed and nobody played (G3)."""
        return self.declarer is None

    @property
    def made(self) -> bool | None:
        """Whether the contract was made; None in a void deal."""
        return None if self.void else bool(core.contract_is_made(self.state[0], self.rules.struct[0]))

    @property
    def stock(self) -> list[str]:
        """The stock as it was dealt, from its top, as far as it is known."""
        return [CARDS[c] for c in self.state["cards"][0][self.rules.players * self.rules.hand_size :] if c != NO_CARD]


class View(Situation):
    """What one seat may know of a match: its own cards and all that is public. Players decide on this.

    The state in it is blanked (`rules.hide`): other hands, the stock, another's discard are not in it.
    """

    __slots__ = ("last_deal", "seat", "seed")

    def __init__(
        self, rules: Ruleset, state: np.ndarray, seat: int, last_deal: FinishedDeal | None = None, seed: int | None = None
    ) -> None:
        self.rules, self.seat = rules, seat
        self.seed: Final = seed
        """Of `rng`: one number a decision, given by whoever asks for it, so that a tournament can be repeated."""
        self.state = core.copy_state(state)
        core.hide(self.state[0], rules.struct[0], seat)
        self.last_deal: Final = last_deal and FinishedDeal(rules, View(rules, last_deal.state, seat).state)
        """The deal before this one as this seat saw it, or None."""

    def rng(self) -> np.random.Generator:
        """A new generator for this decision alone; the same one every time where `seed` was given."""
        return np.random.default_rng(self.seed)

    @property
    def to_act(self) -> int | None:
        """The seat that is to decide, or None."""
        return _or_none(self.state["seat"][0], NO_SEAT)

    @property
    def hand(self) -> list[str]:
        """The cards in this seat's hand, by suit and rank."""
        return [CARDS[c] for c in cards_of(self.state["hand"][0][self.seat])]

    def mask(self) -> np.ndarray:
        """The legal actions of this seat as int8 of shape (N_ACTIONS,); all zero when it is not to act."""
        mask = np.zeros(N_ACTIONS, np.int8)
        if self.to_act == self.seat:
            core.legal_mask(self.state[0], self.rules.struct[0], mask)
        return mask

    def legal_ids(self) -> list[int]:
        """The ids of this seat's legal actions, ascending; empty when it is not to act."""
        return np.flatnonzero(self.mask()).tolist()

    def legal(self) -> list[str]:
        """The names of this seat's legal actions, sorted by code point; empty when it is not to act."""
        return sorted(ACTION_NAMES[action] for action in self.legal_ids())


class Match(Situation):
    """One match, deal after deal.

    Random deals come from (stream, seed, index, match number, deal number) alone; `Match.deal` begins with cards of yours.

    Args:
        rules: a preset's name, a `Ruleset` or a record's header.
        seed: of the deals, a whole number >= 0; None draws one from the system.
        index, stream, number: which of the deals of that seed (`dealing.deal_key`; `number` counts matches).
        dealer: who deals first; None draws a seat (C8).
        changes: fields of the rule set to change.

    Raises:
        RulesetError, SeedError, DealError.
    """

    __slots__ = ("_random", "history")

    def __init__(
        self,
        rules: str | Ruleset | Mapping[str, Any] = "german",
        *,
        seed: int | None = None,
        index: int = 0,
        stream: str = "train",
        number: int = 0,
        dealer: int | None = None,
        **changes: Any,
    ) -> None:
        self.rules = Ruleset.make(rules, **changes)
        self.state = core.new_state()
        self.state["key"] = deal_key(randbits(63) if seed is None else seed, index, stream)
        self.history: list[FinishedDeal] = []
        """The finished deals, void ones too."""
        self._random = True
        with np.errstate(over="ignore"):  # the shuffle's words wrap, on purpose; only uncompiled numpy minds
            random_match(self.state[0], self.rules.struct[0], check_seed(number, "number", 2**62))
        if dealer is not None:
            first = self._check_dealer(dealer)
            core.begin_match(self.state[0], self.rules.struct[0], first, 0)
            self._deal_random()

    @staticmethod
    def deal(
        rules: str | Ruleset | Mapping[str, Any],
        *,
        dealer: int,
        hands: Sequence[Sequence[str]],
        stock: Sequence[str] | None = None,
        pot: int = 0,
        seed: int | None = None,
        **changes: Any,
    ) -> Match:
        """A match whose first deal has these cards; later deals are random ones of `seed`.

        Args:
            dealer: the seat that deals.
            hands: one list of `hand_size` cards for each seat.
            stock: the undealt cards from the top, or only the first of them; drawing past what is listed is refused then.
            pot: what lies in the pot before this deal's antes.

        Raises:
            DealError: no such deal can be; the sentence names the place.
        """
        match = Match(rules, seed=seed, **changes)
        match.begin(dealer=dealer, pot=pot)
        match.begin_deal(hands, stock)
        match._random = True
        return match

    def begin(self, *, dealer: int, pot: int = 0) -> None:
        """Start over with `dealer` and `pot`, before any deal; every deal is then given by `begin_deal`."""
        first, amount = self._check_dealer(dealer), whole(pot)
        if amount is None or not 0 <= amount <= LARGEST_EXACT:
            raise DealError(f"pot={shown(pot)} must be a whole number from 0 to {LARGEST_EXACT}")
        if amount and not self.rules.has_pot:
            raise DealError(f"pot={shown(pot)} must be 0: without napoleon=announced there is no pot")
        self.history = []
        self._random = False
        core.begin_match(self.state[0], self.rules.struct[0], first, amount)

    def begin_deal(self, hands: Sequence[Sequence[str]], stock: Sequence[str] | None = None) -> None:
        """Deal these cards as the next deal; allowed only when `needs_deal`."""
        if not self.needs_deal:
            raise DealError("a deal can begin only after the deal before it has ended and while the match goes on")
        self.state["cards"][0] = self._check_cards(hands, stock)
        core.begin_deal(self.state[0], self.rules.struct[0])

    @property
    def needs_deal(self) -> bool:
        """Whether the match waits for `begin_deal`; never with random deals."""
        return bool(self.state["phase"][0] == core.NO_DEAL) and not self.over

    @property
    def seat(self) -> int | None:
        """Who is to act; None when the match is over or waits for a deal."""
        return _or_none(self.state["seat"][0], NO_SEAT)

    @property
    def hands(self) -> list[list[str]]:
        """Every seat's cards, by suit and rank."""
        return [[CARDS[c] for c in cards_of(hand)] for hand in self.state["hand"][0][: self.rules.players]]

    @property
    def last_deal(self) -> FinishedDeal | None:
        """The deal that ended last, or None."""
        return self.history[-1] if self.history else None

    @property
    def winners(self) -> list[int]:
        """The seats with the highest score (C9); empty while the match goes on."""
        scores = self.scores
        return [seat for seat, score in enumerate(scores) if score == max(scores)] if self.over else []

    def mask(self) -> np.ndarray:
        """The legal actions as int8 of shape (N_ACTIONS,); all zero when nobody is to act."""
        mask = np.zeros(N_ACTIONS, np.int8)
        core.legal_mask(self.state[0], self.rules.struct[0], mask)
        return mask

    def legal_ids(self) -> list[int]:
        """The ids of the legal actions, ascending."""
        return np.flatnonzero(self.mask()).tolist()

    def legal(self) -> list[str]:
        """The names of the legal actions, sorted by code point as in records."""
        return sorted(ACTION_NAMES[action] for action in self.legal_ids())

    def play(self, action: str | int) -> FinishedDeal | None:
        """Carry out an action by name or id; the next random deal of a match follows in the same step.

        Returns:
            The deal that this action ended, or None.

        Raises:
            NotationError: no action has that name or id.
            IllegalActionError: the rules forbid it here; nothing has changed.
        """
        number = action_id(action) if isinstance(action, str) else whole(action)
        if number is None or not 0 <= number < N_ACTIONS:
            raise NotationError(f"{shown(action)} is not an action id: ids run from 0 to {N_ACTIONS - 1}")
        state, rules = self.state[0], self.rules.struct[0]
        if (why := self.why_illegal(number)) is not None:
            raise IllegalActionError(why)
        core.apply(state, rules, number)
        if state["phase"] != core.NO_DEAL:
            return None
        ended = FinishedDeal(self.rules, core.copy_state(self.state))
        self.history.append(ended)
        if self._random and not self.over:
            self._deal_random()
        return ended

    def view(self, seat: int, *, seed: int | None = None) -> View:
        """What `seat` may know now; `seed` is for the player's own randomness (`View.rng`)."""
        number = whole(seat)
        if number is None or not 0 <= number < self.rules.players:
            raise DealError(f"seat={shown(seat)} must be a seat from 0 to {self.rules.players - 1}")
        return View(self.rules, self.state, number, self.last_deal, seed)

    def copy(self) -> Match:
        """An independent match in the same state; random deals that follow are the same ones."""
        twin = Match.__new__(Match)
        twin.rules, twin.state, twin._random = self.rules, core.copy_state(self.state), self._random
        twin.history = self.history.copy()
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Match:
        return self.copy()

    def _deal_random(self) -> None:
        with np.errstate(over="ignore"):
            random_deal(self.state[0], self.rules.struct[0])

    def _check_dealer(self, dealer: object) -> int:
        number = whole(dealer)
        if number is None or not 0 <= number < self.rules.players:
            raise DealError(f"dealer={shown(dealer)} must be a seat from 0 to {self.rules.players - 1}")
        return number

    def _check_cards(self, hands: Sequence[Sequence[str]], stock: Sequence[str] | None) -> list[int]:
        """All cards of a deal by place, NO_CARD where the stock is not listed."""
        rules = self.rules
        if not isinstance(hands, (list, tuple)) or len(hands) != rules.players:
            raise DealError(f"hands must be a list of {rules.players} hands, one for each seat")
        named: list[tuple[str, str]] = []
        for seat, hand in enumerate(hands):
            if not isinstance(hand, (list, tuple)) or len(hand) != rules.hand_size:
                raise DealError(f"hands[{seat}] must be a list of {rules.hand_size} cards (C3)")
            named += [(f"hands[{seat}][{i}]", card) for i, card in enumerate(hand)]
        if stock is not None:
            if not isinstance(stock, (list, tuple)) or len(stock) > rules.stock_size:
                raise DealError(f"stock must be a list of at most {rules.stock_size} cards")
            named += [(f"stock[{i}]", card) for i, card in enumerate(stock)]
        place_of: dict[int, str] = {}
        pack = set(rules.pack)
        for place, name in named:
            try:
                card = card_number(name)
            except NotationError as error:
                raise DealError(f"{place}: {error}") from None
            if card not in pack:
                raise DealError(f"{place}: {name} is not in the pack of {rules.pack_size} cards")
            if card in place_of:
                raise DealError(f"{place}: {name} is dealt twice, it is {place_of[card]} too")
            place_of[card] = place
        cards = list(place_of)
        return cards + [NO_CARD] * (N_CARDS - len(cards))

    def why_illegal(self, action: int) -> str | None:
        """One sentence that says which rule forbids an action, given by its id, now; None where it is legal."""
        state = self.state[0]
        if not core.is_legal(state, self.rules.struct[0], action):
            return self._which_rule(action)
        if DISCARD <= action < PLAY and state["cards"][self.rules.players * self.rules.hand_size] == NO_CARD:
            return f"seat {self.seat} may not {ACTION_NAMES[action]}: no card to draw is listed in the stock (R7)"
        return None

    def _which_rule(self, action: int) -> str:
        """Which rule forbids what is illegal."""
        name, phase, seat = ACTION_NAMES[action], self.phase, self.seat
        if seat is None:
            return f"nobody may {_verb(name)}: " + ("the match is over" if self.over else "no cards are dealt")
        question = {
            "auction": "the auction asks for a call (G2, P2, R3, E2)",
            "announce": "the declarer is asked whether to announce Napoleon (R6)",
            "exchange": "the declarer is asked to discard a card or to stand (R7)",
            "trump": "the declarer is asked to choose trump (P4)",
            "play": "a card is to be played (C4)",
        }[phase]
        held = int(self.state["hand"][0][seat])
        if phase == "play" and action >= PLAY:
            card = action - PLAY
            if not held >> card & 1:
                reason = "does not hold it (C4)"
            elif held >> N_RANKS * (suit := int(self.state["led_suit"][0])) & core.SUIT_CARDS:
                reason = f"holds {SUIT_NAMES[suit]} and {SUIT_NAMES[suit]} were led (C5)"
            else:
                assert self.rules.struct["void"][0] == MUST_TRUMP
                reason = f"is void in {SUIT_NAMES[suit]} and holds trumps, so must play one (R9)"
        elif phase == "exchange" and DISCARD <= action < PLAY:
            reason = "does not hold it (R7)"
        elif phase == "trump" and TRUMP <= action < TRUMP + len(SUITS):
            reason = f"the pack has no {SUIT_NAMES[action - TRUMP]} (P4)"
        elif phase == "auction" and action_is_call(name):
            reason = self._why_no_call(action)
        else:
            reason = question
        return f"seat {seat} may not {_verb(name)}: {reason}"

    def _why_no_call(self, action: int) -> str:
        """Why a call is not open to the seat to move."""
        rules, standing = self.rules, self.contract
        name = ACTION_NAMES[action]
        if action == HOLD:
            if not rules.dealer_holds:
                return "dealer_holds is off in this rule set (R4)"
            return "only the dealer may hold, and only while another has the highest call (R4)"
        if name in ("misere", "wellington", "blucher") and getattr(rules, name) is None:
            return f"{name} is off in this rule set (G9, E2)"
        if name == "wellington":
            return f"it may only be called over another player's bid of {rules.hand_size} (G9)"
        if name == "blucher":
            return "it may only be called over another player's wellington (E2)"
        if name == "misere":
            return f"{standing} stands and it must be lower than misere (E2)"
        number = int(name.removeprefix("bid "))
        if not rules.min_bid <= number <= rules.hand_size:
            return f"bids run from {rules.min_bid} to {rules.hand_size} (G2, P2, R3, E2)"
        return f"{standing} stands and a bid must be higher (G2, P2, R3, E2)"


_CARD_NAMES: Final = frozenset(CARDS)


def action_is_call(name: str) -> bool:
    """Whether the action of this name belongs to the auction."""
    return name in ("pass", "hold", "misere", "wellington", "blucher") or name.startswith("bid ")


def _verb(name: str) -> str:
    """An action's name after "may not": a call is said, a card is played."""
    if name in _CARD_NAMES:
        return f"play {name}"
    if name.startswith("discard") or name in ("hold", "stand"):
        return name
    return f"say {name}"


def _or_none(value: Any, nothing: int) -> int | None:
    return None if value == nothing else int(value)
