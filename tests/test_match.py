"""`Match` and `View`: checked moves, copies that go on identically, and nothing in a view that its seat may not know."""

import copy
import pickle
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_rules import Habits, random_cards, random_pot, random_rules, state_bytes

from napoleon_env.match import DealError, FinishedDeal, IllegalActionError, Match, View
from napoleon_env.notation import ACTION_NAMES, CARDS, LARGEST_EXACT, N_ACTIONS, NotationError
from napoleon_env.rules import PHASES, STATE
from napoleon_env.ruleset import PRESETS, Ruleset

WAYS_TO_COPY: dict[str, Callable[[Match], Match]] = {
    "Match.copy": Match.copy,
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda match: pickle.loads(pickle.dumps(match)),
}


def random_match(rng: random.Random) -> tuple[Match, Habits]:
    """A random match before its first decision: with random deals, or a first deal of given cards and random ones after it."""
    rules = random_rules(rng)
    seed, habits = rng.randrange(1000), Habits.draw(rng, rules)
    if rng.random() < 0.5:
        return Match(rules, seed=seed), habits
    hands, stock = random_cards(rng, rules)
    dealer = rng.randrange(rules.players)
    return Match.deal(rules, dealer=dealer, hands=hands, stock=stock, pot=random_pot(rng, rules), seed=seed), habits


def step(match: Match, habits: Habits, rng: random.Random) -> FinishedDeal | None:
    return match.play(habits.choose(rng, match.legal(), match.deal_number))


def whole_story(match: Match) -> tuple[Any, ...]:
    """All that a match is, to compare two of them."""
    return match.rules, state_bytes(match.state), match.needs_deal, [state_bytes(deal.state) for deal in match.history]


def cards(*hands: str) -> list[list[str]]:
    return [hand.split() for hand in hands]


# Copies


@pytest.mark.parametrize("way", WAYS_TO_COPY)
def test_a_copy_goes_on_identically_from_any_point(way: str) -> None:
    rng, phases, n_later_deals = random.Random(way), set(), 0
    for _ in range(120):
        match, habits = random_match(rng)
        phase = rng.choice(PHASES)
        while not match.over and not (match.phase == phase and rng.random() < 0.3):
            step(match, habits, rng)
        phases.add(match.phase)
        story = whole_story(match)
        twin = WAYS_TO_COPY[way](match)
        assert whole_story(twin) == story
        future = rng.randrange(10**6)
        rng_of_match, rng_of_twin = random.Random(future), random.Random(future)
        n_finished = len(match.history)
        while not twin.over:
            step(twin, habits, rng_of_twin)
        assert whole_story(match) == story  # what the copy did, the match does not notice
        while not match.over:
            step(match, habits, rng_of_match)
        assert whole_story(match) == whole_story(twin)
        n_later_deals += len(match.history) - n_finished > 1
    assert phases == set(PHASES)
    assert n_later_deals > 10


def test_a_copy_of_a_match_that_waits_for_cards_waits_too() -> None:
    for way in WAYS_TO_COPY.values():
        match = Match("german", seed=1, players=2, hand_size=2)
        match.begin(dealer=1)
        twin = way(match)
        assert twin.needs_deal
        twin.begin_deal(cards("AS KS", "2S 3S"))
        assert match.needs_deal
        match.begin_deal(cards("AH KH", "2H 3H"))
        assert (twin.hands[0], match.hands[0]) == (["KS", "AS"], ["KH", "AH"])


def test_a_view_and_a_finished_deal_do_not_change_with_the_match() -> None:
    rng = random.Random(4)
    match = Match("russian", seed=4, deals=3, players=3)
    kept: list[tuple[View, bytes]] = []
    while not match.over:
        view = match.view(rng.randrange(3))
        kept.append((view, state_bytes(view.state)))
        match.play(rng.choice(match.legal()))
    assert all(state_bytes(view.state) == before for view, before in kept)
    view = pickle.loads(pickle.dumps(match.view(1)))
    assert state_bytes(view.state) == state_bytes(match.view(1).state)
    assert copy.deepcopy(match.history[0]).payoffs == match.history[0].payoffs


# Moves


def test_the_mask_has_a_one_exactly_where_play_accepts() -> None:
    rng, n_positions = random.Random(5), 0
    while n_positions < 2000:
        match, habits = random_match(rng)
        while not match.over:
            if rng.random() < 0.5:
                n_positions += 1
                assert_mask_and_play_agree(match)
            step(match, habits, rng)
        assert_mask_and_play_agree(match)


