"""A match as text and as a picture: worked tables, and nothing in them that a seat may not know."""

import random

import numpy as np
import pytest

from napoleon_env import picture, render
from napoleon_env.match import IllegalActionError, Match
from napoleon_env.notation import CARDS
from napoleon_env.ruleset import Ruleset


def table(rules, dealer, hands, actions=(), **deal):
    """The match of one deal, its hands as text, after some actions."""
    match = Match.deal(rules, dealer=dealer, hands=[hand.split() for hand in hands], seed=0, **deal)
    for action in actions:
        match.play(action)
    return match


def lines_of(match, seat=None):
    return render.text(match, seat).split("\n")


# The text, by example.

NAPOLEON_HELD = ("6D 6S JD 7D JC", "6C TH AH KS JS")  # the example of RULES.md §8
ITS_ACTIONS = ["bid 1", "bid 5", "hold", "napoleon", "stand", "AH", "6D", "KS", "6S", "TH", "JD", "JS", "7D", "6C", "JC"]


def test_a_seat_reads_its_own_hand_and_backs():
    match = table("russian", 1, NAPOLEON_HELD, ITS_ACTIONS[:8], players=2)
    assert lines_of(match, 0) == [
        "rules     russian (players=2)",
        "shows     what seat 0 may know",
        "deal      1 of 1, dealt by seat 1",
        "to act    seat 0: follow ♠",
        "pot       2",
        "-" * 76,
        "  seat                  hand                     tricks               score",
        "> 0                     J♣ 7♦ J♦ 6♠                   0                   0",
        "  1    dealer declarer  ## ## ##                      1                   0",
        "-" * 76,
        "auction   seat 1 bid 1, seat 0 bid 5, seat 1 hold",
        "contract  bid 5 by seat 1, trump ♥",
        "napoleon  seat 1 announces Napoleon",
        "exchange  seat 1 stands",
        "trick 1   seat 1 led: 1:A♥ 0:6♦, seat 1 took it",
        "trick 2   seat 1 led: 1:K♠, seat 1 is winning",
    ]


def test_a_finished_match_tells_result_payoffs_and_winner():
    match = table("russian", 1, NAPOLEON_HELD, ITS_ACTIONS, players=2)
    lines = lines_of(match)
    assert lines[2:4] == [
        "deal      1 of 1 played, dealt by seat 1",
        "to act    nobody, the match is over; seat 0 wins",
    ]
    assert lines[7:9] == [
        "  0                                                   1                  +4",
        "  1    dealer declarer                                4                  -8",
    ]
    # A failed Napoleon: 5 to the one defender, the pot's 2 again into the pot, and an ante of 1 from each (R14, R16).
    assert lines[4] == "pot       4"
    assert lines[-3:] == [
        "trick 5   seat 1 led: 1:6♣ 0:J♣, seat 0 took it",
        "last deal seat 1 failed bid 5 with 4 tricks (Napoleon announced), trump ♥;",
        "          payoffs 0:+4 1:-8",
    ]


def test_before_the_first_call_nobody_has_spoken():
    match = table("german", 0, ["AC KC QC JC TC", "AD KD QD JD TD", "AH KH QH JH TH"], players=3)
    assert lines_of(match)[3:] == [
        "to act    seat 1: call",
        "-" * 76,
        "  seat                  hand                     tricks               score",
        "  0    dealer           T♣ J♣ Q♣ K♣ A♣                0                   0",
        "> 1                     T♦ J♦ Q♦ K♦ A♦                0                   0",
        "  2                     T♥ J♥ Q♥ K♥ A♥                0                   0",
        "-" * 76,
        "auction   nobody has spoken",
    ]


def test_a_call_in_the_auction_is_the_highest_so_far():
    hands = ["AC KC QC JC TC", "AD KD QD JD TD", "AH KH QH JH TH"]
    match = table("english", 0, hands, ["misere", "pass"], players=3)
    assert lines_of(match)[-2:] == ["auction   seat 1 misere, seat 2 pass", "highest   misere by seat 1"]
    match.play("pass")
    assert lines_of(match)[-2:] == ["auction   seat 1 misere, seat 2 pass, seat 0 pass", "contract  misere by seat 1, no trump"]


