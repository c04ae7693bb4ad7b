"""Reads the usage from an answer that passes through, without delaying or changing it; keeps its last bytes for that.

The owner of the answer asks when it is over. If the answer names no usage, it is estimated, and marked so.
"""

import re
import zlib
from collections import deque
from collections.abc import Iterator
from json import JSONDecoder

import msgspec

from anycowork.domain.metering import TokenUsage, reported_tokens

KEPT_BYTES = 64 * 1024
MAX_INFLATED = 64 * 1024 * 1024
BYTES_PER_TOKEN = 4
_WRAPPING = 512  # bytes of an event that count as its wrapping, at most
_INFLATABLE = (b"gzip", b"x-gzip", b"deflate")
_GZIP_OR_ZLIB = 47  # accepts either


class UsageWatch:
    """Call `see` with every piece, then `used`. A compressed answer is inflated as it passes, up to `MAX_INFLATED`."""

    __slots__ = ("_events", "_kept", "_kept_bytes", "_opening", "_sealed", "_seen", "_status", "_streamed", "_wrapping")

    def __init__(self, status: int, *, content_type: bytes, encoding: bytes) -> None:
        self._status = status
        self._streamed = content_type.lstrip().lower().startswith(b"text/event-stream")
        encoding = encoding.strip().lower()
        self._opening = Inflater() if encoding in _INFLATABLE else None
        self._sealed = encoding not in (b"", b"identity", *_INFLATABLE)
        self._kept: deque[bytes] = deque()
        self._kept_bytes = self._seen = self._events = self._wrapping = 0

    def see(self, piece: bytes) -> None:
        if self._opening is None:
            self._inspect(piece)
        elif not self._sealed:
            try:
                for part in self._opening.parts(piece):
                    self._inspect(part)
            except zlib.error:
                self._sealed = True

    def _inspect(self, piece: bytes) -> None:
        size = len(piece)
        if self._streamed:
            self._events += piece.count(b"data:")
            # The first event has no text yet, so its length is the wrapping of each event.
            self._wrapping = self._wrapping or min(piece.find(b"\n") + 1, _WRAPPING)
        self._seen += size
        self._kept.append(piece)
        self._kept_bytes += size
        while self._kept_bytes - len(self._kept[0]) >= KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft())

    def used(self, expected: TokenUsage, *, complete: bool, in_full: bool = False) -> TokenUsage:
        """Returns the usage that the answer names, or else an estimate; a refusal uses nothing.

        `in_full`: usage that no complete answer named counts as everything expected, and more if more was seen.
        """
        if not 200 <= self._status < 300 or self._status == 204:
            return TokenUsage()
        if self._sealed:
            return expected
        tail = b"".join(self._kept)
        usage = read_usage(tail, complete=self._seen == self._kept_bytes, streamed=self._streamed) if tail else None
        if in_full and (usage is None or not complete):
            return self._at_least(expected, usage or TokenUsage())
        if usage is not None:
            return usage
        if not (self._streamed or complete):
            return expected
        return TokenUsage(expected.prompt, self._estimated() if expected.completion else 0, estimated=True)

    def _at_least(self, expected: TokenUsage, reported: TokenUsage) -> TokenUsage:
        seen = self._estimated() if expected.completion else 0
        return TokenUsage(
            max(expected.prompt, reported.prompt), max(expected.completion, reported.completion, seen), estimated=True
        )

    def _estimated(self) -> int:
        if not self._streamed:
            return -(-self._seen // BYTES_PER_TOKEN)
        return max(self._events, (self._seen - self._events * self._wrapping) // BYTES_PER_TOKEN)


class Inflater:
    """Inflates gzip or zlib piece by piece. Each output and the total are bounded."""

    __slots__ = ("_left", "_opening")

    def __init__(self) -> None:
        self._opening = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
        self._left = MAX_INFLATED

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """Raises: zlib.error if the data is damaged, or larger than any real answer."""
        while piece:
            if self._opening.eof:  # several streams may follow one another
                self._opening = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
            part = self._opening.decompress(piece, KEPT_BYTES)
            self._left -= len(part)
            if self._left < 0:
                raise zlib.error("larger than any real answer")
            if part:
                yield part
            piece = self._opening.unconsumed_tail or self._opening.unused_data


# --- parsing


class _Cached(msgspec.Struct):
    cached_tokens: int | None = None


class _Reasoning(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    """Chat completions and embeddings on the left, responses on the right."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None
    completion_tokens_details: _Reasoning | None = None
    prompt_cache_hit_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Cached | None = None
    output_tokens_details: _Reasoning | None = None

    def used(self) -> TokenUsage | None:
        prompt, completion = (
            _first(self.prompt_tokens, self.input_tokens),
            _first(self.completion_tokens, self.output_tokens),
        )
        if prompt is None and completion is None:
            return None
        prompt_details, thought = (
            self.prompt_tokens_details or self.input_tokens_details,
            self.completion_tokens_details or self.output_tokens_details,
        )
        return TokenUsage(
            prompt=reported_tokens(prompt),
            completion=reported_tokens(completion),
            cached=reported_tokens(
                (prompt_details.cached_tokens if prompt_details else None) or self.prompt_cache_hit_tokens
            ),
            reasoning=reported_tokens(thought.reasoning_tokens if thought else None),
        )


class _Inner(msgspec.Struct):
    usage: _Usage | None = None


class _Completion(msgspec.Struct):
    """An answer or an event; the last event of a response carries the response, and Groq uses a separate field."""

    usage: _Usage | None = None
    response: _Inner | None = None
    x_groq: _Inner | None = None


_COMPLETION = msgspec.json.Decoder(_Completion)
_USAGE = msgspec.json.Decoder(_Usage)
_KEY = re.compile(rb'"usage"\s*:\s*(?=\{)')


def read_usage(tail: bytes, *, complete: bool, streamed: bool) -> TokenUsage | None:
    """Returns the last usage in these final bytes of an answer; None if there is none."""
    if b'"usage"' not in tail:
        return None
    if not streamed and complete:
        return _usage_in(tail)
    for line in reversed(tail.splitlines()) if streamed else ():
        if line.startswith(b"data:") and b'"usage"' in line and (usage := _usage_in(line[5:])):
            return usage
    return None if complete else _usage_at_end(tail)


def _usage_in(text: bytes) -> TokenUsage | None:
    try:
        decoded = _COMPLETION.decode(text)
    except (ValueError, RecursionError):
        return None
    usages = (decoded.usage, decoded.response and decoded.response.usage, decoded.x_groq and decoded.x_groq.usage)
    return next((used for usage in usages if usage and (used := usage.used())), None)


def _usage_at_end(tail: bytes) -> TokenUsage | None:
    """Searches the rest of an object whose start is missing. In a text that mentions usage, quotes are escaped."""
    for key in reversed(list(_KEY.finditer(tail))):
        text = tail[key.end() :].decode("utf-8", "replace")
        try:
            _, end = JSONDecoder().raw_decode(text)
            if used := _USAGE.decode(text[:end]).used():
                return used
        except (ValueError, RecursionError):
            continue
    return None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
