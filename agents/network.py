"""The reference network: an actor that sees what its seat may know, and a critic that in training sees all hands.

Both read int8 rows of `napoleon_env` observations and use only the columns that vary under the rule sets trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numba
import numpy as np
import torch
from torch import Tensor, nn

from napoleon_env.observation import HIDDEN_SIZE, observation_bounds, observation_layout

MASKED = -1e9
"""Logit of an illegal action: finite, so that nothing becomes NaN, and its probability is exactly 0 in float32."""

ROLES = ("bidding", "declarer", "defender")
"""In which a seat decides: calls are bidding, all else is the declarer's or a defender's."""

_STARTS = {row["name"]: row["start"] for row in observation_layout()}
ROLE_COLUMNS = (_STARTS["phase"], _STARTS["declarer"])
"""Those of the observation that tell the role: it is the auction, the observer is the declarer."""
ROLE_WEIGHT, ROLE_BIAS = ((1.0, 0.0), (-1.0, 1.0), (-1.0, -1.0)), (0.0, 0.0, 1.0)
"""Of a layer with ReLU that makes of ROLE_COLUMNS a 1 for the role and a 0 for each other."""

PADDED = 32
"""Rows are filled up to a multiple of this many: each new shape costs the time of preparing a kernel."""
RoleSplit = Literal["shared", "heads", "networks"]
"""What roles have of their own."""


@dataclass(frozen=True)
class Inputs:
    """Which columns and actions a network uses; the rest never vary, or are never legal, under its rule sets."""

    observation: tuple[int, ...]
    hidden: tuple[int, ...]
    actions: tuple[int, ...]


def column_scales() -> tuple[Tensor, Tensor]:
    """What brings each column of an observation, and of what is hidden, to at most 1 in size: float32 [C], [HIDDEN_SIZE]."""
    low, high = observation_bounds()
    return 1.0 / torch.from_numpy(np.maximum(np.abs(low), np.abs(high)).astype(np.float32)), torch.ones(HIDDEN_SIZE)


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

    def forward(self, x: Tensor, asked: Tensor | None = None) -> Tensor:
        """`x` of shape [B, n_in] to float32 [B, n_out], or the outputs `asked` for (see `outputs`).

        The hidden layers run in the type of autocast, the last in float32.
        """
        for layer in self.hidden:
            x = torch.relu(layer(x))
        with torch.autocast(x.device.type, enabled=False):
            return self.last(x.float()) if asked is None else outputs(self.last, x.float(), asked)


def outputs(layer: nn.Linear, x: Tensor, asked: Tensor) -> Tensor:
    """Some outputs of a layer, float32 [B, K]: on a CPU no others are computed, which for a few of many is faster.

    Args:
        layer: with float32 parameters.
        x: float32 [B, n_in].
        asked: their numbers, of any integer type, [B, K]; after the last of a row, -1, where the output is MASKED.
    """
    return _Outputs.apply(x, layer.weight, layer.bias, asked) if x.device.type == "cpu" else pick(layer(x), asked)


def pick(logits: Tensor, asked: Tensor) -> Tensor:
    """As `outputs`, out of all of them, [B, A]."""
    return torch.where(asked >= 0, logits.gather(1, asked.long().clamp(min=0)), MASKED)


class _Outputs(torch.autograd.Function):
    """`outputs` on a CPU."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, asked: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight, bias, asked)
        out = x.new_empty(asked.shape)
        _outputs(*(tensor.numpy(force=True) for tensor in (x, weight, bias, asked, out)))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, weight, bias, asked = ctx.saved_tensors
        of_x, of_weight, of_bias = (torch.zeros_like(tensor) for tensor in (x, weight, bias))
        given = (grads[0].contiguous(), x, weight, asked, of_x, of_weight, of_bias)
        _outputs_back(*(tensor.numpy(force=True) for tensor in given))
        return of_x, of_weight, of_bias, None


_REORDERED = {"reassoc", "contract", "nsz"}
"""What lets a sum run in the processor's vectors."""


@numba.njit(cache=True, fastmath=_REORDERED)
def _outputs(x: Any, weight: Any, bias: Any, asked: Any, out: Any) -> None:
    for i in range(len(x)):
        row = x[i]
        for k in range(asked.shape[1]):
            number = asked[i, k]
            if number < 0:
                out[i, k:] = MASKED
                break
            weights, total = weight[number], bias[number]
            for j in range(len(row)):
                total += row[j] * weights[j]
            out[i, k] = total


