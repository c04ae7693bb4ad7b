"""The server itself as an ordinary user: a real process that answers real chats, with commands, approvals, checkpoints and a restart.

Root skips this: `make test` and `make attacks` run the attacks a second time as an ordinary user (`scripts/attacks_as_user.sh`).
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from support.child_fixtures import fork_server
from support.fork_server import ForkServer
from support.live_server import Caller, LiveChat
from support.scripted_model import Body, call, serve_in_thread
from support.server import ChildServer, child_server
from support.spec import proves

__all__ = ["fork_server"]
pytestmark = pytest.mark.skipif(os.geteuid() == 0, reason="the second run of the attacks is by an ordinary user")

RUN = call("execute_command", command="id -u; echo made > made.txt; cat /etc/shadow; touch /usr/x; ls /root; true")
MAKE = call("create_file", path="note.txt", content="hello\n")
FORBIDDEN = call("execute_command", command="rm kept.txt")
ASKED = {"run it": RUN, "make it": MAKE, "remove it": FORBIDDEN}


def answer(body: Body) -> str:
    """Makes the call that the newest message asks for; after its result, says so."""
    last = str(body["messages"][-1]["content"])
    return next((reply for words, reply in ASKED.items() if last.endswith(words)), "It is done.")


@proves("SEC-4")
async def test_server_of_an_ordinary_user_works_and_holds(
    fork_server: ForkServer, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with (
        serve_in_thread(mind=answer) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url, files={"kept.txt": "kept"}) as server,
    ):
        assert Path(f"/proc/{server.pid}").stat().st_uid == os.geteuid() != 0
        async with server.connect() as client:
            level = (await client.ask("GET", "/settings"))["sandbox"]["level"]
            record_property("sandbox_level", level)
            assert level == "full", f"the sandbox's level is '{level}'; `anycowork doctor` says what is missing"
            chat = await client.chat()
            await command_runs_in_the_sandbox(chat, server)
            await denied_command_does_not_run(chat, server)
            await change_is_undone_after_a_restart(client, chat, server)
        assert stat.S_IMODE((server.data / "anycowork.db").stat().st_mode) & 0o077 == 0


async def command_runs_in_the_sandbox(chat: LiveChat, server: ChildServer) -> None:
    assert (await chat.send("run it"))["state"] == "awaiting_approval"
    assert not (server.workspace / "made.txt").exists()
    assert (await chat.decide())["state"] == "idle"
    (result,) = await chat.of_type("tool_result")
    assert result["payload"]["facts"]["sandbox"] == "full"
    assert result["content"].splitlines()[0] == str(os.geteuid())
    assert "root:" not in result["content"] and not Path("/usr/x").exists()
    assert (server.workspace / "made.txt").stat().st_uid == os.geteuid()


async def denied_command_does_not_run(chat: LiveChat, server: ChildServer) -> None:
    await chat.send("remove it")
    await chat.decide("deny")
    assert (await chat.results())[-1]["status"] == "denied"
    assert (server.workspace / "kept.txt").read_text() == "kept"


async def change_is_undone_after_a_restart(client: Caller, chat: LiveChat, server: ChildServer) -> None:
    await chat.send("make it")
    await chat.decide()
    assert (server.workspace / "note.txt").read_text() == "hello\n"
    server.restart()
    taken = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
    before = max((each for each in taken if each["moment"] == "before"), key=lambda each: str(each["created_at"]))
    await client.ask("POST", f"{chat.path}/snapshots/{before['id']}/restore", {})
    assert not (server.workspace / "note.txt").exists() and (server.workspace / "made.txt").exists()
