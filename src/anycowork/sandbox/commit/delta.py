"""What a command changed: each path with its state before and after. Values; `delta_scan.py` finds them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import leaf_value
from anycowork.sandbox.commit.replaced_files import ReplacedFiles
from anycowork.workspace.paths import WorkspacePath

FILE, FOLDER, LINK = "file", "folder", "link"


class UnusableDelta(ToolFault):
    """The changes cannot be inspected or recorded exactly, so none of them is made."""

    code = "changes_dropped"


@leaf_value
class PathState:
    """The current state of one path.

    `mark` identifies its content: a file's hash, a link's target, a tree's listing (before its removal). `plain`: a staged entry has the
    mode that it shall have, and no attribute that a commit removes.
    """

    kind: str
    mode: int
    size: int = 0
    mark: str = ""
    inode: int = 0
    ctime: int = 0
    links: int = 1
    plain: bool = False
    mtime: int = 0


@leaf_value
class PathChange:
    """`below` are the paths that disappear with a removed or replaced folder; `newest` is the latest ctime that decides about a conflict."""

    place: WorkspacePath
    before: PathState | None
    after: PathState | None
    below: tuple[WorkspacePath, ...] = ()
    newest: int = 0

    @property
    def verb(self) -> str:
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "modified"


@dataclass(slots=True)
class Delta:
    """Folders come before their content. `skipped` are pipes, sockets and devices; `split` had other names (hard links) and lose them.

    `replaced` are contents of the workspace's files that the scan has read anyway. `named_changes` belongs to `named_changes.py`.
    """

    changes: list[PathChange] = field(default_factory=list)
    skipped: list[WorkspacePath] = field(default_factory=list)
    split: list[WorkspacePath] = field(default_factory=list)
    replaced: ReplacedFiles = field(default_factory=ReplacedFiles)
    named_changes: tuple[list[PathChange], list[PathChange]] | None = None

    def __bool__(self) -> bool:
        return bool(self.changes)

    def paths(self) -> Iterator[WorkspacePath]:
        """Yields every path that would differ afterwards, including those in removed folders."""
        for change in self.changes:
            yield change.place
            yield from change.below
