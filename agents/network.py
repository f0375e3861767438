"""The reference network: an actor that sees what its seat may know, and a critic that in training sees all hands.

Both read int8 rows of `napoleon_env` observations and use only the columns that vary under the rule sets trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

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

    def logits(self, features: Tensor, actors: nn.ModuleList | None = None, role: int | None = None) -> Tensor:
        """Logits [B, A] of all selected actions, legal or not.

        Args:
            features: of which only what a seat sees is read.
            actors: those of an earlier state of this network; its own without.
            role: of all rows, where it is known to be one.
        """
        actors, seen = actors or self.actors, features[:, : self.n_seen]
        if self.roles == "networks":
            return self._by_role(actors, seen, role)
        logits = actors[0](seen)
        if self.roles == "heads":
            own = self.role(seen).view(-1, 1, 1).expand(-1, 1, len(self.inputs.actions))
            logits = logits.unflatten(1, (len(ROLES), -1)).gather(1, own).squeeze(1)
        return logits

    def value(self, features: Tensor, role: int | None = None) -> Tensor:
        """What is still to be won by the seat to move, in scaled reward, [B]; `role` as in `logits`."""
        critics = self.critics
        return (self._by_role(critics, features, role) if self.roles == "networks" else critics[0](features)).squeeze(1)

    def _by_role(self, towers: nn.ModuleList, x: Tensor, role: int | None) -> Tensor:
        """Each row through the tower of its role."""
        if role is not None:
            return towers[role](x)
        of_row, out = self.role(x), x.new_empty((len(x), towers[0].last.out_features), dtype=torch.float32)
        for number, tower in enumerate(towers):
            rows = (of_row == number).nonzero().squeeze(1)
            padded = torch.cat([rows, rows.new_zeros(-len(rows) % PADDED)])
            out.index_copy_(0, rows, tower(x.index_select(0, padded))[: len(rows)])
        return out


def legal_log_probs(logits: Tensor, legal: Tensor) -> Tensor:
    """Log-probabilities of the policy over the legal actions alone, [B, K].

    Args:
        logits: [B, A].
        legal: the numbers of the legal actions, int64 [B, K], in any order; after the last of a row, -1.

    Few of the actions are ever legal, so the softmax runs over K columns and not over A. An absent probability is exactly 0
    and its log-probability finite.
    """
    return torch.where(legal >= 0, logits.gather(1, legal.clamp(min=0)), MASKED).log_softmax(1)


def log_prob_and_entropy(logits: Tensor, legal: Tensor, choice: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability of the action chosen and entropy in nats, both [B], of the policy over the legal actions alone.

    Args:
        logits, legal: as in `legal_log_probs`.
        choice: place in `legal` of the action chosen, int64 [B].

    With a single legal action both results are exactly 0 and gradients finite.
    """
    log_p = legal_log_probs(logits, legal)
    entropy = -torch.where(legal >= 0, log_p.exp() * log_p, 0.0).sum(1)
    return log_p.gather(1, choice.unsqueeze(1)).squeeze(1), entropy


def divergence(logits: Tensor, others: Tensor, legal: Tensor) -> Tensor:
    """Kullback-Leibler divergence of a policy from another one, sum p log(p / q) over the legal actions alone, [B]."""
    log_p, log_q = legal_log_probs(logits, legal), legal_log_probs(others, legal)
    return torch.where(legal >= 0, log_p.exp() * (log_p - log_q), 0.0).sum(1)
