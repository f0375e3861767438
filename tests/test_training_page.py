"""The page of a training run: its curves are the log's, its numbers those of the deals that the agent plays."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from pages import page_data
from torch.utils.tensorboard import SummaryWriter

from agents.export import save_agent
from agents.network import ActorCritic
from napoleon_env import Match, Ruleset
from napoleon_env.agent import OnnxPlayer
from napoleon_env.analysis import analyse
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE
from napoleon_env.solver import Solver
from napoleon_env.tournament import run_tournament
from train.evaluation import PLAYERS, Evaluation
from train.experience import varying_inputs
from train.page import POINTS, Args, PageError, read_curves, write_page


def make_run(folder: Path) -> Path:
    """A folder as a training run of the Russian rules leaves it, with an agent that has learnt nothing."""
    rules = Ruleset.make("russian", players=3)
    torch.manual_seed(0)
    net = ActorCritic(varying_inputs([rules], "fixed", ()), torch.ones(OBSERVATION_SIZE), torch.ones(HIDDEN_SIZE), 16, 1)
    save_agent(folder / "agent.onnx", net, [rules], "fixed", training={"seed": 0})
    with SummaryWriter(str(folder / "log")) as writer:
        for update in range(2 * POINTS + 2):
            writer.add_scalar("loss/value", 1 / (1 + update), 1000 * update)
        writer.add_scalar("entropy/declarer", 0.5, 1000)
        writer.add_scalar("eval/russian-3/rule", -2.0, 1000)
    lines = [Evaluation(1000, "russian-3", "rule", -2.0, -2.5, -1.5), Evaluation(2000, "russian-3", "rule", 1.0, 0.75, 1.25)]
    (folder / "evaluations.jsonl").write_text("".join(json.dumps(line._asdict()) + "\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("training"))


def test_a_curve_keeps_its_ends_and_is_thinned_between(finished_run: Path) -> None:
    curves = read_curves(finished_run / "log")
    assert set(curves) == {"loss/value", "entropy/declarer", "eval/russian-3/rule"}
    points = curves["loss/value"]
    assert len(points) == POINTS  # of twice as many and two, of which a step from either end would leave the other out
    assert points[0] == (0, 1)
    assert points[-1] == (1000 * (2 * POINTS + 1), pytest.approx(1 / (2 + 2 * POINTS)))
    assert {later - earlier for (earlier, _), (later, _) in pairwise(points)} == {2000, 3000}  # evenly between
    assert curves["entropy/declarer"] == [(1000, 0.5)]


def test_the_losses_are_those_of_evaluation_deals_and_lead_to_them(finished_run: Path) -> None:
    path = write_page(Args(finished_run, deals=9, matches=6, seed=4))
    page = path.read_text()
    assert path == finished_run / "training.html"
    data = page_data(page)
    player, solver, lost = OnnxPlayer(finished_run / "agent.onnx"), Solver(), Counter[str]()
    for number in range(6):
        match = Match("russian", players=3, seed=4, stream="evaluation", number=number)
        while match.seat is not None:
            match.play(player.act(match.view(match.seat)))
        for decision in analyse(match.history[-1], solver):
            lost[f"{decision.role} {decision.phase}"] += decision.loss
    assert sum(lost.values()) > 0
    assert set(data["deals"]) == {key for key, loss in lost.items() if loss}
    for key, places in data["deals"].items():
        assert f'data-deals="{key}">{lost[key] / 6:.3f}</button>' in page
        for place in places:
            frames = data["matches"][place]["frames"]
            rows = [row for now in frames if now.get("decision") for row in now["decision"]["rows"]]
            assert all(row[1] is not None for row in rows)
            assert any(row[3] for row in rows)


def test_the_page_shows_who_wins_against_whom_and_how_that_changed(finished_run: Path) -> None:
    page = write_page(Args(finished_run, deals=9, matches=1, seed=4)).read_text()
    assert page.count("Head to head: russian-3") == 1
    agent = ("agent", str(finished_run / "agent.onnx"))
    result = run_tournament([agent, *PLAYERS], rules="russian", players=3, deals=9, seed=4)
    for single in result.singles().values():
        assert f"{single.mean:+.3f}<small>± {single.half_width:.3f}</small>" in page
    assert 'data-curve="[[1000, -2.0, -2.5, -1.5], [2000, 1.0, 0.75, 1.25]]"' in page
    assert "<span>russian-3 over rule</span><b>+1.00 ± 0.25</b>" in page
    assert "<h2>eval/russian-3</h2>" not in page  # the log's curve without an interval


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PageError, match="is not the folder of a training run"):
        write_page(Args(tmp_path))
    with pytest.raises(PageError, match="--matches 0 must be at least 1"):
        write_page(Args(tmp_path, matches=0))
    (tmp_path / "log").mkdir()
    with pytest.raises(PageError, match="holds no learning curves"):
        write_page(Args(tmp_path))
