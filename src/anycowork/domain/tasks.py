"""The task graph. A cycle, an unknown id or a duplicate id is refused with the offending ids. Pure."""

from collections.abc import Collection, Iterable, Mapping

from anycowork.domain.values import value

_MOST_NAMED = 20


class BadGraph(ValueError):
    """`ids` are the offending ids; the message names the first of them."""

    def __init__(self, reason: str, ids: Iterable[str]) -> None:
        self.ids = tuple(ids)
        more = f" and {len(self.ids) - _MOST_NAMED} more" if len(self.ids) > _MOST_NAMED else ""
        super().__init__(f"{reason}: {', '.join(task_id[:80] for task_id in self.ids[:_MOST_NAMED])}{more}")


@value
class TaskGraph:
    """Tasks and their dependencies, in the given order."""

    dependencies: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, dependencies: Mapping[str, Iterable[str]]) -> "TaskGraph":
        """Build a graph. Raises: BadGraph for an unknown dependency or a cycle."""
        graph = cls({task: tuple(needs) for task, needs in dependencies.items()})
        unknown = sorted({need for needs in graph.dependencies.values() for need in needs} - graph.dependencies.keys())
        if unknown:
            raise BadGraph("unknown dependencies", unknown)
        if cycle := graph._cycle():
            raise BadGraph("these tasks wait for each other", cycle)
        return graph

    def ready(self, done: Collection[str]) -> list[str]:
        """Return the tasks that may start now: not done, with all dependencies done."""
        finished = set(done)
        return [
            task for task, needs in self.dependencies.items() if task not in finished and finished.issuperset(needs)
        ]

    def _cycle(self) -> list[str]:
        """Return the ids of one cycle, in the order of the graph; empty if there is none. Each edge is visited once."""
        waits = {task: set(needs) for task, needs in self.dependencies.items()}
        needed_by: dict[str, list[str]] = {}
        for task, needs in waits.items():
            for need in needs:
                needed_by.setdefault(need, []).append(task)
        ready = [task for task, needs in waits.items() if not needs]
        while ready:
            done = ready.pop()
            for task in needed_by.get(done, ()):
                waits[task].discard(done)
                if not waits[task]:
                    ready.append(task)
        blocked = {task: needs for task, needs in waits.items() if needs}
        return _find_cycle(blocked) if blocked else []


def _find_cycle(blocked: Mapping[str, Collection[str]]) -> list[str]:
    """Return one cycle. Every task in `blocked` depends on another one in it, so following dependencies must end in a cycle."""
    walked: dict[str, int] = {}
    task = next(iter(blocked))
    while task not in walked:
        walked[task] = len(walked)
        task = min(blocked[task])
    cycle = {walked_task for walked_task, position in walked.items() if position >= walked[task]}
    return [task_id for task_id in blocked if task_id in cycle]
