"""The display of a training run: what it says of an update, on a terminal and in a log."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from train import progress
from train.evaluation import Evaluation
from train.ppo import Args
from train.progress import Reporter

FIGURES = {
    "deals/declared": 0.93, "deals/made": 0.55, "auction/pass rate": 0.61, "auction/mean bid": 2.914,
    "entropy/bidding": 0.31, "entropy/declarer": 0.52, "made/2": 0.61, "share/2": 0.75, "made/10": 0.2, "share/10": 0.25,
}  # fmt: skip
EVALUATIONS = [
    Evaluation(2000, "german-4", player, mean, mean - 0.1, mean + 0.1) for player, mean in (("rule", 0.45), ("counting", -0.12))
]


def shown(folder: Path, *, resume: bool = False, terminal: bool) -> str:
    """What a reporter shows of two updates and an evaluation after the second."""
    trainer: Any = SimpleNamespace(rank=0, args=Args(out=folder, resume=resume), update=0, updates=4, seconds={"update": 2.0})
    trainer.decisions = lambda: 1000 * trainer.update
    evaluator: Any = SimpleNamespace(found=[])
    with Reporter(trainer, evaluator) as reporter:
        for trainer.update in (1, 2):
            reporter.show(FIGURES)
        reporter.tell(EVALUATIONS)
        if not terminal:
            return reporter.line()
        text = io.StringIO()
        Console(file=text, width=100).print(reporter.display())
        return text.getvalue()


def test_the_display_has_the_figures_that_matter(tmp_path: Path) -> None:
    lines = [line.rstrip() for line in shown(tmp_path, terminal=True).splitlines()]
    assert "2/4 updates" in lines[0]
    assert lines[1:] == [
        "1,000 decisions a second",
        "deals declared 93%, made 55%, calls that pass 61%, mean bid 2.91",
        "entropy of bidding 0.31, entropy of declarer 0.52",
        "tricks needed       2    10",
        "share of contracts  75%  25%",
        "made                61%  20%",
        "advantage over  rule          counting",
        "german-4        +0.45 ± 0.10  -0.12 ± 0.10",
    ]


def test_a_log_gets_one_line_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = shown(tmp_path, terminal=False)
    assert "; made of 2s 61%, made of 10s 20%; german-4 against rule +0.45 ± 0.10; german-4 against counting" in line
    assert len(capsys.readouterr().err.splitlines()) == 1
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    shown(tmp_path, terminal=False)
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_the_log_of_a_resumed_run_has_nothing_that_was_lost(tmp_path: Path) -> None:
    for resume in (False, True):
        shown(tmp_path, resume=resume, terminal=False)
    log = EventAccumulator(str(tmp_path / "log")).Reload()
    assert [(event.step, event.value) for event in log.Scalars("deals/made")] == [
        (s, pytest.approx(0.55)) for s in (1000, 2000)
    ]
    (low,) = log.Scalars("eval/german-4/rule low")
    assert (low.step, low.value) == (2000, pytest.approx(0.35))
