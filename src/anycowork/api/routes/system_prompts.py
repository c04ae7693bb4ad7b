"""System prompts: written, changed and removed by a person, and shown as a role gets them. The passthrough never comes here."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.agent.model_caller import ANSWER_SHARE
from anycowork.api.middleware.auth import Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.routes.roles import RoleWord, known_role
from anycowork.api.schemas.roles import EnhancedResponse, SystemPromptList, SystemPromptResponse
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.provider_errors import NoSuchModel
from anycowork.domain.roles import Role, RoleDefinition
from anycowork.prompts.agent_list import LEADS_FROM, agents_to_ask
from anycowork.prompts.prompt_service import PromptScope
from anycowork.prompts.tool_selection import LOOKED_AT, opening_request
from anycowork.server.services import Services
from anycowork.turns.lookup import require_chat

routes = Router(prefix="/v1/system-prompts", tags=["system prompts"])

CONTENT_LIMIT = 50_000
_NOT_BLANK = r"\S"


class PromptText(Boundary):
    name: Annotated[str, Field(min_length=1, max_length=200, pattern=_NOT_BLANK, examples=["ServicesDep style"])]
    content: Annotated[
        str,
        Field(
            min_length=1,
            max_length=CONTENT_LIMIT,
            pattern=_NOT_BLANK,
            examples=["You write for a museum: short, plain, exact."],
        ),
    ]


@routes.get("", response_model=SystemPromptList, responses=error_responses())
async def list_system_prompts(principal: Reader, services: ServicesDep) -> Response:
    """The built-in `default` first, then the oldest."""
    return json_response(200, {"system_prompts": [prompt.to_json() for prompt in await services.prompts.all()]})


@routes.post("", status_code=201, response_model=SystemPromptResponse, responses=error_responses(body=True))
async def add_system_prompt(body: PromptText, principal: Manager, services: ServicesDep) -> Response:
    prompt = await services.prompts.add(name=body.name, content=body.content)
    return json_response(201, prompt.to_json())


@routes.get("/{prompt_id}", response_model=SystemPromptResponse, responses=error_responses(404, 422))
async def show_system_prompt(prompt_id: str, principal: Reader, services: ServicesDep) -> Response:
    return json_response(200, (await services.prompts.require(prompt_id)).to_json())


@routes.put("/{prompt_id}", response_model=SystemPromptResponse, responses=error_responses(404, body=True))
async def change_system_prompt(prompt_id: str, body: PromptText, principal: Manager, services: ServicesDep) -> Response:
    """Chats that use it get the new version with their next turn. The built-in one is not changed: 409."""
    prompt = await services.prompts.change(prompt_id, name=body.name, content=body.content)
    return json_response(200, prompt.to_json())


@routes.delete("/{prompt_id}", status_code=204, response_class=Response, responses=error_responses(404, 409, 422, 507))
async def remove_system_prompt(prompt_id: str, principal: Manager, services: ServicesDep) -> Response:
    """Chats that use it go on with `default`. The built-in one stays: 409."""
    await services.prompts.remove(prompt_id)
    return Response(status_code=204)


@routes.get("/{prompt_id}/enhanced", response_model=EnhancedResponse, responses=error_responses(404, 422))
async def enhance_system_prompt(
    prompt_id: str,
    principal: Reader,
    services: ServicesDep,
    role: Annotated[
        Annotated[RoleWord, Field(min_length=1)] | None, Query(description="Actor, unless this or a chat says another.")
    ] = None,
    context_id: Annotated[
        str | None,
        Query(
            max_length=200,
            description="Take the role of this chat, its folder's instructions, and what it was opened with.",
        ),
    ] = None,
) -> Response:
    """With everything that a model is told in this role: base, role, tools by category, how to call them, diagrams, other agents; for a
    chat also the instructions that its folder brings, if a person trusted them."""
    prompt = await services.prompts.require(prompt_id)
    role_definition = await _asked_role(services, role, context_id)
    setting = await _setting(services, context_id)
    enhanced = await services.prompts.enhanced(prompt, role_definition, setting)
    works_alone = setting is not None and setting.works_alone
    others = "" if works_alone else agents_to_ask(services.agents.askable(role_definition.name))
    description = {
        "id": prompt.id,
        "content": "\n\n".join(part for part in (enhanced.content, others) if part),
        "enhanced": True,
        "left_out": list(enhanced.left_out),
    }
    return json_response(200, description)


async def _setting(services: Services, context_id: str | None) -> PromptScope | None:
    if context_id is None:
        return None
    chat = await require_chat(services.store, context_id)
    try:
        context_tokens = services.models.providers.context_tokens(chat.config.model_id)
    except NoSuchModel:  # it is gone; the folder's file is there all the same
        context_tokens = services.models.providers.context_tokens(None)
    opening = opening_request(await services.store.messages.first(chat.id, LOOKED_AT))
    budget = int(context_tokens * (1 - ANSWER_SHARE))
    return PromptScope(chat.workspace, budget, opening, chat.id, works_alone=budget < LEADS_FROM)


async def _asked_role(services: Services, role: str | None, context_id: str | None) -> RoleDefinition:
    if role is not None and context_id is not None:
        raise Invalid("A chat has its own role: name a role or a context_id, not both.", param="context_id")
    if context_id is not None:
        return services.roles.stored((await require_chat(services.store, context_id)).role)
    return services.roles.require(known_role(services.roles, role or Role.ACTOR, param="role"))
