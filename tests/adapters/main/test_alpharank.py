"""α-rank by OpenSpiel, of the cross table: the best takes all, who beat each other in a circle share."""

from __future__ import annotations

import numpy as np
import pytest
from open_spiel.python.egt import alpharank

from napoleon_env import run_tournament
from napoleon_env.report import to_json
from napoleon_env.statistics import alpha_rank


def test_the_best_takes_all_and_a_circle_is_shared() -> None:
    order = np.array([[0.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, -1.0, 0.0]])
    circle = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
    assert alpha_rank(order) == pytest.approx([1, 0, 0], abs=0.05)
    assert alpha_rank(circle) == pytest.approx([1 / 3] * 3)
    assert alpha_rank(np.zeros((3, 3))) == pytest.approx([1 / 3] * 3)
    # The limit of large α, as OpenSpiel has it for a given one.
    assert alpha_rank(order) == pytest.approx(alpharank.compute([order], alpha=5, m=20)[2], abs=0.05)


def test_a_tournament_tells_each_entrants_share() -> None:
    result = run_tournament(["rule", "random", "rule as also", "random as other"], deals=100)
    shares = {player["name"]: player["alpha_rank"] for player in to_json(result)["players"]}
    # Both random players lose to both others; of equals nobody is better.
    assert all(result.edges()[pair].low > 0 for pair in ((0, 1), (0, 3)))
    assert shares["rule"] == pytest.approx(shares["also"])
    assert shares["rule"] == pytest.approx(0.5, abs=0.05)
    assert shares["random"] == pytest.approx(shares["other"], abs=0.01)
    assert sum(shares.values()) == pytest.approx(1)
