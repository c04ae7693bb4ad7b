"""Reads how many tests passed, failed and were left out from the output of a check: pytest, unittest, cargo, go, jest, vitest, mocha and
node. Pure."""

import re
from collections.abc import Callable

from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import value
from anycowork.domain.visible_text import bare_lines

_COLOURS = late_pattern(r"\x1b\[[\d;]*m")
_PYTEST = late_pattern(
    r"^((?:\d{1,9} [a-z]{1,20}, ){0,12}\d{1,9} (?:[a-z]{1,20}|tests? collected)|no tests ran) in [\d.:]{1,20} ?s?\b"
)
_UNITTEST_RUN = late_pattern(r"^Ran (\d+) tests? in [\d.]+s$")
_UNITTEST_END = late_pattern(r"^(?:OK|FAILED|NO TESTS RAN)(?: \(([^\n]{0,300})\))?$")
_CARGO = late_pattern(r"^test result: \w+\. (\d+ passed; \d+ failed; \d+ ignored;.*)")
_GO = late_pattern(r"^(ok|FAIL|---|\?) {1,9}\t?\S.{0,600}?(\[no test files\]|\[no tests to run\])?$")
_JEST = late_pattern(r"^ {0,20}Tests:? {1,20}((?:\d{1,9} [a-z]{1,20}(?: \| |, | )?){1,12})")
_TAP = late_pattern(r"^(?:#|ℹ) (pass|fail|skipped|todo|cancelled) (\d+)$")
_MOCHA = late_pattern(r"^ +(\d+) (passing|failing|pending)\b")
_COUNT = late_pattern(r"(\d{1,9}) ([a-z]{1,20})|([a-z ]{1,30})=(\d{1,9})")
_PASSED = frozenset({"passed", "pass", "passing", "xpassed"})
_FAILED = frozenset({"failed", "fail", "failing", "failures", "unexpected successes", "cancelled"})
_ERRORS = frozenset({"error", "errors"})
_LEFT_OUT = frozenset({
    "skipped", "xfailed", "deselected", "ignored", "todo", "pending", "expected failures", "filtered",
})  # fmt: skip


@value
class TestCounts:
    """What the runners of a check say about their tests. `errors`: of tests, or of files whose tests could not be read."""

    __test__ = False  # pytest takes it for a class of tests

    passed: int = 0
    failed: int = 0
    errors: int = 0
    left_out: int = 0

    @property
    def ran(self) -> int:
        return self.passed + self.failed

    def plus(self, other: "TestCounts") -> "TestCounts":
        return TestCounts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.errors + other.errors,
            self.left_out + other.left_out,
        )


def counts_of(output: str) -> TestCounts | None:
    """Adds up all summaries in the output; None if there is none. A line that code under test prints too can only add to them."""
    counts: TestCounts | None = None
    unit_tests: int | None = None  # of a run whose result is in one of the next lines
    for line in bare_lines(_COLOURS.sub("", output)):
        if ran := _UNITTEST_RUN.match(line):
            unit_tests = int(ran[1])
            continue
        if unit_tests is not None and (end := _UNITTEST_END.match(line)):
            added: TestCounts | None = _unittest(unit_tests, end[1] or "")
            unit_tests = None
        else:
            added = next((read for reader in _READERS if (read := reader(line)) is not None), None)
        if added is not None:
            counts = added if counts is None else counts.plus(added)
    return counts


def _sum(text: str) -> TestCounts:
    counts = TestCounts()
    for number, name, label, labelled in _COUNT.findall(text):
        amount, kind = int(number or labelled), (name or label).strip()
        counts = counts.plus(
            TestCounts(
                amount * (kind in _PASSED),
                amount * (kind in _FAILED),
                amount * (kind in _ERRORS),
                amount * (kind in _LEFT_OUT),
            )
        )
    return counts


def _unittest(ran: int, details: str) -> TestCounts:
    counts = _sum(details)
    passed = max(0, ran - counts.failed - counts.errors - counts.left_out)
    return counts.plus(TestCounts(passed=passed))


def _pytest(line: str) -> TestCounts | None:
    summary = _PYTEST.match(line.strip("= \t"))
    return _sum(summary[1]) if summary else None


def _listed(pattern: re.Pattern[str]) -> Callable[[str], TestCounts | None]:
    def read(line: str) -> TestCounts | None:
        listed = pattern.match(line)
        return _sum(listed[1]) if listed else None

    return read


def _tap(line: str) -> TestCounts | None:
    listed = _TAP.match(line)
    return _sum(f"{listed[2]} {listed[1]}") if listed else None


def _mocha(line: str) -> TestCounts | None:
    listed = _MOCHA.match(line)
    return _sum(f"{listed[1]} {listed[2]}") if listed else None


def _go(line: str) -> TestCounts | None:
    """A package counts as one test: go does not say how many it has."""
    listed = _GO.match(line) if "\t" in line else None
    if listed is None or listed[1] == "---":
        return None
    if listed[2] or listed[1] == "?":
        return TestCounts()
    return TestCounts(passed=1) if listed[1] == "ok" else TestCounts(failed=1)


_READERS = (_pytest, _listed(_CARGO), _listed(_JEST), _tap, _mocha, _go)
