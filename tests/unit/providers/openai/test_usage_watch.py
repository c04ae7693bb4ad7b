"""What is learnt of an answer that passes by: from whole answers, from streams, from their last bytes, and by estimate."""

import gzip
import json
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.metering import TokenUsage
from anycowork.providers.openai import usage_watch
from anycowork.providers.openai.usage_watch import KEPT_BYTES, UsageWatch

EXPECTED = TokenUsage(50, 4096, estimated=True)
CHAT = {
    "prompt_tokens": 20,
    "completion_tokens": 7,
    "total_tokens": 27,
    "prompt_tokens_details": {"cached_tokens": 5},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
RESPONSES = {
    "input_tokens": 20,
    "output_tokens": 7,
    "input_tokens_details": {"cached_tokens": 5},
    "output_tokens_details": {"reasoning_tokens": 3},
}
TOLD = TokenUsage(20, 7, 5, 3)
SSE = "text/event-stream; charset=utf-8"


def watched(*pieces, kind="application/json", encoding="", status=200, complete=True, expected=EXPECTED) -> TokenUsage:
    watch = UsageWatch(status, content_type=kind.encode(), encoding=encoding.encode())
    for piece in pieces:
        watch.see(piece)
    return watch.used(expected, complete=complete)


def as_json(**fields) -> bytes:
    return json.dumps(fields).encode()


def event(**fields) -> bytes:
    return b"data: " + as_json(**fields) + b"\n\n"


@pytest.mark.parametrize("usage", [CHAT, RESPONSES])
def test_a_whole_answer_tells_its_usage(usage):
    assert watched(as_json(choices=[], usage=usage)) == TOLD


def test_embeddings_and_servers_that_tell_less_are_understood():
    assert watched(as_json(data=[], usage={"prompt_tokens": 9, "total_tokens": 9})) == TokenUsage(9)
    assert watched(
        as_json(usage={"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4})
    ) == TokenUsage(9, 1, 4)
    assert watched(as_json(usage={"prompt_tokens": -9, "completion_tokens": 2})) == TokenUsage(0, 2)


@given(st.lists(st.integers(0, 2000), max_size=6))
def test_however_an_answer_is_cut_it_tells_the_same(cuts):
    for kind, body in (("application/json", as_json(x="é" * 300, usage=CHAT)), (SSE, stream())):
        edges = [0, *sorted(cuts), len(body)]
        pieces = [body[a:b] for a, b in pairwise(edges)]
        assert watched(*pieces, kind=kind) == TOLD


def stream(*, usage=CHAT) -> bytes:
    words = [event(choices=[{"delta": {"content": word}}], usage=None) for word in ("", "Good ", "day.")]
    return b": comment\r\n\r\n" + b"".join(words) + event(choices=[], usage=usage) + b"data: [DONE]\n\n"


def test_the_last_usage_of_a_stream_counts():
    early = event(choices=[], usage={"prompt_tokens": 20, "completion_tokens": 1})
    assert watched(early, stream(), kind=SSE) == TOLD


def test_the_end_of_a_response_stream_carries_it_inside():
    done = b"event: response.completed\n" + event(type="response.completed", response={"usage": RESPONSES})
    assert watched(done, kind=SSE) == TOLD
    assert watched(event(choices=[], x_groq={"usage": CHAT}), kind=SSE) == TOLD


def test_usage_behind_more_than_is_kept_is_still_found():
    long = "word " * KEPT_BYTES
    for kind, body in (
        ("application/json", as_json(text=long, usage=CHAT, end=1)),
        (SSE, event(response={"output": long, "usage": RESPONSES, "user": None})),
    ):
        assert watched(*(body[i : i + 4096] for i in range(0, len(body), 4096)), kind=kind) == TOLD


@pytest.mark.parametrize("size", [10, KEPT_BYTES * 2])
def test_words_about_usage_in_the_text_are_not_believed(size):
    lie = 'x" , "usage": {"prompt_tokens": 0, "completion_tokens": 0}' + "y" * size
    assert watched(as_json(choices=[{"message": {"content": lie}}])).estimated
    assert watched(event(choices=[{"delta": {"content": lie}}]), kind=SSE).estimated


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_small_compressed_answer_is_opened_for_the_count(encoding, pack):
    assert watched(pack(as_json(usage=CHAT)), encoding=encoding) == TOLD


def test_what_cannot_be_opened_counts_as_expected():
    for encoding, body in (("br", b"\x0b\x02\x80"), ("gzip", b"no gzip"), ("gzip", b"a" * (KEPT_BYTES * 2))):
        assert watched(body[:KEPT_BYTES], body[KEPT_BYTES:], encoding=encoding) == EXPECTED
    assert watched(gzip.compress(as_json(usage=CHAT))[:20], encoding="gzip", complete=False) == EXPECTED


# As embeddings are: much in front, the usage last.
LARGE = gzip.compress(as_json(data=[number * 7919 % 65_521 for number in range(40_000)], usage=CHAT))


@given(st.lists(st.integers(0, len(LARGE)), max_size=6))
def test_a_large_packed_answer_is_counted_by_what_stands_at_its_end_however_it_is_cut(cuts):
    pieces = [LARGE[start:end] for start, end in pairwise([0, *sorted(cuts), len(LARGE)])]
    assert len(LARGE) > KEPT_BYTES
    assert watched(*pieces, encoding="gzip") == TOLD


def test_a_packed_stream_is_counted_to_the_token_and_left_early_by_its_words():
    packing = zlib.compressobj(wbits=31)
    events = [event(choices=[{"delta": {"content": "word " * 20}}]) for _ in range(50)]
    packed = [packing.compress(each) + packing.flush(zlib.Z_SYNC_FLUSH) for each in [*events, event(usage=CHAT)]]
    assert watched(*packed, packing.flush(), kind=SSE, encoding="gzip") == TOLD
    left = watched(*packed[:40], kind=SSE, encoding="gzip", complete=False)
    assert left.estimated and 40 <= left.completion < 2_000


def test_several_packed_parts_are_one_answer():
    body = as_json(usage=CHAT)
    assert watched(gzip.compress(body[:9]) + gzip.compress(body[9:]), encoding="gzip") == TOLD


def test_a_bomb_is_not_opened_to_its_end(monkeypatch):
    monkeypatch.setattr(usage_watch, "MAX_INFLATED", 1_000_000)
    packed = gzip.compress(b" " * 2_000_000 + as_json(usage=CHAT))
    assert watched(packed, encoding="gzip") == EXPECTED


def test_a_stream_without_usage_is_estimated_from_its_words():
    first = event(id="x" * 100, choices=[{"delta": {"role": "assistant", "content": ""}}])
    words = [event(id="x" * 100, choices=[{"delta": {"role": "assistant", "content": "w" * 400}}]) for _ in range(3)]
    used = watched(first, *words, b"data: [DONE]\n\n", kind=SSE)
    assert (used.prompt, used.estimated) == (50, True)
    assert 250 <= used.completion <= 330


def test_many_small_events_count_a_token_each():
    assert watched(*[event(choices=[{"delta": {"content": "a"}}])] * 40, kind=SSE, complete=False).completion >= 40


def test_an_answer_that_breaks_off_before_it_is_whole_counts_as_expected():
    assert watched(b'{"choices": [', complete=False) == EXPECTED
    assert watched(b'{"choices": []}') == TokenUsage(50, 4, estimated=True)
    assert watched(b'{"data": []}', expected=TokenUsage(50, 0, estimated=True)) == TokenUsage(50, 0, estimated=True)


@pytest.mark.parametrize("status", [204, 302, 400, 401, 429, 500])
def test_a_refusal_uses_nothing(status):
    assert watched(as_json(usage=CHAT), status=status) == TokenUsage()


@given(st.binary(max_size=300), st.sampled_from(["application/json", SSE, ""]), st.sampled_from(["", "gzip", "br"]))
def test_no_answer_is_too_odd_to_be_watched(body, kind, encoding):
    used = watched(body, kind=kind, encoding=encoding)
    assert used.estimated or b"usage" in body
