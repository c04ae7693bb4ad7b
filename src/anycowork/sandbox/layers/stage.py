"""Holds one command's writes: a private folder outside the workspace with the overlay's upper layer in it.

It is in the data folder, never beside the workspace, where other people's watchers, backups and builds look. On the workspace's own file
system a commit renames; on another one it copies. A command that runs as somebody else (the workspace's owner, when the server is root)
cannot enter the data folder, so its stage is in a folder of ours under /var/tmp.
"""

import os
import secrets
import signal
import stat
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import value
from anycowork.sandbox.cache_limits import Caches, is_leftover, keep_newest
from anycowork.sandbox.etc import etc_key, make_etc
from anycowork.sandbox.layers.staging_folders import RUNS, Runner, StagingFolders, TaskFolders, give, remove_tree
from anycowork.workspace.opened_folders import OPENED_FOLDERS, close_left_open
from anycowork.workspace.packfile import opened, sync_folder

KERNEL_MARKS = "work/incompat"  # below the work folder of an overlay; the kernel makes it
VOLATILE_MARK = "work/incompat/volatile"
_SHORTEST_SLEEP = 0.0005
_FILE_CLOCK = 5  # CLOCK_REALTIME_COARSE of Linux, where there are sandboxes; it ticks every 1 to 10 ms
_KEPT = "kept"
_HELD = "held"
_CACHES = "caches"
_PACKAGES = "-packages"
PACKAGE_WORK = "packages"  # in a stage: what overlays over package caches need besides their layers
MOST_CACHED = 4 << 30
MOST_KEPT = 1 << 30
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}


class Layer(StrEnum):
    """Where a command's writes go: over the workspace, which stays visible beneath, or into a private copy of all of it."""

    OVERLAY = "overlay"
    COPY = "copy"


@value
class Stage:
    """One run's folders. `mounted_at` is the file systems' own time, in ns: later changes have no older ctime.

    A stage without a `layer` takes no writes. `etc` is all that a command sees of /etc. Root gets its own `devices`: even without any
    capability it could change the modes of the machine's. At `mount`, if there is one, its layer is mounted before bubblewrap starts.
    """

    folder: Path
    runner: Runner
    mounted_at: int
    etc: Path
    devices: Path | None = None
    layer: Layer | None = Layer.OVERLAY
    mount: Path | None = None

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def upper(self) -> Path:
        return self.folder / "upper"

    @property
    def work(self) -> Path:
        return self.folder / "work"


