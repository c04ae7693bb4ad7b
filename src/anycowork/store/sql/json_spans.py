"""Finds values in JSON text without reading them: where each member of an object or element of a list begins and ends.

The text may be a mapped file. It must be valid JSON: `check_syntax` tells, at the speed of C and without memory.
"""

import re
from collections.abc import Iterator
from mmap import mmap

import msgspec

JsonText = bytes | mmap
Span = tuple[int, int]
"""The places of a value's first byte and of the byte after its last."""

_NOT_SPACE = re.compile(rb"[^ \t\r\n]")
_BRACKET_OR_QUOTE = re.compile(rb'["\[\]{}]')
_AFTER_SCALAR = re.compile(rb"[,\]} \t\r\n]")
_LINE_BREAK = re.compile(rb"\r\n|\r|\n")
_OPENING, _CLOSING = frozenset(b"[{"), frozenset(b"]}")
_QUOTE, _BACKSLASH, _COMMA = b'"\\,'


def check_syntax(text: JsonText, span: Span) -> None:
    """Raises: msgspec.DecodeError; RecursionError for a thousand brackets within each other."""
    msgspec.json.decode(memoryview(text)[slice(*span)], type=msgspec.Raw)


def value_begin(text: JsonText, at: int) -> int | None:
    """Returns the next place that is no white space, or None at the end of the text."""
    found = _NOT_SPACE.search(text, at)
    return found.start() if found else None


def members(text: JsonText, at: int) -> Iterator[tuple[Span, Span]]:
    """Yields name and value of each member of the object that begins here."""
    at = _skip_space(text, at + 1)
    while text[at] not in _CLOSING:
        name = (at, _value_end(text, at))
        colon = _skip_space(text, name[1])
        begin = _skip_space(text, colon + 1)
        end = _value_end(text, begin)
        yield name, (begin, end)
        at = _next(text, end)


def elements(text: JsonText, at: int) -> Iterator[Span]:
    """Yields each element of the list that begins here."""
    at = _skip_space(text, at + 1)
    while text[at] not in _CLOSING:
        end = _value_end(text, at)
        yield at, end
        at = _next(text, end)


def lines(text: JsonText, at: int) -> Iterator[Span]:
    """Yields each line from here on, without its line break."""
    for found in _LINE_BREAK.finditer(text, at):
        yield at, found.start()
        at = found.end()
    yield at, len(text)


def _next(text: JsonText, end: int) -> int:
    """Returns the place after a value and its comma: of the next value, or of the closing bracket."""
    at = _skip_space(text, end)
    return _skip_space(text, at + 1) if text[at] == _COMMA else at


def _value_end(text: JsonText, at: int) -> int:
    if text[at] == _QUOTE:
        return _text_end(text, at)
    if text[at] not in _OPENING:
        after = _AFTER_SCALAR.search(text, at)
        return after.start() if after else len(text)
    depth = 1
    while depth:
        found = _BRACKET_OR_QUOTE.search(text, at + 1)
        assert found is not None  # the text is valid JSON
        at = found.start()
        if text[at] == _QUOTE:
            at = _text_end(text, at) - 1
        else:
            depth += 1 if text[at] in _OPENING else -1
    return at + 1


def _text_end(text: JsonText, at: int) -> int:
    """A quote ends the text unless an odd number of backslashes stands before it."""
    while True:
        at = text.find(b'"', at + 1)
        before = at - 1
        while text[before] == _BACKSLASH:
            before -= 1
        if (at - before) % 2:
            return at + 1


def _skip_space(text: JsonText, at: int) -> int:
    found = _NOT_SPACE.search(text, at)
    assert found is not None  # the text is valid JSON
    return found.start()
