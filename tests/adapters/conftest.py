"""One group of libraries at a time: `pytest tests/adapters --group main`, in the venv of that group (`make test-adapters`).

Tests of a group's libraries are in its folder, and import the libraries at their top: one that is missing is a failure. What
stands beside the folders is run with every group.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
GROUPS = sorted(path.name for path in HERE.iterdir() if path.is_dir() and not path.name.startswith("_"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--group", required=True, choices=GROUPS, help="whose libraries are installed here")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    other = collection_path.parent == HERE and collection_path.is_dir() and collection_path.name != config.getoption("group")
    return True if other else None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "default")  # the libraries warn of themselves and of each other
