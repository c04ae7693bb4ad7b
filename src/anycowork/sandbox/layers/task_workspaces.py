"""Implements the `TaskWorkspaces` port: a layer for each writing task over the workspace that it starts from, or a private copy.

A layer costs the same in every workspace: nothing is copied before it is changed. Where none can be mounted, the task gets a copy, which costs time
and space as the workspace does; where the file system can, it shares blocks.
"""

import asyncio
import logging
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.ports import TaskWorkspaces
from anycowork.domain.visible_text import bare_lines
from anycowork.sandbox.layers.layer_mounts import LayersNotMounted, TaskLayer
from anycowork.sandbox.layers.private_copy import copy_workspace, mounts_in
from anycowork.sandbox.layers.stage import Layer, Staging
from anycowork.sandbox.layers.staging_folders import remove_tree, runner_for
from anycowork.sandbox.workspaces import Workspaces
from anycowork.workspace.jail import Jail
from anycowork.workspace.reader_threads import run_uncancellable

_COMMITS = "commits"  # beside the copy: what its branches named when it was made
log = logging.getLogger(__name__)


class PrivateCopies:
    """`most_bytes` is the largest workspace that is copied; `spare` bytes stay free on the disk."""

    def __init__(self, staging: Staging, workspaces: Workspaces, *, most_bytes: int, spare: int) -> None:
        self._staging = staging
        self._workspaces = workspaces
        self._most_bytes = most_bytes
        self._spare = spare

    async def create(self, root: str) -> str:
        async with self._workspaces.writing(root):  # nobody of ours writes in it meanwhile
            return await run_uncancellable(lambda: self._copy(root))

    async def remove(self, copy: str) -> None:
        await asyncio.to_thread(self._staging.task_folders.drop_copy, copy)

    async def has_commits(self, copy: str) -> bool:
        return await asyncio.to_thread(lambda: has_new_commits(self._workspaces.open(copy).jail))

    async def keep_only(self, needed: Collection[str]) -> None:
        for copy in await asyncio.to_thread(self._staging.task_folders.copies):
            if copy not in needed:
                await self.remove(copy)

    def _copy(self, root: str) -> str:
        origin = self._staging.task_folders.origin_of(root) or root
        stage = self._staging.open(runner_for(root), Layer.COPY)
        try:
            copy_workspace(root, stage, most_bytes=self._most_bytes, spare=self._spare)
            copy = self._staging.task_folders.keep_copy(stage.folder, origin)
            remember_commits(copy.parent, Jail(str(copy)))
            return str(copy)
        except OSError as error:
            raise ToolFault(f"The task's private copy of the workspace could not be kept: {error.strerror}.") from None
        finally:
            remove_tree(stage.folder)


def remember_commits(folder: Path, jail: Jail) -> None:
    """Writes into the task's folder which commits the branches and tags of its workspace name now. Raises: OSError."""
    (folder / _COMMITS).write_text("\n".join(named_commits(Path(jail.process_path))))


def has_new_commits(jail: Jail) -> bool:
    """Tells whether a branch or tag in a task's workspace names a commit that none named when it was made."""
    try:
        before = frozenset((Path(jail.root).parent / _COMMITS).read_text().split())
    except OSError:
        return False  # a copy of an earlier release
    new = named_commits(Path(jail.process_path)) - before
    # A layer shows what somebody commits in the workspace with another program: that is no commit of the task.
    return bool(new) and not (jail.mount_number and new <= named_commits(Path(jail.layers[0])))


_MOST_BYTES = 8 * 1024 * 1024  # of packed-refs
_MOST_REFS = 20_000
_HASH_LENGTHS = (40, 64)
_HEX = frozenset("0123456789abcdef")


