"""Unwraps an answer that a schema constrained: `{"answer": "text"}` becomes the text, while it streams."""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from enum import Enum, auto

from anycowork.domain.model import Chunk, TextChunk

_OPENING = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_BEGINS = re.compile(r'\s*(\{\s*("(a(n(s(w(e(r("\s*(:\s*)?)?)?)?)?)?)?)?)?)?')
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[^u])")
_LONGEST_OPENING = 200  # characters: checked again with every piece
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")


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
