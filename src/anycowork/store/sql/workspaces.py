"""The workspaces and leases tables: roots that a person registered, what is trusted in them, and who may write."""

import os
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from anycowork.domain.errors import Conflict, LeaseHeld, NotFound
from anycowork.domain.job_workers import TravelSettings
from anycowork.domain.journal import RequireLease
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock
from anycowork.domain.times import later
from anycowork.domain.values import value
from anycowork.domain.visibility import EVERYONE
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.row_mapper import from_json_text, to_json_text
from anycowork.store.sql.writer import Writer

_PATTERNS = msgspec.json.Decoder(tuple[str, ...])
_REMOVE = "DELETE FROM workspaces WHERE root = ?"


@value
class WorkspaceRoot:
    """A folder that a person registered. `trust` maps a path inside to the content hash that a person trusted.
    `trusts_contents`: a person vouches for what lies in it. `check`: the command that checks the work in it; empty: what is found."""

    root: str
    registered_by: str
    created_at: str
    trust: Json
    trusts_contents: bool = False
    travel: TravelSettings = TravelSettings()
    visibility: str = "everyone"
    owner: str = "owner"
    check: str = ""

    @property
    def id(self) -> str:
        """The same for the same folder, also if it is registered again."""
        return workspace_id_of(self.root)


def workspace_id_of(root: str) -> str:
    return sha256(os.fsencode(root)).hexdigest()[:32]