def named_commits(root: Path) -> frozenset[str]:
    """Returns the hashes that HEAD, branches, tags and the stash name; none if there is no repository. What was only fetched is left
    out."""
    git = root / ".git"
    if not _is_folder(git):
        return frozenset()
    texts = [_text(git / "HEAD"), *map(_text, islice(_refs(git / "refs"), _MOST_REFS))]
    packed = (line.split(" ") for line in bare_lines(_text(git / "packed-refs")))
    texts += [parts[0] for parts in packed if len(parts) == 2 and not parts[1].startswith("refs/remotes/")]
    return frozenset(commit_hash for text in texts if _is_hash(commit_hash := text.strip()))


def _refs(folder: Path) -> Iterator[Path]:
    if not _is_folder(folder):
        return
    for current, folders, files in os.walk(folder):
        if Path(current) == folder:
            folders[:] = [name for name in folders if name != "remotes"]
        yield from (Path(current, name) for name in files)


def _text(path: Path) -> str:
    """The text of a regular file, bounded; empty for anything else: a link, a pipe or a missing file."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return ""
        return file.read(_MOST_BYTES).decode("ascii", "replace")


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _is_hash(text: str) -> bool:
    return len(text) in _HASH_LENGTHS and _HEX.issuperset(text)


class TaskLayers:
    """`copies` serves workspaces over which no layer can be mounted."""

    def __init__(self, staging: Staging, workspaces: Workspaces, copies: TaskWorkspaces) -> None:
        self._staging = staging
        self._workspaces = workspaces
        self._copies = copies

    async def create(self, root: str) -> str:
        async with AsyncExitStack() as leases:  # so that no half-made change of ours lies beneath the layer
            for folder in dict.fromkeys((self._workspaces.open(root).origin, root)):
                await leases.enter_async_context(self._workspaces.writing(folder))
            jail = await asyncio.to_thread(lambda: self._workspaces.open(root).jail)
            try:
                async with self._workspaces.layers.making(jail.layers[0]):
                    return await run_uncancellable(lambda: self._lay(jail))
            except LayersNotMounted as fault:
                log.info("A task gets a private copy of its workspace. %s", fault.message)
        return await self._copies.create(root)

    async def remove(self, copy: str) -> None:
        await asyncio.to_thread(self._remove, copy)
        await self._workspaces.layers.withdraw()

    async def has_commits(self, copy: str) -> bool:
        return await asyncio.to_thread(lambda: has_new_commits(self._workspaces.open(copy).jail))

    async def keep_only(self, needed: Collection[str]) -> None:
        for copy in await asyncio.to_thread(self._staging.task_folders.copies):
            if copy not in needed:
                await self.remove(copy)
        await self._workspaces.layers.announce()

    def _lay(self, beneath: Jail) -> str:
        status = os.fstat(beneath.fd)
        _require_one_owner(status)
        for layer in beneath.layers:
            if mount := next(mounts_in(layer), None):
                raise LayersNotMounted(f"Another file system is mounted in the workspace, at '{mount.path}'.")
        try:
            root = self._staging.task_folders.keep_layer(
                runner_for(beneath.root), beneath.origin, beneath.layers, status
            )
            try:
                layer_made = TaskLayer(str(root), beneath.origin, beneath.layers)
                remember_commits(root.parent, self._workspaces.mounts.jail(layer_made))
                self._workspaces.layers.add(layer_made.root, layer_made.lower)
            except BaseException:
                self._remove(str(root))
                raise
        except OSError as error:
            raise ToolFault(f"There is no room for the task's layer: {error.strerror}.") from None
        return str(root)

    def _remove(self, copy: str) -> None:
        self._workspaces.layers.remove(copy)
        self._workspaces.mounts.end(copy)
        self._staging.task_folders.drop_copy(copy)


def _require_one_owner(status: os.stat_result) -> None:
    """Without root's rights, a layer takes only files of the server's own user and group. Raises: LayersNotMounted."""
    if os.geteuid() != 0 and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        raise LayersNotMounted("The workspace belongs to another user or group than the server's.")
