"""Worked examples, one or more for every rule of RULES.md, named after the rule.

How to read one: `table` deals the hands, seat 0's first; `say` follows the play, "0 bid 2, 1 pass, 0 AS" being: seat 0 bids
2, seat 1 passes, seat 0 plays the ace of spades. A seat that is named out of turn fails the test. Small hands keep the
examples short; what is not said is as in the preset.
"""

# (a test's name begins with the rule's number)

from itertools import pairwise
from typing import Any

import pytest

from napoleon_env.match import FinishedDeal, IllegalActionError, Match
from napoleon_env.notation import ACTION_NAMES, CARDS, LARGEST_EXACT, RANKS
from napoleon_env.ruleset import PRESETS, Ruleset, RulesetError

SPADES, HEARTS, DIAMONDS = "AS KS QS JS TS", "AH KH QH JH TH", "AD KD QD JD TD"
"""Each of these hands takes all tricks when its holder leads it as trump."""


def table(rules: str, *hands: str, dealer: int = 0, stock: str = "", pot: int = 0, **changes: Any) -> Match:
    """A match whose first deal has these hands, one for each seat."""
    sizes = {"players": len(hands), "hand_size": len(hands[0].split())}
    cards = [hand.split() for hand in hands]
    return Match.deal(rules, dealer=dealer, hands=cards, stock=stock.split(), pot=pot, seed=0, **sizes | changes)


def table_of_many_deals(rules: str, players: int, hand_size: int, dealer: int = 0, pot: int = 0, **changes: Any) -> Match:
    """A match whose every deal is given by `deal_next`."""
    match = Match(rules, seed=0, players=players, hand_size=hand_size, **changes)
    match.begin(dealer=dealer, pot=pot)
    return match


def deal_next(match: Match, *hands: str, stock: str = "") -> None:
    match.begin_deal([hand.split() for hand in hands], stock.split())


def say(match: Match, script: str) -> FinishedDeal | None:
    """Carry out "seat action, seat action, …"; returns the deal that the last of them ended, or None."""
    ended = None
    for step in script.split(", "):
        seat, action = step.split(" ", 1)
        assert ended is None, f"the deal is over before {step}"
        assert match.seat == int(seat), f"it is seat {match.seat}'s turn, not {step}"
        ended = match.play(action)
    return ended


def end(match: Match, script: str) -> FinishedDeal:
    """As `say`, for a script that ends the deal."""
    ended = say(match, script)
    assert ended is not None, "the deal goes on"
    return ended


def play_in_the_order_dealt(match: Match) -> FinishedDeal:
    """Everyone plays the first card of the hand, as it was dealt, that may be played; returns the deal that ends."""
    while True:
        assert match.seat is not None
        legal = match.legal()
        ended = match.play(next(card for card in match.dealt(match.seat) if card in legal))
        if ended is not None:
            return ended


def may(match: Match, *names: str) -> bool:
    """Whether exactly these actions are legal."""
    return match.legal() == sorted(names)


# Common to all


@pytest.mark.parametrize("dealer", range(3))
def test_C1_seats_run_clockwise_and_the_left_of_the_last_is_seat_0(dealer: int) -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, dealer=dealer)
    asked = []
    for _ in range(3):
        asked.append(match.seat)
        match.play("pass")
    assert asked == [(dealer + 1) % 3, (dealer + 2) % 3, dealer]


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(RANKS)))
@pytest.mark.parametrize("suit", "CDHS")
def test_C2_ranks_rise_from_2_to_ace_in_every_suit(lower: str, higher: str, suit: str) -> None:
    match = table("german", lower + suit, higher + suit, dealer=1, min_bid=1)
    assert end(match, f"0 bid 1, 0 {lower}{suit}, 1 {higher}{suit}").tricks_won == [0, 1]


def test_C2_the_pack_of_36_begins_with_the_6() -> None:
    pack = [CARDS[card] for card in PRESETS["russian"].pack]
    assert sorted(pack) == sorted(rank + suit for suit in "CDHS" for rank in "6789TJQKA")


@pytest.mark.parametrize(
    ("suits", "lowest_rank", "pack"),
    [(1, "Q", "QC KC AC"), (2, "K", "KC AC KD AD"), (3, "A", "AC AD AH"), (4, "A", "AC AD AH AS")],
)
def test_C2_the_pack_takes_clubs_first_then_diamonds_hearts_spades(suits: int, lowest_rank: str, pack: str) -> None:
    rules = Ruleset.make("german", players=2, hand_size=1, min_bid=1, suits=suits, lowest_rank=lowest_rank)
    assert [CARDS[card] for card in rules.pack] == pack.split()


@pytest.mark.parametrize("preset", PRESETS)
def test_C3_five_cards_each_the_rest_is_the_stock_and_as_many_tricks_as_cards(preset: str) -> None:
    match = Match(preset, seed=1, stop="never")
    assert [len(hand) for hand in match.hands] == [5, 5, 5, 5]
    rules = match.rules
    ended = None
    while ended is None:
        ended = match.play(match.legal()[0])  # not a pass: "bid" comes before "pass"
    assert not ended.void
    assert len(ended.stock) == rules.pack_size - 20
    assert [len(trick) for trick in ended.tricks] == [4, 4, 4, 4, 4]
    assert sum(ended.tricks_won) == 5


def test_C4_the_declarer_leads_any_card_and_the_winner_of_a_trick_leads_any_card_next() -> None:
    match = table("german", "2S 3H 4D", "AS 3D 5H", "6H 7H 8H", dealer=2)
    say(match, "0 pass, 1 bid 2, 2 pass")
    assert match.seat == 1
    assert may(match, "AS", "3D", "5H")
    say(match, "1 5H, 2 6H, 0 3H")  # hearts are trump, seat 2 takes the trick
    assert match.seat == 2
    assert may(match, "7H", "8H")


def test_C5_a_player_with_the_suit_led_must_follow() -> None:
    match = table("german", "2S 3S 4D", "AS 3D 5H", dealer=1)
    say(match, "0 bid 2, 1 pass, 0 2S")
    assert may(match, "AS")
    say(match, "1 AS, 1 3D")  # the declarer too
    assert may(match, "4D")


def test_C6_the_highest_trump_takes_the_trick() -> None:
    match = table("german", "2S 6D", "4S AD", "3C 3S", dealer=2)
    say(match, "0 bid 2, 0 2S, 1 4S, 2 3S, 1 AD, 2 3C, 0 6D")
    assert match.history[0].tricks_won == [0, 2, 0]
    match = table("german", "2S 3S 6D", "4S AD KD", "2C 3C 4C", dealer=2)
    say(match, "0 bid 2, 1 pass, 2 pass, 0 2S, 1 4S, 2 2C")  # spades are trump
    say(match, "1 AD, 2 3C, 0 6D, 1 KD, 2 4C, 0 3S")  # and the last one beats the king of the suit led
    assert match.history[0].tricks_won == [1, 2, 0]


