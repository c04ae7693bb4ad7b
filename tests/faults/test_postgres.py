"""A PostgreSQL server that is not there, too new, or goes away for some seconds: clear words, nothing lost, work goes on."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from anycowork.cli.diagnostics import run_checks
from anycowork.config.settings import Settings
from anycowork.domain.errors import Invalid, NotFound, StorageFault
from anycowork.domain.events import Record
from anycowork.domain.journal import Change, Reserve, Spend
from anycowork.server.cluster import server_peers
from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection
from anycowork.store.postgres.database import open_postgres
from anycowork.store.sql.database import Database
from support.fork_server import ForkServer
from support.live_server import LiveChat, live_server
from support.postgres import PostgresCluster, database_url, postgres, run_sql
from support.scripted_model import Reply, call, serve_in_thread
from support.server import child_server
from support.spec import proves
from support.store_factories import opened_postgres
from support.stored import CLOCK, add_chat, said, until

__all__ = ["database_url", "postgres"]


def name_of(url: str) -> str:
    return read_address(url).public_url.rpartition("/")[2]


@contextmanager
def away(cluster: PostgresCluster, url: str) -> Iterator[None]:
    """The database ends every session and takes no new one."""
    name = name_of(url)
    cluster.run(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    cluster.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    try:
        yield
    finally:
        cluster.run(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


async def test_a_server_that_is_not_there_is_named_with_the_reason_and_the_way_out_and_no_password(
    tmp_path: Path,
) -> None:
    url = "postgresql://ann:very%20secret@127.0.0.1:1/chats?connect_timeout=1"
    with pytest.raises(StorageFault) as refused:
        await open_postgres(url, tmp_path / "heads", CLOCK, lambda record: None)
    told = refused.value.message
    assert "postgresql://ann@127.0.0.1:1/chats" in told and "ANYCOWORK_DATABASE_URL" in told
    assert "secret" not in told and "(Connection refused)" in told


@pytest.mark.parametrize(
    "url", ["mysql://u:topsecret@h/d", "postgresql://u:topsecret@h:nan/d", "postgresql://u:topsecret@h", "topsecret"]
)
def test_what_is_no_address_of_a_database_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(Invalid, match="is not the address of a PostgreSQL database") as refused:
        read_address(url)
    assert "topsecret" not in refused.value.message or url == "topsecret"


def test_a_password_shows_up_nowhere(tmp_path: Path) -> None:
    address = read_address("postgresql://ann:pw-1@h/d?sslpassword=pw-2")
    assert "pw-" not in address.public_url and address.without_secrets("pw-1 and pw-2") == "*** and ***"
    settings = Settings(data_dir=tmp_path, database_url="postgresql://ann:pw-1@127.0.0.1:1/d")
    assert "pw-1" not in repr(settings) + settings.model_dump_json()
    [found] = [check for check in run_checks(settings, {}) if check.name == "PostgreSQL"]
    assert (
        not found.ok and found.needed and "127.0.0.1:1" in found.detail and "pw-1" not in found.detail + found.way_out
    )


def test_doctor_names_the_database(tmp_path: Path, database_url: str) -> None:
    settings = Settings(data_dir=tmp_path, database_url=database_url)
    [found] = [check for check in run_checks(settings, {}) if check.name == "PostgreSQL"]
    assert found.ok and found.detail.startswith("18.") and read_address(database_url).public_url in found.detail


async def test_a_database_of_a_newer_release_is_refused_and_left_alone(tmp_path: Path, database_url: str) -> None:
    run_sql(database_url, "INSERT INTO schema_migrations (name) VALUES ('9999-later')")
    try:
        with pytest.raises(StorageFault, match="written by a newer AnyCowork"):
            await open_postgres(database_url, tmp_path / "heads", CLOCK, lambda record: None)
    finally:
        run_sql(database_url, "DELETE FROM schema_migrations WHERE name = '9999-later'")


def test_a_session_that_the_driver_cannot_use_any_more_is_opened_again(database_url: str) -> None:
    """As it was found by killing the database in the middle of a statement: the driver is lost, and does not say that the session is."""
    error = asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")
    with closing(PostgresConnection(read_address(database_url))) as connection:
        before = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
        assert isinstance(error, connection.dialect.errors) and connection.restore(error)
        assert connection.execute("SELECT pg_backend_pid()").fetchone()[0] != before


def test_a_write_whose_session_ended_before_its_commit_is_tried_again(
    postgres: PostgresCluster, database_url: str
) -> None:
    """The commit connects again to ask how it ended, and its error is one of the session before."""
    with closing(PostgresConnection(read_address(database_url))) as connection:
        connection.begin()
        pid = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
        postgres.run(f"SELECT pg_terminate_backend({pid}, 10000)")
        with pytest.raises(connection.dialect.errors):
            connection.execute("SELECT 1")  # now the driver knows
        with pytest.raises(asyncpg.InterfaceError) as lost:
            connection.commit()
        connection.rollback()
        assert connection.restore(lost.value)
        assert connection.execute("SELECT 1").fetchone()[0] == 1


@asynccontextmanager
async def held_chat(tmp_path: Path, database_url: str) -> AsyncIterator[tuple[Database, list[Record]]]:
    """A store that has the chat and has written to it, so that each further write is one statement; and what it publishes."""
    records: list[Record] = []
    database = await open_postgres(database_url, tmp_path / "heads", CLOCK, records.append)
    try:
        assert database.peers is not None
        await database.journal.write(add_chat())
        assert await database.peers.claim("c1")
        await database.journal.write(said("m1"))
        yield database, records
    finally:
        await database.aclose()


@pytest.mark.parametrize("when", ["before it", "after it"])
async def test_write_whose_session_ends_is_kept_once_whether_its_statement_was_carried_out_or_not(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    execute, lost = PostgresConnection._execute, []

    async def losing(self: PostgresConnection, sql: str, parameters: Sequence[Any]) -> Any:
        if lost or "passed FROM guard" not in sql:
            return await execute(self, sql, parameters)
        lost.append(sql)
        if when == "after it":
            await execute(self, sql, parameters)
        assert self._session is not None
        self._session.terminate()
        raise ConnectionResetError("the line was cut")

    async with held_chat(tmp_path, database_url) as (database, records):
        monkeypatch.setattr(PostgresConnection, "_execute", losing)
        for message_id in ("m2", "m3"):
            await database.journal.write(said(message_id))
        assert lost and [message.id for message in await database.store.messages.all("c1")] == ["m1", "m2", "m3"]
        assert await database.store.audit.verify_chat("c1") is None
        stored = await database.store.records.after("c1", 0, 10)
        assert [record.position for record in records] == [record.position for record in stored]


async def test_write_to_a_held_chat_that_changed_beneath_it_goes_on_from_what_is_there(
    tmp_path: Path, database_url: str
) -> None:
    """As after a repair by hand: nobody else writes to a held chat."""
    (tmp_path / "b").mkdir()
    async with (
        held_chat(tmp_path, database_url) as (database, _),
        opened_postgres(database_url, tmp_path / "b") as other,
    ):
        await other.journal.write(said("theirs"))
        database.journal.forget("c1")
        await database.journal.write(said("m2"))
        assert [message.id for message in await database.store.messages.all("c1")] == ["m1", "theirs", "m2"]
        assert await database.store.audit.verify_chat("c1") is None


async def test_what_lacks_its_reservation_undoes_nothing_that_is_written_with_it(
    tmp_path: Path, database_url: str
) -> None:
    async with held_chat(tmp_path, database_url) as (database, _):
        reserved = Reserve("r1", "t1", "chat", "lab/m", 5)
        spent = Change("c1", (Spend(reserved, prompt=3, completion=1),))
        refused, written = database.journal.submit_change(spent), database.journal.submit_change(said("m2"))
        await written
        with pytest.raises(NotFound):
            await refused
        assert [message.id for message in await database.store.messages.all("c1")] == ["m1", "m2"]


@proves("OPS-2")
async def test_a_database_that_is_away_for_a_while_fails_clearly_loses_nothing_acknowledged_and_heals(
    tmp_path: Path, postgres: PostgresCluster, database_url: str
) -> None:
    database = await open_postgres(database_url, tmp_path / "heads", CLOCK, lambda record: None, outage_seconds=0.2)
    try:
        await database.journal.write(add_chat())
        await database.journal.write(said("m1"))
        with away(postgres, database_url):
            with pytest.raises(StorageFault, match="nothing of this request was kept"):
                await database.journal.write(said("m2"))
            with pytest.raises(StorageFault):
                await database.store.messages.all("c1")
        await database.journal.write(said("m3"))
        assert [message.id for message in await database.store.messages.all("c1")] == ["m1", "m3"]
        assert await database.store.audit.verify_chat("c1") is None
    finally:
        await database.aclose()


@proves("OPS-2")
async def test_a_turn_goes_on_when_the_database_comes_back_within_seconds(
    tmp_path: Path, postgres: PostgresCluster, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    hold = asyncio.Event()
    replies = [call("read_file", path="a.txt"), Reply("It says hello.", hold=hold)]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "hello"}, database_url=database_url) as client:
        chat = await client.chat()
        await chat.send("What does it say?", until="sent")
        await client.model.asked(times=2)
        is_away = client.server.services.server.database_away
        with away(postgres, database_url):
            hold.set()
            # Both: if the server found out later, it would end the stream that is followed below.
            await until(lambda: is_away.is_set() and "store-writer" in [log.threadName for log in caplog.records])
        await until(lambda: not is_away.is_set())
        assert (await chat.rest())["state"] == "idle"
        assert (await chat.last())["content"] == "It says hello."
        events = await chat.events()
        assert events[-1]["reason"] == "answered"


@proves("OPS-2")
async def test_the_turn_of_a_killed_server_is_ended_by_another_one_within_seconds(
    tmp_path: Path, database_url: str, fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_peers, "TAKEOVER_SECONDS", 0.2)
    killed, living = tmp_path / "killed", tmp_path / "living"
    for folder in (killed / "data", living):
        folder.mkdir(parents=True, mode=0o700)
    (killed / "data" / "config.toml").write_text(f'database_url = "{database_url}"\n')
    hold = threading.Event()
    with (
        serve_in_thread([Reply("Some words, and", hold=hold)]) as model,
        child_server(fork_server, killed, model_url=model.base_url) as child,
    ):
        async with (
            live_server(living, replies=["I go on."], database_url=database_url, workspace=child.workspace) as other,
            child.connect() as client,
        ):
            own = {
                "name": "openai",
                "base_url": other.model.base_url,
                "models": ["scripted"],
            }  # as the killed server calls it
            await other.ask("POST", "/providers", own, expect=201)
            chat = await client.chat()
            await chat.send("Think.", until="sent")
            there = LiveChat(other, chat.opened)
            async with asyncio.timeout(60):
                async for event in there.follow():
                    if event["type"] == "text-delta":
                        break
            assert (await there.show())["state"] == "running", "a living server keeps its turn"
            child.kill()
            assert (await there.rest())["state"] == "idle"
            events = await there.events()
            assert events[-1]["reason"] == "interrupted"
            assert (await there.send("Go on."))["state"] == "idle"
            said = [message["content"] for message in await there.messages()]
            assert said[0] == "Think." and said[-1] == "I go on." and any("Some" in text for text in said)
        hold.set()
