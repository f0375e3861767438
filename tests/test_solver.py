"""The double-dummy solver against brute force through the rules, published theory and worked positions."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
import whist
from numba import njit

from napoleon_env import rules as core
from napoleon_env.jit import count_bits, highest_bit, lowest_bit
from napoleon_env.match import Match
from napoleon_env.notation import CARDS, N_CARDS, PLAY, SUITS, card_number, mask_of
from napoleon_env.ruleset import Ruleset, RulesetError
from napoleon_env.solver import NO_LEAD, NOT_LEGAL, Solver, SolverError, Value, contracts, solve, speed, tricks_table

POSITIONS = 1_000_000
RULE_SETS = 250


# Brute force: every line of play through the rules, nothing cut off.


@njit
def random_bit(mask):
    """One of the set bits."""
    skip = np.random.randint(0, count_bits(mask))
    for _ in range(skip):
        mask &= mask - 1
    return lowest_bit(mask)


@njit
def random_positions(states, rules, levels, seed, whole):
    """Fill `states` with positions of the play: random deals, declarers, contracts, pots, and cards.

    Few cards are left, or `whole` hands.
    """
    np.random.seed(seed)
    n = rules["players"]
    most = 4 if n == 2 else 3 if n == 3 else 2
    for i in range(len(states)):
        state = states[i]
        while True:
            pack = np.zeros(rules["pack_size"], np.int8)
            ranks = 13 - rules["lowest_rank"]
            for place in range(len(pack)):
                pack[place] = place // ranks * 13 + rules["lowest_rank"] + place % ranks
            np.random.shuffle(pack)
            state["cards"][: len(pack)] = pack
            core.begin_match(state, rules, np.random.randint(0, n), np.random.randint(0, 9) if rules["napoleon"] else 0)
            core.begin_deal(state, rules)
            state["standing"] = levels[np.random.randint(0, len(levels))]
            state["declarer"] = np.random.randint(0, n)
            state["seat"] = state["declarer"]
            core._next_decision(state, rules)
            left = n * rules["hand_size"] if whole else np.random.randint(1, most * n + 1)
            while state["phase"] != core.NO_DEAL:
                cards_left = 0
                for seat in range(n):
                    cards_left += count_bits(state["hand"][seat])
                if state["phase"] == core.TRICKS and cards_left <= left:
                    break
                named, cards, base = core.legal(state, rules)
                if named != 0 and (cards == 0 or np.random.random() < 0.3):
                    core.apply(state, rules, random_bit(named))
                else:
                    core.apply(state, rules, base + random_bit(cards))
            if state["phase"] == core.TRICKS:
                break


@njit
def brute(stack, rules, depth, tricks):
    """The declarer's payoff (or tricks) from stack[depth], the ante left out."""
    state = stack[depth]
    declarer = state["declarer"]
    if state["phase"] == core.NO_DEAL:
        return np.int64(state["tricks_won"][declarer]) if tricks else state["payoffs"][declarer] + rules["ante"]
    maximise = state["seat"] == declarer
    best = np.int64(-1 << 62 if maximise else 1 << 62)
    cards = core.legal_cards(state, rules)
    while cards != 0:
        card = lowest_bit(cards)
        cards &= cards - 1
        stack[depth + 1] = stack[depth]
        core.apply(stack[depth + 1], rules, PLAY + card)
        value = brute(stack, rules, depth + 1, tricks)
        best = max(best, value) if maximise else min(best, value)
    return best


@njit
def brute_all(states, rules, tricks_rules, stack, tricks, payoffs):
    """Both values of every legal card of every state; `tricks_rules` never stops the play."""
    for i in range(len(states)):
        cards = core.legal_cards(states[i], rules)
        while cards != 0:
            card = lowest_bit(cards)
            cards &= cards - 1
            stack[0] = states[i]
            core.apply(stack[0], rules, PLAY + card)
            payoffs[i, card] = brute(stack, rules, 0, False)
            stack[0] = states[i]
            core.apply(stack[0], tricks_rules, PLAY + card)
            tricks[i, card] = brute(stack, tricks_rules, 0, True)


