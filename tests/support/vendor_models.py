"""The models that other vendors' agents ask: one script, spoken in the API that each vendor has. An agent that starts anew or asks the
same again gets the same answer: the script goes by what the agent sends along, not by how often it asked."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal  # bodies are whatever an agent sent

from aiohttp import web

from support.openai_wire import NativeCall
from support.scripted_anthropic import ScriptedAnthropic, Spoken
from support.scripted_model import Reply, ScriptedModel

Body = dict[str, Any]
Wire = Literal["openai", "anthropic", "gemini"]
Answer = NativeCall | str
Mind = Callable[[Body], Answer]
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")


def scripted_mind(tasks: Mapping[str, Sequence[NativeCall]], asked: list[str]) -> Mind:
    """Answers the task whose words are in the request with its calls, one after another, and then says that all is done. `asked` gets the
    task of each request; those without tools, for a title or who speaks next, are none of a task."""

    def answer(body: Body) -> Answer:
        if not body.get("tools"):
            return json.dumps({"title": "A title", "next_speaker": "user"})
        sent = json.dumps(body)
        task = next(words for words in tasks if words in sent)
        asked.append(task)
        calls, done = tasks[task], results_in(body)
        return calls[done] if done < len(calls) else "All done."

    return answer


def results_in(value: Any) -> int:
    """How many results of calls a request carries, in any of the APIs."""
    if isinstance(value, list):
        return sum(map(results_in, value))
    if not isinstance(value, dict):
        return 0
    if value.get("role") == "tool" or value.get("type") in _RESULTS or "functionResponse" in value:
        return 1
    return sum(map(results_in, value.values()))


@asynccontextmanager
async def vendor_model(wire: Wire, mind: Mind) -> AsyncIterator[int]:
    """Yields the port that a model answers on."""
    if wire == "openai":
        async with ScriptedModel(mind=lambda body: _openai(mind(body)), models=("agent",)) as openai:
            yield port_of(openai.base_url)
    elif wire == "anthropic":
        async with ScriptedAnthropic(mind=lambda body: _anthropic(mind(body)), models=("agent",)) as anthropic:
            yield port_of(anthropic.base_url)
    else:
        async with _gemini_server(mind) as port:
            yield port


def port_of(url: str) -> int:
    return int(url.split(":")[2].partition("/")[0])


def _openai(answer: Answer) -> Reply:
    if isinstance(answer, str):
        return Reply(answer)
    return Reply("Let me see.", calls=(answer,), finish="tool_calls")


def _anthropic(answer: Answer) -> Spoken:
    if isinstance(answer, str):
        return Spoken(answer)
    return Spoken("Let me see.", calls=((answer.name, dict(answer.arguments)),), stop="tool_use")


# --- Google's API


@asynccontextmanager
async def _gemini_server(mind: Mind) -> AsyncIterator[int]:
    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        method = request.match_info["call"].rpartition(":")[2]
        if method == "countTokens":
            return web.json_response({"totalTokens": 10})
        said = _gemini(mind(body))
        if method == "generateContent":
            return web.json_response(said)
        return web.Response(text=f"data: {json.dumps(said)}\n\n", content_type="text/event-stream")

    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1beta/models/{call}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _gemini(answer: Answer) -> Body:
    if isinstance(answer, str):
        parts: list[Body] = [{"text": answer}]
    else:
        parts = [{"text": "Let me see."}, {"functionCall": {"name": answer.name, "args": dict(answer.arguments)}}]
    content = {"role": "model", "parts": parts}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}
