"""Answers a prompt that an MCP server wants a model to answer, after the person of the chat has seen it and agreed.

The model gets the prompt and nothing else: no history, no tools, no instructions of ours. Its answer goes to the server alone.
"""

from typing import assert_never

from anycowork.agent.model_caller import find_model, paid_by, spent_for
from anycowork.agent.reply_stream import Reply
from anycowork.agent.turn_context import TurnContext
from anycowork.domain import event_factory
from anycowork.domain.journal import Change, Reserve
from anycowork.domain.model import (
    CallChunk,
    ModelRequest,
    Provider,
    ReasoningChunk,
    ReplyFinished,
    RetryChunk,
    SampledReply,
    SamplingPrompt,
    TextChunk,
    UsageChunk,
)
from anycowork.domain.ports import Clock
from anycowork.domain.telemetry import Telemetry
from anycowork.prompts.tokens import tokens
from anycowork.providers.registry import ProviderRegistry
from anycowork.store.sql.journal import Journal

PURPOSE = "mcp_sampling"
MOST_LETTERS = 40_000


class PromptSampler:
    """What a prompt costs is counted like every other request of the turn, under its own purpose."""

    def __init__(self, *, journal: Journal, providers: ProviderRegistry, clock: Clock, telemetry: Telemetry) -> None:
        self._journal = journal
        self._providers = providers
        self._clock = clock
        self._telemetry = telemetry

    async def sample(self, context: TurnContext, prompt: SamplingPrompt) -> SampledReply:
        """Raises: ProviderFault, LimitReached."""
        provider, model = find_model(self._providers, context)
        name = f"{provider.name}/{model}"
        size = sum(tokens(message.content) for message in prompt.messages)
        reserve = Reserve(
            self._clock.new_id(), context.turn.id, PURPOSE, name, size, *paid_by(context.turn, self._clock)
        )
        async with context.assignment.reserving(reserve):
            await self._journal.write(Change(context.chat.id, (reserve,)))
        reply = Reply(reserve.id)
        request = ModelRequest(model=model, messages=prompt.messages, purpose=PURPOSE, max_tokens=prompt.max_tokens)
        try:
            with self._telemetry.model_request(context.turn, provider.name, request) as outcome:
                await _receive(provider, request, reply)
                outcome.text, outcome.finish, outcome.usage = reply.text, reply.finish, reply.usage
        finally:
            spend, event = spent_for(reserve, reply)
            usage = event_factory.usage(context.turn.id, event)
            await self._journal.write(Change(context.chat.id, (spend,), (usage,)))
        return SampledReply(reply.text[:MOST_LETTERS], name, cut_off=reply.cut_off)


async def _receive(provider: Provider, request: ModelRequest, reply: Reply) -> None:
    """Thoughts count, but they are not for the server; native calls and waits are passed over."""
    async for chunk in provider.answer(request):
        match chunk:
            case TextChunk(text):
                reply.text += text
            case ReasoningChunk(text):
                reply.reasoning += text
            case UsageChunk():
                reply.usage = chunk
            case ReplyFinished(reason):
                reply.finish = reason
            case CallChunk() | RetryChunk():
                pass
            case _:
                assert_never(chunk)
        if len(reply.text) + len(reply.reasoning) > MOST_LETTERS:
            reply.finish = "length"
            return
