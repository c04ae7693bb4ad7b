"""How close do durable appends of 64 writers come to one bulk transaction?

The bulk writes the rows that an append leaves (message, record in the chain, the chat's counters), 500 messages to a transaction.
"""

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

import msgspec
import uvloop

from anycowork.domain.journal import Change
from anycowork.server.clock import SystemClock
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import open_store
from measuring import Ground, Leg, spending
from workplace import new_chat, new_message

QUESTION = "Durable appends of messages (600 bytes each)"
MESSAGES = 6_400
PER_TRANSACTION = 500


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {
        "bulk": partial(_bulk, ground, same_rows=True),
        "bulk_of_messages_alone": partial(_bulk, ground, same_rows=False),
        "writers_64": partial(_ours, ground, writers=64, messages=MESSAGES),
        "writers_1": partial(_ours, ground, writers=1, messages=MESSAGES // 32),
    }


def _ours(ground: Ground, *, writers: int, messages: int) -> dict[str, float]:
    with ground.fresh("appends") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return runner.run(_append(folder, writers=writers, each=messages // writers))


async def _append(folder: Path, *, writers: int, each: int) -> dict[str, float]:
    database = open_store(folder / "anycowork.db", SystemClock(), lambda record: None)
    try:
        chats = [await new_chat(database) for _ in range(writers)]
        with spending() as spent:
            await asyncio.gather(*(_write(database, chat_id, each) for chat_id in chats))
        stored = [len(await database.store.messages.all(chat_id)) for chat_id in chats]
    finally:
        await database.aclose()
    if stored != [each] * writers:
        raise AssertionError("not every message is there")
    return _rates(writers * each, spent.cpu, spent.wall)


async def _write(database: Database, chat_id: str, count: int) -> None:
    for _ in range(count):
        await database.journal.write(Change(chat_id, (new_message(chat_id),)))


def _bulk(ground: Ground, *, same_rows: bool) -> dict[str, float]:
    with ground.fresh("bulk") as folder, closing(sqlite3.connect(folder / "bulk.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(_TABLES)
        with spending() as spent:
            for start in range(0, MESSAGES, PER_TRANSACTION):
                database.execute("BEGIN IMMEDIATE")
                for seq in range(start, min(start + PER_TRANSACTION, MESSAGES)):
                    _insert(database, f"chat-{seq % 64}", seq, same_rows=same_rows)
                database.execute("COMMIT")
    return _rates(MESSAGES, spent.cpu, spent.wall)


_TABLES = """
CREATE TABLE messages (chat TEXT, seq INTEGER, body BLOB, PRIMARY KEY (chat, seq)) WITHOUT ROWID;
CREATE TABLE records (position INTEGER PRIMARY KEY, chat TEXT, seq INTEGER, body BLOB, hash TEXT, UNIQUE (chat, seq));
CREATE TABLE chats (id TEXT PRIMARY KEY, next_seq INTEGER, chain TEXT) WITHOUT ROWID;
"""


def _insert(database: sqlite3.Connection, chat: str, seq: int, *, same_rows: bool) -> None:
    message = new_message(chat)
    body = msgspec.json.encode(message.to_json())
    database.execute("INSERT INTO messages VALUES (?, ?, ?)", (chat, seq, body))
    if same_rows:
        record = b'{"seq":%d,"id":"%s","type":"message","message":%s}' % (seq, message.id.encode(), body)
        chain = sha256(record).hexdigest()
        database.execute("INSERT INTO records (chat, seq, body, hash) VALUES (?, ?, ?, ?)", (chat, seq, record, chain))
        database.execute("INSERT OR REPLACE INTO chats VALUES (?, ?, ?)", (chat, seq + 1, chain))


def _rates(messages: int, cpu: float, wall: float) -> dict[str, float]:
    return {"per_cpu_second": messages / cpu, "per_second": messages / wall, "cpu_us": cpu * 1e6 / messages}
