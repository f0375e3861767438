"""Players from names, files, Python and programs; and what is refused."""

from __future__ import annotations

import json
import shlex
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from napoleon_env.external import ProgramPlayer, TimedPlayer, view_json
from napoleon_env.match import Match, View
from napoleon_env.notation import action_id
from napoleon_env.players import RandomPlayer
from napoleon_env.roster import RosterError, fingerprint, make_player, parse_spec, split_specs
from napoleon_env.rules import new_state
from napoleon_env.tables import PlayerError, Question, answer, ask

FIRST = """
def policy(view):
    return view.legal()[0]

def picky(view, *, place=0):
    return view.legal()[place]

class Last:
    def __init__(self, *, place=-1):
        self.place = place

    def act(self, view):
        return view.legal()[self.place]

def make(place: int = 1):
    return Last(place=place)

ready = Last()
number = 7
"""

BOT = """
import json, sys
for line in sys.stdin:
    view = json.loads(line)["view"]
    print(json.dumps({"action": view["legal"][0]}), flush=True)
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(FIRST)
    return str(path)


def program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "bot.py"
    path.write_text(text)
    return shlex.join([sys.executable, str(path)])


def first_view(rules: str = "german") -> View:
    match = Match(rules, seed=3)
    assert match.seat is not None
    return match.view(match.seat, seed=5)


# Names and files.


def test_random_is_the_random_player() -> None:
    assert type(make_player("random")) is RandomPlayer


def test_a_player_is_returned_as_it_is() -> None:
    player = RandomPlayer()
    assert make_player(player) is player


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "does not exist: there are random, rule"),
        ("ranodm", "does not exist: there are random, rule"),
        ("random:depth=3", "there is no option depth: it has no options"),
        ("random:depth", "options are key=value"),
        ("random:=3", "options are key=value"),
        ("random:a=1,a=2", "the option a is given twice"),
        ("none.onnx", "there is no file 'none.onnx'"),
        ("none.py:policy", "there is no file 'none.py'"),
        ("no_such_module:policy", "no module no_such_module; there are random"),
        ("json:no_such", "json has no no_such, only"),
        ("sys:path", "path is a list, nothing that plays"),
        ("cmd:", "cmd: needs a program"),
        ("cmd:'open", "No closing quotation"),
        ("cmd:/nonexist/prog --fast", "there is no program '/nonexist/prog' that can be started"),
        ("cmd:''", "there is no program '' that can be started"),
    ],
)
def test_a_spec_that_makes_no_player_is_refused_in_one_sentence(spec: str, says: str) -> None:
    with pytest.raises(RosterError) as caught:
        make_player(spec)
    text = str(caught.value)
    assert "\n" not in text
    assert says in text


@pytest.mark.parametrize("spec", [None, 3, object()])
def test_what_is_no_spec_is_refused(spec: object) -> None:
    with pytest.raises(RosterError):
        make_player(spec)


def test_a_broken_agent_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_text("no network")
    with pytest.raises(RosterError):
        make_player(str(path))


def test_options_have_types() -> None:
    spec = parse_spec("pimc:worlds=100,depth=-2,share=0.5,fast=true,slow=False,kind=best")
    assert spec.options == {"worlds": 100, "depth": -2, "share": 0.5, "fast": True, "slow": False, "kind": "best"}
    assert spec.name == "pimc"


def test_a_list_of_specs_keeps_options_with_their_player() -> None:
    assert split_specs("a.onnx,pimc:worlds=100,depth=2,random as b, rule") == [
        "a.onnx",
        "pimc:worlds=100,depth=2",
        "random as b",
        "rule",
    ]
    assert split_specs("random,cmd:bot --size 1,2") == ["random", "cmd:bot --size 1,2"]


# Python.


@pytest.mark.parametrize(
    ("name", "place"),
    [("policy", 0), ("picky", 0), ("picky:place=1", 1), ("Last", -1), ("Last:place=0", 0), ("make", 1), ("ready", -1)],
)
def test_functions_classes_factories_and_players_of_a_file_play(mine: str, name: str, place: int) -> None:
    view = first_view()
    assert make_player(f"{mine}:{name}").act(view) == view.legal()[place]


@pytest.mark.parametrize(
    "name", ["picky:depth=1", "Last:depth=1", "ready:place=1", "number", "nothing", "make:place=1,depth=2"]
)
def test_wrong_options_and_things_that_do_not_play_are_refused(mine: str, name: str) -> None:
    with pytest.raises(RosterError):
        make_player(f"{mine}:{name}")


def test_a_function_may_stand_in_a_module(monkeypatch: pytest.MonkeyPatch, mine: str) -> None:
    monkeypatch.chdir(Path(mine).parent)  # the folder one works in counts, as with `python -m`
    Path("bot_in_a_module.py").write_text(FIRST)
    view = first_view()
    assert make_player("bot_in_a_module:policy").act(view) == view.legal()[0]


def test_loading_one_then_another_then_the_first_gives_the_first(tmp_path: Path) -> None:
    places = {"a": 0, "b": -1}
    for name, place in places.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "bot.py").write_text(f"def policy(view):\n    return view.legal()[{place}]\n")
    view = first_view()
    for name in ("a", "b", "a"):
        assert make_player(f"{tmp_path / name / 'bot.py'}:policy").act(view) == view.legal()[places[name]]


def test_a_file_is_read_anew(mine: str) -> None:
    view, before = first_view(), fingerprint(f"{mine}:policy")
    make_player(f"{mine}:policy")
    Path(mine).write_text(FIRST.replace("legal()[0]", "legal()[1]"))
    assert make_player(f"{mine}:policy").act(view) == view.legal()[1]
    assert fingerprint(f"{mine}:policy") != before


def test_a_file_that_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    for text, says in [("import no_such_package", "no_such_package"), ("def (", "SyntaxError"), ("1 / 0", "ZeroDivisionError")]:
        path.write_text(text)
        with pytest.raises(RosterError, match=says) as caught:
            make_player(f"{path}:policy")
        assert str(caught.value).count(says) == 1


@pytest.mark.parametrize("leaves", ["sys.exit(3)", "argparse.ArgumentParser().parse_args(['--what'])"])
def test_a_file_that_exits_is_refused(tmp_path: Path, leaves: str) -> None:
    path = tmp_path / "script.py"
    path.write_text(f"import argparse, sys\n{leaves}\n")
    with pytest.raises(RosterError, match="cannot be imported: SystemExit"):
        make_player(f"{path}:policy")
    path.write_text(f"import argparse, sys\ndef make():\n    {leaves}\n")
    with pytest.raises(RosterError, match="cannot be made: SystemExit"):
        make_player(f"{path}:make")


# Programs.


@pytest.mark.parametrize("rules", ["german", "portuguese", "russian", "english"])
def test_a_program_plays_a_match(tmp_path: Path, rules: str) -> None:
    player = make_player(f"cmd:{program(tmp_path, BOT)}")
    assert isinstance(player, ProgramPlayer)
    match = Match(rules, seed=1, deals=2, max_void_deals=3)
    with player:
        while not match.over:
            assert match.seat is not None
            answer = player.act(match.view(match.seat))
            assert answer == match.legal()[0]
            match.play(answer)


def test_what_a_program_is_told_holds_no_card_that_the_seat_does_not_know() -> None:
    match = Match("russian", seed=2, players=3, deals=3)
    while not match.over:
        assert match.seat is not None
        match.play(match.legal()[-1])
        if match.over:
            break
        for seat in range(3):
            told = json.dumps(view_json(match.view(seat)))
            twin = match.copy()
            hidden = [card for other, hand in enumerate(match.hands) if other != seat for card in hand]
            for card in hidden:  # another's card is named nowhere, unless it lies open in the last deal
                open_cards = {name for _, name in (match.last_deal.log if match.last_deal else [])} | {
                    name for _, name in twin.log
                }
                own = set(match.dealt(seat)) | set(match.last_deal.dealt(seat) if match.last_deal else [])
                if card not in open_cards | own and not (match.last_deal and match.last_deal.drawn == card):
                    assert f'"{card}"' not in told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise SystemExit(3)", "ended with code 3"),
        ("input(); raise SystemExit(4)", "ended with code 4"),
        ("input(); print('bid 3', flush=True); input()", "answered 'bid 3'"),
        ("input(); print('{}', flush=True); input()", "answered '{}'"),
        ("input(); print('[' * 100000, flush=True); input()", "answered '\\[\\["),
        ("input(); print('{\"action\": 3}', flush=True); input()", "answered"),
        ("import time; input(); time.sleep(60)", "did not answer within 0.2 s"),
    ],
)
def test_a_program_that_fails_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.setattr("napoleon_env.external.START_SECONDS", 1.0 if "sleep" in text else 60.0)
    player = ProgramPlayer(program(tmp_path, text), seconds=0.2)
    with pytest.raises(PlayerError, match=says):
        player.act(first_view())


def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(PlayerError, match="does not start"):
        ProgramPlayer("no-such-program-anywhere").act(first_view())


def test_a_program_that_was_stopped_is_started_again(tmp_path: Path) -> None:
    once = "import os, sys\nif not os.path.exists(sys.argv[1]):\n    open(sys.argv[1], 'w').close()\n    sys.exit(1)\n"
    with ProgramPlayer(f"{program(tmp_path, once + BOT)} {tmp_path / 'mark'}") as player:
        with pytest.raises(PlayerError):
            player.act(first_view())
        view = first_view()
        assert player.act(view) == view.legal()[0]


def test_a_player_under_a_time_limit_plays_as_it_does_without(mine: str) -> None:
    view = first_view()
    question = Question(view.state.copy(), view.rules, np.array([view.seat]), np.array([5], np.uint64), new_state(1))
    player = TimedPlayer(partial(make_player, f"{mine}:policy"), rules=view.rules, seconds=20)
    try:
        actions, faults = answer(player, question)
        assert actions.tolist() == [action_id(view.legal()[0])]
        assert not faults
    finally:
        player.close()
    broken = TimedPlayer(partial(make_player, f"{mine}:nothing"), rules=view.rules, seconds=20)
    try:
        assert "has no nothing" in ask(broken, question)[1][0]
    finally:
        broken.close()
