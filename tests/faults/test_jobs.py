"""A job while the server is killed again and again: it goes on where it was, and no finished task runs twice."""

import asyncio
import os
import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from anycowork.domain.chats import TurnState
from support.fork_server import ForkServer
from support.jobs import plan, report, writing
from support.scripted_model import Answer, Body, Reply, call, serve_in_thread
from support.server import child_server
from support.spec import proves
from support.stored import opened

TASKS, TIMEOUT = 14, 180.0
ROUNDS = int(os.environ.get("ANYCOWORK_KILL_ROUNDS", "0"))  # `make test-kills` asks for many; each is thirty-two kills
KILLS = 16 if ROUNDS else 6
GONE = (aiohttp.ClientError, ConnectionError, TimeoutError)


def answers(asked: threading.Event, killed: threading.Event) -> Callable[[Body], Answer]:
    """A model that keeps its first answer back until the server was killed: that task is surely at work then."""

    def answer(body: Body) -> Answer:
        first = not asked.is_set()
        asked.set()
        return Reply(_answer(body), hold=killed) if first else _answer(body)

    return answer


def _answer(body: Body) -> str:
    """Writes the task's file unless it is there already, then reports; closes the job in words."""
    told = "\n".join(message["content"] for message in body["messages"] if message["role"] == "user")
    task = re.search(r"^Task (t\d+): ", told, re.MULTILINE)
    if task is None:
        return "All files are written."
    name = task.group(1)
    last = told.rpartition("Result of create_file")
    if f"create_file {name}.txt: ok" in told or (last[1] and not re.search("was stopped|was not run", last[2])):
        return report(f"{name} is written")
    return call("create_file", path=f"{name}.txt", content=f"{name}\n")


@proves("JOB-6/1", "JOB-6/2")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("round_", range(max(1, ROUNDS)))
@pytest.mark.parametrize(("parallel", "kills"), [(1, KILLS), (3, KILLS)])
async def test_job_survives_kills_at_random_moments_and_no_finished_task_runs_twice(
    fork_server: ForkServer, tmp_path: Path, parallel: int, kills: int, round_: int
) -> None:
    moments = random.Random(1414 + round_)
    steps = [writing(f"t{n}", *([f"t{n - 1}"] if n % 3 else [])) for n in range(TASKS)]
    asked, once = threading.Event(), threading.Event()
    with (
        serve_in_thread(mind=answers(asked, once)) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url) as server,
    ):
        async with server.connect() as client:
            chat = await client.chat()
            job = await client.ask(
                "POST", f"{chat.path}/jobs", {"plan": plan(*steps), "parallel": parallel}, expect=202
            )
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
            killed, seen_done = 0, Counter[str]()
            assert await asyncio.to_thread(asked.wait, TIMEOUT)
            async with asyncio.timeout(TIMEOUT):
                while killed < kills:
                    server.restart()
                    once.set()
                    killed += 1
                    await asyncio.sleep(moments.uniform(0.0, 0.12))  # the random moment is the point of this test
                    shown = await client.ask("GET", f"/jobs/{job['id']}")
                    seen_done |= Counter(t["id"] for t in shown["tasks"] if t["status"] == "completed")
                while True:
                    try:
                        async for event in chat.follow():
                            if event["type"] == "job-completed":
                                break
                        break
                    except GONE:
                        continue
            shown = await client.ask("GET", f"/jobs/{job['id']}")
            events = await chat.events("turn-ended")
        assert shown["status"] == "completed", shown["error"]
        assert [task["status"] for task in shown["tasks"]] == ["completed"] * TASKS
        assert all((server.workspace / f"t{n}.txt").read_text() == f"t{n}\n" for n in range(TASKS))
        done = Counter(
            e["task"]["id"] for e in events if e["type"] == "task-completed" and e["task"]["status"] == "completed"
        )
        assert done == Counter(f"t{n}" for n in range(TASKS)), "each task completes exactly once"
        for task_id in done:
            ended = next(
                e["seq"]
                for e in events
                if e["type"] == "task-completed" and e["task"]["id"] == task_id and e["task"]["status"] == "completed"
            )
            started = [e["seq"] for e in events if e["type"] == "task-started" and e["task"]["id"] == task_id]
            assert max(started) < ended, "no finished task starts again"
        assert any(task["attempt"] > 1 for task in shown["tasks"]), "the first kill hit a task at work"
        assert server.terminate() == 0
        assert not list(server.data.glob("**/copies/*")), "no private copy is left"
    async with opened(server.data) as database:
        assert await database.store.audit.verify_chat(chat.id) is None
        assert await database.store.turns.in_states(TurnState.RUNNING, TurnState.DUE, TurnState.PARKED) == []
