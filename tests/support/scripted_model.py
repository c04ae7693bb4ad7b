"""A model whose answers the test writes: a real OpenAI-compatible HTTP server on loopback, well-behaved or broken on purpose.

`async with ScriptedModel([call("read_file", path="a.txt"), "Done."]) as model:` in a test's own loop;
`with serve_in_thread([...]) as model:` beside a server that runs as a child process.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any  # request bodies are whatever the client sent; tests look into them freely

from aiohttp import web

from support.openai_wire import NativeCall, call_deltas, embeddings, response, response_events, whole_calls

Body = dict[str, Any]
TIMEOUT = 60.0  # until something that should happen did not


@dataclass(frozen=True)
class Reply:
    """A proper answer. `chunks` are the text as it is cut up; with `hold` the stream pauses after the first piece until the event is set.
    `calls` are calls of the API's own tools, after the text.
    """

    text: str = ""
    reasoning: str | None = None
    chunks: Sequence[str] | None = None
    usage: Mapping[str, Any] | None = None
    finish: str | None = "stop"
    hold: asyncio.Event | threading.Event | None = None
    reasoning_field: str = "reasoning_content"
    done: bool = True
    calls: Sequence[NativeCall] = ()

    def pieces(self) -> list[str]:
        return list(self.chunks) if self.chunks is not None else in_pieces(self.text)


@dataclass(frozen=True)
class HttpError:
    """An answer that is no answer; a `body` that is not a str is sent as JSON."""

    status: int
    body: Any = None
    retry_after: str | int | None = None


@dataclass(frozen=True)
class BreakOff:
    """Some text, and then the socket is closed."""

    text: str = ""


@dataclass(frozen=True)
class Hang:
    """Headers (unless `headers` is false), perhaps some text and a finish reason, and then nothing until either side closes."""

    text: str = ""
    headers: bool = True
    finish: str | None = None


@dataclass(frozen=True)
class Garbage:
    """These bytes as the body, whatever they are."""

    body: bytes
    content_type: str = "text/event-stream"


Answer = str | Reply | HttpError | BreakOff | Hang | Garbage
Script = Answer | Callable[[Body], Answer]  # a callable sees the request's body first


def call(tool: str, terminate: bool = False, **parameters: Any) -> str:
    """The strict JSON that a model asks for a tool with."""
    return json.dumps({"tool": tool, "parameters": parameters, "terminate": terminate}, ensure_ascii=False)


def in_pieces(text: str, size: int = 7) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


class ScriptedModel:
    """`replies` may be appended to at any time; `requests` are the bodies received, `headers` their headers, in order;
    `raw` are the same bodies byte for byte, and `paths` where they came to.

    `mind` answers when no reply is left: a model that reads what it is told, for tests without a fixed number of requests.
    """

    def __init__(
        self,
        replies: Iterable[Script] = (),
        *,
        mind: Callable[[Body], Answer] | None = None,
        models: Sequence[str] = ("scripted",),
    ) -> None:
        self.replies: list[Script] = list(replies)
        self.mind = mind
        self.models = models
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.raw: list[bytes] = []
        self.paths: list[str] = []
        self.left = 0
        self.host = "127.0.0.1"
        self.base_url = ""

    async def __aenter__(self) -> "ScriptedModel":
        self._closing = asyncio.Event()
        self._arrived = asyncio.Condition()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_get("/v1/models", self._list_models)
        for path in ("chat/completions", "responses", "embeddings"):
            app.router.add_post(f"/v1/{path}", self._complete)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, self.host, 0).start()
        self.base_url = f"http://{self.host}:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        await self._runner.cleanup()

    async def asked(self, times: int) -> None:
        """Returns once so many requests have arrived; fails after five seconds. For tests that share this server's loop."""
        async with asyncio.timeout(TIMEOUT), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= times)

    async def deserted(self, times: int = 1) -> None:
        """Returns once so many of those who were kept hanging have closed their connection; fails after five seconds."""
        async with asyncio.timeout(TIMEOUT), self._arrived:
            await self._arrived.wait_for(lambda: self.left >= times)

    async def _list_models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = _read(raw)
        async with self._arrived:
            self.requests.append(body)
            self.raw.append(raw)
            self.paths.append(request.path_qs)
            self.headers.append(dict(request.headers))
            self._arrived.notify_all()
        script = self.replies.pop(0) if self.replies else self.mind
        if script is None:
            # Not a 500: that is asked again after seconds, in every test that says one reply less than is asked for.
            return web.json_response(
                _error(f"The script has no reply left for request {len(self.requests)}."), status=410
            )
        answer = script(body) if callable(script) else script
        return await self._give(Reply(answer) if isinstance(answer, str) else answer, request, body)

    async def _give(
        self, answer: Reply | HttpError | BreakOff | Hang | Garbage, request: web.Request, body: Body
    ) -> web.StreamResponse:
        match answer:
            case HttpError():
                return _refusal(answer)
            case Garbage():
                return web.Response(body=answer.body, headers={"Content-Type": answer.content_type})
            case Reply() if request.path.endswith("/embeddings"):
                return web.json_response(embeddings(body))
            case Reply() if request.path.endswith("/responses"):
                return await _respond(answer, request, body)
            case Reply() if not body.get("stream"):
                return web.json_response(_whole(answer, body))
            case Reply():
                return await self._stream(answer, request, body)
            case BreakOff():
                response = await _opened(request, in_pieces(answer.text), body)
                if request.transport is not None:
                    request.transport.abort()
                return response
            case Hang(headers=False):
                await self._hung(request)
                return web.Response()
            case Hang():
                response = await _opened(request, in_pieces(answer.text), body)
                if answer.finish:
                    await response.write(_event(body, {}, answer.finish))
                await self._hung(request)
                return response

    async def _stream(self, reply: Reply, request: web.Request, body: Body) -> web.StreamResponse:
        response = await _opened(request, [], body)
        if reply.calls:
            await response.write(_event(body, {"role": "assistant", "content": ""}))
        if reply.reasoning is not None:
            for piece in in_pieces(reply.reasoning):
                await response.write(_event(body, {reply.reasoning_field: piece}))
        for position, piece in enumerate(reply.pieces()):
            await response.write(_event(body, {"content": piece}))
            if position == 0 and reply.hold is not None:
                await self._held(reply.hold)
        for delta in call_deltas(reply.calls):
            await response.write(_event(body, delta))
        await response.write(_ending(reply, body))
        await response.write_eof()
        return response

    async def _hung(self, request: web.Request) -> None:
        """Until this server closes or the one who asked has left."""
        while not self._closing.is_set():
            if request.transport is None or request.transport.is_closing():
                async with self._arrived:
                    self.left += 1
                    self._arrived.notify_all()
                return
            try:
                await asyncio.wait_for(self._closing.wait(), 0.01)
            except TimeoutError:
                continue

    async def _held(self, hold: asyncio.Event | threading.Event) -> None:
        """Until the event is set or this server closes."""
        while not hold.is_set() and not self._closing.is_set():
            try:
                await asyncio.wait_for(self._closing.wait(), 0.01)
            except TimeoutError:
                continue


