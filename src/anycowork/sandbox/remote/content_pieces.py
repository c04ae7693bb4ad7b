"""Contents of files in pieces, as they travel between the server and a worker: a line that breaks loses one piece."""

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import Conflict, Invalid, ToolFault
from anycowork.domain.job_workers import WorkspaceChanged
from anycowork.sandbox.remote.remote_run import RemoteRun
from anycowork.sandbox.remote.tree_manifest import FILE, LARGEST_FILE

BATCH_BYTES = 8 << 20
MOST_HASHES = 512


def read_pieces(run: RemoteRun, hashes: Sequence[str], offset: int = 0, most_bytes: int = BATCH_BYTES) -> list[bytes]:
    """Returns the first of these contents, of the first one what follows `offset`; the last one may be cut. At least one is returned.

    Raises: Invalid, WorkspaceChanged.
    """
    if not run.by_hash:
        run.by_hash = {entry.hash: entry.place for entry in run.entries.values() if entry.kind == FILE}
    if not 0 < len(hashes) <= MOST_HASHES or not run.by_hash.keys() >= set(hashes):
        raise Invalid(f"Ask for 1 to {MOST_HASHES} contents that the run's manifest names.", param="hashes")
    pieces: list[bytes] = []
    room = min(most_bytes, BATCH_BYTES)
    for hash_ in hashes:
        if pieces and room <= 0:
            break
        pieces.append(_read_piece(run, hash_, offset, max(room, 1)))
        room, offset = room - len(pieces[-1]), 0
    return pieces


def _read_piece(run: RemoteRun, hash_: str, offset: int, most_bytes: int) -> bytes:
    """Raises: WorkspaceChanged."""
    state: tuple[int, ...] = ()
    try:
        with run.jail.regular_file(run.by_hash[hash_]) as (fd, status):
            state = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            if offset and run.sent.get(hash_) == state:  # all of it was hashed for its first piece
                return os.pread(fd, most_bytes, offset)
            with os.fdopen(os.dup(fd), "rb") as file:
                content = file.read(LARGEST_FILE + 1)
    except ToolFault:
        content = b""  # it is gone, or is no file any more
    if sha256(content).hexdigest() != hash_:
        raise WorkspaceChanged("A file of the workspace changed while it was sent. Run the command again.")
    run.sent[hash_] = state
    return content[offset : offset + most_bytes]


def append_piece(path: Path, offset: int, data: bytes) -> None:
    """A piece that is there already is taken again: its answer was lost with the connection. Raises: Conflict."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(fd).st_size
        if size == offset + len(data) and os.pread(fd, len(data), offset) == data:
            return
        if size != offset:
            raise Conflict(f"The next piece of this content begins at {size}.")
        os.pwrite(fd, data, offset)
    finally:
        os.close(fd)


def remove_contents(run: RemoteRun) -> None:
    """Removes what came back of a run that is given again."""
    for path in run.contents.values():
        path.unlink(missing_ok=True)
    run.contents.clear()
