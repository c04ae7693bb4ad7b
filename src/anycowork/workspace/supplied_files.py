"""Reads files that a folder supplies to the server (definitions, not work): through the jail, through no link, and bounded."""

import os
import re
import threading
import time
from hashlib import sha256

from anycowork.domain.errors import FileMissing, StateChanged, ToolFault, WrongKind
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.visible_text import os_reason
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown

MOST_FILES = 200
MOST_BYTES = 64 * 1024
_MOST_READ = 4 * MOST_FILES  # files in memory
_SETTLED = 2_000_000_000  # nanoseconds: a file changed so recently may change again within one tick of the file's clock
_State = tuple[str, int, int, int, int, int]  # path, device, inode, size, and when it was last changed
_read_files: dict[_State, SuppliedFile] = {}
_reading = threading.Lock()
# Characters that a model reads and a person does not see: controls, direction marks, tags, selectors, fillers. The joiners and
# selectors of emoji and scripts are left alone unless many stand together, as they do only to hide something.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    r"|[\u200c\u200d\ufe0e\ufe0f]{3,}"
)


def supplied_files(root: str, folder: str, suffix: str) -> list[SuppliedFile]:
    """Returns the files in this folder with this suffix, sorted by name; empty if there is no such folder. Blocking.

    Their presence does not make them trusted: the caller decides which are.
    """
    try:
        jail = Jail(root)
        folder_path = WorkspacePath(tuple(folder.split("/")))
        names = [name for name in jail.names(folder_path) if name.endswith(suffix)]
    except (FileMissing, WrongKind, FileNotFoundError, NotADirectoryError):
        return []
    except StateChanged:
        return [SuppliedFile(folder, None, fault="it leads through a symbolic link, which is not followed")]
    except (ToolFault, OSError) as error:
        return [SuppliedFile(folder, None, fault=f"it cannot be read: {os_reason(error)}")]
    files = [_read(jail, folder_path.child(name)) for name in names[:MOST_FILES]]
    if len(names) > MOST_FILES:
        unread = len(names) - MOST_FILES
        files.append(SuppliedFile(folder, None, fault=f"{unread} more files are not read: {MOST_FILES} is the most"))
    return files


def supplied_file(root: str, name: str) -> SuppliedFile | None:
    """Returns the file of this name in the folder itself; None if there is none. Blocking."""
    try:
        jail = Jail(root)
        path = WorkspacePath((name,))
        return None if jail.stat(path) is None else _read(jail, path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ToolFault, OSError) as error:
        return SuppliedFile(name, None, fault=f"it cannot be read: {os_reason(error)}")


def with_the_unseen_written_out(text: str) -> str:
    """Replaces invisible characters by visible codes, so that a model gets what a person was shown, and nothing more."""
    return _UNSEEN.sub(lambda match: "".join(f"[U+{ord(letter):04X}]" for letter in match[0]), text)


def _read(jail: Jail, path: WorkspacePath) -> SuppliedFile:
    """Reads the file, or returns what was read of it before if its entry has not changed since."""
    name = shown(path.path)
    try:
        entry = jail.stat(path)
        if entry is not None and (read_before := _read_files.get(_state(name, entry))) is not None:
            return read_before
        with jail.regular_file(path) as (fd, stat):
            if stat.st_size > MOST_BYTES:
                return SuppliedFile(name, None, fault=f"it is larger than {MOST_BYTES:,} bytes")
            data = _up_to(fd, MOST_BYTES + 1)
    except (ToolFault, OSError) as error:
        return SuppliedFile(name, None, fault=f"it cannot be read: {os_reason(error)}")
    file = _as_text(name, data)
    if time.time_ns() - stat.st_ctime_ns > _SETTLED:
        _remember(_state(name, stat), file)
    return file


def _state(name: str, stat: os.stat_result) -> _State:
    return (name, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _remember(state: _State, file: SuppliedFile) -> None:
    with _reading:
        while len(_read_files) >= _MOST_READ:
            del _read_files[next(iter(_read_files))]
        _read_files[state] = file


def _as_text(path: str, data: bytes) -> SuppliedFile:
    if len(data) > MOST_BYTES:
        return SuppliedFile(path, None, fault=f"it is larger than {MOST_BYTES:,} bytes")
    try:
        text = with_the_unseen_written_out(data.decode().removeprefix("\ufeff"))
        return SuppliedFile(path, text, sha256(data).hexdigest())
    except UnicodeDecodeError as error:
        return SuppliedFile(path, None, fault=f"it is not UTF-8 text (byte {error.start})")


def _up_to(fd: int, most: int) -> bytes:
    content = b""
    while len(content) < most and (piece := os.read(fd, most - len(content))):
        content += piece
    return content
