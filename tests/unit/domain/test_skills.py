"""A `SKILL.md` is read as its specification says, and what does not fit is told with its line."""

import pytest

from anycowork.domain.skills import Declared, read_skill_text
from support.skills import skill_text
from support.spec import proves


def faults(text: str, folder: str = "notes") -> list[tuple[int | None, str]]:
    return [(problem.line, problem.message) for problem in read_skill_text(folder, text).problems]


@proves("SKL-1/2")
def test_what_a_skill_needs_is_read_from_its_front_matter() -> None:
    text = skill_text(
        "notes",
        description=">\n  Sorts notes\n  by date.",
        license="MIT",
        allowed_tools="Bash(git add:*) Bash(jq:*), Read",
        metadata="\n  author: ada\n  anycowork-network: api.example.com\n  anycowork-paths: notes/** index.md",
    )
    read = read_skill_text("notes", text)
    assert (read.problems, read.description) == ((), "Sorts notes by date.")
    assert read.declared == Declared(
        ("Bash(git add:*)", "Bash(jq:*)", "Read"), ("api.example.com",), ("notes/**", "index.md")
    )


def test_tools_may_be_a_list() -> None:
    assert read_skill_text("notes", skill_text("notes", allowed_tools="\n  - Read\n  - Write")).declared.tools == (
        "Read",
        "Write",
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("no front matter", 1, "must begin with a line ---"),
        ("---\nname: notes\n", 1, "not closed"),
        ("---\nname: notes\ndescription: a: b\n---\n", 3, "not valid YAML"),
        ("---\n- name\n---\n", 1, "must hold fields"),
        ("---\nname: notes\nname: other\ndescription: x\n---\n", 3, "twice"),
        ("---\n" + "[" * 5_000 + "\n---\n", 1, "not valid YAML"),
        ("---\nname: notes\n---\n", 1, "'description' is missing"),
        (skill_text("notes", description="x" * 1_025), 3, "more than 1,024"),
        (skill_text("notes", compatibility="x" * 501), 4, "more than 500"),
        (skill_text("other"), 2, "the folder is 'notes'"),
        (skill_text("Notes"), 2, "lower-case letters"),
        (skill_text("no--tes"), 2, "lower-case letters"),
        (skill_text("x" * 65), 2, "1 to 64"),
        (skill_text("notes", metadata="\n  anycowork-network: http://x/y"), 5, "not a host"),
        (skill_text("notes", metadata="\n  anycowork-paths: ../x"), 5, "leads out"),
    ],
)
def test_what_does_not_fit_is_told_with_its_line(text: str, line: int, words: str) -> None:
    (found, *_) = faults(text)
    assert found[0] == line and words in found[1]


def test_values_stay_text_whatever_yaml_makes_of_them() -> None:
    text = "---\nname: notes\ndescription: 2026-11-18\nlicense: !!python/object/apply:os.system [x]\n---\n"
    assert read_skill_text("notes", text).description == "2026-11-18"
