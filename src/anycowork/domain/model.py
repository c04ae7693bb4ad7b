"""The exchange with a model: what it is shown and asked, what comes back, and the Protocols of whoever answers."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from anycowork.domain.images import Image
from anycowork.domain.messages import Json
from anycowork.domain.values import leaf_value, value


@leaf_value
class ContentPart:
    """One message of those that were merged. `call` is the call that it made, `answers` the id of the call that it is the result of.

    `images` came with it; only a model that sees is shown them.
    """

    text: str
    call: Json | None = field(default=None, hash=False)
    answers: str | None = None
    images: tuple[Image, ...] = ()


@leaf_value
class PromptMessage:
    """What a model is shown of one side. `role` is system, user or assistant; `parts` say the same apart, for whoever shows calls as calls."""

    role: str
    content: str
    parts: tuple[ContentPart, ...] = ()


class Calling(StrEnum):
    """How a model is brought to call tools."""

    TEXT = "text"  # told in the prompt, and read from its words
    SCHEMA = "schema"  # its decoder is held to a JSON schema of every reply that is allowed
    NATIVE = "native"  # tools are offered and called through the provider's own function calling


LEAST_NATIVE_CONTEXT = 2_730  # tokens; in fewer, schemas leave no room for the work itself, and tools are told as text


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What is known of a model beside its name. `brief`: small and slow, so it is told little, by examples, and shown short results.

    `images`: it can be shown images.
    """

    calling: Calling = Calling.TEXT
    brief: bool = False
    temperature: float | None = None
    max_tokens: int | None = None
    images: bool = False


LONGEST_REPLY = 400_000  # characters of answer and thinking together, and of native calls


@value
class Offer:
    """A tool as it is offered to a model that calls natively."""

    name: str
    description: str
    schema: Json = field(hash=False)


@value
class ModelRequest:
    """`offers` are the tools that it may call natively; its calls then come as `CallChunk`s.

    `image_bytes` are the bytes of the parts' images, by hash; an image that is not among them is not shown.
    With a `schema` the model can say nothing else; an answer in words is then the schema's `{"answer": …}`, and comes out as plain words.
    """

    model: str
    messages: tuple[PromptMessage, ...]
    purpose: str
    max_tokens: int | None = None
    temperature: float | None = None
    schema: Json | None = field(default=None, hash=False)
    offers: tuple[Offer, ...] = ()
    image_bytes: Mapping[str, bytes] = field(default_factory=dict, hash=False)


@value
class CallChunk:
    """A whole call that the model made natively, in the strict form that others write. What cannot be read stands in it as it came."""

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
class Finished:
    """`reason` as the provider gave it; `length` means that the answer was cut off."""

    reason: str | None = None


Chunk = TextChunk | ReasoningChunk | CallChunk | UsageChunk | Finished


class Provider(Protocol):
    name: str

    def answer(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Raises: ProviderFault. Retries before the first chunk are the provider's own affair; after it nothing is retried."""


class Providers(Protocol):
    def find(self, model_id: str | None) -> tuple[Provider, str]:
        """The provider and its own name for the model; None means the default. Raises: NoSuchModel."""

    def lasting_id(self) -> str | None:
        """The default model by its whole name, for a chat to keep; None while none is connected."""

    def context_tokens(self, model_id: str | None) -> int:
        """How many tokens the model can be shown."""

    def options(self, model_id: str | None) -> ModelOptions:
        """How this model wants to be asked. Raises: NoSuchModel."""
