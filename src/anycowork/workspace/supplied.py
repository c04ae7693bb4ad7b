"""Files that a folder supplies to the house itself (definitions, not work): read through the jail, through no link, and bounded."""

import os
from hashlib import sha256

from anycowork.domain.errors import FileMissing, StateChanged, ToolFault, WrongKind
from anycowork.domain.ports import SuppliedFile
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import Place, shown

MOST_FILES = 200
MOST_BYTES = 64 * 1024


def supplied_files(root: str, folder: str, suffix: str) -> list[SuppliedFile]:
    """Those in this very folder with this ending, sorted by name; empty if there is no such folder. Blocking.

    None of them is trusted by being there: whoever asks says which are.
    """
    try:
        jail = Jail(root)
        place = Place(tuple(folder.split("/")))
        names = [name for name in jail.names(place) if name.endswith(suffix)]
    except (FileMissing, WrongKind, FileNotFoundError, NotADirectoryError):
        return []
    except StateChanged:
        return [SuppliedFile(folder, None, fault="it leads through a symbolic link, which is not followed")]
    except (ToolFault, OSError) as error:
        return [SuppliedFile(folder, None, fault=f"it cannot be read: {error}")]
    read = [_read(jail, place.child(name)) for name in names[:MOST_FILES]]
    if len(names) > MOST_FILES:
        left = len(names) - MOST_FILES
        read.append(SuppliedFile(folder, None, fault=f"{left} more files are not read: {MOST_FILES} is the most"))
    return read


def _read(jail: Jail, place: Place) -> SuppliedFile:
    path = shown(place.path)
    try:
        with jail.regular_file(place) as (fd, _):
            data = _up_to(fd, MOST_BYTES + 1)
    except (ToolFault, OSError) as error:
        return SuppliedFile(path, None, fault=f"it cannot be read: {error}")
    if len(data) > MOST_BYTES:
        return SuppliedFile(path, None, fault=f"it is larger than {MOST_BYTES:,} bytes")
    try:
        return SuppliedFile(path, data.decode(), sha256(data).hexdigest())
    except UnicodeDecodeError as error:
        return SuppliedFile(path, None, fault=f"it is not UTF-8 text (byte {error.start})")


def _up_to(fd: int, most: int) -> bytes:
    read = b""
    while len(read) < most and (piece := os.read(fd, most - len(read))):
        read += piece
    return read
