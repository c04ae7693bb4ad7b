"""Requirements and tests agree, at both ends: no orphan, no unnamed gap, and the page says the same."""

import re
from pathlib import Path

import pytest

from spec.proofs import ROOT, Proof, collect_proofs, proofs_in, web_proofs_in
from spec.table import PAGE, Demand, Requirement, State, page, problems, read_table

FOUNDING_PAGE = ROOT.parent / "shared" / "requirements.md"


def test_every_requirement_is_proved_or_its_gap_is_named() -> None:
    found = problems(read_table(), collect_proofs())
    assert not found, "Requirements and tests disagree:\n\n" + "\n".join(f"  - {problem}" for problem in found)


def test_the_page_is_what_the_table_and_the_tests_give() -> None:
    fresh = page(read_table(), collect_proofs())
    assert PAGE.read_text("utf-8") == fresh, "docs/requirements.md is out of date. Run `make docs` and commit it."


def test_the_table_quotes_the_founding_page_word_for_word() -> None:
    """The founding page is not part of a clone; where it stands beside one, it has the last word on which ids exist and what they say."""
    table = read_table()
    demanded = texts_in(FOUNDING_PAGE) or {key: one.text for key, one in table.items()}
    missing, invented = sorted(set(demanded) - set(table)), sorted(set(table) - set(demanded))
    assert not missing, f"Add to tests/spec/requirements.toml: {', '.join(missing)}"
    assert not invented, f"Not demanded anywhere, remove from tests/spec/requirements.toml: {', '.join(invented)}"
    changed = [f"[{key}] should say: {text}" for key, text in demanded.items() if table[key].text != text]
    assert not changed, "Quote these whole in tests/spec/requirements.toml:\n" + "\n".join(changed)
    assert len(table) >= 103


DEMANDED_BY_CLAUSE = (
    "APR-3",
    "APR-10",
    "PLN-5",
    "PLN-6",
    "LOOP-4",
    "LOOP-6",
    "LOOP-12",
    "ROL-1",
    "SWI-2",
    "MSG-1",
    "UI-2",
    "TOOL-1",
    "NEW-1",
)


def test_requirements_that_demand_several_things_are_split() -> None:
    table = read_table()
    assert [key for key in DEMANDED_BY_CLAUSE if len(table[key].clauses) < 2] == []


# --- the reader itself

ONE = {"ROL-1": Requirement("ROL-1", "One role.")}
PROOF = Proof("ROL-1", "tests/test_a.py::test_a", 3)


