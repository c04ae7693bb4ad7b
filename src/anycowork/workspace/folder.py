"""Implements the `Workspace` port: a folder, reading in it, and the four ways to change it.

Each change is one atomic rename, unlink or rmdir, synced before it returns, and never goes through a link.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anycowork.domain.errors import FileExists, FileMissing, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules
from anycowork.workspace.jail import Jail, give_to_owner_of, require_regular, translate_os_errors
from anycowork.workspace.move_folder import move_folder
from anycowork.workspace.paths import WorkspacePath, is_git_control, shown
from anycowork.workspace.repositories import repository_around
from anycowork.workspace.syscalls import rename_without_replacing
from anycowork.workspace.walk import FolderWalk

INTERNAL_NAMES = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
    }
    | {".tox", ".idea", ".next", ".cache"}
)
_CHUNK = 1 << 20
_TEMPORARY = re.compile(r"\.anycowork-[0-9a-f]{16}\.tmp")


@dataclass(frozen=True, slots=True)
class FileContents:
    data: bytes
    sha256: str
    mode: int


class Folder:
    """Blocking: callers on an event loop use a thread."""

    def __init__(self, root: str, *, jail: Jail | None = None) -> None:
        self.jail = jail or Jail(root)

    @property
    def root(self) -> str:
        return self.jail.root

    @property
    def origin(self) -> str:
        return self.jail.origin

    def file_hash(self, path: str) -> str | None:
        """Returns the SHA-256 of a regular file inside; None if there is none. Raises: OutsideWorkspace."""
        place = self.jail.place(path)
        try:
            return self.sha256(place)
        except (FileMissing, WrongKind):
            return None

    def overview(self, limit: int, hidden: HiddenPathRules = NOTHING_HIDDEN) -> str:
        """Lists the first `limit` files, nearest to the root first, without files that are ignored by git, generated or hidden by rules.

        Where there are so many folders that the walk ends before it finds as many files, it lists folders in their place.
        """
        walk = FolderWalk(self.jail, most=20 * limit + 1000, seconds=0.5, leave_out=INTERNAL_NAMES)
        paths: list[str] = []
        folders: list[str] = []
        for entry in walk.entries(WorkspacePath(())):
            if hidden.hides(entry.place.path):
                continue
            if entry.kind == "folder" and len(folders) < limit:
                folders.append(f"{shown(entry.place.path)}/")
            if entry.kind != "file":
                continue
            if len(paths) == limit:
                walk.cut = True
                break
            paths.append(shown(entry.place.path))
        if walk.cut:
            paths += folders[: limit - len(paths)]
        lines = sorted(paths) + (["… and more; list_directory shows the rest."] if walk.cut else [])
        return "\n".join(lines) or "(no files yet)"

    # --- reading

    def sha256(self, place: WorkspacePath) -> str:
        """Raises: FileMissing, WrongKind."""
        with self.jail.regular_file(place) as (fd, _), translate_os_errors(place.path):
            digest = hashlib.sha256()
            while chunk := os.read(fd, _CHUNK):
                digest.update(chunk)
            return digest.hexdigest()

    def read(self, place: WorkspacePath, *, most: int) -> FileContents:
        """Returns the whole file. Raises: FileMissing, WrongKind; ToolFault if it has more than `most` bytes."""
        contents = self.read_up_to(place, most)
        if contents is None:
            raise ToolFault(f"'{shown(place.path)}' is larger than {most:,} bytes, too large for this tool.")
        return contents

    def read_up_to(self, place: WorkspacePath, most: int) -> FileContents | None:
        """Returns the whole file; None if it has more than `most` bytes. Raises: FileMissing, WrongKind."""
        with self.jail.regular_file(place) as (fd, found), translate_os_errors(place.path):
            data = b"" if found.st_size > most else b"".join(_chunks(fd, most + 1))
        if found.st_size > most or len(data) > most:
            return None
        return FileContents(data, hashlib.sha256(data).hexdigest(), found.st_mode)

    # --- changing

    def writable(self, path: str) -> WorkspacePath:
        """Returns the entry that a change to `path` would touch.

        Raises: OutsideWorkspace if it is outside, is the workspace itself, or belongs to git.
        """
        place = self.jail.entry(path)
        if place.is_root:
            raise OutsideWorkspace("The workspace folder itself cannot be changed; name something inside it.")
        if is_git_control(place.parts):
            raise OutsideWorkspace(
                f"'{shown(place.path)}' belongs to git and is never changed by file tools. Use git for that."
            )
        self.require_no_repository(place)
        return place

    def require_no_repository(
        self, place: WorkspacePath, names_at: Callable[[tuple[str, ...]], Iterable[str]] | None = None
    ) -> None:
        """Raises: OutsideWorkspace if git would treat a folder above `place` as a repository once `place` exists.

        `names_at` lists a folder, if the caller remembers folders for many paths.
        """
        around = repository_around(place.parts, names_at or self.names_at)
        if around is not None:
            raise OutsideWorkspace(
                f"'{shown(place.path)}' is never changed by file tools: git would treat '{shown(WorkspacePath(around).path)}' as a repository "
                "and run programs that its 'config' names. Use other names, or let a person do it with git."
            )

    def names_at(self, parts: tuple[str, ...]) -> list[str]:
        """Lists the folder; nothing if it is missing or not a folder."""
        try:
            return self.jail.names(WorkspacePath(parts))
        except (ToolFault, OutsideWorkspace):
            return []

    def require_replaceable(self, place: WorkspacePath) -> None:
        """Raises: FileMissing; WrongKind for anything but a regular file with a single link."""
        found = self.jail.stat(place)
        if found is None:
            raise FileMissing(f"There is no '{shown(place.path)}' in the workspace.")
        _require_replaceable(found, place)

    def create(self, place: WorkspacePath, data: bytes, *, nameless: int | None = None) -> None:
        """Creates a new file with its folders; never overwrites, not even in a race. Raises: FileExists.

        `nameless` is an open file to fill and link, for a thread that may not open one for writing.
        """
        self.jail.make_folders(place.parent)
        with self.jail.folder(place.parent, flags=os.O_RDONLY) as parent, translate_os_errors(place.path):
            if nameless is not None:
                _fill(nameless, data)
                _link_nameless(nameless, parent, place)
            else:
                with _temporary(parent, data, mode=None) as temporary:
                    give_to_owner_of(parent, temporary)
                    _rename_new(temporary, parent, place.name, parent, place)
            os.fsync(parent)

    @contextmanager
    def nameless(self, place: WorkspacePath) -> Iterator[int | None]:
        """Opens a file without a name on the file system of `place`; None where that is not supported."""
        above = place.parent
        while not above.is_root and self.jail.stat(above) is None:
            above = above.parent
        with self.jail.folder(above) as fd, translate_os_errors(place.path):
            opened = _open_nameless(fd)
        try:
            yield opened
        finally:
            if opened is not None:
                os.close(opened)

    def replace(self, place: WorkspacePath, data: bytes, *, expected: str) -> None:
        """Replaces the file's content if its hash is still `expected`. Mode and owner stay. Raises: StateChanged, WrongKind."""
        with self.jail.folder(place.parent, flags=os.O_RDONLY) as parent, translate_os_errors(place.path):
            found = os.stat(place.name, dir_fd=parent, follow_symlinks=False)
            _require_replaceable(found, place)
            # Not the setuid bits: the kernel drops them when content changes, and so does this.
            with _temporary(parent, data, mode=found.st_mode & 0o777) as temporary:
                _keep_owner(parent, temporary, found)
                self.require_hash(place, expected)
                os.rename(temporary, place.name, src_dir_fd=parent, dst_dir_fd=parent)
            os.fsync(parent)

    def move(self, source: WorkspacePath, target: WorkspacePath) -> None:
        """Moves a file or a folder; never overwrites. Raises: FileExists."""
        self.jail.make_folders(target.parent)
        with (
            self.jail.folder(source.parent, flags=os.O_RDONLY) as old,
            self.jail.folder(target.parent, flags=os.O_RDONLY) as new,
            translate_os_errors(source.path),
        ):
            _rename_new(source.name, old, target.name, new, target)
            os.fsync(new)
            os.fsync(old)

    def remove_file(self, place: WorkspacePath, *, expected: str) -> None:
        """Raises: StateChanged, WrongKind."""
        self.require_hash(place, expected)
        with self.jail.folder(place.parent, flags=os.O_RDONLY) as parent, translate_os_errors(place.path):
            os.unlink(place.name, dir_fd=parent)
            os.fsync(parent)

    def remove_folder(self, place: WorkspacePath) -> None:
        """Removes an empty folder. Raises: ToolFault if it is not empty."""
        with self.jail.folder(place.parent, flags=os.O_RDONLY) as parent, translate_os_errors(place.path):
            os.rmdir(place.name, dir_fd=parent)
            os.fsync(parent)

    def clear_leftovers(self, path: str) -> None:
        """Removes half-written files beside `path`. Call it only while nobody writes here, or a running write loses its file."""
        place = self.jail.entry(path)
        with self.jail.folder(place.parent, flags=os.O_RDONLY) as parent, translate_os_errors(place.path):
            with os.scandir(parent) as entries:
                left = [entry.name for entry in entries if _TEMPORARY.fullmatch(entry.name)]
            for name in left:
                os.unlink(name, dir_fd=parent)
            os.fsync(parent)

    def require_hash(self, place: WorkspacePath, expected: str) -> None:
        """Raises: StateChanged."""
        try:
            current = self.sha256(place)
        except (FileMissing, WrongKind):
            current = None
        if current != expected:
            raise StateChanged(
                f"'{shown(place.path)}' was changed by someone else since it was last read. Read it again."
            )


