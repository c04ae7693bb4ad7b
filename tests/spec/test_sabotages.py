"""Each sabotage still fits the code, each proved clause has one, and the quick ones are found. `make test-spec` tries them all."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spec.proofs import ROOT, Proof, collect_proofs
from spec.sabotage import Edit, Sabotage, read_sabotages, sabotage_problems
from spec.table import Demand, Requirement, read_table

sys.path.append(str(ROOT / "scripts"))

import sabotage  # the line above makes it importable

QUICK = [one for one in read_sabotages() if one.quick]


def test_every_sabotage_fits_the_code_and_every_proved_clause_has_one() -> None:
    found = sabotage_problems(read_sabotages(), read_table(), collect_proofs())
    assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    with sabotage.copied_tree() as tree:
        yield tree


def test_three_sabotages_are_quick() -> None:
    assert len(QUICK) == 3


@pytest.mark.timeout(300)
@pytest.mark.parametrize("one", QUICK, ids=lambda one: one.name)
def test_quick_sabotage_is_found_by_a_test_of_each_clause(copy: Path, one: Sabotage) -> None:
    files = {edit.file: (copy / edit.file).read_text("utf-8") for edit in one.edits}
    outcome = sabotage.try_sabotage(copy, one, collect_proofs())
    assert outcome.found, (outcome.error, outcome.failed)
    assert {file: (copy / file).read_text("utf-8") for file in files} == files, "the copy is whole again"
    assert all(edit.old in (ROOT / edit.file).read_text("utf-8") for edit in one.edits), "the tree was never touched"


# --- the checks themselves

FILE = "src/a.py"
EDIT = Edit(FILE, "x = 1", "x = 2")
TABLE = {
    "ROL-1": Requirement(
        "ROL-1", "One role.", clauses=(Demand("ROL-1/1", "One"), Demand("ROL-1/2", "role.", open="later"))
    )
}
PROOF = Proof("ROL-1/1", "tests/test_a.py::test_a", 3)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / FILE).write_text("x = 1\ny = 3\ny = 3\n")
    return tmp_path


def test_a_fitting_sabotage_of_every_proved_clause_is_all_that_is_wanted(tree: Path) -> None:
    assert sabotage_problems([Sabotage("s", ("ROL-1/1",), (EDIT,))], TABLE, [PROOF], tree) == []


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (Edit(FILE, "x = 7", "x = 2"), "stands 0 times"),
        (Edit(FILE, "y = 3", "y = 4"), "stands 2 times"),
        (Edit("src/gone.py", "x = 1", "x = 2"), "stands 0 times"),
        (Edit(FILE, "x = 1", "x = 1"), "changes nothing"),
    ],
)
def test_a_sabotage_that_does_not_fit_the_code_is_named(tree: Path, edit: Edit, complaint: str) -> None:
    (problem,) = sabotage_problems([Sabotage("s", ("ROL-1/1",), (edit,))], TABLE, [PROOF], tree)
    assert "'s'" in problem and complaint in problem


def test_a_proved_clause_without_a_sabotage_is_named_unless_it_says_why(tree: Path) -> None:
    (problem,) = sabotage_problems([], TABLE, [PROOF], tree)
    assert "ROL-1/1" in problem and "no_sabotage" in problem
    reason = Requirement("ROL-1", "One.", clauses=(Demand("ROL-1/1", "One.", no_sabotage="the kernel does it"),))
    assert sabotage_problems([], {"ROL-1": reason}, [PROOF], tree) == []
    (problem,) = sabotage_problems([Sabotage("s", ("ROL-1/1",), (EDIT,))], {"ROL-1": reason}, [PROOF], tree)
    assert "Drop `no_sabotage`" in problem


@pytest.mark.parametrize(
    ("broken", "tests", "complaint"),
    [
        ((), (), "breaks no clause"),
        (("ROL-9",), (), "is no clause"),
        (("ROL-1/2",), (), "none of its tests proves"),
        (("ROL-1/1",), ("tests/test_a.py::test_b",), "proves none of its clauses"),
    ],
)
def test_a_sabotage_that_no_test_could_notice_is_named(
    tree: Path, broken: tuple[str, ...], tests: tuple[str, ...], complaint: str
) -> None:
    found = sabotage_problems(
        [Sabotage("s", broken, (EDIT,), tests), Sabotage("t", ("ROL-1/1",), (EDIT,))], TABLE, [PROOF], tree
    )
    assert any(complaint in problem for problem in found)
