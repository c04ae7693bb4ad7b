"""The OpenAI-compatible client as tests use it: short time limits, no dice, and a clock that only counts."""

from collections.abc import AsyncIterator

from anycowork.domain.model import (
    Chunk,
    ModelRequest,
    PromptMessage,
    ReasoningChunk,
    ReplyFinished,
    TextChunk,
    UsageChunk,
)
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.http.retries import Backoff
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.provider import OpenAIProvider
from anycowork.providers.openai.upstream import Upstream

SECRET = "sk-very-secret-4711"
BRIEF = Timeouts(connect=60.0, first_byte=1.0, idle=1.0)  # for answers that never come, and no others


class Naps:
    """Stands in for sleeping: remembers how long, and does not."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def client(
    base_url: str,
    pool: HttpPool,
    *,
    naps: Naps | None = None,
    key: str | None = SECRET,
    timeouts: Timeouts | None = None,
) -> OpenAIProvider:
    upstream = Upstream(name="acme", base_url=base_url, key_env="ACME_KEY", key=lambda: key)
    return OpenAIProvider(
        upstream, pool, timeouts=timeouts or Timeouts(), backoff=Backoff(dice=lambda: 1.0), sleep=naps or Naps()
    )


def asking(text: str = "hi", *, model: str = "m", **more: float | int) -> ModelRequest:
    return ModelRequest(model=model, messages=(PromptMessage("user", text),), purpose="turn", **more)  # type: ignore[arg-type]  # test shorthand


async def all_of(chunks: AsyncIterator[Chunk]) -> list[Chunk]:
    return [chunk async for chunk in chunks]


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


def reasoning_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, ReasoningChunk))


def usage_of(chunks: list[Chunk]) -> UsageChunk | None:
    return next((chunk for chunk in chunks if isinstance(chunk, UsageChunk)), None)


def finish_of(chunks: list[Chunk]) -> ReplyFinished | None:
    return next((chunk for chunk in chunks if isinstance(chunk, ReplyFinished)), None)
