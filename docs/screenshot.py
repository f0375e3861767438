"""The picture in README: `python docs/screenshot.py` plays a match, shows it in Chromium and writes docs/table.png."""

import shutil
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from napoleon_env import Match, make_player
from napoleon_env.record import to_record
from napoleon_env.solver import Solver
from napoleon_env.viewer.page import match_page

FOLDER = Path(__file__).resolve().parent
PLAYERS = ("counting", "rule", "counting", "rule")
STEPS = 11
"""Decisions before the one that is shown."""


def record() -> dict:
    """A match of two of the built-in players by the Russian rules."""
    match, players = Match("russian", seed=11, deals=3), [make_player(name) for name in PLAYERS]
    while match.seat is not None:
        match.play(players[match.seat].act(match.view(match.seat, seed=0)))
    return to_record(match, notes={"players": list(PLAYERS)})


def main() -> None:
    """Write the picture, in few colours so that it is small."""
    page_text = match_page([("counting and rule", record())], language="en", solver=Solver(), player=make_player("counting"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1240, "height": 850})
        page.set_content(page_text)
        for _ in range(STEPS):
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(500)
        picture = Image.open(BytesIO(page.screenshot()))
        browser.close()
    picture.convert("RGB").quantize(96).save(FOLDER / "table.png", optimize=True)


if __name__ == "__main__":
    main()
