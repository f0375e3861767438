"""The rule sheets and their cases: every rule number has a sheet entry and a record that shows it."""

import json
import re
from pathlib import Path

import pytest
from reference import check_record

from napoleon_env.record import check

SEEDS = Path(__file__).resolve().parent.parent / "seeds"
CASES = sorted((SEEDS / "cases").glob("*.jsonl"))
SHEETS = {"C": "common", "G": "german", "P": "portuguese", "R": "russian", "E": "english"}
NUMBERS = [
    *(f"C{n}" for n in range(1, 12)),
    *(f"G{n}" for n in range(1, 11)),
    *(f"P{n}" for n in range(1, 7)),
    *(f"R{n}" for n in range(1, 17)),
    *(f"E{n}" for n in range(1, 6)),
]
EXEMPT = {"C8": "a record says who dealt first, not how that seat was chosen"}
"""Rule numbers that no record can show, and why; seeds/README.md says the same."""


def shown_rules() -> set[str]:
    records = [json.loads(line) for path in CASES for line in path.read_text().splitlines()]
    return {number for record in records for number in record["notes"]["rules"]}


@pytest.mark.parametrize("number", NUMBERS)
def test_every_rule_number_stands_in_its_sheet(number: str) -> None:
    sheet = (SEEDS / f"{SHEETS[number[0]]}.md").read_text()
    assert re.search(rf"^(### |\| ){number}\b", sheet, re.MULTILINE), f"{number} is not in the sheet"


@pytest.mark.parametrize("number", NUMBERS)
def test_every_rule_number_has_a_case_or_is_exempt(number: str) -> None:
    assert (number in shown_rules()) != (number in EXEMPT)
    if number in EXEMPT:
        assert f"| {number} | {EXEMPT[number]} |" in (SEEDS / "README.md").read_text()


def test_no_case_shows_a_rule_that_does_not_exist() -> None:
    assert shown_rules() <= set(NUMBERS)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_cases_agree_with_the_core_and_with_the_second_reading(path: Path) -> None:
    report = check(path)
    assert not report.problems
    for line in path.read_text().splitlines():
        assert check_record(json.loads(line)) is None
