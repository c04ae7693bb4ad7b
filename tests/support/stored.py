"""A store opened on a real file, and small chats, messages and changes to put into it."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from anycowork.config.settings import Settings
from anycowork.domain.chats import Chat, ChatConfig
from anycowork.domain.events import EventType, NewEvent, Record
from anycowork.domain.journal import AddChat, Change, Write
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.server.clock import SystemClock
from anycowork.store.sql.database import Database
from anycowork.store.sql.writer import Writer
from anycowork.store.sqlite.connection import connect_to_write
from anycowork.store.sqlite.database import migrate, open_store

CLOCK = SystemClock()
SOON = 60.0  # until something that should happen did not: says nothing of how fast it is


@asynccontextmanager
async def opened(
    folder: Path,
    publish: Callable[[Record], None] = lambda record: None,
    chats_changed: Callable[[], None] = lambda: None,
) -> AsyncIterator[Database]:
    database = open_store(put_fresh_database(folder), CLOCK, publish, chats_changed)
    try:
        yield database
    finally:
        await database.aclose()


def put_fresh_database(folder: Path) -> Path:
    """Where the database of this data folder is: an empty one of this release, if there was none. Making one takes longer than most tests."""
    path = Settings(data_dir=folder).database_path
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)
        path.write_bytes(_migrated())
    return path


@cache
def _migrated() -> bytes:
    """Made once: each test starts from a copy."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fresh.db"
        migrate(path)
        connect_to_write(path).close()  # switches to a log, which costs six syncs
        return path.read_bytes()


def new_chat(chat_id: str = "c1", *, title: str = "A chat", role: str = "actor") -> Chat:
    return Chat(id=chat_id, title=title, workspace="/home/ann/project", config=ChatConfig(role), created_at=CLOCK.now())


def add_chat(chat_id: str = "c1", *writes: Write, title: str = "A chat") -> Change:
    return Change(chat_id, (AddChat(new_chat(chat_id, title=title), "person:ann"), *writes))


def message(message_id: str, content: str = "hello", *, chat_id: str = "c1", turn_id: str | None = "t1") -> Message:
    return Message(
        id=message_id, chat_id=chat_id, role=Speaker.USER, content=content, turn_id=turn_id, created_at=CLOCK.now()
    )


def said(message_id: str, content: str = "hello", *, chat_id: str = "c1") -> Change:
    return Change(chat_id, (message(message_id, content, chat_id=chat_id),))


def note(text: str = "", type_: EventType = EventType.ERROR) -> NewEvent:
    return NewEvent(type_, {"error": {"message": text}})


def body(record: Record) -> Json:
    decoded: Json = msgspec.json.decode(record.body)
    return decoded


async def until(condition: Callable[[], bool]) -> None:
    """Lets the event loop run until this holds."""
    async with asyncio.timeout(SOON):
        while not condition():
            await asyncio.sleep(0.001)


@contextmanager
def held(writer: Writer) -> Iterator[threading.Event]:
    """Nothing that is written in here becomes durable before the event is set, or this ends."""
    gate = threading.Event()
    writer.submit(lambda connection: gate.wait(SOON), lambda outcome: None)
    try:
        yield gate
    finally:
        gate.set()


def wait_for(condition: Callable[[], bool]) -> None:
    """Blocks this thread, and with it the event loop, until another thread has made this true."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.001)
