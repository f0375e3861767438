"""Sampled worlds: uniform over exactly those that agree with what a seat knows, counted on small packs by the plain reading."""

import random
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, permutations

import numpy as np
import pytest
from playing import finite
from random_rules import FIELDS, Habits, random_rules, state_bytes
from reference import ReferenceMatch

from napoleon_env import rules as core
from napoleon_env.belief import FLOOR, BeliefError, _weights, fill_likely_worlds, fill_worlds, rewind, sample_worlds
from napoleon_env.match import Match, View
from napoleon_env.notation import ACTION_NAMES, CARDS, DISCARD, N_ACTIONS, NO_CARD, SOME_DISCARD, cards_of
from napoleon_env.ruleset import Ruleset

SMALL = {
    "one suit, two players": Ruleset.make("german", players=2, suits=1, lowest_rank="8", hand_size=2, min_bid=1),
    "any card when void": Ruleset.make("german", players=3, suits=3, lowest_rank="Q", hand_size=2),
    "must trump": Ruleset.make("german", players=3, suits=3, lowest_rank="Q", hand_size=2, void="must_trump"),
    "must trump, all cards dealt": Ruleset.make(
        "german", players=3, suits=3, lowest_rank="Q", hand_size=3, void="must_trump", trump="chosen"
    ),
    "two exchange": Ruleset.make("russian", players=2, suits=3, lowest_rank="Q", hand_size=3),
    "three exchange": Ruleset.make("russian", players=3, suits=3, lowest_rank="Q", hand_size=2),
    "four of three suits": Ruleset.make("portuguese", players=4, suits=3, lowest_rank="Q", hand_size=2),
    "exchange, any card when void": Ruleset.make("russian", players=2, suits=2, lowest_rank="J", hand_size=3, void="any"),
}
DRAWS_PER_WORLD = 60


# Every world that agrees, by trying them all.


def deals_of(pack: list[str], sizes: list[int]) -> Iterator[list[list[str]]]:
    """Every way to deal hands of these sizes, and the rest in order at the end in every order."""
    if not sizes:
        for stock in permutations(pack):
            yield [list(stock)]
        return
    for hand in combinations(pack, sizes[0]):
        for rest in deals_of([card for card in pack if card not in hand], sizes[1:]):
            yield [list(hand), *rest]


def enumerate_worlds(match: Match, seat: int) -> set[tuple]:
    """What a seat may think possible: hands as dealt, stock, another's discard, from which the public log can be replayed."""
    rules, view = match.rules, match.view(seat)
    own = view.dealt(seat)
    others = [CARDS[card] for card in rules.pack if CARDS[card] not in own]
    log = view.log
    exchanged = any(name == "discard ?" for _, name in log)
    worlds = set()
    for *hands, stock in deals_of(others, [rules.hand_size] * (rules.players - 1)):
        hands.insert(seat, own)
        if view.drawn is not None and stock[0] != view.drawn:
            continue
        laid_away = hands[match.declarer] if exchanged and match.declarer is not None else [None]
        for discard in laid_away:
            reference = ReferenceMatch({name: getattr(rules, name) for name in FIELDS}, match.dealer)
            reference.deal(hands, stock)
            for actor, name in log:
                action = f"discard {discard}" if name == "discard ?" else name
                if reference.seat != actor or action not in reference.legal():
                    break
                reference.play(action)
            else:
                worlds.add((tuple(map(frozenset, hands)), tuple(stock), discard))
    return worlds


def world_key(world: np.ndarray, rules: Ruleset, seat: int) -> tuple:
    """The same of a sampled world."""
    cards = [CARDS[card] for card in world["cards"] if card != NO_CARD]
    size, players = rules.hand_size, rules.players
    hands = tuple(frozenset(cards[s * size : (s + 1) * size]) for s in range(players))
    hidden = world["discard"] != NO_CARD and world["declarer"] != seat
    return hands, tuple(cards[players * size :]), CARDS[world["discard"]] if hidden else None


