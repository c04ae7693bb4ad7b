"""Starts MCP servers for one chat alone: admitted, recorded in the chat, then started."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from anycowork.domain.chats import Chat
from anycowork.domain.errors import NotAllowed
from anycowork.domain.journal import Change
from anycowork.domain.mcp_servers import ChatMcpServer
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.visible_text import UntrustedText, visible_line
from anycowork.mcp.manager import McpManager
from anycowork.permissions.policy import admit_program
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat
from anycowork.turns.record_factory import RecordFactory


class ChatServerService:
    def __init__(self, *, servers: McpManager, store: Store, journal: Journal, clock: Clock) -> None:
        self._servers = servers
        self._store = store
        self._journal = journal
        self._draft = RecordFactory(clock)

    async def use(self, principal: Principal, chat_id: str, programs: Sequence[ChatMcpServer]) -> Sequence[Json]:
        """Starts these programs for this chat instead of those it had, and returns how each one is.

        A program that no admin configured is left out, unless an admin asks: it is returned as failed, with the reason.
        Raises: NotAllowed if each program is left out; NotFound, Conflict.
        """
        principal.require(Scope.DECIDE)
        chat = await require_chat(self._store, chat_id)
        admitted: list[ChatMcpServer] = []
        refused: list[tuple[ChatMcpServer, NotAllowed]] = []
        for program in programs:
            try:
                admit_program(principal, program.name, is_configured=self._servers.is_configured(program))
                admitted.append(program)
            except NotAllowed as refusal:
                refused.append((program, refusal))
        if refused and not admitted:
            raise refused[0][1]
        if admitted:
            await self._record(principal, chat, admitted, [program for program, _ in refused])
        outcomes = await self._servers.use_in_chat(chat_id, [program.config() for program in admitted])
        return [*outcomes, *(_left_out(program, refusal.message) for program, refusal in refused)]

    async def _record(
        self,
        principal: Principal,
        chat: Chat,
        programs: Sequence[ChatMcpServer],
        left_out: Sequence[ChatMcpServer],
    ) -> None:
        """Records the start before it happens. Arguments may hold secrets, so only their hash is written."""
        content = f"MCP servers start for this chat: {_names(programs)}."
        payload: Json = {"mcp_servers": [_described(program) for program in programs]}
        if left_out:
            content += f" Not started, because no admin configured them: {_names(left_out)}."
            payload["left_out"] = [_described(program) for program in left_out]
        message = self._draft.message(chat, Speaker.SYSTEM, content, payload=payload)
        await self._journal.write(Change(chat.id, (message,), principal=principal.label()))


def _names(programs: Sequence[ChatMcpServer]) -> str:
    return ", ".join(visible_line(UntrustedText(f"{program.name} ({program.command})")) for program in programs)


def _left_out(program: ChatMcpServer, reason: str) -> Json:
    """Describes a program that was not started as a server that failed."""
    nothing: Json = {"problems": [], "log": [], "refused_hosts": [], "tools": [], "resources": 0, "prompts": []}
    return {**program.config().shown(), "status": "failed", "error": reason, "sign_in": "none", **nothing}


def _described(program: ChatMcpServer) -> Json:
    digest = sha256(msgspec.json.encode(program.args)).hexdigest()
    return {
        "name": program.name,
        "command": visible_line(UntrustedText(program.command)),
        "arguments_sha256": digest,
        "env": [*sorted(program.env)],
    }
