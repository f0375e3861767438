"""Games of people and players: the table, its server with all that goes over the wire, and the terminal."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from example import EXAMPLE
from pages import applied, page_data
from rich.console import Console
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from napoleon_env import Match, Ruleset, read_records, replay
from napoleon_env.__main__ import run
from napoleon_env.notation import CARDS
from napoleon_env.players import RulePlayer
from napoleon_env.record import check, write_records
from napoleon_env.viewer.frames import frame
from napoleon_env.viewer.game import Game, GameError
from napoleon_env.viewer.server import LONGEST_MESSAGE, Address, GameServer, ServeError
from napoleon_env.viewer.terminal import play_here
from napoleon_env.viewer.words import OF_PRESET, action_text


def new_game(preset: str = "german", specs: str = "human,rule,rule,rule", **how: Any) -> Game:
    names = specs.split(",")
    deals = how.pop("deals", 2)
    return Game(Ruleset.make(preset, players=len(names), deals=deals), names, seed=how.pop("seed", 3), hint="rule", **how)


def let_play(game: Game) -> None:
    """Let the players decide until a person is to move."""
    while view := game.view():
        game.play(game.decide(view))


# The table.


def test_a_game_goes_on_to_its_end_and_is_saved_as_a_record(tmp_path: Path) -> None:
    game = new_game("russian", deals=3, path=str(tmp_path / "m.jsonl"))
    while not game.match.over:
        let_play(game)
        if game.match.seat == 0:
            game.act(0, game.hint(game.hint_for(0, game.version)), game.version)
    assert check(tmp_path / "m.jsonl").matches == 1
    (_, record) = next(read_records(tmp_path / "m.jsonl"))
    assert replay(record).scores == game.match.scores
    assert record["notes"] == {"players": ["human", "rule", "rule", "rule"]}


def test_what_a_person_may_not_do_is_refused_and_changes_nothing() -> None:
    game = new_game(deals=1)
    let_play(game)
    before = game.match.state.copy()
    for action, version, sentence in (
        ("bid 9", game.version, "'bid 9' is not an action"),
        ("AS", game.version, "seat 0 may not play AS: the auction asks for a call"),
        (3, game.version, "named in text, not by 3"),
        ("pass", game.version - 1, "the table has changed"),
        ("pass", True, "the table has changed"),
        ("pass", None, "the table has changed"),
    ):
        with pytest.raises(GameError, match=sentence):
            game.act(0, action, version)
    with pytest.raises(GameError, match="not the turn of seat 1: seat 0 is to act"):
        game.act(1, "pass", game.version)
    with pytest.raises(GameError, match="this is no practice"):
        game.take_back(game.version)
    assert (game.match.state == before).all()


def test_in_practice_decisions_are_taken_back_one_by_one() -> None:
    game = new_game("english", practice=True, deals=1, seed=8)
    tables = []
    for _ in range(3):
        let_play(game)
        tables.append(game.match.state.copy())
        game.act(0, game.seen(0)["legal"][-1], game.version)
    for table in reversed(tables):
        game.take_back(game.version)
        assert (game.match.state == table).all()
    with pytest.raises(GameError, match="nothing to take back"):
        game.take_back(game.version)


@pytest.mark.parametrize(
    ("specs", "practice", "sentence"),
    [("rule,rule", False, "nobody sits at the table"), ("human,human,rule", True, "practice is for one person, not for 2")],
)
def test_tables_that_cannot_be_are_refused(specs: str, practice: bool, sentence: str) -> None:
    with pytest.raises(GameError, match=sentence):
        new_game(specs=specs, practice=practice)


def test_no_name_shows_where_a_players_file_lies(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def policy(view):\n    return view.legal_ids()[0]\n")
    game = new_game(specs=f"human,{tmp_path}/mine.py:policy")
    assert game.names == ["", "mine.py:policy"]


# The server.


@contextmanager
def served(game: Game, **how: Any) -> Iterator[GameServer]:
    server = GameServer(game, **{"language": "en", **how})
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(60)
        assert not thread.is_alive()


@contextmanager
def seated(server: GameServer, seat: int, **how: Any) -> Iterator[Browser]:
    """A browser's end of the connection, without the browser."""
    url = server.url(seat).replace("http", "ws").replace("/?", "/table?")
    with connect(url, origin=how.pop("origin", server.address.url.rstrip("/")), proxy=None, **how) as socket:
        yield Browser(socket)


