"""The limits table, and the check in the transaction of each reservation that the limits of who pays have room for it."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any

from anycowork.domain.audit import BrokenChain
from anycowork.domain.jobs import Job, JobStatus
from anycowork.domain.journal import RequireRoom, Reserve, Write
from anycowork.domain.limits import (
    ANSWER_TOKENS,
    LIMITS_CHANGED,
    DayLimits,
    DayUse,
    LimitBook,
    LimitChange,
    LimitKey,
    LimitKind,
    LimitSubject,
    PricedBy,
    RequestedUse,
    UsedModel,
    find_exceeded,
    limit_change,
    payer_of,
    read_limit_change,
    summed_use,
    too_many_jobs,
)
from anycowork.domain.metering import NANOS, DayRest, ModelUsage
from anycowork.domain.people import PEOPLE_CHAIN
from anycowork.domain.ports import Clock
from anycowork.domain.times import seconds_between
from anycowork.domain.values import replace
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.people import append_change, stored_people
from anycowork.store.sql.writer import Writer

_SECONDS = 1.0  # for how long the limits are remembered that another server may change
_RUNNING = (JobStatus.PLANNING.value, JobStatus.RUNNING.value)
_PUT = (
    "INSERT INTO limits (kind, subject, usd_per_day, tokens_per_day, jobs) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (kind, subject) DO UPDATE SET usd_per_day = excluded.usd_per_day,"
    " tokens_per_day = excluded.tokens_per_day, jobs = excluded.jobs"
)


class SpendingLimits:
    """Holds the limits in the transactions of the change writer, on the writer's thread.

    They are remembered: where there are none, no statement is added to a transaction.
    """

    def __init__(self, clock: Clock, *, shared: bool) -> None:
        """`shared`: other servers change limits too, so they are read again after a second, and locked while one is checked."""
        self._clock, self._shared = clock, shared
        self._book: LimitBook | None = None
        self._read_at = 0.0
        self.priced_by: PricedBy = lambda used: None
        """Prices what was used; the server sets it. Called on the writer's thread."""

    def forget(self) -> None:
        """Has the limits read again: they, or the groups of people, have changed."""
        self._book = None

    def require_reserved(self, connection: SqlConnection, reserves: Iterable[Reserve]) -> None:
        """Checks reservations that are written in this transaction already. Raises: SpendingLimitReached."""
        if not self._known(connection).limits:
            return
        for reserve in reserves:
            request = RequestedUse(reserve.payer, reserve.model, reserve.tokens)
            self._require(connection, request, reserve.day, is_reserved=True)

    def require_written(self, connection: SqlConnection, request: RequestedUse, day: str) -> None:
        """Checks what a program's request has set aside in this transaction already. Raises: SpendingLimitReached."""
        self._require(connection, request, day, is_reserved=True)

    def require_allowed(self, connection: SqlConnection, write: Write) -> None:
        """Checks what begins a turn or a job. Raises: SpendingLimitReached."""
        if type(write) is RequireRoom and self._known(connection).limits:
            self._require(connection, write.request, self._clock.now()[:10])
        elif type(write) is Job and self._known(connection).limits and write.status.value in _RUNNING:
            self._require_for_job(connection, write)

    def _require_for_job(self, connection: SqlConnection, job: Job) -> None:
        """Raises: SpendingLimitReached if the job begins to run and who pays for it may run no more."""
        payer, day = payer_of(job.principal), self._clock.now()[:10]
        subjects = self._known(connection).subjects_of(payer)
        if not subjects:
            return
        self._lock(connection, subjects)
        running = _running_jobs(connection)
        if any(job_id == job.id for job_id, _ in running):
            return
        for subject in subjects:
            count = sum(payer_id in subject.payers for _, payer_id in running)
            if (refusal := too_many_jobs(subject, count, day)) is not None:
                raise refusal
        self._require(connection, RequestedUse(payer), day)

    def _require(
        self, connection: SqlConnection, request: RequestedUse, day: str, *, is_reserved: bool = False
    ) -> None:
        subjects = self._known(connection).subjects_of(request.payer)
        if not subjects:
            return
        self._lock(connection, subjects)
        used = used_since(connection, day, {payer for subject in subjects for payer in subject.payers})
        if is_reserved:
            used = [_without(row, request) for row in used]
        refusal = find_exceeded(subjects, used, request, priced_by=self.priced_by, day=day)
        if refusal is None:
            return
        if refusal.lifts_at is not None:
            refusal.retry_after = ceil(seconds_between(self._clock.now(), refusal.lifts_at))
        raise refusal

    def _lock(self, connection: SqlConnection, subjects: Sequence[LimitSubject]) -> None:
        """Lets transactions of several servers that count against the same limits follow one another."""
        if not self._shared:
            return
        names = sorted({subject.id for subject in subjects})
        marks = ", ".join("?" for _ in names)
        connection.execute(
            f"SELECT kind FROM limits WHERE subject IN ({marks}, '*') ORDER BY kind, subject{connection.dialect.lock}",
            names,
        ).fetchall()

    def _known(self, connection: SqlConnection) -> LimitBook:
        now = time.monotonic()
        if self._book is None or (self._shared and now - self._read_at >= _SECONDS):
            self._book, self._read_at = read_book(connection), now
        return self._book


