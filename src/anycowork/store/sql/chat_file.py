"""Reads chats from a file of any size, one message at a time. A chat that cannot be read in full is reported and not returned."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec
from pydantic import JsonValue

from anycowork.domain.bounded_json import MAX_DEPTH, is_too_deep
from anycowork.domain.messages import Json
from anycowork.domain.values import mutable_value, value
from anycowork.store.sql import json_spans
from anycowork.store.sql.json_spans import JsonText, Span

LARGEST_VALUE = 64 << 20  # bytes of one message, and of all else that a chat has
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MARKS_OF_A_CHAT = {"messages", "id", "session_id", "config", "title", "agent_role", "agent_mode"}
_LISTS_OF_CHATS = (b'"contexts"', b'"chats"')
_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class StoredChat:
    """A chat in a file. Every message of it was read once, so reading them again raises nothing."""

    where: str
    fields: Json
    """All but a list of messages."""
    content_hash: str
    text: JsonText
    messages_at: int | None

    def messages(self) -> Iterator[JsonValue]:
        return _messages(self.text, self.messages_at)


class UnreadableValue(ValueError):
    """A value in the file that cannot be taken. The text says why."""


MOST_LISTED = 1_000  # a file may hold a million wrong values


@value
class ImportProblem:
    """A part that could not be imported. `where` names the line or the item, counted from 1."""

    where: str
    reason: str


@mutable_value
class ImportReport:
    chats: int = 0
    messages: int = 0
    already_there: int = 0
    problems: list[ImportProblem] = field(default_factory=list)
    notes: list[ImportProblem] = field(default_factory=list)
    not_listed: int = 0

    def problem(self, where: str, reason: str) -> None:
        self._list(self.problems, ImportProblem(where, reason))

    def note(self, where: str, reason: str) -> None:
        self._list(self.notes, ImportProblem(where, reason))

    def add(self, other: "ImportReport") -> None:
        self.chats += other.chats
        self.messages += other.messages
        self.already_there += other.already_there
        self.not_listed += other.not_listed
        for problem in other.problems:
            self._list(self.problems, problem)
        for note in other.notes:
            self._list(self.notes, note)

    def _list(self, listed: list[ImportProblem], problem: ImportProblem) -> None:
        if len(listed) < MOST_LISTED:
            listed.append(problem)
        else:
            self.not_listed += 1


def chats_in(text: JsonText, report: ImportReport) -> Iterator[StoredChat]:
    """Yields the chats of a file: an object, a list, `contexts` or `chats`, or JSON lines. All else is added to the report.

    A file that is neither valid JSON nor JSON lines yields nothing.
    """
    start = len(_BYTE_ORDER_MARK) if text[: len(_BYTE_ORDER_MARK)] == _BYTE_ORDER_MARK else 0
    try:
        json_spans.check_syntax(text, (start, len(text)))
        spans = _whole(text, start, report)
    except msgspec.DecodeError as error:
        spans = _lines(text, start, report, error)
    except RecursionError as error:
        report.problem("file", _reason(error))
        return
    for where, span in spans:
        try:
            yield _chat(text, span, where)
        except _UNREADABLE as error:
            report.problem(where, _reason(error))


def _whole(text: JsonText, start: int, report: ImportReport) -> Iterator[tuple[str, Span]]:
    begin = json_spans.value_begin(text, start) or 0
    listed = _list_of_chats(text, begin) if _kind(text, begin) == "an object" else begin
    if listed is None:
        return iter([("item 1", (begin, len(text)))])
    if _kind(text, listed) != "a list":
        report.problem("file", f"a file holds chats, this is {_kind(text, listed)}")
        return iter(())
    return ((f"item {number}", span) for number, span in enumerate(json_spans.elements(text, listed), 1))


def _list_of_chats(text: JsonText, position: int) -> int | None:
    lists = {
        text[slice(*name)]: begin
        for name, (begin, _) in json_spans.members(text, position)
        if name[1] - name[0] <= 10 and _kind(text, begin) == "a list"
    }
    return next((lists[name] for name in _LISTS_OF_CHATS if name in lists), None)


def _lines(text: JsonText, start: int, report: ImportReport, error: msgspec.DecodeError) -> Iterator[tuple[str, Span]]:
    """Yields the lines that are JSON. Where none is, the file is one broken document, and the error of the whole is the one to report."""
    wrong, good = ImportReport(), False
    for number, span in enumerate(json_spans.lines(text, start), 1):
        begin = json_spans.value_begin(text, span[0])
        if begin is None or begin >= span[1]:
            continue
        try:
            json_spans.check_syntax(text, span)
        except (msgspec.DecodeError, RecursionError) as fault:
            wrong.problem(f"line {number}", _reason(fault))
            continue
        if not good:
            good = True
            report.add(wrong)
            wrong = report
        yield f"line {number}", (begin, span[1])
    if not good:
        report.problem("file", f"{_reason(error)}. Nothing of it was imported")


def _chat(text: JsonText, span: Span, where: str) -> StoredChat:
    """Raises: UnreadableValue, msgspec.DecodeError, UnicodeDecodeError, RecursionError."""
    start = span[0]
    if _kind(text, start) != "an object":
        raise UnreadableValue(f"a chat is an object, this is {_kind(text, start)}")
    fields: Json = {}
    messages_at, size = None, 0
    for key, (begin, end) in json_spans.members(text, start):
        size += key[1] - key[0]
        name = "" if size > LARGEST_VALUE else str(_decode(text, key))
        if name == "messages" and _kind(text, begin) == "a list":
            messages_at = begin
            fields.pop(name, None)
            continue
        size += end - begin
        if size > LARGEST_VALUE:
            raise UnreadableValue(f"it has more than {LARGEST_VALUE >> 20} MB beside its messages")
        messages_at = None if name == "messages" else messages_at
        fields[name] = _read(text, (begin, end))
    if not _MARKS_OF_A_CHAT & fields.keys() and messages_at is None:
        raise UnreadableValue("a chat has 'messages', this object has none")
    return StoredChat(where, fields, _content_hash(text, fields, messages_at), text, messages_at)


def _content_hash(text: JsonText, fields: Json, messages_at: int | None) -> str:
    """Returns the hash of the chat with all names sorted, as if it were encoded as a whole."""
    digest = sha256()
    names = sorted([*fields, "messages"] if messages_at is not None else fields)
    for index, name in enumerate(names):
        digest.update(b"{" if index == 0 else b",")
        digest.update(_encode(name) + b":")
        if name in fields:
            digest.update(_encode(fields[name]))
            continue
        mark = b"["
        for message in _messages(text, messages_at):
            digest.update(mark + _encode(message))
            mark = b","
        digest.update(b"]" if mark == b"," else b"[]")
    digest.update(b"}")
    return digest.hexdigest()


def _messages(text: JsonText, begin: int | None) -> Iterator[JsonValue]:
    for number, span in enumerate(json_spans.elements(text, begin) if begin is not None else (), 1):
        try:
            yield _read(text, span)
        except _UNREADABLE as error:
            raise UnreadableValue(f"message {number}: {_reason(error)}") from None


def _read(text: JsonText, span: Span) -> JsonValue:
    if span[1] - span[0] > LARGEST_VALUE:
        raise UnreadableValue(f"it has more than {LARGEST_VALUE >> 20} MB")
    value, source = _decode(text, span), text[slice(*span)]
    if is_too_deep(value, source):
        raise UnreadableValue(_TOO_DEEP)
    return value


def _decode(text: JsonText, span: Span) -> JsonValue:
    decoded: JsonValue = msgspec.json.decode(text[slice(*span)])
    return decoded


_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, UnreadableValue)
_TOO_DEEP = f"it is nested deeper than {MAX_DEPTH} levels, so it was not read"


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    return str(error) if isinstance(error, UnreadableValue) else f"not JSON ({error})"


def _kind(text: JsonText, position: int) -> str:
    first = text[position : position + 1]
    names = {
        b"{": "an object",
        b"[": "a list",
        b'"': "text",
        b"t": "true or false",
        b"f": "true or false",
        b"n": "null",
    }
    return names.get(first, "a number")
