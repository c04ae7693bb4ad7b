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


def value_begin(text: JsonText, offset: int) -> int | None:
    """Returns the next place that is no white space, or None at the end of the text."""
    match = _NOT_SPACE.search(text, offset)
    return match.start() if match else None


def members(text: JsonText, position: int) -> Iterator[tuple[Span, Span]]:
    """Yields name and value of each member of the object that begins here."""
    position = _skip_space(text, position + 1)
    while text[position] not in _CLOSING:
        name = (position, _value_end(text, position))
        colon = _skip_space(text, name[1])
        begin = _skip_space(text, colon + 1)
        end = _value_end(text, begin)
        yield name, (begin, end)
        position = _next(text, end)


def elements(text: JsonText, position: int) -> Iterator[Span]:
    """Yields each element of the list that begins here."""
    position = _skip_space(text, position + 1)
    while text[position] not in _CLOSING:
        end = _value_end(text, position)
        yield position, end
        position = _next(text, end)


def lines(text: JsonText, position: int) -> Iterator[Span]:
    """Yields each line from here on, without its line break."""
    for line_break in _LINE_BREAK.finditer(text, position):
        yield position, line_break.start()
        position = line_break.end()
    yield position, len(text)


def _next(text: JsonText, end: int) -> int:
    """Returns the place after a value and its comma: of the next value, or of the closing bracket."""
    position = _skip_space(text, end)
    return _skip_space(text, position + 1) if text[position] == _COMMA else position


def _value_end(text: JsonText, position: int) -> int:
    if text[position] == _QUOTE:
        return _text_end(text, position)
    if text[position] not in _OPENING:
        after = _AFTER_SCALAR.search(text, position)
        return after.start() if after else len(text)
    depth = 1
    while depth:
        match = _BRACKET_OR_QUOTE.search(text, position + 1)
        assert match is not None  # the text is valid JSON
        position = match.start()
        if text[position] == _QUOTE:
            position = _text_end(text, position) - 1
        else:
            depth += 1 if text[position] in _OPENING else -1
    return position + 1


def _text_end(text: JsonText, position: int) -> int:
    """A quote ends the text unless an odd number of backslashes stands before it."""
    while True:
        position = text.find(b'"', position + 1)
        before = position - 1
        while text[before] == _BACKSLASH:
            before -= 1
        if (position - before) % 2:
            return position + 1


def _skip_space(text: JsonText, position: int) -> int:
    match = _NOT_SPACE.search(text, position)
    assert match is not None  # the text is valid JSON
    return match.start()
