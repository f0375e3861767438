"""The pages in real Chromium: every rule set, every language, mouse, keyboard and phone, and nothing leaves the machine.

Run by `make test-viewer`, which brings axe-core; Chromium itself is the system's.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright
from test_play import let_play, new_game, served
from test_training_page import make_run
from test_viewer import agent_with_value, played

from napoleon_env import Ruleset, read_records, replay, write_records
from napoleon_env.__main__ import run
from napoleon_env.record import check, to_record
from napoleon_env.report import write_html
from napoleon_env.solver import Solver
from napoleon_env.tournament import run_tournament, swing_records
from napoleon_env.viewer.page import match_page
from napoleon_env.viewer.server import GameServer
from napoleon_env.viewer.words import OF_PRESET, text
from train.page import Args, write_page

pytestmark = pytest.mark.browser

PRESETS = ("german", "portuguese", "russian", "english")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
AXE = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.fail("Chromium is not installed: on Debian, apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., GameServer]]:
    """Serves games until the pages are closed."""
    with ExitStack() as servers:
        yield lambda game, **how: servers.enter_context(served(game, **how))


@pytest.fixture
def open_page(chromium: Browser, serve: Callable[..., GameServer]) -> Iterator[Callable[..., Page]]:
    """Opens pages; at the end none has had an error in its console or asked for anything outside this machine."""
    contexts, problems = [], []

    def opener(url: str, size: ViewportSize = DESKTOP, expected: str = "nothing", **how: Any) -> Page:
        context = chromium.new_context(viewport=size, **how)
        contexts.append(context)
        context.add_init_script(KEEP_SOCKETS)
        page = context.new_page()
        page.set_default_timeout(60000)  # players are compiled first
        watch(page, expected)
        context.on("page", watch)
        page.goto(url)
        return page

    def watch(page: Page, expected: str = "nothing") -> None:
        page.on("console", lambda message: said(message.type, message.text) if expected not in message.text else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: outside(request.url))
        page.on("websocket", lambda socket: outside(socket.url))

    def said(kind: str, words: str) -> None:
        if kind in ("error", "warning"):
            problems.append(words)

    def outside(url: str) -> None:
        if not re.match(r"(file:///|data:|blob:|(http|ws)://127\.0\.0\.1:\d+/)", url):
            problems.append(f"asked for {url}")

    yield opener
    for context in contexts:
        context.close()
    assert problems == []


KEEP_SOCKETS = """window.sockets = [];
window.WebSocket = class extends WebSocket { constructor(...a) { super(...a); window.sockets.push(this); } };"""


def accessible(page: Page) -> None:
    """No violation of WCAG 2.2 A and AA or of axe's best practices."""
    if not AXE.exists():
        pytest.fail(f"{AXE} is not there: make test-viewer brings axe-core")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in found] == []


def fits(page: Page) -> None:
    """Nothing sticks out of the window at its sides, and every card and plate is on the felt."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    out = page.evaluate(
        """() => { const felt = document.querySelector('.table').getBoundingClientRect();
        const outside = (r) => r.left < felt.left - 1 || r.right > felt.right + 1
          || r.top < felt.top - 1 || r.bottom > felt.bottom + 1;
        const parts = [...document.querySelectorAll('.table .card, .plate')];
        return parts.filter((part) => outside(part.getBoundingClientRect())).length; }"""
    )
    assert out == 0


# A match, step by step.


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A page of each rule set, as `napoleon view` writes it, by its address."""
    made = {}
    for players, preset in zip((4, 3, 5, 6), PRESETS, strict=True):
        file = tmp_path_factory.mktemp("view") / f"{preset}.jsonl"
        write_records(file, [to_record(played(preset, players), notes={"players": ["rule"] * players, "why": "a test"})])
        assert run(["view", str(file), "--agent", "rule"]) == 0
        made[preset] = file.with_suffix(".html").as_uri()
    return made


@pytest.mark.parametrize("preset", PRESETS)
def test_a_match_is_stepped_through_to_its_end_and_back(
    preset: str, pages: dict[str, str], open_page: Callable[..., Page]
) -> None:
    page, language = open_page(pages[preset]), OF_PRESET[preset]
    total = page.evaluate("DATA.matches[0].frames.length")
    seen = []
    for _ in range(total - 1):
        seen.append(page.inner_text("#story"))
        fits(page)
        page.click("#go-forward")
    expect(page.locator("#go-forward")).to_have_attribute("aria-disabled", "true")
    match = replay(next(read_records(page.url.removeprefix("file://").replace(".html", ".jsonl")))[1])
    over = text(language, "winners", who=", ".join(text(language, "seat", seat=seat) for seat in match.winners))
    expect(page.locator(".status")).to_contain_text(over)
    scores = page.locator(".scores tbody td:last-child").all_inner_texts()
    assert [int(score.replace("−", "-")) for score in scores] == match.scores
    for _ in range(total - 1):
        page.click("#go-back")
        assert page.inner_text("#story") == seen.pop()
    assert not seen


