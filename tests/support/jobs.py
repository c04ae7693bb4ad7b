"""Jobs in tests: a plan of a few tasks, reports of workers, and waiting for a job's status."""

import asyncio
import json
from typing import Any

from support.live_server import LiveChat, LiveServer

TIMEOUT = 20.0
Json = dict[str, Any]


def report(summary: str, status: str = "success", **more: Any) -> str:
    return json.dumps({"status": status, "summary": summary, **more})


def writing(name: str, *dependencies: str, **more: Any) -> Json:
    """A step that writes its own file."""
    return {
        "id": name,
        "action": f"write {name}.txt",
        "tools_needed": ["create_file"],
        "paths": [f"{name}.txt"],
        "dependencies": list(dependencies),
        **more,
    }


def plan(*steps: Json) -> Json:
    return {"goal": "Write the files", "steps": list(steps)}


async def new_job(client: LiveServer, chat: LiveChat, **wanted: Any) -> Json:
    return await client.ask("POST", f"{chat.path}/jobs", wanted, expect=202)


async def approved(client: LiveServer, chat: LiveChat, **wanted: Any) -> Json:
    job = await new_job(client, chat, **wanted)
    return await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)


async def until(client: LiveServer, chat: LiveChat, job_id: str, *statuses: str, seconds: float = TIMEOUT) -> Json:
    """The job once it has one of these statuses, by following the chat's events."""
    async with asyncio.timeout(seconds):
        async for event in chat.follow():
            if event["type"] in ("job-updated", "job-completed") and event["job"]["status"] in statuses:
                job = await client.ask("GET", f"/jobs/{job_id}")
                if job["status"] in statuses:
                    return job
    raise AssertionError("the stream ended")


async def until_idle(chat: LiveChat) -> None:
    """Returns once the chat's events say that it is idle again."""
    async with asyncio.timeout(TIMEOUT):
        async for event in chat.follow():
            if event.get("state") == "idle" and event["type"] == "job-updated":
                return
    raise AssertionError("the stream ended")
