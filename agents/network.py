"""The reference network: an actor that sees what its seat may know, and a critic that in training sees all hands.

Both read int8 rows of `napoleon_env` observations and use only the columns that vary under the rule sets trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from napoleon_env.observation import observation_layout

MASKED = -1e9
"""Logit of an illegal action: finite, so that nothing becomes NaN, and its probability is exactly 0 in float32."""

ROLES = ("bidding", "declarer", "defender")
"""In which a seat decides: calls are bidding, all else is the declarer's or a defender's."""

_STARTS = {row["name"]: row["start"] for row in observation_layout()}
ROLE_COLUMNS = (_STARTS["phase"], _STARTS["declarer"])
"""Those of the observation that tell the role: it is the auction, the observer is the declarer."""
ROLE_WEIGHT, ROLE_BIAS = ((1.0, 0.0), (-1.0, 1.0), (-1.0, -1.0)), (0.0, 0.0, 1.0)
"""Of a layer with ReLU that makes of ROLE_COLUMNS a 1 for the role and a 0 for each other."""


@dataclass(frozen=True)
class Inputs:
    """Which columns and actions a network uses; the rest never vary, or are never legal, under its rule sets."""

    observation: tuple[int, ...]
    hidden: tuple[int, ...]
    actions: tuple[int, ...]


class Tower(nn.Module):
    """Linear layers with ReLU between them, orthogonal weights; the last layer starts small."""

    def __init__(self, n_in: int, width: int, depth: int, n_out: int, last_gain: float) -> None:
        super().__init__()
        sizes = [n_in, *[width] * depth]
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.last = nn.Linear(width, n_out)
        for layer in self.hidden:
            nn.init.orthogonal_(layer.weight, 2**0.5)
            nn.init.zeros_(layer.bias)
        nn.init.orthogonal_(self.last.weight, last_gain)
        nn.init.zeros_(self.last.bias)

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape [B, n_in] to float32 [B, n_out]; the hidden layers run in the type of autocast, the last in float32."""
        for layer in self.hidden:
            x = torch.relu(layer(x))
        with torch.autocast(x.device.type, enabled=False):
            return self.last(x.float())


class RoleHeads(nn.Linear):
    """A linear layer for each of ROLES, of which each row takes the one of its role."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(n_in, len(ROLES) * n_out)

    def forward(self, x: Tensor, observation: Tensor) -> Tensor:
        """`x` [B, n_in], and the whole observation, float32 [B, OBSERVATION_SIZE], to [B, n_out]."""
        told = observation[:, list(ROLE_COLUMNS)]
        role = torch.relu(told @ told.new_tensor(ROLE_WEIGHT).T + told.new_tensor(ROLE_BIAS))
        return (super().forward(x).unflatten(1, (len(ROLES), -1)) * role.unsqueeze(2)).sum(1)


class ActorCritic(nn.Module):
    """Separate actor and critic towers over selected columns."""

    def __init__(self, inputs: Inputs, scale: Tensor, hidden_scale: Tensor, width: int = 256, depth: int = 2) -> None:
        super().__init__()
        self.inputs, self.width, self.depth = inputs, width, depth
        self.scale: Tensor
        self.hidden_scale: Tensor
        self.register_buffer("scale", scale[list(inputs.observation)])
        self.register_buffer("hidden_scale", hidden_scale[list(inputs.hidden)])
        n = len(inputs.observation)
        self.actor = Tower(n, width, depth, len(inputs.actions), 0.01)
        self.critic = Tower(n + len(inputs.hidden), width, depth, 1, 1.0)

    def logits(self, observation: Tensor) -> Tensor:
        """Logits [B, A] of all selected actions, legal or not, from selected observation columns, int8 [B, C]."""
        return self.actor(observation * self.scale)

    def value(self, observation: Tensor, hidden: Tensor) -> Tensor:
        """What is still to be won by the seat to move, in scaled reward, [B]."""
        x = torch.cat([observation * self.scale, hidden * self.hidden_scale], 1)
        return self.critic(x).squeeze(1)


def log_prob_and_entropy(logits: Tensor, legal: Tensor, choice: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability of the action chosen and entropy in nats, both [B], of the policy over the legal actions alone.

    Args:
        logits: [B, A].
        legal: the numbers of the legal actions, int64 [B, K], in any order; after the last of a row, -1.
        choice: place in `legal` of the action chosen, int64 [B].

    Few of the actions are ever legal, so the softmax runs over K columns and not over A. With a single legal action both
    results are exactly 0 and gradients finite: an absent probability is exactly 0 and its log-probability finite.
    """
    there = legal >= 0
    chosen_from = torch.where(there, logits.gather(1, legal.clamp(min=0)), MASKED)
    log_p = chosen_from.log_softmax(1)
    entropy = -torch.where(there, log_p.exp() * log_p, 0.0).sum(1)
    return log_p.gather(1, choice.unsqueeze(1)).squeeze(1), entropy
