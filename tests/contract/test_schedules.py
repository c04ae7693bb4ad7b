"""Schedules and their starts, in every store: each start once, whoever looks."""

import asyncio
from typing import Any

import pytest

from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.journal import Change
from anycowork.domain.people import AccessLevel, Person
from anycowork.domain.plan import Budget
from anycowork.domain.schedules import (
    AlreadyStarted,
    ClaimStart,
    MissedRule,
    Schedule,
    ScheduledStart,
    StartReason,
    StartStatus,
)
from anycowork.domain.times import later
from anycowork.domain.triggers import TooManyStarts
from anycowork.domain.values import replace
from anycowork.store.sql import schedules
from support.spec import proves
from support.store_factories import OpenStore
from support.stored import add_chat

OWNER = "person:owner"
DUE = "2026-11-19T09:00:00.000000Z"
NEXT = "2026-11-20T09:00:00.000000Z"
DAILY = Schedule(
    "s1", "Daily", "0 9 * * *", None, "UTC", "review", None, {"path": "a"}, None, "/w", "actor", Budget(tokens=5), MissedRule.ALL, True,
    principal="person:p1:Ada", created_by=OWNER, created_at="c", changed_at="c", next_at=DUE,
)  # fmt: skip


def start(key: str = DUE, **fields: Any) -> ScheduledStart:
    return ScheduledStart("s1", key, DUE, StartReason.TIME, OWNER, **fields)


@proves("OPS-8/4")
async def test_of_two_that_see_a_due_time_one_records_it(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.schedules.add(DAILY)
        [seen] = await database.schedules.passed(DUE)
        assert seen == DAILY and await database.schedules.earliest() == DUE
        await asyncio.gather(*(database.schedules.plan(seen, NEXT, [start()]) for _ in range(2)))
        assert await database.schedules.due() == [start()]
        await database.schedules.plan(seen, "2026-11-21", [start("another")])  # as one that looked before, and was slow
        assert (await database.schedules.find("s1")) == replace(DAILY, next_at=NEXT)
        assert len(await database.schedules.due()) == 1
        assert not await database.schedules.add_start(start(), most_due=2)


@proves("OPS-8/4")
async def test_a_start_is_claimed_once_and_what_comes_with_a_second_claim_is_not_written(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.schedules.add(DAILY)
        await database.journal.write(add_chat("c1"))
        await database.schedules.add_start(start(), most_due=2)

        def claim(**what: str) -> Change:
            return Change("c1", (ClaimStart("s1", DUE, "c1", "now", **what),))

        await database.journal.write(claim())
        with pytest.raises(AlreadyStarted):
            await database.journal.write(claim())
        await database.journal.write(claim(turn_id="t1"))
        for again in (claim(turn_id="t2"), claim()):
            with pytest.raises(AlreadyStarted):
                await database.journal.write(again)
        await database.schedules.settle(start(status=StartStatus.FAILED, error="x"))
        [started] = await database.schedules.starts("s1", 5)
        assert (started.status, started.turn_id, started.chat_id) == (StartStatus.STARTED, "t1", "c1")
        await database.schedules.remove("s1")
        with pytest.raises(NotFound):
            await database.schedules.put(DAILY)
        assert await database.schedules.starts("s1", 5) == []


async def test_a_disabled_schedule_drops_what_it_has_not_started(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.schedules.add(DAILY, secret="s")
        await database.schedules.add_start(start(), most_due=2)
        await database.schedules.put(replace(DAILY, enabled=False))
        assert await database.schedules.due() == await database.schedules.passed(DUE) == []
        assert (await database.schedules.starts("s1", 5))[0].status is StartStatus.SKIPPED
        assert await database.schedules.secret("s1") == "s" and await database.schedules.secret("s2") is None


@proves("OPS-8/5")
@pytest.mark.parametrize("end", ["removed", "viewer"])
async def test_the_schedules_of_a_person_are_paused_when_their_access_ends(open_store: OpenStore, end: str) -> None:
    async with open_store() as database:
        await database.people.add(Person("p1", "Ada", AccessLevel.MEMBER, "c", None, "d"), by=OWNER)
        await database.schedules.add(DAILY)
        await database.schedules.add(replace(DAILY, id="s2", principal="acp_client:zed:p1:Ada"))
        await database.schedules.add(replace(DAILY, id="s3", principal=OWNER))
        await database.people.change("p1", name="Ada L.", by=OWNER)
        assert len(await database.schedules.passed(DUE)) == 3
        if end == "removed":
            await database.people.remove("p1", by=OWNER)
        else:
            await database.people.change("p1", access=AccessLevel.VIEWER, by=OWNER)
        assert [schedule.id for schedule in await database.schedules.passed(DUE)] == ["s3"]
        paused = await database.schedules.find("s1")
        assert paused is not None and "Ada" in (paused.paused or "")


async def test_what_was_not_started_is_forgotten_after_a_while(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "_KEPT_STARTS", 2)
    async with open_store() as database:
        await database.schedules.add(DAILY)
        for day, status in enumerate((StartStatus.STARTED, *[StartStatus.SKIPPED] * 4), 10):
            time = f"2026-11-{day}T09:00:00.000000Z"
            await database.schedules.add_start(replace(start(time, status=status), due_at=time), most_due=9)
        days = [kept.due_at[8:10] for kept in await database.schedules.starts("s1", 9)]
        assert days == ["14", "13", "12", "10"]


async def test_starts_are_bounded_by_those_that_wait_and_by_those_of_a_minute(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.schedules.add(replace(DAILY, is_trigger=True, payload={"path": "/file"}, next_at=None))
        stored = await database.schedules.find("s1")
        assert stored is not None and stored.payload == {"path": "/file"}
        await database.schedules.add_start(start(), most_due=1)
        with pytest.raises(TooManyStarts):
            await database.schedules.add_start(start("k"), most_due=1)
        await database.schedules.settle(start(status=StartStatus.FAILED))
        soon = replace(start("k"), due_at=later(DUE, 59.0))
        with pytest.raises(TooManyStarts):
            await database.schedules.add_start(soon, most_due=1, most_a_minute=1)
        assert await database.schedules.add_start(replace(soon, due_at=later(DUE, 61.0)), most_due=1, most_a_minute=1)
        await database.schedules.remove("s1")
        with pytest.raises(NotFound):
            await database.schedules.add_start(start("after"), most_due=1)


async def test_there_are_not_too_many(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "MOST_SCHEDULES", 1)
    async with open_store() as database:
        await database.schedules.add(DAILY)
        with pytest.raises(Conflict):
            await database.schedules.add(replace(DAILY, id="s2"))
