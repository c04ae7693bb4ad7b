"""Breaks the code behind each clause of the requirements, in a copy of the tree, and shows that a test which proves the clause fails.

    python scripts/sabotage.py                  every sabotage of tests/spec/sabotage.toml (`make test-spec`)
    python scripts/sabotage.py LOOP-6 prompt    those that break a clause, or have a name, with one of these words in it
    python scripts/sabotage.py --at-once …      without running the tests on the unbroken code first

Ends with 1 if a sabotage was not found, could not be applied, or if a test fails without any."""

import importlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as Xml
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

import webui  # noqa: E402  # the line above makes these importable

from spec.proofs import Proof, collect_proofs  # noqa: E402
from spec.sabotage import Sabotage, read_sabotages, sabotage_problems  # noqa: E402
from spec.table import read_table  # noqa: E402

AT_ONCE = "--at-once"
_LIBRARIES = (
    "fastapi",
    "uvicorn",
    "aiohttp",
    "aiohttp.web",
    "hypothesis",
    "hypothesis.strategies",
    "msgspec",
    "pydantic",
)
TIMEOUT = 300.0  # seconds for the tests of one sabotage
# A benchmark that was stopped may leave devices in `.bench`: whoever copies one reads it without end.
_NOT_COPIED = ("node_modules", ".venv", ".git", ".hypothesis", ".mypy_cache", ".ruff_cache", ".bench", "screens")


class RunFailed(Exception):
    """The tests did not run, so nothing can be said of the sabotage."""


@dataclass
class Outcome:
    """By clause the tests that failed; `unnoticed` are the clauses of which none did."""

    sabotage: Sabotage
    failed: dict[str, list[str]] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0

    @property
    def unnoticed(self) -> list[str]:
        return [clause for clause in self.sabotage.breaks if not self.failed.get(clause)]

    @property
    def found(self) -> bool:
        return not self.error and not self.unnoticed


def main(words: list[str]) -> int:
    proofs, sabotages = collect_proofs(), read_sabotages()
    if problems := sabotage_problems(sabotages, read_table(), proofs):
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    at_once, wanted = AT_ONCE in words, [word for word in words if word != AT_ONCE]
    chosen = [
        one for one in sabotages if not wanted or any(w in text for w in wanted for text in (one.name, *one.breaks))
    ]
    with copied_tree() as copy:
        if broken := [] if at_once else _failing_before(copy, chosen, proofs):
            print("These tests fail without any sabotage:", *broken, sep="\n  ", file=sys.stderr)
            return 1
        outcomes = []
        for one in chosen:
            outcomes.append(try_sabotage(copy, one, proofs))
            print(_line(outcomes[-1]), flush=True)
    found = sum(outcome.found for outcome in outcomes)
    print(f"\n{len(outcomes)} sabotages, {found} found, {len(outcomes) - found} not found.")
    return 0 if found == len(outcomes) else 1


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of the tree as it stands, with what is not committed too. It is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="anycowork-spec-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*_NOT_COPIED), symlinks=True)
        if (ROOT / "web" / "node_modules").is_dir():
            (copy / "web" / "node_modules").symlink_to(ROOT / "web" / "node_modules")
        yield copy


def try_sabotage(copy: Path, one: Sabotage, proofs: Sequence[Proof]) -> Outcome:
    """Applies it to the copy, runs the tests of its clauses, and takes it back."""
    outcome, began = Outcome(one), time.monotonic()
    wanted = {clause: one.tests_of(clause, proofs) for clause in one.breaks}
    with _applied(copy, one):
        try:
            failing = run_tests(copy, dict.fromkeys(test for tests in wanted.values() for test in tests))
            outcome.failed = {clause: [test for test in tests if test in failing] for clause, tests in wanted.items()}
        except RunFailed as reason:
            outcome.error = str(reason)
    outcome.seconds = time.monotonic() - began
    return outcome


@contextmanager
def _applied(copy: Path, one: Sabotage) -> Iterator[None]:
    before = {edit.file: (copy / edit.file).read_text("utf-8") for edit in one.edits}
    try:
        for edit in one.edits:
            now = (copy / edit.file).read_text("utf-8")
            assert now.count(edit.old) == 1, f"the text of '{one.name}' does not stand once in {edit.file}"
            _write(copy / edit.file, now.replace(edit.old, edit.new))
        yield
    finally:
        for file, text in before.items():
            _write(copy / file, text)


def _write(path: Path, text: str) -> None:
    """Each time with a new time stamp in whole seconds: compiled modules go by it."""
    later = int(path.stat().st_mtime) + 2
    if path.suffix == ".py":
        compile(text, str(path), "exec")  # a sabotage breaks a promise, not the syntax
    path.write_text(text, "utf-8")
    os.utime(path, (later, later))


