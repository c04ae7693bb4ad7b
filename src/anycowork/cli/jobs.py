"""`anycowork jobs …`: lists, approves, follows and reviews jobs of a running server."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import msgspec
import typer
from pydantic import JsonValue

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.job_tables import (
    agent_lines,
    audit_lines,
    diff_lines,
    job_details,
    job_lines,
    template_lines,
    worker_lines,
)
from anycowork.cli.options import AsJson, DataDir, Invocation, invoked
from anycowork.cli.run_advice import advice_for, next_job_commands
from anycowork.cli.run_outcome import EXIT_CODES, JobTracker, RunEnding, RunOutcome, print_error
from anycowork.cli.run_progress import TextReporter
from anycowork.client.connect import ServerAddress, with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient, ServerRefused, ServerUnreachable
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.messages import Json, json_objects

JOBS_HELP = """List jobs, look at one, approve its plan, pause, resume, cancel it, raise its limits, retry or undo a
task, keep or drop its changes.

Examples:

\b
    anycowork jobs list
    anycowork jobs templates
    anycowork jobs workers
    anycowork jobs show JOB
    anycowork jobs approve JOB
    anycowork jobs retry JOB --task TASK
    anycowork jobs limits JOB --tokens 200000
"""

app = CommandGroup(
    help=JOBS_HELP,
    short_help="List, approve, follow, stop and review jobs.",
    no_args_is_help=True,
)
TaskId = Annotated[str, typer.Option("--task", help="The task's id.", metavar="TASK")]
JobId = Annotated[str, typer.Argument(help="The job's id.", metavar="JOB")]


@app.command("list", short_help="List jobs, newest first.")
def list_jobs(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List jobs, newest first."""
    raise _job_summary(context, data_dir, "GET", "/jobs", as_json=as_json)


@app.command("templates", short_help="List the templates that a job can be made of.")
def list_templates(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the templates that a job can be made of, with their parameters, and files that are no valid template."""
    raise _job_summary(context, data_dir, "GET", "/job-templates", as_json=as_json)


@app.command("workers", short_help="List the workers on the database, and what they do.")
def list_workers(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the workers on the server's database: where they run, since when, their jobs, and jobs that they refused."""
    raise _job_summary(context, data_dir, "GET", "/workers", as_json=as_json)


@app.command("show", short_help="Show one job and its tasks.")
def show_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show one job and its tasks."""
    raise _job_summary(context, data_dir, "GET", f"/jobs/{job}", as_json=as_json)


@app.command("approve", short_help="Approve a job's plan as it stands and carry it out.")
def approve_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Approve a job's plan as it stands, carry it out and follow it. Broken off, it goes on with the next server."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/approve", as_json=as_json, follow=True)


@app.command("follow", short_help="Follow a job to its end.")
def follow_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Follow a job to its end, or to where it needs you. Breaking off does not stop it."""
    raise _job_summary(context, data_dir, "GET", f"/jobs/{job}", as_json=as_json, follow=True)


@app.command("pause", short_help="Let running tasks finish, and start no new ones.")
def pause_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Let running tasks finish, and start no new ones."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/pause", as_json=as_json)


@app.command("resume", short_help="Go on with a paused job.")
def resume_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Go on with a paused job, and follow it."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/resume", as_json=as_json, follow=True)


@app.command("cancel", short_help="Stop a job for good.")
def cancel_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Stop a job for good."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/cancel", as_json=as_json)