@numba.njit(cache=True, fastmath=_REORDERED)
def _outputs_back(grad: Any, x: Any, weight: Any, asked: Any, of_x: Any, of_weight: Any, of_bias: Any) -> None:
    for i in range(len(x)):
        row, of_row = x[i], of_x[i]
        for k in range(asked.shape[1]):
            number = asked[i, k]
            if number < 0:
                break
            g, weights, of_weights = grad[i, k], weight[number], of_weight[number]
            of_bias[number] += g
            for j in range(len(row)):
                of_row[j] += g * weights[j]
            for j in range(len(row)):
                of_weights[j] += g * row[j]


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
    """Separate actor and critic towers over selected columns, and who of them decides in which role.

    Args:
        inputs: the columns and actions.
        scale, hidden_scale: what each of all columns is multiplied by, float32 [OBSERVATION_SIZE], [HIDDEN_SIZE].
        width, depth: of the hidden layers of an actor.
        critic_width: of those of a critic; `width` without.
        roles: "shared", one actor and one critic; "heads", the actor's last layer is the role's own; "networks", an actor
            and a critic for each of ROLES.
    """

    def __init__(
        self, inputs: Inputs, scale: Tensor, hidden_scale: Tensor, width: int = 256, depth: int = 2,
        critic_width: int | None = None, roles: RoleSplit = "shared",
    ) -> None:  # fmt: skip
        super().__init__()
        self.inputs, self.roles = inputs, roles
        self.scale: Tensor
        self.register_buffer("scale", torch.cat([scale[list(inputs.observation)], hidden_scale[list(inputs.hidden)]]))
        self.role_columns = [] if roles == "shared" else [inputs.observation.index(column) for column in ROLE_COLUMNS]
        self.n_seen, n_actions = len(inputs.observation), len(inputs.actions)
        parts = len(ROLES) if roles == "networks" else 1
        self.actors = nn.ModuleList(
            Tower(self.n_seen, width, depth, n_actions * (len(ROLES) if roles == "heads" else 1), 0.01) for _ in range(parts)
        )
        self.critics = nn.ModuleList(
            Tower(self.n_seen + len(inputs.hidden), critic_width or width, depth, 1, 1.0) for _ in range(parts)
        )

    def features(
        self, observation: Tensor, hidden: Tensor, dtype: torch.dtype = torch.float32, out: Tensor | None = None
    ) -> Tensor:
        """Selected columns, int8 [B, C] and [B, H], as what the towers read, `dtype` [B, C + H]; without H for actors alone.

        Written into `out` if that is given: fresh memory takes longer to get than to fill.
        """
        seen = observation.shape[1]
        x = observation.new_empty((len(observation), seen + hidden.shape[1]), dtype=dtype) if out is None else out
        x[:, :seen].copy_(observation)
        x[:, seen:].copy_(hidden)
        return x.mul_(self.scale[: x.shape[1]].to(x.dtype))

    def role(self, features: Tensor) -> Tensor:
        """The number among ROLES of each row, int64 [B]."""
        auction, declarer = (features[:, column] != 0 for column in self.role_columns)
        return torch.where(auction, 0, torch.where(declarer, 1, 2))

    def logits(
        self, features: Tensor, legal: Tensor | None = None, actors: nn.ModuleList | None = None, role: int | None = None
    ) -> Tensor:
        """Logits of all selected actions, legal or not, float32 [B, A], or of the legal ones, [B, K].

        Args:
            features: of which only what a seat sees is read.
            legal: the numbers of the legal actions, integers [B, K], in any order; after the last of a row, -1, whose logit
                is MASKED.
            actors: those of an earlier state of this network; its own without.
            role: of all rows, where it is known to be one.
        """
        actors, seen = actors or self.actors, features[:, : self.n_seen]
        if self.roles == "networks":
            return self._by_role(actors, seen, role, legal)
        if self.roles == "shared":
            return actors[0](seen, legal)
        first = self.role(seen).view(-1, 1) * len(self.inputs.actions)  # of the role's own outputs
        if legal is None:
            return pick(actors[0](seen), first + torch.arange(len(self.inputs.actions), device=first.device))
        return actors[0](seen, torch.where(legal >= 0, legal + first, -1))

    def value(self, features: Tensor, role: int | None = None) -> Tensor:
        """What is still to be won by the seat to move, in scaled reward, [B]; `role` as in `logits`."""
        critics = self.critics
        return (self._by_role(critics, features, role) if self.roles == "networks" else critics[0](features)).squeeze(1)

    def _by_role(self, towers: nn.ModuleList, x: Tensor, role: int | None, asked: Tensor | None = None) -> Tensor:
        """Each row through the tower of its role."""
        if role is not None:
            return towers[role](x, asked)
        size = towers[0].last.out_features if asked is None else asked.shape[1]
        of_row, out = self.role(x), x.new_empty((len(x), size), dtype=torch.float32)
        for number, tower in enumerate(towers):
            rows = (of_row == number).nonzero().squeeze(1)
            padded = torch.cat([rows, rows.new_zeros(-len(rows) % PADDED)])
            answers = tower(x.index_select(0, padded), None if asked is None else asked.index_select(0, padded))
            out.index_copy_(0, rows, answers[: len(rows)])
        return out


def log_prob_and_entropy(logits: Tensor, choice: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability of the action chosen and entropy in nats, both [B], of the policy over the legal actions alone.

    Args:
        logits: of the legal actions, [B, K]; after the last of a row, MASKED, whose probability is exactly 0.
        choice: the place among them of the action chosen, of any integer type, [B].

    With a single legal action both results are exactly 0 and gradients finite.
    """
    log_p = logits.log_softmax(1)
    return log_p.gather(1, choice.long().unsqueeze(1)).squeeze(1), -(log_p.exp() * log_p).sum(1)


def divergence(logits: Tensor, others: Tensor) -> Tensor:
    """Kullback-Leibler divergence of a policy from another one, sum p log(p / q), [B]; `logits` and `others` as above."""
    log_p, log_q = logits.log_softmax(1), others.log_softmax(1)
    return (log_p.exp() * (log_p - log_q)).sum(1)
