"""Moves a folder where it cannot be renamed: one of a lower layer of an overlay. Follows no links."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from anycowork.domain.errors import ToolFault
from anycowork.workspace.paths import DEEPEST, shown

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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


@contextmanager
def _opened(name: str, folder: int) -> Iterator[int]:
    fd = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)
