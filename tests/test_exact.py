"""Tiny rule sets as whole games, against the same games walked through `Match`, brute force, and a game solved by hand."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from test_sequence_form import best_by_trying_all, random_policy
from trees import Form, best, nap

from agents.export import save_agent
from agents.network import ActorCritic
from napoleon_env import exact
from napoleon_env.exact import ExactGame
from napoleon_env.match import View
from napoleon_env.notation import N_ACTIONS
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE
from napoleon_env.players import CountingPlayer, RandomPlayer
from napoleon_env.roster import RosterError
from napoleon_env.ruleset import Ruleset
from napoleon_env.sequence_form import GameError
from train.exact import Args, main, report
from train.experience import varying_inputs

TINY = {"auction": "once", "all_pass": "dealer_plays_one", "min_bid": 1, "suits": 2}
SMALLEST = Ruleset.make("german", **TINY, players=2, lowest_rank="Q", hand_size=2)
ONE_CARD = Ruleset.make(
    "german", players=2, suits=1, lowest_rank="Q", hand_size=1, auction="once", min_bid=1, max_void_deals=1, slam=(1, 2)
)

RULE_SETS = {
    "german": Ruleset.make("german", **TINY | {"suits": 1}, players=2, lowest_rank="T", hand_size=2),
    "german-three": Ruleset.make("german", players=3, lowest_rank="K", suits=2, hand_size=1, min_bid=1, max_void_deals=1),
    "portuguese": Ruleset.make("portuguese", players=2, suits=2, lowest_rank="K", hand_size=2),
    "russian": Ruleset.make("russian", players=2, suits=1, lowest_rank="T", hand_size=2, max_void_deals=1),
    "english": Ruleset.make(
        "english", players=2, suits=1, lowest_rank="J", hand_size=2, min_bid=1, max_void_deals=1, misere=None
    ),
    "one-card": ONE_CARD,
}


@pytest.mark.parametrize("name", RULE_SETS)
def test_the_compiled_walk_finds_the_game_that_matches_and_views_make(name: str) -> None:
    rules = RULE_SETS[name]
    game, slow = ExactGame(rules), Form(nap(rules, range(rules.players)), rules.players)
    assert game.information_states == len(slow.states)
    assert (game.form.sequences, game.decisions) == (slow.form.sequences, slow.decisions)
    assert len(game.form.last) == len(slow.form.last)
    # Put the sequences of the compiled game in the slow game's order, by what each seat knows.
    states = game.states(np.arange(game.information_states))
    place = np.arange(game.form.sequences)
    for i, seat in enumerate(game.form.player.tolist()):
        view = View(rules, states[i : i + 1], seat)
        _, first, _ = slow.states[seat, view.state.tobytes()]
        assert game.legal(i) == view.legal_ids()
        place[game.form.first[i] : game.form.first[i + 1]] = first + np.arange(len(game.legal(i)))
    policy = random_policy(slow.form, 3)
    assert game.form.values(policy[place]) == pytest.approx(slow.form.values(policy), abs=1e-12)
    assert game.nash_conv(policy[place]) == pytest.approx(slow.form.nash_conv(policy), abs=1e-12)


@pytest.mark.parametrize("name", ["german-three", "one-card"])
def test_a_best_response_is_the_best_of_all_pure_strategies(name: str) -> None:
    game = ExactGame(RULE_SETS[name], dealer=0)
    policy = random_policy(game.form, 1)
    for seat in range(game.rules.players):
        assert game.form.best_response(policy, seat).value == pytest.approx(best_by_trying_all(game.form, policy, seat))


def test_a_best_response_in_the_smallest_rule_set_is_what_recursion_over_its_tree_finds() -> None:
    game, tree = ExactGame(SMALLEST, dealer=0), nap(SMALLEST, [0])
    policy = random_policy(game.form, 2)
    states = game.states(np.arange(game.information_states))
    mixed = {
        (seat, View(SMALLEST, states[i : i + 1], seat).state.tobytes()): policy[game.form.first[i] : game.form.first[i + 1]]
        for i, seat in enumerate(game.form.player.tolist())
    }
    for seat in range(2):
        expected = best([(1.0, tree)], seat, lambda player, known: mixed[player, known])
        assert game.form.best_response(policy, seat).value == pytest.approx(expected, abs=1e-12)


def test_a_game_solved_by_hand_has_that_value() -> None:
    """One card each of Q K A, one call each, who declares wins 1 or loses 2; all pass, nothing.

    Seat 1 speaks first (seat 0 deals). With the ace it bids and wins 1. With the king a bid wins 1 from the queen and loses 2
    to the ace, -1/2 in the mean; passing loses 1 when seat 0 has the ace, which then bids, and nothing when it has the queen,
    which then passes: -1/2 as well. With the queen it passes (a bid loses 2): seat 0 bids its ace or, knowing that an ace would
    have bid, its king, and wins 1. So the first to speak gets (1 - 1/2 - 1) / 3 = -1/6. To pass the ace brings nothing more:
    1 from a king that bids, 0 from a queen, which never bids.
    """
    found = ExactGame(ONE_CARD, dealer=0).solve(tolerance=1e-6)
    assert found.values == pytest.approx([1 / 6, -1 / 6], abs=1e-6)
    # The dealer drawn by lot: nobody has an advantage.
    assert ExactGame(ONE_CARD).solve(tolerance=1e-6).values == pytest.approx([0, 0], abs=1e-6)


def test_rule_sets_that_were_counted_elsewhere_have_these_sizes() -> None:
    """Counted by a program of another hand, for one dealer and with a forced pass asked, which is not asked here (C10).

    Forced passes of two players, one a deal: 2 pass. Of three, four a deal: 2 pass, 2 pass pass, pass 2 pass, 1 2 pass. Each is
    one information state for each hand of its seat: 15 hands from 6 cards, 28 from 8.
    """
    sizes = {}
    for players, rank, cards in ((2, "Q", 2), (2, "J", 2), (3, "Q", 2)):
        game = ExactGame("german", **TINY, players=players, lowest_rank=rank, hand_size=cards, dealer=0)
        sizes[players, rank, cards] = (game.n_deals, game.information_states, game.decisions)
    assert sizes[2, "Q", 2] == (90, 2742 - 15, 5004 - 90)
    assert sizes[2, "J", 2] == (420, 10504 - 28, 23640 - 420)
    assert sizes[3, "Q", 2] == (90, 12240 - 4 * 15, 16920 - 4 * 90)


def test_the_smallest_rule_set_is_solved() -> None:
    game = ExactGame(SMALLEST)
    found = game.solve(tolerance=1e-3)
    assert game.nash_conv(found.policy) == found.nash_conv <= 1e-3
    assert found.values == pytest.approx([0, 0], abs=1e-3)  # the dealer is drawn by lot, so the seats are alike
    assert game.nash_conv("random") > game.nash_conv("counting") > 0.1


def test_players_are_asked_for_what_they_do() -> None:
    game = ExactGame(SMALLEST)
    uniform = game.form.uniform()
    assert game.policy("random") == pytest.approx(uniform)
    assert game.policy([RandomPlayer(), "random"]) == pytest.approx(uniform)
    counting = game.policy(CountingPlayer())
    assert set(counting.tolist()) == {0.0, 1.0}
    mixed = game.policy(["counting", "random"])
    seat_0 = np.repeat(game.form.player == 0, np.diff(game.form.first))
    assert (mixed[2:] == np.where(seat_0, counting[2:], uniform[2:])).all()
    gains = [game.form.best_response(counting, seat).value for seat in range(2)]
    assert exact.nash_conv(SMALLEST, "counting") == pytest.approx(sum(gains))


class Told:
    """Never passes, and says so."""

    def act(self, view: View) -> int:
        raise AssertionError

    def probabilities(self, view: View) -> np.ndarray:
        mask = view.mask().astype(float)
        mask[0] = 0
        return mask / mask.sum()


def test_probabilities_of_a_view_count() -> None:
    game = ExactGame(SMALLEST)
    policy = game.policy(Told())
    assert (policy[(game.actions == 0)] == 0).sum() > 0
    with pytest.raises(GameError, match="add up to 0"):
        game.policy(type("Silent", (Told,), {"probabilities": lambda self, view: np.zeros(N_ACTIONS)})())


def test_the_relative_reward_makes_a_game_of_points_only_one_of_two() -> None:
    rules = RULE_SETS["portuguese"]
    with pytest.raises(GameError, match="add up to zero"):
        ExactGame(rules).solve()
    game = ExactGame(rules, reward="relative", dealer=0)
    assert game.form.gain.sum(1) == pytest.approx(0)
    found = game.solve(tolerance=1e-3)
    assert found.values.sum() == pytest.approx(0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ExactGame("german", max_void_deals=1), "german .* has .* deals and more than 1,000,000 ends"),
        (lambda: ExactGame("german", **TINY, players=2, lowest_rank="9", hand_size=4), "more than 1,000,000 ends"),
        (lambda: ExactGame(SMALLEST, deals=2), "an exact game is one deal: it needs deals=1"),
        (lambda: ExactGame("russian", players=2, suits=2, lowest_rank="Q", hand_size=2), "max_void_deals=1"),
        (lambda: ExactGame(SMALLEST, dealer=2), "dealer=2 must be a seat from 0 to 1"),
        (lambda: ExactGame(SMALLEST, reward="win"), "reward='win' must be one of payoff, relative"),
        (lambda: exact.nash_conv(SMALLEST, ["random"] * 3), "3 players were given for 2 seats"),
        (lambda: exact.nash_conv(SMALLEST, "pimc:worlds=2"), "a PimcPlayer draws by lot and does not tell its probabilities"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(make, sentence: str) -> None:
    with pytest.raises(GameError, match=sentence):
        make()


def test_a_player_that_does_not_exist_is_refused() -> None:
    with pytest.raises(RosterError, match="does not exist"):
        exact.nash_conv(SMALLEST, "nobody")


def test_a_player_that_plays_illegally_is_refused() -> None:
    class Stubborn:
        deterministic = True

        def act(self, view: View) -> str:
            return "bid 2"

    with pytest.raises(GameError, match="add up to 0"):
        exact.nash_conv(SMALLEST, Stubborn())


def test_the_command_tells_the_equilibrium_and_how_far_an_agent_is_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = varying_inputs([SMALLEST], "canonical", ())
    net = ActorCritic(inputs, torch.ones(OBSERVATION_SIZE), torch.ones(HIDDEN_SIZE), width=8)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()  # all actions alike
    path = str(save_agent(tmp_path / "agent.onnx", net, [SMALLEST], "canonical", training={}))
    changes = tuple(f"{name}={value}" for name, value in SMALLEST.header.items() if name not in ("preset", "players"))
    args = Args(changes=changes, policies=("random", path), tolerance=1e-3)
    found = report(args)
    assert found["nash_conv"][f"{path}:sample=true"] == pytest.approx(found["nash_conv"]["random"], abs=1e-6)
    assert found["nash_conv"][path] > 0.1  # its likeliest action, the first of equals
    assert found["equilibrium"]["nash_conv"] <= 1e-3
    assert found["deals"] == 180
    main(Args(changes=changes, json=True, iterations=0))
    assert json.loads(capsys.readouterr().out)["nash_conv"]["random"] == found["nash_conv"]["random"]
    main(args)
    assert "equilibrium: the first speaker gets" in capsys.readouterr().out
