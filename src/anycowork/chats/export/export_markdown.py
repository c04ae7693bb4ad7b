"""Writes a chat as Markdown. Text of messages is quoted, so that none of it looks like a heading of ours; calls, output and diffs stand in
fences that nothing in them can end."""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from anycowork.chats.export.exported_chat import (
    ExportedChat,
    author,
    call_line,
    evidence_lines,
    printed_by_person,
    step_lines,
    unplanned_lines,
)
from anycowork.domain.attached_files import attached_files_of
from anycowork.domain.messages import Message, MessageType
from anycowork.domain.person_commands import PERSON_COMMAND

_TICKS = re.compile("`+")
_LINE_ENDS = re.compile("\r\n|\r|\n")


class MarkdownExport:
    has_changes = False

    def __init__(self, exported: ExportedChat) -> None:
        self._exported = exported

    def beginning(self) -> Iterator[str]:
        yield f"# {_one_line(self._exported.chat.title)}"
        yield ""
        yield from (f"- {name}: {_code(value)}" for name, value in self._exported.facts())

    def changes(self, messages: Sequence[Message]) -> Iterable[str]:
        return ()

    def messages(self, messages: Sequence[Message]) -> Iterator[str]:
        for message in messages:
            yield ""
            yield from _message(message)

    def end(self) -> Iterator[str]:
        yield from _plans(self._exported)
        yield from _evidence(self._exported)
        yield ""
        yield "## Audit"
        yield ""
        yield from (f"- {name}: {_code(value)}" for name, value in self._exported.audit_facts())


def _message(message: Message) -> Iterator[str]:
    payload = message.payload or {}
    match message.message_type:
        case MessageType.TOOL_CALL:
            yield f"**Call** {_code(call_line(payload))}"
            yield ""
            parameters = msgspec.json.format(msgspec.json.encode(payload.get("parameters")), indent=1).decode()
            yield from _fenced(parameters, "json")
        case MessageType.TOOL_RESULT:
            yield f"**Result** {_code(str(payload.get('tool') or ''))} {payload.get('status')}"
            yield ""
            yield from _fenced(message.content)
            diff = payload.get("diff")
            if isinstance(diff, str) and diff:
                yield from _fenced(diff, "diff")
        case _:
            yield f"## {author(message)} · {message.created_at[:16]}"
            yield ""
            if PERSON_COMMAND in payload:
                yield from _fenced(message.content)
            else:
                yield from _quoted(message.content)
            if printed := printed_by_person(message):
                yield from _fenced(printed)
            for file in attached_files_of(message):
                yield ""
                yield f"**Attached** {_code(file.name)}"
                yield ""
                yield from _fenced(file.content)


def _plans(exported: ExportedChat) -> Iterator[str]:
    for plan in exported.plans:
        yield ""
        yield f"## Plan against actual: {_one_line(str(plan.get('goal')))}"
        yield ""
        yield "| step | intended | status | done |"
        yield "|---|---|---|---|"
        yield from (f"| {' | '.join(map(_cell, row))} |" for row in step_lines(plan))
        if unplanned := unplanned_lines(plan):
            yield ""
            yield "Outside the plan:"
            yield from (f"- {_code(line)}" for line in unplanned)


def _evidence(exported: ExportedChat) -> Iterator[str]:
    if not exported.evidence:
        return
    yield ""
    yield "## Evidence"
    yield ""
    yield from (f"- Turn {_code(turn)}: {_code(line)}" for turn, line in evidence_lines(exported))


def _quoted(text: str) -> Iterator[str]:
    """Every heading, fence and list of the text ends with the quotation. A comment would hide all that follows it, so none begins."""
    for line in _LINE_ENDS.split(text.replace("<!--", "&lt;!--")):
        yield f"> {line}" if line else ">"


def _fenced(text: str, language: str = "") -> Iterator[str]:
    fence = "`" * max(3, _longest_run(text) + 1)
    yield f"{fence}{language}"
    yield text
    yield fence


def _code(text: str) -> str:
    ticks = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{_one_line(text)}{space}{ticks}" if text else ""


def _longest_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _one_line(text).replace("\\", "\\\\").replace("|", "\\|")
