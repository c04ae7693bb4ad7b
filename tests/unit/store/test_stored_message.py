"""A message is read from its record in one step, and exactly as it would be read leniently."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.store.sql.messages import message_in

TEXTS = st.text(max_size=20)
MESSAGES = st.builds(
    Message,
    id=TEXTS,
    chat_id=st.just("c"),
    role=st.sampled_from(Speaker),
    content=TEXTS,
    message_type=st.sampled_from(MessageType),
    payload=st.none() | st.dictionaries(TEXTS, st.none() | st.integers(-9, 9) | TEXTS | st.lists(TEXTS), max_size=3),
    agent_role=st.none() | TEXTS,
    turn_id=st.none() | TEXTS,
    job_id=st.none() | TEXTS,
    task_id=st.none() | TEXTS,
    reasoning=st.none() | TEXTS,
    created_at=st.sampled_from(["2026-01-24T10:00:00.000000Z", "2026-01-24T10:00:00+02:00", "1700000000", "", "soon"]),
    extra=st.just({}) | st.just({"edited": True}),
)
WRITTEN: Json = {**Message("m1", "c", Speaker.USER, "Hello").to_json(), "seq": 4}


@given(MESSAGES)
def test_every_message_is_read_as_the_lenient_reader_reads_it(message: Message) -> None:
    assert_read_alike({**message.to_json(), "seq": 3})


@pytest.mark.parametrize(
    "stored",
    [
        {**WRITTEN, "message_type": "normal"},
        {**WRITTEN, "message_type": "Tool Call"},
        {**WRITTEN, "role": "User"},
        {**WRITTEN, "content": [{"type": "text", "text": "a"}, {"Text": "b"}]},
        {**WRITTEN, "content": None, "payload": "none", "id": 7},
        {key: value for key, value in WRITTEN.items() if key not in ("seq", "reasoning", "payload")},
        {},
    ],
)
def test_what_other_releases_wrote_is_read_leniently(stored: Json) -> None:
    assert_read_alike(stored)


def assert_read_alike(stored: Json) -> None:
    read = message_in("c", msgspec.json.encode({"seq": 3, "type": "message", "message": stored, "v": 1}))
    assert read == Message.from_stored("c", msgspec.json.decode(msgspec.json.encode(stored)))
    assert type(read.role) is Speaker and type(read.message_type) is MessageType
