"""Workers hold their own role's permissions, cut to their parent's and those it may delegate; jobs never widen a role."""

from pathlib import Path
from typing import Any  # a test's own words

import pytest

from support.attempts import Attempts
from support.jobs import approved, new_job, plan, report, until, writing
from support.live_server import RequestRefused, live_server
from support.scripted_model import call
from support.spec import proves

WRITE = call("create_file", path="a.txt", content="a\n")


@proves("APR-5/2", "APR-5/3", "ROL-5/3", "PER-4")
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


@proves("APR-5/1", "APR-5/2", "PER-3")
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


@proves("APR-5/4", "APR-6/1", "APR-6/6", "APR-6/7")
async def test_plan_of_a_job_grants_a_worker_its_own_step_only(tmp_path: Path) -> None:
    replies = [WRITE.replace("a.txt", "b.txt")]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await approved(client, chat, plan=plan(writing("a"), writing("b", "a")))
        assert (await chat.rest())["state"] == "awaiting_approval"
        [asked] = await chat.approvals()
        assert asked["task_id"] == "a" and asked["outside_plan"] and not (client.workspace / "b.txt").exists()


@proves("ROL-7/1")
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
            "description": "",
            "limits": {"steps": 3, "seconds": None, "tokens": None, "cost": None},
        }
        chat = await client.chat()
        job = await approved(client, chat, plan=plan({"id": "look", "action": "look", "agent": "scout"}))
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["status"] == "completed" and not (client.workspace / "a.txt").exists()
        assert (await chat.results())[0]["status"] == "refused"
        assert "You look closely." in str(client.model.requests[0]["messages"][0])
        with pytest.raises(RequestRefused, match="'nobody'"):
            await approved(client, chat, plan=plan({"id": "look", "action": "look", "agent": "nobody"}))


# --- what a plan says, and what of it a person is shown

HOSTILE_STEPS: dict[str, list[Any]] = {
    "escape sequences": [writing("a\x1b[2J\x1b]0;x\x07", action="\x1b[31mfine\x1b[0m")],
    "marks of direction": [writing("a\u202eb\u2066", action="delete \u202etxt.a")],
    "a line break in its id": [writing("a\nb", action="x\r\ny")],
    "an id as long as a book": [writing("a" * 50_000)],
    "a thousand dependencies": [writing("a"), *(writing(f"b{n}", "a") for n in range(999))],
    "itself": [writing("a", "a")],
    "a ring": [writing("a", "b\x1b[2J"), writing("b\x1b[2J", "a")],
    "an unknown step": [writing("a", "\x1b[2Jnowhere\u202e")],
    "one id twice": [writing("a\x07"), writing("a\x07")],
    "an unknown agent": [writing("a", agent="\x1b[2Jroot\u202e")],
    "an unknown role": [writing("a", role="owner\x00\x1b[2J")],
    "a role that is no text": [writing("a", role={"permissions": ["everything"]})],
    "an agent that is a path": [writing("a", agent="../../etc/passwd")],
    "no steps": [],
    "a step that is no object": ["rm -rf /"],
    "too many steps": [{"id": str(n), "action": "x"} for n in range(10_001)],
    "a chain of 1,500": [writing("s0"), *(writing(f"s{n}", f"s{n - 1}") for n in range(1, 1_500))],
}
UNSEEN = ("\x1b", "\x07", "\u202e", "\u2066", "\x00", "\r")


@proves("APR-5/4", "SEC-4")
async def test_hostile_plans_of_jobs_are_refused_or_shown_as_they_are(tmp_path: Path, attempts: Attempts) -> None:
    async with live_server(tmp_path) as client:

        async def attempt(case: str) -> None:
            chat = await client.chat()
            body = {"plan": {"goal": f"g {case}", "steps": HOSTILE_STEPS[case]}}
            async with client.session.post(f"{client.url}{chat.path}/jobs", json=body) as answer:
                job = await answer.json()
            assert answer.status in (202, 422), answer.status
            if answer.status == 422:
                assert not any(sign in job["error"]["message"] for sign in UNSEEN)
                assert len(job["error"]["message"]) < 3_000
                return
            shown = await client.ask("GET", f"{chat.path}/plans/{job['plan_id']}/disclosure")
            assert shown["total"] >= len(HOSTILE_STEPS[case])
            assert not any(sign in str(item["text"]) for item in shown["items"] for sign in UNSEEN)

        await attempts.each(HOSTILE_STEPS, attempt)


