"""Another vendor's agent inside our permissions: a real program that speaks the protocol, and tries more than its chat may do."""

import asyncio
import json
from pathlib import Path
from typing import Any  # a test's own words

from anycowork.config.settings import AgentEntry
from support.acp_agent import PROGRAM
from support.jobs import approved, plan, until
from support.live_server import LiveChat, LiveServer, live_server
from support.processes import started_with
from support.spec import proves

AGENTS = {"helper": AgentEntry(command=PROGRAM, env=("HELPER_KEY",), seconds=60)}
SECRET = "the-secret-of-the-server"
FILES = {"a.txt": "old\n", "secret.txt": "hidden\n", "kept.txt": "kept\n"}


def attempts(*each: tuple[str, ...]) -> str:
    return json.dumps(each)


async def told(client: LiveServer, words: str, *, role: str = "actor", until: str = "turn-ended") -> LiveChat:
    """A chat whose agent is the helper, after its first message; the person allows what asks before it starts."""
    chat = await client.chat(role=role, model="agent/helper")
    await chat.send(words)
    approvals = await chat.approvals()
    if approvals:
        assert approvals[0]["resource"] == "agent:helper"
        decisions = [{"id": one["id"], "decision": "allow_once"} for one in approvals]
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
    await seen(chat, until)
    return chat


async def seen(chat: LiveChat, kind: str) -> None:
    async with asyncio.timeout(60):
        async for event in chat.follow():
            if event["type"] == kind:
                return


async def last_result(chat: LiveChat) -> dict[str, Any]:
    return (await chat.of_type("tool_result"))[-1]


