"""Client keys: for programs that use the passthrough. A key is shown once, when it is made; only its hash is kept."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Manager, key_hash, new_client_key
from anycowork.api.rooms import House
from anycowork.api.shapes import KeyList, NewKey
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import NotFound
from anycowork.domain.messages import Json
from anycowork.domain.principals import Principal, PrincipalKind

routes = APIRouter(tags=["keys"])


class KeyWish(Boundary):
    name: Annotated[str, Field(min_length=1, max_length=100, examples=["editor"])]


@routes.get("/keys", response_model=KeyList, responses=faults())
async def list_keys(principal: Manager, rooms: House) -> Response:
    holders = [holder for holder in await rooms.keys.all() if holder.revoked_at is None]
    return answer(200, {"keys": [_shown(holder.principal, holder.created_at) for holder in holders]})


@routes.post("/keys", status_code=201, response_model=NewKey, responses=faults(body=True))
async def make_key(wanted: KeyWish, principal: Manager, rooms: House) -> Response:
    word = new_client_key()
    holder = Principal(id=rooms.clock.new_id(), kind=PrincipalKind.CLIENT_KEY, name=wanted.name)
    await rooms.keys.add(holder, key_hash=key_hash(word))
    return answer(201, {**_shown(holder, rooms.clock.now()), "key": word})


@routes.delete("/keys/{key_id}", status_code=204, response_class=Response, responses=faults(404, 422, 507))
async def revoke_key(key_id: str, principal: Manager, rooms: House) -> Response:
    if not await rooms.keys.revoke(key_id):
        raise NotFound("key", key_id)
    return Response(status_code=204)


def _shown(holder: Principal, created_at: str) -> Json:
    return {"id": holder.id, "name": holder.name, "created_at": created_at}
