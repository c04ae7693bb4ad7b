"""The origins of file versions: a row for each labelled path, for a folder where a change was large, and one for the workspace as a whole.

A change writes a bounded number of rows, however large it or the workspace is. Origins are joined, never taken away, except by a person
who vouches for a file: a deleted file may be restored, and a moved one brings its own.

Workspaces may lie inside each other: a file has the rows of each one that it is in.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeVar  # Any: each query brings its own type

import msgspec

from anycowork.domain.journal import AddFileOrigins
from anycowork.domain.origins import NO_ORIGINS, PERSON, WORKSPACE, Origins, join, unvouched
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.row_mapper import to_json_text

T = TypeVar("T")
MOST_ROWS = 200  # of one change; a larger one is recorded by its folders
_MOST_ANSWERS = 1_000  # that are remembered at a time
_ALL = ""
_CACHES = "//"  # what commands keep beside the workspace's files, for later ones; no path has this name
_VOUCHED: Origins = frozenset({PERSON})
_ADD = (
    "INSERT INTO file_origins (workspace, path, origins) VALUES (?, ?, '[]') ON CONFLICT (workspace, path) DO NOTHING"
)
_PUT = (
    "INSERT INTO file_origins (workspace, path, origins) VALUES (?, ?, ?)"
    " ON CONFLICT (workspace, path) DO UPDATE SET origins = excluded.origins"
)
_decode = msgspec.json.Decoder(frozenset[str]).decode


class StoredOrigins(Table):
    """Reads the origins of files and turns, and which workspaces a person vouches for.

    Every call of a turn asks for the same few of them, so answers are remembered until something is written that is no step of a turn.
    """

    def __init__(self, reader: SqlReader, changes: Callable[[], int | None]) -> None:
        """`changes` counts what was written beside steps; None where another server may have written."""
        super().__init__(reader)
        self._changes = changes
        self._answered_at: int | None = None
        self._answers: dict[Hashable, Any] = {}

    async def trusts_contents(self, workspace: str) -> bool:
        """Returns whether a person trusted the contents of this folder, or of one around it."""
        return await self._remembered(_trusts_contents, workspace)

    async def of_paths(self, workspace: str, paths: Sequence[str]) -> Origins:
        """Returns the join of the origins of these files, and of everything below them if they are folders."""
        return await self._remembered(_of_paths, workspace, tuple(paths))

    async def of_workspace(self, workspace: str) -> Origins:
        """Returns the join of the origins of every file in the workspace, and of what commands keep beside them."""
        return await self._remembered(_of_workspace, workspace)

    async def _remembered(self, work: Callable[..., T], *asked: Hashable) -> T:
        changes = self._changes()
        if changes is None:
            return await self._reader.read(work, *asked)
        if changes != self._answered_at or len(self._answers) >= _MOST_ANSWERS:
            self._answered_at, self._answers = changes, {}
        key = (work, *asked)
        if key not in self._answers:
            answer = await self._reader.read(work, *asked)
            if changes != self._changes():  # written while it was read
                return answer
            self._answers[key] = answer
        return self._answers[key]  # type: ignore[no-any-return]

    @query
    def foreign_among(connection: SqlConnection, workspace: str, paths: Sequence[str]) -> frozenset[str]:
        """Returns those of these paths that carry more than what a person, a model or the folder itself said."""
        near = _near(connection, workspace)
        if not _foreign(_of_place(connection, near, workspace)):
            return frozenset()
        return frozenset(
            path for path in paths if _foreign(_of_place(connection, near, f"{workspace}/{path.strip('/')}"))
        )

    @query
    def of_turns(connection: SqlConnection, turn_ids: Sequence[str | None]) -> Origins:
        """Returns the join of what the models of these turns were shown."""
        ids, joined = tuple(filter(None, turn_ids)), NO_ORIGINS
        for start in range(0, len(ids), MOST_ROWS):
            part = ids[start : start + MOST_ROWS]
            marks = ", ".join("?" * len(part))
            rows = connection.execute(f"SELECT DISTINCT origins FROM turns WHERE id IN ({marks})", part)
            joined = join(joined, *(_decode(text) for (text,) in rows))
        return joined

    @query
    def of_job(connection: SqlConnection, job_id: str) -> Origins:
        """Returns the join of what the models of this job's turns were shown."""
        rows = connection.execute("SELECT DISTINCT origins FROM turns WHERE job_id = ?", (job_id,))
        return join(*(_decode(text) for (text,) in rows))


def _trusts_contents(connection: SqlConnection, workspace: str) -> bool:
    rows = connection.execute("SELECT root FROM workspaces WHERE trusts_contents = 1")
    return any(f"{workspace}/".startswith(f"{root.rstrip('/')}/") for (root,) in rows)


def _of_paths(connection: SqlConnection, workspace: str, paths: Sequence[str]) -> Origins:
    near = _near(connection, workspace)
    if len(paths) > MOST_ROWS or any(path.strip("/") in ("", ".") for path in paths):
        return join((WORKSPACE,), _of_place(connection, near, workspace))
    return join(*(_of_place(connection, near, f"{workspace}/{path.strip('/')}") for path in paths))


def _of_workspace(connection: SqlConnection, workspace: str) -> Origins:
    return join((WORKSPACE,), _of_place(connection, _near(connection, workspace), workspace))


def add(connection: SqlConnection, write: AddFileOrigins) -> None:
    """Adds origins to those of these paths; without any, to those of what commands keep beside the files."""
    _add(connection, write.workspace, row_keys(write.paths) or [_CACHES], write.origins)


