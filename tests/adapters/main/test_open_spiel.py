"""The game in OpenSpiel: its own tests, its algorithms, what it shows to players; and its bots at our tables."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policies
from open_spiel.python import rl_environment, test_utils
from open_spiel.python.algorithms import (
    best_response,
    cfr,
    expected_game_score,
    exploitability,
    external_sampling_mccfr,
    generate_playthrough,
    get_all_states,
    ismcts,
    mcts,
    sequence_form_lp,
)
from open_spiel.python.egt import alpharank
from open_spiel.python.observation import make_observation
from open_spiel.python.tests import games_sim_test
from playing import PRESETS, finite
from random_rules import Habits, random_rules

import napoleon_env as ne
from napoleon_env.adapters.open_spiel import EXPLICIT_DEALS, BotPlayer, make_game
from napoleon_env.dealing import SeedError
from napoleon_env.exact import n_deals
from napoleon_env.match import DealError
from napoleon_env.observation import OBSERVATION_SIZE, observe
from napoleon_env.ruleset import Ruleset, RulesetError

ONE_DEAL = {"auction": "once", "all_pass": "dealer_plays_one", "min_bid": 1}
TINY = {"preset": "german", "players": 2, "suits": 2, "lowest_rank": "K", "hand_size": 2, **ONE_DEAL}
"""Four cards, all dealt: six deals by each of two dealers."""


@pytest.fixture(scope="module")
def tiny() -> Any:
    return make_game(TINY, dealer=0)


def decide(state: Any, rng: random.Random) -> int:
    """An action of chance or of the seat to move, all equally likely but for rare ones (`Habits`)."""
    if state.is_chance_node():
        actions, chances = zip(*state.chance_outcomes(), strict=True)
        return rng.choices(actions, chances)[0]
    habits = Habits.draw(rng, state.match.rules)
    return ne.action_id(habits.choose(rng, state.match.legal(), state.match.deal_number))


def play_out(game: Any, rng: random.Random) -> Iterator[Any]:
    """The states of a match, the last one too; each is changed by the next."""
    state = game.new_initial_state()
    while not state.is_terminal():
        yield state
        state.apply_action(decide(state, rng))
    yield state


# Parameters.


def test_every_field_of_a_rule_set_is_a_parameter_and_a_game_is_read_again_from_its_text() -> None:
    rng = random.Random(1)
    for _ in range(150):
        rules = random_rules(rng)
        game = make_game(rules)
        assert game.rules == rules
        assert pyspiel.load_game(str(game)).rules == rules
        assert game.num_players() == rules.players


def test_parameters_as_they_are_typed() -> None:
    text = 'python_napoleon(rules=russian,players=3,lowest_rank="7",misere=4:2,exchange=no,deals=2,dealer=1,chance=explicit)'
    game = pyspiel.load_game(text)
    expected = Ruleset.make("russian", players=3, lowest_rank="7", misere=(4, 2), exchange=False, deals=2)
    assert (game.rules, game.dealer, game.explicit) == (expected, 1, True)
    assert pyspiel.load_game("python_napoleon").rules == Ruleset.make("german")
    assert pyspiel.load_game("python_napoleon", {"rules": "english", "misere": "none"}).rules.misere is None


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        ("rules=spanish", RulesetError, "preset 'spanish' does not exist"),
        ("players=7", RulesetError, "players=7 must be a whole number from 2 to 6"),
        ("misere=1", pyspiel.SpielError, "misere"),
        ("misere=1:2:3", RulesetError, "misere"),
        ("chance=never", RulesetError, "chance='never' must be one of explicit, sampled"),
        ("dealer=4", DealError, "dealer=4 must be a seat from 0 to 3"),
        ("rng_seed=-2", SeedError, "rng_seed=-2"),
        ("ties=1", pyspiel.SpielError, "ties"),
    ],
)
def test_what_does_not_fit_is_refused(parameters: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        pyspiel.load_game(f"python_napoleon({parameters})")


def test_chance_is_explicit_in_tiny_packs_and_sampled_otherwise() -> None:
    modes = pyspiel.GameType.ChanceMode
    # Two of the six cards, then two of the other four: 15 * 6.
    assert n_deals(Ruleset.make({**TINY, "lowest_rank": "Q"})) == 90
    assert make_game(TINY).get_type().chance_mode == modes.EXPLICIT_STOCHASTIC
    for preset in PRESETS:
        assert n_deals(Ruleset.make(preset)) > EXPLICIT_DEALS
        assert make_game(preset).get_type().chance_mode == modes.SAMPLED_STOCHASTIC
        explicit = make_game(preset, chance="explicit")
        assert explicit.get_type().chance_mode == modes.EXPLICIT_STOCHASTIC


def test_kind_of_game() -> None:
    kind = pyspiel.GameType
    for preset, utility, model in [
        ("german", kind.Utility.ZERO_SUM, kind.RewardModel.TERMINAL),
        ("portuguese", kind.Utility.GENERAL_SUM, kind.RewardModel.TERMINAL),
        ("russian", kind.Utility.GENERAL_SUM, kind.RewardModel.REWARDS),  # the antes of void deals
        ({"preset": "english", "deals": 2}, kind.Utility.ZERO_SUM, kind.RewardModel.REWARDS),
    ]:
        found = make_game(preset).get_type()
        assert (found.utility, found.reward_model) == (utility, model)


# OpenSpiel's own tests.


def rule_sets() -> list[Ruleset]:
    """Presets for several numbers of players, random ones, and a tiny one."""
    rng = random.Random(2)
    presets = [Ruleset.make(preset, players=2 + i, deals=2, max_void_deals=3) for i, preset in enumerate(PRESETS)]
    return [*presets, *(finite(random_rules(rng)) for _ in range(12)), Ruleset.make(TINY)]


@pytest.mark.parametrize("chance", ["explicit", "sampled"])
def test_random_simulations_of_open_spiel(chance: str, capfd: pytest.CaptureFixture[str]) -> None:
    for rules in rule_sets():
        game = make_game(rules, chance=chance)
        # C++ cannot serialise a Python game whose chance is sampled, see the adapter.
        pyspiel.random_sim_test(game, num_sims=2, serialize=chance == "explicit", verbose=False)
    capfd.readouterr()


def test_simulations_with_serialisation_of_open_spiel_in_python() -> None:
    suite = games_sim_test.GamesSimTest("test_pig")
    for rules in rule_sets():
        suite.sim_game(make_game(rules, chance="explicit"))


def test_a_sampled_game_goes_on_after_pickling_as_open_spiel_asks_of_it() -> None:
    """As its sampled_stochastic_games_test does."""
    game = pyspiel.load_game("python_napoleon", {"rng_seed": 0})
    for seed in range(3):
        test_utils.random_playout(game.new_initial_state(), seed)
        twin = pickle.loads(pickle.dumps(game))
        state, other = (test_utils.random_playout(g.new_initial_state(), seed) for g in (game, twin))
        assert str(state) == str(other)


@pytest.mark.parametrize("chance", ["explicit", "sampled"])
def test_a_pickled_state_is_the_same_and_goes_on(chance: str) -> None:
    rng = random.Random(3)
    for state in play_out(make_game("russian", chance=chance), rng):
        twin = pickle.loads(pickle.dumps(state))
        assert (str(twin), twin.history(), twin.current_player()) == (str(state), state.history(), state.current_player())
        if state.is_player_node():
            action = decide(state, rng)
            assert str(twin.child(action)) == str(state.child(action))


def test_a_playthrough_is_the_same_again() -> None:
    for rules in (TINY, {"preset": "russian", "players": 2, "lowest_rank": "J", "hand_size": 2}):
        game = make_game(rules, chance="explicit")
        text = generate_playthrough.playthrough(str(game), None, seed=5)
        history = [line for line in text.splitlines() if line.startswith("History() = ")][-1]
        actions = [int(action) for action in history.removeprefix("History() = [").removesuffix("]").split(",")]
        again = generate_playthrough.playthrough(str(game), actions, seed=6)
        assert again == text
        assert "PrivateObservationString(1)" in text


# What is shown.


@pytest.mark.parametrize(
    "rules",
    [
        {**TINY, "suits": 1, "lowest_rank": "T"},
        {**TINY, "suits": 1, "lowest_rank": "J", "hand_size": 1, "players": 3, "exchange": True},
        {**TINY, "suits": 2, "lowest_rank": "K", "hand_size": 1, "trump": "chosen", "wellington": [3, 4]},
        {**TINY, "auction": "circulating", "dealer_holds": True, "suits": 1, "lowest_rank": "Q", "hand_size": 1},
    ],
)
def test_an_information_state_has_one_string_and_one_tensor(rules: dict[str, Any]) -> None:
    """In all of a tiny game: two states that a seat can tell apart by one it can tell apart by the other."""
    game = make_game(rules)
    states = get_all_states.get_all_states(game, include_terminals=False, include_chance_states=False, to_string=str)
    tensor_of: dict[str, tuple[int, bytes]] = {}
    string_of: dict[tuple[int, bytes], str] = {}
    for state in states.values():
        seat = state.current_player()
        string = state.information_state_string(seat)
        tensor = seat, np.array(state.information_state_tensor(seat), np.int8).tobytes()
        assert tensor_of.setdefault(string, tensor) == tensor
        assert string_of.setdefault(tensor, string) == string
    assert 20 < len(tensor_of) < len(states)


def test_tensors_are_the_observations_of_the_environments() -> None:
    rng = random.Random(4)
    for state in play_out(make_game({"preset": "russian", "players": 3, "deals": 2}), rng):
        if state.is_chance_node():
            continue
        for seat in range(3):
            expected = observe(state.match.state, state.match.rules, seat).observation
            for tensor in (state.information_state_tensor(seat), state.observation_tensor(seat)):
                assert len(tensor) == OBSERVATION_SIZE
                assert np.array_equal(tensor, expected)


def test_strings_tell_what_the_seat_knows_and_no_more() -> None:
    game = make_game({"preset": "russian", "players": 2, "lowest_rank": "J"}, chance="explicit", dealer=0)
    state = game.new_initial_state()
    state.replay(dealt_by_hand())
    assert state.information_state_string(0) == (
        "seat 0\ndealer 0, 0: AC JC KC QC QD drew KH, 0 bid 5, 0 napoleon, 0 discard QD, 0 AC, 1 AD"
    )
    assert state.information_state_string(1) == (
        "seat 1\ndealer 0, 1: AD AH JD JH QH, 0 bid 5, 0 napoleon, 0 discard ?, 0 AC, 1 AD"
    )
    assert state.observation_string(1) == state.information_state_string(1) + "\nscores 0 0 pot 2"
    nobody = pyspiel.PrivateInfoType.NONE
    public = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True, private_info=nobody))
    private = make_observation(game, pyspiel.IIGObservationType(public_info=False, perfect_recall=True))
    assert public.string_from(state, 1) == "seat 1\ndealer 0, 0 bid 5, 0 napoleon, 0 discard ?, 0 AC, 1 AD"
    assert private.string_from(state, 1) == "seat 1\n1: AD AH JD JH QH"
    assert len(public.tensor) + len(private.tensor) == OBSERVATION_SIZE


def dealt_by_hand() -> np.ndarray:
    """A deal in play: seat 0 exchanged a card and led."""
    match = ne.Match.deal(
        {"preset": "russian", "players": 2, "lowest_rank": "J"},
        dealer=0,
        hands=[["JC", "QC", "KC", "AC", "QD"], ["JD", "AD", "JH", "QH", "AH"]],
        stock=["KH"],
    )
    for action in ("bid 5", "napoleon", "discard QD", "AC", "AD"):
        match.play(action)
    return match.state[0]


def test_information_states_recall_all_deals_of_a_match() -> None:
    """What a seat was told before is in what it is told later."""
    rng = random.Random(5)
    for _ in range(3):
        told = [""] * 3
        for state in play_out(make_game({"preset": "english", "players": 3, "deals": 3}), rng):
            if state.is_player_node():
                for seat in range(3):
                    assert state.information_state_string(seat).startswith(told[seat])
                    told[seat] = state.information_state_string(seat)
        assert told[0].count("dealer") >= 3


@pytest.mark.parametrize("chance", ["explicit", "sampled"])
def test_resampled_states_look_the_same_to_their_seat_and_differ_in_the_rest(chance: str) -> None:
    rng = random.Random(6)
    others = set()
    for rules in rule_sets():
        for state in play_out(make_game(rules, chance=chance), rng):
            if not state.is_player_node() or rng.random() < 0.7:
                continue
            for seat in range(rules.players):
                twin = state.resample_from_infostate(seat, rng.random)
                assert twin.information_state_string(seat) == state.information_state_string(seat)
                assert twin.information_state_tensor(seat) == state.information_state_tensor(seat)
                assert twin.legal_actions() == state.legal_actions() or state.current_player() != seat
                assert (twin.current_player(), twin.returns(), twin.rewards()) == (
                    state.current_player(), state.returns(), state.rewards(),
                )  # fmt: skip
                others.add(str(twin) == str(state))
    assert others == {True, False}


def test_resampling_draws_every_world_equally() -> None:
    """Seat 0 holds two of six cards: the other holds any two of the other four, six hands."""
    game = make_game({**TINY, "lowest_rank": "Q"}, dealer=0)
    state, rng = game.new_initial_state(), random.Random(7)
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[0][0])
    hands = [tuple(state.resample_from_infostate(0, rng.random).match.hands[1]) for _ in range(1200)]
    counts = [hands.count(hand) for hand in set(hands)]
    assert len(counts) == 6
    assert max(abs(count - 200) for count in counts) < 65  # five standard deviations


def test_nothing_is_resampled_at_chance_nodes() -> None:
    with pytest.raises(pyspiel.SpielError, match="at a chance node"):
        make_game(TINY).new_initial_state().resample_from_infostate(0, lambda: 0.0)


# Chance and payoffs.


def test_every_deal_is_equally_likely() -> None:
    """Both dealers, and the 90 ways to deal two hands of two out of six cards."""
    chances: dict[str, float] = {}

    def walk(state: Any, chance: float) -> None:
        if state.is_chance_node():
            for action, probability in state.chance_outcomes():
                walk(state.child(action), chance * probability)
        else:
            deal = str((state.match.dealer, state.match.hands))
            assert deal not in chances
            chances[deal] = chance

    walk(make_game({**TINY, "lowest_rank": "Q"}).new_initial_state(), 1.0)
    assert len(chances) == 2 * 90
    assert np.allclose(list(chances.values()), 1 / 180, rtol=1e-12)


@pytest.mark.parametrize("chance", ["explicit", "sampled"])
def test_rewards_add_up_to_the_returns(chance: str) -> None:
    """As OpenSpiel counts them: after each decision, chance nodes left out; so does its rl_environment."""
    rng = random.Random(8)
    for rules in rule_sets():
        game = make_game(rules, chance=chance)
        total = np.zeros(rules.players)
        state = game.new_initial_state()
        for state in play_out(game, rng):
            if not state.is_chance_node():
                total += state.rewards()
        assert total.tolist() == state.returns() == state.match.scores
        assert all(game.min_utility() <= payoff <= game.max_utility() for payoff in state.returns())
        environment = rl_environment.Environment(game, chance_event_sampler=rl_environment.ChanceEventSampler(1))
        step = environment.reset()
        total = np.zeros(rules.players)
        while not step.last():
            seat = step.observations["current_player"]
            step = environment.step([rng.choice(step.observations["legal_actions"][seat])])
            total += step.rewards
        assert total.tolist() == environment.get_state.returns()


# Algorithms.


def test_constants_of_kuhn_and_leduc_poker() -> None:
    """The value of Kuhn poker is -1/18, that of Leduc poker -0.085606424078: the linear programme that solves ours below."""
    kuhn, leduc = (sequence_form_lp.solve_zero_sum_game(pyspiel.load_game(name))[0] for name in ("kuhn_poker", "leduc_poker"))
    assert kuhn == pytest.approx(-1 / 18, abs=1e-7)
    assert leduc == pytest.approx(-0.085606424078, abs=1e-7)
    kuhn_game = pyspiel.load_game("kuhn_poker")
    solver = cfr.CFRPlusSolver(kuhn_game)
    for _ in range(300):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    assert exploitability.nash_conv(kuhn_game, average) < 3e-3
    value = expected_game_score.policy_value(kuhn_game.new_initial_state(), [average] * 2)[0]
    assert value == pytest.approx(-1 / 18, abs=3e-3)


def test_linear_programme_cfr_and_best_response_agree(tiny: Any) -> None:
    """NashConv of the solution is zero, CFR+ comes near its value, and no best response to it gains anything."""
    value, _, first, second = sequence_form_lp.solve_zero_sum_game(tiny)
    solution = policies.TabularPolicy(tiny)
    for seat, solved in enumerate((first, second)):
        for place in range(len(solution.states)):
            if solution.states[place].current_player() == seat:
                solution.action_probability_array[place] = solved.action_probability_array[place]
    assert exploitability.nash_conv(tiny, solution) == pytest.approx(0.0, abs=1e-5)
    for seat in range(2):
        response = best_response.BestResponsePolicy(tiny, seat, solution)
        assert response.value(tiny.new_initial_state()) == pytest.approx((value, -value)[seat], abs=1e-5)
    solver = cfr.CFRPlusSolver(tiny)
    for _ in range(20):
        solver.evaluate_and_update_policy()
    average, uniform = solver.average_policy(), policies.TabularPolicy(tiny)
    assert exploitability.exploitability(tiny, average) < 0.15 < exploitability.exploitability(tiny, uniform)
    reached = expected_game_score.policy_value(tiny.new_initial_state(), [average] * 2)[0]
    assert reached == pytest.approx(value, abs=0.15)


def test_solvers_in_cpp(tiny: Any) -> None:
    solver = pyspiel.CFRPlusSolver(tiny)
    for _ in range(20):
        solver.evaluate_and_update_policy()
    assert pyspiel.nash_conv(tiny, solver.average_policy()) < 0.3
    uniform = pyspiel.nash_conv(tiny, pyspiel.UniformRandomPolicy(tiny))
    assert uniform == pytest.approx(exploitability.nash_conv(tiny, policies.UniformRandomPolicy(tiny)), abs=1e-9)


def test_mccfr_on_sampled_chance() -> None:
    game = make_game({"preset": "german", "players": 2, "hand_size": 1, **ONE_DEAL}, chance="sampled", rng_seed=1)
    solver = external_sampling_mccfr.ExternalSamplingSolver(game)
    for _ in range(100):
        solver.iteration()
    assert len(solver.average_policy().action_probabilities(first_decision(game))) >= 2


def first_decision(game: Any) -> Any:
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[0][0])
    return state


def test_alpha_rank_on_the_game_between_policies(tiny: Any) -> None:
    """The better of three policies is the only one that lasts: random, always the lowest action, CFR+."""
    solver = cfr.CFRPlusSolver(tiny)
    for _ in range(15):
        solver.evaluate_and_update_policy()
    lowest = policies.tabular_policy_from_callable(tiny, lambda state: {state.legal_actions()[0]: 1.0})
    entrants = [policies.UniformRandomPolicy(tiny), lowest, solver.average_policy()]
    start = tiny.new_initial_state()
    table = np.array([[expected_game_score.policy_value(start, [mine, other]) for other in entrants] for mine in entrants])
    *_, masses, _, _ = alpharank.compute([table[:, :, 0], table[:, :, 1]], m=5, alpha=20)
    assert masses.sum() == pytest.approx(1.0)
    assert np.argmax(masses) == 3 * 2 + 2  # CFR+ in both seats


@pytest.mark.parametrize("rules", ["german", {"preset": "russian", "players": 3}])
def test_search_bots_play(rules: Any) -> None:
    """MCTS, which sees all cards, and IS-MCTS, which resamples them."""
    game = make_game(rules)
    if game.get_type().reward_model == pyspiel.GameType.RewardModel.TERMINAL:
        evaluator = mcts.RandomRolloutEvaluator(1, np.random.RandomState(1))
        bot = mcts.MCTSBot(game, 5.0, 10, evaluator, random_state=np.random.RandomState(1))
        assert bot.step(first_decision(game)) in first_decision(game).legal_actions()
    state, rng = first_decision(game), np.random.RandomState(2)
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 5.0, 10, random_state=rng)
    for _ in range(6):
        assert state.is_player_node()
        action = bot.step(state)
        assert action in state.legal_actions()
        state.apply_action(action)


def test_is_mcts_finds_the_card_that_wins() -> None:
    """Seat 0 plays alone for one trick and holds the two aces of a pack of four cards: either wins, so it bids both tricks."""
    game = make_game(TINY, dealer=1)
    state = game.new_initial_state()
    for card in ("AC", "AD", "KC", "KD"):
        state.apply_action(ne.action_id(card) - ne.action_id("2C"))
    rng = np.random.RandomState(3)
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 5.0, 300, random_state=rng)
    assert ne.action_name(bot.step(state)) == "bid 2"


# Bots at our tables.


def test_a_bot_enters_a_tournament_by_name_and_the_result_can_be_repeated() -> None:
    spec = "napoleon_env.adapters.open_spiel:ismcts:simulations=5"
    rules = Ruleset.make("russian", players=2, deals=2, max_void_deals=2)
    results = [ne.run_tournament([("bot", spec), ("random", "random")], rules=rules, deals=2, seed=3) for _ in range(2)]
    first, second = (result.edges() for result in results)
    assert str(first) == str(second)
    assert not results[0].forfeits


BOT = """
from open_spiel.python.bots.uniform_random import UniformRandomBot
from napoleon_env.adapters.open_spiel import BotPlayer

