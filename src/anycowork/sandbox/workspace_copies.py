"""Implements the `WorkspaceCopier` port: a copy of a workspace in a new folder beside it, which belongs to the person."""

import asyncio
import os
import stat
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.new_folder import create_folder_beside
from anycowork.sandbox.private_copy import TreeNotCopied, copy_tree
from anycowork.sandbox.staging_folders import remove_tree
from anycowork.workspace.uncancellable import run_uncancellable


class LocalWorkspaceCopier:
    """`most_bytes` is the largest workspace that is copied; `spare` bytes stay free on the disk. Where nothing can be created beside a
    workspace, its copy lies in the folder `elsewhere`."""

    def __init__(self, *, most_bytes: int, spare: int, elsewhere: Path) -> None:
        self._most_bytes = most_bytes
        self._spare = spare
        self._elsewhere = elsewhere

    async def copy(self, root: str) -> str:
        made: list[str] = []
        try:
            await run_uncancellable(lambda: made.append(self._copy(root)))
        except asyncio.CancelledError:
            for copy in made:
                await self.remove(copy)
            raise
        return made[0]

    async def remove(self, copy: str) -> None:
        await run_uncancellable(lambda: remove_tree(Path(copy)))

    def _copy(self, root: str) -> str:
        copy = create_folder_beside(Path(root), f"{Path(root).name}-copy", self._elsewhere)
        try:
            copy_tree(root, str(copy), most_bytes=self._most_bytes, spare=self._spare)
            _leave_linked_repository(copy)
            _give_to_owner_of(root, copy)
        except TreeNotCopied as fault:
            remove_tree(copy)
            raise ToolFault(f"The workspace could not be copied: {fault.why}, then try again.") from None
        except BaseException:
            remove_tree(copy)
            raise
        return str(copy)


def _give_to_owner_of(root: str, copy: Path) -> None:
    found = Path(root).stat()
    if os.geteuid() == 0:
        os.chown(copy, found.st_uid, found.st_gid)
    copy.chmod(stat.S_IMODE(found.st_mode))


def _leave_linked_repository(copy: Path) -> None:
    """Removes a `.git` file: it would make git in the copy work with the index and branch of the original."""
    git = copy / ".git"
    if git.is_file() or git.is_symlink():
        git.unlink()
