"""Replaces the beginning of a chat, for the model, by what the record says about it. Pure: stored messages are never changed.

No model is asked: the digest quotes the person and lists the calls, so it can leave something out but claim nothing.
"""

import json
from collections.abc import Iterable, Sequence

from anycowork.domain.attached_files import with_quoted_files
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.secret_values import as_told
from anycowork.domain.values import value
from anycowork.prompts.tokens import cut_middle

COMPACTED = "compacted"
"""In the payload of the message that stands for everything before it."""

UNDONE = "compaction_undone"
"""In the payload of the message that takes the newest compaction back."""

_HEAD = (
    "[The person compacted this chat: {count} earlier messages are left out here. They are stored, and the person still sees them. "
    "The server wrote this digest from its record, without a model. Results of tools are not repeated: read a file again before you "
    "rely on its content or change it.]"
)
_REQUEST_BYTES = 8_000  # of the newest request
_EARLIER_BYTES = 400  # of each earlier one
_ANSWER_BYTES = 2_000
_MOST_REQUESTS = 15
_MOST_CALLS = 80
_RESOURCE = 120  # characters
_CUT = "the whole is stored"


@value
class CompactionDigest:
    """The text that the model gets instead of `messages` messages."""

    text: str
    messages: int


def is_compaction(message: Message) -> bool:
    return message.payload is not None and COMPACTED in message.payload


def without_undone(messages: Iterable[Message]) -> list[Message]:
    """Leaves out the compactions that a person took back; each such act takes back the newest one before it."""
    remaining: list[Message] = []
    for message in messages:
        if message.payload is not None and UNDONE in message.payload:
            index = next(
                (index for index in range(len(remaining) - 1, -1, -1) if is_compaction(remaining[index])), None
            )
            if index is not None:
                del remaining[index]
            continue
        remaining.append(message)
    return remaining


def compaction_digest(messages: Sequence[Message], *, budget_bytes: int) -> CompactionDigest | None:
    """Says in at most about `budget_bytes` what was asked and done; None if there is nothing to leave out.

    The newest request is quoted whole if it fits in half of the budget. Earlier digests are not summed up again: this one is made
    from the same record.
    """
    record = [message for message in messages if not is_compaction(message)]
    left_out = [message for message in record if message.role is not Speaker.SYSTEM]
    if not any(message.role is not Speaker.USER for message in left_out):
        return None
    requests = [with_quoted_files(as_told(message)).content for message in left_out if _is_request(message)]
    parts = [
        _HEAD.format(count=len(left_out)),
        _requests(requests[:-1]),
        _newest(requests, budget_bytes // 2),
        _calls(left_out),
        _answer(left_out),
    ]
    text = "\n\n".join(part for part in parts if part)
    return CompactionDigest(cut_middle(text, budget_bytes, way_out=_CUT), len(left_out))


def _is_request(message: Message) -> bool:
    return message.role is Speaker.USER and message.message_type is MessageType.TEXT and bool(message.content.strip())


def _requests(earlier: Sequence[str]) -> str:
    if not earlier:
        return ""
    skipped = len(earlier) - _MOST_REQUESTS
    lines = [f"- ({skipped} older ones are left out)"] if skipped > 0 else []
    lines += [f"- {_one_line(text, _EARLIER_BYTES)}" for text in earlier[-_MOST_REQUESTS:]]
    return "What the person asked earlier, oldest first:\n" + "\n".join(lines)


def _newest(requests: Sequence[str], limit: int) -> str:
    if not requests:
        return ""
    return "The person's newest request:\n" + cut_middle(requests[-1], min(limit, _REQUEST_BYTES), way_out=_CUT)


def _calls(messages: Sequence[Message]) -> str:
    """Lists the calls with their status, oldest first; the same call with the same outcome is one line."""
    status = {_text(m.payload, "tool_call_id"): _text(m.payload, "status") for m in messages if _is_result(m)}
    counted: dict[str, int] = {}
    for message in messages:
        if message.message_type is MessageType.TOOL_CALL and message.payload:
            line = _call_line(message.payload, status.get(_text(message.payload, "id"), "not finished"))
            counted[line] = counted.pop(line, 0) + 1
    if not counted:
        return ""
    lines = [f"- {line}{f', {times} times' if times > 1 else ''}" for line, times in counted.items()]
    skipped = len(lines) - _MOST_CALLS
    head = [f"- ({skipped} older ones are left out)"] if skipped > 0 else []
    return "Tool calls so far, with their outcome:\n" + "\n".join([*head, *lines[-_MOST_CALLS:]])


def _call_line(call: Json, status: str) -> str:
    parameters = call.get("parameters")
    arguments = parameters if isinstance(parameters, dict) else {}
    quoted = [
        _quoted(arguments[key]) for key in ("path", "to", "command", "pattern", "query", "name") if key in arguments
    ]
    return " ".join([_text(call, "tool") or "tool", *quoted, f"({status or 'ok'})"])


def _quoted(parameter: object) -> str:
    """Quotes as JSON on one line: what a model wrote as a parameter must not read as a line of the digest."""
    text = parameter if isinstance(parameter, str) else str(parameter)
    return json.dumps(text if len(text) <= _RESOURCE else f"{text[:_RESOURCE]}…", ensure_ascii=False)


def _answer(messages: Sequence[Message]) -> str:
    texts = (m.content for m in reversed(messages) if m.role is Speaker.ASSISTANT and _says_something(m))
    answer = next(texts, "")
    return f"What you said last:\n{cut_middle(answer, _ANSWER_BYTES, way_out=_CUT)}" if answer else ""


def _says_something(message: Message) -> bool:
    return message.message_type is not MessageType.TOOL_CALL and bool(message.content.strip())


def _is_result(message: Message) -> bool:
    return message.message_type is MessageType.TOOL_RESULT and message.payload is not None


def _one_line(text: str, limit: int) -> str:
    return cut_middle(" ".join(text.split()), limit, way_out=_CUT).replace("\n", " ")


def _text(payload: Json | None, key: str) -> str:
    text = (payload or {}).get(key)
    return text if isinstance(text, str) else ""