def run_tests(copy: Path, tests: Iterable[str]) -> set[str]:
    """Those of these tests that fail in the copy. Raises: RunFailed."""
    tests = list(tests)
    python = [test for test in tests if test.startswith("tests/")]
    web = [test for test in tests if test.startswith("web/")]
    return (_run_pytest(copy, python) if python else set()) | (_run_vitest(copy, web) if web else set())


def _run_pytest(copy: Path, tests: Sequence[str]) -> set[str]:
    report = copy.parent / "pytest.xml"
    report.unlink(missing_ok=True)
    options = ["-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning", f"--junitxml={report}", "--tb=line"]
    loaded = "anycowork" in sys.modules  # the code under test, as it was before: a child would inherit it
    said = _run_apart([*options, *tests], copy) if loaded else _run_forked([*options, *tests], copy)
    if not report.is_file():
        raise RunFailed(f"pytest gave no report: {said[-500:]}")
    cases = Xml.parse(report).getroot().iter("testcase")
    found = {
        (case.get("classname", ""), case.get("name", "").partition("[")[0]): case.find("failure") is not None
        for case in sorted(cases, key=lambda case: case.find("failure") is not None)
    }
    results = {test: found.get(_junit_name(test)) for test in tests}
    if missing := [test for test, failed in results.items() if failed is None]:
        raise RunFailed(f"pytest did not run {missing[0]}: {said[-500:]}")
    return {test for test, failed in results.items() if failed}


def _run_apart(arguments: Sequence[str], copy: Path) -> str:
    """What pytest printed, in a process of its own. Raises: RunFailed."""
    bare = [word for name in os.environ if name.startswith("PYTEST_") for word in ("-u", name)]
    command = ["env", *bare, f"PYTHONPATH={copy / 'src'}", sys.executable, "-m", "pytest", *arguments]
    return _run(command, copy, {})


def _run_forked(arguments: Sequence[str], copy: Path) -> str:
    """What pytest printed, in a child of this process: the libraries, which take longest to load, are loaded once. Raises: RunFailed."""
    for name in _LIBRARIES:
        importlib.import_module(name)
    said = copy.parent / "pytest.txt"
    child = multiprocessing.get_context("fork").Process(target=_pytest_child, args=(arguments, copy, said))
    child.start()
    child.join(TIMEOUT)
    if child.is_alive():
        os.killpg(child.pid or 0, signal.SIGKILL)
        child.join()
        raise RunFailed(f"the tests took longer than {TIMEOUT:g} seconds")
    return said.read_text("utf-8", "replace")


def _pytest_child(arguments: Sequence[str], copy: Path, said: Path) -> None:
    os.setsid()
    output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.path[:] = [str(copy / "src"), *(place for place in sys.path if not Path(place).is_relative_to(ROOT / "tests"))]
    os._exit(pytest.main(list(arguments)))


def _junit_name(test: str) -> tuple[str, str]:
    file, *inside, name = test.split("::")
    return ".".join([*Path(file).with_suffix("").parts, *inside]), name


def _run_vitest(copy: Path, tests: Sequence[str]) -> set[str]:
    report = copy.parent / "vitest.json"
    report.unlink(missing_ok=True)
    files = dict.fromkeys(test.partition("::")[0].removeprefix("web/") for test in tests)
    vitest = copy / "web" / "node_modules" / "vitest" / "vitest.mjs"
    command = [str(webui.find_node()), str(vitest), "run", "--reporter=json", f"--outputFile={report}", *files]
    said = _run(command, copy / "web", {})
    if not report.is_file():
        raise RunFailed(f"vitest gave no report: {said[-500:]}")
    failed = {
        f"{Path(suite['name']).resolve().relative_to(copy.resolve()).as_posix()}::{case['title']}"
        for suite in json.loads(report.read_text("utf-8"))["testResults"]
        for case in suite["assertionResults"]
        if case["status"] == "failed"
    }
    return {test for test in tests if any(re.fullmatch(re.escape(test).replace("%s", ".*"), one) for one in failed)}


def _run(command: Sequence[str], folder: Path, more: dict[str, str]) -> str:
    """What it printed. Raises: RunFailed if it takes too long."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **more},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(f"the tests took longer than {TIMEOUT:g} seconds") from None
    return done.stdout + done.stderr


def _failing_before(copy: Path, chosen: Sequence[Sabotage], proofs: Sequence[Proof]) -> list[str]:
    tests = dict.fromkeys(test for one in chosen for clause in one.breaks for test in one.tests_of(clause, proofs))
    try:
        return sorted(run_tests(copy, tests))
    except RunFailed as reason:
        return [str(reason)]


def _line(outcome: Outcome) -> str:
    one = outcome.sabotage
    verdict = "found" if outcome.found else "NOT FOUND"
    named = "; ".join(f"{clause}: {len(tests)} failed" for clause, tests in outcome.failed.items())
    return f"{verdict:9} {outcome.seconds:5.1f} s  {one.name}  ({outcome.error or named})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
