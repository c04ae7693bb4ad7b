"""Messages of a chat, sent or queued. Read leniently from the store, written strictly."""

import re
from dataclasses import field
from enum import StrEnum

import msgspec
from pydantic import JsonValue

from anycowork.domain.origins import IMPORT, MODEL, NO_ORIGINS, PERSON, Origins, read_origins
from anycowork.domain.times import stored_time
from anycowork.domain.values import leaf_value, value

Json = dict[str, JsonValue]


def json_object(value: object) -> Json:
    """Returns a JSON value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def json_objects(value: object) -> list[Json]:
    """Returns the objects in a JSON list; none if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


class MessageType(StrEnum):
    TEXT = "text"
    PLAN = "plan"
    QUESTION = "question"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    TASK_ASSIGNMENT = "task_assignment"
    TASK_EXECUTION = "task_execution"
    TASK_RESULT = "task_result"
    ROLE_CHANGE = "role_change"
    REVIEW = "review"


class Speaker(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@leaf_value
class Message:
    """`role` is the author in the conversation (user, assistant, …); `agent_role` is the role that the agent had.

    `origins` say where its text came from; empty: from its author alone."""

    id: str
    chat_id: str
    role: Speaker
    content: str
    message_type: MessageType = MessageType.TEXT
    payload: Json | None = field(default=None, hash=False)
    agent_role: str | None = None
    turn_id: str | None = None
    job_id: str | None = None
    task_id: str | None = None
    reasoning: str | None = None
    created_at: str = ""
    extra: Json = field(default_factory=dict, hash=False)
    origins: Origins = NO_ORIGINS

    @property
    def came_from(self) -> Origins:
        """Its origins; those of its author if it names none. A result that says nothing of them is of an earlier release."""
        return self.origins or _OF_AUTHOR[self.role]

    def to_json(self) -> Json:
        """Returns the wire form; unknown fields of stored data are kept."""
        return {
            **self.extra,
            "id": self.id,
            "role": str(self.role),
            "message_type": str(self.message_type),
            "content": self.content,
            "payload": self.payload,
            "agent_role": self.agent_role,
            "turn_id": self.turn_id,
            "job_id": self.job_id,
            "task_id": self.task_id,
            "reasoning": self.reasoning,
            "created_at": self.created_at,
            "origins": [*sorted(self.came_from)],
        }

    @classmethod
    def from_stored(cls, chat_id: str, stored: Json) -> "Message":
        """Reads a stored message leniently: a missing or unknown type and `normal` are text, content parts are joined, unknown fields
        are kept."""
        texts = {k: stored.get(k) for k in _TEXT_FIELDS}
        payload = stored.get("payload")
        return cls(
            id=str(stored.get("id") or ""),
            chat_id=chat_id,
            role=_speaker(stored.get("role")),
            content=text_of(stored.get("content")),
            message_type=_message_type(stored.get("message_type")),
            payload=payload if isinstance(payload, dict) else None,
            created_at=stored_time(stored.get("created_at")),
            extra={k: v for k, v in stored.items() if k not in _KNOWN},
            origins=stored_origins(_speaker(stored.get("role")), stored.get("origins")),
            **{k: v if isinstance(v, str) else None for k, v in texts.items()},
        )


_TEXT_FIELDS = ("agent_role", "turn_id", "job_id", "task_id", "reasoning")
_KNOWN = {"id", "role", "message_type", "content", "payload", "created_at", "chat_id", "seq", "origins", *_TEXT_FIELDS}
_OF_AUTHOR = {
    Speaker.USER: frozenset({PERSON}),
    Speaker.ASSISTANT: frozenset({MODEL}),
    Speaker.TOOL: frozenset({IMPORT}),
    Speaker.SYSTEM: NO_ORIGINS,
}


def stored_origins(author: Speaker, stored: JsonValue) -> Origins:
    """Returns the origins of a stored message; none if they are those of its author alone."""
    origins = read_origins(stored)
    return NO_ORIGINS if origins == _OF_AUTHOR[author] else origins


def text_of(content: JsonValue) -> str:
    """Returns a message's text: a string, a part as other systems store it (`{"type": "text", "text": …}`, `{"Text": …}`), or a list of
    those."""
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(_part_text(part) or "" for part in content)
    text = _part_text(content)
    return msgspec.json.encode(content).decode() if text is None else text


def _part_text(part: JsonValue) -> str | None:
    while isinstance(part, dict):
        part = next((part[key] for key in _PART_TEXT_KEYS if key in part), None)
    return part if isinstance(part, str) else None


_PART_TEXT_KEYS = ("text", "Text", "content", "value")


ASKED_BY = "asked_by"
"""In the payload of a question and its answer: the call whose tool asked. Model and tool are apart, so no model is shown them."""


def is_asked_by_call(message: Message) -> bool:
    """Whether a running call asked this, or a person answered it to that call."""
    return message.payload is not None and ASKED_BY in message.payload


def is_continuation(message: Message) -> bool:
    """It says that a person continued the turn."""
    return message.payload is not None and "continued" in message.payload


_DRAFT = "draft"


def draft_payload(number: int, first_id: str) -> Json:
    """Returns the payload of the note that a small model starts anew: what it said and did since that message is not shown to it."""
    return {_DRAFT: {"number": number, "since": first_id}}


def draft_start(message: Message) -> str | None:
    """Returns the message since which a new draft has taken back what the model did; None if this message begins no draft."""
    draft = (message.payload or {}).get(_DRAFT) if message.role is Speaker.SYSTEM else None
    since = draft.get("since") if isinstance(draft, dict) else None
    return since if isinstance(since, str) else None


QUOTED_REPORTS = "quoted_reports"
"""In the payload of what a job tells an agent: the reports of other agents that the text quotes."""


def quoted_reports(message: Message) -> str:
    """Returns the reports of other agents that this message quotes; empty if it quotes none."""
    reports = (message.payload or {}).get(QUOTED_REPORTS)
    return reports if isinstance(reports, str) else ""


CHECKPOINT_NOTE = "checkpoint"
"""In the payload of a note: it says what the checkpoint changed that the person named. The model is shown it."""


def is_checkpoint_note(message: Message) -> bool:
    return message.role is Speaker.SYSTEM and message.payload is not None and CHECKPOINT_NOTE in message.payload


def _speaker(stored: JsonValue) -> Speaker:
    try:
        return Speaker(str(stored).lower())
    except ValueError:
        return Speaker.ASSISTANT


_BETWEEN_WORDS = re.compile(r"[-\s]+|(?<=[a-z])(?=[A-Z])")  # "ToolCall", "Task Result" and "tool-call" are types, too


def _message_type(stored: JsonValue) -> MessageType:
    try:
        return MessageType(_BETWEEN_WORDS.sub("_", str(stored)).lower())
    except ValueError:
        return MessageType.TEXT


@value
class QueuedMessage:
    """`steer`: the running turn takes it between two steps. `id` becomes the id of the message that is sent."""

    id: str
    chat_id: str
    content: str
    principal: str
    steer: bool = False
    created_at: str = ""

    def to_json(self) -> Json:
        return {"id": self.id, "content": self.content, "steer": self.steer, "created_at": self.created_at}
