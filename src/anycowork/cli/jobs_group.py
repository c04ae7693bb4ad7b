"""`anycowork jobs …`"""

import os
from pathlib import Path
from typing import Annotated

import typer

from anycowork.cli.options import DataDir, Json, merge_flags

JOBS_HELP = """Say which jobs there are, look at one, approve its plan, pause, resume, cancel it or retry a task.

Examples:

\b
    anycowork jobs list
    anycowork jobs show JOB
    anycowork jobs approve JOB
    anycowork jobs retry JOB --task TASK
"""

app = typer.Typer(
    help=JOBS_HELP, short_help="Jobs: list, show, approve, pause, resume, cancel, retry.", no_args_is_help=True
)
JobId = Annotated[str, typer.Argument(help="The job's id.", metavar="JOB")]


@app.command("list", short_help="Say which jobs there are, newest first.")
def list_jobs(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Say which jobs there are, newest first."""
    raise _job_summary(context, data_dir, "GET", "/jobs", as_json=as_json)


@app.command("show", short_help="Show one job and its tasks.")
def show_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Show one job and its tasks."""
    raise _job_summary(context, data_dir, "GET", f"/jobs/{job}", as_json=as_json)


@app.command("approve", short_help="Approve a job's plan as it stands and carry it out.")
def approve_job(context: typer.Context, job: JobId, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Approve a job's plan as it stands, carry it out and follow it. Broken off, it goes on with the next server."""
    raise _job_summary(context, data_dir, "POST", f"/jobs/{job}/approve", as_json=as_json, follow=True)


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
    task: Annotated[str, typer.Option("--task", help="The task's id.", metavar="TASK")],
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Try a failed task again, and go on with the job."""
    path = f"/jobs/{job}/retry"
    raise _job_summary(context, data_dir, "POST", path, as_json=as_json, follow=True, body={"task_id": task})


def _job_summary(
    context: typer.Context,
    data_dir: Path | None,
    method: str,
    path: str,
    *,
    as_json: bool,
    follow: bool = False,
    body: dict[str, str] | None = None,
) -> typer.Exit:
    from anycowork.cli.jobs import ask_server

    flags = merge_flags(context, {"data_dir": data_dir})
    return typer.Exit(
        ask_server(flags, os.environ, method, path, cwd=Path.cwd(), as_json=as_json, follow=follow, body=body)
    )
