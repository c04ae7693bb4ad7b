"""Roles: listed for the switcher, switched by a person, and custom ones created, changed and deleted by a person. No answer names a tool."""

from typing import Annotated

import msgspec
from fastapi import Response
from pydantic import BeforeValidator, Field

from anycowork.api.errors import error_response
from anycowork.api.middleware.auth import Decider, Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.chats import SwitchedResponse
from anycowork.api.schemas.roles import RoleCheck, RoleList, RolePage
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import UnknownRole
from anycowork.domain.messages import Json
from anycowork.domain.principals import Principal
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.permissions.roles import BadRoleDraft, RoleDraft, RoleRegistry
from anycowork.prompts.text_files import role_text
from anycowork.server.services import Services

routes = Router(tags=["roles"])

ROLE_MARK = "x-anycowork-role"


def _as_word(value: object) -> object:
    """Whatever stands in a role's place is looked up as one, so that the refusal names the valid roles. Null may mean none."""
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


RoleWord = Annotated[str, BeforeValidator(_as_word), Field(json_schema_extra={ROLE_MARK: True})]
"""A role by name. Custom roles are known only when the server starts: `openapi.py` fills in the enum where this mark stands."""


class ModeSwitch(Boundary):
    mode: RoleWord
    confirm: bool = False


class RoleSwitch(Boundary):
    role: RoleWord
    confirm: bool = False


@routes.get("/roles", response_model=RoleList, responses=error_responses())
async def list_roles(principal: Reader, services: ServicesDep) -> Response:
    return json_response(200, {"roles": [_shown(role) for role in services.roles.all()]})


class NewRole(RoleDraft):
    name: Annotated[str, Field(max_length=200)]

    @property
    def draft(self) -> RoleDraft:
        return RoleDraft(**self.model_dump(exclude={"name"}))


@routes.post("/roles", status_code=201, response_model=RolePage, responses=error_responses(409, body=True))
async def create_role(body: NewRole, principal: Manager, services: ServicesDep) -> Response:
    """Saved as a file of the data folder. A fault comes with `faults`, one for each field."""
    try:
        return json_response(201, _page(await services.role_editor.create(principal, body.name, body.draft)))
    except BadRoleDraft as fault:
        return _faulty(fault)


@routes.post("/roles/validate", response_model=RoleCheck, responses=error_responses(body=True))
async def validate_role(body: NewRole, principal: Manager, services: ServicesDep) -> Response:
    """Says what is wrong with each field, and saves nothing."""
    try:
        services.role_editor.check(principal, body.name, body.draft)
    except BadRoleDraft as fault:
        return json_response(200, {"faults": _faults(fault)})
    return json_response(200, {"faults": []})


@routes.get("/roles/{name}", response_model=RolePage, responses=error_responses(404, 422))
async def show_role(name: str, principal: Reader, services: ServicesDep) -> Response:
    """With the prompt."""
    return json_response(200, _page(services.role_editor.find(name)))


@routes.put("/roles/{name}", response_model=RolePage, responses=error_responses(404, body=True))
async def change_role(name: str, body: RoleDraft, principal: Manager, services: ServicesDep) -> Response:
    """Applies to the next call of every chat in this role, and is recorded in each of them. Built-in roles cannot be changed."""
    try:
        return json_response(200, _page(await services.role_editor.change(principal, name, body)))
    except BadRoleDraft as fault:
        return _faulty(fault)


@routes.delete("/roles/{name}", status_code=204, response_class=Response, responses=error_responses(404, 422, 507))
async def delete_role(name: str, principal: Manager, services: ServicesDep) -> Response:
    """A chat in this role has no permissions until a person switches it."""
    await services.role_editor.delete(principal, name)
    return Response(status_code=204)


@routes.post("/context/{chat_id}/mode", response_model=SwitchedResponse, responses=error_responses(404, body=True))
async def switch_mode(chat_id: str, body: ModeSwitch, principal: Decider, services: ServicesDep) -> Response:
    role = known_role(services.roles, body.mode, param="mode")
    return await _switch(services, principal, chat_id, role, confirm=body.confirm)


@routes.put("/context/{chat_id}/role", response_model=SwitchedResponse, responses=error_responses(404, body=True))
async def switch_role(chat_id: str, body: RoleSwitch, principal: Decider, services: ServicesDep) -> Response:
    role = known_role(services.roles, body.role, param="role")
    return await _switch(services, principal, chat_id, role, confirm=body.confirm)


def known_role(book: RoleRegistry, word: str, *, param: str) -> str:
    """The role's own name. Raises: UnknownRole at this field, naming the valid ones."""
    try:
        return book.require(word).name
    except UnknownRole as error:
        raise UnknownRole(error.message, param=param) from None


async def _switch(services: Services, principal: Principal, chat_id: str, role: str, *, confirm: bool) -> Response:
    switched = await services.chats.switch_role(principal, chat_id, role, confirm=confirm)
    return json_response(200, {"id": switched.id, "old_role": switched.old_role, "new_role": switched.new_role})


def _shown(role: RoleDefinition) -> Json:
    return {
        "name": role.name,
        "colour": role.colour,
        "icon": role.icon,
        "tooltip": role.tooltip,
        "permissions": [permission.value for permission in Permission if permission in role.permissions],
        "delegates": list(role.delegates),
        "output": role.output.value,
        "built_in": role.built_in,
    }


def _page(role: RoleDefinition) -> Json:
    return {**_shown(role), "prompt": role_text(role)}


def _faults(fault: BadRoleDraft) -> list[Json]:
    return [{"param": field, "message": reason} for field, reason in fault.faults.items()]


def _faulty(fault: BadRoleDraft) -> Response:
    return json_response(fault.status, {**error_response(fault).to_json(), "faults": _faults(fault)})