@proves("ACP-2/1", "ACP-2/2", "PER-3")
async def test_an_agent_works_on_a_copy_and_its_changes_are_merged_like_a_commands(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("ANYCOWORK_TOKEN", SECRET)
    monkeypatch.setenv("HELPER_KEY", "its-own-key")
    outside = tmp_path / "outside.txt"
    outside.write_text(SECRET)
    words = attempts(
        ("write", "new.txt", "by itself"),
        ("ask_write", "sub/asked.txt", "by request"),
        ("terminal", "cat a.txt; echo more >> a.txt"),
        ("ask_read", "a.txt"),
        ("offered",),
        ("say", "Words before a call."),
        ("permission", "edit", "a.txt"),
        ("permission", "edit", str(outside)),
        ("permission", "edit", "secret.txt"),
        ("ask_read", str(outside)),
        ("ask_write", str(outside), "x"),
        ("ask_write", "secret.txt", "x"),
        ("read", str(outside)),
        ("read", "secret.txt"),
        ("environment",),
    )
    async with live_server(tmp_path, files=FILES, agents=AGENTS) as client:
        for tool, path in (("*", "/secret.txt"), ("read_file", "/secret.txt")):
            rule = {"tool": tool, "resource": path, "effect": "deny", "scope": "global"}
            await client.ask("POST", "/rules", rule)
        chat = await told(client, words)
        result = await last_result(chat)
        text = result["content"]
        for line in ("wrote new.txt", "asked to write sub/asked.txt", "terminal 0: old", "asked to read: old\nmore"):
            assert line in text
        assert "offered: reads False, writes True" in text, "it has the files before it"
        assert "Words before a call." not in text, "the answer is what follows the last call"
        assert result["payload"]["facts"]["agent_calls"] == 3, "calls that nothing but a question announced"
        assert "edit a.txt: yes" in text and f"edit {outside}: no" in text and "edit secret.txt: no" in text
        assert text.count("refused") >= 3 and SECRET not in text and "hidden" not in text
        assert "HELPER_KEY=its-own-key" in text
        assert len(result["payload"]["facts"]["kept_from"]) >= 4 and "dropped_files" not in result["payload"]["facts"]
        workspace = {path.name: path.read_text() for path in client.workspace.rglob("*") if path.is_file()}
        assert workspace == {**FILES, "a.txt": "old\nmore\n", "new.txt": "by itself", "asked.txt": "by request"}
        assert outside.read_text() == SECRET
        assert (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        assert (await chat.last())["content"].startswith("The agent")


@proves("ACP-2/1", "PER-4")
async def test_an_agent_does_no_more_than_its_chats_role_and_rules(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES, agents=AGENTS) as client:
        planner = await told(client, attempts(("write", "a.txt", "new")), role="planner")
        assert [one["status"] for one in await planner.results()] == ["refused"]
        words = attempts(("write", "a.txt", "new"), ("ask_write", "b.txt", "x"), ("permission", "edit", "a.txt"))
        tester = await told(client, words, role="tester")
        text = (await last_result(tester))["content"]
        assert "ask_write refused" in text and "edit a.txt: no" in text
        rule = {"tool": "update_file", "resource": "/kept.txt", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", rule)
        ruled = await told(client, attempts(("write", "kept.txt", "new"), ("write", "a.txt", "new")))
        dropped = await last_result(ruled)
        assert "None of the command's changes was kept" in dropped["content"]
        assert dropped["payload"]["facts"]["dropped_files"] == ["a.txt", "kept.txt"]
        hooked = await told(client, attempts(("terminal", "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit")))
        assert "'.git' may not be changed" in (await last_result(hooked))["content"]
        assert (await hooked.last())["content"].startswith("The agent 'helper' failed or was kept from this.")
        found = {path.name: path.read_text() for path in client.workspace.rglob("*") if path.is_file()}
        assert found == FILES


@proves("ACP-2/1")
async def test_what_a_copy_cannot_hold_is_asked_and_nothing_else_is_a_yes(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES, agents=AGENTS) as client:
        chat = await told(
            client, attempts(("permission", "fetch", "a.txt"), ("permission", "fetch", "kept.txt")), until="question"
        )
        for value in ("refuse", "allow"):
            question = (await chat.of_type("question"))[-1]
            assert "May the agent 'helper' do this" in question["content"]
            after = (await chat.show())["last_seq"]
            await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": value})
            async with asyncio.timeout(60):
                async for event in chat.follow(after):
                    if event["type"] in ("question", "turn-ended"):
                        break
        text = (await last_result(chat))["content"]
        assert "fetch a.txt: no" in text and "fetch kept.txt: yes" in text


@proves("ACP-2/3")
async def test_a_jobs_task_is_given_to_the_agent_that_its_step_names(tmp_path: Path) -> None:
    step = {"id": "a", "action": attempts(("write", "new.txt", "by the agent")), "agent": "helper", "dependencies": []}
    async with live_server(tmp_path, files=FILES, agents=AGENTS) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(step))
        await seen(chat, "permission-request")
        (asked,) = await chat.approvals()
        assert (asked["resource"], asked["task_id"]) == ("agent:helper", "a")
        decisions = [{"id": asked["id"], "decision": "allow_once"}]
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
        await seen(chat, "task-completed")
        task = await client.ask("GET", f"/jobs/{job['id']}/tasks/a")
        assert "wrote new.txt" in json.dumps(task)
        assert (client.workspace / "new.txt").read_text() == "by the agent"


@proves("ACP-2/3", "PLN-6/2", "PLN-6/3")
async def test_an_agents_changes_belong_to_the_step_that_names_the_agent(tmp_path: Path) -> None:
    created = ("ask_write", "sub/new.txt", "by the agent")
    action = attempts(("mode",), ("ask_read_missing", "sub/new.txt"), created)
    guessed = {"tools_needed": ["update_file"], "paths": ["a.txt"]}  # a planner that cannot know what the agent will do
    step = {"id": "a", "action": action, "agent": "helper", "paths": ["sub/new.txt"], "dependencies": []}
    other = {"id": "b", "action": attempts(("write", "b.txt", "b")), "agent": "helper", **guessed}
    async with live_server(tmp_path, files=FILES, agents=AGENTS) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(step, other))
        for task_id in ("a", "b"):
            assert (await chat.rest())["state"] == "awaiting_approval"
            (asked,) = await chat.approvals()
            assert (asked["task_id"], asked["outside_plan"]) == (task_id, False)
            await chat.decide()
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        assert [(task["status"], task["attempt"]) for task in job["tasks"]] == [("completed", 1)] * 2
        assert (client.workspace / "sub/new.txt").read_text() == "by the agent"
        told_missing = [one["content"] for one in await chat.messages() if "missing: -32002" in one["content"]]
        assert told_missing and "ENOENT" in told_missing[0]
        assert "mode full-access" in told_missing[0], "no sandbox of its own inside ours"
        audit = await client.ask("GET", f"/jobs/{job['id']}/audit")
        assert [(one["files"], one["unplanned"]) for one in audit["steps"]] == [
            (["sub", "sub/new.txt"], []),
            (["b.txt"], []),
        ]


@proves("ACP-2/3", "JOB-11")
async def test_agents_of_other_vendors_race_for_a_task_and_a_person_keeps_one(tmp_path: Path) -> None:
    agents = {"helper": AGENTS["helper"], "second": AGENTS["helper"]}
    words = attempts(("write", "out.txt", "by an agent\n"), ("read", "a.txt"))
    async with live_server(tmp_path, files=FILES, agents=agents) as client:
        for name in agents:
            rule = {"tool": f"agent__{name}", "resource": "*", "effect": "allow", "scope": "global"}
            await client.ask("POST", "/rules", rule)
        chat = await client.chat()
        job = await approved(client, chat, request=words, race=[*agents])
        job = await until(client, chat, job["id"], "awaiting_commit", "failed", seconds=60)
        assert [task["id"] for task in job["tasks"]] == ["race@helper", "race@second"]
        shown = (await client.ask("GET", f"/jobs/{job['id']}/diff"))["tasks"]
        assert [one["agent"] for one in shown] == [*agents] and all("+by an agent" in one["diff"] for one in shown)
        assert not (client.workspace / "out.txt").exists()
        await client.ask("POST", f"/jobs/{job['id']}/commit", {"task_id": "race@second"}, expect=200)
        assert (client.workspace / "out.txt").read_text() == "by an agent\n"


@proves("ACP-2/1")
async def test_an_agent_that_dies_or_is_stopped_changes_nothing(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES, agents=AGENTS) as client:
        for end in ("die", "deaf"):
            dead = await told(client, attempts(("write", "a.txt", "new"), (end,)))
            result = await last_result(dead)
            assert result["payload"]["status"] == "error" and "ended before it was done" in result["content"], end
        stopped = await told(
            client, attempts(("write", "a.txt", "new"), ("permission", "other", "x"), ("hang",)), until="question"
        )
        await client.ask("POST", f"{stopped.path}/stop", {})
        assert (await stopped.show())["state"] == "idle"
        assert (client.workspace / "a.txt").read_text() == "old\n"
        assert started_with(PROGRAM[1]) == []


@proves("ACP-2/1", "APR-3")
async def test_an_agent_reads_no_key_file_of_the_workspace(tmp_path: Path) -> None:
    """Nobody was asked about the file, and the agent may have network."""
    files = {"a.txt": "old\n", ".env": "PASSWORD=hunter2\n"}
    async with live_server(tmp_path, files=files, agents=AGENTS) as client:
        chat = await told(client, attempts(("terminal", "cat a.txt; cat .env; cat .e*")))
        text = str(await chat.messages())
        assert "old" in text and "hunter2" not in text
        assert (client.workspace / ".env").read_text() == files[".env"]


@proves("ACP-2/1", "APR-3")
async def test_no_change_of_a_key_file_reaches_an_agent_that_works(tmp_path: Path) -> None:
    """Its copy was made before; a person goes on saving, creating and linking files in the workspace meanwhile."""
    files = {"a.txt": "old\n", ".env": "PASSWORD=hunter2\n"}
    poll = "end=$((SECONDS+2)); while [ $SECONDS -lt $end ]; do cat a.txt .env .env.new linked sub/server.key; done 2>/dev/null | sort -u"
    async with live_server(tmp_path, files=files, agents=AGENTS) as client:
        running = asyncio.ensure_future(told(client, attempts(("terminal", poll))))
        async with asyncio.timeout(60):
            while not running.done() and not started_with(PROGRAM[1]):
                await asyncio.sleep(0.01)
        root = client.workspace
        (tmp_path / "saved").write_text("PASSWORD=hunter2, saved\n")
        (tmp_path / "saved").rename(root / ".env")
        (root / ".env.new").write_text("PASSWORD=hunter2, new\n")
        (root / "linked").hardlink_to(root / ".env")
        (root / "sub").mkdir()
        (root / "sub/server.key").write_text("hunter2\n")
        text = str(await (await running).messages())
        assert "old" in text and "hunter2" not in text
