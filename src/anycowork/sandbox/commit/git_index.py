"""Checks whether a changed git index hides something from `git status`, `git diff` or `git commit`. Reads only.

Git compares a file with its last commit only if the index lets it: flags of an entry, stored times and sizes, cached trees and some
extensions make git skip that. An index is plain if every such shortcut is true.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.sandbox.commit.delta import Delta
from anycowork.workspace.git_index_file import STAGE, GitIndex, IndexEntry, NotAnIndex, parse_index
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import DEEPEST, WorkspacePath, shown

_ASSUME_VALID = 0x8000
_SKIP_WORKTREE, _INTENT_TO_ADD = 0x4000, 0x2000
_GITLINK = 0o160000
# Trees are checked; resolved conflicts and offsets say nothing about files.
_PLAIN_EXTENSIONS = frozenset({b"TREE", b"REUC", b"EOIE", b"IEOT"})
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class WorktreeAfterCommit:
    """The files that belong to an index, in their state after the delta is committed."""

    place: WorkspacePath
    staged: Jail
    root: Jail
    delta: Delta

    def holders(self) -> Mapping[WorkspacePath, Jail | None]:
        """Returns where the content of each changed path is; None if it is removed."""
        return {change.place: self.staged if change.after else None for change in self.delta.changes}


def hidden_by_index(before: bytes, after: bytes, worktree: WorktreeAfterCommit) -> str | None:
    """Returns what the index `after` hides, as a reason for a person; None if it is plain. `before` may be empty."""
    try:
        index = parse_index(after)
    except NotAnIndex as fault:
        return f"git's index cannot be checked ({fault})"
    try:
        known_entries = parse_index(before).entries if before else {}
    except NotAnIndex:
        known_entries = {}
    unknown = sorted(set(index.extensions) - _PLAIN_EXTENSIONS)
    if unknown:
        return f"git's index has the extension '{unknown[0].decode('ascii', 'replace')}', which can hide files from git"
    for entry in index.entries.values():
        if entry.flags & _ASSUME_VALID or entry.more_flags & _SKIP_WORKTREE:
            return f"git no longer looks whether '{_legible(entry)}' was changed"
    if (folder := _wrong_tree(index)) is not None:
        return f"git's index remembers another tree for '{shown(folder) or '.'}' than its files make"
    changed = (entry for key, entry in index.entries.items() if known_entries.get(key) != entry)
    if (hidden := _wrong_content(changed, index.algorithm, worktree)) is not None:
        return f"git's index has a false state of '{_legible(hidden)}', so that git would not notice its change"
    return None


# --- cached trees


def _wrong_tree(index: GitIndex) -> str | None:
    """Returns the first folder whose cached tree differs from the one that its entries make."""
    remembered = list(_cached_trees(index))
    if not remembered:
        return None
    computed_trees = _trees(index)
    return next(
        (folder.decode("utf-8", "replace") for folder, oid in remembered if computed_trees.get(folder) != oid), None
    )


def _cached_trees(index: GitIndex) -> Iterator[tuple[bytes, bytes]]:
    """Yields every folder with a cached tree, and the tree's name."""
    data, offset, length = index.extensions.get(b"TREE", b""), 0, hashlib.new(index.algorithm).digest_size
    above: list[tuple[bytes, int]] = []
    while offset < len(data):
        end, line = data.index(b"\0", offset), 0
        line = data.index(b"\n", end)
        count, below = map(int, data[end + 1 : line].split())
        while above and not above[-1][1]:
            above.pop()
        folder = data[offset:end]
        if above:
            parent, unread_count = above.pop()
            above.append((parent, unread_count - 1))
            folder = parent + b"/" + folder if parent else folder
        offset = line + 1
        if count >= 0:
            yield folder, data[offset : offset + length]
            offset += length
        above.append((folder, below))


def _trees(index: GitIndex) -> dict[bytes, bytes]:
    """Computes the tree's name of every folder from the entries."""
    folders: dict[bytes, dict[bytes, tuple[int, bytes]]] = {b"": {}}
    for entry in index.entries.values():
        if entry.flags & STAGE or entry.more_flags & _INTENT_TO_ADD:
            continue
        folder, _, name = entry.path.rpartition(b"/")
        folders.setdefault(folder, {})[name] = (entry.mode, entry.oid)
        while folder:
            folder, _, _ = folder.rpartition(b"/")
            folders.setdefault(folder, {})
    trees: dict[bytes, bytes] = {}
    for folder in sorted(folders, key=lambda path: path.count(b"/") + bool(path), reverse=True):
        rows = sorted(folders[folder].items(), key=lambda row: row[0] + (b"/" if row[1][0] == 0o40000 else b""))
        body = b"".join(b"%o %s\0%s" % (mode, name, oid) for name, (mode, oid) in rows)
        trees[folder] = _object_name(index.algorithm, b"tree", len(body), [body])
        if folder:
            parent, _, name = folder.rpartition(b"/")
            folders[parent][name] = (0o40000, trees[folder])
    return trees


# --- stored states


def _wrong_content(entries: Iterator[IndexEntry], algorithm: str, worktree: WorktreeAfterCommit) -> IndexEntry | None:
    """Returns the first entry whose stored size and time match a file with other content: git would not read that file."""
    holders = worktree.holders()
    for entry in entries:
        if not entry.flags & STAGE and entry.mode != _GITLINK and not _is_true(entry, algorithm, worktree, holders):
            return entry
    return None


def _is_true(
    entry: IndexEntry, algorithm: str, worktree: WorktreeAfterCommit, holders: Mapping[WorkspacePath, Jail | None]
) -> bool:
    """Tells whether the entry describes its file correctly. One whose size or time differs counts as correct: git then reads the file itself."""
    parts = tuple(os.fsdecode(entry.path).split("/"))
    if {"", ".", ".."} & set(parts) or len(parts) > DEEPEST:
        return False
    path = WorkspacePath((*worktree.place.parts, *parts))
    jail = holders.get(path, worktree.root)
    try:
        status = jail.stat(path) if jail is not None else None
        if jail is None or status is None or stat.S_ISDIR(status.st_mode):
            return True
        if entry.size != status.st_size & 0xFFFFFFFF or entry.mtime != int(status.st_mtime) & 0xFFFFFFFF:
            return True
        return _content_name(jail, path, status, algorithm) == entry.oid
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ToolFault, OutsideWorkspace):
        return False


def _content_name(jail: Jail, path: WorkspacePath, status: os.stat_result, algorithm: str) -> bytes:
    if stat.S_ISLNK(status.st_mode):
        with jail.folder(path.parent) as parent:
            target = os.fsencode(os.readlink(path.name, dir_fd=parent))
        return _object_name(algorithm, b"blob", len(target), [target])
    with jail.regular_file(path) as (fd, opened):
        return _object_name(algorithm, b"blob", opened.st_size, iter(lambda: os.read(fd, _CHUNK), b""))


def _object_name(algorithm: str, kind: bytes, size: int, chunks: "Iterator[bytes] | list[bytes]") -> bytes:
    digest = hashlib.new(algorithm, b"%s %d\0" % (kind, size), usedforsecurity=False)
    for chunk in chunks:
        digest.update(chunk)
    return digest.digest()


def _legible(entry: IndexEntry) -> str:
    return shown(entry.path.decode("utf-8", "backslashreplace"))
