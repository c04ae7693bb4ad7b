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
from anycowork.domain.path_class import is_git_control
from anycowork.domain.snapshots import PathImage, PathKind, absent
from anycowork.domain.values import value
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import O_PATH, Jail, require_regular, translate_os_errors
from anycowork.workspace.opened_folders import LastFolder
from anycowork.workspace.paths import WorkspacePath, shown

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
    seen_by_parts: dict[tuple[str, ...], Seen] = {}
    existing: set[tuple[str, ...]] = set()
    with ImageReader(folder) as reader:
        for path_to_image in map(path_of, paths):
            if path_to_image.is_root or path_to_image.parts in seen_by_parts or is_git_control(path_to_image.parts):
                continue
            if below_any(path_to_image, seen_by_parts) and behind_a_link(folder, path_to_image):
                seen_by_parts[path_to_image.parts] = (path_to_image, None)
                continue
            for entry, stat_ in chain(
                _whole(reader, folder.jail, path_to_image), _missing_above(reader, path_to_image, existing)
            ):
                seen_by_parts[entry.parts] = (entry, stat_)
                if len(seen_by_parts) > MOST_IMAGED:
                    raise NotKept(
                        f"This touches more than {MOST_IMAGED:,} paths, too many to be undone. Do it in parts."
                    )
    return [seen_by_parts[parts] for parts in sorted(seen_by_parts)]


def below_any(path: WorkspacePath, others: Container[tuple[str, ...]]) -> bool:
    """Tells whether one of the `others`, given by their parts, is a folder above."""
    parts = path.parts
    return any(parts[:depth] in others for depth in range(1, len(parts)))


def behind_a_link(folder: Folder, path: WorkspacePath) -> bool:
    """Tells whether a folder on the way became a link: then nothing exists at this path itself."""
    try:
        folder.jail.stat(path)
    except StateChanged:
        return True
    return False


def _missing_above(reader: "ImageReader", path: WorkspacePath, existing: set[tuple[str, ...]]) -> Iterator[Seen]:
    """`existing` are folders that were found before, by their parts; it grows."""
    if path.parts[:-1] in existing:
        return
    above = path.parent
    while not above.is_root and above.parts not in existing and reader.stat(above) is None:
        yield above, None
        above = above.parent
    existing.add(above.parts)


def _whole(reader: "ImageReader", jail: Jail, path: WorkspacePath) -> Iterator[Seen]:
    waiting = [path]
    while waiting:
        current = waiting.pop()
        status = reader.stat(current)
        yield current, status
        if status is not None and stat.S_ISDIR(status.st_mode):
            waiting += [current.child(name) for name in jail.names(current) if not is_git_control((name,))]


def bytes_in(seen: Iterable[Seen]) -> int:
    """Returns how many bytes storing these takes, at most."""
    return sum(status.st_size for _, status in seen if status is not None and not stat.S_ISDIR(status.st_mode))


