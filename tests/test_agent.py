"""Agent files: ONNX out of torch, played without it."""

from pathlib import Path
from typing import get_args

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from agents.export import save_agent, save_layers
from agents.network import MASKED, ActorCritic, RoleSplit
from napoleon_env import Match, Ruleset, VectorEnv
from napoleon_env.agent import AgentError, OnnxPlayer
from napoleon_env.notation import N_ACTIONS
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE
from train.experience import varying_inputs


def make_agent(path: Path, rules: Ruleset, suit_order: str, roles: RoleSplit = "networks") -> ActorCritic:
    torch.manual_seed(1)
    inputs = varying_inputs([rules], suit_order, ())
    net = ActorCritic(inputs, torch.ones(OBSERVATION_SIZE), torch.ones(HIDDEN_SIZE), width=32, depth=2, roles=roles)
    with torch.no_grad():
        for actor in net.actors:
            actor.last.weight *= 300  # far from uniform
    save_agent(path, net, [rules], suit_order, training={"seed": 1})
    return net


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ActorCritic]:
    path = tmp_path_factory.mktemp("agent") / "agent.onnx"
    return path, make_agent(path, Ruleset.make("russian"), "canonical")


@pytest.mark.parametrize("roles", get_args(RoleSplit))
def test_the_file_equals_the_torch_network(roles: RoleSplit, tmp_path: Path) -> None:
    net = make_agent(tmp_path / "agent.onnx", Ruleset.make("russian"), "canonical", roles)
    player = OnnxPlayer(tmp_path / "agent.onnx")
    env = VectorEnv("russian", num_envs=500, seed=3, suit_order="canonical")
    env.reset()
    rng = np.random.default_rng(0)
    inputs = net.inputs
    for _ in range(20):
        logits = player.run(env.observation, env.action_mask)["logits"]
        seen = torch.from_numpy(env.observation[:, list(inputs.observation)])
        with torch.no_grad():
            expected = net.logits(net.features(seen, seen[:, :0])).numpy()
        legal = env.action_mask[:, list(inputs.actions)] == 1
        assert logits[:, list(inputs.actions)][legal] == pytest.approx(expected[legal], abs=1e-5, rel=1e-5)
        assert (logits[env.action_mask == 0] == MASKED).all()
        env.step((env.action_mask * (1 + rng.random(env.action_mask.shape))).argmax(1))


def test_a_stack_of_layers_is_an_agent_file_too_and_other_layers_are_refused(tmp_path: Path) -> None:
    torch.manual_seed(2)
    inner = nn.Sequential(nn.Linear(OBSERVATION_SIZE, 16, bias=False), nn.Tanh())
    layers = [inner, nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, N_ACTIONS)]
    player = OnnxPlayer(save_layers(tmp_path / "layers.onnx", layers, [Ruleset.make("german")], "fixed", training={}))
    env = VectorEnv("german", num_envs=50, seed=3)
    env.reset()
    with torch.no_grad():
        expected = nn.Sequential(*layers)(torch.from_numpy(env.observation).float()).numpy()
    legal = env.action_mask == 1
    logits = player.run(env.observation, env.action_mask)["logits"]
    assert logits[legal] == pytest.approx(expected[legal], abs=1e-5)
    assert (logits[~legal] == MASKED).all()
    with pytest.raises(ValueError, match="type GELU cannot be exported"):
        save_layers(tmp_path / "gelu.onnx", [*layers, nn.GELU()], [Ruleset.make("german")], "fixed", training={})


@pytest.mark.parametrize("sample", [False, True])
def test_it_plays_whole_matches_of_any_rule_set_legally(agent: tuple[Path, ActorCritic], sample: bool) -> None:
    player = OnnxPlayer(agent[0], sample=sample)
    for preset in ("german", "portuguese", "russian", "english"):
        for players in (2, 6):
            match = Match(preset, seed=5, players=players, deals=3)
            while not match.over:
                assert match.seat is not None
                match.play(player.act(match.view(match.seat, seed=len(match.log))))


