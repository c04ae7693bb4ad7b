"""Events come out whole and the same, however the bytes were cut up on their way."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.providers.http.sse import EventTooLarge, SseReader

STREAM = (
    "\ufeff: keep-alive\n\ndata: one\n\nevent: x\r\nid: 7\r\ndata: zwei ü 🎈\r\n\r\n:\r\n"
    "data:three\ndata: more\n\nretry: 3\n\ndata: [DONE]\n\n"
).encode()
EVENTS = [b"one", "zwei ü 🎈".encode(), b"three\nmore", b"[DONE]"]


def read(pieces: list[bytes]) -> list[bytes]:
    reader = SseReader()
    return [event for piece in pieces for event in reader.feed(piece)] + reader.close()


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_any_cut_gives_the_same_events(cuts: list[int]):
    edges = [0, *sorted(cuts), len(STREAM)]
    assert read([STREAM[a:b] for a, b in itertools.pairwise(edges)]) == EVENTS


def test_byte_by_byte_gives_the_same_events():
    assert read([bytes([byte]) for byte in STREAM]) == EVENTS


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_any_bytes_cut_anyhow_read_as_they_do_whole(pieces: list[bytes]):
    assert read(pieces) == read([b"".join(pieces)])


def test_a_last_event_without_its_blank_line_still_counts():
    assert read([b"data: a\n\ndata: [DONE]"]) == [b"a", b"[DONE]"]


def test_a_carriage_return_alone_ends_a_line_too():
    assert read([b"data: a\r\rdata: b\r\r"]) == [b"a", b"b"]


@pytest.mark.parametrize("piece", [b"x" * 50, b"data: " + b"y" * 30 + b"\ndata: " + b"z" * 30 + b"\n"])
def test_an_event_without_end_is_given_up(piece: bytes):
    reader = SseReader(limit=40)
    with pytest.raises(EventTooLarge):
        reader.feed(piece)
