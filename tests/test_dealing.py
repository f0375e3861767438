"""Random deals: what they depend on, that they are uniform, and that they are the same everywhere."""

import hashlib
import math
import os
import pickle
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from random_rules import random_rules

from napoleon_env import dealing
from napoleon_env.dealing import SeedError, deal_key, random_match, shuffle
from napoleon_env.match import Match
from napoleon_env.notation import N_CARDS, NO_CARD
from napoleon_env.rules import new_state
from napoleon_env.ruleset import PRESETS, Ruleset

FOUR_CARDS = Ruleset.make("german", players=2, suits=1, lowest_rank="J", hand_size=1, min_bid=1)
FOUR_ACES = Ruleset.make("german", players=4, suits=4, lowest_rank="A", hand_size=1, min_bid=1)


def dealt(match: Match) -> bytes:
    """The cards of the current deal, hands first, then the stock."""
    return match.state["cards"][0].tobytes()


def deals(rules: Ruleset, choose: Callable[[list[str]], str], seed: int) -> list[bytes]:
    """The cards of all deals of a match whose players choose as told."""
    match = Match(rules, seed=seed)
    found = [dealt(match)]
    while not match.over:
        if match.play(choose(match.legal())) is not None and not match.over:
            found.append(dealt(match))
    return found


def test_a_deal_does_not_depend_on_how_earlier_deals_were_played() -> None:
    rules = Ruleset.make("russian", players=3, deals=6, max_void_deals=6)
    rng = random.Random(0)
    for seed in range(20):
        played = deals(rules, lambda legal: legal[0], seed=seed)
        passed = deals(rules, lambda legal: "pass" if "pass" in legal else legal[-1], seed=seed)
        mixed = deals(rules, rng.choice, seed=seed)
        assert len(played) == 6
        assert passed == played  # six void deals
        assert mixed[:6] == played
        assert len(set(played)) == 6


def test_a_deal_does_not_depend_on_the_rules_beyond_the_pack_or_on_who_deals() -> None:
    for seed in range(10):
        cards = {dealt(Match("german", seed=seed, players=players, hand_size=7)) for players in range(2, 7)}
        assert len(cards) == 1
        assert {dealt(Match("german", seed=seed, dealer=dealer)) for dealer in range(4)} == cards


def test_every_part_of_the_address_counts() -> None:
    assert dealt(Match("german", seed=1)) == dealt(Match("german", seed=1, index=0, stream="train", number=0))
    variants = [
        Match("german", seed=1),
        Match("german", seed=2),
        Match("german", seed=1, index=1),
        Match("german", seed=1, number=1),
        Match("german", seed=1, stream="evaluation"),
        Match("german", seed=2**64 + 1),
        Match("german", seed=10**100),
    ]
    assert len({dealt(match) for match in variants}) == len(variants)
    assert dealt(Match("german", seed=np.int64(7))) == dealt(Match("german", seed=7))  # numpy's too


def test_256_environments_of_one_seed_have_256_different_first_deals() -> None:
    assert len({dealt(Match("german", seed=5, index=index)) for index in range(256)}) == 256


def test_the_streams_share_no_key_and_no_deal() -> None:
    keys = {
        stream: {int(deal_key(seed, index, stream)) for seed in range(300) for index in range(10)} for stream in dealing.STREAMS
    }
    assert [len(found) for found in keys.values()] == [3000, 3000]
    assert not keys["train"] & keys["evaluation"]
    hands = {stream: {dealt(Match("german", seed=seed, stream=stream)) for seed in range(300)} for stream in dealing.STREAMS}
    assert not hands["train"] & hands["evaluation"]


def test_the_whole_pack_is_dealt_the_hands_first_then_the_stock() -> None:
    rng = random.Random(1)
    for seed in range(200):
        rules = random_rules(rng)
        match = Match(rules, seed=seed)
        cards = match.state["cards"][0].tolist()
        assert sorted(cards[: rules.pack_size]) == rules.pack
        assert cards[rules.pack_size :] == [NO_CARD] * (N_CARDS - rules.pack_size)
        for seat in range(rules.players):
            size = rules.hand_size
            hand = sum(1 << card for card in cards[seat * size : (seat + 1) * size])
            assert match.state["hand"][0][seat] == hand


def test_an_unseeded_match_is_different_every_time() -> None:
    assert len({dealt(Match("german")) for _ in range(20)}) == 20


@pytest.mark.parametrize("seed", [-1, 1.0, 1.5, True, "1", b"1", [1], (1, 2), np.float64(3), float("nan"), object()])
def test_a_seed_is_a_whole_number_of_at_least_0(seed: object) -> None:
    with pytest.raises(SeedError, match="seed="):
        Match("german", seed=seed)  # that is the point


@pytest.mark.parametrize("stream", ["", "test", "Train", None, 0, ["train"]])
def test_a_stream_is_one_of_two(stream: object) -> None:
    with pytest.raises(SeedError, match="train, evaluation"):
        Match("german", seed=1, stream=stream)  # that is the point


# The same everywhere

