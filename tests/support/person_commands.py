"""Runs a person's own command through the API, and waits for its recorded end by following the events."""

import asyncio

from support.live_server import TIMEOUT, Json, LiveChat


async def start(chat: LiveChat, command: str) -> str:
    answer = await chat.client.ask("POST", f"{chat.path}/person-commands", {"command": command}, expect=202)
    return str(answer["id"])


async def run(chat: LiveChat, command: str) -> Json:
    """The recorded end of the command."""
    return await end_of(chat, await start(chat, command))


async def end_of(chat: LiveChat, command_id: str) -> Json:
    async with asyncio.timeout(TIMEOUT):
        async for event in chat.follow():
            found = ((event.get("message") or {}).get("payload") or {}).get("person_command") or {}
            if found.get("id") == command_id and "ended" in found:
                return dict(found)
    raise AssertionError("the stream ended")


async def printed(chat: LiveChat, command_id: str, words: str) -> None:
    """Waits until the running command has shown these words. Events of a running command are not replayed, so the server is asked."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            offer = await chat.client.ask("GET", f"{chat.path}/person-commands")
            if any(words in one["output"] for one in offer["running"] if one["id"] == command_id):
                return
