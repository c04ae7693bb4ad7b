"""Any store: reservations are counted against limits in the transaction that writes them, so that none overshoots, on whichever server."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from anycowork.domain.journal import Change, RemoveChat, Reserve, Spend
from anycowork.domain.limits import ANSWER_TOKENS, EACH, DayLimits, LimitKind, SpendingLimitReached
from anycowork.domain.people import AccessLevel, Person
from support.spec import proves
from support.store_factories import OpenStore
from support.stored import add_chat

DAY = "2026-11-19"
OWNER = "person:owner"
ADA = Person("p1", "Ada", AccessLevel.MEMBER, "2026-01-01T00:00:00Z", None, "d1", ("design",))
BOB = Person("p2", "Bob", AccessLevel.MEMBER, "2026-01-01T00:00:00Z", None, "d2", ("design",))


def reserve(number: int, payer: str, *, tokens: int = 1000, day: str = DAY) -> Change:
    chat = f"c{number}"
    return Change(chat, (Reserve(f"r{number}", f"t{number}", "turn", "m/m", tokens, payer, day),))


async def outcomes(database_of: list[object], changes: list[Change]) -> int:
    """How many were written, all at once, each on the next server."""
    writes = [
        database_of[number % len(database_of)].journal.write(change)  # type: ignore[attr-defined]
        for number, change in enumerate(changes)
    ]
    results = await asyncio.gather(*writes, return_exceptions=True)
    refused = [result for result in results if isinstance(result, BaseException)]
    assert all(isinstance(result, SpendingLimitReached) for result in refused), refused
    return len(results) - len(refused)


@proves("OPS-6/9")
@pytest.mark.parametrize("kind", list(LimitKind))
async def test_requests_side_by_side_never_reserve_more_than_the_limit(open_store: OpenStore, kind: LimitKind) -> None:
    room = 5 * (1000 + ANSWER_TOKENS)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(open_store())
        servers: list[object] = [first]
        if first.peers is not None:
            servers.append(await stack.enter_async_context(open_store()))
        for one in (ADA, BOB):
            await first.people.add(one, by=OWNER)
        subject = EACH if kind is LimitKind.PERSON else "design"
        await first.limits.put({(kind, subject): DayLimits(tokens_per_day=room)}, {}, by=OWNER)
        payers = ("p1",) if kind is LimitKind.PERSON else ("p1", "p2")
        for number in range(20):
            await servers[number % len(servers)].journal.write(add_chat(f"c{number}"))  # type: ignore[attr-defined]
        changes = [reserve(number, payers[number % len(payers)]) for number in range(20)]
        assert await outcomes(servers, changes) == 5
        book = await first.limits.book()
        [use] = await first.limits.used(
            [book.person("p1") if kind is LimitKind.PERSON else book.group("design")], day=DAY
        )
        assert use.tokens == room == use.reserved


async def test_reported_use_replaces_what_was_set_aside_and_outlives_the_chat(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.journal.write(add_chat("c1"))
        change = reserve(1, "p1")
        await database.journal.write(change)
        [reservation] = change.writes
        assert isinstance(reservation, Reserve)
        await database.journal.write(Change("c1", (Spend(reservation, 700, 20),)))
        subject = (await database.limits.book()).person("p1")
        [use] = await database.limits.used([subject], day=DAY)
        assert (use.tokens, use.reserved, use.unpriced_requests) == (720, 0, 1)
        await database.journal.write(Change("c1", (RemoveChat(),)))
        assert await database.limits.used([subject], day=DAY) == [use]
        assert [other.tokens for other in await database.limits.used([subject], day="2026-11-20")] == [0]


async def test_change_of_limits_is_recorded_once_and_found_again(open_store: OpenStore) -> None:
    key, limits = (LimitKind.PERSON, "p1"), DayLimits(usd_per_day=2.5, jobs=3)
    async with open_store() as database:
        await database.people.add(ADA, by=OWNER)
        for _ in range(2):
            await database.limits.put({key: limits}, {"p1": "Ada"}, by=OWNER)
    async with open_store() as database:
        assert (await database.limits.book()).limits == {key: limits}
        [change] = await database.limits.changes(limit=10)
        assert (change.name, change.old, change.new, change.principal) == ("Ada", None, limits, OWNER)
        assert len(await database.people.changes(before=None, limit=10)) == 1
        assert (await database.people.all())[0].groups == ("design",)
        await database.limits.put({key: None}, {}, by=OWNER)
        assert not (await database.limits.book()).limits
