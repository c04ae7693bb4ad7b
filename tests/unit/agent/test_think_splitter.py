"""Thinking is split from the answer at any chunk boundary."""

from hypothesis import given
from hypothesis import strategies as st

from anycowork.agent.reply_stream import ThinkSplitter
from support.spec import proves


def split(chunks: list[str]) -> tuple[str, str]:
    splitter = ThinkSplitter()
    pieces = [piece for chunk in chunks for piece in splitter.feed(chunk)] + splitter.flush()
    return "".join(p.text for p in pieces if p.thinking), "".join(p.text for p in pieces if not p.thinking)


@proves("EVT-3")
@given(st.data())
def test_any_chunking_gives_the_same_thoughts_and_words(data: st.DataObject) -> None:
    text = "<think>first\nthoughts</think>Hello <b>you</b> < world<think>more</think>!"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=20)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert split(chunks) == ("first\nthoughtsmore", "Hello <b>you</b> < world!")


def test_an_unclosed_thought_stays_a_thought() -> None:
    assert split(["<think>on and", " on"]) == ("on and on", "")


def test_an_unfinished_tag_at_the_end_is_words() -> None:
    assert split(["a <thi"]) == ("", "a <thi")
