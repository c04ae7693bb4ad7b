"""The pack: stores contents by SHA-256 in append-only files outside every workspace, and verifies them on every read.

A large content has a separate file. A caller who knows what is needed sweeps out the rest. A crash can tear only the newest entries, which
are dropped when the pack is opened again. `packfile.py` defines the file format.
"""

import errno
import hashlib
import logging
import os
import threading
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Self

from anycowork.checkpoints.other_packs import OtherPacks
from anycowork.checkpoints.pack_index import AppendFile, PackIndex, close_all, require_named
from anycowork.workspace.packfile import (
    CHUNK,
    HEADER_BYTES,
    PackEntry,
    anything_after,
    copy_to_entry,
    entries_in,
    header,
    intact,
    opened,
    sync_folder,
    write_all,
)

SEGMENT_BYTES = 16 << 20
OWN_FILE_BYTES = 4 << 20  # contents from this size on get a separate file, written without blocking others
_PACK, _OWN = ".pack", ".blob"
_TRIES = 3  # to open a content's file that a sweep moves meanwhile

log = logging.getLogger(__name__)


class Damaged(Exception):
    """The content is missing, or was altered."""


class Pack:
    """Blocking and thread-safe. Disk errors are raised as OSError; nothing half-written is ever found again."""

    def __init__(
        self,
        folder: Path,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        own_file_bytes: int = OWN_FILE_BYTES,
        others: OtherPacks | None = None,
    ) -> None:
        """`others` are the packs of other processes: what this one lacks is copied from there."""
        self.folder = folder
        self.others = others
        self._segment_bytes = segment_bytes
        self.own_file_bytes = own_file_bytes
        self._lock = threading.RLock()
        self._known: PackIndex | None = None
        self._fresh: dict[str, set[str]] = {}
        self._recorded: set[str] = set()
        self._pen = AppendFile(folder)

    @property
    def size(self) -> int:
        """Returns the bytes on disk."""
        with self._lock:
            return sum(self._state().sizes.values())

    def has(self, digest: str) -> bool:
        with self._lock:
            return digest in self._state().index

    # --- keeping

    def begin(self, owner: str) -> None:
        """Protects what `owner` puts from now on against sweeping, until it begins again: its earlier contents are recorded by then."""
        with self._lock:
            self._recorded |= self._fresh.pop(owner, set())

    def put(self, data: bytes, *, owner: str = "") -> str:
        """Stores a content and returns its hash. It is durable after `sync`."""
        digest = hashlib.sha256(data).hexdigest()
        with self._lock:
            self._fresh.setdefault(owner, set()).add(digest)
            state = self._state()
            if digest not in state.index:
                self._append(state, digest, data)
        return digest

    def put_all(self, contents: Iterable[tuple[str, bytes]], *, owner: str = "") -> None:
        """Stores contents whose hashes are known, many with one write. They are durable after `sync`."""
        with self._lock:
            state = self._state()
            fresh = self._fresh.setdefault(owner, set())
            new: dict[str, bytes] = {}
            size = 0
            index = state.index
            for digest, data in contents:
                fresh.add(digest)
                if digest in index or digest in new:
                    continue
                new[digest] = data
                size += HEADER_BYTES + len(data)
                if size >= CHUNK:
                    self._append_all(state, new)
                    new, size = {}, 0
            if new:
                self._append_all(state, new)

    def put_file(self, fd: int, *, owner: str = "", most: int) -> tuple[str, int]:
        """Stores everything readable from `fd` in a separate file, durable at once. Returns its hash and size.

        Raises: OSError (EFBIG if there are more than `most` bytes).
        """
        with self._lock:
            self._state()
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self.folder / f"{threading.get_native_id()}-{os.urandom(6).hex()}.tmp"
        try:
            digest, size = copy_to_entry(fd, temporary, most)
            self._adopt(temporary, digest, size, owner)
        finally:
            temporary.unlink(missing_ok=True)
        return digest, size

    def sync(self, digests: Collection[str | None] | None = None) -> None:
        """Returns when these contents are on disk, or everything that was put if none are named.

        If the disk refuses, everything put since the last sync is forgotten. Raises: OSError, also for a content that was forgotten
        because another caller's sync failed.
        """
        with self._lock:
            state = self._state()
            if digests is not None:
                if any(digest is not None and digest not in state.index for digest in digests):
                    raise OSError(errno.EIO, "the disk has given up contents that were not written yet")
                if not any(map(state.is_unsynced, digests)):
                    return
            for file in sorted(state.unsynced):
                fd = self._pen.on(file)
                try:
                    require_named(fd, file)
                    os.fdatasync(fd)
                except OSError:
                    self._forget_unsynced(state, file, fd)
                    raise
                del state.unsynced[file]

    def _forget_unsynced(self, state: PackIndex, file: str, fd: int) -> None:
        """Drops unsynced entries: a second sync would report success although the kernel has given those bytes up."""
        start = state.unsynced.pop(file)
        state.index = {d: entry for d, entry in state.index.items() if entry.file != file or entry.offset < start}
        state.current = None
        os.ftruncate(fd, start)
        state.sizes[file] = start
        self._pen.close()

    # --- reading

    def chunks(self, digest: str) -> Iterator[bytes]:
        """Yields the content in pieces. Raises: Damaged, at the end if the content read differs from the content put."""
        with self.reader() as reader:
            yield from reader.chunks(digest)

    def read(self, digest: str) -> bytes:
        """Raises: Damaged."""
        return b"".join(self.chunks(digest))

    def reader(self) -> "PackReader":
        """Returns a reader for many contents in turn. It belongs to one thread."""
        return PackReader(self)

    def find(self, digest: str) -> PackEntry:
        """Returns where the content is. Raises: Damaged."""
        entry = self._entry(digest)
        if entry is None and self.others is not None and self.others.copy(digest, self):
            entry = self._entry(digest)
        if entry is None:
            raise Damaged(digest)
        return entry

    def _entry(self, digest: str) -> PackEntry | None:
        with self._lock:
            return self._state().index.get(digest)

    def open_file(self, file: str) -> int:
        """Raises: OSError."""
        return os.open(self.folder / file, os.O_RDONLY | os.O_CLOEXEC)

    def lost(self, digest: str) -> Damaged:
        """Forgets the content, so that it is stored again when it is put again."""
        with self._lock:
            self._state().index.pop(digest, None)
        log.error("a stored content is damaged or missing: %s", digest)
        return Damaged(digest)

    # --- sweeping

    def mark(self) -> None:
        """Call this before looking up what is needed: contents recorded after it are not swept by mistake."""
        with self._lock:
            self._recorded.clear()

    def sweep(self, needed: set[str], *, most: int) -> None:
        """Deletes files that hold nothing needed, and moves needed contents out of files that hold few of them;
        if more than `most` bytes are left, out of every file that holds anything else."""
        with self._lock:
            self.sync()
            state = self._state()
            needed = needed | self._recorded | {digest for fresh in self._fresh.values() for digest in fresh}
            needed_by_file: dict[str, dict[str, PackEntry]] = {file: {} for file in state.sizes}
            for digest, entry in state.index.items():
                if digest in needed:
                    needed_by_file[entry.file][digest] = entry
            self._pen.close()
            state.current = None  # moved contents go to a new file, never into one that is about to be deleted
            used = {
                file: sum(HEADER_BYTES + entry.size for entry in entries.values())
                for file, entries in needed_by_file.items()
            }
            for file in sorted(needed_by_file, key=lambda file: used[file] / max(1, state.sizes[file])):
                total = sum(state.sizes.values())
                if used[file] * 2 <= state.sizes[file] or (total > most and used[file] < state.sizes[file]):
                    self._move_out(state, file, needed_by_file[file])

    def _move_out(self, state: PackIndex, file: str, entries: dict[str, PackEntry]) -> None:
        digests = [digest for digest, entry in state.index.items() if entry.file == file]
        for digest, entry in entries.items():
            with opened(self.folder / file, os.O_RDONLY) as fd:
                data = os.pread(fd, entry.size, entry.offset)
            if hashlib.sha256(data).hexdigest() == digest:
                self._append(state, digest, data)
        self.sync()
        for digest in digests:
            if state.index[digest].file == file:
                del state.index[digest]
        (self.folder / file).unlink(missing_ok=True)
        del state.sizes[file]

    # --- files

    def _append(self, state: PackIndex, digest: str, data: bytes) -> None:
        self._append_all(state, {digest: data})

    def _append_all(self, state: PackIndex, contents: dict[str, bytes]) -> None:
        """Appends all with one write, or none."""
        file = self._writable_file(state, sum(map(len, contents.values())))
        offset = end = state.sizes[file]
        fd = self._pen.on(file)
        pieces: list[bytes] = []
        entries: dict[str, PackEntry] = {}
        for digest, data in contents.items():
            size = len(data)
            pieces.append(header(digest, size))
            pieces.append(data)
            end += HEADER_BYTES
            entries[digest] = PackEntry(file, end, size)
            end += size
        try:
            write_all(fd, b"".join(pieces), offset)
        except OSError:
            os.ftruncate(fd, offset)
            raise
        state.sizes[file] = end
        state.index.update(entries)
        state.unsynced.setdefault(file, offset)

    def _writable_file(self, state: PackIndex, size: int) -> str:
        if state.current is not None and state.sizes[state.current] + size <= self._segment_bytes:
            return state.current
        self.sync()  # so that only the newest file can hold entries torn by a crash
        newest = max((file for file in state.sizes if file.endswith(_PACK)), default="0")
        file = f"{int(newest.removesuffix(_PACK)) + 1:010d}{_PACK}"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with opened(self.folder / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL):
            pass
        sync_folder(self.folder)
        state.current, state.sizes[file] = file, 0
        return file

    def _adopt(self, temporary: Path, digest: str, size: int, owner: str) -> None:
        file = f"{digest}{_OWN}"
        with self._lock:
            state = self._state()
            self._fresh.setdefault(owner, set()).add(digest)
            if digest in state.index:
                return
            temporary.rename(self.folder / file)
            sync_folder(self.folder)
            state.sizes[file] = HEADER_BYTES + size
            state.index[digest] = PackEntry(file, HEADER_BYTES, size)

    def _state(self) -> PackIndex:
        if self._known is None:
            self._known = self._opened_state()
        return self._known

    def _opened_state(self) -> PackIndex:
        state = PackIndex()
        for leftover in self.folder.glob("*.tmp"):
            leftover.unlink(missing_ok=True)
        files = sorted(path.name for path in self.folder.glob(f"*{_PACK}"))
        for file in files:
            self._load_file(state, file, newest=file == files[-1])
        for path in self.folder.glob(f"*{_OWN}"):
            self._load_file(state, path.name, newest=False)
        return state

    def _load_file(self, state: PackIndex, file: str, *, newest: bool) -> None:
        with opened(self.folder / file, os.O_RDWR) as fd:
            total, end = os.fstat(fd).st_size, 0
            for digest, entry in entries_in(fd, file, total):
                # Only the newest file can hold unsynced data; there a header alone proves nothing.
                if not newest or intact(fd, digest, entry):
                    state.index[digest] = entry
                    end = entry.offset + entry.size
            if newest and end < total and not anything_after(fd, end):
                os.ftruncate(fd, end)
                total = end
        if end < total:
            log.error("the pack's file %s cannot be read from byte %d on", file, end)
        state.sizes[file] = total
        if newest and end == total < self._segment_bytes:
            state.current = file