@contextmanager
def serve_in_thread(
    replies: Iterable[Script] = (),
    *,
    mind: Callable[[Body], Answer] | None = None,
    models: Sequence[str] = ("scripted",),
    host: str = "127.0.0.1",
    enter: Callable[[], None] = lambda: None,
) -> Iterator[ScriptedModel]:
    """The same server on a loop of its own, for tests that are not async or that start our server as a child process.

    `enter` is called in its thread first: it may enter another network, where the server listens on `host`.
    """
    model = ScriptedModel(replies, mind=mind, models=models)
    model.host = host
    ready, closing = threading.Event(), threading.Event()

    async def serve() -> None:
        async with model:
            ready.set()
            await asyncio.to_thread(closing.wait)

    def run() -> None:
        enter()
        asyncio.run(serve())

    thread = threading.Thread(target=run, name="scripted-model", daemon=True)
    thread.start()
    if not ready.wait(TIMEOUT):
        raise TimeoutError("The scripted model did not start.")
    try:
        yield model
    finally:
        closing.set()
        thread.join(TIMEOUT)


def _read(raw: bytes) -> Body:
    """What was sent, if it is a JSON object; a gateway may rightly pass on what is none."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


async def _respond(reply: Reply, request: web.Request, body: Body) -> web.StreamResponse:
    if not body.get("stream"):
        return web.json_response(response(reply.pieces(), reply.calls, body))
    opened = await _opened(request, [], body)
    for event in response_events(reply.pieces(), reply.calls, body):
        await opened.write(event)
    await opened.write_eof()
    return opened


async def _opened(request: web.Request, pieces: list[str], body: Body) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    for piece in pieces:
        await response.write(_event(body, {"content": piece}))
    return response


def _event(body: Body, delta: Body, finish: str | None = None) -> bytes:
    return _data({**_head(body), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _ending(reply: Reply, body: Body) -> bytes:
    end = _event(body, {}, reply.finish) if reply.finish else b""
    if (body.get("stream_options") or {}).get("include_usage"):
        end += _data({**_head(body), "choices": [], "usage": _usage(reply, body)})
    return end + (b"data: [DONE]\n\n" if reply.done else b"")


def _whole(reply: Reply, body: Body) -> Body:
    message: Body = {"role": "assistant", "content": "".join(reply.pieces())}
    if reply.reasoning is not None:
        message[reply.reasoning_field] = reply.reasoning
    if reply.calls:
        message |= {"content": message["content"] or None, "tool_calls": whole_calls(reply.calls)}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    return {**_head(body), "object": "chat.completion", "choices": [choice], "usage": _usage(reply, body)}


def _head(body: Body) -> Body:
    return {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": body.get("model")}


def _usage(reply: Reply, body: Body) -> Body:
    if reply.usage is not None:
        return dict(reply.usage)
    prompt, completion = len(json.dumps(body.get("messages", []))) // 4, len("".join(reply.pieces())) // 4 + 1
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _refusal(answer: HttpError) -> web.Response:
    headers = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
    if isinstance(answer.body, str):
        return web.Response(status=answer.status, text=answer.body, headers=headers)
    said = answer.body if answer.body is not None else _error(f"scripted {answer.status}")
    return web.json_response(said, status=answer.status, headers=headers)


def _error(message: str) -> Body:
    return {"error": {"message": message, "type": "scripted", "param": None, "code": None}}


def _data(value: Body) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
