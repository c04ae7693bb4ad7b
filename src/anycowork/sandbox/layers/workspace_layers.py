"""Knows which tasks' layers lie on each workspace, and keeps what they show before anything beneath them changes.

Every change that this server makes in a workspace is announced here first, by what saves the files for undo (`Snapshots`) and by what
writes git's own files. Where no layer lies on the workspace that costs one look into a dictionary, and one statement if servers share a
database.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anycowork.domain.errors import AnyCoworkError, Conflict, LeaseHeld, StorageFault
from anycowork.domain.journal import LayerChange, LayerChangeKind
from anycowork.sandbox.layers.layer_versions import folders_beneath, hide_new, hold_versions, take_folder
from anycowork.sandbox.layers.stage import Staging
from anycowork.workspace.jail import Jail
from anycowork.workspace.reader_threads import run_uncancellable

if TYPE_CHECKING:
    from anycowork.store.postgres.layer_requests import LayerRequests

log = logging.getLogger(__name__)
MOST_PATHS = 20_000
MOST_BYTES = 256 << 20
WAITS = 10.0  # seconds that a person's own command waits for the commands of tasks
OTHERS_WRITE = 30.0  # seconds that a new layer waits for other processes that write around or inside its workspace
RETRY = 0.1
_TOO_LARGE = (
    "A job's tasks work on this workspace, and it is too large to keep all of it as they see it: more than"
    f" {MOST_PATHS:,} files or {MOST_BYTES >> 20} MB. Wait until the job is done, or cancel it; then run the command."
)
_BUSY = "A command of a job's task runs in this workspace, and has to end first. Try again when it has ended, or pause the job."


class WorkspaceLayers:
    """Keeps what the running tasks of jobs see of a workspace, before it changes. `jail_of` opens a workspace, `writing` takes its lease.

    Layers that an earlier server left count too: a job that goes on needs them as they were. Where several processes share a database,
    each tells the others (`peers`) which folders its layers lie on before it makes one, and whoever changes such a folder first lets them
    keep what their tasks see. `others_write` tells whether another process holds the lease of a folder that overlaps.
    """

    def __init__(
        self,
        staging: Staging | None,
        jail_of: Callable[[str], Jail],
        writing: Callable[[str], AbstractAsyncContextManager[int]],
        *,
        peers: "LayerRequests | None",
        others_write: Callable[[str], Awaitable[bool]] | None,
    ) -> None:
        self._staging = staging
        self._jail_of = jail_of
        self._writing = writing
        self._lower: dict[str, tuple[str, ...]] | None = None
        self._peers = peers
        self._others_write = others_write
        self._coming: list[str] = []
        self._announced: frozenset[str] = frozenset()
        self._announcing = asyncio.Lock()
        self._laying = asyncio.Lock()

    # --- layers of this process

    @asynccontextmanager
    async def making(self, folder: str) -> AsyncIterator[None]:
        """Lets a layer be made on this workspace, whose lease the caller holds, when every other process knows of it.

        A writer in a folder around it or inside it either sees the announcement or is seen here by its lease. Raises: LeaseHeld,
        StorageFault.
        """
        if self._peers is None:
            yield
            return
        self._coming.append(folder)
        try:
            await self.announce()
            async with self._without_writers(folder):
                yield
        finally:
            self._coming.remove(folder)
            await self.withdraw()

    @asynccontextmanager
    async def _without_writers(self, folder: str) -> AsyncIterator[None]:
        now = asyncio.get_running_loop().time
        until = now() + OTHERS_WRITE
        while True:
            async with self._laying:
                if self._others_write is None or not await self._others_write(folder):
                    yield
                    return
            if now() > until:
                raise LeaseHeld(
                    f"Another server writes in a folder around or inside workspace '{folder}'. Try again when it is done."
                )
            await asyncio.sleep(RETRY)

    def add(self, layer: str, lower: tuple[str, ...]) -> None:
        self._layers()[layer] = lower

    def remove(self, layer: str) -> None:
        self._layers().pop(layer, None)

    async def announce(self) -> None:
        """Tells the other processes which workspaces layers of this one lie on, if that has changed. Raises: StorageFault."""
        if self._peers is None:
            return
        async with self._announcing:
            folders = frozenset((*(lower[0] for lower in self._layers().values()), *self._coming))
            if folders != self._announced:
                await self._peers.announce(folders)
                self._announced = folders

    async def withdraw(self) -> None:
        """Like `announce`, after a layer was removed: if the database is away, others ask for nothing, once more."""
        try:
            await self.announce()
        except StorageFault as error:
            log.warning("Other servers still take a folder for one that tasks of this server use: %s", error.message)

    # --- changes beneath them

    async def hold(self, root: str, paths: Sequence[str], removed: Collection[str]) -> None:
        """Keeps what tasks see at these paths of the workspace. `removed` are those of them that will be removed or replaced by another
        kind of entry."""
        await self._change(root, LayerChangeKind.HOLD, paths, removed)

    async def hold_all(self, root: str) -> None:
        """Keeps everything that is there: for a command that nobody can foresee. Raises: Conflict if it is too much, or a task is busy."""
        await self._change(root, LayerChangeKind.HOLD_ALL)

    async def hide(self, root: str, new: Sequence[str]) -> None:
        """Keeps tasks from seeing what came to these paths just now."""
        await self._change(root, LayerChangeKind.HIDE, new)

    async def _change(
        self, root: str, kind: LayerChangeKind, paths: Sequence[str] = (), removed: Collection[str] = ()
    ) -> None:
        layers = self._layers()
        if not layers and self._peers is None:
            return
        change = LayerChange(kind, self._jail_of(root).layers[-1], tuple(paths), tuple(removed))
        await self.apply(change)
        if self._peers is not None and root not in layers:  # nobody else has a layer on one of this process
            await self._peers.tell(change)

    async def apply(self, change: LayerChange) -> None:
        """Lets the layers of this process keep what they show before a change, whosever it is. Raises: Conflict for `HOLD_ALL`."""
        everything = change.kind is LayerChangeKind.HOLD_ALL
        names = await asyncio.to_thread(_names_in, change.folder) if everything and self._layers() else []
        paths, removed = (names, names) if everything else (change.paths, change.gone)
        async with self._laying:  # one that is being made is known after it
            above = list(self._above(change.folder, paths, removed))
        if everything and above and not await asyncio.to_thread(_is_small, change.folder):
            raise Conflict(_TOO_LARGE)
        for layer, mine in above:
            if change.kind is LayerChangeKind.HIDE:
                await self._hide(layer, mine[0])
            else:
                await self._hold(layer, *mine, waits=WAITS if everything else None)

    async def _hide(self, layer: str, paths: Sequence[str]) -> None:
        try:
            await run_uncancellable(partial(hide_new, self._jail_of(layer), paths))
        except (OSError, AnyCoworkError) as error:
            _warn(error)

    async def _hold(
        self, layer: str, paths: Sequence[str], removed: Sequence[str], *, waits: float | None = None
    ) -> None:
        """`waits` are seconds for a command of the task that runs; None is as long as it takes. Raises: Conflict if it takes longer."""
        try:
            jail = await asyncio.to_thread(self._jail_of, layer)
            folders = await asyncio.to_thread(folders_beneath, jail, removed) if removed else []
            if folders:
                async with AsyncExitStack() as lease:
                    async with asyncio.timeout(waits):
                        # A running command of the task ends first.
                        await lease.enter_async_context(self._writing(layer))
                    for folder in folders:
                        await run_uncancellable(partial(take_folder, jail, folder))
            await run_uncancellable(partial(hold_versions, jail, paths))
        except TimeoutError:
            raise Conflict(_BUSY) from None
        except (OSError, AnyCoworkError) as error:
            _warn(error)

    def _above(
        self, base: str, paths: Sequence[str], removed: Collection[str]
    ) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
        """Yields the layers on this folder, the topmost first, with the paths as each of them sees them."""
        layers = self._layers()
        if not layers or not paths:
            return
        for layer, lower in sorted(layers.items(), key=lambda item: -len(item[1])):
            for beneath in lower:
                seen = [*_as_seen(base, beneath, paths)]
                if seen:
                    yield layer, (seen, [*_as_seen(base, beneath, removed)])

    def _layers(self) -> dict[str, tuple[str, ...]]:
        if self._lower is None:
            copies = self._staging.task_folders.copies() if self._staging is not None else []
            layers = ((copy, self._lower_of(copy)) for copy in copies)
            self._lower = {layer: lower for layer, lower in layers if lower is not None}
        return self._lower

    def _lower_of(self, copy: str) -> tuple[str, ...] | None:
        try:
            return self._staging.task_folders.lower_of(copy) if self._staging is not None else None
        except OSError:
            return None  # a killed server left it half removed


def _as_seen(base: str, beneath: str, paths: Iterable[str]) -> Iterator[str]:
    """Yields these paths below `base` as paths below `beneath`, which may be the same folder, around it or in it."""
    if base == beneath:
        yield from paths
    elif base.startswith(f"{beneath}/"):
        inner = base[len(beneath) + 1 :]
        yield from (f"{inner}/{path}" for path in paths)
    elif beneath.startswith(f"{base}/"):
        inner = beneath[len(base) + 1 :]
        for path in paths:
            if path.startswith(f"{inner}/"):
                yield path[len(inner) + 1 :]
            elif inner == path or inner.startswith(f"{path}/"):
                yield from _names_in(beneath)  # all of it is concerned


def _names_in(folder: str) -> list[str]:
    try:
        return [entry.name for entry in Path(folder).iterdir()]
    except OSError:
        return []  # it is gone already


def _is_small(folder: str) -> bool:
    """Returns whether a whole workspace can be kept for each layer; False also if a part of it cannot be read."""
    count, size, waiting = 0, 0, [folder]
    try:
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
                    if count > MOST_PATHS or size > MOST_BYTES:
                        return False
    except OSError:
        return False
    return True


def _warn(error: Exception) -> None:
    # It sees the new version: that cannot be lost, because merging compares with what the task had read.
    log.warning("A task's layer could not keep what it sees: %s", error)