def test_one_table_or_many_decide_alike_and_secrets_change_nothing(agent: tuple[Path, ActorCritic]) -> None:
    player = OnnxPlayer(agent[0])
    env = VectorEnv("russian", num_envs=200, seed=9)
    env.reset()
    many = player.act_states(env.states, env.rules, env.seat, np.zeros(200, np.uint64))
    for i in range(200):
        match = Match("russian", seed=9, index=i)
        assert match.seat == env.seat[i]
        assert player.act(match.view(match.seat)) == many[i]


def test_probabilities_are_over_the_legal_actions_and_what_sampling_draws(agent: tuple[Path, ActorCritic]) -> None:
    player, sampling = OnnxPlayer(agent[0]), OnnxPlayer(agent[0], sample=True)
    view = Match("russian", seed=2).view(Match("russian", seed=2).seat or 0)
    p = player.probabilities(view)
    assert p.shape == (N_ACTIONS,)
    assert p.sum() == pytest.approx(1)
    assert set(np.flatnonzero(p)) <= set(view.legal_ids())
    n = 4000
    states = np.repeat(view.state, n)
    drawn = sampling.act_states(states, view.rules, np.full(n, view.seat), np.arange(n, dtype=np.uint64))
    assert np.bincount(drawn, minlength=N_ACTIONS) / n == pytest.approx(p, abs=4 * 0.5 / n**0.5)
    assert (player.act_states(states[:1], view.rules, np.array([view.seat]), np.zeros(1, np.uint64)) == p.argmax()).all()


def test_probabilities_at_many_tables_are_those_at_each(agent: tuple[Path, ActorCritic]) -> None:
    player = OnnxPlayer(agent[0])
    env = VectorEnv("russian", num_envs=50, seed=4)
    env.reset()
    many = player.probabilities_states(env.states, env.rules, env.seat)
    for i in range(50):
        match = Match("russian", seed=4, index=i)
        assert player.probabilities(match.view(int(env.seat[i]))) == pytest.approx(many[i], abs=1e-6)


def test_suit_names_do_not_matter_to_a_canonical_agent(agent: tuple[Path, ActorCritic]) -> None:
    player = OnnxPlayer(agent[0])
    swap = str.maketrans("CDHS", "SHDC")
    hands = ["AS KS 7S 9H 6D", "AH KH 6C 7C 8C", "TD JD QD KD AD", "9C TC JC QC KC"]
    logs = []
    for table in (hands, [hand.translate(swap) for hand in hands]):
        match = Match.deal("russian", dealer=0, hands=[hand.split() for hand in table])
        while not match.over and match.seat is not None:
            name = "stand" if match.phase == "exchange" else player.act(match.view(match.seat))
            match.play(name)
        logs.append([name for _, name in match.history[0].log])
    assert [name[:-1] + name[-1].translate(swap) for name in logs[0]] == logs[1]


def test_what_is_no_agent_is_refused_in_one_sentence(agent: tuple[Path, ActorCritic], tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="does not exist"):
        OnnxPlayer(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(AgentError, match="not a readable ONNX model"):
        OnnxPlayer(tmp_path / "text.onnx")
    model = onnx.load(str(agent[0]))
    for key, value, complaint in (
        ("napoleon", '{"observation": "0123", "suit_order": "fixed"}', "layout '0123'"),
        ("napoleon", '{"suit_order": "fixed"}', "cannot be read"),
        ("other", "{}", "without the metadata"),
    ):
        changed = onnx.ModelProto.FromString(model.SerializeToString())
        changed.metadata_props[0].key, changed.metadata_props[0].value = key, value
        (tmp_path / "changed.onnx").write_bytes(changed.SerializeToString())
        with pytest.raises(AgentError, match=complaint):
            OnnxPlayer(tmp_path / "changed.onnx")
