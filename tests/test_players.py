"""The players that need neither search nor training: worked examples of how they decide, and a person at a terminal."""

import json
import random
from collections.abc import Callable

import numpy as np
import pytest
from random_rules import Habits, random_cards, random_pot, random_rules

from napoleon_env import rules as core
from napoleon_env.counting import counting_action
from napoleon_env.match import Match
from napoleon_env.notation import ACTION_NAMES, CARDS, N_ACTIONS, action_id
from napoleon_env.players import (
    CountingPlayer,
    HumanPlayer,
    Player,
    PlayerLeftError,
    RandomPlayer,
    RulePlayer,
    TurnError,
    UntoldError,
    act_many,
)
from napoleon_env.ruleset import PRESETS, Ruleset
from napoleon_env.search import PimcPlayer
from napoleon_env.thumb import thumb_action

COUNTING = CountingPlayer()
RULE = RulePlayer()


def table(rules: str, hands: dict[int, str], *said: str, dealer: int = 3, pot: int = 0, **changes: object) -> Match:
    """A deal with some hands given, the others filled with the lowest cards left, after these actions."""
    ruleset = Ruleset.make(rules, **changes)
    given = {seat: hand.split() for seat, hand in hands.items()}
    left = [name for name in (CARDS[card] for card in ruleset.pack) if not any(name in hand for hand in given.values())]
    cards = [given.get(seat) or [left.pop(0) for _ in range(ruleset.hand_size)] for seat in range(ruleset.players)]
    match = Match.deal(ruleset, dealer=dealer, hands=cards, stock=left, pot=pot)
    for action in said:
        match.play(action)
    return match


def answer(match: Match, seat: int, player: Player = COUNTING) -> str:
    """What the counting player, or another, does for `seat`, whose turn it must be."""
    assert match.seat == seat
    return ACTION_NAMES[int(player.act(match.view(seat)))]


# The counting player: the auction. Seat 0 is left of the dealer and speaks first, except in russian, where the dealer does.


def test_a_hand_that_cannot_lose_a_trick_bids_all() -> None:
    assert answer(table("german", {0: "AS KS QS JS TS"}), 0) == "bid 5"


def test_ace_king_queen_and_nothing_else_is_three_tricks() -> None:
    # "The only certain combination for three tricks" (Peel, Round Games with Cards): three cannot be lost, a fourth needs luck.
    assert answer(table("german", {0: "AS KS QS 2C 2D"}), 0) == "bid 3"


def test_three_top_trumps_and_two_aces_bid_all() -> None:
    # Fails only against four trumps in one hand: made in .984 of deals with 4 players.
    assert answer(table("german", {0: "AS KS QS AC AD"}), 0) == "bid 5"


def test_a_hand_without_a_suit_or_a_high_card_passes() -> None:
    assert answer(table("german", {0: "2C 3D 4H 5S 7D"}), 0) == "pass"


def test_a_good_hand_goes_over_another_bid_and_a_fair_one_lets_it_stand() -> None:
    assert answer(table("german", {1: "AS KS QS AC AD"}, "bid 3"), 1) == "bid 5"
    assert answer(table("german", {1: "AS KS QS 2C 2D"}, "bid 3"), 1) == "pass"


def test_wellington_only_with_a_hand_that_is_nearly_sure() -> None:
    assert answer(table("german", {1: "AS KS QS JS TS"}, "bid 5", wellington=(20, 20)), 1) == "wellington"
    assert answer(table("german", {1: "AS KS QS JS 9D"}, "bid 5", wellington=(20, 20)), 1) == "pass"  # the nine loses


def test_misere_with_twos_and_threes_but_not_with_kings() -> None:
    assert answer(table("english", {0: "2C 3C 2D 3D 2H"}), 0) == "misere"
    assert answer(table("english", {0: "KC KD KH KS 2S"}), 0) != "misere"


def test_R4_the_dealer_holds_a_bid_that_the_hand_is_just_worth() -> None:
    hand = {0: "AS KS 9S 8C 6D"}  # 36 cards: two top trumps and a third; three tricks are likely, four are not
    assert answer(table("russian", hand, "bid 2", "bid 3", "pass", "pass", dealer=0), 0) == "hold"
    assert answer(table("russian", hand, "bid 2", "bid 4", "pass", "pass", dealer=0), 0) == "pass"


