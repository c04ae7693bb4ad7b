"""The event that only tells usage is taken out; every other byte passes, however the stream is cut."""

from hypothesis import given
from hypothesis import strategies as st

from anycowork.api.gateway.app import MAX_EVENT_BYTES, UsageEventFilter

WORD = b'data: {"choices":[{"index":0,"delta":{"content":"say \\"usage\\""}}],"usage":null}\n\n'
USAGE = b'data: {"id":"1","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
BOTH = b'data: {"choices":[{"index":0}],"usage":{"prompt_tokens":1}}\n\n'
DONE = b"data: [DONE]\n\n"
COMMENT = b": usage\n\n"
EVENTS = st.lists(st.sampled_from([WORD, USAGE, BOTH, DONE, COMMENT, USAGE.replace(b"\n", b"\r\n")]), max_size=8)


@given(EVENTS, st.lists(st.integers(1, 120), min_size=1), st.sampled_from([b"", b'data: {"cut', WORD.rstrip()]))
def test_only_usage_events_are_taken_out_however_the_stream_is_cut(events, sizes, rest):
    stream, passed, at = b"".join(events) + rest, b"", 0
    hidden = UsageEventFilter()
    while at < len(stream):
        size = sizes[at % len(sizes)]
        passed += hidden.feed(stream[at : at + size])
        at += size
    kept = [event for event in events if event.strip() != USAGE.strip()]
    assert passed + hidden.end() == b"".join(kept) + rest


def test_an_event_without_an_end_is_not_kept_back_for_ever():
    hidden = UsageEventFilter()
    assert len(hidden.feed(b"data: " + b"x" * MAX_EVENT_BYTES)) > MAX_EVENT_BYTES
    assert hidden.end() == b""
