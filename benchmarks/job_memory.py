"""How much memory does the server need for 100 jobs of 10 tasks at the same time, with a model that answers at once?

`peak_mb` is the most that the server's process ever held; `cpu_ms` is the server's CPU time for one task, model requests included.
"""

import asyncio
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from measuring import REPOSITORY, Ground, Leg, cpu_seconds_of

sys.path.insert(0, str(REPOSITORY / "tests"))

from support.cli_process import CommandLine, ServeProcess
from support.jobs import plan, report
from support.scripted_model import Body, serve_in_thread

QUESTION = "Memory of many jobs at the same time"
JOBS, TASKS = 100, 10
SECONDS = 600.0
OVER = ("completed", "failed", "cancelled")


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {"jobs_100": lambda: _measured(ground)}


def _measured(ground: Ground) -> dict[str, float]:
    with ground.fresh("jobs") as folder, serve_in_thread(mind=_answer) as model:
        cli = CommandLine(folder, model.base_url)
        with cli.serving("--workspace", str(cli.workspace)) as server:
            before = cpu_seconds_of(server.process.pid)
            asyncio.run(_run_jobs(server))
            spent = cpu_seconds_of(server.process.pid) - before
            return {"peak_mb": _peak_megabytes(server.process.pid), "cpu_ms": spent * 1000 / JOBS / TASKS}


def _answer(body: Body) -> str:
    told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
    return report("looked") if re.search(r"^Task t\d+: ", told, re.MULTILINE) else "Done."


async def _run_jobs(server: ServeProcess) -> None:
    steps = [{"id": f"t{n}", "action": "look", "role": "planner"} for n in range(TASKS)]
    for n in range(1, TASKS, 2):
        steps[n]["dependencies"] = [f"t{n - 1}"]  # type: ignore[assignment]  # JSON
    async with aiohttp.ClientSession(server.url, headers={"Authorization": f"Bearer {server.token}"}) as session:

        async def ask(method: str, path: str, body: object = None) -> Any:  # Any: JSON
            async with session.request(method, path, json=body) as response:
                response.raise_for_status()
                return await response.json()

        waiting = []
        for _ in range(JOBS):
            chat = await ask("POST", "/context", {})
            waiting.append((await ask("POST", f"/context/{chat['id']}/jobs", {"plan": plan(*steps)}))["id"])
        async with asyncio.timeout(SECONDS):
            await asyncio.gather(*(ask("POST", f"/jobs/{one}/approve", {}) for one in waiting))
            while waiting:
                await asyncio.sleep(0.5)
                if (job := await ask("GET", f"/jobs/{waiting[-1]}"))["status"] in OVER:
                    assert job["status"] == "completed", job["error"]
                    waiting.pop()


def _peak_megabytes(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found.group(1)) / 1024
