"""The server is killed again and again in the middle of one turn, and each time a person continues it: every change is made once."""

import asyncio
import random
from collections import Counter
from pathlib import Path

from support.fork_server import ForkServer
from support.live_server import Json, LiveChat
from support.scripted_model import Body, call, serve_in_thread
from support.server import ChildServer, child_server
from support.spec import proves

LINES, END = 6, "(end)"
TIMEOUT = 60.0


def next_line(body: Body) -> str:
    """Does what is left, as its history says."""
    told = "\n".join(message["content"] for message in body["messages"])
    done = told.count("Result of update_file (ok)")
    edits = [{"find": END, "replace": f"line-{done}\n{END}"}]
    return call("update_file", path="log.txt", edits=edits) if done < LINES else "All lines are written."


@proves("LOOP-11/4", "OPS-2")
async def test_a_turn_killed_at_every_step_is_continued_and_does_nothing_twice(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    moments = random.Random(1111)
    with (
        serve_in_thread(mind=next_line) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url, files={"log.txt": END}) as server,
    ):
        async with server.connect() as client:
            chat = await client.chat()
            await client.ask("PATCH", chat.path, {"autonomy": "edits"})
            await client.ask("POST", f"{chat.path}/messages", {"content": "write the lines"}, expect=202)
            continued = 0
            for step in range(1, LINES + 1):
                await asked(model.requests, step)
                await asyncio.sleep(moments.uniform(0, 0.03))  # the random moment is the point of this test
                server.kill()
                server.start()
                stopped = await chat.show()
                assert stopped["state"] == "idle"
                if stopped["continuable"] is None:
                    break
                assert stopped["continuable"]["reason"] == "interrupted"
                await client.ask("POST", f"{chat.path}/continue", expect=202)
                continued += 1
            await until_idle(chat)
            await check(chat, server, continued)


async def asked(requests: list[Body], times: int) -> None:
    async with asyncio.timeout(TIMEOUT):
        while len(requests) < times:
            await asyncio.sleep(0.002)  # it is asked in another thread, which tells nobody


async def until_idle(chat: LiveChat) -> None:
    async with asyncio.timeout(TIMEOUT):
        while (await chat.show())["state"] != "idle":
            async for event in chat.follow():
                if event["type"] == "turn-ended" and event["reason"] == "answered":
                    break


async def check(chat: LiveChat, server: ChildServer, continued: int) -> None:
    assert continued >= 2, "the kills hit the turn at work"
    messages = await chat.messages()
    written = Counter((server.workspace / "log.txt").read_text().splitlines())
    assert written == Counter([*(f"line-{n}" for n in range(LINES)), END])
    assert messages[-1]["content"] == "All lines are written."
    assert [m["content"] for m in messages if m["role"] == "user"] == ["write the lines"], (
        "the request stands there once"
    )
    assert len({m["turn_id"] for m in messages if m["turn_id"]}) == 1, "it is one turn"
    assert sum("continued" in (m["payload"] or {}) for m in messages) == continued
    check_results(messages)


def check_results(messages: list[Json]) -> None:
    calls = [m["payload"]["id"] for m in messages if m["message_type"] == "tool_call"]
    results = [m["payload"]["tool_call_id"] for m in messages if m["message_type"] == "tool_result"]
    assert Counter(results) == Counter(calls), "every call has one result"
