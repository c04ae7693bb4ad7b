"""Tasks of one job side by side: readers in the workspace, writers in layers of their own that are merged or asked about."""

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from support.disks import as_root, mounted
from support.jobs import Answers, approved, by_task, plan, report, until
from support.live_server import LiveChat, LiveServer, RequestRefused, live_server
from support.scripted_model import Answer, Reply, call
from support.spec import proves


def edit(path: str, find: str, replace: str) -> str:
    return call("update_file", path=path, edits=[{"find": find, "replace": replace}])


def step(name: str, *paths: str, **more: object) -> dict[str, object]:
    return {"id": name, "action": f"do {name}", "paths": list(paths), **more}


def open_file_with(text: str, path: str, *, besides: Path) -> Path:
    """The path in a folder that the server, which runs in this process, holds open: no other path leads into a task's layer.

    The text tells it from the folders that earlier tests in this process left open.
    """
    for held in Path("/proc/self/fd").iterdir():
        try:
            if held.is_dir() and not held.samefile(besides) and (held / path).read_text() == text:
                return held / path
        except OSError:
            continue  # closed since, or without such a file
    raise AssertionError(f"no open folder has {path} with this text")


async def answered(client: LiveServer, chat: LiveChat, value: str) -> dict[str, object]:
    assert (await chat.rest())["state"] == "awaiting_answer"
    question = (await chat.of_type("question"))[-1]
    await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": value})
    return question


@proves("JOB-3/1", "JOB-3/2", "JOB-3/3", "JOB-3/4")
async def test_reading_tasks_run_side_by_side_and_writing_ones_one_after_another(tmp_path: Path) -> None:
    together = asyncio.Event()
    readers = [{"id": f"r{n}", "action": "look", "role": "planner"} for n in range(4)]
    writers = [step(f"w{n}", f"w{n}.txt") for n in range(2)]
    answers: Answers = {f"r{n}": [Reply(report("looked"), hold=together if n else None)] for n in range(4)}
    answers |= {f"w{n}": [call("create_file", path=f"w{n}.txt", content="x"), report("written")] for n in range(2)}
    async with live_server(tmp_path, parallel_tasks=3) as client:
        client.model.mind = by_task(answers)
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(*readers, *writers))
        await client.model.asked(4)  # three readers are inside before any of them leaves, and the first one has left
        shown = await client.ask("GET", f"/jobs/{job['id']}")
        running = [task["id"] for task in shown["tasks"] if task["status"] == "running"]
        assert running == ["r1", "r2", "r3"], "up to the limit, those included that run already"
        assert (await chat.show())["state"] == "running"
        together.set()
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        events = await chat.events("turn-ended")
        seen: set[str] = set()
        for event in events:
            if event["type"] == "task-started" and event["task"]["id"].startswith("w"):
                assert not seen, "one writer at a time"
                seen.add(event["task"]["id"])
            if event["type"] == "task-completed":
                seen.discard(event["task"]["id"])
        assert (await chat.show())["state"] == "idle"


@proves("JOB-3/5", "JOB-3/6", "JOB-10")
@pytest.mark.parametrize("kind", ["layers", pytest.param("copies", marks=as_root)])
async def test_parallel_writers_work_apart_and_their_changes_are_merged(tmp_path: Path, kind: str) -> None:
    with contextlib.ExitStack() as things:
        if kind == "copies":  # no layer is laid over a workspace with another file system in it
            (inner := tmp_path / "workspace" / "inner").mkdir(parents=True)
            things.enter_context(mounted(inner, "-t", "tmpfs", "none"))
        await _write_side_by_side(tmp_path, layers=2 if kind == "layers" else 0)


