"""Runs a program with limits on time and output, and always ends its whole process group."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from types import TracebackType
from typing import IO

from anycowork.domain.values import value

_GRACE = 2.0  # seconds between asking a group to end and killing it
_PIECE = 65_536
_POLL_SECONDS = 0.2  # seconds


class ChildEnding(Enum):
    ITSELF = auto()
    TIMED_OUT = auto()
    TOO_MUCH_OUTPUT = auto()
    DISK_FULL = auto()


@value
class ChildResult:
    """`exit_code` is negative for a signal, as the system reports it."""

    how: ChildEnding
    exit_code: int
    output: bytes
    errors: bytes
    seconds: float


@value
class ChildLimits:
    """`most_seconds` is the longest time that a caller may request, if there is one."""

    seconds: float
    output: int  # bytes; the same limit applies to a separate stderr
    most_seconds: float | None = None


async def run_child(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    bounds: ChildLimits,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    errors_apart: bool = False,
    on_output: Callable[[bytes], None] | None = None,
    pass_fds: Sequence[int] = (),
    must_stop: Callable[[], bool] | None = None,
) -> ChildResult:
    """Runs `argv` in a new session until it ends or a limit is reached; then nothing of its process group is left.

    Calls `must_stop` while it runs, which tells whether the disk has become too full to continue. A cancellation kills the group at once
    and propagates. Background processes of the program end with it. Raises: OSError if it cannot be started.
    """
    started = time.monotonic()
    with _Pipe(bounds.output, on_output) as output, _Pipe(bounds.output, None) as errors:
        process = ChildProcess(
            argv,
            stdin=stdin,
            stdout=output.write_end,
            stderr=errors.write_end if errors_apart else output.write_end,
            cwd=cwd,
            env=env,
            pass_fds=tuple(pass_fds),
        )
        how = ChildEnding.TIMED_OUT
        try:
            for pipe in (output, errors):
                pipe.start(when_full=lambda: signal_group(process.pid, signal.SIGKILL))
            how = await _first_of(process, bounds.seconds, must_stop)
            if how is not ChildEnding.ITSELF:
                signal_group(process.pid, signal.SIGTERM)
                await ends_within(process, _GRACE)
        finally:
            signal_group(process.pid, signal.SIGKILL)
            await process.wait()
        output.drain()
        errors.drain()
        if how is ChildEnding.ITSELF and (output.full or errors.full):
            how = ChildEnding.TOO_MUCH_OUTPUT
        return ChildResult(how, process.exit_code, bytes(output.data), bytes(errors.data), time.monotonic() - started)


async def _first_of(process: "ChildProcess", seconds: float, must_stop: Callable[[], bool] | None) -> ChildEnding:
    """Returns what comes first: its end, its time limit, or a request to stop, which is polled."""
    ends = time.monotonic() + seconds
    while (remaining := ends - time.monotonic()) > 0:
        if await ends_within(process, remaining if must_stop is None else min(remaining, _POLL_SECONDS)):
            return ChildEnding.ITSELF
        if must_stop is not None and must_stop():
            return ChildEnding.DISK_FULL
    return ChildEnding.TIMED_OUT


async def ends_within(process: "ChildProcess", seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        return False
    return True


def signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass  # the group is empty (macOS reports it with EPERM)


class ChildProcess:
    """A child process that the loop waits for by descriptor.

    Not the loop's own: uvloop copies the whole server's page tables for each child, which costs several times the child itself.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        stdin: int | IO[bytes],
        stdout: int,
        stderr: int,
        cwd: str,
        env: Mapping[str, str],
        pass_fds: tuple[int, ...],
    ) -> None:
        """Raises: OSError if it cannot be started."""
        self._popen = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            pass_fds=pass_fds,
        )
        self.pid = self._popen.pid

    @property
    def exit_code(self) -> int:
        return self._popen.returncode or 0

    async def wait(self) -> None:
        """Returns when it has ended and was reaped."""
        if self._popen.returncode is not None:
            return
        if not hasattr(os, "pidfd_open"):
            await asyncio.to_thread(self._popen.wait)
            return
        loop, process_ended = asyncio.get_running_loop(), asyncio.Event()
        process = os.pidfd_open(self.pid)
        loop.add_reader(process, process_ended.set)
        try:
            await process_ended.wait()
        finally:
            loop.remove_reader(process)
            os.close(process)
        self._popen.wait()


class _Pipe:
    """A pipe whose read end the event loop drains into `data`, up to a limit.

    Not asyncio's: theirs ends only when every holder of the write end is gone, daemons included.
    """

    def __init__(self, most: int, on_output: Callable[[bytes], None] | None) -> None:
        self.data = bytearray()
        self.full = False
        self._most = most
        self._on_output = on_output
        self._when_full: Callable[[], None] | None = None
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)

    def __enter__(self) -> "_Pipe":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._read_end)
        self._close_write_end()
        os.close(self._read_end)

    def start(self, *, when_full: Callable[[], None]) -> None:
        """Call it when the child has its copy of the write end."""
        self._when_full = when_full
        self._close_write_end()
        asyncio.get_running_loop().add_reader(self._read_end, self._read)

    def drain(self) -> None:
        """Reads what is still in the pipe; does not wait for further writers."""
        while self._read():
            pass

    def _read(self) -> bool:
        try:
            piece = os.read(self._read_end, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            asyncio.get_running_loop().remove_reader(self._read_end)
            return False
        self._keep(piece)
        return not self.full

    def _keep(self, piece: bytes) -> None:
        kept_piece = piece[: self._most - len(self.data)]
        self.data += kept_piece
        if kept_piece and self._on_output is not None:
            self._on_output(kept_piece)
        if len(kept_piece) < len(piece):
            self.full = True
            if self._when_full is not None:
                self._when_full()

    def _close_write_end(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1
