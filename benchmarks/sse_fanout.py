"""What does one event cost for one more reader? The same turns with 1 and with 201 readers, on a server in a process of its own."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import aiohttp
import uvloop

from measuring import Ground, Leg, cpu_seconds_of
from startup import served

QUESTION = "CPU of the server for one delivery of one event to one of 200 readers"
READERS = 200
TURNS = 20
TIMEOUT = 120.0


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {"readers_200": partial(_fan_out, ground)}


def _fan_out(ground: Ground) -> dict[str, float]:
    with ground.fresh("sse") as folder, served(folder) as (process, url):
        token = (folder / "data" / "token").read_text().strip()
        with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
            return runner.run(_compare(url, token, process.pid))


async def _compare(url: str, token: str, pid: int) -> dict[str, float]:
    headers, connector = {"Authorization": f"Bearer {token}"}, aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, headers=headers, connector=connector) as session:
        await _turns(session, pid, readers=1)  # warm
        one, seen_by_one = await _turns(session, pid, readers=1)
        many, seen_by_many = await _turns(session, pid, readers=1 + READERS)
    delivered = seen_by_many - seen_by_one
    return {"cpu_us": (many - one) * 1e6 / delivered, "deliveries": float(delivered)}


async def _turns(session: aiohttp.ClientSession, pid: int, *, readers: int) -> tuple[float, int]:
    """CPU seconds of the server from the first message to the last delivery, and how many events were delivered."""
    async with session.post("/context", json={}) as answer:
        chat = f"/context/{(await answer.json())['id']}"
    there = asyncio.Semaphore(0)
    turn_ended: asyncio.Queue[None] = asyncio.Queue()
    async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
        reading = [tasks.create_task(_read(session, chat, there, turn_ended)) for _ in range(readers)]
        for _ in reading:
            await there.acquire()
        before = cpu_seconds_of(pid)
        for _ in range(TURNS):
            async with session.post(f"{chat}/messages", json={"content": "hello"}) as answer:
                answer.raise_for_status()
            for _ in reading:
                await turn_ended.get()
        delivered = sum([await reader for reader in reading])
        return cpu_seconds_of(pid) - before, delivered


async def _read(
    session: aiohttp.ClientSession, chat: str, there: asyncio.Semaphore, turn_ended: "asyncio.Queue[None]"
) -> int:
    """How many events came until the last turn had ended."""
    events = ends = 0
    async with session.get(f"{chat}/events", timeout=aiohttp.ClientTimeout(total=None)) as stream:
        there.release()
        while ends < TURNS:
            line = await stream.content.readline()
            if not line:
                raise AssertionError("the stream ended early")
            events += line.startswith(b"id: ")
            if line.startswith(b"event: turn-ended"):
                ends += 1
                turn_ended.put_nowait(None)
    return events
