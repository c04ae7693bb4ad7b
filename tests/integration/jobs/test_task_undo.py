"""One task of a job is undone, also after all changes of the job were reviewed and kept together."""

from pathlib import Path

import pytest

from support.jobs import Answers, approved, by_task, plan, report, until
from support.live_server import LiveServer, RequestRefused, live_server
from support.scripted_model import call
from support.spec import proves

LINES = "".join(f"line {n}\n" for n in range(12))


def edit(path: str, find: str, replace: str) -> str:
    return call("update_file", path=path, edits=[{"find": find, "replace": replace}])


def step(name: str, *paths: str, **more: object) -> dict[str, object]:
    return {"id": name, "action": f"do {name}", "paths": list(paths), **more}


def steps() -> dict[str, object]:
    second = step("second", "shared.txt", dependencies=["first"])
    third = step("third", "shared.txt", dependencies=["second"])
    return plan(step("first", "shared.txt", "new.txt"), second, third)


def answers() -> Answers:
    return {
        "first": [
            edit("shared.txt", "line 2\n", "line two\n"),
            call("create_file", path="new.txt", content="new\n"),
            report("first"),
        ],
        "second": [edit("shared.txt", "line 9\n", "line nine\n"), report("second")],
        "third": [edit("shared.txt", "line nine\n", "line IX\n"), report("third")],
    }


async def undo(client: LiveServer, job_id: str, task_id: str, **options: object) -> dict[str, object]:
    return await client.ask("POST", f"/jobs/{job_id}/tasks/{task_id}/undo", options, expect=200)


async def undone_tasks(client: LiveServer, job_id: str) -> dict[str, tuple[str, str]]:
    tasks = (await client.ask("GET", f"/jobs/{job_id}"))["tasks"]
    return {task["id"]: (task["status"], task["undone_by"]) for task in tasks if task["undone_by"]}


@proves("JOB-10", "SNAP-5/2")
@pytest.mark.parametrize("commit", ["job", "task"])
async def test_one_task_is_undone_after_its_job_and_later_work_in_the_same_file_stays(
    tmp_path: Path, commit: str
) -> None:
    async with live_server(tmp_path, files={"shared.txt": LINES}) as client:
        client.model.mind = by_task(answers())
        chat = await client.chat()
        job = await approved(client, chat, plan=steps(), commit=commit)
        job = await until(client, chat, job["id"], "awaiting_commit" if commit == "job" else "completed", "failed")
        if commit == "job":
            with pytest.raises(RequestRefused, match="Nothing of this job is in the workspace yet"):
                await undo(client, job["id"], "first")
            await client.ask("POST", f"/jobs/{job['id']}/commit", {}, expect=200)
        shared = client.workspace / "shared.txt"
        kept_text = LINES.replace("line 2\n", "line two\n").replace("line 9\n", "line IX\n")
        assert shared.read_text() == kept_text
        shown = await undo(client, job["id"], "first", dry_run=True)
        assert shown["conflicts"] == [] and "-line two" in str(shown["diff"])
        assert shared.read_text() == kept_text, "a dry run changes nothing"
        with pytest.raises(RequestRefused, match="409"):
            await undo(client, job["id"], "second")
        assert await undone_tasks(client, job["id"]) == {}
        undone = await undo(client, job["id"], "first")
        assert (undone["restored"], undone["deleted"]) == (["shared.txt"], ["new.txt"])
        assert await undone_tasks(client, job["id"]) == {"first": ("completed", undone["undo_snapshot"])}
        audit = await client.ask("GET", f"/jobs/{job['id']}/audit")
        assert [step["id"] for step in audit["steps"] if step["undone_by"]] == ["first"]
        assert shared.read_text() == LINES.replace("line 9\n", "line IX\n"), "the later tasks' line stays"
        back = {"only": True}
        await client.ask("POST", f"{chat.path}/snapshots/{undone['undo_snapshot']}/restore", back, expect=200)
        assert shared.read_text() == kept_text and (client.workspace / "new.txt").exists(), "an undo can be undone"
        assert await undone_tasks(client, job["id"]) == {}
        await undo(client, job["id"], "second", overwrite=["shared.txt"])
        assert shared.read_text() == LINES.replace("line 2\n", "line two\n"), "a person let the later line go"


@proves("JOB-10")
async def test_undo_leaves_out_what_a_person_did_not_keep(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"shared.txt": LINES}) as client:
        client.model.mind = by_task(answers())
        chat = await client.chat()
        job = await approved(client, chat, plan=steps(), commit="job")
        await until(client, chat, job["id"], "awaiting_commit", "failed")
        unchanged = {"paths": ["new.txt", "neu.txt"]}
        refused = await client.ask("POST", f"/jobs/{job['id']}/commit", unchanged, expect=422)
        assert "nothing at 'neu.txt'. It changed: new.txt, shared.txt" in refused["error"]["message"]
        assert not (client.workspace / "new.txt").exists(), "a wrong name keeps nothing and drops nothing"
        await client.ask("POST", f"/jobs/{job['id']}/commit", {"paths": ["new.txt"]}, expect=200)
        (client.workspace / "shared.txt").write_text(LINES + "a person's\n")
        undone = await undo(client, job["id"], "first")
        assert (undone["restored"], undone["deleted"]) == ([], ["new.txt"])
        assert (client.workspace / "shared.txt").read_text() == LINES + "a person's\n"


@proves("JOB-10")
@pytest.mark.parametrize(
    ("decision", "left_out"),
    [
        (("commit", {"paths": ["new.txt"]}), {"first": ["shared.txt"], "second": ["shared.txt"]}),
        (("commit", {}), {"first": [], "second": []}),
        (("drop", {}), {"first": ["new.txt", "shared.txt"], "second": ["shared.txt"]}),
    ],
)
async def test_the_audit_says_which_changed_files_the_review_left_out(tmp_path: Path, decision, left_out) -> None:
    act, body = decision
    async with live_server(tmp_path, files={"shared.txt": LINES}) as client:
        client.model.mind = by_task(answers())
        chat = await client.chat()
        job = await approved(client, chat, plan=steps(), commit="job")
        await until(client, chat, job["id"], "awaiting_commit", "failed")
        await client.ask("POST", f"/jobs/{job['id']}/{act}", body, expect=200)
        audit = await client.ask("GET", f"/jobs/{job['id']}/audit")
        assert {step["id"]: step["left_out"] for step in audit["steps"] if step["id"] in left_out} == left_out
