"""What does it cost to read the last 200 of 100,000 messages, beside a raw SELECT of the same bodies?"""

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import uvloop

from anycowork.domain.journal import Change
from anycowork.server.clock import SystemClock
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import open_store
from measuring import Ground, Leg, spending
from workplace import new_chat, new_message

QUESTION = "Reading the last 200 of 100,000 messages (600 bytes each)"
MESSAGES, LAST, TIMES = 100_000, 200, 100


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with ground.fresh("last") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        path = folder / "anycowork.db"
        database = open_store(path, SystemClock(), lambda record: None)
        try:
            chat_id = runner.run(_fill(database))
            yield {
                "store": lambda: runner.run(_page(database, chat_id)),
                "raw_select": partial(_select, path, chat_id),
            }
        finally:
            runner.run(database.aclose())


async def _fill(database: Database) -> str:
    chat_id = await new_chat(database)
    for _ in range(MESSAGES // 1000):
        await database.journal.write(Change(chat_id, tuple(new_message(chat_id) for _ in range(1000))))
    return chat_id


async def _page(database: Database, chat_id: str) -> dict[str, float]:
    await database.store.messages.page(chat_id, limit=LAST)  # warm
    with spending() as spent:
        for _ in range(TIMES):
            page = await database.store.messages.page(chat_id, limit=LAST)
    if len(page.bodies) != LAST:
        raise AssertionError(f"{len(page.bodies)} messages instead of {LAST}")
    return {"cpu_us": spent.cpu * 1e6 / TIMES}


def _select(path: Path, chat_id: str) -> dict[str, float]:
    query = "SELECT body FROM records WHERE chat_id = ? AND type = 'message' ORDER BY seq DESC LIMIT ?"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(query, (chat_id, LAST)).fetchall()  # warm
        with spending() as spent:
            for _ in range(TIMES):
                rows = connection.execute(query, (chat_id, LAST)).fetchall()
    if len(rows) != LAST:
        raise AssertionError(f"{len(rows)} rows instead of {LAST}")
    return {"cpu_us": spent.cpu * 1e6 / TIMES}
