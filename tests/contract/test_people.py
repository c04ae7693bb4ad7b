"""People, in every store."""

import asyncio

import pytest

from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.people import AccessLevel, Person
from anycowork.domain.values import replace
from support.store_factories import OpenStore

OWNER = "person:owner"
ADA = Person("p1", "Ada", AccessLevel.MEMBER, "2026-01-01T00:00:00Z", None, "d1")


async def test_a_person_is_found_by_id_and_token_until_removed(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.people.add(ADA, by=OWNER)
        assert await database.people.find("p1") == await database.people.holder("d1") == ADA
        changed = await database.people.set_token("p1", "d2", by=OWNER)
        assert await database.people.holder("d1") is None and await database.people.holder("d2") == changed
        assert (await database.people.change("p1", name="Ada L.", access=AccessLevel.VIEWER, by=OWNER)).name == "Ada L."
        await database.people.remove("p1", by=OWNER)
        assert await database.people.find("p1") is None and await database.people.holder("d2") is None
        [gone] = await database.people.all()
        assert (gone.name, gone.token_digest) == ("Ada L.", None) and gone.removed_at is not None
        for attempt in (
            database.people.remove("p1", by=OWNER),
            database.people.set_token("p1", "d3", by=OWNER),
            database.people.change("p1", by=OWNER),
        ):
            with pytest.raises(NotFound):
                await attempt


async def test_a_name_is_taken_while_its_person_is_here(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.people.add(ADA, by=OWNER)
        await database.people.add(replace(ADA, id="p2", name="Zoe", token_digest="d2"), by=OWNER)
        with pytest.raises(Conflict):
            await database.people.add(replace(ADA, id="p3", name="ÁDA", token_digest="d3"), by=OWNER)
        with pytest.raises(Conflict):
            await database.people.change("p2", name="ada", by=OWNER)
        await database.people.remove("p1", by=OWNER)
        await database.people.add(replace(ADA, id="p3", token_digest="d3"), by=OWNER)
        assert [one.id for one in await database.people.all()] == ["p1", "p2", "p3"]


async def test_a_waiter_learns_of_a_change(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.people.add(ADA, by=OWNER)
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(database.people.changed(ADA))
            await asyncio.sleep(0)
            assert not waiting.done()
            await database.people.change("p1", access=AccessLevel.ADMIN, by=OWNER)
        async with asyncio.timeout(60):
            await database.people.changed(ADA)  # it changed before: no wait
