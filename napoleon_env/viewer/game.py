"""A game of people and players at one table: who is asked, hints, take-back, and the record. No input or output of its own.

What a person gets is made from the `View` of their seat alone; what is analysed is made of finished deals.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

from napoleon_env.match import IllegalActionError, Match, View
from napoleon_env.notation import ACTION_NAMES, NotationError, action_id, action_name, shown
from napoleon_env.players import Player, named_action
from napoleon_env.record import to_record, write_records
from napoleon_env.roster import make_player, parse_spec
from napoleon_env.ruleset import Ruleset
from napoleon_env.viewer.frames import Frame, finished, frame

_log = logging.getLogger("napoleon_env.viewer")

PERSON: Final = "human"
"""The spec of a seat where a person sits."""
HINTS: Final = "pimc"
"""The player that is asked for hints, by its spec."""


class GameError(ValueError):
    """What cannot be done at the table now, or a table that cannot be; one sentence."""


class Game:
    """One match at a table; a context manager, at whose end the record is written and the players are closed.

    Args:
        rules: of the match, for as many players as there are specs.
        specs: who sits in each seat, as `make_player` takes them; "human" is a person.
        seed: of the deals and of the players' own randomness; None draws one from the system.
        hint: the player that gives hints.
        practice: whether decisions may be taken back; for one person.
        path: of the record.

    Raises:
        GameError: nobody, or too many, would play.
        RosterError: there is no such player.
    """

    def __init__(
        self,
        rules: Ruleset,
        specs: Sequence[str],
        *,
        seed: int | None = None,
        hint: str = HINTS,
        practice: bool = False,
        path: str | None = None,
    ) -> None:
        self.people = [seat for seat, spec in enumerate(specs) if parse_spec(spec).name == PERSON]
        if not self.people:
            raise GameError(f"nobody sits at the table: one of the players must be {PERSON}")
        if practice and len(self.people) > 1:
            raise GameError(f"practice is for one person, not for {len(self.people)}: a take-back would change others' game")
        self.specs, self.practice, self.path = list(specs), practice, path
        self.players: list[Player | None] = [
            None if seat in self.people else make_player(spec, rules=rules) for seat, spec in enumerate(specs)
        ]
        self.hint_player = make_player(hint, rules=rules)
        self.match = Match(rules, seed=seed)
        self.version = 0
        """Rises with every change of the table; what is said of an older table is refused."""
        self.saved = False
        """Whether the record has been written as it stood when it was last to be."""
        self._rng = np.random.default_rng(seed)
        self._earlier: list[Match] = []

    @property
    def names(self) -> list[str]:
        """Who sits where, shortly: a file's folder and a program's path are nobody's business."""
        return ["" if seat in self.people else spec.rsplit("/", 1)[-1] for seat, spec in enumerate(self.specs)]

    def view(self) -> View | None:
        """What the player to move is to decide on; None where a person is to move or the match is over."""
        seat = self.match.seat
        return None if seat is None or seat in self.people else self._view(seat)

    def decide(self, view: View) -> str:
        """The action that the player of a view's seat chooses.

        Raises:
            GameError: that player failed.
        """
        return _decision(self.players[view.seat], view, f"a player failed ({self.names[view.seat]})")

    def _view(self, seat: int) -> View:
        return self.match.view(seat, seed=int(self._rng.integers(2**63)))

    def play(self, action: int | str) -> None:
        """Carry out the action of a player; the record is written where it ends a deal, and tried again if that fails.

        Raises:
            GameError: it is illegal.
        """
        try:
            ended = self.match.play(action)
        except (IllegalActionError, NotationError) as error:
            raise GameError(str(error)) from None
        self.version += 1
        if ended:
            try:
                self.save()
            except GameError as error:
                _log.warning("%s", error)

    def act(self, seat: int, action: object, version: object) -> None:
        """Carry out the action that a person names.

        Raises:
            GameError: it is not this seat's turn, the table has changed, or the action is illegal.
        """
        self._check_turn(seat, version)
        if not isinstance(action, str):
            raise GameError(f"an action is named in text, not by {shown(action)}")
        before = [self.match.copy()] if self.practice else []
        self.play(action)
        self._earlier += before

    def take_back(self, version: object) -> None:
        """Go back to the person's last decision; what the players drew by lot may fall otherwise the next time.

        Raises:
            GameError: this is no practice, or there is nothing to take back.
        """
        if not self.practice:
            raise GameError("nothing is taken back: this is no practice")
        self._check_version(version)
        if not self._earlier:
            raise GameError("there is nothing to take back")
        self.match = self._earlier.pop()
        self.version += 1

    def hint_for(self, seat: int, version: object) -> View:
        """The view that the hint's player is to decide on.

        Raises:
            GameError: it is not this seat's turn, or the table has changed.
        """
        self._check_turn(seat, version)
        return self._view(seat)

    def hint(self, view: View) -> str:
        """The action that the hint's player would choose.

        Raises:
            GameError: that player failed.
        """
        return _decision(self.hint_player, view, "the player that gives hints failed")

    def _check_turn(self, seat: int, version: object) -> None:
        self._check_version(version)
        if self.match.seat != seat:
            now = "the match is over" if self.match.seat is None else f"seat {self.match.seat} is to act"
            raise GameError(f"it is not the turn of seat {seat}: {now}")

    def _check_version(self, version: object) -> None:
        if version != self.version or isinstance(version, bool):
            raise GameError(f"the table has changed: it is at {self.version}, not at {shown(version)}")

    def seen(self, seat: int) -> Frame:
        """All that a seat may know now, as JSON values; `ended` is the end of the deal before, as this seat saw it."""
        view = self.match.view(seat)
        mine = view.to_act == seat
        return {
            "version": self.version,
            "frame": frame(view, seat),
            "legal": [ACTION_NAMES[action] for action in view.legal_ids()] if mine else [],
            "ended": finished(view),
            "back": self.practice and bool(self._earlier),
            "saved": os.path.basename(self.path) if self.path and self.saved and self.match.over else None,
        }

    def record(self, *, running: bool = True) -> dict[str, Any]:
        """The match as a record, with or without the deal that is running."""
        names = [PERSON if seat in self.people else name for seat, name in enumerate(self.names)]
        record = to_record(self.match, notes={"players": names})
        return record if running else record | {"deals": record["deals"][: len(self.match.history)]}

    def save(self) -> None:
        """Write the record, if it has a path.

        Raises:
            GameError: it cannot be written.
        """
        if self.path is None:
            return
        self.saved = False
        try:
            write_records(self.path, [self.record()])
        except OSError as error:
            raise GameError(f"the record {self.path} cannot be written: {error.strerror or error}") from None
        self.saved = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Write the record and close the players that are closed, programs for one.

        Raises:
            GameError: the record cannot be written; where something else has ended the game, that is logged instead.
        """
        try:
            self.save()
        except GameError as unsaved:
            if error is None:
                raise
            _log.warning("%s", unsaved)
        finally:
            for player in {id(player): player for player in (*self.players, self.hint_player)}.values():
                if callable(close := getattr(player, "close", None)):
                    close()


def _decision(player: Any, view: View, failed: str) -> str:
    """The action that a player chooses, by name.

    Raises:
        GameError: it raised something or named no legal action; `failed` begins the sentence.
    """
    try:
        action = player.act(view)
        name = action_name(action_id(action) if isinstance(action, str) else action)
        return ACTION_NAMES[named_action(view, name)]
    except Exception as error:  # a player may raise anything
        raise GameError(f"{failed}: {shown(str(error), 300)[1:-1] or type(error).__name__}") from error
