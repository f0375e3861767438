"""Losses against open cards: the table says what tournaments and the analysis of records say."""

import json

import numpy as np
import pytest

from napoleon_env.analysis import Analysis, analyse
from napoleon_env.match import Match
from napoleon_env.report import roles
from napoleon_env.roster import RosterError, make_player
from napoleon_env.ruleset import Ruleset
from napoleon_env.solver import Solver
from napoleon_env.tournament import run_tournament
from train.losses import ROLES, Args, LossesError, losses, main, ratio


def test_the_losses_are_those_of_the_same_deals_analysed_one_by_one() -> None:
    rules, player, solver, total = Ruleset.make("german", players=3), make_player("counting"), Solver(), Analysis()
    for number in range(40):
        match = Match(rules, seed=1, stream="evaluation", number=number, dealer=number % 3)
        while match.seat is not None:
            match.play(player.act(match.view(match.seat)))
        total.add(analyse(match.history[0], solver))
    found = losses("counting", rules, 40, 1)
    for role in ROLES:
        tally = total.of_role(role)
        assert found[role].mean == pytest.approx(tally.loss / tally.choices)
        assert found[role].half_width > 0


def test_a_tournament_of_a_player_against_itself_has_the_same_losses() -> None:
    result = run_tournament({"a": "rule", "b": "rule"}, rules="russian", players=4, deals=20, losses=True)
    found, mine = losses("rule", Ruleset.make("russian", players=4), 20, 1), roles(result.tally[0])
    assert found["declarer"].mean == pytest.approx(mine["loss_as_declarer"])
    assert found["defender"].mean == pytest.approx(mine["loss_as_defender"])


def test_the_interval_of_a_ratio_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        cards = rng.integers(5, 20, size=100)
        found = ratio(np.stack([rng.poisson(0.3 * cards), cards], 1))
        held.append(found.low < 0.3 < found.high)
    assert np.mean(held) == pytest.approx(0.95, abs=0.03)


def test_the_command_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    args = Args(("random", "counting"), players=3, deals=100)
    main(args)
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["player", "declarer", "loses", "a", "decision", "defender", "loses", "a", "decision"]
    assert (first.split()[0], second.split()[0]) == ("random", "counting")
    main(Args(("random", "counting"), players=3, deals=100, json=True))
    found = json.loads(capsys.readouterr().out)["losses"]
    assert f"{found['counting']['defender']['mean']:.3f}" in second


def test_what_makes_no_table_is_refused_in_a_sentence() -> None:
    with pytest.raises(LossesError, match="deals=5 must be at least 100"):
        main(Args(("random",), deals=5))
    with pytest.raises(RosterError):
        main(Args(("nobody",)))
