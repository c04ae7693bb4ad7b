"""A server that was stopped while another one took over its chat: when it goes on, nothing of it is written, and it joins again."""

import asyncio
import os
import signal
import threading
from pathlib import Path

import aiohttp
import pytest

from anycowork.server.cluster import server_peers
from anycowork.store.postgres import peer_table
from support.fork_server import ForkServer
from support.live_server import Caller, LiveChat, RequestRefused, live_server
from support.postgres import database_url, postgres
from support.scripted_model import Reply, call, serve_in_thread
from support.server import child_server
from support.spec import proves

__all__ = ["database_url", "postgres"]

SECONDS = 60.0
GONE = (aiohttp.ClientError, ConnectionError, TimeoutError, RequestRefused)


async def until_answers(client: Caller, chat: LiveChat) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                await client.ask("GET", chat.path)
                return
            except GONE:
                await asyncio.sleep(0.05)


@proves("JOB-7/4")
@pytest.mark.timeout(180)
async def test_stopped_server_that_goes_on_writes_nothing_says_so_and_joins_again(
    tmp_path: Path, database_url: str, fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_peers, "TAKEOVER_SECONDS", 0.2)
    stopped, living = tmp_path / "stopped", tmp_path / "living"
    for folder in (stopped / "data", living):
        folder.mkdir(parents=True, mode=0o700)
    (stopped / "data" / "config.toml").write_text(f'database_url = "{database_url}"\n')
    hold = threading.Event()
    late = Reply(call("create_file", path="late.txt", content="late"), hold=hold)
    with (
        serve_in_thread([late, "I am back."]) as model,
        child_server(fork_server, stopped, model_url=model.base_url) as child,
    ):
        async with (
            live_server(living, replies=["I go on."], database_url=database_url, workspace=child.workspace) as other,
            child.connect() as client,
        ):
            rule = {"tool": "create_file", "resource": "/*", "effect": "allow", "scope": "global"}
            await other.ask("POST", "/rules", rule, expect=201)
            chat = await client.chat()
            there = LiveChat(other, chat.opened)
            await chat.send("Write late.txt.", until="sent")
            async with asyncio.timeout(SECONDS):
                while not model.requests:
                    await asyncio.sleep(0.02)
            os.kill(child.pid, signal.SIGSTOP)
            monkeypatch.setattr(peer_table, "HUNG_SERVER_SECONDS", 0.5)  # it says nothing any more, from now on
            assert (await there.rest())["state"] == "idle"
            monkeypatch.setattr(peer_table, "HUNG_SERVER_SECONDS", SECONDS)
            assert (await there.events())[-1]["reason"] == "interrupted"
            assert (await there.send("Go on."))["state"] == "idle"
            before = await there.events()
            hold.set()
            os.kill(child.pid, signal.SIGCONT)
            async with asyncio.timeout(SECONDS):
                while "joined the others again" not in child.log:
                    await asyncio.sleep(0.05)
            assert "because others take it over" in child.log
            await until_answers(client, chat)
            assert await there.events() == before, "nothing of the first turn was written"
            assert not (child.workspace / "late.txt").exists(), "and nothing was done that is not written"
            assert (await chat.send("Are you there?"))["state"] == "idle"
            assert (await there.last())["content"] == "I am back."
            assert child.terminate() == 0
