"""Plain English in, wishes out: a table of sentences, and what must hold for every text."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.providers.guide.grammar import GuideRequest, understand
from anycowork.providers.guide.intents import (
    AppendLineIntent,
    CreateFileIntent,
    DeleteFileIntent,
    Intent,
    ListFilesIntent,
    MoveFileIntent,
    ReadFileIntent,
    ReplaceTextIntent,
    ReviewFileIntent,
    RunCommandIntent,
    SearchIntent,
    phrase,
)

ROOT = Path(__file__).resolve().parents[4]

SENTENCES: list[tuple[str, list[Intent]]] = [
    ("list files", [ListFilesIntent()]),
    ("List the files in src", [ListFilesIntent("src")]),
    ("list files in .", [ListFilesIntent(".")]),
    ("ls", [ListFilesIntent()]),
    ("ls src", [ListFilesIntent("src")]),
    ("what files are there?", [ListFilesIntent()]),
    ("Can you please list the files here?", [ListFilesIntent()]),
    ("find all files", [ListFilesIntent()]),
    ("what is in notes.txt", [ReadFileIntent("notes.txt")]),
    ("what's in src/", [ListFilesIntent("src/")]),
    ("show README.md", [ReadFileIntent("README.md")]),
    ("read notes.txt.", [ReadFileIntent("notes.txt")]),
    ("read README", [ReadFileIntent("README")]),
    ("read a.txt, b.txt and c.txt", [ReadFileIntent("a.txt"), ReadFileIntent("b.txt"), ReadFileIntent("c.txt")]),
    ("please read the file `my notes.txt`", [ReadFileIntent("my notes.txt")]),
    ("search for TODO", [SearchIntent("TODO")]),
    ("find TODO in src", [SearchIntent("TODO", "src")]),
    ('search for "hello world" in app.py', [SearchIntent("hello world", "app.py")]),
    ("look for the word foo in all files", [SearchIntent("foo")]),
    ("review a.py", [ReviewFileIntent("a.py")]),
    ("create a file hello.txt that says hi", [CreateFileIntent("hello.txt", "hi\n")]),
    ('create hello.txt with "Hello!"', [CreateFileIntent("hello.txt", "Hello!\n")]),
    ("create hello.txt with Hello there", [CreateFileIntent("hello.txt", "Hello there\n")]),
    ("create hello.txt: Hello", [CreateFileIntent("hello.txt", "Hello\n")]),
    ("create the empty file x.txt", [CreateFileIntent("x.txt")]),
    ("make a new file called notes containing `# Today`", [CreateFileIntent("notes", "# Today\n")]),
    ("create x.py with:\n```python\nprint(1)\n\nprint(2)\n```", [CreateFileIntent("x.py", "print(1)\n\nprint(2)\n")]),
    ("create notes.txt with:\none\nthen delete a.txt", [CreateFileIntent("notes.txt", "one\nthen delete a.txt\n")]),
    ('create a.txt with "then; delete b.txt"', [CreateFileIntent("a.txt", "then; delete b.txt\n")]),
    ("write hello to b.txt", [CreateFileIntent("b.txt", "hello\n")]),
    ('replace "a" with "b" in c.txt', [ReplaceTextIntent("c.txt", "a", "b")]),
    ('replace "a" with "" in c.txt', [ReplaceTextIntent("c.txt", "a", "")]),
    ("change foo to bar in x.txt", [ReplaceTextIntent("x.txt", "foo", "bar")]),
    ("in x.txt, change foo to bar", [ReplaceTextIntent("x.txt", "foo", "bar")]),
    ("change foo in x.txt to bar", [ReplaceTextIntent("x.txt", "foo", "bar")]),
    ('append "new line" to log.txt', [AppendLineIntent("log.txt", "new line")]),
    ("add the line hello to the end of log.txt", [AppendLineIntent("log.txt", "hello")]),
    ("delete old.txt", [DeleteFileIntent("old.txt")]),
    ("remove the file old", [DeleteFileIntent("old")]),
    ("delete a.txt and b.txt", [DeleteFileIntent("a.txt"), DeleteFileIntent("b.txt")]),
    ("rename a.txt to b.txt", [MoveFileIntent("a.txt", "b.txt")]),
    ("move `a b` to sub/c", [MoveFileIntent("a b", "sub/c")]),
    ("run `ls -la; pwd`", [RunCommandIntent("ls -la; pwd")]),
    ("run pytest -q", [RunCommandIntent("pytest -q")]),
    ("execute the command make test", [RunCommandIntent("make test")]),
    ('create a.txt with "x" then run `cat a.txt`', [CreateFileIntent("a.txt", "x\n"), RunCommandIntent("cat a.txt")]),
    ('create a.txt with "x", and then delete b.txt', [CreateFileIntent("a.txt", "x\n"), DeleteFileIntent("b.txt")]),
    ('create a.txt with "x" and run `cat a.txt`', [CreateFileIntent("a.txt", "x\n"), RunCommandIntent("cat a.txt")]),
    ("1. read a.txt\n2. read b.txt; ls", [ReadFileIntent("a.txt"), ReadFileIntent("b.txt"), ListFilesIntent()]),
]


@pytest.mark.parametrize(("text", "requests"), SENTENCES, ids=[text for text, _ in SENTENCES])
def test_a_sentence_is_understood(text: str, requests: list[Intent]):
    assert understand(text) == GuideRequest(intents=tuple(requests))


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
    assert request.unclear and not request.intents


def test_one_unclear_part_is_named_beside_the_clear_ones():
    request = understand("list files then make me happy")
    assert (request.intents, request.unclear) == ((ListFilesIntent(),), ("make me happy",))


@pytest.mark.parametrize(
    "text", ["plan: delete a.txt", "Plan how to delete a.txt", "please make a plan to delete a.txt"]
)
def test_asking_for_a_plan(text: str):
    assert understand(text) == GuideRequest(intents=(DeleteFileIntent("a.txt"),), planned=True)


@pytest.mark.parametrize("text", ["", "help", "Hello!", "What can you do?", "who are you"])
def test_asking_for_help(text: str):
    assert understand(text).help


@given(st.text(max_size=400))
def test_no_text_makes_it_fail(text: str):
    request = understand(text)
    assert request.help or request.intents or request.unclear


def _said(**more: int) -> st.SearchStrategy[str]:
    # Line ends become line feeds and private characters are replaced on the way in: not what is asked here.
    return st.text(st.characters(exclude_categories=["Cs", "Co"], exclude_characters="\r"), max_size=40, **more)


paths = _said(min_size=1).filter(lambda path: path.strip() == path)
words = _said(min_size=1).filter(lambda text: text.strip() == text)
REQUESTS = st.one_of(
    st.builds(ListFilesIntent, paths),
    st.builds(ReadFileIntent, paths),
    st.builds(ReviewFileIntent, paths),
    st.builds(SearchIntent, words, st.none() | paths),
    st.builds(CreateFileIntent, paths, st.just("") | _said().map(lambda text: f"{text}\n")),
    st.builds(ReplaceTextIntent, paths, words, _said()),
    st.builds(AppendLineIntent, paths, words),
    st.builds(DeleteFileIntent, paths),
    st.builds(MoveFileIntent, paths, paths),
    st.builds(RunCommandIntent, words),
)


@given(REQUESTS)
def test_every_request_repeated_in_words_is_the_same_request(requested: Intent):
    assert understand(phrase(requested)) == GuideRequest(intents=(requested,))


@given(st.lists(REQUESTS, min_size=1, max_size=4))
def test_several_joined_requests_stay_apart(requests: list[Intent]):
    assert understand(" then ".join(map(phrase, requests))) == GuideRequest(intents=tuple(requests))


def test_the_first_folder_suggests_nothing_that_the_guide_cannot_do(tmp_path: Path):
    subprocess.run(["sh", str(ROOT / "scripts" / "first_workspace.sh"), str(tmp_path / "first")], check=True)
    lines = (tmp_path / "first" / "welcome.txt").read_text().splitlines()
    suggested = [line.removeprefix("  - ").rpartition(": ")[2] for line in lines if line.startswith("  - ")]
    assert len(suggested) == 4 and not [words for words in suggested if understand(words).unclear]
