"""Splits `<think>…</think>` from the answer while it streams, at any chunk boundary. Pure state, no I/O."""

from anycowork.domain.values import value

OPEN, CLOSE = "<think>", "</think>"


@value
class ThinkPiece:
    thinking: bool
    text: str


class ThinkSplitter:
    """Splits streamed text; returns pieces as soon as they cannot be part of a tag."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False

    def feed(self, text: str) -> list[ThinkPiece]:
        if not self._held and "<" not in text:  # the usual case
            return [ThinkPiece(self._thinking, text)] if text else []
        held, start = self._held + text, 0
        pieces: list[ThinkPiece] = []
        while (at := held.find(self._tag, start)) >= 0:
            pieces.append(ThinkPiece(self._thinking, held[start:at]))
            start = at + len(self._tag)
            self._thinking = not self._thinking
        end = len(held) - _tag_start_at_end(held[start:], self._tag)
        pieces.append(ThinkPiece(self._thinking, held[start:end]))
        self._held = held[end:]
        return [piece for piece in pieces if piece.text]

    def flush(self) -> list[ThinkPiece]:
        """Return the text that is still held at the end of the stream."""
        rest, self._held = self._held, ""
        return [ThinkPiece(self._thinking, rest)] if rest else []

    @property
    def _tag(self) -> str:
        return CLOSE if self._thinking else OPEN


def _tag_start_at_end(text: str, tag: str) -> int:
    """Return how many characters at the end of the text may be the beginning of the tag."""
    return next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:n])), 0)
