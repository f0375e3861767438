"""Masked distributions and the reference network."""

import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from torch import nn

import napoleon_env as ne
from agents.export import save_layers
from agents.network import (
    MASKED,
    ROLES,
    ActorCritic,
    Inputs,
    RoleHeads,
    RoleSplit,
    divergence,
    log_prob_and_entropy,
    outputs,
    pick,
)
from napoleon_env.agent import OnnxPlayer
from train.experience import read_roles


def numbers(mask: torch.Tensor) -> torch.Tensor:
    """[B, A] of booleans as the numbers of what is set, then -1."""
    order = torch.where(mask, torch.arange(mask.shape[1]), mask.shape[1]).sort(1).values
    return torch.where(order < mask.shape[1], order, -1)[:, : int(mask.sum(1).max())]


def test_probabilities_of_the_legal_actions_sum_to_one_and_an_absent_one_is_exactly_zero() -> None:
    generator = torch.Generator().manual_seed(0)
    for scale in (1e-3, 1.0, 1e3):
        logits = torch.randn(20_000, ne.N_ACTIONS, generator=generator) * scale
        mask = torch.rand(20_000, ne.N_ACTIONS, generator=generator) < torch.rand(20_000, 1, generator=generator) / 8
        mask[:, 0] |= ~mask.any(1)
        legal = numbers(mask)
        picked, places = pick(logits, legal), torch.arange(legal.shape[1])
        log_probs = torch.stack([log_prob_and_entropy(picked, k.expand(len(logits)))[0] for k in places], 1)
        assert log_probs.isfinite().all()
        p = log_probs.exp()
        assert torch.allclose(p.sum(1), torch.ones(len(p)), atol=1e-5)
        assert (p[legal < 0] == 0).all()
        reference = torch.where(mask, logits.double(), -torch.inf).softmax(1).gather(1, legal.clamp(min=0))
        assert torch.allclose(p[legal >= 0].double(), reference[legal >= 0], atol=1e-5)
        entropy = log_prob_and_entropy(picked, places[0].expand(len(logits)))[1]
        expected = torch.special.entr(torch.where(legal >= 0, reference, 0.0)).sum(1)
        assert torch.allclose(entropy.double(), expected, atol=1e-4)


def test_one_legal_action_has_entropy_zero_and_finite_gradients() -> None:
    logits = torch.tensor([[3.0, -200.0, 50.0]], requires_grad=True)
    log_prob, entropy = log_prob_and_entropy(pick(logits, torch.tensor([[1, -1]])), torch.tensor([0]))
    assert log_prob.item() == 0
    assert entropy.item() == 0
    (log_prob + entropy).sum().backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("number_type", [torch.int8, torch.int64])
def test_outputs_asked_for_and_their_gradients_are_those_of_the_whole_layer(number_type: torch.dtype) -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(37, 19), torch.randn(50, 37, requires_grad=True)
    asked = numbers(torch.rand(50, 19) < 0.3).to(number_type)
    asked[0] = -1  # a row that asks for nothing
    weights = torch.randn(asked.shape)
    found = []
    for answers in (outputs(layer, x, asked), pick(layer(x), asked)):
        assert (answers[asked < 0] == MASKED).all()
        (answers * weights)[asked >= 0].sum().backward()
        gradients = [tensor.grad for tensor in (x, layer.weight, layer.bias)]
        assert all(gradient is not None for gradient in gradients)
        found.append([answers.detach(), *gradients])
        x.grad, layer.weight.grad, layer.bias.grad = None, None, None
    for fast, plain in zip(*found, strict=True):
        assert torch.allclose(fast, plain, atol=1e-5)