DIGEST_OF_100_SEEDS = "df15001c6d152962f0d41e2d3cd09fd84f7fc8078e01a70364aa4d0cde1afea5"
"""Computed once. It pins no rule: it shows that every machine, process and version of Python and numpy deals the same
cards. If deals are changed on purpose, put the new digest here and raise `notation.VERSION` (DESIGN.md, decision 10)."""


def digest_of_100_seeds() -> str:
    """SHA-256 over dealers and cards of the first three deals of two matches of each of 100 seeds."""
    digest = hashlib.sha256()
    for seed in range(100):
        for number in range(2):
            match = Match(list(PRESETS)[seed % 4], seed=seed, index=seed % 7, stream=dealing.STREAMS[seed % 2], number=number)
            for _ in range(3):
                digest.update(bytes([match.dealer]) + dealt(match))
                match.state["deal"] += 1
                with np.errstate(over="ignore"):
                    shuffle(match.state[0], match.rules.struct[0])
    return digest.hexdigest()


def test_the_deals_of_100_seeds_are_pinned() -> None:
    assert digest_of_100_seeds() == DIGEST_OF_100_SEEDS


@pytest.mark.parametrize(("hash_seed", "uncompiled"), [("0", "0"), ("1", "1")])
def test_other_processes_deal_the_same_compiled_or_not(hash_seed: str, uncompiled: str) -> None:
    tests = Path(__file__).parent
    process = subprocess.run(
        [sys.executable, "-c", "import test_dealing; print(test_dealing.digest_of_100_seeds())"],
        env={
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "NUMBA_DISABLE_JIT": uncompiled,
            "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == DIGEST_OF_100_SEEDS


def test_the_global_random_states_are_left_alone() -> None:
    random.seed(1)
    np.random.seed(1)  # the old global state is what must not be touched
    before = random.getstate(), pickle.dumps(np.random.get_state())
    match = Match("russian", seed=1, deals=3)
    while not match.over:
        match.play(match.legal()[0])
    Match("german")
    match.view(0).rng().integers(10)
    assert (random.getstate(), pickle.dumps(np.random.get_state())) == before


# Uniform


def assert_uniform(counts: Iterable[int], n_cells: int) -> None:
    """Pearson's χ² is within five standard deviations of its mean under equal chances."""
    observed = np.array(list(counts), float)
    observed = np.concatenate([observed, np.zeros(n_cells - len(observed))])
    expected = observed.sum() / n_cells
    assert expected >= 20, "too few draws to say anything"
    freedom = n_cells - 1
    statistic = float(((observed - expected) ** 2).sum() / expected)
    assert abs(statistic - freedom) < 5 * math.sqrt(2 * freedom), (statistic, freedom)


def orders(rules: Ruleset, n: int, vary: str) -> list[tuple[int, ...]]:
    """The pack as dealt, and the dealer after it, in `n` deals that differ in one part of their address."""
    state, row, found = new_state()[0], rules.struct[0], []
    key = deal_key(11)
    with np.errstate(over="ignore"):
        for number in range(n):
            state["key"] = deal_key(number) if vary == "seed" else deal_key(11, number) if vary == "index" else key
            if vary == "deal":
                state["deal"], state["match"] = number, 3
                shuffle(state, row)
            else:
                random_match(state, row, number if vary == "match" else 0)
            found.append((*state["cards"][: rules.pack_size].tolist(), int(state["dealer"])))
    return found


@pytest.mark.parametrize("vary", ["seed", "index", "match", "deal"])
def test_all_orders_of_a_tiny_pack_are_equally_likely(vary: str) -> None:
    for rules in (FOUR_CARDS, FOUR_ACES):
        found = [order[:4] for order in orders(rules, 6000, vary)]
        assert_uniform(Counter(found).values(), 24)
        # and a deal says nothing about the next one: its first two cards, and the first two after them
        assert_uniform(Counter(a[:2] + b[:2] for a, b in pairwise(found)).values(), 144)


@pytest.mark.parametrize("preset", ["german", "russian"])
def test_every_card_is_equally_likely_at_every_place(preset: str) -> None:
    rules = PRESETS[preset]
    found = np.array([order[:-1] for order in orders(rules, 10_000, "match")])
    for place in range(rules.pack_size):
        assert_uniform(Counter(found[:, place].tolist()).values(), rules.pack_size)
    for place in (0, 4, rules.pack_size - 2):  # and so are the pairs of neighbours, seen by suit or colour of rank
        pairs = [(a % 2, b % 2, a // 26, b // 26) for a, b in found[:, place : place + 2].tolist()]
        assert len(set(pairs)) == 16
    assert (found[:-1] == found[1:]).mean() == pytest.approx(1 / rules.pack_size, rel=0.05)


@pytest.mark.parametrize("players", range(2, 7))
@pytest.mark.parametrize("vary", ["seed", "index", "match"])
def test_the_first_dealer_is_drawn_uniformly_whatever_the_cards(players: int, vary: str) -> None:
    rules = Ruleset.make("german", players=players, suits=2, lowest_rank="Q", hand_size=1, min_bid=1)
    found = orders(rules, 3000, vary)
    assert_uniform(Counter(order[-1] for order in found).values(), players)
    assert_uniform(Counter((order[0], order[-1]) for order in found).values(), 6 * players)
