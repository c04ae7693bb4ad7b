"""A thin streaming client for servers that speak OpenAI's chat completions. Retries before the first chunk, never after it.

It leaves `<think>` tags in the text: the agent splits them.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from enum import Enum, auto
from typing import TYPE_CHECKING

from anycowork.domain.messages import Json
from anycowork.domain.model import Chunk, ModelFacts, ModelRequest, TextChunk
from anycowork.domain.provider_errors import (
    BrokenStream,
    NoSuchModel,
    ProviderFault,
    RejectedRequest,
    Unreachable,
    Untrusted,
)
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.http.retries import Backoff, Sleep, TryAgain, retry_after, with_retries
from anycowork.providers.images import openai_content, without_images
from anycowork.providers.model_list import AUTO, UNLISTED, chat_model, listed_facts, read_entries
from anycowork.providers.openai.completion_stream import CompletionStream, Timeouts
from anycowork.providers.openai.native_calls import openai_messages, well_formed
from anycowork.providers.openai.upstream import Upstream, waiting_may_help

if TYPE_CHECKING:
    import aiohttp

MAX_ERROR_BYTES = 64 * 1024
MAX_LIST_BYTES = 4 * 1024 * 1024
_OPENING = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_BEGINS = re.compile(r'\s*(\{\s*("(a(n(s(w(e(r("\s*(:\s*)?)?)?)?)?)?)?)?)?)?')
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[^u])")
_LONGEST_OPENING = 200  # characters: checked again with every piece
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")


class OpenAIProvider:
    """Implements the `Provider` port. `last_fault` is how the latest request ended, `has_answered` whether
    one ever succeeded, for displays of its state."""

    def __init__(
        self,
        upstream: Upstream,
        pool: HttpPool,
        *,
        timeouts: Timeouts | None = None,
        backoff: Backoff | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.name = upstream.name
        self.last_fault: ProviderFault | None = None
        self.has_answered = False
        self._upstream = upstream
        self._pool = pool
        self._timeouts = timeouts or Timeouts()
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._refused_fields: dict[str, frozenset[str]] = {}
        self._auto: str | None = None
        self.listed: dict[str, ModelFacts] = {}

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Yields a `RetryChunk` before each wait, text and reasoning as they arrive, then usage if the server sent it, then
        `ReplyFinished`. Raises: ProviderFault."""
        try:
            model = await self._model_for(request.model)
            body = _body(request, model)
            tries = request.tries_images
            attempts = with_retries(lambda: self._attempt(body, model, tries), self._backoff, sleep=self._sleep)
            async with aclosing(attempts) as chunks:
                async for chunk in plain_words(chunks) if request.schema is not None else chunks:
                    yield chunk
        except ProviderFault as fault:
            self.last_fault = fault
            raise
        self.last_fault, self.has_answered = None, True

    async def models(self, *, within: float = 10.0) -> list[str]:
        """Lists the server's models in its order; empty if it answers something else. Raises: ProviderFault."""
        import aiohttp  # heavy: here and below, loaded when a server is first asked

        url, route = self._upstream.url("models"), self._pool.route_to(self._upstream)
        try:
            async with (
                asyncio.timeout(within),
                self._pool.session().get(
                    url, headers=self._upstream.headers(), allow_redirects=False, **route
                ) as response,
            ):
                body = await _at_most(response, MAX_LIST_BYTES)
        except TimeoutError:
            raise Unreachable(f"{self.name} did not list its models within {within:g} s.") from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._upstream.unreachable(error) from None
        if response.status != 200:
            raise self._upstream.fault(response.status, body, model=AUTO)
        entries = read_entries(body)
        self.listed = {str(entry["id"]): listed_facts(entry) for entry in entries}
        return [*self.listed]

    def refuses_images(self, model: str) -> bool:
        """Whether the server refused the images of a request to this model that it accepted without them."""
        return IMAGES in self._refused_fields.get(self._auto or model if model == AUTO else model, ())

    async def _model_for(self, model: str) -> str:
        """Resolves `auto` by listing the server's models once. Raises: ProviderFault."""
        if model != AUTO:
            return model
        if self._auto is None:
            self._auto = chat_model(await self._listed()) or UNLISTED
        return self._auto

    async def _listed(self) -> list[str]:
        """Returns an empty list if the server has none: many small servers accept any model name."""
        try:
            return await self.models()
        except (RejectedRequest, NoSuchModel):
            return []

    async def _attempt(self, body: Json, model: str, tries_images: bool) -> AsyncGenerator[Chunk, None]:
        response = await self._accepted(body, model, tries_images)
        async with response, aclosing(CompletionStream(response, self._upstream, self._timeouts).chunks()) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _accepted(self, body: Json, model: str, tries_images: bool) -> "aiohttp.ClientResponse":
        """Returns a response that has started to answer. From then on it omits an optional field that the server refuses by name,
        and images that were only tried and without which the server answers."""
        earlier = self._refused_fields.get(model, frozenset())
        refused = earlier if tries_images else earlier - {IMAGES}
        with_images: Exception | None = None
        while True:
            sent = _without(body, refused)
            response = await self._post(sent)
            if response.status == 200:
                self._refused_fields[model] = refused | earlier
                return response
            async with response:
                refusal = await self._refusal(response)
            refused_field = _refused_field(response.status, refusal, sent)
            if (
                refused_field is None
                and with_images is None
                and tries_images
                and _may_refuse_images(response.status, refusal, sent)
            ):
                refused_field, with_images = IMAGES, self._failure(response, refusal, model)
            if refused_field is None:
                raise with_images or self._failure(response, refusal, model)
            refused |= {refused_field}

    async def _post(self, body: Json) -> "aiohttp.ClientResponse":
        import aiohttp

        url, route = self._upstream.url("chat/completions"), self._pool.route_to(self._upstream)
        headers = self._upstream.headers()
        limits = aiohttp.ClientTimeout(total=None, sock_connect=self._timeouts.connect)
        try:
            async with asyncio.timeout(self._timeouts.first_byte):
                # A redirect is not followed: it could send the conversation to a server that nobody configured.
                return await self._pool.session().post(
                    url, json=body, headers=headers, timeout=limits, allow_redirects=False, **route
                )
        except aiohttp.InvalidURL:
            raise RejectedRequest(f"The address of {self.name} is not a web address. Correct it.") from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise self._no_answer(error) from None
        except TimeoutError:
            raise BrokenStream(f"{self.name} hung: no answer began within {self._timeouts.first_byte:g} s.") from None
        except OSError as error:
            raise self._no_answer(error) from None

    async def _refusal(self, response: "aiohttp.ClientResponse") -> bytes:
        """Reads the body of a refusal; if it cannot be read, it is still a refusal."""
        import aiohttp

        try:
            async with asyncio.timeout(self._timeouts.tail):
                return await _at_most(response, MAX_ERROR_BYTES)
        except (TimeoutError, aiohttp.ClientError, OSError):
            return b""

    def _failure(self, response: "aiohttp.ClientResponse", refusal: bytes, model: str) -> Exception:
        fault = self._upstream.fault(response.status, refusal, model=model)
        if waiting_may_help(response.status, refusal):
            return TryAgain(fault, retry_after(response.headers), status=response.status)
        return fault

    def _no_answer(self, error: Exception) -> Exception:
        """Returns the fault as one to retry, unless the certificate is not trusted, which waiting does not fix."""
        fault = self._upstream.unreachable(error)
        return fault if isinstance(fault, Untrusted) else TryAgain(fault)


