"""What a query means, and what a snippet shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.text_search import SearchTerm, SnippetPart, fold, read_query, snippet


def test_words_are_separate_terms_and_quotes_join_them() -> None:
    assert read_query('full "disk is" Error') == (
        SearchTerm(("full",)),
        SearchTerm(("disk", "is")),
        SearchTerm(("Error",), prefix=True),
    )
    assert read_query("read_file ") == (SearchTerm(("read", "file")),), "a word that a space ends is complete"
    assert read_query('* -- ( " NEAR/') == (SearchTerm(("NEAR",)),)
    assert read_query("  !!! ") == ()


def test_a_snippet_is_one_line_around_the_first_match_and_marks_every_word() -> None:
    text = "x " * 100 + "The Größe\nof the disk, and größer disks." + " y" * 200
    parts = snippet(text, read_query("grosse disk"))
    assert [part.text for part in parts if part.match] == ["disk", "disks"]
    parts = snippet(text, read_query("größ"))
    assert [part.text for part in parts if part.match] == ["Größe", "größer"]
    shown = "".join(part.text for part in parts)
    assert shown.startswith("…") and shown.endswith("…") and "\n" not in shown and len(shown) < 230


def test_a_word_inside_another_is_not_marked() -> None:
    assert snippet("concatenate the cat", read_query("cat ")) == (
        SnippetPart("concatenate the "),
        SnippetPart("cat", match=True),
    )


@pytest.mark.parametrize("before", [0, 1, 99_990, 100_000, 100_003, 250_000, 1_999_000])
@pytest.mark.parametrize("letter", ["x", "ß"])
def test_the_word_that_was_found_is_in_the_snippet_however_far_it_stands(before: int, letter: str) -> None:
    text = (letter * 9 + " ") * (before // 10) + " " * (before % 10) + "The zebra is striped." + " y" * 200
    for query in ("zebra", "zeb", "striped zebra"):
        parts = snippet(text, read_query(query))
        assert any(part.match and part.text == "zebra" for part in parts), query
        assert parts[-1].text.endswith("…")


def test_a_long_word_around_the_end_of_a_piece_is_marked_as_a_whole_or_not_at_all() -> None:
    word = "zebra" * 25
    for start in range(99_870, 100_010, 7):
        [mark] = [part.text for part in snippet(" " * start + word + " end", read_query(word)) if part.match]
        assert mark == word
        assert not any(part.match for part in snippet("x" * start + word, read_query("zebra ")))


@given(st.text(), st.text(max_size=40))
def test_any_text_and_any_query_give_a_snippet_of_the_text(text: str, query: str) -> None:
    assert len(fold(text)) == len(text)
    terms = read_query(query)
    assert all(word and '"' not in word for term in terms for word in term.words)
    assert len("".join(part.text for part in snippet(text, terms))) <= len(text) + 2
