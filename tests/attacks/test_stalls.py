"""Text that is made to keep a reader busy, sent through a real server: it answers all the while, and ends when it is told to."""

import asyncio

import pytest

from support import child_fixtures
from support.cli_process import WHOLE_PROCESS
from support.live_server import Caller
from support.scripted_model import ScriptedModel, call
from support.server import ChildServer

HOSTILE_FILES = {
    "open objects": '"tool" ' + "{" * 250_000,
    "backslashes": '"tool" ' + "\\" * 100_000,
    "half objects": '"tool" ' + '{"a" ' * 50_000,
    "names of tools": "update_file create_file delete_file " * 5_000,
}


client, fork_server, model, server = (
    child_fixtures.client,
    child_fixtures.fork_server,
    child_fixtures.model,
    child_fixtures.server,
)


async def test_an_edit_with_one_wrong_line_among_blank_ones_does_not_hold_the_server(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    (server.workspace / "a.txt").write_text("first\n" + "    \n" * 60 + "end\n")
    model.replies += [
        call("update_file", path="a.txt", edits=[{"find": "first\n" + "\n" * 60 + "wrong", "replace": "x"}]),
        "It is not there.",
    ]
    await _ask_all_the_while(client, "change a.txt")
    assert await asyncio.to_thread(server.terminate) == 0


@pytest.mark.parametrize("kind", HOSTILE_FILES)
async def test_a_read_file_that_resembles_calls_does_not_hold_the_server(
    kind: str, server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    (server.workspace / "a.txt").write_text(HOSTILE_FILES[kind])
    words = " ".join(f"f{number}.txt" for number in range(500))
    model.replies += [call("read_file", path="a.txt"), call("execute_command", command=f"ls {words}")]
    await _ask_all_the_while(client, "read a.txt, then look")
    assert await asyncio.to_thread(server.terminate) == 0


async def test_workflow_files_that_nobody_trusted_do_not_hold_the_server(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    folder = server.workspace / ".anycowork/workflows"
    folder.mkdir(parents=True)
    for number in range(200):
        (folder / f"w{number}.md").write_text(f"+++\n{'a.' * 30_000}b = {number}\n+++\n## s\nx\n")
    async with asyncio.timeout(WHOLE_PROCESS):
        listed = await client.ask("GET", "/workflows")
        await client.ask("GET", "/healthz", expect=200)
    assert listed["workflows"]
    assert await asyncio.to_thread(server.terminate) == 0


async def _ask_all_the_while(client: Caller, words: str) -> None:
    """One request after the other from the sending on until the turn rests, each answered."""
    chat = await client.chat()
    await chat.send(words, until="sent")
    async with asyncio.timeout(WHOLE_PROCESS):
        while (await chat.show())["state"] == "running":
            await client.ask("GET", "/healthz", expect=200)
