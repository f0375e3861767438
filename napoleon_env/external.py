"""Players in another process: a program in any language that speaks JSON lines, or one of ours under a time limit.

The protocol of `cmd:…`. The program is started once. For every decision it gets one line on its standard input and answers
with one line on its standard output (and flushes it); its standard error goes where ours goes. It ends when its input ends.

    <- {"view": {"rules": {...}, "seat": 2, "phase": "auction", "hand": ["2C", ...], "legal": ["bid 3", "pass"], ...}}
    -> {"action": "bid 3"}

`view_json` says what is in a view; "action" is one of the names in "legal". `view["seed"]` is a number for the program's own
randomness: a program that draws from it, and from nothing else, makes a tournament that can be repeated.
"""

from __future__ import annotations

import json
import multiprocessing
import shlex
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, Final

import numpy as np

from napoleon_env.match import Match, Situation, View
from napoleon_env.notation import shown
from napoleon_env.rules import new_state
from napoleon_env.ruleset import Ruleset
from napoleon_env.tables import PlayerError, Question, ask, fault

SECONDS: Final = 60.0
"""How long a program may take over one decision, unless the user says otherwise."""
START_SECONDS: Final = 60.0
"""How long it may take to start; it is not given again after a start without an answer."""
LONGEST_ANSWER: Final = 1 << 16
"""Characters of a line that a program may answer with."""
LONGEST_WAIT: Final = 2_000_000.0
"""Seconds that a pipe can be waited for: the system counts milliseconds in 31 bits."""


def view_json(view: View) -> dict[str, Any]:
    """What a seat knows, as JSON values; the same that `view` holds, so nothing hidden.

    Fields: rules (a record's header), seat, seed, legal (names, sorted), hand, scores, deal_number, those of `_deal_json`,
    and last_deal (the same with payoffs; null in the first deal of a match).
    """
    last = view.last_deal
    return {
        "rules": view.rules.header,
        "seat": view.seat,
        "seed": view.seed,
        "legal": view.legal(),
        "hand": view.hand,
        "scores": view.scores,
        "deal_number": view.deal_number,
        **_deal_json(view, view.seat),
        "last_deal": last and {**_deal_json(last, view.seat), "payoffs": last.payoffs},
    }


def _deal_json(deal: Situation, seat: int) -> dict[str, Any]:
    """A deal as a seat sees it; `log` is every decision in order as [seat, name], an unseen discard as "discard ?"."""
    return {
        "phase": deal.phase,
        "dealer": deal.dealer,
        "dealt": deal.dealt(seat),
        "log": [list(entry) for entry in deal.log],
        "declarer": deal.declarer,
        "contract": deal.contract,
        "announced": deal.announced,
        "trump": deal.trump,
        "led_suit": deal.led_suit,
        "tricks": [[list(play) for play in trick] for trick in deal.tricks],
        "tricks_won": deal.tricks_won,
        "discarded": deal.discarded,
        "drawn": deal.drawn,
        "pot": deal.pot,
    }


