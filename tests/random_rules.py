"""Random playable rule sets, and random matches under them, played by the plain reading of the rules (reference.py).

Rare things are made frequent: small packs, tiny hands, passing, announced Napoleons, stakes and pots near the bounds of
RULES.md section 7. All randomness comes from the `random.Random` that is handed in.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from reference import ReferenceMatch

from napoleon_env.match import Match
from napoleon_env.notation import CARDS, LARGEST_EXACT, LARGEST_SETTING, N_RANKS, RANKS
from napoleon_env.ruleset import CHOICES, PRESETS, Ruleset

PACKS = sorted((suits * (N_RANKS - lowest), suits, RANKS[lowest]) for suits in range(1, 5) for lowest in range(N_RANKS))
"""Every pack as (number of cards, suits, lowest rank), small ones first."""

FIELDS = tuple(field.name for field in fields(Ruleset))

AMOUNTS = (1, 1, 1, 2, 3, LARGEST_SETTING)
"""Stakes, and antes where there is a pot."""

PAIR_NUMBERS = (0, 1, 2, 3, 5, 10, 20, LARGEST_SETTING)


def random_rules(rng: random.Random) -> Ruleset:
    """A playable rule set; one in six is a preset for another number of players."""
    if rng.random() < 1 / 6:
        return replace(PRESETS[rng.choice(list(PRESETS))], players=rng.randint(2, 6), deals=rng.randint(1, 3))
    players = rng.randint(2, 6)
    hand_size = rng.choice((1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8))
    exchange = rng.random() < 0.6
    needed = players * hand_size + exchange
    packs = [pack for pack in PACKS if pack[0] >= needed]
    if rng.random() < 0.5:  # nearly all cards are dealt
        packs = [pack for pack in packs if pack[0] <= max(needed + 3, packs[0][0])]
    elif rng.random() < 0.3:
        packs = packs[-1:]  # all 52
    _, suits, lowest_rank = rng.choice(packs)
    if rng.random() < 0.03:  # aces alone
        players, hand_size, exchange, suits, lowest_rank = 2, 1, True, 4, "A"
    changes: dict[str, Any] = {name: rng.choice(words) for name, words in CHOICES.items()}
    changes |= {
        "players": players,
        "hand_size": hand_size,
        "suits": suits,
        "lowest_rank": lowest_rank,
        "exchange": exchange,
        "min_bid": min(rng.choice((1, 2, rng.randint(1, hand_size), hand_size)), hand_size),
        "dealer_holds": changes["auction"] == "circulating" and rng.random() < 0.6,
        "deals": rng.choice((1, 1, 2, 3, 4, 6)),
        "max_void_deals": rng.choice((1, 2, 3, 4, 20, LARGEST_SETTING)),
        "slam": rng.choice(((1, 1), (2, 2), (2, 1), _pair(rng))),
    }
    if changes["all_pass"] == "void" and rng.random() < 0.1:
        changes |= {"deals": LARGEST_SETTING, "max_void_deals": rng.randint(1, 3)}  # ended by void deals: see Habits
    if changes["made"] == "exactly" and changes["stop"] == "made":
        changes |= rng.choice(({"made": "at_least"}, {"stop": "never"}, {"stop": "decided"}))
    if changes["payment"] == "points_only" and rng.random() < 0.6:  # most switches need payments
        changes["payment"] = "each_defender"
    if changes["payment"] == "points_only":
        changes |= {"slam": (1, 1), "napoleon": "bid"}
        return Ruleset(**changes)
    changes["stake"] = rng.choice(AMOUNTS)
    if changes["napoleon"] == "announced":
        changes["ante"] = rng.choice((0, *AMOUNTS))
    elif rng.random() < 0.7:
        changes["wellington"] = _pair(rng)
        changes["blucher"] = _pair(rng) if rng.random() < 0.7 else None
    if hand_size >= 4 and rng.random() < 0.6:
        changes["misere"] = _pair(rng)
        changes["min_bid"] = min(changes["min_bid"], 4)
    return Ruleset(**changes)


def _pair(rng: random.Random) -> tuple[int, int]:
    return rng.choice(PAIR_NUMBERS), rng.choice(PAIR_NUMBERS)


def random_pot(rng: random.Random, rules: Ruleset) -> int:
    """What lies in the pot before the first deal; often close below the bound of section 7."""
    return rng.choice((0, 0, 0, 5, LARGEST_EXACT // 2, LARGEST_EXACT - 7, LARGEST_EXACT)) if rules.has_pot else 0


def random_cards(rng: random.Random, rules: Ruleset) -> tuple[list[list[str]], list[str]]:
    """The hands by seat, and the stock from its top; often the hands are long runs from the top of a suit."""
    pack = rules.pack
    rng.shuffle(pack)
    if rng.random() < (0.4 if rules.hand_size >= 6 else 0.1):
        suit_order = rng.sample(range(4), 4)
        pack.sort(key=lambda card: (suit_order[card // N_RANKS], -card))
    names, size = [CARDS[card] for card in pack], rules.hand_size
    hands = [names[seat * size : (seat + 1) * size] for seat in range(rules.players)]
    first = rng.randrange(rules.players)
    return hands[first:] + hands[:first], names[rules.players * size :]


@dataclass(frozen=True)
class Habits:
    """How the players of one match choose: often the same kind of thing, so that long auctions and void deals happen."""

    passing: float
    lowest: float
    announcing: float
    only_pass_after: int
    """Deals after which everybody passes whenever it is allowed: how a match of a million deals ends."""

    @staticmethod
    def draw(rng: random.Random, rules: Ruleset) -> Habits:
        """The habits of a match under `rules`."""
        endless = rules.deals == LARGEST_SETTING
        passing = rng.choice((0.0, 0.2, 0.5, 0.5, 0.8, 0.95))
        return Habits(
            passing=passing if rules.max_void_deals <= 20 else min(passing, 0.8),
            lowest=rng.choice((0.0, 0.5, 1.0)),
            announcing=rng.choice((0.2, 0.8)),
            only_pass_after=rng.randint(0, 3) if endless else LARGEST_SETTING,
        )

    def choose(self, rng: random.Random, legal: list[str], deal: int) -> str:
        """One of the names in `legal`, in deal number `deal` from 0."""
        if "pass" in legal:
            if deal >= self.only_pass_after or rng.random() < self.passing:
                return "pass"
            calls = [name for name in legal if name != "pass"]
            if "misere" in calls and rng.random() < 0.3:
                return "misere"
            if rng.random() < self.lowest:
                return "hold" if "hold" in calls and rng.random() < 0.7 else min(calls)
            return rng.choice(calls)
        if legal == ["napoleon", "no napoleon"]:
            return legal[rng.random() >= self.announcing]
        if "stand" in legal and rng.random() < 0.15:
            return "stand"
        return rng.choice(legal)


def random_record(rng: random.Random, rules: Ruleset, seen: Counter[str] | None = None) -> tuple[dict[str, Any], list[Any]]:
    """A random match as the plain reading plays it.

    Args:
        rng: where all cards and choices come from.
        rules: the rule set.
        seen: counts the actions and the rare events of the match.

    Returns:
        The complete record (RULES.md section 8), with every field of the rule set in it and the legal actions of every
        decision; and for each deal the list of its decisions as (seat, phase, highest caller or declarer, trump suit, pot).
    """
    pot, habits = random_pot(rng, rules), Habits.draw(rng, rules)
    values = {name: getattr(rules, name) for name in FIELDS}
    reference = ReferenceMatch(values, rng.randrange(rules.players), pot)
    deals: list[dict[str, Any]] = []
    traces: list[Any] = []
    while not reference.over:
        hands, stock = random_cards(rng, rules)
        actions: list[list[Any]] = []
        trace: list[tuple[int | None, str, int | None, str | None, int]] = []
        deals.append({"dealer": reference.dealer, "hands": hands, "stock": stock, "actions": actions})
        traces.append(trace)
        reference.deal(hands, stock)
        while reference.seat is not None:
            legal = reference.legal()
            declarer = reference.highest_caller if reference.declarer is None else reference.declarer
            trace.append((reference.seat, reference.phase, declarer, reference.trump, reference.pot))
            action = habits.choose(rng, legal, len(deals) - 1)
            actions.append([action, legal])
            reference.play(action)
        assert reference.payoffs is not None
        deals[-1] |= {"payoffs": reference.payoffs, "pot": reference.pot}
        if seen is not None:
            seen.update(action for action, _ in actions)
            seen.update(_events(reference, rules, [action for action, _ in actions]))
    record = {"rules": {"preset": "german", **values}, "pot": pot, "deals": deals, "scores": reference.scores}
    return record, traces


def _events(after: ReferenceMatch, rules: Ruleset, actions: list[str]) -> Iterator[str]:
    """The rare things that happened in the deal that has just ended."""
    if after.truncated:
        yield "truncated by void deals" if after.voids_in_a_row == rules.max_void_deals else "truncated by an amount"
        if after.voids_in_a_row < rules.max_void_deals and after.pot <= LARGEST_EXACT:
            yield "truncated by a score alone"
    elif after.pot > LARGEST_EXACT:
        yield "finished with an amount that would truncate"
    if after.contract is None:
        yield "void deal"
        return
    result = "made" if after._is_made() else "failed"
    n_tricks = sum(after.tricks_won)
    yield f"{after.contract} {result}"
    if after.contract == f"bid {rules.hand_size}":
        yield f"all tricks {result}"
    if after.napoleon_announced:
        yield f"announced {result} under {rules.napoleon_failed}"
    if n_tricks < rules.hand_size:
        yield f"stopped early: {rules.stop} {rules.made} {result}"
    if after.highest_call is None:
        yield "forced contract"
    if "hold" in actions and after.contract in ("misere", "wellington", "blucher"):
        yield "hold of a special call"
    if actions.count("hold") > 1:
        yield "held again"
    if after.contract == "misere" and rules.trump == "chosen":
        yield "misere where trump is chosen"
    if any(action.startswith("discard") for action in actions) and after.contract == "misere":
        yield "exchange in a misere"


def state_bytes(state: np.ndarray) -> bytes:
    """All fields of the states in an array, without the padding between them."""
    assert state.dtype.names is not None
    return b"".join(np.ascontiguousarray(state[name]).tobytes() for name in state.dtype.names)


def digest_of_random_matches(n: int, seed: int) -> str:
    """SHA-256 over every state and legal mask of `n` random matches with random deals, played through `Match`."""
    rng, digest = random.Random(seed), hashlib.sha256()
    for number in range(n):
        rules = random_rules(rng)
        match, habits = Match(rules, seed=seed, number=number), Habits.draw(rng, rules)
        digest.update(state_bytes(match.state))
        while not match.over:
            digest.update(match.mask().tobytes())
            match.play(habits.choose(rng, match.legal(), match.deal_number))
            digest.update(state_bytes(match.state))
            if match.last_deal is not None and match.deal_number == len(match.history):
                digest.update(state_bytes(match.last_deal.state))
    return digest.hexdigest()
