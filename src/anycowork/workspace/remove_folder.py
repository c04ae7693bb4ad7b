"""Removing a whole folder, however deep a program has made it and whatever modes it gave to what is in it. Follows no links."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(name: str, parent: int | None = None, *, ignoring: tuple[type[OSError], ...] = ()) -> None:
    """Each folder inside is first moved up, so that none is ever more than one level down: neither the stack nor descriptors nor the
    longest path set a limit to that. What meets an error to be ignored is left there. Raises: OSError.
    """
    with suppress(*ignoring):
        _take_rights(name, parent)
        with _opened(name, parent) as top:
            waiting = _emptied_of_files(top, ignoring)
            while waiting:
                waiting += _flattened(waiting.pop(), top, ignoring)
        os.rmdir(name, dir_fd=parent)


def _flattened(name: str, top: int, ignoring: tuple[type[OSError], ...]) -> list[str]:
    """What was inside and stands beside it now; it is gone itself."""
    moved: list[str] = []
    with suppress(*ignoring):
        _take_rights(name, top)
        with _opened(name, top) as folder:
            for inner in _emptied_of_files(folder, ignoring):
                new_name = f".{secrets.token_hex(8)}"
                with suppress(*ignoring):
                    _take_rights(inner, folder)  # a folder that is moved is written to: it learns where it lies
                    os.rename(inner, new_name, src_dir_fd=folder, dst_dir_fd=top)
                    moved.append(new_name)
        os.rmdir(name, dir_fd=top)
    return moved


def _emptied_of_files(folder: int, ignoring: tuple[type[OSError], ...]) -> list[str]:
    """The folders that are left in it."""
    folders: list[str] = []
    others: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
    for name in others:
        with suppress(*ignoring):
            os.unlink(name, dir_fd=folder)
    return folders


def _take_rights(name: str, parent: int | None) -> None:
    """A folder may be closed to its owner; root needs no rights."""
    if os.geteuid() != 0:
        os.chmod(name, 0o700, dir_fd=parent)


@contextmanager
def _opened(name: str, parent: int | None) -> Iterator[int]:
    fd = os.open(name, _FOLDER, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)