class Staging:
    """Creates, finds and removes stages. Blocking.

    `most_cached` and `most_kept` are limits in bytes: for the cache folders of all workspaces, and for kept changes that could not be
    committed. `own_etc` are files of /etc made for commands.
    """

    def __init__(
        self,
        private: Path,
        shared: Path | None = None,
        *,
        most_cached: int = MOST_CACHED,
        most_kept: int = MOST_KEPT,
        own_etc: Mapping[str, str] | None = None,
    ) -> None:
        self.folders = StagingFolders(private, shared)
        self.task_folders = TaskFolders(self.folders)
        self._caches = Caches(most_cached)
        self._most_kept = most_kept
        self._own_etc = own_etc or {}
        self._furnished: dict[Runner, Path] = {}
        self._setup_lock = threading.Lock()  # programs of several chats start in several threads

    def open(self, runner: Runner, layer: Layer | None = Layer.OVERLAY) -> Stage:
        """Raises: ToolFault if there is no space for one."""
        base = self.folders.base(runner)
        folder = base / RUNS / secrets.token_hex(8)
        try:
            with self._setup_lock:
                etc = self._etc(base, runner)
            folder.mkdir(mode=0o700)
            give(folder, runner)
            devices = _devices(base / "dev") if runner.uid == 0 else None
            if layer is None:
                return Stage(folder, runner, 0, etc, devices, layer)
            for name in ("upper", "work"):
                (folder / name).mkdir(mode=0o755 if name == "upper" else 0o700)
                give(folder / name, runner)
            return Stage(folder, runner, next_tick(), etc, devices, layer)
        except OSError as error:
            raise ToolFault(f"There is no room for a command's changes in '{base}': {error.strerror}.") from None

    def cache(self, root: str, runner: Runner, suffix: str = "") -> Path:
        """Returns the workspace's cache folder; creates it if necessary."""
        base = self.folders.base(runner) / _CACHES
        if not base.is_dir():
            base.mkdir()
            base.chmod(0o711)
        cache = base / sha256(os.fsencode(root)).hexdigest()[:32]
        cache = cache.with_name(cache.name + suffix)
        if not cache.is_dir():
            cache.mkdir(mode=0o700)
            give(cache, runner)
        return cache

    @contextmanager
    def lent_cache(self, root: str, runner: Runner) -> Iterator[Path]:
        """Provides the workspace's cache folder; nothing in it is removed while a command sees it."""
        with self._caches.lent(self.cache(root, runner)) as cache:
            yield cache

    @contextmanager
    def lent_packages(self, root: str, runner: Runner) -> Iterator[Path | None]:
        """Provides the folder of the workspace's layers over package caches, if no other command has it."""
        with self._caches.lent_alone(self.cache(root, runner, _PACKAGES)) as layers:
            yield layers

    def forget_caches(self, root: str, runner: Runner) -> None:
        """Removes the workspace's cache folders."""
        for suffix in ("", _PACKAGES):
            remove_tree(self.cache(root, runner, suffix))

    def tidy(self, *, anew: bool = False) -> None:
        """Keeps caches and kept changes within their limits; `anew` measures everything, and removes what killed servers left half removed."""
        self._caches.trim(self.caches(), anew=anew)
        if anew:
            keep_newest(self.kept(), most=self._most_kept)
            for leftover in filter(is_leftover, self.folders.entries(_CACHES)):
                remove_tree(leftover)

    def found(self, folder: str) -> Path | None:
        """Returns the stage that an intent names, if it is one of ours and still exists."""
        path = Path(folder)
        ours = [base / room for base in (self.folders.private, self.folders.shared) for room in (RUNS, _HELD)]
        return path if path.parent in ours and path.is_dir() and not path.is_symlink() else None

    def keep(self, folder: Path) -> Path:
        """Keeps changes that could not be committed, for a person to inspect; removes the oldest if they become too many. Returns where."""
        kept_folder = folder.parent.parent / _KEPT
        kept_folder.mkdir(mode=0o700, exist_ok=True)
        moved = folder.rename(kept_folder / folder.name)
        os.utime(moved)  # now it is the newest
        keep_newest(self.kept(), most=self._most_kept)
        return moved

    def hold(self, folder: Path) -> Path:
        """Stores it where it waits for a person, across restarts, and where only we have access. Returns where. Raises: OSError."""
        held_folder = folder.parent.parent / _HELD
        held_folder.mkdir(mode=0o700, exist_ok=True)
        moved = folder.rename(held_folder / folder.name)
        for name in ("work", PACKAGE_WORK):
            remove_tree(moved / name)
        for folder_to_sync in (held_folder, held_folder.parent):
            sync_folder(folder_to_sync)
        return moved

    def held(self) -> list[Path]:
        """Returns everything that waits for a person."""
        return self.folders.entries(_HELD)

    def kept(self) -> list[Path]:
        """Returns everything that was kept."""
        return self.folders.entries(_KEPT)

    def caches(self) -> list[Path]:
        """Returns the cache folders of all workspaces."""
        return [folder for folder in self.folders.entries(_CACHES) if not is_leftover(folder)]

    def end_orphans(self) -> int:
        """Ends what earlier servers left running; call it before this one has started anything. Returns how many."""
        return end_orphans(self.folders.ours())

    def left_behind(self) -> list[Path]:
        """Returns what earlier servers left; call it before this one has started anything."""
        return [*self.folders.entries(RUNS), *self.folders.entries(_HELD)]

    def close_left_open(self) -> None:
        """Closes read-only folders that the commit of a killed server had opened; call it before this one has started anything."""
        for folder in self.left_behind():
            close_left_open(folder / OPENED_FOLDERS)

    def sweep(self, folders: Sequence[Path] | None = None, *, waiting: Collection[str] = ()) -> int:
        """Removes what earlier servers left behind; after recovery, only `waiting` is still needed. Returns how many."""
        folders = [
            folder for folder in (self.left_behind() if folders is None else folders) if str(folder) not in waiting
        ]
        for folder in folders:
            remove_tree(folder)
        return len(folders)

    def _etc(self, base: Path, runner: Runner) -> Path:
        """Returns the folder that is mounted as /etc, shared by servers and commands: one mount instead of a dozen."""
        etc = self._furnished.get(runner)
        if etc is None or not etc.is_dir():
            (base / RUNS).mkdir(exist_ok=True)
            (base / RUNS).chmod(0o711)
            etc = base / f"etc-{etc_key(uid=runner.uid, gid=runner.gid, extra_files=self._own_etc)}"
            if not etc.is_dir():
                _make_etc_whole(etc, runner, self._own_etc)
            self._furnished[runner] = etc
            for old in base.glob("etc-*"):
                if old not in self._furnished.values():
                    remove_tree(old)
        return etc


