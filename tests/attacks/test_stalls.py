"""Text that is made to keep a reader busy, sent through a real server: it answers all the while, and ends when it is told to."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.cli_process import SOURCE, WHOLE_PROCESS
from support.fork_server import ForkServer, fork_server
from support.live_server import Caller
from support.scripted_model import ScriptedModel, call, serve_in_thread
from support.server import ChildServer, child_server

HOSTILE_FILES = {
    "open objects": '"tool" ' + "{" * 250_000,
    "backslashes": '"tool" ' + "\\" * 100_000,
    "half objects": '"tool" ' + '{"a" ' * 50_000,
    "names of tools": "update_file create_file delete_file " * 5_000,
}


@pytest.fixture(scope="module")
def seed() -> Iterator[ForkServer]:
    if sys.platform != "linux":
        pytest.skip("forks the server from a loaded process")
    with fork_server(source=SOURCE) as seed:
        yield seed


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with serve_in_thread() as model:
        yield model


@pytest.fixture
def server(seed: ForkServer, tmp_path: Path, model: ScriptedModel) -> Iterator[ChildServer]:
    with child_server(seed, tmp_path, model_url=model.base_url) as server:
        yield server


@pytest.fixture
async def guest(server: ChildServer) -> AsyncIterator[Caller]:
    async with server.visit() as guest:
        yield guest


async def test_an_edit_with_one_wrong_line_among_blank_ones_does_not_hold_the_server(
    server: ChildServer, model: ScriptedModel, guest: Caller
) -> None:
    (server.workspace / "a.txt").write_text("first\n" + "    \n" * 60 + "end\n")
    model.replies += [
        call("update_file", path="a.txt", edits=[{"find": "first\n" + "\n" * 60 + "wrong", "replace": "x"}]),
        "It is not there.",
    ]
    await _ask_all_the_while(guest, "change a.txt")
    assert await asyncio.to_thread(server.terminate) == 0


@pytest.mark.parametrize("kind", HOSTILE_FILES)
async def test_a_read_file_that_resembles_calls_does_not_hold_the_server(
    kind: str, server: ChildServer, model: ScriptedModel, guest: Caller
) -> None:
    (server.workspace / "a.txt").write_text(HOSTILE_FILES[kind])
    words = " ".join(f"f{number}.txt" for number in range(500))
    model.replies += [call("read_file", path="a.txt"), call("execute_command", command=f"ls {words}")]
    await _ask_all_the_while(guest, "read a.txt, then look")
    assert await asyncio.to_thread(server.terminate) == 0


async def test_workflow_files_that_nobody_trusted_do_not_hold_the_server(
    server: ChildServer, model: ScriptedModel, guest: Caller
) -> None:
    folder = server.workspace / ".anycowork/workflows"
    folder.mkdir(parents=True)
    for number in range(200):
        (folder / f"w{number}.md").write_text(f"+++\n{'a.' * 30_000}b = {number}\n+++\n## s\nx\n")
    async with asyncio.timeout(WHOLE_PROCESS):
        listed = await guest.ask("GET", "/workflows")
        await guest.ask("GET", "/healthz", expect=200)
    assert listed["workflows"]
    assert await asyncio.to_thread(server.terminate) == 0


async def _ask_all_the_while(guest: Caller, words: str) -> None:
    """One request after the other from the sending on until the turn rests, each answered."""
    chat = await guest.chat()
    await chat.send(words, until="sent")
    async with asyncio.timeout(WHOLE_PROCESS):
        while (await chat.show())["state"] == "running":
            await guest.ask("GET", "/healthz", expect=200)
