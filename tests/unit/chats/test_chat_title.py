"""A chat's title says what was asked, without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.chats.chat_title import NEW_CHAT, TITLE_LENGTH, title_from
from support.spec import proves

TITLES = {
    "Hi! Could you please fix the failing test in tests/test_a.py? It broke yesterday.": "Fix the failing test in tests/test_a.py?",
    "# Tidy the docs\n\nall of them": "Tidy the docs",
    "```\nTraceback (most recent call last)\n```\nwhy does this fail?": "Why does this fail?",
    "```py\nx = 1\n```": "X = 1",
    "please": "Please",
    "hidden files: list them": "Hidden files: list them",
    "- **Rename** `a.py` to `b.py`": "Rename a.py to b.py",
    "/explain_code src/app.py": "/explain_code src/app.py",
    "a.txt is wrong. Correct it.": "a.txt is wrong",
    "   \n\t": NEW_CHAT,
    "word " * 40: "Word " + "word " * 10 + "word…",
}


@proves("UI-9")
@pytest.mark.parametrize("content", TITLES)
def test_the_first_sentence_that_says_something_is_the_title(content: str) -> None:
    assert title_from(content) == TITLES[content]


@given(st.text())
def test_any_message_has_a_title_of_one_short_line(content: str) -> None:
    title = title_from(content)
    assert title.strip() == title and len(title) <= TITLE_LENGTH + 1 and title.isprintable()
