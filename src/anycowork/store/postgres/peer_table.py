"""The table of servers and workers on one database: who lives, what workers do and refuse, and which jobs nobody works on.

A peer lives as long as its session holds the lock of its id. Its row only says more about it.
"""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any  # rows have no types

import msgspec

from anycowork.domain.job_workers import JobWorker
from anycowork.domain.values import value
from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection, unreachable

UNSEEN_SECONDS = 0.5  # for so long nobody looks for workers again where there are none: every step of every job asks
SEEN_SECONDS = 2.0  # a process says at most so often what it is, and in between only asks whether the database answers
HUNG_SECONDS = 8.0  # a worker that says nothing for so long
HUNG_SERVER_SECONDS = 20.0  # a server: it says something every five seconds
_LOCK_KEY = "((l.classid::bigint << 32) | l.objid::bigint)"
_LOCKS = (
    "pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def session_name(peer_id: str) -> str:
    """Returns how PostgreSQL lists the sessions of a process, by which all of them are ended if it hangs."""
    return f"anycowork {peer_id}"


def holder_of(name: str) -> str:
    """Returns the FROM and WHERE of the lock with this name; `name` is SQL."""
    return f"{_LOCKS} AND {_LOCK_KEY} = hashtextextended({name} || ' ' || current_schema(), 0)"


def is_held(name: str) -> str:
    """Returns SQL that tells whether somebody has the lock with this name. The locks are read once for all rows that are asked about."""
    return f"hashtextextended({name} || ' ' || current_schema(), 0) IN (SELECT {_LOCK_KEY} FROM {_LOCKS})"


_OF_PEER, _OF_CHAT = "'anycowork server ' || p.id", "'anycowork chat ' || j.chat_id"
LIVING = f"SELECT p.id FROM peers p WHERE {is_held(_OF_PEER)}"
_SEEN = (
    "INSERT INTO peers (id, kind, host, pid, version, permissions, data_folder) VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT (id) DO UPDATE SET seen_at = now(), permissions = excluded.permissions"
)
WORKERS = f"""
SELECT p.id, p.host, p.pid, p.version, to_char(p.joined_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
  COALESCE((SELECT json_agg(j.id ORDER BY j.id) FROM jobs j WHERE j.status IN ('running', 'paused')
    AND (SELECT l.pid FROM {holder_of(_OF_CHAT)}) = (SELECT l.pid FROM {holder_of(_OF_PEER)})), '[]')::text,
  COALESCE((SELECT json_agg(json_build_array(r.job_id, r.reason) ORDER BY r.job_id) FROM refused_jobs r
    WHERE r.peer_id = p.id), '[]')::text
FROM peers p WHERE p.kind = 'worker' AND {is_held(_OF_PEER)} ORDER BY p.host, p.joined_at, p.id
"""
_ANY_FITS = f"""
SELECT COALESCE(bool_or(NOT EXISTS (SELECT 1 FROM refused_jobs r WHERE r.peer_id = p.id AND r.job_id = $1)), false), COUNT(*) > 0
FROM peers p WHERE p.kind = 'worker' AND {is_held(_OF_PEER)}
"""
_OF_SERVERS = f"""
SELECT (SELECT marker FROM workspace_markers WHERE root = $1),
  ARRAY(SELECT DISTINCT p.permissions FROM peers p WHERE p.kind = 'server' AND {is_held(_OF_PEER)})
"""
# A chat that nobody has: a turn that is running there has lost its process, and one that is due was decided and waits for one.
# A job that the queue has for a worker that fits is not among them: each would be looked at by every process, for as long as it waits.
_FREE = f"""
WITH living AS MATERIALIZED (SELECT p.id FROM peers p WHERE p.kind = 'worker' AND {is_held(_OF_PEER)})
SELECT j.chat_id, found.is_lost FROM jobs j CROSS JOIN LATERAL (SELECT EXISTS (SELECT 1 FROM turns t
  WHERE t.chat_id = j.chat_id AND t.state IN ('running', 'due')) AS is_lost) found
WHERE j.status IN ('planning', 'running') AND (found.is_lost OR NOT EXISTS (SELECT 1 FROM turns t
  WHERE t.chat_id = j.chat_id AND t.state = 'parked')) AND NOT {is_held(_OF_CHAT)}
AND NOT (EXISTS (SELECT 1 FROM engine_runs r WHERE r.run_id = j.id AND r.state = 'active') AND EXISTS (SELECT 1 FROM living
  WHERE NOT EXISTS (SELECT 1 FROM refused_jobs r WHERE r.peer_id = living.id AND r.job_id = j.id)))
ORDER BY j.created_at, j.id
"""
_ENDED_RUNS = """
SELECT r.run_id FROM engine_runs r JOIN jobs j ON j.id = r.run_id
WHERE r.state = 'parked' AND j.status IN ('completed', 'failed', 'cancelled')
"""
_AT_WORK = f"""
SELECT p.id, p.kind FROM peers p
WHERE (SELECT l.pid FROM {holder_of(_OF_PEER)}) = (SELECT l.pid FROM {holder_of("'anycowork chat ' || $1")})
"""
_DATA_FOLDER = f"""
SELECT f.host, f.folder, EXISTS (SELECT 1 FROM peers p WHERE p.data_folder = $1 AND {is_held(_OF_PEER)})
FROM pack_folders f WHERE f.id = $1
"""
_END_DEAD = f"""
WITH removed AS (DELETE FROM peers p WHERE p.id <> $1 AND NOT {is_held(_OF_PEER)})
SELECT pg_terminate_backend(a.pid) FROM peers p JOIN pg_stat_activity a ON a.application_name = 'anycowork ' || p.id
CROSS JOIN LATERAL (SELECT now() - make_interval(secs => CASE p.kind WHEN 'worker' THEN $2::float8 ELSE $3::float8 END)) AS hung (since)
WHERE a.datname = current_database() AND p.id <> $1 AND p.seen_at < hung.since AND a.backend_start < hung.since
"""
Fetch = Callable[..., Awaitable[Sequence[Any]]]


@value
class PeerDescription:
    """What a process tells the others about itself. `permissions` is a digest of the roles and agents that it has."""

    kind: str
    host: str
    pid: int
    version: str
    permissions: str


@value
class DataFolder:
    host: str
    folder: str
    is_in_use: bool


class PeerTable:
    """`fetch` runs a statement in the session that holds this process's locks. Every method raises StorageFault while that is away."""

    def __init__(self, fetch: Fetch, peer_id: str) -> None:
        self._fetch = fetch
        self._id = peer_id
        self.data_folder: str | None = None
        """The id of the data folder of this process."""
        self._describe: Callable[[], PeerDescription] | None = None
        self._no_workers_until = self._seen_until = -math.inf

    async def announce(self, describe: Callable[[], PeerDescription]) -> None:
        """Tells the others about this process, now and from time to time: its settings may change."""
        self._describe = describe
        self.say_again()
        await self.see()

    def say_again(self) -> None:
        """Has the next `see` say what this process is: others may have taken it for gone."""
        self._seen_until = -math.inf

    def is_due(self) -> bool:
        """Tells whether this process has to say again what it is."""
        return self._describe is not None and time.monotonic() >= self._seen_until

    async def see(self) -> None:
        """Says that this process is at work: one that is silent for long is taken for hung."""
        if self._describe is None or not self.is_due():
            await self._fetch("SELECT 1")
            return
        description = self._describe()
        row = (
            description.kind,
            description.host,
            description.pid,
            description.version,
            description.permissions,
            self.data_folder,
        )
        await self._fetch(_SEEN, self._id, *row)
        self._seen_until = time.monotonic() + SEEN_SECONDS

    async def remove_dead(self) -> None:
        """Ends all sessions of hung processes, which frees their locks, also that of writers, and removes the rows of those that are gone.

        A session that is younger than the silence stays: its process has just come back, after the database was away.
        """
        await self._fetch(_END_DEAD, self._id, HUNG_SECONDS, HUNG_SERVER_SECONDS)

    # --- jobs

    async def workers(self) -> list[JobWorker]:
        workers = [worker_of(row) for row in await self._fetch(WORKERS)]
        if workers:
            self._no_workers_until = -math.inf
        return workers

    async def has_worker_for(self, job_id: str) -> bool:
        """Tells whether a worker lives that has not refused the job. A first worker may be seen a moment late."""
        if time.monotonic() < self._no_workers_until:
            return False
        [(fits, any_lives)] = await self._fetch(_ANY_FITS, job_id)
        if not any_lives:
            self._no_workers_until = time.monotonic() + UNSEEN_SECONDS
        return bool(fits)

    async def free_chats(self) -> list[tuple[str, bool]]:
        """Returns the chats whose job can go on now, that no process has taken and that wait for no worker, the oldest job first, each with
        whether a turn there has lost its process."""
        return [(row[0], row[1]) for row in await self._fetch(_FREE)]

    async def ended_runs(self) -> list[str]:
        """Returns the runs of the engine that wait although their job is over."""
        return [row[0] for row in await self._fetch(_ENDED_RUNS)]

    async def at_work_in(self, chat_id: str) -> tuple[str, str] | None:
        """Returns the id and the kind of the process that works in the chat now."""
        rows = await self._fetch(_AT_WORK, chat_id)
        return (rows[0][0], rows[0][1]) if rows else None

    async def refuse(self, job_id: str, reason: str) -> None:
        """Says why this worker does not run the job; others may."""
        statement = (
            "INSERT INTO refused_jobs (job_id, peer_id, reason) VALUES ($1, $2, $3)"
            " ON CONFLICT (job_id, peer_id) DO UPDATE SET reason = excluded.reason"
        )
        await self._fetch(statement, job_id, self._id, reason)

    async def accept(self, job_id: str) -> None:
        """Takes a refusal back."""
        await self._fetch("DELETE FROM refused_jobs WHERE job_id = $1 AND peer_id = $2", job_id, self._id)

    async def of_servers(self, root: str) -> tuple[str | None, frozenset[str]]:
        """Returns the marker that a server gave the workspace, and the digests of the living servers."""
        [(marker, permissions)] = await self._fetch(_OF_SERVERS, root)
        return marker, frozenset(permissions)

    # --- workspaces

    async def put_marker(self, root: str, marker: str) -> None:
        statement = (
            "INSERT INTO workspace_markers (root, marker) VALUES ($1, $2)"
            " ON CONFLICT (root) DO UPDATE SET marker = excluded.marker"
        )
        await self._fetch(statement, root, marker)

    async def marker(self, root: str) -> str | None:
        rows = await self._fetch("SELECT marker FROM workspace_markers WHERE root = $1", root)
        return rows[0][0] if rows else None

    # --- checkpoints

    async def find_data_folder(self, data_folder: str) -> DataFolder | None:
        """Returns where it is, and whether a process on it lives."""
        rows = await self._fetch(_DATA_FOLDER, data_folder)
        return DataFolder(rows[0][0], str(Path(rows[0][1]).parent), rows[0][2]) if rows else None

    async def put_pack_folder(self, pack_id: str, kind: str, host: str, folder: str) -> None:
        """Says where this process keeps the contents of checkpoints. The id is that of its data folder, too."""
        self.data_folder = pack_id
        statement = (
            "INSERT INTO pack_folders (id, kind, host, folder) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE"
            " SET kind = excluded.kind, host = excluded.host, folder = excluded.folder"
        )
        await self._fetch(statement, pack_id, kind, host, folder)


def worker_of(row: Sequence[Any]) -> JobWorker:
    """Reads a row of `WORKERS`."""
    peer_id, host, pid, version, joined_at, jobs, refused = row
    refused_jobs = tuple((job_id, reason) for job_id, reason in msgspec.json.decode(refused))
    return JobWorker(peer_id, host, pid, version, joined_at, tuple(msgspec.json.decode(jobs)), refused_jobs)


def living_workers(url: str) -> list[JobWorker]:
    """Changes nothing. Raises: Invalid for a wrong address; StorageFault, also if the database has no such table yet."""
    address = read_address(url)
    with closing(PostgresConnection(address)) as connection:
        connection.connect()
        try:
            return [worker_of(row) for row in connection.execute(WORKERS)]
        except connection.dialect.errors as error:
            raise unreachable(address, error) from None
