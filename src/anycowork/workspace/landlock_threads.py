"""The threads that file tools work on: the kernel limits them to what the role may do, in one workspace.

Their work makes leaf system calls only: no threads and no processes, which would inherit the limits permanently. The caller, who is never
restricted, starts the threads. Where Landlock is missing they are plain threads.
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
from anycowork.workspace.reader_threads import ReaderThreads, run_uncancellable

T = TypeVar("T")
_READERS = 8  # threads, for all workspaces together
_WRITERS = 2  # threads for each workspace; its lease lets one write at a time
_MOST_POOLS = 16
_NO_FOLDER = -1
_REFER_SINCE = 2
# A file is replaced by a new one that is renamed over it, so writing requires creating and removing.
_NEEDED = {
    Permission.WRITE_FILES: Access.WRITE_FILE | Access.TRUNCATE | Access.MAKE_REG | Access.REMOVE_FILE,
    Permission.CREATE_FILES: Access.MAKE_REG | Access.MAKE_DIR | Access.REFER,
    Permission.DELETE_FILES: Access.REMOVE_FILE | Access.REMOVE_DIR,
}
_PoolKey = tuple[Access, int, int, int]


async def reading(work: Callable[[], T]) -> T:
    """Runs `work` on a thread that can change nothing on the machine. For reads of every tool, whatever the role may do."""
    with _report_refusals():
        return await _pools().readers().run(work)


async def changing(folder: Folder, permissions: frozenset[Permission], work: Callable[[], T]) -> T:
    """Runs `work` to its end on a thread that can do only what the permissions need, and only beneath the folder."""
    with _report_refusals():
        return await run_uncancellable(work, _pools().writers(folder, access_for(permissions)))


async def creating(folder: Folder, permissions: frozenset[Permission], path: WorkspacePath, data: bytes) -> None:
    """Creates a new file with its folders. Raises: FileExists.

    A role that may create but not write gets an open file without a name: it can fill and link that one, but open no other for writing.
    """
    only_creates = Permission.CREATE_FILES in permissions and Permission.WRITE_FILES not in permissions
    if not only_creates or not is_held(access_for(permissions)):
        return await changing(folder, permissions, lambda: folder.create(path, data))
    return await run_uncancellable(lambda: _create_without_writing(folder, permissions, path, data))


def access_for(permissions: frozenset[Permission]) -> Access:
    """Returns the kernel rights that file tools need for these permissions. They are coarser than our permissions."""
    access = NOTHING
    for permission, needed in _NEEDED.items():
        if permission in permissions:
            access |= needed
    return access


def is_held(access: Access = NOTHING) -> bool:
    """Tells whether this kernel can limit a thread to these rights."""
    return landlock_abi() >= (_REFER_SINCE if Access.REFER in access else 1) and _can_restrict()


def _create_without_writing(
    folder: Folder, permissions: frozenset[Permission], path: WorkspacePath, data: bytes
) -> None:
    with folder.nameless(path) as nameless, _report_refusals():
        # Where the file system has no nameless files, the kernel limits this call to the workspace only.
        access = access_for(permissions if nameless is not None else permissions | {Permission.WRITE_FILES})
        _pools().writers(folder, access).submit(lambda: folder.create(path, data, nameless=nameless)).result()


class _Pools:
    """One pool for reading, and for writing one per workspace and access. A forgotten pool ends with its last work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: ReaderThreads | None = None
        self._idle: ThreadPoolExecutor | None = None
        self._writers: OrderedDict[_PoolKey, ThreadPoolExecutor] = OrderedDict()

    def readers(self) -> ReaderThreads:
        with self._lock:
            if self._readers is None:
                self._readers = ReaderThreads(_READERS, _restriction(NOTHING, _NO_FOLDER))
            return self._readers

    def _nothing(self) -> ThreadPoolExecutor:
        """Returns the pool for a change by a role that may change nothing."""
        with self._lock:
            if self._idle is None:
                self._idle = _pool("nothing", 1, NOTHING, _NO_FOLDER)
            return self._idle

    def writers(self, folder: Folder, access: Access) -> ThreadPoolExecutor:
        if access == NOTHING:
            return self._nothing()
        with folder.jail.folder(WorkspacePath(())) as root, self._lock:
            status = os.fstat(root)
            # The ruleset holds the folder's inode, so no other folder can get these numbers; but a mount can, after the end of another.
            key = (access, status.st_dev, status.st_ino, folder.jail.mount_number)
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
    """Creates a pool. `submit` starts its threads in the calling thread, each with one domain; stacking 17 would fail."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"anycowork-{name}", initializer=_restriction(access, folder))


def _restriction(access: Access, folder: int) -> Callable[[], None] | None:
    """Returns what a thread does first to restrict itself; None where that is not possible."""
    try:
        return Ruleset(access, folder).restrict_this_thread if is_held(access) else None
    except OSError as error:
        raise ToolFault(f"The kernel did not accept the rules for a file tool's threads: {error.strerror}.") from None


@contextmanager
def _report_refusals() -> Iterator[None]:
    """Reports a thread that could not be restricted: it does no work at all; the next call tries with new threads."""
    try:
        yield
    except BrokenExecutor:
        _pools().forget()
        raise ToolFault("The kernel refused to restrict the thread of this file tool, so nothing was done.") from None


@cache
def _can_restrict() -> bool:
    """Tries once, on a thread that ends afterwards: a container's filter may forbid what the kernel could do."""
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