def positions(rules: Ruleset, seed: int) -> Iterator[Match]:
    """A random deal at every decision of it in which somebody has called, up to its end."""
    rng, match = random.Random(seed), Match(rules, seed=seed)
    habits = Habits(passing=0.3, lowest=1.0, announcing=0.5, only_pass_after=9)
    while not match.over and match.deal_number == 0:
        yield match.copy()
        match.play(habits.choose(rng, match.legal(), 0))


@pytest.mark.parametrize("name", SMALL)
def test_worlds_are_uniform_over_all_that_agree_and_over_no_others(name: str) -> None:
    """Chi-squared against the count of every deal, discard and draw from which the public log can be replayed."""
    rules, rng, voids, tested = SMALL[name], np.random.default_rng(7), 0, 0
    for seed in range(40):
        for match in list(positions(rules, seed))[:: 3 if rules.players > 2 else 2]:
            shown = int(np.bitwise_count(match.state["void_suits"][0]).sum())
            if tested >= 3 and shown <= voids:
                continue  # a few of any kind, then only those in which more has been shown than in any before
            voids = max(voids, shown)
            tested += 1
            seat = tested % rules.players
            wanted = enumerate_worlds(match, seat)
            n = DRAWS_PER_WORLD * len(wanted)
            worlds = sample_worlds(match.view(seat), n, rng)
            found = Counter(world_key(world, rules, seat) for world in worlds)
            assert set(found) <= wanted, f"{name}, seed {seed}, seat {seat}: {match.log}"
            if len(wanted) > 1:
                chi = sum((found[world] - DRAWS_PER_WORLD) ** 2 for world in wanted) / DRAWS_PER_WORLD
                freedom = len(wanted) - 1
                assert abs(chi - freedom) < 4.5 * (2 * freedom) ** 0.5, f"{name}, seed {seed}, seat {seat}: {chi} of {freedom}"
            truth = world_key(match.state[0], rules, seat)
            assert abs(found[truth] - DRAWS_PER_WORLD) < 5 * DRAWS_PER_WORLD**0.5  # the true world is one among the others
    assert voids >= (0 if rules.suits == 1 else 1 if rules.players == 2 else 2)


def test_a_void_counts_for_the_cards_that_are_still_held_and_not_for_the_card_laid_away() -> None:
    """Seat 1 exchanges and later shows no diamonds: what it laid away may be a diamond, what it drew may not be held now."""
    match = Match.deal(
        "russian", players=2, suits=2, lowest_rank="9", hand_size=3, dealer=1,
        hands=[["AD", "9C", "TC"], ["QC", "KC", "QD"]], stock=["JC", "9D", "KD", "JD"],
    )  # fmt: skip
    for action in ("bid 1", "pass", "discard QD", "QC", "9C"):
        match.play(action)
    assert match.phase == "over"  # the bid is made with the first trick
    match = Match.deal(
        "russian", players=2, suits=2, lowest_rank="9", hand_size=3, stop="never", dealer=1,
        hands=[["AD", "9C", "AC"], ["QC", "KC", "QD"]], stock=["JC", "9D", "KD", "JD", "TC", "TD"],
    )  # fmt: skip
    for action in ("bid 1", "pass", "discard QD", "QC", "AC", "AD", "KC"):
        match.play(action)
    worlds = sample_worlds(match.view(0), 2000, np.random.default_rng(1))
    diamonds = {CARDS.index(name) for name in ("9D", "TD", "JD", "QD", "KD")}
    assert {int(card) for card in worlds["discard"]} == diamonds | {CARDS.index(name) for name in ("TC", "JC")}
    assert not any(diamonds & set(cards_of(hand)) for hand in worlds["hand"][:, 1])