class LimitTable:
    """The limits as people see and change them. Each change is recorded in the chain of the changes to people."""

    def __init__(
        self, reader: SqlReader, writer: Writer, clock: Clock, enforcer: SpendingLimits, note: Callable[[str], None]
    ) -> None:
        """`note` is called on the writer's thread with the name of the chain that grew."""
        self._reader, self._writer, self._clock, self._note = reader, writer, clock, note
        self.enforcer = enforcer
        self._book: LimitBook | None = None
        self._read_at = 0.0

    async def book(self) -> LimitBook:
        return await self._reader.read(read_book)

    async def used(self, subjects: Sequence[LimitSubject], *, day: str) -> list[DayUse]:
        """Returns what each of them has used on this day."""
        payers = {payer for subject in subjects for payer in subject.payers}
        used = await self._reader.read(used_since, day, payers)
        running = await self._reader.read(_running_jobs)
        return [
            summed_use(
                (row for row in used if row.payer in subject.payers),
                self.enforcer.priced_by,
                jobs=sum(payer in subject.payers for _, payer in running),
            )
            for subject in subjects
        ]

    async def used_between(self, since: str, until: str) -> list[UsedModel]:
        return await self._reader.read_large(used_by_people, since, until)

    async def put(self, limits: Mapping[LimitKey, DayLimits | None], names: Mapping[str, str], *, by: str) -> None:
        """Replaces the limits of these subjects; None: they have none of their own. A person's name is recorded with the change."""
        now = self._clock.now()

        def written(connection: SqlConnection) -> None:
            self.enforcer.forget()
            stored = read_book(connection).limits
            for (kind, subject), new in limits.items():
                old = stored.get((kind, subject))
                if old != new:
                    _replace(connection, kind, subject, new)
                    name = names.get(subject, subject)
                    append_change(connection, partial(limit_change, by, now, (kind, subject), name, old, new))
                    self._note(PEOPLE_CHAIN)

        await self._writer.run(written)
        self._book = None

    async def rest(self, payer: str, *, day: str) -> DayRest | None:
        """Returns what the limits of tokens and dollars leave this person; None if none hold for them."""
        subjects = [subject for subject in (await self._known()).subjects_of(payer) if subject.limits.bound_use]
        if not subjects:
            return None
        used = await self.used(subjects, day=day)
        tokens = [
            subject.limits.tokens_per_day - use.tokens
            for subject, use in zip(subjects, used, strict=True)
            if subject.limits.tokens_per_day is not None
        ]
        dollars = [
            subject.limits.usd_per_day - use.usd
            for subject, use in zip(subjects, used, strict=True)
            if subject.limits.usd_per_day is not None
        ]
        return DayRest(min(tokens, default=None), int(min(dollars) * NANOS) if dollars else None)

    async def _known(self) -> LimitBook:
        """Remembered for a second: requests of programs ask each time."""
        now = time.monotonic()
        if self._book is None or now - self._read_at >= _SECONDS:
            self._book, self._read_at = await self.book(), now
        return self._book

    async def changes(self, *, limit: int) -> list[LimitChange]:
        """Returns the recorded changes, newest first."""
        return await self._reader.read(_newest_changes, limit)


def read_book(connection: SqlConnection) -> LimitBook:
    people = stored_people(connection)
    return LimitBook(
        _stored_limits(connection),
        {person.id: person.name for person in people},
        {person.id: person.groups for person in people},
    )


def _stored_limits(connection: SqlConnection) -> dict[LimitKey, DayLimits]:
    rows = connection.execute("SELECT kind, subject, usd_per_day, tokens_per_day, jobs FROM limits").fetchall()
    return {(LimitKind(kind), subject): DayLimits(*limits) for kind, subject, *limits in rows}


