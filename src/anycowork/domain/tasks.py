"""Tasks and their graph: pure. A cycle, an unknown or a doubled id is refused with the offending ids."""

from collections.abc import Collection, Iterable, Mapping

from anycowork.domain.values import value


class BadGraph(ValueError):
    """`ids` are the offending ones."""

    def __init__(self, reason: str, ids: Iterable[str]) -> None:
        self.ids = tuple(ids)
        super().__init__(f"{reason}: {', '.join(self.ids)}")


@value
class TaskGraph:
    """Nodes and what each depends on, in the order given."""

    dependencies: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, dependencies: Mapping[str, Iterable[str]]) -> "TaskGraph":
        """Raises: BadGraph for an unknown dependency or a cycle."""
        graph = cls({task: tuple(needs) for task, needs in dependencies.items()})
        unknown = sorted({need for needs in graph.dependencies.values() for need in needs} - graph.dependencies.keys())
        if unknown:
            raise BadGraph("unknown dependencies", unknown)
        if cycle := graph._in_a_cycle():
            raise BadGraph("these tasks wait for each other", cycle)
        return graph

    def ready(self, done: Collection[str]) -> list[str]:
        """Tasks that may start now: not done, and all they depend on is."""
        finished = set(done)
        return [
            task for task, needs in self.dependencies.items() if task not in finished and finished.issuperset(needs)
        ]

    def _in_a_cycle(self) -> list[str]:
        done: set[str] = set()
        while ready := self.ready(done):
            done.update(ready)
        return [task for task in self.dependencies if task not in done]
