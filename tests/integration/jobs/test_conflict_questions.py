"""The question about a conflict: it names whose version is there, and takes a file that a person merged by hand."""

import asyncio
from pathlib import Path

import pytest

from support.jobs import LINES, question_about, until
from support.live_server import LiveChat, RequestRefused, live_server
from support.spec import proves


@proves("JOB-3/7")
@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("task", "Task 'do b' and task 'do a' changed 'f.txt'"),
        ("person", "Task 'do b' and a person changed 'f.txt'"),
        ("outside", "Task 'do b' and a program outside AnyCowork changed 'f.txt'"),
    ],
)
async def test_conflict_question_names_who_made_the_other_version(tmp_path: Path, other: str, words: str) -> None:
    async with live_server(tmp_path, files={"f.txt": LINES}) as client:
        chat, job, question = await question_about(client, asyncio.Event(), other)
        assert question["content"].startswith(words)
        author = question["payload"]["conflict"]["other"]
        assert author["kind"] == other
        assert (author["task_id"], author["job_id"]) == (("a", job["id"]) if other == "task" else (None, None))
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "workspace"}, expect=200)
        assert (await until(client, chat, job["id"], "completed", "failed"))["status"] == "completed"


@proves("JOB-3/7", "JOB-10")
async def test_conflict_is_merged_by_hand(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"f.txt": LINES.replace("\n", "\r\n")}) as client:
        file = client.workspace / "f.txt"
        chat, job, question = await question_about(client, asyncio.Event(), "task")
        draft = question["payload"]["conflict"]["draft"].replace("\r\n", "\n")
        assert draft == (
            "one\n<<<<<<< the task\ntwo by b\n=======\ntwo by a\n>>>>>>> there now\n"
            "three\nfour\nfive\nsix\nseven by b\n"
        ), "what does not meet is merged already"
        path = f"{chat.path}/questions/{question['id']}/answer"
        for body in ({"value": "merge"}, {"value": "task", "content": "x"}):
            with pytest.raises(RequestRefused, match="422"):
                await client.ask("POST", path, body, expect=200)
        by_hand = LINES.replace("two", "two by a and b").replace("seven", "seven by b")
        await client.ask("POST", path, {"value": "merge", "content": by_hand}, expect=200)
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        assert file.read_bytes() == by_hand.replace("\n", "\r\n").encode(), "the file keeps its line ends"
        undone = await client.ask("POST", f"/jobs/{job['id']}/tasks/b/undo", {}, expect=200)
        assert undone["restored"] == ["f.txt"]
        assert file.read_bytes() == LINES.replace("two", "two by a").replace("\n", "\r\n").encode()


@proves("JOB-3/7")
async def test_merge_by_hand_counts_only_for_the_versions_that_were_shown(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"f.txt": LINES}) as client:
        opened, job, question = await question_about(client, asyncio.Event(), "task")
    (client.workspace / "f.txt").write_text("changed once more\n")
    async with live_server(tmp_path) as client:
        chat = LiveChat(client, opened.opened)
        body = {"value": "merge", "content": "by hand\n"}
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", body, expect=200)
        assert (await chat.rest())["state"] == "awaiting_answer"
        again = (await chat.of_type("question"))[-1]
        assert again["id"] != question["id"] and again["payload"]["conflict"]["workspace"] == "changed once more\n"
        assert (client.workspace / "f.txt").read_text() == "changed once more\n"
        await client.ask("POST", f"{chat.path}/questions/{again['id']}/answer", body, expect=200)
        assert (await until(client, chat, job["id"], "completed", "failed"))["status"] == "completed"
        assert (client.workspace / "f.txt").read_text() == "by hand\n"
