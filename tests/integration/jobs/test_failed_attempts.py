"""What becomes of an attempt that failed while its task worked apart: nothing of it is merged, met again or left on the disk."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.jobs import approved, by_task, bytes_of, plan, report, until
from support.live_server import live_server
from support.scripted_model import Reply, call
from support.spec import proves

COMMANDS = ["ls", "echo first > mine.txt"]


def layers_in(data: Path) -> list[str]:
    """The folders of tasks that are on the disk."""
    return sorted(folder.name for folder in data.glob("**/copies/*") if (folder / "view").is_dir())


@proves("JOB-10")
@pytest.mark.parametrize("commit", ["task", "job"])
async def test_next_attempt_begins_with_the_base_and_the_failed_one_leaves_nothing(tmp_path: Path, commit: str) -> None:
    hold = asyncio.Event()
    edit = call("update_file", path="f.txt", edits=[{"find": "old", "replace": "of the first attempt"}])
    answers: dict[str, list[Any]] = {
        "t": [
            call("execute_command", command=COMMANDS[1]),
            edit,
            report("it broke", "failure"),
            call("execute_command", command="ls"),
            call("read_file", path="f.txt"),
            call("create_file", path="mine.txt", content="second\n"),
            Reply(report("done"), hold=hold),
        ],
        "u": [call("create_file", path="u.txt", content="u\n"), report("u is there")],
    }
    steps = plan(
        {"id": "t", "action": "do t", "paths": ["f.txt", "mine.txt"], "commands": COMMANDS},
        {"id": "u", "action": "do u", "paths": ["u.txt"], "dependencies": ["t"]},
    )
    async with live_server(tmp_path, files={"f.txt": "old\n"}) as client:
        client.model.mind = by_task(answers)
        chat = await client.chat()
        job = await approved(client, chat, plan=steps, parallel=2, commit=commit)
        await client.model.asked(7)
        layers = layers_in(tmp_path / "data")
        assert len(layers) == (1 if commit == "task" else 2), "that of the second attempt, and the one that collects"
        results = [message["content"] for message in await chat.of_type("tool_result")]
        listed, read = results[2], results[3]
        assert "f.txt" in listed and "mine.txt" not in listed
        assert "old" in read and "first" not in read
        hold.set()
        job = await until(client, chat, job["id"], "completed", "failed", "awaiting_commit")
        if commit == "job":
            await client.ask("POST", f"/jobs/{job['id']}/commit", {}, expect=200)
            job = await client.ask("GET", f"/jobs/{job['id']}")
        assert (job["status"], job["tasks"][0]["attempt"]) == ("completed", 2), job
        assert bytes_of(client.workspace) == {"f.txt": b"old\n", "mine.txt": b"second\n", "u.txt": b"u\n"}
        assert not list((tmp_path / "data").glob("**/copies/*"))


@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "I tried.\n{}", "{}\nThat is all."])
async def test_a_failed_task_tells_its_log_a_summary_in_words_however_its_report_came(
    tmp_path: Path, form: str
) -> None:
    said = form.replace("{}", report("the disk is full", "failure"))
    async with live_server(tmp_path) as client:
        client.model.mind = lambda body: said
        chat = await client.chat()
        job = await approved(client, chat, plan=plan({"id": "t", "action": "do t", "paths": ["a.txt"]}))
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["status"] == "failed" and "the disk is full" in job["tasks"][0]["error"]["message"]
        told = [message["payload"]["summary"] for message in await chat.of_type("task_result")]
        assert told == ["the disk is full"] * 3, "that of each attempt"
