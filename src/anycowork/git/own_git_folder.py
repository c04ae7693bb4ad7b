"""A git folder of our own for a repository's work: git sees its objects, index, branch and excludes, and none of its configuration.

So no filter, textconv, monitor, hook or alias of the repository exists, whatever its files and attributes name.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anycowork.domain.errors import FileMissing, OutsideWorkspace, ToolFault
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath

GIT = ".git"
_LARGEST_SMALL_FILE = 1 << 20
_LARGEST_REFS = 32 << 20
_HEX = frozenset("0123456789abcdef")
_NOT_IN_NAMES = frozenset(" ~^:?*[\\")


class NoRepository(ToolFault):
    """There is no repository here, or one of a kind that is not shown."""

    code = "no_repository"


@dataclass(frozen=True, slots=True)
class GitHead:
    """`reference` is None for a detached HEAD; `commit` before the first commit."""

    reference: str | None
    commit: str | None

    @property
    def branch(self) -> str | None:
        return self.reference.removeprefix("refs/heads/") if self.reference else None


def read_head(folder: Folder) -> GitHead:
    """Raises: NoRepository."""
    if folder.jail.stat(WorkspacePath((GIT,))) is None:
        raise NoRepository("This folder is not a git repository.")
    if _small(folder, "commondir") is not None:
        raise NoRepository("This is a linked worktree, which is not shown here.")
    text = _small(folder, "HEAD")
    if text is None:
        raise NoRepository("Here '.git' is not the folder of a repository; one that lies elsewhere is not shown.")
    text = text.strip()
    if is_commit(text):
        return GitHead(None, text)
    reference = text.removeprefix("ref:").strip()
    if not text.startswith("ref:") or not is_branch_reference(reference):
        raise NoRepository("The repository's HEAD cannot be read.")
    return GitHead(reference, _resolved(folder, reference))


@contextmanager
def own_git_folder(
    folder: Folder, head: GitHead, *, user: str = "", index: Path | None = None
) -> Iterator[dict[str, str]]:
    """Yields the environment for git. `index` is used in place of the repository's; `user` is a section of configuration."""
    with (
        folder.jail.folder(WorkspacePath((GIT, "objects"))),
        tempfile.TemporaryDirectory(prefix="anycowork-git-") as made,
    ):
        own = Path(made)
        for name in ("objects", "refs/heads", "info"):
            (own / name).mkdir(parents=True)
        (own / "config").write_text(_config(head) + user)
        (own / "info" / "exclude").write_text(_small(folder, "info", "exclude") or "", errors="surrogateescape")
        (own / "HEAD").write_text(f"ref: {head.reference}\n" if head.reference else f"{head.commit}\n")
        if head.reference and head.commit:
            place = own / head.reference
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{head.commit}\n")
        git = Path(folder.root, GIT)
        yield {
            "GIT_DIR": str(own),
            "GIT_WORK_TREE": folder.root,
            "GIT_OBJECT_DIRECTORY": str(git / "objects"),
            "GIT_INDEX_FILE": str(index or git / "index"),
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


def _resolved(folder: Folder, reference: str) -> str | None:
    loose = (_small(folder, *reference.split("/")) or "").strip()
    if is_commit(loose):
        return loose
    for line in (_small(folder, "packed-refs", most=_LARGEST_REFS) or "").splitlines():
        commit, _, name = line.partition(" ")
        if name == reference and is_commit(commit):
            return commit
    return None


def _small(folder: Folder, *parts: str, most: int = _LARGEST_SMALL_FILE) -> str | None:
    """Returns a file of the git folder; None if there is none. Follows no link."""
    try:
        with folder.jail.regular_file(WorkspacePath((GIT, *parts))) as (fd, _):
            return os.read(fd, most).decode(errors="surrogateescape")
    except (FileMissing, ToolFault, OutsideWorkspace):
        return None
