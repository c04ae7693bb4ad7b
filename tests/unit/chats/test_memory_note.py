from hypothesis import given
from hypothesis import strategies as st

from anycowork.chats.files.memory_service import HEADING, with_note


def test_a_note_opens_the_list_or_joins_it() -> None:
    assert with_note("", "a\n b") == f"{HEADING}\n\n- a b\n"
    assert with_note("# Rules\n\nBe kind.", "a") == f"# Rules\n\nBe kind.\n\n{HEADING}\n\n- a\n"
    text = f"# Rules\n\n{HEADING}\n\n- a\n\n# More\n\nx\n"
    assert with_note(text, "b") == f"# Rules\n\n{HEADING}\n\n- a\n- b\n\n# More\n\nx\n"
    assert with_note(text, " a ") == text, "what is said twice stands there once"
    assert with_note(f"{HEADING}\n", "b") == f"{HEADING}\n\n- b\n"


@given(st.text(max_size=200), st.text(min_size=1, max_size=50).filter(str.strip))
def test_no_line_of_the_file_is_lost_and_the_note_is_one_line(text: str, note: str) -> None:
    before, after = text.rstrip().split("\n"), with_note(text, note).split("\n")
    assert all(before.count(line) <= after.count(line) for line in before if line.strip())
    assert f"- {' '.join(note.split())}" in map(str.strip, after)
