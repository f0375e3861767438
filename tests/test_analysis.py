"""What decisions cost against double dummy: worked deals, places, positions that can and cannot arise."""

from __future__ import annotations

import random
from typing import Any

import pytest
from random_rules import random_rules

from napoleon_env import analysis
from napoleon_env.analysis import AnalysisError, after_auction, analyse, deals_of, loss, place, worth
from napoleon_env.match import FinishedDeal, Match
from napoleon_env.ruleset import PRESETS, Ruleset
from napoleon_env.solver import Solver, Value

SOLVER = Solver(memory=2)


def played(rules: str, actions: str, *, hands: str, **more: Any) -> FinishedDeal:
    """The deal that ends with these actions, written with commas; hands with a stroke between, one a seat."""
    cards = [hand.split() for hand in hands.split("|")]
    match = Match.deal(rules, dealer=more.pop("dealer", len(cards) - 1), hands=cards, players=len(cards), seed=0, **more)
    for action in actions.split(","):
        match.play(action.strip())
    assert match.last_deal is not None
    return match.last_deal


def losses(deal: FinishedDeal, **more: Any) -> list[tuple[str, float, float | None]]:
    """Action, loss and loss in tricks of every decision after the auction."""
    return [(decision.action, decision.loss, decision.tricks_loss) for decision in analyse(deal, SOLVER, **more)]


# Worked deals.


def test_a_declarers_wrong_lead_costs_the_contract() -> None:
    # Two cards, so a bid of 2 is all tricks and pays double, 4 (G8). The ace draws the king and the two is the last trump: two
    # tricks, +4. The two first loses to the king; the ace then takes the last trick: one trick, -4. So the two gives away 8.
    deal = played("german", "bid 2, 2S, KS, 3H, AS", hands="AS 2S | KS 3H", hand_size=2)
    assert deal.payoffs == [-4, 4]
    assert losses(deal) == [("2S", 8, 1), ("KS", 0, 0), ("3H", 0, 0), ("AS", 0, 0)]
    lead, *others = analyse(deal, SOLVER)
    assert (lead.seat, lead.role, lead.phase, lead.best, lead.number) == (0, "declarer", "play", ["AS"], 1)
    assert lead.solution.values == {"2S": Value(-4, 1), "AS": Value(4, 2)}
    assert lead.is_choice
    assert not any(decision.is_choice for decision in others)  # one card each, or the only one of the suit led
    assert [decision.role for decision in others] == ["defender", "defender", "declarer"]


def test_a_defenders_wrong_discard_costs_what_the_declarer_is_paid() -> None:
    # Spades are led and are trump; then the 2D. While seat 2 keeps the KD, it beats the 2D: one trick of 2, the declarer pays
    # 4 (2 doubled) to each of two, -8. When seat 2 lays the KD away, nobody beats the 2D: +8. So the KD gives away 16.
    hands = "AS 2D | 3S 4C | KD 3H"
    deal = played("german", "bid 2, AS, 3S, KD, 2D, 4C, 3H", hands=hands, hand_size=2)
    assert deal.payoffs == [8, -4, -4]
    assert losses(deal) == [("AS", 0, 0), ("3S", 0, 0), ("KD", 16, 1), ("2D", 0, 0), ("4C", 0, 0), ("3H", 0, 0)]
    better = played("german", "bid 2, AS, 3S, 3H, 2D, 4C, KD", hands=hands, hand_size=2)
    assert better.payoffs == [-8, 4, 4]
    assert sum(given_away for _, given_away, _ in losses(better)) == 0


def test_a_wrong_trump_costs_the_points() -> None:
    # Exactly 2 tricks are worth 2 points (P6). The AS draws the KS, and only a diamond trump beats the 2H then.
    deal = played("portuguese", "bid 2, trump D, AS, KS, 2H, 3D", hands="AS 2H | KS 3D", hand_size=2)
    assert deal.payoffs == [0, 0]
    choice, *cards = analyse(deal, SOLVER)
    assert {name: value.payoff for name, value in choice.solution.values.items()} == {
        "trump C": 2, "trump D": 0, "trump H": 2, "trump S": 2,
    }  # fmt: skip
    assert (choice.phase, choice.loss, choice.best) == ("trump", 2, ["trump C", "trump H", "trump S"])
    assert choice.tricks_loss is None  # a trick too many would cost as much as one too few
    assert [decision.loss for decision in cards] == [0, 0, 0, 0]


RUSSIAN = "AS 6H | KS TH"


