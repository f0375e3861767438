"""Who else sits at the tables than the policy that is being trained: past selves in some of the seats."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor, nn

from agents.network import ActorCritic
from train.experience import LEARNER, Policy

LogitsOf = Callable[[np.ndarray, np.ndarray, nn.ModuleList], np.ndarray]


class PastSelves:
    """A ring of frozen copies of the learner, of which one at a time joins the matches that begin.

    A match keeps whom it began with; a copy that has left the ring stays until its last match is over.

    Args:
        share: of the seats that are a past self's; 0 for nobody.
        size: copies in the ring.
        rng: of who joins where.
        logits_of: (rows, legal, actors) to logits of the legal actions, see `Policy`.
    """

    def __init__(self, share: float, size: int, rng: np.random.Generator, logits_of: LogitsOf) -> None:
        self.share, self.size, self.rng, self.logits_of = share, size, rng, logits_of
        self.actors: dict[int, nn.ModuleList] = {}
        self.ring: list[int] = []
        self.joins = LEARNER
        self.newest = LEARNER

    def add(self, net: ActorCritic) -> None:
        """Freeze a copy of the learner's actors; the oldest leaves a full ring."""
        self.newest += 1
        self.actors[self.newest] = copy.deepcopy(net.actors).requires_grad_(False)
        self.ring = [*self.ring, self.newest][-self.size :]

    def put(self, net: ActorCritic, number: int, tensors: dict[str, Tensor]) -> None:
        """Take a copy as it was frozen elsewhere; `net` is a network of the same shape."""
        actors = copy.deepcopy(net.actors)
        actors.load_state_dict(tensors)
        self.actors[number] = actors.requires_grad_(False)

    def turn(self, in_use: np.ndarray) -> None:
        """Draw who joins the matches that begin from now on, and drop copies that are neither in the ring nor in a match."""
        if self.ring:
            self.joins = int(self.rng.choice(self.ring))
        for number in set(self.actors) - {*self.ring, *np.unique(in_use).tolist()}:
            del self.actors[number]

    def seat(self, players: int, matches: int) -> np.ndarray:
        """See `Guests`: each seat is the past self's by chance, but one at least is the learner's."""
        guest = self.rng.random((matches, players)) < self.share
        guest[np.arange(matches), self.rng.integers(players, size=matches)] = False
        return np.where(guest, self.joins, LEARNER)

    def policy(self, number: int) -> Policy:
        """See `Guests`."""
        actors = self.actors[number]
        return lambda rows, legal, observation, mask: self.logits_of(rows, legal, actors)

    def tensors(self) -> dict[str, Tensor]:
        """The copies, by name."""
        return {f"{number}/{name}": x for number, actors in self.actors.items() for name, x in actors.state_dict().items()}

    def facts(self) -> dict[str, Any]:
        """All else, as JSON values."""
        return {"ring": self.ring, "joins": self.joins, "newest": self.newest, "rng": self.rng.bit_generator.state}

    def restore(self, net: ActorCritic, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Take back what `tensors` and `facts` gave."""
        for number in sorted({int(name.split("/")[0]) for name in tensors}):
            begin = f"{number}/"
            self.put(net, number, {n.removeprefix(begin): x for n, x in tensors.items() if n.startswith(begin)})
        self.ring, self.joins, self.newest = facts["ring"], facts["joins"], facts["newest"]
        self.rng.bit_generator.state = facts["rng"]