class Browser:
    """What a page would do, and every text that it was sent."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.wire = socket, []
        self.table: dict[str, Any] = {}

    def receive(self) -> dict[str, Any]:
        text = self.socket.recv(timeout=120)
        assert isinstance(text, str)
        self.wire.append(text)
        message = json.loads(text)
        if "frame" in message:
            self.table = message
        return message

    def until(self, true: Callable[[], bool]) -> None:
        while not true():
            self.receive()

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps({"version": self.table.get("version"), **message}))


def get(url: str, **headers: str) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("preset", ["german", "portuguese", "russian", "english"])
@pytest.mark.parametrize("specs", ["human,rule", "human,rule,human,rule,random,rule"])
def test_nothing_on_the_wire_tells_a_seat_what_it_may_not_know(preset: str, specs: str, tmp_path: Path) -> None:
    """Every text sent to every browser is read: a card in it is one that this seat holds, has seen or has had played."""
    game = new_game(preset, specs, path=str(tmp_path / "m.jsonl"))
    said: dict[int, list[str]] = {seat: [] for seat in game.people}
    with served(game) as server:
        threads = [threading.Thread(target=_sit, args=(server, seat, said[seat])) for seat in game.people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        pages = {seat: get(server.url(seat))[1] for seat in game.people}
    (_, record) = next(read_records(tmp_path / "m.jsonl"))
    match = replay(record)
    assert match.over
    for seat, texts in said.items():
        assert any(f'"deal": {len(match.history) - 1}' in text for text in texts)
        for message in map(json.loads, texts):
            frames = [now for now in (message.pop("frame"), message.pop("ended")) if now]
            mine = known(match, seat, frames[0]["deal"], frames[0])
            assert cards_in(message.pop("legal")) <= mine
            assert cards_in(message) == set()
            for now in frames:
                assert cards_in(now) <= known(match, seat, now["deal"], now)
        assert '"frame"' not in pages[seat]


def test_a_leak_on_the_wire_would_be_seen() -> None:
    game = new_game(deals=1)
    while not game.match.over:
        view = game.match.view(game.match.seat or 0)
        before = frame(game.match), game.match.seat or 0
        game.match.play(view.legal()[0])
    table, seat = before
    assert not cards_in(table | {"hands": game.match.history[0].stock}) <= known(game.match, seat, 0, table)


def _sit(server: GameServer, seat: int, said: list[str]) -> None:
    """Play a seat to the end of the match by its first legal action, and keep every text."""
    with seated(server, seat) as browser:
        while not (browser.table and browser.table["frame"]["winners"]):
            before = browser.table.get("version")
            browser.receive()
            said.append(browser.wire[-1])
            if browser.table["legal"] and browser.table["version"] != before:
                browser.send(do="act", action=browser.table["legal"][0])


def cards_in(value: Any) -> set[str]:
    """The cards that are named anywhere in JSON values, alone or in an action."""
    if isinstance(value, dict):
        return set().union(*map(cards_in, value.values()))
    if isinstance(value, list):
        return set().union(*map(cards_in, value)) if value else set()
    return {word for word in value.split() if word in CARDS} if isinstance(value, str) else set()


def known(match: Any, seat: int, deal: int, frame: dict[str, Any]) -> set[str]:
    """The cards that a seat may know of a deal at a frame of it: its own, what it exchanged, and what has been played."""
    played = match.history[deal]
    own = set(played.dealt(seat))
    if played.declarer == seat and frame["phase"] in ("play", "over", "trump"):
        own |= {card for card in (played.discarded, played.drawn) if card}
    plays = [card for _, card in played.log if card in CARDS]
    return own | set(plays[: sum(len(trick) for trick in frame["tricks"])])


def test_two_people_play_one_match_and_each_waits_for_the_other() -> None:
    with served(new_game(specs="human,human", deals=1, seed=2)) as server, seated(server, 0) as a, seated(server, 1) as b:
        a.until(lambda: a.table.get("away") == [])
        b.until(lambda: b.table.get("away") == [])
        first, second = (a, b) if a.table["legal"] else (b, a)
        assert not second.table["legal"]
        second.send(do="act", action="bid 2")
        assert "not the turn" in second.receive()["refused"]
        first.send(do="act", action="bid 2")
        second.until(lambda: bool(second.table["legal"]))
        assert second.table["frame"]["calls"][0][1] == "bid 2"


def test_a_connection_that_was_lost_resumes_where_the_match_stands() -> None:
    with served(new_game(deals=1)) as server:
        with seated(server, 0) as browser:
            browser.until(lambda: bool(browser.table.get("legal")))
            browser.send(do="act", action=browser.table["legal"][0])
            version = browser.table["version"]
            browser.until(lambda: browser.table["version"] > version and bool(browser.table["legal"]))
            stood = browser.table
        with seated(server, 0) as again:
            assert again.receive() == stood


def test_a_seat_without_a_browser_is_told_to_the_others_as_away() -> None:
    with served(new_game(specs="human,human", deals=1)) as server, seated(server, 0) as a:
        a.until(lambda: a.table.get("away") == [1])
        with seated(server, 1):
            a.until(lambda: a.table["away"] == [])
        a.until(lambda: a.table["away"] == [1])


def test_hint_and_take_back_over_the_wire() -> None:
    with served(new_game(practice=True, deals=1)) as server, seated(server, 0) as browser:
        browser.until(lambda: bool(browser.table.get("legal")))
        first = browser.table
        browser.send(do="hint")
        assert browser.receive()["hint"] in first["legal"]
        browser.send(do="act", action="pass")
        browser.until(lambda: bool(browser.table["legal"]) and browser.table["version"] > first["version"])
        assert browser.table["back"]
        browser.send(do="back")
        browser.receive()
        assert browser.table["frame"] == first["frame"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '"act"', "null", "[" * 1500, '{"do": "shuffle"}', '{"do": ["act"]}', '{"do": "act"}',
     '{"do": "act", "action": {"a": 1}}',
     '{"do": "act", "action": "AS", "version": 1e999}', '{"do": "back", "version": "x"}', b"\x00\x01"],
)  # fmt: skip
def test_malformed_messages_are_refused_and_logged_and_the_game_goes_on(
    text: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with served(new_game(deals=1)) as server, seated(server, 0) as browser:
        browser.until(lambda: bool(browser.table.get("legal")))
        with caplog.at_level(logging.WARNING, "napoleon_env.viewer"):
            browser.socket.send(text)
            assert set(browser.receive()) == {"refused"}
        assert [r.getMessage() for r in caplog.records if r.getMessage().startswith("refused a message from seat 0: ")]
        browser.send(do="act", action="pass")
        browser.until(lambda: [0, "pass"] in browser.table["frame"]["calls"])


def test_a_message_that_is_too_long_ends_the_connection_but_not_the_game() -> None:
    with served(new_game(deals=1)) as server:
        with seated(server, 0) as browser:
            browser.until(lambda: bool(browser.table.get("legal")))
            browser.socket.send("x" * (LONGEST_MESSAGE + 1))
            with pytest.raises(ConnectionClosed):
                browser.until(lambda: False)
        with seated(server, 0) as again:
            again.until(lambda: bool(again.table.get("legal")))


@pytest.mark.parametrize("origin", ["http://example.org", "http://127.0.0.1:1", None])
def test_a_page_from_elsewhere_is_refused(origin: str | None, caplog: pytest.LogCaptureFixture) -> None:
    with served(new_game()) as server:
        with (
            caplog.at_level(logging.WARNING, "napoleon_env.viewer"),
            pytest.raises(InvalidStatus, match="403"),
            seated(server, 0, origin=origin),
        ):
            pass
        assert "from another page is refused" in caplog.text


def test_a_browser_that_takes_nothing_in_is_given_up_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("napoleon_env.viewer.server.PATIENCE", 0.05)

    class Stuck:
        closed = False

        async def send_text(self, text: str) -> None:
            await asyncio.sleep(60)

        async def close(self, code: int) -> None:
            self.closed = True
            await asyncio.sleep(60)

    stuck = Stuck()
    with served(new_game(specs="human,human", deals=1)) as server, seated(server, 0) as a:
        a.until(lambda: a.table.get("away") == [1])
        server._browsers[1].append(stuck)
        a.send(do="hint")
        a.send(do="act", action="pass" if a.table["legal"] else "bid 2")
        a.receive()
        with seated(server, 1) as b:
            b.until(lambda: b.table.get("away") == [])
        a.until(lambda: a.table["away"] == [1])
        assert server._browsers[1] == []
        assert stuck.closed


def test_a_browser_that_was_given_up_is_told_so_and_connects_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("napoleon_env.viewer.server.PATIENCE", 0.05)

    async def stall(text: str) -> None:
        await asyncio.sleep(60)

    with served(new_game(specs="human,human", deals=1)) as server, seated(server, 0) as a:
        with seated(server, 1) as b:
            a.until(lambda: a.table.get("away") == [])
            b.until(lambda: b.table.get("away") == [])
            monkeypatch.setattr(server._browsers[1][0], "send_text", stall)
            a.send(do="act", action="pass" if a.table["legal"] else "bid 2")
            if not a.table["legal"]:
                a.receive()  # refused
                b.send(do="act", action="pass")
            with pytest.raises(ConnectionClosed):
                b.until(lambda: False)
        with seated(server, 1) as b:
            b.until(lambda: bool(b.table) and b.table["version"] == server.game.version == 1)


def test_a_table_that_was_made_while_another_browser_was_waited_for_is_not_sent_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is told of the table gets the newest there is, and never an older one after a newer one."""
    game = new_game(specs="human,human", deals=1)
    server, sent = GameServer(game, language="en"), []
    server.address.socket.close()

    class Slow:
        async def send_text(self, text: str) -> None:
            if not game.version:
                game.act(game.match.seat or 0, "pass", game.version)  # while this one takes its text in

    class Other:
        async def send_text(self, text: str) -> None:
            sent.append(json.loads(text)["version"])

    monkeypatch.setattr(server, "_browsers", {0: [Slow()], 1: [Other()]})
    asyncio.run(server._tell_all())
    assert sent == [1]


