"""Reads one message from the body of its record."""

from typing import Any  # a payload is any JSON object

import msgspec

from anycowork.domain.messages import Message, MessageType, Speaker, stored_origins
from anycowork.domain.times import stored_time
from anycowork.store.sql.columns import from_json_text


def message_in(chat_id: str, body: bytes) -> Message:
    """Returns the record's message. A message as this release writes it is read in one step, any other one leniently."""
    try:
        document = _current.decode(body).message
    except msgspec.ValidationError:
        return Message.from_stored(chat_id, from_json_text(message_bytes(body)))
    return Message(
        document.id,
        chat_id,
        document.role,
        document.content,
        document.message_type,
        document.payload,
        document.agent_role,
        document.turn_id,
        document.job_id,
        document.task_id,
        document.reasoning,
        stored_time(document.created_at),
        origins=stored_origins(document.role, document.origins),
    )


def message_bytes(body: bytes) -> bytes:
    """Returns the message as it was sent to readers."""
    return bytes(_holder.decode(body).message)


class _CurrentMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Exactly the fields of `Message.to_json`. With others, the message is read by `Message.from_stored`, which keeps them."""

    id: str
    role: Speaker
    content: str
    message_type: MessageType
    payload: dict[str, Any] | None
    agent_role: str | None
    turn_id: str | None
    job_id: str | None
    task_id: str | None
    reasoning: str | None
    created_at: str
    seq: int
    origins: list[Any] | None = None


class _CurrentRecord(msgspec.Struct):
    message: _CurrentMessage


class _Holder(msgspec.Struct):
    message: msgspec.Raw


_current = msgspec.json.Decoder(_CurrentRecord)
_holder = msgspec.json.Decoder(_Holder)
