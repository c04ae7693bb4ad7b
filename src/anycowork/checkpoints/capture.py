"""Takes images of paths: their current state, with or without storing their content in the pack. Follows no links, enters no `.git`."""

import errno
import hashlib
import os
import stat
from collections.abc import Container, Iterable, Iterator
from itertools import chain
from typing import Self

from anycowork.checkpoints.pack import Pack
from anycowork.domain.errors import FileMissing, NotKept, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.domain.snapshots import PathImage, PathKind, absent
from anycowork.domain.values import value
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import O_PATH, Jail, require_regular, translate_os_errors
from anycowork.workspace.last_folder import LastFolder
from anycowork.workspace.paths import WorkspacePath, is_git_control, shown

MOST_IMAGED = 100_000  # paths in one snapshot
_CHUNK = 1 << 20
_SMALL = 1 << 16  # bytes of a file that is read in one call
_TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {stat.S_IFREG: PathKind.FILE, stat.S_IFLNK: PathKind.SYMLINK, stat.S_IFDIR: PathKind.FOLDER}


@value
class PackTarget:
    """The pack that contents are stored in, for this owner, at most `max_bytes` of them."""

    pack: Pack
    owner: str
    max_bytes: int


def path_of(path: str) -> WorkspacePath:
    """Parses a path as images name it: from the workspace's root, with every link already resolved. Raises: OutsideWorkspace."""
    parts = tuple(path.split("/"))
    if "" in parts or "." in parts:
        parts = tuple(part for part in parts if part not in ("", "."))
    if ".." in parts:
        raise OutsideWorkspace(f"'{shown(path)}' contains '..'; images name every path from the workspace's root.")
    return WorkspacePath(parts)


Seen = tuple[WorkspacePath, os.stat_result | None]


def touched(folder: Folder, paths: Iterable[str]) -> list[Seen]:
    """Returns every place that a change of these paths touches, with its state: whole folders, and missing parent folders that it would
    create.

    Raises: NotKept if there are too many; ToolFault if a folder cannot be read.
    """
    found: dict[tuple[str, ...], Seen] = {}
    existing: set[tuple[str, ...]] = set()
    with ImageReader(folder) as reader:
        for place in map(path_of, paths):
            if place.is_root or place.parts in found or is_git_control(place.parts):
                continue
            if below_any(place, found) and behind_a_link(folder, place):
                found[place.parts] = (place, None)
                continue
            for entry, stat_ in chain(_whole(reader, folder.jail, place), _missing_above(reader, place, existing)):
                found[entry.parts] = (entry, stat_)
                if len(found) > MOST_IMAGED:
                    raise NotKept(
                        f"This touches more than {MOST_IMAGED:,} paths, too many to be undone. Do it in parts."
                    )
    return [found[parts] for parts in sorted(found)]


def below_any(place: WorkspacePath, others: Container[tuple[str, ...]]) -> bool:
    """Tells whether one of the `others`, given by their parts, is a folder above."""
    parts = place.parts
    return any(parts[:depth] in others for depth in range(1, len(parts)))


def behind_a_link(folder: Folder, place: WorkspacePath) -> bool:
    """Tells whether a folder on the way became a link: then nothing exists at this path itself."""
    try:
        folder.jail.stat(place)
    except StateChanged:
        return True
    return False


def _missing_above(reader: "ImageReader", place: WorkspacePath, existing: set[tuple[str, ...]]) -> Iterator[Seen]:
    """`existing` are folders that were found before, by their parts; it grows."""
    if place.parts[:-1] in existing:
        return
    above = place.parent
    while not above.is_root and above.parts not in existing and reader.stat(above) is None:
        yield above, None
        above = above.parent
    existing.add(above.parts)


def _whole(reader: "ImageReader", jail: Jail, place: WorkspacePath) -> Iterator[Seen]:
    waiting = [place]
    while waiting:
        here = waiting.pop()
        found = reader.stat(here)
        yield here, found
        if found is not None and stat.S_ISDIR(found.st_mode):
            waiting += [here.child(name) for name in jail.names(here) if not is_git_control((name,))]


def bytes_in(seen: Iterable[Seen]) -> int:
    """Returns how many bytes storing these takes, at most."""
    return sum(found.st_size for _, found in seen if found is not None and not stat.S_ISDIR(found.st_mode))


def image(folder: Folder, place: WorkspacePath) -> PathImage:
    """Returns the current state of the place. Raises: ToolFault if it cannot be read."""
    with ImageReader(folder) as reader:
        return reader.image(place)


