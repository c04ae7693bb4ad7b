"""Reads what git keeps, without git: which folders it treats as a repository, and the paths of an index with their stored states."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import NamedTuple

from anycowork.domain.path_class import fold_name, folds_to_git
from anycowork.domain.values import mutable_value

STAGE = 0x3000  # of an entry's flags: not 0 in a merge with conflicts
_EXTENDED = 0x4000
_FIRST = 12  # byte of the first entry
_LONGEST_PATH = 4096  # bytes; git refuses longer ones itself
_MOST_GROWTH = 4  # times the size of the file: version 4 leaves out what a path shares with the one before it
_INCOMPLETE = frozenset({b"link", b"sdir"})  # extensions: entries are in another file, or are whole folders
REPOSITORY_NAMES = frozenset({"head", "objects", "refs", "commondir"})
WHY_NO_REPOSITORY = "the folder would become a repository, and git runs programs that its 'config' names"
Parts = tuple[str, ...]


class NotAnIndex(ValueError):
    """The bytes are not an index that this module understands."""


class IndexEntry(NamedTuple):
    path: bytes
    mode: int
    oid: bytes
    flags: int
    more_flags: int
    mtime: int
    size: int
    stored: bytes
    """Everything but the path, as stored in the file."""


@mutable_value
class GitIndex:
    algorithm: str
    entries: dict[tuple[bytes, int], IndexEntry] = field(default_factory=dict)
    extensions: dict[bytes, bytes] = field(default_factory=dict)


def parse_index(data: bytes) -> GitIndex:
    """Raises: NotAnIndex."""
    algorithm, length = _checksum_of(data)
    body, index = data[:-length], GitIndex(algorithm)
    with _translated_faults():
        version, count = _version_and_count(body)
        offset, path, room = _FIRST, b"", _MOST_GROWTH * len(data)
        for _ in range(count):
            entry, offset = _entry(body, offset, length, version, path)
            path = entry.path
            room -= len(path)
            if room < 0:
                raise NotAnIndex("its paths are much longer than the file")
            index.entries[(path, entry.flags & STAGE)] = entry
        index.extensions.update(_extensions(body, offset))
    if len(index.entries) != count:
        raise NotAnIndex("an entry occurs twice")
    return index


def tracked_paths(data: bytes) -> Iterator[bytes]:
    """Yields every path that git tracks, one at a time: an index may have hundreds of thousands.

    Raises: NotAnIndex, at the end also if the file does not name every path (a split or a sparse index).
    """
    _, length = _checksum_of(data)
    body = data[:-length]
    with _translated_faults():
        version, count = _version_and_count(body)
        offset, path = _FIRST, b""
        for _ in range(count):
            entry, offset = _entry(body, offset, length, version, path)
            path = entry.path
            yield path
        if not _INCOMPLETE.isdisjoint(name for name, _ in _extensions(body, offset)):
            raise NotAnIndex("it does not name every path")


def _checksum_of(data: bytes) -> tuple[str, int]:
    for algorithm, length in (("sha1", 20), ("sha256", 32)):
        if hashlib.new(algorithm, data[:-length], usedforsecurity=False).digest() == data[-length:]:
            return algorithm, length
    raise NotAnIndex("its checksum is missing or wrong")


@contextmanager
def _translated_faults() -> Iterator[None]:
    try:
        yield
    except (IndexError, ValueError) as error:
        raise NotAnIndex(str(error) or "it ends too early") from None


def _version_and_count(data: bytes) -> tuple[int, int]:
    version, count = _number(data, 4), _number(data, 8)
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise NotAnIndex(f"its version is {version}")
    return version, count


def _extensions(data: bytes, offset: int) -> Iterator[tuple[bytes, bytes]]:
    while offset < len(data):
        size = _number(data, offset + 4)
        if offset + 8 + size > len(data):
            raise NotAnIndex("an extension is cut off")
        yield data[offset : offset + 4], data[offset + 8 : offset + 8 + size]
        offset += 8 + size


def _entry(data: bytes, offset: int, length: int, version: int, previous: bytes) -> tuple[IndexEntry, int]:
    start, offset = offset, offset + 40 + length
    flags, more, offset = int.from_bytes(data[offset : offset + 2]), 0, offset + 2
    if flags & _EXTENDED:
        more, offset = int.from_bytes(data[offset : offset + 2]), offset + 2
    fixed = data[start:offset]
    path = b""
    if version == 4:
        cut, offset = _varint(data, offset)
        path = previous[: len(previous) - cut] if cut <= len(previous) else previous
    end = data.index(b"\0", offset)
    path += data[offset:end]
    if len(path) > _LONGEST_PATH:
        raise NotAnIndex("a path is too long")
    offset = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
    mtime, mode, size = _number(fixed, 8), _number(fixed, 24), _number(fixed, 36)
    return IndexEntry(path, mode, fixed[40 : 40 + length], flags, more, mtime, size, fixed), offset


def _number(data: bytes, offset: int) -> int:
    if offset + 4 > len(data):
        raise NotAnIndex("it ends too early")
    return int.from_bytes(data[offset : offset + 4])


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    byte, offset = data[offset], offset + 1
    number = byte & 127
    while byte & 128:
        byte, offset = data[offset], offset + 1
        number = ((number + 1) << 7) + (byte & 127)
        if number > 1 << 20:
            raise NotAnIndex("a path is too long")
    return number, offset


def is_repository(names: Iterable[str]) -> bool:
    """Tells whether git may treat a folder with these entries as a repository."""
    repository_names = REPOSITORY_NAMES.intersection(map(fold_name, names))
    return "head" in repository_names and ("commondir" in repository_names or {"objects", "refs"} <= repository_names)


def repository_around(parts: Parts, names_in: Callable[[Parts], Iterable[str]]) -> Parts | None:
    """Returns the outermost folder above `parts` that is a repository, or becomes one once `parts` exists. Ignores `.git`."""
    for depth in range(len(parts)):
        if folds_to_git(parts[depth]):
            return None
        folder = parts[:depth]
        if is_repository([*names_in(folder), parts[depth]]):
            return folder
    return None
