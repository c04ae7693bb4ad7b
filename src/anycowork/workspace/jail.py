"""The jail: opens every path that a tool names beneath the workspace's root, or not at all.

A path is first resolved to a WorkspacePath (a name; links followed in user space), which is then opened with no link allowed on the way. So
the opened file is exactly the one that was named, shown and approved, whatever is renamed in between.
"""

import errno
import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from anycowork.domain.errors import FileMissing, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.domain.values import value
from anycowork.workspace.paths import DEEPEST, WorkspacePath, lexical_parts, shown
from anycowork.workspace.syscalls import (
    RESOLVE_BENEATH,
    RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS,
    has_openat2,
    openat2,
)

_MOST_LINKS = 40
_NOT_OPENED = -1
_HERE = -100  # AT_FDCWD
O_PATH = getattr(os, "O_PATH", os.O_RDONLY)  # macOS has none
_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC
_TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "symbolic link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
_RESOLVE = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS


@value
class MountedLayers:
    """Folders laid over each other, the topmost last, as one tree. Only the descriptor leads to it: it is mounted nowhere.

    The jail that gets it closes the descriptor. `number` tells it from every other one of this process: the kernel gives its device number
    to the next one.
    """

    fd: int
    layers: tuple[str, ...]
    number: int


class AccessRefused(ToolFault):
    """The user of this process may not do it at this path."""


class RefusedBySystem(ToolFault):
    """The reason says nothing about what is at the path: no descriptor is left, or the disk is broken or read-only."""

    def __init__(self, message: str, error: OSError) -> None:
        super().__init__(message)
        self.error = error


