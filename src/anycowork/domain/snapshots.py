"""Snapshots: the state of changed paths at one point in time, and what undoing changes would restore. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from anycowork.domain.messages import Json
from anycowork.domain.values import leaf_value, value


class SnapshotMoment(StrEnum):
    """Before and after a change; `meant` is what a restore is about to write, so that it can be finished after a crash."""

    BEFORE = "before"
    AFTER = "after"
    MEANT = "meant"


class PathKind(StrEnum):
    """`special` (a pipe, a socket, a device) is recognised but never saved: it has no content to restore."""

    FILE = "file"
    SYMLINK = "symlink"
    FOLDER = "folder"
    ABSENT = "absent"
    SPECIAL = "special"


@leaf_value
class PathImage:
    """The state of one path. `hash` is of a file's content or of a link's target; `mtime` (ns) is informative and never restored.

    If it is not `kept`, only its hash is known: it cannot be restored.
    """

    path: str
    kind: PathKind
    hash: str | None = None
    mode: int = 0
    size: int = 0
    mtime: int = 0
    additions: int = 0
    deletions: int = 0
    kept: bool = True

    def same_as(self, other: "PathImage") -> bool:
        """Whether the two differ at most in their times."""
        return (self.kind, self.hash, self.mode) == (other.kind, other.hash, other.mode)

    @property
    def has_content(self) -> bool:
        return self.kind in (PathKind.FILE, PathKind.SYMLINK)


def absent(path: str) -> PathImage:
    return PathImage(path, PathKind.ABSENT)


@leaf_value
class ReplacedFile:
    """A file that a commit will replace or remove, as it was read when the changes were scanned. The commit replaces only this content."""

    hash: str
    content: bytes
    mode: int
    mtime: int


NOTHING_REPLACED: Mapping[str, ReplacedFile] = MappingProxyType({})


@value
class Restore:
    """A person's request to restore a snapshot; in the workspace's history it is a change like any other."""

    id: str
    chat_id: str
    snapshot_id: str


@value
class TaskCommit:
    """The changes of a job's task, or of a whole job, as they are written into a workspace: a change like any other."""

    id: str
    chat_id: str
    turn_id: str | None = None


PERSON_CHANGE = "person-"


@value
class PersonChange:
    """What a person changed directly in the page: a change like any other. Its id begins with `person-`."""

    id: str
    chat_id: str


@value
class Snapshot:
    """The paths of one change (a call or a restore) at one point in time. `diff` is the hash of the difference's text in the pack.

    `origins` are those of what the change wrote. `position` orders all snapshots; the store assigns it. A pruned snapshot has no images any more.
    """

    id: str
    chat_id: str
    workspace: str
    moment: SnapshotMoment
    change_id: str
    images: tuple[PathImage, ...] = ()
    files: int = 0
    additions: int = 0
    deletions: int = 0
    turn_id: str | None = None
    call_id: str | None = None
    restores: str | None = None
    diff: str | None = None
    diff_size: int = 0
    pruned: bool = False
    position: int = 0
    created_at: str = ""
    origins: tuple[str, ...] = ()

    def unkept(self) -> list[str]:
        """Returns the files and links whose content was not kept."""
        return [image.path for image in self.images if image.has_content and not image.kept]

    @property
    def by_person(self) -> bool:
        """Whether a person made the change: by hand, or by going back to a snapshot."""
        return self.restores is not None or self.change_id.startswith(PERSON_CHANGE)

    @property
    def lines_counted(self) -> bool:
        """Whether `additions` and `deletions` mean anything. A change of very many files is compared only when somebody looks at it."""
        counted_none = self.additions == self.deletions == 0 and self.diff is None
        return not (self.moment is SnapshotMoment.AFTER and self.files > 0 and counted_none)

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "created_at": self.created_at,
            "moment": self.moment.value,
            "tool_call_id": self.call_id,
            "turn_id": self.turn_id,
            "files": self.files,
            "additions": self.additions,
            "deletions": self.deletions,
            "lines_counted": self.lines_counted,
            "restores": self.restores,
            "by_person": self.by_person,
            "pruned": self.pruned,
            "origins": [*self.origins],
        }


@value
class RecordedChange:
    """The snapshots before and after one change; `after` is None if the paths could no longer be read."""

    before: Snapshot
    after: Snapshot | None


@leaf_value
class SeenEntry:
    """A file whose content was read: while it has this inode and this ctime (ns), its content has this hash.

    `content` is the content itself, if it was remembered.
    """

    inode: int
    ctime: int
    hash: str
    content: bytes | None = None