def assert_mask_and_play_agree(match: Match) -> None:
    mask, before = match.mask(), state_bytes(match.state)
    assert mask.dtype == np.int8
    assert mask.shape == (N_ACTIONS,)
    assert match.legal_ids() == [action for action in range(N_ACTIONS) if mask[action]]
    assert match.legal() == sorted(ACTION_NAMES[action] for action in match.legal_ids())
    for seat in range(match.rules.players):
        assert (match.view(seat).mask() == (mask if seat == match.seat else 0)).all()
    for action in range(N_ACTIONS):
        if mask[action]:
            twin = match.copy()
            twin.play(action)
            assert state_bytes(twin.state) != before
        else:
            with pytest.raises(IllegalActionError):
                match.play(action)
    assert state_bytes(match.state) == before


@pytest.mark.parametrize(
    "action", [-1, 124, 10**20, 1.0, True, None, "", "Pass", "bid 0", "bid 9", "bid  2", "AS ", "SA", [0], b"AS"]
)
def test_what_is_no_action_is_refused(action: Any) -> None:
    match = Match("german", seed=1)
    with pytest.raises(NotationError):
        match.play(action)


def test_actions_are_taken_by_name_by_id_and_by_numpys_ids() -> None:
    matches = [Match("german", seed=1, dealer=0) for _ in range(3)]
    actions: list[Any] = ["bid 3", 3, np.int64(3)]
    for match, action in zip(matches, actions, strict=True):
        match.play(action)
    assert len({state_bytes(match.state) for match in matches}) == 1


RUSSIAN = {
    "dealer": 0,
    "hands": cards("AS KS 6H", "7S 8H AH", "9S TS 9D"),
    "stock": ["6C"],
    "seed": 0,
    "players": 3,
    "hand_size": 3,
}
GERMAN: dict[str, Any] = RUSSIAN | {"dealer": 2}


@pytest.mark.parametrize(
    ("rules", "before", "action", "expected"),
    [
        ("german", "", "bid 1", r"seat 0 may not say bid 1: bids run from 2 to 3 \(G2, P2, R3, E2\)"),
        ("german", "", "bid 4", r"G2"),
        ("german", "bid 2", "bid 2", r"seat 1 may not say bid 2: bid 2 stands and a bid must be higher \(G2, P2, R3, E2\)"),
        ("german", "bid 2", "hold", r"seat 1 may not hold: dealer_holds is off"),
        ("german", "bid 2", "misere", r"misere is off"),
        ("german", "bid 2", "blucher", r"blucher is off"),
        ("german", "bid 2", "AS", r"seat 1 may not play AS: the auction asks for a call"),
        ("german", "bid 2, pass, pass", "2C", r"seat 0 may not play 2C: does not hold it"),
        ("german", "bid 2, pass, pass", "bid 3", r"seat 0 may not say bid 3: a card is to be played \(C4\)"),
        ("german", "bid 2, pass, pass, AS", "8H", r"seat 1 may not play 8H: holds spades and spades were led \(C5\)"),
        ("german", "bid 2, pass, pass, AS", "KS", r"seat 1 may not play KS: does not hold it"),
        ("russian", "", "hold", r"seat 0 may not hold: .*R4"),
        ("russian", "bid 1", "hold", r"seat 1 may not hold: only the dealer .*R4"),
        ("russian", "bid 3, napoleon", "napoleon", r"seat 0 may not say napoleon: .*R7"),
        ("russian", "bid 3", "AS", r"seat 0 may not play AS: .*R6"),
        ("russian", "bid 3", "pass", r"seat 0 may not say pass: .*R6"),
        ("russian", "bid 2, pass, pass", "napoleon", r"R7"),
        ("russian", "bid 2, pass, pass", "discard 6C", r"seat 0 may not discard 6C: does not hold it"),
        ("russian", "bid 2, pass, pass, stand", "discard AS", r"seat 0 may not discard AS: a card is to be played \(C4\)"),
        ("russian", "pass, bid 1, pass, stand, AH, 9D, 6H", "AS", "nobody may play AS: the match is over"),  # the 1 is made
    ],
)
def test_an_illegal_action_is_refused_with_the_rule(rules: str, before: str, action: str, expected: str) -> None:
    match = Match.deal(rules, **(GERMAN if rules == "german" else RUSSIAN))
    for name in filter(None, before.split(", ")):
        match.play(name)
    story = whole_story(match)
    with pytest.raises(IllegalActionError, match=expected) as caught:
        match.play(action)
    assert "\n" not in str(caught.value)
    assert whole_story(match) == story


