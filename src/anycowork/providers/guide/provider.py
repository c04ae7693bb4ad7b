"""The guide as a `Provider`: it reads the conversation, says the next thing, and streams it like any model. No network, no state."""

import asyncio
from collections.abc import AsyncGenerator

from anycowork.domain.model import Chunk, Finished, ModelRequest, TextChunk, UsageChunk
from anycowork.providers.guide.conversation import read_conversation
from anycowork.providers.guide.script import reply

GUIDE = "guide"
_BYTES_PER_TOKEN = 4
_PIECE = 24  # characters


class Guide:
    """The embedded default. Its usage is an estimate by size, and costs nothing."""

    name = GUIDE

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Never fails: what it does not understand it says."""
        words = reply(read_conversation(request.messages))
        for start in range(0, len(words), _PIECE):
            yield TextChunk(words[start : start + _PIECE])
            await asyncio.sleep(0)  # others get their turn between two pieces, as they would with a model
        yield UsageChunk(prompt=sum(_tokens(said.content) for said in request.messages), completion=_tokens(words))
        yield Finished("stop")


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
