"""Workers: their list, invitations for those that join over HTTP, and the addresses that a joined worker uses."""

import asyncio
import base64
import gzip
from typing import Annotated, Literal

import msgspec
from fastapi import Depends, Query, Request, Response
from pydantic import Field, JsonValue

from anycowork.api.middleware.auth import WORKER, Manager, Reader, maker_in
from anycowork.api.middleware.body import body_of
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.jobs import JoinResponse, WorkerInviteResponse, WorkersResponse
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.job_workers import JobWorker, JoinedWorker
from anycowork.domain.principals import NodeKind
from anycowork.domain.values import replace
from anycowork.domain.visibility import viewer_of
from anycowork.sandbox.remote.content_pieces import BATCH_BYTES
from anycowork.sandbox.remote.remote_run import RemoteResult
from anycowork.sandbox.remote.tree_manifest import rows_of
from anycowork.server.joined_workers import WorkerOffer

routes = Router(tags=["operation"])

DAY = 24 * 3600
Label = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,40}$", examples=["gpu"])]
Labels = Annotated[list[Label], Field(max_length=20)]


class InviteRequest(Boundary):
    labels: Annotated[Labels, Field(default_factory=list)]
    expires_in: Annotated[float, Field(gt=0, le=30 * DAY, description="Seconds; an hour without it.")] = 3600


class JoinRequest(Boundary):
    token: Annotated[
        str, Field(min_length=1, max_length=200, description="A join token, or the secret of a worker that comes back.")
    ]
    host: Annotated[str, Field(min_length=1, max_length=200)]
    labels: Annotated[Labels, Field(default_factory=list)]
    level: Literal["full", "none"]
    processor: Annotated[str, Field(max_length=100)] = ""
    version: Annotated[str, Field(min_length=1, max_length=100)]


class NextRunRequest(Boundary):
    cache_bytes: Annotated[int, Field(ge=0, le=2**53)] = 0
    runs: Annotated[list[str], Field(max_length=1_000)] | None = None


class ContentsRequest(Boundary):
    hashes: Annotated[list[str], Field(max_length=512)]
    offset: Annotated[int, Field(ge=0, le=2**40)] = 0
    most_bytes: Annotated[int, Field(gt=0)] = BATCH_BYTES


class ResultRequest(Boundary):
    """`output` is base64. `error` alone: the command could not be run; `machine_fault`: because of the worker's machine, such as a full disk."""

    how: Literal["ITSELF", "TIMED_OUT", "TOO_MUCH_OUTPUT", "DISK_FULL"] = "ITSELF"
    exit_code: Annotated[int, Field(ge=-255, le=255)] = 0
    output: Annotated[str, Field(max_length=14_000_000)] = ""
    seconds: Annotated[float, Field(ge=0, le=100_000)] = 0.0
    changes: JsonValue = None
    error: Annotated[str, Field(max_length=2_000)] | None = None
    machine_fault: bool = False


@routes.get("/workers", response_model=WorkersResponse, responses=error_responses())
async def list_workers(principal: Reader, services: ServicesDep) -> Response:
    """The living workers, what each runs and what it refused, as far as the person may see it."""
    viewer, store = viewer_of(principal), services.store

    async def hides_turn(turn_id: str) -> bool:
        turn = await store.turns.find(turn_id) if viewer is not None else None
        return turn is not None and viewer is not None and await store.visibility.hides_chat(viewer, turn.chat_id)

    async def visible_part(worker: JobWorker) -> JobWorker:
        if viewer is None:
            return worker
        named = {*worker.jobs, *(job_id for job_id, _ in worker.refused)}
        hidden = {job_id for job_id in named if await store.visibility.hides_job(viewer, job_id)}
        return replace(
            worker,
            jobs=tuple(job_id for job_id in worker.jobs if job_id not in hidden),
            refused=tuple(refusal for refusal in worker.refused if refusal[0] not in hidden),
        )

    workers = await services.server.workers() if services.server.workers is not None else []
    of_database = [(await visible_part(worker)).to_json() for worker in workers]
    listed = of_database + await services.server.joined_workers.list(hides_turn)
    return json_response(200, {"workers": listed})


@routes.post(
    "/workers/invites", status_code=201, response_model=WorkerInviteResponse, responses=error_responses(body=True)
)
async def invite_worker(body: InviteRequest, request: Request, principal: Manager, services: ServicesDep) -> Response:
    """A token with which one worker joins, once, and while who made it has access."""
    invite = await services.server.joined_workers.invite(
        labels=tuple(body.labels), seconds=body.expires_in, created_by=principal.label()
    )
    sessions = services.access.sessions
    await sessions.record_made(NodeKind.INVITE, invite.id, maker_in(request.scope, sessions))
    return json_response(201, {"token": invite.token, "expires_at": invite.expires_at})


