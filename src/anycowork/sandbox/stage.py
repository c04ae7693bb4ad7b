"""Where one command's writes wait: a private folder outside the workspace with the overlay's upper layer in it.

It lies in the data folder, never beside the workspace: other people's watchers, backups and builds look there. On the workspace's own
file system a commit is renames; on another one it is copies. A command that runs as somebody else (the workspace's owner, when the
server is root) cannot enter the data folder, so its stage lies in a folder of ours under /var/tmp.
"""

import os
import secrets
import stat
import threading
import time
from collections.abc import Collection, Iterator, Sequence
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
MOST_CACHED = 4 << 30
MOST_KEPT = 1 << 30
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}


class Layer(StrEnum):
    """Where a command's writes go: over the workspace, which stays visible beneath, or into a private copy of all of it."""

    OVERLAY = "overlay"
    COPY = "copy"


@value
class Runner:
    """Whom a command runs as."""

    uid: int
    gid: int

    @property
    def is_us(self) -> bool:
        return self.uid == os.geteuid()


def runner_for(root: str) -> Runner:
    """The workspace's owner if we are root, else ourselves."""
    found = Path(root).stat()
    if os.geteuid() == 0 and found.st_uid != 0:
        return Runner(found.st_uid, found.st_gid)
    return Runner(os.geteuid(), os.getegid())


