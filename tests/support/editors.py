"""An editor that drives `anycowork acp`: the SDK's own client, which writes down all it is sent and answers dialogs as a test says."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any  # updates and outcomes that tests look into freely

from acp import RequestError, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    Implementation,
    PermissionOption,
    PromptResponse,
    ReadTextFileResponse,
    RequestPermissionResponse,
    ToolCallUpdate,
    WriteTextFileResponse,
)

from support.cli_process import CommandLine, ending
from support.forked_command import ForkedCommand

TIMEOUT = 60.0  # a server is started in the child, perhaps on a busy machine

Answer = str | None | Exception | Callable[[], Awaitable[Any]]
"""A dialog's answer: an option's id, None for cancelled, an error, or something that is awaited and then returned."""


class ScriptedEditor:
    """`answers` are given to dialogs in their order; without one left, the test fails. `buffers` are its open files, by their paths."""

    def __init__(self, answers: Sequence[Answer] = ()) -> None:
        self.buffers: dict[str, str] = {}
        self.written: list[tuple[str, str]] = []
        self.answers = list(answers)
        self.updates: list[tuple[str, Any]] = []
        self.dialogs: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.changed = asyncio.Condition()
        self.connection: ClientSideConnection
        self.process: asyncio.subprocess.Process

    def on_connect(self, conn: Any) -> None:
        self.connection = conn

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append((session_id, update))
        async with self.changed:
            self.changed.notify_all()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **kwargs: Any
    ) -> Any:
        self.dialogs.append((tool_call, options))
        async with self.changed:
            self.changed.notify_all()
        if not self.answers:
            raise RequestError.internal_error({"details": "no answer is scripted"})
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return await answer()
        return outcome(answer)

    async def read_text_file(self, session_id: str, path: str, **kwargs: Any) -> Any:
        if path not in self.buffers:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(self, session_id: str, path: str, content: str, **kwargs: Any) -> Any:
        self.written.append((path, content))
        self.buffers[path] = content
        return WriteTextFileResponse()

    async def say(self, session_id: str, words: str) -> PromptResponse:
        async with asyncio.timeout(TIMEOUT):
            return await self.connection.prompt(session_id=session_id, prompt=[text_block(words)])

    def kinds(self, session_id: str) -> list[str]:
        return [update.session_update for of, update in self.updates if of == session_id]

    def of_kind(self, session_id: str, kind: str) -> list[Any]:
        return [update for of, update in self.updates if of == session_id and update.session_update == kind]

    def text(self, session_id: str, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of_kind(session_id, kind))

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(TIMEOUT), self.changed:
            await self.changed.wait_for(holds)


def outcome(option_id: str | None) -> RequestPermissionResponse:
    if option_id is None:
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
    return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option_id))


@asynccontextmanager
async def editor_on(
    line: CommandLine,
    answers: Sequence[Answer] = (),
    *,
    workspace: bool = True,
    offers: ClientCapabilities | None = None,
) -> AsyncIterator[ScriptedEditor]:
    """A connected editor that has said `initialize`. The child is gone afterwards."""
    editor = ScriptedEditor(answers)
    words = ["-m", "anycowork.cli.main", "acp", *(["--workspace", str(line.workspace)] if workspace else [])]
    limits = {"limit": 50 * 1024 * 1024, "stderr": None}
    environ = {**line.environ(), "HOME": str(line.home)}
    async with spawn_agent_process(
        editor,  # type: ignore[arg-type]  # of the optional methods it has those that are used
        sys.executable,
        *words,
        env=environ,
        cwd=line.workspace,
        transport_kwargs=limits,
        use_unstable_protocol=True,
    ) as (connection, process):
        editor.connection, editor.process = connection, process
        async with asyncio.timeout(TIMEOUT):
            await connection.initialize(
                protocol_version=1,
                client_capabilities=offers,
                client_info=Implementation(name="Test Editor", version=os.name),
            )
        yield editor


async def new_session(editor: ScriptedEditor, line: CommandLine) -> str:
    async with asyncio.timeout(TIMEOUT):
        return (await editor.connection.new_session(cwd=str(line.workspace), mcp_servers=[])).session_id


class RawEditor:
    """An editor that writes what a test says, fit for the protocol or not."""

    def __init__(
        self, process: subprocess.Popen[Any], stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader
    ) -> None:
        self.process = process
        self.stdin = stdin
        self.stdout = stdout
        self.lines: list[bytes] = []
        self._next = 0

    async def write(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        await self.stdin.drain()

    async def send(self, method: str, params: Any) -> int:
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        await self.write(json.dumps(message).encode())
        return self._next

    async def ask(self, method: str, params: Any) -> Any:
        """The response to this request; what comes before it is passed over."""
        number = await self.send(method, params)
        return await self.until(lambda message: message.get("id") == number and "method" not in message)

    async def until(self, fits: Callable[[dict[str, Any]], bool]) -> Any:
        """The next message that fits. Every line must be a message of the protocol."""
        async with asyncio.timeout(TIMEOUT):
            while line := await self.stdout.readline():
                self.lines.append(line)
                message = json.loads(line)
                assert message["jsonrpc"] == "2.0"
                if fits(message):
                    return message
        raise AssertionError("The agent ended.")

    async def dialog(self) -> Any:
        return await self.until(lambda message: message.get("method") == "session/request_permission")

    async def new_session(self, line: CommandLine) -> str:
        opened = await self.ask("session/new", {"cwd": str(line.workspace), "mcpServers": []})
        return str(opened["result"]["sessionId"])


@asynccontextmanager
async def raw_editor_on(line: CommandLine, *, workspace: bool = True) -> AsyncIterator[RawEditor]:
    words = ["acp", *(["--workspace", str(line.workspace)] if workspace else [])]
    process = ForkedCommand(
        words,
        cwd=line.workspace,
        env={**line.environ(), "HOME": str(line.home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    with ending(process):
        async with piped(process) as (stdin, stdout):
            editor = RawEditor(process, stdin, stdout)
            await editor.ask("initialize", {"protocolVersion": 1})
            yield editor


@asynccontextmanager
async def piped(process: subprocess.Popen[Any]) -> AsyncIterator[tuple[asyncio.StreamWriter, asyncio.StreamReader]]:
    """The process's standard input and output. Closed afterwards."""
    loop, stdout = asyncio.get_running_loop(), asyncio.StreamReader(limit=50 * 1024 * 1024)
    assert process.stdin is not None and process.stdout is not None
    reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdout), process.stdout)
    writing, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
    try:
        yield asyncio.StreamWriter(writing, flow, None, loop), stdout
    finally:
        writing.close()
        reading.close()
