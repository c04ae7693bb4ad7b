"""Unified diffs as old and new text: nothing is lost, and what is no diff is not guessed at."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from anycowork.acp.tool_calls import DiffHunk, apply_hunks, diff_hunks

LINES = st.lists(
    st.text(alphabet="ab -+@\\\x0c\x1c\x85\u2028\r", max_size=6).map(lambda line: line + "\n"), max_size=12
)


def test_a_new_file_has_no_old_text() -> None:
    found = diff_hunks("--- /dev/null\n+++ b/hello.txt\n@@ -0,0 +1,1 @@\n+hi\n")
    assert found == [DiffHunk("hello.txt", None, "hi\n", 1)]


def test_a_deleted_file_keeps_its_name_and_loses_its_text() -> None:
    found = diff_hunks("--- a/old.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n")
    assert found == [DiffHunk("old.txt", "one\ntwo\n", "", 0)]


def test_a_missing_line_feed_belongs_to_the_line_before_it() -> None:
    diff = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+two\n"
    assert diff_hunks(diff) == [DiffHunk("f", "one", "two\n", 1)]


def test_removed_lines_that_look_like_headers_stay_lines() -> None:
    diff = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- a/g\n+++ b/g\n same\n"
    assert diff_hunks(diff) == [DiffHunk("f", "-- a/g\nsame\n", "++ b/g\nsame\n", 1)]


def test_what_is_no_unified_diff_is_none() -> None:
    for text in (
        "Binary files differ\n",
        "--- a/f\n+++ b/f\n@@ -1,3 +1 @@\n-one\n",
        "@@ -x +y @@\n",
        "@@ -1,2,3 +1 @@\n+a\n",
    ):
        assert diff_hunks(text) is None, text


@given(LINES, LINES)
def test_hunks_of_a_whole_file_give_both_texts_back(old: list[str], new: list[str]) -> None:
    diff = "".join(difflib.unified_diff(old, new, "a/f", "b/f", n=1000))
    found = diff_hunks(diff)
    if old == new:
        assert found == []
    else:
        assert found is not None and [(hunk.old, hunk.new) for hunk in found] == [("".join(old), "".join(new))]


@given(LINES, LINES)
def test_hunks_applied_to_the_old_text_give_the_new_one_and_to_another_text_nothing(
    old: list[str], new: list[str]
) -> None:
    for lines in (0, 3):
        diff = "".join(difflib.unified_diff(old, new, "a/f", "b/f", n=lines))
        hunks = diff_hunks(diff) if old != new else []
        assert hunks is not None
        assert apply_hunks("".join(old), hunks) == "".join(new)
        if hunks and hunks[0].old:
            assert apply_hunks("", hunks) is None
