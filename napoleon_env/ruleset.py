"""The frozen rule set: every switch of RULES.md §6 as data, the four presets, and what is refused.

`Ruleset.make("russian", players=5)` is how users get one; `Ruleset.struct` is the same as a numpy record for the compiled core.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from napoleon_env.notation import LARGEST_SETTING, MAX_HAND, MAX_PLAYERS, N_RANKS, N_SUITS, RANKS, shown, whole

LEFT, DEALER = 0, 1
CIRCULATING, ONCE = 0, 1
VOID_DEAL, DEALER_PLAYS_ONE = 0, 1
FIRST_LEAD, CHOSEN = 0, 1
ANY, MUST_TRUMP = 0, 1
NEVER, MADE, DECIDED = 0, 1, 2
AT_LEAST, EXACTLY = 0, 1
EACH_DEFENDER, POINTS_ONLY = 0, 1
NAPOLEON_BID, NAPOLEON_ANNOUNCED = 0, 1
DOUBLE_POT, DOUBLE_POT_AND_EACH = 0, 1

CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "first_speaker": ("left", "dealer"),
    "auction": ("circulating", "once"),
    "all_pass": ("void", "dealer_plays_one"),
    "trump": ("first_lead", "chosen"),
    "void": ("any", "must_trump"),
    "stop": ("never", "made", "decided"),
    "made": ("at_least", "exactly"),
    "payment": ("each_defender", "points_only"),
    "napoleon": ("bid", "announced"),
    "napoleon_failed": ("double_pot", "double_pot_and_each"),
}
"""Fields whose value is one of a few words; a word's place in the tuple is its number in the compiled core."""

WHOLE: Final[dict[str, tuple[int, int]]] = {
    "players": (2, MAX_PLAYERS),
    "suits": (1, N_SUITS),
    "hand_size": (1, MAX_HAND),
    "min_bid": (1, MAX_HAND),
    "ante": (0, LARGEST_SETTING),
    "stake": (1, LARGEST_SETTING),
    "deals": (1, LARGEST_SETTING),
    "max_void_deals": (1, LARGEST_SETTING),
}
"""Fields that are whole numbers, each with its least and greatest value."""

BOOLS: Final = ("dealer_holds", "exchange")
PAIRS: Final = ("misere", "wellington", "blucher", "slam")
"""Fields that are (when made, when failed); all but `slam` may be None."""

RULESET: Final = np.dtype(
    [(name, np.int64) for name in ("players", "suits", "lowest_rank", "hand_size", "pack_size", "min_bid")]
    + [(name, np.int64) for name in (*CHOICES, *BOOLS, "ante", "stake", "deals", "max_void_deals")]
    + [(f"has_{name}", np.int64) for name in PAIRS[:3]]
    + [(name, np.int64, 2) for name in PAIRS],
    align=True,
)
"""The rule set as the compiled core reads it: one record of whole numbers."""


class RulesetError(ValueError):
    """A rule set that cannot be played; one sentence that names the fields."""


