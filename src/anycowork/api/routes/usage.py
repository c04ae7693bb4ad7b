"""What chats, jobs and roles have used of their models, and what that cost where the price is known."""

from dataclasses import asdict
from datetime import date
from typing import Annotated

from fastapi import Query, Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.usage import ChatUsageResponse, UsageReportResponse
from anycowork.chats.usage_report import usage_report
from anycowork.domain.chats import Chat
from anycowork.domain.model import ContextSize
from anycowork.domain.provider_errors import NoSuchModel
from anycowork.domain.usage import UsageGroup
from anycowork.server.services import Services
from anycowork.turns.lookup import require_chat

routes = Router(tags=["usage"])
_FIRST_DAY, _LAST_DAY = date(1970, 1, 1), date(9999, 12, 31)


@routes.get("/usage", response_model=UsageReportResponse, responses=error_responses(422))
async def usage(
    principal: Reader,
    services: ServicesDep,
    by: Annotated[UsageGroup, Query(description="What it is summed up by.")] = UsageGroup.MODEL,
    since: Annotated[date, Query(description="The first day (UTC) on which a turn began.")] = _FIRST_DAY,
    until: Annotated[date, Query(description="The last day.")] = _LAST_DAY,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """What all chats and jobs used of their models, and what that cost. Requests to `/v1` are counted with the client keys."""
    rows = await services.store.grouped_usage(by, since.isoformat(), until.isoformat())
    report = usage_report(by, rows, limit=limit, cost_of=services.server.settings.cost)
    return json_response(200, {"since": since.isoformat(), "until": until.isoformat(), **report})


@routes.get("/context/{chat_id}/usage", response_model=ChatUsageResponse, responses=error_responses(404, 422))
async def chat_usage(chat_id: str, principal: Reader, services: ServicesDep) -> Response:
    chat = await require_chat(services.store, chat_id)
    usage = await services.store.chat_usage(chat_id)
    models = [{**asdict(used), "cost": services.server.settings.cost(used)} for used in usage.models]
    size = _context_size(services, chat)
    context = {"context_tokens": size.tokens if size else None, "context_known": size is not None and size.known}
    return json_response(200, {"models": models, "window": usage.window, **context})


def _context_size(services: Services, chat: Chat) -> ContextSize | None:
    try:
        return services.models.providers.context_size(chat.config.model_id)
    except NoSuchModel:
        return None
