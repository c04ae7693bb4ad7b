"""Reads which test proves which requirement or clause: `@proves(...)` in Python, `// proves ID` above a test of the web UI. Imports no test."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Proof:
    """One test that names one requirement or clause. `test` is its address: `file::name`."""

    requirement: str
    test: str
    line: int


def collect_proofs(root: Path = ROOT) -> list[Proof]:
    """Every named id under `tests/` and `web/src/`, in the order of files and lines."""
    python = sorted((root / "tests").rglob("test_*.py"))
    web = sorted(path for path in (root / "web" / "src").rglob("*.test.ts*"))
    return [
        *(proof for path in python for proof in proofs_in(path.read_text("utf-8"), path.relative_to(root).as_posix())),
        *(proof for path in web for proof in web_proofs_in(path.read_text("utf-8"), path.relative_to(root).as_posix())),
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


_COMMENT = "// proves "
_TEST_TITLE = re.compile(r'(?:it|test)(?:\.each\(.*\))?\("([^"]+)"')


def web_proofs_in(source: str, file: str) -> Iterator[Proof]:
    """The proofs in one test file of the web UI: a line `// proves UI-2/1, UI-2/2` directly above a test. Raises: ValueError if none follows."""
    lines = source.splitlines()
    for place, line in enumerate(lines):
        if not line.strip().startswith(_COMMENT):
            continue
        title = _TEST_TITLE.match(lines[place + 1].strip()) if place + 1 < len(lines) else None
        if title is None:
            raise ValueError(
                f"{file}:{place + 1}: `{_COMMENT.strip()}` stands directly above a test, with its title on the same line."
            )
        for found in line.strip().removeprefix(_COMMENT).split(","):
            yield Proof(requirement=found.strip(), test=f"{file}::{title[1]}", line=place + 1)


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
