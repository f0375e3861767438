"""The `napoleon` command: what it prints, where, and with which exit code."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from example import EXAMPLE

from napoleon_env.__main__ import app, main
from napoleon_env.notation import VERSION
from napoleon_env.record import replay
from napoleon_env.ruleset import PRESETS
from napoleon_env.story import deal_text, match_text

ROOT = Path(__file__).parent.parent
CASES = sorted((ROOT / "seeds" / "cases").glob("*.jsonl"))

RUSSIAN: dict[str, Any] = {**EXAMPLE, "notes": {"players": ["Zoë", "Max"], "shows": "a hold\x1b[31m\ud800"}}

RUSSIAN_STORY = """\
Rules: russian, 2 players, 5 of 36 cards each, 1 deal

Deal 0: seat 1 deals, 2 in antes go to the 0 in the pot
  seat 0    ♠ 6    ♥ -    ♦ J 7 6  ♣ J
  seat 1    ♠ K J  ♥ A T  ♦ -      ♣ 6
  stock     9♦ on top
  auction   1: bid 1, 0: bid 5, 1: hold
  contract  seat 1 plays 5, announces Napoleon, stands, trump is ♥

  trick     seat 0  seat 1  declarer
  1         6♦     >A♥*     1
  2         6♠     >K♠*     2
  3         J♦     >T♥*     3
  4         7♦     >J♠*     4
  5         J♣*    >6♣      4

  result    failed: seat 1 took 4 tricks
            seat 0  seat 1
  payoffs   +4      -8
  scores    +4      -8
  pot       4

