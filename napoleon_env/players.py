"""What a player is, and the players that need no search and no training: random, rule of thumb, human.

A player sees a `View`, never a match, and answers with a legal action. Its randomness comes from `View.rng`, so that a
tournament gives the same result in any order and on any number of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from napoleon_env.match import View
from napoleon_env.notation import N_ACTIONS


@runtime_checkable
class Player(Protocol):
    """Anything that decides for a seat.

    Two methods are optional and looked for by name: `act_many(views) -> sequence of actions` decides for many tables at once,
    and `probabilities(view) -> float array of shape (N_ACTIONS,)` tells how likely each action is to be chosen.
    """

    def act(self, view: View) -> int | str:
        """The id or the name of one of `view.legal_ids()`."""
        ...


def act_many(player: Player, views: Sequence[View]) -> list[int | str]:
    """The player's action in each view, through its `act_many` where it has one."""
    batched = getattr(player, "act_many", None)
    return list(batched(views)) if batched else [player.act(view) for view in views]


class RandomPlayer:
    """Chooses uniformly among the legal actions."""

    def act(self, view: View) -> int:
        """One legal action, all equally likely."""
        legal = view.legal_ids()
        return legal[int(view.rng().integers(len(legal)))]

    def probabilities(self, view: View) -> np.ndarray:
        """Equal over the legal actions; float64 of shape (N_ACTIONS,)."""
        mask = view.mask()
        assert mask.shape == (N_ACTIONS,)
        return mask / mask.sum()
