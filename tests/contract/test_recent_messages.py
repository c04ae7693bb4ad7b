"""Any store: what a server keeps of a chat that it read is never shown in place of what another server wrote."""

from anycowork.domain.journal import Change, RemoveChat
from anycowork.domain.messages import Message
from anycowork.store.sql.database import Database
from support.store_factories import OpenStore
from support.stored import add_chat, message

COUNT = 120


def numbered(prefix: str, count: int) -> tuple[Message, ...]:
    return tuple(message(f"{prefix}{number}", f"{prefix} says {number}") for number in range(count))


async def contents(database: Database) -> list[str]:
    recent = await database.store.messages.recent("c1", since="none")
    assert recent.complete
    return [one.content for one in recent.messages]


async def test_what_another_server_added_is_read_behind_what_is_known(open_store: OpenStore) -> None:
    async with open_store() as ours, open_store() as theirs:
        first, more = numbered("first", COUNT), numbered("more", 3)
        await ours.journal.write(add_chat("c1", *first))
        assert await contents(ours) == [one.content for one in first]
        await theirs.journal.write(Change("c1", more))
        assert await contents(ours) == [one.content for one in (*first, *more)] == await contents(theirs)


async def test_a_chat_that_was_deleted_and_made_anew_is_read_anew(open_store: OpenStore) -> None:
    async with open_store() as ours, open_store() as theirs:
        await ours.journal.write(add_chat("c1", *numbered("old", COUNT)))
        await contents(ours)
        await theirs.journal.write(Change("c1", (RemoveChat(),)))
        assert await contents(ours) == []
        anew = numbered("new", COUNT + 10)
        await theirs.journal.write(add_chat("c1", *anew))
        assert await contents(ours) == [one.content for one in anew]