def uniform(*, rules):
    return BotPlayer(lambda game, seat, rng: UniformRandomBot(seat, rng), rules)
"""


def test_any_bot_enters_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BOT)
    result = ne.run_tournament([("bot", f"{file}:uniform"), ("rule", "rule")], rules="english", deals=2, seed=1)
    assert not result.forfeits


def test_a_bot_sees_what_its_seat_knows_and_only_one_possible_rest() -> None:
    """In every deal of a match: its own information is the true one, the others' cards are drawn anew."""
    rules = Ruleset.make("russian", players=3, deals=3)
    rng, shown, honest = random.Random(9), [], []

    class Watching(pyspiel.Bot):
        def step(self, state: Any) -> int:
            shown.append(state.clone())
            return state.legal_actions()[0]

    player = BotPlayer(lambda game, seat, rng: Watching(), rules)
    match = ne.Match(rules, seed=5)
    while not match.over:
        seat = match.seat
        assert seat is not None
        action = player.act(match.view(seat, seed=rng.getrandbits(32)))
        assert action == match.legal_ids()[0]
        observation = observe(match.state, rules, seat).observation
        assert np.array_equal(shown[-1].information_state_tensor(seat), observation)
        seen, true_view = shown[-1].match.view(seat), match.view(seat)
        for what in ("hand", "log", "scores", "pot", "dealer", "deal_number", "drawn"):
            assert getattr(seen, what) == getattr(true_view, what)
        honest.append(shown[-1].match.hands == match.hands)
        match.play(Habits.draw(rng, rules).choose(rng, match.legal(), match.deal_number))
    assert honest.count(False) > len(honest) / 2
    assert {state.match.deal_number for state in shown} >= {0, 1, 2}
