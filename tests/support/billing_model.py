"""A provider that bills like the real ones, and always as dearly as it may: answers run to their bound, images cost what the dearest
model takes for them, and what it keeps is long. It answers little: the bill is what counts."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any  # bodies are whatever a client sent

from aiohttp import web

Body = dict[str, Any]
LONGEST_ANSWER, KEPT_CONTEXT, A_SEARCH, A_FILE = 128_000, 200_000, 50_000, 100_000
LOW_IMAGE, HIGH_IMAGE = 2_833, 48_169
INPUT, OUTPUT = 10.0, 30.0  # dollars for a million tokens
TOLD_ONLY_HERE = "text that only this provider says"


class Tells(StrEnum):
    """When a stream tells what it used; an answer in one piece always tells, unless never."""

    ASKED = "asked"
    NEVER = "never"


@dataclass
class BillingModel:
    """`heeds` are the names by which it lets a chat completion be bounded; `bytes_per_token` is how dear text is."""

    tells: Tells = Tells.ASKED
    heeds: tuple[str, ...] = ("max_tokens",)
    bytes_per_token: int = 4
    billed: float = 0.0
    bills: list[tuple[int, int]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    base_url: str = ""

    async def __aenter__(self) -> "BillingModel":
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_get("/v1/models", self._list)
        for path in ("chat/completions", "responses", "embeddings"):
            app.router.add_post(f"/v1/{path}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "dear", "object": "model"}]})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.headers.append(dict(request.headers))
        body = _dearest_reading(raw)
        prompt, completion = self._prompt(body, raw), self._completion(request.path, body)
        factor = 2.0 if body.get("service_tier") == "priority" else 1.0
        self.billed += factor * (prompt * INPUT + completion * OUTPUT) / 1_000_000
        self.bills.append((prompt, completion))
        if body.get("background"):
            return web.json_response({"id": "resp_1", "status": "queued", "usage": None})
        if body.get("stream"):
            return await self._stream(request, body, prompt, completion)
        told = _usage(request.path, prompt, completion) if self.tells is not Tells.NEVER else None
        choices = [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "length"}]
        return web.json_response({"id": "1", "choices": choices, "data": [], **({"usage": told} if told else {})})

    async def _stream(self, request: web.Request, body: Body, prompt: int, completion: int) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for chunk in self._chunks(request.path, body, prompt, completion):
            await response.write(f"data: {chunk}\n\n".encode())
        await response.write_eof()
        return response

    def _chunks(self, path: str, body: Body, prompt: int, completion: int) -> Iterator[str]:
        asked = bool((body.get("stream_options") or {}).get("include_usage")) or path.endswith("/responses")
        told = asked and self.tells is not Tells.NEVER
        if path.endswith("/responses"):
            usage = _usage(path, prompt, completion) if told else None
            yield json.dumps({"type": "response.output_text.delta", "delta": TOLD_ONLY_HERE})
            yield json.dumps({"type": "response.completed", "response": {"id": "r", "usage": usage}})
            return
        yield json.dumps({"choices": [{"index": 0, "delta": {"content": TOLD_ONLY_HERE}}], "usage": None})
        if told:
            yield json.dumps({"choices": [], "usage": _usage(path, prompt, completion)})
        yield "[DONE]"

    def _prompt(self, body: Body, raw: bytes) -> int:
        tokens = -(-len(raw) // self.bytes_per_token)
        tokens += KEPT_CONTEXT * sum(
            bool(body.get(name)) for name in ("previous_response_id", "conversation", "prompt")
        )
        tokens += A_SEARCH * sum(tool.get("type") not in ("function", "custom") for tool in body.get("tools") or [])
        tokens += A_SEARCH * sum(
            bool(body.get(name)) for name in ("web_search_options", "plugins", "search_parameters")
        )
        return tokens + sum(map(_part_tokens, _parts([body.get("messages"), body.get("input")])))

    def _completion(self, path: str, body: Body) -> int:
        if path.endswith("/embeddings"):
            return 0
        heeded = ("max_output_tokens",) if path.endswith("/responses") else self.heeds
        bounds = [int(body[name]) for name in heeded if isinstance(body.get(name), int) and body[name] > 0]
        thought = (
            (body.get("reasoning") or {}).get("max_tokens") or (body.get("thinking") or {}).get("budget_tokens") or 0
        )
        return (min(max(bounds, default=LONGEST_ANSWER), LONGEST_ANSWER) + thought) * int(body.get("n") or 1)


def _dearest_reading(raw: bytes) -> Body:
    """Keys in any case, and of two equal ones the larger value: some server reads it so."""

    def dearest(pairs: list[tuple[str, Any]]) -> Body:
        found: Body = {}
        for name, value in pairs:
            known = found.get(name.lower())
            both_numbers = isinstance(known, int) and isinstance(value, int)
            found[name.lower()] = max(known, value) if both_numbers else value or known
        return found

    read = json.loads(raw, object_pairs_hook=dearest)
    return read if isinstance(read, dict) else {}


def _parts(given: Any) -> Iterator[Body]:
    if isinstance(given, list):
        for each in given:
            yield from _parts(each)
    elif isinstance(given, dict):
        yield given
        yield from _parts([given.get("content"), given.get("output")])


def _part_tokens(part: Body) -> int:
    match part.get("type"):
        case "image_url" | "input_image":
            shown = part.get("image_url")
            detail = shown.get("detail") if isinstance(shown, dict) else part.get("detail")
            return LOW_IMAGE if detail == "low" else HIGH_IMAGE
        case "input_audio" | "input_file" | "file" | "video_url":
            return A_FILE
        case "item_reference":
            return KEPT_CONTEXT
        case _:
            return A_FILE if part.get("audio") else 0


def _usage(path: str, prompt: int, completion: int) -> Body:
    if path.endswith("/responses"):
        return {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