async def _write_side_by_side(tmp_path: Path, *, layers: int) -> None:
    gate = asyncio.Event()
    lines = "".join(f"line {n}\n" for n in range(20))
    answers: Answers = {
        "a": [
            edit("shared.txt", "line 2\n", "line two\n"),
            call("execute_command", command="pwd; ls; echo a > a.txt"),
            Reply(report("a"), hold=gate),
        ],
        "b": [edit("shared.txt", "line 17\n", "line seventeen\n"), Reply(report("b"), hold=gate)],
    }
    steps = plan(
        step("a", "shared.txt", "a.txt", commands=["pwd; ls; echo a > a.txt"]),
        step("b", "shared.txt"),
    )
    async with live_server(tmp_path, files={"shared.txt": lines}) as client:
        client.model.mind = by_task(answers)
        chat = await client.chat()
        job = await approved(client, chat, plan=steps, parallel=2)
        await client.model.asked(5)
        assert (client.workspace / "shared.txt").read_text() == lines, "nothing reaches the workspace before the report"
        made = [folder for folder in (tmp_path / "data").glob("**/copies/*") if (folder / "view").is_dir()]
        assert len(made) == layers
        ran = [one for one in await chat.of_type("tool_result") if one["payload"].get("tool") == "execute_command"]
        assert str(client.workspace) in ran[0]["content"], "a command sees the workspace's own path"
        gate.set()
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        merged = lines.replace("line 2\n", "line two\n").replace("line 17\n", "line seventeen\n")
        assert (client.workspace / "shared.txt").read_text() == merged
        assert (client.workspace / "a.txt").read_text() == "a\n"
        assert not list((tmp_path / "data").glob("**/copies/*")), "no copy is left"


@proves("JOB-3/7", "JOB-10", "SNAP-5/2")
@pytest.mark.parametrize(("choice", "kept"), [("task", "mine"), ("workspace", "yours"), ("retry", "again")])
async def test_conflict_of_parallel_writers_is_a_question_with_both_sides(
    tmp_path: Path, choice: str, kept: str
) -> None:
    gate = asyncio.Event()
    answers: Answers = {
        "a": [edit("f.txt", "old", "yours"), Reply(report("a"))],
        "b": [
            edit("f.txt", "old", "mine"),
            Reply(report("b"), hold=gate),
            edit("f.txt", "yours", "again"),
            report("b"),
        ],
        "c": [call("create_file", path="c.txt", content="c"), report("c")],
    }
    steps = plan(step("a", "f.txt"), step("b", "f.txt"), step("c", "c.txt", dependencies=["a"]))
    async with live_server(tmp_path, files={"f.txt": "old\n"}) as client:
        client.model.mind = by_task(answers)
        chat = await client.chat()
        job = await approved(client, chat, plan=steps, parallel=2)
        async for event in chat.follow():
            if event["type"] == "task-completed" and event["task"]["id"] == "a":
                break
        gate.set()
        question = await answered(client, chat, choice)
        conflict = question["payload"]["conflict"]  # type: ignore[index]
        assert (conflict["task"], conflict["workspace"]) == ("mine\n", "yours\n") and question["task_id"] == "b"
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        assert (client.workspace / "f.txt").read_text() == f"{kept}\n"
        if choice == "task":
            undone = await client.ask("POST", f"/jobs/{job['id']}/tasks/b/undo", {}, expect=200)
            assert undone["restored"] == ["f.txt"] and (client.workspace / "f.txt").read_text() == "yours\n"
            assert (client.workspace / "c.txt").exists(), "independent work stays"


@proves("JOB-10")
async def test_changes_of_a_whole_job_are_reviewed_and_kept_in_part_or_dropped_without_a_trace(tmp_path: Path) -> None:
    def answers() -> Answers:
        return {
            "a": [edit("old.txt", "old", "new"), report("a")],
            "b": [call("read_file", path="old.txt"), call("create_file", path="sub/b.txt", content="b\n"), report("b")],
        }

    steps = plan(step("a", "old.txt"), step("b", "sub/b.txt", dependencies=["a"]))
    async with live_server(tmp_path, files={"old.txt": "old\n"}) as client:
        chat = await client.chat()
        for end in ("drop", "part", "whole"):
            client.model.mind = by_task(answers())
            job = await approved(client, chat, plan=steps, commit="job")
            job = await until(client, chat, job["id"], "awaiting_commit", "failed")
            assert job["status"] == "awaiting_commit" and job["final_response"] == "Done.", job
            assert (await chat.show())["state"] == "idle"
            read = [one for one in await chat.of_type("tool_result") if one["payload"].get("tool") == "read_file"]
            assert "new" in read[-1]["content"], "a later task sees what an earlier one changed"
            assert (client.workspace / "old.txt").read_text() == "old\n"
            shown = await client.ask("GET", f"/jobs/{job['id']}/diff")
            assert [file["path"] for file in shown["files"]] == ["old.txt", "sub/b.txt"] and "+new" in shown["diff"]
            if end == "drop":
                ended = await client.ask("POST", f"/jobs/{job['id']}/drop", expect=200)
                assert ended["status"] == "cancelled" and [p.name for p in client.workspace.iterdir()] == ["old.txt"]
            elif end == "part":
                await client.ask("POST", f"/jobs/{job['id']}/commit", {"paths": ["sub"]}, expect=200)
                assert (client.workspace / "old.txt").read_text() == "old\n"
                assert (client.workspace / "sub/b.txt").read_text() == "b\n"
                (client.workspace / "sub/b.txt").unlink()
                (client.workspace / "sub").rmdir()
            else:
                (client.workspace / "old.txt").write_text("a person's\n")
                with pytest.raises(RequestRefused, match="409"):
                    await client.ask("POST", f"/jobs/{job['id']}/commit", {}, expect=200)
                assert not (client.workspace / "sub").exists(), "all or nothing"
                ended = await client.ask("POST", f"/jobs/{job['id']}/commit", {"overwrite": ["old.txt"]}, expect=200)
                assert ended["status"] == "completed"
                assert (client.workspace / "old.txt").read_text() == "new\n"
            assert not list((tmp_path / "data").glob("**/copies/*"))
            with pytest.raises(RequestRefused, match="409"):
                await client.ask("GET", f"/jobs/{job['id']}/diff")


