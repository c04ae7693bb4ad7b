"""Holds one command's writes: a private folder outside the workspace with the overlay's upper layer in it.

It is in the data folder, never beside the workspace, where other people's watchers, backups and builds look. On the workspace's own file
system a commit renames; on another one it copies. A command that runs as somebody else (the workspace's owner, when the server is root)
cannot enter the data folder, so its stage is in a folder of ours under /var/tmp.
"""

import os
import secrets
import stat
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import value
from anycowork.sandbox.cache_limits import Caches, is_leftover, keep_newest
from anycowork.sandbox.etc import etc_key, make_etc
from anycowork.sandbox.orphans import end_orphans
from anycowork.workspace.packfile import opened, sync_folder
from anycowork.workspace.remove_folder import remove_folder

_SHORTEST_SLEEP = 0.0005
_FILE_CLOCK = 5  # CLOCK_REALTIME_COARSE of Linux, where there are sandboxes; it ticks every 1 to 10 ms
_KEPT = "kept"
_RUNS = "runs"
_HELD = "held"
_CACHES = "caches"
_COPIES = "copies"
_ORIGIN = "origin"
_LOWER = "lower"  # in a task's folder that holds a layer: the folders beneath it
_COPY, _VIEW = (
    "upper",
    "view",
)  # in a task's folder, what names its root: a copy with all files, or an empty folder where a layer has them
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
class Runner:
    """The user that a command runs as."""

    uid: int
    gid: int

    @property
    def is_us(self) -> bool:
        return self.uid == os.geteuid()


