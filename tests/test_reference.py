"""The compiled rules against the plain reading of RULES.md in reference.py, decision by decision.

The plain reading plays random matches of random rule sets; one compiled loop then plays the same cards and actions and stops
at the first number that differs. A failure prints the record that reproduces it.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from random_rules import Habits, digest_of_random_matches, random_cards, random_pot, random_record, random_rules
from reference import PRESETS as REFERENCE_PRESETS
from reference import ReferenceMatch

from napoleon_env import rules as core
from napoleon_env.match import Match
from napoleon_env.notation import ACTION_NAMES, MAX_PLAYERS, N_ACTIONS, N_CARDS, NO_CARD, RANKS, SUITS, action_id, card_number
from napoleon_env.ruleset import CHOICES, PRESETS, Ruleset

N_CHUNKS = 16
MATCHES_IN_A_CHUNK = 2560
assert N_CHUNKS * MATCHES_IN_A_CHUNK >= 20_000

HALF = N_ACTIONS // 2
"""A set of legal actions is two whole numbers: bit i of the first is action i, bit i of the second action HALF + i."""

PHASE_NUMBER = {"auction": 0, "napoleon": 1, "exchange": 2, "trump": 3, "cards": 4}
BIT = {name: 1 << action_id(name) for name in ACTION_NAMES}

DECISION = ("seat", "phase", "declarer", "trump", "pot", "legal actions below 62", "legal actions from 62")
"""What is compared before every decision; the action taken follows in the same row of numbers."""
ENDING = (
    *(f"payoff of seat {seat}" for seat in range(MAX_PLAYERS)),
    *(f"score of seat {seat}" for seat in range(MAX_PLAYERS)),
    "pot after the deal",
    "dealer",
    "outcome",
)
"""What is compared after every deal."""
TOO_LONG, TOO_SHORT = 100, 101
"""A deal that goes on after its last action, and one that is over before it."""


@njit(cache=True)
def first_difference(
    states: Any, rules: Any, starts: Any, n_deals: Any, cards: Any, n_actions: Any, decisions: Any, endings: Any
):
    """Play all matches and compare; returns (match, deal, action, column, value), or a match of -1 where all agrees.

    `column` counts DECISION, then ENDING; `value` is what the compiled rules have there.
    """
    mask = np.zeros(N_ACTIONS, np.int8)
    deal_row = 0
    row = 0
    for match in range(rules.shape[0]):
        state, rule = states[match], rules[match]
        core.begin_match(state, rule, starts[match, 0], starts[match, 1])
        for deal in range(n_deals[match]):
            if deal > 0 and state["outcome"] != core.RUNNING:
                return match, deal, 0, TOO_SHORT, 0
            state["cards"][:] = cards[deal_row]
            core.begin_deal(state, rule)
            for action in range(n_actions[deal_row]):
                core.legal_mask(state, rule, mask)
                low, high = 0, 0
                for number in range(HALF):
                    low |= np.int64(mask[number]) << number
                    high |= np.int64(mask[HALF + number]) << number
                    if mask[number] != core.is_legal(state, rule, number):
                        return match, deal, action, 5, number
                    if mask[HALF + number] != core.is_legal(state, rule, HALF + number):
                        return match, deal, action, 6, HALF + number
                found = (state["seat"], state["phase"], state["declarer"], state["trump"], state["pot"], low, high)
                for column in range(7):
                    if found[column] != decisions[row, column]:
                        return match, deal, action, column, found[column]
                core.apply(state, rule, decisions[row, 7])
                row += 1
            if state["phase"] != core.NO_DEAL or state["seat"] != -1:
                return match, deal, n_actions[deal_row], TOO_LONG, 0
            for column in range(15):
                if column < 6:
                    value = state["payoffs"][column]
                elif column < 12:
                    value = state["scores"][column - 6]
                elif column == 12:
                    value = state["pot"]
                elif column == 13:
                    value = state["dealer"]
                else:
                    value = state["outcome"]
                if value != endings[deal_row, column]:
                    return match, deal, n_actions[deal_row], 7 + column, value
            deal_row += 1
        if state["outcome"] == core.RUNNING:
            return match, n_deals[match] - 1, 0, TOO_LONG, 0
    return -1, 0, 0, 0, 0


class Numbers(NamedTuple):
    """Matches as the arguments of `first_difference` after `states`."""

    rules: np.ndarray
    starts: np.ndarray
    n_deals: np.ndarray
    cards: np.ndarray
    n_actions: np.ndarray
    decisions: np.ndarray
    endings: np.ndarray

    def difference(self) -> tuple[int, int, int, int, int]:
        match, deal, action, column, value = first_difference(core.new_state(len(self.rules)), *self)
        return int(match), int(deal), int(action), int(column), int(value)


def numbers_of(records: list[dict[str, Any]], traces: list[Any], rulesets: list[Ruleset]) -> Numbers:
    starts, n_deals, cards, n_actions, decisions, endings = [], [], [], [], [], []
    for record, trace_of_match, rules in zip(records, traces, rulesets, strict=True):
        starts.append((record["deals"][0]["dealer"], record["pot"]))
        n_deals.append(len(record["deals"]))
        scores, n_played = [0] * rules.players, 0
        for number, (deal, trace) in enumerate(zip(record["deals"], trace_of_match, strict=True)):
            dealt = [card_number(card) for card in [card for hand in deal["hands"] for card in hand] + deal["stock"]]
            cards.append(dealt + [NO_CARD] * (N_CARDS - len(dealt)))
            n_actions.append(len(deal["actions"]))
            for (name, legal), (seat, phase, declarer, trump, pot) in zip(deal["actions"], trace, strict=True):
                legal_bits = sum(BIT[legal_name] for legal_name in legal)
                decisions.append(
                    (
                        seat,
                        PHASE_NUMBER[phase],
                        -1 if declarer is None else declarer,
                        -1 if trump is None else SUITS.index(trump),
                        pot,
                        legal_bits & ((1 << HALF) - 1),
                        legal_bits >> HALF,
                        action_id(name),
                    )
                )
            absent = [0] * (MAX_PLAYERS - rules.players)
            scores = [score + payoff for score, payoff in zip(scores, deal["payoffs"], strict=True)]
            n_played += any(name in PLAYS for name, _ in deal["actions"])
            outcome = core.RUNNING
            if number == len(record["deals"]) - 1:
                outcome = core.FINISHED if n_played == rules.deals else core.TRUNCATED
                assert scores == record["scores"]
            endings.append((*deal["payoffs"], *absent, *scores, *absent, deal["pot"], deal["dealer"], outcome))
    return Numbers(
        np.concatenate([rules.struct for rules in rulesets]),
        np.array(starts),
        np.array(n_deals),
        np.array(cards, np.int8),
        np.array(n_actions),
        np.array(decisions),
        np.array(endings),
    )


PLAYS = frozenset(ACTION_NAMES[-N_CARDS:])


def random_matches(seed: int, n: int, seen: Counter[str] | None = None) -> tuple[list[Any], list[Any], list[Ruleset]]:
    rng = random.Random(seed)
    rulesets = [random_rules(rng) for _ in range(n)]
    records, traces = zip(*(random_record(rng, rules, seen) for rules in rulesets), strict=True)
    return list(records), list(traces), rulesets


def describe(difference: tuple[int, int, int, int, int], records: list[dict[str, Any]]) -> str:
    match, deal, action, column, value = difference
    what = {TOO_LONG: "the deal or match goes on", TOO_SHORT: "the match is over"}.get(column)
    what = what or f"{(*DECISION, *ENDING)[column]} is {value}"
    return f"by the compiled rules, in deal {deal} at action {action}, {what}; by reference.py:\n{one_line(records[match])}"


def one_line(record: dict[str, Any]) -> str:
    """The record with no more fields in its rules than differ from a preset."""
    return json.dumps(record | {"rules": Ruleset.make(record["rules"]).header})


RARE = (
    *(f"bid {n} {result}" for n in range(1, 9) for result in ("made", "failed")),
    *(f"{call} {result}" for call in ("misere", "wellington", "blucher", "all tricks") for result in ("made", "failed")),
    *(f"announced {result} under {word}" for result in ("made", "failed") for word in CHOICES["napoleon_failed"]),
    *("truncated by void deals", "truncated by an amount", "truncated by a score alone"),
    *("finished with an amount that would truncate", "void deal", "forced contract", "held again"),
    *("hold of a special call", "misere where trump is chosen", "exchange in a misere"),
    "stopped early: made at_least made",
    *(f"stopped early: decided {made} failed" for made in CHOICES["made"]),
    "stopped early: decided at_least made",
)
"""Events of which every chunk must have at least one (random_rules tells when each of them happened)."""


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_every_decision_and_every_payment_agrees(chunk: int) -> None:
    seen: Counter[str] = Counter()
    records, traces, rulesets = random_matches(1000 + chunk, MATCHES_IN_A_CHUNK, seen)
    difference = numbers_of(records, traces, rulesets).difference()
    if difference[0] >= 0:
        pytest.fail(describe(difference, records))
    assert [name for name in (*ACTION_NAMES, *RARE) if not seen[name]] == []
    assert_every_value_occurs(rulesets)


def assert_every_value_occurs(rulesets: list[Ruleset]) -> None:
    """Every value of every field, and of those without an end the least, the greatest and some between."""
    some = {0, 1, 2, 3, 5, 10, 20, 1_000_000}
    expected: dict[str, set[Any]] = {name: set(words) for name, words in CHOICES.items()}
    expected |= {
        "players": set(range(2, 7)),
        "suits": set(range(1, 5)),
        "lowest_rank": set(RANKS),
        "hand_size": set(range(1, 9)),
        "min_bid": set(range(1, 9)),
        "dealer_holds": {False, True},
        "exchange": {False, True},
        "ante": {0, 1, 2, 3, 1_000_000},
        "stake": {1, 2, 3, 1_000_000},
        "deals": {1, 2, 3, 4, 6, 1_000_000},
        "max_void_deals": {1, 2, 3, 4, 20, 1_000_000},
    }
    for field in fields(Ruleset):
        values = [getattr(rules, field.name) for rules in rulesets]
        if field.name in expected:
            assert set(values) == expected[field.name], field.name
        else:
            pairs = [pair for pair in values if pair is not None]
            assert {pair[0] for pair in pairs} >= some, field.name
            assert {pair[1] for pair in pairs} >= some, field.name
            assert field.name == "slam" or None in values
    assert {rules.stock_size for rules in rulesets} >= set(range(6))


def test_the_comparison_notices_a_change_of_any_number() -> None:
    records, traces, rulesets = random_matches(7, 60)
    numbers, rng = numbers_of(records, traces, rulesets), random.Random(7)
    assert numbers.difference()[0] == -1
    for column in range(len(DECISION)):
        decisions = numbers.decisions.copy()
        decisions[rng.randrange(len(decisions)), column] += 1
        assert numbers._replace(decisions=decisions).difference()[3] == column
    for column in range(len(ENDING)):
        endings = numbers.endings.copy()
        endings[rng.randrange(len(endings)), column] += 1
        difference = numbers._replace(endings=endings).difference()
        assert difference[3] == len(DECISION) + column
        assert one_line(records[difference[0]]) in describe(difference, records)
    n_actions = numbers.n_actions.copy()
    n_actions[rng.randrange(len(n_actions))] -= 1
    assert numbers._replace(n_actions=n_actions).difference()[3] == TOO_LONG
    n_deals = numbers.n_deals.copy()
    n_deals[rng.randrange(len(n_deals))] += 1
    assert numbers._replace(n_deals=n_deals).difference()[3] == TOO_SHORT


@pytest.mark.parametrize("chunk", range(4))
def test_matches_played_by_name_agree(chunk: int) -> None:
    """The same comparison through the checked door: `Match.begin`, `begin_deal`, `play` and every seat's view."""
    rng = random.Random(chunk)
    for _ in range(60):
        rules = random_rules(rng)
        pot, dealer, habits = random_pot(rng, rules), rng.randrange(rules.players), Habits.draw(rng, rules)
        match, reference = Match(rules, seed=0), ReferenceMatch(asdict(rules), dealer, pot)
        match.begin(dealer=dealer, pot=pot)
        while not reference.over:
            assert match.needs_deal
            hands, stock = random_cards(rng, rules)
            match.begin_deal(hands, stock)
            reference.deal(hands, stock)
            ended = None
            while reference.seat is not None:
                assert ended is None
                legal = reference.legal()
                assert (match.seat, match.dealer, match.legal()) == (reference.seat, reference.dealer, legal)
                assert [match.view(seat).legal() for seat in range(rules.players)] == [
                    legal if seat == reference.seat else [] for seat in range(rules.players)
                ]
                assert [set(hand) for hand in match.hands] == reference.hands
                assert (match.trump, match.pot, match.scores) == (reference.trump, reference.pot, reference.scores)
                assert match.tricks_won == reference.tricks_won
                action = habits.choose(rng, legal, match.deal_number)
                ended = match.play(action)
                reference.play(action)
            assert ended is not None
            assert (ended.payoffs, ended.pot, ended.scores) == (reference.payoffs, reference.pot, reference.scores)
            assert (ended.declarer, ended.contract, ended.announced) == (
                reference.declarer,
                reference.contract,
                reference.napoleon_announced,
            )
            assert ended.void or ended.made == reference._is_made()
            assert (match.over, match.truncated, match.seat) == (reference.over, reference.truncated, None)


def test_the_presets_are_the_same_in_both_readings() -> None:
    assert {name: asdict(rules) for name, rules in PRESETS.items()} == REFERENCE_PRESETS


def test_the_same_source_runs_uncompiled_with_the_same_states() -> None:
    n, seed = 600, 5
    tests = Path(__file__).parent
    script = f"""
import numba, random_rules
assert numba.config.DISABLE_JIT
print(random_rules.digest_of_random_matches({n}, {seed}))
"""
    uncompiled = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert uncompiled.stderr == ""
    assert uncompiled.stdout.strip() == digest_of_random_matches(n, seed)
