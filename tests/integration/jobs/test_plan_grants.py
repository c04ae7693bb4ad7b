"""What a person said is stronger than what a plan grants: ask rules, network, and a job that was cancelled."""

from pathlib import Path
from typing import Any

import pytest

from support.jobs import Json, approved, new_job, plan, report, writing
from support.live_server import RequestRefused, live_server
from support.scripted_model import call
from support.spec import proves

RUN = {"id": "a", "action": "run it", "commands": ["true"]}


@proves("APR-2", "APR-3/5")
@pytest.mark.parametrize(
    ("step", "work", "rule"),
    [
        pytest.param(
            writing("a"),
            call("create_file", path="a.txt", content="a\n"),
            {"tool": "create_file", "resource": "/a.txt", "effect": "ask", "scope": "global"},
            id="an ask rule",
        ),
        pytest.param(RUN, call("execute_command", command="true", network=["example.com"]), None, id="network"),
    ],
)
async def test_granted_call_asks_where_a_rule_asks_and_for_every_host(
    tmp_path: Path, step: Json, work: str, rule: dict[str, Any] | None
) -> None:
    async with live_server(tmp_path, replies=[work, report("not allowed", "failure")]) as client:
        if rule is not None:
            await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat()
        await approved(client, chat, plan=plan(step), on_failure="ask")
        assert (await chat.rest())["state"] == "awaiting_approval"
        [asked] = await chat.approvals()
        assert asked["task_id"] == "a"
        await client.ask(
            "POST", f"{chat.path}/approvals", {"decisions": [{"id": asked["id"], "decision": "deny"}]}, expect=200
        )
        await chat.rest()
        assert not (client.workspace / "a.txt").exists()


@proves("JOB-1/2")
async def test_cancelled_job_is_never_approved(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[]) as client:
        chat = await client.chat()
        job = await new_job(client, chat, plan=plan(writing("a")))
        await client.ask("POST", f"/jobs/{job['id']}/cancel", expect=200)
        with pytest.raises(RequestRefused, match="409"):
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        assert (await client.ask("GET", f"/jobs/{job['id']}"))["status"] == "cancelled"
        assert client.model.requests == [] and (await chat.show())["state"] == "idle"
