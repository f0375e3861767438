"""Match records: JSON Lines files that are read, written, replayed and verified (RULES.md §8).

One match is one JSON object on one line. Reading is strict, and what is wrong is one of two things: a `RecordError`, where
text cannot be read as a record at all, or a `Disagreement`, where a record tells of something that the rules do not allow.
Lines count from 1, deals and actions from 0.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isinf
from operator import lt
from secrets import token_hex
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np

from napoleon_env import rules as core
from napoleon_env.jit import jit
from napoleon_env.match import DealError, FinishedDeal, Match
from napoleon_env.notation import ACTION_NAMES, DISCARD, NO_CARD, PLAY, NotationError, action_id, shown
from napoleon_env.ruleset import Ruleset, RulesetError

MATCH_FIELDS: Final = ("rules", "deals", "scores", "pot", "unfinished", "notes")
"""The fields of a match; the first three are required."""
DEAL_FIELDS: Final = ("dealer", "hands", "actions", "payoffs", "pot", "stock")
"""The fields of a deal; all but `stock` are required, but for the last deal of an unfinished match (`payoffs`, `pot`)."""

LONGEST_LINE: Final = 1 << 28
"""Bytes; a longer line is refused before it fills the memory."""
MOST_DIGITS: Final = 4300
"""Of a whole number: what Python reads by default."""

_ID: Final = {name: number for number, name in enumerate(ACTION_NAMES)}
_BIT: Final = {name: 1 << number for number, name in enumerate(ACTION_NAMES)}
_NOT_GIVEN: Final = -1
"""In place of a legal mask, for an action without a list of legal actions."""


class PlacedError(ValueError):
    """What is wrong with a record and where; of `path`, `line`, `deal` and `action`, None are those that say nothing."""

    def __init__(self, sentence: str, *, deal: int | None = None, action: int | None = None) -> None:
        super().__init__(sentence)
        self.sentence, self.deal, self.action = sentence, deal, action
        self.path: str | None = None
        self.line: int | None = None

    @property
    def place(self) -> str:
        """Such as "line 3, deal 0, action 12"; empty where there is nothing to say."""
        parts = (("line", self.line), ("deal", self.deal), ("action", self.action))
        return ", ".join(f"{word} {number}" for word, number in parts if number is not None)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.path, self.place, self.sentence) if part)


class RecordError(PlacedError):
    """A file, a line or a value that cannot be read as a record."""


class Disagreement(PlacedError):  # noqa: N818  # what `check` is there to find, not an error in using it; RecordError is that
    """A record of something that the rules do not allow, or whose amounts are not what the rules say."""


# Reading.


def read_records(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a file in order, as (line, record); "-" reads standard input. One line at a time is in memory.

    What is yielded is strict JSON and an object; `replay` judges the rest.

    Raises:
        RecordError: the file or a line cannot be read; names the path and the line.
    """
    reader = _JsonReader()
    for line, text in _lines(path):
        with _placed(path, line):
            record = reader.record(text)
        yield line, record


def read_record(path: str | os.PathLike[str], line: int) -> dict[str, Any]:
    """The record in one line of a file; the lines before it are passed over, not judged.

    Raises:
        RecordError: there is no such line, or it cannot be read.
    """
    last = 0
    for number, text in _lines(path):
        last = number
        if number == line:
            with _placed(path, line):
                return _JsonReader().record(text)
    with _placed(path):
        raise RecordError(f"there is no match {line}: the matches are numbered by line, from 1 to {last}")


@contextmanager
def _placed(path: str | os.PathLike[str] | None, line: int | None = None) -> Iterator[None]:
    """Write the path and the line into a problem that leaves the block."""
    try:
        yield
    except PlacedError as problem:
        problem.path, problem.line = None if path is None else _path_text(path), line
        raise


