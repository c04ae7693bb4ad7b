"""The processes below this test's own process. Those of another test, worker or run are never among them."""

import os
import selectors
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

Handle = int | IO[Any]


def ready_to_read(*handles: Handle, seconds: float) -> list[Handle]:
    """Those with something to read, or at their end; none if nothing came in time. Unlike `select.select` for handles above 1,023 too."""
    with selectors.PollSelector() as waiting:
        for handle in handles:
            waiting.register(handle, selectors.EVENT_READ)
        return [key.fileobj for key, _ in waiting.select(seconds)]  # type: ignore[misc]  # what was registered


def descendants() -> list[int]:
    """Every process below this one. One whose parent ended is not found any more: that needs a word that only it has (`sandboxes.running`)."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        if fields := _stat(int(folder.name)):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def started_with(word: str) -> list[int]:
    """Those below this process that have the word in their command line."""
    return [process for process in descendants() if word in command_line(process)]


def command_line(process: int) -> list[str]:
    """Its words; none if it has ended."""
    with suppress(OSError):
        return os.fsdecode(Path(f"/proc/{process}/cmdline").read_bytes().removesuffix(b"\0")).split("\0")
    return []


def is_stopped(process: int) -> bool:
    """Whether it was stopped (SIGSTOP), or has ended."""
    fields = _stat(process)
    return not fields or fields[0] in "TtZX"


def _stat(process: int) -> list[str]:
    """Its state, its parent and so on; nothing if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return []
