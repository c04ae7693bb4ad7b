"""Roles: listed for the switcher, and switched by a person. No answer names a tool."""

from typing import Annotated

import msgspec
from fastapi import Response
from pydantic import BeforeValidator, Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.chats import SwitchedShape
from anycowork.api.schemas.roles import RoleList
from anycowork.chats.services import Services
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import UnknownRole
from anycowork.domain.messages import Json
from anycowork.domain.principals import Principal
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.permissions.roles import RoleRegistry

routes = Router(tags=["roles"])

ROLE_MARK = "x-anycowork-role"


def _as_word(given: object) -> object:
    """Whatever stands in a role's place is looked up as one, so that the refusal names the valid roles. Null may mean none."""
    return given if given is None or isinstance(given, str) else msgspec.json.encode(given).decode()


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


@routes.post("/context/{chat_id}/mode", response_model=SwitchedShape, responses=error_responses(404, body=True))
async def switch_mode(chat_id: str, wanted: ModeSwitch, principal: Decider, services: ServicesDep) -> Response:
    role = known_role(services.roles, wanted.mode, param="mode")
    return await _switch(services, principal, chat_id, role, confirm=wanted.confirm)


@routes.put("/context/{chat_id}/role", response_model=SwitchedShape, responses=error_responses(404, body=True))
async def switch_role(chat_id: str, wanted: RoleSwitch, principal: Decider, services: ServicesDep) -> Response:
    role = known_role(services.roles, wanted.role, param="role")
    return await _switch(services, principal, chat_id, role, confirm=wanted.confirm)


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
