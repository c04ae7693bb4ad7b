"""Finds the repository of a workspace: in the workspace itself, or the one whose linked worktree the workspace is. Reads no configuration."""

import os
from dataclasses import dataclass
from pathlib import Path

from anycowork.domain.errors import FileMissing, OutsideWorkspace, ToolFault
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

GIT = ".git"
WORKTREES = "worktrees"
LARGEST_SMALL_FILE = 1 << 20


class NoRepository(ToolFault):
    """There is no repository here, or one of a kind that is not shown."""

    code = "no_repository"


@dataclass(frozen=True, slots=True)
class RepositoryPlace:
    """`own` has HEAD and the index of the worktree, `common` the rest. They are one folder but for a linked worktree.

    Both are parts below the jail's root, which is the folder of the main worktree.
    """

    jail: Jail
    worktree: str
    own: tuple[str, ...] = (GIT,)
    common: tuple[str, ...] = (GIT,)

    @property
    def own_folder(self) -> str:
        return str(Path(self.jail.root, *self.own))

    @property
    def common_folder(self) -> str:
        return str(Path(self.jail.root, *self.common))

    def read_own(self, *parts: str) -> str | None:
        return _read(self.jail, (*self.own, *parts))

    def read_common(self, *parts: str, most: int = LARGEST_SMALL_FILE) -> str | None:
        return _read(self.jail, (*self.common, *parts), most)


def find_repository(folder: Folder) -> RepositoryPlace:
    """Raises: NoRepository."""
    status = folder.jail.stat(WorkspacePath((GIT,)))
    if status is None:
        raise NoRepository("This folder is not a git repository.")
    link = _read(folder.jail, (GIT,))
    if link is None:
        return RepositoryPlace(folder.jail, folder.root)
    return _linked(folder, link)


def _linked(folder: Folder, link: str) -> RepositoryPlace:
    """Believes the file only if the repository that it names knows this folder as its worktree."""
    git_folder = Path(link.removeprefix("gitdir:").strip())
    unknown = NoRepository("Here '.git' names a repository that does not know this folder as its worktree.")
    expected = git_folder.is_absolute() and ".." not in git_folder.parts and git_folder.parts[-3:-1] == (GIT, WORKTREES)
    if not link.startswith("gitdir:") or not expected:
        raise unknown
    try:
        jail = Jail(str(git_folder.parents[2]), is_real=True)
    except (OSError, ValueError):
        raise unknown from None
    repository = RepositoryPlace(jail, folder.root, (GIT, WORKTREES, git_folder.name))
    knows_us = (repository.read_own("gitdir") or "").strip() == str(Path(folder.root, GIT))
    if not knows_us or (repository.read_own("commondir") or "").strip() != "../..":
        raise unknown
    return repository


def _read(jail: Jail, parts: tuple[str, ...], most: int = LARGEST_SMALL_FILE) -> str | None:
    """Returns the text of a file; None if there is none. Follows no link."""
    try:
        with jail.regular_file(WorkspacePath(parts)) as (fd, _):
            return os.read(fd, most).decode(errors="surrogateescape")
    except (FileMissing, ToolFault, OutsideWorkspace):
        return None
