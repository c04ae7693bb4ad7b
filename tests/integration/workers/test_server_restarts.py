"""A server that restarts while commands run on a joined worker, and invitations that are good no more, as the worker's process meets them."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from support.jobs import approved, by_task, plan, report, until
from support.live_server import LiveChat, live_server
from support.processes import command_line, descendants
from support.scripted_model import call
from support.spec import proves
from support.workers import joined_process, relay, until_printed, until_workers

FOREVER, WRITE = "sleep 86399.75", "cat a.txt a.txt > b.txt"
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbad"


async def until_asleep(expected: bool) -> None:
    async with asyncio.timeout(60):
        while any(command_line(process) == FOREVER.split() for process in descendants()) != expected:
            await asyncio.sleep(0.05)


@proves("JOB-12/1")
async def test_a_task_goes_on_at_its_worker_when_its_server_has_restarted(tmp_path: Path) -> None:
    """Its step needs a label, so the server cannot run it. A proxy answers for the server while it is away."""
    (home := tmp_path / "home").mkdir()
    step = {"id": "t", "action": "run", "commands": [FOREVER, WRITE], "paths": ["b.txt"], "needs": ["gpu"]}
    async with AsyncExitStack() as stack:
        async with live_server(home, files={"a.txt": "a\n"}) as server:
            line = await stack.enter_async_context(relay(server))
            invite = await server.ask("POST", "/workers/invites", {"labels": ["gpu"]}, expect=201)
            process = stack.enter_context(
                joined_process(tmp_path / "far", line.url, invite["token"], hidden=home, labels="gpu")
            )
            [worker] = await until_workers(server, bool)
            server.model.mind = by_task({"t": [call("execute_command", command=FOREVER)]})
            chat = await server.chat()
            job = await approved(server, chat, plan=plan(step))
            await until_asleep(True)
            line.answer = BAD_GATEWAY
            line.break_all()
        await asyncio.to_thread(until_printed, tmp_path / "far/log", "502")
        assert process.poll() is None
        async with live_server(home) as server:
            server.model.mind = by_task({"t": [call("execute_command", command=WRITE), report("t")]})
            line.leads_to(server)
            line.answer = b""
            again = LiveChat(server, await server.ask("GET", chat.path))
            done = await until(server, again, job["id"], "completed", "failed")
            results = [result for result in await again.results() if result["tool"] == "execute_command"]
            assert (done["status"], results[-1]["facts"].get("worker")) == ("completed", worker["id"]), results
            assert [result["status"] for result in results].count("ok") == 1
            assert (server.workspace / "b.txt").read_text() == "a\na\n"
            assert [listed["id"] for listed in await until_workers(server, bool)] == [worker["id"]]
            await until_asleep(False)


async def test_a_worker_ends_with_the_reason_if_its_invitation_is_good_no_more(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    async with live_server(home) as server:
        expired = await server.ask("POST", "/workers/invites", {"expires_in": 0.001}, expect=201)
        used = await server.ask("POST", "/workers/invites", {}, expect=201)
        with joined_process(tmp_path / "first", server.url, used["token"], hidden=home):
            await until_workers(server, bool)
            for name, token in (("late", expired["token"]), ("second", used["token"])):
                with joined_process(tmp_path / name, server.url, token, hidden=home) as process:
                    assert await asyncio.to_thread(process.wait, 60) not in (0, None)
                printed = (tmp_path / name / "log").read_text()
                assert "used or expired" in printed and "anycowork workers invite" in printed, printed
                assert "Traceback" not in printed
            assert len(await until_workers(server, bool)) == 1
