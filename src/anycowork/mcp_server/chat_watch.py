"""Follows a chat until it rests, and describes it for a host: its state, what waits for a person, its newest messages."""

import asyncio
from collections.abc import Awaitable, Callable

from pydantic import JsonValue

from anycowork.client.chat_client import ChatClient, objects
from anycowork.domain.messages import Json

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
    progress = {str(plan.get("message_id")): plan for plan in objects(audit, "plans")}
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