@pytest.mark.parametrize("roles", get_args(RoleSplit))
def test_logits_of_the_legal_actions_are_those_among_all(roles: RoleSplit) -> None:
    torch.manual_seed(0)
    size = ne.OBSERVATION_SIZE
    net = ActorCritic(Inputs(tuple(range(size)), (), tuple(range(30))), torch.ones(size), torch.ones(0), 8, 1, roles=roles)
    env = ne.VectorEnv("german", num_envs=64, seed=0)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(30):
        env.step((env.action_mask * rng.random(env.action_mask.shape)).argmax(1))
    features = net.features(torch.from_numpy(env.observation), torch.empty(64, 0))
    assert len(np.unique(net.role(features) if roles != "shared" else [0, 1])) > 1
    legal = numbers(torch.rand(64, 30) < 0.2).to(torch.int8)
    with torch.no_grad():
        assert torch.allclose(net.logits(features, legal), pick(net.logits(features), legal), atol=1e-6)


@pytest.mark.parametrize("k", [2, 5, 13])
def test_k_equal_logits_have_entropy_ln_k(k: int) -> None:
    _, entropy = log_prob_and_entropy(torch.zeros(1, k), torch.tensor([0]))
    assert entropy.item() == pytest.approx(math.log(k), abs=1e-6)


def test_the_divergence_is_worked_by_hand_and_zero_from_itself() -> None:
    p, q = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.25, 0.5, 0.25]])
    # 0.5 ln(0.5 / 0.25) + 0.25 ln(0.25 / 0.5) + 0.25 ln 1 = 0.25 ln 2
    assert divergence(p.log(), q.log()).item() == pytest.approx(0.25 * math.log(2), abs=1e-6)
    assert divergence(p.log(), p.log() + 3).item() == pytest.approx(0, abs=1e-6)
    # Over the first two actions alone: 2/3 ln 2 + 1/3 ln(1/2) = 1/3 ln 2.
    first_two = torch.tensor([[0, 1, -1]])
    assert divergence(pick(p.log(), first_two), pick(q.log(), first_two)).item() == pytest.approx(math.log(2) / 3, abs=1e-6)


def test_the_critic_sees_hidden_columns_and_the_actor_does_not() -> None:
    torch.manual_seed(0)
    net = ActorCritic(Inputs((0, 2), (1,), (0, 1, 2)), torch.ones(3), torch.ones(2), width=8, depth=2)
    seen = torch.tensor([[1, 0], [1, 0]], dtype=torch.int8)
    secret = torch.tensor([[0], [1]], dtype=torch.int8)
    features = net.features(seen, secret)
    values = net.value(features)
    assert values[0] != values[1]
    logits = net.logits(features)
    assert torch.equal(logits[0], logits[1])


def test_each_row_takes_the_head_of_its_role_and_so_does_the_agent_file(tmp_path: Path) -> None:
    torch.manual_seed(0)
    env = ne.VectorEnv("russian", num_envs=64, seed=0)
    env.reset()
    rng, rows = np.random.default_rng(0), []
    for _ in range(40):
        rows.append((env.observation.copy(), env.action_mask.copy()))
        env.step((env.action_mask * rng.random(env.action_mask.shape)).argmax(1))
    seen, mask = (np.concatenate(column) for column in zip(*rows, strict=True))
    role = np.empty(len(seen), np.int8)
    read_roles(seen, role)
    assert len(np.unique(role)) == len(ROLES)
    body, heads = nn.Sequential(nn.Linear(ne.OBSERVATION_SIZE, 8), nn.ReLU()), RoleHeads(8, ne.N_ACTIONS)
    with torch.no_grad():
        x = torch.from_numpy(seen).float()
        logits = heads(body(x), x).numpy()
        of_all = nn.Linear.forward(heads, body(x)).numpy().reshape(len(x), len(ROLES), ne.N_ACTIONS)
    assert (logits == of_all[np.arange(len(x)), role]).all()
    path = save_layers(tmp_path / "agent.onnx", [body, heads], [env.rules], "fixed", training={})
    written = OnnxPlayer(path).run(seen, mask)["logits"]
    assert written[mask == 1] == pytest.approx(logits[mask == 1], abs=1e-4)
