"""The index of a worktree, and what a person is in the middle of there. Blocking."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from anycowork.domain.errors import StateChanged, ToolFault
from anycowork.git.configuration import locked_git_file
from anycowork.git.git_process import run_git
from anycowork.git.own_git_folder import GitHead, own_git_folder
from anycowork.git.repository_place import RepositoryPlace
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath, shown


@contextmanager
def changed_index(
    folder: Folder, repository: RepositoryPlace, head: GitHead, user: str = ""
) -> Iterator[dict[str, str]]:
    """Yields the environment of git with a copy of the index, which replaces the index if the block succeeds. Other gits wait.

    Raises: ToolFault if another git is at work.
    """
    with (
        locked_git_file(repository.jail, repository.own, "index") as write,
        tempfile.TemporaryDirectory(prefix="anycowork-index-") as temporary_folder,
    ):
        index = Path(temporary_folder, "index")
        copy_index(repository, index)
        with own_git_folder(repository, head, user=user, index=index) as environment:
            refresh = ("update-index", "-q", "--refresh")
            run_git(refresh, folder=folder.root, environment=environment, good=(0, 1))
            yield environment
            write(index.read_bytes())


def copy_index(repository: RepositoryPlace, target: Path) -> None:
    """Copies it with its time: by that git knows which files may have changed within the second in which they were added."""
    try:
        with (
            repository.jail.regular_file(WorkspacePath((*repository.own, "index"))) as (fd, _),
            target.open("wb") as copy,
        ):
            while piece := os.read(fd, 1 << 20):
                copy.write(piece)
            copy.flush()
            status = os.fstat(fd)
            os.utime(copy.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
    except ToolFault:
        return  # a repository without a first commit has none


_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
_UNMERGED = ("ls-files", "--unmerged", "-z", "--full-name")


def operation_in(repository: RepositoryPlace) -> str | None:
    """Returns what a person is in the middle of: merge, rebase, cherry-pick or revert."""
    files = ((operation, WorkspacePath((*repository.own, name))) for name, operation in _OPERATIONS.items())
    return next((operation for operation, path in files if repository.jail.stat(path) is not None), None)


def require_no_operation(repository: RepositoryPlace) -> None:
    """Raises: StateChanged. A commit of ours would have one parent: of a merge it would lose the other one."""
    if (operation := operation_in(repository)) is not None:
        raise StateChanged(
            f"A {operation} is in progress in this repository. Nothing was changed. Finish it in a terminal with"
            f" 'git {operation} --continue', or end it with 'git {operation} --abort'."
        )


def require_no_conflicts(folder: Folder, environment: Mapping[str, str]) -> None:
    """Raises: ToolFault if files are left in the index whose conflicts nobody resolved: no commit can be made of it."""
    if paths := unmerged_paths(folder, environment):
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        raise ToolFault(
            f"Git still has conflicts in '{shown(paths[0])}'{more}. Nothing was committed. Resolve them first, then choose these files too."
        )


def unmerged_paths(folder: Folder, environment: Mapping[str, str]) -> list[str]:
    """Returns the files of the index with conflicts that nobody resolved."""
    printed = run_git(_UNMERGED, folder=folder.root, environment=environment)
    return sorted({os.fsdecode(line.partition(b"\t")[2]) for line in printed.split(b"\0") if line})
