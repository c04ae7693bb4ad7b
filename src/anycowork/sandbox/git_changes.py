"""Classifies a delta's changes inside git folders: never committed, only with a person's approval, or plain. Reads only."""

import re
from collections.abc import Iterator
from pathlib import Path

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.values import value
from anycowork.sandbox.delta import FILE, LINK, Delta, PathChange
from anycowork.sandbox.git_index import WorktreeAfterCommit, hidden_by_index
from anycowork.sandbox.path_class import PathClass, git_class, is_stored_by_git, may_vanish
from anycowork.sandbox.repository_finder import RepositoryFinder
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, folds_to_git
from anycowork.workspace.repositories import WHY_NO_REPOSITORY, Parts

_LARGEST_READ = 256 << 20
_LISTS_OF_WORK = frozenset({"git-rebase-todo", "git-rebase-todo.backup", "done", "todo"})
_HEAD = re.compile(rb"ref:\s*refs/[^\s]+\s*|[0-9a-f]{40}\s*|[0-9a-f]{64}\s*")
_NEEDED = frozenset({"HEAD", "objects", "refs"})


@value
class GitFinding:
    """Why one path inside a git folder is never changed, or only with a person's approval."""

    place: WorkspacePath
    reason: str


class GitChanges:
    """Checks a delta against the workspace at `root`; `upper` holds the new contents."""

    def __init__(self, delta: Delta, upper: Path, root: str) -> None:
        self._delta = delta
        self._staged = Jail(str(upper))
        self._root = Jail(root)
        self._finder = RepositoryFinder(delta, root)
        self._inside = list(self._places_in_git())

    def _places_in_git(self) -> Iterator[tuple[PathChange, WorkspacePath, int]]:
        """Yields what lies in a git folder, or is one, and how many parts lead to it. Of most deltas that is nothing."""
        for change in self._finder.in_repositories():
            for place in (change.place, *change.below):
                if (at := self._finder.git_folder(place.parts)) is not None:
                    yield change, place, at

    def stored(self) -> Iterator[WorkspacePath]:
        """Yields existing changed paths that are part of stored commits."""
        for change, place, _ in self._inside:
            if place is change.place and change.before is not None and is_stored_by_git(place.parts):
                yield place

    def never(self) -> GitFinding | None:
        """Returns the first change that nobody can allow."""
        for change, place, at in self._inside:
            gone = place is not change.place or change.after is None
            if reason := self._never_reason(change, place, at, gone=gone):
                return GitFinding(place, reason)
        if (made := self._finder.made()) is not None:
            return GitFinding(WorkspacePath(made), WHY_NO_REPOSITORY)
        return None

    def asked(self) -> Iterator[GitFinding]:
        """Yields changes that need a person's approval."""
        for change, place, at in self._inside:
            inner = place.parts[at:]
            if not inner:
                continue
            gone = place is not change.place or change.after is None
            if git_class(inner) is PathClass.ASKED and not (gone and may_vanish(inner)):
                yield GitFinding(place, "git reads this as its own state")
            elif inner == ("index",) and (reason := self._index_reason(place, at, gone=gone)):
                yield GitFinding(place, reason)

    def _never_reason(self, change: PathChange, place: WorkspacePath, at: int, *, gone: bool) -> str | None:
        if folds_to_git(place.name):
            return "a repository's '.git' is never removed, replaced or made by a command"
        if not (inner := place.parts[at:]):
            return None
        if git_class(inner) is PathClass.NEVER:
            return "git takes orders from it, or reads history from elsewhere because of it"
        if gone:
            return "without it git looks for another repository" if len(inner) == 1 and inner[0] in _NEEDED else None
        if change.after is not None and change.after.kind == LINK:
            return "a link in '.git' would lead git out of it"
        if change.after is not None and change.after.kind == FILE:
            return self._content_reason(place, inner)
        return None

    def _content_reason(self, place: WorkspacePath, inner: Parts) -> str | None:
        listed = len(inner) > 1 and inner[-1] in _LISTS_OF_WORK
        if not listed and inner not in (("HEAD",), ("packed-refs",)):
            return None
        try:
            content = _read(self._staged, place)
        except (OSError, ToolFault, OutsideWorkspace):
            return "it could not be read"
        if inner == ("HEAD",) and not _HEAD.fullmatch(content):
            return "it would name no branch and no commit, and git would look for another repository"
        if inner == ("packed-refs",) and b"refs/replace/" in content.lower():
            return "it replaces commits by others"
        return "git would run the programs that it lists" if listed and _runs_programs(content) else None

    def _index_reason(self, place: WorkspacePath, at: int, *, gone: bool) -> str | None:
        if gone or not at or not folds_to_git(place.parts[at - 1]):
            return "it says which files git compares with their last commit"
        try:
            before = self._root.stat(place) and _read(self._root, place)
            worktree = WorktreeAfterCommit(WorkspacePath(place.parts[: at - 1]), self._staged, self._root, self._delta)
            return hidden_by_index(before or b"", _read(self._staged, place), worktree)
        except (OSError, ToolFault, OutsideWorkspace):
            return "it could not be read"


def _read(jail: Jail, place: WorkspacePath) -> bytes:
    with jail.regular_file(place) as (fd, found), open(fd, "rb", closefd=False) as file:
        if found.st_size > _LARGEST_READ:
            raise ToolFault("too large")
        return file.read(_LARGEST_READ)


def _runs_programs(work: bytes) -> bool:
    return any(line.split()[:1] in ([b"exec"], [b"x"]) for line in work.splitlines())
