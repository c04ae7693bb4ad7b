"""Changes are whole or not at all, numbered per chat, and shown in order after they are durable."""

import asyncio
from pathlib import Path

from anycowork.domain.chats import ChatState
from anycowork.domain.errors import (
    TurnAlreadyRunning,
)
from anycowork.domain.events import EventType, Record
from anycowork.domain.journal import (
    Change,
    Compact,
    RequireState,
    SetChat,
)
from support.stored import add_chat, body, held, message, note, opened, said, until


async def test_a_refused_change_leaves_nothing_and_its_neighbours_in_the_group_stand(tmp_path: Path) -> None:
    shown: list[Record] = []
    async with opened(tmp_path, shown.append) as database:
        await database.journal.write(add_chat())
        refusal = TurnAlreadyRunning("A turn is running.")
        refused = Change(
            "c1", (message("lost"), RequireState(frozenset({ChatState.RUNNING}), refusal)), (note("lost"),)
        )
        outcomes = await asyncio.gather(
            database.journal.write(said("before")),
            database.journal.write(refused),
            database.journal.write(said("after")),
            return_exceptions=True,
        )
        assert outcomes == [None, refusal, None]
        assert [m.id for m in await database.store.messages.all("c1")] == ["before", "after"]
        numbers = [r.seq for r in shown]
        assert numbers == sorted(numbers) and all(b"lost" not in r.body for r in shown)
        assert await database.store.audit.verify_chat("c1") is None


async def test_sixty_four_writers_share_commits_and_every_number_is_given_once(tmp_path: Path) -> None:
    shown: list[Record] = []
    async with opened(tmp_path, shown.append) as database:
        chats = [f"c{n}" for n in range(8)]
        for chat_id in chats:
            await database.journal.write(add_chat(chat_id))
        works, commits = database.writer.tally.works, database.writer.tally.commits

        async def writer(n: int) -> None:
            chat_id = chats[n % len(chats)]
            for i in range(20):
                await database.journal.write(said(f"{n}-{i}", chat_id=chat_id))

        await asyncio.gather(*(writer(n) for n in range(64)))
        assert database.writer.tally.works - works == 64 * 20
        assert database.writer.tally.commits - commits < 64 * 20 / 4
        for chat_id in chats:
            numbers = [r.seq for r in shown if r.chat_id == chat_id]
            assert numbers == sorted(set(numbers)) and len(numbers) == 8 * 20
            assert await database.store.audit.verify_chat(chat_id) is None


async def test_whoever_is_cancelled_while_writing_goes_on_when_the_outcome_is_known(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        seen: list[list[str]] = []

        async def send() -> None:
            try:
                await database.journal.write(said("m1"))
            finally:
                seen.append([m.id for m in await database.store.messages.all("c1")])

        async with asyncio.TaskGroup() as tasks:
            with held(database.writer):
                sending = tasks.create_task(send())
                await asyncio.sleep(0)
                sending.cancel()
                await asyncio.sleep(0)
                assert not sending.done()
        assert sending.cancelled() and seen == [["m1"]]


async def test_a_chain_that_another_hand_moved_is_gone_on_with_and_found_broken(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", message("m1")))
        await database.writer.run(lambda c: c.execute("UPDATE chats SET chain = 'moved'").rowcount)
        await database.journal.write(said("m2"))
        assert [m.id for m in await database.store.messages.all("c1")] == ["m1", "m2"]
        broken = await database.store.audit.verify_chat("c1")
        assert broken is not None and broken.seq == 2


async def test_a_changed_a_missing_and_a_cut_off_record_are_found(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        for n in range(4):
            await database.journal.write(said(f"m{n}"))
        assert await database.store.audit.verify_chat("c1") is None

        await database.writer.run(lambda c: c.execute("DELETE FROM records WHERE seq = 5").rowcount)
        broken = await database.store.audit.verify_chat("c1")
        assert broken is not None and "after this one" in broken.reason
        await database.writer.run(lambda c: c.execute("DELETE FROM records WHERE seq = 3").rowcount)
        broken = await database.store.audit.verify_chat("c1")
        assert broken is not None and broken.seq == 4
        await database.writer.run(lambda c: c.execute("UPDATE records SET body = body || ' ' WHERE seq = 2").rowcount)
        broken = await database.store.audit.verify_chat("c1")
        assert broken is not None and broken.seq == 2


async def test_text_said_while_a_write_is_under_way_is_shown_right_after_it(tmp_path: Path) -> None:
    shown: list[Record] = []
    async with opened(tmp_path, shown.append) as database:
        await database.journal.write(add_chat())
        async with asyncio.TaskGroup() as tasks:
            with held(database.writer):
                tasks.create_task(database.journal.write(said("m1")))
                await asyncio.sleep(0)
                database.journal.publish_delta("c1", "t1", "m2", EventType.TEXT_DELTA, 0, "words")
                assert shown == []
        assert [r.type for r in shown] == [EventType.MESSAGE, EventType.TEXT_DELTA]
        assert shown[0].seq < shown[1].seq


async def test_a_complete_message_takes_the_place_of_its_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        for n in range(40):
            database.journal.publish_delta("c1", "t1", "m1", EventType.TEXT_DELTA, n * 100, "x" * 100)
        database.journal.publish_delta("c1", "t1", "m1", EventType.REASONING_DELTA, 0, "hm")
        assert await database.store.records.unfinished_text("c1", "t1")
        await database.journal.write(Change("c1", (message("m1", "x" * 4000), Compact("m1"))))
        records = await database.store.records.after("c1", 0, 1000)
        assert [r.type for r in records] == [EventType.MESSAGE]
        assert await database.store.records.unfinished_text("c1", "t1") == []
        assert await database.store.audit.verify_chat("c1") is None
    async with opened(tmp_path) as database:
        assert [r.type for r in await database.store.records.after("c1", 0, 1000)] == [EventType.MESSAGE]


async def test_numbers_shown_before_a_crash_are_never_given_again(tmp_path: Path) -> None:
    shown: list[Record] = []
    async with opened(tmp_path, shown.append) as database:
        await database.journal.write(add_chat())
        await database.journal.write(Change("c1", (SetChat(state=ChatState.RUNNING),)))
        await database.writer.run(lambda connection: None)
        copy = tmp_path / "crashed"
        copy.mkdir()
        for n in range(50):
            database.journal.publish_delta("c1", "t1", "m1", EventType.TEXT_DELTA, n, "x")
        for name in ("anycowork.db", "anycowork.db-wal"):  # the disk as a crash at this moment leaves it
            (copy / name).write_bytes((tmp_path / name).read_bytes())
    async with opened(copy) as database:
        assert not database.ended_cleanly
        again: list[Record] = []
        await database.journal.write(said("m2"))
        again = await database.store.records.after("c1", shown[-1].seq, 10)
        assert [body(r)["message"]["id"] for r in again] == ["m2"]  # type: ignore[index,call-overload]
    async with opened(copy) as database:
        assert database.ended_cleanly


async def test_pieces_reach_the_disk_by_themselves(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        works = database.writer.tally.works
        database.journal.publish_delta("c1", "t1", "m1", EventType.TEXT_DELTA, 0, "words")
        await until(lambda: database.writer.tally.works > works)