def test_must_trump_shows_that_there_is_no_trump_either_R9() -> None:
    hands = [["AS", "KS", "2C"], ["6S", "4H", "5H"], ["2S", "3S", "4S"]]
    for void, barred in (("any", "C"), ("must_trump", "CS")):
        match = Match.deal("german", players=3, hand_size=3, void=void, dealer=2, hands=hands)
        for action in ("bid 2", "pass", "pass", "AS", "6S", "2S", "2C", "4H"):
            match.play(action)
        # Seat 1 followed to spades, the trumps, and threw a heart on clubs.
        worlds = sample_worlds(match.view(0), 300, np.random.default_rng(3))
        held = {CARDS[card][1] for hand in worlds["hand"][:, 1] for card in cards_of(hand)}
        assert held == set("CDHS") - set(barred)


# Every world agrees, in every phase of every rule set.


def replayed(world: np.ndarray, view: View) -> Match:
    """A match that begins with the world's cards and plays the world's log, every action checked."""
    rules, size = view.rules, view.rules.hand_size
    cards = [CARDS[card] for card in world["cards"] if card != NO_CARD]
    hands = [cards[seat * size : (seat + 1) * size] for seat in range(rules.players)]
    pot = max(view.pot - rules.players * rules.ante, 0)
    match = Match.deal(rules, dealer=view.dealer, hands=hands, stock=cards[rules.players * size :], pot=pot)
    for entry in range(int(world["n_log"])):
        assert match.seat == world["log_seat"][entry]
        match.play(ACTION_NAMES[world["log"][entry]])
    return match


def test_every_world_can_be_replayed_to_where_the_view_stands() -> None:
    rng, phases = random.Random(5), Counter[str]()
    for number in range(150):
        rules = finite(random_rules(rng))
        match, habits = Match(rules, seed=number), Habits.draw(rng, rules)
        while not match.over:
            seat = rng.randrange(rules.players)
            view = match.view(seat)
            phases[match.phase] += 1
            for world in sample_worlds(view, 2, np.random.default_rng(number)):
                seen = world.reshape(1)
                assert state_bytes(View(rules, seen, seat).state) == state_bytes(view.state)  # all that is known is kept
                twin = replayed(world, view)
                for field in core.STATE.names or ():
                    if field not in ("key", "match", "scores", "payoffs", "deal", "played", "void_run", "outcome"):
                        assert np.array_equal(twin.state[0][field], world[field]), f"{field} in {rules}: {match.log}"
            match.play(habits.choose(rng, match.legal(), match.deal_number))
    assert set(phases) == {"auction", "announce", "exchange", "trump", "play"}


def test_the_end_of_a_deal_leaves_worlds_too() -> None:
    """Under `stop` cards stay in the hands, and nobody has seen them."""
    rng = random.Random(11)
    for number in range(30):
        rules = Ruleset.make("russian", players=rng.randint(2, 6))
        match, habits = Match(rules, seed=number), Habits.draw(rng, rules)
        while not match.over:
            match.play(habits.choose(rng, match.legal(), match.deal_number))
        for seat in range(rules.players):
            view = match.view(seat)
            for world in sample_worlds(view, 3, np.random.default_rng(1)):
                assert state_bytes(View(rules, world.reshape(1), seat).state) == state_bytes(view.state)


def test_nothing_hidden_is_read() -> None:
    """The full state and the blanked one give the same worlds, byte for byte."""
    rng = random.Random(6)
    for number in range(60):
        rules = finite(random_rules(rng))
        match, habits = Match(rules, seed=number), Habits.draw(rng, rules)
        while not match.over:
            seat = rng.randrange(rules.players)
            full, blank = core.new_state(3), core.new_state(3)
            word = np.uint64(rng.randrange(1 << 64))
            trust = rng.choice((0.0, 1.0))
            assert fill_likely_worlds(match.state[0], rules.struct[0], seat, word, trust, full)
            assert fill_likely_worlds(match.view(seat).state[0], rules.struct[0], seat, word, trust, blank)
            assert state_bytes(full) == state_bytes(blank)
            match.play(habits.choose(rng, match.legal(), match.deal_number))


