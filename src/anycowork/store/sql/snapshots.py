"""The snapshots tables: the paths that a change touched, their state, and the contents that are still needed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from operator import attrgetter
from typing import Any

import msgspec

from anycowork.domain.snapshots import PathImage, PathKind, RecordedChange, Snapshot, SnapshotMoment
from anycowork.domain.values import value
from anycowork.store.sql import messages
from anycowork.store.sql.connection import SqlConnection, SqlResult, Table, large_query, query
from anycowork.store.sql.row_mapper import BOOLEAN, RowMapper, enum_of, from_json_text, json_of
from anycowork.store.sql.writer import Writer

_ROWS = RowMapper(
    Snapshot,
    "id, chat_id, turn_id, call_id, change_id, workspace, moment, restores, files, additions, deletions, diff, diff_size,"
    " pruned, created_at, origins",
    types={"moment": enum_of(SnapshotMoment), "pruned": BOOLEAN, "origins": json_of(tuple[str, ...])},
)
_ADD = _ROWS.insert("snapshots", "images")
_PATH = "path, kind, hash, mode, size, mtime, additions, deletions, kept"  # of earlier releases, a row for each path
# A restore needs the state before, and the state it meant to bring back; the state after is only compared.
_RECORD_BYTES = 128  # bytes that a path takes in the tables, as measured
_NEEDED = "moment IN ('before', 'meant')"


def add(connection: SqlConnection, snapshot: Snapshot) -> None:
    connection.execute(_ADD, _ROWS.row(snapshot, to_stored(snapshot.images)))


class SnapshotTable(Table):
    """Reads snapshots."""

    @large_query
    def find(connection: SqlConnection, chat_id: str, snapshot_id: str) -> Snapshot | None:
        """Returns the snapshot with its images. Snapshots of the moment `meant` are internal and never returned."""
        row = connection.execute(
            f"SELECT {_ROWS.columns}, position, images FROM snapshots WHERE id = ? AND chat_id = ? AND moment <> 'meant'",
            (snapshot_id, chat_id),
        ).fetchone()
        return None if row is None else _whole(connection, row)

    @query
    def page(
        connection: SqlConnection, chat_id: str, *, before: int | None = None, limit: int
    ) -> tuple[list[Snapshot], int | None]:
        """Returns those of the chat's own workspace, not of the private copies that tasks work in."""
        rows = connection.execute(
            f"SELECT {_ROWS.columns}, position FROM snapshots WHERE chat_id = ? AND position < ? AND moment <> 'meant'"
            " AND workspace = (SELECT workspace FROM chats WHERE chats.id = chat_id) ORDER BY position DESC LIMIT ?",
            (chat_id, _NO_END if before is None else before, limit + 1),
        ).fetchall()
        snapshots = [_snapshot(row, ()) for row in reversed(rows[:limit])]
        return snapshots, snapshots[0].position if len(rows) > limit else None

    async def after_message(self, chat_id: str, message_id: str) -> str | None:
        """Returns the chat's first snapshot that was taken before a change later than this message."""
        seq = await self._reader.read(messages.number_of, chat_id, message_id)
        return None if seq is None else await self._reader.read_large(_first_after, chat_id, seq)

    @large_query
    def changes_since(connection: SqlConnection, snapshot: Snapshot) -> list[RecordedChange]:
        """Returns the changes since a snapshot. A change is later than a snapshot if its `before` row is later."""
        rows = connection.execute(
            "SELECT change_id FROM snapshots WHERE workspace = ? AND position >= ? AND moment = 'before' ORDER BY position",
            (snapshot.workspace, snapshot.position),
        )
        return _changes(connection, rows)

    @large_query
    def changes_in(connection: SqlConnection, workspace: str) -> list[RecordedChange]:
        """Returns every recorded change in this workspace, oldest first."""
        rows = connection.execute(
            "SELECT change_id FROM snapshots WHERE workspace = ? AND moment = 'before' ORDER BY position", (workspace,)
        )
        return _changes(connection, rows)

    @large_query
    def changes_of_turns(
        connection: SqlConnection, turn_ids: Sequence[str], workspace: str | None
    ) -> list[RecordedChange]:
        """A copy that collects a job's changes gets them by commits; the change of a call names its call."""
        marks = ", ".join("?" for _ in turn_ids)
        condition = "call_id IS NULL AND restores IS NULL" if workspace is None else "workspace = ?"
        rows = connection.execute(
            f"SELECT change_id FROM snapshots WHERE chat_id IN (SELECT chat_id FROM turns WHERE id IN ({marks}))"
            f" AND moment = 'before' AND turn_id IN ({marks}) AND {condition} ORDER BY position",
            (*turn_ids, *turn_ids, *(() if workspace is None else (workspace,))),
        )
        return _changes(connection, rows)

    @large_query
    def change(connection: SqlConnection, change_id: str) -> RecordedChange | None:
        sides = {snapshot.moment: snapshot for snapshot in _of_change(connection, change_id)}
        before = sides.get(SnapshotMoment.BEFORE)
        return None if before is None else RecordedChange(before, sides.get(SnapshotMoment.AFTER))

    @large_query
    def unfinished_restores(connection: SqlConnection) -> list[tuple[Snapshot, Snapshot]]:
        """Returns the `before` and `meant` snapshots of each restore that was started and never finished."""
        rows = connection.execute(
            "SELECT change_id FROM snapshots AS meant WHERE moment = 'meant' AND NOT EXISTS"
            " (SELECT 1 FROM snapshots AS done WHERE done.change_id = meant.change_id AND done.moment = 'after') ORDER BY position"
        ).fetchall()
        unfinished = []
        for (change_id,) in rows:
            sides = {snapshot.moment: snapshot for snapshot in _of_change(connection, change_id)}
            unfinished.append((sides[SnapshotMoment.BEFORE], sides[SnapshotMoment.MEANT]))
        return unfinished


