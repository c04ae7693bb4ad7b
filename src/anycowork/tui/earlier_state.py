"""What a chat was and what it asked before this terminal opened it: read from the server, for the screen."""

import asyncio
from collections.abc import Sequence

from anycowork.client.chat_client import ChatClient
from anycowork.client.console import shortened
from anycowork.client.errors import ServerUnreachable
from anycowork.domain.evidence import evidence_line
from anycowork.domain.messages import Json, json_object, json_objects
from anycowork.tui.chat_state import ChatStatus
from anycowork.tui.plan_text import plan_standing

RECONNECT_SECONDS = 1.0


async def restore_status(status: ChatStatus, client: ChatClient, chat: Json, messages: Sequence[Json]) -> None:
    """Fills in the chat's state and what waits for the person: approvals, a question, or a plan."""
    status.state = str(chat.get("state"))
    status.autonomy = str(json_object(chat.get("config")).get("autonomy") or status.autonomy)
    status.stopped = str(json_object(chat.get("continuable")).get("message")) if chat.get("continuable") else None
    steps_left = chat.get("steps_left")
    status.steps_left = steps_left if isinstance(steps_left, int) else None
    status.own_command = next((str(command["id"]) for command in await client.own_commands()), None)
    for message in json_objects(chat.get("queue")):
        status.queue(message)
    if status.state == "awaiting_approval":
        for approval in await client.approvals():
            status.ask({**approval, "disclosure": await client.whole_disclosure(approval)})
    open_questions = json_object(chat.get("waiting_for")).get("questions")
    for message in messages if isinstance(open_questions, list) else ():
        if isinstance(open_questions, list) and message.get("id") in open_questions:
            status.add_question({**_payload(message), "task_id": message.get("task_id")})
    plan = _newest(_after_dismissal(messages), "plan")
    if plan is not None:
        status.approved = await client.approved_plans()
        approved_ids = [approved.get("message_id") for approved in status.approved]
        status.plan = None if plan["message_id"] in approved_ids else plan


async def welcome_text(client: ChatClient, chat: Json) -> str:
    """What an empty chat says: its folder, who answers, and how the role is switched."""
    answerer = await client.answerer()
    hint = f" {answerer['hint']}" if answerer.get("kind") == "guide" else ""
    return (
        f"A new chat in {chat.get('workspace')}. {answerer.get('name', 'Nobody')} answers.{hint}\n"
        "Ctrl+R switches the role: a planner only reads and plans. Whatever changes something asks you first."
    )


def notes_at_end(status: ChatStatus, turn_end: Json) -> list[str]:
    """Returns what the person should know when a turn has ended: how its plan stands, and which messages still wait."""
    standing = plan_standing(status.carried_out) if status.carried_out else None
    finished = turn_end.get("reason") in ("answered", "terminated")
    evidence = turn_end.get("evidence")
    worth = evidence_line(evidence) if isinstance(evidence, dict) else ""
    return [note for note in (worth, standing, "" if finished else _held_messages(status)) if note]


def _held_messages(status: ChatStatus) -> str:
    """What the person should know of queued messages after a turn that did not finish; empty if none waits."""
    if not status.queued:
        return ""
    quoted = ", ".join(f'"{shortened(content, 60)}"' for content in status.queued.values())
    return f"Not sent yet, because the turn did not finish: {quoted}. It follows your next message; the page can send or remove it."


async def wait_for_server(client: ChatClient) -> None:
    """Returns as soon as the server answers again."""
    while True:
        await asyncio.sleep(RECONNECT_SECONDS)
        try:
            await client.refresh()
        except ServerUnreachable:
            continue
        return


def _after_dismissal(messages: Sequence[Json]) -> Sequence[Json]:
    """Returns the messages that followed the last one by which a person dismissed a plan or a turn; all if there was none."""
    dismissals = [index for index, message in enumerate(messages) if "dismissed" in json_object(message.get("payload"))]
    return messages[dismissals[-1] + 1 :] if dismissals else messages


def _newest(messages: Sequence[Json], kind: str) -> Json | None:
    """Returns the payload of the last message of this type, with its id."""
    matching = [message for message in messages if message.get("message_type") == kind]
    return _payload(matching[-1]) if matching else None


def _payload(message: Json) -> Json:
    """Returns what the message carries, with its id."""
    return {**json_object(message.get("payload")), "message_id": message["id"]}