def _make_etc_whole(etc: Path, runner: Runner, extra_files: Mapping[str, str]) -> None:
    """Creates it atomically: a server that dies half-way leaves nothing that the next would treat as complete."""
    unfinished = etc.with_name(f"{etc.name}.{secrets.token_hex(8)}")
    make_etc(unfinished, uid=runner.uid, gid=runner.gid, extra_files=extra_files)
    try:
        unfinished.rename(etc)
    except OSError:
        remove_tree(unfinished)
        if not etc.is_dir():  # else another server was faster
            raise


def remove_stage(folder: Path) -> None:
    """Like `remove_tree`, but usually a command has changed nothing, and there are only a few empty folders."""
    marks = ("work/work", f"work/{KERNEL_MARKS}", f"work/{VOLATILE_MARK}")
    try:
        with opened(folder, os.O_RDONLY | os.O_DIRECTORY) as stage:
            os.rmdir("upper", dir_fd=stage)
            if (folder / "mount").is_dir():
                if os.geteuid() != 0:  # root may enter them, and follows no link that a runner put there
                    for name in marks:
                        os.chmod(name, 0o700, dir_fd=stage)  # the kernel closed it
                os.unlink(f"{marks[-1]}/dirty", dir_fd=stage)
                for name in (marks[2], marks[1], "mount"):
                    os.rmdir(name, dir_fd=stage)
            for name in ("work/work", "work"):
                os.rmdir(name, dir_fd=stage)
        folder.rmdir()
    except OSError:
        remove_tree(folder)


def next_tick() -> int:
    """A moment, in ns, that is later than every change made so far, and than which no later change is earlier.

    A file's time comes from the coarse clock, which lags behind by a tick or more, or in newer kernels from the fine one: a change
    just before the mount could otherwise carry the same time as one just after it.
    """
    begun = time.time_ns()
    while (now := time.clock_gettime_ns(_FILE_CLOCK)) <= begun:
        time.sleep(max(_SHORTEST_SLEEP, (begun - now) / 1e9))
    return now


def _devices(folder: Path) -> Path | None:
    """None where they cannot be made: not allowed, or a file system without devices."""
    try:
        folder.mkdir(exist_ok=True)
        with opened(folder, os.O_RDONLY | os.O_DIRECTORY) as fd:
            for name, (major, minor) in DEVICES.items():
                try:
                    mode = os.stat(name, dir_fd=fd).st_mode
                except FileNotFoundError:
                    os.mknod(name, stat.S_IFCHR | 0o666, os.makedev(major, minor), dir_fd=fd)
                    mode = os.stat(name, dir_fd=fd).st_mode
                if stat.S_IMODE(mode) != 0o666:
                    os.chmod(name, 0o666, dir_fd=fd)
            os.close(os.open("null", os.O_WRONLY | os.O_CLOEXEC, dir_fd=fd))
        return folder
    except OSError:
        return None


_PROCESSES = Path("/proc")
_PROGRAM = b"bwrap"


def end_orphans(folders: Iterable[Path]) -> int:
    """Ends every bubblewrap that has a path in one of these folders, with everything in it. Returns how many.

    Only for the sole owner of these folders, before it has started any sandbox. Blocking.
    """
    prefixes = [os.fsencode(folder) + b"/" for folder in folders]
    if not hasattr(os, "pidfd_open"):
        return 0  # not Linux, so there is no bubblewrap either
    return sum(_ended(pid, prefixes) for pid in _pids())


def _ended(pid: int, prefixes: list[bytes]) -> bool:
    if not _is_orphan(pid, prefixes):
        return False
    try:
        with _held(pid) as process:
            if not _is_orphan(pid, prefixes):
                return False  # its number was reused before we held it
            signal.pidfd_send_signal(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False  # already ended
    return True


def _is_orphan(pid: int, prefixes: list[bytes]) -> bool:
    """Ours or, if we are root, a process of a user whom we run commands as; other users' arguments do not count."""
    try:
        owner = (_PROCESSES / str(pid)).stat().st_uid
        arguments = (_PROCESSES / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    if os.geteuid() not in (0, owner) or arguments[0].split(b"/")[-1] != _PROGRAM:
        return False
    return any(word.startswith(prefix) for word in arguments[1:] for prefix in prefixes)


@contextmanager
def _held(pid: int) -> Iterator[int]:
    process = os.pidfd_open(pid)
    try:
        yield process
    finally:
        os.close(process)


def _pids() -> list[int]:
    try:
        return [int(entry.name) for entry in _PROCESSES.iterdir() if entry.name.isdigit()]
    except OSError:
        return []
