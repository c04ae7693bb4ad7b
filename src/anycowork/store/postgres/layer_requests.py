"""Asks other processes, through a table, to keep what their tasks see of a folder before it is changed, and answers what they ask."""

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any  # rows have no types

from anycowork.domain.errors import AnyCoworkError, Conflict, StorageFault
from anycowork.domain.journal import LayerChange, LayerChangeKind
from anycowork.store.postgres.connection import OUTAGE_SECONDS
from anycowork.store.postgres.peer_table import Fetch, is_held

POLL_SECONDS = 0.05
AWAY_SECONDS = 0.2
GONE_SECONDS = 5.0  # a process that only lost its session has joined again by then
_OLD = "1 day"  # nobody waits so long
_ANNOUNCE = """
WITH removed AS (DELETE FROM layer_folders WHERE peer_id = $1 AND folder <> ALL ($2::text[]))
INSERT INTO layer_folders (peer_id, folder) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING
"""
_PEERS_ON = """
SELECT DISTINCT peer_id FROM layer_folders WHERE peer_id <> $1
AND (folder = $2 OR starts_with(folder, $2 || '/') OR starts_with($2, folder || '/'))
"""
_ASK = "INSERT INTO layer_requests (id, peer_id, change) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
_STATE = f"""
SELECT r.answer, {is_held("'anycowork server ' || r.peer_id")},
  EXISTS (SELECT 1 FROM layer_folders f WHERE f.peer_id = r.peer_id)
FROM layer_requests r WHERE r.id = $1
"""
_OPEN = """
SELECT r.id, r.change FROM layer_folders f LEFT JOIN layer_requests r ON r.peer_id = f.peer_id AND r.answer IS NULL
WHERE f.peer_id = $1
"""
_ANSWER = "UPDATE layer_requests SET answer = $2 WHERE id = $1"
log = logging.getLogger(__name__)
Apply = Callable[[LayerChange], Awaitable[None]]


class LayerRequests:
    """Tells the layers of other processes on the same database of changes. `fetch` runs a statement.

    Nothing is polled while no layer of this process lies on any folder.
    """

    def __init__(self, fetch: Fetch, peer_id: str) -> None:
        self._fetch_once = fetch
        self._id = peer_id
        self._folders: list[str] = []
        self._has_folders = asyncio.Event()
        self._at_work: set[str] = set()

    async def _fetch(self, sql: str, *values: object) -> Sequence[Any]:
        """Waits for a database that is away, as every write does. Raises: StorageFault if it stays away."""
        until = asyncio.get_running_loop().time() + OUTAGE_SECONDS
        while True:
            try:
                return await self._fetch_once(sql, *values)
            except StorageFault:
                if asyncio.get_running_loop().time() >= until:
                    raise
            await asyncio.sleep(AWAY_SECONDS)

    # --- a process that changes something

    async def tell(self, change: LayerChange) -> None:
        """Returns when every other process has kept what its tasks see. Only under the lease of the folder.

        Raises: Conflict if one of them cannot; StorageFault.
        """
        peers = [row[0] for row in await self._fetch(_PEERS_ON, self._id, change.folder)]
        if not peers:
            return
        await self._fetch(f"DELETE FROM layer_requests WHERE created_at < now() - INTERVAL '{_OLD}'")
        requests = {secrets.token_hex(16): peer_id for peer_id in peers}
        body = json.dumps([change.kind, change.folder, change.paths, change.gone]).encode()
        try:
            for request_id, peer_id in requests.items():
                await self._fetch(_ASK, request_id, peer_id, body)
            for request_id, peer_id in requests.items():
                await self._answered(request_id, peer_id)
        finally:
            await self._fetch("DELETE FROM layer_requests WHERE id = ANY ($1::text[])", list(requests))

    async def _answered(self, request_id: str, peer_id: str) -> None:
        """Waits as long as the other process lives and has layers: it may wait for a command. Raises: Conflict, StorageFault."""
        now = asyncio.get_running_loop().time
        silent_since: float | None = None
        while True:
            rows = await self._fetch(_STATE, request_id)
            answer, lives, has_layers = rows[0] if rows else ("", True, True)
            if answer is not None or not has_layers:
                break
            silent_since = None if lives else silent_since or now()
            if silent_since is not None and now() - silent_since > GONE_SECONDS:
                await self._fetch("DELETE FROM layer_folders WHERE peer_id = $1", peer_id)
                return
            await asyncio.sleep(POLL_SECONDS)
        if answer:
            raise Conflict(answer)

    # --- a process with layers

    async def announce(self, folders: Collection[str]) -> None:
        """Tells the others which folders this process's layers lie on now. Raises: StorageFault."""
        await self._fetch(_ANNOUNCE, self._id, list(folders))
        self._folders = list(folders)
        if folders:
            self._has_folders.set()
        else:
            self._has_folders.clear()

    async def answer_all(self, apply: Apply) -> None:
        """Does what others ask, until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._has_folders.wait()
                await asyncio.sleep(POLL_SECONDS)
                try:
                    for request_id, body in await self._open():
                        self._at_work.add(request_id)
                        tasks.create_task(self._answer(request_id, body, apply))
                except StorageFault as error:
                    log.warning("what others want to change beneath tasks cannot be read yet: %s", error.message)

    async def _open(self) -> list[tuple[str, bytes]]:
        """Raises: StorageFault."""
        rows = await self._fetch(_OPEN, self._id)
        if not rows and self._folders:  # others took this process for dead, while it was without a session
            await self.announce(self._folders)
        return [(row[0], row[1]) for row in rows if row[0] is not None and row[0] not in self._at_work]

    async def _answer(self, request_id: str, body: bytes, apply: Apply) -> None:
        try:
            await self._fetch(_ANSWER, request_id, await _applied(body, apply))
        except StorageFault as error:
            log.warning("what another process asked for is answered later: %s", error.message)
        finally:
            self._at_work.discard(request_id)


async def _applied(body: bytes, apply: Apply) -> str:
    """Returns why it cannot be done; nothing if it was."""
    try:
        kind, folder, paths, removed = json.loads(body)  # noqa: TID251  # our own process wrote it
        await apply(LayerChange(LayerChangeKind(kind), str(folder), tuple(paths), tuple(removed)))
    except Conflict as error:
        return error.message
    except AnyCoworkError as error:
        log.warning("A task's layer could not keep what it sees: %s", error.message)
    except Exception:  # whatever the row holds, the one who waits is answered, and this process goes on
        log.exception("a change beneath the tasks of this process was not applied")
    return ""
