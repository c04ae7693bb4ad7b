"""`anycowork jobs …`"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from anycowork.cli.options import DataDir, Json, invoked
from anycowork.cli.plain_help import CommandGroup

if TYPE_CHECKING:  # importing it would slow every --help
    from pydantic import JsonValue

JOBS_HELP = """Say which jobs there are, look at one, approve its plan, pause, resume, cancel it, retry or undo a task, keep or drop its
changes.

Examples:

\b
    anycowork jobs list
    anycowork jobs templates
    anycowork jobs workers
    anycowork jobs show JOB
    anycowork jobs approve JOB
    anycowork jobs retry JOB --task TASK
"""

app = CommandGroup(
    help=JOBS_HELP,
    short_help="List, approve, follow, stop and review jobs.",
    no_args_is_help=True,
)
TaskId = Annotated[str, typer.Option("--task", help="The task's id.", metavar="TASK")]
JobId = Annotated[str, typer.Argument(help="The job's id.", metavar="JOB")]


@app.command("list", short_help="Say which jobs there are, newest first.")
def list_jobs(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Say which jobs there are, newest first."""
    raise _job_summary(context, data_dir, "GET", "/jobs", as_json=as_json)


@app.command("templates", short_help="List the templates that a job can be made of.")
def list_templates(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the templates that a job can be made of, with their parameters, and files that are no valid template."""
    raise _job_summary(context, data_dir, "GET", "/job-templates", as_json=as_json)


@app.command("workers", short_help="List the workers on the database, and what they do.")
def list_workers(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the workers on the server's database: where they run, since when, their jobs, and jobs that they refused."""
    raise _job_summary(context, data_dir, "GET", "/workers", as_json=as_json)


@app.command("show", short_help="Show one job and its tasks.")
def show_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Show one job and its tasks."""
    raise _job_summary(context, data_dir, "GET", f"/jobs/{job}", as_json=as_json)


@app.command("approve", short_help="Approve a job's plan as it stands and carry it out.")
def approve_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Approve a job's plan as it stands, carry it out and follow it. Broken off, it goes on with the next server."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/approve", as_json=as_json, follow=True)


@app.command("follow", short_help="Follow a job to its end.")
def follow_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Follow a job to its end, or to where it needs you. Breaking off does not stop it."""
    raise _job_summary(context, data_dir, "GET", f"/jobs/{job}", as_json=as_json, follow=True)


@app.command("pause", short_help="Let the task at work finish and start no other.")
def pause_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Let the task at work finish and start no other."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/pause", as_json=as_json)


@app.command("resume", short_help="Go on with a paused job.")
def resume_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Go on with a paused job, and follow it."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/resume", as_json=as_json, follow=True)


@app.command("cancel", short_help="Stop a job for good.")
def cancel_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Stop a job for good."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/cancel", as_json=as_json)


@app.command("retry", short_help="Try a failed task again.")
def retry_task(
    context: typer.Context,
    job: JobId,
    task: TaskId,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Try a failed task again, and go on with the job."""
    path = f"/jobs/{job}/retry"
    raise _job_summary(context, data_dir, "POST", path, as_json=as_json, follow=True, body={"task_id": task})


@app.command("replan", short_help="Plan the rest of a failed or paused job anew.")
def replan_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Plan the rest of a failed or paused job anew; it waits for your approval."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/replan", as_json=as_json)


@app.command("audit", short_help="Compare the plan with what was done, task by task.")
def audit_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Compare the plan with what was done: per task its files, commands, time and cost."""
    raise _job_summary(context, data_dir, "GET", f"/jobs/{job}/audit", as_json=as_json)


@app.command("diff", short_help="Show the changes that wait to be kept or dropped.")
def diff_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
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
    as_json: Json = False,
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
def drop_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Drop a job's changes; the workspace stays as it is."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/drop", as_json=as_json)


@app.command("undo", short_help="Undo what one task changed.")
def undo_task(
    context: typer.Context,
    job: JobId,
    task: TaskId,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Undo what one task changed, and keep later, independent work."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/tasks/{quote(task, safe='')}/undo", as_json=as_json)


def _job_summary(
    context: typer.Context,
    data_dir: Path | None,
    method: str,
    path: str,
    *,
    as_json: bool,
    follow: bool = False,
    body: "Mapping[str, JsonValue] | None" = None,
) -> typer.Exit:
    from anycowork.cli.jobs import ask_server

    invocation = invoked(context, data_dir=data_dir)
    return typer.Exit(ask_server(invocation, method, path, as_json=as_json, follow=follow, body=body))