def image(folder: Folder, path: WorkspacePath) -> PathImage:
    """Returns the current state of the place. Raises: ToolFault if it cannot be read."""
    with ImageReader(folder) as reader:
        return reader.image(path)


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

    def image(self, path: WorkspacePath) -> PathImage:
        """Returns the current state of the place. Raises: ToolFault if it cannot be read."""
        return self.image_of((path, self.stat(path)))

    def stat(self, path: WorkspacePath) -> os.stat_result | None:
        """Returns the stat of the entry itself; None if there is none. Raises: OutsideWorkspace, ToolFault."""
        parts = path.parts
        if not parts:
            return self._jail.stat(path)
        try:
            parent = self._last.at("/".join(parts[:-1]))
            return os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
        except (FileMissing, WrongKind, FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            with translate_os_errors(path.path):
                raise

    def image_of(self, seen: Seen) -> PathImage:
        """Reads the content of what was seen. Raises: ToolFault if it cannot be read; OSError if the pack cannot store it."""
        path, status = seen
        try:
            return self._image(path, status)
        except FileMissing:
            return absent(path.path)

    def image_of_file(self, path: WorkspacePath) -> PathImage:
        """Like `image`, for what is very probably a file: without a look before. Raises: as `image_of`."""
        try:
            return self._file(path)
        except FileMissing:
            return absent(path.path)
        except (StateChanged, WrongKind):  # a link, a folder or something else is there now
            return self.image(path)

    def small_file(self, path: WorkspacePath) -> tuple[PathImage, os.stat_result, bytes] | None:
        """Returns image, stat and content of a small regular file, opened once. None for everything else, and if it cannot be read."""
        parts = path.parts
        try:
            fd = os.open(parts[-1], _TO_READ, dir_fd=self._last.at("/".join(parts[:-1])))
        except (OSError, ToolFault, OutsideWorkspace, IndexError):
            return None
        try:
            status = os.fstat(fd)
            size = status.st_size
            if not stat.S_ISREG(status.st_mode) or size >= _SMALL:
                return None
            content = os.pread(fd, size + 1, 0)
        except OSError:
            return None
        finally:
            os.close(fd)
        if len(content) != size:
            return None
        digest = hashlib.sha256(content).hexdigest()
        image = PathImage(path.path, PathKind.FILE, digest, stat.S_IMODE(status.st_mode), size, status.st_mtime_ns)
        return image, status, content

    def _image(self, path: WorkspacePath, status: os.stat_result | None) -> PathImage:
        if status is None:
            return absent(path.path)
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), PathKind.SPECIAL)
        match kind:
            case PathKind.FILE:
                return self._file(path)
            case PathKind.SYMLINK:
                return self._link(path, status)
            case _:
                return PathImage(path.path, kind, mode=stat.S_IMODE(status.st_mode), mtime=status.st_mtime_ns)

    def _file(self, path: WorkspacePath) -> PathImage:
        """Opens what was seen to be a regular file; whatever is there now is looked at again."""
        parts = path.parts
        parent = self._last.at("/".join(parts[:-1]))
        try:
            fd = os.open(parts[-1], _TO_READ, dir_fd=parent)
        except OSError:
            with translate_os_errors(path.path):
                raise
        try:
            status = os.fstat(fd)
            require_regular(status, path)
            digest, size = self._read_content(fd, path, status)
        finally:
            os.close(fd)
        return PathImage(path.path, PathKind.FILE, digest, stat.S_IMODE(status.st_mode), size, status.st_mtime_ns)

    def _read_content(self, fd: int, path: WorkspacePath, status: os.stat_result) -> tuple[str, int]:
        content, size = self._content, status.st_size
        if size < _SMALL:
            with translate_os_errors(path.path):
                small_content = os.pread(fd, size + 1, 0)
            if len(small_content) == size:  # one byte more was asked for
                if content is None:
                    return hashlib.sha256(small_content).hexdigest(), size
                if size < content.pack.own_file_bytes:
                    return content.pack.put(small_content, owner=content.owner), size
        if content is None:
            with translate_os_errors(path.path):
                return _digest(fd, status.st_size)
        if status.st_size >= content.pack.own_file_bytes:
            return content.pack.put_file(fd, owner=content.owner, most=content.max_bytes)
        with translate_os_errors(path.path):
            data = _read(fd, status.st_size, content.pack.own_file_bytes)
        if data is None:
            raise StateChanged(f"'{shown(path.path)}' grew while it was read. Check it again.")
        return content.pack.put(data, owner=content.owner), len(data)

    def _link(self, path: WorkspacePath, status: os.stat_result) -> PathImage:
        parent = self._last.at("/".join(path.parts[:-1]))
        try:
            target = os.fsencode(os.readlink(path.name, dir_fd=parent))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT):
                raise ToolFault(f"The link '{shown(path.path)}' cannot be read: {error.strerror}.") from None
            raise StateChanged(f"'{shown(path.path)}' was replaced while it was read. Check it again.") from None
        content = self._content
        digest = content.pack.put(target, owner=content.owner) if content else hashlib.sha256(target).hexdigest()
        return PathImage(path.path, PathKind.SYMLINK, digest, 0, len(target), status.st_mtime_ns)


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
    while chunk := os.read(fd, requested := min(size + 1, _CHUNK)):
        yield chunk
        read += len(chunk)
        if read == size and len(chunk) < requested:
            return


def refuse_special(images: Iterable[PathImage]) -> None:
    """Raises: WrongKind."""
    for image in images:
        if image.kind is PathKind.SPECIAL:
            raise WrongKind(
                f"'{shown(image.path)}' is a pipe, a socket or a device: it cannot be restored, so it is not touched."
            )
