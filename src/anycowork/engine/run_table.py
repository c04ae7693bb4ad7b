"""The runs of the engine, and its tables in PostgreSQL: runs and signals. Each function is one statement, so it happens whole or not at
all."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol  # Any: rows have no types

import msgspec

from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.messages import Json
from anycowork.domain.values import value

_ADVANCE = """
WITH found AS (
  SELECT r.run_id, s.seq, s.payload FROM engine_runs r JOIN LATERAL (
    SELECT seq, payload FROM engine_signals
    WHERE run_id = r.run_id AND name = r.waits_for AND NOT consumed ORDER BY seq LIMIT 1) s ON true
  WHERE r.run_id = $1 AND r.state = 'parked' FOR UPDATE OF r),
used AS (UPDATE engine_signals SET consumed = true FROM found WHERE engine_signals.seq = found.seq)
UPDATE engine_runs SET state = 'active', segment = segment + 1, attempts = 0, waits_for = NULL, signal = found.payload,
  changed_at = now() FROM found WHERE engine_runs.run_id = found.run_id RETURNING engine_runs.segment
"""
_RESTART = """
UPDATE engine_runs SET state = 'active', segment = segment + 1, attempts = 0, waits_for = NULL, signal = NULL, result = NULL,
  error = NULL, changed_at = now() WHERE run_id = $1 AND state NOT IN ('active', 'parked') RETURNING segment
"""
# One statement for each look at the queue: what nobody works on is queued again, what the queue does not know is named, and whether
# something waits there.
_LOOK = """
WITH queued_again AS (UPDATE {dbos}.workflow_status SET status = 'ENQUEUED', owner_xid = NULL, started_at_epoch_ms = NULL,
  updated_at = CAST(extract(epoch FROM now()) * 1000 AS bigint)
WHERE status = 'PENDING' AND queue_name = $1 AND (executor_id NOT IN ({living})
  OR (executor_id = $2 AND NOT (workflow_uuid = ANY($3::text[])) AND updated_at < extract(epoch FROM now()) * 1000 - 2000))
RETURNING workflow_uuid),
unqueued AS (SELECT r.run_id, r.segment, w.status FROM engine_runs r
LEFT JOIN {dbos}.workflow_status w ON w.workflow_uuid = r.run_id || ':' || r.segment
WHERE r.state = 'active' AND (w.status IS NULL OR (w.status NOT IN ('ENQUEUED', 'PENDING', 'DELAYED')
  AND r.changed_at < now() - interval '2 seconds')) LIMIT 100)
SELECT 'again', workflow_uuid, NULL, NULL FROM queued_again
UNION ALL SELECT 'unqueued', run_id, segment, status FROM unqueued
UNION ALL SELECT 'waiting', NULL, NULL, NULL WHERE EXISTS (
  SELECT 1 FROM {dbos}.workflow_status WHERE queue_name = $1 AND status = 'ENQUEUED')
"""


class RunState(StrEnum):
    ACTIVE = "active"
    PARKED = "parked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self not in (RunState.ACTIVE, RunState.PARKED)


@value
class RunSegment:
    """One segment of a run, as its handler gets it. `number` counts from 0. `attempt` is above 1 if an earlier worker died in this segment.

    `epoch` grows with each attempt of the run: a writer with an older one has lost the run.
    """

    run_id: str
    kind: str
    payload: Json = field(hash=False)
    number: int = 0
    signal: Json | None = field(default=None, hash=False)
    attempt: int = 1
    epoch: int = 1


@value
class ParkUntil:
    """A handler returns it to end its segment: the run goes on when this signal comes."""

    signal: str


SegmentHandler = Callable[[RunSegment], Awaitable[Json | ParkUntil]]


@value
class RunPosition:
    """Where a run is: `segment` is the number of the newest one, `owner` the process that runs it now."""

    state: RunState
    segment: int
    owner: str | None = None


class RunOver(AnyCoworkError):
    """The run has ended, so it takes no signal."""

    code = "run_over"


def require_json(payload: Json) -> bytes:
    """Returns the payload as JSON text. Raises: Invalid if anything else than JSON is in it."""
    try:
        text = msgspec.json.encode(payload)
        if msgspec.json.decode(text) == payload:
            return text
    except (TypeError, ValueError, msgspec.MsgspecError):
        pass
    raise Invalid(
        "Only JSON values can be handed to a run: text, numbers, true, false, null, lists and objects.", param="payload"
    )


class DatabaseSession(Protocol):
    """This process's session among the others on the database, which holds its locks. It lives as long as the process may write."""

    @property
    def server_id(self) -> str: ...
    @property
    def living(self) -> str:
        """SQL that selects the ids of the processes that live."""

    async def fetch(self, sql: str, *values: object) -> Sequence[Any]:
        """Raises: StorageFault while the database is away."""


@value
class RunRow:
    """`owner` is the worker that runs it, until it has let go."""

    state: RunState
    segment: int
    epoch: int
    owner: str | None


@value
class QueueState:
    """`queued_again` are segments that nobody worked on. `unqueued` are active runs that no queue knows, each with its segment and what the
    queue says of it: a server submitted them, or a crash came between two writes. `waits`: some segment waits for a worker."""

    queued_again: tuple[str, ...]
    unqueued: tuple[tuple[str, int, str | None], ...]
    waits: bool


