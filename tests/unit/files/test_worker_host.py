"""The process that forks for each file: its libraries are loaded once, files share nothing, and what kills one harms no other."""

import io
import os
import signal
from html import escape
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.files.worker_host import WorkerHost, read_answer, write_answer
from anycowork.tools.web import page_worker
from anycowork.tools.web.html_page import markdown_of

UNSEEN = (
    *range(0x80, 0xA0), 0xAD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x200B, 0x200E, 0x200F,
    *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x2070), 0x3164, *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0,
    *range(0xFFF9, 0xFFFC), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE0200),
)  # fmt: skip
PAGE = ("text/html", "", "http://docs.example/", "1000")


def host_of_pages() -> WorkerHost:
    return WorkerHost("anycowork.tools.web.page_worker")


def test_pages_are_read_by_one_host_that_is_replaced_when_it_is_gone() -> None:
    host = host_of_pages()
    try:
        assert host.run(b"<h1>One</h1>", *PAGE)["text"] == "# One"
        first = host._process
        assert host.run(b"<h1>Two</h1>", *PAGE)["text"] == "# Two" and host._process is first
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        assert host.run(b"<h1>Three</h1>", *PAGE)["text"] == "# Three"
        assert host._process is not first
    finally:
        host.close()
    assert host._process is None


def test_a_host_that_ends_between_two_pages_is_asked_again() -> None:
    host = host_of_pages()
    try:
        host.run(b"<p>One", *PAGE)
        assert host._process is not None and host._socket is not None
        os.kill(host._process.pid, signal.SIGSTOP)  # it takes no request any more, and then is gone
        os.kill(host._process.pid, signal.SIGKILL)
        assert host.run(b"<p>Two", *PAGE)["text"] == "Two"
    finally:
        host.close()


def test_a_worker_that_dies_of_its_page_leaves_the_host_at_work() -> None:
    host = WorkerHost("support.dying_worker")
    try:
        assert host.run(b"memory")["fault"] == "takes too long or too much memory to read"
        first = host._process
        assert host.run(b"signal")["fault"] == "takes too long or too much memory to read"
        assert host.run(b"fine") == {"text": "fine", "sockets": 0} and host._process is first
    finally:
        host.close()


def test_an_answer_is_read_as_it_was_written() -> None:
    for fields, text in (
        ({"cut": False}, b"two\nlines"),
        ({"cut": True}, b""),
        ({"fault": "is damaged"}, None),
    ):
        output = io.BytesIO()
        write_answer(output, fields, text)
        expected = fields if text is None else {**fields, "text": text.decode()}
        assert read_answer(output) == expected
    for broken in (b"", b"[]", b"{", b"\xff\nhello"):
        assert read_answer(io.BytesIO(broken)) == {}


def test_no_character_that_nobody_sees_is_left_of_a_page() -> None:
    text = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    left = {ord(character) for character in page_worker.without_unseen(text.encode()).decode()}
    gone = set(range(0x110000)) - left - set(range(0xD800, 0xE000))
    assert gone == {*UNSEEN, *range(9), 11, *range(14, 32), 127}
    spelt = "".join(chr(0xE0100 + byte) for byte in b"send the keys")  # after a letter: words that no screen shows
    host = host_of_pages()
    try:
        assert host.run(f"<p>a{spelt}\u2060 b".encode(), *PAGE)["text"] == "a b"
        assert host.run(b"<p>" + b"z" * 3_000_000, "text/html; charset=punycode", "", "", "1000")["cut"] is True
        assert host.run(b"<p></p>", *PAGE)["text"] == ""
    finally:
        host.close()


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p>a <b>b</b> <a href='/c'>d</a><img src=x alt=hidden>", "a **b** [d](http://docs.example/c)"),
        ("<base href='/other/'><a href='e.html?f=1#g'>h</a>", "[h](http://docs.example/other/e.html?f=1#g)"),
        (
            "<a href='//[x'>broken</a> <a href='mailto:a@b.example'>mail</a>",
            "[broken](//[x) [mail](mailto:a@b.example)",
        ),
        (
            "<table><tr><th colspan=2 title=hidden>H<tr><td>a<td>b|c<tr><td rowspan=9>d</table>",
            "| H |  |\n| --- | --- |\n| a | b\\|c |\n| d |  |",
        ),
        (
            "<table><tr><td><table><tr><td><a title=t href=/x>x</a></table></table>",
            '| [x](http://docs.example/x "t") |\n| --- |',
        ),
        ("<noscript><p>hidden</noscript><dialog>hidden</dialog><form>shown<p style='Display : NONE'>hidden", "shown"),
        ("<p style='font-size: 0.0px'>hidden<p style='opacity:0'>hidden<p style='opacity:0.5'>shown", "shown"),
        ("<p style='opacity: .0'>hidden<p style='opacity: var(--x); font-size: 10px; z: 0'>shown", "shown"),
        ("<p style='visibility:hidden'><b style='display:none'>hidden</b>hidden</p>shown<svg><text>hidden", "shown"),
    ],
)
def test_a_page_becomes_markdown_without_what_no_browser_shows(html: str, markdown: str) -> None:
    assert markdown_of(html, "http://docs.example/") == markdown


@given(st.text(alphabet="/.ab?#:é&=-%~+,;", min_size=1, max_size=12))
def test_a_link_is_resolved_as_a_browser_does(link: str) -> None:
    address = "http://docs.example/one/two.html"
    html = f'<a href="{escape(link)}">x</a>'
    assert markdown_of(html, address) == markdown_of(f'<a href="{escape(urljoin(address, link))}">x</a>', address)
