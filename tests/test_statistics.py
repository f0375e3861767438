"""Means, intervals, ratings and the sequential test, against numbers from elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from napoleon_env.statistics import Bootstrap, Estimate, Moments, OrderTest, bradley_terry, student_quantile


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706205), (2, 4.302653), (3, 3.182446), (9, 2.262157), (30, 2.042272), (100, 1.983972), (1000, 1.962339)],
)
def test_student_quantiles_are_those_of_printed_tables(freedom: int, quantile: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(quantile, abs=1e-6)


def test_the_two_ways_to_a_student_quantile_meet() -> None:
    below, above = student_quantile(0.975, 200), student_quantile(0.975, 201)
    assert 0 < below - above < 1e-4


def test_an_interval_worked_by_hand() -> None:
    moments = Moments(1)
    moments.add(np.array([[1.0], [2.0]]))
    moments.add(np.array([[3.0], [6.0]]))
    # mean 3, squared deviations 4 + 1 + 0 + 9 = 14, variance 14/3, of the mean 14/12, t with 3 degrees of freedom
    (estimate,) = moments.estimates()
    assert estimate.mean == 3
    assert estimate.half_width == pytest.approx(3.182446 * math.sqrt(14 / 12), rel=1e-6)


def test_blocks_of_any_size_give_the_same_moments() -> None:
    values = np.random.default_rng(1).normal(1e6, 1, (1000, 3))  # a mean that is large beside the deviation
    blocks = Moments(3)
    for part in np.split(values, [1, 10, 11, 500]):
        blocks.add(part)
    assert blocks.mean == pytest.approx(values.mean(0), rel=1e-14)
    assert blocks.variance() == pytest.approx(values.var(0, ddof=1), rel=1e-8)


def test_of_one_observation_there_is_no_interval() -> None:
    moments = Moments(1)
    moments.add(np.array([[5.0]]))
    (estimate,) = moments.estimates()
    assert estimate.mean == 5
    assert math.isnan(estimate.half_width)
    assert estimate.json == {"mean": 5.0, "low": None, "high": None}


def test_the_bootstrap_finds_the_standard_error_of_a_mean() -> None:
    values = np.random.default_rng(2).exponential(1.0, (4000, 1))
    bootstrap = Bootstrap(1, seed=1)
    for block, part in enumerate(np.split(values, 40)):
        bootstrap.add(block, part)
    (estimate,) = bootstrap.interval(bootstrap.sums / bootstrap.deals[:, None])
    assert estimate.mean == pytest.approx(values.mean())
    assert estimate.half_width == pytest.approx(
        1.96 * values.std() / math.sqrt(4000), rel=0.12
    )  # 400 resamples: ± 3.5 % one sigma


def test_bradley_terry_of_two_players_is_the_log_odds() -> None:
    # 300 to 100, and one draw added: 300.5 to 100.5, so the difference is 400 log10(300.5 / 100.5)
    ratings = bradley_terry(np.array([[0.0, 300.0], [100.0, 0.0]]))
    assert ratings[0] - ratings[1] == pytest.approx(400 * math.log10(300.5 / 100.5), abs=1e-3)
    assert ratings.sum() == pytest.approx(0, abs=1e-6)


def test_bradley_terry_recovers_ratings_from_expected_results() -> None:
    true = np.array([150.0, 20.0, -60.0, -110.0])
    wins = 1e7 / (1 + 10 ** ((true - true[:, None]) / 400)) * (1 - np.eye(4))
    assert bradley_terry(wins) == pytest.approx(true, abs=0.01)


def test_who_wins_every_deal_has_a_rating() -> None:
    assert np.isfinite(bradley_terry(np.array([[0.0, 50.0], [0.0, 0.0]]))).all()


def test_the_order_test_is_wrong_no_more_often_than_its_error_though_it_looks_after_every_deal() -> None:
    rng, error = np.random.default_rng(3), 0.05
    verdicts = []
    for _ in range(1000):
        test = OrderTest(bound=4, error=error)
        for value in rng.choice([-4.0, -1.0, 1.0, 4.0], 400):  # mean 0: neither is better
            test.add(value)
        verdicts.append(test.verdict)
    for side in (1, -1):
        assert verdicts.count(side) <= 1000 * error + 3 * math.sqrt(1000 * error * (1 - error))


@pytest.mark.parametrize(("bound", "deals"), [(30, 3000), (None, 1000)])
def test_the_order_test_finds_a_difference_and_its_direction(bound: float | None, deals: int) -> None:
    rng = np.random.default_rng(4)
    for sign in (1, -1):
        test = OrderTest(bound=bound, error=0.01)
        for value in rng.normal(0.3 * sign, 1, deals).clip(-30, 30):
            test.add(value)
        assert test.verdict == sign
        assert test.certain_after is not None
        assert test.certain_after < deals


def test_the_capital_of_the_first_bets_worked_by_hand() -> None:
    test = OrderTest(bound=10, error=0.05)
    test.add(2.0)  # nothing is known yet, so nothing is staked
    assert test.log_capital == [0, 0]
    test.add(-1.0)
    # mean (2 + 0) / 2 = 1, mean square (4 + 1) / 2 = 2.5, stake 1 / 2.5 = 0.4, cut to 0.5 / 10 = 0.05: 1 - 0.05 = 0.95
    assert test.log_capital == [pytest.approx(math.log(0.95)), 0]


def test_an_unbounded_order_test_says_nothing_early() -> None:
    test = OrderTest(bound=None, error=0.05)
    for _ in range(OrderTest.LEAST - 1):
        test.add(1.0)
    assert test.verdict == 0
    test.add(1.0)
    assert test.verdict == 1


def test_an_estimate_in_words() -> None:
    assert str(Estimate(-0.5, 0.25)) == "-0.500 ± 0.250"
