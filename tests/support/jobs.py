"""Jobs in tests: a plan of a few tasks, reports of workers, and waiting for a job's status."""

import asyncio
import json
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from support.live_server import LiveChat, LiveServer
from support.scripted_model import Answer, Body, Reply, call

TIMEOUT = 60.0
Json = dict[str, Any]
LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
Answers = dict[str, list[Answer | Callable[[], Answer]]]


def report(summary: str, status: str = "success", **more: Any) -> str:
    return json.dumps({"status": status, "summary": summary, **more})


def writing(name: str, *dependencies: str, **more: Any) -> Json:
    """A step that writes its own file."""
    return {
        "id": name,
        "action": f"write {name}.txt",
        "tools_needed": ["create_file"],
        "paths": [f"{name}.txt"],
        "dependencies": list(dependencies),
        **more,
    }


def plan(*steps: Json) -> Json:
    return {"goal": "Write the files", "steps": list(steps)}


async def new_job(client: LiveServer, chat: LiveChat, **wanted: Any) -> Json:
    return await client.ask("POST", f"{chat.path}/jobs", wanted, expect=202)


async def approved(client: LiveServer, chat: LiveChat, **wanted: Any) -> Json:
    job = await new_job(client, chat, **wanted)
    return await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)


async def until(client: LiveServer, chat: LiveChat, job_id: str, *statuses: str, seconds: float = TIMEOUT) -> Json:
    """The job once it has one of these statuses, by following the chat's events."""
    async with asyncio.timeout(seconds):
        async for event in chat.follow():
            if event["type"] in ("job-updated", "job-completed") and event["job"]["status"] in statuses:
                job = await client.ask("GET", f"/jobs/{job_id}")
                if job["status"] in statuses:
                    return job
    raise AssertionError("the stream ended")


async def until_idle(chat: LiveChat) -> None:
    """Returns once the chat's events say that it is idle again."""
    async with asyncio.timeout(TIMEOUT):
        async for event in chat.follow():
            if event.get("state") == "idle" and event["type"] == "job-updated":
                return
    raise AssertionError("the stream ended")


def by_task(answers: Answers, otherwise: Callable[[str], Answer] = lambda told: "Done.") -> Callable[[Body], Answer]:
    """A model that answers each task from its own list, in whatever order the tasks ask; `otherwise` answers anybody else."""

    def answer(body: Body) -> Answer:
        told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        task = re.search(r"^Task (\S+): ", told, re.MULTILINE)
        if task is None:
            return otherwise(told)
        given = answers[task.group(1)].pop(0)
        return given() if callable(given) else given

    return answer


# --- a job of twelve tasks, four of which write at the same time, and two of these the same line

SHARED = "title: draft\n"


def twelve_tasks() -> Json:
    edits = [{"id": name, "action": f"set the title in {name}'s words", "paths": ["shared.txt"]} for name in ("a", "b")]
    first = [*edits, writing("c"), writing("d")]
    middle = [writing(f"{name}2", name) for name in "abcd"]
    last = [writing("left", "a2", "b2"), writing("right", "c2", "d2"), writing("index", "left", "right")]
    return {"goal": "Write the guide", "steps": [*first, *middle, *last, writing("end", "index")]}


def twelve_answers(completed_a: asyncio.Event) -> Answers:
    """`b` reports when `completed_a` is set: its version of the line then meets that of `a`, which is merged already."""
    answers: Answers = {
        step["id"]: [
            call("create_file", path=f"{step['id']}.txt", content=f"{step['id']}\n"),
            report(f"{step['id']} is there"),
        ]
        for step in twelve_tasks()["steps"]
    }
    edit = [{"find": "draft", "replace": "by a"}]
    answers["a"] = [call("update_file", path="shared.txt", edits=edit), report("the title is by a")]
    mine = call("update_file", path="shared.txt", edits=[{"find": "draft", "replace": "by b"}])
    answers["b"] = [mine, Reply(report("the title is by b"), hold=completed_a)]
    return answers


async def until_task(chat: LiveChat, task_id: str, *, status: str | None = None) -> None:
    """Returns once the chat's events say that this task is completed, or has the status."""
    async with asyncio.timeout(3 * TIMEOUT):
        async for event in chat.follow():
            task = event["task"] if event["type"] == "task-completed" else {}
            if task.get("id") == task_id and status in (None, task["status"]):
                return
    raise AssertionError("the stream ended")


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file with its content."""
    return {str(one.relative_to(folder)): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


def state_of(folder: Path) -> dict[str, tuple[int, int, int, bytes | str | None]]:
    """The folder and everything in it: kind and mode, owner, when it was changed last, and its content or where its link leads."""

    def state(one: Path) -> tuple[int, int, int, bytes | str | None]:
        seen = one.lstat()
        content = str(one.readlink()) if one.is_symlink() else one.read_bytes() if one.is_file() else None
        return seen.st_mode, seen.st_uid, seen.st_mtime_ns, content

    return {str(one.relative_to(folder)): state(one) for one in (folder, *sorted(folder.rglob("*")))}


def _edit(path: str, *edits: tuple[str, str]) -> str:
    return call("update_file", path=path, edits=[{"find": find, "replace": new} for find, new in edits])


async def question_about(client: LiveServer, gate: asyncio.Event, other: str) -> tuple[LiveChat, Json, Json]:
    """Let task `b` and somebody else change line two of f.txt. Returns the chat, the job and the question."""
    answers: Answers = {
        "a": [_edit("f.txt", ("two", "two by a")), report("a")] if other == "task" else [report("a")],
        "b": [_edit("f.txt", ("two", "two by b"), ("seven", "seven by b")), Reply(report("b"), hold=gate)],
    }
    client.model.mind = by_task(answers)
    chat = await client.chat()
    steps = plan(*({"id": name, "action": f"do {name}", "paths": ["f.txt"]} for name in "ab"))
    job = await approved(client, chat, plan=steps, parallel=2)
    await until_task(chat, "a")
    await client.model.asked(4 if other == "task" else 3)
    file = client.workspace / "f.txt"
    if other == "person":
        body = {
            "path": "f.txt",
            "text": LINES.replace("two", "two by hand"),
            "sha256": sha256(LINES.encode()).hexdigest(),
        }
        await client.ask("PUT", f"{chat.path}/file", body, expect=200)
    elif other == "outside":
        file.write_text(LINES.replace("two", "two elsewhere"))
    gate.set()
    assert (await chat.rest())["state"] == "awaiting_answer"
    return chat, job, (await chat.of_type("question"))[-1]