def test_illegal_special_calls_are_refused_with_the_rule() -> None:
    match = Match("english", seed=1, dealer=3)
    for action, expected in (("wellington", "bid of 5.*G9"), ("blucher", "wellington.*E2"), ("hold", "dealer_holds")):
        with pytest.raises(IllegalActionError, match=expected):
            match.play(action)
    match.play("bid 4")
    with pytest.raises(IllegalActionError, match=r"bid 4 stands and it must be lower than misere \(E2\)"):
        match.play("misere")


def test_an_illegal_trump_or_card_is_refused_with_the_rule() -> None:
    match = Match.deal("portuguese", dealer=1, hands=cards("2C 3C", "4C 2D"), seed=0, players=2, hand_size=2, suits=2)
    for name in ("bid 1", "pass"):
        match.play(name)
    with pytest.raises(IllegalActionError, match="the pack has no spades"):
        match.play("trump S")
    with pytest.raises(IllegalActionError, match="P4"):
        match.play("2C")
    match = Match.deal(
        "russian", dealer=0, hands=cards("6S KS AD", "7S 8S AH", "9D TD AS"), stock=["6C"], players=3, hand_size=3
    )
    for name in ("bid 1", "pass", "pass", "stand", "6S", "7S", "AS", "9D", "AD"):
        match.play(name)
    with pytest.raises(IllegalActionError, match=r"seat 1 may not play AH: is void in diamonds and holds trumps, .*\(R9\)"):
        match.play("AH")


# Deals


def test_play_returns_the_deal_that_it_ended_and_deals_the_next_one_in_the_same_step() -> None:
    rng = random.Random(6)
    for _ in range(80):
        match, habits = random_match(rng)
        while not match.over:
            before, n_finished = match.copy(), len(match.history)
            ended = step(match, habits, rng)
            assert not match.needs_deal
            assert len(match.history) == n_finished + (ended is not None)
            if ended is None:
                continue
            assert ended is match.last_deal is match.history[-1]
            assert ended.deal_number == n_finished == before.deal_number
            assert ended.dealer == before.dealer
            assert ended.phase == "over"
            assert ended.log[:-1] == before.log
            assert ended.scores == match.scores == [a + b for a, b in zip(before.scores, ended.payoffs, strict=True)]
            assert ended.void == (ended.made is None) == (ended.declarer is None) == (not ended.tricks)
            dealt = [card for seat in range(match.rules.players) for card in ended.dealt(seat)] + ended.stock
            assert len(dealt) == len(set(dealt)) == match.rules.pack_size
            if not match.over:
                assert match.seat is not None
                assert match.dealer == (ended.dealer + 1) % match.rules.players
                assert match.log == []
                assert match.deal_number == n_finished + 1
        assert match.seat is None
        assert match.legal() == []


def test_a_match_whose_deals_are_given_waits_for_each_of_them() -> None:
    match = Match("german", seed=1, players=2, hand_size=2, deals=2)
    assert not match.needs_deal
    with pytest.raises(DealError, match="a deal can begin only after"):
        match.begin_deal(cards("AS KS", "2S 3S"))
    match.begin(dealer=1)
    for _ in range(2):
        assert match.needs_deal
        assert match.seat is None
        assert match.legal() == []
        assert not match.mask().any()
        with pytest.raises(IllegalActionError, match="nobody may say pass: no cards are dealt"):
            match.play("pass")
        match.begin_deal(cards("AS KS", "2S 3S"))
        assert not match.needs_deal
        with pytest.raises(DealError, match="a deal can begin only after"):
            match.begin_deal(cards("AS KS", "2S 3S"))
        while match.play(match.legal()[0]) is None:
            pass
    assert match.over
    assert not match.needs_deal
    with pytest.raises(DealError, match="a deal can begin only after"):
        match.begin_deal(cards("AS KS", "2S 3S"))
    match.begin(dealer=0)
    assert (match.over, match.needs_deal, match.scores, match.history) == (False, True, [0, 0], [])


