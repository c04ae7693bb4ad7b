"""The packs of other processes on the same database: a content that this process never stored is copied from there, if it can be read.

The folders are named in the database, each with the random id that lies in it: on another machine the same path may be another folder.
Nothing is written there, and a content counts only if it has its hash.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anycowork.domain.values import value
from anycowork.workspace.packfile import HEADER_BYTES, PackEntry, entries_in, intact, opened

if TYPE_CHECKING:
    from anycowork.checkpoints.pack import Pack

ID_FILE = "pack-id"
_PACK, _OWN = ".pack", ".blob"


@value
class PackFolder:
    """Where another process keeps its contents: `kind` is "server" or "worker"."""

    id: str
    kind: str
    host: str
    folder: str


class OtherPacks:
    """`folders` returns those of the other processes; it blocks. Thread-safe: each call reads the files anew where they grew."""

    def __init__(self, folders: Callable[[], Sequence[PackFolder]]) -> None:
        self._folders = folders
        self._entries: dict[Path, tuple[int, dict[str, PackEntry]]] = {}

    def copy(self, digest: str, target: "Pack") -> bool:
        """Copies the content into the pack. Returns False if none of the other packs can be read and has it."""
        for pack_folder in self._folders():
            if _is_readable(pack_folder):
                with suppress(OSError):  # its process sweeps meanwhile
                    if self._copy_from(Path(pack_folder.folder), digest, target):
                        return True
        return False

    def unreadable(self) -> list[PackFolder]:
        """Returns the folders that this process cannot read: they are on another machine, or another user's."""
        return [pack_folder for pack_folder in self._folders() if not _is_readable(pack_folder)]

    def _copy_from(self, folder: Path, digest: str, target: "Pack") -> bool:
        own_file = folder / f"{digest}{_OWN}"
        if own_file.is_file():
            with opened(own_file, os.O_RDONLY) as fd:
                size = os.fstat(fd).st_size - HEADER_BYTES
                if not intact(fd, digest, PackEntry(own_file.name, HEADER_BYTES, size)):
                    return False
                os.lseek(fd, HEADER_BYTES, os.SEEK_SET)
                target.put_file(fd, most=size)
            return True
        for path in sorted(folder.glob(f"*{_PACK}"), reverse=True):
            with opened(path, os.O_RDONLY) as fd:
                entry = self._entries_of(path, fd).get(digest)
                if entry is not None and intact(fd, digest, entry):
                    target.put(os.pread(fd, entry.size, entry.offset))
                    return True
        return False

    def _entries_of(self, path: Path, fd: int) -> dict[str, PackEntry]:
        size = os.fstat(fd).st_size
        cached = self._entries.get(path)
        if cached is None or cached[0] != size:
            cached = self._entries[path] = (size, dict(entries_in(fd, path.name, size)))
        return cached[1]


def pack_id(folder: Path) -> str:
    """Returns the id of this process's own pack, which is new if it had none. Raises: OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    id_text = _read_id(folder)
    if id_text is None:
        id_text = secrets.token_hex(16)
        with opened(folder / ID_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
            os.write(fd, f"{id_text}\n".encode())
    return id_text


def _is_readable(pack_folder: PackFolder) -> bool:
    return _read_id(Path(pack_folder.folder)) == pack_folder.id


def _read_id(folder: Path) -> str | None:
    try:
        return (folder / ID_FILE).read_text().strip() or None
    except (OSError, ValueError):
        return None


def describe_folders(folders: Sequence[PackFolder]) -> Iterator[str]:
    """Yields where contents are, for people."""
    for pack_folder in folders[:3]:
        yield f"the {pack_folder.kind} on {pack_folder.host} ({pack_folder.folder})"
