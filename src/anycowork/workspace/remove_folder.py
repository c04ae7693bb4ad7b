"""Removes and moves whole folders, however deep a program has made them and whatever modes their entries have. Follows no links."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from anycowork.domain.errors import ToolFault
from anycowork.workspace.paths import DEEPEST, shown

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(name: str, parent: int | None = None, *, ignoring: tuple[type[OSError], ...] = ()) -> None:
    """Moves each folder inside up first, so that none is more than one level deep: neither the stack, the number of descriptors nor the
    longest path limit the depth. Leaves entries whose error is in `ignoring`. Raises: OSError.
    """
    with suppress(*ignoring):
        _grant_access(name, parent)
        with _opened(name, parent) as top:
            waiting = _remove_files(top, ignoring)
            while waiting:
                waiting += _flatten(waiting.pop(), top, ignoring)
        os.rmdir(name, dir_fd=parent)


def _flatten(name: str, top: int, ignoring: tuple[type[OSError], ...]) -> list[str]:
    """Removes the folder and returns the names of its subfolders, which are now beside it."""
    moved: list[str] = []
    with suppress(*ignoring):
        _grant_access(name, top)
        with _opened(name, top) as folder:
            for inner in _remove_files(folder, ignoring):
                new_name = f".{secrets.token_hex(8)}"
                with suppress(*ignoring):
                    _grant_access(inner, folder)  # moving a folder writes to it: its `..` entry changes
                    if _move_up(inner, folder, new_name, top):
                        moved.append(new_name)
                    else:
                        remove_folder(inner, folder, ignoring=ignoring)
        os.rmdir(name, dir_fd=top)
    return moved


def _move_up(inner: str, folder: int, new_name: str, top: int) -> bool:
    """Returns False where a folder cannot be moved: in an overlay, one of a lower layer."""
    try:
        os.rename(inner, new_name, src_dir_fd=folder, dst_dir_fd=top)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return False
    return True


def _remove_files(folder: int, ignoring: tuple[type[OSError], ...]) -> list[str]:
    """Removes the files and returns the names of the remaining folders."""
    folders: list[str] = []
    others: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
    for name in others:
        with suppress(*ignoring):
            os.unlink(name, dir_fd=folder)
    return folders


def _grant_access(name: str, parent: int | None) -> None:
    """Gives the owner access to a folder that denies it; root needs none."""
    if os.geteuid() != 0:
        os.chmod(name, 0o700, dir_fd=parent)


@contextmanager
def _opened(name: str, parent: int | None) -> Iterator[int]:
    fd = os.open(name, _FOLDER, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def move_folder(name: str, folder: int, new_name: str, new_folder: int) -> None:
    """Makes each folder anew and renames the files into it. Raises: FileExistsError; ToolFault, with nothing moved; OSError.

    A link cannot be moved like that by a file tool, whose thread may make none; a folder with one in it is refused before anything moves.
    """
    _require_files_and_folders(name, folder, depth=0)
    move_anything(name, folder, new_name, new_folder)


def move_anything(name: str, folder: int, new_name: str, new_folder: int) -> None:
    """The same, whatever is in the folder, for a thread that may do everything. Raises: FileExistsError, OSError."""
    os.mkdir(new_name, 0o700, dir_fd=new_folder)
    with _opened(name, folder) as old, _opened(new_name, new_folder) as new:
        for inner in _names_in(old):
            if stat.S_ISDIR(os.stat(inner, dir_fd=old, follow_symlinks=False).st_mode):
                move_anything(inner, old, inner, new)
            else:
                os.rename(inner, inner, src_dir_fd=old, dst_dir_fd=new)
        status = os.fstat(old)
        if os.geteuid() == 0:
            os.fchown(new, status.st_uid, status.st_gid)
        os.fchmod(new, stat.S_IMODE(status.st_mode))
    os.rmdir(name, dir_fd=folder)


def _require_files_and_folders(name: str, folder: int, depth: int) -> None:
    if depth > DEEPEST:
        raise ToolFault(f"'{shown(name)}' is more than {DEEPEST} folders deep in the moved folder. Move parts of it.")
    with _opened(name, folder) as inside:
        for inner in _names_in(inside):
            mode = os.stat(inner, dir_fd=inside, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                _require_files_and_folders(inner, inside, depth + 1)
            elif not stat.S_ISREG(mode):
                raise ToolFault(
                    f"The folder holds '{shown(inner)}', which is neither a file nor a folder, and cannot be moved here as a whole. "
                    "Move the files in it."
                )


def _names_in(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]
