"""A delegate's requests for files and terminals. Each one is a command in the sandbox, on the same private copy and with the same masks."""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import mutable_value, value
from anycowork.sandbox.commit.transaction import Transaction
from anycowork.sandbox.sandbox import Sandbox
from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildResult, SandboxedProgram

MOST_TERMINALS = 16
_MOST_AT_ONCE = 4  # files that are read or written at the same time, each by a process
LARGEST_FILE = 10_000_000
_FILE_SECONDS = 30.0
_MISSING = 66  # exit code


class RequestFailed(Exception):
    """A file or terminal request that cannot be fulfilled. The delegate gets the reason."""


class MissingFile(RequestFailed):
    """A file that an agent wants to read and that is not there."""


@value
class TerminalOutput:
    text: str
    truncated: bool
    exit_code: int | None


@mutable_value
class _Terminal:
    task: asyncio.Task[ChildResult]
    limit: int
    written: bytearray = field(default_factory=bytearray)
    truncated: bool = False

    def append(self, piece: bytes) -> None:
        self.written += piece
        if len(self.written) > self.limit:
            del self.written[: len(self.written) - self.limit]  # the protocol keeps the end
            self.truncated = True


class SandboxRequests:
    """Lives as long as the delegate's process; `aclose` ends every terminal."""

    def __init__(self, sandbox: Sandbox, transaction: Transaction, *, seconds: float) -> None:
        self._sandbox, self._transaction, self._seconds = sandbox, transaction, seconds
        self._terminals: dict[str, _Terminal] = {}
        self._made = 0
        self._files = asyncio.Semaphore(_MOST_AT_ONCE)

    async def read(self, path: str) -> str:
        """Raises: MissingFile, RequestFailed."""
        quoted = shlex.quote(path)
        command = f"[ -e {quoted} ] || [ -L {quoted} ] || exit {_MISSING}; exec cat -- {quoted}"
        async with self._files:
            result = await self._run(command, limits=ChildLimits(_FILE_SECONDS, LARGEST_FILE))
        if result.how is ChildEnding.ITSELF and result.exit_code == _MISSING:
            raise MissingFile(path)
        if result.how is not ChildEnding.ITSELF or result.exit_code != 0:
            raise RequestFailed(f"'{path[:200]}' cannot be read here.")
        try:
            return result.output.decode()
        except UnicodeDecodeError:
            raise RequestFailed(f"'{path[:200]}' is not UTF-8 text.") from None

    async def write(self, path: str, content: str) -> None:
        """Raises: RequestFailed."""
        quoted = shlex.quote(path)
        command = f'mkdir -p -- "$(dirname -- {quoted})" && cat > {quoted}'
        limits = ChildLimits(_FILE_SECONDS, 10_000)
        async with self._files:
            result = await self._run(command, limits=limits, stdin=content.encode())
        if result.how is not ChildEnding.ITSELF or result.exit_code != 0:
            raise RequestFailed(f"'{path[:200]}' cannot be written here.")

    def start_terminal(
        self, argv: Sequence[str], *, environment: Mapping[str, str], cwd: str | None, most_output: int | None
    ) -> str:
        """Raises: RequestFailed."""
        if len(self._terminals) >= MOST_TERMINALS:
            raise RequestFailed(f"There are {MOST_TERMINALS} terminals already. Release one first.")
        self._made += 1
        terminal_id = f"terminal-{self._made}"
        assignments = "".join(f"{shlex.quote(f'{name}={text}')} " for name, text in environment.items())
        command = (
            f"cd -- {shlex.quote(cwd or self._transaction.jail.origin)} && exec env {assignments}{shlex.join(argv)}"
        )
        limit = max(0, min(most_output or 1_000_000, 1_000_000))
        terminal: _Terminal
        limits = ChildLimits(self._seconds, 10_000_000)
        running = asyncio.ensure_future(
            self._run(command, limits=limits, on_output=lambda piece: terminal.append(piece))
        )
        terminal = _Terminal(running, limit)
        self._terminals[terminal_id] = terminal
        return terminal_id

    def output(self, terminal_id: str) -> TerminalOutput:
        """Raises: RequestFailed."""
        terminal = self._require(terminal_id)
        text = bytes(terminal.written).decode(errors="replace")
        return TerminalOutput(text, terminal.truncated, _exit_code(terminal.task) if terminal.task.done() else None)

    async def wait(self, terminal_id: str) -> int:
        """The exit code. Raises: RequestFailed."""
        terminal = self._require(terminal_id)
        await asyncio.wait([terminal.task])
        return _exit_code(terminal.task)

    async def kill(self, terminal_id: str) -> None:
        """Its output can still be read. Raises: RequestFailed."""
        terminal = self._require(terminal_id)
        terminal.task.cancel()
        await asyncio.wait([terminal.task])

    async def release(self, terminal_id: str) -> None:
        """Raises: RequestFailed."""
        await self.kill(terminal_id)
        self._terminals.pop(terminal_id, None)  # it may be released twice at once

    async def aclose(self) -> None:
        for terminal in self._terminals.values():
            terminal.task.cancel()
        if self._terminals:
            await asyncio.wait([terminal.task for terminal in self._terminals.values()])

    def _require(self, terminal_id: str) -> _Terminal:
        terminal = self._terminals.get(terminal_id)
        if terminal is None:
            raise RequestFailed(f"There is no terminal '{terminal_id[:80]}'.")
        return terminal

    async def _run(
        self, command: str, *, limits: ChildLimits, stdin: bytes = b"", on_output: object = None
    ) -> ChildResult:
        """Raises: RequestFailed if it cannot be started."""
        program = SandboxedProgram(self._sandbox, command, limits, on_output, stdin=stdin)  # type: ignore[arg-type]  # narrowed by callers
        try:
            result, _ = await program.run(
                self._transaction.jail.origin,
                self._transaction.stage,
                source=self._transaction.jail.layers,
                covered=self._transaction.covered,
            )
        except (ToolFault, OSError, ValueError):  # such as a null byte among its words
            raise RequestFailed("This cannot be run here.") from None
        return result


def _exit_code(task: "asyncio.Task[ChildResult]") -> int:
    """Of a program that was killed or could not run, as a shell would say it."""
    if task.cancelled() or task.exception() is not None:
        return 137
    result = task.result()
    return result.exit_code if result.how is ChildEnding.ITSELF and result.exit_code is not None else 137
