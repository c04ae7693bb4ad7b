"""`anycowork jobs`: asks the server about jobs, prints them, and follows one to its end."""

import json
from collections.abc import Iterator, Mapping
from contextlib import aclosing

import msgspec
from pydantic import JsonValue

from anycowork.cli.job_outcome import JobTracker
from anycowork.cli.job_tables import agent_lines, audit_lines, diff_lines, template_lines
from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.run_progress import TextReporter
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json


def ask_server(
    invocation: Invocation,
    method: str,
    path: str,
    *,
    as_json: bool,
    follow: bool = False,
    body: Mapping[str, JsonValue] | None = None,
) -> int:
    """Prints what the server answers, and with `follow` what becomes of the job; the exit code."""

    async def work(client: ServerClient) -> int:
        before = await _last_number(client, path) if follow else 0
        found = await client.get(path) if method == "GET" else await client.post(path, msgspec.to_builtins(body or {}))
        if not follow:
            _print(found, as_json=as_json)
            return EXIT_CODES[RunEnding.DONE]
        return await _follow(client, found, after=before, as_json=as_json)

    return run_with_server("jobs", invocation, work, usage_statuses=(404,))


async def _last_number(client: ServerClient, path: str) -> int:
    """The number of the newest event in the chat of the job that the path names."""
    job = await client.get("/".join(path.split("/")[:3]))
    newest = (await client.get(f"/context/{job['context_id']}")).get("last_seq")
    return newest if isinstance(newest, int) else 0


async def _follow(client: ServerClient, job: Json, *, after: int, as_json: bool) -> int:
    """To the job's end, or to where a person must decide. Without this the job goes on all the same."""
    reporter, tracker = TextReporter(stdout(), stderr()), JobTracker(str(job["id"]), approved=True)
    async with aclosing(client.events(str(job["context_id"]), after=after)) as events:
        async for data in events:
            event = msgspec.json.decode(data, type=dict)
            reporter.show(data, event)
            if outcome := tracker.see(event):
                if as_json:
                    _print(await client.get(f"/jobs/{job['id']}"), as_json=True)
                else:
                    reporter.finish(outcome, chat_id=str(job["context_id"]), advice=[])
                return outcome.exit_code
    return EXIT_CODES[RunEnding.FAILED]


def _print(found: Json, *, as_json: bool) -> None:
    if as_json:
        stdout().json(json.dumps(found, ensure_ascii=False))
        return
    for line in _lines(found):
        stdout().line(strip_controls(line))


def _lines(found: Json) -> Iterator[str]:
    jobs = found.get("jobs")
    if isinstance(jobs, list):
        for job in jobs:
            if isinstance(job, dict):
                yield f"{job['id']}  {job['status']!s:<18} {str(job['request'])[:80]}"
        return
    if "templates" in found:
        yield from template_lines(found)
        return
    if "agents" in found:
        yield from agent_lines(found)
        return
    if "steps" in found and "request" not in found:
        yield from audit_lines(found)
        return
    if "diff" in found and "request" not in found:
        yield from diff_lines(found)
        return
    yield f"{found['id']}  {found['status']}: {found['request']}"
    tasks = found.get("tasks")
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, dict):
            claimed = " (claimed)" if task.get("claimed") else ""
            yield f"  {task['id']!s:<14} {task['status']}{claimed}: {task.get('result') or task.get('description')}"
    error = found.get("error")
    if isinstance(error, dict):
        yield f"  {error.get('message')}"
    if found.get("final_response"):
        yield str(found["final_response"])
