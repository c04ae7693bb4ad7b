"""The guide as a `Provider`: reads the conversation, chooses the next reply, and streams it like a model. No network, no state."""

import asyncio
from collections.abc import AsyncGenerator

from anycowork.domain.model import Chunk, ModelRequest, ReplyFinished, TextChunk, UsageChunk
from anycowork.providers.guide.conversation import read_conversation
from anycowork.providers.guide.script import reply

GUIDE = "guide"
_BYTES_PER_TOKEN = 4
_PIECE = 24  # characters


class Guide:
    """The built-in default provider. Its usage is estimated by size, and costs nothing."""

    name = GUIDE

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Never fails: it says so if it does not understand."""
        text = reply(read_conversation(request.messages))
        for start in range(0, len(text), _PIECE):
            yield TextChunk(text[start : start + _PIECE])
            await asyncio.sleep(0)  # lets other tasks run between two chunks, as with a real model
        yield UsageChunk(
            prompt=sum(_tokens(prompt_message.content) for prompt_message in request.messages),
            completion=_tokens(text),
        )
        yield ReplyFinished("stop")


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
