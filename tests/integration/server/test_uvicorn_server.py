"""The API over real sockets: streams that do not buffer, a clean end, and a disk that is full."""

import asyncio
import logging
import socket
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest
import uvicorn

from anycowork.api.application import create_api
from anycowork.server import uvicorn_server
from anycowork.server.uvicorn_server import ListenAddress, serve_app
from support.spec import proves


@asynccontextmanager
async def served(app, stopping):
    """The server's address; when the block ends, the server must end within five seconds."""
    port = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        place = ListenAddress("127.0.0.1", 0, grace_seconds=30)
        tasks.create_task(serve_app(app, place, stopping=stopping, ready=port.set_result, handle_signals=False))
        yield f"http://127.0.0.1:{await port}"
        stopping.set()


@proves("EVT-2", "OPS-2")
async def test_events_arrive_at_once_and_an_open_stream_does_not_hold_up_the_end(services, client, token):
    chat_id = (await client.post("/context")).json()["id"]
    session = aiohttp.ClientSession(headers={"authorization": f"Bearer {token}"})
    async with served(create_api(services), services.server.stopping) as url, session:
        stream = await session.get(f"{url}/context/{chat_id}/events")
        await client.put(f"/context/{chat_id}/role", {"role": "planner"})
        async with asyncio.timeout(60):
            assert (await stream.content.readline()).startswith(b"id: ")
        services.server.stopping.set()
        async with asyncio.timeout(60):
            await stream.content.read()
        assert stream.content.at_eof()


async def test_a_server_that_is_told_to_end_does_not_wait_for_its_next_look_at_the_time(services, monkeypatch):
    monkeypatch.setattr(uvicorn_server, "_TICK_SECONDS", 3600.0)
    async with (
        served(create_api(services), services.server.stopping) as url,
        aiohttp.ClientSession() as session,
        session.get(f"{url}/healthz") as answer,
    ):
        assert answer.status == 200 and "Date" in answer.headers


def test_the_second_write_of_an_answer_waits_for_no_acknowledgement():
    with uvicorn_server._listen(ListenAddress("127.0.0.1", 0, grace_seconds=1)) as listener:
        with socket.create_connection(listener.getsockname()):
            connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@proves("SEC-1")
@pytest.mark.parametrize(("method", "path"), [("GET", "/roles"), ("POST", "/triggers/guessed")])
async def test_a_guesser_cannot_choose_whose_guesses_are_slowed_down(services, method, path):
    sleeps = []

    async def sleep(seconds):
        sleeps.append(seconds)

    async with (
        served(
            create_api(replace(services, access=replace(services.access, sleep=sleep))), services.server.stopping
        ) as url,
        aiohttp.ClientSession() as session,
    ):
        for guess in range(3):
            headers = {"authorization": f"Bearer guess-{guess}", "x-forwarded-for": f"10.0.0.{guess}"}
            async with session.request(method, url + path, headers=headers) as refused:
                assert refused.status == 401
    assert sleeps == [0.1, 0.2, 0.4]


@proves("SEC-2")
async def test_the_token_in_the_address_is_in_no_access_log(services, token, caplog):
    caplog.set_level(logging.DEBUG)
    server = uvicorn.Server(
        uvicorn.Config(create_api(services), port=0, log_config=None, access_log=True, lifespan="off")
    )
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with aiohttp.ClientSession() as session:
            address = f"http://127.0.0.1:{port}/?token={token}"
            async with session.get(address, allow_redirects=False) as answer:
                assert answer.status == 303
        server.should_exit = True
    assert '"GET / HTTP/1.1" 303' in caplog.text
    assert token not in caplog.text


@proves("OPS-2")
async def test_a_full_disk_is_said_and_heals(server, client):
    pages = await server.database.writer.run(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    await server.database.writer.run(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchone()[0])
    answers = [await client.post("/context", {"title": "x" * 500}) for _ in range(20)]
    assert {answer.status for answer in answers} <= {201, 507} and answers[-1].status == 507
    assert answers[-1].error["code"] == "storage_failed" and "disk" in answers[-1].error["message"]
    assert (await client.get("/context")).status == 200
    await server.database.writer.run(lambda c: c.execute("PRAGMA max_page_count = 100000").fetchone()[0])
    assert (await client.post("/context")).status == 201