def used_since(connection: SqlConnection, day: str, payers: Collection[str]) -> list[UsedModel]:
    """Returns what these people used on this day. A later day counts too: a clock that goes back gives nothing twice."""
    if not payers:
        return []
    names, marks = sorted(payers), ", ".join("?" for _ in payers)
    rows = connection.execute(
        "SELECT payer, model, SUM(requests), SUM(reserved), SUM(prompt), SUM(completion), SUM(cached), SUM(reserved_answer), 0, 0"
        f" FROM usage WHERE payer IN ({marks}) AND day >= ? GROUP BY payer, model UNION ALL"
        " SELECT COALESCE(principals.payer, key_id), '', SUM(requests), SUM(reserved_prompt), SUM(prompt), SUM(completion), SUM(cached),"
        " SUM(reserved_completion), SUM(spend + reserved_spend), SUM(unpriced)"
        " FROM key_usage LEFT JOIN principals ON principals.id = key_usage.key_id"
        f" WHERE date >= ? AND COALESCE(principals.payer, key_id) IN ({marks}) GROUP BY COALESCE(principals.payer, key_id)",
        (*names, day, day, *names),
    )
    return [_used(*row) for row in rows]


def used_by_people(connection: SqlConnection, since: str, until: str) -> list[UsedModel]:
    """Returns what each person used on these days, of each model in chats and jobs, and with their keys. It reads all use of these days."""
    rows = connection.execute(
        "SELECT payer, model, SUM(requests), SUM(reserved), SUM(prompt), SUM(completion), SUM(cached), SUM(reasoning), MAX(estimated), 0, 0"
        " FROM usage WHERE day BETWEEN ? AND ? GROUP BY payer, model UNION ALL"
        " SELECT COALESCE(principals.payer, key_id), '', SUM(requests), SUM(reserved_prompt + reserved_completion), SUM(prompt),"
        " SUM(completion), SUM(cached), 0, 0, SUM(spend + reserved_spend), SUM(unpriced)"
        " FROM key_usage LEFT JOIN principals ON principals.id = key_usage.key_id"
        " WHERE date BETWEEN ? AND ? GROUP BY COALESCE(principals.payer, key_id)",
        (since, until, since, until),
    )
    return [_reported(*row) for row in rows]


def _reported(payer: str, *counts: Any) -> UsedModel:  # Any: sqlite's rows have no types
    model, requests, reserved, prompt, completion, cached, reasoning, is_estimated, nanos, unpriced = counts
    used = ModelUsage(model, requests, reserved, prompt, completion, cached, reasoning, bool(is_estimated))
    return UsedModel(payer, used, nanos / NANOS, unpriced)


def _used(
    payer: str,
    model: str,
    requests: int,
    reserved: int,
    prompt: int,
    completion: int,
    cached: int,
    answer: int,
    nanos: int,
    unpriced: int,
) -> UsedModel:
    used = ModelUsage(model, requests, reserved, prompt, completion, cached, 0, estimated=False)
    return UsedModel(payer, used, nanos / NANOS, unpriced, answer)


def _without(row: UsedModel, request: RequestedUse) -> UsedModel:
    """Takes back the reservation that is being checked: it is written already."""
    if request.by_key and row.payer == request.payer and not row.used.model:
        used = replace(row.used, reserved=row.used.reserved - request.prompt)
        return replace(row, used=used, answer=row.answer - request.answer, usd=row.usd - (request.usd or 0.0))
    if (row.payer, row.used.model) != (request.payer, request.model):
        return row
    return replace(
        row, used=replace(row.used, reserved=row.used.reserved - request.prompt), answer=row.answer - ANSWER_TOKENS
    )


def _running_jobs(connection: SqlConnection) -> list[tuple[str, str]]:
    """Returns the running jobs, each with the person who pays for it."""
    rows = connection.execute(  # the middle condition names the index of the few jobs that go on
        "SELECT id, principal FROM jobs WHERE status IN ('planning', 'running', 'paused') AND status <> 'paused'"
    )
    return [(job_id, payer_of(label)) for job_id, label in rows]


def _replace(connection: SqlConnection, kind: LimitKind, subject: str, new: DayLimits | None) -> None:
    if new is None:
        connection.execute("DELETE FROM limits WHERE kind = ? AND subject = ?", (kind.value, subject))
        return
    connection.execute(_PUT, (kind.value, subject, new.usd_per_day, new.tokens_per_day, new.jobs))


def _newest_changes(connection: SqlConnection, limit: int) -> list[LimitChange]:
    rows = connection.execute(
        "SELECT body FROM people_changes WHERE type = ? ORDER BY seq DESC LIMIT ?", (LIMITS_CHANGED, limit)
    )
    return [read_limit_change(row[0]) for row in rows]


def check_limits(connection: SqlConnection) -> BrokenChain | None:
    """Finds limits that were changed past the server. The chain itself is checked before."""
    try:
        recorded = {(change.kind, change.subject): change for change in reversed(_newest_changes(connection, 2**31))}
        stored = _stored_limits(connection)
    except (ValueError, KeyError, TypeError) as error:
        return BrokenChain(0, f"a row cannot be read ({error})")
    for key in {**stored, **recorded}:
        change = recorded.get(key)
        if stored.get(key) != (change.new if change else None):
            return BrokenChain(change.seq if change else 0, f"the limits of '{key[1]}' are not the recorded ones")
    return None
