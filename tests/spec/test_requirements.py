"""Requirements and tests agree, at both ends: no orphan, no unnamed gap, and the page says the same."""

import re
from pathlib import Path

import pytest

from spec.table import PAGE, ROOT, Proof, Requirement, State, collect_proofs, page, problems, proofs_in, read_table

FOUNDING_PAGE = ROOT.parent / "shared" / "requirements.md"


def test_every_requirement_is_proved_or_its_gap_is_named() -> None:
    found = problems(read_table(), collect_proofs())
    assert not found, "Requirements and tests disagree:\n\n" + "\n".join(f"  - {problem}" for problem in found)


def test_the_page_is_what_the_table_and_the_tests_give() -> None:
    fresh = page(read_table(), collect_proofs())
    assert PAGE.read_text("utf-8") == fresh, "docs/requirements.md is out of date. Run `make docs` and commit it."


def test_the_table_holds_exactly_the_ids_of_the_founding_page() -> None:
    """The founding page is not part of a clone; where it stands beside one, it has the last word on which ids exist."""
    table = read_table()
    demanded = ids_in(FOUNDING_PAGE) or list(table)
    missing, invented = sorted(set(demanded) - set(table)), sorted(set(table) - set(demanded))
    assert not missing, f"Add to tests/spec/requirements.toml: {', '.join(missing)}"
    assert not invented, f"Not demanded anywhere, remove from tests/spec/requirements.toml: {', '.join(invented)}"
    assert len(table) >= 103


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
        (Requirement("ROL-1", " "), [PROOF], "no summary"),
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


def ids_in(founding: Path) -> list[str]:
    if not founding.is_file():
        return []
    return re.findall(r"^- ([A-Z]+-\d+) ", founding.read_text("utf-8"), re.MULTILINE)
