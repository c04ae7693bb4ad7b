"""What a chat has used of its models, and what that cost where the price is known."""

from dataclasses import asdict

from fastapi import Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.usage import ChatUsageShape
from anycowork.chats.lookup import require_chat
from anycowork.chats.services import Services
from anycowork.domain.chats import Chat
from anycowork.domain.model import ContextSize
from anycowork.domain.provider_errors import NoSuchModel

routes = Router(tags=["usage"])


@routes.get("/context/{chat_id}/usage", response_model=ChatUsageShape, responses=error_responses(404, 422))
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