def _path_text(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if text == "-":
        return "standard input"
    return text if isinstance(text, str) and text.isprintable() else ascii(text)


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from 1, without their ends (LF or CRLF).

    Raises:
        RecordError: the file cannot be read, is empty, or a line is longer than LONGEST_LINE.
    """
    line = 0
    try:
        with _opened(path) as file:
            while text := _read_line(file, path, line + 1):
                line += 1
                yield line, text.removesuffix(b"\n").removesuffix(b"\r")
    except (OSError, ValueError) as error:
        if isinstance(error, PlacedError):
            raise
        why = getattr(error, "strerror", None) or str(error)
        with _placed(path):
            raise RecordError(f"the file cannot be read: {why[:1].lower()}{why[1:]}") from None
    if line == 0:
        with _placed(path, 1):
            raise RecordError("the file is empty: a record of a match is one line")


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    if path != "-":
        with open(path, "rb") as file:
            yield file
    elif sys.stdin is None:
        raise OSError("standard input is closed")
    else:
        yield sys.stdin.buffer


def _read_line(file: BinaryIO, path: str | os.PathLike[str], line: int) -> bytes:
    """The next line with its end; empty at the end of the file."""
    piece = file.readline(1 << 20)
    if len(piece) < 1 << 20 or piece.endswith(b"\n"):
        return piece
    pieces, size = [piece], len(piece)
    while piece and not piece.endswith(b"\n"):
        with _placed(path, line):
            if b"\0" in piece:
                raise RecordError("this is no text: there are zero bytes in it")
            if size > LONGEST_LINE:
                raise RecordError(f"the line is longer than {LONGEST_LINE >> 20} MiB")
        piece = file.readline(1 << 20)
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


class _Flaw:
    """In place of a value that no record may hold; `what` says what stood there."""

    def __init__(self, what: str) -> None:
        self.what = what


class _Repeating(dict[str, Any]):
    """An object one of whose keys stands in it more than once."""

    repeated: str


class _JsonReader:
    """JSON read strictly: no key twice, no NaN, nothing that cannot be held exactly enough."""

    def __init__(self) -> None:
        self._flawed = False
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._object, parse_int=self._int, parse_float=self._float, parse_constant=self._constant
        ).decode

    def record(self, text: bytes) -> dict[str, Any]:
        """The object that a line holds.

        Raises:
            RecordError: it holds none; the deal and the action are named where they can be.
        """
        if text.startswith(b"\xef\xbb\xbf"):
            raise RecordError("a byte-order mark stands before the record")
        try:
            line = text.decode()
        except UnicodeDecodeError as error:
            raise RecordError(f"byte {error.start + 1} of the line is not UTF-8 text") from None
        if not line.strip():
            raise RecordError("the line is blank: a record of a match is one line")
        self._flawed = False
        try:
            value = self._decode(line)
        except json.JSONDecodeError as error:
            raise RecordError(f"broken JSON at character {error.pos + 1}: {error.msg[:1].lower()}{error.msg[1:]}") from None
        except (RecursionError, MemoryError):
            raise RecordError("the JSON is nested too deep or too large") from None
        if self._flawed:
            _raise_first_flaw(value)
        if type(value) is not dict:
            raise RecordError(f"a record is a JSON object, not {_kind(value)}")
        return value

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        self._flawed = True
        seen: set[str] = set()
        repeating = _Repeating(made)
        repeating.repeated = next(key for key, _ in pairs if key in seen or seen.add(key))
        return repeating

    def _int(self, digits: str) -> int | _Flaw:
        if len(digits) <= MOST_DIGITS:
            try:
                return int(digits)
            except ValueError:  # the user has lowered Python's own limit
                pass
        return self._flaw(f"is a number of {len(digits.lstrip('-'))} digits, which is too large")

    def _float(self, digits: str) -> float | _Flaw:
        number = float(digits)
        return self._flaw(f"is {shown(digits)[1:-1]}, which is too large") if isinf(number) else number

    def _constant(self, name: str) -> _Flaw:
        return self._flaw(f"is {name}, which is not JSON")

    def _flaw(self, what: str) -> _Flaw:
        self._flawed = True
        return _Flaw(what)


def _raise_first_flaw(value: Any) -> None:
    """Find the flaws in what was read and raise the first as a RecordError with its place."""
    to_look_at: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while to_look_at:
        path, value = to_look_at.pop()
        if isinstance(value, _Flaw):
            deal, action, name = _place_of(path)
            raise RecordError(f"{name or 'the record'} {value.what}", deal=deal, action=action)
        if isinstance(value, _Repeating):
            deal, action, name = _place_of(path)
            within = f" in {name}" if name else ""
            raise RecordError(f"the field {shown(value.repeated)} stands twice{within}", deal=deal, action=action)
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        to_look_at += reversed([((*path, key), child) for key, child in children])


def _place_of(path: tuple[str | int, ...]) -> tuple[int | None, int | None, str]:
    """The deal and the action that a path into a record leads into, and the rest of the path as text."""
    deal = action = None
    rest = list(path)
    if len(rest) > 1 and rest[0] == "deals" and isinstance(rest[1], int):
        deal = rest[1]
        del rest[:2]
        if len(rest) > 1 and rest[0] == "actions" and isinstance(rest[1], int):
            action = rest[1]
            del rest[:2]
            rest = rest and ["the entry", *rest]
    text = ""
    for key in rest[:8]:
        text += f"[{key}]" if isinstance(key, int) else f".{key if key.isidentifier() else shown(key)}" if text else key
    return deal, action, text if text.isprintable() else ascii(text)


def _kind(value: Any) -> str:
    """What kind of JSON value it is, for a message."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names = {dict: "an object", list: "a list", str: "a text", int: "a whole number", float: "a number with a fraction"}
    return names.get(type(value), f"a {type(value).__name__}")


# The form of a record.


class _Deal(NamedTuple):
    """A deal of a record, read."""

    dealer: int
    hands: list[list[str]]
    stock: list[str] | None
    actions: bytes
    """Ids."""
    legal: list[int]
    """For each action the bits of the ids that were legal, or _NOT_GIVEN."""
    payoffs: list[int] | None
    pot: int | None


class _Record(NamedTuple):
    """A record of a match, read; the cards are not looked at yet."""

    rules: Ruleset
    pot: int
    deals: list[_Deal]
    scores: list[int]
    unfinished: bool


def _read_form(record: Any, known_rules: dict[str, Ruleset]) -> _Record:
    """Check all of a record that can be checked without playing it.

    Args:
        record: JSON values.
        known_rules: rule sets made before, by the text of their headers; a new one is added.

    Raises:
        RecordError.
    """
    if type(record) is not dict:
        raise RecordError(f"a record is a JSON object, not {_kind(record)}")
    _check_fields(record, MATCH_FIELDS, MATCH_FIELDS[:3], "a match")
    rules = _read_rules(record["rules"], known_rules)
    unfinished = record.get("unfinished", False)
    if type(unfinished) is not bool:
        raise RecordError(f"unfinished is {shown(unfinished)}, it must be true or left out")
    if type(record.get("notes", {})) is not dict:
        raise RecordError(f"notes must be an object, not {_kind(record['notes'])}")
    if type(record["deals"]) is not list:
        raise RecordError(f"deals must be a list, not {_kind(record['deals'])}")
    last = len(record["deals"]) - 1
    deals = [_read_deal(deal, number, rules, unfinished and number == last) for number, deal in enumerate(record["deals"])]
    return _Record(rules, _whole(record, "pot") or 0, deals, _amounts(record, "scores", rules) or [], unfinished)


def _read_rules(header: Any, known_rules: dict[str, Ruleset]) -> Ruleset:
    if type(header) is not dict:
        raise RecordError(f"rules must be an object, not {_kind(header)}")
    try:
        text = repr(header)  # not the values themselves: 1, 1.0 and True are equal
    except (ValueError, RecursionError):
        text = ""  # nothing that makes a rule set
    rules = known_rules.get(text)
    if rules is None:
        try:
            rules = Ruleset.make(header)
        except RulesetError as error:
            raise RecordError(f"rules: {error}") from None
        if len(known_rules) >= 1000:
            known_rules.clear()
        known_rules[text] = rules
    return rules


def _read_deal(deal: Any, number: int, rules: Ruleset, broken_off: bool) -> _Deal:
    if type(deal) is not dict:
        raise RecordError(f"a deal is a JSON object, not {_kind(deal)}", deal=number)
    _check_fields(deal, DEAL_FIELDS, DEAL_FIELDS[: 3 if broken_off else 5], "a deal", deal=number)
    dealer = _whole(deal, "dealer", deal=number)
    if dealer is None or not 0 <= dealer < rules.players:
        raise RecordError(f"dealer={shown(dealer)} must be a seat from 0 to {rules.players - 1}", deal=number)
    if "stock" in deal and type(deal["stock"]) is not list:
        raise RecordError(f"stock must be a list of cards, not {_kind(deal['stock'])}", deal=number)
    actions, legal = _read_actions(deal["actions"], number)
    payoffs, pot = _amounts(deal, "payoffs", rules, deal=number), _whole(deal, "pot", deal=number)
    return _Deal(dealer, deal["hands"], deal.get("stock"), actions, legal, payoffs, pot)


def _read_actions(entries: Any, deal: int) -> tuple[bytes, list[int]]:
    if type(entries) is not list:
        raise RecordError(f"actions must be a list, not {_kind(entries)}", deal=deal)
    actions, legal = bytearray(), []
    for number, entry in enumerate(entries):
        if type(entry) is not list or not 1 <= len(entry) <= 2:
            wrong = f"not {_kind(entry)}" if type(entry) is not list else f"not of {len(entry)} items"
            raise RecordError(
                f"an entry of actions is a list of the action's name and, if given, the list of what was legal, {wrong}",
                deal=deal,
                action=number,
            )
        name = entry[0]
        if type(name) is not str or name not in _ID:
            raise RecordError(_why_no_action(name), deal=deal, action=number)
        actions.append(_ID[name])
        legal.append(_NOT_GIVEN if len(entry) == 1 else _read_legal(entry[1], deal, number))
    return bytes(actions), legal


def _read_legal(names: Any, deal: int, action: int) -> int:
    """The bits of the ids of a list of legal actions."""
    if type(names) is not list:
        raise RecordError(f"what was legal must be a list of names, not {_kind(names)}", deal=deal, action=action)
    try:
        bits = sum(map(_BIT.__getitem__, names))
    except (KeyError, TypeError):
        wrong = next(name for name in names if type(name) is not str or name not in _ID)
        raise RecordError(f"in the list of what was legal, {_why_no_action(wrong)}", deal=deal, action=action) from None
    if not all(map(lt, names, names[1:])):
        wrong = next(i for i in range(1, len(names)) if names[i - 1] >= names[i])
        what = "stands twice" if names[wrong - 1] == names[wrong] else f'stands after "{names[wrong - 1]}"'
        raise RecordError(
            f'the list of what was legal must be sorted, each name once, but "{names[wrong]}" {what}', deal=deal, action=action
        )
    return bits


def _why_no_action(name: Any) -> str:
    try:
        action_id(name)
    except NotationError as error:
        return str(error)
    raise AssertionError(name)


def _check_fields(
    record: Mapping[str, Any], known: tuple[str, ...], required: tuple[str, ...], what: str, deal: int | None = None
) -> None:
    for name in record:
        if name not in known:
            raise RecordError(f"{shown(name)} is not a field of {what}: the fields are {', '.join(known)}", deal=deal)
    for name in required:
        if name not in record:
            raise RecordError(f'the field "{name}" is missing', deal=deal)


def _whole(record: Mapping[str, Any], name: str, deal: int | None = None) -> int | None:
    """The whole number of a field; None where it is left out."""
    value = record.get(name)
    if type(value) is not int and name in record:
        raise RecordError(f"{name} must be a whole number, not {_kind(value)}", deal=deal)
    return value


def _amounts(record: Mapping[str, Any], name: str, rules: Ruleset, deal: int | None = None) -> list[int] | None:
    """The whole numbers of a field, one for each seat; None where it is left out."""
    values = record.get(name)
    if name not in record:
        return None
    if type(values) is not list or len(values) != rules.players:
        wrong = f"not {_kind(values)}" if type(values) is not list else f"not of {len(values)}"
        raise RecordError(f"{name} must be a list of {rules.players} whole numbers, one for each seat, {wrong}", deal=deal)
    for seat, value in enumerate(values):
        if type(value) is not int:
            raise RecordError(f"{name}[{seat}] must be a whole number, not {_kind(value)}", deal=deal)
    return values


# Replaying.


def replay(record: Mapping[str, Any]) -> Match:
    """The match that a record tells of, every deal of it played again and verified; an unfinished one can be played on.

    Args:
        record: JSON values, as `read_records` yields them.

    Raises:
        RecordError: it is not a record.
        Disagreement: the rules forbid an action in it, or say otherwise about what was legal, who dealt, or who got what.
    """
    return _play(_read_form(record, {}), keep=True)


def _play(record: _Record, *, keep: bool) -> Match:
    """Replay and verify; with `keep` the match has its history."""
    match = Match(record.rules, seed=0)
    try:
        match.begin(dealer=record.deals[0].dealer if record.deals else 0, pot=record.pot)
    except DealError as error:
        raise RecordError(str(error)) from None
    last = len(record.deals) - 1
    for number, deal in enumerate(record.deals):
        if match.over:
            raise Disagreement(f"the match is over after deal {number - 1}, so this deal is one too many", deal=number)
        _play_deal(match, deal, number, broken_off=record.unfinished and number == last)
        if keep and match.phase == "over":
            match.history.append(FinishedDeal(match.rules, match.state.copy()))
    if match.over and record.unfinished:
        raise Disagreement(f"unfinished is true, but the match is over after deal {last}")
    if not match.over and not record.unfinished:
        played = int(match.state["played"][0])
        raise Disagreement(
            f"the match is not over after its last deal: {played} of {match.rules.deals} deals are played, "
            "and unfinished is not true",
            deal=last if last >= 0 else None,
        )
    if record.scores != match.scores:
        raise Disagreement(f"scores are {shown(record.scores)} but must be {match.scores}")
    return match


def _play_deal(match: Match, deal: _Deal, number: int, *, broken_off: bool) -> None:
    """Replay and verify one deal in a match that waits for it."""
    try:
        match.begin_deal(deal.hands, deal.stock)
    except DealError as error:
        raise RecordError(str(error), deal=number) from None
    if deal.dealer != match.dealer:
        raise Disagreement(f"dealer is {deal.dealer} but must be {match.dealer}: the deal passes to the left (C7)", deal=number)
    n = len(deal.actions)
    legal = np.zeros((n, 3), np.int64)
    done = _carry_out(match.state[0], match.rules.struct[0], np.frombuffer(deal.actions, np.uint8), legal)
    is_over = match.phase == "over"
    for action, (given, (named, cards, base)) in enumerate(zip(deal.legal, legal.tolist(), strict=True)):
        if action > done or (action == done and is_over):
            break
        if given != _NOT_GIVEN and given != (bits := named | cards << base):
            raise Disagreement(_why_other_legal(given, bits), deal=number, action=action)
    if done < n and is_over:
        raise Disagreement(
            f'the deal is over, so "{ACTION_NAMES[deal.actions[done]]}" is an action too many', deal=number, action=done
        )
    if done < n:
        raise Disagreement(match.why_illegal(deal.actions[done]) or "", deal=number, action=done)
    if not is_over and not broken_off:
        raise Disagreement(
            f"there is no such action, but the deal is not over: seat {match.seat} is to act", deal=number, action=n
        )
    if deal.payoffs is not None and not is_over:
        raise Disagreement(f"payoffs are given, but the deal is not over: seat {match.seat} is to act", deal=number)
    if deal.payoffs is not None and deal.payoffs != match.payoffs:
        raise Disagreement(f"payoffs are {shown(deal.payoffs)} but must be {match.payoffs}", deal=number)
    if deal.pot is not None and deal.pot != match.pot:
        raise Disagreement(f"pot is {shown(deal.pot)} but must be {match.pot}", deal=number)


@jit
def _carry_out(state: Any, rules: Any, actions: Any, legal: Any) -> int:
    """Carry out actions of one deal until one is illegal, draws a card that is not known, or comes after the end.

    Args:
        state, rules: as `rules.apply` takes them.
        actions: ids, uint8 of shape (n,).
        legal: int64 of shape (n, 3), filled with what `rules.legal` said before each action carried out and before the
            one that could not be.

    Returns:
        How many were carried out.
    """
    top_of_stock = rules["players"] * rules["hand_size"]
    for i in range(len(actions)):
        legal[i, 0], legal[i, 1], legal[i, 2] = core.legal(state, rules)
        action = np.int64(actions[i])
        if not core.is_legal(state, rules, action):
            return i
        if DISCARD <= action < PLAY and state["cards"][top_of_stock] == NO_CARD:
            return i
        core.apply(state, rules, action)
    return len(actions)


def _names(bits: int) -> list[str]:
    """The names of the ids in a mask, sorted by code point."""
    return sorted(name for name, bit in _BIT.items() if bits & bit)


def _why_other_legal(given: int, bits: int) -> str:
    parts = []
    for names, one, more in (
        (_names(bits & ~given), "is missing", "are missing"),
        (_names(given & ~bits), "was not legal", "were not legal"),
    ):
        if names:
            parts.append(f"{' and '.join(names)} {one if len(names) == 1 else more}")
    return f"the list of what was legal is wrong: {', '.join(parts)}"


# Writing.


def to_record(match: Match, *, notes: Mapping[str, Any] | None = None, legal: bool = False) -> dict[str, Any]:
    """The record of a match: its finished deals, and the running one, which makes it `unfinished`.

    Args:
        match: with its whole history.
        notes: an object that no rule reads: players' names, analysis, …
        legal: write the list of what was legal beside every action.

    Raises:
        RecordError: the match's history does not hold all its finished deals.
    """
    rules, running = match.rules, match.phase != "over"
    if len(match.history) != match.deal_number + (0 if running else 1):
        raise RecordError(f"the match has begun {match.deal_number + 1} deals, but its history holds {len(match.history)}")
    pot = match.pot + sum(match.scores) - (rules.players * rules.ante if running else 0) if rules.has_pot else 0
    deals = [_deal_record(deal) | {"payoffs": deal.payoffs, "pot": deal.pot} for deal in match.history]
    if running:
        deals.append(_deal_record(FinishedDeal(rules, match.state)))
    record: dict[str, Any] = {"rules": rules.header}
    if pot:
        record["pot"] = pot
    record |= {"deals": deals, "scores": match.scores}
    if not match.over:
        record["unfinished"] = True
    if notes is not None:
        record["notes"] = dict(notes)
    if legal:
        _add_legal(record)
    return record


def _deal_record(deal: FinishedDeal) -> dict[str, Any]:
    """The dealer, the cards and the actions of a deal."""
    made: dict[str, Any] = {"dealer": deal.dealer, "hands": [deal.dealt(seat) for seat in range(deal.rules.players)]}
    if deal.stock:
        made["stock"] = deal.stock
    made["actions"] = [[name] for _, name in deal.log]
    return made


def _add_legal(record: dict[str, Any]) -> None:
    """Write the list of what was legal beside every action of a good record."""
    read = _read_form(record, {})
    match = Match(read.rules, seed=0)
    match.begin(dealer=read.deals[0].dealer if read.deals else 0, pot=read.pot)
    for deal, written in zip(read.deals, record["deals"], strict=True):
        match.begin_deal(deal.hands, deal.stock)
        legal = np.zeros((len(deal.actions), 3), np.int64)
        _carry_out(match.state[0], match.rules.struct[0], np.frombuffer(deal.actions, np.uint8), legal)
        for entry, (named, cards, base) in zip(written["actions"], legal.tolist(), strict=True):
            entry.append(_names(named | cards << base))


def write_records(path: str | os.PathLike[str], matches: Iterable[Match | Mapping[str, Any]]) -> int:
    """Write matches or records to a file, one a line; each is verified as `check` would before it is written.

    The file appears, or replaces the one there was, when all are written and not before. A path that is not a regular
    file (a pipe, a device) is written to directly; "-" is standard output.

    Returns:
        How many were written.

    Raises:
        RecordError, Disagreement: one of them is no good record; names the line that it would have been.
        OSError: the file cannot be written.
    """
    reader, known_rules, line = _JsonReader(), {}, 0
    with _created(path) as file:
        for match in matches:
            line += 1
            with _placed(path, line):
                text = _json_line(to_record(match) if isinstance(match, Match) else match)
                _play(_read_form(reader.record(text), known_rules), keep=False)
            file.write(text + b"\n")
        file.flush()
    return line


def _json_line(record: Mapping[str, Any]) -> bytes:
    """A record as one line of JSON without its end."""
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"the record cannot be written as JSON: {shown(str(error))[1:-1]}") from None
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair in a note
        return json.dumps(record, separators=(",", ":")).encode()


