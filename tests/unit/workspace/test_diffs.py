from random import Random

from hypothesis import given
from hypothesis import strategies as st

from anycowork.workspace import diffs
from anycowork.workspace.diffs import diff, without_hunks
from anycowork.workspace.text import TextFile, decode, lines_of, with_line_ends

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "é\n", "-x\n", "+y\n", "\x0c\n"]), max_size=30)


@given(LINES, LINES, st.sampled_from(["", "tail"]), st.sampled_from(["", "tail"]))
def test_the_diff_counts_what_it_shows_and_leads_from_one_to_the_other(
    a: list[str], b: list[str], end: str, other: str
) -> None:
    before, after = "".join(a) + end, "".join(b) + other
    made = diff(before.encode(), after.encode(), "f")
    assert applied(before, made.text) == after
    assert len(lines_of(after)) - len(lines_of(before)) == made.additions - made.deletions


def applied(before: str, text: str) -> str:
    """A reader of unified diffs, strict about what it finds."""
    old, new, position = lines_of(before), [], 0
    lines = lines_of(text)[2:]
    for i, line in enumerate(lines):
        if line.startswith("@@ "):
            start = int(line.split("-")[1].split(",")[0].split(" ")[0])
            length = int(line.split("-")[1].split(" ")[0].partition(",")[2] or 1)
            first = start - 1 if length else start
            new += old[position:first]
            position = first
            continue
        if line.startswith("\\"):
            continue
        bare = i + 1 < len(lines) and lines[i + 1].startswith("\\")
        body = line[1:].removesuffix("\n") if bare else line[1:]
        if line[0] in " -":
            assert old[position] == body
            position += 1
        if line[0] in " +":
            new.append(body)
    return "".join(new + old[position:])


def test_new_and_removed_files_are_shown_against_nothing() -> None:
    assert diff(None, b"x\n", "f").text == "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+x\n"
    assert diff(b"x\n", None, "f").text.startswith("--- a/f\n+++ /dev/null\n")


def test_binary_and_huge_contents_are_said_so_and_not_compared() -> None:
    assert "Binary" in diff(b"\0", b"x", "f").text
    huge = diff(b"x\n" * 3_000_000, b"y\n", "f")
    assert "Too large" in huge.text and (huge.additions, huge.deletions) == (1, 3_000_000)


def test_a_long_diff_is_cut_with_its_counts() -> None:
    made = diff(None, b"0123456789\n" * 200_000, "f")
    assert made.additions == 200_000 and len(made.text) < diffs.LONGEST_DIFF + 2_000 and "200000 additions" in made.text


@given(st.binary(max_size=200) | st.text().map(lambda text: text.encode("utf-8", "replace")))
def test_text_survives_decoding_and_encoding(data: bytes) -> None:
    text = decode(data)
    assert text is None or text.encoded() == data


def test_new_lines_take_the_files_own_ends() -> None:
    windows = TextFile("a\r\nb\r\nc\n")
    assert windows.newline == "\r\n" and TextFile("a\nb\r\n").newline == "\n" and TextFile("").newline == "\n"
    assert with_line_ends("x\ny\n", "\r\n") == "x\r\ny\r\n"
    assert with_line_ends("x\r\ny\n", "\r\n") == "x\r\ny\n"


@given(LINES, LINES, st.sampled_from(["", "tail"]), st.sampled_from(["", "tail"]), st.randoms(use_true_random=False))
def test_hunks_that_are_taken_back_leave_the_others_and_all_of_them_leave_nothing(
    a: list[str], b: list[str], end: str, other: str, chance: Random
) -> None:
    before, after = ("".join(a) + end).encode(), ("".join(b) + other).encode()
    count = sum(line.startswith("@@ -") for line in diff(before, after, "f").text.split("\n"))
    if before == after:
        assert without_hunks(before, after, [0]) is None
        return
    assert without_hunks(before, after, range(count)) == before
    some = sorted(chance.sample(range(count), chance.randint(1, count)))
    left = without_hunks(before, after, some)
    assert left is not None and without_hunks(before, after, [count]) is None
    remaining = sum(line.startswith("@@ -") for line in diff(before, left, "f").text.split("\n"))
    assert (remaining == 0) == (len(some) == count)
