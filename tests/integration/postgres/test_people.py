"""People on two servers with one database: what one server changes counts on the other."""

import asyncio
from pathlib import Path

import aiohttp

from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection
from integration.postgres.test_two_servers import two_servers
from support.jobs import approved, plan, report, writing
from support.live_server import TIMEOUT, Caller, Json, live_server
from support.people import PersonClient, browser, person
from support.scripted_model import Reply, call
from support.spec import proves
from support.workers import live_worker, until_workers


@proves("OPS-3/1")
async def test_a_person_who_is_removed_on_one_server_is_out_on_the_other(tmp_path: Path, database_url: str) -> None:
    async with two_servers(tmp_path, database_url) as (one, two), person(one, "Ada") as ada:
        there = PersonClient(two.url, ada.session, {"id": ada.id, "token": ada.token})
        assert (await there.ask("GET", "/session"))["name"] == "Ada"
        async with browser(there) as page, asyncio.timeout(TIMEOUT), there.session.get(f"{two.url}/events") as stream:
            assert stream.status == 200
            await page.ask("GET", "/context")
            await one.ask("DELETE", f"/people/{ada.id}", expect=204)
            await there.ask("GET", "/context", expect=401)  # the next request: nothing is cached
            await page.ask("GET", "/context", expect=401)
            await stream.content.read()  # returns because the other server ends the stream


@proves("OPS-3/2")
async def test_a_demotion_and_a_new_token_count_on_the_other_server(tmp_path: Path, database_url: str) -> None:
    async with two_servers(tmp_path, database_url) as (one, two), person(one, "Ada") as ada:
        there = PersonClient(two.url, ada.session, {"id": ada.id, "token": ada.token})
        await one.ask("PATCH", f"/people/{ada.id}", {"access": "viewer"})
        await there.ask("POST", "/context", {}, expect=403)
        new = (await one.ask("POST", f"/people/{ada.id}/token"))["token"]
        await there.ask("GET", "/context", expect=401)
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {new}"}) as session:
            assert (await Caller(two.url, session).ask("GET", "/session"))["access"] == "viewer"


@proves("OPS-3/2", "OPS-3/3")
async def test_a_members_request_that_is_forwarded_to_a_worker_keeps_her_access_and_name(
    tmp_path: Path, database_url: str
) -> None:
    hold = asyncio.Event()
    replies = [call("create_file", path="t0.txt", content="0\n"), Reply(report("t0 is written"), hold=hold)]
    async with (
        live_server(tmp_path, database_url=database_url) as server,
        live_worker(tmp_path / "worker", database_url, replies=replies) as worker,
        person(server, "Ada") as ada,
        person(server, "Vic", "viewer") as vic,
    ):
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(writing("t0"), writing("t1", "t0")))
        await worker.model.asked(2)
        await until_workers(server, lambda found: bool(found and found[0]["jobs"]))
        path = f"/jobs/{job['id']}"
        for act in ("pause", "cancel"):
            assert await vic.status("POST", f"{path}/{act}", {}) == 403
        assert (await ada.ask("POST", f"{path}/pause", {}))["status"] == "paused"
        assert (await ada.ask("POST", f"{path}/resume", {}))["status"] == "running"
        assert (await ada.ask("POST", f"{path}/cancel", {}))["status"] == "cancelled"
        changed = [e for e in await chat.events(until="job-completed") if e["type"] == "job-updated"]
        assert f"person:{ada.id}:Ada" in {e["principal"] for e in changed}


@proves("OPS-3/1", "OPS-3/3")
async def test_two_servers_that_add_one_name_at_once_agree_on_who_was_first(tmp_path: Path, database_url: str) -> None:
    """Both requests wait for the database's lock of writers, which the test holds until both are there."""
    async with two_servers(tmp_path, database_url) as (one, two):
        address = read_address(database_url)
        holder = PostgresConnection(address)
        watcher = PostgresConnection(address)
        try:
            await asyncio.to_thread(holder.begin)
            async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
                attempts = [
                    tasks.create_task(add_person(server, name)) for server in (one, two) for name in ("Ada", "ADA")
                ]
                while await asyncio.to_thread(waiting_writers, watcher) < 2:
                    await asyncio.sleep(0.02)
                await asyncio.to_thread(holder.rollback)
            answers = [attempt.result() for attempt in attempts]
        finally:
            holder.close()
            watcher.close()
        assert sorted(status for status, _ in answers) == [201, 409, 409, 409], answers
        refused = [body["error"] for status, body in answers if status == 409]
        assert {error["code"] for error in refused} == {"conflict"}
        assert all("who is here already" in error["message"] for error in refused), refused
        changes = (await two.ask("GET", "/people/changes"))["changes"]
        assert [change["type"] for change in changes] == ["person-added"]
        for server in (one, two):
            report = await server.ask("POST", "/audit/verify?full=true")
            assert report["broken"] == []


async def add_person(server: Caller, name: str) -> tuple[int, Json]:
    async with server.session.post(f"{server.url}/people", json={"name": name}) as response:
        return response.status, await response.json()


def waiting_writers(connection: PostgresConnection) -> int:
    row = connection.execute(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
        " WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()"
    ).fetchone()
    return int(row[0])
