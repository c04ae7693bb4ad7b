"""The engine: a run starts once, parks without holding anything, goes on with its signal, ends with a result, and can be cancelled."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any  # rows have no types

import pytest
import pytest_asyncio
from sqlalchemy import Engine, event

from anycowork.domain.errors import Invalid, NotFound, ToolFault
from anycowork.domain.messages import Json
from anycowork.engine.dbos_engine import DbosEngine
from anycowork.engine.run_table import ParkUntil, RunOver, RunPosition, RunSegment, RunState
from support.engine_sessions import EngineSession, engine_session
from support.postgres import PostgresCluster, run_sql
from support.spec import proves

pytestmark = pytest.mark.asyncio(loop_scope="module")
TIMEOUT = 60.0
Body = Callable[[RunSegment], Awaitable[Json | ParkUntil]]


class Bench:
    """An engine whose runs do what the test says: the payload names the test's function."""

    session: EngineSession
    engine: DbosEngine

    def __init__(self) -> None:
        self.bodies: dict[str, Body] = {}

    async def run(self, segment: RunSegment) -> Json | ParkUntil:
        return await self.bodies[str(segment.payload["body"])](segment)

    async def submit(self, key: str, body: Body, **payload: str) -> None:
        self.bodies[key] = body
        await self.engine.submit("test", {"body": key, **payload}, key=key)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(postgres: PostgresCluster) -> AsyncIterator[Bench]:
    bench = Bench()
    url = await asyncio.to_thread(postgres.new_database)
    await asyncio.to_thread(run_sql, url, "CREATE SCHEMA team")
    in_schema = f"{url}&search_path=team"  # as an installation has it that shares its database
    async with engine_session(in_schema, {"test": bench.run}, name="test", most_runs=4, poll_seconds=0.05) as session:
        bench.session, bench.engine = session, session.engine
        yield bench


@proves("JOB-7/2")
async def test_submitting_a_key_twice_runs_it_once(bench: Bench) -> None:
    ran: list[RunSegment] = []

    async def body(segment: RunSegment) -> Json:
        ran.append(segment)
        return {"said": segment.payload["word"]}

    async with asyncio.timeout(TIMEOUT):
        await asyncio.gather(*(bench.submit("once", body, word="hello") for _ in range(3)))
        assert await bench.session.result("once") == {"said": "hello"}
        await bench.submit("once", body, word="hello")
        await bench.session.until("once", RunState.COMPLETED)
    assert [(s.run_id, s.kind, s.number, s.attempt, s.signal) for s in ran] == [("once", "test", 0, 1, None)]


async def test_parked_run_goes_on_once_with_the_payload_of_its_signal(bench: Bench) -> None:
    seen: list[tuple[int, Json | None]] = []

    async def body(segment: RunSegment) -> Json | ParkUntil:
        seen.append((segment.number, segment.signal))
        return ParkUntil("answer") if segment.number < 2 else {"segments": segment.number + 1}

    async with asyncio.timeout(TIMEOUT):
        await bench.submit("park", body)
        await bench.session.until("park", RunState.PARKED)
        await bench.engine.signal("park", "other", {}, dedup="x")
        for _ in range(2):
            await bench.engine.signal("park", "answer", {"n": 1}, dedup="first")
        await bench.session.until("park", RunState.PARKED, after=1)
        assert seen == [(0, None), (1, {"n": 1})], "the same signal twice is one, and another name does not count"
        await bench.engine.signal("park", "answer", {"n": 2}, dedup="second")
        assert await bench.session.result("park") == {"segments": 3}
    assert seen[2] == (2, {"n": 2})


async def test_signal_that_comes_before_the_run_parks_is_not_lost(bench: Bench) -> None:
    entered, release = asyncio.Event(), asyncio.Event()

    async def body(segment: RunSegment) -> Json | ParkUntil:
        if segment.number:
            return {"got": segment.signal}
        entered.set()
        await release.wait()
        return ParkUntil("answer")

    async with asyncio.timeout(TIMEOUT):
        await bench.submit("early", body)
        await entered.wait()
        await bench.engine.signal("early", "answer", {"soon": True}, dedup="a")
        release.set()
        assert await bench.session.result("early") == {"got": {"soon": True}}


async def test_failure_of_a_handler_is_the_failure_of_its_run(bench: Bench) -> None:
    async def ours(segment: RunSegment) -> Json:
        raise ToolFault("The disk is full.")

    async def foreign(segment: RunSegment) -> Json:
        raise ZeroDivisionError("a secret detail")

    async with asyncio.timeout(TIMEOUT):
        await bench.submit("fails", ours)
        assert await bench.session.failure("fails") == (ToolFault.code, "The disk is full.")
        await bench.submit("breaks", foreign)
        code, message = await bench.session.failure("breaks")
        assert code == "internal_error" and "secret" not in message


