"""An editor that drives `anycowork acp`: the SDK's own client, which writes down all it is sent and answers dialogs as a test says."""

import asyncio
import json
import os
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

from support.cli_process import CommandLine

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

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self._next = 0

    async def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

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
        assert self.process.stdout is not None
        async with asyncio.timeout(TIMEOUT):
            while line := await self.process.stdout.readline():
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
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "anycowork.cli.main", "acp", *(["--workspace", str(line.workspace)] if workspace else [])),
        env={**line.environ(), "HOME": str(line.home)},
        cwd=line.workspace,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=50 * 1024 * 1024,
    )
    try:
        editor = RawEditor(process)
        await editor.ask("initialize", {"protocolVersion": 1})
        yield editor
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