@proves("APR-5/4", "APR-6/1")
async def test_who_carries_out_a_step_is_part_of_what_is_approved(tmp_path: Path) -> None:
    """A person who approves a reviewer's step has not approved the same step of an actor."""
    async with live_server(tmp_path) as client:
        hashes = set()
        for more in ({}, {"role": "planner"}, {"role": "actor"}):
            chat = await client.chat(role="commander")
            job = await new_job(client, chat, plan=plan(writing("a", **more)))
            shown = await client.ask("GET", f"{chat.path}/plans/{job['plan_id']}/disclosure")
            hashes.add(shown["hash"])
            assert all(name in str(shown["items"]) for name in more.values())
        assert len(hashes) == 3
        forged = {"disclosure": "0" * 64}
        with pytest.raises(RequestRefused, match=r"409|422"):
            await client.ask("POST", f"/jobs/{job['id']}/approve", forged)


@proves("APR-5/4")
async def test_no_one_but_a_person_starts_steers_or_retries_a_job(tmp_path: Path, attempts: Attempts) -> None:
    async with live_server(tmp_path) as client:
        key = (await client.ask("POST", "/keys", {"name": "k"}, expect=201))["key"]
        chat = await client.chat()
        job = await new_job(client, chat, plan=plan(writing("a")))
        other = await client.chat()
        ways: dict[str, tuple[str, Any]] = {
            "create": (f"{chat.path}/jobs", {"plan": plan(writing("b"))}),
            "approve": (f"/jobs/{job['id']}/approve", {}),
            "approve its plan": (f"{chat.path}/plans/{job['plan_id']}/approve", {}),
            "pause": (f"/jobs/{job['id']}/pause", {}),
            "resume": (f"/jobs/{job['id']}/resume", {}),
            "retry": (f"/jobs/{job['id']}/retry", {"task_id": "a"}),
            "cancel": (f"/jobs/{job['id']}/cancel", {}),
            "continue": (f"{chat.path}/continue", {}),
        }

        async def attempt(way: str) -> None:
            path, body = ways[way]
            headers = {"Authorization": f"Bearer {key}"}
            async with client.session.post(client.url + path, json=body, headers=headers) as answer:
                assert answer.status in (401, 403), answer.status

        await attempts.each(ways, attempt)
        with pytest.raises(RequestRefused, match="404"):  # a plan belongs to its chat
            await client.ask("POST", f"{other.path}/plans/{job['plan_id']}/approve", {})
        assert (await client.ask("GET", f"/jobs/{job['id']}"))["status"] == "awaiting_approval"


@proves("JOB-10", "APR-5/2")
async def test_parallel_writer_reaches_nothing_but_its_own_copy_whatever_path_it_names(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    hooks = f"mkdir -p {root}/.git/hooks && echo evil > {root}/.git/hooks/post-checkout; echo x > {root}/cmd.txt"
    attempts = [
        call("create_file", path=f"{root}/absolute.txt", content="x"),
        call("create_file", path="../outside.txt", content="x"),
        call("execute_command", command=hooks),
        call("execute_command", command=f"echo x > {tmp_path}/data/evil; ls {tmp_path}/data"),
    ]
    async with live_server(
        tmp_path, replies=[*attempts, report("gave up", "failure")], autonomy_max_steps=20
    ) as client:
        (root / ".git" / "hooks").mkdir(parents=True)
        chat = await client.chat()
        everything = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", everything, expect=201)
        steps = plan({"id": "a", "action": "attack"})
        job = await approved(client, chat, plan=steps, parallel=2, on_failure="ask")
        assert (await chat.rest())["state"] == "awaiting_answer"
        assert [one["status"] for one in await chat.results()][:2] == ["ok", "refused"]
        assert sorted(path.name for path in root.iterdir()) == [".git"], "a failed task leaves nothing behind"
        assert list((root / ".git" / "hooks").iterdir()) == []
        assert not (tmp_path / "data" / "evil").exists() and not (tmp_path / "outside.txt").exists()
        assert not list((tmp_path / "data").glob("**/copies/*"))
        await client.ask("POST", f"/jobs/{job['id']}/cancel", expect=200)
