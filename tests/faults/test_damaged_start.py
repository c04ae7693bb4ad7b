"""A server that is started on a damaged database starts, or ends with a sentence that says what is wrong and the way out: no traceback."""

import asyncio
import random
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from anycowork.config.settings import Settings
from support.cli_process import TIMEOUT, CommandLine, ending
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

PAGE = 4096
SEEDS = range(3)


@pytest.fixture(scope="module")
def sound_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    asyncio.run(write_chats(folder))
    path = Settings(data_dir=folder / "data").database_path
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


async def write_chats(folder: Path) -> None:
    """Chats that rest, one that waits for a decision, and messages of many pages."""
    async with live_server(folder, replies=[call("create_file", path="a.txt", content="a"), *["Noted."] * 4]) as client:
        await (await client.chat()).send("Write it.")
        for number in range(4):
            await (await client.chat(role="planner")).send(f"{number} and many words. " * 400)


def overwrite_pages(content: bytearray, chance: random.Random) -> None:
    pages = len(content) // PAGE
    for page in chance.sample(range(1, pages), chance.choice([1, 3, pages // 4, pages - 1])):
        content[page * PAGE : (page + 1) * PAGE] = chance.choice([bytes(PAGE), b"\xff" * PAGE, chance.randbytes(PAGE)])


def overwrite_bytes(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 30, 1_000])):
        content[chance.randrange(100, len(content))] = chance.randrange(256)


def cut_off(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(1, len(content) // PAGE) * PAGE :]


def swap_pages(content: bytearray, chance: random.Random) -> None:
    for _ in range(5):
        first, second = (page * PAGE for page in chance.sample(range(1, len(content) // PAGE), 2))
        saved = content[first : first + PAGE]
        content[first : first + PAGE] = content[second : second + PAGE]
        content[second : second + PAGE] = saved


def overwrite_header(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(0, 60)
    content[start : start + 40] = chance.randbytes(40)


DAMAGES: list[Callable[[bytearray, random.Random], None]] = [
    overwrite_pages,
    overwrite_bytes,
    cut_off,
    swap_pages,
    overwrite_header,
]


@proves("OPS-2")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_server_on_any_damaged_database_starts_or_says_what_is_wrong(
    damage: Callable[[bytearray, random.Random], None], seed: int, sound_database: Path, tmp_path: Path
) -> None:
    content = bytearray(sound_database.read_bytes())
    damage(content, random.Random(f"{damage.__name__} {seed}"))
    line = CommandLine(tmp_path)
    line.data.mkdir(mode=0o700)
    Settings(data_dir=line.data).database_path.write_bytes(content)
    require_clear_end(line)


ROWS = {
    "a chat's settings that are no JSON": "UPDATE chats SET config = '{'",
    "trust that is no JSON": "UPDATE workspaces SET trust = '{'",
    "bytes that are no text": "UPDATE turns SET principal = CAST(x'ff' AS TEXT)",
    "seconds that are no number": "UPDATE turns SET seconds = 'many'",
    "a state that is none": "UPDATE turns SET state = 'dreaming'",
    "a call that is no JSON": "UPDATE calls SET parameters = '[', state = 'executing'",
}


@proves("OPS-2")
@pytest.mark.parametrize("row", ROWS)
def test_server_on_rows_that_cannot_be_read_starts_or_says_what_is_wrong(
    row: str, sound_database: Path, tmp_path: Path
) -> None:
    line = CommandLine(tmp_path)
    line.data.mkdir(mode=0o700)
    path = Settings(data_dir=line.data).database_path
    shutil.copyfile(sound_database, path)
    with sqlite3.connect(path) as connection:
        connection.execute(ROWS[row])
    connection.close()
    require_clear_end(line)


def require_clear_end(line: CommandLine) -> None:
    """The server runs and ends when it is told to, or it has ended with 1 and one sentence."""
    with ending(line.start("serve", "--port", "0")) as process:
        assert process.stdout is not None
        starts = any(text.startswith("Ctrl-C") for text in iter(process.stdout.readline, ""))
        if starts:
            process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT)
    assert "Traceback" not in errors, errors
    if starts:
        return
    assert process.returncode == 1
    assert errors.startswith("anycowork: The ") and "database" in errors and ("backup" in errors or "Check" in errors)
