"""Thinking is split from the answer at any chunk boundary."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from anycowork.agent.reply_stream import ReplyStream, ThinkSplitter
from anycowork.domain.events import EventType
from anycowork.domain.model import ReasoningChunk, TextChunk
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


@proves("EVT-3")
def test_an_unclosed_thought_stays_a_thought() -> None:
    assert split(["<think>on and", " on"]) == ("on and on", "")
    assert split(["<think>on", " and on</thi"]) == ("on and on</thi", ""), "also what may have begun to close it"


@proves("EVT-3")
async def test_thoughts_and_words_are_published_apart_each_from_where_it_goes_on() -> None:
    published: list[tuple[str, int, str]] = []

    def publish(chat_id: str, turn_id: str, message_id: str, kind: EventType, offset: int, text: str) -> None:
        published.append((kind.value, offset, text))

    class Thinker:
        async def answer(self, request: object) -> AsyncIterator[TextChunk | ReasoningChunk]:
            yield TextChunk("Hello <think>first</think>you")
            yield ReasoningChunk("more")
            yield TextChunk(" there")

    journal = cast(Any, SimpleNamespace(publish_delta=publish))
    stream = ReplyStream(journal=journal, clock=cast(Any, None), chat_id="c", turn_id="t", message_id="m")
    reply = await stream.receive(cast(Any, Thinker()), cast(Any, None))
    assert (reply.text, reply.reasoning) == ("Hello you there", "firstmore")
    thoughts = [(offset, text) for kind, offset, text in published if kind == "reasoning-delta"]
    assert thoughts == [(0, "first"), (5, "more")]
    words = [(offset, text) for kind, offset, text in published if kind == "text-delta"]
    assert "".join(text for _, text in words) == reply.text[: words[-1][0] + len(words[-1][1])]


def test_an_unfinished_tag_at_the_end_is_words() -> None:
    assert split(["a <thi"]) == ("", "a <thi")
