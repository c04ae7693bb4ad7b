"""A sandbox that is being started: what it is held back by, what bubblewrap tells of it, and when nothing of it is left."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from anycowork.domain.errors import ToolFault

_SECONDS_TO_DIE = 10.0


class SandboxFailed(ToolFault):
    """The sandbox could not be set up, so the command never ran."""

    code = "sandbox_failed"


@dataclass(slots=True)
class Latch:
    """What a command is held back by until it is opened. Should the server die, it opens by itself, and the tether ends the command."""

    read_end: int
    _write_end: int

    @classmethod
    @contextmanager
    def made(cls) -> "Iterator[Latch]":
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


@dataclass(slots=True)
class Tether:
    """What a command is tied to the server by: a pipe whose other end only the server holds, and never writes to.

    Bubblewrap ties its processes to their parents one after the other, and one that is tied to a parent that is dead already outlives
    it. So the command itself looks, once all of them are tied, whether there is still a server; without one it does not begin.
    """

    read_end: int

    @classmethod
    @contextmanager
    def made(cls) -> "Iterator[Tether]":
        read_end, write_end = os.pipe()
        try:
            yield cls(read_end)
        finally:
            os.close(write_end)
            os.close(read_end)


@dataclass(slots=True)
class BeginMark:
    """A pipe that the shell inside writes to just before the command: what is not marked has not run. A command cannot take that back."""

    _read_end: int
    write_end: int

    @classmethod
    @contextmanager
    def made(cls) -> "Iterator[BeginMark]":
        mark = cls(*os.pipe())
        os.set_blocking(mark._read_end, False)
        try:
            yield mark
        finally:
            os.close(mark._read_end)
            os.close(mark.write_end)

    def is_set(self) -> bool:
        """Once: reading takes the mark away."""
        try:
            return bool(os.read(self._read_end, 1))
        except BlockingIOError:
            return False


@dataclass(slots=True)
class BubblewrapStatus:
    """What bubblewrap tells of itself: the process that all others of the command die with, its network, and whether the command began.

    Bubblewrap is given both ends: were the server's the only one to read from, then bubblewrap would die of speaking to a dead server,
    and leave its child asleep, waiting for a word that never comes.
    """

    read_end: int
    write_end: int
    began: bool = False
    _told: bytes = b""
    _init: int | None = None
    _named: asyncio.Event = field(default_factory=asyncio.Event)
    _process: int = 0
    _network: int = 0

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
        """From now on, on the running loop: the process is held as soon as it is named, before its number can be given again."""
        asyncio.get_running_loop().add_reader(self.read_end, self._take)

    async def told(self) -> tuple[int, int]:
        """The sandbox's first process and the number of its network, as soon as they are known. Waits as long as it runs."""
        await self._named.wait()
        return self._process, self._network

    async def all_gone(self) -> None:
        """Ends what is left of the command and returns when it is gone. Raises: SandboxFailed if that will not die."""
        self._take()
        if self._init is None:
            return
        _end(self._init)  # bubblewrap may have died before it had tied this one to itself
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(self._init, ended.set)
        try:
            async with asyncio.timeout(_SECONDS_TO_DIE):
                await ended.wait()
        except TimeoutError:
            raise SandboxFailed("Processes of the command could not be ended, so its changes were dropped.") from None
        finally:
            loop.remove_reader(self._init)

    def close(self) -> None:
        try:
            asyncio.get_running_loop().remove_reader(self.read_end)
        except RuntimeError:
            pass  # tried out without a loop
        for fd in (self.read_end, self.write_end, self._init):
            if fd is not None:
                os.close(fd)

    def _take(self) -> None:
        while True:
            try:
                piece = os.read(self.read_end, 4096)
            except BlockingIOError:
                break
            if not piece:
                break
            self._told += piece
        *whole, self._told = self._told.split(b"\n")
        for line in whole:
            if line:
                self._learn(line)

    def _learn(self, line: bytes) -> None:
        try:
            told = json.loads(line)
        except ValueError:
            return  # nothing that bubblewrap says
        if "exit-code" in told:
            self.began = True
        if "child-pid" in told and self._init is None:
            try:
                self._init = os.pidfd_open(told["child-pid"])
            except ProcessLookupError:
                pass  # over already
            self._process, self._network = told["child-pid"], told.get("net-namespace", 0)
            self._named.set()


def _end(process: int) -> None:
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # gone already; or somebody else's, whom bubblewrap's end has ended
