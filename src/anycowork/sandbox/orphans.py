"""Ends sandboxes that outlived their server: finds them by our folders in their arguments. Touches no others."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_PROCESSES = Path("/proc")
_PROGRAM = b"bwrap"


def end_orphans(folders: Iterable[Path]) -> int:
    """Ends every bubblewrap that has a path in one of these folders, with everything in it. Returns how many.

    Only for the sole owner of these folders, before it has started any sandbox. Blocking.
    """
    prefixes = [os.fsencode(folder) + b"/" for folder in folders]
    if not hasattr(os, "pidfd_open"):
        return 0  # not Linux, so there is no bubblewrap either
    return sum(_ended(pid, prefixes) for pid in _pids())


def _ended(pid: int, prefixes: list[bytes]) -> bool:
    if not _is_orphan(pid, prefixes):
        return False
    try:
        with _held(pid) as process:
            if not _is_orphan(pid, prefixes):
                return False  # its number was reused before we held it
            signal.pidfd_send_signal(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False  # already ended
    return True


def _is_orphan(pid: int, prefixes: list[bytes]) -> bool:
    """Ours or, if we are root, a process of a user whom we run commands as; other users' arguments do not count."""
    try:
        owner = (_PROCESSES / str(pid)).stat().st_uid
        arguments = (_PROCESSES / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    if os.geteuid() not in (0, owner) or arguments[0].split(b"/")[-1] != _PROGRAM:
        return False
    return any(word.startswith(prefix) for word in arguments[1:] for prefix in prefixes)


@contextmanager
def _held(pid: int) -> Iterator[int]:
    process = os.pidfd_open(pid)
    try:
        yield process
    finally:
        os.close(process)


def _pids() -> list[int]:
    try:
        return [int(entry.name) for entry in _PROCESSES.iterdir() if entry.name.isdigit()]
    except OSError:
        return []