class RunTable:
    """`dbos_schema` is where DBOS keeps its queue."""

    def __init__(self, session: DatabaseSession, dbos_schema: str) -> None:
        self._fetch = session.fetch
        self._living = session.living
        self._look = _LOOK.format(dbos=dbos_schema, living=session.living)

    async def add(self, run_id: str, kind: str, payload: bytes) -> None:
        await self._fetch(
            "INSERT INTO engine_runs (run_id, kind, payload) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            run_id,
            kind,
            payload.decode(),
        )

    async def add_signal(self, run_id: str, name: str, payload: bytes, dedup: str) -> None:
        await self._fetch(
            "INSERT INTO engine_signals (run_id, dedup, name, payload)"
            " SELECT run_id, $2, $3, $4 FROM engine_runs WHERE run_id = $1 ON CONFLICT DO NOTHING",
            run_id,
            dedup,
            name,
            payload.decode(),
        )

    async def advance(self, run_id: str) -> int | None:
        """Takes the signal that the parked run waits for; returns the number of the segment that is due, or None."""
        rows = await self._fetch(_ADVANCE, run_id)
        return int(rows[0][0]) if rows else None

    async def restart(self, run_id: str) -> int | None:
        """Returns the number of the segment that is due; None if the run is not over."""
        rows = await self._fetch(_RESTART, run_id)
        return int(rows[0][0]) if rows else None

    async def pick_up(self, run_id: str, number: int, owner: str) -> RunSegment | None:
        """Makes the owner the only writer of the run; None if this segment is over."""
        rows = await self._fetch(
            "UPDATE engine_runs SET epoch = epoch + 1, attempts = attempts + 1, owner = $1, changed_at = now()"
            " WHERE run_id = $2 AND segment = $3 AND state = 'active' RETURNING kind, payload, signal, attempts, epoch",
            owner,
            run_id,
            number,
        )
        if not rows:
            return None
        kind, payload, signal, attempts, epoch = rows[0]
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
        """Ends the segment; False if another worker has the run by now, or it was cancelled."""
        rows = await self._fetch(
            "UPDATE engine_runs SET state = $1, waits_for = $2, result = $3, error = $4, owner = NULL, changed_at = now()"
            " WHERE run_id = $5 AND segment = $6 AND epoch = $7 AND state = 'active' RETURNING 1",
            state.value,
            waits_for,
            result.decode() if result is not None else None,
            msgspec.json.encode(error).decode() if error is not None else None,
            segment.run_id,
            segment.number,
            segment.epoch,
        )
        return bool(rows)

    async def let_go(self, segment: RunSegment) -> None:
        """Tells who cancelled the run that its handler has ended."""
        await self._fetch(
            "UPDATE engine_runs SET owner = NULL WHERE run_id = $1 AND epoch = $2", segment.run_id, segment.epoch
        )

    async def fail(self, run_id: str, number: int, error: tuple[str, str]) -> None:
        await self._fetch(
            "UPDATE engine_runs SET state = 'failed', error = $1, owner = NULL, changed_at = now()"
            " WHERE run_id = $2 AND segment = $3 AND state = 'active'",
            msgspec.json.encode(error).decode(),
            run_id,
            number,
        )

    async def cancel(self, run_id: str) -> None:
        """Marks the run as cancelled, unless it is over."""
        await self._fetch(
            "UPDATE engine_runs SET state = 'cancelled', changed_at = now()"
            " WHERE run_id = $1 AND state IN ('active', 'parked')",
            run_id,
        )

    async def rows(self, run_ids: Collection[str]) -> Mapping[str, RunRow]:
        rows = await self._fetch(
            f"SELECT run_id, state, segment, epoch, CASE WHEN owner IN ({self._living}) THEN owner END"
            " FROM engine_runs WHERE run_id = ANY($1::text[])",
            list(run_ids),
        )
        return {run_id: RunRow(RunState(state), segment, epoch, owner) for run_id, state, segment, epoch, owner in rows}

    async def position(self, run_id: str) -> RunPosition | None:
        row = (await self.rows([run_id])).get(run_id)
        return RunPosition(row.state, row.segment, row.owner) if row is not None else None

    async def look(self, queue: str, worker_id: str, at_work: Collection[str]) -> QueueState:
        """Gives back what the queue counts as a dead worker's, and as this one's although it is not at work on it; returns what there is to do."""
        rows = await self._fetch(self._look, queue, worker_id, list(at_work))
        again = tuple(row[1] for row in rows if row[0] == "again")
        return QueueState(
            queued_again=again,
            unqueued=tuple((row[1], row[2], row[3]) for row in rows if row[0] == "unqueued"),
            waits=bool(again) or any(row[0] == "waiting" for row in rows),
        )

    async def forget_old(self, days: int) -> list[tuple[str, int]]:
        """Removes runs that were over, or waited, for so long; returns each with its number of segments."""
        rows = await self._fetch(
            "DELETE FROM engine_runs WHERE state <> 'active' AND changed_at < now() - make_interval(days => $1)"
            " RETURNING run_id, segment + 1",
            days,
        )
        return [(run_id, int(count)) for run_id, count in rows]
