"""Reads and writes one file of the pack: a sequence of entries, each a checked header (hash, size) and its content. Contains no policy."""

import errno
import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from anycowork.domain.values import leaf_value

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
    offset = 0
    while len(raw := os.pread(fd, HEADER_BYTES, offset)) == HEADER_BYTES:
        magic, digest, size, check = _CHECKED.unpack(raw)
        start = offset + HEADER_BYTES
        if magic != _MAGIC or check != zlib.crc32(raw[: _PLAIN.size]) or start + size > total:
            return
        yield digest.hex(), PackEntry(file, start, size)
        offset = start + size


def anything_after(fd: int, end: int) -> bool:
    """Tells whether entries may follow the unreadable one at `end`: then it was damaged, not torn by a crash."""
    offset, tail = end + 1, b""
    while chunk := os.pread(fd, CHUNK, offset):
        if _MAGIC in tail + chunk:
            return True
        offset, tail = offset + len(chunk), chunk[-len(_MAGIC) :]
    return False


def intact(fd: int, digest: str, entry: PackEntry) -> bool:
    check = hashlib.sha256()
    offset, end = entry.offset, entry.offset + entry.size
    while offset < end and (chunk := os.pread(fd, min(CHUNK, end - offset), offset)):
        check.update(chunk)
        offset += len(chunk)
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


_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_BLOCK_OF_STAT = 512


def pieces_with_data(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields what must be written, each piece with its offset. Whole blocks of zeros between them are left out."""
    starts = range(0, len(data), _BLOCK)
    for is_empty, run in groupby(starts, key=lambda start: data[start : start + _BLOCK] == _ZEROS):
        if not is_empty:
            block_starts = list(run)
            start, end = block_starts[0], block_starts[-1] + _BLOCK
            yield start, data if start == 0 and end >= len(data) else data[start:end]


def has_holes(status: os.stat_result) -> bool:
    return status.st_blocks * _BLOCK_OF_STAT < status.st_size


def ranges_with_data(fd: int, size: int) -> Iterator[tuple[int, int]]:
    """Yields start and end of each range that the file has on the disk. Raises: OSError, EINVAL where the file system cannot tell."""
    end = 0
    while end < size:
        try:
            start = os.lseek(fd, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # there is only a hole left
                return
            raise
        end = min(os.lseek(fd, start, os.SEEK_HOLE), size)
        if start < end:
            yield start, end
