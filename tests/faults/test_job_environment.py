"""A job on a machine that changes under it: a clock that jumps, a disk that fills, a program that is newer after the restart."""

import asyncio
import sqlite3
import time
from collections import Counter
from itertools import count
from pathlib import Path

from anycowork.server.clock import SystemClock
from support.disks import as_root, mounted
from support.jobs import approved, by_task, bytes_of, plan, report, until, until_task, writing
from support.live_server import LiveChat, live_server
from support.scripted_model import Reply, call
from support.spec import proves

YEAR = 365 * 24 * 3600


class JumpingClock(SystemClock):
    """A wall clock that is a year early or late whenever it is asked; only the monotonic one goes on evenly."""

    def __init__(self) -> None:
        super().__init__()
        self._asked = count()

    def now(self) -> str:
        at = time.time() + self._jump()
        return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(at))

    def new_id(self) -> str:
        name = super().new_id()
        ms = f"{int((time.time() + self._jump()) * 1000):012x}"
        return f"{ms[:8]}-{ms[8:]}{name[13:]}"

    def _jump(self) -> int:
        return (-YEAR, 0, YEAR)[next(self._asked) % 3]


def written(*names: str) -> dict[str, list[object]]:
    return {name: [call("create_file", path=f"{name}.txt", content=f"{name}\n"), report(name)] for name in names}


@proves("JOB-6/2")
async def test_job_ends_right_while_the_clock_jumps(tmp_path: Path) -> None:
    names = [f"t{n}" for n in range(6)]
    steps = [writing(name, *names[n - 2 : n - 1] if n > 1 else ()) for n, name in enumerate(names)]
    async with live_server(tmp_path, clock=JumpingClock()) as client:
        client.model.mind = by_task(written(*names))  # type: ignore[arg-type]  # answers are of the wider type
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(*steps), parallel=2)
        job = await until(client, chat, job["id"], "completed", "failed")
        events = await chat.events()
        assert job["status"] == "completed" and job["final_response"] == "Done.", job
        done = Counter(event["task"]["id"] for event in events if event["type"] == "task-completed")
        assert done == Counter(names), "each task once"
        assert all(0 <= task["usage"]["seconds"] < YEAR for task in job["tasks"])
        assert bytes_of(client.workspace) == {f"{name}.txt": f"{name}\n".encode() for name in names}


@proves("JOB-6/1", "JOB-6/2")
async def test_job_of_an_earlier_release_goes_on_after_an_upgrade(tmp_path: Path) -> None:
    steps = plan(writing("a"), writing("b", "a"))
    async with live_server(tmp_path) as client:
        answers = written("a", "b")
        answers["b"] = [Reply(report("never"), hold=asyncio.Event())]
        client.model.mind = by_task(answers, lambda told: "Never.")  # type: ignore[arg-type]
        chat = await client.chat()
        job = await approved(client, chat, plan=steps)
        await until_task(chat, "a")
    with sqlite3.connect(tmp_path / "data" / "anycowork.db") as database:  # as the release before stored it
        database.execute("ALTER TABLE jobs DROP COLUMN forgotten")
        database.execute("DELETE FROM _yoyo_migration WHERE migration_id LIKE '0131%'")
        database.execute("UPDATE jobs SET plan = json_insert(plan, '$.of_a_later_release', 1)")
    database.close()
    (tmp_path / "workspace" / "a.txt").write_text("a person's\n")
    async with live_server(tmp_path) as client:
        client.model.mind = by_task(written("b"))  # type: ignore[arg-type]
        chat = LiveChat(client, chat.opened)
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        assert bytes_of(client.workspace) == {"a.txt": b"a person's\n", "b.txt": b"b\n"}, (
            "a finished task never runs again"
        )


@as_root
@proves("JOB-10")
async def test_disk_that_fills_while_a_task_is_committed_changes_nothing_and_the_retry_succeeds(tmp_path: Path) -> None:
    write = "head -c 400000 /dev/zero > a.txt"
    answers = {"a": [call("execute_command", command=write), report("a")] * 4}
    steps = plan(writing("a", commands=[write], tools_needed=["execute_command"]))
    (workspace := tmp_path / "workspace").mkdir()
    with mounted(workspace, "-t", "tmpfs", "-o", "size=1m", "none"):
        async with live_server(tmp_path, files={"ballast": "b" * 800_000}) as client:
            client.model.mind = by_task(answers)  # type: ignore[arg-type]
            chat = await client.chat()
            before = bytes_of(workspace)
            job = await approved(client, chat, plan=steps, parallel=2)
            job = await until(client, chat, job["id"], "completed", "failed")
            assert job["status"] == "failed" and job["tasks"][0]["attempt"] == 1, job
            assert "space" in job["tasks"][0]["error"]["message"].lower(), job["tasks"][0]["error"]
            assert bytes_of(workspace) == before, "nothing is half written"
            assert not list((tmp_path / "data").glob("**/copies/*"))
            (workspace / "ballast").unlink()
            await client.ask("POST", f"/jobs/{job['id']}/retry", {"task_id": "a"}, expect=202)
            job = await until(client, chat, job["id"], "completed")
            assert (workspace / "a.txt").read_bytes() == bytes(400_000)
