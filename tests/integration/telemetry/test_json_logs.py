"""Structured logs: each line is one JSON object with the ids of what it is about, and holds no secret."""

import io
import json
import logging
from pathlib import Path

from anycowork.telemetry.json_logs import json_logs
from support.live_server import TOKEN, live_server
from support.scripted_model import HttpError
from support.spec import proves


@proves("OPS-1/3")
async def test_lines_name_request_chat_and_turn_and_hold_no_token(tmp_path: Path) -> None:
    written = io.StringIO()
    with json_logs("info", [TOKEN], written):
        async with live_server(tmp_path, replies=[HttpError(401, {"error": {"message": "no"}})]) as client:
            chat = await client.chat()
            await chat.send("hi")
            await client.ask("GET", f"/context/{chat.id}?token={TOKEN}")
            logging.getLogger("anycowork.test").warning("two\nlines with %s", TOKEN)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert TOKEN not in written.getvalue()
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    [ended] = [line for line in lines if line["message"].startswith("turn ") and " ended: " in line["message"]]
    assert ended["chat_id"] == chat.id and len(ended["turn_id"]) == 36 and ended["level"] == "warning"
    asked = [line for line in lines if line["message"] == "GET /context/{chat_id} 200"]
    assert asked and len({line["request_id"] for line in asked}) == len(asked)
    assert [line["message"] for line in lines if line["logger"] == "anycowork.test"] == ["two\nlines with ***"]


@proves("OPS-1/3")
def test_an_exception_stays_in_its_line() -> None:
    written = io.StringIO()
    with json_logs("info", ["sk-key"], written):
        try:
            raise ValueError("sk-key\nbroke")
        except ValueError:
            logging.getLogger("anycowork.test").exception("it failed")
        logging.getLogger("anycowork.test").debug("too little to say")
    [line] = written.getvalue().splitlines()
    assert "ValueError: ***\nbroke" in json.loads(line)["exception"]
