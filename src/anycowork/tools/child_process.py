"""Runs a program with limits on time and output, in the sandbox or beside it, and always ends its whole process group.

`command_changes.py` settles what a program in the sandbox changed.
"""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from enum import Enum, auto
from types import TracebackType
from typing import IO, TypeVar

from anycowork.domain.values import replace, value
from anycowork.sandbox.bubblewrap import VisiblePaths
from anycowork.sandbox.layers.stage import Layer, Stage
from anycowork.sandbox.network.dialer import NetworkReach, NetworkReport
from anycowork.sandbox.network.egress import Egress, proxy_environment
from anycowork.sandbox.sandbox import CommandNotStarted, Launch, Sandbox
from anycowork.sandbox.secrets.masks import MaskedPaths

_GRACE = 2.0  # seconds between asking a group to end and killing it
_PIECE = 65_536
_POLL_SECONDS = 0.2  # seconds
T = TypeVar("T")
_NOTHING_COVERED = MaskedPaths()


class ChildEnding(Enum):
    ITSELF = auto()
    TIMED_OUT = auto()
    TOO_MUCH_OUTPUT = auto()
    DISK_FULL = auto()


@value
class ChildResult:
    """`exit_code` is negative for a signal, as the system reports it. `missed_network`: the kernel refused it a connection; None if nobody
    asked the kernel."""

    how: ChildEnding
    exit_code: int
    output: bytes
    errors: bytes
    seconds: float
    missed_network: bool | None = None


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
    with ExitStack() as open_pipes:
        output = errors = open_pipes.enter_context(_Pipe(bounds.output, on_output))
        if errors_apart:
            errors = open_pipes.enter_context(_Pipe(bounds.output, None))
        pipes = {output, errors}
        process = ChildProcess(
            argv,
            stdin=stdin,
            stdout=output.write_end,
            stderr=errors.write_end,
            cwd=cwd,
            env=env,
            pass_fds=tuple(pass_fds),
        )
        how = ChildEnding.TIMED_OUT
        try:
            for pipe in pipes:
                pipe.start(when_full=lambda: signal_group(process.pid, signal.SIGKILL))
            how = await _first_of(process, bounds.seconds, must_stop)
            if how is not ChildEnding.ITSELF:
                signal_group(process.pid, signal.SIGTERM)
                await ends_within(process, _GRACE)
        finally:
            signal_group(process.pid, signal.SIGKILL)
            await process.wait()
        for pipe in pipes:
            pipe.drain()
        if how is ChildEnding.ITSELF and any(pipe.full for pipe in pipes):
            how = ChildEnding.TOO_MUCH_OUTPUT
        error_text = bytes(errors.data) if errors_apart else b""
        return ChildResult(how, process.exit_code, bytes(output.data), error_text, time.monotonic() - started)


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


@value
class SandboxedProgram:
    """What is to run, as a bash command, and its inputs. `reach` is where it may connect to; `environment` adds variables.

    One with a `sight` is foreign code: its errors are kept apart from its answer, and it shares no cache with the workspace's commands.
    """

    sandbox: Sandbox
    command: str
    bounds: ChildLimits
    on_output: Callable[[bytes], None] | None = None
    stdin: bytes = b""
    sight: VisiblePaths | None = None
    reach: NetworkReach | None = None
    egress: Egress = field(default_factory=Egress)
    environment: Mapping[str, str] = field(default_factory=dict)

    async def run(
        self,
        root: str,
        stage: Stage,
        *,
        source: tuple[str, ...] = (),
        cache_kept: bool = False,
        covered: MaskedPaths = _NOTHING_COVERED,
    ) -> tuple[ChildResult, NetworkReport | None]:
        """Runs until all processes are gone; also returns where it connected to. It sees the layers of `source` at `root`, and cannot
        read what is `covered`. Raises: SandboxFailed, ConcealedPathAppeared."""
        with self.sandbox.launch(
            self.command,
            root,
            stage,
            source=source,
            cache_kept=cache_kept,
            environment={**self.environment, **(proxy_environment(self.reach) if self.reach else {})},
            held_back=self.reach is not None,
            stdin=self.stdin,
            sight=self.sight,
            masks=covered.masks,
        ) as launch:
            launch.status.watch()
            if self.reach is None:
                return await self._watched(launch, stage, covered), None
            async with self.egress.beside(launch, stage.runner, self.reach, covered.is_intact) as report:
                return await self._watched(launch, stage, covered), report

    async def _watched(self, launch: Launch, stage: Stage, covered: MaskedPaths) -> ChildResult:
        on_output = self.on_output

        def pass_on(piece: bytes) -> None:
            if on_output is not None and covered.is_intact():
                on_output(piece)

        def must_stop() -> bool:
            disk_full = stage.layer is not None and self.sandbox.is_disk_nearly_full(stage)
            return disk_full or not covered.is_intact()

        try:
            child = await run_child(
                launch.argv,
                cwd="/",
                env={},  # bubblewrap's environment is readable from inside
                bounds=self.bounds,
                stdin=launch.stdin,
                errors_apart=self.sight is not None,
                on_output=pass_on if on_output is not None else None,
                pass_fds=launch.fds,
                must_stop=must_stop if stage.layer or covered.watch else None,
            )
        finally:
            await asyncio.shield(launch.status.all_gone())
        if covered.watch is not None:
            await asyncio.to_thread(covered.require_intact)
        _require_begun(launch, child)
        return replace(child, missed_network=launch.status.missed_network()) if child.exit_code else child


async def run_on_best_layer(sandbox: Sandbox, root: str, attempt: Callable[[Layer], Awaitable[T]]) -> T:
    """Uses a private copy if no overlay can be mounted over this workspace: then nothing has run yet. Raises: what `attempt` raises."""
    layer = sandbox.layer_for(root)
    try:
        return await attempt(layer)
    except CommandNotStarted:
        if layer is Layer.COPY:
            raise
    result = await attempt(Layer.COPY)
    sandbox.use_copies(root)
    return result


def _require_begun(launch: Launch, child: ChildResult) -> None:
    if child.how is ChildEnding.ITSELF and not launch.has_begun():
        error_text = (child.errors + child.output).decode(errors="replace").strip()[-500:]
        raise CommandNotStarted(
            f"The sandbox could not be set up, so the program did not run: {error_text or f'bubblewrap ended with {child.exit_code}'}. "
            "`anycowork doctor` says what is missing."
        )
