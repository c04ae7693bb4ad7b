"""Reads and writes one file of the pack: a sequence of entries, each a checked header (hash, size) and its content. Contains no policy."""

import errno
import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from anycowork.domain.values import leaf_value
from anycowork.workspace.sparse_files import pieces_with_data

CHUNK = 1 << 20
_PLAIN = struct.Struct(">4s32sQ")
_CHECKED = struct.Struct(">4s32sQI")
_MAGIC = b"acw1"
HEADER_BYTES = _CHECKED.size


@leaf_value
class PackEntry:
    file: str
    offset: int  # of the content
    size: int


def header(digest: str, size: int) -> bytes:
    plain = _PLAIN.pack(_MAGIC, bytes.fromhex(digest), size)
    return plain + zlib.crc32(plain).to_bytes(4)


def entries_in(fd: int, file: str, total: int) -> Iterator[tuple[str, PackEntry]]:
    """Yields entries with a complete header and content, up to the first incomplete one."""
    at = 0
    while len(raw := os.pread(fd, HEADER_BYTES, at)) == HEADER_BYTES:
        magic, digest, size, check = _CHECKED.unpack(raw)
        start = at + HEADER_BYTES
        if magic != _MAGIC or check != zlib.crc32(raw[: _PLAIN.size]) or start + size > total:
            return
        yield digest.hex(), PackEntry(file, start, size)
        at = start + size


def anything_after(fd: int, end: int) -> bool:
    """Tells whether entries may follow the unreadable one at `end`: then it was damaged, not torn by a crash."""
    at, tail = end + 1, b""
    while chunk := os.pread(fd, CHUNK, at):
        if _MAGIC in tail + chunk:
            return True
        at, tail = at + len(chunk), chunk[-len(_MAGIC) :]
    return False


def intact(fd: int, digest: str, entry: PackEntry) -> bool:
    check = hashlib.sha256()
    at, end = entry.offset, entry.offset + entry.size
    while at < end and (chunk := os.pread(fd, min(CHUNK, end - at), at)):
        check.update(chunk)
        at += len(chunk)
    return check.hexdigest() == digest


def copy_to_entry(source: int, target: Path, most: int) -> tuple[str, int]:
    """Writes the content first and its header last: a file without a complete header holds nothing. Raises: OSError."""
    check, size = hashlib.sha256(), 0
    with opened(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as fd:
        while chunk := os.read(source, CHUNK):
            if size + len(chunk) > most:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            for start, piece in pieces_with_data(chunk):
                write_all(fd, piece, HEADER_BYTES + size + start)
            check.update(chunk)
            size += len(chunk)
        os.ftruncate(fd, HEADER_BYTES + size)  # it may end with a hole
        write_all(fd, header(check.hexdigest(), size), 0)
        os.fsync(fd)
    return check.hexdigest(), size


def write_all(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


def write_chunks(fd: int, chunks: Iterable[bytes]) -> None:
    """Writes a large content into a new file. Blocks of zeros become holes: a restored disk image must not fill the disk."""
    size = 0
    for chunk in chunks:
        for start, piece in pieces_with_data(chunk):
            write_all(fd, piece, size + start)
        size += len(chunk)
    os.ftruncate(fd, size)


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    fd = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


def sync_folder(folder: Path) -> None:
    with opened(folder, os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.fsync(fd)