The match is over: seat 0 wins with +4."""


@pytest.fixture
def napoleon(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command; returns its exit code, what it printed, and what it said on stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        code = caught.value.code
        assert isinstance(code, int)
        said = "".join(line for line in printed.err.splitlines(keepends=True) if not line.startswith("napoleon_env: compiling"))
        return code, printed.out, said

    return run


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.jsonl"
    file.write_text(json.dumps(RUSSIAN) + "\n" + json.dumps(RUSSIAN) + "\n")
    return file


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    file = tmp_path / "wrong.jsonl"
    file.write_text(json.dumps(RUSSIAN) + "\n" + json.dumps({**RUSSIAN, "scores": [0, 0]}) + "\n")
    return file


def shell(command: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which `napoleon` is this package's command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("env", {})}
    line = f'set -o pipefail; napoleon() {{ "{sys.executable}" -m napoleon_env "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", line], capture_output=True, env=environment, timeout=60, **more)


# check


def test_check_counts_what_agrees(napoleon: Any, good: Path) -> None:
    assert napoleon("check", good) == (0, "2 matches, 2 deals, 30 actions: all agree\n", "")
    assert napoleon("check", good, good)[1] == "4 matches, 4 deals, 60 actions: all agree\n"
    assert napoleon("check", *CASES)[0] == 0


def test_check_names_the_first_disagreement_and_nothing_else_on_stdout(napoleon: Any, good: Path, wrong: Path) -> None:
    sentence = f"napoleon: {wrong}: line 2: scores are [0, 0] but must be [4, -8]\n"
    assert napoleon("check", good, wrong, good) == (1, "", sentence)


def test_check_tells_apart_what_disagrees_and_what_cannot_be_read(napoleon: Any, wrong: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b'{"rules": \n')
    code, out, err = napoleon("check", broken)
    assert (code, out) == (2, "")
    assert err.startswith(f"napoleon: {broken}: line 1: broken JSON at character ")
    code, out, err = napoleon("check", wrong, broken)
    assert (code, out) == (2, "")
    first, second, last = err.splitlines()
    assert first == f"napoleon: {wrong}: line 2: scores are [0, 0] but must be [4, -8]"
    assert second.startswith(f"napoleon: {broken}: line 1: broken JSON")
    assert last == "napoleon: 2 problems in all, and 1 matches that agree"


def test_check_of_what_is_not_there(napoleon: Any, tmp_path: Path) -> None:
    none = tmp_path / "none"
    assert napoleon("check", none) == (2, "", f"napoleon: {none}: the file cannot be read: no such file or directory\n")
    assert napoleon("check", tmp_path) == (2, "", f"napoleon: {tmp_path}: the file cannot be read: is a directory\n")


def test_check_as_json(napoleon: Any, good: Path, wrong: Path) -> None:
    code, out, _ = napoleon("check", "--json", good)
    assert (code, json.loads(out)["agree"]) == (0, True)
    assert json.loads(out)["agreeing"] == {"matches": 2, "deals": 2, "actions": 30}
    code, out, _ = napoleon("check", "--json", wrong)
    found = json.loads(out)
    assert (code, found["agree"], found["problems"], found["first_unreadable"]) == (1, False, 1, None)
    assert found["first"] == {
        "kind": "disagreement",
        "file": str(wrong),
        "line": 2,
        "deal": None,
        "action": None,
        "message": "scores are [0, 0] but must be [4, -8]",
    }


def test_check_reads_standard_input(napoleon: Any, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content, result in (
        (good.read_bytes(), (0, "2 matches, 2 deals, 30 actions: all agree\n", "")),
        (b"{}", (2, "", 'napoleon: standard input: line 1: the field "rules" is missing\n')),
        (b"", (2, "", "napoleon: standard input: line 1: the file is empty: a record of a match is one line\n")),
        (None, (2, "", "napoleon: standard input: the file cannot be read: standard input is closed\n")),
    ):
        monkeypatch.setattr(sys, "stdin", None if content is None else io.TextIOWrapper(io.BytesIO(content)))
        assert napoleon("check", "-") == result
    assert shell(f"napoleon check /dev/stdin < {good}").stdout == b"2 matches, 2 deals, 30 actions: all agree\n"


# replay


def test_replay_tells_a_match(napoleon: Any, good: Path) -> None:
    code, out, err = napoleon("replay", good, "--match", 2)
    assert (code, err) == (0, "")
    heading, players, shows, story = out.split("\n", 3)
    assert heading == f"Match 2 of {good}"
    assert players == '  players: ["Zo\\u00eb", "Max"]'
    assert shows == "  shows: a hold\\x1b[31m\\ud800"  # no escape code reaches the terminal
    assert story == RUSSIAN_STORY + "\n\n"
    assert napoleon("replay", good)[1].count(RUSSIAN_STORY) == 2


def test_replay_as_json_says_what_the_record_leaves_to_the_rules(napoleon: Any, good: Path) -> None:
    code, out, _ = napoleon("replay", good, "--match", 1, "--json")
    told = json.loads(out)
    assert (code, told["line"], told["winners"], told["over"]) == (0, 1, [0], True)
    deal = told["deals"][0]
    assert (deal["declarer"], deal["contract"], deal["trump"], deal["made"]) == (1, "bid 5", "H", False)
    assert deal["log"][:3] == [[1, "bid 1"], [0, "bid 5"], [1, "hold"]]
    assert deal["tricks"][4] == {"leader": 1, "cards": ["6C", "JC"], "winner": 0}


def test_replay_refuses_what_it_cannot_tell(napoleon: Any, wrong: Path) -> None:
    assert napoleon("replay", wrong, "--match", 2) == (
        1,
        "",
        f"napoleon: {wrong}: line 2: scores are [0, 0] but must be [4, -8]\n",
    )
    code, out, err = napoleon("replay", wrong, "--match", 3)
    assert (code, out) == (2, "")
    assert "there is no match 3" in err
    for number in ("0", "-1", "x", "1.5", "9" * 5000):
        code, out, err = napoleon("replay", wrong, "--match", number)
        assert (code, out) == (2, ""), number
        assert err.startswith("napoleon: "), number
        assert err.count("\n") == 1, number


def test_the_story_of_every_case_and_of_broken_off_matches() -> None:
    for file in CASES:
        for line in file.read_text().splitlines():
            match = replay(json.loads(line))
            text = match_text(match, symbols=False)
            assert text.isascii()
            assert max(map(len, text.splitlines())) <= 128
            assert text.count("Deal ") == len(json.loads(line)["deals"])
    actions = RUSSIAN["deals"][0]["actions"]
    for n in range(len(actions)):
        deal = {**RUSSIAN["deals"][0], "actions": actions[:n]}
        del deal["payoffs"], deal["pot"]
        match = replay({**RUSSIAN, "deals": [deal], "scores": [0, 0], "unfinished": True})
        assert deal_text(match).endswith(f"broken off, seat {match.seat} was to act")
        assert match_text(match).endswith("The match was broken off here.")


def test_a_void_deal_and_a_shared_win_are_told() -> None:
    deal = {"hands": [["AC", "2D"], ["2C", "3D"]], "actions": [["pass"], ["pass"]], "payoffs": [0, 0], "pot": 0}
    rules = {"preset": "german", "players": 2, "hand_size": 2, "max_void_deals": 2}
    match = replay({"rules": rules, "deals": [{"dealer": 0, **deal}, {"dealer": 1, **deal}], "scores": [0, 0]})
    text = match_text(match)
    assert text.startswith("Rules: german, 2 players, 2 of 52 cards each, 1 deal, max_void_deals=2\n")
    assert text.count("everyone passed: the deal is void") == 2
    assert text.endswith("The match is truncated, 2 void deals in a row: seats 0 and 1 share the win with 0.")


# rules


def test_rules_shows_every_field_of_the_four_presets(napoleon: Any) -> None:
    code, out, err = napoleon("rules")
    heading, *rows = (line.split() for line in out.splitlines())
    assert (code, err, heading) == (0, "", ["field", *PRESETS])
    assert [row[0] for row in rows] == list(PRESETS["german"].__dataclass_fields__)
    assert ["misere", "none", "none", "none", "[3,3]"] in rows
    assert ["exchange", "no", "no", "yes", "no"] in rows
    assert ["lowest_rank", "2", "2", "6", "2"] in rows


def test_rules_after_changes(napoleon: Any) -> None:
    changes = ("players=6", "misere=[3,4]", "exchange=yes", "lowest_rank=3", "stop=decided", "slam=[1, 2]")
    arguments = [word for change in changes for word in ("--set", change)]
    code, out, _ = napoleon("rules", "german", *arguments)
    rows = [line.split() for line in out.splitlines()]
    assert (code, rows[0]) == (0, ["field", "german", "changed"])
    assert ["players", "4", "6"] in rows
    assert ["misere", "none", "[3,4]"] in rows
    assert ["hand_size", "5", "5"] in rows
    changed = json.loads(napoleon("rules", "german", "--json", *arguments)[1])
    assert changed["header"] == {
        "preset": "german",
        "players": 6,
        "lowest_rank": "3",
        "misere": [3, 4],
        "exchange": True,
        "stop": "decided",
        "slam": [1, 2],
    }
    assert changed["fields"]["hand_size"] == 5
    assert json.loads(napoleon("rules", "--json")[1])["russian"]["fields"]["ante"] == 1
    assert json.loads(napoleon("rules", "english", "--json", "--set", "blucher=none")[1])["fields"]["blucher"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["french"], "preset 'french' does not exist"),
        (["german", "--set", "players=7"], "players=7 must be a whole number from 2 to 6"),
        (["german", "--set", "players=four"], "players='four'"),
        (["german", "--set", "players=1.5"], "players=1.5 must be"),
        (["german", "--set", "players=" + "9" * 5000], "players='999"),
        (["german", "--set", "players=²"], "players='\\xb2'"),
        (["german", "--set", "players"], "'players' is not field=value"),
        (["german", "--set", "=3"], "'' is not a field"),
        (["german", "--set", "seats=3"], "'seats' is not a field"),
        (["german", "--set", "rules=3"], "'rules' is not a field"),
        (["german", "--set", "preset=russian"], "preset"),
        (["german", "--set", "misere=3"], "misere=3 must be none or two whole numbers"),
        (["german", "--set", "slam=none"], "slam=None"),
        (["german", "--set", "made=exactly", "--set", "stop=made"], "stop=made does not go with made=exactly"),
        (["--set", "players=3"], "name the preset"),
    ],
)
def test_impossible_rules_are_refused_in_one_sentence(napoleon: Any, arguments: list[str], says: str) -> None:
    code, out, err = napoleon("rules", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("napoleon: ")
    assert err.count("\n") == 1
    assert says in err


# solve and analyse

HANDS = ("--hands", "AS 2S", "--hands", "KS 3H", "--set", "hand_size=2")
"""The ace draws the king and the two is the last trump: 2 tricks; the two first loses to the king: 1. The bid pays 4 (G8)."""
CONTRACT = ("--declarer", 0, "--contract", "bid 2")


def test_solve_prints_what_every_card_of_typed_hands_is_worth(napoleon: Any) -> None:
    code, out, err = napoleon("solve", *HANDS, *CONTRACT)
    assert (code, err) == (0, "")
    text, table = out.split("\n\n")
    assert text == (
        "Rules: german (players=2, hand_size=2), seat 1 deals\n  seat 0    A♠ 2♠\n  seat 1    K♠ 3♥\n"
        "  contract  seat 0 plays bid 2, has 0 tricks\n  to act    seat 0, the declarer, is asked to play a card"
    )
    assert [line.split() for line in table.splitlines()] == [
        ["choice", "payoff", "tricks", "loss"],
        ["2S", "-4", "1", "8"],
        ["AS", "+4", "2", "best"],
    ]


def test_solve_as_json(napoleon: Any) -> None:
    code, out, _ = napoleon("solve", *HANDS, *CONTRACT, "--then", "2S, KS, 3H", "--json")
    told = json.loads(out)
    assert (code, told["seat"], told["phase"], told["trump"], told["trick"]) == (0, 0, "play", "S", [[1, "3H"]])
    assert told["choices"] == {"AS": {"payoff": -4, "tricks": 1, "loss": 0}}
    assert (told["best"], told["exact"], told["stock"], told["chosen"]) == (["AS"], True, None, None)


def test_solve_without_a_contract_tells_what_each_is_worth(napoleon: Any) -> None:
    code, out, _ = napoleon("solve", *HANDS, "--set", "min_bid=1", "--declarer", 1)
    assert code == 0
    assert [line.split() for line in out.splitlines()[-3:]] == [
        ["choice", "payoff", "tricks", "loss"],
        ["bid", "1", "+1", "1", "best"],  # the only trump, led first, takes a trick; the king never does
        ["bid", "2", "-4", "1", "5"],
    ]
    choices = json.loads(napoleon("solve", *HANDS, "--rules", "portuguese", *CONTRACT, "--json")[1])["choices"]
    assert {name: value["payoff"] for name, value in choices.items()} == {
        "trump C": 2, "trump D": 2, "trump H": 0, "trump S": 2,
    }  # fmt: skip


def test_solve_finds_a_place_in_a_record(napoleon: Any, good: Path) -> None:
    code, out, err = napoleon("solve", good, "--match", 2, "--action", 6, "--deal", 0)
    assert (code, err) == (0, "")
    assert out.startswith(f"Match 2 of {good}, deal 0, action 6\nRules: russian (players=2), seat 1 deals\n")
    assert "  contract  seat 1 plays bid 5, announced Napoleon, trump is ♥, has 0 tricks\n  trick     1: A♥\n" in out
    assert "to act    seat 0, a defender, is asked to play a card" in out
    assert "chosen" in next(line for line in out.splitlines() if line.startswith("6D "))
    told = json.loads(napoleon("solve", good, "--json")[1])
    assert (told["action"], told["phase"], told["chosen"]) == (3, "announce", "napoleon")  # the first after the auction
    told = json.loads(napoleon("solve", good, "--action", 0, "--unknown-stock", "--json")[1])
    assert (told["phase"], told["stock"], next(iter(told["choices"]))) == ("auction", "unknown", "bid 1")


def test_solve_says_when_the_time_was_over(napoleon: Any) -> None:
    pack = [rank + suit for rank in "23456789TJQKA" for suit in "CDHS"]
    hands = [word for seat in range(6) for word in ("--hands", " ".join(pack[seat : seat + 48 : 6]))]
    arguments = ("solve", *hands, "--set", "hand_size=8", "--declarer", 0, "--contract", "bid 4", "--time-ms", 0)
    code, out, _ = napoleon(*arguments)
    assert code == 0
    assert "\nNot exact: the time was over first" in out
    assert json.loads(napoleon(*arguments, "--json")[1])["exact"] is False


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a file of records, or give --hands once for each seat"),
        (["FILE", "--match", 3], "there is no match 3: the matches are numbered by line, from 1 to 2"),
        (["FILE", "--deal", 1], "there is no deal 1: its deals are numbered from 0 to 0"),
        (["FILE", "--action", 15], "there is no action 15 in deal 0: its actions are numbered from 0 to 14"),
        (["FILE", "--action", "x"], "invalid value for '--action'"),
        (["FILE", "--contract", "bid 3"], "--contract goes with --hands, not with a file"),
        (["FILE", "--declarer", 0], "--declarer goes with a place in an auction"),
        ([*HANDS, "--action", 0], "--action goes with a file, not with --hands"),
        ([*HANDS, "--contract", "bid 2"], "--contract needs --declarer"),
        ([*HANDS, "--declarer", 0, "--contract", "bid 3"], "contract='bid 3' is not one of german"),
        ([*HANDS, *CONTRACT, "--trump", "S"], "the first card led fixes trump"),
        ([*HANDS, *CONTRACT, "--then", "3H"], "decision 0 after the auction: seat 0 may not play 3H: does not hold it (C4)"),
        ([*HANDS, "--then", "AS"], "trump and further decisions follow a contract"),
        ([*HANDS, "--declarer", 2], "seat=2 must be a seat from 0 to 1"),
        ([*HANDS, "--dealer", 2], "dealer=2 must be a seat from 0 to 1"),
        ([*HANDS, "--pot", 2], "pot=2 must be 0"),
        ([*HANDS, "--set", "players=3"], "--hands must be given 3 times, once for each seat, not 2 times"),
        ([*HANDS, "--stock", "AS"], "stock[0]: AS is dealt twice, it is hands[0][0] too"),
        (["--hands", "AS ?", "--hands", "KS 3H", "--set", "hand_size=2"], "hands[0]: '?' hides a card"),
        (["--hands", "AS KS", "--hands", "QS JS"], "hands[0] must be a list of 5 cards (C3)"),
        ([*HANDS, *CONTRACT, "--memory", 0], "memory=0 must be a whole number of MiB"),
        ([*HANDS, *CONTRACT, "--time-ms", "nan"], "time_ms=nan must be a number of milliseconds"),
        ([*HANDS, "--rules", "french"], "preset 'french' does not exist"),
    ],
)
def test_solve_refuses_in_one_sentence(napoleon: Any, good: Path, arguments: list[Any], says: str) -> None:
    code, out, err = napoleon("solve", *[good if word == "FILE" else word for word in arguments])
    assert (code, out) == (2, "")
    assert err.startswith("napoleon: ")
    assert err.count("\n") == 1
    assert says in err


@pytest.fixture
def mistake(tmp_path: Path) -> Path:
    """The two first: it costs 8, of a deal worth 4."""
    deal = {"dealer": 1, "hands": [["AS", "2S"], ["KS", "3H"]], "payoffs": [-4, 4], "pot": 0}
    actions = [["bid 2"], ["2S"], ["KS"], ["3H"], ["AS"]]
    rules = {"preset": "german", "players": 2, "hand_size": 2}
    file = tmp_path / "mistake.jsonl"
    file.write_text(json.dumps({"rules": rules, "deals": [{**deal, "actions": actions}], "scores": [-4, 4]}) + "\n")
    return file


def test_analyse_marks_each_decision_of_a_match(napoleon: Any, mistake: Path) -> None:
    code, out, err = napoleon("analyse", mistake, "--match", 1)
    assert (code, err) == (0, "")
    heading, deal, decisions = out.split("\n\n", 1)[0], *out.split("\n\n")[1].split("\n", 1)
    assert heading == f"Match 1 of {mistake}"
    assert deal == "Deal 0: seat 0 plays bid 2, worth +4 with open cards, paid -4"
    assert [line.split() for line in decisions.splitlines()] == [
        ["action", "seat", "role", "chosen", "payoff", "loss", "in", "tricks", "better"],
        ["1", "0", "declarer", "2S", "-4", "8", "1", "AS"],
        ["2", "1", "defender", "KS", "-4", "forced"],
        ["3", "1", "defender", "3H", "-4", "forced"],
        ["4", "0", "declarer", "AS", "-4", "forced"],
    ]
    told = json.loads(napoleon("analyse", mistake, "--match", 1, "--json")[1])
    assert (told["played"][0]["worth"], told["played"][0]["paid"]) == (4, -4)
    assert told["played"][0]["decisions"][0] == {
        "action": 1, "seat": 0, "role": "declarer", "phase": "play", "chosen": "2S", "best": ["AS"], "choices": 2,
        "payoff": -4, "best_payoff": 4, "loss": 8, "tricks_loss": 1, "exact": True,
    }  # fmt: skip


def test_analyse_sums_up_by_role(napoleon: Any, good: Path, mistake: Path, tmp_path: Path) -> None:
    both = tmp_path / "both.jsonl"
    both.write_bytes(mistake.read_bytes() * 2 + good.read_bytes())
    code, out, err = napoleon("analyse", both)
    assert (code, err) == (0, "")
    assert out.startswith("4 matches, 4 deals played\nrole ")
    told = json.loads(napoleon("analyse", both, "--json")[1])
    assert (told["matches"], told["deals"], told["inexact"]) == (4, 4, 0)
    declarer, defender = told["roles"]["declarer"], told["roles"]["defender"]
    assert declarer["decisions"] == 2 * 2 + 2 * 7  # two cards; the announcement, the exchange and five cards
    assert defender["decisions"] == 2 * 2 + 2 * 5
    assert declarer["phases"]["play"]["loss"] >= 2 * 8
    assert declarer["loss"] == sum(phase["loss"] for phase in declarer["phases"].values())


def test_analyse_refuses_what_it_cannot_read(napoleon: Any, wrong: Path, tmp_path: Path) -> None:
    sentence = f"napoleon: {wrong}: line 2: scores are [0, 0] but must be [4, -8]\n"
    assert napoleon("analyse", wrong) == (1, "", sentence)
    assert napoleon("analyse", wrong, "--match", 2) == (1, "", sentence)
    assert napoleon("solve", wrong, "--match", 2) == (1, "", sentence)
    code, out, err = napoleon("analyse", wrong, "--match", 3)
    assert (code, out) == (2, "")
    assert "there is no match 3" in err
    none = tmp_path / "none"
    for command in (("analyse",), ("analyse", "--match", 1), ("solve",)):
        said = f"napoleon: {none}: the file cannot be read: no such file or directory\n"
        assert napoleon(*command, none) == (2, "", said)
    assert napoleon("analyse", wrong, "--memory", 0)[0] == 2


# Files that are there already.


def test_a_tournament_and_a_page_replace_only_what_they_wrote_themselves(napoleon: Any, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    playing = ("tournament", "--players", "rule,random", "--deals", 1)
    for option in ("--json", "--csv", "--html"):
        code, out, err = napoleon(*playing, option, mine)
        assert (code, out) == (2, "")
        assert f"{option} {mine}: this is there already and is something else, so it is left as it is" in err
    same = tmp_path / "same"
    for options in (("--results", same, "--json", same), ("--csv", same, "--html", tmp_path / "x" / ".." / "same")):
        (tmp_path / "x").mkdir(exist_ok=True)
        code, _, err = napoleon(*playing, *options)
        assert code == 2
        assert "name the same file" in err
        assert not same.exists()
    assert mine.read_text() == "mine"
    for _ in range(2):  # its own files it replaces
        files = ("--json", tmp_path / "r.json", "--csv", tmp_path / "r.csv", "--html", tmp_path / "r.html")
        assert napoleon(*playing, *files)[0] == 0


def test_a_page_never_takes_the_place_of_its_records(napoleon: Any, tmp_path: Path) -> None:
    record = tmp_path / "m.jsonl"
    record.write_text(json.dumps(RUSSIAN) + "\n")
    before = record.read_bytes()
    code, _, err = napoleon("view", record, "--no-worth", "--out", record)
    assert code == 2
    assert "is something else" in err
    assert record.read_bytes() == before
    for _ in range(2):
        assert napoleon("view", record, "--no-worth")[0] == 0


# bench


def test_bench_lists_what_there_is_and_measures_it(napoleon: Any) -> None:
    code, out, err = napoleon("bench")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["name", "what", "is", "measured"]
    assert list(json.loads(napoleon("bench", "--json")[1])) == [line.split()[0] for line in out.splitlines()[1:]]
    told = json.loads(napoleon("bench", "solver", "--seconds", 0.001, "--json")[1])
    assert [(row["what"], row["unit"], row["to_reach"]) for row in told["rows"]] == [
        ("german, 2 players", "deals/s", 400_000),
        ("german, 3 players", "deals/s", 40_000),
        ("german, 4 players", "deals/s", 14_000),
        ("german, 5 players", "deals/s", 6_000),
        ("german, 6 players", "deals/s", 2_000),
    ]
    for row in told["rows"]:
        assert row["value"] > 0
        assert row["ratio"] == row["value"] / row["to_reach"]
        assert row["more"]["positions a deal"] > 0
    line = napoleon("bench", "solver", "--seconds", 0.001)[1].splitlines()[-5]
    assert re.fullmatch(r"german, 2 players +[\d,]+ deals/s +400,000 +[\d.,]+ +[\d.,e-]+ positions a deal *", line)
    for arguments, says in (
        (["x"], "there is no measurement 'x': there are environments, players, solver"),
        (["solver", "--seconds", "0"], "seconds=0.0 must be"),
    ):
        code, out, err = napoleon("bench", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert says in err


# All commands.


@pytest.mark.parametrize(
    "arguments", [["chek"], ["check"], ["check", "--jsn", "x"], ["replay"], ["replay", "a", "b"], ["--what"]]
)
def test_bad_usage_is_one_sentence_and_exit_code_2(napoleon: Any, arguments: list[str]) -> None:
    code, out, err = napoleon(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("napoleon: ")
    assert err.count("\n") == 1


def test_help_names_every_command(napoleon: Any) -> None:
    names = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]
    assert {"check", "replay", "rules", "solve", "analyse", "bench"} <= set(names)
    code, out, _ = napoleon("--help")
    assert code == 0
    assert all(name in out for name in names)
    for name in names:
        code, out, err = napoleon(name, "--help")
        assert (code, err) == (0, "")
        assert out.startswith("Usage: napoleon " + name)
    code, out, err = napoleon()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: napoleon ")
    assert napoleon("--version") == (0, f"napoleon-env {VERSION}\n", "")


def test_help_imports_no_compiler() -> None:
    code = (
        "import sys; import napoleon_env; before = set(sys.modules); from napoleon_env.__main__ import run; run(['--help']); "
        "assert not {'numba', 'numpy', 'rich'} & (set(sys.modules) - before)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)


def test_a_reader_that_goes_away_is_no_error(good: Path, tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    many.write_bytes(good.read_bytes() * 200)
    gone = shell(f"napoleon replay {many} | head -n 1")
    assert gone.stdout.startswith(b"Match 1 of ")
    assert not [line for line in gone.stderr.splitlines() if not line.startswith(b"napoleon_env: compiling")]
    full = shell("napoleon rules > /dev/full")
    assert (full.returncode, full.stderr) == (2, b"napoleon: the output: No space left on device\n")


def test_a_terminal_without_suits_gets_letters(good: Path) -> None:
    plain = shell(f"napoleon replay {good} --match 1", env={"PYTHONIOENCODING": "ascii"})
    assert plain.returncode == 0
    assert plain.stdout.isascii()
    assert b"trump is H" in plain.stdout


def test_an_interrupt_ends_quietly(napoleon: Any, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("napoleon_env.record.check", interrupted)
    assert napoleon("check", good) == (130, "", "")