def test_P6_where_a_failed_bid_costs_nothing_a_hand_still_bids_what_it_is_worth() -> None:
    assert answer(table("portuguese", {0: "AS KS QS 2C 2D"}), 0) == "bid 3"
    assert answer(table("portuguese", {0: "2C 3D 4H 5S 7D"}), 0) == "bid 1"  # exactly one of these may well take a trick
    assert answer(table("portuguese", {1: "AS KS QS 2C 2D"}, "bid 3"), 1) == "pass"  # exactly four: no


# The declarer's decisions.


def test_R6_napoleon_is_announced_with_a_sure_hand_and_not_with_a_doubtful_one_for_a_big_pot() -> None:
    # Failing costs the pot as making wins it, so a big pot needs better than even chances.
    assert answer(table("russian", {0: "AS KS QS JS TS"}, "bid 5", dealer=0, pot=100), 0) == "napoleon"
    assert answer(table("russian", {0: "AS KC QD 9C 6D"}, "bid 5", dealer=0, pot=100), 0) == "no napoleon"


def test_R7_the_worst_card_is_exchanged_and_a_perfect_hand_stands() -> None:
    passed = ("bid 4", "pass", "pass", "pass")
    assert answer(table("russian", {0: "AS KS QS AC 7D"}, *passed, dealer=0), 0) == "discard 7D"
    assert answer(table("russian", {0: "AS KS QS JS TS"}, *passed, dealer=0), 0) == "stand"


def test_P4_trump_is_the_long_strong_suit() -> None:
    assert answer(table("portuguese", {0: "AS KS QS 2C 2D"}, "bid 3", "pass", "pass", "pass"), 0) == "trump S"


def test_P4_three_small_trumps_and_an_ace_outside_beat_a_lone_ace_of_trumps() -> None:
    # With 20 of 52 cards dealt, few others have two hearts: the small ones come good, and the ace wins as well.
    assert answer(table("portuguese", {0: "AS 4H 6H 7H 2D"}, "bid 2", "pass", "pass", "pass"), 0) == "trump H"


# The tricks.


def test_the_declarer_opens_with_the_highest_trump() -> None:
    assert answer(table("german", {0: "AS KS QS 2C 2D"}, "bid 3", "pass", "pass", "pass"), 0) == "AS"


def test_the_declarer_cashes_an_ace_for_the_last_trick_needed_and_does_not_wait_for_it() -> None:
    hands = {0: "KC QC AD 3H 6S", 1: "3C 8C 2D 5D 9C", 2: "7C 2C 4H 5H 6H", 3: "8H 9H TH 2S 3S"}
    said = ("bid 3", "pass", "pass", "pass", "KC", "3C", "2C", "8H", "QC", "8C", "7C", "9H")
    assert answer(table("german", hands, *said), 0) == "AD"


def test_a_defender_playing_last_takes_the_trick_as_cheaply_as_possible() -> None:
    hands = {0: "QS 9S 2C 3C 4D", 1: "2S 3D 5D 6D 7D", 2: "3S 3H 5H 6H 7H", 3: "KS AS 9H 8H TH"}
    match = table("german", hands, "bid 3", "pass", "pass", "pass", "QS", "2S", "3S")
    assert answer(match, 3) == "KS"


def test_a_defender_leaves_the_trick_to_a_partner_who_has_it() -> None:
    hands = {0: "QS 9S 9C 3C 4D", 1: "2S 3D 5D 6D KC", 2: "3S 3H 5H 6H 2C", 3: "AC 4C 9H 8H TH"}
    said = ("bid 3", "pass", "pass", "pass", "QS", "2S", "3S", "8H", "9C", "KC", "2C")
    assert answer(table("german", hands, *said), 3) == "4C"


def test_a_defender_keeps_a_guarded_king_and_throws_a_useless_card() -> None:
    # Seat 3 is void in spades and must throw: the king of clubs needs the 4 as its guard; the 2 of hearts stops nothing.
    hands = {0: "AS KS QC 9C 4D", 1: "2S 3D 5D 6D 7D", 2: "3S 3H 5H 6H 7H", 3: "KC 4C 2H AD KD"}
    match = table("german", hands, "bid 3", "pass", "pass", "pass", "AS", "2S", "3S")
    assert answer(match, 3) == "2H"


def test_R9_a_defender_who_must_trump_does_so_with_the_lowest_that_serves() -> None:
    hands = {0: "AH KH QD 9D 8D", 1: "6H AD 7D 6D 6S", 2: "7H JH QH 7S 8S", 3: "8H 9H TC 9C AC"}
    said = ("bid 3", "pass", "pass", "pass", "stand", "AH", "6H", "7H", "8H", "QD")
    assert answer(table("russian", hands, *said, "7D", dealer=0), 2) == "JH"  # the queen of diamonds is winning: ruff it
    assert answer(table("russian", hands, *said, "AD", dealer=0), 2) == "JH"  # a partner has it already, but R9 forces a trump


