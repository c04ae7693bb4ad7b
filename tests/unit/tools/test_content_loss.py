"""A whole new text that leaves out what nobody asked to lose is known, and one that says it all is let through."""

import pytest

from anycowork.tools.write_tools import elision_in, lost_content

OLD = "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n"


@pytest.mark.parametrize(
    ("line", "new"),
    [
        (1, "[...]\n\ndef four():\n    return 4\n"),
        (3, "def four():\n    return 4\n# ... existing code ...\n"),
        (2, "def four(): ...\n// rest of the file remains the same\n"),
        (1, "... (rest of the code)\n"),
        (1, "<!-- ... remaining entries ... -->\n"),
        (1, "# the rest stays unchanged\n"),
        (4, "a\nb\n\n    # … other functions as before\n"),
    ],
)
def test_a_line_that_stands_for_others_is_found(line: int, new: str) -> None:
    assert elision_in(new, OLD) == line


@pytest.mark.parametrize(
    "new",
    [
        "class Port(Protocol):\n    def read(self) -> str:\n        ...\n",
        "def rest():\n    # other callers come later\n    return rest\n",
        "The rest is silence ...\n",
        "- ...and so on\n",
        "values = [...]\n",
        "",
    ],
)
def test_what_only_looks_like_it_is_not(new: str) -> None:
    assert elision_in(new, OLD) is None


def test_an_elision_that_the_file_has_already_is_its_own() -> None:
    assert elision_in("# ... existing code ...\nx = 2\n", "# ... existing code ...\nx = 1\n") is None


def test_the_words_that_a_new_text_lacks_are_named() -> None:
    assert lost_content("def three():\n    return 33\n", OLD, request="In a.py let three return 33.") == [
        "def", "one", "return", "1", "two", "2", "3"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("new", "old", "asked"),
    [
        (OLD.replace("three", "four"), OLD, "Rename three to four."),
        ('{"a": 1, "b": 2, "c": 3, "d": 5}', '{\n  "d": 4,\n  "c": 3,\n  "b": 2,\n  "a": 1\n}', "Set d to 5."),
        ("def one():\n    return 1\n", OLD, "Remove two and three."),
        ("y = 2\n", "x = 1\n", "Let y be 2 instead."),
    ],
)
def test_a_text_that_keeps_enough_or_was_to_be_shortened_loses_nothing(new: str, old: str, asked: str) -> None:
    assert lost_content(new, old, request=asked) == []


STUB = """# The categories.
# Change the values as you see fit.
ACES = None
TWOS = None
FOURS = None
CHOICE = None


def score(dice):
    pass
"""


def test_what_stands_where_the_work_is_to_be_done_is_not_lost() -> None:
    done = "ACES = 1\nTWOS = 2\nFOURS = 4\nCHOICE = 3\n\n\ndef score(dice):\n    return sum(dice)\n"
    assert lost_content(done, STUB, request="Implement score.", is_code=True) == []
    assert lost_content("ACES = 1\n", STUB, request="Implement score.", is_code=True) == [
        "TWOS", "FOURS", "CHOICE", "def", "score", "dice"
    ]  # fmt: skip
    script = "#!/bin/sh\necho one two three\necho four five six\n"
    assert "bin" in lost_content("echo one\n", script, request="Print one.", is_code=True), "that line is not a comment"
    headings = "# One two three\n# Four five six\n# Seven eight\n"
    assert lost_content("# One\n", headings, request="Fix the first heading.")