def test_the_exchange_is_shown_to_its_declarer_alone():
    hands = ["6D 6S JD 7D JC", "6C TH AH KS JS"]
    match = table("russian", 0, hands, ["bid 1", "pass", "discard 6D"], players=2, stock=["9D"])
    assert lines_of(match)[-1] == "exchange  seat 0 discards 6♦, draws 9♦"
    assert lines_of(match, 0)[-1] == "exchange  seat 0 discards 6♦, draws 9♦"
    assert lines_of(match, 1)[-1] == "exchange  seat 0 discards ##, draws ##"
    assert lines_of(match, 1)[7] == "> 0    dealer declarer  ## ## ## ## ##                0                   0"


def test_the_dealer_who_must_play_one_chooses_trump():
    hands = ["AC KC QC JC TC", "AD KD QD JD TD"]
    match = table("portuguese", 1, hands, ["pass", "pass"], players=2)
    assert lines_of(match)[3] == "to act    seat 1: choose trump"
    assert lines_of(match)[-1] == "contract  bid 1 by seat 1, everyone passed"
    match.play("trump D")
    assert lines_of(match)[3] == "to act    seat 1: lead"
    assert lines_of(match)[-1] == "contract  bid 1 by seat 1, everyone passed, trump ♦"


def test_the_last_deal_and_its_last_trick_stay_in_sight():
    hands = ["AC KC", "AD KD", "2H 3H"]
    rules = Ruleset.make("german", players=3, hand_size=2, deals=2)
    match = table(rules, 2, hands, ["bid 2", "AC", "KD", "2H", "KC", "AD", "3H"])
    for seat in (None, 0, 1, 2):
        # A bid of all tricks counts double (G8): 2 × 2 from each of two defenders.
        assert lines_of(match, seat)[-2:] == [
            "last deal seat 0 made bid 2 with 2 tricks, trump ♣; payoffs 0:+8 1:-4 2:-4",
            "          last trick: 0:K♣ 1:A♦ 2:3♥, seat 0 took it",
        ]
        assert lines_of(match, seat)[2] == "deal      2 of 2, dealt by seat 0"


def test_a_void_deal_is_told_and_does_not_count():
    hands = ["6D 6S JD 7D JC", "6C TH AH KS JS"]
    match = table("russian", 0, hands, ["pass", "pass"], players=2, max_void_deals=2)
    assert lines_of(match)[2] == "deal      1 of 1, 1 void, dealt by seat 1"
    assert lines_of(match)[-1] == "last deal void, everyone passed; payoffs 0:-1 1:-1"
    match.play("pass")
    match.play("pass")
    assert lines_of(match)[2:4] == [
        "deal      0 of 1 played, 2 void, dealt by seat 1",
        "to act    nobody, the match was cut short; seat 0, seat 1 share the win",
    ]


def test_a_match_without_cards_yet_shows_none():
    match = Match("german", seed=1, players=2)
    match.begin(dealer=1)
    for seat in (None, 0):
        lines = lines_of(match, seat)
        assert lines[2:4] == [
            "deal      0 of 1 played, first dealer seat 1",
            "to act    nobody, the next deal awaits its cards",
        ]
        assert lines[6:8] == [
            "  0                                                   0                   0",
            "  1    dealer                                         0                   0",
        ]
        assert picture.picture(match, seat, (160, 120)).shape == (120, 160, 3)


# Any match: well-formed text, and nothing hidden in text or picture.

VARIANTS = [
    Ruleset.make("german", players=3, deals=2),
    Ruleset.make("german", players=6, hand_size=8, wellington=(20, 20)),
    Ruleset.make("portuguese", players=2, deals=2),
    Ruleset.make("portuguese", players=5),
    Ruleset.make("russian", players=2, deals=2),
    Ruleset.make("russian", players=4, deals=2, hand_size=4, lowest_rank="2"),
    Ruleset.make("english", players=4, deals=2),
]


def random_action(match, rng):
    """A legal action; passes are rare, so that much is played and much announced."""
    legal = [action for action in match.legal() if action != "pass" or rng.random() < 0.3] or ["pass"]
    return rng.choice(legal)


def random_story(rules, rng):
    """A whole match as (dealer, deals), each deal (cards by place, actions)."""
    match = Match(rules, seed=0)
    dealer = rng.randrange(rules.players)
    match.begin(dealer=dealer)
    deals = []
    while match.needs_deal and len(deals) < 4:
        cards = [CARDS[card] for card in rules.pack]
        rng.shuffle(cards)
        begin(match, cards)
        actions = []
        deals.append((cards, actions))
        while match.phase != "over":
            actions.append(random_action(match, rng))
            match.play(actions[-1])
    return dealer, deals


def begin(match, cards):
    size, players = match.rules.hand_size, match.rules.players
    match.begin_deal([cards[i * size : (i + 1) * size] for i in range(players)], cards[players * size :])


