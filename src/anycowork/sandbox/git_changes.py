"""Classifies a delta's changes inside git folders: never committed, only with a person's approval, or plain. Reads only."""

import re
from collections.abc import Iterator
from pathlib import Path

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.values import value
from anycowork.sandbox.delta import FILE, LINK, Delta, PathChange
from anycowork.sandbox.git_index import WorktreeAfterCommit, hidden_by_index
from anycowork.sandbox.nested_git_folders import NESTING, GitFolder, NestedGitFolders
from anycowork.sandbox.path_class import PathClass, git_class, is_stored_by_git, may_vanish
from anycowork.sandbox.repository_finder import RepositoryFinder
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, folds_to_git
from anycowork.workspace.repositories import WHY_NO_REPOSITORY, Parts

_LARGEST_READ = 256 << 20
_LISTS_OF_WORK = frozenset({"git-rebase-todo", "git-rebase-todo.backup", "done", "todo"})
_HEAD = re.compile(rb"ref:\s*refs/[^\s]+\s*|[0-9a-f]{40}\s*|[0-9a-f]{64}\s*")
_NEEDED = frozenset({"HEAD", "objects", "refs"})
_ORDERS = "git takes orders from it, or reads history from elsewhere because of it"
_OF_A_PERSON = (
    "git folders of submodules and worktrees are made, moved and removed by a person, and changed only where they and their files "
    "name each other in the workspace"
)


@value
class GitFinding:
    """Why one path inside a git folder is never changed, or only with a person's approval."""

    place: WorkspacePath
    reason: str


@value
class PlaceInGit:
    """A changed path in a git folder; `change` may be the removal of a folder around it."""

    change: PathChange
    place: WorkspacePath
    folder: GitFolder

    @property
    def inner(self) -> Parts:
        return self.place.parts[self.folder.at :]

    @property
    def gone(self) -> bool:
        return self.place is not self.change.place or self.change.after is None


class GitChanges:
    """Checks a delta against the workspace at `root`; `upper` holds the new contents."""

    def __init__(self, delta: Delta, upper: Path, root: str) -> None:
        self._delta = delta
        self._staged = Jail(str(upper))
        self._root = Jail(root)
        self._finder = RepositoryFinder(delta, root)
        self._nested = NestedGitFolders(root)
        self._inside = list(self._places_in_git())

    def _places_in_git(self) -> Iterator[PlaceInGit]:
        """Yields what lies in a git folder, or is one. Of most deltas that is nothing."""
        for change in self._finder.in_repositories():
            for place in (change.place, *change.below):
                if (at := self._finder.git_folder(place.parts)) is not None:
                    yield PlaceInGit(change, place, self._nested.innermost(place.parts, at))

    def stored(self) -> Iterator[WorkspacePath]:
        """Yields existing changed paths that are part of stored commits."""
        for found in self._inside:
            if found.place is found.change.place and found.change.before is not None and is_stored_by_git(found.inner):
                yield found.place

    def never(self) -> GitFinding | None:
        """Returns the first change that nobody can allow."""
        for found, reason in self.refused():
            return GitFinding(found.place, reason)
        if (made := self.made()) is not None:
            return GitFinding(made, WHY_NO_REPOSITORY)
        return None

    def refused(self) -> Iterator[tuple[PlaceInGit, str]]:
        """Yields every change in a git folder that nobody can allow, with the reason."""
        for found in self._inside:
            if reason := self._never_reason(found):
                yield found, reason

    def made(self) -> WorkspacePath | None:
        """Returns a folder that the delta turns into a repository."""
        made = self._finder.made()
        return None if made is None else WorkspacePath(made)

    def asked(self) -> Iterator[GitFinding]:
        """Yields changes that need a person's approval."""
        for found in self._inside:
            inner = found.inner
            if not inner:
                continue
            if git_class(inner, linked=found.folder.linked) is PathClass.ASKED and not (
                found.gone and may_vanish(inner)
            ):
                yield GitFinding(found.place, "git reads this as its own state")
            elif inner == ("index",) and (reason := self._index_reason(found)):
                yield GitFinding(found.place, reason)

    def _never_reason(self, found: PlaceInGit) -> str | None:
        if folds_to_git(found.place.name):
            return "a repository's '.git' is never removed, replaced or made by a command"
        if not (inner := found.inner):
            return None
        if git_class(inner) is PathClass.NEVER or self._nested.is_below_another(found.place.parts, found.folder.at):
            return _OF_A_PERSON if inner[0] in NESTING else _ORDERS
        if found.gone:
            return "without it git looks for another repository" if len(inner) == 1 and inner[0] in _NEEDED else None
        after = found.change.after
        if after is not None and after.kind == LINK:
            return "a link in '.git' would lead git out of it"
        if after is not None and after.kind == FILE:
            return self._content_reason(found.place, inner)
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

    def _index_reason(self, found: PlaceInGit) -> str | None:
        place, files = found.place, found.folder.worktree
        if found.gone or files is None:
            return "it says which files git compares with their last commit"
        try:
            before = self._root.stat(place) and _read(self._root, place)
            worktree = WorktreeAfterCommit(files, self._staged, self._root, self._delta)
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
