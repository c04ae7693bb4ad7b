"""The protocol's methods, as editors call them. Each finds its session and hands on; errors become JSON-RPC errors."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any  # Any: what editors may send beside the parameters

from acp.exceptions import RequestError
from acp.helpers import update_agent_message_text
from acp.interfaces import Client
from acp.schema import (
    AuthenticateResponse,
    AvailableCommandsUpdate,
    ClientCapabilities,
    CloseSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpServerStdio,
    NewSessionResponse,
    PromptResponse,
    ResumeSessionResponse,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    SseMcpServer,
)
from pydantic import BaseModel

from anycowork.acp.handshake import INITIALIZE_RESULT, EditorIntroduction, read_introduction
from anycowork.acp.prompt_content import ContentBlock
from anycowork.acp.session import EditorSession
from anycowork.acp.session_info import MODEL, available_commands, mode_state, model_options, session_infos
from anycowork.acp.tool_calls import one_line
from anycowork.acp.transport import StdioTransport
from anycowork.client.chat_client import ChatClient
from anycowork.client.console import stderr
from anycowork.client.errors import ServerRefused, ServerUnreachable
from anycowork.client.server_link import ServerLink
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.messages import Json, json_objects
from anycowork.domain.principals import program_id

McpServer = HttpMcpServer | SseMcpServer | McpServerStdio
MOST_SERVERS = 10
_LONGEST_NAME = 20


def session_servers(servers: Iterable[McpServer]) -> tuple[list[Json], list[str]]:
    """The programs, as the server takes them, and the names of those that are left out: remote ones, which `initialize` did not offer."""
    configs: dict[str, Json] = {}
    left_out: list[str] = []
    for server in servers:
        if not isinstance(server, McpServerStdio) or len(configs) >= MOST_SERVERS:
            left_out.append(server.name)
            continue
        name = _unused_name(server.name, configs)
        environment: Json = {variable.name: variable.value for variable in server.env}
        configs[name] = {"name": name, "command": server.command, "args": [*server.args], "env": environment}
    return list(configs.values()), left_out


def failures(servers: Sequence[Json]) -> list[str]:
    """Why servers did not start, one line each."""
    return [f"{server.get('name')}: {server.get('error')}" for server in servers if server.get("status") != "ready"]


def _unused_name(name: str, used: Iterable[str]) -> str:
    """Lower case letters, digits and single dashes."""
    signs = program_id(name, "server").replace(".", "-").replace("_", "-")
    plain = "-".join(part for part in signs.split("-") if part)[:_LONGEST_NAME].strip("-") or "server"
    used_names, number, candidate = set(used), 1, plain
    while candidate in used_names:
        number += 1
        candidate = f"{plain}-{number}"
    return candidate


if TYPE_CHECKING:
    from anycowork.client.http import ServerClient

INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR, NOT_FOUND = -32600, -32602, -32603, -32002
CLOSE_SECONDS = 5.0
_CODES = {
    400: INVALID_PARAMS,
    404: NOT_FOUND,
    413: INVALID_PARAMS,
    422: INVALID_PARAMS,
    409: INVALID_REQUEST,
    403: INVALID_REQUEST,
}


class EditorAgent:
    """Serves one editor. Its sessions are chats of the server, and share nothing but the connection."""

    def __init__(self, link: ServerLink, transport: StdioTransport, introduction: EditorIntroduction) -> None:
        self._link, self._transport = link, transport
        self._introduction = introduction
        self._sessions: dict[str, EditorSession] = {}
        self._editor: Client

    def on_connect(self, conn: Client) -> None:
        self._editor = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **kwargs: Any,
    ) -> InitializeResponse:
        # The SDK passes a plain value on where a field was of the wrong type.
        parts = (client_info, client_capabilities)
        plain_parts = [
            part.model_dump(mode="json", by_alias=True) if isinstance(part, BaseModel) else part for part in parts
        ]
        self._introduction = read_introduction(*plain_parts) or EditorIntroduction()
        return InitializeResponse.model_validate(INITIALIZE_RESULT)

    async def authenticate(self, method_id: str, **kwargs: Any) -> AuthenticateResponse | None:
        raise RequestError(
            INVALID_PARAMS, "There is nothing to authenticate with: the server's token is read from the data folder."
        )

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[McpServer] | None = None, **kwargs: Any
    ) -> NewSessionResponse:
        """Raises: RequestError (-32602) if the folder is not under a registered root."""
        if not cwd.startswith("/"):
            raise RequestError(INVALID_PARAMS, f"'cwd' must be an absolute path, not '{cwd[:200]}'.")
        async with self._server() as client:
            try:
                chat = await client.post("/context", {"workspace": cwd})
            except ServerRefused as refused:
                if refused.specific == "bad_workspace":
                    raise RequestError(INVALID_PARAMS, f"{refused.message} {_REGISTER}") from None
                raise
            session = self._keep(client, chat)
            await self._use_servers(client, session, mcp_servers)
            self._transport.after_response(lambda: self._announce(client, session))
            return NewSessionResponse(
                session_id=session.chat.chat_id,
                modes=await mode_state(client, session.updates.role),
                config_options=await model_options(client, chat),
            )

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[McpServer] | None = None, **kwargs: Any
    ) -> LoadSessionResponse | None:
        """Sends the whole history before it answers."""
        async with self._server() as client:
            session = await self._open(client, session_id)
            await self._use_servers(client, session, mcp_servers)
            messages, _ = await session.chat.history()
            for message in messages:
                for update in session.updates.from_message(message):
                    await self._editor.session_update(session_id, update)
            self._transport.after_response(lambda: self._announce(client, session))
            return LoadSessionResponse(
                modes=await mode_state(client, session.updates.role),
                config_options=await model_options(client, session.chat.chat),
            )

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Sequence[McpServer] | None = None, **kwargs: Any
    ) -> ResumeSessionResponse:
        """Without the history."""
        async with self._server() as client:
            session = await self._open(client, session_id)
            await self._use_servers(client, session, mcp_servers)
            self._transport.after_response(lambda: self._announce(client, session))
            return ResumeSessionResponse(
                modes=await mode_state(client, session.updates.role),
                config_options=await model_options(client, session.chat.chat),
            )

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **kwargs: Any
    ) -> ListSessionsResponse:
        async with self._server() as client:
            return await session_infos(client, cwd, cursor)

    async def close_session(self, session_id: str, **kwargs: Any) -> CloseSessionResponse | None:
        """The chat is kept; its running prompt is cancelled."""
        session = self._require(session_id)
        async with self._server() as client:
            await session.cancel()
            await self._use_servers(client, session, ())
        del self._sessions[session_id]
        return CloseSessionResponse()

    async def prompt(self, session_id: str, prompt: Sequence[ContentBlock], **kwargs: Any) -> PromptResponse:
        session = self._require(session_id)
        async with self._server():
            return await session.prompt(prompt)

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        if session_id in self._sessions:
            await self._sessions[session_id].cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **kwargs: Any) -> SetSessionModeResponse | None:
        session = self._require(session_id)
        async with self._server():
            await session.switch(mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
    ) -> SetSessionConfigOptionResponse | None:
        self._require(session_id)
        if config_id != MODEL or not isinstance(value, str):
            raise RequestError(
                INVALID_PARAMS, f"There is no option '{config_id[:100]}' with such a value. Valid: '{MODEL}'."
            )
        async with self._server() as client:
            chat = await client.patch(f"/context/{session_id}", {"model": value})
            return SetSessionConfigOptionResponse(config_options=await model_options(client, chat) or [])

    # --- sessions

    async def _open(self, client: "ServerClient", session_id: str) -> EditorSession:
        chat = await client.get(f"/context/{session_id}")
        session = self._keep(client, chat)
        session.has_servers = True  # an editor that was killed may have left some
        return session

    def _keep(self, client: "ServerClient", chat: Json) -> EditorSession:
        session = EditorSession(
            ChatClient(client, chat), self._editor, seen=_last_seq(chat), abilities=self._introduction.abilities
        )
        self._sessions[session.chat.chat_id] = session
        return session

    async def _use_servers(
        self, client: "ServerClient", session: EditorSession, servers: Sequence[McpServer] | None
    ) -> None:
        """Those that the editor passes, for this session alone. What cannot be used is named in the session and on stderr."""
        programs, left_out = session_servers(servers or ())
        if not programs and not session.has_servers and not left_out:
            return
        try:
            answer = await client.post(f"/context/{session.chat.chat_id}/mcp_servers", {"servers": [*programs]})
            failed = failures(json_objects(answer.get("servers")))
        except ServerRefused as refused:  # the session is worth more than its servers
            failed = [refused.message]
        session.has_servers = bool(programs)
        problems = [*failed, *(f"{name}: not a program, or one too many" for name in left_out)]
        session.unused_servers = [one_line(problem, 300) for problem in problems]
        for problem in session.unused_servers:
            stderr().line(f"An MCP server of the editor is not used. {problem}")

    async def aclose(self) -> None:
        """Ends the MCP servers of all sessions, as far as the server can be reached."""
        for session in [open_session for open_session in self._sessions.values() if open_session.has_servers]:
            try:
                async with asyncio.timeout(CLOSE_SECONDS), self._server() as client:
                    await self._use_servers(client, session, ())
            except (RequestError, TimeoutError):
                return

    def _require(self, session_id: str) -> EditorSession:
        if session_id not in self._sessions:
            raise RequestError(
                NOT_FOUND, f"There is no open session '{session_id[:100]}'. Load it, or start a new one."
            )
        return self._sessions[session_id]

    async def _announce(self, client: "ServerClient", session: EditorSession) -> None:
        """The commands of a session and the MCP servers that it does not use, once the editor knows its id."""
        if session.unused_servers:
            lines = "\n".join(f"- {problem}" for problem in session.unused_servers)
            text = f"MCP servers of the editor that are not used:\n\n{lines}\n"
            await self._editor.session_update(session.chat.chat_id, update_agent_message_text(text))
        commands = await available_commands(client, session.chat.chat_id)
        update = AvailableCommandsUpdate(session_update="available_commands_update", available_commands=commands)
        await self._editor.session_update(session.chat.chat_id, update)

    @asynccontextmanager
    async def _server(self) -> AsyncIterator["ServerClient"]:
        """The server's client; what goes wrong with it becomes an error of the protocol."""
        try:
            yield await self._link.client(self._introduction.name)
        except ServerRefused as refused:
            code = _CODES.get(refused.status, INTERNAL_ERROR)
            raise RequestError(code, refused.message, {"code": refused.specific}) from None
        except ServerUnreachable as gone:
            self._link.drop()
            self._sessions.clear()
            raise RequestError(INTERNAL_ERROR, f"{gone.message} Load the session again.") from None
        except AnyCoworkError as error:
            raise RequestError(INTERNAL_ERROR, error.message, {"code": error.code}) from None


_REGISTER = "In the editor's configuration, add `--workspace FOLDER` to the arguments of `anycowork acp`."


def _last_seq(chat: Json) -> int:
    number = chat.get("last_seq")
    return number if isinstance(number, int) else 0