def test_C6_without_a_trump_the_highest_of_the_suit_led_takes_the_trick_and_suits_are_equal() -> None:
    match = table("german", "2S 3C", "AS 2C", "AH AD", dealer=2)
    say(match, "0 bid 2, 0 2S, 1 AS, 2 AH")  # spades are trump and seat 1 leads
    assert end(match, "1 2C, 2 AD, 0 3C").tricks_won == [1, 1, 0]  # an ace of another suit is worth nothing


def test_C7_the_deal_passes_to_the_left_after_every_deal_void_ones_too() -> None:
    match = table_of_many_deals("german", players=3, hand_size=5, dealer=1, deals=3)
    for dealer in (1, 2, 0, 1):
        deal_next(match, SPADES, HEARTS, DIAMONDS)
        assert match.dealer == dealer
        for _ in range(3):
            match.play("pass")
    deal_next(match, SPADES, HEARTS, DIAMONDS)
    assert match.dealer == 2
    say(match, "0 bid 5")
    play_in_the_order_dealt(match)
    deal_next(match, SPADES, HEARTS, DIAMONDS)
    assert match.dealer == 0


def test_C8_a_fixed_first_dealer_and_a_drawn_one() -> None:
    assert [Match("german", seed=3, dealer=seat).dealer for seat in range(4)] == [0, 1, 2, 3]
    assert {Match("german", seed=seed).dealer for seed in range(40)} == {0, 1, 2, 3}  # that it is uniform: test_dealing


def test_C9_a_match_is_its_number_of_deals_long_and_the_highest_total_wins() -> None:
    match = table_of_many_deals("german", players=2, hand_size=2, dealer=1, deals=2)
    deal_next(match, "AS KS", "2S 3S")
    end(match, "0 bid 2, 0 AS, 1 2S, 0 KS, 1 3S")  # Napoleon: 2 × 2
    assert match.scores == [4, -4]
    assert not match.over
    assert match.winners == []
    deal_next(match, "2H 3S", "AS KH")
    end(match, "1 bid 2, 1 AS, 0 3S, 1 KH, 0 2H")
    assert match.scores == [0, 0]  # 4 − 4
    assert match.over
    assert not match.truncated
    assert match.winners == [0, 1]  # equal totals share the win
    assert PRESETS["german"].deals == PRESETS["portuguese"].deals == PRESETS["russian"].deals == 1


def test_C10_who_could_only_pass_is_passed_without_being_asked() -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, dealer=2)
    say(match, "0 bid 5")  # nothing is higher: seats 1 and 2 are not asked
    assert match.phase == "play"
    assert match.seat == 0
    assert match.calls == [(0, "bid 5")]


def test_C10_a_forced_card_is_asked_for() -> None:
    match = table("german", "AS KS", "2S 3H", dealer=1)
    say(match, "0 bid 2, 0 AS")
    assert match.seat == 1
    assert may(match, "2S")


def test_C10_nobody_is_asked_in_an_auction_with_one_possible_answer() -> None:
    for seed in range(60):
        match = Match(list(PRESETS)[seed % 4], seed=seed, players=2 + seed % 5)
        while match.phase == "auction" and not match.history:
            assert len(match.legal()) > 1
            match.play(match.legal()[seed % len(match.legal())])


def test_C11_who_has_passed_is_out_of_the_auction() -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, dealer=2)
    say(match, "0 pass, 1 bid 2, 2 bid 3, 1 bid 4, 2 pass")  # seat 0 is not asked again
    assert match.declarer == 1
    assert match.phase == "play"


# German


def test_G1_the_seat_left_of_the_dealer_speaks_first_and_calls_go_clockwise() -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, "9S 9H 9D 8S 8H", dealer=1)
    say(match, "2 bid 2, 3 bid 3, 0 bid 4, 1 pass, 2 pass, 3 pass")
    assert match.declarer == 0


def test_G2_bids_run_from_2_to_5_each_higher_than_the_last() -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, dealer=2)
    assert may(match, "pass", "bid 2", "bid 3", "bid 4", "bid 5")
    say(match, "0 bid 3")
    assert may(match, "pass", "bid 4", "bid 5")
    with pytest.raises(IllegalActionError, match="G2"):
        match.play("bid 3")


def test_G2_who_was_overbid_is_asked_again() -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, dealer=2)
    say(match, "0 bid 2, 1 bid 3, 2 pass")
    assert match.seat == 0
    assert may(match, "pass", "bid 4", "bid 5")
    say(match, "0 bid 4, 1 pass")
    assert (match.declarer, match.contract) == (0, "bid 4")


def test_G2_the_last_player_is_asked_though_all_others_passed() -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, dealer=2)
    say(match, "0 pass, 1 pass")
    assert match.seat == 2
    assert may(match, "pass", "bid 2", "bid 3", "bid 4", "bid 5")
    say(match, "2 bid 2")
    assert (match.declarer, match.phase) == (2, "play")


def test_G3_all_pass_the_deal_is_void_does_not_count_and_the_next_dealer_deals() -> None:
    match = table_of_many_deals("german", players=3, hand_size=5, dealer=2)
    deal_next(match, SPADES, HEARTS, DIAMONDS)
    ended = end(match, "0 pass, 1 pass, 2 pass")
    assert ended.void
    assert ended.payoffs == [0, 0, 0]
    assert not match.over
    deal_next(match, SPADES, HEARTS, DIAMONDS)
    assert match.dealer == 0
    say(match, "1 pass, 2 pass, 0 bid 2")
    play_in_the_order_dealt(match)
    assert match.over


def test_G4_the_suit_of_the_first_card_led_is_trump() -> None:
    match = table("german", "2H AS", "KS KD", dealer=1)
    say(match, "0 bid 2")
    assert match.trump is None
    say(match, "0 2H")
    assert match.trump == "H"


def test_G5_who_is_void_may_play_any_card() -> None:
    match = table("german", "2H AS", "KS 3D", "4H 5H", dealer=2)
    say(match, "0 bid 2, 0 2H")
    assert may(match, "KS", "3D")
    say(match, "1 KS, 2 4H, 2 5H")
    assert may(match, "AS")
    match = table("german", "2S AS", "KH 3D", "4C 3S", dealer=2)
    say(match, "0 bid 2, 0 2S, 1 KH, 2 3S, 2 4C")  # spades are trump, clubs led
    assert may(match, "AS")  # the last card
    match = table("german", "2S 6S AD", "KH 3D 2D", "4C 3S 5C", dealer=2)
    say(match, "0 bid 2, 1 pass, 2 pass, 0 2S, 1 KH, 2 3S, 2 4C")
    assert may(match, "6S", "AD")  # void in clubs: a trump or not


def test_G6_all_tricks_are_played() -> None:
    match = table("german", SPADES, HEARTS, dealer=1)
    say(match, "0 bid 2, 1 pass")
    ended = play_in_the_order_dealt(match)
    assert ended.tricks_won == [5, 0]
    match = table("german", "2S 3S 4S 5S", "6S 7S 8S 9S", dealer=1)
    say(match, "0 bid 3, 1 pass")
    assert play_in_the_order_dealt(match).tricks_won == [0, 4]  # failed at the second trick, and played on