def test_E2_in_misere_the_declarer_leads_low_and_a_defender_gets_rid_of_a_high_card_on_a_lost_trick() -> None:
    hands = {0: "2C 7C 2D 5D 9H", 1: "8C AC KD 3D 3H", 2: "3C 9C KH QH 4D", 3: "4C 5C 7H 8H 9S"}
    called = ("misere", "pass", "pass", "pass")
    assert answer(table("english", hands, *called), 0) == "2C"
    # The 7 is led and seat 1 must go over it: the trick can no longer be the declarer's, so the ace may go.
    assert answer(table("english", hands, *called, "7C"), 1) == "AC"


def test_E2_in_misere_a_defender_stays_under_the_declarers_card() -> None:
    hands = {0: "9C 7C 2D 5D 9H", 1: "8C AC KD 3D 3H"}
    assert answer(table("english", hands, "misere", "pass", "pass", "pass", "9C"), 1) == "8C"


def test_P6_a_declarer_whose_number_is_complete_ducks_and_the_defenders_duck_too() -> None:
    hands = {0: "AS KS 9C 2D 3H", 1: "2S 8C KD 3D 4H", 2: "3S QC KH QH 4D", 3: "4S 7C 7H 8H 9D"}
    said = ("bid 2", "pass", "pass", "pass", "trump S", "AS", "2S", "3S", "4S", "KS", "3D", "4D", "9D")
    assert answer(table("portuguese", hands, *said), 0) in ("2D", "3H")
    assert answer(table("portuguese", hands, *said, "9C"), 1) == "8C"


# All positions.


def random_match(rng: random.Random) -> tuple[Match, Habits]:
    """A match of a random rule set with random cards in its first deal, and how to wander through it."""
    rules = random_rules(rng)
    hands, stock = random_cards(rng, rules)
    dealer = rng.randrange(rules.players)
    match = Match.deal(rules, dealer=dealer, hands=hands, stock=stock, pot=random_pot(rng, rules), seed=rng.randrange(1 << 30))
    return match, Habits.draw(rng, rules)


# The rule of thumb counts: an ace a trick or most of one, the next highest of a longer suit half, a long trump half.


def test_by_the_rule_of_thumb_the_lowest_call_is_made_that_count_and_hope_reach() -> None:
    # Spades as trump: A 1, K 1 (the ace is in hand), 4 of a long suit 1/2; hearts A 3/4: 3.25, and with a hope of 0.75 just 4.
    assert answer(table("german", {0: "AS KS 4S AH 2D"}), 0, RULE) == "bid 2"
    assert answer(table("german", {1: "AS KS 4S AH 2D"}, "bid 2"), 1, RULE) == "bid 3"
    assert answer(table("german", {1: "AS KS 4S AH 2D"}, "bid 4"), 1, RULE) == "pass"  # 5 is more than 4


def test_by_the_rule_of_thumb_a_hand_that_counts_less_than_one_and_a_bit_passes() -> None:
    # 9S and two small ones of a suit: a quarter and no more; with the hope of 0.75 that is below 2.
    assert answer(table("german", {0: "9S 2S 5D 7C 8H"}), 0, RULE) == "pass"


def test_by_the_rule_of_thumb_fewer_opponents_give_more_hope() -> None:
    # Spades: 9 8 of length 2: 1/4 each; ace of hearts 3/4: 1.25. With 4 players 0.75 more is just enough, with 6 (0.45) not.
    hand = "9S 8S AH 3D 4C"
    assert answer(table("german", {0: hand}), 0, RULE) == "bid 2"
    assert answer(table("german", {0: hand}, dealer=5, players=6), 0, RULE) == "pass"


def test_P6_by_the_rule_of_thumb_the_whole_count_is_bid_at_once_where_it_must_come_out_exactly() -> None:
    # Spades: 1 + 1 + 1, hope 0.75 and one more, since a failed bid costs nothing: 4.75.
    assert answer(table("portuguese", {0: "AS KS QS 2C 2D"}), 0, RULE) == "bid 4"


