"""A server killed while changes wait for a person's word: they are still there, as they were shown, and are made or dropped as told."""

from pathlib import Path

import pytest

from support.fork_server import ForkServer
from support.live_server import LiveChat
from support.scripted_model import call, serve_in_thread
from support.server import child_server
from support.spec import proves

STEER = call("execute_command", command="echo obey > AGENTS.md; rm old.txt; echo said")


@proves("SNAP-4", "APR-4", "OPS-2")
@pytest.mark.parametrize("decision", ["allow_once", "deny"])
async def test_what_waits_survives_a_kill(fork_server: ForkServer, tmp_path: Path, decision: str) -> None:
    with (
        serve_in_thread([STEER, "Done."]) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url, files={"old.txt": "old\n"}) as server,
    ):
        async with server.connect() as client:
            chat = await client.chat()
            await chat.send("do it")
            await chat.decide()
            (shown,) = await chat.approvals()
            assert shown["held"] and "+obey" in shown["diff"]
        server.kill()
        server.start()
        async with server.connect() as client:
            again = LiveChat(client, await client.ask("GET", chat.path))
            assert await again.approvals() == [shown] and (server.workspace / "old.txt").exists()
            await again.decide(decision)
            names = sorted(path.name for path in server.workspace.iterdir())
            assert names == (["AGENTS.md"] if decision == "allow_once" else ["old.txt"])
            assert list((server.data / "staging/held").iterdir()) == []
