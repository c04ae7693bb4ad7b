"""What a well-behaved server gives, over real HTTP: text, reasoning, usage and an end."""

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anycowork.domain.model import ModelRequest, PromptMessage, ReplyFinished, TextChunk, UsageChunk
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.model_list import chat_model
from anycowork.providers.openai.native_calls import read_delta
from support.provider_client import SECRET, all_of, asking, client, finish_of, reasoning_of, text_of, usage_of
from support.scripted_model import Garbage, HttpError, Reply, ScriptedModel
from support.spec import proves


async def test_text_arrives_in_pieces_and_ends_with_usage_and_finish(pool: HttpPool):
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    async with ScriptedModel([Reply("Hello, world, this is me", usage=usage)]) as model:
        chunks = await all_of(client(model.base_url, pool).answer(asking()))
    assert text_of(chunks) == "Hello, world, this is me"
    assert len([chunk for chunk in chunks if isinstance(chunk, TextChunk)]) > 2
    assert chunks[-2:] == [UsageChunk(prompt=9, completion=4, cached=5, reasoning=2), ReplyFinished("stop")]


async def test_the_request_carries_model_messages_limits_and_key(pool: HttpPool):
    request = ModelRequest(
        "m1", (PromptMessage("system", "be"), PromptMessage("user", "hi")), "turn", max_tokens=50, temperature=0.5
    )
    async with ScriptedModel(["ok"]) as model:
        await all_of(client(model.base_url, pool).answer(request))
    assert model.requests == [
        {
            "model": "m1",
            "messages": [{"role": "system", "content": "be"}, {"role": "user", "content": "hi"}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 50,
            "temperature": 0.5,
        }
    ]
    assert model.headers[0]["Authorization"] == f"Bearer {SECRET}"


async def test_a_server_without_a_key_gets_no_authorization(pool: HttpPool):
    async with ScriptedModel(["ok"]) as model:
        await all_of(client(model.base_url, pool, key=None).answer(asking()))
    assert "Authorization" not in model.headers[0]


@proves("EVT-3")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_fields_become_reasoning_and_never_text(pool: HttpPool, field: str):
    reply = Reply("The answer.", reasoning="Let me think about this first.", reasoning_field=field)
    async with ScriptedModel([reply]) as model:
        chunks = await all_of(client(model.base_url, pool).answer(asking()))
    assert reasoning_of(chunks) == "Let me think about this first."
    assert text_of(chunks) == "The answer."


def test_reasoning_given_under_two_names_and_as_content_parts_counts_once():
    both = {"choices": [{"delta": {"reasoning": "a", "reasoning_content": "a"}}]}
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}, {"type": "text", "text": "c"}]
    assert reasoning_of(list(read_delta(json.dumps(both).encode()).chunks)) == "a"
    chunks = list(read_delta(json.dumps({"choices": [{"delta": {"content": parts}}]}).encode()).chunks)
    assert (reasoning_of(chunks), text_of(chunks)) == ("b", "c")


async def test_an_answer_cut_off_by_length_says_so(pool: HttpPool):
    async with ScriptedModel([Reply("half", finish="length")]) as model:
        chunks = await all_of(client(model.base_url, pool).answer(asking()))
    assert finish_of(chunks) == ReplyFinished("length")


@pytest.mark.parametrize(
    ("reply", "finish"),
    [(Reply("ok", done=False), ReplyFinished("stop")), (Reply("ok", finish=None), ReplyFinished(None))],
    ids=["finish reason without DONE", "DONE without finish reason"],
)
async def test_either_sign_of_an_end_is_enough(pool: HttpPool, reply: Reply, finish: ReplyFinished):
    async with ScriptedModel([reply]) as model:
        chunks = await all_of(client(model.base_url, pool).answer(asking()))
    assert (text_of(chunks), finish_of(chunks)) == ("ok", finish)


async def test_a_server_that_ignores_streaming_is_understood(pool: HttpPool):
    body = {
        "choices": [{"message": {"content": "all at once", "reasoning_content": "hm"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    async with ScriptedModel([Garbage(json.dumps(body).encode(), "application/json")]) as model:
        chunks = await all_of(client(model.base_url, pool).answer(asking()))
    assert (text_of(chunks), reasoning_of(chunks)) == ("all at once", "hm")
    assert usage_of(chunks) == UsageChunk(prompt=1, completion=2)


async def test_lone_surrogates_are_replaced_both_ways(pool: HttpPool):
    said = b'data: {"choices":[{"delta":{"content":"a\\ud800b \\ud83d\\ude00"}}]}\n\ndata: [DONE]\n\n'
    async with ScriptedModel([Garbage(said)]) as model:
        chunks = await all_of(client(model.base_url, pool).answer(asking("x\udc00y")))
    assert text_of(chunks) == "a\ufffdb 😀"
    assert model.requests[0]["messages"][0]["content"] == "x\ufffdy"


@pytest.mark.parametrize(
    ("named", "left"),
    [("stream_options", {"temperature", "max_tokens"}), ("max_tokens", {"temperature", "max_completion_tokens"})],
)
async def test_an_optional_field_that_is_refused_by_name_is_left_out_from_then_on(pool: HttpPool, named, left):
    refusal = HttpError(400, {"error": {"message": f"Unsupported parameter: '{named}'"}})
    async with ScriptedModel([refusal, "ok", "again"]) as model:
        provider = client(model.base_url, pool)
        for words in ("ok", "again"):
            chunks = await all_of(provider.answer(asking(max_tokens=9, temperature=0.1)))
            assert text_of(chunks) == words
    assert [named in request for request in model.requests] == [True, False, False]
    assert left <= model.requests[1].keys()


async def test_auto_asks_the_server_once_which_models_it_has(pool: HttpPool):
    async with ScriptedModel(["a", "b"], models=["text-embedding-3", "zeta", "gpt-4o"]) as model:
        provider = client(model.base_url, pool)
        await all_of(provider.answer(asking(model="auto")))
        await all_of(provider.answer(asking(model="auto")))
    assert [request["model"] for request in model.requests] == ["gpt-4o", "gpt-4o"]


async def test_a_server_without_a_list_of_models_is_asked_under_the_common_name(pool: HttpPool):
    async with ScriptedModel(["Here."], models=[]) as model:
        assert text_of(await all_of(client(model.base_url, pool).answer(asking(model="auto")))) == "Here."
    assert [request["model"] for request in model.requests] == ["gpt-4o-mini"]


@pytest.mark.parametrize(
    ("models", "chosen"),
    [
        ([], None),
        (["whisper-1"], "whisper-1"),
        (["nomic-embed-text", "llama3.2"], "llama3.2"),
        (["gpt-4o", "gpt-5-mini", "x"], "gpt-5-mini"),
    ],
)
def test_the_model_chosen_unasked(models: list[str], chosen: str | None):
    assert chat_model(models) == chosen


async def test_a_reader_that_leaves_frees_the_connection(pool: HttpPool):
    async with asyncio.timeout(60), ScriptedModel([Reply(chunks=["a", "b"], hold=asyncio.Event()), "next"]) as model:
        provider = client(model.base_url, pool)
        answer = provider.answer(asking())
        assert await anext(answer) == TextChunk("a")
        await answer.aclose()
        assert text_of(await all_of(provider.answer(asking()))) == "next"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60), data=st.data())
async def test_no_cut_of_the_stream_changes_the_text(pool: HttpPool, text: str, data: st.DataObject):
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=5).map(sorted))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    async with ScriptedModel([Reply(chunks=pieces)]) as model:
        assert text_of(await all_of(client(model.base_url, pool).answer(asking()))) == text
