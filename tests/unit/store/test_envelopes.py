"""The bytes of a record are those of its envelope with all keys sorted, whatever is in it."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.store.sql.envelopes import encoded, encoded_message
from support.spec import proves

_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_maybe = st.none() | _words
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=12,
)
_objects = st.dictionaries(_words, _json, max_size=4)
_nouns = st.sampled_from(
    [("message",), ("task",), ("tool_call",), ("turn", "state", "reason"), ("message_id", "offset", "text")]
)


@st.composite
def _drafts(draw: st.DrawFn) -> NewEvent:
    body: Json = {noun: draw(_json) for noun in draw(_nouns)}
    principal = draw(st.sampled_from(["worker:house", "person:ann"]))
    names = {name: draw(_maybe) for name in ("turn_id", "job_id", "task_id", "step_id", "call_id", "cause")}
    return NewEvent(
        draw(st.sampled_from(EventType)), body, principal=principal, attempt=draw(st.integers(1, 9)), **names
    )


@st.composite
def _messages(draw: st.DrawFn) -> Message:
    return Message(
        id=draw(_words),
        chat_id="c1",
        role=draw(st.sampled_from(Speaker)),
        content=draw(_words),
        message_type=draw(st.sampled_from(MessageType)),
        payload=draw(st.none() | _objects),
        agent_role=draw(_maybe),
        turn_id=draw(_maybe),
        job_id=draw(_maybe),
        task_id=draw(_maybe),
        reasoning=draw(_maybe),
        created_at=draw(_words),
        extra=draw(st.sampled_from([{}, {"mood": "good"}])),
    )


@proves("EVT-1/1")
@given(_drafts(), st.sampled_from(["worker:house", "person:bob"]), _maybe)
def test_an_event_is_its_envelope_sorted(draft: NewEvent, principal: str, cause: str | None) -> None:
    told = draft.envelope(seq=7, record_id="r1", chat_id="c1", recorded_at="now", principal=principal, cause=cause)
    found = encoded(draft, seq=7, record_id="r1", chat_id="c1", recorded_at="now", principal=principal, cause=cause)
    assert found == msgspec.json.encode(told, order="sorted")


@proves("EVT-1/1")
@given(_messages(), st.sampled_from(["worker:house", "person:bob"]), _maybe)
def test_a_message_is_its_envelope_sorted(message: Message, principal: str, cause: str | None) -> None:
    body: Json = {"message": {**message.to_json(), "seq": 7}}
    draft = NewEvent(EventType.MESSAGE, body, message.turn_id, message.job_id, message.task_id)
    told = draft.envelope(seq=7, record_id="r1", chat_id="c1", recorded_at="now", principal=principal, cause=cause)
    found = encoded_message(message, seq=7, record_id="r1", recorded_at="now", principal=principal, cause=cause)
    assert found == msgspec.json.encode(told, order="sorted")
