"""The images of one snapshot as one value of a column. A commit has thousands: a row for each cost six times as much.

Field by field: all paths, all kinds, and so on. A path may hold bytes that are not UTF-8, but no NUL, which stands between them.
"""

from collections.abc import Sequence
from itertools import starmap
from operator import attrgetter

import msgspec

from anycowork.domain.snapshots import PathImage, PathKind
from anycowork.domain.values import value

_SEPARATOR = "\0"


@value
class _Columns:
    """All lists are as long as there are paths."""

    paths: bytes
    kinds: list[PathKind]
    hashes: list[str | None]
    modes: list[int]
    sizes: list[int]
    mtimes: list[int]
    additions: list[int]
    deletions: list[int]
    kept: list[bool]


_DECODER = msgspec.msgpack.Decoder(_Columns)
_FIELDS = [attrgetter(name) for name in ("kind", "hash", "mode", "size", "mtime", "additions", "deletions", "kept")]


def to_stored(images: Sequence[PathImage]) -> bytes:
    paths = _SEPARATOR.join([image.path for image in images]).encode("utf-8", "surrogateescape")
    return msgspec.msgpack.encode(_Columns(paths, *(list(map(read, images)) for read in _FIELDS)))


def from_stored(stored: bytes) -> tuple[PathImage, ...]:
    """Raises: ValueError (msgspec's own errors are such) if these are not stored images."""
    stored_columns = _DECODER.decode(stored)
    if not stored_columns.kinds:
        return ()
    paths = stored_columns.paths.decode("utf-8", "surrogateescape").split(_SEPARATOR)
    columns = zip(
        paths,
        stored_columns.kinds,
        stored_columns.hashes,
        stored_columns.modes,
        stored_columns.sizes,
        stored_columns.mtimes,
        stored_columns.additions,
        stored_columns.deletions,
        stored_columns.kept,
        strict=True,
    )
    return tuple(starmap(PathImage, columns))
