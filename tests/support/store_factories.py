"""The stores that `tests/contract/` holds to the ports. Another store is one more entry of `FACTORIES`."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from anycowork.domain.events import Record
from anycowork.domain.store_ports import StoreParts
from support.stored import opened


class OpenStore(Protocol):
    """Opens the test's store; opened again, it holds what was written before."""

    def __call__(
        self, publish: Callable[[Record], None] = ..., chats_changed: Callable[[], None] = ...
    ) -> AbstractAsyncContextManager[StoreParts]: ...


def sqlite_store(folder: Path) -> OpenStore:
    def open_store(
        publish: Callable[[Record], None] = lambda record: None, chats_changed: Callable[[], None] = lambda: None
    ) -> AbstractAsyncContextManager[StoreParts]:
        return opened(folder, publish, chats_changed)

    return open_store


FACTORIES: dict[str, Callable[[Path], OpenStore]] = {"sqlite": sqlite_store}
