"""Anthropic's official SDK against a server that speaks its API: words, thinking, usage, and every way it can fail."""

from contextlib import aclosing

import pytest

from anycowork.domain.model import Chunk, ModelRequest, PromptMessage, ReplyFinished, RetryChunk
from anycowork.domain.provider_errors import (
    BadKey,
    BrokenStream,
    NoSuchModel,
    Overloaded,
    ProviderFault,
    RateLimited,
    Unreachable,
)
from anycowork.providers.anthropic.provider import AnthropicProvider
from anycowork.providers.discovery import from_environment
from anycowork.providers.http.retries import Backoff
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.upstream import Upstream
from anycowork.providers.registry import ProviderRegistry
from support.provider_client import SECRET, all_of, asking, finish_of, reasoning_of, text_of, usage_of
from support.scripted_anthropic import FailsMidway, Refused, ScriptedAnthropic, Spoken

CONVERSATION = ModelRequest(
    model="claude-test",
    messages=(
        PromptMessage("system", "Be brief."),
        PromptMessage("user", "hi"),
        PromptMessage("assistant", "hello"),
        PromptMessage("user", "again"),
    ),
    purpose="turn",
)


def client(server: ScriptedAnthropic, *, key: str | None = SECRET, tries: int = 1) -> AnthropicProvider:
    upstream = Upstream(name="anthropic", base_url=server.base_url, key_env="ANTHROPIC_API_KEY", key=lambda: key)
    backoff = Backoff(tries=tries, first=0.01)
    return AnthropicProvider(upstream, timeouts=Timeouts(connect=60.0, first_byte=60.0, idle=60.0), backoff=backoff)


async def answered(provider: AnthropicProvider, request: ModelRequest) -> list[Chunk]:
    try:
        async with aclosing(provider.answer(request)) as chunks:
            return await all_of(chunks)
    finally:
        await provider.aclose()


async def test_words_thinking_and_usage_arrive_and_nothing_else_is_sent():
    async with ScriptedAnthropic([Spoken("Hello there, friend.", thinking="They greet.", cached=40)]) as server:
        chunks = await answered(client(server), CONVERSATION)
        assert text_of(chunks) == "Hello there, friend." and reasoning_of(chunks) == "They greet."
        usage = usage_of(chunks)
        assert usage and (usage.prompt, usage.completion, usage.cached) == (12 + 40 + 3, 9, 40)
        assert finish_of(chunks) == ReplyFinished("stop")
        [body] = server.requests
        assert body["system"][0]["text"] == "Be brief." and body["system"][0]["cache_control"] == {"type": "ephemeral"}
        assert [(said["role"], said["content"][0]["text"]) for said in body["messages"]] == [
            ("user", "hi"),
            ("assistant", "hello"),
            ("user", "again"),
        ]
        assert SECRET in server.headers[0]["authorization"]


async def test_an_answer_that_hit_its_length_is_cut_off():
    async with ScriptedAnthropic([Spoken("Once upon", stop="max_tokens")]) as server:
        assert finish_of(await answered(client(server), CONVERSATION)) == ReplyFinished("length")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Refused(401, "authentication_error", "invalid x-api-key"), BadKey),
        (Refused(404, "not_found_error", "model: claude-test"), NoSuchModel),
        (Refused(429, "rate_limit_error", "slow down"), RateLimited),
        (Refused(529, "overloaded_error", "Overloaded"), Overloaded),
        (FailsMidway("error"), BrokenStream),
        (FailsMidway("garbage"), BrokenStream),
        (FailsMidway("cut"), BrokenStream),
    ],
)
async def test_every_failure_has_its_name_and_keeps_the_key_to_itself(
    answer: Refused | FailsMidway, fault: type[ProviderFault]
):
    async with ScriptedAnthropic([answer]) as server:
        provider = client(server)
        with pytest.raises(fault) as failed:
            await answered(provider, CONVERSATION)
        assert SECRET not in failed.value.message and "anthropic" in failed.value.message
        assert provider.last_fault is failed.value


async def test_it_is_asked_again_before_the_first_chunk_and_each_wait_is_told():
    refusals = [Refused(529, "overloaded_error", "busy", retry_after="0.02"), Refused(429, "rate_limit_error", "slow")]
    async with ScriptedAnthropic([*refusals, Spoken("There.")]) as server:
        chunks = await answered(client(server, tries=3), CONVERSATION)
        assert text_of(chunks) == "There." and len(server.requests) == 3
    first, second, *rest = chunks
    assert first == RetryChunk(0.02, 2, 3, Overloaded.code, 529)
    assert isinstance(second, RetryChunk)
    assert (second.attempt, second.reason, second.status) == (3, RateLimited.code, 429) and 0 < second.seconds <= 0.02
    assert not any(isinstance(chunk, RetryChunk) for chunk in rest)


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        (Refused(401, "authentication_error", "invalid x-api-key"), 1),
        (Refused(429, "rate_limit_error", "tomorrow", retry_after=86_400), 1),
        (FailsMidway("error"), 1),
        (FailsMidway("cut"), 1),
        (Refused(500, "api_error", "sorry"), 2),
    ],
)
async def test_only_what_waiting_may_fix_is_asked_again_and_at_most_so_often(answer: Refused | FailsMidway, asked: int):
    async with ScriptedAnthropic([answer] * 3) as server:
        with pytest.raises(ProviderFault):
            await answered(client(server, tries=2), CONVERSATION)
        assert len(server.requests) == asked


async def test_an_unreachable_server_is_told_while_it_is_waited_for():
    async with ScriptedAnthropic() as server:
        provider = client(server, tries=2)
    chunks: list[Chunk] = []
    with pytest.raises(Unreachable, match="cannot be reached"):
        async with aclosing(provider.answer(CONVERSATION)) as stream:
            async for chunk in stream:
                chunks.append(chunk)
    await provider.aclose()
    [told] = chunks
    assert isinstance(told, RetryChunk) and (told.attempt, told.reason, told.status) == (2, Unreachable.code, None)


async def test_a_dead_server_and_a_missing_key_are_said():
    async with ScriptedAnthropic() as server:
        provider, keyless = client(server), client(server, key=None)
    with pytest.raises(Unreachable, match="cannot be reached"):
        await answered(provider, CONVERSATION)
    with pytest.raises(BadKey, match="ANTHROPIC_API_KEY"):
        await answered(keyless, CONVERSATION)


async def test_without_a_name_the_newest_model_of_the_account_answers():
    async with ScriptedAnthropic([Spoken("Hi.")], models=("claude-new", "claude-old")) as server:
        await answered(client(server), asking(model="auto"))
        assert server.requests[0]["model"] == "claude-new"


def test_a_key_in_the_environment_is_enough():
    [found] = from_environment({"ANTHROPIC_API_KEY": "sk-ant"})
    assert (found.name, found.kind, found.api_key_env, found.context_tokens) == (
        "anthropic",
        "anthropic",
        "ANTHROPIC_API_KEY",
        200_000,
    )
    registry = ProviderRegistry([found], environment={"ANTHROPIC_API_KEY": "sk-ant"})
    assert registry.find(None)[0].name == "anthropic" and registry.upstreams() == []
    assert "sk-ant" not in str(registry.describe())
