"""Requests to models and their replies, and the Protocols of providers."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from anycowork.domain.images import Image
from anycowork.domain.messages import Json
from anycowork.domain.metering import Price
from anycowork.domain.values import leaf_value, value


@leaf_value
class ContentPart:
    """One of the messages merged into a prompt message. `call` is the tool call that it made, `answers` the id of the call whose
    result it is.

    `images` are its attachments; only a model with vision is shown them.
    """

    text: str
    call: Json | None = field(default=None, hash=False)
    answers: str | None = None
    images: tuple[Image, ...] = ()


@leaf_value
class PromptMessage:
    """One message of a prompt. `role` is system, user or assistant; `parts` is the same content as separate messages, for providers
    with native tool calls."""

    role: str
    content: str
    parts: tuple[ContentPart, ...] = ()


class ToolCallStyle(StrEnum):
    """How a model calls tools."""

    TEXT = "text"  # described in the prompt, and parsed from its text
    SCHEMA = "schema"  # its decoder is constrained to a JSON schema of all allowed replies
    NATIVE = "native"  # through the provider's function calling


LEAST_NATIVE_CONTEXT = (
    2_730  # tokens; in a smaller context, schemas leave no space for the work itself, so tools are described as text
)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options of a model. `brief`: it is small and slow, so it gets a short prompt with examples, and short results.

    `images`: it accepts images. `tries_images`: whether it does is not known, so they are sent, and left out if its server refuses them.
    """

    calling: ToolCallStyle = ToolCallStyle.TEXT
    brief: bool = False
    temperature: float | None = None
    max_tokens: int | None = None
    images: bool = False
    tries_images: bool = False


SMALL_MODEL = ModelOptions(calling=ToolCallStyle.SCHEMA, brief=True, temperature=0.0, max_tokens=1_024)
"""For a model that writes calls right only when a schema limits it, and that may go on for ever if nothing ends its reply."""

LONGEST_REPLY = 400_000  # characters of answer and thinking together, and of native calls


@value
class ToolDefinition:
    """A tool definition for a model with native tool calls."""

    name: str
    description: str
    schema: Json = field(hash=False)


@value
class ModelRequest:
    """A request to a model. `offers` are the tools that it may call natively; its calls then arrive as `CallChunk`s.

    `image_bytes` are the bytes of the parts' images, by hash; an image that is not among them is not shown. With `tries_images` they are
    left out if the server refuses them.
    With a `schema` the model can only produce matching JSON; a text answer is then the schema's `{"answer": …}`, and is returned as plain text.
    """

    model: str
    messages: tuple[PromptMessage, ...]
    purpose: str
    max_tokens: int | None = None
    temperature: float | None = None
    schema: Json | None = field(default=None, hash=False)
    offers: tuple[ToolDefinition, ...] = ()
    image_bytes: Mapping[str, bytes] = field(default_factory=dict, hash=False)
    tries_images: bool = False


@value
class SamplingPrompt:
    """A prompt that an MCP server wants a model to answer, exactly as the person saw it."""

    messages: tuple[PromptMessage, ...]
    max_tokens: int


@value
class SampledReply:
    text: str
    model: str
    cut_off: bool = False


@value
class CallChunk:
    """A complete native tool call, in the strict form of text calls. Content that cannot be parsed is included unchanged."""

    text: str


@value
class TextChunk:
    text: str


@value
class ReasoningChunk:
    text: str


@value
class UsageChunk:
    prompt: int
    completion: int
    cached: int = 0
    reasoning: int = 0


@value
class ReplyFinished:
    """The end of a reply. `reason` is the provider's; `length` means that the answer was cut off."""

    reason: str | None = None


@value
class RetryChunk:
    """The provider failed and now waits so many seconds before it tries again. It comes before all other chunks.

    `attempt` is the one that follows (the first is 1), `reason` the code of the fault, `status` the HTTP status if there was an answer.
    """

    seconds: float
    attempt: int
    tries: int
    reason: str
    status: int | None = None

    def to_json(self) -> Json:
        return {
            "seconds": self.seconds,
            "attempt": self.attempt,
            "tries": self.tries,
            "reason": self.reason,
            "status": self.status,
        }


Chunk = TextChunk | ReasoningChunk | CallChunk | UsageChunk | RetryChunk | ReplyFinished


@value
class ModelFacts:
    """What is known of a model; None: unknown."""

    context_tokens: int | None = None
    price: Price | None = None
    images: bool | None = None
    native_calls: bool | None = None

    def to_json(self) -> Json:
        price = self.price
        return {
            "context_tokens": self.context_tokens,
            "images": self.images,
            "native_calls": self.native_calls,
            "price": None if price is None else {"input": price.input, "output": price.output, "cached": price.cached},
        }


UNKNOWN_MODEL = ModelFacts()


FindModelFacts = Callable[[str | None, str], ModelFacts]
"""Returns what is known of the model at this address; its price holds there alone."""


@value
class ContextSize:
    """The size of a context window in tokens. Not `known`: it is an assumption."""

    tokens: int
    known: bool = True


class Provider(Protocol):
    name: str

    def answer(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Stream the reply. Raises: ProviderFault. The provider may retry before the first chunk, and yields a `RetryChunk`
        before each wait; after another chunk nothing is retried."""