def _require_replaceable(found: os.stat_result, place: WorkspacePath) -> None:
    require_regular(found, place)
    if found.st_nlink > 1:
        raise WrongKind(
            f"'{shown(place.path)}' has {found.st_nlink} names (hard links), some perhaps outside the workspace. "
            "It is not written; make a copy of it under a new name."
        )


def _chunks(fd: int, most: int) -> Iterator[bytes]:
    while most > 0 and (chunk := os.read(fd, min(_CHUNK, most))):
        most -= len(chunk)
        yield chunk


@contextmanager
def _temporary(folder: int, data: bytes, *, mode: int | None) -> Iterator[str]:
    """Writes a synced file under a temporary name; removes it at the end unless it was renamed. With `mode` None, the umask applies."""
    name = f".anycowork-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
            file.flush()
            os.fsync(fd)
        yield name
    finally:
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            pass  # renamed, as intended


def _open_nameless(folder: int) -> int | None:
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            return None  # a file system without nameless files
        raise


def _fill(fd: int, data: bytes) -> None:
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(data)
    os.fsync(fd)


def _link_nameless(fd: int, folder: int, place: WorkspacePath) -> None:
    if os.geteuid() == 0:  # as in give_to_owner_of
        owner = os.fstat(folder)
        os.fchown(fd, owner.st_uid, owner.st_gid)
    try:
        os.link(f"/proc/self/fd/{fd}", place.name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        raise FileExists(f"'{shown(place.path)}' exists already and is not overwritten.") from None


def _keep_owner(folder: int, name: str, found: os.stat_result) -> None:
    try:
        os.chown(name, found.st_uid, found.st_gid, dir_fd=folder, follow_symlinks=False)
    except PermissionError:
        pass  # only root may change the owner; the mode is kept anyway


def _rename_new(name: str, folder: int, new_name: str, new_folder: int, place: WorkspacePath) -> None:
    try:
        rename_without_replacing(name, folder, new_name, new_folder)
    except FileExistsError:
        raise FileExists(f"'{shown(place.path)}' exists already and is not overwritten.") from None
    except OSError as error:
        if error.errno == errno.EXDEV and _is_folder(name, folder):
            _move_folder_new(name, folder, new_name, new_folder, place)
            return
        if error.errno not in (errno.ENOSYS, errno.EINVAL):
            raise
        _link_new(name, folder, new_name, new_folder, place)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _move_folder_new(name: str, folder: int, new_name: str, new_folder: int, place: WorkspacePath) -> None:
    """Used in an overlay, where a folder of a lower layer cannot be renamed."""
    try:
        move_folder(name, folder, new_name, new_folder)
    except FileExistsError:
        raise FileExists(f"'{shown(place.path)}' exists already and is not overwritten.") from None


def _link_new(name: str, folder: int, new_name: str, new_folder: int, place: WorkspacePath) -> None:
    """Used where renameat2 is missing: a hard link also refuses an existing name, but works only for files."""
    if _is_folder(name, folder):
        raise ToolFault(
            f"This system cannot move the folder '{shown(place.path)}' without the risk of overwriting something."
        )
    try:
        os.link(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder, follow_symlinks=False)
    except FileExistsError:
        raise FileExists(f"'{shown(place.path)}' exists already and is not overwritten.") from None
    os.unlink(name, dir_fd=folder)