def tell(rules, dealer, deals):
    """The match of a story, or of its beginning."""
    match = Match(rules, seed=0)
    match.begin(dealer=dealer)
    for cards, actions in deals:
        begin(match, cards)
        for action in actions:
            match.play(action)
    return match


def known_cards(match, seat):
    """The cards that a seat has seen of the deal that `match` is in: dealt to it, played by anyone, drawn by itself."""
    known = {*match.dealt(seat), *(card for trick in match.tricks for _, card in trick)}
    return known | ({match.drawn} if match.declarer == seat and match.drawn else set())


def permuted(rules, dealer, deals, seat, rng):
    """The same public story with the cards that `seat` has not seen permuted at random; None where the rules forbid it."""
    other = []
    for number, (cards, actions) in enumerate(deals):
        known = known_cards(tell(rules, dealer, [*deals[:number], (cards, actions)]), seat)
        unseen = [card for card in cards if card not in known]
        become = dict(zip(unseen, rng.sample(unseen, len(unseen)), strict=True))
        hidden = [f"discard {become.get(a[8:], a[8:])}" if a.startswith("discard") else a for a in actions]
        other.append(([become.get(card, card) for card in cards], hidden))
    try:
        return tell(rules, dealer, other)
    except IllegalActionError:
        return None


def moments(rules, rng, share):
    """Some moments of a random match as (match, one seat, a match that this seat can't tell from it)."""
    dealer, deals = random_story(rules, rng)
    for number, (cards, actions) in enumerate(deals):
        for done in range(len(actions) + 1):
            beginning = [*deals[:number], (cards, actions[:done])]
            match, seat = tell(rules, dealer, beginning), rng.randrange(rules.players)
            if match.phase in ("auction", "play") and rng.random() > share:
                continue
            others = (permuted(rules, dealer, beginning, seat, rng) for _ in range(10))
            twin = next((other for other in others if other and render.text(other) != render.text(match)), None)
            if twin:
                yield match, seat, twin


def test_text_shows_a_seat_nothing_of_the_cards_it_has_not_seen():
    rng, phases = random.Random(1), []
    for rules in VARIANTS * 3:
        for match, seat, twin in moments(rules, rng, 0.2):
            assert render.text(match, seat) == render.text(twin, seat), render.text(match)
            phases.append((match.phase, match.last_deal is not None))
    # Each phase, in a first deal and after a deal whose unseen cards were permuted too; a deal that is over is the last deal.
    for phase in ("auction", "announce", "exchange", "trump", "play"):
        assert phases.count((phase, True)) >= 3, phase
        assert phases.count((phase, False)) >= 3, phase
    assert phases.count(("over", True)) >= 3


def test_pictures_show_a_seat_nothing_of_the_cards_it_has_not_seen():
    rng, phases = random.Random(2), set()
    for rules in VARIANTS:
        for match, seat, twin in moments(rules, rng, 0.08):
            assert np.array_equal(picture.picture(match, seat, (320, 240)), picture.picture(twin, seat, (320, 240)))
            assert not np.array_equal(picture.picture(match, None, (320, 240)), picture.picture(twin, None, (320, 240)))
            phases.add(match.phase)
    assert {"auction", "play", "over"} < phases


def test_text_is_narrow_plain_and_the_same_every_time():
    rng = random.Random(3)
    for rules in VARIANTS:
        match = Match(rules, seed=3)
        while not match.over:
            for seat in (None, *range(rules.players)):
                text = render.text(match, seat)
                assert text == render.text(match.copy(), seat)
                for line in text.split("\n"):
                    assert line == line.rstrip()
                    assert len(line) <= 76
                    assert line.isprintable()
            match.play(random_action(match, rng))


def test_a_view_is_shown_as_its_seat_sees_the_match():
    match = table("russian", 1, NAPOLEON_HELD, ITS_ACTIONS[:8], players=2)
    assert render.text(match.view(1)) == render.text(match, 1) == render.text(match.view(1), 1)
    assert np.array_equal(picture.picture(match.view(1)), picture.picture(match, 1))
    with pytest.raises(render.RenderError, match="seat=0 can't be shown from the view of seat 1"):
        render.text(match.view(1), 0)


@pytest.mark.parametrize("seat", [4, -1, True, 1.0, "0"])
def test_a_seat_that_is_not_at_the_table_is_refused(seat):
    match = Match("german", seed=1)
    for show in (render.text, picture.picture):
        with pytest.raises(render.RenderError, match="must be None or a seat from 0 to 3"):
            show(match, seat)
