"""A graph of tasks: what waits for itself is found and named, however long the graph."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.jobs import JobTask, task_names
from anycowork.domain.plan import BadGraph, TaskGraph, explain_plan, read_plan
from support.spec import proves

GRAPHS = st.dictionaries(st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefg"), max_size=3), min_size=1)


def chained(count: int) -> dict[str, list[str]]:
    """Each waits for the next: the worst order for whoever looks from the first to the last."""
    return {str(n): [str(n + 1)] if n + 1 < count else [] for n in range(count)}


@proves("JOB-2/4")
@given(GRAPHS)
def test_a_graph_is_taken_if_it_can_be_done_in_some_order_and_else_the_named_ids_wait_for_each_other(
    graph: dict[str, list[str]],
) -> None:
    known = {task: [need for need in needs if need in graph] for task, needs in graph.items()}
    try:
        taken = TaskGraph.of(known)
    except BadGraph as bad:
        assert bad.ids and all(set(known[task]) & set(bad.ids) for task in bad.ids)
        assert all(any(task in known[other] for other in bad.ids) for task in bad.ids), "a cycle, and nothing beside it"
        return
    done: set[str] = set()
    while ready := taken.ready(done):
        done.update(ready)
    assert done == known.keys()


def test_checking_a_graph_grows_no_faster_than_the_graph() -> None:
    def cost(count: int) -> float:
        graph, best = chained(count), float("inf")
        for _ in range(3):
            began = time.process_time()
            TaskGraph.of(graph)
            best = min(best, time.process_time() - began)
        return best

    assert cost(20_000) < 12 * cost(4_000), "five times as long, with room for a machine at work"


@proves("PLN-1")
def test_a_chain_of_ten_thousand_steps_is_a_plan_and_a_longer_one_is_too_long() -> None:
    def plan(count: int) -> dict[str, object]:
        return {
            "goal": "g",
            "steps": [{"id": i, "action": "a", "dependencies": needs} for i, needs in chained(count).items()],
        }

    assert read_plan(plan(10_000)) is not None  # type: ignore[arg-type]  # test data
    assert "at most 10000 steps" in explain_plan(plan(10_001))  # type: ignore[arg-type]  # test data


@proves("PLN-1", "JOB-2/4", "JOB-2/5", "JOB-2/6")
@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([("1", ["3"]), ("2", ["1"]), ("3", ["2"]), ("4", ["3"])], "these tasks wait for each other: 1, 2, 3"),
        ([("1", ["9"]), ("2", ["8"])], "unknown dependencies: 8, 9"),
        ([("1", []), ("1", [])], "several steps have the same id: 1"),
    ],
)
def test_what_is_wrong_with_a_plan_names_the_ids(steps: list[tuple[str, list[str]]], reason: str) -> None:
    listed = [{"id": name, "action": "a", "dependencies": needs} for name, needs in steps]
    assert reason in explain_plan({"goal": "g", "steps": listed})  # type: ignore[dict-item]  # test data


def test_tasks_are_named_by_what_they_do_and_by_their_ids_too_where_two_do_the_same() -> None:
    tasks = [
        JobTask("j", "c", id_, ordinal, description)
        for ordinal, (id_, description) in enumerate(
            (("a", "Write the report\nas JSON"), ("b", "Test it"), ("c", "Test it"), ("d", "x" * 81), ("e", " "))
        )
    ]
    assert task_names(tasks) == {
        "a": "'Write the report'",
        "b": "'Test it' (b)",
        "c": "'Test it' (c)",
        "d": f"'{'x' * 79}…'",
        "e": "'e'",
    }