def test_random_deals_follow_a_first_deal_of_given_cards() -> None:
    def played(seed: int) -> list[list[str]]:
        match = Match.deal("german", dealer=1, hands=cards("AS KS", "2S 3S"), seed=seed, players=2, hand_size=2, deals=3)
        assert match.hands == cards("KS AS", "2S 3S")
        while not match.over:
            match.play(match.legal()[0])
        return [deal.dealt(0) for deal in match.history]

    assert played(1) == played(1)
    assert played(1)[0] == played(2)[0] == ["AS", "KS"]
    assert played(1)[1:] != played(2)[1:]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"hands": cards("AS KS")}, "hands must be a list of 2 hands"),
        ({"hands": cards("AS KS", "2S 3S", "4S 5S")}, "hands must be a list of 2 hands"),
        ({"hands": "AS KS"}, "hands must be a list"),
        ({"hands": None}, "hands must be a list"),
        ({"hands": cards("AS KS", "2S")}, r"hands\[1\] must be a list of 2 cards"),
        ({"hands": cards("AS KS QS", "2S 3S")}, r"hands\[0\] must be a list of 2 cards"),
        ({"hands": ["AS", ["2S", "3S"]]}, r"hands\[0\] must be a list of 2 cards"),
        ({"hands": cards("AS KS", "2S AS")}, r"hands\[1\]\[1\]: AS is dealt twice, it is hands\[0\]\[0\] too"),
        ({"hands": cards("AS KS", "2S SA")}, r"hands\[1\]\[1\]: 'SA' is not a card"),
        ({"hands": cards("AS KS", "2S 10H")}, r"hands\[1\]\[1\]: '10H' is not a card"),
        ({"hands": [["AS", None], ["2S", "3S"]]}, r"hands\[0\]\[1\]: None is not a card"),
        ({"hands": [["AS", ["KS"]], ["2S", "3S"]]}, r"hands\[0\]\[1\]: \['KS'\] is not a card"),
        ({"hands": [["AS", 12], ["2S", "3S"]]}, r"hands\[0\]\[1\]: 12 is not a card"),
        ({"stock": ["AS"]}, r"stock\[0\]: AS is dealt twice, it is hands\[0\]\[0\] too"),
        ({"stock": ["4S", "4S"]}, r"stock\[1\]: 4S is dealt twice"),
        ({"stock": "4S"}, "stock must be a list"),
        ({"stock": list(CARDS)}, "stock must be a list of at most 48 cards"),
        ({"lowest_rank": "3"}, r"hands\[1\]\[0\]: 2S is not in the pack of 48 cards"),
        ({"suits": 3}, r"hands\[0\]\[0\]: AS is not in the pack of 39 cards"),
        ({"dealer": 2}, "dealer=2 must be a seat from 0 to 1"),
        ({"dealer": -1}, "dealer=-1 must be a seat"),
        ({"dealer": 1.0}, "dealer=1.0 must be a seat"),
        ({"dealer": True}, "dealer=True must be a seat"),
        ({"dealer": None}, "dealer=None must be a seat"),
        ({"pot": 1}, "pot=1 must be 0"),
        ({"pot": -1, "napoleon": "announced"}, "pot=-1 must be a whole number"),
        ({"pot": 0.0}, "pot=0.0 must be a whole number"),
        ({"pot": True, "napoleon": "announced"}, "pot=True must be a whole number"),
        ({"pot": LARGEST_EXACT + 1, "napoleon": "announced"}, "pot=.* must be a whole number from 0 to"),
        ({"pot": 10**5000, "napoleon": "announced"}, "pot=.* must be a whole number from 0 to"),
    ],
)
def test_cards_that_cannot_be_dealt_are_refused_with_the_place(changes: dict[str, Any], expected: str) -> None:
    deal: dict[str, Any] = {"dealer": 0, "hands": cards("AS KS", "2S 3S"), "players": 2, "hand_size": 2}
    assert Match.deal("german", **deal).seat == 1
    with pytest.raises(DealError, match=expected) as caught:
        Match.deal("german", **deal | changes)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("seat", [-1, 4, 1.0, True, None, "0"])
def test_a_view_or_a_dealer_that_is_no_seat_is_refused(seat: Any) -> None:
    with pytest.raises(DealError, match="seat="):
        Match("german", seed=1).view(seat)
    if seat is not None:
        with pytest.raises(DealError, match="dealer="):
            Match("german", seed=1, dealer=seat)