class Jail:
    """Holds the root by descriptor: renaming or replacing the folder later changes nothing.

    `is_real`: no link is allowed on the way to the root; opening it through one raises OSError.
    `origin` is the workspace of which this folder is a private copy: absolute paths are read as if they named that one.
    `mounted` holds the files, if they are not in the folder `root` itself; then `root` is only its name.
    """

    def __init__(
        self,
        root: str,
        *,
        use_openat2: bool | None = None,
        is_real: bool = False,
        origin: str | None = None,
        mounted: MountedLayers | None = None,
    ) -> None:
        self.root = root
        self.origin = origin or root
        self.layers = mounted.layers if mounted else (root,)
        self.mount_number = mounted.number if mounted else 0
        self._use_openat2 = has_openat2() if use_openat2 is None else use_openat2
        if mounted is not None:
            self.fd = mounted.fd
        elif is_real and self._use_openat2:
            self.fd = openat2(_HERE, root, O_PATH | _FOLDER, RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS)
        else:
            self.fd = os.open(root, O_PATH | _FOLDER)
        weakref.finalize(self, os.close, self.fd)

    @property
    def process_path(self) -> str:
        """Returns a path to the root that works in this process, as long as this object lives."""
        # With the dot, a caller that follows no link at the end of a path can open it too.
        return f"/proc/self/fd/{self.fd}/." if self.mount_number else self.root

    def place(self, path: str) -> WorkspacePath:
        """Resolves `path`, following links as long as they stay inside. It need not exist.

        Raises: OutsideWorkspace.
        """
        return self.find(path)[0]

    def find(self, path: str) -> tuple[WorkspacePath, os.stat_result | None]:
        """Resolves `path` and returns its stat; None if nothing is there. Raises: OutsideWorkspace."""
        parts = lexical_parts(path, self.origin)
        status = self._stat_without_links(WorkspacePath(parts))
        if status is not None and not stat.S_ISLNK(status.st_mode):
            return WorkspacePath(parts), status  # no link on the way, the usual case
        resolved = self.entry(path)
        resolved = self._follow(resolved.parts) if self._is_link(resolved) else resolved
        return resolved, self.stat(resolved)

    def entry(self, path: str) -> WorkspacePath:
        """Returns the entry that `path` names: follows links on the way, but not at its end. Raises: OutsideWorkspace."""
        parts = lexical_parts(path, self.origin)
        if not parts:
            return WorkspacePath(())
        try:
            with self.folder(WorkspacePath(parts[:-1])):
                return WorkspacePath(parts)  # no link on the way, the usual case
        except ToolFault:
            return self._follow(parts[:-1]).child(parts[-1])

    def folder(self, path: WorkspacePath, *, flags: int = O_PATH) -> "_OpenFolder":
        """Opens the folder at `path`. Raises: OutsideWorkspace, FileMissing, WrongKind, StateChanged."""
        return _OpenFolder(self, path, flags)

    @contextmanager
    def regular_file(
        self, path: WorkspacePath, *, seen: os.stat_result | None = None
    ) -> Iterator[tuple[int, os.stat_result]]:
        """Opens the regular file at `path` for reading; returns the descriptor and its stat. Raises: as `folder`.

        It checks the file before opening it, because opening a device can have an effect; `seen` is the stat of a caller that has just
        checked.
        """
        if seen is not None and self._use_openat2 and len(path.parts) > 1:
            require_regular(seen, path)
            with translate_os_errors(path.path):
                fd = openat2(self.fd, path.path, _TO_READ, _RESOLVE)
        else:
            with self.folder(path.parent) as parent, translate_os_errors(path.path):
                require_regular(os.stat(path.name, dir_fd=parent, follow_symlinks=False), path)
                fd = os.open(path.name, _TO_READ, dir_fd=parent)
        try:
            status = os.fstat(fd)
            require_regular(status, path)
            yield fd, status
        finally:
            os.close(fd)

    def stat(self, path: WorkspacePath) -> os.stat_result | None:
        """Returns the stat of the entry itself, without following links; None if there is none. Raises: OutsideWorkspace."""
        if path.is_root:
            return os.fstat(self.fd)
        try:
            with self.folder(path.parent) as parent, translate_os_errors(path.path):
                return os.stat(path.name, dir_fd=parent, follow_symlinks=False)
        except (FileMissing, WrongKind):
            return None

    def names(self, path: WorkspacePath) -> list[str]:
        """Lists the folder at `path`, sorted. Raises: as `folder`."""
        with self.folder(path, flags=os.O_RDONLY) as fd, translate_os_errors(path.path), os.scandir(fd) as entries:
            return sorted(entry.name for entry in entries)

    def make_folders(self, path: WorkspacePath) -> None:
        """Creates the folder at `path` and those above it.

        Raises: WrongKind if one of them is not a folder; ToolFault if they are too deep.
        """
        if len(path.parts) > DEEPEST:
            raise ToolFault(f"'{shown(path.path, 60)}' is more than {DEEPEST} folders deep. Use fewer.")
        for depth in range(1, len(path.parts) + 1):
            step = WorkspacePath(path.parts[:depth])
            if self.stat(step) is not None:
                continue
            with self.folder(step.parent, flags=os.O_RDONLY) as parent, translate_os_errors(step.path):
                try:
                    os.mkdir(step.name, dir_fd=parent)
                    give_to_owner_of(parent, step.name)
                    os.fsync(parent)
                except FileExistsError:
                    pass  # another process created it; the next step finds out what it is

    def _stat_without_links(self, path: WorkspacePath) -> os.stat_result | None:
        try:
            return self.stat(path)
        except (OutsideWorkspace, ToolFault):
            return None  # a link on the way, or an error that following the path reports

    def open_folder(self, parts: tuple[str, ...], flags: int) -> int:
        """Used by `folder`, which closes it again. Raises: OSError."""
        if self._use_openat2:
            return openat2(self.fd, "/".join(parts) or ".", flags | _FOLDER, _RESOLVE)
        return self._walk(parts, flags)

    def _walk(self, parts: tuple[str, ...], flags: int) -> int:
        """Opens component by component without following links: the same guarantee where openat2 is missing, with one system call each."""
        fd = os.open(".", (flags if not parts else O_PATH) | _FOLDER, dir_fd=self.fd)
        for number, part in enumerate(parts, start=1):
            open_flags = flags if number == len(parts) else O_PATH
            try:
                deeper = os.open(part, open_flags | _FOLDER | os.O_NOFOLLOW, dir_fd=fd)
            except OSError as error:
                if error.errno == errno.ENOTDIR and _is_link_at(part, fd):
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part) from None
                raise
            finally:
                os.close(fd)
            fd = deeper
        return fd

    def _is_link(self, path: WorkspacePath) -> bool:
        status = self.stat(path)
        return status is not None and stat.S_ISLNK(status.st_mode)

    def _follow(self, parts: tuple[str, ...]) -> WorkspacePath:
        """Resolves links by name. The result is only a name: opening it follows no link."""
        done: list[str] = []
        todo = list(reversed(parts))
        links = 0
        while todo:
            part = todo.pop()
            if part == "..":
                if not done:
                    raise _leads_out("/".join(parts))
                done.pop()
                continue
            target = self._link_target(WorkspacePath((*done, part)))
            if target is None:
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OutsideWorkspace(f"'{shown('/'.join(parts))}' contains a loop of symbolic links.")
            if target.startswith("/"):
                done, target = [], self._inside(target)
            todo.extend(reversed([step for step in target.split("/") if step not in ("", ".")]))
        return WorkspacePath(tuple(done))

    def _link_target(self, path: WorkspacePath) -> str | None:
        try:
            with self.folder(path.parent) as parent, translate_os_errors(path.path):
                return os.readlink(path.name, dir_fd=parent)
        except ToolFault:
            return None  # not a link; if it is missing, opening it reports that

    def _inside(self, target: str) -> str:
        if target != self.origin and not target.startswith(self.origin.rstrip("/") + "/"):
            raise _leads_out(target)
        return target[len(self.origin) :]


