"""The tools that hosts get. None of them approves, answers, switches a role or changes rules: the server refuses that to hosts as well."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ClientCapabilities, ElicitationCapability, ToolAnnotations
from pydantic import Field, JsonValue

from anycowork import __version__
from anycowork.client.chat_client import ChatClient
from anycowork.client.errors import ServerRefused, ServerUnreachable
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.messages import Json, json_objects

if TYPE_CHECKING:
    from anycowork.client.http import ServerClient

INSTRUCTIONS = (
    "AnyCowork runs AI agents on files of a workspace, under the permissions of a person. Start a chat or send a message, then read the "
    "result. Calls that change something may wait for a person, who decides in AnyCowork; nothing here can approve them."
)
Connect = Callable[[str], Awaitable["ServerClient"]]
ChatId = Annotated[str, Field(description="The id of a chat.", max_length=100)]
Words = Annotated[str, Field(description="What the agent is asked, in words.", min_length=1, max_length=100_000)]
Seconds = Annotated[float, Field(description="How long to wait for the agent; at most 600.", ge=0, le=600)]
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def build_server(connect: Connect, drop: Callable[[], None]) -> MCPServer[Any]:
    """`connect` gives the client of the running server, as this host. `drop` forgets it when the server is gone."""
    server: MCPServer[Any] = MCPServer("anycowork", "AnyCowork", instructions=INSTRUCTIONS, version=__version__)
    offered = HostTools(connect, drop)
    for reads in (
        offered.list_chats,
        offered.read_chat,
        offered.read_plans,
        offered.list_workflows,
        offered.list_jobs,
        offered.read_job,
    ):
        server.add_tool(reads, annotations=_READS)
    for acts in (
        offered.start_chat,
        offered.send_message,
        offered.wait_for_chat,
        offered.stop_chat,
        offered.run_workflow,
        offered.start_job,
    ):
        server.add_tool(acts)
    return server


class HostTools:
    """Each method is a tool; its docstring is what the host's model is told."""

    def __init__(self, connect: Connect, drop: Callable[[], None]) -> None:
        self._connect, self._drop = connect, drop

    async def list_chats(self, context: Context, query: str = "", limit: int = 20) -> dict[str, Any]:
        """List the chats, newest first; `query` searches their titles."""
        client = await self._client(context)
        parameters = urlencode({"limit": max(1, min(limit, 100)), **({"q": query} if query else {})})
        answer = await self._safely(client.get(f"/context?{parameters}"))
        return {"chats": [_summary(chat) for chat in json_objects(answer.get("contexts"))]}

    async def read_chat(self, context: Context, chat_id: ChatId, limit: int = 10) -> dict[str, Any]:
        """Read the newest messages of a chat, its state, and what waits for a person."""
        return await self._described(await self._chat(context, chat_id), limit=limit)

    async def read_plans(self, context: Context, chat_id: ChatId) -> dict[str, Any]:
        """Read the plans of a chat and the state of their steps. A person approves a plan in AnyCowork."""
        chat = await self._chat(context, chat_id)
        client = await self._client(context)
        messages, _ = await self._safely(chat.messages())
        audit = await self._safely(client.get(f"/context/{chat.chat_id}/audit"))
        return {"plans": plans_of(messages, audit)}

    async def list_workflows(self, context: Context, chat_id: ChatId) -> dict[str, Any]:
        """List the workflows that can run in a chat, with their parameters."""
        client = await self._client(context)
        answer = await self._safely(client.get(f"/workflows?{urlencode({'context_id': chat_id})}"))
        names = ("name", "description", "parameters", "needs", "trusted")
        return {
            "workflows": [
                {name: workflow.get(name) for name in names} for workflow in json_objects(answer.get("workflows"))
            ]
        }

    async def list_jobs(self, context: Context) -> dict[str, Any]:
        """List the jobs, newest first."""
        client = await self._client(context)
        answer = await self._safely(client.get("/jobs"))
        names = ("id", "context_id", "request", "status", "created_at")
        return {"jobs": [{name: job.get(name) for name in names} for job in json_objects(answer.get("jobs"))]}

    async def read_job(self, context: Context, job_id: Annotated[str, Field(max_length=100)]) -> dict[str, Any]:
        """Read one job: its status, its plan, its tasks and its result."""
        client = await self._client(context)
        return dict(await self._safely(client.get(f"/jobs/{quote(job_id, safe='')}")))

    async def start_chat(
        self,
        context: Context,
        message: Words,
        role: str | None = None,
        workspace: str | None = None,
        wait_seconds: Seconds = 60,
    ) -> dict[str, Any]:
        """Start a new chat with this message and wait for the agent. `role`: such as planner (only reads) or actor."""
        client = await self._client(context)
        settings = {"agent_role": role, "workspace": workspace}
        body: Json = {name: value for name, value in settings.items() if value is not None}
        chat = ChatClient(client, await self._safely(client.post("/context", body)))
        await self._safely(chat.send(message))
        return await self._after(context, chat, wait_seconds)

    async def send_message(
        self, context: Context, chat_id: ChatId, message: Words, wait_seconds: Seconds = 60
    ) -> dict[str, Any]:
        """Send a message to a chat that is idle and wait for the agent."""
        chat = await self._chat(context, chat_id)
        await self._safely(chat.send(message))
        return await self._after(context, chat, wait_seconds)

    async def wait_for_chat(self, context: Context, chat_id: ChatId, wait_seconds: Seconds = 60) -> dict[str, Any]:
        """Wait until the agent of a chat rests, or a person has decided."""
        return await self._after(context, await self._chat(context, chat_id), wait_seconds)

    async def stop_chat(self, context: Context, chat_id: ChatId) -> dict[str, Any]:
        """Stop what the agent of a chat is doing."""
        chat = await self._chat(context, chat_id)
        await self._safely(chat.stop())
        return await self._described(chat)

    async def run_workflow(
        self,
        context: Context,
        chat_id: ChatId,
        name: Annotated[str, Field(max_length=100)],
        parameters: dict[str, str | int | float | bool] | None = None,
        wait_seconds: Seconds = 60,
    ) -> dict[str, Any]:
        """Run a workflow in a chat that is idle and wait for it."""
        chat = await self._chat(context, chat_id)
        client = await self._client(context)
        body: Json = {"context_id": chat.chat_id, "parameters": dict(parameters or {})}
        await self._safely(client.post(f"/workflows/{quote(name, safe='')}/execute", body))
        return await self._after(context, chat, wait_seconds)

    async def start_job(self, context: Context, chat_id: ChatId, request: Words) -> dict[str, Any]:
        """Start a job: an agent plans it, a person approves the plan in AnyCowork, workers carry it out."""
        client = await self._client(context)
        return dict(await self._safely(client.post(f"/context/{quote(chat_id, safe='')}/jobs", {"request": request})))

    async def _after(self, context: Context, chat: ChatClient, seconds: float) -> dict[str, Any]:
        steps = 0

        async def progress(text: str) -> None:
            nonlocal steps
            steps += 1
            await context.report_progress(steps, message=text)

        state = await self._safely(until_rest(chat, seconds=seconds, progress=progress))
        if str(state.get("state")).startswith("awaiting") and await self._show_page(context, chat):
            await self._safely(until_rest(chat, seconds=seconds, progress=progress))
        return await self._described(chat)

    async def _show_page(self, context: Context, chat: ChatClient) -> bool:
        """Asks the host to open the chat for its person, who decides there. What the host answers decides nothing."""
        session = context.session
        can = ClientCapabilities(elicitation=ElicitationCapability())
        if not session.can_send_request or not session.check_client_capability(can):
            return False
        text = "The agent waits for your decision in AnyCowork. Open the chat, decide there, then confirm here."
        try:
            answer = await session.elicit_url(text, chat.page, chat.chat_id, context.request_id)
        except MCPError:
            return False
        return bool(answer.action == "accept")

    async def _described(self, chat: ChatClient, *, limit: int = 10) -> dict[str, Any]:
        return dict(await self._safely(described(chat, limit=limit)))

    async def _chat(self, context: Context, chat_id: str) -> ChatClient:
        client = await self._client(context)
        return ChatClient(client, await self._safely(client.get(f"/context/{quote(chat_id, safe='')}")))

    async def _client(self, context: Context) -> "ServerClient":
        params = context.session.client_params
        client: ServerClient = await self._safely(self._connect(params.client_info.name if params else "host"))
        return client

    async def _safely(self, request: Awaitable[Any]) -> Any:
        """What the server answers; its refusals become errors that the host's model reads. Raises: ToolError."""
        try:
            return await request
        except ServerRefused as refused:
            raise ToolError(refused.message) from None
        except ServerUnreachable as gone:
            self._drop()
            raise ToolError(f"{gone.message} Try again.") from None
        except AnyCoworkError as error:
            raise ToolError(error.message) from None


