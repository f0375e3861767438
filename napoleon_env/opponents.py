"""The opponents at a learner's table: who plays there, what they are asked, and with which randomness.

They see what their seats may know and nothing else. Their decisions are drawn from seeds of their own, a function of (seed,
index, match, deal, decision) that says nothing of the cards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from napoleon_env import rules as core
from napoleon_env.dealing import STREAMS, check_seed, fork
from napoleon_env.jit import jit
from napoleon_env.notation import shown
from napoleon_env.players import Player
from napoleon_env.roster import FunctionPlayer, make_player
from napoleon_env.ruleset import Ruleset
from napoleon_env.single_env import (
    ILLEGAL,
    MASKS,
    check_seat,
    check_word,
)
from napoleon_env.tables import Question, answer, show
from napoleon_env.vector_env import EnvError

Opponent = str | Player | Callable[..., Any]
ROTATE: Final = "rotate"


class OpponentError(ValueError):
    """An opponent that did not answer with a legal action; the sentence names its seat.

    What an opponent's own code raises comes through as it is, so that its traceback is seen.
    """


@jit
def show_seat_to_act(
    states: Any, last: Any, rules: Any, bases: Any, rows: Any, seen: Any, last_seen: Any, seats: Any, seeds: Any
) -> None:
    """Copy what the seats to act in the environments `rows` may know, and write the seeds of their decisions."""
    show(states, last, rules, rows, seen, last_seen, seats)
    for k in range(len(rows)):
        state = states[rows[k]]
        seeds[k] = fork(fork(fork(bases[rows[k]], state["match"]), state["deal"]), state["n_log"])


def make_opponents(opponents: Opponent | Sequence[Opponent], rules: Ruleset) -> list[Player]:
    """The player in each other seat, from the learner's left on.

    Raises:
        EnvError, RosterError: not a player, or not one for each seat.
    """
    n = rules.players - 1
    if isinstance(opponents, (list, tuple)):
        if len(opponents) != n:
            raise EnvError(
                f"opponents must be one player, or a list of {n}, from the learner's left on: {len(opponents)} given"
            )
        return [_make_opponent(opponent, rules) for opponent in opponents]
    return [_make_opponent(opponents, rules)] * n


def _make_opponent(opponent: Any, rules: Ruleset) -> Player:
    if isinstance(opponent, type):
        raise EnvError(f"opponents: {shown(opponent)} is a class: a player must be an object of one, or a function")
    player: Any = opponent
    if callable(opponent) and not any(hasattr(opponent, name) for name in ("act", "act_many", "act_states")):
        player = FunctionPlayer(opponent)
    return make_player(player, rules=rules)


def learner_words(seed: int, index: int, stream: str) -> tuple[np.uint64, int]:
    """The key of the opponents' decisions and where the learner's seat starts from; of another domain than any deal's key."""
    sequence = np.random.SeedSequence(check_seed(seed), spawn_key=(2, 1 + STREAMS.index(stream), index))
    base, start = sequence.generate_state(2, np.uint64)
    return base, int(start >> np.uint64(32))


def make_question(n: int, rules: Ruleset) -> Question:
    """An empty question about n tables, to be written into by `show_seat_to_act`."""
    return Question(core.new_state(n), rules, np.zeros(n, np.int64), np.zeros(n, np.uint64), core.new_state(n))


def ask(player: Player, question: Question) -> np.ndarray:
    """A player's actions.

    Raises:
        OpponentError: an answer is no action at all.
    """
    actions, faults = answer(player, question)
    for k, fault in faults.items():
        raise OpponentError(f"the opponent in seat {int(question.seats[k])}: {fault}")
    return actions


def check_settings(
    illegal: str, mask: str, seat: int | str, render_mode: str | None, modes: Sequence[str], rules: Ruleset
) -> None:
    """Refuse settings of a learner's environment that do not exist.

    Raises:
        EnvError.
    """
    check_word("illegal", illegal, ILLEGAL)
    check_word("mask", mask, MASKS)
    if render_mode is not None:
        check_word("render_mode", render_mode, tuple(modes))
    if isinstance(seat, str):
        check_word("seat", seat, (ROTATE,))
    else:
        check_seat("seat", seat, rules)