def runner_for(root: str) -> Runner:
    """Returns the workspace's owner if we are root, else ourselves."""
    found = Path(root).stat()
    if os.geteuid() == 0 and found.st_uid != 0:
        return Runner(found.st_uid, found.st_gid)
    return Runner(os.geteuid(), os.getegid())


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
        self._private = private
        self._caches = Caches(most_cached)
        self._most_kept = most_kept
        self._own_etc = own_etc or {}
        # One for each data folder: a server treats what it finds there as its own, and sweeps it.
        data = sha256(os.fsencode(private.absolute())).hexdigest()[:12]
        self._shared = shared or Path(f"/var/tmp/anycowork-{os.geteuid()}-{data}")
        self._furnished: dict[Runner, Path] = {}
        self._setup_lock = threading.Lock()  # programs of several chats start in several threads

    def open(self, runner: Runner, layer: Layer | None = Layer.OVERLAY) -> Stage:
        """Raises: ToolFault if there is no space for one."""
        base = self._base(runner)
        folder = base / _RUNS / secrets.token_hex(8)
        try:
            with self._setup_lock:
                etc = self._etc(base, runner)
            folder.mkdir(mode=0o700)
            _give(folder, runner)
            devices = _devices(base / "dev") if runner.uid == 0 else None
            if layer is None:
                return Stage(folder, runner, 0, etc, devices, layer)
            for name in ("upper", "work"):
                (folder / name).mkdir(mode=0o755 if name == "upper" else 0o700)
                _give(folder / name, runner)
            return Stage(folder, runner, next_tick(), etc, devices, layer)
        except OSError as error:
            raise ToolFault(f"There is no room for a command's changes in '{base}': {error.strerror}.") from None

    def cache(self, root: str, runner: Runner, suffix: str = "") -> Path:
        """Returns the workspace's cache folder; creates it if necessary."""
        base = self._base(runner) / _CACHES
        if not base.is_dir():
            base.mkdir()
            base.chmod(0o711)
        cache = base / sha256(os.fsencode(root)).hexdigest()[:32]
        cache = cache.with_name(cache.name + suffix)
        if not cache.is_dir():
            cache.mkdir(mode=0o700)
            _give(cache, runner)
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
            for left in filter(is_leftover, self._in(_CACHES)):
                remove_tree(left)

    def found(self, folder: str) -> Path | None:
        """Returns the stage that an intent names, if it is one of ours and still exists."""
        path = Path(folder)
        ours = [base / room for base in (self._private, self._shared) for room in (_RUNS, _HELD)]
        return path if path.parent in ours and path.is_dir() and not path.is_symlink() else None

    def keep(self, folder: Path) -> Path:
        """Keeps changes that could not be committed, for a person to inspect; removes the oldest if they become too many. Returns where."""
        kept = folder.parent.parent / _KEPT
        kept.mkdir(mode=0o700, exist_ok=True)
        moved = folder.rename(kept / folder.name)
        os.utime(moved)  # now it is the newest
        keep_newest(self.kept(), most=self._most_kept)
        return moved

    def hold(self, folder: Path) -> Path:
        """Stores it where it waits for a person, across restarts, and where only we have access. Returns where. Raises: OSError."""
        held = folder.parent.parent / _HELD
        held.mkdir(mode=0o700, exist_ok=True)
        moved = folder.rename(held / folder.name)
        for name in ("work", PACKAGE_WORK):
            remove_tree(moved / name)
        for place in (held, held.parent):
            sync_folder(place)
        return moved

    def keep_copy(self, stage: Stage, origin: str) -> Path:
        """Keeps the stage's private copy of the workspace `origin`, across restarts, until `drop_copy`. Returns where. Raises: OSError."""
        copies = stage.folder.parent.parent / _COPIES
        copies.mkdir(mode=0o711, exist_ok=True)
        (stage.folder / _ORIGIN).write_bytes(os.fsencode(origin))
        remove_tree(stage.work)
        return stage.folder.rename(copies.resolve() / stage.id) / "upper"

    def keep_layer(self, runner: Runner, origin: str, lower: Sequence[str], like: os.stat_result) -> Path:
        """Makes a layer over the folders `lower`, whose root is `like` this; keeps it until `drop_copy`. Returns what names its root.

        Only the layer itself belongs to the user that commands run as: nobody but us says what lies beneath it. Raises: OSError, ToolFault.
        """
        base = self._base(runner)
        copies, folder = base / _COPIES, base / _RUNS / secrets.token_hex(8)
        for place in (copies, folder.parent):
            place.mkdir(mode=0o711, exist_ok=True)
        folder.mkdir()
        try:
            folder.chmod(0o711)
            (folder / "work").mkdir(mode=0o700)
            for name in (_VIEW, "upper"):
                (folder / name).mkdir(mode=0o700)
                _give(folder / name, runner)
            if os.geteuid() == 0:
                os.chown(folder / "upper", like.st_uid, like.st_gid)
            (folder / "upper").chmod(stat.S_IMODE(like.st_mode))
            (folder / _ORIGIN).write_bytes(os.fsencode(origin))
            (folder / _LOWER).write_bytes(b"\0".join(map(os.fsencode, lower)))
            return folder.rename(copies.resolve() / folder.name) / _VIEW
        except OSError:
            remove_tree(folder)
            raise

    def lower_of(self, root: str) -> tuple[str, ...] | None:
        """Returns the folders beneath a task's layer, the topmost last; None if this is the root of no layer. Raises: OSError."""
        if not self._is_copy(root) or Path(root).name != _VIEW:
            return None
        return tuple(map(os.fsdecode, (Path(root).parent / _LOWER).read_bytes().split(b"\0")))

    def origin_of(self, root: str) -> str | None:
        """Returns the workspace of which this folder is a private copy; None if it is none of ours."""
        if not self._is_copy(root):
            return None
        try:
            return os.fsdecode((Path(root).parent / _ORIGIN).read_bytes())
        except OSError:
            return None

    def drop_copy(self, root: str) -> None:
        """Removes the copy, also one that a killed server left half removed."""
        if self._is_copy(root):
            remove_tree(Path(root).parent)

    def _is_copy(self, root: str) -> bool:
        return Path(root).parent.parent in self._copy_folders() and Path(root).name in (_COPY, _VIEW)

    def copies(self) -> list[str]:
        """Returns the roots of all private copies and layers."""
        folders = [folder for base in self._copy_folders() for folder in base.glob("*")]
        return [str(folder / (_VIEW if (folder / _VIEW).is_dir() else _COPY)) for folder in folders]

    def _copy_folders(self) -> list[Path]:
        return [(base / _COPIES).resolve() for base in (self._private, self._shared) if _is_ours(base)]

    def held(self) -> list[Path]:
        """Returns everything that waits for a person."""
        return self._in(_HELD)

    def kept(self) -> list[Path]:
        """Returns everything that was kept."""
        return self._in(_KEPT)

    def caches(self) -> list[Path]:
        """Returns the cache folders of all workspaces."""
        return [place for place in self._in(_CACHES) if not is_leftover(place)]

    def end_orphans(self) -> int:
        """Ends what earlier servers left running; call it before this one has started anything. Returns how many."""
        return end_orphans(base for base in (self._private, self._shared) if _is_ours(base))

    def left_behind(self) -> list[Path]:
        """Returns what earlier servers left; call it before this one has started anything."""
        return [*self._in(_RUNS), *self._in(_HELD)]

    def sweep(self, left: Sequence[Path] | None = None, *, waiting: Collection[str] = ()) -> int:
        """Removes what earlier servers left behind; after recovery, only `waiting` is still needed. Returns how many."""
        left = [folder for folder in (self.left_behind() if left is None else left) if str(folder) not in waiting]
        for folder in left:
            remove_tree(folder)
        return len(left)

    def _in(self, room: str) -> list[Path]:
        return [
            folder for base in (self._private, self._shared) if _is_ours(base) for folder in (base / room).glob("*")
        ]

    def _base(self, runner: Runner) -> Path:
        base, mode = (self._private, 0o700) if runner.is_us else (self._shared, 0o711)
        if runner in self._furnished and base.is_dir():
            return base
        base.mkdir(mode=mode, parents=True, exist_ok=True)
        if not _is_ours(base):
            raise ToolFault(f"'{base}' belongs to somebody else, so no command can use it. Remove it and try again.")
        base.chmod(mode)
        return base

    def _etc(self, base: Path, runner: Runner) -> Path:
        """Returns the folder that is mounted as /etc, shared by servers and commands: one mount instead of a dozen."""
        etc = self._furnished.get(runner)
        if etc is None or not etc.is_dir():
            (base / _RUNS).mkdir(exist_ok=True)
            (base / _RUNS).chmod(0o711)
            etc = base / f"etc-{etc_key(uid=runner.uid, gid=runner.gid, own=self._own_etc)}"
            if not etc.is_dir():
                _make_etc_whole(etc, runner, self._own_etc)
            self._furnished[runner] = etc
            for old in base.glob("etc-*"):
                if old not in self._furnished.values():
                    remove_tree(old)
        return etc