async def test_cancelled_run_ends_its_handler_before_cancel_returns(bench: Bench) -> None:
    entered, ended = asyncio.Event(), asyncio.Event()

    async def body(segment: RunSegment) -> Json:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return {}

    async with asyncio.timeout(TIMEOUT):
        await bench.submit("cancel", body)
        await entered.wait()
        await bench.engine.cancel("cancel", timeout=TIMEOUT)
        assert ended.is_set()
        await bench.session.until("cancel", RunState.CANCELLED)
        await bench.engine.cancel("cancel", timeout=TIMEOUT)


async def test_cancelled_parked_run_takes_no_signal(bench: Bench) -> None:
    ran: list[int] = []

    async def body(segment: RunSegment) -> ParkUntil:
        ran.append(segment.number)
        return ParkUntil("answer")

    async with asyncio.timeout(TIMEOUT):
        await bench.submit("gone", body)
        await bench.session.until("gone", RunState.PARKED)
        await bench.engine.cancel("gone", timeout=TIMEOUT)
        with pytest.raises(RunOver):
            await bench.engine.signal("gone", "answer", {}, dedup="late")
        await bench.session.until("gone", RunState.CANCELLED)
    assert ran == [0]


async def test_only_json_and_known_kinds_and_runs_are_accepted(bench: Bench) -> None:
    for payload in ({"n": math.nan}, {"n": object()}, {"n": {1, 2}}, {"n": (1, 2)}, {"n": b"x"}):
        with pytest.raises(Invalid, match="Only JSON"):
            await bench.engine.submit("test", payload, key="bad")  # type: ignore[arg-type]  # what must be refused
    with pytest.raises(Invalid, match="No handler"):
        await bench.engine.submit("unheard", {}, key="bad")
    with pytest.raises(NotFound):
        await bench.engine.signal("bad", "a", {}, dedup="a")
    assert await bench.engine.find("bad") is None


async def test_independent_runs_overlap_and_are_shown_with_their_worker(bench: Bench) -> None:
    inside: set[str] = set()
    both, release = asyncio.Event(), asyncio.Event()

    async def body(segment: RunSegment) -> Json:
        inside.add(segment.run_id)
        if len(inside) == 2:
            both.set()
        await release.wait()
        return {}

    async with asyncio.timeout(TIMEOUT):
        await bench.submit("left", body)
        await bench.submit("right", body)
        await both.wait()
        found = [await bench.engine.find(key) for key in ("left", "right")]
        assert all(each is not None and each.state is RunState.ACTIVE and each.owner is not None for each in found)
        release.set()
        await bench.session.result("left")
        await bench.session.result("right")
        assert await bench.engine.find("left") == RunPosition(RunState.COMPLETED, 0)
        assert await bench.engine.find("unheard") is None


async def test_restarted_run_begins_its_next_segment_and_one_under_way_is_left_alone(bench: Bench) -> None:
    seen: list[tuple[int, Json | None]] = []

    async def body(segment: RunSegment) -> Json | ParkUntil:
        seen.append((segment.number, segment.signal))
        if segment.number == 0:
            raise ToolFault("The disk is full.")
        return {"segment": segment.number}

    async with asyncio.timeout(TIMEOUT):
        await bench.submit("again", body)
        await bench.session.until("again", RunState.FAILED)
        await bench.engine.restart("again")
        assert await bench.session.result("again") == {"segment": 1}

        async def waits(segment: RunSegment) -> ParkUntil:
            seen.append((segment.number, segment.signal))
            return ParkUntil("answer")

        await bench.submit("waits", waits)
        await bench.session.until("waits", RunState.PARKED)
        await bench.engine.restart("waits")
        assert await bench.engine.find("waits") == RunPosition(RunState.PARKED, 0)
        with pytest.raises(NotFound):
            await bench.engine.restart("unheard")
    assert seen == [(0, None), (1, None), (0, None)]


async def test_an_engine_at_rest_asks_one_statement_at_each_look(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """DBOS asks about its queues, delays and deadlines several times a second, unless it is told when something waits."""
    looks, quiet, fetch = Counter[str](), asyncio.Event(), bench.engine._runs._fetch
    others: list[str] = []  # what earlier tests left may still go on

    async def counting(sql: str, *values: object) -> Any:
        looks[sql] += 1
        if others or len(looks) > 1:
            others.clear()
            looks.clear()
        if looks[sql] >= 40:
            quiet.set()
        return await fetch(sql, *values)

    def note(*given: Any) -> None:
        if "workflow_schedules" not in given[2]:  # once a second in its first minute
            others.append(given[2])

    monkeypatch.setattr(bench.engine._runs, "_fetch", counting)
    event.listen(Engine, "before_cursor_execute", note)
    try:
        async with asyncio.timeout(TIMEOUT):
            await quiet.wait()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert not others and len(looks) == 1, (others[:3], [*looks])