def test_R7_by_the_rule_of_thumb_the_lowest_idle_card_goes_and_a_hand_without_one_stands() -> None:
    said = ("pass", "bid 3", "pass", "pass")
    assert answer(table("russian", {0: "AS KS QS 7D 6C"}, *said), 0, RULE) == "discard 6C"
    assert answer(table("russian", {0: "AS KS QS JS TS"}, *said), 0, RULE) == "stand"


def test_P4_by_the_rule_of_thumb_trump_is_the_suit_that_counts_most() -> None:
    said = ("bid 3", "pass", "pass", "pass")
    assert answer(table("portuguese", {0: "AS KS 3S AD 2C"}, *said), 0, RULE) == "trump S"


def test_by_the_rule_of_thumb_a_defender_takes_from_the_declarer_cheaply_and_leaves_a_trick_of_a_partner() -> None:
    said = ("bid 3", "pass", "pass", "pass", "9S")
    assert answer(table("german", {0: "9S AD AH 2C 3C", 1: "AS TS 4S 2H 3H"}, *said), 1, RULE) == "TS"
    hands = {0: "9S AD AH 2C 3C", 1: "AS TS 4S 2H 3H", 2: "KS QS 5S 4H 5H"}
    assert answer(table("german", hands, *said, "TS"), 2, RULE) == "5S"


def test_by_the_rule_of_thumb_the_declarer_draws_trumps_from_the_top_then_cashes() -> None:
    hands = {0: "AS KS AH 2C 3C", 1: "2S 3S 2D 3D 4D", 2: "4S 5S 5D 6D 7D", 3: "6S 7S 8D 9D TD"}
    match = table("german", hands, "bid 3", "pass", "pass", "pass")
    for card in ("AS", "2S", "4S", "6S"):
        if match.seat == 0:
            assert answer(match, 0, RULE) == "AS"
        match.play(card)
    assert answer(match, 0, RULE) == "KS"


def test_E2_by_the_rule_of_thumb_misere_needs_low_cards() -> None:
    assert answer(table("english", {0: "2C 3C 4D 5H 6S"}), 0, RULE) == "misere"
    assert answer(table("english", {0: "2C 3C 4D 5H QS"}), 0, RULE) == "pass"


@pytest.mark.parametrize("decide", [thumb_action, counting_action])
def test_in_every_position_of_random_rule_sets_it_is_legal_and_reads_only_what_the_seat_may_know(
    decide: Callable[..., int],
) -> None:
    rng = random.Random(4)
    positions = 0
    phases = set()
    while positions < 6000:
        match, habits = random_match(rng)
        wander = rng.choice((0.0, 0.3, 1.0))  # how often another action than the player's is played
        for _ in range(200):
            if match.over:
                break
            state, rules, seat = match.state[0], match.rules.struct[0], match.seat
            assert seat is not None
            before = match.state.tobytes()
            action = decide(state, rules, np.int64(seat))
            where = json.dumps({"rules": match.rules.header, "log": match.view(seat).log, "hands": match.hands})
            assert core.is_legal(state, rules, action), where
            assert match.state.tobytes() == before, where
            blanked = match.state.copy()
            core.hide(blanked[0], rules, seat)
            assert decide(blanked[0], rules, np.int64(seat)) == action, where
            positions += 1
            phases.add(match.phase)
            match.play(habits.choose(rng, match.legal(), len(match.history)) if rng.random() < wander else action)
    assert phases == {"auction", "announce", "exchange", "trump", "play"}


def relative_points(player: Player, rules: Ruleset, deals: int) -> tuple[float, float]:
    """A player's seat among random ones: mean points a deal above theirs, and its standard error; all seats in turn."""
    rng = np.random.default_rng(7)
    gains = np.zeros(deals)
    for deal in range(deals):
        for hero in range(rules.players):
            match = Match(rules, seed=deal)
            while not match.over:
                if match.seat == hero:
                    action = player.act(match.view(hero))
                else:
                    legal = match.legal_ids()
                    action = legal[int(rng.integers(len(legal)))]
                match.play(action)
            others = [payoff for seat, payoff in enumerate(match.scores) if seat != hero]
            gains[deal] += (match.scores[hero] - sum(others) / len(others)) / rules.players
    return float(gains.mean()), float(gains.std() / deals**0.5)


@pytest.mark.parametrize("player", [RULE, COUNTING], ids=["rule", "counting"])
@pytest.mark.parametrize("preset", PRESETS)
def test_it_beats_random_players_clearly(preset: str, player: Player) -> None:
    # In portuguese a hopeless bid of 5 costs nothing and takes the deal from everybody: fewer random bidders, clearer sight.
    rules = Ruleset.make(preset, players=2) if preset == "portuguese" else PRESETS[preset]
    mean, error = relative_points(player, rules, 150)
    assert mean > 5 * error > 0


