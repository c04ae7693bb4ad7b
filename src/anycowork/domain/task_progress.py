"""Which tasks of a graph may start, by counters: each edge is looked at once over a whole job. Pure."""

from collections.abc import Collection, Hashable, Mapping
from enum import StrEnum
from heapq import heappop, heappush

from anycowork.domain.tasks import TaskGraph


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
        return self not in (TaskStatus.PENDING, TaskStatus.RUNNING)


class TaskProgress:
    """The statuses of a graph's tasks, kept up to date. Mutable, and owned by whoever schedules the graph.

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
        self._waits_for: dict[str, int] = {}
        for task, needs in graph.dependencies.items():
            distinct = set(needs)
            self._waits_for[task] = len(distinct)
            for need in distinct:
                self._needed_by[need].append(task)
        rank = self._critical_path()
        self._order = {task: (-rank[task], at) for at, task in enumerate(graph.dependencies)}
        self._ready: set[str] = set()
        self._queues: dict[Hashable, list[tuple[tuple[int, int], str]]] = {}
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
        return min(firsts)[1] if firsts else None

    def put(self, task: str, status: TaskStatus) -> list[str]:
        """Records the task's status. The ids of dependants that can never start any more, which become skipped."""
        before, self._status[task] = self._status[task], status
        self._ready.discard(task)
        self._left += before.over - status.over
        self._completed += (status is TaskStatus.COMPLETED) - (before is TaskStatus.COMPLETED)
        if status is TaskStatus.COMPLETED:
            for dependant in self._needed_by[task]:
                self._waits_for[dependant] -= 1
                if self._waits_for[dependant] == 0 and self._status[dependant] is TaskStatus.PENDING:
                    self._add_ready(dependant)
        elif status is TaskStatus.PENDING and self._waits_for[task] == 0:
            self._add_ready(task)
        return self._skip_after(task) if status in _NEVER else []

    def _add_ready(self, task: str) -> None:
        self._ready.add(task)
        heappush(self._queues.setdefault(self._kinds.get(task), []), (self._order[task], task))

    def _without_started(self, kind: Hashable) -> list[tuple[tuple[int, int], str]]:
        """The kind's queue, whose first task is ready: a task that started stays in it until it comes first."""
        queue = self._queues.get(kind, [])
        while queue and queue[0][1] not in self._ready:
            heappop(queue)
        return queue

    def _skip_after(self, task: str) -> list[str]:
        skipped: list[str] = []
        ahead = list(self._needed_by[task])
        while ahead:
            one = ahead.pop()
            if self._status[one] is TaskStatus.PENDING:
                self._status[one] = TaskStatus.SKIPPED
                self._left -= 1
                skipped.append(one)
                ahead += self._needed_by[one]
        return skipped

    def _critical_path(self) -> dict[str, int]:
        """How many tasks come after each one at most, one after another."""
        rank = dict.fromkeys(self.graph.dependencies, 0)
        counts = {task: len(dependants) for task, dependants in self._needed_by.items()}
        ends = [task for task, count in counts.items() if count == 0]
        while ends:
            task = ends.pop()
            for need in set(self.graph.dependencies[task]):
                rank[need] = max(rank[need], rank[task] + 1)
                counts[need] -= 1
                if counts[need] == 0:
                    ends.append(need)
        return rank


_NEVER = frozenset({TaskStatus.FAILED, TaskStatus.SKIPPED, TaskStatus.CANCELLED})