@app.command("retry", short_help="Try a failed task again.")
def retry_task(
    context: typer.Context,
    job: JobId,
    task: TaskId,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Try a failed task again, and go on with the job."""
    path = f"/jobs/{job}/retry"
    raise _job_summary(context, data_dir, "POST", path, as_json=as_json, follow=True, body={"task_id": task})


@app.command("limits", short_help="Raise what a job may use; one that stopped at a limit goes on.")
def change_limits(
    context: typer.Context,
    job: JobId,
    tokens: Annotated[int | None, typer.Option("--tokens", help="Tokens of models.", metavar="N")] = None,
    cost: Annotated[float | None, typer.Option("--cost", help="US dollars.", metavar="USD")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", help="Seconds at work.", metavar="N")] = None,
    each_task: Annotated[bool, typer.Option("--each-task", help="Of each task instead of the whole job.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Raise what a job, or each of its tasks, may use. A job that stopped at a limit goes on."""
    amounts = {"tokens": tokens, "cost": cost, "seconds": seconds}
    limits: dict[str, JsonValue] = {name: limit for name, limit in amounts.items() if limit is not None}
    if not limits:
        raise typer.BadParameter("Name at least one of --tokens, --cost and --seconds.")
    body: Mapping[str, JsonValue] = {"limits": {"task" if each_task else "job": limits}}
    raise _job_summary(context, data_dir, "PATCH", f"/jobs/{job}", as_json=as_json, follow=True, body=body)


@app.command("replan", short_help="Plan the rest of a failed or paused job anew.")
def replan_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Plan the rest of a failed or paused job anew; it waits for your approval."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/replan", as_json=as_json)


@app.command("audit", short_help="Compare the plan with what was done, task by task.")
def audit_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Compare the plan with what was done: per task its files, commands, time and cost."""
    raise _job_summary(context, data_dir, "GET", f"/jobs/{job}/audit", as_json=as_json)


@app.command("diff", short_help="Show the changes that wait to be kept or dropped.")
def diff_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show the changes of a job that wait to be kept or dropped; of a race, those of each agent."""
    raise _job_summary(context, data_dir, "GET", f"/jobs/{job}/diff", as_json=as_json)


