"""The simulation of many workers: it counts what its parts must carry, and names what is full."""

from dataclasses import replace

import pytest

import worker_growth
from worker_growth import MEASURED, joined, of_the_database

FREE = replace(MEASURED, process=0.0, children=0.0, path=0.0, request=0.0, database=0.0, worker=0.0, front=0.0)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_growth, "SECONDS", 2_000.0)


def test_workers_are_full_where_nothing_else_costs() -> None:
    few, more = (joined(workers, 10.0, 1_000, FREE) for workers in (1, 3))
    assert few.full == more.full == "the workers"
    assert few.tasks_per_second == pytest.approx(0.4, rel=0.1) and more.tasks_per_second == pytest.approx(1.2, rel=0.1)
    assert of_the_database(3, 10.0, FREE).tasks_per_second == pytest.approx(1.2, rel=0.1)


def test_a_server_whose_process_is_full_carries_no_more_with_more_workers() -> None:
    slow = replace(FREE, process=0.5)
    found = [joined(workers, 1.0, 1_000, slow) for workers in (5, 20)]
    assert {each.full for each in found} == {"the server's process"}
    assert [each.tasks_per_second for each in found] == pytest.approx([2.0, 2.0], rel=0.1)
    front = of_the_database(20, 1.0, replace(FREE, front=0.5))
    assert (front.full, front.tasks_per_second) == ("the server's process", pytest.approx(2.0, rel=0.1))


def test_paths_of_the_workspace_and_reports_of_running_commands_cost_the_server() -> None:
    paths = joined(20, 1.0, 10_000, replace(FREE, path=1e-5))
    assert paths.tasks_per_second == pytest.approx(10.0, rel=0.1)
    reports = joined(5, 30.0, 0, replace(FREE, request=0.01))
    assert reports.loads["the server's process"] > 0.05
