"""People of the server: their names, access and tokens. A token is shown once, when it is made; only its digest is kept."""

from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field

from anycowork.api.middleware.auth import Manager, maker_in
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.people import PeopleChangeList, PeopleList, PersonResponse, PersonWithToken
from anycowork.domain.boundary import Boundary
from anycowork.domain.messages import Json
from anycowork.domain.people import LONGEST_PERSON_NAME, AccessLevel, PeopleChange, Person
from anycowork.domain.principals import OWNER, NodeKind, person_name_in

routes = Router(tags=["people"])

PersonNameField = Annotated[str, Field(min_length=1, max_length=4 * LONGEST_PERSON_NAME, examples=["Ada"])]
AccessField = Annotated[AccessLevel, Field(strict=False)]
GroupsField = Annotated[list[Annotated[str, Field(max_length=120)]], Field(max_length=50, examples=[["design"]])]
_OWNER: Json = {
    "id": OWNER.id,
    "name": OWNER.name,
    "access": OWNER.access.value,
    "groups": [],
    "owner": True,
    "created_at": None,
}


class NewPerson(Boundary):
    name: PersonNameField
    access: AccessField = AccessLevel.MEMBER
    groups: GroupsField = Field(default_factory=list)


class PersonUpdate(Boundary):
    """What is not named stays."""

    name: PersonNameField | None = None
    access: AccessField | None = None
    groups: GroupsField | None = None


@routes.get("/people", response_model=PeopleList, responses=error_responses())
async def list_people(principal: Manager, services: ServicesDep) -> Response:
    """The owner first, then everyone else in the order in which they were added."""
    people = await services.people.all(principal)
    return json_response(200, {"people": [_OWNER, *(_shown(person) for person in people)]})


@routes.get("/people/changes", response_model=PeopleChangeList, responses=error_responses(422))
async def list_people_changes(
    principal: Manager,
    services: ServicesDep,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Response:
    """Who changed what about whom, newest first. `anycowork audit verify` finds a changed or removed entry."""
    changes = await services.people.changes(principal, before=before, limit=limit)
    following = changes[-1].seq if len(changes) == limit and changes[-1].seq > 1 else None
    return json_response(200, {"changes": [_shown_change(change) for change in changes], "next": following})


@routes.post("/people", status_code=201, response_model=PersonWithToken, responses=error_responses(body=True))
async def add_person(body: NewPerson, principal: Manager, request: Request, services: ServicesDep) -> Response:
    """Adds a person, and answers with the token that they sign in with."""
    person, token = await services.people.add(principal, body.name, body.access, body.groups)
    sessions = services.access.sessions
    await sessions.record_made(NodeKind.PERSON, person.id, maker_in(request.scope, sessions))
    return _with_token(201, person, token)


@routes.patch("/people/{person_id}", response_model=PersonResponse, responses=error_responses(404, body=True))
async def change_person(person_id: str, body: PersonUpdate, principal: Manager, services: ServicesDep) -> Response:
    """Changes the access or the name, at once. The person's event streams end, and open again with the new access."""
    person = await services.people.change(principal, person_id, name=body.name, access=body.access, groups=body.groups)
    return json_response(200, _shown(person))


@routes.post("/people/{person_id}/token", response_model=PersonWithToken, responses=error_responses(404, 409, 422, 507))
async def new_person_token(person_id: str, principal: Manager, request: Request, services: ServicesDep) -> Response:
    """Replaces the person's token. The old one and the browsers that signed in with it end at once."""
    person, token = await services.people.new_token(principal, person_id)
    sessions = services.access.sessions
    await sessions.record_made(NodeKind.TOKEN, person.id, maker_in(request.scope, sessions))
    return _with_token(200, person, token)


@routes.delete(
    "/people/{person_id}", status_code=204, response_class=Response, responses=error_responses(404, 409, 422, 507)
)
async def remove_person(person_id: str, principal: Manager, services: ServicesDep) -> Response:
    """Ends the person's token, browsers and event streams at once. Records keep their name."""
    await services.people.remove(principal, person_id)
    return Response(status_code=204)


def _with_token(status: int, person: Person, token: str) -> Response:
    response = json_response(status, {**_shown(person), "token": token})
    response.headers["cache-control"] = "no-store"
    return response


def _shown(person: Person) -> Json:
    return {
        "id": person.id,
        "name": person.name,
        "access": person.access.value,
        "groups": [*person.groups],
        "owner": False,
        "created_at": person.created_at,
    }


def _shown_change(change: PeopleChange) -> Json:
    before: Json | None = None
    if change.old_access is not None:
        before = {"name": change.old_name, "access": change.old_access.value, "groups": [*change.old_groups]}
    return {
        "seq": change.seq,
        "type": change.type.value,
        "at": change.at,
        "principal": change.principal,
        "by": person_name_in(change.principal),
        "person": {
            "id": change.person_id,
            "name": change.name,
            "access": change.access.value,
            "groups": [*change.groups],
        },
        "before": before,
    }
