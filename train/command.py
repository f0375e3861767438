"""How the scripts of this folder are called: arguments from the command line, and bad input as one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tyro

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
