"""Real clients against the real server, run as people run it; behind it a provider whose answers are known."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from support.cli_process import SOURCE, TIMEOUT
from support.fork_server import start_fork_server
from support.live_server import TOKEN
from support.openai_wire import NativeCall
from support.scripted_model import Answer, Body, BreakOff, HttpError, Reply, ScriptedModel, serve_in_thread
from support.server import ChildServer, child_server

WEATHER = NativeCall("weather", {"city": "Ulm", "days": 3})
SHELL = NativeCall("bash", {"command": "echo made > made.txt", "description": "Makes a file"})  # a tool of opencode
ANSWER = "Good day to you, 世界 👋.\nThis is the second line."


@dataclass(frozen=True)
class Place:
    """`through` and `direct` are base URLs of the same provider: through the gateway, and without it."""

    through: str
    direct: str
    model: ScriptedModel
    server: ChildServer

    def key(self, **limits: object) -> str:
        return str(self._ask("POST", "/keys", {"name": "a real client", "limits": limits})["key"])

    def keys(self) -> list[dict]:
        return self._ask("GET", "/keys")["keys"]

    def _ask(self, method: str, path: str, body: object = None) -> dict:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.server.url + path, data, headers, method=method), timeout=TIMEOUT) as answer:
            return json.load(answer)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if sys.platform != "linux":
        pytest.skip("the child servers look into /proc")
    home: Path = tmp_path_factory.mktemp("interop")
    with (
        serve_in_thread(mind=mind, models=("scripted", "other")) as model,
        start_fork_server(source=SOURCE) as fork_server,
        child_server(fork_server, home, model_url=model.base_url) as server,
    ):
        yield Place(f"{server.url}/v1", model.base_url, model, server)


def mind(body: Body) -> Answer:
    """Answers by what it is asked, so that every client can ask twice: directly, and through the gateway."""
    match body.get("model"):
        case "refuses":
            said = {"message": "No such thing.", "type": "invalid_request_error", "param": "x", "code": "bad_x"}
            return HttpError(400, {"error": said})
        case "unknown":
            return HttpError(404, {"error": {"message": "no such model", "code": "model_not_found"}})
        case "busy":
            return HttpError(429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, retry_after=7)
        case "fails":
            return HttpError(500, "<html>Bad gateway</html>")
        case "breaks":
            return BreakOff("Good d")
        case "json":
            return Reply('{"city": "Ulm"}')
        case "edits":  # in the form that aider reads
            return Reply("greeting.txt\n```\nGood day.\n```\n")
    asked = body.get("messages") or body.get("input") or []
    last = asked[-1] if isinstance(asked, list) and asked else {}
    answered = isinstance(last, dict) and (last.get("role") == "tool" or last.get("type") == "function_call_output")
    if body.get("tools") and not answered:
        wanted = SHELL if body.get("model") == "agent" else WEATHER
        return Reply("Let me look.", calls=(wanted,), finish="tool_calls")
    if answered:
        return Reply(f"It says: {last.get('content') or last.get('output')}")
    return Reply(ANSWER)
