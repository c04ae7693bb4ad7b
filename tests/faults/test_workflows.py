"""Runs of workflows across a kill: what ran is told as interrupted, what was parked goes on, and no step is done twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fork_server import ForkServer
from support.live_server import LiveChat
from support.scripted_model import Hang, ScriptedModel
from support.server import ChildServer, child_server
from support.spec import proves
from support.workflows import progress, started, written

STEPS = """+++
description = "Make two files and talk between."
needs = ["read_files", "create_files"]
+++

## First

```tool
{"tool": "create_file", "parameters": {"path": "one.txt", "content": "1"}}
```

## Talk

Say something.

## Second

```tool
{"tool": "create_file", "parameters": {"path": "two.txt", "content": "2"}}
```
"""


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path, model: ScriptedModel) -> Iterator[ChildServer]:
    written(tmp_path, two=STEPS)
    with child_server(fork_server, tmp_path, model_url=model.base_url) as server:
        yield server


@proves("WFL-3", "OPS-2")
async def test_killed_during_a_step_the_run_is_interrupted_and_nothing_of_it_is_repeated(
    server: ChildServer, model: ScriptedModel
) -> None:
    model.replies += [Hang("Well, ")]
    async with server.connect() as client:
        chat = await client.chat()
        await started(chat, "two")
        await chat.rest()
        await _allow(chat)
        async for event in chat.follow():
            if event["type"] == "text-delta":
                break
        server.restart()
        assert (await chat.show())["state"] == "idle"
        assert await progress(chat) == [(1, "running"), (2, "running"), (2, "interrupted")]
        assert (await chat.events())[-1]["reason"] == "interrupted"
        assert (server.workspace / "one.txt").exists() and not (server.workspace / "two.txt").exists()
        assert len(await chat.results()) == 1


@proves("WFL-3", "APR-4")
async def test_killed_while_parked_the_run_goes_on_with_the_decision(server: ChildServer, model: ScriptedModel) -> None:
    model.replies += ["Something."]
    async with server.connect() as client:
        chat = await client.chat()
        await started(chat, "two")
        await chat.rest()
        for _ in range(2):
            server.restart()
            assert (await chat.show())["state"] == "awaiting_approval"
            await chat.decide()
        assert (await chat.show())["state"] == "idle"
        steps = [(1, "running"), (2, "running"), (3, "running"), (3, "completed")]
        assert await progress(chat) == steps and len(model.requests) == 1
        assert [(server.workspace / name).read_text() for name in ("one.txt", "two.txt")] == ["1", "2"]


async def _allow(chat: LiveChat) -> None:
    """Without waiting for rest: the next step hangs."""
    decisions = [{"id": one["id"], "decision": "allow_once"} for one in await chat.approvals()]
    await chat.client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
