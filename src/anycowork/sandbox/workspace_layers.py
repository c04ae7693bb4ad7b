"""Knows which tasks' layers lie on each workspace, and keeps what they show before anything beneath them changes.

Every change that this server makes in a workspace is announced here first, by what saves the files for undo (`PackedSnapshots`) and by what
writes git's own files. Where no layer lies on the workspace that costs one look into a dictionary.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path

from anycowork.domain.errors import AnyCoworkError
from anycowork.sandbox.layer_versions import folders_beneath, hide_new, hold_versions, take_folder
from anycowork.sandbox.stage import Staging
from anycowork.workspace.jail import Jail
from anycowork.workspace.uncancellable import run_uncancellable

log = logging.getLogger(__name__)
MOST_PATHS = 20_000
MOST_BYTES = 256 << 20
WAITS = 10.0  # seconds that a person's own command waits for the commands of tasks


class WorkspaceLayers:
    """Implements the `LayerVersions` port. `jail_of` opens a workspace, `writing` takes its lease.

    Layers that an earlier server left count too: a job that goes on needs them as they were.
    """

    def __init__(
        self,
        staging: Staging | None,
        jail_of: Callable[[str], Jail],
        writing: Callable[[str], AbstractAsyncContextManager[int]],
    ) -> None:
        self._staging = staging
        self._jail_of = jail_of
        self._writing = writing
        self._lower: dict[str, tuple[str, ...]] | None = None

    def add(self, layer: str, lower: tuple[str, ...]) -> None:
        self._known()[layer] = lower

    def remove(self, layer: str) -> None:
        self._known().pop(layer, None)

    async def hold(self, root: str, paths: Sequence[str], gone: Collection[str]) -> None:
        for layer, mine in self._above(root, paths, gone):
            await self._hold(layer, *mine)

    async def hold_all(self, root: str) -> None:
        if not self._known():
            return
        base = self._jail_of(root).layers[-1]
        names = await asyncio.to_thread(_names_in, base)
        above = list(self._above(root, names, names))
        if above and not await asyncio.to_thread(_is_small, base):
            log.warning("A person's command runs in a workspace that is too large to be held for the tasks of a job.")
            return
        for layer, mine in above:
            await self._hold(layer, *mine, waits=WAITS)

    async def hide(self, root: str, new: Sequence[str]) -> None:
        for layer, (paths, _) in self._above(root, new, ()):
            try:
                await run_uncancellable(partial(hide_new, self._jail_of(layer), paths))
            except (OSError, AnyCoworkError) as error:
                _warn(error)

    async def _hold(self, layer: str, paths: Sequence[str], gone: Sequence[str], *, waits: float | None = None) -> None:
        """`waits` are seconds for a command of the task that runs; None is as long as it takes."""
        try:
            jail = await asyncio.to_thread(self._jail_of, layer)
            folders = await asyncio.to_thread(folders_beneath, jail, gone) if gone else []
            if folders:
                async with AsyncExitStack() as lease:
                    async with asyncio.timeout(waits):
                        await lease.enter_async_context(
                            self._writing(layer)
                        )  # a command of the task that runs ends first
                    for folder in folders:
                        await run_uncancellable(partial(take_folder, jail, folder))
            await run_uncancellable(partial(hold_versions, jail, paths))
        except (OSError, AnyCoworkError) as error:
            _warn(error)

    def _above(
        self, root: str, paths: Sequence[str], gone: Collection[str]
    ) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
        """Yields the layers on this workspace, the topmost first, with the paths as each of them sees them."""
        known = self._known()
        if not known or not paths:
            return
        base = self._jail_of(root).layers[-1]
        for layer, lower in sorted(known.items(), key=lambda item: -len(item[1])):
            for beneath in lower:
                seen = [*_as_seen(base, beneath, paths)]
                if seen:
                    yield layer, (seen, [*_as_seen(base, beneath, gone)])

    def _known(self) -> dict[str, tuple[str, ...]]:
        if self._lower is None:
            copies = self._staging.copies() if self._staging is not None else []
            found = ((copy, self._lower_of(copy)) for copy in copies)
            self._lower = {layer: lower for layer, lower in found if lower is not None}
        return self._lower

    def _lower_of(self, copy: str) -> tuple[str, ...] | None:
        try:
            return self._staging.lower_of(copy) if self._staging is not None else None
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
    log.warning("A task's layer could not keep what it sees: %s", str(error) or "its command runs")
