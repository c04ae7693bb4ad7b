"""Calls Anthropic's models through its official SDK, which is loaded on first use. Requests are retried and errors
explained as for every other provider: the SDK's own retries are off, because nobody would be told of their waits."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from anycowork.domain.metering import reported_tokens
from anycowork.domain.model import (
    Chunk,
    ModelRequest,
    PromptMessage,
    ReasoningChunk,
    ReplyFinished,
    TextChunk,
    UsageChunk,
)
from anycowork.domain.provider_errors import BadKey, BrokenStream, NoSuchModel, ProviderFault, Untrusted
from anycowork.providers.http.certificates import BadAuthority, context_for
from anycowork.providers.http.retries import Backoff, TryAgain, retry_after, with_retries
from anycowork.providers.images import shown_images
from anycowork.providers.model_list import AUTO
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.native_calls import CallPieces, answered_calls, text_of, well_formed
from anycowork.providers.openai.upstream import Upstream, waiting_may_help

if TYPE_CHECKING:
    from anthropic import APIConnectionError, APIStatusError, AsyncAnthropic, AsyncStream
    from anthropic.types import (
        ImageBlockParam,
        MessageDeltaUsage,
        MessageParam,
        RawMessageStreamEvent,
        TextBlockParam,
        ToolParam,
        ToolResultBlockParam,
        ToolUseBlockParam,
        Usage,
    )

LONGEST_ANSWER = 8_192  # tokens; the API requires a limit
_FINISHED = {"max_tokens": "length", "end_turn": "stop", "stop_sequence": "stop"}


class AnthropicProvider:
    """Implements the `Provider` port. `last_fault` is how the latest request ended, `has_answered` whether
    one ever succeeded, for displays of its state."""

    def __init__(self, upstream: Upstream, *, timeouts: Timeouts | None = None, backoff: Backoff | None = None) -> None:
        self.name = upstream.name
        self.last_fault: ProviderFault | None = None
        self.has_answered = False
        self._upstream = upstream
        self._timeouts = timeouts or Timeouts()
        self._backoff = backoff or Backoff()
        self._clients: dict[str, AsyncAnthropic] = {}  # by key: a new key gets a new client
        self._auto: str | None = None

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Yields a `RetryChunk` before each wait, text and reasoning as they arrive, then the usage, then `ReplyFinished`.

        Raises: ProviderFault.
        """
        try:
            async with aclosing(with_retries(lambda: self._attempt(request), self._backoff)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ProviderFault as fault:
            self.last_fault = fault
            raise
        self.last_fault, self.has_answered = None, True

    async def models(self) -> list[str]:
        """Lists the models of the account, newest first. Raises: ProviderFault."""
        try:
            return await self._listed()
        except TryAgain as failed:
            raise failed.fault from None

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.close()

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Raises: TryAgain if the server may answer later; ProviderFault."""
        model = await self._model_for(request.model)
        async with self._translate_faults(model), await self._asked(request, model) as stream:
            async for chunk in self._chunks(stream):
                yield chunk

    async def _listed(self) -> list[str]:
        """Raises: TryAgain, ProviderFault."""
        async with self._translate_faults(AUTO), asyncio.timeout(self._timeouts.connect):
            return [model.id for model in (await self._sdk().models.list(limit=100)).data]

    async def _model_for(self, model: str) -> str:
        """Resolves `auto` by listing the models once. Raises: TryAgain, ProviderFault."""
        if model != AUTO:
            return model
        if self._auto is None:
            models = await self._listed()
            if not models:
                raise NoSuchModel(f"{self.name} lists no models. Name one under 'models' of the provider.")
            self._auto = models[0]
        return self._auto

    def _sdk(self) -> "AsyncAnthropic":
        """Raises: BadKey."""
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient, Timeout

        key = self._upstream.headers().get("Authorization", "").removeprefix("Bearer ")
        if not key:
            raise BadKey(f"There is no key for {self.name}. Set the environment variable {self._upstream.key_env}.")
        if key not in self._clients:
            limits = Timeout(self._timeouts.first_byte, connect=self._timeouts.connect)
            self._clients[key] = AsyncAnthropic(
                api_key=key,
                base_url=self._upstream.base_url,
                timeout=limits,
                max_retries=0,
                open_telemetry=False,
                # A redirect could send the conversation to a server that nobody configured.
                http_client=DefaultAsyncHttpxClient(follow_redirects=False, timeout=limits, verify=self._trust()),
            )
        return self._clients[key]

    def _trust(self) -> ssl.SSLContext | bool:
        """Returns the trusted certificates in the form the SDK's client accepts.

        The client reads proxies from the environment. Raises: Untrusted.
        """
        if self._upstream.ca_file is None:
            return True
        try:
            return context_for(self._upstream.ca_file)
        except BadAuthority as error:
            raise self._upstream.unreachable(error) from None

    async def _asked(self, request: ModelRequest, model: str) -> "AsyncStream[RawMessageStreamEvent]":
        from anthropic import omit

        return await self._sdk().messages.create(
            model=model,
            max_tokens=request.max_tokens or LONGEST_ANSWER,
            system=_system(request) or omit,
            messages=_messages(request),
            tools=_tools(request) or omit,
            cache_control={"type": "ephemeral"},  # up to the last message; the next request starts with the same bytes
            stream=True,
        )

    async def _chunks(self, stream: "AsyncStream[RawMessageStreamEvent]") -> AsyncIterator[Chunk]:
        tally, calls, finish = _Tally(), CallPieces(), None
        events = aiter(stream)
        while True:
            async with asyncio.timeout(self._timeouts.idle):
                event = await anext(events, None)
            if event is None:
                raise BrokenStream(f"{self.name} ended its answer without finishing it. Ask again.")
            tally.add(event)
            _collect(calls, event)
            for chunk in _event_chunks(event):
                yield chunk
            if event.type == "message_delta" and event.delta.stop_reason:
                finish = event.delta.stop_reason
            if event.type == "message_stop":
                break
        for call in calls.whole():
            yield call
        yield tally.usage()
        yield ReplyFinished(_FINISHED.get(finish or "", finish))

    @asynccontextmanager
    async def _translate_faults(self, model: str) -> AsyncIterator[None]:
        """Translates every failure of the SDK into ours. Raises: TryAgain before an answer has begun; ProviderFault."""
        import anthropic
        import httpx2

        try:
            yield
        except anthropic.APIStatusError as error:
            if error.status_code < 300:  # an error inside the stream
                quote = self._upstream.quoted(error.message)
                raise BrokenStream(f"{self.name} failed while answering. It says: {quote}") from None
            raise self._refusal(error, model) from None
        except anthropic.APIConnectionError as error:
            raise self._no_answer(error) from None
        except httpx2.TransportError:
            raise BrokenStream(f"The connection to {self.name} broke off during its answer. Ask again.") from None
        except TimeoutError:
            raise BrokenStream(f"{self.name} fell silent for {self._timeouts.idle:g} s. Ask again.") from None
        except (anthropic.AnthropicError, ValueError) as error:
            quote = self._upstream.quoted(str(error))
            raise BrokenStream(f"{self.name} sent an unreadable answer ({quote}). Check its address.") from None

    def _refusal(self, error: "APIStatusError", model: str) -> Exception:
        status, body = error.status_code, error.response.content
        fault = self._upstream.fault(status, body, model=model)
        if waiting_may_help(status, body):
            return TryAgain(fault, retry_after(error.response.headers), status=status)
        return fault

    def _no_answer(self, error: "APIConnectionError") -> Exception:
        """Makes it a retry, unless the server took the request and hung, or its certificate is not trusted: waiting fixes neither."""
        import anthropic
        import httpx2

        cause = error.__cause__ or error
        if isinstance(error, anthropic.APITimeoutError) and not isinstance(cause, httpx2.ConnectTimeout):
            return BrokenStream(f"{self.name} hung: no answer began in time. Ask again.")
        fault = self._upstream.unreachable(cause)
        return fault if isinstance(fault, Untrusted) else TryAgain(fault)


class _Tally:
    """Collects the token counts from the stream: input at its start, output at its end; newer numbers replace older ones."""

    def __init__(self) -> None:
        self._fresh = self._cached = self._written = self._out = self._thought = 0

    def add(self, event: "RawMessageStreamEvent") -> None:
        usage: Usage | MessageDeltaUsage
        if event.type == "message_start":
            usage = event.message.usage
        elif event.type == "message_delta":
            usage = event.usage
        else:
            return
        self._fresh = self._fresh if usage.input_tokens is None else usage.input_tokens
        self._cached = usage.cache_read_input_tokens or self._cached
        self._written = usage.cache_creation_input_tokens or self._written
        self._out = usage.output_tokens
        if usage.output_tokens_details:
            self._thought = usage.output_tokens_details.thinking_tokens or 0

    def usage(self) -> UsageChunk:
        prompt = sum(map(reported_tokens, (self._fresh, self._cached, self._written)))
        cached, reasoning = reported_tokens(self._cached), reported_tokens(self._thought)
        return UsageChunk(prompt, reported_tokens(self._out), cached=cached, reasoning=reasoning)


def _event_chunks(event: "RawMessageStreamEvent") -> Iterator[Chunk]:
    if event.type != "content_block_delta":
        return
    if event.delta.type == "text_delta":
        yield TextChunk(event.delta.text)
    elif event.delta.type == "thinking_delta":
        yield ReasoningChunk(event.delta.thinking)


def _collect(calls: CallPieces, event: "RawMessageStreamEvent") -> None:
    if event.type == "content_block_start" and event.content_block.type == "tool_use":
        calls.add(event.index, name=event.content_block.name)
    elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
        calls.add(event.index, arguments=event.delta.partial_json)


# --- the request: the system prompt is the same in every request of a chat, so it is marked for the cache


def _system(request: ModelRequest) -> "list[TextBlockParam]":
    text = "\n\n".join(prompt_message.content for prompt_message in request.messages if prompt_message.role == "system")
    if not text:
        return []
    return [{"type": "text", "text": well_formed(text), "cache_control": {"type": "ephemeral"}}]


def _messages(request: ModelRequest) -> "list[MessageParam]":
    answered = answered_calls(request.messages) if request.offers else frozenset()
    turns: list[MessageParam] = []
    for prompt_message in request.messages:
        texts: list[TextBlockParam] = (
            [{"type": "text", "text": text}] if (text := text_of(prompt_message, answered)) else []
        )
        if prompt_message.role == "assistant":
            turns.append({"role": "assistant", "content": [*texts, *_called(prompt_message, answered)]})
        elif prompt_message.role == "user":
            seen = _seen(prompt_message, request.image_bytes)
            turns.append({"role": "user", "content": [*_results(prompt_message, answered), *seen, *texts]})
    return turns


def _seen(prompt_message: PromptMessage, image_bytes: Mapping[str, bytes]) -> "Iterator[ImageBlockParam]":
    for image, data in shown_images(prompt_message, image_bytes):
        match image.media_type:
            case "image/png" | "image/jpeg" | "image/webp" | "image/gif" as media_type:
                yield {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _called(prompt_message: PromptMessage, answered: frozenset[str]) -> "Iterator[ToolUseBlockParam]":
    for part in prompt_message.parts:
        if part.call and (call_id := str(part.call.get("id"))) in answered:
            parameters = part.call.get("parameters")
            name = str(part.call.get("tool"))
            yield {
                "type": "tool_use",
                "id": call_id,
                "name": name,
                "input": {**parameters} if isinstance(parameters, dict) else {},
            }


def _results(prompt_message: PromptMessage, answered: frozenset[str]) -> "Iterator[ToolResultBlockParam]":
    for part in prompt_message.parts:
        if part.answers and part.answers in answered:
            yield {"type": "tool_result", "tool_use_id": part.answers, "content": well_formed(part.text)}


def _tools(request: ModelRequest) -> "list[ToolParam]":
    return [
        {"name": offer.name, "description": offer.description, "input_schema": {**offer.schema}}
        for offer in request.offers
    ]
