"""The stores that `tests/contract/` holds to the ports. Another store is one more entry of `FACTORIES`."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from anycowork.domain.events import Record
from anycowork.store.postgres.database import open_postgres
from anycowork.store.sql.database import Database
from support.postgres import PostgresCluster
from support.stored import CLOCK, opened


class OpenStore(Protocol):
    """Opens the test's store; opened again, it holds what was written before."""

    def __call__(
        self, publish: Callable[[Record], None] = ..., chats_changed: Callable[[], None] = ...
    ) -> AbstractAsyncContextManager[Database]: ...


def sqlite_store(request: pytest.FixtureRequest, folder: Path) -> OpenStore:
    def open_store(
        publish: Callable[[Record], None] = lambda record: None, chats_changed: Callable[[], None] = lambda: None
    ) -> AbstractAsyncContextManager[Database]:
        return opened(folder, publish, chats_changed)

    return open_store


def postgres_store(request: pytest.FixtureRequest, folder: Path) -> OpenStore:
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    lent = cluster.database()
    url = lent.__enter__()
    request.addfinalizer(lambda: lent.__exit__(None, None, None))

    def open_store(
        publish: Callable[[Record], None] = lambda record: None, chats_changed: Callable[[], None] = lambda: None
    ) -> AbstractAsyncContextManager[Database]:
        return opened_postgres(url, folder, publish, chats_changed)

    return open_store


@asynccontextmanager
async def opened_postgres(
    url: str,
    folder: Path,
    publish: Callable[[Record], None] = lambda record: None,
    chats_changed: Callable[[], None] = lambda: None,
) -> AsyncIterator[Database]:
    database = await open_postgres(url, folder / "audit-heads.jsonl", CLOCK, publish, chats_changed)
    try:
        yield database
    finally:
        await database.aclose()


FACTORIES: dict[str, Callable[[pytest.FixtureRequest, Path], OpenStore]] = {
    "sqlite": sqlite_store,
    "postgres": postgres_store,
}
