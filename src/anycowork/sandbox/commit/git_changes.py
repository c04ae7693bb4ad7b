"""Classifies a delta's changes inside git folders: never committed, only with a person's approval, or plain. Reads only."""

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.path_class import PathClass, fold_name, folds_to_git, git_class, is_stored_by_git, may_vanish
from anycowork.domain.values import value
from anycowork.sandbox.commit.delta import FILE, FOLDER, LINK, Delta, PathChange
from anycowork.sandbox.commit.git_index import WorktreeAfterCommit, hidden_by_index
from anycowork.sandbox.commit.nested_git_folders import NESTING, GitFolder, NestedGitFolders
from anycowork.workspace.git_index_file import REPOSITORY_NAMES, WHY_NO_REPOSITORY, Parts, is_repository
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

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
        return self.place.parts[self.folder.depth :]

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
            for path in (change.place, *change.below):
                if (depth := self._finder.git_folder(path.parts)) is not None:
                    yield PlaceInGit(change, path, self._nested.innermost(path.parts, depth))

    def stored(self) -> Iterator[WorkspacePath]:
        """Yields existing changed paths that are part of stored commits."""
        for git_path in self._inside:
            if (
                git_path.place is git_path.change.place
                and git_path.change.before is not None
                and is_stored_by_git(git_path.inner)
            ):
                yield git_path.place

    def never(self) -> GitFinding | None:
        """Returns the first change that nobody can allow."""
        for git_path, reason in self.refused():
            return GitFinding(git_path.place, reason)
        if (new_repository := self.made()) is not None:
            return GitFinding(new_repository, WHY_NO_REPOSITORY)
        return None

    def refused(self) -> Iterator[tuple[PlaceInGit, str]]:
        """Yields every change in a git folder that nobody can allow, with the reason."""
        for git_path in self._inside:
            if reason := self._never_reason(git_path):
                yield git_path, reason

    def made(self) -> WorkspacePath | None:
        """Returns a folder that the delta turns into a repository."""
        parts = self._finder.made()
        return None if parts is None else WorkspacePath(parts)

    def asked(self) -> Iterator[GitFinding]:
        """Yields changes that need a person's approval."""
        for git_path in self._inside:
            inner = git_path.inner
            if not inner:
                continue
            if git_class(inner, linked=git_path.folder.linked) is PathClass.ASKED and not (
                git_path.gone and may_vanish(inner)
            ):
                yield GitFinding(git_path.place, "git reads this as its own state")
            elif inner == ("index",) and (reason := self._index_reason(git_path)):
                yield GitFinding(git_path.place, reason)

    def _never_reason(self, git_path: PlaceInGit) -> str | None:
        if folds_to_git(git_path.place.name):
            return "a repository's '.git' is never removed, replaced or made by a command"
        if not (inner := git_path.inner):
            return None
        if git_class(inner) is PathClass.NEVER or self._nested.is_below_another(
            git_path.place.parts, git_path.folder.depth
        ):
            return _OF_A_PERSON if inner[0] in NESTING else _ORDERS
        if git_path.gone:
            return "without it git looks for another repository" if len(inner) == 1 and inner[0] in _NEEDED else None
        after = git_path.change.after
        if after is not None and after.kind == LINK:
            return "a link in '.git' would lead git out of it"
        if after is not None and after.kind == FILE:
            return self._content_reason(git_path.place, inner)
        return None

    def _content_reason(self, path: WorkspacePath, inner: Parts) -> str | None:
        listed = len(inner) > 1 and inner[-1] in _LISTS_OF_WORK
        if not listed and inner not in (("HEAD",), ("packed-refs",)):
            return None
        try:
            content = _read(self._staged, path)
        except (OSError, ToolFault, OutsideWorkspace):
            return "it could not be read"
        if inner == ("HEAD",) and not _HEAD.fullmatch(content):
            return "it would name no branch and no commit, and git would look for another repository"
        if inner == ("packed-refs",) and b"refs/replace/" in content.lower():
            return "it replaces commits by others"
        return "git would run the programs that it lists" if listed and _runs_programs(content) else None

    def _index_reason(self, git_path: PlaceInGit) -> str | None:
        path, files = git_path.place, git_path.folder.worktree
        if git_path.gone or files is None:
            return "it says which files git compares with their last commit"
        try:
            before = self._root.stat(path) and _read(self._root, path)
            worktree = WorktreeAfterCommit(files, self._staged, self._root, self._delta)
            return hidden_by_index(before or b"", _read(self._staged, path), worktree)
        except (OSError, ToolFault, OutsideWorkspace):
            return "it could not be read"