@pytest.mark.parametrize("preset", PRESETS)
def test_keys_go_by_step_trick_and_deal(preset: str, pages: dict[str, str], open_page: Callable[..., Page]) -> None:
    page = open_page(pages[preset])
    frames = page.evaluate("whole(DATA.matches[0].frames).map((now) => [now.deal, now.tricks.length])")

    def at() -> int:
        now, total = map(int, re.findall(r"\d+", page.get_attribute(".controls", "aria-label") or ""))
        assert total == len(frames)
        return now - 1

    page.keyboard.press("ArrowRight")
    assert at() == 1
    page.keyboard.press("ArrowLeft")
    assert at() == 0
    page.keyboard.press("PageDown")
    assert frames[at()][0] == 1
    assert frames[at() - 1][0] == 0
    page.keyboard.press("PageUp")
    assert at() == 0
    tricks = set()
    for _ in range(12):
        page.keyboard.press("ArrowDown")
        tricks.add(tuple(frames[at()][:2]))
    assert {(0, 1), (0, 2)} <= tricks
    page.keyboard.press("End")
    assert at() == len(frames) - 1
    page.keyboard.press("Home")
    assert at() == 0


def test_one_seats_view_hides_what_that_seat_may_not_know(pages: dict[str, str], open_page: Callable[..., Page]) -> None:
    page = open_page(pages["russian"])
    page.select_option("#language", "en")
    page.select_option("#hands", "2")
    for _ in range(40):
        hands = page.locator(".seat").evaluate_all(
            "seats => seats.map((seat) => [...seat.querySelectorAll('.card')].map((card) => card.getAttribute('aria-label')))"
        )
        own, *others = hands  # the seat whose view it is sits at the bottom, and comes first
        assert "face down" not in own
        assert set().union(*others) <= {"face down"}
        expect(page.locator(".decision")).to_have_count(int("Seat 2" in page.inner_text(".status")))
        page.keyboard.press("ArrowRight")


