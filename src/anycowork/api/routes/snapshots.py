"""Routes for snapshots: list them, show differences, restore. Only a person may restore."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.errors import error_response
from anycowork.api.middleware.auth import Decider, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.snapshots import DifferenceResponse, RestoredResponse, SnapshotList
from anycowork.chats.files.rollback import MOST_LISTED, RollbackRequest
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import RestoreConflict

routes = Router(tags=["snapshots"])

MOST_PATHS = 100_000  # as many as one change may have
Path = Annotated[str, Field(min_length=1, max_length=4096)]


class RestoreRequest(Boundary):
    """`paths` narrows it to these and what lies below them; `overwrite` names paths where someone else's change may be lost;
    `only` undoes this one change and keeps later work."""

    dry_run: bool = False
    paths: Annotated[list[Path], Field(min_length=1, max_length=MOST_PATHS, fail_fast=True)] | None = None
    overwrite: Annotated[list[Path], Field(max_length=MOST_PATHS, fail_fast=True)] = Field(default_factory=list)
    only: bool = False


@routes.get("/context/{chat_id}/snapshots", response_model=SnapshotList, responses=error_responses(404, 422))
async def list_snapshots(
    chat_id: str,
    principal: Reader,
    services: ServicesDep,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[int | None, Query(ge=0, le=2**53, description="The `next` of the page before.")] = None,
) -> Response:
    """The newest `limit`, ascending; `next` leads to older ones."""
    snapshots, older = await services.rollback.page(chat_id, before=before, limit=limit)
    body = {"snapshots": [snapshot.to_json() for snapshot in snapshots], "next": None if older is None else str(older)}
    return json_response(200, body)


@routes.get(
    "/context/{chat_id}/snapshots/{snapshot_id}/diff",
    response_model=DifferenceResponse,
    responses=error_responses(404, 410, 422),
)
async def show_difference(
    chat_id: str,
    snapshot_id: str,
    principal: Reader,
    services: ServicesDep,
    path: Annotated[str | None, Query(max_length=4096, description="Only this path and what lies below it.")] = None,
    after: Annotated[str | None, Query(max_length=4096, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = MOST_LISTED,
) -> Response:
    """What the snapshot's call (or restore) changed, from before to after. Of many files, a page, with the difference of its first files."""
    difference = await services.rollback.difference(chat_id, snapshot_id, path=path, after=after, limit=limit)
    return json_response(200, difference.to_json())


@routes.post(
    "/context/{chat_id}/snapshots/{snapshot_id}/restore",
    response_model=RestoredResponse,
    responses=error_responses(404, 410, body=True),
)
async def restore(
    chat_id: str, snapshot_id: str, principal: Decider, services: ServicesDep, body: RestoreRequest | None = None
) -> Response:
    """Takes the files back to that moment. What someone else changed meanwhile is a conflict: 409 with the list, and nothing changed."""
    options = body or RestoreRequest()
    rollback_request = RollbackRequest(
        dry_run=options.dry_run,
        only=options.only,
        paths=None if options.paths is None else tuple(options.paths),
        overwrite=tuple(options.overwrite),
    )
    try:
        restored = await services.rollback.restore(principal, chat_id, snapshot_id, rollback_request)
    except RestoreConflict as conflict:
        listed = {"conflicts": sorted(conflict.conflicts), "reasons": conflict.conflicts}
        return json_response(conflict.status, {**error_response(conflict).to_json(), **listed})
    return json_response(200, restored.to_json())
