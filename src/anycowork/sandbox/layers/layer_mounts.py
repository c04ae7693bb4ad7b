"""Mounts the layers of a task as one tree and holds it, as long as the task or a file tool needs it. Blocking."""

import fcntl
import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import value
from anycowork.domain.visible_text import os_reason
from anycowork.workspace.jail import O_PATH, Jail, MountedLayers

_WORKER = Path(__file__).with_name("layer_mount_worker.py")
_SECONDS = 15.0
_LOCK = "lock"
_NUMBERS = itertools.count(1)  # one row for the process: a server that joins its database again starts no new one


class LayersNotMounted(ToolFault):
    """The layers of a task cannot be mounted as one tree."""

    code = "layers_not_mounted"


@value
class TaskLayer:
    """What a task changes goes into the folder `upper` beside its `root`, which is only a name. `lower` are the folders beneath, the topmost
    last, which show the workspace `origin`."""

    root: str
    origin: str
    lower: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return Path(self.root).parent

    @property
    def upper(self) -> str:
        return str(self.folder / "upper")


class LayerMounts:
    """Holds one mount for each task's layer: the kernel does not define what two mounts with the same upper layer show. For several threads.

    A mount ends with the last descriptor of it, so a server that is killed leaves none behind. All users of one share a jail: when the task
    is over, its descriptor is taken from everybody at once. Otherwise an old one would keep files from being freed that a person deleted.
    """

    def __init__(self) -> None:
        self._held: dict[str, _HeldMount] = {}
        self._lock = Lock()

    def jail(self, layer: TaskLayer) -> Jail:
        """Returns the jail of the tree; mounts it if it is not mounted. Raises: LayersNotMounted."""
        with self._lock:
            held_mount = self._held.get(layer.root)
            if held_mount is None:
                held_mount = self._held[layer.root] = self._mount(layer)
            return held_mount.jail

    def end(self, root: str) -> None:
        """Ends the mount, as soon as no file in it is open. Who still has its jail finds nothing there any more."""
        with self._lock:
            held_mount = self._held.pop(root, None)
        if held_mount is None:
            return
        nothing = os.open(os.devnull, O_PATH | os.O_CLOEXEC)
        os.dup2(nothing, held_mount.jail.fd, inheritable=False)
        os.close(nothing)
        os.close(held_mount.lock)

    def end_all(self) -> None:
        """Ends every mount: a server that joins again in the same process mounts what its jobs need anew."""
        for root in tuple(self._held):
            self.end(root)

    def _mount(self, layer: TaskLayer) -> "_HeldMount":
        lock = _locked(layer.folder)
        try:
            fd = _mounted(layer)
        except BaseException:
            os.close(lock)
            raise
        mounted = MountedLayers(fd, (*layer.lower, layer.upper), next(_NUMBERS))
        return _HeldMount(Jail(layer.root, origin=layer.origin, mounted=mounted), lock)


@value
class _HeldMount:
    jail: Jail
    lock: int


def _locked(folder: Path) -> int:
    """Returns the lock's descriptor. Raises: LayersNotMounted if another process has mounted this layer."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _failed(error.strerror) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise _failed("another server works in it") from None
    return lock


def _mounted(layer: TaskLayer) -> int:
    with _socket_pair() as (ours, theirs):
        folders = (layer.upper, str(layer.folder / "work"), *reversed(layer.lower))
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", str(_WORKER), str(theirs.fileno()), *folders],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd="/",
                env={},
                pass_fds=(theirs.fileno(),),
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _failed(os_reason(error, with_path=True)) from None
        if done.returncode != 0:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it ended without a message"]
            raise _failed(last[0][:300])
        _, fds, _, _ = socket.recv_fds(ours, 1, 1, socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
        return fds[0]


@contextmanager
def _socket_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def _failed(reason: str | None) -> LayersNotMounted:
    return LayersNotMounted(f"The task's layer over the workspace could not be mounted: {reason}.")