def test_equal_generators_give_equal_worlds_and_others_give_others() -> None:
    view = Match("german", seed=1).view(0)
    worlds = [sample_worlds(view, 5, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert state_bytes(worlds[0]) == state_bytes(worlds[1]) != state_bytes(worlds[2])
    rng = np.random.default_rng(1)
    assert state_bytes(sample_worlds(view, 5, rng)) != state_bytes(sample_worlds(view, 5, rng))
    hands = {int(hand) for hand in sample_worlds(view, 500, rng)["hand"][:, 1]}
    assert len(hands) > 490  # 47 cards have 1,533,939 hands of five


def test_twenty_thousand_worlds_a_second() -> None:
    match = Match("german", seed=3)
    for action in ("bid 2", "pass", "pass", "pass"):
        match.play(action)
    for _ in range(6):
        match.play(match.legal()[0])
    view, rng = match.view(0), np.random.default_rng(1)
    sample_worlds(view, 10, rng)
    start = time.process_time()
    for _ in range(50):
        sample_worlds(view, 200, rng)
    assert 10_000 / (time.process_time() - start) > 20_000


# Worlds by how likely a player's decisions were.


class BidsOnAces:
    """Bids with an ace 90 times in 100, without one 20 times in 100; plays anything."""

    def act(self, view: View) -> int:
        return view.legal_ids()[0]

    def probabilities(self, view: View) -> np.ndarray:
        chances = np.zeros(N_ACTIONS)
        legal = view.legal_ids()
        if view.phase != "auction":
            chances[legal] = 1 / len(legal)
            return chances
        bids = 0.9 if any(card[0] == "A" for card in view.hand) else 0.2
        chances[legal[0]] = 1 - bids
        chances[legal[1:]] = bids / (len(legal) - 1)
        return chances


def test_worlds_by_a_policy_follow_its_posterior() -> None:
    """Seat 1 bids: by Bayes a hand with an ace weighs 0.9 against 0.2, counted over all worlds."""
    rules = SMALL["any card when void"]
    match = Match.deal(rules, dealer=0, hands=[["KC", "QD"], ["QC", "KD"], ["AC", "QH"]], stock=["AD", "AH", "KH"])
    match.play("bid 2")
    view = match.view(0)
    weights = {world: 0.9 if any("A" in card for card in world[0][1]) else 0.2 for world in enumerate_worlds(match, 0)}
    with_ace = sum(w for w in weights.values() if w == 0.9) / sum(weights.values())
    worlds = sample_worlds(view, 2000, np.random.default_rng(2), policy=BidsOnAces(), candidates=4)
    found = np.mean([any("A" in card for card in world_key(world, rules, 0)[0][1]) for world in worlds])
    assert abs(found - with_ace) < 0.03
    uniform = sample_worlds(view, 2000, np.random.default_rng(2))
    plain = np.mean([any("A" in card for card in world_key(world, rules, 0)[0][1]) for world in uniform])
    assert plain < with_ace - 0.05


class ByAllItSees:
    """Whims that hang on every byte of what the seat sees; it counts how often it is asked."""

    asked = 0

    def act(self, view: View) -> int:
        return view.legal_ids()[0]

    def probabilities(self, view: View) -> np.ndarray:
        self.asked += 1
        whims = np.random.default_rng(zlib.crc32(state_bytes(view.state))).random(N_ACTIONS) * view.mask()
        return whims / whims.sum()


@pytest.mark.parametrize("rules", SMALL.values(), ids=SMALL.keys())
def test_a_world_weighs_the_product_of_the_chances_of_all_that_the_others_did(rules: Ruleset) -> None:
    match, policy = Match(rules, seed=4), ByAllItSees()
    match.play("bid 2" if "bid 2" in match.legal() else "bid 3")
    while match.phase != "play" or match.state["in_trick"][0] == 0:
        match.play(match.legal()[0])  # in the exchange it lays a card away
    assert match.declarer is not None
    seat = (match.declarer + 1) % rules.players
    view = match.view(seat)
    worlds = sample_worlds(view, 100, np.random.default_rng(3))
    found = _weights(view, worlds, policy)
    asked, policy.asked = policy.asked, 0
    expected = np.ones(len(worlds))
    state = core.new_state()
    for i in range(len(worlds)):
        rewind(worlds, i, rules.struct[0], state, 0)
        for action, actor in zip(worlds[i]["log"][: len(match.log)], worlds[i]["log_seat"], strict=False):
            if actor != seat:
                expected[i] *= max(policy.probabilities(View(rules, state, int(actor)))[action], FLOOR)
            core.apply(state[0], rules.struct[0], np.int64(action))
    np.testing.assert_allclose(found, expected / expected.max(), rtol=1e-9)
    assert asked < policy.asked  # of hands that come again it is asked once


class NeverBids:
    def act(self, view: View) -> int:
        return 0

    def probabilities(self, view: View) -> np.ndarray:
        return np.eye(N_ACTIONS)[0]


def test_a_policy_that_would_never_have_done_so_leaves_worlds() -> None:
    match = Match("russian", seed=4, dealer=0)
    for action in ("bid 1", "bid 2", "pass", "pass", "pass", "discard " + match.hands[1][0]):
        match.play(action)
    worlds = sample_worlds(match.view(0), 20, np.random.default_rng(1), policy=NeverBids(), candidates=2)
    assert len(worlds) == 20
    assert all(SOME_DISCARD not in world["log"] for world in worlds)
    assert all(DISCARD <= world["log"][5] < DISCARD + 52 for world in worlds)


def test_a_high_bid_makes_strong_hands_likely() -> None:
    match = Match("german", seed=2, dealer=3)
    match.play("bid 4")
    worlds = core.new_state(2000)
    aces = [CARDS.index(f"A{suit}") for suit in "CDHS"]
    mean = {}
    for trust in (0.0, 1.0):
        assert fill_likely_worlds(match.state[0], match.rules.struct[0], 1, np.uint64(5), trust, worlds)
        mean[trust] = np.mean([sum(int(hand) >> ace & 1 for ace in aces) for hand in worlds["hand"][:, 0]])
    assert mean[1.0] > mean[0.0] + 0.15


# Bad input.


def test_what_cannot_be_drawn_is_refused_in_a_sentence() -> None:
    match, rng = Match("german", seed=1), np.random.default_rng(1)
    view = match.view(0)
    with pytest.raises(BeliefError, match=r"a View \(match\.view\(seat\)\), not from a Match"):
        sample_worlds(match, 3, rng)
    for n in (-1, 1.5, True, "3"):
        with pytest.raises(BeliefError, match=r"n=.* must be a whole number"):
            sample_worlds(view, n, rng)
    with pytest.raises(BeliefError, match="rng=1 must be a numpy Generator"):
        sample_worlds(view, 3, 1)
    with pytest.raises(BeliefError, match="candidates=0 must be"):
        sample_worlds(view, 3, rng, policy=NeverBids(), candidates=0)
    with pytest.raises(BeliefError, match="n=1048576 with candidates=2 are more than"):
        sample_worlds(view, 1 << 20, rng, policy=NeverBids(), candidates=2)
    match.play("pass")
    seat = match.seat
    assert seat is not None
    with pytest.raises(BeliefError, match="does not tell probabilities"):
        sample_worlds(match.view(0), 3, rng, policy=object())
    assert len(sample_worlds(view, 0, rng)) == 0
    empty = Match("german", seed=1)
    empty.begin(dealer=0)
    with pytest.raises(BeliefError, match="no cards are dealt yet"):
        sample_worlds(empty.view(0), 3, rng)


def test_a_view_that_cannot_arise_is_refused() -> None:
    match = Match("german", seed=1)
    state = match.state.copy()
    state["void_suits"][0, 1] = 15  # seat 1 holds five cards and has shown to have no suit
    assert not fill_worlds(state[0], match.rules.struct[0], 0, np.uint64(1), core.new_state(2))
    with pytest.raises(BeliefError, match="no world agrees with what seat 0 knows"):
        sample_worlds(View(match.rules, state, 0), 2, np.random.default_rng(1))
