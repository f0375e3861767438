"""Named tasks: a benchmark whose numbers can be compared a year later.

A task fixes the rule set, the deals, the opponents and the score. Its deals and opponents are pinned by digests of what they do
(`opponent_digest`, `game_digest`), so that a version in which either differs says so in place of giving a number that is not
comparable. Where an opponent or a rule must change, the task gets a new version and new digests.

The score of a player is its mean advantage over the task's opponents in points (`Result.edges`: half of what it wins alone
among three of an opponent's and an opponent alone among three of it loses, each in all seats of the same deals), with its
interval over deals. An exact task is scored by NashConv instead (`exact`), and there less is better.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

import numpy as np

from napoleon_env.exact import ExactGame
from napoleon_env.notation import shown
from napoleon_env.report import unit, versions
from napoleon_env.result import Result
from napoleon_env.roster import fingerprint, make_player
from napoleon_env.ruleset import Ruleset
from napoleon_env.schedule import Schedule
from napoleon_env.statistics import LEVEL
from napoleon_env.tables import play_tables
from napoleon_env.tournament import entrant, run_tournament

FORMAT: Final = 1
"""Of a result."""
SEED: Final = 2026
"""Names the deals of all tasks, on the evaluation stream."""
PLAYER: Final = "player"
"""The name under which whoever is measured takes its seats, so that the randomness at a table does not depend on it."""
PINNED_DEALS: Final = 500
"""Deals on which an opponent's decisions are pinned."""


class TaskError(ValueError):
    """A task that does not exist, a result that is none, or numbers that cannot be compared; one sentence."""


class ChangedError(TaskError):
    """A result that does not say what is true; one sentence."""


class Task(NamedTuple):
    """What is fixed."""

    rules: Ruleset
    version: int
    deals: int
    """Matches that every table is repeated for; 0: the whole game, scored by NashConv."""
    pinned: dict[str, str]
    """Opponents by spec, or "game", with their digests."""

    @property
    def exact(self) -> bool:
        """Whether the score is NashConv."""
        return self.deals == 0


TASKS: Final[dict[str, Task]] = {
    "german-4": Task(Ruleset.make("german"), 1, 3000, {"rule": "99288088550c34a1", "counting": "7f3ed0704893f6dd"}),
    "german-3": Task(Ruleset.make("german", players=3), 1, 3000, {"rule": "00a9eb68407d2e72", "counting": "370222ada4d08cf1"}),
    "german-5": Task(Ruleset.make("german", players=5), 1, 3000, {"rule": "292ae3f99f5895fb", "counting": "5af5bb50892ffa06"}),
    "portuguese-4": Task(Ruleset.make("portuguese"), 1, 3000, {"rule": "a63b75327074006e", "counting": "637eb18ac01c95db"}),
    "russian-4": Task(Ruleset.make("russian", deals=8), 1, 1000, {"rule": "c0e141369477de22", "counting": "875a5b4a02095388"}),
    "english-4": Task(Ruleset.make("english"), 1, 3000, {"rule": "49dd16dd2d6ca599", "counting": "2f99829e88b2978a"}),
    "tiny-exact": Task(
        Ruleset.make(
            "german", players=2, suits=2, lowest_rank="Q", hand_size=2, auction="once", all_pass="dealer_plays_one", min_bid=1
        ),
        version=1,
        deals=0,
        pinned={"game": "3303315d2372997d"},
    ),
}
"""The tasks by name."""


def find(name: str) -> Task:
    """The task of this name.

    Raises:
        TaskError.
    """
    if name not in TASKS:
        raise TaskError(f"task {shown(name)} does not exist: there are {', '.join(TASKS)}")
    return TASKS[name]


def run_task(
    name: str,
    player: str,
    /,
    *,
    workers: int = 1,
    file: str | os.PathLike[str] | None = None,
    on_block: Callable[[Result], None] | None = None,
) -> dict[str, Any]:
    """Measure a player in a task.

    Args:
        name: of the task.
        player: a spec (`roster`).
        workers, file, on_block: as for `run_tournament`; they change no number. An exact task needs none of them.

    Returns:
        The result as JSON values: task, player, score, and all that made it.

    Raises:
        TaskError: no such task, or its deals or opponents are not what they were.
        What `run_tournament`, or for an exact task `exact.nash_conv`, raises.
    """
    task = find(name)
    for what, pinned in task.pinned.items():
        if (now := digest(name, what)) != pinned:
            raise TaskError(
                f"task {name} cannot be played: {what} is not what it was (its digest is {now}, pinned is {pinned}), "
                "so numbers would not be comparable"
            )
    who = entrant((PLAYER, player))
    found = (
        _exact_score(task, player) if task.exact else _table_score(task, player, workers=workers, file=file, on_block=on_block)
    )
    result = {
        "napoleon_task": FORMAT,
        "task": name,
        "version": task.version,
        **definition(task),
        "player": {"spec": player, "fingerprint": who.fingerprint},
        **found,
        "versions": versions(),
    }
    return {**result, "digest": result_digest(result)}