def test_announcing_and_exchanging_are_decisions_that_can_cost() -> None:
    # Antes of 1 make a pot of 2. With the QS for the 6H, AS and QS take both tricks: 2 from the defender, and the pot's 2 if
    # Napoleon was announced. With the 6H, the TH takes one: 2 to the defender and 2 into the pot, announced or not (R12, R14).
    deal = played("russian", "bid 2, no napoleon, stand, AS, KS, 6H, TH", hands=RUSSIAN, stock=["QS"], hand_size=2, dealer=0)
    assert deal.payoffs == [-5, 1]  # -4 and the ante; 2 less the ante
    assert losses(deal) == [
        ("no napoleon", 2, 0),  # 4 - 2
        ("stand", 6, 1),  # 2 - -4
        ("AS", 0, 0),
        ("KS", 0, 0),
        ("6H", 0, 0),
        ("TH", 0, 0),
    ]
    facts = analysis.deal_facts(0, deal, analyse(deal, SOLVER))
    assert (facts["worth"], facts["paid"]) == (4, -4)  # 4 - 2 - 6


def test_an_exchange_is_worth_the_mean_of_what_may_be_drawn_where_the_stock_is_not_known() -> None:
    # 32 cards may be drawn for the 6H. The AS takes the KS, and the other card then takes a trick if it is a spade, a heart
    # above the ten or of a suit that nobody holds: all but 7H, 8H, 9H. 29 times +4, 3 times -4: 104 / 32.
    deal = played("russian", "bid 2, napoleon, stand, AS, KS, 6H, TH", hands=RUSSIAN, stock=["QS"], hand_size=2, dealer=0)
    known = analyse(deal, SOLVER)[1]
    assert known.solution.values["discard 6H"] == Value(4, 2)
    unknown = analyse(deal, SOLVER, unknown_stock=True)[1]
    assert unknown.solution.values["discard 6H"] == Value(3.25, 61 / 32)
    assert unknown.loss == 7.25
    unlisted = played("russian", "bid 2, napoleon, stand, AS, KS, 6H, TH", hands=RUSSIAN, hand_size=2, dealer=0)
    assert analyse(unlisted, SOLVER)[1].solution == unknown.solution


def test_a_misere_counts_no_tricks() -> None:
    # No trump. Every two loses its trick, and the AC can be thrown on the 3S: +3. The AC first takes a trick: -3.
    deal = played("english", "misere, pass, AC, 3C", hands="2C AC 2D 2H | 3C 3D 3H 3S", hand_size=4)
    assert deal.payoffs == [-3, 3]
    lead = analyse(deal, SOLVER)[0]
    assert {name: value.payoff for name, value in lead.solution.values.items()} == {"2C": 3, "AC": -3, "2D": 3, "2H": 3}
    assert (lead.loss, lead.tricks_loss, lead.best) == (6, None, ["2C", "2D", "2H"])


# All decisions of a deal together.


def assert_losses_add_up(deal: FinishedDeal) -> None:
    """Paid = worth - losses of the declarer + losses of the defenders, and no loss is negative."""
    decisions = analyse(deal, SOLVER)
    if deal.void:
        assert decisions == []
        return
    assert min(decision.loss for decision in decisions) >= 0
    assert min(decision.tricks_loss or 0 for decision in decisions) >= 0
    total = {role: sum(decision.loss for decision in decisions if decision.role == role) for role in analysis.ROLES}
    facts = analysis.deal_facts(0, deal, decisions)
    assert facts["paid"] == facts["worth"] - total["declarer"] + total["defender"], (deal.rules, deal.log)
    assert [decision.action for decision in decisions] == [name for _, name in deal.log[len(deal.calls) :]]


def test_the_losses_of_random_deals_of_random_rules_add_up_to_what_was_paid() -> None:
    rng, deals = random.Random(5), 0
    while deals < 60:
        rules = random_rules(rng)
        if rules.players * rules.hand_size > 20:
            continue
        match = Match(rules, seed=deals)
        while not match.history:
            match.play(rng.choice(match.legal()))
        assert_losses_add_up(match.history[0])
        deals += not match.history[0].void


@pytest.mark.parametrize("preset", PRESETS)
def test_a_deal_of_best_choices_loses_nothing(preset: str) -> None:
    for seed in range(4):
        match = Match(preset, seed=seed, players=3)
        worth_then = None
        while not match.history:
            if match.phase == "auction":
                bids = [call for call in match.legal() if call.startswith("bid")]
                match.play(bids[0] if match.contract is None and bids else "pass")
                continue
            solution = worth(match, SOLVER)
            worth_then = solution.value.payoff if worth_then is None else worth_then
            assert solution.value.payoff == worth_then
            match.play(solution.best[-1])
        assert sum(decision.loss for decision in analyse(match.history[0], SOLVER)) == 0
        declarer = match.history[0].declarer
        assert declarer is not None
        assert match.history[0].payoffs[declarer] + match.rules.ante == worth_then


