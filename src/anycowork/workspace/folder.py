"""Implements the `Workspace` port: a folder, reading in it, and the four ways to change it.

Each change is one atomic rename, unlink or rmdir, synced before it returns, and never goes through a link.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anycowork.domain.errors import (
    FileExists,
    FileMissing,
    OutsideWorkspace,
    Refusal,
    StateChanged,
    ToolFault,
    WrongKind,
)
from anycowork.domain.files import INTERNAL_NAMES
from anycowork.domain.path_class import is_git_control
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules
from anycowork.workspace.git_index_file import repository_around
from anycowork.workspace.hard_links import told_file
from anycowork.workspace.jail import Jail, give_to_owner_of, require_regular, translate_os_errors
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.project_checks import quick_checks
from anycowork.workspace.remove_folder import move_folder
from anycowork.workspace.syscalls import rename_without_replacing
from anycowork.workspace.walk import FolderWalk, find_files

LARGEST_HASHED = 1 << 30  # bytes
_CHUNK = 1 << 20
_LARGEST_TEXT = 1_000_000
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
        workspace_path = self.jail.place(path)
        try:
            return self.sha256(workspace_path)
        except (FileMissing, WrongKind):
            return None

    def has_entry(self, path: str) -> bool:
        """Returns whether anything is at this path. Raises: OutsideWorkspace."""
        return self.jail.find(path)[1] is not None

    def quick_checks(self) -> tuple[str, ...]:
        """Returns the commands that run the project's own tests, best first."""
        return quick_checks(self.jail, self.small_text)

    def small_text(self, path: str) -> str:
        """Returns the text of a file inside; empty if there is none, or it is large."""
        try:
            contents = self.read_up_to(self.jail.place(path), _LARGEST_TEXT)
        except (Refusal, ToolFault, OSError):
            return ""
        return "" if contents is None else contents.data.decode(errors="replace")

    def find_files(self, matches: Callable[[str], bool], most: int) -> list[tuple[str, str]]:
        """Returns the files whose paths match, nearest to the root first, each with the path that it leads to if it is a link."""
        return find_files(self.jail, matches, most)

    def file_hashes(self, most: int) -> dict[str, str] | None:
        """Returns the SHA-256 of each file that is neither ignored by git nor generated; None if there are more than `most`, or more
        than `LARGEST_HASHED` bytes in them."""
        walk = FolderWalk(self.jail, most=2 * most, seconds=10.0, leave_out=INTERNAL_NAMES)
        files = [entry for entry in walk.entries(WorkspacePath(())) if entry.kind == "file"]
        if walk.cut or len(files) > most or sum(entry.size for entry in files) > LARGEST_HASHED:
            return None
        return {entry.place.path: self.sha256(entry.place) for entry in files}

    def first_paths(self, limit: int, hidden: HiddenPathRules = NOTHING_HIDDEN) -> tuple[list[str], bool]:
        """Returns the first `limit` files, nearest to the root first, without files that are ignored by git, generated or hidden by rules,
        and whether there are more.

        Where there are so many folders that the walk ends before it finds as many files, it names folders in their place.
        """
        walk = FolderWalk(self.jail, most=20 * limit + 1000, seconds=0.5, leave_out=INTERNAL_NAMES)
        paths: list[str] = []
        folders: list[str] = []
        for entry in walk.entries(WorkspacePath(())):
            if hidden.hides(entry.place.path):
                continue
            if entry.kind == "folder" and len(folders) < limit:
                folders.append(f"{entry.place.path}/")
            if entry.kind != "file":
                continue
            if len(paths) == limit:
                walk.cut = True
                break
            paths.append(entry.place.path)
        return sorted(paths + (folders[: limit - len(paths)] if walk.cut else [])), walk.cut

    def ignored_among(self, paths: Sequence[str], *, by_name_only: bool = False) -> list[str]:
        """Returns the topmost entries at or above these paths that git ignores, or that hold generated files."""
        return FolderWalk(self.jail, with_ignored=by_name_only, leave_out=INTERNAL_NAMES).ignored_among(paths)

    # --- reading

    def sha256(self, path: WorkspacePath) -> str:
        """Raises: FileMissing; WrongKind also if it has more than `LARGEST_HASHED` bytes, holes included."""
        with self.jail.regular_file(path) as (fd, status), translate_os_errors(path.path):
            digest = hashlib.sha256()
            for chunk in _chunks(fd, LARGEST_HASHED) if status.st_size <= LARGEST_HASHED else ():
                digest.update(chunk)
            size = os.fstat(fd).st_size
        if size > LARGEST_HASHED:
            raise WrongKind(f"'{shown(path.path)}' has {size:,} bytes, too many for a file tool. Please use a command.")
        return digest.hexdigest()

    def read(self, path: WorkspacePath, *, most: int) -> FileContents:
        """Returns the whole file. Raises: FileMissing, WrongKind; ToolFault if it has more than `most` bytes."""
        contents = self.read_up_to(path, most)
        if contents is None:
            raise ToolFault(f"'{shown(path.path)}' is larger than {most:,} bytes, too large for this tool.")
        return contents

    def read_up_to(self, path: WorkspacePath, most: int) -> FileContents | None:
        """Returns the whole file; None if it has more than `most` bytes. Raises: FileMissing, WrongKind, DeniedByRule."""
        with told_file(self.jail, path) as (fd, status), translate_os_errors(path.path):
            data = b"" if status.st_size > most else b"".join(_chunks(fd, most + 1))
        if status.st_size > most or len(data) > most:
            return None
        return FileContents(data, hashlib.sha256(data).hexdigest(), status.st_mode)

    # --- changing

    def writable(self, path: str) -> WorkspacePath:
        """Returns the entry that a change to `path` would touch.

        Raises: OutsideWorkspace if it is outside, is the workspace itself, or belongs to git.
        """
        entry = self.jail.entry(path)
        if entry.is_root:
            raise OutsideWorkspace("The workspace folder itself cannot be changed; name something inside it.")
        if is_git_control(entry.parts):
            raise OutsideWorkspace(
                f"'{shown(entry.path)}' belongs to git and is never changed by file tools. Use git for that."
            )
        self.require_no_repository(entry)
        return entry

    def require_no_repository(
        self, path: WorkspacePath, names_at: Callable[[tuple[str, ...]], Iterable[str]] | None = None
    ) -> None:
        """Raises: OutsideWorkspace if git would treat a folder above `path` as a repository once `path` exists.

        `names_at` lists a folder, if the caller remembers folders for many paths.
        """
        around = repository_around(path.parts, names_at or self.names_at)
        if around is not None:
            raise OutsideWorkspace(
                f"'{shown(path.path)}' is never changed by file tools: git would treat '{shown(WorkspacePath(around).path)}' as a repository "
                "and run programs that its 'config' names. Use other names, or let a person do it with git."
            )

    def names_at(self, parts: tuple[str, ...]) -> list[str]:
        """Lists the folder; nothing if it is missing or not a folder."""
        try:
            return self.jail.names(WorkspacePath(parts))
        except (ToolFault, OutsideWorkspace):
            return []

    def require_replaceable(self, path: WorkspacePath) -> None:
        """Raises: FileMissing; WrongKind for anything but a regular file with a single link."""
        status = self.jail.stat(path)
        if status is None:
            raise FileMissing(f"There is no '{shown(path.path)}' in the workspace.")
        _require_replaceable(status, path)

    def create(self, path: WorkspacePath, data: bytes, *, nameless: int | None = None) -> None:
        """Creates a new file with its folders; never overwrites, not even in a race. Raises: FileExists.

        `nameless` is an open file to fill and link, for a thread that may not open one for writing.
        """
        self.jail.make_folders(path.parent)
        with self.jail.folder(path.parent, flags=os.O_RDONLY) as parent, translate_os_errors(path.path):
            if nameless is not None:
                _fill(nameless, data)
                _link_nameless(nameless, parent, path)
            else:
                with _temporary(parent, data, mode=None) as temporary:
                    give_to_owner_of(parent, temporary)
                    _rename_new(temporary, parent, path.name, parent, path)
            os.fsync(parent)

    @contextmanager
    def nameless(self, path: WorkspacePath) -> Iterator[int | None]:
        """Opens a file without a name on the file system of `path`; None where that is not supported."""
        above = path.parent
        while not above.is_root and self.jail.stat(above) is None:
            above = above.parent
        with self.jail.folder(above) as fd, translate_os_errors(path.path):
            opened = _open_nameless(fd)
        try:
            yield opened
        finally:
            if opened is not None:
                os.close(opened)

    def replace(self, path: WorkspacePath, data: bytes, *, expected: str) -> None:
        """Replaces the file's content if its hash is still `expected`. Mode and owner stay. Raises: StateChanged, WrongKind."""
        with self.jail.folder(path.parent, flags=os.O_RDONLY) as parent, translate_os_errors(path.path):
            status = os.stat(path.name, dir_fd=parent, follow_symlinks=False)
            _require_replaceable(status, path)
            # Not the setuid bits: the kernel drops them when content changes, and so does this.
            with _temporary(parent, data, mode=status.st_mode & 0o777) as temporary:
                _keep_owner(parent, temporary, status)
                self.require_hash(path, expected)
                os.rename(temporary, path.name, src_dir_fd=parent, dst_dir_fd=parent)
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

    def remove_file(self, path: WorkspacePath, *, expected: str) -> None:
        """Raises: StateChanged, WrongKind."""
        self.require_hash(path, expected)
        with self.jail.folder(path.parent, flags=os.O_RDONLY) as parent, translate_os_errors(path.path):
            os.unlink(path.name, dir_fd=parent)
            os.fsync(parent)

    def remove_folder(self, path: WorkspacePath) -> None:
        """Removes an empty folder. Raises: ToolFault if it is not empty."""
        with self.jail.folder(path.parent, flags=os.O_RDONLY) as parent, translate_os_errors(path.path):
            os.rmdir(path.name, dir_fd=parent)
            os.fsync(parent)

    def clear_leftovers(self, path: str) -> None:
        """Removes half-written files beside `path`. Call it only while nobody writes here, or a running write loses its file."""
        entry_path = self.jail.entry(path)
        with self.jail.folder(entry_path.parent, flags=os.O_RDONLY) as parent, translate_os_errors(entry_path.path):
            with os.scandir(parent) as entries:
                leftovers = [entry.name for entry in entries if _TEMPORARY.fullmatch(entry.name)]
            for name in leftovers:
                os.unlink(name, dir_fd=parent)
            os.fsync(parent)

    def require_hash(self, path: WorkspacePath, expected: str) -> None:
        """Raises: StateChanged."""
        try:
            current = self.sha256(path)
        except (FileMissing, WrongKind):
            current = None
        if current != expected:
            raise StateChanged(
                f"'{shown(path.path)}' was changed by someone else since it was last read. Read it again."
            )


