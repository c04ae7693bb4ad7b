"""Readers get every event once and in order: live, replayed, reconnecting, slow."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.domain.chats import ChatState, Turn, TurnState
from anycowork.domain.events import EventType, Record, StreamItem, StreamSignal
from anycowork.domain.journal import Change, Compact, RemoveChat, SetChat
from anycowork.domain.values import replace
from anycowork.events.hub import Hub, Streams
from anycowork.store.sql.database import Database
from support.reader import Client
from support.spec import proves
from support.stored import CLOCK, SOON, add_chat, body, held, message, note, opened, said, until, wait_for


def chat_stream(database: Database, hub: Hub, client: Client, chat_id: str = "c1") -> AsyncGenerator[StreamItem, None]:
    return Streams(database.store.records, hub).follow(chat_id, after=client.last)


async def read(stream: AsyncGenerator[StreamItem, None], client: Client, enough: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON), aclosing(stream):
        while not enough():
            client.receive(await anext(stream))


@proves("EVT-1/1", "EVT-2/1")
async def test_a_reader_reconnecting_at_any_number_misses_nothing(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat())
        for n in range(10):
            await database.journal.write(said(f"m{n}"))
        everything = await database.store.records.after("c1", 0, 100)
        assert [record.seq for record in everything] == sorted(record.seq for record in everything)
        for after in range(12):
            client = Client(last=after)
            expected = [r.seq for r in everything if r.seq > after]
            if expected:
                await read(chat_stream(database, hub, client), client, lambda: client.last == 11)  # noqa: B023
            assert client.seen == expected
        assert hub.readers == 0


@proves("EVT-2/1")
async def test_a_number_that_was_never_given_brings_nothing_old_and_silences_nothing_new(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat("c1", message("m1"), message("m2")))
        client, sidebar = Client(last=5000), Client(of_all_chats=True)
        everything = Streams(database.store.records, hub).follow_all(after=5000)
        async with asyncio.timeout(SOON), aclosing(chat_stream(database, hub, client)) as one, aclosing(everything):
            async with asyncio.TaskGroup() as tasks:
                coming = [tasks.create_task(_next(one)), tasks.create_task(_next(everything))]
                await until(lambda: hub.readers == 2)
                await database.journal.write(Change("c1", (message("m3"),), (note("", EventType.TURN_STARTED),)))
            client.receive(coming[0].result())
            sidebar.receive(coming[1].result())
        assert list(client.screen.messages) == ["m3"]
        assert len(sidebar.seen) == 1


async def _next(stream: AsyncGenerator[StreamItem, None]) -> StreamItem:
    return await anext(stream)


@proves("EVT-2/2")
async def test_replay_and_live_join_without_gap_or_doubling(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat())
        clients, written = [Client() for _ in range(5)], [0]

        async def write_all() -> None:
            for n in range(200):
                await database.journal.write(said(f"m{n}"))
                written[0] = n + 1

        async def read_some(client: Client, start_at: int) -> None:
            await until(lambda: written[0] >= start_at)
            await read(chat_stream(database, hub, client), client, lambda: client.last == 201)

        async with asyncio.timeout(SOON * 4), asyncio.TaskGroup() as tasks:
            tasks.create_task(write_all())
            for n, client in enumerate(clients):
                tasks.create_task(read_some(client, n * 40))
        assert all(client.seen == list(range(2, 202)) for client in clients)


@proves("EVT-2/2")
async def test_what_is_shown_while_a_replay_is_read_comes_once(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat("c1", message("m1")))

        class WritesMeanwhile:
            last_number, sidebar_page = database.store.records.last_number, database.store.records.sidebar_page
            last_position = database.store.records.last_position

            async def after(self, chat_id: str, seq: int, limit: int) -> list[Record]:
                if seq == 0:
                    await database.journal.write(said("meanwhile"))
                return await database.store.records.after(chat_id, seq, limit)

        client, stream = Client(), Streams(WritesMeanwhile(), hub).follow("c1", after=0)
        async with asyncio.timeout(SOON), aclosing(stream):
            client.receive(await anext(stream))
            await database.journal.write(said("afterwards"))
            client.receive(await anext(stream))
        assert client.seen == [1, 2, 3]


@proves("EVT-2")
async def test_a_replay_ends_where_readers_have_been_shown(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat())
        committed = database.writer.tally.works + 3
        async with asyncio.TaskGroup() as tasks:
            with held(database.writer):
                tasks.create_task(database.journal.write(said("m1")))
                await asyncio.sleep(0)
                database.journal.publish_delta("c1", "t1", "m2", EventType.TEXT_DELTA, 0, "between the two")
                tasks.create_task(database.journal.write(said("m3")))
                await asyncio.sleep(0)
                await asyncio.sleep(0)  # the writer is given at the end of a round what was written in it
            # Both are durable now, and this event loop has not heard of it.
            wait_for(lambda: database.writer.tally.works == committed)
            assert await database.store.records.after("c1", 0, 10) == []
            assert (await database.store.messages.page("c1", limit=10)).last_seq == 1
            client = Client()
            await read(chat_stream(database, hub, client), client, lambda: "m3" in client.screen.messages)
        assert client.seen == [2, 3, 4] and list(client.screen.growing.values()) == ["between the two"]


@proves("EVT-2")
async def test_text_is_replayed_until_its_message_has_been_shown(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database, asyncio.TaskGroup() as tasks:
        await database.journal.write(add_chat())
        client = Client()
        with held(database.writer) as gate:
            database.journal.publish_delta("c1", "t1", "m1", EventType.TEXT_DELTA, 0, "seen ")
            tasks.create_task(database.journal.write(said("w1")))
            await asyncio.sleep(0)
            database.journal.publish_delta("c1", "t1", "m1", EventType.TEXT_DELTA, 5, "behind w1")
            tasks.create_task(database.journal.write(Change("c1", (message("m1", "seen behind w1"), Compact("m1")))))
            await asyncio.sleep(0)
            stream = chat_stream(database, hub, client)
            client.receive(await anext(stream))
            assert list(client.screen.growing.values()) == ["seen "]
            gate.set()
            await read(stream, client, lambda: "m1" in client.screen.messages)
        assert not client.screen.growing


@proves("EVT-2/1")
async def test_a_thousand_missed_events_come_in_one_piece(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat())
        await database.journal.write(Change("c1", (), tuple(note(str(n)) for n in range(1500))))
        client = Client()
        async with aclosing(chat_stream(database, hub, client)) as stream:
            client.receive(await anext(stream))
            assert len(client.seen) == 1000
            client.receive(await anext(stream))
            assert len(client.seen) == 1500


@proves("EVT-2/3")
async def test_a_slow_reader_falls_back_to_the_store_and_misses_nothing(tmp_path: Path) -> None:
    hub = Hub(records_kept=4, bytes_kept=10_000)
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat("c1", message("first")))
        client = Client()
        async with asyncio.timeout(SOON), aclosing(chat_stream(database, hub, client)) as stream:
            client.receive(await anext(stream))
            for n in range(30):  # nobody takes anything meanwhile, and nobody waits for that
                await database.journal.write(said(f"m{n}"))
            database.journal.publish_delta("c1", "t1", "next", EventType.TEXT_DELTA, 0, "and ")
            while "next" not in {key[0] for key in client.screen.growing}:
                client.receive(await anext(stream))
            database.journal.publish_delta("c1", "t1", "next", EventType.TEXT_DELTA, 4, "on")
            client.receive(await anext(stream))
        assert list(client.screen.messages) == ["first", *(f"m{n}" for n in range(30))]
        assert list(client.screen.growing.values()) == ["and on"]


@proves("EVT-2/2", "EVT-2/3")
async def test_the_log_is_bounded_and_gone_with_its_last_reader(tmp_path: Path) -> None:
    hub = Hub(records_kept=3)
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat())
        with hub.reading("c1") as reader:
            for n in range(3):
                await database.journal.write(said(f"m{n}"))
            taken = reader.take()
            assert taken is not None and [record.seq for record in taken] == [2, 3, 4]
            for n in range(4):
                await database.journal.write(said(f"n{n}"))
            assert reader.take() is None
            reader.deliver(taken[0])
            reader.catch_up()  # what is not stored is delivered again after the replay
            assert reader.take() == [] and hub.readers == 1
        assert hub.readers == 0
        short = Hub(bytes_kept=100)
        with short.reading("c1") as reader:
            for record in [replace(taken[0], body=b"x" * 60)] * 2:
                short.publish(record)
            assert reader.take() is None, "large records fill it sooner"


async def test_a_silent_chat_gives_signs_of_life(tmp_path: Path) -> None:
    hub = Hub(heartbeat_seconds=0.01)
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat())
        client = Client()
        await read(chat_stream(database, hub, client), client, lambda: client.signals == [StreamSignal.KEEP_ALIVE] * 3)
        assert client.seen == []


async def test_one_reader_that_leaves_does_not_disturb_the_others(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat())
        leaving, staying = Client(), Client()
        async with asyncio.timeout(SOON), asyncio.TaskGroup() as tasks:
            gone = tasks.create_task(read(chat_stream(database, hub, leaving), leaving, lambda: False))
            stays = tasks.create_task(read(chat_stream(database, hub, staying), staying, lambda: staying.last == 2))
            await until(lambda: hub.readers == 2)
            gone.cancel()
            await asyncio.wait([gone])
            await database.journal.write(said("m1"))
            await stays
        assert staying.seen == [2] and hub.readers == 0


async def test_the_sidebar_follows_every_chat_from_now_or_from_a_position(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        store = database.store
        for chat_id in ("c1", "c2"):
            await database.journal.write(add_chat(chat_id))
        await database.journal.write(Change("c1", (), (note("before"),)))

        def sidebar(after: int | None) -> AsyncGenerator[StreamItem, None]:
            return Streams(store.records, hub).follow_all(after=after)

        now, all_of_it = Client(of_all_chats=True), Client(of_all_chats=True)
        async with asyncio.timeout(SOON), asyncio.TaskGroup() as tasks:
            tasks.create_task(read(sidebar(None), now, lambda: len(now.seen) == 2))
            tasks.create_task(read(sidebar(0), all_of_it, lambda: len(all_of_it.seen) == 3))
            await until(lambda: hub.readers == 2 and bool(all_of_it.seen))
            database.journal.publish_delta("c1", "t1", "m", EventType.TEXT_DELTA, 0, "not for the sidebar")
            await database.journal.write(Change("c2", (message("m", chat_id="c2"),), (note("one"),)))
            await database.journal.write(Change("c1", (), (note("two"),)))
        assert all_of_it.seen[1:] == now.seen
        assert all_of_it.seen == [r.position for r in (await store.records.sidebar_page(0, 10))[0]]
        again = Client(last=now.seen[0], of_all_chats=True)
        await read(sidebar(now.seen[0]), again, lambda: bool(again.seen))
        assert again.seen == now.seen[1:]


@proves("UI-6")
async def test_who_follows_all_chats_is_hinted_that_the_list_changed_and_no_reader_of_one_is(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish, hub.chats_changed) as database:
        await database.journal.write(add_chat())
        store, journal = database.store, database.journal
        of_all = Streams(store.records, hub).follow_all(after=None)
        one = Client()
        async with asyncio.timeout(SOON), aclosing(of_all), aclosing(chat_stream(database, hub, one)) as of_one:
            for change in (
                add_chat("c2"),
                Change("c1", (SetChat(title="Another name"),)),
                Change("c2", (RemoveChat(),)),
            ):
                async with asyncio.TaskGroup() as tasks:
                    hint = tasks.create_task(anext(of_all))
                    await until(lambda: hub.readers == 1)
                    await journal.write(change)
                assert hint.result() is StreamSignal.CHATS_CHANGED
            await journal.write(Change("c1", (SetChat(ChatState.RUNNING),), (note("only its state"),)))
            [record] = await anext(of_all)
            assert isinstance(record, Record) and b"only its state" in record.body
            one.receive(await anext(of_one))
        assert one.signals == []


# --- any interleaving

SAY, WRITE, FINISH, COME_BACK, BREATHE, FLUSH = "say", "write", "finish", "come back", "breathe", "flush"
steps = st.lists(
    st.one_of(
        st.tuples(st.just(SAY), st.integers(0, 1), st.text("abc", min_size=1, max_size=600)),
        st.tuples(st.just(WRITE), st.integers(0, 1), st.just("")),
        st.tuples(st.just(FINISH), st.integers(0, 1), st.just("")),
        st.tuples(st.just(COME_BACK), st.integers(0, 2), st.just("")),
        st.tuples(st.just(BREATHE), st.integers(1, 4), st.just("")),
        st.tuples(st.just(FLUSH), st.just(0), st.just("")),
    ),
    max_size=30,
)


class Play:
    """One writer that speaks of two messages at once, and three readers that come and go."""

    def __init__(self, database: Database, hub: Hub) -> None:
        self.database = database
        self.hub = hub
        self.clients = [Client() for _ in range(3)]
        self.readings: list[asyncio.Task[None] | None] = [None, None, None]
        self.texts = ["", ""]
        self.names = ["m0.0", "m1.0"]
        self.count = 0

    async def run(self, todo: list[tuple[str, int, str]]) -> None:
        async with asyncio.timeout(SOON * 4), asyncio.TaskGroup() as tasks:
            for number in range(3):
                await self.come_back(tasks, number)
            for step, number, text in todo:
                await self.take(tasks, step, number, text)
            await self.database.journal.write(Change("c1", (), (note("the end"),)))
            end = (await self.database.store.records.after("c1", 0, 10_000))[-1].seq
            await until(lambda: all(client.last == end for client in self.clients))
            for number in range(3):
                await self.leave(number)

    async def take(self, tasks: asyncio.TaskGroup, step: str, number: int, text: str) -> None:
        journal = self.database.journal
        if step == SAY:
            name, offset = self.names[number], len(self.texts[number])
            self.texts[number] += text
            journal.publish_delta("c1", "t1", name, EventType.TEXT_DELTA, offset, text)
        elif step == WRITE:
            self.count += 1
            tasks.create_task(journal.write(Change("c1", (message(f"w{self.count}"),), (note("x"),))))
            await asyncio.sleep(0)
        elif step == FINISH:
            name, whole = self.names[number], self.texts[number]
            self.count += 1
            self.names[number], self.texts[number] = f"m{number}.{self.count}", ""
            tasks.create_task(journal.write(Change("c1", (message(name, whole), Compact(name)))))
            await asyncio.sleep(0)
        elif step == COME_BACK:
            await self.leave(number)
            await self.come_back(tasks, number)
        elif step == BREATHE:
            for _ in range(number):
                await asyncio.sleep(0)
        else:
            journal._flush_now()

    async def come_back(self, tasks: asyncio.TaskGroup, number: int) -> None:
        client = self.clients[number]
        self.readings[number] = tasks.create_task(
            read(chat_stream(self.database, self.hub, client), client, lambda: False)
        )

    async def leave(self, number: int) -> None:
        reading = self.readings[number]
        assert reading is not None
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()


@proves("EVT-2")
@settings(max_examples=100, deadline=None)
@given(steps)
def test_reduce_of_replay_equals_reduce_of_live_however_writers_and_readers_interleave(
    todo: list[tuple[str, int, str]],
) -> None:
    async def play() -> None:
        with TemporaryDirectory() as folder:
            hub = Hub(records_kept=8)
            async with opened(Path(folder), hub.publish) as database:
                await database.journal.write(add_chat())
                one = Play(database, hub)
                await one.run(todo)
                late = Client()
                end = one.clients[0].last
                await read(chat_stream(database, hub, late), late, lambda: late.last == end)
                assert {key[0]: text for key, text in late.screen.growing.items()} == {
                    name: text for name, text in zip(one.names, one.texts, strict=True) if text
                }
                for client in one.clients:
                    assert client.screen == late.screen
                assert await database.store.audit.verify_chat("c1") is None

    asyncio.run(play())


@proves("EVT-1")
async def test_a_stream_that_opens_late_begins_with_what_a_running_command_has_printed(tmp_path: Path) -> None:
    hub, printed = Hub(), ("m2", "text-delta")
    async with opened(tmp_path, hub.publish) as database:
        journal = database.journal
        await journal.write(add_chat("c1", message("m1")))
        journal.show("c1", None, "own", "m2", 0, "one ")
        journal.show("c1", None, "own", "m2", 4, "two ")
        streams, late = Streams(database.store.records, hub, journal), Client()
        async with asyncio.timeout(SOON), aclosing(streams.follow("c1", after=0)) as stream:
            while printed not in late.screen.growing:
                late.receive(await anext(stream))
            assert late.screen.growing[printed] == "one two "
            journal.show("c1", None, "own", "m2", 8, "three")
            late.receive(await anext(stream))
            assert late.screen.growing[printed] == "one two three"

        await journal.write(said("m2"))
        ended = Client()
        await read(streams.follow("c1", after=0), ended, lambda: "m2" in ended.screen.messages)
        assert printed not in ended.screen.growing
        journal.show_unstored("c1", lambda record: pytest.fail("the message has it all"))


@proves("EVT-1")
async def test_output_of_a_turn_is_kept_for_late_readers_until_it_rests(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        journal = database.journal
        await journal.write(add_chat("c1", turn()))
        journal.show("c1", "t1", "call", "m2", 0, "half")
        shown: list[Record] = []
        journal.show_unstored("c1", shown.append)
        assert [body(record)["text"] for record in shown] == ["half"]
        await journal.write(Change("c1", (turn(TurnState.ENDED),)))
        journal.show_unstored("c1", shown.append)
        assert len(shown) == 1


def turn(state: TurnState = TurnState.RUNNING) -> Turn:
    return Turn("t1", "c1", "actor", "person:ann", "m1", state=state, created_at=CLOCK.now())
