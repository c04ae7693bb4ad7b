"""The tasks of `make test-model`: none is passed by doing nothing or by claiming success."""

from collections import Counter
from pathlib import Path

import pytest

from model.former_tasks import FORMER
from model.report import Result, page, table
from model.report_tasks import REPORT
from model.tasks import TUNE, Outcome, Task

ALL = (*TUNE, *FORMER, *REPORT)


def test_every_task_has_a_name_of_its_own_and_says_what_it_is_for():
    assert len({task.name for task in ALL}) == len(ALL)
    assert Counter(task.half for task in ALL) == {"tune": 75, "report": 15}


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_whoever_does_nothing_and_says_done_has_not_passed(task: Task, tmp_path: Path):
    for path, text in task.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    before = Outcome(tmp_path, {}, "").files()
    assert not task.passed(Outcome(tmp_path, before, "Done. Everything was completed successfully."))


def test_the_page_counts_what_was_run_and_nothing_else():
    results = [
        Result("a", "report", "actor", "workplace", "passed", 3.0),
        Result("b", "report", "actor", "workplace", "out of time", 9.0),
        Result("a", "report", "actor", "bare", "failed", 2.0),
    ]
    assert "1 of 2" in table(results) and "0 of 1" in table(results)
    written = page(results, model="m", machine="x", day="2026-11-15")
    assert "| report | actor | b | out of time, 9 s | not run | not run |" in written
