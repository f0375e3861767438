"""Search that an agent guides: its calls are the agent's, its worlds those in which the agent would have done what was done."""

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
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE
from napoleon_env.roster import RosterError, fingerprint
from napoleon_env.search import SearchError
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


def test_before_the_play_it_does_what_the_agent_does_and_in_the_play_what_its_seed_says(path: Path) -> None:
    agent, guided = OnnxPlayer(path), ne.make_player(f"guided:agent={path},worlds=5")
    assert isinstance(guided, type(ne.make_player(f"guided:agent={path},worlds=5,prior=0")))
    for seed in range(5):
        match = ne.Match(RULES, seed=seed)
        while match.seat is not None:
            view = match.view(match.seat, seed=seed)
            action = guided.act(view)
            assert action in view.legal_ids()
            assert action == guided.act(view)
            if match.phase != "play":
                assert action == agent.act(view)
            match.play(action)


def test_a_large_prior_is_the_agent_itself(path: Path) -> None:
    agent, guided = OnnxPlayer(path), ne.make_player(f"guided:agent={path},worlds=3,prior=100")
    for seed in range(5):
        match = played_to_the_cards(seed)
        assert match.seat is not None
        view = match.view(match.seat, seed=seed)
        assert guided.act(view) == agent.act(view)


def test_what_it_cannot_be_made_of_is_refused(path: Path) -> None:
    for spec, says in (
        ("guided", "agent"),
        ("guided:agent=nowhere.onnx", "does not exist"),
        (f"guided:agent={path},prior=-1", "prior=-1 must be a number"),
        (f"guided:agent={path},worlds=0", "worlds=0 must be"),
    ):
        with pytest.raises((RosterError, SearchError), match=says):
            ne.make_player(spec)


def test_its_fingerprint_tells_which_agent(path: Path) -> None:
    assert fingerprint(str(path)) in fingerprint(f"guided:agent={path}")
