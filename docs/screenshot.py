"""The picture in README: `python docs/screenshot.py` plays a match, shows it in Chromium and writes docs/table.jpg."""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

from napoleon_env import Match, make_player
from napoleon_env.solver import Solver
from napoleon_env.viewer.page import match_page

FOLDER = Path(__file__).resolve().parent
PLAYERS = ("counting", "rule", "counting", "rule")
STEPS = 44
"""Frames before the one that is shown: a card that gives the contract away."""


def played() -> Match:
    """A match of two of the built-in players by the Russian rules."""
    match, players = Match("russian", seed=11, deals=2), [make_player(name) for name in PLAYERS]
    while match.seat is not None:
        match.play(players[match.seat].act(match.view(match.seat, seed=0)))
    return match


def main() -> None:
    """Write the picture."""
    matches = [("counting and rule", played(), {"players": PLAYERS})]
    page_text = match_page(matches, language="en", solver=Solver(), player=make_player("counting"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1240, "height": 850})
        page.set_content(page_text)
        for _ in range(STEPS):
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(500)
        page.screenshot(path=FOLDER / "table.jpg", type="jpeg", quality=82)
        browser.close()


if __name__ == "__main__":
    main()
