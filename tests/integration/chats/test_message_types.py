"""Every message has one of the ten types, and `text` where nothing else is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from anycowork.domain.messages import Message, MessageType
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

Json = dict[str, Any]
PLAN = {"goal": "greet", "steps": [{"action": "write a greeting"}]}
QUESTION = {"type": "question", "question": "Which?", "options": [{"label": "A", "value": "a"}]}
REVIEW = {"type": "review", "summary": "Good.", "findings": []}
TYPES = {
    "text", "plan", "question", "tool_call", "tool_result", "task_assignment", "task_execution", "task_result", "role_change", "review",
}  # fmt: skip


@proves("MSG-1/1")
async def test_what_happens_in_a_chat_is_told_by_the_type_of_its_message(tmp_path: Path) -> None:
    replies = [json.dumps(PLAN), json.dumps(REVIEW), call("read_file", path="a.txt"), json.dumps(QUESTION)]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}) as client:
        chat = await client.chat(role="planner")
        await chat.send("plan it")
        await chat.switch("reviewer")
        await chat.send("review it")
        await chat.switch("actor")
        await chat.send("ask me")
        assert [message["message_type"] for message in await chat.messages()] == [
            *("text", "plan", "role_change"),
            *("text", "review", "role_change"),
            *("text", "tool_call", "tool_result", "question"),
        ]


@proves("MSG-1/1", "MSG-1/2")
@pytest.mark.parametrize("kind", sorted(TYPES))
def test_each_of_the_ten_types_is_kept_when_a_stored_message_is_read(kind: str) -> None:
    assert {each.value for each in MessageType} == TYPES
    assert Message.from_stored("c", {"message_type": kind}).to_json()["message_type"] == kind


@proves("MSG-1/3")
@pytest.mark.parametrize(
    "stored", [{}, {"message_type": None}, {"message_type": "normal"}, {"message_type": "hologram"}]
)
def test_stored_message_without_a_known_type_is_text(stored: Json) -> None:
    assert Message.from_stored("c", {"content": "hi", **stored}).to_json()["message_type"] == "text"


@proves("MSG-1/3")
async def test_what_people_and_models_say_is_text_unless_it_is_something_else(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello.", '{"goal": "no plan without steps"}']) as client:
        chat = await client.chat()
        await chat.send("hello")
        await chat.send("again")
        assert [message["message_type"] for message in await chat.messages()] == ["text"] * 4