@leaf_value
class Undo:
    """The undo of one path: the state to restore, and the expected current state (None if it is not known).

    `reason` is set if someone else changed the path between the undone changes: that work would be lost. `seen` is the file that was
    compared, if it was.
    """

    target: PathImage
    expected: PathImage | None
    reason: str | None = None
    seen: SeenEntry | None = None

    @property
    def path(self) -> str:
        return self.target.path


NOT_OURS = "it was changed by someone else between the changes that would be undone"
OTHER_CHAT = "another chat has changed it since, and that change would be lost"


def undoing(changes: Iterable[RecordedChange], *, for_chat: str | None = None) -> list[Undo]:
    """Returns the undos of all these changes, given oldest first: for each path the state before the first change.

    Paths changed by another chat than `for_chat` get a reason: a person must name such a path before that work is lost.
    """
    undos: dict[str, Undo] = {}
    for change in changes:
        before = {image.path: image for image in change.before.images}
        after = None if change.after is None else {image.path: image for image in change.after.images}
        for path in {**before, **(after or {})}:
            was = before.get(path) or absent(path)
            expected = None if after is None else after.get(path) or absent(path)
            same = expected is not None and was.same_as(expected)
            theirs = for_chat is not None and change.before.chat_id != for_chat and not same
            undos[path] = _extended(undos.get(path), was, expected, OTHER_CHAT if theirs else None)
    return [undos[path] for path in sorted(undos)]


def _extended(undo: Undo | None, was: PathImage, expected: PathImage | None, reason: str | None) -> Undo:
    if undo is None:
        return Undo(was, expected, reason)
    broken = undo.expected is not None and not undo.expected.same_as(was)
    return Undo(undo.target, expected, NOT_OURS if broken else undo.reason or reason)


@leaf_value
class FileDifference:
    """`status` is added, modified, deleted or renamed."""

    path: str
    status: str
    additions: int = 0
    deletions: int = 0

    def to_json(self) -> Json:
        return {
            "path": shown_path(self.path),
            "status": self.status,
            "additions": self.additions,
            "deletions": self.deletions,
        }


@value
class RestorePreview:
    """What a restore would do. `undos` omits paths that are already as wanted; `conflicts` maps a path to the reason,
    and `hopeless` are conflicts that cannot be overwritten. `unkept` are left as they are: their old content was not kept."""

    undos: tuple[Undo, ...]
    conflicts: dict[str, str]
    hopeless: frozenset[str] = frozenset()
    files: tuple[FileDifference, ...] = ()
    diff: str = ""
    unkept: tuple[str, ...] = ()


@value
class Restored:
    """The result of a restore. `kept` are folders that were not deleted because they contain other files.

    `unkept` were left as they are: their old content was not kept. `left` is how many paths a stopped restore did not reach.
    """

    restored: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    conflicts: dict[str, str] | None = None
    unkept: tuple[str, ...] = ()
    left: int = 0


class RestoreControl(Protocol):
    """Watches and stops a restore. Called from the thread that restores."""

    def is_stopped(self) -> bool: ...

    def report(self, done: int, total: int) -> None:
        """Tells how many of all paths are done."""


def removed_paths(undos: Iterable[Undo]) -> list[str]:
    """Returns the paths where the entry that is there now is removed, or replaced by another kind of entry."""
    return [
        undo.path
        for undo in undos
        if undo.target.kind is PathKind.ABSENT or undo.expected is None or undo.expected.kind is not undo.target.kind
    ]


def in_paths(undos: Sequence[Undo], paths: Iterable[str]) -> list[Undo]:
    """Returns the undos at these paths or below them."""
    prefixes = {path.strip("/") for path in paths} - {""}
    return [undo for undo in undos if not prefixes.isdisjoint(_path_and_folders(shown_path(undo.path)))]


def paths_without_undo(undos: Iterable[Undo], paths: Sequence[str]) -> list[str]:
    """Returns those of the paths at which, and below which, nothing would be undone."""
    undone_paths = {path for undo in undos for path in _path_and_folders(shown_path(undo.path))}
    return [path for path in paths if path.strip("/") not in undone_paths]


def _path_and_folders(path: str) -> Iterator[str]:
    """Yields the path and the folders above it: with many paths chosen, looking these up is faster than comparing each with each."""
    yield path
    while (cut := path.rfind("/")) > 0:
        path = path[:cut]
        yield path


def shown_path(path: str) -> str:
    """Returns the path as text for the wire; a file name need not be valid text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_in(path: str, folder: str) -> bool:
    """Returns whether the path is this one, or below it."""
    return path == folder or path.startswith(f"{folder}/")
