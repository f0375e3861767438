"""Match records: what is read, what is refused and where, replaying and writing (RULES.md §8)."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from example import EXAMPLE as RUSSIAN
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_rules import random_rules
from reference import check_record

from napoleon_env import record as records
from napoleon_env.match import Match
from napoleon_env.notation import ACTION_NAMES, CARDS
from napoleon_env.record import Disagreement, RecordError, check, read_record, read_records, replay, to_record, write_records
from napoleon_env.ruleset import PRESETS

CASES = sorted((Path(__file__).parent.parent / "seeds" / "cases").glob("*.jsonl"))
FUZZ = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))

TWO_DEALS: dict[str, Any] = {  # two cards each, so a bid of 2 is Napoleon and pays 2 * 2
    "rules": {"preset": "german", "players": 2, "hand_size": 2, "deals": 2},
    "deals": [
        {
            "dealer": 1,
            "hands": [["AS", "KS"], ["2H", "3H"]],
            "actions": [
                ["bid 2", ["bid 2", "pass"]],
                ["AS", ["AS", "KS"]],
                ["2H", ["2H", "3H"]],
                ["KS", ["KS"]],
                ["3H", ["3H"]],
            ],
            "payoffs": [4, -4],
            "pot": 0,
        },
        {"dealer": 0, "hands": [["2C", "3C"], ["4C", "5C"]], "actions": [["pass"], ["pass"]], "payoffs": [0, 0], "pot": 0},
        {
            "dealer": 1,
            "hands": [["2C", "9D"], ["4C", "5C"]],
            "actions": [["bid 2"], ["2C"], ["5C"], ["4C"], ["9D"]],
            "payoffs": [-4, 4],
            "pot": 0,
        },
    ],
    "scores": [0, 0],
}

GONE = object()
"""In place of a new value: the old one is taken out."""
Path_ = tuple[str | int, ...]


def edited(record: dict[str, Any], *edits: tuple[Path_, Any]) -> dict[str, Any]:
    """A copy of a record with some values changed, added (a new key; the place after a list's last) or taken out."""
    changed = copy.deepcopy(record)
    for (*way, last), value in edits:
        inner: Any = changed
        for key in way:
            inner = inner[key]
        if value is GONE:
            del inner[last]
        elif isinstance(inner, list) and last == len(inner):
            inner.append(value)
        else:
            inner[last] = value
    return changed


def line_of(record: Any) -> bytes:
    return json.dumps(record).encode()


def problem_of(tmp_path: Path, content: bytes) -> records.PlacedError:
    """The one problem that a file has."""
    file = tmp_path / "match.jsonl"
    file.write_bytes(content)
    report = check(file)
    assert report.first is not None
    assert report.first.path == str(file)
    return report.first


D, A = ("deals", 0), ("deals", 0, "actions")

# Values that make the Russian example no record: (path, value, deal, action, what the sentence names).
UNREADABLE: list[tuple[Path_, Any, int | None, int | None, str]] = [
    # The match.
    (("rules",), GONE, None, None, '"rules" is missing'),
    (("deals",), GONE, None, None, '"deals" is missing'),
    (("scores",), GONE, None, None, '"scores" is missing'),
    (("winner",), 0, None, None, "'winner' is not a field"),
    (("Pot",), 0, None, None, "'Pot' is not a field"),
    (("\ud800",), 0, None, None, "'\\ud800' is not a field"),
    (("deals",), {}, None, None, "deals must be a list"),
    (("deals",), None, None, None, "deals must be a list"),
    (("scores",), {}, None, None, "scores must be"),
    (("scores",), [4], None, None, "scores must be"),
    (("scores",), [4, -8, 0], None, None, "scores must be"),
    (("scores", 1), -8.0, None, None, "scores[1] must be a whole number"),
    (("scores", 0), True, None, None, "scores[0] must be a whole number"),
    (("scores", 0), "4", None, None, "scores[0] must be a whole number"),
    (("scores", 0), None, None, None, "scores[0] must be a whole number"),
    (("pot",), -1, None, None, "pot=-1"),
    (("pot",), 1.0, None, None, "pot must be a whole number"),
    (("pot",), False, None, None, "pot must be a whole number"),
    (("pot",), None, None, None, "pot must be a whole number"),
    (("pot",), 10**15 + 1, None, None, "pot=1000000000000001"),
    (("pot",), 10**400, None, None, "pot=1000"),
    (("unfinished",), 1, None, None, "unfinished is 1"),
    (("unfinished",), "true", None, None, "unfinished is 'true'"),
    (("unfinished",), None, None, None, "unfinished is None"),
    (("notes",), "a note", None, None, "notes must be an object"),
    (("notes",), [], None, None, "notes must be an object"),
    (("notes",), None, None, None, "notes must be an object"),
    # The rules.
    (("rules",), "russian", None, None, "rules must be an object"),
    (("rules",), [], None, None, "rules must be an object"),
    (("rules", "preset"), GONE, None, None, '"preset"'),
    (("rules", "preset"), "french", None, None, "preset 'french'"),
    (("rules", "preset"), "Russian", None, None, "preset 'Russian'"),
    (("rules", "preset"), None, None, None, "preset None"),
    (("rules", "preset"), ["russian"], None, None, "preset ['russian']"),
    (("rules", "preset"), {"preset": "russian"}, None, None, "preset {"),
    (("rules", "seats"), 2, None, None, "'seats' is not a field"),
    (("rules", "rules"), "russian", None, None, "'rules' is not a field"),
    (("rules", "players"), 1, None, None, "players=1"),
    (("rules", "players"), 7, None, None, "players=7"),
    (("rules", "players"), 2.0, None, None, "players=2.0"),
    (("rules", "players"), True, None, None, "players=True"),
    (("rules", "players"), "2", None, None, "players='2'"),
    (("rules", "players"), None, None, None, "players=None"),
    (("rules", "hand_size"), 0, None, None, "hand_size=0"),
    (("rules", "hand_size"), 9, None, None, "hand_size=9"),
    (("rules", "suits"), 5, None, None, "suits=5"),
    (("rules", "suits"), 1, None, None, "suits=1"),  # 9 cards for 10 places
    (("rules", "lowest_rank"), 6, None, None, "lowest_rank=6"),
    (("rules", "lowest_rank"), "10", None, None, "lowest_rank='10'"),
    (("rules", "lowest_rank"), "", None, None, "lowest_rank=''"),
    (("rules", "auction"), "twice", None, None, "auction='twice'"),
    (("rules", "auction"), "once", None, None, "dealer_holds"),
    (("rules", "exchange"), 1, None, None, "exchange=1"),
    (("rules", "exchange"), "no", None, None, "exchange='no'"),
    (("rules", "misere"), 3, None, None, "misere=3"),
    (("rules", "misere"), [3], None, None, "misere="),
    (("rules", "misere"), [3, 3, 3], None, None, "misere="),
    (("rules", "misere"), [3, -3], None, None, "misere="),
    (("rules", "misere"), [3, 1_000_001], None, None, "misere="),
    (("rules", "misere"), [3, 3.0], None, None, "misere="),
    (("rules", "slam"), None, None, None, "slam=None"),
    (("rules", "wellington"), [10, 10], None, None, "wellington"),
    (("rules", "made"), "exactly", None, None, "stop=made"),
    (("rules", "napoleon"), "bid", None, None, "ante=1"),
    (("rules", "ante"), -1, None, None, "ante=-1"),
    (("rules", "stake"), 0, None, None, "stake=0"),
    (("rules", "deals"), 0, None, None, "deals=0"),
    (("rules", "deals"), 1e3, None, None, "deals=1000.0"),
    (("rules", "min_bid"), 6, None, None, "min_bid=6"),
    (("rules", "payment"), "points_only", None, None, "points_only"),
    # The deal.
    (D, None, 0, None, "a deal is a JSON object"),
    (D, [], 0, None, "a deal is a JSON object"),
    (("deals", 1), 7, 1, None, "a deal is a JSON object"),
    ((*D, "dealer"), GONE, 0, None, '"dealer" is missing'),
    ((*D, "hands"), GONE, 0, None, '"hands" is missing'),
    ((*D, "actions"), GONE, 0, None, '"actions" is missing'),
    ((*D, "payoffs"), GONE, 0, None, '"payoffs" is missing'),
    ((*D, "pot"), GONE, 0, None, '"pot" is missing'),
    ((*D, "trump"), "H", 0, None, "'trump' is not a field"),
    ((*D, "unfinished"), True, 0, None, "'unfinished' is not a field"),
    ((*D, "dealer"), 2, 0, None, "dealer=2"),
    ((*D, "dealer"), -1, 0, None, "dealer=-1"),
    ((*D, "dealer"), 1.0, 0, None, "dealer must be a whole number"),
    ((*D, "dealer"), True, 0, None, "dealer must be a whole number"),
    ((*D, "dealer"), "1", 0, None, "dealer must be a whole number"),
    ((*D, "dealer"), None, 0, None, "dealer must be a whole number"),
    ((*D, "dealer"), 10**400, 0, None, "dealer=1000"),
    ((*D, "pot"), 4.0, 0, None, "pot must be a whole number"),
    ((*D, "pot"), None, 0, None, "pot must be a whole number"),
    ((*D, "payoffs"), None, 0, None, "payoffs must be"),
    ((*D, "payoffs"), [4], 0, None, "payoffs must be"),
    ((*D, "payoffs", 2), 0, 0, None, "payoffs must be"),
    ((*D, "payoffs", 0), 4.0, 0, None, "payoffs[0] must be a whole number"),
    ((*D, "payoffs", 1), "-8", 0, None, "payoffs[1] must be a whole number"),
    # The cards.
    ((*D, "hands"), None, 0, None, "hands must be a list of 2 hands"),
    ((*D, "hands"), {"0": [], "1": []}, 0, None, "hands must be a list of 2 hands"),
    ((*D, "hands", 1), GONE, 0, None, "hands must be a list of 2 hands"),
    ((*D, "hands", 2), ["7C", "8C", "9C", "TC", "KC"], 0, None, "hands must be a list of 2 hands"),
    ((*D, "hands", 0), "6D 6S JD 7D JC", 0, None, "hands[0] must be a list of 5 cards"),
    ((*D, "hands", 1, 4), GONE, 0, None, "hands[1] must be a list of 5 cards"),
    ((*D, "hands", 1, 5), "7C", 0, None, "hands[1] must be a list of 5 cards"),
    ((*D, "hands", 0, 2), "10D", 0, None, "hands[0][2]: '10D'"),
    ((*D, "hands", 0, 2), "DJ", 0, None, "hands[0][2]: 'DJ'"),
    ((*D, "hands", 0, 2), "jd", 0, None, "hands[0][2]: 'jd'"),
    ((*D, "hands", 0, 2), "J♦", 0, None, "hands[0][2]: 'J\\u2666'"),
    ((*D, "hands", 0, 2), "\ud800", 0, None, "hands[0][2]: '\\ud800'"),
    ((*D, "hands", 0, 2), 5, 0, None, "hands[0][2]: 5"),
    ((*D, "hands", 0, 2), None, 0, None, "hands[0][2]: None"),
    ((*D, "hands", 0, 2), ["JD"], 0, None, "hands[0][2]: ['JD']"),
    ((*D, "hands", 0, 2), "5D", 0, None, "hands[0][2]: 5D is not in the pack"),
    ((*D, "hands", 0, 2), "6D", 0, None, "hands[0][2]: 6D is dealt twice"),
    ((*D, "hands", 1, 0), "6D", 0, None, "hands[1][0]: 6D is dealt twice"),
    ((*D, "stock"), None, 0, None, "stock must be a list"),
    ((*D, "stock"), "9D", 0, None, "stock must be a list"),
    ((*D, "stock", 0), "XX", 0, None, "stock[0]: 'XX'"),
    ((*D, "stock", 1), "9D", 0, None, "stock[1]: 9D is dealt twice"),
    ((*D, "stock", 1), "6S", 0, None, "stock[1]: 6S is dealt twice"),
    ((*D, "stock", 1), "2C", 0, None, "stock[1]: 2C is not in the pack"),
    ((*D, "stock"), ["9D"] * 27, 0, None, "stock must be a list of at most 26"),
    # The actions.
    (A, None, 0, None, "actions must be a list"),
    (A, {"0": ["bid 1"]}, 0, None, "actions must be a list"),
    ((*A, 0), "bid 1", 0, 0, "an entry of actions"),
    ((*A, 0), [], 0, 0, "an entry of actions"),
    ((*A, 0), ["bid 1", ["bid 1"], 0], 0, 0, "an entry of actions"),
    ((*A, 14), None, 0, 14, "an entry of actions"),
    ((*A, 1), ["bid 9"], 0, 1, "'bid 9' is not an action"),
    ((*A, 1), ["bid"], 0, 1, "'bid' is not an action"),
    ((*A, 1), ["Bid 5"], 0, 1, "'Bid 5' is not an action"),
    ((*A, 1), ["bid 5 "], 0, 1, "'bid 5 ' is not an action"),
    ((*A, 1), [72], 0, 1, "72 is not an action"),
    ((*A, 1), [None], 0, 1, "None is not an action"),
    ((*A, 1), [["bid 5"]], 0, 1, "['bid 5'] is not an action"),
    ((*A, 1), [{}], 0, 1, "{} is not an action"),
    ((*A, 5), ["play AH"], 0, 5, "'play AH' is not an action"),
    ((*A, 4), ["discard"], 0, 4, "'discard' is not an action"),
    ((*A, 3), ["napoleon", None], 0, 3, "what was legal must be a list"),
    ((*A, 3), ["napoleon", "napoleon"], 0, 3, "what was legal must be a list"),
    ((*A, 3), ["napoleon", ["napoleon", "nap"]], 0, 3, "'nap' is not an action"),
    ((*A, 3), ["napoleon", ["napoleon", 18]], 0, 3, "18 is not an action"),
    ((*A, 3), ["napoleon", ["napoleon", []]], 0, 3, "[] is not an action"),
    ((*A, 3), ["napoleon", ["no napoleon", "napoleon"]], 0, 3, 'must be sorted, each name once, but "napoleon" stands after'),
    ((*A, 3), ["napoleon", ["napoleon", "napoleon"]], 0, 3, '"napoleon" stands twice'),
]

# Lines that are no record, whatever they mean: (bytes, line, deal, action, what the sentence names).
GOOD = line_of(RUSSIAN)
BAD_TEXT: list[tuple[bytes, int, int | None, int | None, str]] = [
    (b"", 1, None, None, "empty"),
    (b"\n", 1, None, None, "blank"),
    (b" \t\r\n", 1, None, None, "blank"),
    (GOOD + b"\n\n" + GOOD, 2, None, None, "blank"),
    (GOOD + b"\n\n", 2, None, None, "blank"),
    (GOOD + b"\r\n\r\n", 2, None, None, "blank"),
    (b"\xef\xbb\xbf" + GOOD, 1, None, None, "byte-order mark"),
    (GOOD + b"\n\xef\xbb\xbf" + GOOD, 2, None, None, "byte-order mark"),
    (GOOD.decode().encode("utf-16"), 1, None, None, "byte 1 of the line is not UTF-8"),
    (GOOD.decode().encode("utf-16-le"), 1, None, None, "broken JSON at character 2"),
    (GOOD[:-1] + b', "notes": {"by": "J\xfcrgen"}}', 1, None, None, "is not UTF-8"),
    (GOOD[:-1] + b', "notes": {"by": "\xed\xa0\x80"}}', 1, None, None, "is not UTF-8"),  # half a surrogate pair
    (GOOD[:-1], 1, None, None, f"broken JSON at character {len(GOOD)}"),
    (GOOD + b"\n" + GOOD[:100], 2, None, None, "broken JSON"),
    (GOOD + GOOD, 1, None, None, f"broken JSON at character {len(GOOD) + 1}: extra data"),
    (GOOD + b"\r" + GOOD, 1, None, None, "extra data"),
    (GOOD + b"\0", 1, None, None, "broken JSON"),
    (GOOD.replace(b'"', b"'"), 1, None, None, "broken JSON at character 2"),
    (b"[" + GOOD + b"]", 1, None, None, "not a list"),
    (b"null", 1, None, None, "not null"),
    (b"12", 1, None, None, "not a whole number"),
    (b'"' + b"x" * 100 + b'"', 1, None, None, "not a text"),
    (b"{}", 1, None, None, '"rules" is missing'),
    (b"[" * 100_000, 1, None, None, "nested too deep"),
    (GOOD[:-1] + b', "notes": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, 1, None, None, "nested too deep"),
    (GOOD.replace(b'"scores"', b'"scores": [4, -8], "scores"'), 1, None, None, "'scores' stands twice"),
    (GOOD.replace(b'"players": 2', b'"players": 2, "players": 2'), 1, None, None, "'players' stands twice in rules"),
    (GOOD.replace(b'"dealer": 1', b'"dealer": 0, "dealer": 1'), 1, 0, None, "'dealer' stands twice"),
    (GOOD.replace(b'"pot": 4', b'"pot": 4, "p\\u006ft": 4'), 1, 0, None, "'pot' stands twice"),
    (GOOD[:-1] + b', "notes": {"a": [0, {"b": 1, "b": 1}]}}', 1, None, None, "'b' stands twice in notes.a[1]"),
    (GOOD[:-1] + b', "notes": {"a b": {"x": NaN}}}', 1, None, None, "notes.'a b'.x is NaN"),
    (GOOD[:-1] + b', "notes": {"value": -Infinity}}', 1, None, None, "notes.value is -Infinity"),
    (GOOD[:-1] + b', "notes": {"value": 1e999}}', 1, None, None, "notes.value is 1e999, which is too large"),
    (GOOD.replace(b'"pot": 4', b'"pot": NaN'), 1, 0, None, "pot is NaN"),
    (GOOD.replace(b'"payoffs": [4, -8]', b'"payoffs": [4, Infinity]'), 1, 0, None, "payoffs[1] is Infinity"),
    (GOOD.replace(b'["stand"]', b"[NaN]"), 1, 0, 4, "the entry[0] is NaN"),
    (b"NaN", 1, None, None, "the record is NaN"),
    (GOOD.replace(b'"pot": 4', b'"pot": ' + b"9" * 5000), 1, 0, None, "pot is a number of 5000 digits"),
    (GOOD.replace(b'"players": 2', b'"players": -' + b"9" * 5000), 1, None, None, "rules.players is a number of 5000 digits"),
    (GOOD.replace(b'"pot": 4', b'"pot": 04'), 1, None, None, "broken JSON"),
    (GOOD.replace(b'"pot": 4', b'"pot": +4'), 1, None, None, "broken JSON"),
    (GOOD.replace(b'"pot": 4', b'"pot": \xd9\xa4'), 1, None, None, "broken JSON"),  # an Arabic 4
    (GOOD.replace(b"}], ", b"}],, "), 1, None, None, "broken JSON"),
    (GOOD.replace(b'"stand"', b'"sta\nnd"'), 1, None, None, "broken JSON"),
    (GOOD.replace(b'"stand"', b'"sta\tnd"'), 1, None, None, "broken JSON"),
]

# Records that can be read and are not so: (record, edits, deal, action, what the sentence names).
NOT_SO: list[tuple[dict[str, Any], list[tuple[Path_, Any]], int | None, int | None, str]] = [
    (RUSSIAN, [((*A, 1), ["bid 1"])], 0, 1, "bid 1 stands and a bid must be higher (G2, P2, R3, E2)"),
    (RUSSIAN, [((*A, 1), ["hold"])], 0, 1, "only the dealer may hold"),
    (RUSSIAN, [((*A, 0), ["bid 6"])], 0, 0, "bids run from 1 to 5"),
    (RUSSIAN, [((*A, 0), ["misere"])], 0, 0, "misere is off"),
    (RUSSIAN, [((*A, 3), ["stand"])], 0, 3, "seat 1 may not stand"),
    (RUSSIAN, [((*A, 4), ["discard 6D"])], 0, 4, "seat 1 may not discard 6D: does not hold it"),
    (RUSSIAN, [((*A, 4), ["trump H"])], 0, 4, "seat 1 may not say trump H"),
    (RUSSIAN, [((*A, 5), ["discard AH"])], 0, 5, "seat 1 may not discard AH"),
    (RUSSIAN, [((*A, 5), ["AS"])], 0, 5, "seat 1 may not play AS: does not hold it"),
    (RUSSIAN, [((*A, 8), ["JC"])], 0, 8, "holds spades and spades were led (C5)"),
    (RUSSIAN, [((*A, 5), GONE)], 0, 5, "seat 1 may not play 6D"),
    (RUSSIAN, [((*A, 15), ["JC"])], 0, 15, 'the deal is over, so "JC" is an action too many'),
    (RUSSIAN, [((*A, 14), GONE)], 0, 14, "the deal is not over: seat 0 is to act"),
    (RUSSIAN, [(A, [])], 0, 0, "the deal is not over: seat 1 is to act"),
    (RUSSIAN, [((*A, 3, 1), ["napoleon"])], 0, 3, "no napoleon is missing"),
    (RUSSIAN, [((*A, 3, 1), ["napoleon", "no napoleon", "stand"])], 0, 3, "stand was not legal"),
    (RUSSIAN, [((*A, 3, 1), [])], 0, 3, "napoleon and no napoleon are missing"),
    (RUSSIAN, [((*A, 8, 1), ["6S", "JC"])], 0, 8, "JC was not legal"),
    (RUSSIAN, [((*D, "payoffs"), [5, -8])], 0, None, "payoffs are [5, -8] but must be [4, -8]"),
    (RUSSIAN, [((*D, "payoffs"), [10**400, -8])], 0, None, "but must be [4, -8]"),
    (RUSSIAN, [((*D, "pot"), 2)], 0, None, "pot is 2 but must be 4"),
    (RUSSIAN, [((*D, "pot"), -(10**400))], 0, None, "but must be 4"),
    (RUSSIAN, [(("scores",), [4, -7])], None, None, "scores are [4, -7] but must be [4, -8]"),
    (RUSSIAN, [(("pot",), 1)], 0, None, "payoffs are [4, -8] but must be [4, -9]"),  # a pot of 3 doubles
    (RUSSIAN, [(("deals",), [])], None, None, "0 of 1 deals are played"),
    (RUSSIAN, [(("rules", "deals"), 2)], 0, None, "1 of 2 deals are played"),
    (RUSSIAN, [(("deals", 1), RUSSIAN["deals"][0])], 1, None, "the match is over after deal 0"),
    (RUSSIAN, [(("unfinished",), True)], None, None, "unfinished is true, but the match is over"),
    (RUSSIAN, [((*D, "stock"), []), ((*A, 4), ["discard 6C"])], 0, 4, "no card to draw is listed in the stock"),
    (RUSSIAN, [((*D, "stock"), GONE), ((*A, 4), ["discard 6C"])], 0, 4, "no card to draw is listed in the stock"),
    (RUSSIAN, [((*D, "dealer"), 0)], 0, 5, "seat 0 may not play AH: does not hold it"),
    (TWO_DEALS, [(("deals", 1, "dealer"), 1)], 1, None, "dealer is 1 but must be 0: the deal passes to the left (C7)"),
    (TWO_DEALS, [(("deals", 2, "actions", 2), ["9D"])], 2, 2, "seat 1 may not play 9D: does not hold it"),
    (TWO_DEALS, [(("deals", 0, "actions", 1, 1), ["2H", "AS", "KS"])], 0, 1, "2H was not legal"),
    (TWO_DEALS, [(("deals", 1, "payoffs"), [1, -1])], 1, None, "payoffs are [1, -1] but must be [0, 0]"),
    (TWO_DEALS, [(("deals", 0, "pot"), 1)], 0, None, "pot is 1 but must be 0"),
    (TWO_DEALS, [(("deals", 2), GONE)], 1, None, "1 of 2 deals are played"),
    (TWO_DEALS, [(("rules", "max_void_deals"), 1)], 2, None, "the match is over after deal 1"),
    (TWO_DEALS, [(("deals", 1, "actions", 1), GONE)], 1, 1, "the deal is not over: seat 0 is to act"),
    (TWO_DEALS, [(("unfinished",), True), (("deals", 2, "actions", 4), GONE)], 2, None, "payoffs are given"),
    (TWO_DEALS, [(("unfinished",), True), (("deals", 1, "actions", 1), GONE)], 1, 1, "the deal is not over"),
]


@pytest.mark.parametrize(("path", "value", "deal", "action", "says"), UNREADABLE)
def test_what_no_record_may_hold_is_refused_with_its_place(
    tmp_path: Path, path: Path_, value: Any, deal: int | None, action: int | None, says: str
) -> None:
    error = problem_of(tmp_path, GOOD + b"\n" + line_of(edited(RUSSIAN, (path, value))))
    assert isinstance(error, RecordError), error
    assert (error.line, error.deal, error.action) == (2, deal, action)
    assert says in str(error)


@pytest.mark.parametrize(("content", "line", "deal", "action", "says"), BAD_TEXT)
def test_text_that_is_no_record_is_refused_with_its_place(
    tmp_path: Path, content: bytes, line: int, deal: int | None, action: int | None, says: str
) -> None:
    error = problem_of(tmp_path, content)
    assert isinstance(error, RecordError), error
    assert (error.line, error.deal, error.action) == (line, deal, action)
    assert says in str(error)


@pytest.mark.parametrize(("record", "edits", "deal", "action", "says"), NOT_SO)
def test_what_the_rules_do_not_allow_is_a_disagreement_with_its_place(
    tmp_path: Path, record: dict[str, Any], edits: list[tuple[Path_, Any]], deal: int | None, action: int | None, says: str
) -> None:
    error = problem_of(tmp_path, line_of(edited(record, *edits)))
    assert isinstance(error, Disagreement), error
    assert (error.line, error.deal, error.action) == (1, deal, action)
    assert says in str(error)


def test_every_problem_is_one_line_that_begins_with_its_place(tmp_path: Path) -> None:
    contents = [line_of(edited(RUSSIAN, (path, value))) for path, value, *_ in UNREADABLE]
    contents += [content for content, *_ in BAD_TEXT] + [line_of(edited(record, *edits)) for record, edits, *_ in NOT_SO]
    for content in contents:
        text = str(problem_of(tmp_path, content))
        assert text.isprintable(), text
        assert text.startswith(f"{tmp_path}/match.jsonl: line "), text
        assert len(text) < 500, text


GOOD_RECORDS: dict[str, dict[str, Any]] = {
    "the example of RULES.md": RUSSIAN,
    "three deals, one of them void": TWO_DEALS,
    "no stock, and nothing drawn": edited(RUSSIAN, ((*D, "stock"), GONE)),
    "a pot before the first deal": edited(  # 3 + 2 in antes: 5 more into the pot, and 5 to the defender
        RUSSIAN, (("pot",), 3), ((*D, "payoffs"), [4, -11]), ((*D, "pot"), 10), (("scores",), [4, -11])
    ),
    "notes of any kind": edited(
        RUSSIAN, (("notes",), {"players": ["Zoë", "\ud800"], "p": [0.25, None, {"a": -0.0}], "": 10**4000})
    ),
    "unfinished is false": edited(RUSSIAN, (("unfinished",), False)),
    "all fields of the rules": edited(
        RUSSIAN, (("rules",), {"preset": "russian", **json.loads(json.dumps(vars(PRESETS["russian"]))), "players": 2})
    ),
    "broken off before the first deal": {"rules": {"preset": "german"}, "deals": [], "scores": [0] * 4, "unfinished": True},
    "broken off between deals": edited(TWO_DEALS, (("deals", 2), GONE), (("scores",), [4, -4]), (("unfinished",), True)),
    "broken off between deals, the last without its amounts": edited(
        TWO_DEALS,
        (("deals", 2), GONE),
        (("deals", 1, "payoffs"), GONE),
        (("deals", 1, "pot"), GONE),
        (("scores",), [4, -4]),
        (("unfinished",), True),
    ),
    "broken off before the first call": edited(
        RUSSIAN, (A, []), ((*D, "payoffs"), GONE), ((*D, "pot"), GONE), (("scores",), [0, 0]), (("unfinished",), True)
    ),
    "broken off in a trick, the pot with its antes given": edited(
        RUSSIAN, ((*A, 14), GONE), ((*D, "payoffs"), GONE), ((*D, "pot"), 2), (("scores",), [0, 0]), (("unfinished",), True)
    ),
}


@pytest.mark.parametrize("name", GOOD_RECORDS)
def test_good_records_agree_and_come_back_unchanged(tmp_path: Path, name: str) -> None:
    record, file = GOOD_RECORDS[name], tmp_path / "match.jsonl"
    assert write_records(file, [record]) == 1
    assert list(read_records(file)) == [(1, record)]
    report = check(file)
    assert (report.exit_code, report.matches, report.first) == (0, 1, None)
    assert report.deals == len(record["deals"])
    assert report.actions == sum(len(deal["actions"]) for deal in record["deals"])
    assert to_record(replay(record))["scores"] == record["scores"]


@pytest.mark.parametrize(
    "content", [GOOD + b"\n" + GOOD, GOOD + b"\r\n" + GOOD + b"\r\n", b" " + GOOD + b" \n\t" + GOOD + b"\n"]
)
def test_line_ends_and_blanks_around_a_record_do_not_matter(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "match.jsonl"
    file.write_bytes(content)
    report = check(str(file))
    assert (report.matches, report.problems) == (2, 0)


def test_the_cases_of_the_seeds_agree() -> None:
    assert CASES
    report = check(*CASES)
    assert report.first is None, report.first
    for file in CASES:
        for line, record in read_records(file):
            played = replay(record)
            with_legal = any(len(action) > 1 for deal in record["deals"] for action in deal["actions"])
            again = to_record(played, notes=record.get("notes"), legal=with_legal)
            same = {name: value for name, value in again.items() if name not in ("rules", "deals")}
            assert same == {name: value for name, value in record.items() if name not in ("rules", "deals")}, (file, line)
            for deal, written in zip(record["deals"], again["deals"], strict=True):
                if with_legal and all(len(action) > 1 for action in deal["actions"]):
                    assert written["actions"] == deal["actions"], (file, line)


def test_replay_gives_the_match_with_its_history_and_scores() -> None:
    match = replay(TWO_DEALS)
    assert match.over
    assert match.scores == [0, 0]
    assert match.winners == [0, 1]
    assert [deal.payoffs for deal in match.history] == [[4, -4], [0, 0], [-4, 4]]
    assert [deal.void for deal in match.history] == [False, True, False]
    assert match.history[0].tricks == [[(0, "AS"), (1, "2H")], [(0, "KS"), (1, "3H")]]


def test_an_unfinished_match_can_be_played_on() -> None:
    match = replay(GOOD_RECORDS["broken off in a trick, the pot with its antes given"])
    assert match.seat == 0
    ended = match.play("JC")
    assert ended is not None
    assert ended.payoffs == [4, -8]
    assert to_record(match) == RUSSIAN


def test_replay_names_no_line() -> None:
    with pytest.raises(Disagreement, match=r"^deal 0, action 1: seat 0 may not say bid 1: bid 1 stands"):
        replay(edited(RUSSIAN, ((*A, 1), ["bid 1"])))
    with pytest.raises(RecordError, match=r"^a record is a JSON object, not a list$"):
        replay([])  # what is wrong is the point


def test_a_problem_survives_pickling() -> None:
    with pytest.raises(Disagreement) as caught:
        replay(edited(RUSSIAN, ((*A, 1), ["bid 1"])))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.deal, again.action) == (str(caught.value), 0, 1)


# Files.


def test_check_looks_at_every_line_of_every_file(tmp_path: Path) -> None:
    wrong = line_of(edited(RUSSIAN, (("scores",), [0, 0])))
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_bytes(b"\n".join([GOOD, wrong, GOOD]))
    second.write_bytes(b"\n".join([GOOD, b"{", wrong]))
    report = check(first, tmp_path / "none.jsonl", second)
    assert (report.exit_code, report.matches, report.problems) == (2, 3, 4)
    assert str(report.first).startswith(f"{first}: line 2: scores are [0, 0]")
    assert str(report.first_unreadable).startswith(f"{tmp_path}/none.jsonl: the file cannot be read: no such file")
    assert check(first).exit_code == 1
    assert check(first, first).problems == 2


@pytest.mark.parametrize("path", ["/nonexistent/file", "/", "\0", "/nonexistent/\udcff\n"])
def test_what_cannot_be_opened_is_refused_by_name(path: str) -> None:
    error = check(path).first
    assert isinstance(error, RecordError)
    assert "the file cannot be read" in str(error)
    assert str(error).isprintable()
    with pytest.raises(RecordError):
        next(read_records(path))


def test_a_file_without_end_or_line_ends_is_refused_at_once() -> None:
    error = check("/dev/zero").first
    assert isinstance(error, RecordError)
    assert (error.line, "no text" in str(error)) == (1, True)


def test_a_line_beyond_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LONGEST_LINE", 1 << 21)
    error = problem_of(tmp_path, b" " * (5 << 20))
    assert "longer than 2 MiB" in str(error)


@pytest.mark.parametrize(
    ("tail", "says"),
    [
        (b', "notes": {"x": "' + b"x" * 10_000_000 + b'"}}', None),
        (b', "notes": {"x": [' + b"0," * 5_000_000 + b"0]}}", None),
        (b', "x' + b"x" * 10_000_000 + b'": 0}', "is not a field of a match"),
        (b"}" + b" " * 10_000_000, None),
        (b"}" + b"x" * 10_000_000, "extra data"),
    ],
)
def test_a_line_of_10_megabytes_is_read_or_refused_in_a_sentence(tmp_path: Path, tail: bytes, says: str | None) -> None:
    file = tmp_path / "match.jsonl"
    file.write_bytes(GOOD + b"\n" + GOOD[:-1] + tail + b"\n" + GOOD)
    report = check(file)
    assert (report.matches, str(report.first).startswith(f"{file}: line 2: ")) == ((3, False) if says is None else (2, True))
    assert len(str(report.first)) < 500
    assert says is None or says in str(report.first)


def test_a_deal_of_100_000_actions_is_refused_where_it_should_have_ended(tmp_path: Path) -> None:
    error = problem_of(tmp_path, line_of(edited(RUSSIAN, (A, [*RUSSIAN["deals"][0]["actions"], *([["pass"]] * 100_000)]))))
    assert (error.deal, error.action) == (0, 15)


def test_read_record_takes_one_line_and_judges_no_other(tmp_path: Path) -> None:
    file = tmp_path / "match.jsonl"
    file.write_bytes(b"broken\n" + GOOD)
    assert read_record(file, 2) == RUSSIAN
    with pytest.raises(RecordError, match=r"line 1: broken JSON"):
        read_record(file, 1)
    with pytest.raises(RecordError, match=r"there is no match 3: .* from 1 to 2"):
        read_record(file, 3)


def test_records_come_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write_records, args=(pipe, [RUSSIAN, TWO_DEALS]))
    writer.start()
    assert [record for _, record in read_records(pipe)] == [RUSSIAN, TWO_DEALS]
    writer.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# Writing.


def test_a_file_is_replaced_only_when_all_is_written(tmp_path: Path) -> None:
    file = tmp_path / "match.jsonl"
    write_records(file, [RUSSIAN])
    os.chmod(file, 0o640)
    wrong = edited(TWO_DEALS, (("scores",), [1, -1]))
    with pytest.raises(Disagreement, match=r"line 2: scores are \[1, -1\] but must be \[0, 0\]"):
        write_records(file, [TWO_DEALS, wrong])
    with pytest.raises(ZeroDivisionError):
        write_records(file, (TWO_DEALS if i else 1 // i for i in (1, 0)))
    assert [record for _, record in read_records(file)] == [RUSSIAN]
    assert write_records(file, (r for r in (TWO_DEALS, RUSSIAN))) == 2
    assert [record for _, record in read_records(file)] == [TWO_DEALS, RUSSIAN]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["match.jsonl"]


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_records(tmp_path / "link", [RUSSIAN])
    assert (tmp_path / "link").is_symlink()
    assert check(tmp_path / "file").matches == 1


@pytest.mark.parametrize("note", [{"x": {1, 2}}, {"x": float("nan")}, {"x": b""}, {(1,): 2}])
def test_notes_that_are_no_json_are_refused(tmp_path: Path, note: dict[Any, Any]) -> None:
    with pytest.raises(RecordError, match=r"line 1: the record cannot be written as JSON"):
        write_records(tmp_path / "match.jsonl", [edited(RUSSIAN, (("notes",), note))])
    assert os.listdir(tmp_path) == []


def test_notes_nested_too_deep_are_refused(tmp_path: Path) -> None:
    note: dict[str, Any] = {}
    for _ in range(100_000):
        note = {"a": note}
    with pytest.raises(RecordError, match=r"line 1: the record cannot be written as JSON"):
        write_records(tmp_path / "match.jsonl", [{**RUSSIAN, "notes": note}])


def test_to_record_tells_a_pot_that_lay_there_before() -> None:
    match = Match.deal("russian", players=2, dealer=1, hands=RUSSIAN["deals"][0]["hands"], pot=3)
    assert to_record(match)["pot"] == 3
    for (name,) in RUSSIAN["deals"][0]["actions"]:
        match.play(name)
    assert to_record(match)["pot"] == 3
    assert to_record(match)["scores"] == [4, -11]


def test_to_record_refuses_a_match_whose_history_was_cut() -> None:
    match = replay(TWO_DEALS)
    del match.history[0]
    with pytest.raises(RecordError, match="the match has begun 3 deals, but its history holds 2"):
        to_record(match)


def test_random_matches_are_recorded_agree_and_come_back(tmp_path: Path) -> None:
    rng = random.Random(8)
    matches = []
    for seed in range(150):
        match = Match(random_rules(rng), seed=seed)
        stop_after = rng.choice((0, 5, 30, 400))
        for _ in range(stop_after):
            if match.over:
                break
            match.play(rng.choice(match.legal_ids()))
        matches.append(match)
    file = tmp_path / "matches.jsonl"
    assert write_records(file, matches) == len(matches)
    assert check(file).matches == len(matches)
    assert {match.over for match in matches} == {True, False}
    for (_, record), match in zip(read_records(file), matches, strict=True):
        again = replay(record)
        assert to_record(again) == to_record(match) == record
        assert to_record(again, notes={"a": 1}) == {**record, "notes": {"a": 1}}
        assert again.rules == match.rules
        assert again.state["hand"].tolist() == match.state["hand"].tolist()
        assert again.legal() == match.legal()
        with_legal = to_record(match, legal=True)
        assert check_record(with_legal) is None, json.dumps(record)
        assert to_record(replay(with_legal), legal=True) == with_legal


# Whatever a file holds, it is read or refused: no other exception, and nothing accepted that the plain reading refuses.


POOL = [RUSSIAN, TWO_DEALS, *GOOD_RECORDS.values(), *(record for file in CASES for _, record in read_records(file))]
JSON_VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, -1, 5, 10**15, 10**16, 2**63, 10**30, 0.0, 1.5, "", "pass", "bid 1", "bid 5"])
    | st.sampled_from(
        ["hold", "AS", "2C", "6C", "KH", "discard 6C", "trump C", "napoleon", "stand", "german", "\ud800", "misere"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["preset", "players", "pot", "x"]), inner, max_size=2)
    ),
    max_leaves=5,
)


