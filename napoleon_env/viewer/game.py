"""A game of people and players at one table: who is asked, hints, take-back, and the record. No input or output of its own.

What a person gets is made from the `View` of their seat alone; what is analysed is made of finished deals.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from napoleon_env.match import IllegalActionError, Match, View
from napoleon_env.notation import ACTION_NAMES, NotationError, action_id, shown
from napoleon_env.players import Player
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
    """One match at a table.

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
        self._rng = np.random.default_rng(seed)
        self._earlier: list[Match] = []

    @property
    def names(self) -> list[str]:
        """Who sits where, shortly: a file's folder and a program's path are nobody's business."""
        return ["" if seat in self.people else spec.rsplit("/", 1)[-1] for seat, spec in enumerate(self.specs)]

    def view(self) -> tuple[View, Player] | None:
        """What the player to move decides on, and that player; None where a person is to move or the match is over."""
        seat = self.match.seat
        player = None if seat is None else self.players[seat]
        return None if seat is None or player is None else (self._view(seat), player)

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
        try:
            action_id(action)
        except NotationError as error:
            raise GameError(str(error)) from None
        before = self.match.copy()
        self.play(action)
        if self.practice:
            self._earlier.append(before)

    def take_back(self, seat: int, version: object) -> None:
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
        try:
            action = self.hint_player.act(view)
        except Exception as error:  # a player may raise anything
            raise GameError(f"the player that gives hints failed: {shown(str(error))[1:-1] or type(error).__name__}") from error
        return action if isinstance(action, str) else ACTION_NAMES[int(action)]

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
            "saved": self.path if self.match.over else None,
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
        try:
            write_records(self.path, [self.record()])
        except OSError as error:
            raise GameError(f"the record {self.path} cannot be written: {error.strerror or error}") from None

    def close(self) -> None:
        """Close the players that are closed, programs for one."""
        for player in {id(player): player for player in (*self.players, self.hint_player)}.values():
            if callable(close := getattr(player, "close", None)):
                close()
