"""Chats whose turns end with evidence, and reading it."""

from typing import Any  # events and answers are JSON that tests look into freely

from support.live_server import LiveChat, LiveServer

Json = dict[str, Any]


async def working_chat(client: LiveServer, autonomy: str = "edits") -> LiveChat:
    chat = await client.chat()
    await client.ask("PATCH", chat.path, {"autonomy": autonomy})
    return chat


async def evidence_of(client: LiveServer, chat: LiveChat) -> Any:
    ended = [event for event in await chat.events() if event["type"] == "turn-ended"][-1]
    answer = await client.ask("GET", f"{chat.path}/evidence?turn_id={ended['turn_id']}")
    assert answer["evidence"] == ended["evidence"], "the event and the address tell the same"
    return answer["evidence"]


def states(evidence: Json) -> dict[tuple[str, str], str]:
    return {(one["kind"], one["subject"]): one["state"] for one in evidence["expectations"]}
