"""What a chat has used of its models, and what that cost where the price is known."""

from dataclasses import asdict

from fastapi import Response
from pydantic import Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Reader
from anycowork.api.rooms import House, Rooms
from anycowork.api.routes import Routes
from anycowork.api.shapes.base import Described
from anycowork.chats.finding import find_chat
from anycowork.domain.chats import Chat
from anycowork.domain.errors import NoSuchModel

routes = Routes(tags=["usage"])


class ModelUsageShape(Described):
    model: str
    requests: int
    reserved: int = Field(description="Set aside for requests that never told what they used; it counts as spent.")
    prompt: int
    completion: int
    cached: int
    reasoning: int
    estimated: bool = Field(description="Some of it was counted here, because the provider did not say.")
    cost: float | None = Field(description="US dollars by the prices in config.toml; null where there is none.")


class ChatUsageShape(Described):
    models: list[ModelUsageShape]
    window: int = Field(description="Tokens that the newest request filled.")
    context_tokens: int | None = Field(description="How many the chat's model can be shown; null if it is gone.")


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