def _make_etc_whole(etc: Path, runner: Runner, own: Mapping[str, str]) -> None:
    """Creates it atomically: a server that dies half-way leaves nothing that the next would treat as complete."""
    unfinished = etc.with_name(f"{etc.name}.{secrets.token_hex(8)}")
    make_etc(unfinished, uid=runner.uid, gid=runner.gid, own=own)
    try:
        unfinished.rename(etc)
    except OSError:
        remove_tree(unfinished)
        if not etc.is_dir():  # else another server was faster
            raise


def remove_stage(folder: Path) -> None:
    """Like `remove_tree`, but usually a command has changed nothing, and there are only a few empty folders."""
    try:
        (folder / "upper").rmdir()
        if (folder / "mount").is_dir():
            (folder / "work/work").chmod(0o700)  # the kernel closed it
            for name in ("work/work/incompat/volatile", "work/work/incompat", "mount"):
                (folder / name).rmdir()
        for name in ("work/work", "work", ""):
            (folder / name).rmdir()
    except OSError:
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Removes everything, whatever modes a command gave its folders.

    Follows no links; what cannot be removed is left for the next sweep.
    """
    remove_folder(str(folder), ignoring=(OSError,))


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


def _give(path: Path, runner: Runner) -> None:
    if not runner.is_us:
        os.chown(path, runner.uid, runner.gid)


def _is_ours(base: Path) -> bool:
    try:
        found = base.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
