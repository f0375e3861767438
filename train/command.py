"""How the scripts of this folder are called: arguments from the command line, rule sets, and bad input as one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import tyro

from napoleon_env.observation import observation_layout
from napoleon_env.ruleset import Ruleset, RulesetError, parse_changes

OWN = ("napoleon_env", "agents", "train", "__main__")
"""Whose errors are sentences for the user; those of other packages keep their traceback."""


def run(main: Callable[[Any], Any], args: type[Any], description: str | None) -> None:
    """Call `main` with the `args` of the command line; what a user can cause ends it with a sentence and exit code 2."""
    given = tyro.cli(args, description=description)
    try:
        main(given)
    except KeyboardInterrupt:
        go_on = ": --resume goes on from the last training state" if hasattr(given, "resume") else ""
        print(f"{sys.argv[0].rsplit('/', 1)[-1]}: interrupted{go_on}", file=sys.stderr)
        sys.exit(130)
    except ValueError as error:
        if type(error).__module__.split(".")[0] not in OWN:
            raise
        print(f"{sys.argv[0].rsplit('/', 1)[-1]}: {error}", file=sys.stderr)
        sys.exit(2)


def make_ruleset(preset: str, players: int, changes: Iterable[str]) -> Ruleset:
    """The rule set of `--rules`, `--players` and `--set`.

    Raises:
        RulesetError: there is none.
    """
    fields = parse_changes(changes)
    for name in ("preset", "players"):
        if name in fields:
            raise RulesetError(f"--set {name}: that is told by --{'rules' if name == 'preset' else name}")
    return Ruleset.make(preset, players=players, **fields)


def unknown_features(names: Iterable[str]) -> str | None:
    """What is wrong with the features that `--omit` names, in a sentence; None where they are there."""
    unknown = sorted(set(names) - {row["name"] for row in observation_layout()})
    return f"omit={','.join(unknown)} is no feature: napoleon_env.observation_layout() has all of them" if unknown else None