class ImageReader:
    """Takes images of paths, and stores their contents if there is a `content`. Paths sorted by folder cost one opened folder each.

    It keeps a folder open: call `moved` when folders were moved or removed.
    """

    def __init__(self, folder: Folder, content: PackTarget | None = None) -> None:
        self._jail = folder.jail
        self._content = content
        self._last = LastFolder(folder.jail, flags=O_PATH)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._last.close()

    def moved(self) -> None:
        self._last.close()

    def image(self, place: WorkspacePath) -> PathImage:
        """Returns the current state of the place. Raises: ToolFault if it cannot be read."""
        return self.image_of((place, self.stat(place)))

    def stat(self, place: WorkspacePath) -> os.stat_result | None:
        """Returns the stat of the entry itself; None if there is none. Raises: OutsideWorkspace, ToolFault."""
        parts = place.parts
        if not parts:
            return self._jail.stat(place)
        try:
            parent = self._last.at("/".join(parts[:-1]))
            return os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
        except (FileMissing, WrongKind, FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            with translate_os_errors(place.path):
                raise

    def image_of(self, seen: Seen) -> PathImage:
        """Reads the content of what was seen. Raises: ToolFault if it cannot be read; OSError if the pack cannot store it."""
        place, found = seen
        try:
            return self._image(place, found)
        except FileMissing:
            return absent(place.path)

    def image_of_file(self, place: WorkspacePath) -> PathImage:
        """Like `image`, for what is very probably a file: without a look before. Raises: as `image_of`."""
        try:
            return self._file(place)
        except FileMissing:
            return absent(place.path)
        except (StateChanged, WrongKind):  # a link, a folder or something else is there now
            return self.image(place)

    def small_file(self, place: WorkspacePath) -> tuple[PathImage, os.stat_result, bytes] | None:
        """Returns image, stat and content of a small regular file, opened once. None for everything else, and if it cannot be read."""
        parts = place.parts
        try:
            fd = os.open(parts[-1], _TO_READ, dir_fd=self._last.at("/".join(parts[:-1])))
        except (OSError, ToolFault, OutsideWorkspace, IndexError):
            return None
        try:
            found = os.fstat(fd)
            size = found.st_size
            if not stat.S_ISREG(found.st_mode) or size >= _SMALL:
                return None
            content = os.pread(fd, size + 1, 0)
        except OSError:
            return None
        finally:
            os.close(fd)
        if len(content) != size:
            return None
        digest = hashlib.sha256(content).hexdigest()
        image = PathImage(place.path, PathKind.FILE, digest, stat.S_IMODE(found.st_mode), size, found.st_mtime_ns)
        return image, found, content

    def _image(self, place: WorkspacePath, found: os.stat_result | None) -> PathImage:
        if found is None:
            return absent(place.path)
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), PathKind.SPECIAL)
        match kind:
            case PathKind.FILE:
                return self._file(place)
            case PathKind.SYMLINK:
                return self._link(place, found)
            case _:
                return PathImage(place.path, kind, mode=stat.S_IMODE(found.st_mode), mtime=found.st_mtime_ns)

    def _file(self, place: WorkspacePath) -> PathImage:
        """Opens what was seen to be a regular file; whatever is there now is looked at again."""
        parts = place.parts
        parent = self._last.at("/".join(parts[:-1]))
        try:
            fd = os.open(parts[-1], _TO_READ, dir_fd=parent)
        except OSError:
            with translate_os_errors(place.path):
                raise
        try:
            found = os.fstat(fd)
            require_regular(found, place)
            digest, size = self._read_content(fd, place, found)
        finally:
            os.close(fd)
        return PathImage(place.path, PathKind.FILE, digest, stat.S_IMODE(found.st_mode), size, found.st_mtime_ns)

    def _read_content(self, fd: int, place: WorkspacePath, found: os.stat_result) -> tuple[str, int]:
        content, size = self._content, found.st_size
        if size < _SMALL:
            with translate_os_errors(place.path):
                whole = os.pread(fd, size + 1, 0)
            if len(whole) == size:  # one byte more was asked for
                if content is None:
                    return hashlib.sha256(whole).hexdigest(), size
                if size < content.pack.own_file_bytes:
                    return content.pack.put(whole, owner=content.owner), size
        if content is None:
            with translate_os_errors(place.path):
                return _digest(fd, found.st_size)
        if found.st_size >= content.pack.own_file_bytes:
            return content.pack.put_file(fd, owner=content.owner, most=content.max_bytes)
        with translate_os_errors(place.path):
            data = _read(fd, found.st_size, content.pack.own_file_bytes)
        if data is None:
            raise StateChanged(f"'{shown(place.path)}' grew while it was read. Check it again.")
        return content.pack.put(data, owner=content.owner), len(data)

    def _link(self, place: WorkspacePath, found: os.stat_result) -> PathImage:
        parent = self._last.at("/".join(place.parts[:-1]))
        try:
            target = os.fsencode(os.readlink(place.name, dir_fd=parent))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT):
                raise ToolFault(f"The link '{shown(place.path)}' cannot be read: {error.strerror}.") from None
            raise StateChanged(f"'{shown(place.path)}' was replaced while it was read. Check it again.") from None
        content = self._content
        digest = content.pack.put(target, owner=content.owner) if content else hashlib.sha256(target).hexdigest()
        return PathImage(place.path, PathKind.SYMLINK, digest, 0, len(target), found.st_mtime_ns)


def _digest(fd: int, size: int) -> tuple[str, int]:
    check, read = hashlib.sha256(), 0
    for chunk in _chunks(fd, size):
        check.update(chunk)
        read += len(chunk)
    return check.hexdigest(), read


def _read(fd: int, size: int, most: int) -> bytes | None:
    """Returns None if there are `most` bytes or more."""
    pieces, read = [], 0
    for chunk in _chunks(fd, size):
        pieces.append(chunk)
        read += len(chunk)
        if read >= most:
            return None
    return b"".join(pieces)


def _chunks(fd: int, size: int) -> Iterator[bytes]:
    """Yields the whole file. A file that still has its `size` is read at once: asking for one byte more returned exactly that many."""
    read = 0
    while chunk := os.read(fd, wanted := min(size + 1, _CHUNK)):
        yield chunk
        read += len(chunk)
        if read == size and len(chunk) < wanted:
            return


def refuse_special(images: Iterable[PathImage]) -> None:
    """Raises: WrongKind."""
    for found in images:
        if found.kind is PathKind.SPECIAL:
            raise WrongKind(
                f"'{shown(found.path)}' is a pipe, a socket or a device: it cannot be restored, so it is not touched."
            )
