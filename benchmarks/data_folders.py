"""Builds data folders with many chats or many messages, directly through the store, for benchmarks and tests.

`python benchmarks/data_folders.py FOLDER --chats 10000 --messages 100` makes `FOLDER/data`, which `anycowork serve --data-dir` opens.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from anycowork.domain.chats import Chat, ChatConfig
from anycowork.domain.journal import AddChat, Change
from anycowork.domain.messages import Message, Speaker
from anycowork.server.clock import SystemClock
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import open_store

MESSAGES_AT_ONCE, CHATS_AT_ONCE = 1_000, 200
_CLOCK = SystemClock()
_SENTENCE = "The report is written as JSON now; `station/report.py` writes one object per hour. "


async def fill_data_folder(
    folder: Path, *, chats: int, messages: int, database: str = "data/anycowork.db", sentences: int = 4
) -> list[str]:
    """Makes the database in `folder`: so many chats, each with so many messages of about 340 bytes, or of more sentences.

    Returns the ids of the chats.
    """
    path = folder / database
    path.parent.mkdir(parents=True, exist_ok=True)
    store = open_store(path, _CLOCK, lambda record: None)
    try:
        return await fill_store(store, str(folder / "workspace"), chats=chats, messages=messages, sentences=sentences)
    finally:
        await store.aclose()


async def fill_store(store: Database, workspace: str, *, chats: int, messages: int, sentences: int = 4) -> list[str]:
    ids: list[str] = []
    for start in range(0, chats, CHATS_AT_ONCE):
        numbers = range(start, min(start + CHATS_AT_ONCE, chats))
        ids += await asyncio.gather(*(_add_chat(store, workspace, number, messages, sentences) for number in numbers))
    return ids


async def _add_chat(store: Database, workspace: str, number: int, messages: int, sentences: int) -> str:
    chat = Chat(_CLOCK.new_id(), f"Chat {number}", workspace, ChatConfig("actor"), created_at=_CLOCK.now())
    await store.journal.write(Change(chat.id, (AddChat(chat, "person:owner"),)))
    for start in range(0, messages, MESSAGES_AT_ONCE):
        written = tuple(_messages(chat.id, range(start, min(start + MESSAGES_AT_ONCE, messages)), sentences))
        await store.journal.write(Change(chat.id, written))
    return chat.id


def _messages(chat_id: str, numbers: range, sentences: int) -> Iterator[Message]:
    """Two messages a turn: what a person asks, and what the agent answers."""
    turn_id = _CLOCK.new_id()
    for number in numbers:
        asks = number % 2 == 0
        turn_id = _CLOCK.new_id() if asks else turn_id
        speaker = Speaker.USER if asks else Speaker.ASSISTANT
        text = f"Number {number}: {_SENTENCE * sentences}"
        yield Message(_CLOCK.new_id(), chat_id, speaker, text, turn_id=turn_id, created_at=_CLOCK.now())


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="an empty folder")
    parser.add_argument("--chats", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=100, help="messages in each chat [100]")
    asked = parser.parse_args(words)
    asyncio.run(fill_data_folder(asked.folder, chats=asked.chats, messages=asked.messages))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
