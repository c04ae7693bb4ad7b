import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.api.asgi import send_bytes
from anycowork.api.errors import ErrorMiddleware
from anycowork.api.middleware.body import BadJson, BodyLimit, LargeBodies, TooDeep, body_of, check_json
from anycowork.domain.bounded_json import MAX_DEPTH
from support.asgi import Client


async def echo(scope, receive, send):
    """Sends back what it received, and what those before it left in the scope."""
    message = await receive()
    assert message["body"] == body_of(scope)
    await send_bytes(send, 200, message["body"], content_type=b"text/plain")


@pytest.fixture
def client():
    return Client(ErrorMiddleware(BodyLimit(echo, max_bytes=1000, large_bodies=LargeBodies())))


async def test_a_body_arrives_as_it_was_sent(client):
    answer = await client.post("/x", {"a": [1, "ü"]})
    assert (answer.status, answer.json()) == (200, {"a": [1, "ü"]})


async def test_a_body_in_pieces_arrives_whole(client):
    answer = await client.post("/x", raw=[b"ab", b"", b"cd"])
    assert answer.body == b"abcd"


async def test_a_body_declared_too_large_is_refused_unread(client):
    answer = await client.post("/x", raw=b"tiny", headers={"content-length": "1001"})
    assert (answer.status, answer.error["code"]) == (413, "too_large")
    assert answer.headers["connection"] == "close"


async def test_a_body_that_grows_too_large_on_the_way_is_refused(client):
    answer = await client.post("/x", raw=[b"x" * 600, b"x" * 600])
    assert answer.status == 413


@pytest.mark.parametrize("length", ["-1", "abc", "1e3", "9" * 400])
async def test_a_nonsense_length_is_refused(client, length):
    answer = await client.post("/x", raw=b"x", headers={"content-length": length})
    assert answer.status == 413


@pytest.mark.parametrize(
    "raw", [b"{", b"nope", b'{"a": NaN}', b'{"a": "\\ud800"}', b'"\xff"', b"[1,]", b'{"n": 1e999}']
)
async def test_what_is_no_json_is_a_400(client, raw):
    answer = await client.post("/x", raw=raw, headers={"content-type": "application/json"})
    assert (answer.status, answer.error["code"]) == (400, "bad_json")


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 500, 100_000])
def test_deep_nesting_is_refused_at_any_depth(depth):
    with pytest.raises(TooDeep):
        check_json(b"[" * depth + b"]" * depth)


def test_wide_but_shallow_json_passes():
    assert check_json(msgspec.json.encode([{"a": [1]}] * 1000)) is None


@given(st.binary(max_size=200))
def test_no_bytes_make_the_check_fail_in_another_way(raw):
    try:
        check_json(raw)
    except (BadJson, TooDeep) as error:
        assert error.status == 400
