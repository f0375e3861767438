"""The server of pages and games: on this machine alone unless told otherwise, a token in each address, one WebSocket a browser.

Messages are JSON objects. From a browser: {"do": "act", "action": NAME, "version": N}, {"do": "hint", "version": N} and
{"do": "back", "version": N}; anything else is refused and logged. To a browser: `Game.seen` of its seat with `away`, the
people's seats without a browser; {"hint": NAME, "version": N}; {"refused": sentence}; {"failed": sentence}, after which the
server ends.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from secrets import compare_digest, token_urlsafe
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from napoleon_env.match import View
from napoleon_env.notation import shown
from napoleon_env.record import replay
from napoleon_env.solver import Solver
from napoleon_env.viewer.game import Game, GameError
from napoleon_env.viewer.page import POLICY, document, match_page

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
LONGEST_MESSAGE: Final = 2000
"""Bytes of a message from a browser; a longer one ends the connection."""
PATIENCE: Final = 3.0
"""Seconds that others wait for a browser that takes nothing in."""
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_log = logging.getLogger("napoleon_env.viewer")


class ServeError(ValueError):
    """A server that cannot be started; one sentence."""


class Address:
    """Where a server listens, and which requests are meant for it.

    Args:
        host: an address or a name of this machine.
        port: 0 takes a free one.

    Raises:
        ServeError: the port is used, or there is no such address here.
    """

    def __init__(self, host: str, port: int) -> None:
        if not host:
            raise ServeError("the host is empty: name an address of this machine, or 0.0.0.0 for all it has")
        if not 0 <= port < 1 << 16:
            raise ServeError(f"port {port} must be a whole number from 0 to 65535")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self.socket = socket.create_server((host, port), family=family)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ServeError(
                    f"port {port} of {host} is used already, by another server: take another with --port"
                ) from None
            raise ServeError(f"port {port} of {host} cannot be opened: {error.strerror or error}") from None
        self.port = self.socket.getsockname()[1]
        self.loopback = host in LOOPBACK
        self.url = f"http://{_bracketed(host)}:{self.port}/"

    def meant(self, connection: HTTPConnection) -> bool:
        """Whether a request names this server as its host and, if a browser says where it comes from, comes from its page."""
        host, origin = connection.headers.get("host", ""), connection.headers.get("origin")
        if self.loopback and host not in {f"{_bracketed(name)}:{self.port}" for name in LOOPBACK}:
            return False
        return origin == f"http://{host}" or (origin is None and connection.scope["type"] == "http")

    def admits(self, connection: HTTPConnection, token: str) -> bool:
        """Whether a request is meant for this server and brings this token."""
        brought = connection.query_params.get("token", "")
        return compare_digest(brought.encode(), token.encode()) and self.meant(connection)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def serve_page(page: str, *, port: int = 0, say: Callable[[str], None]) -> None:
    """Serve one page on this machine until interrupted.

    Args:
        page: HTML.
        port: 0 takes a free one.
        say: told of the address when it can be opened.

    Raises:
        ServeError.
    """
    address, token = Address(LOOPBACK[0], port), token_urlsafe(16)

    async def show(request: Request) -> Response:
        return HTMLResponse(page, headers=_HEADERS) if address.admits(request, token) else _forbidden()

    say(f"{address.url}?token={token}")
    _run(Starlette(routes=[Route("/", show)]), address)


def _forbidden() -> Response:
    return PlainTextResponse("This address is not complete, or not meant for you.\n", 403, headers=_HEADERS)


def _run(app: Starlette, address: Address, on_start: Callable[[uvicorn.Server], None] | None = None) -> None:
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=LONGEST_MESSAGE,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    if on_start:
        on_start(server)
    try:
        server.run(sockets=[address.socket])
    finally:
        address.socket.close()


class GameServer:
    """A game on the web: a page and a WebSocket for every person, and the players decide between.

    Args:
        game: what is played.
        language: of the pages at first.
        host, port: where to listen; 0 takes a free port.

    Raises:
        ServeError.
    """

    def __init__(self, game: Game, *, language: str, host: str = LOOPBACK[0], port: int = 0) -> None:
        self.game, self.language = game, language
        self.address = Address(host, port)
        self.tokens = {seat: token_urlsafe(16) for seat in game.people}
        self.failure: str | None = None
        """Why the game ended before its end."""
        self._browsers: dict[int, list[WebSocket]] = {seat: [] for seat in game.people}
        self._moved = asyncio.Event()
        self._deciding = asyncio.Lock()
        """Players are asked one after another: one of them may sit in several seats and give the hints too."""
        self._closing: set[asyncio.Task[None]] = set()
        self._server: uvicorn.Server | None = None

    def url(self, seat: int) -> str:
        """The address for a person's browser; who has it plays that seat."""
        return f"{self.address.url}?token={self.tokens[seat]}"

    def run(self) -> None:
        """Serve until interrupted or until a player fails.

        Raises:
            ServeError: a player failed.
            GameError: the record cannot be written.
        """
        routes = [Route("/", self._page), Route("/analysis", self._analysis), WebSocketRoute("/table", self._table)]
        app = Starlette(routes=routes, lifespan=self._lifespan)
        with self.game:
            _run(app, self.address, lambda server: setattr(self, "_server", server))
            if self.failure:
                raise ServeError(self.failure)

    def stop(self) -> None:
        """End the server soon; from any thread."""
        if self._server:
            self._server.should_exit = True

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        driver = asyncio.create_task(self._drive())
        yield
        driver.cancel()
        with suppress(asyncio.CancelledError):
            await driver

    def _seat(self, connection: HTTPConnection) -> int | None:
        """The seat whose token a request has; None where it is not meant for this server or has none."""
        return next((seat for seat, token in self.tokens.items() if self.address.admits(connection, token)), None)

    async def _page(self, request: Request) -> Response:
        seat = self._seat(request)
        if seat is None:
            return _forbidden()
        rules = self.game.match.rules
        data = {"me": seat, "names": self.game.names, "deals": rules.deals, "rules": str(rules), "practice": self.game.practice}
        page = document("Napoleon", '<main id="play"></main>', data, "play.js", language=self.language)
        return HTMLResponse(page, headers=_HEADERS)

    async def _analysis(self, request: Request) -> Response:
        """The finished deals, open and solved: they are over, and nothing that is still to come can be told from them."""
        if self._seat(request) is None:
            return _forbidden()
        if not self.game.match.history:
            return PlainTextResponse("No deal is over yet.\n", 404, headers=_HEADERS)
        record = self.game.record(running=False)

        def solved() -> str:
            return match_page([("Napoleon", replay(record), record["notes"])], language=self.language, solver=Solver())

        return HTMLResponse(await run_in_threadpool(solved), headers=_HEADERS)

    async def _drive(self) -> None:
        """Let the players decide whenever one of them is to move."""
        game = self.game
        try:
            while True:
                self._moved.clear()
                version, view = game.version, game.view()
                if view is None:
                    await self._moved.wait()
                    continue
                action = await self._decided(game.decide, view)
                if game.version == version:
                    game.play(action)
                    await self._tell_all()
        except GameError as error:
            self.failure = str(error)
            for _, browser in self._all():
                await self._send(browser, {"failed": self.failure})
        finally:
            self.stop()

    async def _decided(self, decide: Callable[[View], str], view: View) -> str:
        async with self._deciding:
            return await run_in_threadpool(decide, view)

    def _all(self) -> list[tuple[int, WebSocket]]:
        return [(seat, browser) for seat, browsers in self._browsers.items() for browser in browsers]

    async def _tell_all(self) -> None:
        for seat, browser in self._all():
            await self._send(browser, self._message(seat))  # made now: while another was waited for, the table may have changed

    def _message(self, seat: int) -> dict[str, Any]:
        return self.game.seen(seat) | {"away": [other for other, browsers in self._browsers.items() if not browsers]}

    async def _send(self, browser: WebSocket, message: dict[str, Any]) -> None:
        """Send, or take a browser that has gone or takes nothing in off the list; it connects again."""
        try:
            await asyncio.wait_for(browser.send_text(json.dumps(message)), PATIENCE)
        except (WebSocketDisconnect, RuntimeError):
            self._forget(browser)
        except TimeoutError:
            self._forget(browser)
            closing = asyncio.create_task(self._close(browser))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _close(self, browser: WebSocket) -> None:
        """End a connection as soon as the browser takes anything in again, however late that is."""
        with suppress(WebSocketDisconnect, RuntimeError):
            await browser.close(1013)  # try again later

    def _forget(self, browser: WebSocket) -> None:
        for browsers in self._browsers.values():
            if browser in browsers:
                browsers.remove(browser)

    async def _table(self, browser: WebSocket) -> None:
        seat = self._seat(browser)
        if seat is None:
            _log.warning("a connection without this game's token or from another page is refused")
            await browser.close(1008)
            return
        await browser.accept()
        self._browsers[seat].append(browser)
        try:
            await self._tell_all()
            while browser in self._browsers[seat]:
                received = await browser.receive()
                if received["type"] == "websocket.disconnect":
                    break
                await self._answer(browser, seat, received.get("text"))
        finally:
            self._forget(browser)
            await self._tell_all()

    async def _answer(self, browser: WebSocket, seat: int, text: str | None) -> None:
        """Do what a browser asks for, or say why not."""
        game = self.game
        try:
            do, message = _read(text)
            version = message.get("version")
            if do == "hint":
                view = game.hint_for(seat, version)
                hint = await self._decided(game.hint, view)
                await self._send(browser, {"hint": hint, "version": version})
                return
            if do == "back":
                game.take_back(version)
            else:
                game.act(seat, message.get("action"), version)
        except GameError as error:
            _log.warning("refused a message from seat %d: %s", seat, error)
            await self._send(browser, {"refused": str(error)})
            return
        self._moved.set()
        await self._tell_all()


def _read(text: str | None) -> tuple[str, dict[str, Any]]:
    """What a message asks for, and the message.

    Raises:
        GameError: it is not one that a page sends.
    """
    try:
        message = json.loads(text or "")
    except (ValueError, RecursionError):
        raise GameError(f"a message is a JSON object, not {shown(text)}") from None
    if not isinstance(message, dict) or message.get("do") not in ("act", "hint", "back"):
        raise GameError(f'a message is a JSON object whose "do" is act, hint or back, not {shown(text)}')
    return message["do"], message