def test_G7_made_every_defender_pays_the_bid_and_no_more_for_extra_tricks() -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, dealer=2)
    say(match, "0 bid 3, 1 pass, 2 pass")
    ended = play_in_the_order_dealt(match)
    assert ended.tricks_won == [5, 0, 0]
    assert ended.payoffs == [6, -3, -3]  # 3 + 3


def test_G7_failed_the_declarer_pays_every_defender_the_bid() -> None:
    match = table("german", "2S 3S 4S", "5S 6S 7S", "2H 3H 4H", "2D 3D 4D", dealer=3)
    say(match, "0 bid 2, 1 pass, 2 pass, 3 pass")
    ended = play_in_the_order_dealt(match)
    assert ended.made is False
    assert ended.payoffs == [-6, 2, 2, 2]  # −(2 + 2 + 2)


def test_G7_exactly_the_bid_is_enough() -> None:
    match = table("german", "AS KS 2S", "QS 3S 4S", dealer=1)
    say(match, "0 bid 2, 1 pass")
    ended = end(match, "0 AS, 1 3S, 0 KS, 1 4S, 0 2S, 1 QS")
    assert ended.made
    assert ended.payoffs == [2, -2]


@pytest.mark.parametrize(("hands", "payoff"), [((SPADES, HEARTS, DIAMONDS), 20), (("2S 3S 4S 5S 6S", SPADES, DIAMONDS), -20)])
def test_G8_Napoleon_counts_double_won_or_lost(hands: tuple[str, ...], payoff: int) -> None:
    match = table("german", *hands, dealer=2)
    say(match, "0 bid 5")
    assert play_in_the_order_dealt(match).payoffs == [payoff, -payoff // 2, -payoff // 2]  # 5 × 2 from or to each of two


def test_G9_Wellington_is_off_by_default() -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, dealer=2)
    with pytest.raises(IllegalActionError, match="wellington is off"):
        match.play("wellington")


def test_G9_Wellington_only_over_another_players_Napoleon_by_one_who_has_not_passed() -> None:
    match = table("german", SPADES, HEARTS, DIAMONDS, "9S 9H 9D 8S 8H", dealer=3, wellington=(20, 20))
    assert "wellington" not in match.legal()
    say(match, "0 pass, 1 bid 4")
    assert "wellington" not in match.legal()
    say(match, "2 bid 5")
    assert may(match, "pass", "wellington")
    say(match, "3 pass")
    assert match.seat == 1  # seat 0 has passed and is not asked
    say(match, "1 wellington")
    assert (match.declarer, match.contract, match.phase) == (1, "wellington", "play")  # nothing is higher


