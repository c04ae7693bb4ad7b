"""Ready tasks by counters: never before what they depend on, each once, the longest chain first; and a plan maps to tasks and back."""

import time

from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.jobs import plan_of, tasks_of
from anycowork.domain.plan import TaskGraph, read_plan
from anycowork.domain.task_progress import TaskProgress, TaskStatus
from support.spec import proves


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """Each depends on some before it, and they stand in any order."""
    count = draw(st.integers(1, 9))
    names = [f"t{n}" for n in range(count)]
    graph = {
        name: draw(st.lists(st.sampled_from(names[:at]), max_size=3)) if at else [] for at, name in enumerate(names)
    }
    return {name: graph[name] for name in draw(st.permutations(names))}


@proves("JOB-1/6", "JOB-2/2")
@given(graphs(), st.data())
def test_ready_tasks_never_depend_on_an_unfinished_one_and_every_task_ends(
    graph: dict[str, list[str]], data: st.DataObject
) -> None:
    progress = TaskProgress(TaskGraph.of(graph))
    status: dict[str, TaskStatus] = {}
    while ready := progress.ready():
        expected = {
            task
            for task, needs in graph.items()
            if task not in status and all(status.get(need) is TaskStatus.COMPLETED for need in needs)
        }
        assert set(ready) == expected and all(map(progress.can_execute, ready))
        task = data.draw(st.sampled_from(ready))
        progress.put(task, TaskStatus.RUNNING)
        assert not progress.can_execute(task)
        outcome = data.draw(st.sampled_from([TaskStatus.COMPLETED, TaskStatus.COMPLETED, TaskStatus.FAILED]))
        skipped = progress.put(task, outcome)
        status |= {task: outcome} | dict.fromkeys(skipped, TaskStatus.SKIPPED)
        assert all(set(graph[one]) & {t for t, s in status.items() if s is not TaskStatus.COMPLETED} for one in skipped)
        again = TaskProgress(progress.graph, progress.statuses)
        assert again.statuses == progress.statuses and again.ready() == progress.ready(), "the rows are enough"
    assert progress.over and status == dict(progress.statuses)


@proves("JOB-8/3")
def test_longest_chain_of_dependants_comes_first() -> None:
    graph = {"alone": [], "long": [], "middle": ["long"], "end": ["middle"], "short": [], "last": ["short"]}
    assert TaskProgress(TaskGraph.of(graph)).ready() == ["long", "short", "alone"]


@given(graphs(), st.data())
def test_approved_plan_maps_to_tasks_and_back_without_loss(graph: dict[str, list[str]], data: st.DataObject) -> None:
    text = st.text(min_size=1, max_size=8).filter(lambda words: bool(words.strip()))
    steps = [
        {
            "id": name,
            "action": data.draw(text),
            "dependencies": needs,
            "paths": ["a/*"],
            "check": "true",
            "agent": "scout",
            "note": {"kept": 1},
        }
        for name, needs in graph.items()
    ]
    plan = read_plan({"goal": "g", "steps": steps, "risks": ["r"]})
    assert plan is not None
    tasks = tasks_of(plan, job_id="j", chat_id="c", created_at="now")
    back = plan_of(tasks, plan.to_json())
    assert back is not None and back.to_json() == plan.to_json()


@proves("JOB-2/1")
def test_ten_thousand_tasks_are_scheduled_in_time_that_grows_with_their_number() -> None:
    def cost(count: int) -> float:
        graph = {str(n): [str(max(0, n - 1)), str(n // 2)] if n else [] for n in range(count)}
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            progress = TaskProgress(TaskGraph.of(graph))
            for task in graph:
                progress.put(task, TaskStatus.RUNNING)
                progress.put(task, TaskStatus.COMPLETED)
            assert progress.over
            best = min(best, time.process_time() - began)
        return best

    assert cost(10_000) < 10 * 3 * cost(1_000)