# --- the request

IMAGES = "images"  # no field of a request: what `without_images` takes out of its messages
_OF_IMAGES = ("image", "vision", "multimodal", "mmproj")
_OPTIONAL = ("stream_options", "temperature", "max_tokens", "response_format")


def _body(request: ModelRequest, model: str) -> Json:
    body: Json = {
        "model": model,
        "messages": [*_messages(request)],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": request.schema}}
    if request.offers:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": offer.name, "description": offer.description, "parameters": offer.schema},
            }
            for offer in request.offers
        ]
    return body


def _messages(request: ModelRequest) -> list[Json]:
    if request.offers:
        return openai_messages(request.messages, request.image_bytes)
    return [
        {"role": refusal.role, "content": openai_content(refusal, well_formed(refusal.content), request.image_bytes)}
        for refusal in request.messages
    ]


def _without(body: Json, refused: frozenset[str]) -> Json:
    remaining = {name: value for name, value in body.items() if name not in refused}
    if "max_tokens" in refused and "max_tokens" in body:
        # The newer name of the same limit: models that refuse one accept the other.
        remaining["max_completion_tokens"] = body["max_tokens"]
    if IMAGES in refused and isinstance(messages := body["messages"], list):
        remaining["messages"] = [without_images(message) for message in messages]
    return remaining


