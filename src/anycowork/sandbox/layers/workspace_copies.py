"""Makes a copy of a workspace in a new folder beside it, which belongs to the person."""

import asyncio
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.layers.private_copy import TreeNotCopied, copy_tree
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.workspace.paths import shown
from anycowork.workspace.reader_threads import run_uncancellable


class WorkspaceCopier:
    """`most_bytes` is the largest workspace that is copied; `spare` bytes stay free on the disk. Where nothing can be created beside a
    workspace, its copy lies in the folder `elsewhere`."""

    def __init__(self, *, most_bytes: int, spare: int, elsewhere: Path) -> None:
        self._most_bytes = most_bytes
        self._spare = spare
        self._elsewhere = elsewhere

    async def copy(self, root: str) -> str:
        """Copies the folder into a new one, and returns its real path. Raises: ToolFault; then there is none, as after a cancellation."""
        copies: list[str] = []
        try:
            await run_uncancellable(lambda: copies.append(self._copy(root)))
        except asyncio.CancelledError:
            for copy in copies:
                await self.remove(copy)
            raise
        return copies[0]

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
            raise ToolFault(f"The workspace could not be copied: {fault.reason}, then try again.") from None
        except BaseException:
            remove_tree(copy)
            raise
        return str(copy)


def _give_to_owner_of(root: str, copy: Path) -> None:
    status = Path(root).stat()
    if os.geteuid() == 0:
        os.chown(copy, status.st_uid, status.st_gid)
    copy.chmod(stat.S_IMODE(status.st_mode))


def _leave_linked_repository(copy: Path) -> None:
    """Removes a `.git` file: it would make git in the copy work with the index and branch of the original."""
    git = copy / ".git"
    if git.is_file() or git.is_symlink():
        git.unlink()


_MOST_NAMES = 1_000
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def create_folder_beside(root: Path, name: str, elsewhere: Path) -> Path:
    """Creates `name`, or `name-2` and so on, beside `root`; where nothing can be created there, in `elsewhere`. Raises: ToolFault."""
    try:
        return _created(root.parent, name)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise _not_created(root.parent, error) from None
    try:
        elsewhere.mkdir(exist_ok=True)
        return _created(elsewhere.resolve(), name)
    except OSError as error:
        raise _not_created(elsewhere, error) from None


def _created(parent: Path, name: str) -> Path:
    """Raises: OSError."""
    for candidate in _names(name):
        try:
            (parent / candidate).mkdir(0o700)
        except FileExistsError:
            continue
        return parent / candidate
    raise OSError(errno.EEXIST, "there are too many folders of this name")


def _names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in range(2, _MOST_NAMES))


def _not_created(parent: Path, error: OSError) -> ToolFault:
    return ToolFault(f"No new folder could be created in '{shown(str(parent))}': {error.strerror}.")