@proves("JOB-11")
async def test_race_gives_one_task_to_several_agents_and_a_person_keeps_one(tmp_path: Path) -> None:
    agents = {name: {"role": "actor", "prompt": f"You are {name}."} for name in ("fast", "thorough")}
    both = asyncio.Event()
    answers: Answers = {
        f"race@{name}": [call("create_file", path="out.txt", content=f"{name}\n"), Reply(report(name), hold=both)]
        for name in agents
    }
    async with live_server(tmp_path, agents=agents) as client:
        client.model.mind = by_task(answers)
        chat = await client.chat()
        everything = {"tool": "create_file", "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", everything, expect=201)
        with pytest.raises(RequestRefused, match="422"):
            await approved(client, chat, request="Write out.txt", race=["fast"])
        job = await approved(client, chat, request="Write out.txt", race=["fast", "thorough"])
        await client.model.asked(4)
        both.set()
        job = await until(client, chat, job["id"], "awaiting_commit", "failed")
        assert [task["id"] for task in job["tasks"]] == ["race@fast", "race@thorough"]
        assert not (client.workspace / "out.txt").exists()
        shown = (await client.ask("GET", f"/jobs/{job['id']}/diff"))["tasks"]
        assert [one["agent"] for one in shown] == ["fast", "thorough"]
        assert all(f"+{one['agent']}" in one["diff"] and one["usage"]["tokens"] > 0 for one in shown)
        with pytest.raises(RequestRefused, match="422"):
            await client.ask("POST", f"/jobs/{job['id']}/commit", {}, expect=200)
        ended = await client.ask("POST", f"/jobs/{job['id']}/commit", {"task_id": "race@thorough"}, expect=200)
        assert ended["status"] == "completed" and "thorough" in ended["final_response"]
        assert (client.workspace / "out.txt").read_text() == "thorough\n"
        assert not list((tmp_path / "data").glob("**/copies/*")), "the others leave no trace"
        assert json.dumps(await client.ask("GET", f"{chat.path}/snapshots")).count('"before"') == 1


