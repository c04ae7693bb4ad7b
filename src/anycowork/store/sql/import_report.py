"""What an import did, and what it could not read."""

from dataclasses import dataclass, field

from anycowork.domain.values import value

MOST_LISTED = 1_000  # a file may hold a million wrong values


@value
class ImportProblem:
    """A part that could not be imported. `where` names the line or the item, counted from 1."""

    where: str
    reason: str


@dataclass(slots=True)
class ImportReport:
    chats: int = 0
    messages: int = 0
    already_there: int = 0
    problems: list[ImportProblem] = field(default_factory=list)
    notes: list[ImportProblem] = field(default_factory=list)
    not_listed: int = 0

    def problem(self, where: str, reason: str) -> None:
        self._list(self.problems, ImportProblem(where, reason))

    def note(self, where: str, reason: str) -> None:
        self._list(self.notes, ImportProblem(where, reason))

    def add(self, other: "ImportReport") -> None:
        self.chats += other.chats
        self.messages += other.messages
        self.already_there += other.already_there
        self.not_listed += other.not_listed
        for problem in other.problems:
            self._list(self.problems, problem)
        for note in other.notes:
            self._list(self.notes, note)

    def _list(self, listed: list[ImportProblem], problem: ImportProblem) -> None:
        if len(listed) < MOST_LISTED:
            listed.append(problem)
        else:
            self.not_listed += 1
