"""Removes a whole folder, however deep a program has made it and whatever modes its entries have. Follows no links."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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
