"""Workers hold their own role's permissions, cut to their parent's and those it may delegate; jobs never widen a role."""

from pathlib import Path

import pytest

from support.jobs import approved, plan, report, until, writing
from support.live_server import RequestRefused, live_server
from support.scripted_model import call
from support.spec import proves

WRITE = call("create_file", path="a.txt", content="a\n")


@proves("APR-5", "ROL-5")
async def test_commanders_actor_writes_and_its_planner_does_not(tmp_path: Path) -> None:
    replies = [WRITE, report("written"), WRITE.replace("a.txt", "b.txt"), report("may not", "failure")]
    steps = plan(writing("a", role="actor"), writing("b", "a", role="planner"))
    async with live_server(tmp_path, replies=[*replies, *[report("may not", "failure")] * 2]) as client:
        chat = await client.chat(role="commander")
        job = await approved(client, chat, plan=steps)
        job = await until(client, chat, job["id"], "failed", "completed")
        assert [task["status"] for task in job["tasks"]] == ["completed", "failed"]
        assert (client.workspace / "a.txt").exists() and not (client.workspace / "b.txt").exists()
        assert [one["status"] for one in await chat.results()][:2] == ["ok", "refused"]
        assert (await chat.show())["config"]["agent_role"] == "commander"


@proves("APR-5")
async def test_worker_of_a_reviewers_chat_cannot_write_whatever_its_role_and_the_plan_say(tmp_path: Path) -> None:
    replies = [WRITE, *[report("may not", "failure")] * 3]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat(role="reviewer")
        everything = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", everything, expect=201)
        job = await approved(client, chat, plan=plan(writing("a", role="actor")))
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["status"] == "failed" and not (client.workspace / "a.txt").exists()
        assert (await chat.results())[0]["status"] == "refused"


@proves("APR-5", "APR-6")
async def test_plan_of_a_job_grants_a_worker_its_own_step_only(tmp_path: Path) -> None:
    replies = [WRITE.replace("a.txt", "b.txt")]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await approved(client, chat, plan=plan(writing("a"), writing("b", "a")))
        assert (await chat.rest())["state"] == "awaiting_approval"
        [asked] = await chat.approvals()
        assert asked["task_id"] == "a" and asked["outside_plan"] and not (client.workspace / "b.txt").exists()


@proves("ROL-7")
async def test_agents_have_their_role_model_and_prompt_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    agents = {
        "scout": {
            "role": "planner",
            "model": "scripted/scripted",
            "prompt": "You look closely.",
            "limits": {"steps": 3},
        }
    }
    replies = [WRITE, *[report("looked")], "Done."]
    async with live_server(tmp_path, replies=replies, agents=agents) as client:
        listed = (await client.ask("GET", "/agents"))["agents"]
        assert [agent["name"] for agent in listed] == ["planner", "worker", "scout"]
        assert listed[2] == {
            "name": "scout",
            "role": "planner",
            "model": "scripted/scripted",
            "prompt": "You look closely.",
            "limits": {"steps": 3, "seconds": None},
        }
        chat = await client.chat()
        job = await approved(client, chat, plan=plan({"id": "look", "action": "look", "agent": "scout"}))
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["status"] == "completed" and not (client.workspace / "a.txt").exists()
        assert (await chat.results())[0]["status"] == "refused"
        assert "You look closely." in str(client.model.requests[0]["messages"][0])
        with pytest.raises(RequestRefused, match="'nobody'"):
            await approved(client, chat, plan=plan({"id": "look", "action": "look", "agent": "nobody"}))
