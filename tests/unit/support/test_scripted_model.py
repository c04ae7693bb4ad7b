"""The scripted model keeps its own promises: what the script says is what a client sees on the wire."""

import asyncio
import json
import threading
import urllib.request

import aiohttp
import pytest

from support.scripted_model import BreakOff, Garbage, Hang, HttpError, Reply, ScriptedModel, call, serve_in_thread

ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}


async def stream_of(model: ScriptedModel, body: dict[str, object] = ASK) -> str:
    async with aiohttp.ClientSession() as session, session.post(f"{model.base_url}/chat/completions", json=body) as got:
        return (await got.read()).decode()


def text_in(stream: str) -> str:
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    return "".join(c["delta"].get("content", "") for e in events for c in e["choices"])


async def test_a_string_is_streamed_in_several_chunks_and_ends_with_done():
    async with ScriptedModel(["Hello, this is the answer."]) as model:
        stream = await stream_of(model)
    assert text_in(stream) == "Hello, this is the answer."
    assert stream.count("data: {") > 3 and stream.endswith("data: [DONE]\n\n")
    assert "usage" not in stream


async def test_usage_is_sent_only_when_it_is_asked_for():
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    async with ScriptedModel([Reply("a", usage=usage)]) as model:
        stream = await stream_of(model, {**ASK, "stream_options": {"include_usage": True}})
    assert json.dumps({"usage": usage})[1:-1] in stream


async def test_requests_are_kept_in_order_and_replies_may_be_appended_later():
    async with ScriptedModel(["one"]) as model:
        await stream_of(model)
        model.replies.append(lambda body: f"you said {body['messages'][0]['content']}")
        assert text_in(await stream_of(model)) == "you said hi"
    assert [r["model"] for r in model.requests] == ["m", "m"]


async def test_a_script_that_has_run_out_says_so_with_a_500():
    async with ScriptedModel() as model:
        assert "no reply left" in await stream_of(model)


async def test_a_held_reply_goes_on_when_the_event_is_set():
    hold = asyncio.Event()
    async with ScriptedModel([Reply(chunks=["a", "b"], hold=hold)]) as model, asyncio.TaskGroup() as tasks:
        stream = tasks.create_task(stream_of(model))
        await model.asked(1)
        assert not stream.done()
        hold.set()
    assert text_in(stream.result()) == "ab"


async def test_a_broken_off_reply_is_an_error_to_the_client():
    async with ScriptedModel([BreakOff("half an answer")]) as model:
        with pytest.raises(aiohttp.ClientError):
            await stream_of(model)


async def test_a_hanging_reply_does_not_keep_the_server_from_closing():
    async with (
        asyncio.timeout(60),
        ScriptedModel([Hang()]) as model,
        aiohttp.ClientSession() as session,
        session.post(f"{model.base_url}/chat/completions", json=ASK) as got,
    ):
        assert got.status == 200


async def test_errors_and_garbage_are_sent_as_written():
    async with (
        ScriptedModel([HttpError(429, retry_after=3), Garbage(b"\xff\x00")]) as model,
        aiohttp.ClientSession() as session,
    ):
        async with session.post(f"{model.base_url}/chat/completions", json=ASK) as got:
            assert (got.status, got.headers["Retry-After"]) == (429, "3")
        async with session.post(f"{model.base_url}/chat/completions", json=ASK) as got:
            assert await got.read() == b"\xff\x00"


def test_it_serves_from_a_thread_too():
    hold = threading.Event()
    hold.set()
    with serve_in_thread([Reply("threaded", hold=hold)], models=["a", "b"]) as model:
        with urllib.request.urlopen(f"{model.base_url}/models", timeout=60) as got:
            assert [m["id"] for m in json.load(got)["data"]] == ["a", "b"]
        body = json.dumps({**ASK, "stream": False}).encode()
        asked = urllib.request.Request(
            f"{model.base_url}/chat/completions", data=body, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=60) as got:
            assert json.load(got)["choices"][0]["message"]["content"] == "threaded"


def test_call_writes_the_strict_form():
    assert json.loads(call("read_file", path="a.txt")) == {
        "tool": "read_file",
        "parameters": {"path": "a.txt"},
        "terminate": False,
    }