def _require_replaceable(status: os.stat_result, path: WorkspacePath) -> None:
    require_regular(status, path)
    if status.st_nlink > 1:
        raise WrongKind(
            f"'{shown(path.path)}' has {status.st_nlink} names (hard links), some perhaps outside the workspace. "
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


def _link_nameless(fd: int, folder: int, path: WorkspacePath) -> None:
    if os.geteuid() == 0:  # as in give_to_owner_of
        owner = os.fstat(folder)
        os.fchown(fd, owner.st_uid, owner.st_gid)
    try:
        os.link(f"/proc/self/fd/{fd}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        raise FileExists(f"'{shown(path.path)}' exists already and is not overwritten.") from None


def _keep_owner(folder: int, name: str, status: os.stat_result) -> None:
    try:
        os.chown(name, status.st_uid, status.st_gid, dir_fd=folder, follow_symlinks=False)
    except PermissionError:
        pass  # only root may change the owner; the mode is kept anyway


def _rename_new(name: str, folder: int, new_name: str, new_folder: int, path: WorkspacePath) -> None:
    try:
        rename_without_replacing(name, folder, new_name, new_folder)
    except FileExistsError:
        raise FileExists(f"'{shown(path.path)}' exists already and is not overwritten.") from None
    except OSError as error:
        if error.errno == errno.EXDEV and _is_folder(name, folder):
            _move_folder_new(name, folder, new_name, new_folder, path)
            return
        if error.errno not in (errno.ENOSYS, errno.EINVAL):
            raise
        _link_new(name, folder, new_name, new_folder, path)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _move_folder_new(name: str, folder: int, new_name: str, new_folder: int, path: WorkspacePath) -> None:
    """Used in an overlay, where a folder of a lower layer cannot be renamed."""
    try:
        move_folder(name, folder, new_name, new_folder)
    except FileExistsError:
        raise FileExists(f"'{shown(path.path)}' exists already and is not overwritten.") from None


def _link_new(name: str, folder: int, new_name: str, new_folder: int, path: WorkspacePath) -> None:
    """Used where renameat2 is missing: a hard link also refuses an existing name, but works only for files."""
    if _is_folder(name, folder):
        raise ToolFault(
            f"This system cannot move the folder '{shown(path.path)}' without the risk of overwriting something."
        )
    try:
        os.link(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder, follow_symlinks=False)
    except FileExistsError:
        raise FileExists(f"'{shown(path.path)}' exists already and is not overwritten.") from None
    os.unlink(name, dir_fd=folder)
