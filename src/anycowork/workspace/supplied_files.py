"""Reads files that a folder supplies to the server (definitions, not work): through the jail, through no link, and bounded."""

import os
import re
import time
from hashlib import sha256

from anycowork.domain.errors import FileMissing, StateChanged, ToolFault, WrongKind
from anycowork.domain.os_reason import os_reason
from anycowork.domain.ports import SuppliedFile
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown

MOST_FILES = 200
MOST_BYTES = 64 * 1024
_MOST_KNOWN = 2 * MOST_FILES
_SETTLED = 2_000_000_000  # nanoseconds: a file changed so recently may change again within one tick of the file's clock
_State = tuple[str, int, int, int, int, int]  # path, device, inode, size, and when it was last changed
_known: dict[_State, SuppliedFile] = {}
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
        place = WorkspacePath(tuple(folder.split("/")))
        names = [name for name in jail.names(place) if name.endswith(suffix)]
    except (FileMissing, WrongKind, FileNotFoundError, NotADirectoryError):
        return []
    except StateChanged:
        return [SuppliedFile(folder, None, fault="it leads through a symbolic link, which is not followed")]
    except (ToolFault, OSError) as error:
        return [SuppliedFile(folder, None, fault=f"it cannot be read: {os_reason(error)}")]
    read = [_read(jail, place.child(name)) for name in names[:MOST_FILES]]
    if len(names) > MOST_FILES:
        left = len(names) - MOST_FILES
        read.append(SuppliedFile(folder, None, fault=f"{left} more files are not read: {MOST_FILES} is the most"))
    return read


def supplied_file(root: str, name: str) -> SuppliedFile | None:
    """Returns the file of this name in the folder itself; None if there is none. Blocking."""
    try:
        jail = Jail(root)
        place = WorkspacePath((name,))
        return None if jail.stat(place) is None else _read(jail, place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ToolFault, OSError) as error:
        return SuppliedFile(name, None, fault=f"it cannot be read: {os_reason(error)}")


def with_the_unseen_written_out(text: str) -> str:
    """Replaces invisible characters by visible codes, so that a model gets what a person was shown, and nothing more."""
    return _UNSEEN.sub(lambda found: "".join(f"[U+{ord(letter):04X}]" for letter in found[0]), text)


def _read(jail: Jail, place: WorkspacePath) -> SuppliedFile:
    path = shown(place.path)
    try:
        with jail.regular_file(place) as (fd, stat):
            if stat.st_size > MOST_BYTES:
                return SuppliedFile(path, None, fault=f"it is larger than {MOST_BYTES:,} bytes")
            state = (path, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            if (known := _known.get(state)) is not None:
                return known
            data = _up_to(fd, MOST_BYTES + 1)
    except (ToolFault, OSError) as error:
        return SuppliedFile(path, None, fault=f"it cannot be read: {os_reason(error)}")
    read = _as_text(path, data)
    if time.time_ns() - stat.st_ctime_ns > _SETTLED:
        _remember(state, read)
    return read


def _remember(state: _State, read: SuppliedFile) -> None:
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[state] = read


def _as_text(path: str, data: bytes) -> SuppliedFile:
    if len(data) > MOST_BYTES:
        return SuppliedFile(path, None, fault=f"it is larger than {MOST_BYTES:,} bytes")
    try:
        text = with_the_unseen_written_out(data.decode().removeprefix("\ufeff"))
        return SuppliedFile(path, text, sha256(data).hexdigest())
    except UnicodeDecodeError as error:
        return SuppliedFile(path, None, fault=f"it is not UTF-8 text (byte {error.start})")


def _up_to(fd: int, most: int) -> bytes:
    read = b""
    while len(read) < most and (piece := os.read(fd, most - len(read))):
        read += piece
    return read