def _may_refuse_images(status: int, refusal: bytes, request: Json) -> bool:
    """Whether leaving the images out may help. A fault of the server counts only if it speaks of them."""
    messages = request["messages"]
    if not isinstance(messages, list) or all(without_images(message) is message for message in messages):
        return False
    text = refusal.decode("utf-8", "replace").lower()
    return status in (400, 404, 413, 415, 422) or (status >= 500 and any(word in text for word in _OF_IMAGES))


def _refused_field(status: int, refusal: bytes, request: Json) -> str | None:
    """Returns the optional field of this request that the server's refusal names, if any."""
    if status not in (400, 422):
        return None
    text = refusal.decode("utf-8", "replace")
    return next((name for name in _OPTIONAL if name in request and name in text), None)


async def _at_most(response: "aiohttp.ClientResponse", limit: int) -> bytes:
    body = b""
    while len(body) < limit and (piece := await response.content.readany()):
        body += piece
    return body[:limit]


async def plain_words(chunks: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk, None]:
    """Passes chunks on; text is unchanged unless the whole of it is an answer object."""
    unwrapping = JsonUnwrapper()
    async for chunk in chunks:
        if not isinstance(chunk, TextChunk):
            if remainder := unwrapping.rest():
                yield TextChunk(remainder)
            yield chunk
        elif text := unwrapping.feed(chunk.text):
            yield TextChunk(text)


class _Stage(Enum):
    OPENING = auto()
    WORDS = auto()
    OVER = auto()
    OTHER = auto()


class JsonUnwrapper:
    """Takes pieces and returns the text that is certain so far."""

    def __init__(self) -> None:
        self._stage = _Stage.OPENING
        self._held = ""

    def feed(self, text: str) -> str:
        self._held += text
        if self._stage is _Stage.OPENING:
            self._recognise()
        match self._stage:
            case _Stage.OTHER:
                return self.rest()
            case _Stage.WORDS:
                return self._words()
            case _:
                return ""

    def rest(self) -> str:
        """Returns the text that was held back, at the end."""
        remainder, self._held = self._held, ""
        return "" if self._stage is _Stage.OVER else remainder

    def _recognise(self) -> None:
        if opening := _OPENING.match(self._held):
            self._stage, self._held = _Stage.WORDS, self._held[opening.end() :]
        elif len(self._held) > _LONGEST_OPENING or not _BEGINS.fullmatch(self._held):
            self._stage = _Stage.OTHER

    def _words(self) -> str:
        """Returns everything up to the closing quote or to an incomplete escape."""
        texts: list[str] = []
        position = 0
        while position < len(self._held):
            if self._held[position] == '"':
                self._stage, self._held = _Stage.OVER, ""
                return "".join(texts)
            if self._held[position] != "\\":
                end = min(
                    (i for i in (self._held.find('"', position), self._held.find("\\", position)) if i >= 0),
                    default=len(self._held),
                )
                texts.append(self._held[position:end])
                position = end
                continue
            escape = self._escape_at(position)
            if escape is None:
                break
            texts.append(_character(escape))
            position += len(escape)
        self._held = self._held[position:]
        return "".join(texts)

    def _escape_at(self, position: int) -> str | None:
        """Returns one complete escape (a surrogate pair counts as one); None if more must arrive."""
        escape = _ESCAPE.match(self._held, position)
        if escape is None:
            return None
        if not _HALF.fullmatch(escape.group()):
            return escape.group()
        second = self._held[escape.end() : escape.end() + 6]
        if len(second) < 6 and "\\u"[: len(second)] == second[:2]:
            return None
        return escape.group() + (second if second.startswith("\\u") else "")


def _character(escape: str) -> str:
    try:
        character: str = json.loads(f'"{escape}"')  # noqa: TID251  # one character
    except ValueError:
        return escape
    return character.encode("utf-8", "replace").decode()  # half a pair is not text
