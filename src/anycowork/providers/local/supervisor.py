"""Supervises the child process that runs a model: starts it on first use, one model at a time, and ends it when it is idle."""

import asyncio
import json
import os
import secrets
import shlex
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path

from anycowork.domain.errors import Conflict
from anycowork.domain.provider_errors import ProviderFault, Unreachable
from anycowork.domain.values import value
from anycowork.providers.local.catalogue import free_memory, require_memory, threads_now
from anycowork.providers.local.folder import DownloadedModel

ENGINE = "xllamacpp"
CHILD = (sys.executable, "-P", str(Path(__file__).with_name("child.py")))
LOAD_SECONDS, STOP_SECONDS = 180.0, 5.0
MOST_CRASHES, WITHIN_SECONDS = 3, 600.0
_PASSED_ON = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR")  # and no keys


def install_command() -> str:
    """The command that installs the engine into the Python that runs this server, in the pinned version."""
    try:
        pins = [pin.partition(";")[0].strip() for pin in requires("anycowork") or () if pin.startswith(ENGINE)]
    except PackageNotFoundError:
        pins = []
    return shlex.join([sys.executable, "-m", "pip", "install", *(pins or [ENGINE])])


class NoEngine(ProviderFault):
    """The extra that runs local models is not installed."""

    code = "no_engine"


def engine_installed() -> bool:
    return find_spec(ENGINE) is not None


@value
class ChildAddress:
    url: str
    secret: str = field(repr=False)


@value
class _Child:
    weights: DownloadedModel
    address: ChildAddress
    process: asyncio.subprocess.Process

    @property
    def alive(self) -> bool:
        return self.process.returncode is None


class Supervisor:
    """`command` is a program with the protocol of `child.py`. `threads` None: chosen by load, at its start."""

    def __init__(
        self,
        *,
        log: Path,
        idle_seconds: float,
        threads: int | None = None,
        command: Sequence[str] = CHILD,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._idle_seconds = idle_seconds
        self._threads = threads
        self._command = command
        self._monotonic = monotonic
        self._child: _Child | None = None
        self._free = asyncio.Condition()
        self._users = 0
        self._last_used = 0.0
        self._crashes: deque[float] = deque(maxlen=MOST_CRASHES)

    @asynccontextmanager
    async def running(self, weights: DownloadedModel) -> AsyncIterator[ChildAddress]:
        """Provides the model's server while the block lasts; another model waits until this one is free.

        Raises: NoEngine, NotEnoughMemory, Unreachable.
        """
        async with self._free:
            await self._free.wait_for(lambda: not self._users or (self._child and self._child.weights == weights))
            child = await self._started(weights)
            self._users += 1
        try:
            yield child.address
        finally:
            self._users -= 1
            self._last_used = self._monotonic()
            async with self._free:
                self._free.notify_all()

    @property
    def loaded(self) -> str | None:
        """Returns the name of the model in memory."""
        return self._child.weights.model.name if self._child and self._child.alive else None

    async def watch(self) -> None:
        """Never returns: start it in the server's task group."""
        while True:
            await asyncio.sleep(min(self._idle_seconds, 30.0))
            await self.end_if_idle()

    async def end_if_idle(self) -> None:
        async with self._free:
            if not self._users and self._monotonic() - self._last_used >= self._idle_seconds:
                await self._end()

    async def release(self) -> None:
        """Removes the model from memory. Raises: Conflict while it answers."""
        async with self._free:
            if self._users:
                raise Conflict("The local model is answering. Stop that first.")
            await self._end()

    async def aclose(self) -> None:
        """Ends the child; requests that still use it fail."""
        await self._end()

    # --- the child

    async def _started(self, weights: DownloadedModel) -> _Child:
        if self._child and self._child.alive and self._child.weights == weights:
            return self._child
        if self._child and not self._child.alive:
            self._crashes.append(self._monotonic())
        await self._end()
        self._require_stable()
        require_memory(weights.model, free_memory())
        self._child = await self._start(weights)
        return self._child

    def _require_stable(self) -> None:
        recent = [crashed_at for crashed_at in self._crashes if self._monotonic() - crashed_at < WITHIN_SECONDS]
        if len(recent) == MOST_CRASHES:
            raise Unreachable(
                f"The local model's process crashed {MOST_CRASHES} times in {WITHIN_SECONDS / 60:g} minutes, "
                f"so it is not started again for now. {self._log} says why; try a smaller model."
            )

    async def _start(self, weights: DownloadedModel) -> _Child:
        if self._command is CHILD and not engine_installed():
            raise NoEngine(f"The engine for local models is not installed. Run: {install_command()}")
        secret = secrets.token_urlsafe(32)
        options = {
            "path": str(weights.path),
            "name": weights.model.name,
            "secret": secret,
            "context_tokens": weights.model.context_tokens,
            "threads": self._threads or threads_now(),
        }
        with self._log.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                start_new_session=True,  # Ctrl-C is for the server, which ends the child in order
            )
        try:
            return _Child(weights, ChildAddress(await self._listening(process, options), secret), process)
        except BaseException:
            await _ended(process)
            raise

    async def _listening(self, process: asyncio.subprocess.Process, options: dict[str, object]) -> str:
        """Returns the address once the model is loaded. Raises: Unreachable."""
        assert process.stdin and process.stdout
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                process.stdin.write(json.dumps(options).encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
            return str(json.loads(line)["address"])  # noqa: TID251  # our own process wrote it
        except TimeoutError:
            raise Unreachable(f"The local model was not loaded within {LOAD_SECONDS:g} s. Try again.") from None
        except (OSError, ValueError, KeyError):
            self._crashes.append(self._monotonic())
            raise Unreachable(f"The local model's process ended while loading. {self._log} says why.") from None

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await _ended(child.process)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Closes its input, which ends it; kills it if that fails."""
    if process.stdin:
        process.stdin.close()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
