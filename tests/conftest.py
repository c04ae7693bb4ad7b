"""The count of the attacks, said at the end of every run that had some: here, because it is whoever leads the workers that says it."""

import os

import pytest

from support.attempts import HELD, NOT_HELD


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.collectonly:
        return
    held, failed = _attempts(terminalreporter)
    if held or failed:
        who = "root" if os.geteuid() == 0 else f"uid {os.geteuid()}"
        terminalreporter.write_line(
            f"attacks: {held} attempts held (as {who})" + (f", {failed} NOT" if failed else ""), bold=True
        )


def _attempts(reporter: pytest.TerminalReporter) -> tuple[int, int]:
    """How many attempts were held, and how many got through. A failed test without cases of its own is one that got through."""
    held = failed = 0
    for outcome in ("passed", "failed"):
        for report in reporter.stats.get(outcome, []):
            names = [name for name, _ in report.user_properties] if report.when == "call" else []
            through = names.count(NOT_HELD)
            single = outcome == "failed" and not through and HELD in names
            held += 0 if single else names.count(HELD)
            failed += 1 if single else through
    return held, failed
