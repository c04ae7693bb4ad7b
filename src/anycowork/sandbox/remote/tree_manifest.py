"""A tree as a manifest: every path with its kind, mode and content hash. A server reads one from a workspace; both sides check what they get."""

import os
import stat
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from typing import Any  # what came over the network

from anycowork.domain.errors import ToolFault
from anycowork.domain.key_files import is_key_file
from anycowork.domain.values import value
from anycowork.workspace.ignores import Ignores, read_patterns
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import DEEPEST, LONGEST_PATH, WorkspacePath, shown
from anycowork.workspace.walk import FolderWalk, WalkEntry

FILE, FOLDER, LINK, REMOVED = "file", "folder", "link", "removed"
MOST_ENTRIES = 200_000
LARGEST_FILE = 64 << 20  # bytes of one file that travels
WALK_SECONDS = 120.0
STAYS_AT_HOME = frozenset({".git"})
_PIECE = 1 << 20
_MOST_HASHES = 400_000
_HEX = frozenset("0123456789abcdef")


class CannotTravel(ToolFault):
    """The workspace, or what a command changed in it, cannot be sent to another machine."""

    code = "cannot_travel"


class BadManifest(ToolFault):
    """Another machine sent something that is no manifest."""

    code = "bad_manifest"


@value
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


class ContentHashes:
    """Remembers the hashes of files that did not change since. Blocking."""

    def __init__(self) -> None:
        self._by_state: dict[tuple[int, ...], str] = {}

    def known(self, status: os.stat_result) -> str | None:
        return self._by_state.get(_state_of(status))

    def of(self, fd: int, status: os.stat_result) -> str:
        key = _state_of(status)
        known_hash = self._by_state.get(key)
        if known_hash is None:
            if len(self._by_state) >= _MOST_HASHES:
                self._by_state.clear()
            known_hash = self._by_state[key] = hash_of_file(fd)
        return known_hash


def _state_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def hash_of_file(fd: int) -> str:
    digest = sha256()
    os.lseek(fd, 0, os.SEEK_SET)
    while piece := os.read(fd, _PIECE):
        digest.update(piece)
    return digest.hexdigest()


def read_tree(
    jail: Jail, covered: Collection[WorkspacePath], hashes: ContentHashes, leave_out: Sequence[str] = ()
) -> list[TreeEntry]:
    """Returns what of the workspace travels: not what git ignores, unless `leave_out` decides otherwise, not `.git`, no key file, and
    nothing that is `covered`. Blocking.

    Raises: CannotTravel.
    """
    walk = travel_walk(jail, leave_out, most=MOST_ENTRIES, seconds=WALK_SECONDS)
    entries: list[TreeEntry] = []
    for walked in walk.entries(WorkspacePath(())):
        path = walked.place.path
        if is_key_file(path) or any(mask.holds(walked.place) for mask in covered):
            continue
        if not is_utf8(path):
            raise CannotTravel(
                f"'{shown(path)}' has a name that is not UTF-8, so this workspace cannot travel. Rename it."
            )
        if (entry := _entry(jail, walked, hashes)) is not None:
            entries.append(entry)
    if walk.cut:
        raise CannotTravel(
            f"The workspace has more than {MOST_ENTRIES:,} paths, or could not be read within {WALK_SECONDS:.0f} seconds. Add generated folders"
            " to its .gitignore."
        )
    return entries


def travel_walk(jail: Jail, leave_out: Sequence[str], *, most: int = MOST_ENTRIES, seconds: float = 5.0) -> FolderWalk:
    """Returns a walk over what travels; `leave_out` are patterns that beat the workspace's own ignore files."""
    overrides = Ignores(patterns=read_patterns("\n".join(leave_out))) if leave_out else None
    return FolderWalk(jail, most=most, seconds=seconds, leave_out=STAYS_AT_HOME, overrides=overrides)


def digest_of(entries: Iterable[TreeEntry]) -> str:
    """Names the content of a whole tree."""
    digest = sha256()
    for entry in sorted(entries, key=lambda entry: entry.path):
        digest.update(f"{entry.path}\0{entry.kind}\0{entry.mode}\0{entry.hash}\0{entry.target}\0".encode())
    return digest.hexdigest()


def _entry(jail: Jail, walked: WalkEntry, hashes: ContentHashes) -> TreeEntry | None:
    """Returns None for pipes, sockets and devices. Opens only files whose content is not known."""
    place, status = walked.place, walked.status
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return TreeEntry(place.path, FOLDER, mode)
    if stat.S_ISLNK(status.st_mode):
        with jail.folder(place.parent) as folder:
            return TreeEntry(place.path, LINK, target=os.readlink(place.name, dir_fd=folder))
    if not stat.S_ISREG(status.st_mode):
        return None
    if status.st_size > LARGEST_FILE:
        raise CannotTravel(f"'{shown(place.path)}' is larger than {LARGEST_FILE:,} bytes. Add it to .gitignore.")
    if (known_hash := hashes.known(status)) is not None:
        return TreeEntry(place.path, FILE, mode, known_hash, status.st_size)
    with jail.regular_file(place) as (fd, opened):
        return TreeEntry(place.path, FILE, mode, hashes.of(fd, opened), opened.st_size)


def is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_manifest(rows: object, *, kinds: Collection[str], most: int = MOST_ENTRIES) -> list[TreeEntry]:
    """Checks a manifest that another machine sent: sorted so that folders come before their content, each path once, none leading out.

    Raises: BadManifest.
    """
    if not isinstance(rows, list) or len(rows) > most:
        raise BadManifest(f"A manifest is a list of at most {most:,} paths.")
    entries = sorted((_read_row(row, kinds) for row in rows), key=lambda entry: entry.path.split("/"))
    by_path: dict[str, TreeEntry] = {}
    for entry in entries:
        above = entry.path.rpartition("/")[0]
        if entry.path in by_path:
            raise BadManifest(f"'{shown(entry.path)}' is listed twice.")
        while above:
            if above in by_path and by_path[above].kind != FOLDER:
                raise BadManifest(f"'{shown(entry.path)}' lies in '{shown(above)}', which is no folder.")
            above = above.rpartition("/")[0]
        by_path[entry.path] = entry
    return entries


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
