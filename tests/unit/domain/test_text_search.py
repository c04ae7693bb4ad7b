"""What a query means, and what a snippet shows."""

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


@given(st.text(), st.text(max_size=40))
def test_any_text_and_any_query_give_a_snippet_of_the_text(text: str, query: str) -> None:
    assert len(fold(text)) == len(text)
    terms = read_query(query)
    assert all(word and '"' not in word for term in terms for word in term.words)
    assert len("".join(part.text for part in snippet(text, terms))) <= len(text) + 2