class RegisteredRoots:
    """The folders that people registered, and what they trust in them."""

    def __init__(self, reader: SqlReader, writer: Writer, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def register(
        self, root: str, *, registered_by: str, visibility: str = "everyone", owner: str = "owner"
    ) -> None:
        """Idempotent: one that is registered stays as it is."""
        values = (root, registered_by, self._clock.now(), visibility, owner)
        await self._writer.run(
            lambda connection: (
                connection.execute(
                    "INSERT INTO workspaces (root, registered_by, created_at, visibility, owner) VALUES (?, ?, ?, ?, ?)"
                    " ON CONFLICT (root) DO NOTHING",
                    values,
                ).rowcount
            )
        )

    async def all(self) -> list[WorkspaceRoot]:
        return await self._reader.read(_all)

    async def remove(self, root: str) -> None:
        """Takes the folder off the list, and what was trusted in it. Chats in it stay. Raises: Conflict if more people would see them then."""
        await self._writer.run(lambda connection: _remove(connection, root))

    async def set_trusts_contents(self, root: str, trusts: bool) -> None:
        """Raises: NotFound if the root is not registered."""
        update = "UPDATE workspaces SET trusts_contents = ? WHERE root = ?"
        if await self._writer.run(lambda connection: connection.execute(update, (int(trusts), root)).rowcount) != 1:
            raise NotFound("workspace", root)

    async def set_visibility(self, root: str, visibility: str) -> None:
        """Raises: NotFound if the root is not registered."""
        update = "UPDATE workspaces SET visibility = ? WHERE root = ?"
        if await self._writer.run(lambda connection: connection.execute(update, (visibility, root)).rowcount) != 1:
            raise NotFound("workspace", root)

    async def set_check(self, root: str, command: str) -> None:
        """Raises: NotFound if the root is not registered."""
        update = "UPDATE workspaces SET check_command = ? WHERE root = ?"
        if await self._writer.run(lambda connection: connection.execute(update, (command, root)).rowcount) != 1:
            raise NotFound("workspace", root)

    async def set_travel(self, root: str, travel: TravelSettings) -> None:
        """Raises: NotFound if the root is not registered."""
        row = (travel.setup, to_json_text(list(travel.leave_out)), root)
        update = "UPDATE workspaces SET setup = ?, leave_out = ? WHERE root = ?"
        if await self._writer.run(lambda connection: connection.execute(update, row).rowcount) != 1:
            raise NotFound("workspace", root)

    async def travel_of(self, root: str) -> TravelSettings:
        """Returns the defaults for a folder that is not registered itself."""
        return await self._reader.read(_travel_of, root)

    async def set_trust(self, root: str, path: str, content_hash: str | None) -> None:
        """Stores the trusted hash; None revokes the trust. Raises: NotFound if the root is not registered."""
        await self._writer.run(lambda connection: _set_trust(connection, root, path, content_hash))


_IN_FOLDER = "(workspace = ? OR substr(workspace, 1, ?) = ?)"
_SHOWN_WITHOUT = {
    "chat": f"SELECT count(*) FROM chats WHERE {_IN_FOLDER} AND visibility NOT IN ('private', ?)",
    "schedule or trigger": f"SELECT count(*) FROM schedules WHERE {_IN_FOLDER} AND chat_id IS NULL AND ? <> ''",
    "rule": f"SELECT count(*) FROM rules WHERE {_IN_FOLDER} AND chat_id IS NULL AND ? <> ''",
}
"""What the visibility of a folder alone keeps from people."""


def _remove(connection: SqlConnection, root: str) -> None:
    """Raises: Conflict."""
    row = connection.execute("SELECT visibility FROM workspaces WHERE root = ?", (root,)).fetchone()
    if row is not None and row[0] != EVERYONE:
        values = (root, len(root) + 1, f"{root}/", row[0])
        kinds = [kind for kind, count in _SHOWN_WITHOUT.items() if connection.execute(count, values).fetchone()[0]]
        if kinds:
            raise Conflict(
                f"More people would see a {' and a '.join(kinds)} in '{root}' if it was taken off the list. Remove or share these first, "
                "or make the workspace visible to everyone."
            )
    connection.execute(_REMOVE, (root,))


def _all(connection: SqlConnection) -> list[WorkspaceRoot]:
    rows = connection.execute(
        "SELECT root, registered_by, created_at, trust, trusts_contents, setup, leave_out, visibility, owner,"
        " check_command FROM workspaces ORDER BY root"
    )
    return [
        WorkspaceRoot(
            root,
            by,
            created_at,
            from_json_text(trust),
            bool(trusts_contents),
            TravelSettings(setup, _PATTERNS.decode(leave_out)),
            visibility,
            owner,
            check,
        )
        for root, by, created_at, trust, trusts_contents, setup, leave_out, visibility, owner, check in rows
    ]


def _travel_of(connection: SqlConnection, root: str) -> TravelSettings:
    row = connection.execute("SELECT setup, leave_out FROM workspaces WHERE root = ?", (root,)).fetchone()
    return TravelSettings() if row is None else TravelSettings(row[0], _PATTERNS.decode(row[1]))


def _set_trust(connection: SqlConnection, root: str, path: str, content_hash: str | None) -> None:
    row = connection.execute("SELECT trust FROM workspaces WHERE root = ?", (root,)).fetchone()
    if row is None:
        raise NotFound("workspace", root)
    trust = {**from_json_text(row[0]), path: content_hash}
    trusted = {name: hash_ for name, hash_ in trust.items() if hash_ is not None}
    connection.execute("UPDATE workspaces SET trust = ? WHERE root = ?", (to_json_text(trusted), root))


class FolderTable(Table):
    """Reads which folders are registered, and what people set for them."""

    @query
    def roots(connection: SqlConnection) -> list[str]:
        return [root for (root,) in connection.execute("SELECT root FROM workspaces")]

    @query
    def check_of(connection: SqlConnection, root: str) -> str:
        """Returns the command that checks the work in this folder; empty if no person set one."""
        row = connection.execute("SELECT check_command FROM workspaces WHERE root = ?", (root,)).fetchone()
        return "" if row is None else str(row[0])


class Leases:
    """Decides which server writes in a workspace. A change that names an older epoch than the newest is refused (`RequireLease`)."""

    def __init__(self, reader: SqlReader, writer: Writer, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def take(self, workspace: str, *, owner: str, seconds: float) -> int:
        """Makes the owner the writer for this long, and returns the new epoch. An owner may take its lease again at any time.

        Raises: LeaseHeld while the lease of another owner has not expired.
        """
        now = self._clock.now()
        return await self._writer.run(
            lambda connection: _take(connection, workspace, owner, now=now, until=later(now, seconds)), exclusive=False
        )

    async def owners(self) -> list[str]:
        """Returns who holds a lease that has not expired."""
        return await self._reader.read(_owners, self._clock.now())

    async def others_write(self, folder: str, *, owner: str) -> bool:
        """Returns whether somebody else holds the lease of this folder, of one around it or of one inside it."""
        return await self._reader.read(_others_write, folder, owner, self._clock.now())

    async def end_of_owners(self, owners: Sequence[str]) -> None:
        """Ends the leases of servers that died."""
        if owners:
            rows = [(self._clock.now(), owner) for owner in owners]
            end = "UPDATE leases SET expires_at = ? WHERE owner = ?"
            await self._writer.run(lambda connection: connection.executemany(end, rows).rowcount)


def _owners(connection: SqlConnection, now: str) -> list[str]:
    return [row[0] for row in connection.execute("SELECT DISTINCT owner FROM leases WHERE expires_at > ?", (now,))]


def _others_write(connection: SqlConnection, folder: str, owner: str, now: str) -> bool:
    rows = connection.execute("SELECT workspace FROM leases WHERE owner <> ? AND expires_at > ?", (owner, now))
    return any(f"{row[0]}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{row[0]}/") for row in rows)


def _take(connection: SqlConnection, workspace: str, owner: str, *, now: str, until: str) -> int:
    row = connection.execute(
        "INSERT INTO leases (workspace, owner, epoch, expires_at) VALUES (?1, ?2, 1, ?3)"
        " ON CONFLICT (workspace) DO UPDATE SET owner = ?2, epoch = leases.epoch + 1, expires_at = ?3"
        " WHERE leases.owner = ?2 OR leases.expires_at IS NULL OR leases.expires_at <= ?4 RETURNING epoch",
        (workspace, owner, until, now),
    ).fetchone()
    if row is None:
        raise LeaseHeld(
            f"Another server is writing in workspace '{workspace}'. Wait until it is done, or stop it there."
        )
    return int(row[0])


def require_lease(connection: SqlConnection, write: RequireLease) -> None:
    row = connection.execute(
        f"SELECT epoch FROM leases WHERE workspace = ?{connection.dialect.share}", (write.workspace,)
    ).fetchone()
    if row is None or row[0] != write.epoch:
        now = "none" if row is None else row[0]
        raise Conflict(
            f"The lease on workspace '{write.workspace}' has passed to another writer (epoch {write.epoch}, now {now})."
            " Check the files and start again."
        )