# The players' interface.


def test_the_players_are_players_and_decide_for_many_tables() -> None:
    views = [Match("german", seed=seed).view(0) for seed in range(9)]
    views = [view for view in views if view.to_act == 0]
    for player in (RandomPlayer(), RULE, COUNTING, HumanPlayer(ask=lambda prompt: "pass")):
        assert isinstance(player, Player)
        assert all(action in view.legal_ids() for view, action in zip(views, act_many(player, views), strict=True))


def test_probabilities_are_one_for_the_action_it_takes() -> None:
    match = Match("english", seed=3)
    view = match.view(match.seat or 0)
    probabilities = RULE.probabilities(view)
    assert probabilities.shape == (N_ACTIONS,)
    assert probabilities.sum() == 1
    assert probabilities[RULE.act(view)] == 1


def test_a_seat_that_is_not_to_act_is_refused_by_name() -> None:
    match = Match("german", seed=1, dealer=3)
    for player in (RULE, HumanPlayer(ask=lambda prompt: "pass")):
        with pytest.raises(TurnError, match="seat 2 is asked for an action, but seat 0 is to act"):
            player.act(match.view(2))


# A person.


class Terminal:
    """Answers in order, then the end of the input; keeps what was shown."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.shown: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.shown.append(prompt)
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)


def test_a_person_sees_the_own_hand_and_what_is_legal_and_no_other_hand() -> None:
    terminal = Terminal("bid 3")
    match = table("german", {0: "AS KS QS 2C 2D", 1: "AH KH QH JH TH"})
    assert HumanPlayer(ask=terminal).act(match.view(0)) == action_id("bid 3")
    (shown,) = terminal.shown
    assert "A♠" in shown
    assert "pass, bid 2, bid 3, bid 4, bid 5" in shown
    assert "A♥" not in shown


@pytest.mark.parametrize(
    ("said", "meant"),
    [("bid 3", "bid 3"), ("  BID   3 ", "bid 3"), ("3", "bid 3"), ("Pass", "pass")],
)
def test_a_person_may_write_a_call_loosely(said: str, meant: str) -> None:
    match = table("german", {0: "AS KS QS 2C 2D"})
    assert HumanPlayer(ask=Terminal(said)).act(match.view(0)) == action_id(meant)


def test_a_person_names_cards_trumps_and_discards_by_the_card_or_suit_alone() -> None:
    asked = table("portuguese", {0: "AS KS QS 2C 2D"}, "bid 3", "pass", "pass", "pass")
    assert HumanPlayer(ask=Terminal("s")).act(asked.view(0)) == action_id("trump S")
    asked.play("trump S")
    assert HumanPlayer(ask=Terminal("as")).act(asked.view(0)) == action_id("AS")
    asked = table("russian", {0: "AS KS QS 6C 6D"}, "bid 3", "pass", "pass", "pass", dealer=0)
    assert HumanPlayer(ask=Terminal("6d")).act(asked.view(0)) == action_id("discard 6D")


def test_a_bad_answer_is_explained_and_asked_again() -> None:
    terminal = Terminal("", "three", "trump H", "bid 4")
    match = table("german", {0: "AS KS QS 2C 2D"})
    assert HumanPlayer(ask=terminal).act(match.view(0)) == action_id("bid 4")
    assert "'three' is not an action" in terminal.shown[2]
    assert "'trump H' is not legal now: pass, bid 2" in terminal.shown[3]


def test_a_person_who_is_gone_leaves_with_a_clear_word() -> None:
    match = table("german", {0: "AS KS QS 2C 2D"})
    with pytest.raises(PlayerLeftError, match="seat 0 has left the table: no more input"):
        HumanPlayer(ask=Terminal("nonsense")).act(match.view(0))
    with pytest.raises(PlayerLeftError, match="seat 0 has left the table"):
        HumanPlayer(ask=Terminal("quit")).act(match.view(0))


def test_a_player_that_draws_by_lot_tells_no_probabilities_that_it_does_not_know() -> None:
    view = Match("german", seed=1).view(Match("german", seed=1).seat or 0)
    with pytest.raises(UntoldError, match="PimcPlayer draws by lot and does not tell its probabilities"):
        PimcPlayer(worlds=2).probabilities(view)