class ProgramPlayer:
    """A program that speaks the protocol of this module; started at the first decision, and again after it was stopped.

    Args:
        command: as a shell would split it, or a list of arguments.
        seconds: how long it may take over one decision; then it is stopped.
    """

    def __init__(self, command: str | list[str], *, seconds: float = SECONDS) -> None:
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        self.seconds = seconds
        self._patience, self._answered = START_SECONDS, False
        self._process: subprocess.Popen[str] | None = None
        self._lines: SimpleQueue[str] = SimpleQueue()

    def act(self, view: View) -> str:
        """The name that the program answers with.

        Raises:
            PlayerError: it does not run, does not answer in time, or not in this form; it is then stopped.
        """
        try:
            process = self._process or self._start()
            try:
                assert process.stdin is not None
                process.stdin.write(json.dumps({"view": view_json(view)}) + "\n")
                process.stdin.flush()
            except (OSError, ValueError):
                raise PlayerError(f"the program {self._name} {self._ending(process)}") from None
            action = self._read(process, self.seconds + self._patience)
        except BaseException:
            self.close()
            raise
        self._patience, self._answered = 0.0, True
        return action

    @property
    def _name(self) -> str:
        return shown(" ".join(self.command))

    def _start(self) -> subprocess.Popen[str]:
        try:
            process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
            )
        except (OSError, ValueError, IndexError) as error:
            raise PlayerError(f"the program {self._name} does not start: {getattr(error, 'strerror', None) or error}") from None
        lines: SimpleQueue[str] = SimpleQueue()
        assert process.stdout is not None
        threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True).start()
        self._process, self._lines = process, lines
        return process

    def _read(self, process: subprocess.Popen[str], seconds: float) -> str:
        try:
            line = self._lines.get(timeout=seconds)
        except Empty:
            raise PlayerError(f"the program {self._name} did not answer within {self.seconds:g} s") from None
        if not line:
            raise PlayerError(f"the program {self._name} {self._ending(process)}")
        try:
            answer = json.loads(line) if line.endswith("\n") else None
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("action"), str):
            raise PlayerError(
                f'the program {self._name} answered {shown(line.strip())}, not {{"action": "<name>"}} on one line'
            )
        return answer["action"]

    @staticmethod
    def _ending(process: subprocess.Popen[str]) -> str:
        """How the program ended, after "the program …"."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(2)
        code = process.returncode
        return "closed its output before it answered" if code is None else f"ended with code {code} before it answered"

    def close(self) -> None:
        """Close the program's input, and stop it if it does not end by itself."""
        process, self._process = self._process, None
        self._patience, self._answered = (START_SECONDS if self._answered else 0.0), False
        if process is None:
            return
        with suppress(OSError, ValueError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> ProgramPlayer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None:
            self.close()


def _pump(stream: Any, lines: SimpleQueue[str]) -> None:
    """Pass on a program's lines, then "" for the end; runs in a thread of its own, so that waiting can have an end."""
    with stream, suppress(OSError, ValueError):
        while line := stream.readline(LONGEST_ANSWER):
            lines.put(line)
    lines.put("")


class TimedPlayer:
    """A player of ours in a process of its own, which is stopped when a decision takes too long or brings it down.

    Args:
        make: makes the player, in the other process; must pickle.
        rules: what it is to play; before the clock runs it is asked one question of them, so that everything is compiled.
        seconds: per decision; a question about n tables may take n times as long.
    """

    def __init__(self, make: Callable[[], Any], *, rules: Ruleset, seconds: float) -> None:
        self.make, self.rules, self.seconds = make, rules, seconds
        self._process: Any = None
        self._pipe: Connection | None = None

    def answer(self, question: Question) -> tuple[np.ndarray, dict[int, str]]:
        """As `tables.answer`.

        Raises:
            PlayerError: no answer in time, or the process came down.
        """
        pipe = self._pipe or self._start()
        given = self._receive(
            pipe, question, self.seconds * len(question.states), f"no answer within {self.seconds:g} s a decision"
        )
        if isinstance(given, str):
            raise PlayerError(given)
        return given

    def _receive(self, pipe: Connection, sent: object, seconds: float, late: str) -> Any:
        try:
            pipe.send(sent)
            if pipe.poll(min(seconds, LONGEST_WAIT)):
                return pipe.recv()
        except (OSError, EOFError):
            late = "the player's process came down"
        self.close()
        raise PlayerError(late)

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.make), daemon=True)
        self._process.start()
        theirs.close()
        with suppress(PlayerError):  # what it says to the first question is not counted, whatever it is
            self._receive(self._pipe, first_question(self.rules), START_SECONDS, "")
        if self._pipe is None:
            raise PlayerError(f"the player did not start within {START_SECONDS:g} s, or came down")
        return self._pipe

    def close(self) -> None:
        """End the process."""
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.close()
            self._process.kill()
            self._process.join()


def first_question(rules: Ruleset) -> Question:
    """The first decision of some match, of the training deals."""
    match = Match(rules, seed=0)
    seat = int(match.state["seat"][0])
    return Question(match.view(seat).state, rules, np.array([seat]), np.zeros(1, np.uint64), new_state(1))


def _serve(pipe: Connection, make: Callable[[], Any]) -> None:
    """Answer questions until the pipe is closed."""
    player = None
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            question = pipe.recv()
            try:
                player = player or make()
                given: Any = ask(player, question)
            except Exception as error:
                given = fault(error)
            pipe.send(given)
