"""What a chat was and what it asked before this terminal opened it: read from the server, for the screen."""

import asyncio
from collections.abc import Sequence

from anycowork.client.chat_client import ChatClient, objects
from anycowork.client.console import shortened
from anycowork.client.errors import ServerUnreachable
from anycowork.domain.messages import Json
from anycowork.tui.chat_state import ChatStatus, noun

RECONNECT_SECONDS = 1.0


async def restore_status(status: ChatStatus, client: ChatClient, chat: Json, messages: Sequence[Json]) -> None:
    """Fill in the chat's state and what waits for the person: approvals, a question, or a plan."""
    status.state = str(chat.get("state"))
    status.autonomy = str(noun(chat, "config").get("autonomy") or status.autonomy)
    status.stopped = str(noun(chat, "continuable").get("message")) if chat.get("continuable") else None
    status.own_command = next((str(one["id"]) for one in await client.own_commands()), None)
    for message in objects(chat, "queue"):
        status.queue(message)
    if status.state == "awaiting_approval":
        for approval in await client.approvals():
            status.ask({**approval, "disclosure": await client.whole_disclosure(approval)})
    if status.state == "awaiting_answer":
        status.question = _newest(messages, "question")
    plan = _newest(messages, "plan")
    if plan is not None and str(plan["message_id"]) not in await client.approved_plans():
        status.plan = plan


async def welcome_text(client: ChatClient, chat: Json) -> str:
    """What an empty chat says: its folder, who answers, and how the role is switched."""
    answerer = await client.answerer()
    hint = f" {answerer['hint']}" if answerer.get("kind") == "guide" else ""
    return (
        f"A new chat in {chat.get('workspace')}. {answerer.get('name', 'Nobody')} answers.{hint}\n"
        "Ctrl+R switches the role: a planner only reads and plans. Whatever changes something asks you first."
    )


def held_messages(status: ChatStatus) -> str:
    """What the person should know of queued messages after a turn that did not finish; empty if none waits."""
    if not status.queued:
        return ""
    words = ", ".join(f'"{shortened(content, 60)}"' for content in status.queued.values())
    return f"Not sent yet, because the turn did not finish: {words}. It follows your next message; the page can send or remove it."


async def wait_for_server(client: ChatClient) -> None:
    """Returns as soon as the server answers again."""
    while True:
        await asyncio.sleep(RECONNECT_SECONDS)
        try:
            await client.refresh()
        except ServerUnreachable:
            continue
        return


def _newest(messages: Sequence[Json], kind: str) -> Json | None:
    """Returns the payload of the last message of this type, with its id."""
    found = [one for one in messages if one.get("message_type") == kind]
    return {**noun(found[-1], "payload"), "message_id": found[-1]["id"]} if found else None