def test_the_summary_adds_up_by_role_and_phase() -> None:
    total = analysis.Analysis()
    total.add(analyse(played("german", "bid 2, 2S, KS, 3H, AS", hands="AS 2S | KS 3H", hand_size=2), SOLVER))
    hands = "AS 2D | 3S 4C | KD 3H"
    total.add(analyse(played("german", "bid 2, AS, 3S, KD, 2D, 4C, 3H", hands=hands, hand_size=2), SOLVER))
    total.add(analyse(played("russian", "pass, pass", hands=RUSSIAN, hand_size=2, dealer=0, max_void_deals=1), SOLVER))
    told = total.to_json()
    assert (told["deals"], told["inexact"]) == (2, 0)  # the third was void
    declarer = {"decisions": 4, "choices": 2, "mistakes": 1, "loss": 8, "tricks_loss": 1}  # two leads of two cards
    defender = {"decisions": 6, "choices": 1, "mistakes": 1, "loss": 16, "tricks_loss": 1}  # the discard
    assert told["roles"] == {
        "declarer": {**declarer, "phases": {"play": declarer}},
        "defender": {**defender, "phases": {"play": defender}},
    }


# Places.


def test_a_place_is_the_match_as_it_stood() -> None:
    rng = random.Random(8)
    match = Match("russian", seed=4, players=3, deals=3)
    seen = []
    for _ in range(45):
        if match.over:
            break
        action = rng.choice([name for name in match.legal() if name != "pass"] or match.legal())
        seen.append((match.deal_number, len(match.log), match.hands, match.pot, match.phase, match.seat, match.log, action))
        match.play(action)
    assert {deal for deal, *_ in seen} >= {0, 1}
    for deal, number, *facts, action in seen:
        position, done = place(match, deal=deal, action=number)
        assert [position.hands, position.pot, position.phase, position.seat, position.log] == facts
        assert done == action


def test_a_place_that_is_not_there_is_named() -> None:
    match = Match.deal("german", dealer=1, hands=[["AS", "2S"], ["KS", "3H"]], players=2, hand_size=2, seed=0)
    with pytest.raises(AnalysisError, match="deal 0 has no decision after the auction"):
        place(match, deal=0)
    for action in ["bid 2", "AS", "KS"]:
        match.play(action)
    assert place(match, deal=0)[1] == "AS"  # the first after the auction
    running, done = place(match, deal=0, action=3)
    assert (running.seat, done) == (0, None)
    for deal, action, sentence in (
        (1, 0, "there is no deal 1: its deals are numbered from 0 to 0"),
        (0, 4, "there is no action 4 in deal 0: its actions are numbered from 0 to 3"),
        (0, -1, "there is no action -1 in deal 0"),
    ):
        with pytest.raises(AnalysisError, match=sentence):
            place(match, deal=deal, action=action)
    match.play("2S")
    match.play("3H")
    assert deals_of(match) == match.history
    with pytest.raises(AnalysisError, match="its actions are numbered from 0 to 4"):
        place(match, deal=0, action=5)


# Positions from cards.


def cards_for(rules: Ruleset, seed: int) -> list[list[str]]:
    """Random hands of a rule set."""
    return Match(rules, seed=seed).hands


@pytest.mark.parametrize("preset", PRESETS)
def test_every_contract_that_an_auction_can_end_in_is_found_and_no_other(preset: str) -> None:
    rng = random.Random(1)
    rules = Ruleset.make(preset, players=3)
    hands = cards_for(rules, 0)
    ends = set()
    for _ in range(600):  # so many meet every end there is
        match = Match(rules, seed=0)
        match.begin(dealer=1)
        match.begin_deal(hands)
        while match.phase == "auction":
            match.play(rng.choice(match.legal()))
        if match.phase != "over":
            ends.add((match.declarer, match.contract))
    for declarer in range(3):
        for contract in (*(f"bid {n}" for n in range(1, 6)), "misere", "wellington", "blucher"):
            try:
                found = after_auction(rules, dealer=1, hands=hands, declarer=declarer, contract=contract)
            except AnalysisError:
                assert (declarer, contract) not in ends
            else:
                assert (found.declarer, found.contract, found.seat) == (declarer, contract, declarer)
                assert (declarer, contract) in ends


