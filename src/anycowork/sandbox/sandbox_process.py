"""Tracks a starting sandbox: holds it back, reads bubblewrap's status, and waits until all its processes are gone."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import mutable_value

_SECONDS_TO_DIE = 10.0
_MOST_COUNTERS = 16_384  # bytes
_REFUSED_CONNECTIONS = (("Ip:", "OutNoRoutes"), ("Tcp:", "AttemptFails"), ("Udp:", "NoPorts"))


class SandboxFailed(ToolFault):
    """The sandbox could not be set up, so the command never ran."""

    code = "sandbox_failed"


@mutable_value
class StartLatch:
    """Holds a command back until it is opened. If the server dies, the latch opens, and the parent-death pipe ends the command."""

    read_end: int
    _write_end: int

    @classmethod
    @contextmanager
    def made(cls) -> "Iterator[StartLatch]":
        latch = cls(*os.pipe())
        try:
            yield latch
        finally:
            latch.open()
            os.close(latch.read_end)

    def open(self) -> None:
        if self._write_end >= 0:
            os.close(self._write_end)
            self._write_end = -1


@mutable_value
class ParentDeathPipe:
    """Ties a command to the server: a pipe whose other end only the server holds, and never writes to.

    Bubblewrap ties its processes to their parents one after the other, and a process tied to an already dead parent would outlive it. So
    the command checks, once all of them are tied, whether the server still exists; without one it does not start.
    """

    read_end: int

    @classmethod
    @contextmanager
    def made(cls) -> "Iterator[ParentDeathPipe]":
        read_end, write_end = os.pipe()
        try:
            yield cls(read_end)
        finally:
            os.close(write_end)
            os.close(read_end)


@mutable_value
class StartMarker:
    """A pipe that the shell inside writes to just before the command: without the mark, the command has not run.

    A command cannot undo it.
    """

    _read_end: int
    write_end: int

    @classmethod
    @contextmanager
    def made(cls) -> "Iterator[StartMarker]":
        mark = cls(*os.pipe())
        os.set_blocking(mark._read_end, False)
        try:
            yield mark
        finally:
            os.close(mark._read_end)
            os.close(mark.write_end)

    def is_set(self) -> bool:
        """Returns whether the mark was written. Works once: reading removes the mark."""
        try:
            return bool(os.read(self._read_end, 1))
        except BlockingIOError:
            return False


@mutable_value
class BubblewrapStatus:
    """Bubblewrap's status: the process that all others of the command die with, its network, and whether the command began.

    Bubblewrap gets both ends: if only the server could read, bubblewrap would die when writing to a dead server, and leave its child
    waiting forever.
    """

    read_end: int
    write_end: int
    began: bool = False
    _unfinished_line: bytes = b""
    _init: int | None = None
    _named: asyncio.Event = field(default_factory=asyncio.Event)
    _process: int = 0
    _network: int = 0
    _counters: int | None = None  # of its network: /proc/PID/net/snmp, which outlives it as long as it is open
    on_start: Callable[[], None] = lambda: None

    @classmethod
    @contextmanager
    def opened(cls) -> "Iterator[BubblewrapStatus]":
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        status = cls(read_end, write_end)
        try:
            yield status
        finally:
            status.close()

    def watch(self) -> None:
        """Watches on the running loop: the process is held as soon as it is named, before its number can be reused."""
        asyncio.get_running_loop().add_reader(self.read_end, self._read_status)

    async def started(self) -> tuple[int, int]:
        """Returns the sandbox's first process and the number of its network, as soon as they are known. Waits as long as it runs."""
        await self._named.wait()
        return self._process, self._network

    def missed_network(self) -> bool | None:
        """Returns whether the kernel refused it a connection: none leads out, or nobody listens. None if that is not known."""
        if self._counters is None:
            return None
        lines = os.pread(self._counters, _MOST_COUNTERS, 0).decode("ascii", "replace").split("\n")
        counters: dict[tuple[str, str], str] = {}
        for names, numbers in zip(lines[::2], lines[1::2], strict=False):
            group, *columns = names.split()
            counters |= {(group, name): number for name, number in zip(columns, numbers.split()[1:], strict=False)}
        return any(counters.get(counter, "0") != "0" for counter in _REFUSED_CONNECTIONS)

    async def all_gone(self) -> None:
        """Ends the rest of the command and returns when it is gone. Raises: SandboxFailed if it cannot be ended."""
        self._read_status()
        if self._init is None:
            return
        _end(self._init)  # bubblewrap may have died before it had tied this one to itself
        loop = asyncio.get_running_loop()
        process_ended = asyncio.Event()
        loop.add_reader(self._init, process_ended.set)
        try:
            async with asyncio.timeout(_SECONDS_TO_DIE):
                await process_ended.wait()
        except TimeoutError:
            raise SandboxFailed("Processes of the command could not be ended, so its changes were dropped.") from None
        finally:
            loop.remove_reader(self._init)

    def close(self) -> None:
        try:
            asyncio.get_running_loop().remove_reader(self.read_end)
        except RuntimeError:
            pass  # tried out without a loop
        for fd in (self.read_end, self.write_end, self._init, self._counters):
            if fd is not None:
                os.close(fd)

    def _read_status(self) -> None:
        while True:
            try:
                piece = os.read(self.read_end, 4096)
            except BlockingIOError:
                break
            if not piece:
                break
            self._unfinished_line += piece
        *complete_lines, self._unfinished_line = self._unfinished_line.split(b"\n")
        for line in complete_lines:
            if line:
                self._parse_line(line)

    def _parse_line(self, line: bytes) -> None:
        try:
            started = json.loads(line)  # noqa: TID251  # bubblewrap wrote it
        except ValueError:
            return  # not a status line of bubblewrap
        if "exit-code" in started:
            self.began = True
        if "child-pid" in started and self._init is None:
            try:
                self._init = os.pidfd_open(started["child-pid"])
            except ProcessLookupError:
                pass  # over already
            self._process, self._network = started["child-pid"], started.get("net-namespace", 0)
            try:
                self._counters = os.open(f"/proc/{self._process}/net/snmp", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                pass  # over already, or hidden from this user
            self._named.set()
            self.on_start()


def _end(process: int) -> None:
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # gone already; or another user's process, which ended with bubblewrap
