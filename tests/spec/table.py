"""The requirements as data, the proofs as the tests' own decorators say, and the page made from both. Imports no test."""

import ast
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests" / "spec" / "requirements.toml"
PAGE = ROOT / "docs" / "requirements.md"


class State(StrEnum):
    PROVED = "proved"
    PARTLY = "partly"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Requirement:
    """`open` says why nothing proves it yet, `partly` what is still missing; neither means proved."""

    id: str
    summary: str
    open: str = ""
    partly: str = ""

    @property
    def state(self) -> State:
        if self.open:
            return State.OPEN
        return State.PARTLY if self.partly else State.PROVED


@dataclass(frozen=True, slots=True)
class Proof:
    """One test that says it proves one requirement. `test` is what pytest is told to run it: `file::name`."""

    requirement: str
    test: str
    line: int


def read_table(path: Path = TABLE) -> dict[str, Requirement]:
    """Every requirement by id, in the order of the file. Raises: TypeError for a field that has no meaning here."""
    return {key: Requirement(id=key, **fields) for key, fields in tomllib.loads(path.read_text("utf-8")).items()}


# --- what the tests say


def collect_proofs(root: Path = ROOT) -> list[Proof]:
    """Every id in a `@proves(...)` under `tests/`, in the order of files and lines."""
    return [
        proof
        for path in sorted((root / "tests").rglob("test_*.py"))
        for proof in proofs_in(path.read_text("utf-8"), path.relative_to(root).as_posix())
    ]


def proofs_in(source: str, file: str) -> Iterator[Proof]:
    """The proofs in one file. Raises: ValueError where `proves` is used so that this reader cannot see what it means."""
    tree = ast.parse(source, file)
    decorations = 0
    for name, node in _tests(tree.body):
        for call in filter(_is_proves, node.decorator_list):
            decorations += 1
            for found in _ids(call, file):
                yield Proof(requirement=found, test=f"{file}::{name}", line=call.lineno)
    uses = [node for node in ast.walk(tree) if _is_proves(node)]
    if len(uses) != decorations:
        raise ValueError(
            f"{file}: `proves` is a decorator of a test function and nothing else; {len(uses) - decorations} use(s) are not."
        )


Test = ast.FunctionDef | ast.AsyncFunctionDef


def _tests(body: Iterable[ast.stmt], inside: str = "") -> Iterator[tuple[str, Test]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield f"{inside}{node.name}", node
        if isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{inside}{node.name}::")


def _is_proves(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return (isinstance(called, ast.Name) and called.id == "proves") or (
        isinstance(called, ast.Attribute) and called.attr == "proves"
    )


def _ids(call: ast.expr, file: str) -> Iterator[str]:
    assert isinstance(call, ast.Call)
    if not call.args or call.keywords:
        raise ValueError(f'{file}:{call.lineno}: write the ids into it, as in @proves("ROL-3").')
    for argument in call.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
            raise ValueError(f'{file}:{call.lineno}: an id is a literal string, as in @proves("ROL-3").')
        yield argument.value


# --- what does not agree


def problems(table: Mapping[str, Requirement], proofs: Iterable[Proof]) -> list[str]:
    """Every disagreement between the table and the tests, each with the way to mend it."""
    proofs = list(proofs)
    proved = Counter(proof.requirement for proof in proofs)
    return [*_orphans(table, proofs), *(found for one in table.values() for found in _complaints(one, proved[one.id]))]


def _orphans(table: Mapping[str, Requirement], proofs: Iterable[Proof]) -> Iterator[str]:
    for proof in proofs:
        if proof.requirement not in table:
            yield f"{proof.test} (line {proof.line}) proves '{proof.requirement}', which is no requirement. Correct the id."


def _complaints(one: Requirement, count: int) -> Iterator[str]:
    entry = f"[{one.id}] in tests/spec/requirements.toml"
    if not one.summary.strip():
        yield f"{entry} has no summary. Say in one sentence what it demands."
    if one.open and one.partly:
        yield f"{entry} is both open and partly. Keep the one that is true."
    elif one.open and count:
        yield f"{entry} is open, but {count} test(s) prove it. Drop `open`, or say in `partly` what is still missing."
    elif one.partly and not count:
        yield f'{entry} is partly proved, but no test names it. Write @proves("{one.id}") on one, or use `open`.'
    elif not one.open and not count:
        yield f'{entry} counts as proved, but no test names it. Write @proves("{one.id}") on one, or say in `open` why not yet.'


# --- the page


def page(table: Mapping[str, Requirement], proofs: Iterable[Proof]) -> str:
    """`docs/requirements.md`: id, demand, tests, state, with totals."""
    by_id: dict[str, list[str]] = {}
    for proof in proofs:
        by_id.setdefault(proof.requirement, []).append(proof.test)
    states = Counter(one.state for one in table.values())
    totals = ", ".join(f"{states[state]} {state}" for state in State)
    return "\n".join(
        [
            _INTRODUCTION.format(count=len(table), totals=totals),
            *(_row(one, by_id.get(one.id, [])) for one in table.values()),
            "",
        ]
    )


_INTRODUCTION = """\
# Requirements

<!-- Made by `make docs` from tests/spec/requirements.toml and the tests; do not edit. -->

What AnyCowork must do, and which tests prove it. {count} requirements: {totals}.
*Partly* and *open* say what is missing.

| id | what it demands | state | tests |
|---|---|---|---|"""


def _row(one: Requirement, tests: Iterable[str]) -> str:
    missing = one.open or one.partly
    state = f"**{one.state}**: {missing}" if missing else f"**{one.state}**"
    listed = "<br>".join(f"`{test}`" for test in dict.fromkeys(tests))
    return f"| {one.id} | {one.summary} | {state} | {listed} |"
