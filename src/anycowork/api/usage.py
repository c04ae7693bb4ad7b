"""What a chat has used of its models, and what that cost where the price is known."""

from dataclasses import asdict

from fastapi import Response

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Reader
from anycowork.api.rooms import House, Rooms
from anycowork.api.routes import Routes
from anycowork.api.shapes.usage import ChatUsageShape
from anycowork.chats.finding import find_chat
from anycowork.domain.chats import Chat
from anycowork.domain.errors import NoSuchModel

routes = Routes(tags=["usage"])


@routes.get("/context/{chat_id}/usage", response_model=ChatUsageShape, responses=faults(404, 422))
async def chat_usage(chat_id: str, principal: Reader, rooms: House) -> Response:
    chat = await find_chat(rooms.store, chat_id)
    usage = await rooms.store.chat_usage(chat_id)
    models = [{**asdict(used), "cost": rooms.settings.cost(used)} for used in usage.models]
    return answer(200, {"models": models, "window": usage.window, "context_tokens": _room(rooms, chat)})


def _room(rooms: Rooms, chat: Chat) -> int | None:
    try:
        return rooms.providers.context_tokens(chat.config.model_id)
    except NoSuchModel:
        return None
