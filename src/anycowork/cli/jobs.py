"""`anycowork jobs`: asks the server about jobs, prints them, and follows one to its end."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from functools import partial

import msgspec
from pydantic import JsonValue

from anycowork.cli.command_errors import print_error
from anycowork.cli.job_outcome import JobTracker
from anycowork.cli.job_tables import agent_lines, audit_lines, diff_lines, job_lines, template_lines, worker_lines
from anycowork.cli.options import Invocation
from anycowork.cli.run_advice import advice_for, next_job_commands
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding, RunOutcome
from anycowork.cli.run_progress import TextReporter
from anycowork.client.connect import ServerAddress, with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient, ServerRefused, ServerUnreachable
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError
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

    async def work(settings: Settings, address: ServerAddress) -> int:
        async with ServerClient(address.url, address.token) as client:
            before = await _last_number(client, path) if follow else 0
            found = (
                await client.get(path) if method == "GET" else await client.post(path, msgspec.to_builtins(body or {}))
            )
            if not follow:
                _print(found, as_json=as_json)
                return EXIT_CODES[RunEnding.DONE]
            outcome = await _follow(client, found, after=before)
            if as_json:
                _print(await client.get(f"/jobs/{found['id']}"), as_json=True)
                return outcome.exit_code
            chat_id, job_id = str(found["context_id"]), str(found["id"])
            advice = advice_for(outcome, chat_id, address, settings, job_id=job_id)
            TextReporter(stdout(), stderr()).finish(outcome, chat_id=chat_id, advice=advice)
            await print_audit(client, job_id, outcome)
            return outcome.exit_code

    async def run() -> int:
        settings = invocation.settings()
        return await with_server(settings, partial(work, settings))

    try:
        return asyncio.run(run())
    except AnyCoworkError as error:
        return print_error("jobs", error, (404,))


async def _last_number(client: ServerClient, path: str) -> int:
    """The number of the newest event in the chat of the job that the path names."""
    job = await client.get("/".join(path.split("/")[:3]))
    newest = (await client.get(f"/context/{job['context_id']}")).get("last_seq")
    return newest if isinstance(newest, int) else 0


async def _follow(client: ServerClient, job: Json, *, after: int) -> RunOutcome:
    """To the job's end, or to where a person must decide. Without this the job goes on all the same."""
    reporter, tracker = TextReporter(stdout(), stderr()), JobTracker(str(job["id"]), approved=True)
    if outcome := await _outcome_now(client, job, tracker):
        return outcome
    async with aclosing(client.events(str(job["context_id"]), after=after)) as events:
        async for data in events:
            event = msgspec.json.decode(data, type=dict)
            reporter.show(data, event)
            if outcome := tracker.see(event):
                return outcome
    return RunOutcome(RunEnding.FAILED, error="The event stream ended before the job did.")


async def _outcome_now(client: ServerClient, job: Json, tracker: JobTracker) -> RunOutcome | None:
    """The outcome of a job that is over, or that waits for a person already."""
    if outcome := tracker.outcome(job):
        return outcome
    chat = await client.get(f"/context/{job['context_id']}")
    if chat.get("state") in ("awaiting_answer", "awaiting_approval"):
        return RunOutcome(RunEnding.PARKED, error=f"The job waits for a person: decide in chat {job['context_id']}.")
    return None


async def print_audit(client: ServerClient, job_id: str, outcome: RunOutcome) -> None:
    """Prints the plan against what was done, if the work is over; a server that is gone cannot tell."""
    if outcome.ending not in (RunEnding.DONE, RunEnding.FAILED) and outcome.code != "awaiting_commit":
        return
    try:
        audit = await client.get(f"/jobs/{job_id}/audit")
    except (ServerRefused, ServerUnreachable):
        return
    for line in audit_lines(audit):
        stderr().line(strip_controls(line))


def _print(found: Json, *, as_json: bool) -> None:
    if as_json:
        stdout().json(json.dumps(found, ensure_ascii=False))
        return
    for line in _lines(found):
        stdout().line(strip_controls(line))


_TABLES = {"templates": template_lines, "workers": worker_lines, "agents": agent_lines, "jobs": job_lines}


def _lines(found: Json) -> Iterator[str]:
    for name, lines in _TABLES.items():
        if name in found:
            yield from lines(found)
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
    yield from next_job_commands(str(found["status"]), str(found["id"]))
    if found.get("final_response"):
        yield str(found["final_response"])