@proves("JOB-8/2", "JOB-11")
async def test_race_gives_a_whole_plan_to_agents_and_models_and_a_person_keeps_one(tmp_path: Path) -> None:
    racers = ["fast", "scripted/scripted", "lazy"]
    agents = {name: {"role": "actor"} for name in ("fast", "lazy")}
    answers: Answers = {}
    for name in racers:
        answers[f"a@{name}"] = [call("create_file", path="a.txt", content=f"{name}\n"), report("a")]
        read = call("read_file", path="a.txt")
        answers[f"b@{name}"] = [read, call("create_file", path="b.txt", content=f"{name}\n"), report(f"{name} is done")]
    answers["b@fast"] = [report("no", "failure"), edit("a.txt", "fast", "faster"), *answers["b@fast"][1:]]
    answers["b@lazy"] = [report("never", "failure")] * 3
    steps = plan(
        step("a", "a.txt"),
        step("b", "a.txt", "b.txt", dependencies=["a"], check="test -f b.txt", commands=["test -f b.txt"]),
    )
    async with live_server(tmp_path, agents=agents, files={"old.txt": "old\n"}) as client:
        client.model.mind = by_task(answers)
        chat = await client.chat()
        with pytest.raises(RequestRefused, match="422"):
            await approved(client, chat, plan=steps, race=["fast", "nobody"])
        job = await approved(client, chat, plan=steps, race=racers)
        job = await until(client, chat, job["id"], "awaiting_commit", "failed")
        assert [path.name for path in client.workspace.iterdir()] == ["old.txt"], "nothing is there before one is kept"
        assert [task["id"] for task in job["tasks"]] == [f"{one}@{name}" for name in racers for one in "ab"]
        shown = (await client.ask("GET", f"/jobs/{job['id']}/diff"))["candidates"]
        assert [(one["agent"], one["status"], one["completed"], one["proved"]) for one in shown] == [
            ("fast", "completed", 2, 1),
            ("scripted/scripted", "completed", 2, 1),
            ("lazy", "failed", 1, 0),
        ]
        assert [[file["path"] for file in one["files"]] for one in shown] == [["a.txt", "b.txt"]] * 2 + [["a.txt"]]
        assert "+faster" in shown[0]["diff"] and "+scripted/scripted" in shown[1]["diff"]
        assert all(one["usage"]["tokens"] > 0 for one in shown)
        for wanted, why in (({}, "422"), ({"agent": "lazy"}, "409"), ({"agent": "x"}, "404")):
            with pytest.raises(RequestRefused, match=why):
                await client.ask("POST", f"/jobs/{job['id']}/commit", wanted, expect=200)
        ended = await client.ask("POST", f"/jobs/{job['id']}/commit", {"agent": "fast"}, expect=200)
        assert ended["status"] == "completed" and ended["final_response"] == "Kept the work of fast."
        kept = {path.name: path.read_text() for path in client.workspace.iterdir()}
        assert kept == {"old.txt": "old\n", "a.txt": "faster\n", "b.txt": "fast\n"}
        similar = await client.ask("GET", f"/job-templates?like=write+the+files&context_id={chat.id}")
        assert similar["similar"] == [], "the plan of a race is the same work for several agents"
        assert not list((tmp_path / "data").glob("**/copies/*")), "the others leave no trace"


@proves("JOB-3/7")
async def test_commits_made_in_a_private_copy_are_refused_and_never_lost_silently(tmp_path: Path) -> None:
    old, new = "a" * 40, "b" * 40

    def commit() -> Answer:
        """As `git commit` in the task's workspace does: the branch names another commit."""
        open_file_with(old, ".git/refs/heads/main", besides=tmp_path / "workspace").write_text(new)
        return report("written and committed")

    write = call("create_file", path="a.txt", content="a\n")
    answers: Answers = {"a": [write, commit, write, report("written")]}
    files = {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": old}
    async with live_server(tmp_path, files=files) as client:
        client.model.mind = by_task(answers)
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(step("a", "a.txt")), parallel=2)
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed" and job["tasks"][0]["attempt"] == 2
        assert "Commits cannot be merged" in str(client.model.requests[2]), "the next attempt is told why"
        assert (client.workspace / ".git/refs/heads/main").read_text() == old
        assert (client.workspace / "a.txt").read_text() == "a\n"


async def test_several_tasks_ask_for_approval_at_the_same_time_and_each_goes_on_by_itself(tmp_path: Path) -> None:
    answers: Answers = {
        name: [call("create_file", path=f"{name}.txt", content="x"), report(name)] for name in ("a", "b")
    }
    async with live_server(tmp_path) as client:
        client.model.mind = by_task(answers)
        chat = await client.chat()
        steps = plan({"id": "a", "action": "do a"}, {"id": "b", "action": "do b"})
        job = await approved(client, chat, plan=steps, parallel=2)
        async for event in chat.follow():
            if event["type"] == "permission-request" and len(await chat.approvals()) == 2:
                break
        first, second = await chat.approvals()
        assert {first["task_id"], second["task_id"]} == {"a", "b"}
        decision = {"decisions": [{"id": first["id"], "decision": "allow_once"}]}
        await client.ask("POST", f"{chat.path}/approvals", decision, expect=200)
        async for event in chat.follow():
            if event["type"] == "task-completed" and event["task"]["id"] == first["task_id"]:
                break
        assert (await chat.show())["state"] == "awaiting_approval", "the other still waits"
        decision = {"decisions": [{"id": second["id"], "decision": "allow_once"}]}
        await client.ask("POST", f"{chat.path}/approvals", decision, expect=200)
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed" and (client.workspace / "b.txt").exists()