def _summary(chat: Json) -> dict[str, Any]:
    return {name: chat.get(name) for name in ("id", "title", "state", "workspace", "updated_at")}


LONGEST_WAIT = 600.0
MOST_MESSAGES = 50
LONGEST_MESSAGE = 8_000
_WAITING = {
    "awaiting_approval": "A call waits for a person's approval.",
    "awaiting_answer": "A question waits for a person's answer.",
}
Progress = Callable[[str], Awaitable[None]]


async def until_rest(chat: ChatClient, *, seconds: float, progress: Progress) -> Json:
    """The chat once it no longer runs, or as it is after so many seconds."""
    state = await chat.refresh()
    if state.get("state") != "running":
        return state
    after = state.get("last_seq")
    try:
        async with asyncio.timeout(min(seconds, LONGEST_WAIT)):
            async for event in chat.events(max(0, after - 1) if isinstance(after, int) else 0):
                match event.get("type"):
                    case "tool-call":
                        await progress(f"calls {_tool(event)}")
                    case "turn-ended" | "permission-request" | "question":
                        if (await chat.refresh()).get("state") != "running":
                            break
    except TimeoutError:
        pass
    return await chat.refresh()


async def described(chat: ChatClient, *, limit: int = 10) -> Json:
    """What a host is told of a chat. A message that is cut says so; the chat keeps all of it."""
    details = await chat.refresh()
    messages, _ = await chat.messages()
    state = str(details.get("state"))
    config = details.get("config")
    body: Json = {
        "chat_id": chat.chat_id,
        "title": details.get("title"),
        "state": state,
        "role": config.get("agent_role") if isinstance(config, dict) else None,
        "workspace": details.get("workspace"),
        "page": chat.page,
        "messages": [_message(item) for item in messages[-max(1, min(limit, MOST_MESSAGES)) :]],
    }
    if state in _WAITING:
        body["waits_for_a_person"] = f"{_WAITING[state]} Only a person can decide it, at {body['page']}."
        body["approvals"] = [_approval(item) for item in await chat.approvals()]
    return body


def plans_of(messages: list[Json], audit: Json) -> list[JsonValue]:
    """The plans of a chat with the state of their steps."""
    progress = {str(plan.get("message_id")): plan for plan in json_objects(audit.get("plans"))}
    plans: list[JsonValue] = []
    for message in messages:
        if message.get("message_type") == "plan":
            approved = progress.get(str(message.get("id")))
            steps: JsonValue = approved.get("steps") if approved else None
            plans.append({"message_id": message.get("id"), "plan": message.get("payload"), "approved_steps": steps})
    return plans


def _message(message: Json) -> JsonValue:
    text = str(message.get("content") or "")
    cut = f"{text[:LONGEST_MESSAGE]}\n[{len(text) - LONGEST_MESSAGE:,} more letters]"
    return {
        "id": message.get("id"),
        "from": message.get("role"),
        "type": message.get("message_type"),
        "text": text if len(text) <= LONGEST_MESSAGE else cut,
    }


def _approval(approval: Json) -> JsonValue:
    return {name: approval.get(name) for name in ("tool", "resource", "risk", "reasons")}


def _tool(event: Json) -> str:
    call = event.get("tool_call")
    return str(call.get("tool"))[:100] if isinstance(call, dict) else "a tool"