def test_players_are_asked_one_after_another(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n\nnow, most = 0, 0\n\n\ndef policy(view):\n    global now, most\n    now += 1\n"
        "    most = max(most, now)\n    time.sleep(0.05)\n    now -= 1\n    return view.legal_ids()[min(1, most - 1)]\n"
    )
    rules = Ruleset.make("german", players=2, deals=1)
    game = Game(rules, ["human", "rule"], seed=3, hint=f"{tmp_path}/slow.py:policy")
    let_play(game)
    with served(game) as server, seated(server, 0) as browser, seated(server, 0) as other:
        for each in (browser, other):
            each.until(lambda each=each: bool(each.table))
        for each in (browser, other):
            each.send(do="hint")
        first, *_ = browser.table["legal"]
        for each in (browser, other):
            each.until(lambda each=each: "hint" in json.loads(each.wire[-1]))
            assert json.loads(each.wire[-1])["hint"] == first  # two at a time would have been told the second


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("None", "None is not an action id"),
        ("1000", "1000 is not an action id"),
        ("-1", "-1 is not an action id"),
        ("'bid 9'", "'bid 9' is not an action"),
        ("'stand'", "'stand' is not legal now: pass, "),
        ("1 / 0", "division by zero"),
        ("{}[()]", r"\(\)"),
    ],
)
def test_whoever_answers_badly_has_failed(answer: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(f"def policy(view):\n    return {answer}\n")
    bad = f"{tmp_path}/bad.py:policy"
    game = Game(Ruleset.make("german", players=2), ["human", bad], seed=3, hint=bad)
    if game.match.seat == 0:
        with pytest.raises(GameError, match=f"^the player that gives hints failed: {why}"):
            game.hint(game.hint_for(0, game.version))
        game.act(0, "pass", game.version)
    view = game.view()
    assert view is not None
    with pytest.raises(GameError, match=rf"^a player failed \(bad.py:policy\): {why}"):
        game.decide(view)


def test_a_hint_that_fails_and_a_record_that_cannot_be_written_leave_the_game_running(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def policy(view):\n    raise OSError('no luck')\n")
    rules, file = Ruleset.make("german", players=2), str(tmp_path / "no" / "m.jsonl")
    game = Game(rules, ["human", "rule"], seed=3, hint=f"{tmp_path}/bad.py:policy", path=file)
    server = GameServer(game, language="en")
    thread = threading.Thread(target=pytest.raises, args=(GameError, server.run))
    thread.start()
    with seated(server, 0) as browser:
        browser.until(lambda: bool(browser.table.get("legal")))
        browser.send(do="hint")
        assert browser.receive() == {"refused": "the player that gives hints failed: no luck"}
        while not browser.table["frame"]["winners"]:
            if browser.table["legal"]:
                browser.send(do="act", action=browser.table["legal"][0])
            browser.receive()
    server.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert server.failure is None


def test_without_the_token_or_under_another_name_there_is_nothing() -> None:
    with served(new_game(specs="human,human")) as server:
        url = server.address.url
        assert server.tokens[0] != server.tokens[1]
        assert get(server.url(0))[0] == 200
        for wrong in (url, f"{url}?token=x", f"{url}?token=%ff", f"{url}?token=%C3%A9", f"{url}analysis"):
            assert get(wrong)[0] == 403
        assert get(server.url(0), Host="evil.example")[0] == 403
        assert get(server.url(0), Origin="http://evil.example")[0] == 403
        assert get(f"{url}analysis?token={server.tokens[0]}")[0] == 404  # no deal is over yet
        with (
            pytest.raises(InvalidStatus, match="403"),
            connect(f"ws{url[4:]}table?token=x", origin=url.rstrip("/"), proxy=None),
        ):
            pass


def test_it_listens_on_loopback_unless_told_otherwise_and_a_used_port_says_so() -> None:
    server = GameServer(new_game(), language="en")
    assert server.address.socket.getsockname()[0] == "127.0.0.1"
    with pytest.raises(ServeError, match=rf"port {server.address.port} of 127.0.0.1 is used already"):
        Address("127.0.0.1", server.address.port)
    server.address.socket.close()
    for host, port in (("256.1.1.1", 0), ("127.0.0.1", 70000)):
        with pytest.raises(ServeError, match=f"port {port} "):
            Address(host, port)


def test_the_analysis_shows_the_deals_that_are_over_and_not_the_one_that_runs(tmp_path: Path) -> None:
    game = new_game("russian", specs="human,rule", deals=3)
    while not game.match.history:
        let_play(game)
        game.act(0, game.seen(0)["legal"][0], game.version)
    with served(game) as server:
        status, page = get(server.url(0).replace("/?", "/analysis?"))
    assert status == 200
    (match,) = page_data(page)["matches"]
    assert {frame["deal"] for frame in applied(match["frames"])} == {0}
    assert any("decision" in frame for frame in match["frames"])


def test_a_player_that_fails_ends_the_game_with_a_sentence_and_the_record(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def policy(view):\n    return 'AS' if len(view.calls) > 1 else 1 / 0\n")
    game = new_game(specs=f"human,{tmp_path}/bad.py:policy", path=str(tmp_path / "m.jsonl"))
    server = GameServer(game, language="en")
    if game.match.seat == 0:
        game.act(0, "pass", game.version)
    with pytest.raises(ServeError, match=r"^a player failed \(bad.py:policy\): division by zero$"):
        server.run()
    assert check(tmp_path / "m.jsonl").matches == 1


@pytest.mark.parametrize("where", ["server", "terminal"])
def test_what_ended_a_game_is_said_even_where_the_record_cannot_be_written(
    where: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "bad.py").write_text("def policy(view):\n    return 1 / 0\n")
    game = new_game(specs=f"human,{tmp_path}/bad.py:policy", path=str(tmp_path / "no" / "m.jsonl"))
    if game.match.seat == 0:
        game.act(0, "pass", game.version)
    out = io.StringIO()
    if where == "server":
        run_game = GameServer(game, language="en").run
    else:
        run_game = partial(play_here, game, "en", ask=lambda prompt: "pass", console=Console(file=out))
    with pytest.raises((ServeError, GameError), match="a player failed"):
        run_game()
    assert [line.getMessage() for line in caplog.records if line.name == "napoleon_env.viewer"] == [
        f"the record {game.path} cannot be written: No such file or directory"
    ]
    assert "Saved" not in out.getvalue()


def test_the_record_is_written_before_the_players_are_closed(tmp_path: Path) -> None:
    game = new_game(path=str(tmp_path / "m.jsonl"))

    class Closing(RulePlayer):
        def close(self) -> None:
            assert check(tmp_path / "m.jsonl").matches == 1
            raise OSError("not to be closed")

    game.players[1] = Closing()
    with pytest.raises(OSError, match="not to be closed"), game:
        pass
    assert game.saved


def test_a_browser_is_told_the_name_of_the_record_and_not_where_it_lies(tmp_path: Path) -> None:
    game = new_game(specs="human,rule", deals=1, path=str(tmp_path / "m.jsonl"))
    while not game.match.over:
        let_play(game)
        if game.match.seat == 0:
            assert game.seen(0)["saved"] is None
            game.act(0, game.seen(0)["legal"][0], game.version)
    assert game.seen(0)["saved"] == "m.jsonl"


# The command.


def test_play_refuses_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    taken = Address("127.0.0.1", 0)
    (tmp_path / "there.jsonl").write_text("")
    for arguments, sentence in (
        (["--players", "rule,rule"], "nobody sits at the table"),
        (["--players", "human"], "players=1 must be a whole number from 2 to 6"),
        (["--players", "human,nobody"], "player 'nobody' does not exist"),
        (["--lang", "fr"], "language 'fr' does not exist"),
        (["--out", "no/such.jsonl"], "there is no folder no"),
        (["--port", str(taken.port)], f"port {taken.port} of 127.0.0.1 is used already"),
        (["--out", "there.jsonl"], "--out there.jsonl: it is there already"),
        (["--rules", "polish"], "preset 'polish' does not exist"),
        (["--host", ""], "the host is empty"),
    ):
        assert run(["play", "--hint", "rule", *arguments]) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert error.count("\n") == 1
    taken.socket.close()
    assert [path.name for path in tmp_path.iterdir()] == ["there.jsonl"]


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the address that it prints; interrupted at the end as by Ctrl-C."""
    command = [sys.executable, "-m", "napoleon_env", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            (address,) = re.findall(r"http\S+", process.stdout.readline())
            yield process, address
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
        assert process.returncode in (0, 130)


def test_view_serves_a_page_to_who_has_its_address(tmp_path: Path) -> None:
    write_records(tmp_path / "m.jsonl", [EXAMPLE])
    with started("view", str(tmp_path / "m.jsonl"), "--serve") as (_, address):
        status, page = get(address)
        assert status == 200
        assert '"matches"' in page
        for wrong in ("", "?token=x", "?token=%ff", "?token=%C3%A9"):
            assert get(address.split("?")[0] + wrong)[0] == 403
    assert not (tmp_path / "m.html").exists()


def test_a_game_that_is_interrupted_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    with started("play", "--players", "human,rule", "--hint", "rule", "--port", "0", "--out", str(file)) as (_, address):
        assert get(address)[0] == 200
    (_, record) = next(read_records(file))
    assert record["unfinished"]
    assert record["rules"] == {"preset": "german", "players": 2, "deals": 8}


@pytest.mark.parametrize("command", [["play"], ["view", "{file}", "--serve"]])
def test_without_the_extra_it_says_what_to_install(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_records("m.jsonl", [EXAMPLE])
    monkeypatch.delitem(sys.modules, "napoleon_env.viewer.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run([text.format(file="m.jsonl") for text in command]) == 2
    assert "needs uvicorn: pip install 'napoleon-env[play]'" in capsys.readouterr().err


# The terminal.


@pytest.mark.parametrize("preset", ["german", "portuguese", "russian", "english"])
def test_a_match_in_the_terminal_speaks_the_language_of_its_rule_text(preset: str, tmp_path: Path) -> None:
    language = OF_PRESET[preset]
    game = new_game(preset, "human,rule,rule", deals=2, path=str(tmp_path / "m.jsonl"), practice=True)
    shown = io.StringIO()
    console = Console(width=100, file=shown, force_terminal=False)
    words = {"en": ("hint", "back"), "de": ("tipp", "zurück"), "pt": ("dica", "desfazer"), "ru": ("подсказка", "назад")}[
        language
    ]
    script = [*words, "?!"]

    def ask(prompt: str) -> str:
        shown.write(prompt)
        return script.pop(0) if script else action_text(language, game.seen(0)["legal"][0])

    play_here(game, language, ask=ask, console=console)
    text = shown.getvalue()
    assert game.match.over
    assert check(tmp_path / "m.jsonl").matches == 1
    expected = {
        "en": ("Seat 0> ", "Hint: ", "Trick 1", "dealer", "declarer", "Saved as"),
        "de": ("Platz 0> ", "Tipp: ", "Stich 1", "Geber", "Alleinspieler", "Gespeichert als"),
        "pt": ("Lugar 0> ", "Dica: ", "Vez 1", "carteador", "declarante", "Salva em"),
        "ru": ("Место 0> ", "Подсказка: ", "Взятка 1", "сдающий", "объявивший игру", "клад"),
    }[language]
    for word in expected:
        assert word in text, word
    assert "is not an action" not in text  # an answer that means nothing is refused in the person's language too


def test_taking_back_is_offered_in_practice_alone() -> None:
    for practice in (True, False):
        game = new_game("german", "human,rule", deals=1, seed=1, practice=practice)
        shown = io.StringIO()
        play_here(game, "en", ask=lambda prompt, game=game: game.seen(0)["legal"][0], console=Console(file=shown))
        assert ("(or: hint, back, quit)" in shown.getvalue()) == practice
        assert ("(or: hint, quit)" in shown.getvalue()) != practice


def test_a_void_deal_keeps_its_number_to_its_end() -> None:
    game, shown = new_game("german", "human,human", deals=2, seed=1), io.StringIO()
    calls = ["pass", "pass"]

    def ask(prompt: str) -> str:
        return calls.pop() if calls else game.seen(game.match.seat or 0)["legal"][-1]

    play_here(game, "en", ask=ask, console=Console(file=shown))
    assert [deal.void for deal in game.match.history][:2] == [True, False]
    told = re.findall(r"Deal (\d+) of 2|(Everyone passed)", shown.getvalue())
    assert told[:5] == [("1", ""), ("1", ""), ("1", ""), ("", "Everyone passed"), ("1", "")]
    assert {number for number, _ in told} == {"1", "2", ""}


def test_a_player_that_fails_ends_the_terminals_game_with_a_sentence_and_the_record(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def policy(view):\n    return 1 / 0\n")
    game, shown = new_game(specs=f"human,{tmp_path}/bad.py:policy", path=str(tmp_path / "m.jsonl")), io.StringIO()
    with pytest.raises(GameError, match=r"^a player failed \(bad.py:policy\): division by zero$"):
        play_here(game, "en", ask=lambda prompt: "pass", console=Console(file=shown, width=400))
    assert check(tmp_path / "m.jsonl").matches == 1
    assert f"Saved as {game.path}" in shown.getvalue()


def test_a_player_that_fails_ends_the_command_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.py").write_text("def policy(view):\n    return 1 / 0\n")
    specs = [f"{tmp_path}/bad.py:policy", "human"]
    if Match("german", players=2, seed=1).seat == 1:  # the player is asked first
        specs.reverse()
    capsys.readouterr()  # that the rules are compiled is not of interest
    for how in (["--port", "0"], ["--terminal"]):
        out = str(tmp_path / f"{how[0]}.jsonl")
        assert run(["play", "--players", ",".join(specs), "--hint", "rule", "--seed", "1", "--out", out, *how]) == 2
        assert capsys.readouterr().err == "napoleon: a player failed (bad.py:policy): division by zero\n"


def test_who_leaves_the_terminal_keeps_the_record(tmp_path: Path) -> None:
    for reply in ("quit", None):
        path = tmp_path / f"{reply}.jsonl"
        game = new_game(path=str(path))

        def ask(prompt: str, reply: str | None = reply) -> str:
            if reply is None:
                raise EOFError
            return reply

        play_here(game, "en", ask=ask, console=Console(file=io.StringIO()))
        assert check(path).matches == 1


def test_a_card_is_typed_by_its_letters_whatever_the_language() -> None:
    game = new_game("german", "human,rule", deals=1, seed=1)
    shown = io.StringIO()

    def ask(prompt: str) -> str:
        legal = game.seen(0)["legal"]
        assert all(f"[{name}]" in shown.getvalue() for name in legal if name in CARDS)
        return legal[-1].lower()

    play_here(game, "ru", ask=ask, console=Console(width=200, file=shown))
    assert game.match.over
