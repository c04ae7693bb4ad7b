"""A tree as a manifest: every path with its kind, mode and content hash. Both sides check what they get."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any  # what came over the network

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import leaf_value, value
from anycowork.workspace.ignores import Ignores, read_patterns
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import DEEPEST, LONGEST_PATH, WorkspacePath, shown
from anycowork.workspace.walk import FolderWalk

FILE, FOLDER, LINK, REMOVED = "file", "folder", "link", "removed"
MOST_ENTRIES = 200_000
LARGEST_FILE = 64 << 20  # bytes of one file that travels
WALK_SECONDS = 120.0
STAYS_AT_HOME = frozenset({".git"})
_HEX = frozenset("0123456789abcdef")


class CannotTravel(ToolFault):
    """The workspace, or what a command changed in it, cannot be sent to another machine."""

    code = "cannot_travel"


class BadManifest(ToolFault):
    """Another machine sent something that is not a manifest."""

    code = "bad_manifest"


@leaf_value
class TreeEntry:
    """`hash` is of a file's content, `target` of a link; a removed path has neither."""

    path: str
    kind: str
    mode: int = 0
    hash: str = ""
    size: int = 0
    target: str = ""

    @property
    def place(self) -> WorkspacePath:
        return WorkspacePath(tuple(self.path.split("/")))

    def row(self) -> list[str | int]:
        return [self.path, self.kind, self.mode, self.hash, self.size, self.target]


def travel_walk(jail: Jail, leave_out: Sequence[str]) -> FolderWalk:
    """Returns a walk over what travels; `leave_out` are patterns that beat the workspace's own ignore files."""
    overrides = Ignores(patterns=read_patterns("\n".join(leave_out))) if leave_out else None
    return FolderWalk(jail, most=MOST_ENTRIES, seconds=5.0, leave_out=STAYS_AT_HOME, overrides=overrides)


def digest_of(entries: Iterable[TreeEntry]) -> str:
    """Names the content of a whole tree."""
    digest = sha256()
    for entry in sorted(entries, key=lambda entry: entry.path):
        digest.update(f"{entry.path}\0{entry.kind}\0{entry.mode}\0{entry.hash}\0{entry.target}\0".encode())
    return digest.hexdigest()


def is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_manifest(rows: object, *, kinds: Collection[str]) -> list[TreeEntry]:
    """Checks a manifest that another machine sent: sorted so that folders come before their content, each path once, none leading out.

    Raises: BadManifest.
    """
    if not isinstance(rows, list) or len(rows) > MOST_ENTRIES:
        raise BadManifest(f"A manifest is a list of at most {MOST_ENTRIES:,} paths.")
    entries = sorted((_read_row(row, kinds) for row in rows), key=lambda entry: entry.path.split("/"))
    by_path: dict[str, TreeEntry] = {}
    for entry in entries:
        if entry.path in by_path:
            raise BadManifest(f"'{shown(entry.path)}' is listed twice.")
        _require_folders_above(entry.path, by_path)
        by_path[entry.path] = entry
    return entries


def _require_folders_above(path: str, entries: Mapping[str, TreeEntry]) -> None:
    above = path.rpartition("/")[0]
    while above:
        if above in entries and entries[above].kind != FOLDER:
            raise BadManifest(f"'{shown(path)}' lies in '{shown(above)}', which is no folder.")
        above = above.rpartition("/")[0]


@value
class TreeChanges:
    """What differs between two trees. An entry of `changed` is new, or in the place of an older one; `gone` are paths without a new one."""

    changed: Sequence[TreeEntry]
    gone: Sequence[str]

    @classmethod
    def between(cls, old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry]) -> "TreeChanges":
        before = old.get
        differing = [entry for path, entry in new.items() if before(path) is not entry]
        changed = [entry for entry in differing if before(entry.path) != entry]
        return cls(changed, [path for path in old if path not in new])

    def applied_to(self, old: Mapping[str, TreeEntry]) -> dict[str, TreeEntry]:
        """Raises: BadManifest if they do not fit: a path that is not there is gone, or a new one lies in something that is no folder."""
        new = dict(old)
        for path in self.gone:
            if new.pop(path, None) is None:
                raise BadManifest(f"'{shown(path)}' is said to be gone, and was never there.")
        new.update((entry.path, entry) for entry in self.changed)
        if len(new) > MOST_ENTRIES:
            raise BadManifest(f"A manifest is a list of at most {MOST_ENTRIES:,} paths.")
        for entry in self.changed:
            _require_folders_above(entry.path, new)
        return new


def read_changes(answer: object) -> tuple[str, TreeChanges]:
    """Checks what a server answered; returns the run that the changes are relative to, too. Raises: BadManifest."""
    match answer:
        case {"base": str(base), "changed": rows, "gone": [*gone]} if all(isinstance(path, str) for path in gone):
            return base, TreeChanges(read_manifest(rows, kinds=(FILE, FOLDER, LINK)), gone)
        case _:
            raise BadManifest("A manifest has 'base', 'changed' and 'gone'.")


def _read_row(row: Any, kinds: Collection[str]) -> TreeEntry:
    types = (str, str, int, str, int, str)
    if not isinstance(row, list) or [type(item) for item in row] != list(types):
        raise BadManifest("A path of a manifest is [path, kind, mode, hash, size, target].")
    entry = TreeEntry(*row)
    parts = entry.path.split("/")
    if len(entry.path) > LONGEST_PATH or len(parts) > DEEPEST or not is_utf8(entry.path + entry.target):
        raise BadManifest("A path is too long, too deep or not UTF-8.")
    if not {"", ".", ".."}.isdisjoint(parts) or "\0" in entry.path:
        raise BadManifest(f"'{shown(entry.path)}' is no path inside the workspace.")
    is_hash = len(entry.hash) == 64 and _HEX.issuperset(entry.hash)
    if entry.kind not in kinds or not 0 <= entry.mode <= 0o777 or is_hash != (entry.kind == FILE):
        raise BadManifest(f"'{shown(entry.path)}' has a kind, mode or hash that no path has.")
    is_link = 0 < len(entry.target) <= LONGEST_PATH and "\0" not in entry.target
    if is_link != (entry.kind == LINK) or not 0 <= entry.size <= LARGEST_FILE:
        raise BadManifest(f"'{shown(entry.path)}' has a target or size that no path has.")
    return entry


def rows_of(entries: Iterable[TreeEntry]) -> list[Sequence[str | int]]:
    return [entry.row() for entry in entries]
