"""A larger job to its end: fourteen tasks of six agents, two of them other vendors', with a planner that guesses wrongly in every task."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from anycowork.config.settings import AgentEntry
from support.acp_agent import PROGRAM
from support.jobs import Answers, Json, by_task, new_job, plan, report, until
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import Answer, call
from support.spec import proves

FILES = {"src/app.py": "def needle() -> int:\n    return 1\n", "right.txt": "already right\n"}
AGENTS: dict[str, Any] = {
    "scout": {"role": "planner", "description": "finds things out"},
    "writer": {"role": "actor", "description": "writes files"},
    "checker": {"role": "tester", "description": "runs checks"},
    "critic": {"role": "reviewer", "description": "reads what others wrote"},
    "vendor_one": AgentEntry(command=PROGRAM, seconds=60, description="another vendor's agent"),
    "vendor_two": AgentEntry(command=PROGRAM, seconds=60, description="another vendor's agent too"),
}


def guess(name: str, agent: str, action: str, *after: str, tools: list[str], paths: list[str], **more: Any) -> Json:
    """A step of a planner that knows neither the tools nor the files."""
    step = {"id": name, "action": action, "agent": agent, "dependencies": list(after)}
    return {**step, "tools_needed": tools, "paths": paths, **more}


def attempts(*each: tuple[str, ...]) -> str:
    return json.dumps(each)


STEPS = [
    guess("search", "scout", "find the needle", tools=["grep"], paths=["lib/none.py"]),
    guess("symbol", "scout", "find the function", tools=["open_browser"], paths=["needle.c"]),
    guess("list", "scout", "list the files", tools=["read_file"], paths=["docs"]),
    guess("head", "writer", "write the head", "search", tools=["update_file"], paths=["guessed/head.md"]),
    guess("body", "writer", "write the body", "search", tools=["create_file"], paths=["body.md"]),
    guess("log", "writer", "add a line to the log", tools=["append_file"], paths=["logs/today"]),
    guess("tail", "writer", "write the tail", "head", tools=["read_file"], paths=["end.md"]),
    guess("right", "writer", "mend right.txt", tools=["update_file"], paths=["wrong.txt"]),
    guess(
        "foreign",
        "vendor_one",
        attempts(("write", "one.txt", "one\n")),
        tools=["search_code"],
        paths=["uno.txt"],
    ),
    guess("asked", "vendor_two", attempts(("ask_write", "two.txt", "two\n")), tools=["mystery"], paths=["dos.txt"]),
    guess(
        "shell",
        "vendor_one",
        attempts(("terminal", "echo three >> three.txt")),
        "foreign",
        tools=["create_file"],
        paths=["tres.txt"],
    ),
    guess("tests", "checker", "see that the head is there", "tail", tools=["update_file"], paths=["tests/none.py"]),
    guess("review", "critic", "read the tail", "tail", tools=["execute_command"], paths=["other.txt"]),
    guess(
        "end",
        "writer",
        "write the end",
        "tests",
        "review",
        "asked",
        "shell",
        tools=["grep"],
        paths=["finish.md"],
        check="test -f end.txt",
        commands=["test -f end.txt"],
    ),
]


def answers() -> Answers:
    def wrote(path: str) -> list[Any]:
        return [call("create_file", path=path, content=f"{path}\n"), report(f"wrote {path}")]

    return {
        "search": [call("search_code", query="needle"), report("it is in src/app.py")],
        "symbol": [call("grep", pattern="def needle"), report("it is in line 1")],
        "list": [call("list_directory", path="."), report("two files")],
        "head": wrote("head.txt"),
        "body": [call("execute_command", command="echo body >> body.txt"), report("appended the body")],
        "log": [call("execute_command", command="echo line >> log.txt"), report("a line was added")],
        "tail": wrote("tail.txt"),
        "right": [report("it is right already")],
        "tests": [call("execute_command", command="test -f head.txt"), report("the head is there")],
        "review": [call("read_file", path="tail.txt"), report("it reads well")],
        "end": wrote("end.txt"),
    }


async def end_of(client: LiveServer, chat: LiveChat, job: Json) -> tuple[Json, Counter[str]]:
    """The job's end, and how often each task asked; a person allows whatever asks."""
    asked: Counter[str] = Counter()
    while True:
        shown = await client.ask("GET", f"/jobs/{job['id']}")
        if shown["status"] in ("completed", "failed"):
            return shown, asked
        await chat.rest()
        for approval in await chat.approvals():
            asked[approval["task_id"]] += 1
            decision = {"decisions": [{"id": approval["id"], "decision": "allow_once"}]}
            await client.ask("POST", f"{chat.path}/approvals", decision, expect=200)


@proves("JOB-9/2", "JOB-3/1", "ACP-2/3", "ROL-7/2")
@pytest.mark.parametrize("parallel", [1, 3])
async def test_fourteen_tasks_of_six_agents_end_completed_however_the_planner_guessed(
    tmp_path: Path, parallel: int
) -> None:
    proposed = [json.dumps(plan(*STEPS))]
    told_to_planner: list[str] = []

    def lead(told: str) -> Answer:
        told_to_planner.append(told)
        return proposed.pop() if proposed else "All fourteen tasks are done."

    async with live_server(tmp_path, files=FILES, agents=AGENTS) as client:
        client.model.mind = by_task(answers(), otherwise=lead)
        chat = await client.chat()
        job = await new_job(client, chat, request="Write the guide", parallel=parallel)
        job = await until(client, chat, job["id"], "awaiting_approval", "failed")
        assert job["status"] == "awaiting_approval", job["error"]
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        job, asked = await end_of(client, chat, job)
        assert job["status"] == "completed", job["error"]
        tasks = {task["id"]: task for task in job["tasks"]}
        assert len(tasks) == 14 and {task["attempt"] for task in tasks.values()} == {1}, "nothing was tried again"
        assert {task["status"] for task in tasks.values()} == {"completed"}
        assert {task["agent"] for task in tasks.values()} == {*AGENTS}
        assert all(task["claimed"] for task in tasks.values()), "no file that was guessed is there, and it is said"
        [check] = tasks["end"]["evidence"]["checks"]
        assert (check["exit_code"], check["passed_before"], check["ran_after_last_change"]) == (0, False, True)
        assert job["final_response"] == "All fourteen tasks are done."
        assert set(asked.values()) == {1} and asked["foreign"] == asked["asked"] == asked["shell"] == 1
        contents = {str(path.relative_to(client.workspace)): path for path in client.workspace.rglob("*.txt")}
        assert {name: path.read_text() for name, path in contents.items()} == {
            **{f"{name}.txt": f"{name}.txt\n" for name in ("head", "tail", "end")},
            "body.txt": "body\n",
            "log.txt": "line\n",
            "one.txt": "one\n",
            "two.txt": "two\n",
            "three.txt": "three\n",
            "right.txt": FILES["right.txt"],
        }, "each effect once"
        system = str(client.model.requests[0]["messages"][0]["content"])
        assert all(f"`{name}`" in system for name in AGENTS), "the planner is told who there is"
        audit = await client.ask("GET", f"/jobs/{job['id']}/audit")
        assert [step["status"] for step in audit["steps"]] == ["claimed"] * 14
