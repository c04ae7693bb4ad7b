"""Structured logs: each line is one JSON object with the ids of what it is about, and holds no secret."""

import io
import json
import logging
import re
from pathlib import Path

import pytest

from anycowork.telemetry.server_log import LogSecrets, server_log, set_log_level
from support.live_server import TOKEN, live_server
from support.scripted_model import HttpError
from support.spec import proves


@proves("OPS-1/3")
async def test_lines_name_request_chat_and_turn_and_hold_no_token(tmp_path: Path) -> None:
    written = io.StringIO()
    with server_log("json", "info", LogSecrets(TOKEN), written):
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
    with server_log("json", "info", LogSecrets("the-key-of-it"), written):
        try:
            raise ValueError("the-key-of-it\nbroke")
        except ValueError:
            logging.getLogger("anycowork.test").exception("it failed")
        logging.getLogger("anycowork.test").debug("too little to say")
    [line] = written.getvalue().splitlines()
    assert "ValueError: ***\nbroke" in json.loads(line)["exception"]


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.parametrize(
    ("level", "ours", "of_libraries"),
    [
        ("debug", ["debug", "info", "warning", "error"], ["warning", "error"]),
        ("info", ["info", "warning", "error"], ["warning", "error"]),
        ("warning", ["warning", "error"], ["warning", "error"]),
        ("error", ["error"], ["error"]),
    ],
)
def test_the_level_holds_in_both_forms_and_libraries_never_say_less_than_warnings(
    log_format: str, level: str, ours: list[str], of_libraries: list[str]
) -> None:
    written = io.StringIO()
    with server_log(log_format, level, LogSecrets(), written):
        _log_each("anycowork.test")
        _log_each("httpx")
    assert re.findall(r"anycowork\.test: (\w+)", written.getvalue()) == ours
    assert re.findall(r"httpx: (\w+)", written.getvalue()) == of_libraries


def test_without_a_level_json_has_each_request_and_text_only_warnings() -> None:
    found = {}
    for log_format in ("json", "text"):
        written = io.StringIO()
        with server_log(log_format, "auto", LogSecrets(), written):
            _log_each("anycowork.test")
        found[log_format] = re.findall(r"anycowork\.test: (\w+)", written.getvalue())
    assert found == {"json": ["info", "warning", "error"], "text": ["warning", "error"]}


def test_the_level_ends_with_its_log() -> None:
    before = logging.getLogger("anycowork").level, logging.getLogger().level
    with server_log("text", "debug", LogSecrets(), io.StringIO()):
        set_log_level("text", "error")
    assert (logging.getLogger("anycowork").level, logging.getLogger().level) == before


async def test_a_person_changes_the_level_while_the_server_runs(tmp_path: Path) -> None:
    written = io.StringIO()
    with server_log("text", "auto", LogSecrets(), written):
        async with live_server(tmp_path) as client:
            for level in ("error", "debug", None):
                await client.ask("PUT", "/settings", {"log_level": level})
                written.write(f"{level}\n")
                _log_each("anycowork.test")
    found = written.getvalue().partition("error\n")[2]
    at_error, _, rest = found.partition("debug\n")
    at_debug, _, usual = rest.partition("None\n")
    assert [len(re.findall("test:", part)) for part in (at_error, at_debug, usual)] == [1, 4, 2]


def _log_each(name: str) -> None:
    for level in ("debug", "info", "warning", "error"):
        getattr(logging.getLogger(name), level)("%s: %s", name, level)
