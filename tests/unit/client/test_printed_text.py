"""What a program printed, as it is shown: nothing of it steers a terminal, and nothing takes long to read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.client.console import printed_text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain\x1b]8;;http://x\x1b\\link", "red plainlink"),
        ("\x1b(Bplain \x1b[?25l\x1b[?1049hscreen\x1b=", "plain screen"),
        ("\x1b]52;c;c3RvbGVu\x07copied \x1bPq#0\x1b\\drawn", "copied drawn"),
        ("10%\r50%\r100%\r\ndone\r\n", "100%\ndone\n"),
        ("a\u202eb\0 \x9b31m", "a⟨U+202E⟩b⟨U+0000⟩ ⟨U+009B⟩31m"),
        ("\x1b[", ""),
        ("\x1b\nnext line", "\nnext line"),
        ("plain\ttext\n", "plain\ttext\n"),
    ],
)
def test_escapes_and_earlier_writings_of_a_line_are_not_shown(raw: str, shown: str) -> None:
    assert printed_text(raw) == shown


@given(st.text(alphabet="\x1b[]()#P^_X;07mhx\x07\\\r\n\u202e"))
def test_nothing_that_steers_a_terminal_is_left(raw: str) -> None:
    assert not set(printed_text(raw)) & set("\x1b\x07\r\u202e")


@pytest.mark.parametrize("piece", ["\x1b", "\x1b[", "\x1b]", "\x1b[0", "\x1b]0;x", "\r", "x\r", "\x1b("])
def test_a_million_unended_escapes_are_read(piece: str) -> None:
    assert printed_text(piece * 200_000 + "\nend").endswith("end")