@contextmanager
def _created(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to that takes its place when the block ends well."""
    if path == "-":
        yield sys.stdout.buffer
        return
    target = os.path.realpath(path)
    mode = os.stat(target).st_mode if os.path.exists(target) else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as file:
            yield file
        return
    draft = f"{target}.{token_hex(4)}.part"
    try:
        with open(draft, "xb") as file:
            yield file
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(draft, stat.S_IMODE(mode))
        os.replace(draft, target)
    except BaseException:
        if os.path.exists(draft):
            os.unlink(draft)
        raise


# Checking files.


@dataclass
class Report:
    """What `check` found; the counts are of the records that agree."""

    matches: int = 0
    deals: int = 0
    actions: int = 0
    problems: int = 0
    """How many records, or files that cannot be opened, have a problem."""
    first: PlacedError | None = field(default=None)
    first_unreadable: RecordError | None = field(default=None)

    @property
    def exit_code(self) -> int:
        """0 where all agree, 1 where a record disagrees with the rules, 2 where something cannot be read as a record."""
        return 2 if self.first_unreadable else 1 if self.first else 0

    def add(self, problem: PlacedError) -> None:
        """Count a problem."""
        self.problems += 1
        self.first = self.first or problem
        if isinstance(problem, RecordError):
            self.first_unreadable = self.first_unreadable or problem


def check(*paths: str | os.PathLike[str]) -> Report:
    """Verify every record of files, to their ends, whatever is found on the way. Memory does not grow with the files."""
    report, reader, known_rules = Report(), _JsonReader(), {}
    for path in paths:
        try:
            for line, text in _lines(path):
                try:
                    with _placed(path, line):
                        record = _read_form(reader.record(text), known_rules)
                        _play(record, keep=False)
                except PlacedError as problem:
                    report.add(problem)
                else:
                    report.matches += 1
                    report.deals += len(record.deals)
                    report.actions += sum(len(deal.actions) for deal in record.deals)
        except RecordError as error:  # of the file, not of a line
            report.add(error)
    return report
