"""Two servers on one database and one folder: a task of a job on one keeps seeing what it started from when the other one writes."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from anycowork.store.postgres import layer_requests
from integration.postgres.test_two_servers import two_servers
from support.jobs import approved, by_task, plan, report, until
from support.live_server import LiveServer, live_server
from support.person_commands import run as run_own_command
from support.postgres import run_sql
from support.scripted_model import Reply, call
from support.spec import proves

SECONDS = 60.0
SHOW = "find . -type f | LC_ALL=C sort | xargs grep -H ."


@proves("JOB-10")
async def test_task_keeps_its_base_when_another_server_writes_there(tmp_path: Path, database_url: str) -> None:
    looks = 4
    gates, reached = ([asyncio.Event() for _ in range(looks)] for _ in range(2))

    def look(number: int) -> Reply:
        reached[number].set()
        return Reply(call("execute_command", command=SHOW), hold=gates[number])

    async with two_servers(tmp_path, database_url) as (one, two):
        (one.workspace / "sub").mkdir()
        for name in ("kept.txt", "gone.txt", "sub/inner.txt"):
            (one.workspace / name).write_text("as it was\n")
        one.model.mind = by_task({"t": [*(partial(look, number) for number in range(looks)), report("looked")]})
        rule = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
        await one.ask("POST", "/rules", rule, expect=201)
        chat, other = await one.chat(), await two.chat()
        inside = await two.chat(workspace=str(two.workspace / "sub"))
        job = await approved(one, chat, plan=plan({"id": "t", "action": "look", "commands": [SHOW]}), parallel=2)

        async def by_an_agent() -> None:
            two.model.replies[:] = [
                call("execute_command", command="echo new > kept.txt; rm gone.txt; echo n > new.txt"),
                "Done.",
            ]
            assert (await other.send("Do it."))["state"] == "idle"

        async def by_a_person_inside() -> None:
            shown = await two.ask("GET", f"{inside.path}/file?path=inner.txt")
            body = {"path": "inner.txt", "text": "of a person\n", "sha256": shown["sha256"]}
            await two.ask("PUT", f"{inside.path}/file", body)

        async def by_a_persons_command() -> None:
            done = await run_own_command(other, "rm -r sub; echo more > top.txt")
            assert done["exit_code"] == 0, done

        async with asyncio.timeout(SECONDS):
            await reached[0].wait()
            gates[0].set()
            await reached[1].wait()
            seen = (await chat.of_type("tool_result"))[-1]["content"]
            assert seen.count("as it was") == 3, seen
            for number, writer in enumerate((by_an_agent, by_a_person_inside, by_a_persons_command), 1):
                before = sorted(str(path) for path in one.workspace.rglob("*"))
                await writer()
                assert number == 2 or sorted(str(path) for path in one.workspace.rglob("*")) != before
                gates[number].set()
                await (reached[number + 1].wait() if number + 1 < looks else chat.rest())
                shown = [one["content"] for one in await chat.of_type("tool_result") if "exit code" in one["content"]]
                assert shown[number:] == [seen], writer.__name__
        done = await until(one, chat, job["id"], "completed", "failed")
        assert done["status"] == "completed", done
        assert await _rows(one, "layer_folders") == await _rows(one, "layer_requests") == 0


@proves("JOB-10")
async def test_writer_does_not_wait_for_a_server_that_died_beneath_its_tasks(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layer_requests, "GONE_SECONDS", 0.0)
    async with live_server(tmp_path, database_url=database_url) as server:
        dead = f"INSERT INTO layer_folders VALUES ('dead', '{server.workspace}')"
        run_sql(database_url, dead)
        server.model.replies[:] = [call("create_file", path="a.txt", content="a"), "Done."]
        chat = await server.chat()
        await chat.send("Create it.")
        assert (await chat.decide())["state"] == "idle"
        assert (server.workspace / "a.txt").exists()
        assert await _rows(server, "layer_folders") == 0


async def _rows(server: LiveServer, table: str) -> int:
    peers = server.server.database.peers
    assert peers is not None
    return int((await peers.fetch(f"SELECT count(*) FROM {table}"))[0][0])
