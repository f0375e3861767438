"""Our own sequence form, equilibrium and NashConv against OpenSpiel's, on its poker games and on tiny rule sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policies
from open_spiel.python.algorithms import expected_game_score, exploitability
from trees import Chance, Decision, End, Form, Node

import napoleon_env as ne
from napoleon_env import exact
from napoleon_env.adapters.open_spiel import make_game
from napoleon_env.ruleset import Ruleset

ONE_DEAL = {"auction": "once", "all_pass": "dealer_plays_one", "min_bid": 1}
RULES = {
    "two players": Ruleset.make("german", players=2, suits=2, lowest_rank="K", hand_size=2, **ONE_DEAL),
    "a stock": Ruleset.make("german", players=2, suits=1, lowest_rank="T", hand_size=2, **ONE_DEAL),
    "three players": Ruleset.make("german", players=3, suits=2, lowest_rank="K", hand_size=1, **ONE_DEAL),
    "exchange, pot, holds": Ruleset.make("russian", players=2, suits=1, lowest_rank="Q", hand_size=1, max_void_deals=1),
    "points only": Ruleset.make("portuguese", players=2, suits=2, lowest_rank="K", hand_size=1),
}


def node_of(state: Any) -> Node:
    """An OpenSpiel state and all that follows it, as a tree."""
    if state.is_terminal():
        return End(tuple(state.returns()))
    if state.is_chance_node():
        return Chance([(chance, node_of(state.child(action))) for action, chance in state.chance_outcomes()])
    moves = [lambda action=action: node_of(state.child(action)) for action in state.legal_actions()]
    return Decision(state.current_player(), state.information_state_string(), moves)


def form_of(game: Any) -> Form:
    return Form(node_of(game.new_initial_state()), game.num_players())


def random_policy(game: Any, form: Form, seed: int) -> tuple[policies.TabularPolicy, np.ndarray]:
    """The same policy for OpenSpiel and for our sequence form."""
    tabular, ours = policies.TabularPolicy(game), form.form.uniform()
    rng = np.random.default_rng(seed)
    for place, state in enumerate(tabular.states):
        number, first, _ = form.states[state.current_player(), state.information_state_string()]
        after = form.form.first[number + 1]
        ours[first:after] = rng.dirichlet(np.ones(after - first))
        tabular.action_probability_array[place, state.legal_actions()] = ours[first:after]
    return tabular, ours


@pytest.mark.parametrize(("name", "value"), [("kuhn_poker", -1 / 18), ("leduc_poker", -0.085606424078)])
def test_poker_games_of_open_spiel_have_their_known_values(name: str, value: float) -> None:
    game = pyspiel.load_game(name)
    form = form_of(game)
    found = form.form.solve(tolerance=1e-4)
    assert found.values == pytest.approx([value, -value], abs=1e-4)
    tabular, ours = random_policy(game, form, seed=1)
    assert form.form.nash_conv(ours) == pytest.approx(exploitability.nash_conv(game, tabular), abs=1e-9)


@pytest.mark.parametrize("name", RULES)
def test_nash_conv_and_values_of_any_policy_equal_open_spiel_s(name: str) -> None:
    game = make_game(RULES[name])
    form = form_of(game)
    for seed in range(2):
        tabular, ours = random_policy(game, form, seed)
        assert form.form.nash_conv(ours) == pytest.approx(exploitability.nash_conv(game, tabular), abs=1e-9)
        values = expected_game_score.policy_value(game.new_initial_state(), [tabular] * game.num_players())
        assert form.form.values(ours) == pytest.approx(list(values), abs=1e-9)


@pytest.mark.parametrize("player", ["random", "rule", "counting"])
@pytest.mark.parametrize("name", RULES)
def test_nash_conv_of_players_equals_open_spiel_s(name: str, player: str) -> None:
    game = make_game(RULES[name])
    plays: Any = ne.make_player(player)

    def probabilities(state: Any) -> dict[int, float]:
        chances = plays.probabilities(state.match.view(state.current_player()))
        return {action: float(chances[action]) for action in state.legal_actions()}

    tabular = policies.tabular_policy_from_callable(game, probabilities)
    assert exact.nash_conv(RULES[name], player) == pytest.approx(exploitability.nash_conv(game, tabular), abs=1e-9)


def test_the_sizes_are_the_same() -> None:
    """As many information states, forced decisions too."""
    for name in RULES:
        ours, theirs = exact.ExactGame(RULES[name]), form_of(make_game(RULES[name]))
        assert ours.information_states == len(theirs.states)
