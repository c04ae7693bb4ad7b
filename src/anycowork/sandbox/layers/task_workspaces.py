"""Implements the `TaskWorkspaces` port with private copies of a workspace, one for each writing task.

A copy costs time and space as the workspace does; where the file system can, it shares blocks.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.commit.git_refs import named_commits
from anycowork.sandbox.layers.private_copy import copy_workspace
from anycowork.sandbox.layers.stage import Layer, Staging
from anycowork.sandbox.layers.staging_folders import remove_tree, runner_for
from anycowork.sandbox.workspaces import Workspaces
from anycowork.workspace.jail import Jail
from anycowork.workspace.uncancellable import run_uncancellable

_COMMITS = "commits"  # beside the copy: what its branches named when it was made


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
