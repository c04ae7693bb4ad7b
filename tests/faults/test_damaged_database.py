"""A database whose content is damaged is called damaged, not a full disk; and nothing of the request counts as kept."""

import sqlite3
from pathlib import Path

import pytest

from anycowork.domain.errors import DatabaseDamaged
from anycowork.store.sqlite.database import open_store
from support.stored import CLOCK, add_chat, opened, put_fresh_database, said

PAGE = 4096


def damage(path: Path) -> None:
    """Every page but the first, which says what the file is."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(PAGE)
        file.write(b"\xff" * (size - PAGE))


async def test_a_database_that_is_damaged_while_it_is_open_is_called_damaged(tmp_path: Path) -> None:
    path = put_fresh_database(tmp_path)
    with pytest.raises(DatabaseDamaged, match="damaged") as caught:
        async with opened(tmp_path) as database:
            await database.journal.write(add_chat())
            database._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            damage(path)
            database._connection.execute("PRAGMA cache_size = 0")
            for number in range(50):
                await database.journal.write(said(f"m{number}"))
    assert "disk space" not in caught.value.message and not caught.value.retryable


@pytest.mark.parametrize("content", [b"\xff" * 8192, b"no database at all, only text" * 100])
def test_a_file_that_is_no_database_is_called_so_at_the_start(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "anycowork.db"
    path.write_bytes(content)
    with pytest.raises(DatabaseDamaged, match="damaged or not a database"):
        open_store(path, CLOCK, lambda record: None)


def test_damaged_pages_are_found_at_the_start(tmp_path: Path) -> None:
    path = put_fresh_database(tmp_path)
    sqlite3.connect(path).close()
    damage(path)
    with pytest.raises(DatabaseDamaged):
        open_store(path, CLOCK, lambda record: None)
