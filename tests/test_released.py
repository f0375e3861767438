"""The agents that come with the package."""

import tomllib
from itertools import product
from pathlib import Path

import pytest

import napoleon_env as ne
from napoleon_env.agent import OnnxPlayer
from napoleon_env.roster import RELEASED, fingerprint, released_agent
from napoleon_env.ruleset import PRESETS
from napoleon_env.tournament import run_tournament

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "agents" / "released"


def test_each_has_a_file_and_a_card_and_all_are_a_few_megabytes() -> None:
    assert {path.stem for path in FOLDER.glob("*.onnx")} == set(RELEASED)
    for name in RELEASED:
        assert (FOLDER / f"{name}.md").read_text().startswith(f"# {name}\n")
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 8e6


def test_the_wheel_holds_them_and_all_packages() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    here = {str(path.parent.relative_to(ROOT)).replace("/", ".") for path in (ROOT / "napoleon_env").rglob("__init__.py")}
    assert set(tools["packages"]) == here | {"napoleon_env.released"}
    assert ROOT / tools["package-dir"]["napoleon_env.released"] == FOLDER
    assert released_agent("universal") == FOLDER / "universal.onnx"


@pytest.mark.parametrize(("preset", "players"), list(product(PRESETS, range(2, 7))))
def test_the_universal_one_knows_every_rule_set_and_number_of_players(preset: str, players: int) -> None:
    rules = ne.Ruleset.make(preset, players=players)
    agent = ne.make_player("universal")
    assert isinstance(agent, OnnxPlayer)
    assert rules.header in agent.metadata["rules"]
    match = ne.Match(rules, seed=players)
    while match.seat is not None:
        match.play(agent.act(match.view(match.seat, seed=0)))
    assert match.over


@pytest.mark.parametrize("name", RELEASED)
def test_they_beat_the_rule_of_thumb(name: str) -> None:
    (edge,) = run_tournament([(name, name), ("rule", "rule")], rules="german", deals=1000).edges().values()
    assert edge.low > 0


def test_a_name_stands_for_its_file() -> None:
    assert fingerprint("universal:sample=true") == fingerprint(str(FOLDER / "universal.onnx"))
    assert ne.make_player("guided:agent=universal,worlds=2").agent.path == FOLDER / "universal.onnx"