def _first_after(connection: SqlConnection, chat_id: str, seq: int) -> str | None:
    """Returns the first snapshot before a change whose record is later than this number."""
    rows = connection.execute(
        "SELECT body FROM records WHERE chat_id = ? AND seq > ? AND type = 'snapshot' ORDER BY seq", (chat_id, seq)
    )
    for (body,) in rows:
        snapshot = from_json_text(body).get("snapshot")
        if isinstance(snapshot, dict) and snapshot.get("moment") == SnapshotMoment.BEFORE.value:
            return str(snapshot["id"])
    return None


_NO_END = 2**62


def _changes(connection: SqlConnection, ids: SqlResult) -> list[RecordedChange]:
    changes = (SnapshotTable.change(connection, change_id) for (change_id,) in ids.fetchall())
    return [recorded for recorded in changes if recorded is not None]


class Retention:
    """Knows which contents of the pack are needed, and prunes snapshots when space runs out."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def forget_oldest(self, *, bytes_left: int) -> None:
        """Prunes the oldest snapshots until the rest need at most `bytes_left`. Both sides of a change are pruned together."""
        await self._writer.run(lambda connection: _forget_oldest(connection, bytes_left))

    async def needed_hashes(self) -> set[str]:
        """Runs on the writer's thread: there may be a million, and readers must not wait for that."""
        return await self._writer.run(_needed_hashes)


def _needed_hashes(connection: SqlConnection) -> set[str]:
    hashes = {row[0] for row in connection.execute("SELECT diff FROM snapshots WHERE diff IS NOT NULL AND pruned = 0")}
    for _, images in _needed_images(connection):
        hashes.update(image.hash for image in images if image.kept and image.hash is not None)
    return hashes


def _needed_images(connection: SqlConnection) -> Iterator[tuple[int, tuple[PathImage, ...]]]:
    """Yields the images that a restore may need, newest snapshot first, each with its position. One snapshot is in memory at a time."""
    rows = connection.execute(
        f"SELECT id, position FROM snapshots WHERE pruned = 0 AND {_NEEDED} ORDER BY position DESC"
    )
    for id_, position in rows.fetchall():
        (stored,) = connection.execute("SELECT images FROM snapshots WHERE position = ?", (position,)).fetchone()
        yield position, _images(connection, id_, stored)


def _forget_oldest(connection: SqlConnection, bytes_left: int) -> None:
    freed = _freed_by_pruning(connection)
    total = sum(size for _, size in freed)
    last = None
    for position, size in freed:
        if total <= bytes_left:
            break
        total -= size
        last = position
    if last is None:
        return
    doomed = (
        "SELECT id, position FROM snapshots WHERE pruned = 0"
        " AND change_id IN (SELECT change_id FROM snapshots WHERE position <= ? AND moment = 'before')"
    )
    doomed_rows = connection.execute(doomed, (last,)).fetchall()
    connection.executemany("DELETE FROM snapshot_paths WHERE snapshot_id = ?", ((id_,) for id_, _ in doomed_rows))
    connection.executemany(
        "UPDATE snapshots SET pruned = 1, diff = NULL, images = NULL WHERE position = ?",
        ((row_position,) for _, row_position in doomed_rows),
    )


def _freed_by_pruning(connection: SqlConnection) -> list[tuple[int, int]]:
    """Returns, for each snapshot, oldest first, the bytes that only it and older ones need: contents, and the records of its paths."""
    freed: Counter[int] = Counter()
    seen: set[str] = set()
    for position, images in _needed_images(connection):
        for image in images:
            if image.kept and image.hash is not None and image.hash not in seen:
                seen.add(image.hash)
                freed[position] += image.size
    rows = connection.execute(
        f"SELECT position, CASE WHEN diff IS NULL THEN 0 ELSE diff_size END + files * {_RECORD_BYTES} FROM snapshots WHERE pruned = 0"
    )
    freed.update(dict(rows.fetchall()))
    return sorted(freed.items())


def _of_change(connection: SqlConnection, change_id: str) -> list[Snapshot]:
    rows = connection.execute(
        f"SELECT {_ROWS.columns}, position, images FROM snapshots WHERE change_id = ?", (change_id,)
    ).fetchall()
    return [_whole(connection, row) for row in rows]


def _images(connection: SqlConnection, snapshot_id: str, stored: bytes | None) -> tuple[PathImage, ...]:
    return _images_in_rows(connection, snapshot_id) if stored is None else from_stored(stored)


def _images_in_rows(connection: SqlConnection, snapshot_id: str) -> tuple[PathImage, ...]:
    """Returns the images of a snapshot that an earlier release took. A pruned one has none."""
    rows: Iterable[tuple[bytes, str, str | None, int, int, int, int, int, int]] = connection.execute(
        f"SELECT {_PATH} FROM snapshot_paths WHERE snapshot_id = ? ORDER BY path", (snapshot_id,)
    )
    return tuple(
        PathImage(
            path.decode("utf-8", "surrogateescape"),
            PathKind(kind),
            hash_,
            mode,
            size,
            mtime,
            added,
            deleted,
            bool(is_kept),
        )
        for path, kind, hash_, mode, size, mtime, added, deleted, is_kept in rows
    )


def _whole(connection: SqlConnection, row: Sequence[Any]) -> Snapshot:  # Any: rows have no types
    return _snapshot(row[:-1], _images(connection, row[0], row[-1]))


def _snapshot(row: Sequence[Any], images: tuple[PathImage, ...]) -> Snapshot:
    return _ROWS.value(row, position=row[-1], images=images)


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
