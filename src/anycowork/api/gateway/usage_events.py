"""Removes the usage event from a stream if the client did not ask for it."""

import re

import msgspec

MAX_EVENT_BYTES = 1024 * 1024
_END = re.compile(rb"\r?\n\r?\n")


class _Chunk(msgspec.Struct):
    choices: list[msgspec.Raw] | None = None
    usage: dict[str, msgspec.Raw] | None = None


_CHUNK = msgspec.json.Decoder(_Chunk)


class UsageEventFilter:
    """Passes whole events on as they come. An event that grows too long is no usage event, and passes as it is."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> bytes:
        """What may go on now."""
        rest, passed, start = self._rest + piece, [], 0
        for end in _END.finditer(rest, max(0, len(self._rest) - 3)):
            event, start = rest[start : end.end()], end.end()
            if not _only_tells_usage(event):
                passed.append(event)
        self._rest = rest[start:]
        if len(self._rest) > MAX_EVENT_BYTES:
            passed.append(self.end())
        return b"".join(passed)

    def end(self) -> bytes:
        """What is left when the stream is over."""
        rest, self._rest = self._rest, b""
        return b"" if _only_tells_usage(rest) else rest


def _only_tells_usage(event: bytes) -> bool:
    if b'"usage"' not in event or not event.startswith(b"data:"):
        return False
    try:
        chunk = _CHUNK.decode(event[5:].strip())
    except (msgspec.DecodeError, RecursionError):
        return False
    return chunk.choices == [] and chunk.usage is not None