# The end


def test_winners_are_the_highest_scores_and_ties_are_shared() -> None:
    match = Match("portuguese", seed=1, players=3, hand_size=1)
    match.begin(dealer=0)
    match.begin_deal(cards("2C", "3C", "4C"))
    assert match.winners == []
    for action in ("pass", "pass", "pass", "trump C", "2C", "3C", "4C"):
        match.play(action)
    assert match.scores == [0, 0, 0]
    assert match.winners == [0, 1, 2]
    match.begin(dealer=2)
    match.begin_deal(cards("2C", "3C", "4C"))
    for action in ("pass", "pass", "pass", "trump C", "4C", "2C", "3C"):
        match.play(action)
    assert match.scores == [0, 0, 1]
    assert match.winners == [2]
    match = Match.deal("german", dealer=2, hands=cards("2C 3C", "5C 4C", "2D 3D"), players=3, hand_size=2)
    for action in ("bid 2", "2C", "5C", "2D", "4C", "3D", "3C"):
        match.play(action)
    assert match.scores == [-8, 4, 4]  # 2 × 2 to each
    assert match.winners == [1, 2]


# What a seat may know


def contents(view: View) -> dict[str, bytes]:
    """All that a view holds, byte for byte by field, the last deal in it too."""
    states = {"": view.state} if view.last_deal is None else {"": view.state, "last deal's ": view.last_deal.state}
    return {f"{whose}{name}": state[name].tobytes() for whose, state in states.items() for name in STATE.names or ()}


def differences(one: Match, other: Match, seat: int) -> list[str]:
    """The fields in which the views that `seat` has of two matches differ."""
    mine, others = contents(one.view(seat)), contents(other.view(seat))
    assert mine.keys() == others.keys()
    return [name for name in mine if mine[name] != others[name]]


def secrets(deal: FinishedDeal | Match, seat: int) -> list[str]:
    """The cards whose place `seat` cannot know: not dealt to it, not drawn by it and not played by anybody."""
    known = set(deal.dealt(seat)) | {name for trick in deal.tricks for _, name in trick}
    if deal.declarer == seat and deal.drawn is not None:
        known.add(deal.drawn)
    return [CARDS[card] for card in deal.rules.pack if CARDS[card] not in known]


def replayed(match: Match, seat: int, rng: random.Random) -> Match | None:
    """The same match with all secret cards of all its deals shuffled among themselves; None if somebody could not play so."""
    twin = Match(match.rules, seed=rng.randrange(1000))
    deals: list[FinishedDeal | Match] = [*match.history]
    if match.seat is not None:
        deals.append(match)
    twin.begin(dealer=deals[0].dealer, pot=START_POT)
    for deal in deals:
        hidden = secrets(deal, seat)
        swap: dict[str, str] = dict(zip(hidden, rng.sample(hidden, len(hidden)), strict=True))
        size, n = deal.rules.hand_size, deal.rules.players
        dealt = [CARDS[int(card)] for card in deal.state["cards"][0] if card >= 0]
        dealt = [swap.get(card, card) for card in dealt]
        twin.begin_deal([dealt[i * size : (i + 1) * size] for i in range(n)], dealt[n * size :])
        for _, action in deal.log:
            verb, _, card = action.rpartition(" ")
            if verb == "discard" and deal.declarer != seat:
                action = f"discard {swap.get(card, card)}"
            if action not in twin.legal():
                return None
            twin.play(action)
    return twin


START_POT = 0


def test_a_view_does_not_change_with_any_card_that_the_seat_cannot_see() -> None:
    rng = random.Random(8)
    n_compared: dict[str, int] = dict.fromkeys(PHASES, 0)
    n_after_a_deal = n_discards = 0
    while min(n_compared.values()) < 20 or n_after_a_deal < 60 or n_discards < 40:
        rules = random_rules(rng)
        if rules.deals > 6:
            continue
        habits, match = Habits.draw(rng, rules), Match(rules, seed=rng.randrange(1000))
        match.begin(dealer=rng.randrange(rules.players), pot=START_POT)
        while not match.over:
            if match.needs_deal:
                match.begin_deal(*random_cards(rng, rules))
            elif len(match.history) > 3:
                break
            if rng.random() < 0.2:
                seat = rng.randrange(rules.players)
                twin = replayed(match, seat, rng)
                if twin is not None and match.seat is not None and twin.hands != match.hands:
                    n_compared[match.phase] += 1
                    n_after_a_deal += match.log == [] and match.history != []
                    n_discards += match.discarded is not None and match.declarer != seat
                    assert differences(twin, match, seat) == []
                    assert twin.view(seat).legal() == match.view(seat).legal()
            step(match, habits, rng)
        if match.over:
            seat = rng.randrange(rules.players)
            twin = replayed(match, seat, rng)
            if twin is not None and len(secrets(match.history[-1], seat)) > 1:
                n_compared["over"] += 1
                assert differences(twin, match, seat) == []


