"""Which workers are alive: each holds an advisory lock that the database releases with its connection, and says so every moment.

A worker whose lock is free is dead. One that holds it and is silent for long hangs: its connection is ended, which frees the lock, and
the worker notices when it comes back. Whoever takes a dead worker's lock removes it from
the workers, and what the queue counts as a worker's who is not among them is queued again.
"""

import os
import platform

from anycowork.domain.errors import StorageFault
from anycowork.engine.reconnecting_connection import ReconnectingConnection
from anycowork.engine.run_table import LOCK

HUNG_SECONDS = 8.0
_END_HUNG = f"""
SELECT pg_terminate_backend(l.pid) FROM anycowork_engine.workers w JOIN pg_locks l
  ON l.locktype = 'advisory' AND l.objsubid = 1 AND ((l.classid::bigint << 32) | l.objid::bigint) = {LOCK.replace("%s", "w.id")}
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
WHERE w.id <> %s AND w.seen_at < now() - make_interval(secs => %s)
"""


class Liveness:
    """The membership of this process. `link` is used for nothing else: the lock lives as long as its connection."""

    def __init__(
        self, link: ReconnectingConnection, *, worker_id: str, name: str, takes_runs: bool, hung_seconds: float
    ) -> None:
        self._link = link
        self._id = worker_id
        self._name = name
        self._takes_runs = takes_runs
        self._hung_seconds = hung_seconds

    async def join(self) -> None:
        """Take the lock and appear among the workers. Raises: StorageFault."""
        [(taken,)] = await self._link.fetch(f"SELECT pg_try_advisory_lock({LOCK})", self._id)
        if not taken:
            raise StorageFault(f"The lock of worker '{self._id}' is held by another connection.")
        await self._link.fetch(
            "INSERT INTO anycowork_engine.workers (id, name, host, pid, takes_runs, backend) VALUES (%s, %s, %s, %s, %s, pg_backend_pid())"
            " ON CONFLICT (id) DO UPDATE SET backend = pg_backend_pid(), seen_at = now()",
            self._id,
            self._name,
            platform.node(),
            os.getpid(),
            self._takes_runs,
        )

    async def beat(self) -> bool:
        """Say that this process is alive; False if the others have counted it among the dead. Raises: StorageFault."""
        found = await self._link.fetch(
            "UPDATE anycowork_engine.workers SET seen_at = now() WHERE id = %s AND backend = pg_backend_pid() RETURNING 1",
            self._id,
        )
        return bool(found)

    async def find_dead(self) -> list[str]:
        """Return the workers whose lock is free, and hold it: no other process finds them meanwhile. Call `bury` for each."""
        await self._link.fetch(_END_HUNG, self._id, self._hung_seconds)
        found = await self._link.fetch(
            f"SELECT id FROM (SELECT id FROM anycowork_engine.workers WHERE id <> %s OFFSET 0) others"
            f" WHERE pg_try_advisory_lock({LOCK.replace('%s', 'id')})",
            self._id,
        )
        return [str(id_) for (id_,) in found]

    async def bury(self, worker_id: str) -> None:
        """Remove a dead worker."""
        await self._link.fetch("DELETE FROM anycowork_engine.workers WHERE id = %s", worker_id)
        await self._link.fetch(f"SELECT pg_advisory_unlock({LOCK})", worker_id)

    async def leave(self) -> None:
        await self._link.fetch("DELETE FROM anycowork_engine.workers WHERE id = %s", self._id)
