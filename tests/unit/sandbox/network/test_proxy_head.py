"""The proxy's reading of a request's head: one meaning or none."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anycowork.sandbox.network.dialer import why_not_public
from anycowork.sandbox.network.proxy import BadHead, ForwardRequest, TunnelRequest, read_head
from support.spec import proves

END = b"\r\n\r\n"
NAMES = st.sampled_from(
    ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Proxy-Connection", "X", "Upgrade", "TE"]
)
VALUES = st.sampled_from(
    ["0", "5", "chunked", "close", "content-length, host", "evil.example", "", "x\ty", "+1", "5, 5"]
)
TARGETS = st.sampled_from(
    ["http://good.example/a", "http://good.example:8080", "good.example:443", "/a", "http://u@h/", "*"]
)


@proves("TOOL-4")
@given(st.binary(max_size=200))
@example(b"CONNECT a:1 HTTP/1.1")
def test_any_bytes_are_read_or_refused(head: bytes) -> None:
    try:
        assert isinstance(read_head(head + END), (TunnelRequest, ForwardRequest))
    except BadHead as refused:
        assert 400 <= refused.status < 500 and str(refused)


@proves("TOOL-4")
@given(st.sampled_from(["GET", "POST", "CONNECT"]), TARGETS, st.lists(st.tuples(NAMES, VALUES), max_size=4))
def test_what_is_passed_on_names_one_host_and_one_length(
    method: str, target: str, fields: list[tuple[str, str]]
) -> None:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)]
    try:
        read = read_head("\r\n".join(lines).encode() + END)
    except BadHead:
        return
    assert read.to.host == "good.example" and read.to.port is not None
    if isinstance(read, TunnelRequest):
        return
    passed = [line.split(":", 1)[0].lower() for line in read.head.decode().split("\r\n")[1:-2]]
    assert passed.count("host") == 1 and passed.count("content-length") <= 1 and passed[-1] == "connection"
    assert not {"transfer-encoding", "upgrade", "proxy-connection", "te"} & set(passed)
    assert (f"Content-Length: {read.body}".encode() in read.head) == ("content-length" in passed)
    assert read.body == 0 or "content-length" in passed


@pytest.mark.parametrize(
    ("target", "line", "host"),
    [
        ("http://good.example", "GET / HTTP/1.1", "good.example"),
        ("http://good.example?q=1", "GET /?q=1 HTTP/1.1", "good.example"),
        ("HTTP://Good.Example:8080/a%20b", "GET /a%20b HTTP/1.1", "good.example:8080"),
        ("http://[2001:db8::1]/", "GET / HTTP/1.1", "[2001:db8::1]"),
        ("http://good.example:80/", "GET / HTTP/1.1", "good.example"),
    ],
)
def test_a_plain_request_is_passed_on_for_its_own_host(target: str, line: str, host: str) -> None:
    read = read_head(f"GET {target} HTTP/1.0\r\nAccept: */*".encode() + END)
    assert isinstance(read, ForwardRequest)
    assert read.head.decode().split("\r\n") == [line, f"Host: {host}", "Accept: */*", "Connection: close", "", ""]


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert why_not_public(address) is None


@proves("TOOL-4")
@given(st.ip_addresses(v=4))
def test_an_address_is_no_more_public_for_being_wrapped(address: object) -> None:
    number = int(address)  # type: ignore[call-overload]  # an IPv4Address is one
    wrapped = [f"::ffff:{address}", f"64:ff9b::{address}", f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1"]
    if why_not_public(str(address)):
        assert all(why_not_public(text) for text in wrapped)