def test_a_view_shows_its_seat_its_own_cards_and_all_that_is_public() -> None:
    rng = random.Random(9)
    for _ in range(60):
        match, habits = random_match(rng)
        while not match.over:
            for seat in range(match.rules.players):
                view = match.view(seat)
                assert view.hand == match.hands[seat]
                assert view.dealt(seat) == match.dealt(seat)
                assert [view.dealt(other) for other in range(match.rules.players) if other != seat] == [[]] * (
                    match.rules.players - 1
                )
                for name in ("phase", "dealer", "declarer", "contract", "announced", "trump", "led_suit", "tricks", "calls"):
                    assert getattr(view, name) == getattr(match, name)
                for name in ("tricks_won", "payoffs", "scores", "pot", "deal_number", "over", "truncated"):
                    assert getattr(view, name) == getattr(match, name)
                hidden = seat != match.declarer
                assert view.log == [(who, re.sub("(?<=discard ).*", "?", name) if hidden else name) for who, name in match.log]
                assert (view.discarded, view.drawn) == ((None, None) if hidden else (match.discarded, match.drawn))
                assert view.to_act == match.seat
                assert view.legal() == (match.legal() if seat == match.seat else [])
                assert view.legal_ids() == (match.legal_ids() if seat == match.seat else [])
                last = match.last_deal
                assert (view.last_deal is None) == (last is None)
                if view.last_deal is not None and last is not None:
                    assert view.last_deal.payoffs == last.payoffs
                    assert view.last_deal.tricks == last.tricks
                    assert view.last_deal.dealt(seat) == last.dealt(seat)
                    assert view.last_deal.stock == []
            step(match, habits, rng)


def test_a_view_has_no_trace_of_where_the_deals_come_from() -> None:
    for seat in range(2):
        hands = cards("AS KS", "2S 3S")
        matches = [Match.deal("german", dealer=0, hands=hands, seed=seed, players=2, hand_size=2) for seed in (1, 2)]
        assert differences(matches[0], matches[1], seat) == []
    view = Match("german", seed=5, index=3, number=7).view(0)
    assert view.state["key"][0] == view.state["match"][0] == 0


def test_a_views_randomness_is_repeatable_where_a_seed_is_given() -> None:
    match = Match("german", seed=1)
    draws = [match.view(0, seed=seed).rng().integers(10**9) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert match.view(0).rng().integers(10**9) != match.view(0).rng().integers(10**9)


def test_tricks_and_calls_are_read_from_the_log() -> None:
    match = Match.deal("german", dealer=2, hands=cards("2S AD", "AS 2D", "3S 3D"), players=3, hand_size=2)
    for action in ("pass", "bid 2", "AS", "3S", "2S", "2D"):
        match.play(action)
    assert match.calls == [(0, "pass"), (1, "bid 2")]  # seat 2 could only have passed
    assert match.tricks == [[(1, "AS"), (2, "3S"), (0, "2S")], [(1, "2D")]]
    assert match.log == [(0, "pass"), (1, "bid 2"), (1, "AS"), (2, "3S"), (0, "2S"), (1, "2D")]
    assert (match.led_suit, match.tricks_won, match.trump) == ("D", [0, 1, 0], "S")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("players", range(2, 7))
def test_every_preset_plays_to_the_end_for_every_number_of_players(preset: str, players: int) -> None:
    rng = random.Random(players)
    rules = Ruleset.make(preset, players=players, deals=3)
    for seed in range(5):
        match = Match(rules, seed=seed)
        while not match.over:
            match.play(rng.choice(match.legal()))
        assert sum(not deal.void for deal in match.history) == 3 or match.truncated
        assert set(match.winners) == {seat for seat in range(players) if match.scores[seat] == max(match.scores)}