@app.command("commit", short_help="Keep a job's changes.")
def commit_job(
    context: typer.Context,
    job: JobId,
    task: Annotated[str | None, typer.Option("--task", help="Of a race: the task to keep.", metavar="TASK")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Of a race: whose work to keep.", metavar="AGENT")
    ] = None,
    path: Annotated[
        list[str] | None, typer.Option("--path", help="Keep only this path. Repeatable.", metavar="PATH")
    ] = None,
    overwrite: Annotated[
        list[str] | None,
        typer.Option("--overwrite", help="A path that may be overwritten. Repeatable.", metavar="PATH"),
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Keep a job's changes: all, those at some paths, or the work of one agent of a race."""
    body: Mapping[str, JsonValue] = {
        "task_id": task,
        "agent": agent,
        "paths": [*path] if path else None,
        "overwrite": [*(overwrite or ())],
    }
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/commit", as_json=as_json, body=body)


@app.command("drop", short_help="Drop a job's changes; the workspace stays as it is.")
def drop_job(context: typer.Context, job: JobId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Drop a job's changes; the workspace stays as it is."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/drop", as_json=as_json)


@app.command("undo", short_help="Undo what one task changed.")
def undo_task(
    context: typer.Context,
    job: JobId,
    task: TaskId,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be undone.")] = False,
    overwrite: Annotated[
        list[str] | None,
        typer.Option(
            "--overwrite", help="A path where a later change of the same lines may be lost. Repeatable.", metavar="PATH"
        ),
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Undo what one task changed, and keep later, independent work."""
    body: Mapping[str, JsonValue] = {"dry_run": dry_run, "overwrite": [*(overwrite or ())]}
    path = f"/jobs/{job}/tasks/{quote(task, safe='')}/undo"
    raise _job_summary(context, data_dir, "POST", path, as_json=as_json, body=body)


def _job_summary(
    context: typer.Context,
    data_dir: Path | None,
    method: str,
    path: str,
    *,
    as_json: bool,
    follow: bool = False,
    body: Mapping[str, JsonValue] | None = None,
) -> typer.Exit:
    invocation = invoked(context, data_dir=data_dir)
    return typer.Exit(ask_server(invocation, method, path, as_json=as_json, follow=follow, body=body))


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
            answer = await _ask(client, method, path, msgspec.to_builtins(body or {}))
            if not follow:
                waiting = await _waiting_for(client, answer) if not as_json else ()
                parked = RunOutcome(RunEnding.PARKED, waiting=waiting)
                chat_id = str(answer.get("context_id"))
                advice = advice_for(parked, chat_id, address, settings, job=answer) if waiting else ()
                _print(answer, as_json=as_json, advice=advice)
                return EXIT_CODES[RunEnding.DONE]
            outcome = await _follow(client, answer, after=before)
            job = await read_job(client, str(answer["id"]))
            if as_json:
                _print(job, as_json=True)
                return outcome.exit_code
            chat_id, job_id = str(answer["context_id"]), str(answer["id"])
            advice = advice_for(outcome, chat_id, address, settings, job=job)
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


async def _ask(client: ServerClient, method: str, path: str, body: Mapping[str, JsonValue]) -> Json:
    if method == "GET":
        return await client.get(path)
    return await (client.patch if method == "PATCH" else client.post)(path, body)


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
    if waiting := await _waiting_for(client, job):
        return RunOutcome(RunEnding.PARKED, error="The job waits for a person.", waiting=waiting)
    return None


async def _waiting_for(client: ServerClient, job: Json) -> tuple[Json, ...]:
    """Returns the approvals and questions of a job at work that wait for a person; nothing if this is no such job."""
    if job.get("status") not in ("planning", "running", "paused") or "context_id" not in job:
        return ()
    chat = f"/context/{job['context_id']}"
    waiting_for = (await client.get(chat)).get("waiting_for")
    if not isinstance(waiting_for, dict):
        return ()
    requests = (
        json_objects((await client.get(f"{chat}/approvals")).get("approvals")) if waiting_for.get("approvals") else []
    )
    if message_ids := waiting_for.get("questions"):
        requests += await _questions(client, chat, message_ids)
    return tuple(part for part in requests if part.get("job_id") == job["id"])


async def _questions(client: ServerClient, chat: str, message_ids: JsonValue) -> list[Json]:
    """Returns these questions as their events show them. They are among the newest messages, unless much was written since."""
    open_ids = set(message_ids) if isinstance(message_ids, list) else set()
    questions: list[Json] = []
    path: str | None = f"{chat}/messages?limit=500"
    while path is not None and len(questions) < len(open_ids):
        page = await client.get(path)
        for message in json_objects(page.get("messages")):
            payload = message.get("payload")
            if message.get("id") in open_ids and isinstance(payload, dict):
                questions.append({**message, "message_id": message["id"], **payload})
        path = f"{chat}/messages?limit=500&before={page['next']}" if page.get("next") else None
    return questions


async def read_job(client: ServerClient, job_id: str) -> Json:
    """Returns the job as it is; only its id where the server is gone."""
    try:
        return await client.get(f"/jobs/{job_id}")
    except (ServerRefused, ServerUnreachable):
        return {"id": job_id}


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


def _print(answer: Json, *, as_json: bool, advice: Sequence[str] = ()) -> None:
    """`advice` says how to go on with a job that waits for a person."""
    if as_json:
        stdout().json(json.dumps(answer, ensure_ascii=False))
        return
    for line in _lines(answer, advice):
        stdout().line(strip_controls(line))


_TABLES = {"templates": template_lines, "workers": worker_lines, "agents": agent_lines, "jobs": job_lines}


def _lines(answer: Json, advice: Sequence[str]) -> Iterator[str]:
    for name, lines in _TABLES.items():
        if name in answer:
            yield from lines(answer)
            return
    if "steps" in answer and "request" not in answer:
        yield from audit_lines(answer)
        return
    if "diff" in answer and "request" not in answer:
        yield from list(diff_lines(answer)) or ["No changes."]
        return
    yield from job_details(answer)
    yield from advice or next_job_commands(answer)
    if answer.get("final_response"):
        yield str(answer["final_response"])
