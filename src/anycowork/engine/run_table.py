"""The engine's tables in PostgreSQL: runs, signals and workers. Each function is one statement, so it happens whole or not at all."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from anycowork.domain.engine import RunSegment, RunState, WorkerInfo
from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.engine.reconnecting_connection import ReconnectingConnection

_SCHEMA = """
SELECT pg_advisory_xact_lock(hashtextextended('anycowork-engine-schema', 0));
CREATE SCHEMA IF NOT EXISTS anycowork_engine;
CREATE TABLE IF NOT EXISTS anycowork_engine.runs (
  run_id text PRIMARY KEY, kind text NOT NULL, payload text NOT NULL, state text NOT NULL DEFAULT 'active',
  segment int NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0, epoch bigint NOT NULL DEFAULT 0, owner text,
  waits_for text, signal text, result text, error text, changed_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX IF NOT EXISTS runs_state ON anycowork_engine.runs (state, changed_at);
CREATE TABLE IF NOT EXISTS anycowork_engine.signals (
  seq bigserial, run_id text NOT NULL, dedup text NOT NULL, name text NOT NULL, payload text NOT NULL,
  consumed boolean NOT NULL DEFAULT false, PRIMARY KEY (run_id, dedup));
CREATE TABLE IF NOT EXISTS anycowork_engine.workers (
  id text PRIMARY KEY, name text NOT NULL, host text NOT NULL, pid int NOT NULL, takes_runs boolean NOT NULL,
  backend int NOT NULL, joined_at timestamptz NOT NULL DEFAULT now(), seen_at timestamptz NOT NULL DEFAULT now());
"""
_ADVANCE = """
WITH found AS (
  SELECT r.run_id, s.seq, s.payload FROM anycowork_engine.runs r JOIN LATERAL (
    SELECT seq, payload FROM anycowork_engine.signals
    WHERE run_id = r.run_id AND name = r.waits_for AND NOT consumed ORDER BY seq LIMIT 1) s ON true
  WHERE r.run_id = %s AND r.state = 'parked' FOR UPDATE OF r),
used AS (UPDATE anycowork_engine.signals SET consumed = true FROM found WHERE signals.seq = found.seq)
UPDATE anycowork_engine.runs SET state = 'active', segment = segment + 1, attempts = 0, waits_for = NULL, signal = found.payload,
  changed_at = now() FROM found WHERE runs.run_id = found.run_id RETURNING runs.segment
"""
_UNQUEUED = """
SELECT r.run_id, r.segment, w.status FROM anycowork_engine.runs r
LEFT JOIN dbos.workflow_status w ON w.workflow_uuid = r.run_id || ':' || r.segment
WHERE r.state = 'active' AND r.changed_at < now() - interval '2 seconds'
  AND (w.status IS NULL OR w.status NOT IN ('ENQUEUED', 'PENDING', 'DELAYED')) LIMIT 100
"""
_QUEUE_AGAIN = """
UPDATE dbos.workflow_status SET status = 'ENQUEUED', owner_xid = NULL, started_at_epoch_ms = NULL,
  updated_at = CAST(extract(epoch FROM now()) * 1000 AS bigint)
WHERE status = 'PENDING' AND queue_name = %s AND (executor_id NOT IN (SELECT id FROM anycowork_engine.workers)
  OR (executor_id = %s AND NOT (workflow_uuid = ANY(%s)) AND updated_at < extract(epoch FROM now()) * 1000 - 2000))
"""
LOCK = "hashtextextended('anycowork-worker:' || %s, 0)"


@value
class RunRow:
    """`owner` is the worker that runs it, until it has let go."""

    state: RunState
    segment: int
    epoch: int
    owner: str | None


@value
class RunEnd:
    state: RunState
    result: Json | None
    error: tuple[str, str] | None


class RunTable:
    def __init__(self, link: ReconnectingConnection) -> None:
        self._link = link

    async def create_schema(self) -> None:
        await self._link.fetch(_SCHEMA)

    async def add(self, run_id: str, kind: str, payload: bytes) -> None:
        await self._link.fetch(
            "INSERT INTO anycowork_engine.runs (run_id, kind, payload) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            run_id,
            kind,
            payload.decode(),
        )

    async def add_signal(self, run_id: str, name: str, payload: bytes, dedup: str) -> None:
        await self._link.fetch(
            "INSERT INTO anycowork_engine.signals (run_id, dedup, name, payload) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            run_id,
            dedup,
            name,
            payload.decode(),
        )

    async def advance(self, run_id: str) -> int | None:
        """Take the signal that the parked run waits for; return the number of the segment that is due, or None."""
        found = await self._link.fetch(_ADVANCE, run_id)
        return int(found[0][0]) if found else None

    async def pick_up(self, run_id: str, number: int, owner: str) -> RunSegment | None:
        """Make the owner the only writer of the run; None if this segment is over."""
        found = await self._link.fetch(
            "UPDATE anycowork_engine.runs SET epoch = epoch + 1, attempts = attempts + 1, owner = %s, changed_at = now()"
            " WHERE run_id = %s AND segment = %s AND state = 'active' RETURNING kind, payload, signal, attempts, epoch",
            owner,
            run_id,
            number,
        )
        if not found:
            return None
        kind, payload, signal, attempts, epoch = found[0]
        decoded = msgspec.json.decode(signal) if signal is not None else None
        return RunSegment(run_id, kind, msgspec.json.decode(payload), number, decoded, attempts, epoch)

    async def finish(
        self,
        segment: RunSegment,
        state: RunState,
        *,
        waits_for: str | None = None,
        result: bytes | None = None,
        error: tuple[str, str] | None = None,
    ) -> bool:
        """End the segment; False if another worker has the run by now, or it was cancelled."""
        found = await self._link.fetch(
            "UPDATE anycowork_engine.runs SET state = %s, waits_for = %s, result = %s, error = %s, owner = NULL, changed_at = now()"
            " WHERE run_id = %s AND segment = %s AND epoch = %s AND state = 'active' RETURNING 1",
            state.value,
            waits_for,
            result.decode() if result is not None else None,
            msgspec.json.encode(error).decode() if error is not None else None,
            segment.run_id,
            segment.number,
            segment.epoch,
        )
        return bool(found)

    async def let_go(self, segment: RunSegment) -> None:
        """Tell who cancelled the run that its handler has ended."""
        await self._link.fetch(
            "UPDATE anycowork_engine.runs SET owner = NULL WHERE run_id = %s AND epoch = %s",
            segment.run_id,
            segment.epoch,
        )

    async def fail(self, run_id: str, number: int, error: tuple[str, str]) -> None:
        await self._link.fetch(
            "UPDATE anycowork_engine.runs SET state = 'failed', error = %s, owner = NULL, changed_at = now()"
            " WHERE run_id = %s AND segment = %s AND state = 'active'",
            msgspec.json.encode(error).decode(),
            run_id,
            number,
        )

    async def cancel(self, run_id: str) -> int | None:
        """Mark the run as cancelled; return its segment's number, or None if it was over."""
        found = await self._link.fetch(
            "UPDATE anycowork_engine.runs SET state = 'cancelled', changed_at = now()"
            " WHERE run_id = %s AND state IN ('active', 'parked') RETURNING segment",
            run_id,
        )
        return int(found[0][0]) if found else None

    async def rows(self, run_ids: Collection[str]) -> Mapping[str, RunRow]:
        found = await self._link.fetch(
            "SELECT r.run_id, r.state, r.segment, r.epoch, w.id FROM anycowork_engine.runs r"
            " LEFT JOIN anycowork_engine.workers w ON w.id = r.owner WHERE r.run_id = ANY(%s)",
            list(run_ids),
        )
        return {
            run_id: RunRow(RunState(state), segment, epoch, owner) for run_id, state, segment, epoch, owner in found
        }

    async def outcome(self, run_id: str) -> RunEnd | None:
        found = await self._link.fetch(
            "SELECT state, result, error FROM anycowork_engine.runs WHERE run_id = %s", run_id
        )
        if not found:
            return None
        state, result, error = found[0]
        decoded = tuple(msgspec.json.decode(error)) if error is not None else None
        return RunEnd(RunState(state), msgspec.json.decode(result) if result is not None else None, decoded)

    async def unqueued(self) -> list[tuple[str, int, str | None]]:
        """Return active runs that no queue knows, with what the queue says of them: a crash came between two writes."""
        return [(run_id, number, status) for run_id, number, status in await self._link.fetch(_UNQUEUED)]

    async def queue_again(self, queue: str, worker_id: str, at_work: Collection[str] = ()) -> None:
        """Give back what the queue counts as a gone worker's, and as this one's although it is not at work on it."""
        await self._link.fetch(_QUEUE_AGAIN, queue, worker_id, list(at_work))

    async def forget_old(self, days: int) -> list[tuple[str, int]]:
        """Remove runs that were over this long ago; return each with its number of segments."""
        found = await self._link.fetch(
            "DELETE FROM anycowork_engine.runs WHERE state IN ('completed', 'failed', 'cancelled')"
            " AND changed_at < now() - make_interval(days => %s) RETURNING run_id, segment + 1",
            days,
        )
        gone = [run_id for run_id, _ in found]
        await self._link.fetch("DELETE FROM anycowork_engine.signals WHERE run_id = ANY(%s)", gone)
        return [(run_id, int(count)) for run_id, count in found]

    async def workers(self) -> list[WorkerInfo]:
        found: Any = await self._link.fetch(
            "SELECT id, name, host, pid, to_char(joined_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), takes_runs,"
            " ARRAY(SELECT run_id FROM anycowork_engine.runs WHERE owner = workers.id AND state = 'active' ORDER BY run_id)"
            " FROM anycowork_engine.workers ORDER BY joined_at, id"
        )
        return [
            WorkerInfo(id_, name, host, pid, at, takes_runs=takes, runs=tuple(runs))
            for id_, name, host, pid, at, takes, runs in found
        ]
