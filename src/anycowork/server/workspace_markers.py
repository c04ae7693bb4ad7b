"""The marker of a workspace: a file with a random id, by which another machine knows that it has the same folder at the same path.

A server writes it into the workspace, where agents work: no link is followed, and what is no marker is left alone.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

FOLDER, FILE = ".anycowork", "workspace-id"
_ID_LENGTH = 32
_DIGITS = frozenset("0123456789abcdef")


def write_marker(root: str) -> str | None:
    """Returns the workspace's id, which is new if it had none; None if there can be none. Blocking."""
    try:
        with _folder(root) as parent:
            with suppress(FileExistsError):
                os.mkdir(FOLDER, mode=0o755, dir_fd=parent)
            with _folder(FOLDER, parent) as folder:
                if (marker := _read(folder)) is not None:
                    return marker
                return _write(folder)
    except OSError:
        return None


def read_marker(root: str) -> str | None:
    """Returns the workspace's id; None if the folder or its marker is not there. Blocking."""
    try:
        with _folder(root) as parent, _folder(FOLDER, parent) as folder:
            return _read(folder)
    except OSError:
        return None


@contextmanager
def _folder(path: str, parent: int | None = None) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def _read(folder: int) -> str | None:
    """Returns None for what is no marker. Raises: OSError."""
    try:
        fd = os.open(FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        text = os.read(fd, _ID_LENGTH + 2) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
    marker = text.decode("ascii", "replace").removesuffix("\n")
    return marker if len(marker) == _ID_LENGTH and _DIGITS.issuperset(marker) else None


def _write(folder: int) -> str:
    """Raises: OSError, also if something else has the name."""
    marker = secrets.token_hex(_ID_LENGTH // 2)
    fd = os.open(FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        os.write(fd, f"{marker}\n".encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    return marker
