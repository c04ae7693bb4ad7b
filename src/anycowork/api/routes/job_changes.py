"""The changes of a job: shown, kept, dropped, and undone task by task. Only a person may decide about them."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from anycowork.api.errors import error_response
from anycowork.api.middleware.auth import Decider, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.jobs import JobAuditResponse, JobDiffResponse, JobResponse
from anycowork.api.schemas.snapshots import RestoredResponse
from anycowork.chats.files.rollback import RollbackRequest
from anycowork.chats.jobs.job_commit_service import KeepRequest
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import RestoreConflict

routes = Router(tags=["jobs"])

Path = Annotated[str, Field(min_length=1, max_length=4096)]
Paths = Annotated[list[Path], Field(min_length=1, max_length=1000)]


class JobCommitRequest(Boundary):
    """`paths` keeps only these and what lies below them; `agent`, or one of its tasks as `task_id`, keeps one candidate of a race;
    `overwrite` names paths of which the job's version stays although somebody else changed them meanwhile."""

    task_id: Annotated[str, Field(min_length=1)] | None = None
    agent: Annotated[str, Field(min_length=1)] | None = None
    paths: Paths | None = None
    overwrite: Annotated[list[Path], Field(max_length=1000)] = Field(default_factory=list)


class UndoTaskRequest(Boundary):
    """`paths` narrows it to these and what lies below them; `overwrite` names paths where someone else's change may be lost."""

    dry_run: bool = False
    paths: Paths | None = None
    overwrite: Annotated[list[Path], Field(max_length=1000)] = Field(default_factory=list)


@routes.get("/jobs/{job_id}/diff", response_model=JobDiffResponse, responses=error_responses(404, 409, 422))
async def job_diff(job_id: str, principal: Reader, services: ServicesDep) -> Response:
    """What a job that waits for its commit would change in the workspace now; of a race, each task's changes side by side."""
    return json_response(200, await services.job_commits.differences(job_id))


@routes.get("/jobs/{job_id}/audit", response_model=JobAuditResponse, responses=error_responses(404, 422))
async def job_audit(job_id: str, principal: Reader, services: ServicesDep) -> Response:
    """The plan against what was done: per task its files, commands, time and cost, and what was done outside its step."""
    return json_response(200, await services.job_audit.of_job(job_id))


@routes.post("/jobs/{job_id}/commit", response_model=JobResponse, responses=error_responses(404, body=True))
async def commit_job(
    job_id: str, principal: Decider, services: ServicesDep, body: JobCommitRequest | None = None
) -> Response:
    """Keeps the job's changes. What somebody else changed meanwhile is merged, or is a conflict: 409 with the list, and nothing changed."""
    options = body or JobCommitRequest()
    request = KeepRequest(
        options.task_id,
        None if options.paths is None else tuple(options.paths),
        tuple(options.overwrite),
        options.agent,
    )
    try:
        job = await services.job_commits.keep(principal, job_id, request)
    except RestoreConflict as conflict:
        return _conflicting(conflict)
    return json_response(200, await services.jobs.show(job))


@routes.post("/jobs/{job_id}/drop", response_model=JobResponse, responses=error_responses(404, 409, 422))
async def drop_job(job_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Drops the job's changes; the workspace stays as it is."""
    return json_response(200, await services.jobs.show(await services.job_commits.drop(principal, job_id)))


@routes.post(
    "/jobs/{job_id}/tasks/{task_id}/undo",
    response_model=RestoredResponse,
    responses=error_responses(404, 410, body=True),
)
async def undo_task(
    job_id: str, task_id: str, principal: Decider, services: ServicesDep, body: UndoTaskRequest | None = None
) -> Response:
    """Undoes what one task changed and keeps later, independent work. What someone changed since is a conflict: 409, nothing changed."""
    options = body or UndoTaskRequest()
    paths = None if options.paths is None else tuple(options.paths)
    request = RollbackRequest(dry_run=options.dry_run, only=True, paths=paths, overwrite=tuple(options.overwrite))
    try:
        done = await services.job_commits.undo_task(principal, job_id, task_id, request)
    except RestoreConflict as conflict:
        return _conflicting(conflict)
    return json_response(200, done.to_json())


def _conflicting(conflict: RestoreConflict) -> Response:
    listed = {"conflicts": sorted(conflict.conflicts), "reasons": conflict.conflicts}
    return json_response(conflict.status, {**error_response(conflict).to_json(), **listed})