def _add(connection: SqlConnection, workspace: str, rows: Iterable[str], added: Origins) -> None:
    keys = sorted({*rows, _ALL})
    if not _changes(keys, _rows(connection, workspace, keys), added):
        return  # as most often: what a folder holds seldom comes from somewhere new
    connection.executemany(_ADD, [(workspace, key) for key in keys])
    stored = _rows(connection, workspace, keys, lock=connection.dialect.share)  # another chat may add others now
    changed = _changes(keys, stored, added)
    connection.executemany(_PUT, [(workspace, key, to_json_text(sorted(changed[key]))) for key in changed])


def _changes(keys: Sequence[str], stored: Mapping[str, Origins], added: Origins) -> dict[str, Origins]:
    joined = {key: join(stored.get(key, NO_ORIGINS), added) for key in keys}
    return {key: origins for key, origins in joined.items() if origins != stored.get(key)}


def copy(connection: SqlConnection, source: str, target: str) -> None:
    """Gives a copy of a workspace the origins of its files: where other workspaces know some of them, all of them those."""
    connection.execute(
        "INSERT INTO file_origins (workspace, path, origins) SELECT ?, path, origins FROM file_origins WHERE workspace = ?"
        " ON CONFLICT (workspace, path) DO NOTHING",
        (target, source),
    )
    others = [root for root in _near(connection, source) if root != source]
    if foreign := _foreign(_of_place(connection, others, source)):
        _add(connection, target, ["/"], foreign)


def row_keys(paths: Iterable[str]) -> list[str]:
    """Returns the keys of the rows for these paths: the paths themselves, or few enough folders around them, each with a slash at its end."""
    keys = list(dict.fromkeys(path.strip("/") or "/" for path in paths))
    if len(keys) <= MOST_ROWS:
        return keys
    names = dict.fromkeys(key.rpartition("/")[0] for key in keys)
    folders = dict.fromkeys(tuple(part for part in name.split("/") if part not in ("", ".")) for name in names)
    for depth in range(max(map(len, folders)), 0, -1):
        folders = dict.fromkeys(folder[:depth] for folder in folders)
        if len(folders) <= MOST_ROWS:
            return ["/".join(folder) + "/" for folder in folders]
    return ["/"]


def _near(connection: SqlConnection, workspace: str) -> list[str]:
    """Returns the workspaces with rows that this one is, lies in or holds."""
    parts = workspace.split("/")
    around = ["/".join(parts[:depth]) or "/" for depth in range(1, len(parts) + 1)]
    marks = ", ".join("?" * len(around))
    rows = connection.execute(
        f"SELECT workspace FROM file_origins WHERE path = '' AND (workspace IN ({marks}) OR (workspace > ? AND workspace < ?))",
        (*around, f"{workspace}/", f"{workspace}0"),
    )
    return [root for (root,) in rows]


def _of_place(connection: SqlConnection, roots: Iterable[str], path: str) -> Origins:
    """Returns what these workspaces know of a file or a folder, given by its whole path."""
    origins: list[Origins] = []
    for root in roots:
        if path.startswith(f"{root}/"):
            origins.append(_of_path(connection, root, path[len(root) + 1 :]))
        elif f"{root}/".startswith(f"{path}/"):
            origins.append(_rows(connection, root, (_ALL,)).get(_ALL, NO_ORIGINS))
    return join(*origins) or frozenset({WORKSPACE})


def _foreign(origins: Origins) -> Origins:
    return unvouched(origins, trusts_contents=True)


def _of_path(connection: SqlConnection, workspace: str, path: str) -> Origins:
    folders = ["/", *(f"{folder}/" for folder in map(str, PurePosixPath(path).parents) if folder != ".")]
    rows = _rows(connection, workspace, [path, f"{path}/", *folders])
    below = connection.execute(
        "SELECT DISTINCT origins FROM file_origins WHERE workspace = ? AND path > ? AND path < ?",
        (workspace, f"{path}/", f"{path}0"),
    )
    own_origins = rows.pop(path, frozenset({WORKSPACE}))
    if own_origins == _VOUCHED:
        return own_origins
    return join(own_origins, *rows.values(), *(_decode(text) for (text,) in below))


def _rows(connection: SqlConnection, workspace: str, keys: Sequence[str], *, lock: str = "") -> dict[str, Origins]:
    marks = ", ".join("?" * len(keys))
    rows = connection.execute(
        f"SELECT path, origins FROM file_origins WHERE workspace = ? AND path IN ({marks}){lock}", (workspace, *keys)
    )
    return {path: _decode(origins) for path, origins in rows}


def vouch(connection: SqlConnection, workspace: str, path: str) -> None:
    """Makes a file the person's own. A row of its own stays: it counts for more than the row of a folder."""
    whole_path = f"{workspace}/{path.strip('/')}"
    for root in {workspace, *_near(connection, workspace)}:
        if not whole_path.startswith(f"{root}/"):
            continue
        connection.execute(_PUT, (root, whole_path[len(root) + 1 :], to_json_text(sorted(_VOUCHED))))
        rows = connection.execute(
            "SELECT DISTINCT origins FROM file_origins WHERE workspace = ? AND path <> ''", (root,)
        )
        every_origin = join(*(_decode(text) for (text,) in rows))
        connection.execute(_PUT, (root, _ALL, to_json_text(sorted(every_origin))))
