"""A process of its own that opens a store and writes, for tests that stop, starve or kill it.

Run as `python -m support.storechild <what> <folder> [fd]`; speaks in lines on its standard output.
"""

import asyncio
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

from anycowork.domain.chats import ChatState
from anycowork.domain.errors import StorageFault
from anycowork.domain.events import EventType, Record
from anycowork.domain.journal import Change, SetChat
from support.stored import CLOCK, add_chat, message, opened, said
from support.syncwatch import hand_over

CHATS = 4
WRITERS = 64


def start(what: str, folder: Path, *, pass_fd: int | None = None) -> subprocess.Popen[str]:
    here = Path(__file__).parents[1]
    return subprocess.Popen(
        [sys.executable, "-m", "support.storechild", what, str(folder), *([] if pass_fd is None else [str(pass_fd)])],
        env={**os.environ, "PYTHONPATH": f"{here}:{here.parent / 'src'}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=() if pass_fd is None else (pass_fd,),
    )


def tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def write_when_told(folder: Path, watcher: socket.socket) -> None:
    """Writes a message for each word on standard input; answers `ping` meanwhile."""
    hand_over(watcher)
    async with opened(folder) as database, asyncio.TaskGroup() as tasks:
        await database.journal.write(add_chat())
        words = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(words), sys.stdin)

        async def write(word: str) -> None:
            await database.journal.write(said(word, f"content of {word}"))
            tell(f"acknowledged {word}")

        tell("ready")
        while word := (await words.readline()).decode().strip():
            if word == "ping":
                tell("pong")
            else:
                tasks.create_task(write(word))


async def write_for_ever(folder: Path) -> None:
    """Tells every number as it is shown, and every message as it is acknowledged."""

    def show(record: Record) -> None:
        tell(f"shown {record.chat_id} {record.seq}")

    async with opened(folder, show) as database:
        for n in range(CHATS):
            await database.journal.write(add_chat(f"c{n}"))
            await database.journal.write(Change(f"c{n}", (SetChat(state=ChatState.RUNNING),)))

        async def write(n: int) -> None:
            chat_id = f"c{n % CHATS}"
            while True:
                message_id = CLOCK.new_id()
                database.journal.publish_delta(chat_id, f"t{n}", message_id, EventType.TEXT_DELTA, 0, "some words")
                await database.journal.write(Change(chat_id, (message(message_id, chat_id=chat_id),)))
                tell(f"acknowledged {chat_id} {message_id}")

        async with asyncio.TaskGroup() as tasks:
            for n in range(WRITERS):
                tasks.create_task(write(n))


async def fill_the_disk(folder: Path) -> None:
    """No file may grow beyond a limit; writes until that is felt, then the limit goes."""
    async with opened(folder) as database:
        await database.journal.write(add_chat())
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
        failures = 0
        for n in range(200):
            ids = [f"m{n}-{i}" for i in range(4)]
            writes = (database.journal.write(said(message_id, "x" * 2000)) for message_id in ids)
            # Each is told by its own outcome: the four may have been committed in more than one group.
            for message_id, outcome in zip(ids, await asyncio.gather(*writes, return_exceptions=True), strict=True):
                match outcome:
                    case None:
                        tell(f"acknowledged {message_id}")
                    case StorageFault(message=message):
                        failures += 1
                        tell(f"failed {message}")
                    case unexpected:
                        raise unexpected
            if failures >= 3:
                break
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        await database.journal.write(said("healed"))
        tell("acknowledged healed")
        broken = await database.store.audit.verify_chat("c1")
        tell(f"chain {broken}")


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    match what:
        case "write-when-told":
            asyncio.run(write_when_told(folder, socket.socket(fileno=int(sys.argv[3]))))
        case "write-for-ever":
            asyncio.run(write_for_ever(folder))
        case "fill-the-disk":
            asyncio.run(fill_the_disk(folder))


if __name__ == "__main__":
    main()
