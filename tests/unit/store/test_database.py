"""Opening: a fresh file, an up-to-date one, one from a newer release, one that is not ours."""

import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from anycowork.domain.errors import StorageFault
from anycowork.store.sqlite.database import migrate, open_store, statements_of
from support.stored import CLOCK, add_chat, opened, said

SOURCE = Path(__file__).parents[3] / "src"


async def test_a_database_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new folder #1 100%?"
    database = open_store(folder / "anycowork.db", CLOCK, lambda record: None)
    await database.journal.write(add_chat())
    files = list(folder.iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600} and len(files) == 4
    await database.aclose()


def test_an_up_to_date_database_is_opened_without_the_migration_library(tmp_path: Path) -> None:
    migrate(tmp_path / "a.db")
    script = (
        "import sys; from pathlib import Path; from anycowork.store.sqlite.database import migrate;"
        " migrate(Path(sys.argv[1])); print('yoyo' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path / "a.db")],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_new_migration_is_applied_to_an_old_database(tmp_path: Path) -> None:
    migrations = tmp_path / "migrations [1]"
    migrations.mkdir()
    (migrations / "0001-one.sql").write_text("CREATE TABLE one (a TEXT);")
    migrate(tmp_path / "a.db", migrations=migrations)
    (migrations / "0002-two.sql").write_text("CREATE TABLE two (a TEXT); INSERT INTO two SELECT a FROM one;")
    migrate(tmp_path / "a.db", migrations=migrations)
    connection = sqlite3.connect(tmp_path / "a.db")
    assert connection.execute("SELECT COUNT(*) FROM two").fetchone() == (0,)
    connection.close()


def test_a_script_is_divided_where_its_statements_end() -> None:
    trigger = "CREATE TRIGGER t AFTER DELETE ON a BEGIN\n  DELETE FROM b; -- of it; not all\n  DELETE FROM c;\nEND;"
    text = "\n-- one; two\nINSERT INTO a VALUES (';', '''; END;');"
    table = " CREATE TABLE d (a /* ; */ TEXT);"
    assert list(statements_of(f"{trigger}{text}{table}\n-- the end; really\n")) == [trigger, text, table]


def test_a_migration_that_fails_leaves_nothing_of_itself(tmp_path: Path) -> None:
    migrations = tmp_path / "migrations"
    migrations.mkdir()
    (migrations / "0001-one.sql").write_text("CREATE TABLE one (a TEXT);\nINSERT INTO nowhere VALUES (1);")
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(tmp_path / "a.db", migrations=migrations)
    (migrations / "0001-one.sql").write_text("CREATE TABLE one (a TEXT);")
    migrate(tmp_path / "a.db", migrations=migrations)


def test_a_database_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    migrate(tmp_path / "a.db")
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("INSERT INTO _yoyo_migration VALUES ('h', '9999-future', NULL)")
    connection.commit()
    connection.close()
    with pytest.raises(StorageFault, match="newer AnyCowork"):
        open_store(tmp_path / "a.db", CLOCK, lambda record: None)


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("shopping list: " + "milk " * 500)
    with pytest.raises(StorageFault, match="is damaged or not a database"):
        open_store(tmp_path / "a.db", CLOCK, lambda record: None)
    assert (tmp_path / "a.db").read_text().startswith("shopping list")


async def test_after_closing_a_write_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
    with pytest.raises(StorageFault, match="closed"):
        await database.writer.run(lambda connection: None)
    assert database.ended_cleanly


async def test_every_table_has_a_tenant(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        await database.journal.write(said("m1"))
    connection = sqlite3.connect(tmp_path / "anycowork.db")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    indexes = ("sqlite_", "message_search")  # the full-text index leads to records, which have a tenant
    ours = [name for name in tables if "yoyo" not in name and not name.startswith(indexes)]
    for table in ours:
        assert "tenant_id" in {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}, table
    assert connection.execute("SELECT DISTINCT tenant_id FROM records").fetchall() == [("local",)]
    connection.close()
