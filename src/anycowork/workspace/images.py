"""Taking images of paths: what stands there now, with or without keeping its content in the pack. Follows no links, enters no `.git`."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from anycowork.domain.errors import FileMissing, NotKept, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.domain.snapshots import Image, Kind, absent
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail, saying
from anycowork.workspace.pack import Pack
from anycowork.workspace.paths import Place, is_git_control, shown

MOST_IMAGED = 100_000  # paths in one snapshot
_CHUNK = 1 << 20
_KINDS = {stat.S_IFREG: Kind.FILE, stat.S_IFLNK: Kind.SYMLINK, stat.S_IFDIR: Kind.FOLDER}


@dataclass(frozen=True, slots=True)
class Keeping:
    """Contents go into the pack, at most `room` bytes of them."""

    pack: Pack
    owner: str
    room: int


def place_of(path: str) -> Place:
    """A path as images name it: from the workspace's root, every link on the way resolved already. Raises: OutsideWorkspace."""
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in parts:
        raise OutsideWorkspace(f"'{shown(path)}' climbs with '..'; images name every path from the workspace's root.")
    return Place(parts)


def touched(folder: Folder, paths: Iterable[str]) -> list[Place]:
    """Every place that a change of these paths touches: folders whole, and the missing folders above that it would make.

    Raises: NotKept if there are too many; ToolFault if a folder cannot be read.
    """
    found: dict[Place, None] = {}
    for place in map(place_of, paths):
        if place.is_root or is_git_control(place.parts) or place in found:
            continue
        for entry in (*_missing_above(folder.jail, place), *_whole(folder.jail, place)):
            found[entry] = None
            if len(found) > MOST_IMAGED:
                raise NotKept(f"This touches more than {MOST_IMAGED:,} paths, too many to be undone. Do it in parts.")
    return sorted(found, key=lambda place: place.parts)


def _missing_above(jail: Jail, place: Place) -> Iterator[Place]:
    above = place.parent
    while not above.is_root and jail.stat(above) is None:
        yield above
        above = above.parent


def _whole(jail: Jail, place: Place) -> Iterator[Place]:
    waiting = [place]
    while waiting:
        here = waiting.pop()
        yield here
        found = jail.stat(here)
        if found is not None and stat.S_ISDIR(found.st_mode):
            waiting += [here.child(name) for name in jail.names(here) if not is_git_control((name,))]


def bytes_in(folder: Folder, places: Iterable[Place]) -> int:
    """How much keeping these would take, at most."""
    stats = (folder.jail.stat(place) for place in places)
    return sum(found.st_size for found in stats if found is not None and not stat.S_ISDIR(found.st_mode))


def image(folder: Folder, place: Place, keeping: Keeping | None = None) -> Image:
    """What stands at the place. Raises: ToolFault if it cannot be read; OSError if the pack cannot take it."""
    try:
        return _image(folder.jail, place, keeping)
    except FileMissing:
        return absent(place.path)


def _image(jail: Jail, place: Place, keeping: Keeping | None) -> Image:
    found = jail.stat(place)
    if found is None:
        return absent(place.path)
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), Kind.SPECIAL)
    mode = stat.S_IMODE(found.st_mode)
    match kind:
        case Kind.FILE:
            return _file(jail, place, keeping)
        case Kind.SYMLINK:
            return _link(jail, place, found, keeping)
        case _:
            return Image(place.path, kind, mode=mode, mtime=found.st_mtime_ns)


def _file(jail: Jail, place: Place, keeping: Keeping | None) -> Image:
    with jail.regular_file(place) as (fd, found):
        if keeping is None:
            with saying(place.path):
                digest, size = _digest(fd)
        elif found.st_size >= keeping.pack.own_file_bytes:
            digest, size = keeping.pack.put_file(fd, owner=keeping.owner, most=keeping.room)
        else:
            with saying(place.path):
                data = _read(fd, keeping.pack.own_file_bytes)
            if data is None:
                raise StateChanged(f"'{shown(place.path)}' grew while it was looked at. Look again.")
            digest, size = keeping.pack.put(data, owner=keeping.owner), len(data)
    return Image(place.path, Kind.FILE, digest, stat.S_IMODE(found.st_mode), size, found.st_mtime_ns)


def _link(jail: Jail, place: Place, found: os.stat_result, keeping: Keeping | None) -> Image:
    try:
        with jail.folder(place.parent) as parent:
            target = os.fsencode(os.readlink(place.name, dir_fd=parent))
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT):
            raise ToolFault(f"The link '{shown(place.path)}' cannot be read: {error.strerror}.") from None
        raise StateChanged(f"'{shown(place.path)}' was replaced while it was looked at. Look again.") from None
    digest = keeping.pack.put(target, owner=keeping.owner) if keeping else hashlib.sha256(target).hexdigest()
    return Image(place.path, Kind.SYMLINK, digest, 0, len(target), found.st_mtime_ns)


def _digest(fd: int) -> tuple[str, int]:
    check, size = hashlib.sha256(), 0
    while chunk := os.read(fd, _CHUNK):
        check.update(chunk)
        size += len(chunk)
    return check.hexdigest(), size


def _read(fd: int, most: int) -> bytes | None:
    """None if there is more."""
    pieces, left = [], most
    while left > 0 and (chunk := os.read(fd, min(_CHUNK, left))):
        pieces.append(chunk)
        left -= len(chunk)
    return b"".join(pieces) if left > 0 else None


def refuse_special(images: Iterable[Image]) -> None:
    """Raises: WrongKind."""
    for found in images:
        if found.kind is Kind.SPECIAL:
            raise WrongKind(
                f"'{shown(found.path)}' is a pipe, a socket or a device: it cannot be brought back, so it is not touched."
            )
