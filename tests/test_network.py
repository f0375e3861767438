"""Masked distributions and the reference network."""

import math

import pytest
import torch

from agents.network import MASKED, ActorCritic, Inputs, log_prob_and_entropy, mask_logits


def masked(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return mask_logits(logits, mask.to(torch.int8))


def test_probabilities_of_masked_logits_sum_to_one_and_illegal_ones_are_exactly_zero() -> None:
    generator = torch.Generator().manual_seed(0)
    for scale in (1e-3, 1.0, 1e3):
        logits = torch.randn(20_000, 124, generator=generator) * scale
        mask = torch.rand(20_000, 124, generator=generator) < torch.rand(20_000, 1, generator=generator)
        mask[:, 0] |= ~mask.any(1)
        p = masked(logits, mask).softmax(1)
        assert torch.allclose(p.sum(1), torch.ones(len(p)), atol=1e-5)
        assert (p[~mask] == 0).all()
        log_prob, entropy = log_prob_and_entropy(masked(logits, mask), mask.float().argmax(1))
        assert log_prob.isfinite().all()
        assert (entropy >= -1e-5).all()
        assert (entropy <= math.log(124) + 1e-5).all()


def test_one_legal_action_has_entropy_zero_and_finite_gradients() -> None:
    logits = torch.tensor([[3.0, -200.0, 50.0]], requires_grad=True)
    log_prob, entropy = log_prob_and_entropy(masked(logits, torch.tensor([[0, 1, 0]])), torch.tensor([1]))
    assert log_prob.item() == 0
    assert entropy.item() == 0
    (log_prob + entropy).sum().backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("k", [2, 5, 52])
def test_k_equal_logits_have_entropy_ln_k(k: int) -> None:
    mask = torch.zeros(1, 124)
    mask[0, :k] = 1
    _, entropy = log_prob_and_entropy(masked(torch.zeros(1, 124), mask), torch.tensor([0]))
    assert entropy.item() == pytest.approx(math.log(k), abs=1e-6)


def test_an_illegal_action_has_the_masked_logit() -> None:
    assert mask_logits(torch.ones(1, 2), torch.tensor([[1, 0]], dtype=torch.int8)).tolist() == [[1.0, MASKED]]


def test_the_critic_sees_hidden_columns_and_the_actor_does_not() -> None:
    torch.manual_seed(0)
    net = ActorCritic(Inputs((0, 2), (1,), (0, 1, 2)), torch.ones(3), torch.ones(2), width=8, depth=2)
    seen = torch.tensor([[1, 0], [1, 0]], dtype=torch.int8)
    secret = torch.tensor([[0], [1]], dtype=torch.int8)
    values = net.value(seen, secret)
    assert values[0] != values[1]
    logits = net.logits(seen, torch.ones(2, 3, dtype=torch.int8))
    assert torch.equal(logits[0], logits[1])
