"""Finds the repository of a workspace, and gives git a folder of our own for its work. Reads none of the repository's configuration.

Git sees the repository's objects, index, branch and excludes. No filter, textconv, monitor, hook or alias of it exists there, whatever its files
and attributes name.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anycowork.domain.errors import FileMissing, OutsideWorkspace, ToolFault
from anycowork.domain.visible_text import bare_lines
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

GIT = ".git"
WORKTREES = "worktrees"
LARGEST_SMALL_FILE = 1 << 20
_LARGEST_REFS = 32 << 20
_HEX = frozenset("0123456789abcdef")
_NOT_IN_NAMES = frozenset(" ~^:?*[\\")


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


@dataclass(frozen=True, slots=True)
class GitHead:
    """`reference` is None for a detached HEAD; `commit` before the first commit."""

    reference: str | None
    commit: str | None

    @property
    def branch(self) -> str | None:
        return self.reference.removeprefix("refs/heads/") if self.reference else None


def read_head(repository: RepositoryPlace) -> GitHead:
    """Raises: NoRepository."""
    text = repository.read_own("HEAD")
    if text is None:
        raise NoRepository("Here '.git' is not the folder of a repository; one that lies elsewhere is not shown.")
    text = text.strip()
    if is_commit(text):
        return GitHead(None, text)
    reference = text.removeprefix("ref:").strip()
    if not text.startswith("ref:") or not is_branch_reference(reference):
        raise NoRepository("The repository's HEAD cannot be read.")
    return GitHead(reference, read_reference(repository, reference))


@contextmanager
def own_git_folder(
    repository: RepositoryPlace, head: GitHead, *, user: str = "", index: Path | None = None
) -> Iterator[dict[str, str]]:
    """Yields the environment for git. `index` is used in place of the repository's; `user` is a section of configuration."""
    with (
        repository.jail.folder(WorkspacePath((*repository.common, "objects"))),
        tempfile.TemporaryDirectory(prefix="anycowork-git-") as temporary_folder,
    ):
        git_folder = Path(temporary_folder)
        for name in ("objects", "refs/heads", "info"):
            (git_folder / name).mkdir(parents=True)
        (git_folder / "config").write_text(_config(head) + user)
        (git_folder / "info" / "exclude").write_text(
            repository.read_common("info", "exclude") or "", errors="surrogateescape"
        )
        if shallow := repository.read_common("shallow"):
            (git_folder / "shallow").write_text(shallow)  # where the history of a shallow clone ends
        (git_folder / "HEAD").write_text(f"ref: {head.reference}\n" if head.reference else f"{head.commit}\n")
        if head.reference and head.commit:
            branch = git_folder / head.reference
            branch.parent.mkdir(parents=True, exist_ok=True)
            branch.write_text(f"{head.commit}\n")
        yield {
            "GIT_DIR": str(git_folder),
            "GIT_WORK_TREE": repository.worktree,
            "GIT_OBJECT_DIRECTORY": str(Path(repository.common_folder, "objects")),
            "GIT_INDEX_FILE": str(index or Path(repository.own_folder, "index")),
        }


def real_git_folder(repository: RepositoryPlace) -> dict[str, str]:
    """Returns the environment of the repository's own git folder, only to move a reference: that runs no program but a hook, and there
    are none."""
    return {
        "GIT_DIR": repository.own_folder,
        "GIT_COMMON_DIR": repository.common_folder,
        "GIT_WORK_TREE": repository.worktree,
        "GIT_COMMITTER_NAME": "AnyCowork",
        "GIT_COMMITTER_EMAIL": "anycowork@localhost",
    }


def is_commit(text: str) -> bool:
    return len(text) in (40, 64) and set(text) <= _HEX


def is_branch_reference(name: str) -> bool:
    """Whether git would take this for the full name of a branch. Narrower than git where that is simpler."""
    parts = name.split("/")
    return (
        name.startswith("refs/heads/")
        and len(name) <= 250
        and name.isprintable()
        and not set(name) & _NOT_IN_NAMES
        and ".." not in name
        and "@{" not in name
        and not name.endswith(".")
        and all(part and not part.startswith((".", "-")) and not part.endswith(".lock") for part in parts)
    )


def _config(head: GitHead) -> str:
    if head.commit is not None and len(head.commit) == 64:
        return "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n"
    return "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


def read_reference(repository: RepositoryPlace, reference: str) -> str | None:
    """Returns the commit; None if there is no such reference. `reference` is one that `is_branch_reference` accepts, or alike."""
    loose = (repository.read_common(*reference.split("/")) or "").strip()
    if is_commit(loose):
        return loose
    for line in bare_lines(repository.read_common("packed-refs", most=_LARGEST_REFS) or ""):
        commit, _, name = line.partition(" ")
        if name == reference and is_commit(commit):
            return commit
    return None