def test_proofs_are_read_from_functions_coroutines_and_methods() -> None:
    source = """
@proves("ROL-1", "ROL-2")
def test_one(): ...
class TestThings:
    @pytest.mark.parametrize("x", [1])
    @pytest.mark.proves("ROL-3")
    async def test_two(self, x): ...
"""
    assert [(proof.requirement, proof.test) for proof in proofs_in(source, "tests/test_a.py")] == [
        ("ROL-1", "tests/test_a.py::test_one"),
        ("ROL-2", "tests/test_a.py::test_one"),
        ("ROL-3", "tests/test_a.py::TestThings::test_two"),
    ]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("@proves(ID)\ndef test_a(): ...", "literal string"),
        ("@proves()\ndef test_a(): ...", "write the ids"),
        ('pytestmark = proves("ROL-1")', "decorator of a test function"),
        ('@proves("ROL-1")\ndef helper(): ...', "decorator of a test function"),
    ],
)
def test_a_proof_that_cannot_be_read_is_an_error_that_says_so(source: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        list(proofs_in(source, "tests/test_a.py"))


@pytest.mark.parametrize(
    ("requirement", "proofs", "complaint"),
    [
        (Requirement("ROL-1", "One role."), [], "no test names it"),
        (Requirement("ROL-1", "One role.", open="later"), [PROOF], "is open, but 1 test"),
        (Requirement("ROL-1", "One role.", partly="the UI"), [], "partly proved, but no test"),
        (Requirement("ROL-1", "One role.", open="a", partly="b"), [PROOF], "both open and partly"),
        (Requirement("ROL-1", " "), [PROOF], "no text"),
    ],
)
def test_a_disagreement_is_named_with_the_way_to_mend_it(
    requirement: Requirement, proofs: list[Proof], complaint: str
) -> None:
    (problem,) = problems({"ROL-1": requirement}, proofs)
    assert "ROL-1" in problem
    assert complaint in problem


def test_a_proof_of_nothing_is_named_with_its_place() -> None:
    (problem,) = problems(ONE, [PROOF, Proof("ROL-99", "tests/test_b.py::test_b", 7)])
    assert problem == "tests/test_b.py::test_b (line 7) proves 'ROL-99', which is no requirement. Correct the id."


@pytest.mark.parametrize(
    "requirement",
    [Requirement("ROL-1", "One role."), Requirement("ROL-1", "One role.", partly="the UI")],
)
def test_a_requirement_with_a_proof_agrees_whether_whole_or_in_part(requirement: Requirement) -> None:
    assert problems({"ROL-1": requirement}, [PROOF]) == []


def test_the_page_counts_states_and_lists_the_tests() -> None:
    table = {**ONE, "ROL-2": Requirement("ROL-2", "An enum.", open="comes later")}
    written = page(table, [PROOF])
    assert "2 requirements: 1 proved, 0 partly, 1 open." in written
    assert "| ROL-1 | One role. | **proved** | `tests/test_a.py::test_a` |" in written
    assert "| ROL-2 | An enum. | **open**: comes later |  |" in written
    assert [state.value for state in State] == ["proved", "partly", "open"]


# --- clauses

TEXT = "A role is stored, and a switch (★ by a person) is confirmed."
STORED, CONFIRMED = Demand("ROL-1/1", "A role is stored,"), Demand("ROL-1/2", "a switch … is confirmed.")
BY_PERSON = Demand("ROL-1/3", "a switch (★ by a person)")


def split(*clauses: Demand, **more: str) -> dict[str, Requirement]:
    return {"ROL-1": Requirement("ROL-1", TEXT, clauses=clauses, **more)}


def proof_of(*ids: str) -> list[Proof]:
    return [Proof(one, "tests/test_a.py::test_a", 3) for one in ids]


def test_a_split_requirement_is_proved_by_a_test_of_each_clause() -> None:
    table = split(STORED, CONFIRMED, BY_PERSON)
    assert problems(table, proof_of("ROL-1/1", "ROL-1/2", "ROL-1/3")) == [] and table["ROL-1"].state is State.PROVED


def test_a_test_that_names_only_the_requirement_proves_no_clause() -> None:
    found = problems(split(STORED, CONFIRMED, BY_PERSON), proof_of("ROL-1", "ROL-1/1"))
    assert [problem.split("]")[0] for problem in found] == ["[ROL-1/2", "[ROL-1/3"]


def test_a_requirement_with_an_open_clause_is_partly_proved() -> None:
    later = Demand("ROL-1/3", BY_PERSON.text, open="later")
    table = split(STORED, CONFIRMED, later)
    assert problems(table, proof_of("ROL-1/1", "ROL-1/2")) == [] and table["ROL-1"].state is State.PARTLY


@pytest.mark.parametrize(
    ("clauses", "more", "complaint"),
    [
        ((STORED, CONFIRMED), {}, "no clause holds the word 'by'"),
        ((STORED, CONFIRMED, Demand("ROL-1/3", "by anybody")), {}, "does not quote"),
        ((STORED, BY_PERSON, Demand("ROL-1/2", "is confirmed. … a switch")), {}, "does not quote"),
        ((STORED, CONFIRMED, BY_PERSON), {"partly": "x"}, "its state is theirs"),
    ],
)
def test_clauses_quote_the_requirement_and_leave_nothing_out(
    clauses: tuple[Demand, ...], more: dict[str, str], complaint: str
) -> None:
    found = problems(split(*clauses, **more), proof_of("ROL-1/1", "ROL-1/2", "ROL-1/3"))
    assert any(complaint in problem for problem in found), found


def test_the_page_has_a_row_for_each_clause() -> None:
    table = split(STORED, CONFIRMED, Demand("ROL-1/3", BY_PERSON.text, open="later"))
    written = page(table, proof_of("ROL-1", "ROL-1/1"))
    assert "1 of them are split into 3 clauses: 2 proved, 0 partly, 1 open." in written
    assert "| ROL-1/1 | A role is stored, | **proved** | `tests/test_a.py::test_a` |" in written
    assert "| ROL-1/3 | a switch (★ by a person) | **open**: later |  |" in written


def test_proofs_of_the_web_ui_are_read_from_the_line_above_a_test() -> None:
    source = 'const x = 1;\n\n// proves UI-2/1, UI-2/2\nit.each(["a"])("shows %s", (x) => {\n});\n'
    assert [(p.requirement, p.test) for p in web_proofs_in(source, "web/src/a.test.tsx")] == [
        ("UI-2/1", "web/src/a.test.tsx::shows %s"),
        ("UI-2/2", "web/src/a.test.tsx::shows %s"),
    ]
    with pytest.raises(ValueError, match="directly above a test"):
        list(web_proofs_in("// proves UI-2/1\nconst x = 1;", "web/src/a.test.tsx"))


def texts_in(founding: Path) -> dict[str, str]:
    """Each requirement's text there, its lines joined."""
    if not founding.is_file():
        return {}
    found: dict[str, str] = {}
    current = ""
    for line in founding.read_text("utf-8").splitlines():
        if start := re.match(r"- ([A-Z]+-\d+) ", line):
            current = start[1]
            found[current] = line[start.end() :].strip()
        elif current and line.startswith("  "):
            found[current] += f" {line.strip()}"
        else:
            current = ""
    return found
