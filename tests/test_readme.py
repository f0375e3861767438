"""README tells the truth: its examples run, its tables are the code's."""

import re
from pathlib import Path

import pytest

from napoleon_env.notation import ACTION_NAMES, N_ACTIONS

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "README.md", "exec"), {})
    promised = re.findall(r"^print\(.*\)\s+# (.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised


def test_the_table_of_actions_is_the_notations() -> None:
    rows = re.findall(r"^\| (\d+)(?:–(\d+))? \| `([^`]+)`(?: … `([^`]+)`)? \|$", README, re.MULTILINE)
    covered: list[int] = []
    for first, last, name, last_name in rows:
        ids = range(int(first), int(last or first) + 1)
        assert ACTION_NAMES[ids[0]] == name
        assert ACTION_NAMES[ids[-1]] == (last_name or name)
        covered += ids
    assert covered == list(range(N_ACTIONS))


def test_every_command_is_listed() -> None:
    from napoleon_env.__main__ import app

    listed = re.findall(r"^\| `(\w+)[^|]*` \| ", README, re.MULTILINE)
    names = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    assert set(names) <= set(listed)
