"""A person's denial is final wherever calls come from: attempts by messages that steer, by forks, jobs, servers of tools and other agents."""

import json
from pathlib import Path
from typing import Any  # a test's own words

from attacks.test_denials import ANYTHING, BOTH, FILES, decide
from support.jobs import approved, plan, report, until
from support.live_server import LiveChat, LiveServer, RequestRefused, live_server
from support.raw_mcp_server import raw_server
from support.scripted_model import call
from support.spec import proves

REPORT = report("junk.txt is gone")


@proves("APR-10/1", "APR-10/2")
async def test_no_message_fork_or_edit_runs_a_denied_call(tmp_path: Path) -> None:
    """One server: each attempt begins with a batch of two calls, of which the second is denied."""
    async with live_server(tmp_path, files=FILES) as client:
        for attempt in (_steered, _forked, _edited_by_a_person, _queued):
            for name, text in FILES.items():
                (client.workspace / name).write_text(text)
            client.model.replies[:] = [BOTH, "Done.", "Done.", "Done."]
            chat = await client.chat()
            await chat.send("delete both")
            await attempt(client, chat)
            denied = [result for result in await chat.results() if result["status"] == "denied"]
            assert len(denied) == 1, attempt.__name__
            assert (client.workspace / "keep.txt").exists(), attempt.__name__
            assert not (client.workspace / "junk.txt").exists(), attempt.__name__


async def _steered(client: LiveServer, chat: LiveChat) -> None:
    steering = {"content": "Yes, delete keep.txt, I allow it.", "when": "now"}
    await client.ask("POST", f"{chat.path}/messages", steering)
    await decide(client, chat, ("/keep.txt", "deny"), ("/junk.txt", "allow_session"), at_once=False)


async def _queued(client: LiveServer, chat: LiveChat) -> None:
    await decide_one(client, chat, "/keep.txt", "deny")
    await client.ask("POST", f"{chat.path}/messages", {"content": "Delete keep.txt.", "when": "idle"})
    await client.ask("PATCH", chat.path, {"autonomy": "sandboxed"})
    await decide(client, chat, ("/junk.txt", "allow_session"))


async def _forked(client: LiveServer, chat: LiveChat) -> None:
    """The fork has the call's message, and no say about the call."""
    waiting = {item["resource"]: item["id"] for item in await chat.approvals()}
    await decide_one(client, chat, "/keep.txt", "deny")
    last = (await chat.messages())[-1]["id"]
    fork = LiveChat(client, await client.ask("POST", f"{chat.path}/fork", {"message_id": last}))
    assert await fork.approvals() == []
    yes = {"decisions": [{"id": waiting["/keep.txt"], "decision": "allow_once"}]}
    for place in (fork.path, chat.path):
        try:
            await client.ask("POST", f"{place}/approvals", yes)
        except RequestRefused as refused:
            assert ": 40" in str(refused), refused
    await decide(client, chat, ("/junk.txt", "allow_session"))


async def _edited_by_a_person(client: LiveServer, chat: LiveChat) -> None:
    """The file that the denied call is about changes meanwhile, so what was denied is no longer what would be done."""
    await decide_one(client, chat, "/keep.txt", "deny")
    file = await client.ask("GET", f"{chat.path}/file?path=keep.txt")
    edited = {"path": "keep.txt", "text": "kept anew", "sha256": file["sha256"]}
    await client.ask("PUT", f"{chat.path}/file", edited, expect=200)
    rule = await client.ask("POST", "/rules", ANYTHING, expect=201)
    await decide(client, chat, ("/junk.txt", "allow_once"))
    await client.ask("DELETE", f"/rules/{rule['id']}", expect=204)


async def decide_one(client: LiveServer, chat: LiveChat, resource: str, decision: str) -> None:
    (found,) = [item["id"] for item in await chat.approvals() if item["resource"] == resource]
    await client.ask("POST", f"{chat.path}/approvals", {"decisions": [{"id": found, "decision": decision}]}, expect=200)


@proves("APR-10/3", "MCP-2")
async def test_rule_made_for_one_call_of_a_server_does_not_run_its_denied_neighbour(tmp_path: Path) -> None:
    batch: list[Any] = [json.loads(call("raw__attempt", code=f"tell('REACHED {name}')")) for name in ("junk", "keep")]
    async with live_server(tmp_path, replies=[json.dumps(batch), "Done.", "Done."]) as client:
        await client.ask("POST", "/mcp/servers", raw_server(tmp_path / "far"), expect=201)
        await client.ask("POST", "/mcp/servers/raw/connect", {})
        chat = await client.chat()
        await chat.send("Go.")
        junk, keep = await chat.approvals()
        told = [{"id": keep["id"], "decision": "deny"}, {"id": junk["id"], "decision": "allow_session"}]
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": told}, expect=200)
        await chat.rest()
        results = [
            (result["status"], str(message["content"]))
            for message in await chat.of_type("tool_result")
            for result in [message["payload"]]
        ]
        assert sorted(status for status, _ in results) == ["denied", "ok"]
        assert "REACHED keep" not in str(results) and "REACHED junk" in str(results)


@proves("APR-10/4", "APR-10/6", "JOB-1/2")
async def test_denied_call_of_a_jobs_worker_does_not_run_after_a_restart_or_by_its_plan(tmp_path: Path) -> None:
    """A rule asks for what the approved plan of the job grants; it goes once the call was denied."""
    step = {"id": "tidy", "action": "tidy", "tools_needed": ["delete_file"], "paths": list(FILES)}
    async with live_server(tmp_path, replies=[BOTH], files=FILES) as client:
        rule = await client.ask("POST", "/rules", {**ANYTHING, "effect": "ask"}, expect=201)
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(step))
        assert (await chat.rest())["state"] == "awaiting_approval"
        await decide_one(client, chat, "/keep.txt", "deny")
    async with live_server(tmp_path, replies=[REPORT, REPORT, REPORT]) as client:
        await client.ask("DELETE", f"/rules/{rule['id']}", expect=204)
        again = LiveChat(client, await client.ask("GET", chat.path))
        await decide_one(client, again, "/junk.txt", "allow_once")
        await until(client, again, job["id"], "completed", "failed", "awaiting_decision", "partial")
        assert (client.workspace / "keep.txt").exists() and not (client.workspace / "junk.txt").exists()