def _read(jail: Jail, path: WorkspacePath) -> bytes:
    with jail.regular_file(path) as (fd, status), open(fd, "rb", closefd=False) as file:
        if status.st_size > _LARGEST_READ:
            raise ToolFault("too large")
        return file.read(_LARGEST_READ)


def _runs_programs(work: bytes) -> bool:
    return any(line.split()[:1] in ([b"exec"], [b"x"]) for line in work.splitlines())


class RepositoryFinder:
    """Finds the repository of a delta's paths, and folders that a change turns into one."""

    def __init__(self, delta: Delta, root: str) -> None:
        self._delta = delta
        self._names_before = cache(lambda parts: _names_in(root, parts))
        self._was_repository = cache(lambda parts: is_repository(self._names_before(parts)))
        self._folder_of = cache(self._git_folder_above)  # the same for all files in one folder

    def git_folder(self, parts: Parts) -> int | None:
        """Returns how many parts lead to the git folder that holds this path: a `.git`, or a bare repository. None if there is none."""
        if not parts:
            return None
        above, in_repository = self._folder_of(parts[:-1])
        if above is not None:
            return above
        if folds_to_git(parts[-1]):
            return len(parts)
        return len(parts) - 1 if in_repository else None

    def in_repositories(self) -> Iterator[PathChange]:
        """Yields changes that may be in a git folder, or take one away. Changes in one folder stand together, and are looked up once."""
        last: list[str] | None = None
        outside = False
        for change in self._delta.changes:
            *above, name = change.place.parts
            if above != last:
                last, outside = above, self._folder_of(tuple(above)) == (None, False)
            if not outside or change.below or folds_to_git(name):
                yield change

    def _git_folder_above(self, folder: Parts) -> tuple[int | None, bool]:
        """Returns the git folder that holds this folder, and whether the folder is a bare repository."""
        if folder:
            above, in_repository = self._folder_of(folder[:-1])
            if above is not None:
                return above, False
            if folds_to_git(folder[-1]):
                return len(folder), False
            if in_repository:
                return len(folder) - 1, False
        return None, self._was_repository(folder)

    def made(self) -> Parts | None:
        """Returns a folder that the delta turns into a repository."""
        changed: dict[Parts, dict[str, bool]] = {}
        fresh: set[Parts] = set()
        for change in self._delta.changes:
            if change.before is not None and change.after is not None and change.before.kind == change.after.kind:
                continue  # the names in its folder stay the same
            parts = change.place.parts
            changed.setdefault(parts[:-1], {})[parts[-1]] = change.after is not None
            if (
                change.after is not None
                and change.after.kind == FOLDER
                and (change.before is None or change.before.kind != FOLDER)
            ):
                fresh.add(parts)
        for folder, entries in changed.items():
            new = [name for name, stays in entries.items() if stays]
            if not REPOSITORY_NAMES.intersection(map(fold_name, new)) or (folder and folds_to_git(folder[-1])):
                continue
            before = [] if folder in fresh else self._names_before(folder)
            remaining = (name for name in before if entries.get(name, True))
            if is_repository([*remaining, *new]) and not is_repository(before):
                return folder
        return None


def _names_in(root: str, parts: Parts) -> tuple[str, ...]:
    try:
        return tuple(os.listdir("/".join((root, *parts))))  # noqa: PTH208  # paths would cost more than the reading
    except OSError:
        return ()  # not a folder, or not there before
