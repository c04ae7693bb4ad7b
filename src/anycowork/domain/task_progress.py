"""Which tasks of a graph may start, by counters: each edge is looked at once over a whole job. Pure."""

from collections.abc import Collection, Hashable, Mapping
from enum import StrEnum
from heapq import heappop, heappush

from anycowork.domain.plan import TaskGraph


class TaskStatus(StrEnum):
    """`skipped`: a task that it depends on did not complete."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self not in _OPEN


class TaskProgress:
    """The statuses of a graph's tasks, kept up to date. Mutable, and owned by the scheduler of the graph.

    `kinds` divides the tasks: `next_ready` looks only at the kinds that it is asked for.
    """

    def __init__(
        self,
        graph: TaskGraph,
        statuses: Mapping[str, TaskStatus] | None = None,
        kinds: Mapping[str, Hashable] | None = None,
    ) -> None:
        self.graph = graph
        self._kinds = kinds or {}
        self._status = dict.fromkeys(graph.dependencies, TaskStatus.PENDING)
        self._needed_by: dict[str, list[str]] = {task: [] for task in graph.dependencies}
        self._needs = {task: set(needs) for task, needs in graph.dependencies.items()}
        for task, needs in self._needs.items():
            for need in needs:
                self._needed_by[need].append(task)
        self._waits_for = {task: len(needs) for task, needs in self._needs.items()}
        rank = self._critical_path()
        self._tasks = sorted(graph.dependencies, key=rank.__getitem__, reverse=True)
        self._order = {task: position for position, task in enumerate(self._tasks)}
        self._ready: set[str] = set()
        self._queues: dict[Hashable, list[int]] = {}  # places in `_tasks`
        self._left = len(self._status)
        self._completed = 0
        for task, count in self._waits_for.items():
            if count == 0:
                self._add_ready(task)
        for task, status in (statuses or {}).items():
            if status is not TaskStatus.PENDING:
                self.put(task, status)

    @property
    def statuses(self) -> Mapping[str, TaskStatus]:
        return self._status

    @property
    def over(self) -> bool:
        """Whether no task is pending or running."""
        return self._left == 0

    @property
    def completed(self) -> bool:
        """Whether every task is completed."""
        return self._completed == len(self._status)

    def can_execute(self, task: str) -> bool:
        """Whether the task has not started and everything that it depends on is completed."""
        return task in self._ready

    def ready(self) -> list[str]:
        """The tasks that may start now, the longest chain of dependants first, else in the graph's order."""
        return sorted(self._ready, key=self._order.__getitem__)

    def ready_kinds(self) -> list[Hashable]:
        """The kinds that may have tasks which may start now."""
        return [kind for kind, queue in self._queues.items() if queue]

    def next_ready(self, kinds: Collection[Hashable]) -> str | None:
        """The first of `ready` that is of one of these kinds. Its cost does not grow with the number of ready tasks."""
        firsts = [queue[0] for kind in kinds if (queue := self._without_started(kind))]
        return self._tasks[min(firsts)] if firsts else None

    def put(self, task: str, status: TaskStatus) -> list[str]:
        """Records the task's status. The ids of dependants that can never start any more, which become skipped."""
        before, self._status[task] = self._status[task], status
        self._ready.discard(task)
        self._left += (before not in _OPEN) - (status not in _OPEN)
        self._completed += (status is _COMPLETED) - (before is _COMPLETED)
        if status is _COMPLETED:
            self._release_dependants(task)
        elif status is _PENDING and self._waits_for[task] == 0:
            self._add_ready(task)
        return self._skip_after(task) if status in _NEVER else []

    def _release_dependants(self, task: str) -> None:
        waits_for = self._waits_for
        for dependant in self._needed_by[task]:
            remaining = waits_for[dependant] = waits_for[dependant] - 1
            if remaining == 0 and self._status[dependant] is _PENDING:
                self._add_ready(dependant)

    def _add_ready(self, task: str) -> None:
        self._ready.add(task)
        kind = self._kinds.get(task)
        queue = self._queues.get(kind)
        if queue is None:
            queue = self._queues[kind] = []
        heappush(queue, self._order[task])

    def _without_started(self, kind: Hashable) -> list[int]:
        """The kind's queue, whose first task is ready: a task that started stays in it until it comes first."""
        queue = self._queues.get(kind, [])
        while queue and self._tasks[queue[0]] not in self._ready:
            heappop(queue)
        return queue

    def _skip_after(self, task: str) -> list[str]:
        skipped: list[str] = []
        ahead = list(self._needed_by[task])
        while ahead:
            dependant = ahead.pop()
            if self._status[dependant] is _PENDING:
                self._status[dependant] = TaskStatus.SKIPPED
                self._left -= 1
                skipped.append(dependant)
                ahead += self._needed_by[dependant]
        return skipped

    def _critical_path(self) -> dict[str, int]:
        """How many tasks come after each one at most, one after another."""
        rank = dict.fromkeys(self.graph.dependencies, 0)
        counts = {task: len(dependants) for task, dependants in self._needed_by.items()}
        ends = [task for task, count in counts.items() if count == 0]
        while ends:
            task = ends.pop()
            above = rank[task] + 1
            for need in self._needs[task]:
                if rank[need] < above:
                    rank[need] = above
                remaining = counts[need] = counts[need] - 1
                if remaining == 0:
                    ends.append(need)
        return rank


# Names of this module: Python looks a member of an enum up five times as slowly.
_PENDING = TaskStatus.PENDING
_COMPLETED = TaskStatus.COMPLETED
_OPEN = frozenset({TaskStatus.PENDING, TaskStatus.RUNNING})
_NEVER = frozenset({TaskStatus.FAILED, TaskStatus.SKIPPED, TaskStatus.CANCELLED})
