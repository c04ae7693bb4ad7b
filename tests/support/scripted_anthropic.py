"""A server that speaks Anthropic's Messages API and says what a test wrote down, for the real SDK to talk to."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from aiohttp import web

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One whole answer. `calls` are native calls: (name, input)."""

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, Body], ...] = ()
    stop: str = "end_turn"
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Refused:
    status: int
    kind: str
    message: str
    retry_after: str | int | None = None


@dataclass(frozen=True, slots=True)
class FailsMidway:
    """Begins to answer, then sends an error event, or garbage, or nothing more."""

    how: str  # "error" | "garbage" | "cut"


class ScriptedAnthropic:
    """`mind` answers when no reply is left."""

    def __init__(
        self,
        replies: Iterable[Spoken | Refused | FailsMidway] = (),
        *,
        mind: Callable[[Body], Spoken] | None = None,
        models: tuple[str, ...] = ("claude-test",),
    ) -> None:
        self.replies = list(replies)
        self.mind = mind
        self.models = models
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.base_url = ""

    async def __aenter__(self) -> "ScriptedAnthropic":
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/messages", self._answer)
        app.router.add_get("/v1/models", self._list)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _list(self, request: web.Request) -> web.Response:
        data = [
            {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
            for name in self.models
        ]
        return web.json_response({"data": data, "has_more": False, "first_id": None, "last_id": None})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.json())
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        answer = self.mind(self.requests[-1]) if self.mind is not None and not self.replies else self.replies.pop(0)
        if isinstance(answer, Refused):
            error = {"type": "error", "error": {"type": answer.kind, "message": answer.message}}
            headers = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
            return web.json_response(error, status=answer.status, headers=headers)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if isinstance(answer, FailsMidway):
            return await self._fail(answer, request, response)
        for event in _events(answer, len(self.requests)):
            await response.write(_line(event))
        await response.write_eof()
        return response

    async def _fail(
        self, answer: FailsMidway, request: web.Request, response: web.StreamResponse
    ) -> web.StreamResponse:
        for event in _events(Spoken("half"), len(self.requests))[:3]:
            await response.write(_line(event))
        if answer.how == "error":
            await response.write(
                _line({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
            )
        elif answer.how == "garbage":
            await response.write(b"event: content_block_delta\ndata: {half a\n\n")
        elif request.transport is not None:
            request.transport.abort()
        return response


def _events(answer: Spoken, request: int) -> list[Body]:
    """The ids differ from those of other requests: Claude Code takes what has the same id for the same message."""
    usage = {
        "input_tokens": 12,
        "output_tokens": 1,
        "cache_read_input_tokens": answer.cached,
        "cache_creation_input_tokens": 3,
    }
    head: Body = {
        "id": f"msg_{request}",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[Body] = [{"type": "message_start", "message": head}]
    blocks: list[tuple[Body, list[Body]]] = []
    if answer.thinking:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(answer.thinking)]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if answer.text:
        blocks.append(
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(answer.text)])
        )
    for number, (name, given) in enumerate(answer.calls):
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(json.dumps(given))]
        blocks.append(({"type": "tool_use", "id": f"toolu_{request}_{number}", "name": name, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": answer.stop, "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]


def _pieces(text: str) -> list[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]


def _line(event: Body) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
