"""Keeps the holes of large files when their contents are copied, kept or restored: zeros that take no space on the disk."""

import errno
import os
from collections.abc import Iterator
from itertools import groupby

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_BLOCK_OF_STAT = 512


def pieces_with_data(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields what must be written, each piece with its offset. Whole blocks of zeros between them are left out."""
    starts = range(0, len(data), _BLOCK)
    for is_empty, run in groupby(starts, key=lambda start: data[start : start + _BLOCK] == _ZEROS):
        if not is_empty:
            found = list(run)
            start, end = found[0], found[-1] + _BLOCK
            yield start, data if start == 0 and end >= len(data) else data[start:end]


def has_holes(found: os.stat_result) -> bool:
    return found.st_blocks * _BLOCK_OF_STAT < found.st_size


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