def working_folder(fd: int, root: str, path: WorkspacePath) -> str:
    """Returns a path for a child's working folder that leads to exactly this descriptor, where the system supports it."""
    descriptor_path = Path(f"/proc/self/fd/{fd}")
    return str(descriptor_path) if descriptor_path.is_dir() else str(Path(root, *path.parts))


def require_regular(status: os.stat_result, path: WorkspacePath) -> None:
    """Raises: WrongKind."""
    if stat.S_ISREG(status.st_mode):
        return
    raise WrongKind(f"'{shown(path.path)}' is a {kind_of(status.st_mode)}, not a file.")


def _is_link_at(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def kind_of(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "special file")


def give_to_owner_of(folder: int, name: str) -> None:
    """Gives new entries to the folder's owner when the server runs as root; otherwise the owner could not change them."""
    if os.geteuid() != 0:
        return
    owner = os.fstat(folder)
    if owner.st_uid == 0 and owner.st_gid == os.getegid():
        return  # a new entry has this owner already
    os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)


# Classes, not generators: every file access uses several of these, and a generator costs more than the access.


class translate_os_errors:
    """Turns a system error about `path` into an error that says who should act next."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise _kind_error(error, shown(self._path)) from None


class _OpenFolder:
    __slots__ = ("_fd", "_flags", "_jail", "_path_to_open")

    def __init__(self, jail: Jail, path: WorkspacePath, flags: int) -> None:
        self._jail = jail
        self._path_to_open = path
        self._flags = flags
        self._fd = _NOT_OPENED

    def __enter__(self) -> int:
        if not self._path_to_open.parts and self._flags == O_PATH:
            return self._jail.fd  # held open anyway
        try:
            self._fd = self._jail.open_folder(self._path_to_open.parts, self._flags)
        except OSError as error:
            raise _kind_error(error, shown(self._path_to_open.path)) from None
        return self._fd

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd != _NOT_OPENED:
            os.close(self._fd)


def _kind_error(error: OSError, path: str) -> Exception:
    match error.errno:
        case errno.EXDEV:
            return _leads_out(path)
        case errno.ELOOP:
            return StateChanged(f"'{path}' leads through a symbolic link that did not exist before. Check it again.")
        case errno.ENOENT:
            return FileMissing(f"There is no '{path}' in the workspace.")
        case errno.ENOTDIR:
            return WrongKind(f"'{path}' goes through something that is not a folder.")
        case errno.EISDIR:
            return WrongKind(f"'{path}' is a folder, not a file.")
        case errno.EACCES | errno.EPERM:
            return AccessRefused(f"The operating system does not allow this on '{path}' ({error.strerror}).")
        case errno.EROFS:
            return RefusedBySystem(f"The operating system does not allow this on '{path}' ({error.strerror}).", error)
        case _:
            return RefusedBySystem(f"'{path}' could not be used: {error.strerror or 'input/output error'}.", error)


def _leads_out(path: str) -> OutsideWorkspace:
    return OutsideWorkspace(f"'{shown(path)}' leads out of the workspace. Only files inside it can be used.")
