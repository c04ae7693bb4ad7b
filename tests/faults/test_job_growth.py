"""Scheduling a task costs the same in a large job as in a small one."""

import asyncio
import gc
import time
from pathlib import Path

from anycowork.domain.task_progress import TaskStatus
from anycowork.server.clock import SystemClock
from anycowork.store.sqlite.database import Database
from support.jobs import approved, report
from support.live_server import live_server
from support.scripted_model import Reply
from support.scripted_workers import run_job, wide_plan
from support.spec import proves
from support.stored import add_chat, opened

FEW, MANY = 500, 4_000
FACTOR = 2.0  # of the cost of one task; a job that is read whole for each task costs eight times as much
TIMEOUT = 120.0


@proves("JOB-1/2")
async def test_scheduling_a_task_costs_the_same_in_a_job_of_eight_times_as_many(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT), opened(tmp_path) as database:
        await _cpu_of_a_task(database, FEW, "warm")
        few = await _cpu_of_a_task(database, FEW, "few")
        many = await _cpu_of_a_task(database, MANY, "many")
    assert many <= FACTOR * few, f"{many * 1e6:.0f} µs a task after {few * 1e6:.0f} µs"


async def _cpu_of_a_task(database: Database, count: int, chat_id: str) -> float:
    await database.journal.write(add_chat(chat_id))
    plan = await asyncio.to_thread(wide_plan, count)
    gc.collect()
    began = time.process_time()
    job = await run_job(database, SystemClock(), chat_id, plan)
    spent = time.process_time() - began
    stored = await database.store.tasks.of_job(job.id)
    assert job.status.value == "completed" and [task.status for task in stored] == [TaskStatus.COMPLETED] * count
    return spent / count


@proves("JOB-2/1")
async def test_job_of_ten_thousand_tasks_starts_and_is_shown_page_by_page(tmp_path: Path) -> None:
    hold = asyncio.Event()
    steps = [{"id": f"t{number}", "action": "look", "role": "planner"} for number in range(10_000)]
    async with (
        asyncio.timeout(TIMEOUT),
        live_server(tmp_path, replies=[Reply(report("looked"), hold=hold)] * 8) as client,
    ):
        chat = await client.chat()
        job = await approved(client, chat, plan={"goal": "Look", "steps": steps})
        await client.model.asked(1)
        assert job["task_count"] == 10_000 and len(job["tasks"]) == len(job["steps"]) == 500
        seen: list[str] = []
        page = await client.ask("GET", f"/jobs/{job['id']}/tasks")
        while True:
            assert len(page["tasks"]) == 500
            seen += [task["id"] for task in page["tasks"]]
            if len(seen) >= 10_000:
                break
            page = await client.ask("GET", f"/jobs/{job['id']}/tasks?after={page['next']}")
        assert seen == [f"t{number}" for number in range(10_000)]
        assert "plan" not in (await client.ask("GET", "/jobs"))["jobs"][0]