def test_a_contracts_worth_is_that_of_the_position_after_it() -> None:
    rules = Ruleset.make("russian", players=3)
    hands = cards_for(rules, 2)
    before = after_auction(rules, dealer=2, hands=hands, stock=["QS"] if not any("QS" in hand for hand in hands) else None)
    contracts = worth(before, SOLVER, seat=1).values
    assert list(contracts) == ["bid 1", "bid 2", "bid 3", "bid 4", "bid 5"]
    for contract, value in contracts.items():
        stock = FinishedDeal(rules, before.state).stock
        position = after_auction(rules, dealer=2, hands=hands, stock=stock or None, declarer=1, contract=contract)
        assert worth(position, SOLVER).value.payoff == value.payoff


def test_decisions_after_the_auction_lead_on() -> None:
    position = after_auction(
        Ruleset.make("portuguese", players=2, hand_size=2), dealer=1, hands=[["AS", "2H"], ["KS", "3D"]],
        declarer=0, contract="bid 2", trump="D", then=["AS", "KS"],
    )  # fmt: skip
    assert (position.trump, position.tricks_won, position.hands) == ("D", [1, 0], [["2H"], ["3D"]])
    solution = worth(position, SOLVER)
    assert solution.values == {"2H": Value(0, 1)}
    assert loss(solution, "2H") == Value(0, 0)


GERMAN_HANDS = [["AS", "2S"], ["KS", "3H"]]


@pytest.mark.parametrize(
    ("rules", "more", "sentence"),
    [
        ("german", {"declarer": 0, "contract": "bid 1"}, "contract='bid 1' is not one of german .*: they are bid 2$"),
        ("german", {"declarer": 0, "contract": "misere"}, "contract='misere' is not one of"),
        ("german", {"declarer": 2, "contract": "bid 2"}, "declarer=2 must be a seat from 0 to 1"),
        ("german", {"contract": "bid 2"}, "declarer=None must be a seat"),
        ("german", {"declarer": 0, "contract": "bid 2", "trump": "S"}, "trump='S' cannot be chosen: the first card led"),
        (
            "german",
            {"declarer": 0, "contract": "bid 2", "then": ["KS"]},
            "decision 0 after the auction: seat 0 may not play KS",
        ),
        (
            "german",
            {"declarer": 0, "contract": "bid 2", "then": ["AS", "x"]},
            "decision 1 after the auction: 'x' is not an act",
        ),
        ("german", {"declarer": 0, "contract": "bid 2", "then": ["AS", "KS", "2S", "3H"]}, "the deal is over after these"),
        (
            "german",
            {"declarer": 0, "contract": "bid 2", "then": ["AS", "KS", "2S", "3H", "4H"]},
            "the deal is over before '4H'",
        ),
        ("german", {"then": ["AS"]}, "trump and further decisions follow a contract"),
        (
            "english",
            {"declarer": 0, "contract": "wellington"},
            "declarer=0 with contract='wellington' cannot arise: no auction",
        ),
        ("portuguese", {"declarer": 0, "contract": "bid 1", "trump": "X"}, "trump: 'trump X' is not an action"),
        (
            "russian",
            {"hands": [["AS", "6H"], ["KS", "TH"]], "declarer": 0, "contract": "bid 1", "trump": "S"},
            "the first card led fixes trump",
        ),
        ("german", {"hands": [["AS", "2S"], ["?", "3H"]]}, r"hands\[1\]: '\?' hides a card: a double-dummy value needs every"),
    ],
)
def test_a_position_that_cannot_arise_is_named(rules: str, more: dict[str, Any], sentence: str) -> None:
    ruleset = Ruleset.make(rules, players=2, hand_size=2, **({"misere": None} if rules == "english" else {}))
    with pytest.raises(AnalysisError, match=sentence):
        after_auction(ruleset, **{"dealer": 1, "hands": GERMAN_HANDS, **more})


def test_trump_is_asked_for_in_its_place() -> None:
    rules = Ruleset.make("russian", players=2, hand_size=2, trump="chosen")
    cards: dict[str, Any] = {"dealer": 1, "hands": [["AS", "6H"], ["KS", "TH"]], "declarer": 0, "contract": "bid 1"}
    with pytest.raises(AnalysisError, match="trump='S' is chosen later: seat 0 is asked first to discard a card or to stand"):
        after_auction(rules, **cards, trump="S")
    position = after_auction(rules, **cards, trump="S", then=["stand"])
    assert (position.phase, position.trump) == ("play", "S")
    assert after_auction(rules, **cards, trump="S", then=["stand", "AS"]).log[-2:] == [(0, "trump S"), (0, "AS")]
