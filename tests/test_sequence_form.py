"""Games whose values others have published, and small ones that are solved here by trying every strategy."""

from itertools import product

import numpy as np
import pytest
from trees import Chance, Decision, End, Form, Node, kuhn, leduc

from napoleon_env.sequence_form import GameError, SequenceForm


def best_by_trying_all(form: SequenceForm, policy: np.ndarray, player: int) -> float:
    """The best value of any pure strategy of a player."""
    mine = np.flatnonzero(form.player == player)
    values = []
    for choices in product(*(range(form.first[i], form.first[i + 1]) for i in mine)):
        pure = policy.copy()
        for i, chosen in zip(mine, choices, strict=True):
            pure[form.first[i] : form.first[i + 1]] = 0
            pure[chosen] = 1
        values.append(form.values(pure)[player])
    return max(values)


def random_policy(form: SequenceForm, seed: int) -> np.ndarray:
    weights = np.random.default_rng(seed).random(form.sequences) ** 3
    weights[: form.players] = 1
    for first, after in zip(form.first[:-1], form.first[1:], strict=True):
        weights[first:after] /= weights[first:after].sum()
    return weights


def test_kuhn_poker_has_the_published_value_and_the_published_distance_of_random_play() -> None:
    form = Form(kuhn(), 2).form
    assert (len(form.player), form.sequences, len(form.last)) == (12, 2 + 24, 30)
    assert form.nash_conv(form.uniform()) == pytest.approx(11 / 12, abs=1e-12)  # OpenSpiel's tests say 0.916667
    found = form.solve(tolerance=1e-5)
    assert found.nash_conv <= 1e-5
    assert found.values == pytest.approx([-1 / 18, 1 / 18], abs=1e-5)  # Kuhn 1950


def test_an_equilibrium_of_kuhn_poker_by_hand_has_nash_conv_zero() -> None:
    tree = Form(kuhn(), 2)
    alpha = 0.2  # Kuhn's family: the first player bets the jack with alpha, the king with 3 alpha
    bets = {
        (0, (0, "")): alpha, (0, (1, "")): 0, (0, (2, "")): 3 * alpha,
        (0, (0, "pb")): 0, (0, (1, "pb")): alpha + 1 / 3, (0, (2, "pb")): 1,
        (1, (0, "p")): 1 / 3, (1, (1, "p")): 0, (1, (2, "p")): 1,
        (1, (0, "b")): 0, (1, (1, "b")): 1 / 3, (1, (2, "b")): 1,
    }  # fmt: skip
    policy = tree.form.uniform()
    for key, (_, first, _) in tree.states.items():
        policy[first : first + 2] = 1 - bets[key], bets[key]
    assert tree.form.nash_conv(policy) == pytest.approx(0, abs=1e-12)
    assert tree.form.values(policy) == pytest.approx([-1 / 18, 1 / 18], abs=1e-12)


def test_leduc_poker_has_the_published_value_and_the_published_distance_of_random_play() -> None:
    form = Form(leduc(), 2).form
    # 6 histories of 3 ranks in the first round; 5 ways on from it, then 6 histories of 3 own and 3 public ranks.
    assert len(form.player) == 6 * 3 + 5 * 6 * 3 * 3
    assert form.nash_conv(form.uniform()) == pytest.approx(4.7472222222, abs=1e-9)  # OpenSpiel's tests
    found = form.solve(tolerance=1e-3)
    assert found.nash_conv <= 1e-3
    assert found.values[0] == pytest.approx(-0.085606424078, abs=1e-3)  # OpenSpiel's tests; the distance bounds the error


@pytest.mark.parametrize("seed", range(5))
def test_a_best_response_is_the_best_of_all_pure_strategies(seed: int) -> None:
    form = Form(kuhn(), 2).form
    policy = random_policy(form, seed)
    for player in (0, 1):
        found = form.best_response(policy, player)
        assert found.value == pytest.approx(best_by_trying_all(form, policy, player), abs=1e-12)
        assert form.values(found.policy)[player] == pytest.approx(found.value, abs=1e-12)
        others = form.player != player
        for first, after in zip(form.first[:-1][others], form.first[1:][others], strict=True):
            assert (found.policy[first:after] == policy[first:after]).all()


def matching(players: int) -> Node:
    """Everyone names 0 or 1 without seeing the others; who differs from all the others wins 1 from each of them."""

    def say(said: tuple[int, ...]) -> Node:
        if len(said) == players:
            alone = [said.count(word) == 1 for word in said]
            n = sum(alone)
            return End(tuple(players * own - n if n == 1 else 0 for own in alone))
        return Decision(len(said), "", [lambda word=word: say((*said, word)) for word in (0, 1)])

    return say(())


def test_three_players_have_nash_conv_too() -> None:
    form = Form(matching(3), 3).form
    # All at random: nobody can do better, since the word of each is alone with a chance of 1/4 whatever it is.
    assert form.nash_conv(form.uniform()) == pytest.approx(0, abs=1e-12)
    policy = form.uniform()
    policy[3:] = [1, 0, 1, 0, 1, 0]  # all say 0: each alone could win 2 by saying 1
    assert form.values(policy) == pytest.approx([0, 0, 0])
    assert form.nash_conv(policy) == pytest.approx(3 * 2)
    with pytest.raises(GameError, match="equilibria of two players, not of 3"):
        form.solve()


def test_where_payoffs_do_not_add_up_to_zero_there_is_no_equilibrium_by_cfr() -> None:
    form = Form(Chance([(1.0, Decision(0, "", [lambda: End((1, 1)), lambda: End((0, 0))]))]), 2).form
    assert form.nash_conv(form.uniform()) == pytest.approx(0.5)  # the first player alone has a choice: 1 in place of 1/2
    with pytest.raises(GameError, match="add up to zero"):
        form.solve()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda policy: policy[:-1], r"shape \(26,\), not \(25,\)"),
        (lambda policy: policy * 0.5, "add up to 1"),
        (lambda policy: np.where(policy == policy[5], -1, policy), "at least 0"),
    ],
)
def test_what_is_no_policy_is_refused(change, sentence: str) -> None:
    form = Form(kuhn(), 2).form
    with pytest.raises(GameError, match=sentence):
        form.nash_conv(change(form.uniform()))
