"""Snapshots: listed, shown as a difference, and gone back to. Only a person goes back."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Decider, Reader
from anycowork.api.errors import answer_to
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.snapshots import DifferenceShape, RestoredShape, SnapshotList
from anycowork.chats.rollback import RollbackWish
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import RestoreConflict

routes = Routes(tags=["snapshots"])

Path = Annotated[str, Field(min_length=1, max_length=4096)]


class RestoreWish(Boundary):
    """`paths` narrows it to these and what lies below them; `overwrite` names paths where someone else's change may be lost;
    `only` undoes this one change and keeps later work."""

    dry_run: bool = False
    paths: Annotated[list[Path], Field(min_length=1, max_length=1000)] | None = None
    overwrite: Annotated[list[Path], Field(max_length=1000)] = Field(default_factory=list)
    only: bool = False


@routes.get("/context/{chat_id}/snapshots", response_model=SnapshotList, responses=faults(404, 422))
async def list_snapshots(
    chat_id: str,
    principal: Reader,
    rooms: House,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[int | None, Query(ge=0, le=2**53, description="The `next` of the page before.")] = None,
) -> Response:
    """The newest `limit`, ascending; `next` leads to older ones."""
    found, older = await rooms.rollback.page(chat_id, before=before, limit=limit)
    body = {"snapshots": [each.to_json() for each in found], "next": None if older is None else str(older)}
    return answer(200, body)


@routes.get(
    "/context/{chat_id}/snapshots/{snapshot_id}/diff",
    response_model=DifferenceShape,
    responses=faults(404, 410, 422),
)
async def show_difference(chat_id: str, snapshot_id: str, principal: Reader, rooms: House) -> Response:
    """What the snapshot's call (or restore) changed, from before to after."""
    text, files = await rooms.rollback.difference(chat_id, snapshot_id)
    return answer(200, {"diff": text, "files": [file.to_json() for file in files]})


@routes.post(
    "/context/{chat_id}/snapshots/{snapshot_id}/restore",
    response_model=RestoredShape,
    responses=faults(404, 410, body=True),
)
async def restore(
    chat_id: str, snapshot_id: str, principal: Decider, rooms: House, wanted: RestoreWish | None = None
) -> Response:
    """Takes the files back to that moment. What someone else changed meanwhile is a conflict: 409 with the list, and nothing changed."""
    given = wanted or RestoreWish()
    wish = RollbackWish(
        dry_run=given.dry_run,
        only=given.only,
        paths=None if given.paths is None else tuple(given.paths),
        overwrite=tuple(given.overwrite),
    )
    try:
        found = await rooms.rollback.restore(principal, chat_id, snapshot_id, wish)
    except RestoreConflict as conflict:
        listed = {"conflicts": sorted(conflict.conflicts), "reasons": conflict.conflicts}
        return answer(conflict.status, {**answer_to(conflict).to_json(), **listed})
    return answer(200, found.to_json())