@pytest.mark.parametrize(("hand", "payoff"), [(HEARTS, 40), ("2S 3S 4S 5S 6S", -40)])
def test_G9_Wellington_promises_all_tricks_and_pays_twice_Napoleon(hand: str, payoff: int) -> None:
    match = table("german", SPADES, hand, DIAMONDS, dealer=2, wellington=(20, 20))
    say(match, "0 bid 5, 1 wellington")
    assert play_in_the_order_dealt(match).payoffs == [-payoff // 2, payoff, -payoff // 2]  # 20 from or to each of two


def test_G9_four_tricks_do_not_make_Wellington() -> None:
    match = table("german", "2S 3S 4S 5S TH", "AH KH QH JH 9H", dealer=1, wellington=(20, 20))
    say(match, "0 bid 5, 1 wellington, 1 9H, 0 TH")
    ended = play_in_the_order_dealt(match)
    assert ended.payoffs == [20, -20]


@pytest.mark.parametrize(("players", "stock"), [(2, 42), (3, 37), (4, 32), (5, 27), (6, 22)])
def test_G10_five_cards_each_from_52_for_any_number_of_players(players: int, stock: int) -> None:
    match = Match("german", seed=1, players=players)
    assert [len(hand) for hand in match.hands] == [5] * players
    assert match.rules.stock_size == stock  # 52 − 5 × players


def test_G10_the_pack_and_the_hands_can_be_set() -> None:
    match = Match("german", seed=1, players=6, hand_size=6, lowest_rank="6")
    assert [len(hand) for hand in match.hands] == [6] * 6
    assert match.rules.stock_size == 0  # 36 − 6 × 6


# Portuguese


def test_P1_every_seat_speaks_once_the_left_of_the_dealer_first_the_dealer_last() -> None:
    match = table("portuguese", SPADES, HEARTS, DIAMONDS, dealer=1)
    say(match, "2 bid 1, 0 bid 2, 1 bid 3")  # who was overbid is not asked again
    assert (match.declarer, match.contract, match.phase) == (1, "bid 3", "trump")


def test_P2_bids_run_from_1_to_5_each_higher_than_the_last() -> None:
    match = table("portuguese", SPADES, HEARTS, DIAMONDS, dealer=2)
    assert may(match, "pass", "bid 1", "bid 2", "bid 3", "bid 4", "bid 5")
    say(match, "0 bid 2")
    assert may(match, "pass", "bid 3", "bid 4", "bid 5")


def test_P3_all_pass_the_dealer_plays_a_contract_of_1() -> None:
    match = table("portuguese", "AS 2H", "3H KS", "4H 5H", dealer=1)
    say(match, "2 pass, 0 pass, 1 pass")
    assert (match.declarer, match.contract, match.seat) == (1, "bid 1", 1)
    ended = end(match, "1 trump S, 1 KS, 2 4H, 0 AS, 0 2H, 1 3H, 2 5H")
    assert ended.tricks_won == [1, 0, 1]
    assert ended.payoffs == [0, 0, 0]
    match = table("portuguese", "AS 2H", "3H KS", "4H 5H", dealer=0)
    ended = end(match, "1 pass, 2 pass, 0 pass, 0 trump S, 0 AS, 1 KS, 2 4H, 0 2H, 1 3H, 2 5H")
    assert ended.payoffs == [1, 0, 0]  # one trick bid, one taken


def test_P4_the_declarer_chooses_trump_before_the_first_lead_and_leads_any_card() -> None:
    match = table("portuguese", SPADES, "AH KH 2D 3D 4C", dealer=0)
    say(match, "1 bid 3, 0 pass")
    assert may(match, "trump C", "trump D", "trump H", "trump S")
    say(match, "1 trump C")
    assert match.trump == "C"
    assert may(match, "AH", "KH", "2D", "3D", "4C")
    say(match, "1 2D, 0 AS")
    assert match.trump == "C"
    assert match.seat == 1  # spades are not trump


def test_P5_void_any_card_and_all_tricks_are_played() -> None:
    match = table("portuguese", "AS KS 2S", "3D 4D 2C", dealer=1)
    say(match, "0 bid 1, 1 pass, 0 trump D, 0 AS")
    assert may(match, "3D", "4D", "2C")
    ended = end(match, "1 2C, 0 KS, 1 3D, 1 4D, 0 2S")
    assert ended.tricks_won == [1, 2]


@pytest.mark.parametrize(("bid", "payoff"), [(1, 0), (2, 2), (3, 0)])
def test_P6_a_point_a_trick_if_exactly_the_bid_is_taken_else_nothing(bid: int, payoff: int) -> None:
    match = table("portuguese", "AS KS 2H", "3S 4S AH", "3D 4D 5D", dealer=2)
    say(match, f"0 bid {bid}")
    while match.seat != 0:
        match.play("pass")
    ended = end(match, "0 trump S, 0 AS, 1 3S, 2 3D, 0 KS, 1 4S, 2 4D, 0 2H, 1 AH, 2 5D")
    assert ended.tricks_won == [2, 1, 0]
    assert ended.payoffs == [payoff, 0, 0]


@pytest.mark.parametrize(("bid", "payoff"), [(1, 2), (2, 2), (3, 0)])
def test_P6_read_as_at_least_extra_tricks_score_too(bid: int, payoff: int) -> None:
    match = table("portuguese", "AS KS 2H", "3S 4S AH", dealer=1, made="at_least")
    say(match, f"0 bid {bid}")
    while match.seat != 0:
        match.play("pass")
    assert end(match, "0 trump S, 0 AS, 1 3S, 0 KS, 1 4S, 0 2H, 1 AH").payoffs == [payoff, 0]


# Russian


def test_R1_everybody_puts_the_ante_in_before_each_deal_void_ones_too() -> None:
    match = table_of_many_deals("russian", players=3, hand_size=3, dealer=0, ante=2)
    deal_next(match, "AS KS QS", "AH KH QH", "AD KD QD", stock="6C")
    assert match.pot == 6  # 3 × 2
    ended = end(match, "0 pass, 1 pass, 2 pass")
    assert ended.payoffs == [-2, -2, -2]
    deal_next(match, "AS KS QS", "AH KH QH", "AD KD QD", stock="6C")
    assert match.pot == 12
    assert PRESETS["russian"].ante == 1


def test_R2_the_dealer_speaks_first_then_clockwise_until_all_but_one_have_passed() -> None:
    match = table("russian", SPADES, HEARTS, DIAMONDS, dealer=1)
    say(match, "1 bid 1, 2 bid 2, 0 bid 3, 1 bid 4, 2 pass, 0 pass")
    assert (match.declarer, match.contract) == (1, "bid 4")


def test_R3_bids_run_from_1_to_5_each_higher_than_the_last() -> None:
    match = table("russian", SPADES, HEARTS, dealer=0)
    assert may(match, "pass", "bid 1", "bid 2", "bid 3", "bid 4", "bid 5")
    say(match, "0 bid 1")
    assert may(match, "pass", "bid 2", "bid 3", "bid 4", "bid 5")


def test_R4_the_dealer_may_hold_at_the_same_number_and_the_others_only_go_higher() -> None:
    match = table("russian", SPADES, HEARTS, DIAMONDS, dealer=1)
    assert "hold" not in match.legal()  # nothing to take over
    say(match, "1 bid 1")
    assert "hold" not in match.legal()  # seat 2 is not the dealer
    say(match, "2 bid 3, 0 pass")
    assert may(match, "pass", "hold", "bid 4", "bid 5")
    say(match, "1 hold")
    assert (match.declarer, match.contract) == (1, "bid 3")
    assert may(match, "pass", "bid 4", "bid 5")  # seat 2, who bid 3, must go higher
    say(match, "2 bid 5")
    assert may(match, "pass", "hold")  # as often as it comes back; a hold keeps C10 from passing the dealer
    say(match, "1 hold")
    assert (match.declarer, match.contract, match.phase) == (1, "bid 5", "announce")


def test_R4_a_dealer_who_has_passed_may_not_hold() -> None:
    match = table("russian", SPADES, HEARTS, DIAMONDS, dealer=1)
    say(match, "1 pass, 2 bid 3, 0 pass")
    assert (match.declarer, match.phase) == (2, "exchange")


def test_R5_all_pass_the_deal_is_void_and_the_antes_stay_in_the_pot() -> None:
    match = table_of_many_deals("russian", players=2, hand_size=3, dealer=0)
    deal_next(match, "AS KS QS", "AH KH QH", stock="6C")
    ended = end(match, "0 pass, 1 pass")
    assert ended.void
    assert ended.payoffs == [-1, -1]
    assert ended.pot == 2
    deal_next(match, "AS KS QS", "AH KH QH", stock="6C")
    assert match.dealer == 1
    assert match.pot == 4


def test_R6_only_a_contract_of_all_tricks_is_asked_about_Napoleon_before_the_exchange() -> None:
    match = table("russian", "AS KS QS", "AH KH QH", dealer=0, stock="6C")
    say(match, "0 bid 2, 1 bid 3")
    assert may(match, "pass", "hold")
    say(match, "0 hold")
    assert match.phase == "announce"
    assert match.seat == 0
    assert may(match, "napoleon", "no napoleon")
    say(match, "0 no napoleon")
    assert not match.announced
    assert match.phase == "exchange"
    match = table("russian", "AS KS QS", "AH KH QH", dealer=0, stock="6C")
    say(match, "0 bid 2, 1 pass")
    assert match.phase == "exchange"


def test_R7_the_declarer_discards_one_card_and_then_takes_the_top_of_the_stock() -> None:
    match = table("russian", "AS KS 6H", "AH KH QH", dealer=0, stock="QS 6C")
    say(match, "0 bid 2, 1 pass")
    assert may(match, "stand", "discard AS", "discard KS", "discard 6H")
    say(match, "0 discard 6H")
    assert sorted(match.hands[0]) == ["AS", "KS", "QS"]
    assert (match.discarded, match.drawn) == ("6H", "QS")
    assert match.phase == "play"  # one card, once
    assert match.view(1).discarded is None  # face down


def test_R7_or_stands() -> None:
    match = table("russian", "AS KS 6H", "AH KH QH", dealer=0, stock="QS 6C")
    say(match, "0 bid 2, 1 pass, 0 stand")
    assert sorted(match.hands[0]) == ["6H", "AS", "KS"]
    assert match.phase == "play"


def test_R7_the_card_discarded_does_not_come_back() -> None:
    match = table("russian", "AS KS 6H", "AH KH QH", dealer=0, stock="QS")
    say(match, "0 bid 2, 1 pass, 0 discard AS")
    assert may(match, "KS", "6H", "QS")


def test_R8_the_first_card_led_fixes_trump() -> None:
    match = table("russian", "AS KS 6H", "AH KH QH", dealer=0, stock="QS")
    say(match, "0 bid 1, 1 pass, 0 stand, 0 6H")
    assert match.trump == "H"


def test_R9_void_in_the_led_suit_must_trump() -> None:
    match = table("russian", "6S KS AD", "7S 8S AH", "9D TD AS", dealer=0, stock="6C")
    say(match, "0 bid 1, 1 pass, 2 pass, 0 stand, 0 6S, 1 7S, 2 AS")  # spades are trump and seat 2 leads
    say(match, "2 9D, 0 AD")
    assert may(match, "8S")  # no diamond; the ace of hearts may not be thrown away


def test_R9_void_without_a_trump_any_card() -> None:
    match = table("russian", "6S KS AD", "7H 8H 9C", "9D TD AS", dealer=0, stock="6C")
    say(match, "0 bid 1, 1 pass, 2 pass, 0 stand, 0 6S")
    assert may(match, "7H", "8H", "9C")


def test_R9_nobody_has_to_trump_when_able_to_follow() -> None:
    match = table("russian", "6S 9S AD", "7S 8C TS", "8D TD AS", dealer=0, stock="6C")
    say(match, "0 bid 1, 1 pass, 2 pass, 0 stand, 0 6S, 1 7S, 2 AS, 2 8D")  # spades are trump, diamonds led
    assert may(match, "AD")
    say(match, "0 AD")
    assert may(match, "TS")


@pytest.mark.parametrize("trump_on_the_table", ["TS", "KS"])
def test_R9_nobody_has_to_overtrump_but_a_trump_must_be_played_even_if_it_cannot_win(trump_on_the_table: str) -> None:
    match = table("russian", f"6S 7H {trump_on_the_table}", "JS 8S 9S", "8D TD AS", dealer=0, stock="6C")
    say(match, f"0 bid 1, 1 pass, 2 pass, 0 stand, 0 6S, 1 8S, 2 AS, 2 8D, 0 {trump_on_the_table}")
    assert may(match, "JS", "9S")


def test_R10_play_stops_when_the_declarer_has_the_bid_number_of_tricks() -> None:
    match = table("russian", "AS KS QS", "6S 7S 8S", dealer=0, stock="6C")
    ended = end(match, "0 bid 2, 1 pass, 0 stand, 0 AS, 1 6S, 0 KS, 1 7S")
    assert ended.tricks_won == [2, 0]
    assert ended.made


def test_R10_otherwise_play_goes_on_to_the_last_trick() -> None:
    match = table("russian", "AS 6H 7H", "6S AH 8S", dealer=0, stock="6C")
    ended = end(match, "0 bid 3, 0 no napoleon, 0 stand, 0 6H, 1 AH, 1 8S, 0 AS, 0 7H, 1 6S")
    assert ended.tricks_won == [2, 1]
    assert not ended.made


def test_R11_made_every_defender_pays_the_bid_times_the_stake() -> None:
    match = table("russian", "AS KS QS", "6S 7S 8S", "6H 7H 8H", dealer=0, stock="6C", stake=4)
    ended = end(match, "0 bid 2, 1 pass, 2 pass, 0 stand, 0 AS, 1 6S, 2 6H, 0 KS, 1 7S, 2 7H")
    assert ended.payoffs == [15, -9, -9]  # 2 × 4 from each of two, less the ante of 1
    assert ended.pot == 3  # the antes
    assert PRESETS["russian"].stake == 1


def test_R12_failed_the_declarer_pays_every_defender_and_the_same_once_into_the_pot() -> None:
    match = table("russian", "6S 7S", "8S 9S", "6H 7H", dealer=0, stock="6C", stake=4)
    ended = end(match, "0 bid 1, 1 pass, 2 pass, 0 stand, 0 6S, 1 8S, 2 6H, 1 9S, 2 7H, 0 7S")
    assert ended.payoffs == [-13, 3, 3]  # −(4 + 4 + 4) − 1; 4 − 1
    assert ended.pot == 7  # antes of 3, and 4


def test_R13_Napoleon_announced_and_made_wins_the_pot_too() -> None:
    match = table("russian", "AS KS", "6S 7S", dealer=0, stock="6C", pot=10)
    ended = end(match, "0 bid 2, 0 napoleon, 0 stand, 0 AS, 1 6S, 0 KS, 1 7S")
    assert ended.payoffs == [13, -3]  # 2 + the pot of 10 + 2 antes − 1; −2 − 1
    assert ended.pot == 0


def test_R13_all_tricks_without_the_announcement_leave_the_pot() -> None:
    match = table("russian", "AS KS", "6S 7S", dealer=0, stock="6C", pot=10)
    ended = end(match, "0 bid 2, 0 no napoleon, 0 stand, 0 AS, 1 6S, 0 KS, 1 7S")
    assert ended.payoffs == [1, -3]  # 2 − 1; −2 − 1
    assert ended.pot == 12  # 10 + 2 antes


NAPOLEON_LOST = "0 bid 2, 0 napoleon, 0 stand, 0 6S, 1 8S, 2 6H, 1 9S, 2 7H, 0 7S"


def test_R14_Napoleon_announced_and_failed_doubles_the_pot() -> None:
    match = table("russian", "6S 7S", "8S 9S", "6H 7H", dealer=0, stock="6C", pot=10)
    ended = end(match, NAPOLEON_LOST)
    assert ended.payoffs == [-18, 1, 1]  # K = 10 + 3 antes: −(2 + 2) − 13 − 1; 2 − 1
    assert ended.pot == 26  # 2 × 13


def test_R14_the_other_reading_pays_K_to_every_defender_too() -> None:
    match = table("russian", "6S 7S", "8S 9S", "6H 7H", dealer=0, stock="6C", pot=10, napoleon_failed="double_pot_and_each")
    ended = end(match, NAPOLEON_LOST)
    assert ended.payoffs == [-40, 12, 12]  # −(13 + 13) − 13 − 1; 13 − 1
    assert ended.pot == 26


def test_R14_a_contract_of_all_tricks_without_the_announcement_fails_as_any_other() -> None:
    match = table("russian", "6S 7S", "8S 9S", "6H 7H", dealer=0, stock="6C", pot=10, napoleon_failed="double_pot_and_each")
    ended = end(match, NAPOLEON_LOST.replace("napoleon", "no napoleon"))
    assert ended.payoffs == [-7, 1, 1]  # R12: −(2 + 2 + 2) − 1; 2 − 1
    assert ended.pot == 15  # 10 + 3 + 2


def test_R15_the_pot_is_nobodys_after_the_last_deal() -> None:
    match = table("russian", "AS KS", "6S 7S", dealer=0, stock="6C", pot=10)
    end(match, "0 bid 1, 1 pass, 0 stand, 0 AS, 1 6S")
    assert match.over
    assert match.pot == 12
    assert match.scores == [0, -2]  # 1 − 1; −1 − 1


@pytest.mark.parametrize("napoleon_failed", ["double_pot", "double_pot_and_each"])
@pytest.mark.parametrize("players", range(2, 7))
def test_R16_payoffs_and_the_change_of_the_pot_add_up_to_zero(players: int, napoleon_failed: str) -> None:
    for seed in range(25):
        match = Match("russian", seed=seed, players=players, deals=4, napoleon_failed=napoleon_failed, ante=3, stake=2)
        pot = 0
        while not match.over:
            legal = match.legal()
            ended = match.play(legal[(seed + len(legal) + len(match.log)) % len(legal)])
            if ended is not None:
                assert sum(ended.payoffs) + ended.pot - pot == 0
                pot = ended.pot
        assert sum(match.scores) + match.pot == 0


# English


def test_E1_the_left_of_the_dealer_first_the_first_lead_is_trump_and_void_any_card() -> None:
    match = table("english", SPADES, "AH KH QD JD TD", dealer=0)
    say(match, "1 bid 3, 0 pass, 1 AH")
    assert match.trump == "H"
    assert may(match, *SPADES.split())
    assert PRESETS["english"].pack_size == 52


def test_E2_every_seat_speaks_once_and_calls_rise_over_misere_to_Blucher() -> None:
    match = table("english", SPADES, HEARTS, DIAMONDS, "9S 9H 9D 8S 8H", "9C 8C 7C 6C 5C", "2C 3C 2D 3D 2H", dealer=5)
    assert may(match, "pass", "bid 2", "bid 3", "misere", "bid 4", "bid 5")
    say(match, "0 bid 3")
    assert may(match, "pass", "misere", "bid 4", "bid 5")
    say(match, "1 misere")
    assert may(match, "pass", "bid 4", "bid 5")
    say(match, "2 bid 5")
    assert may(match, "pass", "wellington")
    say(match, "3 wellington")
    assert may(match, "pass", "blucher")
    say(match, "4 blucher")  # nothing is higher: seat 5 is not asked
    assert (match.declarer, match.contract, match.phase) == (4, "blucher", "play")


def test_E2_neither_Wellington_over_misere_nor_Blucher_over_Nap() -> None:
    match = table("english", SPADES, HEARTS, DIAMONDS, dealer=2)
    say(match, "0 misere")
    assert may(match, "pass", "bid 4", "bid 5")
    match = table("english", SPADES, HEARTS, DIAMONDS, dealer=2)
    say(match, "0 bid 5")
    assert may(match, "pass", "wellington")


def test_E2_a_misere_has_no_trump() -> None:
    match = table("english", "2S 3S 4H 5H 6H", "AS KD QD JD TD", "AH 2D 3D 4D 5D", dealer=2)
    say(match, "0 misere, 1 pass, 2 pass, 0 2S, 1 AS, 2 5D")
    assert match.trump is None
    say(match, "1 KD, 2 2D, 0 3S")  # a spade, the suit first led, takes no trick
    assert match.seat == 1


def test_E3_all_pass_the_deal_is_void() -> None:
    match = table("english", SPADES, HEARTS, DIAMONDS, dealer=2)
    ended = end(match, "0 pass, 1 pass, 2 pass")
    assert ended.void
    assert ended.payoffs == [0, 0, 0]


ALL_TRICKS, NO_TRICK = SPADES, "2H 3H 4H 5H 6H"


@pytest.mark.parametrize(
    ("auction", "made", "failed"),
    [
        ("0 pass, 1 pass, 2 bid 2", 2, 2),
        ("0 pass, 1 pass, 2 bid 3", 3, 3),
        ("0 pass, 1 pass, 2 misere", 3, 3),
        ("0 pass, 1 pass, 2 bid 4", 4, 4),
        ("0 pass, 1 pass, 2 bid 5", 10, 5),
        ("0 bid 5, 1 pass, 2 wellington", 10, 10),
        ("0 bid 5, 1 wellington, 2 blucher", 10, 20),
    ],
)
def test_E4_what_each_defender_pays_or_gets(auction: str, made: int, failed: int) -> None:
    misere = "misere" in auction
    for hand, payment in ((ALL_TRICKS, -failed if misere else made), (NO_TRICK, made if misere else -failed)):
        match = table("english", HEARTS, DIAMONDS, hand, dealer=2)
        say(match, auction)
        assert play_in_the_order_dealt(match).payoffs == [-payment, -payment, 2 * payment]


@pytest.mark.parametrize(
    ("call", "hand", "n_tricks"),
    [
        ("bid 2", ALL_TRICKS, 2),  # made with the second trick
        ("bid 2", NO_TRICK, 4),  # with one trick left, two are impossible
        ("bid 4", ALL_TRICKS, 4),
        ("bid 4", NO_TRICK, 2),
        ("bid 5", NO_TRICK, 1),
        ("bid 5", ALL_TRICKS, 5),
        ("misere", ALL_TRICKS, 1),  # at the first trick the declarer takes
        ("misere", NO_TRICK, 5),
    ],
)
def test_E5_play_stops_as_soon_as_the_contract_is_decided(call: str, hand: str, n_tricks: int) -> None:
    match = table("english", HEARTS, hand, dealer=1)
    say(match, f"0 pass, 1 {call}")
    assert len(play_in_the_order_dealt(match).tricks) == n_tricks


def test_E5_Wellington_ends_at_the_first_trick_lost() -> None:
    match = table("english", HEARTS, "2H AD KD QD JD", dealer=1)
    say(match, "0 bid 5, 1 wellington")
    ended = end(match, "1 2H, 0 AH")
    assert ended.payoffs == [10, -10]


# How the fields meet


def test_fields_the_declarer_announces_then_exchanges_then_chooses_trump_then_leads() -> None:
    match = table("russian", "AS KS", "6S 7S", dealer=0, stock="6C", trump="chosen")
    phases = []
    for action in ("bid 2", "napoleon", "discard AS", "trump C", "6C"):
        phases.append(match.phase)
        match.play(action)
    assert phases == ["auction", "announce", "exchange", "trump", "play"]
    assert match.trump == "C"


def test_fields_a_trump_question_in_a_pack_of_one_suit_is_asked() -> None:
    match = table("portuguese", "2C 3C", "4C 5C", dealer=1, suits=1)
    say(match, "0 bid 1, 1 pass")
    assert may(match, "trump C")


def test_fields_decided_ends_an_exact_contract_at_one_trick_too_many_and_not_before() -> None:
    match = table("portuguese", SPADES, HEARTS, dealer=1, stop="decided")
    say(match, "0 bid 2, 1 pass, 0 trump S")
    ended = play_in_the_order_dealt(match)
    assert ended.tricks_won == [3, 0]
    assert ended.payoffs == [0, 0]
    match = table("portuguese", "AS KS 2H", "3S 4S AH", dealer=1, stop="decided")
    ended = end(match, "0 bid 2, 1 pass, 0 trump S, 0 AS, 1 3S, 0 KS, 1 4S, 0 2H, 1 AH")
    assert ended.payoffs == [2, 0]
    match = table("portuguese", "2S 3S 2H", "4S 5S AH", dealer=1, stop="decided")
    assert not end(match, "0 bid 2, 1 pass, 0 trump S, 0 2S, 1 4S, 1 5S, 0 3S").made  # two are impossible


def test_fields_an_exact_contract_between_payers() -> None:
    match = table("german", "AS KS QS", "2H 3H 4H", dealer=1, made="exactly")
    say(match, "0 bid 2, 1 pass")
    assert play_in_the_order_dealt(match).payoffs == [-2, 2]  # three tricks are one too many


def test_fields_under_stop_made_a_misere_is_played_to_the_end() -> None:
    match = table("english", HEARTS, ALL_TRICKS, dealer=1, stop="made")
    say(match, "0 pass, 1 misere")
    ended = play_in_the_order_dealt(match)
    assert len(ended.tricks) == 5
    assert ended.payoffs == [3, -3]


def test_fields_stop_made_does_not_stop_a_contract_that_has_become_impossible() -> None:
    match = table("german", SPADES, "2S 3S 4S 5S 6S", dealer=0, stop="made")
    say(match, "1 bid 4, 0 pass")
    assert len(play_in_the_order_dealt(match).tricks) == 5


def test_fields_slam_counts_for_a_forced_contract_of_1_with_one_card_hands() -> None:
    match = table("portuguese", "AS", "2S", dealer=0, payment="each_defender", slam=(7, 9), trump="first_lead")
    assert end(match, "1 pass, 0 pass, 0 AS, 1 2S").payoffs == [7, -7]  # 1 × 7
    match = table("portuguese", "2S", "AS", dealer=0, payment="each_defender", slam=(7, 9), trump="first_lead")
    assert end(match, "1 pass, 0 pass, 0 2S, 1 AS").payoffs == [-9, 9]  # 1 × 9


def test_fields_slam_multiplies_the_bid_the_stake_and_the_pots_share_but_never_the_pot() -> None:
    cards = {"dealer": 0, "stock": "6C", "pot": 10, "slam": (3, 4), "stake": 5}
    made = end(table("russian", "AS KS", "6S 7S", **cards), "0 bid 2, 0 napoleon, 0 stand, 0 AS, 1 6S, 0 KS, 1 7S")
    assert made.payoffs == [41, -31]  # 2 × 5 × 3 + the pot of 12 − 1; −30 − 1
    lost = "0 stand, 0 6S, 1 8S, 1 9S, 0 7S"
    failed = end(table("russian", "6S 7S", "8S 9S", **cards), f"0 bid 2, 0 napoleon, {lost}")
    assert failed.payoffs == [-53, 39]  # −2 × 5 × 4 − 12 − 1; 40 − 1
    assert failed.pot == 24  # 2 × 12
    plain = end(table("russian", "6S 7S", "8S 9S", **cards), f"0 bid 2, 0 no napoleon, {lost}")
    assert plain.payoffs == [-81, 39]  # −40 − 40 − 1; 40 − 1
    assert plain.pot == 52  # 12 + 40


def test_fields_slam_does_not_touch_a_lower_bid_or_Wellington() -> None:
    match = table("german", SPADES, HEARTS, dealer=1, slam=(9, 9))
    say(match, "0 bid 4, 1 pass")
    assert play_in_the_order_dealt(match).payoffs == [4, -4]
    match = table("german", SPADES, HEARTS, dealer=1, slam=(9, 9), wellington=(20, 20), stake=3)
    say(match, "0 bid 5, 1 wellington")
    assert play_in_the_order_dealt(match).payoffs == [-60, 60]  # 20 × 3


def test_fields_a_failed_misere_puts_one_defenders_share_into_the_pot() -> None:
    match = table("russian", "AS KS QS JS", "6S 7S 8S 9S", "6H 7H 8H 9H", dealer=0, stock="6C", misere=(3, 4), stake=2)
    say(match, "0 misere, 1 pass, 2 pass, 0 stand")
    ended = play_in_the_order_dealt(match)
    assert ended.payoffs == [-25, 7, 7]  # −(8 + 8 + 8) − 1; 4 × 2 − 1
    assert ended.pot == 11  # antes of 3, and 8


def test_fields_a_pot_without_an_ante() -> None:
    match = table("russian", "6S 7S", "8S 9S", dealer=0, stock="6C", ante=0, pot=10)
    ended = end(match, "0 bid 1, 1 pass, 0 stand, 0 6S, 1 8S, 1 9S, 0 7S")
    assert ended.payoffs == [-2, 1]  # 1 to the defender, 1 into the pot
    assert ended.pot == 11


def test_fields_without_announced_Napoleons_nothing_goes_into_a_pot() -> None:
    match = table(
        "russian", "6S 7S", "8S 9S", dealer=0, stock="6C", ante=0, napoleon="bid", napoleon_failed="double_pot_and_each"
    )
    ended = end(match, "0 bid 2, 0 stand, 0 6S, 1 8S, 1 9S, 0 7S")  # no question about Napoleon
    assert ended.payoffs == [-2, 2]
    assert ended.pot == 0


def test_fields_a_misere_under_chosen_has_no_trump_question_and_under_must_trump_no_trump() -> None:
    match = table("russian", "6S 7S 8S 6H", "9S AH KH QH", dealer=0, stock="6C", misere=(3, 3), trump="chosen")
    say(match, "0 misere, 1 pass, 0 stand, 0 6S, 1 9S, 1 AH, 0 6H, 1 KH")
    assert match.trump is None
    assert may(match, "7S", "8S")
    say(match, "0 7S")
    assert match.seat == 1  # not a trump


def test_fields_misere_is_the_lowest_call_where_min_bid_is_4_and_four_is_all_where_hands_have_four() -> None:
    match = table("english", SPADES, HEARTS, dealer=1, min_bid=4)
    assert may(match, "pass", "misere", "bid 4", "bid 5")
    match = table("english", "AS KS QS JS", "AH KH QH JH", dealer=1)
    say(match, "0 misere")
    assert may(match, "pass", "bid 4")
    say(match, "1 bid 4, 1 AH")
    assert match.calls == [(0, "misere"), (1, "bid 4")]  # once round: nobody is asked about Wellington again


def test_fields_a_hold_takes_over_any_call_and_the_first_bidder_may_answer_with_Wellington() -> None:
    changes = {"auction": "circulating", "dealer_holds": True}
    match = table("english", SPADES, HEARTS, DIAMONDS, dealer=2, **changes)
    say(match, "0 misere, 1 pass, 2 hold")
    assert (match.declarer, match.contract) == (2, "misere")
    say(match, "0 bid 5, 2 hold")  # seat 1 has passed
    assert may(match, "pass", "wellington")
    say(match, "0 wellington")
    assert may(match, "pass", "hold", "blucher")
    say(match, "2 hold, 0 blucher, 2 hold")
    assert (match.declarer, match.contract, match.phase) == (2, "blucher", "play")


def test_fields_a_forced_contract_is_1_whatever_the_lowest_bid() -> None:
    match = table("german", SPADES, HEARTS, dealer=1, min_bid=5, all_pass="dealer_plays_one")
    assert may(match, "pass", "bid 5")
    say(match, "0 pass, 1 pass")
    assert (match.declarer, match.contract) == (1, "bid 1")
    assert play_in_the_order_dealt(match).payoffs == [-1, 1]


def test_fields_a_forced_contract_of_all_tricks_is_asked_about_Napoleon() -> None:
    match = table("russian", "AS", "6S", dealer=0, stock="6C", all_pass="dealer_plays_one")
    say(match, "0 pass, 1 pass")
    assert match.phase == "announce"


def test_fields_where_everybody_speaks_once_a_dealer_can_speak_first() -> None:
    match = table("portuguese", SPADES, HEARTS, DIAMONDS, dealer=1, first_speaker="dealer")
    say(match, "1 bid 1, 2 bid 2, 0 bid 3")
    assert (match.declarer, match.phase) == (0, "trump")


def test_fields_bids_go_to_the_hand_size() -> None:
    hands = ("AS KS QS JS TS 9S 8S 7S", "AH KH QH JH TH 9H 8H 7H")
    match = table("german", *hands, dealer=1)
    assert may(match, "pass", *(f"bid {n}" for n in range(2, 9)))
    say(match, "0 bid 5, 1 pass")
    assert play_in_the_order_dealt(match).payoffs == [5, -5]  # five is not all of eight
    match = table("german", *hands, dealer=1)
    say(match, "0 bid 8")
    assert play_in_the_order_dealt(match).payoffs == [16, -16]  # 8 × 2


# Section 7: what keeps matches finite


def test_section_7_so_many_void_deals_in_a_row_truncate_the_match() -> None:
    match = table_of_many_deals("german", players=2, hand_size=2, dealer=1, max_void_deals=2, deals=3)
    deal_next(match, "AS KS", "2S 3S")
    end(match, "0 pass, 1 pass")
    deal_next(match, "AS KS", "2S 3S")
    end(match, "1 pass, 0 bid 2, 0 AS, 1 2S, 0 KS, 1 3S")  # a deal that is played begins the count anew
    deal_next(match, "AS KS", "2S 3S")
    end(match, "0 pass, 1 pass")
    assert not match.over
    deal_next(match, "AS KS", "2S 3S")
    end(match, "1 pass, 0 pass")
    assert match.over
    assert match.truncated
    assert match.scores == [4, -4]
    assert match.winners == [0]  # the highest score so far


def test_section_7_twenty_void_deals_by_default() -> None:
    match = Match("russian", seed=2, players=2)
    while not match.over:
        match.play("pass")
    assert match.truncated
    assert len(match.history) == 20
    assert (match.scores, match.pot) == ([-20, -20], 40)


@pytest.mark.parametrize(("pot", "truncated"), [(LARGEST_EXACT - 2, False), (LARGEST_EXACT - 1, True)])
def test_section_7_more_than_ten_to_the_fifteenth_in_the_pot_truncates(pot: int, truncated: bool) -> None:
    match = table_of_many_deals("russian", players=2, hand_size=2, pot=pot, deals=2)
    deal_next(match, "AS KS", "6S 7S", stock="6C")
    ended = end(match, "0 pass, 1 pass")  # two antes
    assert ended.payoffs == [-1, -1]  # paid exactly
    assert match.pot == pot + 2
    assert (match.over, match.truncated) == (truncated, truncated)


@pytest.mark.parametrize(("pot", "truncated"), [(LARGEST_EXACT - 3, False), (LARGEST_EXACT - 2, True)])
def test_section_7_more_than_that_in_a_score_truncates_won_or_lost(pot: int, truncated: bool) -> None:
    match = table_of_many_deals("russian", players=2, hand_size=2, pot=pot, deals=2)
    deal_next(match, "AS KS", "6S 7S", stock="6C")
    end(match, "0 bid 2, 0 napoleon, 0 stand, 0 AS, 1 6S, 0 KS, 1 7S")
    assert match.scores == [pot + 3, -3]  # 2 + pot + 2 antes − 1
    assert match.pot == 0
    assert (match.over, match.truncated) == (truncated, truncated)
    match = table_of_many_deals("russian", players=2, hand_size=2, pot=pot // 2, deals=2)
    deal_next(match, "6S 7S", "8S 9S", stock="6C")
    end(match, "0 bid 2, 0 napoleon, 0 stand, 0 6S, 1 8S, 1 9S, 0 7S")
    assert match.scores == [-(pot // 2 + 5), 1]  # −2 − the pot − 2 antes − 1
    assert match.truncated is (2 * (pot // 2 + 2) > LARGEST_EXACT)


def test_section_7_a_score_far_below_zero_truncates_too() -> None:
    half = LARGEST_EXACT // 2
    match = table_of_many_deals(
        "russian", players=3, hand_size=2, pot=half, deals=2, ante=0, napoleon_failed="double_pot_and_each"
    )
    deal_next(match, "6S 7S", "8S 9S", "6H 7H", stock="6C")
    end(match, NAPOLEON_LOST)
    assert match.scores == [-3 * half, half, half]
    assert match.pot == LARGEST_EXACT  # not above the bound: the score alone is
    assert match.truncated


def test_section_7_a_last_deal_finishes_the_match_whatever_it_leaves() -> None:
    match = table("russian", "6S 7S", "8S 9S", dealer=0, stock="6C", pot=LARGEST_EXACT)
    ended = end(match, "0 bid 2, 0 napoleon, 0 stand, 0 6S, 1 8S, 1 9S, 0 7S")
    assert ended.pot == 2 * (LARGEST_EXACT + 2)
    assert ended.payoffs == [-(LARGEST_EXACT + 5), 1]  # −2 − the pot − 2 antes − 1
    assert match.over
    assert not match.truncated


def test_section_7_the_largest_amounts_are_exact() -> None:
    million = 1_000_000
    rules = {
        "players": 6,
        "ante": million,
        "stake": million,
        "slam": (million, million),
        "misere": (million, million),
        "deals": 9,
    }
    match = Match("russian", seed=1, napoleon_failed="double_pot_and_each", max_void_deals=1, **rules)
    match.begin(dealer=0, pot=LARGEST_EXACT)
    hands = ["6S 7S 8S 9S TS", "JS QS KS AS 6H", "7H 8H 9H TH JH", "QH KH AH 6D 7D", "8D 9D TD JD QD", "KD AD 6C 7C 8C"]
    match.begin_deal([hand.split() for hand in hands], ["9C"])
    say(match, "0 bid 5")
    while match.seat != 0:
        match.play("pass")
    say(match, "0 napoleon, 0 stand")
    ended = play_in_the_order_dealt(match)
    pot = LARGEST_EXACT + 6 * million
    assert ended.pot == 2 * pot
    assert ended.payoffs == [-6 * pot - million, *[pot - million] * 5]


# Every rule has an example


def test_every_rule_number_has_an_example_here() -> None:
    numbers = [f"C{n}" for n in range(1, 12)] + [f"G{n}" for n in range(1, 11)] + [f"P{n}" for n in range(1, 7)]
    numbers += [f"R{n}" for n in range(1, 17)] + [f"E{n}" for n in range(1, 6)]
    shown = {name.split("_")[1] for name in globals() if name.startswith("test_")}
    assert [number for number in numbers if number not in shown] == []


def test_an_impossible_exchange_is_no_rule_set_and_a_draw_past_a_short_stock_is_refused() -> None:
    with pytest.raises(RulesetError, match=r"exchange.*stock"):
        Ruleset.make("russian", players=6, hand_size=6)
    match = table("russian", "AS KS", "6S 7S", dealer=0)  # no stock is listed
    say(match, "0 bid 1, 1 pass")
    assert "discard AS" in match.legal()
    with pytest.raises(IllegalActionError, match="no card to draw is listed"):
        match.play("discard AS")
    say(match, "0 stand")


def test_every_action_has_a_name_of_its_own() -> None:
    assert len(set(ACTION_NAMES)) == len(ACTION_NAMES) == 124
