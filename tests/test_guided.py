"""Search that an agent guides: its worlds are those in which the agent would have done what was done, and it plays them out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import napoleon_env as ne
from agents.export import save_agent
from agents.network import ActorCritic
from napoleon_env.agent import OnnxPlayer
from napoleon_env.belief import sample_worlds
from napoleon_env.guided import LEAST, GuidedPlayer, ahead
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE
from napoleon_env.roster import RosterError, fingerprint
from napoleon_env.search import SearchError
from napoleon_env.tournament import run_tournament
from train.experience import varying_inputs

RULES = ne.Ruleset.make("german")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent with random weights, strong ones, so that its likelihoods differ."""
    torch.manual_seed(3)
    inputs = varying_inputs([RULES], "canonical", (), decisions=2000)
    net = ActorCritic(inputs, torch.ones(OBSERVATION_SIZE), torch.ones(HIDDEN_SIZE), 16, 1)
    torch.nn.init.normal_(net.actors[0].last.weight, std=1.0)
    file = tmp_path_factory.mktemp("agent") / "agent.onnx"
    save_agent(file, net, [RULES], "canonical", training={})
    return file


def played_to_the_cards(seed: int) -> ne.Match:
    match, rule = ne.Match(RULES, seed=seed), ne.make_player("rule")
    while match.phase != "play" or len(match.legal()) < 2:
        assert match.seat is not None
        match.play(rule.act(match.view(match.seat)))
    return match


def test_worlds_weighed_many_at_a_time_are_those_weighed_one_by_one(path: Path) -> None:
    agent = OnnxPlayer(path)

    class OneByOne:
        """The same without `probabilities_states`."""

        act, probabilities = agent.act, agent.probabilities

    view = played_to_the_cards(2).view(0)
    one, many = (sample_worlds(view, 20, np.random.default_rng(0), policy=policy) for policy in (OneByOne(), agent))
    assert (one == many).all()


@pytest.mark.parametrize("rules", ["german", "portuguese", "russian", "english"])
def test_it_plays_whole_matches_and_as_its_seed_says(path: Path, rules: str) -> None:
    guided = GuidedPlayer(agent=str(path), worlds=8)
    match = ne.Match(rules, seed=1, players=3, deals=2)
    while match.seat is not None:
        view = match.view(match.seat, seed=7)
        action = guided.act(view)
        assert action in view.legal_ids()
        assert action == guided.act(view)
        match.play(action)


@pytest.mark.parametrize("rules", ["german", "portuguese", "russian", "english"])
def test_an_action_is_worth_what_comes_when_all_play_on_as_the_agent(path: Path, rules: str) -> None:
    guided, agent = GuidedPlayer(agent=str(path)), OnnxPlayer(path)
    match = ne.Match(rules, seed=2, players=3, deals=2)
    while match.seat is not None:
        view, state = match.view(match.seat), match.state
        actions = np.array(view.legal_ids())
        found = guided._play_out(state, view, actions)[:, 0] if len(actions) > 1 else []
        for action, worth in zip(actions, found, strict=False):
            after = match.copy()
            after.play(int(action))
            while len(after.history) == len(match.history):
                after.play(agent.act(after.view(after.seat)))
            deal = after.history[len(match.history)]
            expected: float = deal.payoffs[view.seat] + deal.rules.ante
            if deal.rules.payment == "points_only" and deal.declarer not in (view.seat, None):
                expected = -deal.payoffs[deal.declarer] / 2  # what nobody pays counts as lost by each defender in equal shares
            assert worth == expected
        match.play(agent.act(view))


def test_it_is_better_than_its_agent(path: Path) -> None:
    entrants = [("guided", f"guided:agent={path},worlds=32"), ("agent", str(path))]
    gain = run_tournament(entrants, rules=RULES, deals=20, seed=1).singles()[0, 1]
    assert gain.mean - gain.half_width > 0


def test_what_the_agent_has_no_doubt_about_is_its_own(path: Path) -> None:
    agent = OnnxPlayer(path)
    guided = GuidedPlayer(agent=str(path), worlds=2)
    asked = []
    guided._search = lambda view, own, actions, rng: asked.append(actions.tolist()) or own
    for seed in range(20):
        match = ne.Match(RULES, seed=seed)
        while match.seat is not None:
            view = match.view(match.seat, seed=seed)
            n, likely = len(asked), np.flatnonzero(agent.probabilities(view) >= LEAST).tolist()
            assert guided.act(view) == agent.act(view)
            assert asked[n:] == ([likely] if len(likely) > 1 else [])
            match.play(agent.act(view))
    assert asked


def test_what_is_clearly_better_is_taken_and_what_is_clearly_worse_given_up(path: Path) -> None:
    guided = GuidedPlayer(agent=str(path), worlds=256)
    view, looked_at = played_to_the_cards(2).view(0), []
    noise = np.random.default_rng(0)

    def play_out(worlds: np.ndarray, view: ne.View, actions: np.ndarray) -> np.ndarray:
        looked_at.append((len(worlds), actions.tolist()))
        means = np.array([{7: 0.0, 8: 0.1, 9: 3.0, 10: -3.0}[action] for action in actions])
        return means[:, None] + noise.normal(size=(len(actions), len(worlds)))

    guided._play_out = play_out
    assert guided._search(view, 7, np.array([7, 8, 10]), np.random.default_rng(0)) in (7, 8)
    assert looked_at == [(64, [7, 8, 10]), (64, [7, 8]), (128, [7, 8])]
    looked_at.clear()
    assert guided._search(view, 7, np.array([7, 8, 9, 10]), np.random.default_rng(0)) == 9
    assert looked_at == [(64, [7, 8, 9, 10])]


@pytest.mark.parametrize(("errors", "taken"), [(0.5, 7), (2.0, 8), (-2.0, 7)])
def test_the_agents_own_action_yields_to_more_than_one_standard_error(path: Path, errors: float, taken: int) -> None:
    guided = GuidedPlayer(agent=str(path), worlds=64)
    spread = np.resize([-1.0, 1.0], 64)  # with a standard error of an eighth
    guided._play_out = lambda worlds, view, actions: np.array([np.zeros(64), spread + errors / 8])
    assert guided._search(played_to_the_cards(2).view(0), 7, np.array([7, 8]), np.random.default_rng(0)) == taken


def test_standard_errors_of_the_difference_are_worked_by_hand() -> None:
    # Row 1 is ahead by 1 and 3: by 2 in the mean, with a deviation of the square root of 2 and a standard error of 1.
    assert ahead(np.array([[1.0, 3.0], [2.0, 6.0], [1.0, 3.0]]), 0).tolist() == pytest.approx([0, 2, 0])


def test_what_it_cannot_be_made_of_is_refused(path: Path) -> None:
    for spec, says in (
        ("guided", "agent"),
        ("guided:agent=nowhere.onnx", "does not exist"),
        (f"guided:agent={path},candidates=0", "candidates=0 must be"),
        (f"guided:agent={path},worlds=1", "worlds=1 must be"),
    ):
        with pytest.raises((RosterError, SearchError), match=says):
            ne.make_player(spec)


def test_its_fingerprint_tells_which_agent(path: Path) -> None:
    assert fingerprint(str(path)) in fingerprint(f"guided:agent={path}")
