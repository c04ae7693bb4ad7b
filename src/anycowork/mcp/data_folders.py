"""The folders that MCP servers keep: one for each server's name, in the data folder. A program sees its own as its home folder."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from anycowork.domain.errors import Invalid
from anycowork.sandbox.cache_limits import UNWEIGHABLE, folder_size
from anycowork.sandbox.layers.staging_folders import remove_tree

MOST_KEPT = 4 << 30
_NAME = re.compile(r"[a-z0-9]++(?:[-_][a-z0-9]++)*+")
_LOOK_SECONDS = 1.0
_SHARE = 20  # a folder is measured for at most one part in so many of the time


class DataFolders:
    """Creates, measures and removes them. `most` is the limit in bytes of each. Blocking, apart from `sizes`."""

    def __init__(self, base: Path, most: int = MOST_KEPT) -> None:
        self.base = base
        self.most = most

    def made(self, name: str) -> Path:
        """Returns the folder of the server with this name; creates it if necessary."""
        self.base.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self._path(name)
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def size(self, name: str) -> int | None:
        """Returns its bytes; 0 without a folder, None if they cannot be counted."""
        bytes_ = folder_size(self._path(name)).bytes
        return None if bytes_ >= UNWEIGHABLE else bytes_

    def names(self) -> list[str]:
        """Returns the names of servers that have kept something, also of those that were removed."""
        if not self.base.is_dir():
            return []
        return sorted(folder.name for folder in self.base.iterdir() if _NAME.fullmatch(folder.name))

    async def sizes(self, names: Sequence[str]) -> dict[str, int | None]:
        """Returns the bytes of each of these folders."""
        return {name: await asyncio.to_thread(self.size, name) for name in names}

    def remove(self, name: str) -> None:
        """Removes the folder with everything in it; follows no links."""
        remove_tree(self._path(name))

    def is_full(self, name: str) -> bool:
        """Whether it holds more than it may."""
        bytes_ = self.size(name)
        return bytes_ is None or bytes_ > self.most

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise Invalid(f"'{name[:80]}' is not the name of an MCP server.")
        return self.base / name


@asynccontextmanager
async def ended_when_full(look: Callable[[], str | None], end_session: Callable[[str], None]) -> AsyncIterator[None]:
    """While the block runs, calls `end_session` with the reason that `look` returns. `look` may block."""

    async def watch() -> None:
        while True:
            begun = time.monotonic()
            reason = await asyncio.to_thread(look)
            if reason is not None:
                end_session(reason)
                return
            await asyncio.sleep(max(_LOOK_SECONDS, _SHARE * (time.monotonic() - begun)))

    watching = asyncio.ensure_future(watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])
