"""What a player is, and the players that need no search and no training: random, rule of thumb, human.

A player sees a `View`, never a match, and answers with a legal action. Its randomness comes from `View.rng`, so that a
tournament gives the same result in any order and on any number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np

from napoleon_env.match import View
from napoleon_env.notation import ACTION_NAMES, N_ACTIONS, NotationError, action_id, shown
from napoleon_env.render import text
from napoleon_env.thumb import thumb_action


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


class RulePlayer:
    """Bids and plays by rules of thumb, as a sensible person would; the same decision in the same position, always.

    What the rules are is told in `thumb`, which decides in some microseconds.
    """

    def act(self, view: View) -> int:
        """The id of one legal action.

        Raises:
            TurnError: it is not this seat's turn.
        """
        _check_turn(view)
        return int(thumb_action(view.state[0], view.rules.struct[0], np.int64(view.seat)))

    def probabilities(self, view: View) -> np.ndarray:
        """One for the action that `act` chooses, zero for all others; float64 of shape (N_ACTIONS,)."""
        chosen = np.zeros(N_ACTIONS)
        chosen[self.act(view)] = 1.0
        return chosen


class TurnError(ValueError):
    """A player was asked for an action when its seat is not to act."""


class PlayerLeftError(EOFError):
    """The person at the terminal has gone: the input has ended, or they said so."""


LEAVE: Final = ("quit", "exit")
"""Answers by which a person leaves the table."""


class HumanPlayer:
    """A person, asked in text: the table as that seat may see it, then the legal actions by name.

    Args:
        ask: shows a text and returns one line of answer, like `input`; EOFError says that nobody is there any more.
    """

    def __init__(self, *, ask: Callable[[str], str] = input) -> None:
        self._ask = ask

    def act(self, view: View) -> int:
        """The id of the legal action that the person names; a bad answer is explained and asked again.

        Case and spaces don't matter, "3" stands for "bid 3" and "h" for "trump H" where that is what is asked.

        Raises:
            TurnError: it is not this seat's turn.
            PlayerLeftError: the input has ended, or the answer is one of `LEAVE`.
        """
        _check_turn(view)
        prompt = f"\n{text(view)}\nlegal     {_legal(view)}\nseat {view.seat}> "
        while True:
            try:
                answer = self._ask(prompt)
            except EOFError:
                raise PlayerLeftError(f"seat {view.seat} has left the table: no more input") from None
            if answer.strip().lower() in LEAVE:
                raise PlayerLeftError(f"seat {view.seat} has left the table")
            try:
                return _named(view, answer)
            except NotationError as error:
                prompt = f"{error}\nseat {view.seat}> "


def _legal(view: View) -> str:
    """The names of the legal actions, cards by suit and rank."""
    return ", ".join(ACTION_NAMES[action] for action in view.legal_ids())


def _named(view: View, answer: str) -> int:
    """The id of the legal action that an answer names.

    Raises:
        NotationError: it names none.
    """
    said = " ".join(answer.lower().split())
    by_name = {ACTION_NAMES[action].lower(): action for action in view.legal_ids()}
    for name in (said, f"bid {said}", f"trump {said}", f"discard {said}"):
        if name in by_name:
            return by_name[name]
    known = {name.lower(): name for name in ACTION_NAMES}
    name = ACTION_NAMES[action_id(known.get(said, said))]
    raise NotationError(f"{shown(name)} is not legal now: {_legal(view)}")


def _check_turn(view: View) -> None:
    """Refuse a view of a seat that is not to act."""
    if view.to_act != view.seat:
        now = "nobody is to act" if view.to_act is None else f"seat {view.to_act} is to act"
        raise TurnError(f"seat {view.seat} is asked for an action, but {now}")