def definition(task: Task) -> dict[str, Any]:
    """What a task fixes, as JSON values."""
    fixed = {"rules": task.rules.header, "pinned": task.pinned}
    if task.exact:
        return {**fixed, "measure": "NashConv, points a deal; less is better"}
    measure = f"mean advantage over the opponents, {unit(_schedule(task))}; more is better"
    return {**fixed, "seed": SEED, "stream": "evaluation", "deals": task.deals, "level": LEVEL, "measure": measure}


def _schedule(task: Task) -> Schedule:
    return Schedule(rules=task.rules, names=(PLAYER, *task.pinned), seed=SEED, deals=task.deals, block=1)


def _table_score(task: Task, player: str, **running: Any) -> dict[str, Any]:
    entries = [(PLAYER, player), *((spec, spec) for spec in task.pinned)]
    result = run_tournament(entries, rules=task.rules, deals=task.deals, seed=SEED, **running)
    edges = result.edges()
    return {
        "score": result.fields()[0].json,
        "against": {spec: edges[0, place].json for place, spec in enumerate(task.pinned, 1)},
        "forfeits": int(result.n_forfeits[0]),
        "warnings": result.warnings,
    }


def _exact_score(task: Task, player: str) -> dict[str, Any]:
    found = max(_game(task.rules).nash_conv(player), 0.0)  # rounding may bring it below
    return {"score": {"mean": found, "low": found, "high": found}, "warnings": []}


@lru_cache(maxsize=1)
def _game(rules: Ruleset) -> ExactGame:
    return ExactGame(rules)


def verify(
    result: Mapping[str, Any],
    /,
    *,
    workers: int = 1,
    file: str | os.PathLike[str] | None = None,
    on_block: Callable[[Result], None] | None = None,
) -> dict[str, Any]:
    """Measure a result's player again.

    Args:
        result: of `run_task`, read back from JSON.
        workers, file, on_block: as for `run_task`.

    Returns:
        The new result, whose score is the same.

    Raises:
        ChangedError: the result was edited, or the player's score is another one now.
        TaskError: it is no result, or what it was made with is not here: another version of the task, another player.
    """
    if (
        not isinstance(result, Mapping)
        or result.get("napoleon_task") != FORMAT
        or not isinstance(result.get("player"), Mapping)
    ):
        raise TaskError(f"this is no result of a task of format {FORMAT}")
    if result.get("digest") != result_digest({name: value for name, value in result.items() if name != "digest"}):
        raise ChangedError("the result was edited after it was made: its digest does not fit")
    name, spec = str(result.get("task")), str(result["player"].get("spec"))
    task = find(name)
    for what, value in {"version": task.version, **definition(task)}.items():
        if result.get(what) != json.loads(json.dumps(value)):
            raise TaskError(
                f"the result is of another {name}: its {what} is {shown(result.get(what))}, here it is {shown(value)}"
            )
    if (now := fingerprint(spec)) != result["player"].get("fingerprint"):
        raise TaskError(f"the player {shown(spec)} is not the one that was measured: its fingerprint is {now}")
    again = json.loads(json.dumps(run_task(name, spec, workers=workers, file=file, on_block=on_block)))
    for what in ("score", "against", "forfeits"):
        if again.get(what) != result.get(what):
            raise ChangedError(f"measured again, the {what} of {shown(spec)} is {again.get(what)}, not {result.get(what)}")
    return again


# Digests.


def result_digest(result: Mapping[str, Any]) -> str:
    """Of a result without its digest: it tells a result that was edited."""
    return sha256(json.dumps(result, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def digest(name: str, what: str) -> str:
    """What `Task.pinned` holds, as it is now."""
    task = TASKS[name]
    return game_digest(task.rules) if task.exact else opponent_digest(task.rules, what)


def opponent_digest(rules: Ruleset, spec: str) -> str:
    """Of the cards and of every action when a player has all seats, in the first PINNED_DEALS matches of the tasks' deals."""
    deals, digest = np.arange(PINNED_DEALS), sha256()

    def add(rows: np.ndarray, states: np.ndarray) -> None:
        for row, state in zip(rows.tolist(), states, strict=True):
            ended[row].append((state["dealer"], state["cards"].tobytes(), state["log"][: state["n_log"]].tobytes()))

    ended: list[list[tuple[int, bytes, bytes]]] = [[] for _ in deals]
    play_tables(
        [make_player(spec, rules=rules)],
        rules,
        seed=SEED,
        deals=deals,
        assigned=np.zeros((PINNED_DEALS, rules.players), np.int64),
        keys=np.zeros(PINNED_DEALS, np.int64),
        tables=np.zeros(PINNED_DEALS, np.int64),
        recorder=add,
    )
    for match in ended:
        for dealer, cards, log in match:
            digest.update(bytes([dealer]) + cards + log)
    return digest.hexdigest()[:16]


def game_digest(rules: Ruleset) -> str:
    """Of every end of an exact game: who could have decided what on the way, and what it pays."""
    form, digest = _game(rules).form, sha256()
    for array in form[:-1]:
        digest.update(array.astype("<i8").tobytes())
    digest.update(np.round(form.gain * _game(rules).n_deals).astype("<i8").tobytes())
    return digest.hexdigest()[:16]
