"""The threads that file tools work on: held by the kernel to what the role may do, in that workspace alone.

Work given to them makes leaf system calls only: no threads and no processes, which would be held as well, for ever. The threads
themselves are started by whoever gives the work, who is never held. Where Landlock is missing they are plain threads.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from anycowork.domain.errors import ToolFault
from anycowork.domain.roles import Permission
from anycowork.workspace.folder import Folder
from anycowork.workspace.landlock import NOTHING, Access, Ruleset, landlock_abi
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.reader_threads import ReaderThreads
from anycowork.workspace.uncancellable import run_uncancellable

T = TypeVar("T")
_READERS = 8  # threads, for all workspaces together
_WRITERS = 2  # threads for each workspace; its lease lets one write at a time
_MOST_POOLS = 16
_NO_FOLDER = -1
_REFER_SINCE = 2
# A file is replaced by a new one that is renamed over it, so writing takes making and removing along.
_NEEDED = {
    Permission.WRITE_FILES: Access.WRITE_FILE | Access.TRUNCATE | Access.MAKE_REG | Access.REMOVE_FILE,
    Permission.CREATE_FILES: Access.MAKE_REG | Access.MAKE_DIR | Access.REFER,
    Permission.DELETE_FILES: Access.REMOVE_FILE | Access.REMOVE_DIR,
}
_PoolKey = tuple[Access, int, int]


async def reading(work: Callable[[], T]) -> T:
    """Runs `work` where nothing on the machine can be changed. For every tool's looking, whatever the role may do."""
    with _refusals_told():
        return await _pools().readers().run(work)


async def changing(folder: Folder, permissions: frozenset[Permission], work: Callable[[], T]) -> T:
    """Runs `work` to its end where only what the permissions need can be done, and only beneath the folder."""
    with _refusals_told():
        return await run_uncancellable(work, _pools().writers(folder, access_for(permissions)))


async def creating(folder: Folder, permissions: frozenset[Permission], place: WorkspacePath, data: bytes) -> None:
    """A new file with its folders. Raises: FileExists.

    Who may create but not write gets it open and without a name: it can be filled and named, and no other can be opened to write.
    """
    only_creates = Permission.CREATE_FILES in permissions and Permission.WRITE_FILES not in permissions
    if not only_creates or not is_held(access_for(permissions)):
        return await changing(folder, permissions, lambda: folder.create(place, data))
    return await run_uncancellable(lambda: _create_without_writing(folder, permissions, place, data))


def access_for(permissions: frozenset[Permission]) -> Access:
    """What file tools need of the kernel to do what these permissions allow. Its grain is coarser than ours."""
    access = NOTHING
    for permission, needed in _NEEDED.items():
        if permission in permissions:
            access |= needed
    return access


def is_held(access: Access = NOTHING) -> bool:
    """Whether this kernel can hold a thread to just that."""
    return landlock_abi() >= (_REFER_SINCE if Access.REFER in access else 1) and _can_restrict()


def _create_without_writing(
    folder: Folder, permissions: frozenset[Permission], place: WorkspacePath, data: bytes
) -> None:
    with folder.nameless(place) as nameless, _refusals_told():
        # Where the file system has no nameless files, the kernel holds this one call to the workspace only.
        access = access_for(permissions if nameless is not None else permissions | {Permission.WRITE_FILES})
        _pools().writers(folder, access).submit(lambda: folder.create(place, data, nameless=nameless)).result()


class _Pools:
    """One for reading, and for writing one per workspace and access. One that is no longer known ends with its last work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: ReaderThreads | None = None
        self._idle: ThreadPoolExecutor | None = None
        self._writers: OrderedDict[_PoolKey, ThreadPoolExecutor] = OrderedDict()

    def readers(self) -> ReaderThreads:
        with self._lock:
            if self._readers is None:
                self._readers = ReaderThreads(_READERS, _holding(NOTHING, _NO_FOLDER))
            return self._readers

    def _nothing(self) -> ThreadPoolExecutor:
        """For a change by someone who may change nothing."""
        with self._lock:
            if self._idle is None:
                self._idle = _pool("nothing", 1, NOTHING, _NO_FOLDER)
            return self._idle

    def writers(self, folder: Folder, access: Access) -> ThreadPoolExecutor:
        if access == NOTHING:
            return self._nothing()
        with folder.jail.folder(WorkspacePath(())) as root, self._lock:
            found = os.fstat(root)
            # The ruleset keeps the folder's inode, so no other folder can come by these numbers.
            key = (access, found.st_dev, found.st_ino)
            if key not in self._writers:
                self._writers[key] = _pool("changing", _WRITERS, access, root)
            self._writers.move_to_end(key)
            if len(self._writers) > _MOST_POOLS:
                self._writers.popitem(last=False)
            return self._writers[key]

    def forget(self) -> None:
        with self._lock:
            self._readers = self._idle = None
            self._writers.clear()


@cache
def _pools() -> _Pools:
    return _Pools()


def _pool(name: str, threads: int, access: Access, folder: int) -> ThreadPoolExecutor:
    """Its threads are started by `submit`, in the thread that calls it; one domain each, as the 17th on top would fail."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"anycowork-{name}", initializer=_holding(access, folder))


def _holding(access: Access, folder: int) -> Callable[[], None] | None:
    """What a thread does first, to be held from then on; None where nothing can hold it."""
    try:
        return Ruleset(access, folder).restrict_this_thread if is_held(access) else None
    except OSError as error:
        raise ToolFault(f"The kernel did not make the rules for a file tool's threads: {error.strerror}.") from None


@contextmanager
def _refusals_told() -> Iterator[None]:
    """A thread that could not be held does no work at all; the next call tries with new ones."""
    try:
        yield
    except BrokenExecutor:
        _pools().forget()
        raise ToolFault("The kernel refused to hold the thread of this file tool, so nothing was done.") from None


@cache
def _can_restrict() -> bool:
    """Tried once, on a thread that ends with it: a filter of a container may forbid what the kernel could do."""
    refused: list[OSError] = []

    def attempt() -> None:
        try:
            Ruleset(NOTHING, _NO_FOLDER).restrict_this_thread()
        except OSError as error:
            refused.append(error)

    thread = threading.Thread(target=attempt, name="anycowork-landlock-trial")
    thread.start()
    thread.join()
    return not refused