@dataclass(frozen=True, kw_only=True)
class Ruleset:
    """All of RULES.md §6 in fields; checked when made, hashable, equal when its fields are equal.

    Raises:
        RulesetError: a value out of range, or fields that cannot be played together.
    """

    players: int = 4
    suits: int = 4
    lowest_rank: str = "2"
    hand_size: int = 5
    first_speaker: str = "left"
    auction: str = "circulating"
    min_bid: int = 2
    dealer_holds: bool = False
    misere: tuple[int, int] | None = None
    wellington: tuple[int, int] | None = None
    blucher: tuple[int, int] | None = None
    all_pass: str = "void"
    trump: str = "first_lead"
    void: str = "any"
    exchange: bool = False
    stop: str = "never"
    made: str = "at_least"
    payment: str = "each_defender"
    slam: tuple[int, int] = (2, 2)
    ante: int = 0
    stake: int = 1
    napoleon: str = "bid"
    napoleon_failed: str = "double_pot"
    deals: int = 1
    max_void_deals: int = 20

    def __post_init__(self) -> None:
        _check_values(self)
        for refused, sentence in _conflicts(self):
            if refused:
                raise RulesetError(sentence)

    @staticmethod
    def make(rules: str | Ruleset | Mapping[str, Any] = "german", /, **changes: Any) -> Ruleset:
        """The rule set named by `rules`, with some fields changed.

        Args:
            rules: a preset's name, a rule set, or a record's header: {"preset": name, field: value, …}.
            changes: fields to change; a pair may be a list of two.

        Raises:
            RulesetError: no such preset or field, or the result cannot be played.
        """
        if isinstance(rules, Mapping):
            header = dict(rules)
            if "preset" not in header:
                raise RulesetError('a rules header needs "preset", the preset whose fields the others change')
            rules, changes = header.pop("preset"), {**header, **changes}
        if isinstance(rules, Ruleset):
            base = rules
        elif isinstance(rules, str) and rules in PRESETS:
            base = PRESETS[rules]
        else:
            raise RulesetError(f"preset {shown(rules)} does not exist: there are {', '.join(PRESETS)}")
        if not changes:
            return base
        known = {field.name for field in fields(Ruleset)}
        for name in changes:
            if name not in known:
                raise RulesetError(f"{shown(name)} is not a field of a rule set: the fields are {', '.join(sorted(known))}")
        return replace(base, **{name: tuple(v) if isinstance(v, list) else v for name, v in changes.items()})

    @property
    def pack_size(self) -> int:
        """Cards in the pack."""
        return self.suits * (N_RANKS - RANKS.index(self.lowest_rank))

    @property
    def stock_size(self) -> int:
        """Cards that are left after the hands are dealt (C3)."""
        return self.pack_size - self.players * self.hand_size

    @property
    def pack(self) -> list[int]:
        """The card numbers of the pack, ascending."""
        lowest = RANKS.index(self.lowest_rank)
        return [N_RANKS * suit + rank for suit in range(self.suits) for rank in range(lowest, N_RANKS)]

    @property
    def zero_sum(self) -> bool:
        """Whether what is won in a deal is what others lose in it."""
        return self.payment == "each_defender" and not self.has_pot

    @property
    def has_pot(self) -> bool:
        """Whether there is a pot on the table: only where Napoleon is announced (RULES.md §6)."""
        return self.napoleon == "announced"

    @cached_property
    def preset(self) -> str:
        """The preset that this rule set is nearest to: the one with the fewest fields changed (the first of equals)."""
        names = [field.name for field in fields(self)]
        return min(PRESETS, key=lambda preset: sum(getattr(self, n) != getattr(PRESETS[preset], n) for n in names))

    @property
    def header(self) -> dict[str, Any]:
        """The rule set as a record's `rules`: the nearest preset and the fields that differ from it (JSON values)."""
        base = PRESETS[self.preset]
        changed = {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != getattr(base, f.name)}
        return {"preset": self.preset, **{k: list(v) if isinstance(v, tuple) else v for k, v in changed.items()}}

    @property
    def worst_contract_cost(self) -> int:
        """The most that one failed contract can cost its declarer, the pot aside, in the units of payoffs (at least 1)."""
        if self.payment == "points_only":
            return 1
        forced = {1} if self.all_pass == "dealer_plays_one" else set()
        bids = forced | set(range(self.min_bid, self.hand_size + 1))
        plain = [n * self.stake * (self.slam[1] if n == self.hand_size else 1) for n in bids]
        special = [pair[1] * self.stake for pair in (self.misere, self.wellington, self.blucher) if pair]
        shares = self.players - 1 + (1 if self.has_pot else 0)
        return max(*plain, *special, 1) * shares

    @cached_property
    def struct(self) -> np.ndarray:
        """This rule set as a read-only array of shape (1,) and dtype RULESET, for the compiled core."""
        row = np.zeros(1, RULESET)
        for name, words in CHOICES.items():
            row[name] = words.index(getattr(self, name))
        for name in (*WHOLE, *BOOLS):
            row[name] = getattr(self, name)
        row["lowest_rank"] = RANKS.index(self.lowest_rank)
        row["pack_size"] = self.pack_size
        for name in PAIRS:
            pair = getattr(self, name)
            row[name] = (0, 0) if pair is None else pair
            if name != "slam":
                row[f"has_{name}"] = pair is not None
        row.flags.writeable = False
        return row

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # what is cached is made anew

    def __deepcopy__(self, memo: dict[int, Any]) -> Ruleset:
        return self  # frozen: copies of a match share it

    def __str__(self) -> str:
        preset, *rest = self.header.items()
        return preset[1] + ("" if not rest else f" ({', '.join(f'{name}={value}' for name, value in rest)})")


def _check_values(rules: Ruleset) -> None:
    """Refuse a field whose own value is wrong, and store whole numbers as Python ints."""
    for name, (least, greatest) in WHOLE.items():
        value = whole(getattr(rules, name))
        if value is None or not least <= value <= greatest:
            raise RulesetError(f"{name}={shown(getattr(rules, name))} must be a whole number from {least} to {greatest}")
        object.__setattr__(rules, name, value)
    for name, words in CHOICES.items():
        if not isinstance(getattr(rules, name), str) or getattr(rules, name) not in words:
            raise RulesetError(f"{name}={shown(getattr(rules, name))} must be one of {', '.join(words)}")
    for name in BOOLS:
        if not isinstance(getattr(rules, name), (bool, np.bool_)):
            raise RulesetError(f"{name}={shown(getattr(rules, name))} must be true or false")
        object.__setattr__(rules, name, bool(getattr(rules, name)))
    if not isinstance(rules.lowest_rank, str) or len(rules.lowest_rank) != 1 or rules.lowest_rank not in RANKS:
        raise RulesetError(f"lowest_rank={shown(rules.lowest_rank)} must be one of the ranks {' '.join(RANKS)}, as text")
    for name in PAIRS:
        pair = getattr(rules, name)
        if pair is None and name != "slam":
            continue
        numbers = [whole(value) for value in pair] if isinstance(pair, (tuple, list)) else []
        if len(numbers) != 2 or any(n is None or not 0 <= n <= LARGEST_SETTING for n in numbers):
            none = "" if name == "slam" else "none or "
            raise RulesetError(
                f"{name}={shown(pair)} must be {none}two whole numbers from 0 to {LARGEST_SETTING} (when made, when failed)"
            )
        object.__setattr__(rules, name, tuple(numbers))