def random_rules(rng):
    """A random rule set; every field that the play or the payment reads varies."""

    def pick(*values):
        return values[rng.integers(len(values))]

    while True:
        made = (int(rng.integers(0, 30)), int(rng.integers(0, 30)))
        try:
            return Ruleset(
                players=pick(2, 2, 3, 3, 4, 4, 5, 6),
                suits=pick(1, 2, 3, 4, 4),
                lowest_rank=pick(*"234567789TJQ"),
                hand_size=pick(1, 2, 3, 3, 4, 5),
                min_bid=1,
                misere=pick(None, made),
                wellington=pick(None, made),
                blucher=pick(None, made),
                trump=pick("first_lead", "chosen"),
                void=pick("any", "must_trump"),
                exchange=pick(False, True),
                stop=pick("never", "made", "decided"),
                made=pick("at_least", "at_least", "exactly"),
                payment=pick("each_defender", "each_defender", "points_only"),
                slam=pick((1, 1), (2, 1), (0, 3)),
                ante=pick(0, 1),
                stake=pick(1, 2),
                napoleon=pick("bid", "announced"),
                napoleon_failed=pick("double_pot", "double_pot_and_each"),
            )
        except RulesetError:
            continue


def levels_of(rules):
    """The levels of all contracts of a rule set."""
    special = {"misere": core.LEVEL_MISERE, "wellington": core.LEVEL_WELLINGTON, "blucher": core.LEVEL_BLUCHER}
    bids = [core.level_of_bid(n) for n in range(1, rules.hand_size + 1)]
    return np.array(bids + [level for name, level in special.items() if getattr(rules, name) is not None])


def compare_with_brute_force(rules, n, seed, solver, whole=False):
    """Solve `n` random positions both ways; both values of every card must agree."""
    states = core.new_state(n)
    random_positions(states, rules.struct[0], levels_of(rules), seed, whole)
    tricks_rules = rules.struct.copy()
    tricks_rules["stop"] = 0
    expected = np.full((n, N_CARDS), NOT_LEGAL, np.int8), np.zeros((n, N_CARDS), np.int64)
    brute_all(states, rules.struct[0], tricks_rules[0], core.new_state(24), *expected)
    found = solver.solve_states(states, rules)
    for name, ours, theirs in zip(("tricks", "payoff"), found, expected, strict=True):
        wrong = (ours != theirs).any(axis=1)
        i = int(wrong.argmax())
        assert not wrong.any(), f"{name} in {rules}, seed {seed}, position {i}: {states[i]} {ours[i]} {theirs[i]}"
    payoffs = solver.solve_states(states, rules, objective="payoff")[1]
    assert (payoffs == expected[1]).all(), f"objective=payoff in {rules}, seed {seed}"