def ways(value: Any, way: Path_ = ()) -> list[Path_]:
    """Every place in a JSON value."""
    found = [way] if way else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [deeper for key, child in children for deeper in ways(child, (*way, key))]


def judged(record: dict[str, Any]) -> None:
    """Replay a record and compare the verdict with that of the plain reading of the rules."""
    problem: str | None = None
    try:
        replay(record)
    except RecordError:
        return
    except Disagreement as error:
        problem = str(error)
    if not record["deals"] or "unfinished is true" in (problem or ""):  # matters of form, which the plain reading leaves alone
        return
    plain = check_record(record)
    assert (problem is None) == (plain is None), (problem, plain, json.dumps(record))


def alike(value: Any) -> st.SearchStrategy[Any]:
    """Values that could stand where this one stands."""
    if type(value) is int:
        return st.sampled_from([value - 1, value + 1, -value, value + 10**15])
    for names in (CARDS, ACTION_NAMES):
        if type(value) is str and value in names:
            return st.sampled_from(names)
    return JSON_VALUES


@settings(FUZZ, max_examples=800)
@given(st.data())
def test_a_record_with_values_changed_is_judged_as_the_plain_reading_does(data: st.DataObject) -> None:
    record = copy.deepcopy(data.draw(st.sampled_from(POOL)))
    for _ in range(data.draw(st.integers(1, 2))):
        anywhere = ways(record)
        near_play = [way for way in anywhere if way[0] == "deals" and len(way) > 2 and way[2] != "hands"]
        way = data.draw(st.sampled_from(anywhere) if not near_play else st.sampled_from(near_play) | st.sampled_from(anywhere))
        inner: Any = record
        for key in way[:-1]:
            inner = inner[key]
        kind = data.draw(st.sampled_from(["alike", "alike", "swap", "swap", "add", "remove", "replace"]))
        if kind == "remove":
            del inner[way[-1]]
        elif kind == "add" and isinstance(inner, list):
            inner.insert(data.draw(st.integers(0, len(inner))), copy.deepcopy(inner[way[-1]]))
        elif kind == "swap" and isinstance(inner, list):
            other = data.draw(st.integers(0, len(inner) - 1))
            inner[way[-1]], inner[other] = inner[other], inner[way[-1]]
        elif kind == "replace":
            inner[way[-1]] = data.draw(JSON_VALUES)
        else:
            inner[way[-1]] = data.draw(alike(inner[way[-1]]))
        if not record:
            return
    judged(record)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "match.jsonl"


PIECES = st.sampled_from(
    [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"NaN", b"1e9"]
)


@settings(FUZZ, max_examples=500)
@given(
    st.sampled_from(POOL), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), PIECES | st.binary(max_size=6)), max_size=3)
)
def test_a_file_with_bytes_changed_is_read_or_refused(
    scratch: Path, record: dict[str, Any], cuts: list[tuple[float, int, bytes]]
) -> None:
    content = line_of(record)
    for where, length, piece in cuts:
        at = int(where * len(content))
        content = content[:at] + piece + content[at + length :]
    scratch.write_bytes(content)
    report = check(scratch)
    assert report.matches + report.problems >= 1
    assert report.first is None or str(report.first).isprintable()
    try:
        found = list(read_records(scratch))
    except RecordError:
        assert report.exit_code == 2
    else:
        for _, read in found:
            judged(read)