@value
class Stage:
    """One run's folders. `mounted_at` is the file systems' own time, in ns: what is changed later has no older ctime.

    One without a `layer` takes no writes. `etc` is all that a command sees of /etc. Root gets `devices` of its own: even without a single
    capability it could change the modes of the machine's.
    """

    folder: Path
    runner: Runner
    mounted_at: int
    etc: Path
    devices: Path | None = None
    layer: Layer | None = Layer.OVERLAY

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
    """Makes, finds and removes stages. Blocking.

    `most_cached` and `most_kept` are bytes: what programs keep in the cache folders of all workspaces, and what was put aside of
    commands whose changes could not be made. `gitconfig` is what their git reads as the system's.
    """

    def __init__(
        self,
        private: Path,
        shared: Path | None = None,
        *,
        most_cached: int = MOST_CACHED,
        most_kept: int = MOST_KEPT,
        gitconfig: str = "",
    ) -> None:
        self._private = private
        self._caches = Caches(most_cached)
        self._most_kept = most_kept
        self._gitconfig = gitconfig
        # One for each data folder: a server takes what it finds there for its own, and sweeps it.
        data = sha256(os.fsencode(private.absolute())).hexdigest()[:12]
        self._shared = shared or Path(f"/var/tmp/anycowork-{os.geteuid()}-{data}")
        self._furnished: dict[Runner, Path] = {}
        self._furnishing = threading.Lock()  # programs of several chats begin in several threads

    def open(self, runner: Runner, layer: Layer | None = Layer.OVERLAY) -> Stage:
        """Raises: ToolFault if there is no room for one."""
        base = self._base(runner)
        folder = base / _RUNS / secrets.token_hex(8)
        try:
            with self._furnishing:
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

    def cache(self, root: str, runner: Runner) -> Path:
        """The workspace's own cache folder, made if need be."""
        base = self._base(runner) / _CACHES
        if not base.is_dir():
            base.mkdir()
            base.chmod(0o711)
        cache = base / sha256(os.fsencode(root)).hexdigest()[:32]
        if not cache.is_dir():
            cache.mkdir(mode=0o700)
            _give(cache, runner)
        return cache

    @contextmanager
    def lent_cache(self, root: str, runner: Runner) -> Iterator[Path]:
        """The workspace's cache folder, of which nothing is removed as long as a command sees it."""
        with self._caches.lent(self.cache(root, runner)) as cache:
            yield cache

    def tidy(self, *, anew: bool = False) -> None:
        """Holds caches and what was put aside to their bounds; `anew` weighs all of it, and removes what killed servers left half removed."""
        self._caches.trim(self.caches(), anew=anew)
        if anew:
            keep_newest(self.kept(), most=self._most_kept)
            for left in filter(is_leftover, self._in(_CACHES)):
                remove_tree(left)

    def found(self, folder: str) -> Path | None:
        """The stage that an intent names, if it is one of ours and still there."""
        path = Path(folder)
        ours = [base / room for base in (self._private, self._shared) for room in (_RUNS, _HELD)]
        return path if path.parent in ours and path.is_dir() and not path.is_symlink() else None

    def keep(self, folder: Path) -> Path:
        """Puts what could not be committed aside, for a person to look at; the oldest of that goes if it becomes too much. Returns where."""
        kept = folder.parent.parent / _KEPT
        kept.mkdir(mode=0o700, exist_ok=True)
        moved = folder.rename(kept / folder.name)
        os.utime(moved)  # from now on it is the newest
        keep_newest(self.kept(), most=self._most_kept)
        return moved

    def hold(self, folder: Path) -> Path:
        """Puts it where it waits for a person, over a restart too, and where nobody but us comes. Returns where. Raises: OSError."""
        held = folder.parent.parent / _HELD
        held.mkdir(mode=0o700, exist_ok=True)
        moved = folder.rename(held / folder.name)
        remove_tree(moved / "work")
        for place in (held, held.parent):
            sync_folder(place)
        return moved

    def held(self) -> list[Path]:
        """All that wait for a person."""
        return self._in(_HELD)

    def kept(self) -> list[Path]:
        """All that was put aside."""
        return self._in(_KEPT)

    def caches(self) -> list[Path]:
        """The cache folders of all workspaces."""
        return [place for place in self._in(_CACHES) if not is_leftover(place)]

    def end_orphans(self) -> int:
        """Ends what earlier servers left running, as long as this one has begun nothing. How many there were."""
        return end_orphans(base for base in (self._private, self._shared) if _is_ours(base))

    def left_behind(self) -> list[Path]:
        """What there is of earlier servers, as long as this one has begun nothing."""
        return [*self._in(_RUNS), *self._in(_HELD)]

    def sweep(self, left: Sequence[Path] | None = None, *, waiting: Collection[str] = ()) -> int:
        """Removes what earlier servers left behind; after settling, nobody needs it but what is `waiting`. Returns how many."""
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
        """The one folder that stands for /etc, which servers and commands share: one mount instead of a dozen."""
        etc = self._furnished.get(runner)
        if etc is None or not etc.is_dir():
            (base / _RUNS).mkdir(exist_ok=True)
            (base / _RUNS).chmod(0o711)
            etc = base / f"etc-{etc_key(uid=runner.uid, gid=runner.gid, gitconfig=self._gitconfig)}"
            if not etc.is_dir():
                _make_etc_whole(etc, runner, self._gitconfig)
            self._furnished[runner] = etc
            for old in base.glob("etc-*"):
                if old not in self._furnished.values():
                    remove_tree(old)
        return etc


def _make_etc_whole(etc: Path, runner: Runner, gitconfig: str) -> None:
    """A server that dies on the way leaves nothing that the next would take for whole."""
    unfinished = etc.with_name(f"{etc.name}.{secrets.token_hex(8)}")
    make_etc(unfinished, uid=runner.uid, gid=runner.gid, gitconfig=gitconfig)
    try:
        unfinished.rename(etc)
    except OSError:
        remove_tree(unfinished)
        if not etc.is_dir():  # else another server was quicker
            raise


def remove_stage(folder: Path) -> None:
    """As `remove_tree`; nearly always a command has changed nothing, and then four empty folders are all there is."""
    try:
        for name in ("upper", "work/work", "work", ""):
            (folder / name).rmdir()
    except OSError:
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """All of it, whatever modes a command gave its folders. Follows no links; what cannot be removed is left for the next sweep."""
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
