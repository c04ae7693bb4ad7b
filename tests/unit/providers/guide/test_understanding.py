"""Plain English in, wishes out: a table of sentences, and what must hold for every text."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.providers.guide.understanding import Request, understand
from anycowork.providers.guide.wishes import (
    AppendLine,
    CreateFile,
    DeleteFile,
    ListFiles,
    MoveFile,
    ReadFile,
    ReplaceText,
    ReviewFile,
    RunCommand,
    Search,
    Wish,
    phrase,
)

ROOT = Path(__file__).resolve().parents[4]

SENTENCES: list[tuple[str, list[Wish]]] = [
    ("list files", [ListFiles()]),
    ("List the files in src", [ListFiles("src")]),
    ("list files in .", [ListFiles(".")]),
    ("ls", [ListFiles()]),
    ("ls src", [ListFiles("src")]),
    ("what files are there?", [ListFiles()]),
    ("Can you please list the files here?", [ListFiles()]),
    ("find all files", [ListFiles()]),
    ("what is in notes.txt", [ReadFile("notes.txt")]),
    ("what's in src/", [ListFiles("src/")]),
    ("show README.md", [ReadFile("README.md")]),
    ("read notes.txt.", [ReadFile("notes.txt")]),
    ("read README", [ReadFile("README")]),
    ("read a.txt, b.txt and c.txt", [ReadFile("a.txt"), ReadFile("b.txt"), ReadFile("c.txt")]),
    ("please read the file `my notes.txt`", [ReadFile("my notes.txt")]),
    ("search for TODO", [Search("TODO")]),
    ("find TODO in src", [Search("TODO", "src")]),
    ('search for "hello world" in app.py', [Search("hello world", "app.py")]),
    ("look for the word foo in all files", [Search("foo")]),
    ("review a.py", [ReviewFile("a.py")]),
    ("create a file hello.txt that says hi", [CreateFile("hello.txt", "hi\n")]),
    ('create hello.txt with "Hello!"', [CreateFile("hello.txt", "Hello!\n")]),
    ("create hello.txt with Hello there", [CreateFile("hello.txt", "Hello there\n")]),
    ("create hello.txt: Hello", [CreateFile("hello.txt", "Hello\n")]),
    ("create the empty file x.txt", [CreateFile("x.txt")]),
    ("make a new file called notes containing `# Today`", [CreateFile("notes", "# Today\n")]),
    ("create x.py with:\n```python\nprint(1)\n\nprint(2)\n```", [CreateFile("x.py", "print(1)\n\nprint(2)\n")]),
    ("create notes.txt with:\none\nthen delete a.txt", [CreateFile("notes.txt", "one\nthen delete a.txt\n")]),
    ('create a.txt with "then; delete b.txt"', [CreateFile("a.txt", "then; delete b.txt\n")]),
    ("write hello to b.txt", [CreateFile("b.txt", "hello\n")]),
    ('replace "a" with "b" in c.txt', [ReplaceText("c.txt", "a", "b")]),
    ('replace "a" with "" in c.txt', [ReplaceText("c.txt", "a", "")]),
    ("change foo to bar in x.txt", [ReplaceText("x.txt", "foo", "bar")]),
    ("in x.txt, change foo to bar", [ReplaceText("x.txt", "foo", "bar")]),
    ("change foo in x.txt to bar", [ReplaceText("x.txt", "foo", "bar")]),
    ('append "new line" to log.txt', [AppendLine("log.txt", "new line")]),
    ("add the line hello to the end of log.txt", [AppendLine("log.txt", "hello")]),
    ("delete old.txt", [DeleteFile("old.txt")]),
    ("remove the file old", [DeleteFile("old")]),
    ("delete a.txt and b.txt", [DeleteFile("a.txt"), DeleteFile("b.txt")]),
    ("rename a.txt to b.txt", [MoveFile("a.txt", "b.txt")]),
    ("move `a b` to sub/c", [MoveFile("a b", "sub/c")]),
    ("run `ls -la; pwd`", [RunCommand("ls -la; pwd")]),
    ("run pytest -q", [RunCommand("pytest -q")]),
    ("execute the command make test", [RunCommand("make test")]),
    ('create a.txt with "x" then run `cat a.txt`', [CreateFile("a.txt", "x\n"), RunCommand("cat a.txt")]),
    ('create a.txt with "x", and then delete b.txt', [CreateFile("a.txt", "x\n"), DeleteFile("b.txt")]),
    ('create a.txt with "x" and run `cat a.txt`', [CreateFile("a.txt", "x\n"), RunCommand("cat a.txt")]),
    ("1. read a.txt\n2. read b.txt; ls", [ReadFile("a.txt"), ReadFile("b.txt"), ListFiles()]),
]


@pytest.mark.parametrize(("text", "wishes"), SENTENCES, ids=[text for text, _ in SENTENCES])
def test_a_sentence_is_understood(text: str, wishes: list[Wish]):
    assert understand(text) == Request(wishes=tuple(wishes))


@pytest.mark.parametrize(
    "text",
    [
        "write me a poem",
        "add a button to the page",
        "make a folder foo",
        "delete everything",
        "delete all files",
        "run the tests",
        "fix the bug",
        "update the readme",
        "why is the sky blue?",
        "create " + "x" * 5_000,
    ],
)
def test_what_is_not_clear_is_not_guessed(text: str):
    request = understand(text)
    assert request.unclear and not request.wishes


def test_one_unclear_part_is_named_beside_the_clear_ones():
    request = understand("list files then make me happy")
    assert (request.wishes, request.unclear) == ((ListFiles(),), ("make me happy",))


@pytest.mark.parametrize(
    "text", ["plan: delete a.txt", "Plan how to delete a.txt", "please make a plan to delete a.txt"]
)
def test_asking_for_a_plan(text: str):
    assert understand(text) == Request(wishes=(DeleteFile("a.txt"),), planned=True)


@pytest.mark.parametrize("text", ["", "help", "Hello!", "What can you do?", "who are you"])
def test_asking_for_help(text: str):
    assert understand(text).help


@given(st.text(max_size=400))
def test_no_text_makes_it_fail(text: str):
    request = understand(text)
    assert request.help or request.wishes or request.unclear


def _said(**more: int) -> st.SearchStrategy[str]:
    # Line ends become line feeds and private characters are replaced on the way in: not what is asked here.
    return st.text(st.characters(exclude_categories=["Cs", "Co"], exclude_characters="\r"), max_size=40, **more)


paths = _said(min_size=1).filter(lambda path: path.strip() == path)
words = _said(min_size=1).filter(lambda text: text.strip() == text)
WISHES = st.one_of(
    st.builds(ListFiles, paths),
    st.builds(ReadFile, paths),
    st.builds(ReviewFile, paths),
    st.builds(Search, words, st.none() | paths),
    st.builds(CreateFile, paths, st.just("") | _said().map(lambda text: f"{text}\n")),
    st.builds(ReplaceText, paths, words, _said()),
    st.builds(AppendLine, paths, words),
    st.builds(DeleteFile, paths),
    st.builds(MoveFile, paths, paths),
    st.builds(RunCommand, words),
)


@given(WISHES)
def test_every_wish_said_back_is_the_same_wish(wish: Wish):
    assert understand(phrase(wish)) == Request(wishes=(wish,))


@given(st.lists(WISHES, min_size=1, max_size=4))
def test_several_wishes_joined_stay_apart(wishes: list[Wish]):
    assert understand(" then ".join(map(phrase, wishes))) == Request(wishes=tuple(wishes))


def test_the_first_folder_suggests_nothing_that_the_guide_cannot_do(tmp_path: Path):
    subprocess.run(["sh", str(ROOT / "scripts" / "first_workspace.sh"), str(tmp_path / "first")], check=True)
    lines = (tmp_path / "first" / "welcome.txt").read_text().splitlines()
    suggested = [line.removeprefix("  - ").rpartition(": ")[2] for line in lines if line.startswith("  - ")]
    assert len(suggested) == 4 and not [words for words in suggested if understand(words).unclear]
