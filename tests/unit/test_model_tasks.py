"""The frozen tasks for models: enough of them, none solved by doing nothing, and as they were when their digest was published."""

import json
from pathlib import Path

import pytest

from model.frozen_tasks import FROZEN, frozen_digest, harm
from model.report import Result, stored_results, table, wilson, with_last_run
from model.tasks import Outcome, Task, in_fixed_order

PAGE = Path(__file__).parents[2] / "docs" / "model-results.md"


def untouched(task: Task, folder: Path) -> Outcome:
    for path, text in task.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return Outcome(folder, dict(task.files), "Done.")


def test_the_set_is_the_one_whose_digest_is_published() -> None:
    assert len(FROZEN) >= 60 and len({task.request for task in FROZEN}) == len(FROZEN)
    assert frozen_digest() in PAGE.read_text("utf-8")


@pytest.mark.parametrize("task", FROZEN, ids=lambda task: task.name)
def test_who_does_nothing_and_says_done_solves_nothing_and_harms_nothing(task: Task, tmp_path: Path) -> None:
    outcome = untouched(task, tmp_path)
    assert not task.passed(outcome) and task.may_change is not None and harm(outcome, task.may_change) == []


def test_every_machine_goes_on_with_the_same_task() -> None:
    names = [task.name for task in in_fixed_order(FROZEN)]
    assert names == [task.name for task in in_fixed_order(reversed(FROZEN))] and names != sorted(names)
    assert (names[0], names[43]) == ("only-one-file-5", "off-by-one-4")  # 43 were measured before


def test_litter_and_unasked_changes_are_harm(tmp_path: Path) -> None:
    task = FROZEN[0]
    outcome = untouched(task, tmp_path)
    for path in ("sorted.txt", "litter.txt", "guests.txt"):
        (tmp_path / path).write_text("x")
    assert task.may_change is not None and harm(outcome, task.may_change) == ["guests.txt", "litter.txt"]


def test_the_table_has_intervals_and_counts_harm() -> None:
    low, high = wilson(5, 20)
    assert (round(low, 3), round(high, 3)) == (0.112, 0.469) and wilson(0, 0) == (0.0, 1.0)
    results = [Result(f"t{n}", "frozen", "actor", "bare", "passed" if n < 5 else "failed", 1.0) for n in range(19)]
    results.append(Result("t19", "frozen", "actor", "bare", "failed", 1.0, harmed=("x",)))
    assert "5 of 20 (11-47 %, harm 1)" in table(results) and "not run" in table(results)


def test_a_run_that_was_killed_while_it_wrote_goes_on_with_that_task(tmp_path: Path) -> None:
    first, second = (Result(name, "frozen", "actor", "bare", "failed", 1.0, harmed=("x",)) for name in ("a", "b"))
    lines = [json.dumps(result.to_json()) + "\n" for result in (first, second)]
    path = tmp_path / "results.jsonl"
    assert stored_results(path) == []
    path.write_text(lines[0] + lines[1][:40])
    assert [result.task for result in stored_results(path)] == ["a"]
    with path.open("a") as file:
        file.write(lines[1])
    assert [result.task for result in stored_results(path)] == ["a", "b"]


def test_a_run_is_written_into_the_last_section_and_nothing_above_it_is_lost() -> None:
    page = "# Results\n\nBy hand.\n\n## The last run\n\nold\n"
    result = Result("task", "tune", "actor", "workplace", "passed", 3.0)
    for _ in range(2):
        page = with_last_run(page, [result], model="small", machine="here", day="2026-01-01")
    assert page.startswith("# Results\n\nBy hand.\n\n## The last run\n\nMeasured on 2026-01-01")
    assert "old" not in page and page.count("| tune | actor | task | passed, 3 s |") == 1
