"""Implements the `TaskWorkspaces` port with a layer for each writing task, over the workspace that it starts from.

A task costs the same in every workspace: nothing is copied before it is changed. Where no layer can be mounted, the task gets a private copy.
"""

import asyncio
import logging
import os
from collections.abc import Collection
from contextlib import AsyncExitStack

from anycowork.domain.errors import ToolFault
from anycowork.domain.ports import TaskWorkspaces
from anycowork.sandbox.layers.layer_mounts import LayersNotMounted, TaskLayer
from anycowork.sandbox.layers.private_copy import mounts_in
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.sandbox.layers.task_workspaces import has_new_commits, remember_commits
from anycowork.sandbox.workspaces import Workspaces
from anycowork.workspace.jail import Jail
from anycowork.workspace.uncancellable import run_uncancellable

log = logging.getLogger(__name__)


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