class PackReader:
    """Reads contents from the pack, and keeps the file that was read last open: contents put together lie together.

    A sweep may move a content and unlink its file at any time. Then the content is found in its new file, or is read from the old one,
    which stays readable while it is open.
    """

    def __init__(self, pack: Pack) -> None:
        self._pack = pack
        self._held: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        close_all(self._held)

    def chunks(self, digest: str) -> Iterator[bytes]:
        """Yields the content in pieces. Raises: Damaged, at the end if the content read differs from the content put."""
        if (small := self.small(digest)) is not None:
            yield small
            return
        fd, entry = self._opened(digest)
        check = hashlib.sha256()
        offset, end = entry.offset, entry.offset + entry.size
        while offset < end and (chunk := os.pread(fd, min(CHUNK, end - offset), offset)):
            check.update(chunk)
            offset += len(chunk)
            yield chunk
        if check.hexdigest() != digest:
            raise self._pack.lost(digest)

    def small(self, digest: str) -> bytes | None:
        """Returns a content of at most one piece, None for a larger one. Raises: Damaged; OSError if it cannot be read now."""
        fd, entry = self._opened(digest)
        if entry.size > CHUNK:
            return None
        data = os.pread(fd, entry.size, entry.offset)
        if hashlib.sha256(data).hexdigest() != digest:
            raise self._pack.lost(digest)
        return data

    def verify(self, digest: str) -> None:
        """Reads the whole content. Raises: Damaged."""
        if self.small(digest) is None:
            for _ in self.chunks(digest):
                pass

    def _opened(self, digest: str) -> tuple[int, PackEntry]:
        entry = self._pack.find(digest)
        if entry.file in self._held:
            return self._held[entry.file], entry
        close_all(self._held)
        for _ in range(_TRIES):
            try:
                self._held[entry.file] = self._pack.open_file(entry.file)
            except FileNotFoundError:
                moved = self._pack.find(digest)
                if moved == entry:
                    break
                entry = moved
            else:
                return self._held[entry.file], entry
        raise self._pack.lost(digest)
