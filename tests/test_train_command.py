"""How the training scripts are called: bad input is a sentence, and faults of others keep their traceback."""

import sys
from dataclasses import dataclass

import pytest

from napoleon_env.ruleset import Ruleset, RulesetError
from train.command import make_ruleset, run


@dataclass
class Args:
    """What a test asks for."""

    rules: str = "german"
    """Preset."""


def test_bad_input_is_a_sentence_and_exit_code_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["folder/script.py", "--rules", "nosuch"])
    with pytest.raises(SystemExit) as ended:
        run(lambda args: Ruleset.make(args.rules), Args, None)
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err == "script.py: preset 'nosuch' does not exist: there are german, portuguese, russian, english\n"
    )


def test_an_error_of_another_package_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["script.py"])
    with pytest.raises(ValueError, match="invalid literal"):
        run(lambda args: int(args.rules), Args, None)


def test_what_arguments_of_their_own_tell_is_not_set_as_a_field() -> None:
    assert make_ruleset("russian", 3, ("deals=2",)) == Ruleset.make("russian", players=3, deals=2)
    for name, option in (("players", "players"), ("preset", "rules")):
        with pytest.raises(RulesetError, match=f"--set {name}: that is told by --{option}"):
            make_ruleset("german", 4, (f"{name}=5",))
