"""Encodes a record's canonical bytes: the envelope of its event with all keys sorted. Every event is encoded here."""

import msgspec
from pydantic import JsonValue

from anycowork.domain.events import ENVELOPE_VERSION, SERVER_LABEL, EventType, NewEvent, Record
from anycowork.domain.messages import Json, Message
from anycowork.domain.values import leaf_value

_sorted = msgspec.json.Encoder(order="sorted").encode
# Nested JSON is sorted; the fields of a struct keep the order of their class.
_as_it_stands = msgspec.json.Encoder(order="deterministic").encode


@leaf_value
class RecordRow:
    """A record before it gets its position among all chats' records. Only a delta has a `message_id`."""

    chat_id: str
    seq: int
    type: EventType
    body: bytes
    message_id: str | None = None

    def at(self, position: int) -> Record:
        return Record(self.chat_id, self.seq, self.type, self.body, position)


def encoded(
    draft: NewEvent,
    *,
    seq: int,
    record_id: str,
    chat_id: str,
    recorded_at: str,
    principal: str = SERVER_LABEL,
    cause: str | None = None,
) -> bytes:
    """Encodes what `NewEvent.envelope` returns, as canonical bytes."""
    if len(draft.body) == 1 and "task" in draft.body:  # a job writes two of these for each task
        return _as_it_stands(
            _OfTask(
                recorded_at,
                draft.attempt,
                draft.call_id,
                cause if draft.cause is None else draft.cause,
                chat_id,
                record_id,
                draft.job_id,
                principal if draft.principal == SERVER_LABEL else draft.principal,
                seq,
                draft.step_id,
                draft.body["task"],
                draft.task_id,
                draft.turn_id,
                draft.type,
            )
        )
    return _sorted(
        draft.envelope(
            seq=seq, record_id=record_id, chat_id=chat_id, recorded_at=recorded_at, principal=principal, cause=cause
        )
    )


def encoded_message(
    message: Message, *, seq: int, record_id: str, recorded_at: str, principal: str, cause: str | None
) -> bytes:
    """Encodes the envelope of a message event. Two of five records are messages, so the fields are laid out in order: half the cost."""
    if message.extra:  # keys that only imported messages have
        body: Json = {"message": {**message.to_json(), "seq": seq}}
        draft = NewEvent(EventType.MESSAGE, body, message.turn_id, message.job_id, message.task_id)
        chat_id = message.chat_id
        return encoded(
            draft,
            seq=seq,
            record_id=record_id,
            chat_id=chat_id,
            recorded_at=recorded_at,
            principal=principal,
            cause=cause,
        )
    document = _Envelope(
        agent_role=message.agent_role,
        content=message.content,
        created_at=message.created_at,
        id=message.id,
        job_id=message.job_id,
        message_type=message.message_type,
        origins=sorted(message.came_from),
        payload=message.payload,
        reasoning=message.reasoning,
        role=message.role,
        seq=seq,
        task_id=message.task_id,
        turn_id=message.turn_id,
    )
    return _as_it_stands(
        _OfMessage(
            at=recorded_at,
            cause=cause,
            chat_id=message.chat_id,
            id=record_id,
            job_id=message.job_id,
            message=document,
            principal=principal,
            seq=seq,
            task_id=message.task_id,
            turn_id=message.turn_id,
        )
    )


class _Envelope(msgspec.Struct, gc=False):
    """The fields of `Message.to_json` and the number, sorted."""

    agent_role: str | None
    content: str
    created_at: str
    id: str
    job_id: str | None
    message_type: str
    origins: list[str]
    payload: dict[str, JsonValue] | None
    reasoning: str | None
    role: str
    seq: int
    task_id: str | None
    turn_id: str | None


class _OfMessage(msgspec.Struct, gc=False, kw_only=True):
    """The envelope around the message, sorted."""

    at: str
    attempt: int = 1
    call_id: None = None
    cause: str | None
    chat_id: str
    id: str
    job_id: str | None
    message: _Envelope
    principal: str
    seq: int
    step_id: None = None
    task_id: str | None
    turn_id: str | None
    type: EventType = EventType.MESSAGE
    v: int = ENVELOPE_VERSION


class _OfTask(msgspec.Struct, gc=False):
    """The envelope around a task, sorted."""

    at: str
    attempt: int
    call_id: str | None
    cause: str | None
    chat_id: str
    id: str
    job_id: str | None
    principal: str
    seq: int
    step_id: str | None
    task: JsonValue
    task_id: str | None
    turn_id: str | None
    type: EventType
    v: int = ENVELOPE_VERSION