@routes.delete("/workers/{worker_id}", status_code=204, response_class=Response, responses=error_responses(404))
async def remove_worker(worker_id: str, principal: Manager, services: ServicesDep) -> Response:
    """What runs on the worker ends, and it cannot come back without a new invitation."""
    await services.server.joined_workers.remove(worker_id)
    return Response(status_code=204)


# --- for joined workers


@routes.post("/workers/join", status_code=201, response_model=JoinResponse, responses=error_responses(body=True))
async def join(body: JoinRequest, services: ServicesDep) -> Response:
    offer = WorkerOffer(body.host, tuple(body.labels), body.level, body.processor, body.version)
    worker, secret = await services.server.joined_workers.join(body.token, offer)
    return json_response(201, {"id": worker.id, "secret": secret})


async def joined_worker(request: Request) -> JoinedWorker:
    worker: JoinedWorker = request.scope[WORKER]
    return worker


Worker = Annotated[JoinedWorker, Depends(joined_worker)]


@routes.post("/worker-runs/next", include_in_schema=False)
async def next_run(body: NextRunRequest, worker: Worker, services: ServicesDep) -> Response:
    """Waits a while for a command."""
    run = await services.server.joined_workers.runs.next_run(worker, body.cache_bytes, body.runs)
    if run is None:
        return json_response(200, {"run": None})
    command = run.command
    described = {
        "id": run.id,
        "command": command.command,
        "root": command.root,
        "seconds": command.seconds,
        "output": command.output,
        "leave_out": [*run.travel.leave_out],
        "setup": {"key": run.setup_key, "command": run.travel.setup} if run.setup_key else None,
    }
    return json_response(200, {"run": described})


@routes.get("/worker-runs/{run_id}/manifest", include_in_schema=False)
async def manifest(
    run_id: str, worker: Worker, services: ServicesDep, base: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """What differs from the tree of the worker's earlier run `base`; all of it if the answer names no base."""
    base_run, changes = await services.server.joined_workers.runs.manifest(worker, run_id, base)
    return await asyncio.to_thread(
        lambda: _packed(
            msgspec.json.encode({"base": base_run, "changed": rows_of(changes.changed), "gone": changes.gone})
        )
    )


@routes.post("/worker-runs/{run_id}/contents", include_in_schema=False)
async def contents(run_id: str, body: ContentsRequest, worker: Worker, services: ServicesDep) -> Response:
    """Pieces of the first of these contents, each after its length in eight bytes."""
    runs = services.server.joined_workers.runs
    batch = await runs.contents(worker, run_id, body.hashes, body.offset, body.most_bytes)
    return await asyncio.to_thread(
        lambda: _packed(b"".join(len(content).to_bytes(8, "big") + content for content in batch))
    )


@routes.put("/worker-runs/{run_id}/contents/{content_hash}", include_in_schema=False)
async def put_content(
    run_id: str,
    content_hash: str,
    request: Request,
    worker: Worker,
    services: ServicesDep,
    offset: Annotated[int, Query(ge=0, le=2**40)] = 0,
) -> Response:
    runs = services.server.joined_workers.runs
    await runs.put_content(worker, run_id, content_hash, offset, body_of(request.scope))
    return Response(status_code=204)


@routes.post("/worker-runs/{run_id}/output", include_in_schema=False)
async def show_output(run_id: str, request: Request, worker: Worker, services: ServicesDep) -> Response:
    """What the command has printed since. It tells the server that the worker lives, and the worker whether the run still goes on."""
    services.server.joined_workers.runs.show_output(worker, run_id, body_of(request.scope))
    return Response(status_code=204)


@routes.post("/worker-runs/{run_id}/result", include_in_schema=False)
async def finish(run_id: str, body: ResultRequest, worker: Worker, services: ServicesDep) -> Response:
    runs = services.server.joined_workers.runs
    if body.error is not None:
        runs.fail(worker, run_id, body.error, machine_fault=body.machine_fault)
        return Response(status_code=204)
    output = _decoded(body.output)
    result = RemoteResult(body.how, body.exit_code, output, body.seconds)
    runs.finish(worker, run_id, result, body.changes or [])
    return Response(status_code=204)


def _decoded(text: str) -> bytes:
    """Raises: Invalid."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise Invalid("The output is base64.", param="output") from None


def _packed(data: bytes) -> Response:
    return Response(gzip.compress(data, 1), media_type="application/octet-stream", headers={"content-encoding": "gzip"})
