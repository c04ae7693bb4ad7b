"""The sabotages: small changes that break the code behind a clause, so that a test which proves the clause must fail. Reads and checks them."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spec.proofs import ROOT, Proof
from spec.table import Requirement, State

SABOTAGES = ROOT / "tests" / "spec" / "sabotage.toml"


@dataclass(frozen=True, slots=True)
class Edit:
    """`old` stands exactly once in `file`; `new` takes its place."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Sabotage:
    """`breaks` are the clauses whose tests must notice it. `tests` narrows these tests; without, all that prove the clauses run.
    A `quick` one is run by `make test` as well."""

    name: str
    breaks: tuple[str, ...]
    edits: tuple[Edit, ...]
    tests: tuple[str, ...] = ()
    quick: bool = False

    def tests_of(self, clause: str, proofs: Iterable[Proof]) -> list[str]:
        """The tests of which one must fail for this clause."""
        named = dict.fromkeys(proof.test for proof in proofs if proof.requirement == clause)
        return [test for test in named if not self.tests or test in self.tests]


def read_sabotages(path: Path = SABOTAGES) -> list[Sabotage]:
    """In the order of the file. Raises: TypeError for an unknown field, KeyError for a missing one."""
    return [_read(entry) for entry in tomllib.loads(path.read_text("utf-8"))["sabotage"]]


def _read(entry: dict[str, object]) -> Sabotage:
    shared = {key: entry.pop(key) for key in ("file", "old", "new") if key in entry}
    edits = entry.pop("edits", None) or [shared]
    assert isinstance(edits, list)
    lists = {key: tuple(entry.pop(key, ())) for key in ("breaks", "tests")}  # type: ignore[call-overload]  # lists of strings
    return Sabotage(edits=tuple(Edit(**edit) for edit in edits), **lists, **entry)  # type: ignore[arg-type]  # checked by reading


def sabotage_problems(
    sabotages: Sequence[Sabotage], table: Mapping[str, Requirement], proofs: Sequence[Proof], root: Path = ROOT
) -> list[str]:
    """Everything that makes a sabotage useless, and every proved clause that none breaks; each with the way to fix it."""
    demands = {part.id: part for one in table.values() for part in one.demands}
    broken = {clause for one in sabotages for clause in one.breaks}
    return [
        *(found for one in sabotages for found in _of_text(one, root)),
        *(found for one in sabotages for found in _of_tests(one, demands.keys(), proofs)),
        *_untried(table, broken),
    ]


def _of_text(one: Sabotage, root: Path) -> Iterator[str]:
    for edit in one.edits:
        path = root / edit.file
        count = path.read_text("utf-8").count(edit.old) if path.is_file() else 0
        if count != 1:
            yield f"Sabotage '{one.name}': its text stands {count} times in {edit.file}, not once. Write the text as it is now."
        if edit.old == edit.new:
            yield f"Sabotage '{one.name}' changes nothing in {edit.file}."


def _of_tests(one: Sabotage, known: Iterable[str], proofs: Sequence[Proof]) -> Iterator[str]:
    if not one.breaks:
        yield f"Sabotage '{one.name}' breaks no clause. Name at least one."
    for clause in one.breaks:
        if clause not in known:
            yield f"Sabotage '{one.name}' breaks '{clause}', which is no clause in tests/spec/requirements.toml."
        elif not one.tests_of(clause, proofs):
            yield f"Sabotage '{one.name}': none of its tests proves {clause}."
    proving = {proof.test for proof in proofs if proof.requirement in one.breaks}
    for test in one.tests:
        if test not in proving:
            yield f"Sabotage '{one.name}' names {test}, which proves none of its clauses."


def _untried(table: Mapping[str, Requirement], broken: set[str]) -> Iterator[str]:
    for clause in (clause for one in table.values() for clause in one.clauses):
        if clause.id in broken and clause.no_sabotage:
            yield f"[{clause.id}] says why no sabotage breaks it, but one does. Drop `no_sabotage`."
        if clause.state is State.PROVED and clause.id not in broken and not clause.no_sabotage:
            yield f"[{clause.id}] counts as proved, but no sabotage breaks it. Add one to sabotage.toml, or say in `no_sabotage` why not."