def _conflicts(r: Ruleset) -> list[tuple[bool, str]]:
    """What fields of valid values cannot mean together (RULES.md §6), as (refused, sentence that names the fields)."""
    cards = (
        f"players={r.players} with hand_size={r.hand_size} need {r.players * r.hand_size} cards, but "
        f"suits={r.suits} from lowest_rank={r.lowest_rank} make a pack of {r.pack_size}"
    )
    points = "payment=points_only pays nobody, so {} does not go with it"
    special = [name for name in ("misere", "wellington", "blucher") if getattr(r, name) is not None]
    points_only = r.payment == "points_only"
    return [
        (r.stock_size < 0, cards),
        (r.exchange and r.stock_size == 0, f"exchange=true needs a stock to draw from: {cards}"),
        (r.min_bid > r.hand_size, f"min_bid={r.min_bid} is above hand_size={r.hand_size}: nobody could bid"),
        (
            r.dealer_holds and r.auction == "once",
            "dealer_holds=true needs auction=circulating: with auction=once nobody could answer a hold",
        ),
        (
            r.misere is not None and (r.hand_size < 4 or r.min_bid > 4),
            f"misere ranks between bids of 3 and 4, so it needs hand_size of at least 4 and min_bid of at most 4, "
            f"not hand_size={r.hand_size} and min_bid={r.min_bid}",
        ),
        (
            r.wellington is not None and r.napoleon == "announced",
            "wellington needs napoleon=bid: with napoleon=announced no bid is a Napoleon to call it over",
        ),
        (
            r.blucher is not None and r.napoleon == "announced",
            "blucher needs napoleon=bid: with napoleon=announced no bid is a Napoleon to call it over",
        ),
        (r.blucher is not None and r.wellington is None, "blucher needs wellington: it is called over nothing else"),
        (r.stop == "made" and r.made == "exactly", "stop=made does not go with made=exactly: a trick too many could follow"),
        (points_only and bool(special), points.format(" and ".join(special))),
        (points_only and r.ante != 0, points.format(f"ante={r.ante}")),
        (points_only and r.napoleon == "announced", points.format("napoleon=announced")),
        (points_only and r.stake != 1, points.format(f"stake={r.stake} (other than 1)")),
        (points_only and r.slam != (1, 1), points.format(f"slam={list(r.slam)} (other than [1, 1])")),
        (
            r.ante > 0 and r.napoleon != "announced",
            f"ante={r.ante} needs napoleon=announced: nobody could ever win the pot",
        ),
    ]


def parse_changes(texts: Iterable[str]) -> dict[str, Any]:
    """Fields to change from texts as they are typed at a command line: "players=5", "misere=[3,3]", "trump=chosen".

    Raises:
        RulesetError: a text is not field=value.
    """
    changes: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise RulesetError(f"{shown(text)} is not field=value, such as players=5 or misere=[3,3]")
        changes[name] = value if name == "lowest_rank" else _typed_value(value)
    return changes


def _typed_value(text: str) -> Any:
    if text.lower() in ("none", "null"):
        return None
    if text.lower() in ("true", "yes", "false", "no"):
        return text.lower() in ("true", "yes")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # a word, such as "chosen"
        return text


PRESETS: Final[dict[str, Ruleset]] = {
    "german": Ruleset(),
    "portuguese": Ruleset(
        auction="once",
        min_bid=1,
        all_pass="dealer_plays_one",
        trump="chosen",
        made="exactly",
        payment="points_only",
        slam=(1, 1),
    ),
    "russian": Ruleset(
        lowest_rank="6",
        first_speaker="dealer",
        min_bid=1,
        dealer_holds=True,
        void="must_trump",
        exchange=True,
        stop="made",
        slam=(1, 1),
        ante=1,
        napoleon="announced",
    ),
    "english": Ruleset(
        auction="once",
        misere=(3, 3),
        wellington=(10, 10),
        blucher=(10, 20),
        stop="decided",
        slam=(2, 1),
    ),
}
"""The rule sets of the three texts and of English books (RULES.md §2 to §5)."""
