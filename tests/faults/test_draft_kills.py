"""A server is killed while it takes back a small model's failed draft: the files are as they were or as the draft left them, and what goes on
knows which."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration.agent.test_fresh_drafts import DONE, FILES, READ, REQUEST, texts, write
from support.evidence import evidence_of
from support.fork_server import ForkServer
from support.live_server import Caller
from support.scripted_model import ScriptedModel
from support.server import ChildServer, child_server
from support.spec import proves
from support.syncwatch import HeldCall
from support.syscall_gate import Gate, rename_to, syscall_gate, to_log

BEFORE, DRAFT = FILES["shop.py"], "def total():\n    return 40\n"


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with syscall_gate(tmp_path) as gate:
        yield gate


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path, model: ScriptedModel, gate: Gate) -> Iterator[ChildServer]:
    with child_server(fork_server, tmp_path, model_url=model.base_url, files=FILES, gate=gate) as server:
        yield server


def at_undoing(_: Path) -> Callable[[HeldCall], bool]:
    """The second time that the file is put in its place: the first was the draft."""
    times: list[HeldCall] = []
    is_of_file = rename_to("shop.py")
    return lambda call: is_of_file(call) and (times.append(call) is None) and len(times) == 2


def after_undoing(folder: Path) -> Callable[[HeldCall], bool]:
    """The first commit of the database after the file is as it was again: what was undone is not recorded yet."""
    is_draft = [False]

    def is_wanted(call: HeldCall) -> bool:
        is_draft[0] = is_draft[0] or (folder / "shop.py").read_text() == DRAFT
        return is_draft[0] and to_log(call) and (folder / "shop.py").read_text() == BEFORE

    return is_wanted


@proves("OPS-2")
@pytest.mark.parametrize(("point", "left"), [(at_undoing, DRAFT), (after_undoing, BEFORE)])
async def test_killed_between_two_drafts_nothing_is_lost_and_what_goes_on_ends_checked(
    server: ChildServer,
    gate: Gate,
    model: ScriptedModel,
    client: Caller,
    point: Callable[[Path], Callable[[HeldCall], bool]],
    left: str,
) -> None:
    chat = await client.chat(model="openai/tiny-3b")
    await client.ask("PATCH", chat.path, {"autonomy": "sandboxed"})
    model.replies += [write(40), DONE]
    gate.hold(point(server.workspace))
    await client.ask("POST", f"{chat.path}/messages", {"content": REQUEST}, expect=202)
    await asyncio.to_thread(gate.wait_until_held)
    server.kill()
    gate.release()
    server.start()
    await chat.rest()
    assert (server.workspace / "shop.py").read_text() == left
    told = len(model.requests)
    model.replies += [READ, write(3), DONE]
    await chat.send(REQUEST)
    assert "return 40" in texts(model.requests[told]), "nothing of the broken off draft is hidden from who goes on"
    assert (server.workspace / "shop.py").read_text() == "def total():\n    return 3\n"
    assert (await evidence_of(client, chat))["status"] == "checked"
