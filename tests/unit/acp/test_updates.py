"""How a command's output reaches an editor that shows terminals: as text of ours, never as a program that the editor runs."""

from typing import Any  # updates that tests look into freely

import pytest

from anycowork.acp.updates import UpdateBuilder, usage_update
from support.spec import proves

CALL = {"id": "c1", "tool": "execute_command", "parameters": {"command": "make"}}
RESULT = {
    "role": "tool",
    "message_type": "tool_result",
    "content": "made\nexit code 3",
    "payload": {"tool_call_id": "c1", "tool": "execute_command", "status": "error", "facts": {"exit_code": 3}},
}


def sent(builder: UpdateBuilder, *events: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        update.model_dump(by_alias=True, exclude_none=True) for event in events for update in builder.from_event(event)
    ]


@proves("ACP-1/7")
def test_a_command_is_shown_as_a_terminal_with_what_it_printed_and_how_it_ended() -> None:
    builder = UpdateBuilder("/w", "actor", terminals=True)
    printed = {"type": "text-delta", "call_id": "c1", "text": "ma\x1b]52;c;aGk=\x07\nde", "offset": 0}
    start, output, end = sent(
        builder, {"type": "tool-call", "tool_call": CALL}, printed, {"type": "message", "message": RESULT}
    )
    assert start["content"] == [{"type": "terminal", "terminalId": "c1"}]
    assert start["_meta"] == {"terminal_info": {"terminal_id": "c1", "cwd": "/w"}}
    data = output["_meta"]["terminal_output"]["data"]
    assert "\x1b" not in data and "\x07" not in data and data.endswith("\r\nde")
    assert end["_meta"]["terminal_exit"]["exit_code"] == 3 and end["status"] == "failed"
    assert end["content"] == [{"type": "terminal", "terminalId": "c1"}]


@proves("ACP-1/7")
def test_a_loaded_command_fills_its_terminal_and_other_calls_have_none() -> None:
    builder = UpdateBuilder("/w", "actor", terminals=True)
    stored = {"role": "assistant", "message_type": "tool_call", "payload": CALL}
    updates = [*builder.from_message(stored), *builder.from_message(RESULT)]
    start, output, end = [update.model_dump(by_alias=True, exclude_none=True) for update in updates]
    assert "terminal_info" in start["_meta"] and "terminal_exit" in end["_meta"]
    assert output["_meta"]["terminal_output"]["data"] == "made\r\nexit code 3"
    (read,) = sent(builder, {"type": "tool-call", "tool_call": {**CALL, "id": "c2", "tool": "read_file"}})
    assert "_meta" not in read and "content" not in read


def test_without_the_extension_output_is_text() -> None:
    builder = UpdateBuilder("/w", "actor")
    start, end = sent(builder, {"type": "tool-call", "tool_call": CALL}, {"type": "message", "message": RESULT})
    assert "_meta" not in start and end["content"][0]["type"] == "content" and "_meta" not in end


def test_the_editor_is_told_how_full_the_context_is_and_what_the_chat_cost() -> None:
    used = {"models": [{"cost": 0.25}, {"cost": 1}], "window": 1200, "context_tokens": 8000, "context_known": True}
    told = usage_update(used)
    assert told is not None and told.model_dump(by_alias=True, exclude_none=True) == {
        "sessionUpdate": "usage_update",
        "used": 1200,
        "size": 8000,
        "cost": {"amount": 1.25, "currency": "USD"},
    }
    unpriced = usage_update({**used, "models": [{"cost": 0.25}, {"cost": None}]})
    assert unpriced is not None and unpriced.cost is None, "a part of the cost is not the cost"
    assert usage_update({**used, "context_known": False}) is None, "an assumed size is not told as a known one"


@proves("ACP-1/7")
@pytest.mark.parametrize("terminals", [True, False])
def test_an_editor_is_told_which_values_the_agent_was_not_shown(terminals: bool) -> None:
    builder = UpdateBuilder("/w", "actor", terminals=terminals)
    hidden = {**RESULT, "payload": {**RESULT["payload"], "hidden_values": ["GitHub token", "password"]}}
    *_, end = sent(builder, {"type": "tool-call", "tool_call": CALL}, {"type": "message", "message": hidden})
    told = {"type": "content", "content": {"type": "text", "text": "The agent is not shown: GitHub token, password."}}
    assert end["content"][-1] == told
    builder = UpdateBuilder("/w", "actor", terminals=terminals)
    *_, end = sent(builder, {"type": "tool-call", "tool_call": CALL}, {"type": "message", "message": RESULT})
    assert "not shown" not in str(end["content"])
