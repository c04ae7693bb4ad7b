"""A turn in a long chat costs what the model is shown, not what the chat holds. Function calls are counted, not time."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

from anycowork.domain.chats import Chat
from anycowork.domain.journal import Change
from anycowork.domain.messages import Speaker
from anycowork.domain.model import Chunk, ModelRequest, ReplyFinished, TextChunk
from anycowork.domain.values import replace
from support.spec import proves
from workplace import Workplace, new_message, open_workplace

FULL, LONG = 400, 4_000  # the context of the model holds about 240 of these messages
MOST = 1.1


class AnsweringModel:
    name = "answering"

    def __init__(self) -> None:
        self.shown: list[int] = []

    async def answer(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.shown.append(len(request.messages))
        yield TextChunk("There is nothing to look up.")
        yield ReplyFinished("stop")


@proves("OPS-4/4")
async def test_a_turn_in_a_chat_ten_times_as_long_calls_as_many_functions(tmp_path: Path) -> None:
    model = AnsweringModel()
    async with open_workplace(tmp_path, model) as place:
        await place.turn(await place.open_chat())  # the first turn of a server loads what later ones use
        full, long = [await calls_of_a_turn(place, count) for count in (FULL, LONG)]
    assert model.shown[1] == model.shown[2] > 200
    assert 0 < long <= MOST * full


async def calls_of_a_turn(place: Workplace, count: int) -> int:
    chat = await place.open_chat()
    await fill(place, chat, count)
    calls, before = 0, sys.getprofile()

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        await place.turn(chat)
    finally:
        sys.setprofile(before)
    return calls


async def fill(place: Workplace, chat: Chat, count: int) -> None:
    messages = [
        replace(new_message(chat.id), role=Speaker.ASSISTANT if number % 2 else Speaker.USER, turn_id=f"t{number // 2}")
        for number in range(count)
    ]
    for start in range(0, count, 500):
        await place.database.journal.write(Change(chat.id, tuple(messages[start : start + 500])))
