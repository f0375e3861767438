"""What a player is, and those that need no search and no training: random, rule of thumb, counting, human.

A player sees a `View`, never a match, and answers with a legal action. Its randomness comes from `View.rng`, so that a
tournament gives the same result in any order and on any number of processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from secrets import randbits
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from napoleon_env import rules as core
from napoleon_env.counting import counting_action
from napoleon_env.dealing import uniform
from napoleon_env.jit import count_bits, jit, lowest_bit
from napoleon_env.match import View
from napoleon_env.notation import ACTION_NAMES, N_ACTIONS, NotationError, action_id, shown
from napoleon_env.render import text
from napoleon_env.ruleset import Ruleset
from napoleon_env.thumb import thumb_action


@runtime_checkable
class Player(Protocol):
    """Anything that decides for a seat.

    Optional, and looked for by name: `act_many(views) -> sequence of actions` decides for many tables at once, `act_states`
    does so on their states (`StatesPlayer`), `probabilities(view) -> float array of shape (N_ACTIONS,)` tells how likely each
    action is to be chosen, `probabilities_states(states, rules, seats) -> float array (n, N_ACTIONS)` does so for many tables,
    and `deterministic = True` says that nothing is drawn by lot.
    """

    def act(self, view: View) -> int | str:
        """The id or the name of one of `view.legal_ids()`."""
        ...


def act_many(player: Player, views: Sequence[View]) -> list[int | str]:
    """The player's action in each view, through its `act_many` where it has one."""
    batched = getattr(player, "act_many", None)
    return list(batched(views)) if batched else [player.act(view) for view in views]


def decision_seed(view: View) -> np.ndarray:
    """The seed of a view's own randomness as `act_states` takes it, uint64 of shape (1,); a new one where none was given."""
    return np.array([randbits(64) if view.seed is None else view.seed], np.uint64)


class StatesPlayer(ABC):
    """A player that decides for many tables in one compiled call; for one table it asks itself about an array of one."""

    deterministic = True
    """It draws nothing by lot: a tournament asks it once where it meets the same position again."""

    @abstractmethod
    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Decide at n tables.

        Args:
            states: dtype rules.STATE, shape (n,); nothing that the seat may not know is read.
            rules: of all tables.
            seats: int64 (n,), for whom; each is to act.
            seeds: uint64 (n,), of each decision's own randomness.

        Returns:
            Action ids, int64 (n,).
        """

    def act(self, view: View) -> int:
        """The id of one legal action.

        Raises:
            TurnError: it is not this seat's turn.
        """
        _check_turn(view)
        return int(self.act_states(view.state, view.rules, np.array([view.seat]), decision_seed(view))[0])

    def probabilities(self, view: View) -> np.ndarray:
        """One for the action that `act` chooses, zero for all others; float64 of shape (N_ACTIONS,).

        Raises:
            UntoldError: this player draws by lot, and how likely it is to choose what is not known.
        """
        if not self.deterministic:
            raise UntoldError(f"a {type(self).__name__} draws by lot and does not tell its probabilities")
        chosen = np.zeros(N_ACTIONS)
        chosen[self.act(view)] = 1.0
        return chosen


class RandomPlayer(StatesPlayer):
    """Chooses uniformly among the legal actions."""

    deterministic = False

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """One legal action at each table, all equally likely."""
        actions = np.empty(len(states), np.int64)
        _random_actions(states, rules.struct, seeds, actions)
        return actions

    def probabilities(self, view: View) -> np.ndarray:
        """Equal over the legal actions; float64 of shape (N_ACTIONS,)."""
        mask = view.mask()
        return mask / mask.sum()


class RulePlayer(StatesPlayer):
    """Bids and plays by a few rules of thumb (`thumb`), as a sensible person would without reckoning."""

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """What the rules of thumb say at each table."""
        actions = np.empty(len(states), np.int64)
        _thumb_actions(states, rules.struct, seats, actions)
        return actions


class CountingPlayer(StatesPlayer):
    """Reckons the chance of every card to take a trick (`counting`): as strong as a small search, in a microsecond."""

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """What counting says at each table."""
        actions = np.empty(len(states), np.int64)
        _counting_actions(states, rules.struct, seats, actions)
        return actions


@jit
def _random_actions(states: Any, rules: Any, seeds: Any, actions: Any) -> None:
    for i in range(len(states)):
        named, cards, base = core.legal(states[i], rules[0])
        n_named = count_bits(named)
        place = np.int64(uniform(seeds[i]) * (n_named + count_bits(cards)))
        chosen = named if place < n_named else cards
        for _ in range(place if place < n_named else place - n_named):
            chosen &= chosen - 1
        actions[i] = lowest_bit(chosen) + (0 if place < n_named else base)


@jit
def _thumb_actions(states: Any, rules: Any, seats: Any, actions: Any) -> None:
    for i in range(len(states)):
        actions[i] = thumb_action(states[i], rules[0], seats[i])


@jit
def _counting_actions(states: Any, rules: Any, seats: Any, actions: Any) -> None:
    for i in range(len(states)):
        actions[i] = counting_action(states[i], rules[0], seats[i])


class UntoldError(ValueError):
    """A player that draws by lot was asked for probabilities that it does not know."""


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
                return named_action(view, answer)
            except NotationError as error:
                prompt = f"{error}\nseat {view.seat}> "


def _legal(view: View) -> str:
    """The names of the legal actions, cards by suit and rank."""
    return ", ".join(ACTION_NAMES[action] for action in view.legal_ids())


def named_action(view: View, answer: str) -> int:
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