def test_every_decision_shows_policy_value_worth_and_loss(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    (tmp_path / "agent.onnx").write_bytes(agent_with_value(0.25))
    write_records(tmp_path / "m.jsonl", [played("german", 4)])
    assert run(["view", str(tmp_path / "m.jsonl"), "--agent", str(tmp_path / "agent.onnx"), "--lang", "en"]) == 0
    page = open_page((tmp_path / "m.html").as_uri())
    while page.evaluate("!document.querySelector('.trick li')"):
        page.keyboard.press("ArrowRight")
    box = page.locator(".decision")
    assert box.locator("thead th").all_inner_texts()[:4] == ["choice", "policy", "open cards", "loss"]
    expect(box).to_contain_text("value head +0.25")
    assert "chosen" in box.locator("tr.chosen").inner_text()
    shares = [float(cell.split()[0]) for cell in box.locator(".chance").all_inner_texts()]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert page.locator(".held .tag").count() == box.locator("tbody tr").count()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_match_is_accessible_and_fits(
    preset: str, size: ViewportSize, pages: dict[str, str], open_page: Callable[..., Page]
) -> None:
    for scheme in ("light", "dark"):
        page = open_page(pages[preset], size, color_scheme=scheme, reduced_motion="reduce")
        for key in ("Home", "ArrowDown", "ArrowRight", "End"):
            page.keyboard.press(key)
            accessible(page)
            fits(page)


def test_a_window_made_narrow_keeps_its_place(pages: dict[str, str], open_page: Callable[..., Page]) -> None:
    page = open_page(pages["english"])
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    before = page.inner_text("#story")
    page.set_viewport_size(PHONE)
    fits(page)
    assert page.inner_text("#story") == before
    page.set_viewport_size({"width": PHONE["height"], "height": PHONE["width"]})
    fits(page)
    page.set_viewport_size(PHONE)
    buttons = page.locator(".buttons button:visible")
    assert buttons.count() == 6
    for box in (button.bounding_box() for button in buttons.all()):
        assert box is not None
        assert min(box["width"], box["height"]) >= 40
    assert page.locator("#go-forward").evaluate("b => { const r = b.getBoundingClientRect(); return r.bottom <= innerHeight; }")


@pytest.mark.parametrize("preset", PRESETS)
def test_hands_of_eight_at_a_table_of_six_fit_a_phone(preset: str, tmp_path: Path, open_page: Callable[..., Page]) -> None:
    rules = Ruleset.make(preset, players=6, hand_size=8, lowest_rank="2")
    match = played(rules, 6, deals=1)
    (tmp_path / "m.html").write_text(match_page([("m", match, {"players": ["a rather long name"] * 6})]))
    page = open_page((tmp_path / "m.html").as_uri(), PHONE)
    for _ in range(12):
        fits(page)
        page.keyboard.press("ArrowRight")


def test_all_hands_and_calls_are_read_out(pages: dict[str, str], open_page: Callable[..., Page]) -> None:
    page = open_page(pages["german"])
    page.select_option("#language", "en")
    tree = page.locator("main").aria_snapshot()
    for wanted in (
        'heading "german.jsonl',
        'region "Table"',
        'group "Seat 1: rule',
        'img "',
        "of spades",
        'button "Forward"',
        'slider "Place in the deal"',
    ):
        assert wanted in tree, wanted
    page.click("#go-forward")
    expect(page.locator("#story[aria-live=polite]")).to_have_text(re.compile(r"^Seat \d: (pass|\d)\. Seat \d to act, call$"))


# Pages of numbers.


def test_a_number_of_a_tournament_leads_to_the_deals_that_explain_it(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    file = tmp_path / "t.html"
    players = ["rule", "random as <i>x</i>", "counting"]
    result = run_tournament(players, players=3, deals=20)
    write_html(result, file, swings=swing_records(result, players))
    for size, scheme in ((DESKTOP, "light"), (PHONE, "dark")):
        page = open_page(file.as_uri(), size, color_scheme=scheme, reduced_motion="reduce")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator("[data-intervals] svg").count() == 2
        accessible(page)
        page.click("[data-deals='0 1']")
        expect(page.locator("#deals .table")).to_be_visible()
        options = page.locator("#match option").all_inner_texts()
        assert len(options) == len(page.evaluate("DATA.deals['0 1']"))
        assert all("rule in seat" in option for option in options)
        page.keyboard.press("ArrowRight")
        accessible(page)
        page.click("[data-deals='2']")
        expect(page.locator("[aria-pressed=true]")).to_have_count(1)
        assert "counting in seat" in page.locator("#match option").first.inner_text()


def test_a_number_of_a_training_run_leads_to_the_deals_that_explain_it(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    file = write_page(Args(make_run(tmp_path), matches=4))
    for size, scheme in ((DESKTOP, "dark"), (PHONE, "light")):
        page = open_page(file.as_uri(), size, color_scheme=scheme, reduced_motion="reduce")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator("[data-curve] svg").count() == 3
        accessible(page)
        page.locator("[data-deals]").first.click()
        expect(page.locator("#deals .table")).to_be_visible()
        expect(page.locator("#deals h1")).to_be_focused()


@pytest.mark.parametrize(
    ("ticks", "names"),
    [
        ([0.999, 0.9995, 1.0], ["0.999", "0.9995", "1"]),
        ([-0.5, 0.0, 0.5], ["-0.5", "0", "0.5"]),
        ([10_000_000, 20_000_000], ["10M", "20M"]),
        ([10_010_000, 10_020_000], ["10.01M", "10.02M"]),
        ([1234.0], ["1.23k"]),
    ],
)
def test_the_ticks_of_an_axis_are_told_apart(
    ticks: list[float], names: list[str], tmp_path: Path, open_page: Callable[..., Page]
) -> None:
    page = open_page(write_page(Args(make_run(tmp_path), matches=1)).as_uri(), DESKTOP)
    assert page.evaluate("(ticks) => named(ticks).map(([, name]) => name)", ticks) == names


def test_an_axis_that_passes_zero_has_a_tick_there(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(write_page(Args(make_run(tmp_path), matches=1)).as_uri(), DESKTOP)
    assert page.evaluate("ticks(-0.7, 0.5, 6)") == [-0.6, -0.4, -0.2, 0, 0.2, 0.4]


# A game.


@pytest.mark.parametrize("preset", PRESETS)
def test_a_whole_match_is_played_by_clicks_in_the_language_of_its_text(
    preset: str, tmp_path: Path, open_page: Callable[..., Page], serve: Callable[..., GameServer]
) -> None:
    language = OF_PRESET[preset]
    game = new_game(preset, "human,counting,rule", deals=3, seed=12, path=str(tmp_path / "m.jsonl"))
    server = serve(game, language=language)
    page = open_page(server.url(0))
    page.select_option("#speed", "at once")
    said = play_on(page, lambda button: button.click())
    expect(page.locator(".side")).to_contain_text(text(language, "saved", file="m.jsonl"))
    for word in ("trump", "dealer", "declarer", "tricks", "your turn"):
        assert text(language, word).lower() in said.lower(), word
    with page.context.expect_page() as opened:
        page.click("#analysis")
    expect(opened.value.locator("#place")).to_be_visible()
    assert opened.value.evaluate("whole(DATA.matches[0].frames).at(-1).deal + 1") == len(game.match.history)
    assert game.match.over
    assert check(tmp_path / "m.jsonl").matches == 1


def play_on(page: Page, press: Callable[[Any], None], until: str = ".seat.winner") -> str:
    """Play until something is there, always by the first button that is offered; returns all that was shown."""
    said = []
    while True:
        page.wait_for_selector(f"{until}, .choices .action, .hand button")
        said.append(
            page.inner_text("main")
            + " ".join(page.locator("[aria-label]").evaluate_all("all => all.map((x) => x.getAttribute('aria-label'))"))
        )
        if page.locator(until).count():
            return "\n".join(said)
        version = page.inner_text("#story")
        press(page.locator(".choices .action, .hand button").first)
        page.wait_for_function("before => document.querySelector('#story').textContent !== before", arg=version)


def test_a_match_is_played_by_keys_alone(open_page: Callable[..., Page], serve: Callable[..., GameServer]) -> None:
    server = serve(new_game("english", "human,rule,rule", deals=2, seed=4))
    page = open_page(server.url(0), reduced_motion="reduce")
    page.locator("#speed").focus()
    page.keyboard.press("End")
    page.locator(".table").wait_for()

    def press(button: Any) -> None:
        for _ in range(60):
            if button.evaluate("button => button === document.activeElement"):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")

    play_on(page, press)


def test_a_game_is_accessible_at_every_question(open_page: Callable[..., Page], serve: Callable[..., GameServer]) -> None:
    for size in (DESKTOP, PHONE):
        server = serve(new_game("russian", "human,rule", deals=1, seed=3, practice=True))
        page = open_page(server.url(0), size, reduced_motion="reduce")
        page.select_option("#speed", "at once")

        def press(button: Any, page: Page = page) -> None:
            accessible(page)
            fits(page)
            button.click()

        play_on(page, press)
        accessible(page)


def test_hint_and_take_back_in_the_browser(open_page: Callable[..., Page], serve: Callable[..., GameServer]) -> None:
    server = serve(new_game("german", deals=1, practice=True))
    page = open_page(server.url(0))
    page.select_option("#speed", "at once")
    expect(page.locator("#back")).to_be_disabled()
    page.click("#hint")
    expect(page.locator(".notice")).to_contain_text("Hint: ")
    expect(page.locator(".action.hinted")).to_have_count(1)
    before = page.inner_text("#story")
    page.click("[data-action=pass]")
    expect(page.locator("#back")).to_be_enabled()
    page.click("#back")
    expect(page.locator("#story")).to_have_text(before)


def test_two_browsers_at_two_seats_one_reloads_and_one_loses_its_connection(
    tmp_path: Path, open_page: Callable[..., Page], serve: Callable[..., GameServer]
) -> None:
    game = new_game("german", "human,rule,human", deals=1, seed=21, path=str(tmp_path / "m.jsonl"))
    server = serve(game)
    tables = [open_page(server.url(seat)) for seat in game.people]
    for page in tables:
        page.select_option("#speed", "at once")
    turn = 0
    while not game.match.over:
        page = next((p for p in tables if p.locator(".choices .action, .hand button").count()), None)
        if page is None:
            tables[0].wait_for_timeout(50)
            continue
        turn += 1
        if game.match.phase == "play" and turn % 2:
            before = page.inner_text(".table")
            page.reload()  # in the middle of a trick
            page.wait_for_selector(".hand button")
            assert page.inner_text(".table") == before
        elif game.match.phase == "play":
            page.evaluate("sockets.at(-1).close()")
            expect(page.locator(".status")).to_contain_text("No connection")
            page.wait_for_selector(".hand button")
        page.locator(".choices .action, .hand button").first.click()
        page.wait_for_timeout(60)
    for page in tables:
        expect(page.locator(".seat.winner").first).to_be_visible()
    assert check(tmp_path / "m.jsonl").matches == 1


def test_a_server_that_has_gone_is_waited_for(open_page: Callable[..., Page]) -> None:
    game = new_game(deals=1)
    with served(game) as server:
        page = open_page(server.url(0), expected="ERR_CONNECTION_REFUSED")
        page.wait_for_selector(".choices .action")
    expect(page.locator(".status")).to_contain_text("No connection")
    expect(page.locator(".choices .action")).to_have_count(0)


def test_the_page_of_finished_deals_opens_at_the_deal_asked_for(open_page: Callable[..., Page], tmp_path: Path) -> None:
    game = new_game("german", deals=3, seed=2)
    while not game.match.over:
        let_play(game)
        if game.match.seat == 0:
            game.act(0, game.seen(0)["legal"][0], game.version)
    (tmp_path / "m.html").write_text(match_page([("m", game.match, None)], solver=Solver(), language="en"))
    page = open_page((tmp_path / "m.html").as_uri() + "#deal=2")
    expect(page.locator(".bar")).to_contain_text("Deal 2 of")
