"""Writes a chat as one HTML page that needs nothing else: plan against actual, diffs, the conversation, and the end of the audit chain.

Every text is escaped, and the page's own policy allows neither scripts nor requests.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from html import escape

from anycowork.chats.export.exported_chat import (
    ExportedChat,
    author,
    call_line,
    diffs,
    evidence_lines,
    printed_by_person,
    step_lines,
    unplanned_lines,
)
from anycowork.domain.attached_files import attached_files_of
from anycowork.domain.messages import Message, MessageType
from anycowork.domain.visible_text import UntrustedText, bare_lines, visible

MOST_NAMED = 3
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881 }
body { font: 15px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.5rem } h3 { font-size: 1rem; margin: 1.5rem 0 .3rem }
table { border-collapse: collapse; width: 100% } td, th { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top }
pre, .text { white-space: pre-wrap; overflow-wrap: anywhere } pre { background: var(--soft); padding: .7rem; border-radius: .4rem; font-size: 13px }
code { overflow-wrap: anywhere } summary { cursor: pointer } .person { border-left: 3px solid #36c; padding-left: .8rem }
.add { color: #087a3c } .del { color: #b3261e } .hunk { opacity: .65 } dt { font-weight: 600 } dd { margin: 0 0 .3rem 0 }
@media (prefers-color-scheme: dark) { .add { color: #5fd38f } .del { color: #ff8a80 } }
"""


class HtmlReport:
    """All diffs come before the conversation, so that the messages are read twice."""

    has_changes = True

    def __init__(self, exported: ExportedChat) -> None:
        self._exported = exported
        self._changes_begun = False
        self._conversation_begun = False

    def beginning(self) -> Iterator[str]:
        title = _text(self._exported.chat.title)
        yield f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>'
        yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
        yield from _facts(self._exported.facts())
        yield from _plans(self._exported)

    def changes(self, messages: Sequence[Message]) -> Iterator[str]:
        for tool, diff in diffs(messages):
            if not self._changes_begun:
                self._changes_begun = True
                yield "<h2>Changes</h2>"
            yield f"<h3>{_text(_changed_files(diff) or _spaced(tool))}</h3>"
            yield _diff(diff)

    def messages(self, messages: Sequence[Message]) -> Iterator[str]:
        yield from self._conversation_heading()
        for message in messages:
            yield from _message(message)

    def end(self) -> Iterator[str]:
        yield from self._conversation_heading()
        if self._exported.evidence:
            yield "<h2>Evidence</h2>"
            yield from _facts(evidence_lines(self._exported))
        yield "<h2>Audit</h2>"
        yield from _facts(self._exported.audit_facts())
        yield "</body>\n</html>"

    def _conversation_heading(self) -> Iterator[str]:
        if not self._conversation_begun:
            self._conversation_begun = True
            yield "<h2>Conversation</h2>"


def _facts(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield "<dl>"
    yield from (f"<dt>{_text(name)}</dt><dd>{_text(_day_and_time(value))}</dd>" for name, value in facts)
    yield "</dl>"


def _plans(exported: ExportedChat) -> Iterator[str]:
    if not exported.plans:
        return
    yield "<h2>Plan against actual</h2>"
    for plan in exported.plans:
        yield f"<h3>{_text(str(plan.get('goal')))}: {_text(str(plan.get('status')))}</h3>"
        yield "<table><thead><tr><th>Step</th><th>Intended</th><th>Status</th><th>Done</th></tr></thead><tbody>"
        for row in step_lines(plan):
            yield f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>"
        yield "</tbody></table>"
        if unplanned := unplanned_lines(plan):
            yield f"<p>Outside the plan:</p><ul>{''.join(f'<li>{_text(line)}</li>' for line in unplanned)}</ul>"


def _message(message: Message) -> Iterator[str]:
    payload = message.payload or {}
    match message.message_type:
        case MessageType.TOOL_CALL:
            tool, _, subject = call_line(payload).partition(" ")
            about = f": <code>{_text(subject)}</code>" if subject else ""
            yield f"<h3>{_text(_spaced(tool).capitalize())}{about}</h3>"
        case MessageType.TOOL_RESULT:
            summary = f"Result: {_text(str(payload.get('status')))}"
            yield f"<details><summary>{summary}</summary><pre>{_text(message.content)}</pre></details>"
        case _:
            person = " person" if message.role == "user" else ""
            yield f"<h3>{_text(author(message))} · {_text(_day_and_time(message.created_at))}</h3>"
            yield f'<div dir="auto" class="text{person}">{_text(message.content)}</div>'
            if printed := printed_by_person(message):
                yield f"<details><summary>Output</summary><pre>{_text(printed)}</pre></details>"
            for file in attached_files_of(message):
                summary = f"Attached: {_text(file.name)}"
                yield f"<details><summary>{summary}</summary><pre>{_text(file.content)}</pre></details>"


def _changed_files(diff: str) -> str:
    """Names the files of a difference, the first three in full."""
    marks = ("+++ b/", "--- a/")
    paths = list(dict.fromkeys(line[len(marks[0]) :] for line in bare_lines(diff) if line.startswith(marks)))
    return ", ".join(paths[:MOST_NAMED]) + (f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else "")


def _spaced(tool: str) -> str:
    return tool.replace("__", ": ").replace("_", " ")


def _day_and_time(stored: str) -> str:
    """Writes a stored time as people do; other text stays as it is."""
    try:
        time = datetime.fromisoformat(stored)
    except ValueError:
        return stored
    return f"{time.day} {time:%B %Y, %H:%M} UTC" if time.tzinfo else stored


def _diff(diff: str) -> str:
    lines = "\n".join(map(_diff_line, bare_lines(diff)))
    return f"<pre>{lines}</pre>"


def _diff_line(line: str) -> str:
    kinds = {"+": "add", "-": "del", "@": "hunk"}
    kind = kinds.get(line[:1])
    return f'<span class="{kind}">{_text(line)}</span>' if kind else _text(line)


def _text(text: str) -> str:
    return escape(visible(UntrustedText(text)))