def test_a_million_small_positions_of_all_rule_sets_equal_brute_force():
    rng = np.random.default_rng(2024)
    solver = Solver(memory=16)
    for number in range(RULE_SETS):
        compare_with_brute_force(random_rules(rng), POSITIONS // RULE_SETS, number, solver)


def test_whole_hands_of_all_rule_sets_equal_brute_force():
    rng = np.random.default_rng(7)
    solver = Solver(memory=16)
    wanted = Counter({(2, 5): 6, (2, 4): 6, (3, 4): 3, (3, 3): 6, (4, 3): 6, (5, 2): 6, (6, 2): 6})
    while wanted.total():
        rules = random_rules(rng)
        kind = rules.players, rules.hand_size
        if wanted[kind]:
            wanted[kind] -= 1
            compare_with_brute_force(rules, 6, int(rng.integers(1 << 30)), solver, whole=True)


@njit
def plain_alpha_beta(stack, rules, depth, low, high, tricks):
    """`brute` between `low` and `high`, by alpha-beta and nothing else."""
    state = stack[depth]
    declarer = state["declarer"]
    if state["phase"] == core.NO_DEAL:
        return np.int64(state["tricks_won"][declarer]) if tricks else state["payoffs"][declarer] + rules["ante"]
    maximise = state["seat"] == declarer
    cards = core.legal_cards(state, rules)
    while cards != 0 and low < high:
        card = highest_bit(cards)
        cards ^= 1 << card
        stack[depth + 1] = stack[depth]
        core.apply(stack[depth + 1], rules, PLAY + card)
        value = plain_alpha_beta(stack, rules, depth + 1, low, high, tricks)
        if maximise:
            low = max(low, value)
        else:
            high = min(high, value)
    return low if maximise else high


@pytest.mark.parametrize(("players", "deals"), [(2, 100), (3, 100), (4, 40), (5, 3)])
def test_first_leads_of_whole_german_deals_equal_plain_alpha_beta(players, deals):
    rules = Ruleset.make("german", players=players)
    stack = core.new_state(players * 5 + 1)
    for seed in range(deals):
        match = Match(rules, seed=seed, dealer=players - 1)
        match.play("bid 3")
        while match.phase == "auction":
            match.play("pass")
        table = tricks_table(match.state["hand"][:, :players])[0]
        for suit in range(4):
            expected = NO_LEAD
            for card in (c for c in match.legal() if c[1] == SUITS[suit]):
                stack[0] = match.state[0]
                core.apply(stack[0], rules.struct[0], PLAY + card_number(card))
                expected = max(expected, plain_alpha_beta(stack, rules.struct[0], 0, 0, 5, True))
            assert table[suit] == expected, (match.hands, SUITS[suit])


@pytest.mark.parametrize("preset", ["german", "portuguese", "russian", "english"])
@pytest.mark.parametrize(("players", "deals"), [(2, 40), (3, 40), (4, 10)])
def test_every_card_of_whole_deals_of_the_presets_equals_plain_alpha_beta(preset, players, deals):
    rules = Ruleset.make(preset, players=players)
    never = rules.struct.copy()
    never["stop"] = 0
    stack, states = core.new_state(players * 5 + 1), core.new_state(deals)
    random_positions(states, rules.struct[0], levels_of(rules), players, True)
    tricks, payoffs = Solver(memory=4).solve_states(states, rules)
    for i, card in np.argwhere(tricks != NOT_LEGAL):
        stack[0] = states[i]
        core.apply(stack[0], rules.struct[0], PLAY + card)
        assert plain_alpha_beta(stack, rules.struct[0], 0, -1000, 1000, False) == payoffs[i, card], (states[i], card)
        stack[0] = states[i]
        core.apply(stack[0], never[0], PLAY + card)
        assert plain_alpha_beta(stack, never[0], 0, 0, 5, True) == tricks[i, card], (states[i], card)


# Published theory.


def single_suit_hands(n):
    """All deals of 2n clubs to two seats, seat 0 on lead, as strings for `whist` and as masks for the solver."""
    strings = whist.deals(n)
    highest = CARDS.index("AC")
    masks = [[sum(1 << highest - i for i, c in enumerate(deal) if c == holder) for holder in "LF"] for deal in strings]
    return strings, np.array(masks)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_two_players_with_one_suit_play_single_suit_whist(n):
    strings, masks = single_suit_hands(n)
    assert tricks_table(masks)[:, 0].tolist() == [whist.leader_tricks(deal) for deal in strings]


def test_single_suit_whist_with_ten_cards_has_the_known_distribution():
    # Wästlund, "A solution of two-person single-suit whist", Electronic J. Combin. 12 (2005): how often the leader of the 252
    # deals takes 0 … 5 tricks; and the sum over the 924 deals of twelve cards.
    tricks = tricks_table(single_suit_hands(5)[1])[:, 0]
    assert Counter(tricks.tolist()) == {0: 2, 1: 33, 2: 108, 3: 92, 4: 16, 5: 1}
    assert tricks_table(single_suit_hands(6)[1])[:, 0].sum() == 2603


def deals_with(rng, cards, players, n):
    """`n` deals of five cards each in which seat 0 holds `cards`, filled up at random."""
    fixed = [card_number(card) for card in cards]
    others = np.array([card for card in range(N_CARDS) if card not in fixed])
    hands = np.zeros((n, players), np.int64)
    for i in range(n):
        rest = rng.permutation(others)[: players * 5 - len(fixed)]
        dealt = np.array([*fixed, *rest]).reshape(players, 5)
        hands[i] = (np.int64(1) << dealt).sum(axis=1)
    return hands


SPADES = mask_of([card for card in range(N_CARDS) if CARDS[card][1] == "S"])


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
def test_ace_king_queen_of_trumps_always_make_three(players):
    # Peel, "Round Games with Cards": "ace, king, queen is the only certain combination for three tricks".
    hands = deals_with(np.random.default_rng(players), ["AS", "KS", "QS"], players, 400)
    assert (tricks_table(hands)[:, 3] >= 3).all()


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
def test_ace_king_queen_and_two_aces_make_five_unless_an_opponent_has_four_trumps(players):
    # Peel: "if one opponent has four trumps, no matter how small, success is impossible".
    rng = np.random.default_rng(players)
    hands = deals_with(rng, ["AS", "KS", "QS", "AD", "AC"], players, 400)
    longest = np.bitwise_count(hands[:, 1:] & SPADES).max(axis=1)
    assert ((tricks_table(hands)[:, 3] == 5) == (longest < 4)).all()
    low_trumps = [
        ["AS", "KS", "QS", "AD", "AC", "2S", "3S", "4S", "5S"],
        ["AS", "KS", "QS", "AD", "AC", "TS", "9S", "4S", "5S"],
    ]
    for cards in low_trumps:  # the first four of seat 1's five cards are trumps here
        assert (tricks_table(deals_with(rng, cards, players, 50))[:, 3] < 5).all()


# Worked positions.


def played(match, *actions):
    """The match after these actions."""
    for action in actions:
        match.play(action)
    return match


def test_G4_every_first_lead_makes_its_suit_trump():
    # 2H led: hearts are trump and nobody else has one, so it wins; the four of spades then loses to the five. 4S led: spades
    # are trump, the five wins, and the king of diamonds that follows is not beaten by a plain two of hearts.
    match = Match.deal("german", players=2, hand_size=2, min_bid=1, dealer=1, hands=[["2H", "4S"], ["KD", "5S"]])
    solution = solve(played(match, "bid 1", "pass"))
    assert solution.values == {"2H": Value(1, 1), "4S": Value(-1, 0)}
    assert solution.best == ["2H"]


def test_P6_exactly_one_trick_is_worth_more_than_two():
    # Contract 1, hearts trump: the ace of spades wins, and the two of clubs loses to the ace; but the king of spades, led
    # first, would win as well.
    match = Match.deal("portuguese", players=2, hand_size=2, dealer=1, hands=[["AS", "2C"], ["QS", "AC"]])
    played(match, "bid 1", "pass", "trump H")
    assert solve(match).values == {"2C": Value(1, 1), "AS": Value(1, 1)}
    # Two sure tricks cannot be thrown away: nothing, though the tricks are two.
    match = Match.deal("portuguese", players=2, hand_size=2, dealer=1, hands=[["AS", "KS"], ["QS", "AC"]])
    played(match, "bid 1", "pass", "trump S")
    assert solve(match).values == {"KS": Value(0, 2), "AS": Value(0, 2)}


def test_E2_a_misere_is_made_by_losing_and_its_tricks_are_another_objective():
    low = Match.deal("english", players=2, hand_size=4, dealer=1, hands=[["2C", "2D", "2H", "2S"], ["3C", "3D", "3H", "3S"]])
    assert solve(played(low, "misere", "pass")).value == Value(3, 0)
    # A club led is beaten (2C by 5C) or, worse, ducked (4C by 3C), and after 5C the three is led under the four. The other twos
    # lose to their threes, and then the defender must open the clubs: 3C is ducked with 2C, 5C with 4C.
    mixed = Match.deal("english", players=2, hand_size=4, dealer=1, hands=[["2C", "4C", "2D", "2H"], ["3C", "5C", "3D", "3H"]])
    solution = solve(played(mixed, "misere", "pass"))
    assert {card: value.payoff for card, value in solution.values.items()} == {"2C": -3, "4C": -3, "2D": 3, "2H": 3}


def test_R13_the_pot_is_won_only_by_an_announced_napoleon():
    # Pot 4 and two antes: 6. Five sure tricks: 5 from the defender, and announced the pot as well. The ante is left out.
    match = Match.deal(
        "russian",
        players=2,
        dealer=0,
        pot=4,
        hands=[["AS", "KS", "QS", "JS", "TS"], ["AC", "KC", "QC", "JC", "TC"]],
        stock=["6H"],
    )
    played(match, "bid 5")
    assert match.phase == "announce"
    assert solve(match).values == {"napoleon": Value(11, 5), "no napoleon": Value(5, 5)}


def test_R7_an_exchange_with_a_known_and_with_an_unknown_stock():
    # One card each and a stock of two, one suit. Trump is what is led: the higher card wins. Against KC the declarer's JC
    # loses, and the stock holds AC on top and QC below it.
    match = Match.deal(
        "russian",
        players=2,
        suits=1,
        lowest_rank="J",
        hand_size=1,
        napoleon="bid",
        ante=0,
        dealer=0,
        hands=[["JC"], ["KC"]],
        stock=["AC", "QC"],
    )
    played(match, "bid 1")
    assert solve(match).values == {"stand": Value(-1, 0), "discard JC": Value(1, 1)}
    # Unknown: AC wins and QC loses, half each: payoff (1 - 1) / 2, tricks (1 + 0) / 2.
    assert solve(match, stock="unknown").values == {"stand": Value(-1, 0), "discard JC": Value(0, 0.5)}
    assert solve(match, stock="unknown").best == ["discard JC"]


def test_contracts_are_worth_what_their_tricks_pay():
    # Three certain tricks of the declarer with spades, no more: seat 1 holds the two other aces and five spades are out.
    hands = [["AS", "KS", "QS", "2D", "2C"], ["AC", "AD", "JS", "TS", "9S"]]
    match = Match.deal("english", players=2, dealer=1, hands=hands)
    found = contracts(match, seat=0)
    assert {name: value.tricks for name, value in found.values.items() if name != "misere"} == dict.fromkeys(
        ["bid 2", "bid 3", "bid 4", "bid 5", "wellington", "blucher"], 3
    )
    payoffs = {name: value.payoff for name, value in found.values.items()}
    assert payoffs == {"bid 2": 2, "bid 3": 3, "misere": -3, "bid 4": -4, "bid 5": -5, "wellington": -10, "blucher": -20}
    assert found.best == ["bid 3"]


def test_a_defender_chooses_the_least_for_the_declarer():
    match = Match.deal("german", players=2, hand_size=2, dealer=1, hands=[["KS", "QS"], ["AS", "2S"]])
    played(match, "bid 2", "KS")
    solution = solve(match)
    assert (solution.seat, solution.declarer) == (1, 0)
    assert solution.values == {"2S": Value(-4, 1), "AS": Value(-4, 1)}
    assert solution.best == ["2S", "AS"]


def test_solving_changes_nothing():
    match = Match("russian", seed=5)
    before = match.state.copy()
    contracts(match)
    assert match.state == before


def test_tables_of_chosen_trumps_exact_numbers_and_miseres_agree_with_single_solutions():
    rng = np.random.default_rng(11)
    solver = Solver(memory=4)
    for void, preset in product(("any", "must_trump"), ("portuguese",)):
        for _ in range(40):
            deal = rng.permutation(N_CARDS)[:15].reshape(3, 5)
            masks = (np.int64(1) << deal).sum(axis=1)[None]
            hands = [[CARDS[c] for c in hand] for hand in deal]
            match = Match.deal(preset, players=3, void=void, dealer=2, hands=hands)
            played(match, "bid 2", "pass", "pass")
            table = solver.tricks_table(masks, trump="chosen", void=void)[0]
            for suit, (name, value) in zip(SUITS, solver.solve(match).values.items(), strict=True):
                assert name == f"trump {suit}"
                assert value.tricks == table[SUITS.index(suit)]
                assert (value.payoff == 2) == solver.exact_table(masks, 2, suit=suit, void=void)[0]
    deal = [["2C", "2D", "2H", "2S"], ["3C", "3D", "3H", "3S"]]
    masks = np.array([[mask_of([card_number(card) for card in hand]) for hand in deal]])
    assert solver.exact_table(masks, 0, suit=None).tolist() == [True]
    assert solver.exact_table(masks, 0, suit=None, declarer=1).tolist() == [False]


def test_names_of_suits_and_small_tables_do_not_matter():
    rng = np.random.default_rng(3)
    hands = deals_with(rng, [], 4, 200)
    whole = Solver(memory=8).tricks_table(hands)
    turned = (hands << 13 | hands >> 39) & (1 << N_CARDS) - 1  # C becomes D, D becomes H, H becomes S, S becomes C
    assert (Solver(memory=1).tricks_table(turned) == np.roll(whole, 1, axis=1)).all()
    seated = np.roll(hands, 2, axis=1)
    assert (Solver(memory=1).tricks_table(seated, declarer=2) == whole).all()


# Limits and refusals.


def long_deal():
    """Eight cards for six players, at the first lead."""
    match = Match("german", players=6, hand_size=8, seed=1)
    match.play("bid 4")
    while match.phase == "auction":
        match.play("pass")
    return match


def test_a_time_limit_gives_what_is_known_and_says_so():
    match = long_deal()
    solution = Solver(memory=4).solve(match, time_ms=0)
    assert not solution.exact
    assert sorted(solution.values) == match.legal()
    assert set(solution.best) <= set(match.legal())
    # What the declarer is sure of can only grow with time.
    longer = Solver(memory=4).solve(match, time_ms=60)
    assert all(longer.values[card].payoff >= value.payoff for card, value in solution.values.items())


def test_the_measure_of_speed_counts_deals():
    deals_a_second, nodes = speed(4, seconds=0.01, memory=1)
    assert deals_a_second > 0
    assert nodes > 0


def test_what_has_no_value_is_refused():
    auction = Match("german", seed=1)
    play = long_deal()
    for ask, word in [
        (lambda: solve(auction), "auction"),
        (lambda: solve(play.view(0)), "hides cards"),
        (lambda: contracts(play.view(0)), "hidden"),
        (lambda: contracts(auction, seat=4), "seat=4"),
        (lambda: solve(play, time_ms=-1), "time_ms=-1"),
        (lambda: solve(play, stock="open"), "stock='open'"),
        (lambda: Solver(memory=0), "memory=0"),
        (lambda: Solver(memory=True), "memory=True"),
        (lambda: tricks_table([[1, 1]]), r"hands\[0\]"),
        (lambda: tricks_table([[1, 2], [3, 4]]), r"hands\[1\]"),
        (lambda: tricks_table([[1, 2 << 52]]), r"hands\[0\]"),
        (lambda: tricks_table([[1.0, 2.0]]), "whole numbers"),
        (lambda: tricks_table([[1, 2]], declarer=2), "declarer=2"),
        (lambda: tricks_table([[1, 2]], trump="none"), "trump='none'"),
        (lambda: tricks_table([[1, 2]], void="some"), "void='some'"),
        (lambda: Solver(memory=1).exact_table([[1, 2]], 9, suit="S"), "number=9"),
        (lambda: Solver(memory=1).exact_table([[1, 2]], 1, suit="X"), "suit='X'"),
        (lambda: Solver(memory=1).solve_states(play.state, play.rules, objective="fun"), "objective='fun'"),
        (lambda: Solver(memory=1).solve_states(auction.state, auction.rules), "cannot arise"),
        (lambda: Solver(memory=1).solve_states(np.zeros(3), play.rules), "dtype"),
    ]:
        with pytest.raises(SolverError, match=word):
            ask()
    done = Match.deal("german", players=2, hand_size=1, min_bid=1, dealer=1, hands=[["AS"], ["KS"]])
    played(done, "bid 1", "AS", "KS")
    for function in (solve, contracts):
        with pytest.raises(SolverError):
            function(done)
    unlisted = Match.deal(
        "russian", players=2, dealer=0, hands=[["AS", "KS", "QS", "JS", "TS"], ["AC", "KC", "QC", "JC", "TC"]]
    )
    with pytest.raises(SolverError, match="top of the stock"):
        solve(played(unlisted, "bid 1", "pass"))


def test_a_position_that_cannot_arise_is_refused():
    match = long_deal()
    for change in ("hand", "in_trick", "seat"):
        state = match.state.copy()
        if change == "hand":
            state["hand"][0][1] = state["hand"][0][0]
        else:
            state[change] += 1
        with pytest.raises(SolverError, match="this position"):
            Solver(memory=1).solve_states(state, match.rules)
