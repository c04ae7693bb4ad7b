"""The count of the attacks, said at the end of every run that had some: here, because it is whoever leads the workers that says it."""

import os

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.collectonly:
        return
    held, failed = (_attempts(terminalreporter, outcome) for outcome in ("passed", "failed"))
    if held or failed:
        who = "root" if os.geteuid() == 0 else f"uid {os.geteuid()}"
        terminalreporter.write_line(
            f"attacks: {held} attempts held (as {who})" + (f", {failed} NOT" if failed else ""), bold=True
        )


def _attempts(reporter: pytest.TerminalReporter, outcome: str) -> int:
    reports = reporter.stats.get(outcome, [])
    return sum(
        report.when == "call" and any(name == "attempt" for name, _ in report.user_properties) for report in reports
    )
