"""What the attacks share, and their count: every case of theirs is one named attempt. What proves the mechanisms is not counted."""

import os
from pathlib import Path

import pytest

from anycowork.workspace.stage import Layer
from support.api_fixtures import client, house, migrated, model, rooms, slept, stranger, token, workspace
from support.attempts import holds_attempts
from support.hands import Bench

__all__ = ["client", "house", "migrated", "model", "rooms", "slept", "stranger", "token", "workspace"]


@pytest.fixture
def layer() -> Layer:
    """What a command writes into; tests that hold for both kinds ask for both."""
    return Layer.OVERLAY


@pytest.fixture
def bench(tmp_path: Path, layer: Layer) -> Bench:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    return Bench(root, outside, layer=layer)


def pytest_itemcollected(item: pytest.Item) -> None:
    if holds_attempts(item.path):
        item.user_properties.append(("attempt", item.name))


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
