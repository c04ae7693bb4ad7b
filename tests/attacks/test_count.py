"""The suite's size is part of its promise: attempts are added, and never lost by a table that nobody reads any more."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.attempts import ATTACKS, holds_attempts


@pytest.mark.timeout(360)
def test_there_are_at_least_200_attempts_and_each_has_a_name_of_its_own(request: pytest.FixtureRequest) -> None:
    files = [file for file in sorted(ATTACKS.glob("test_*.py")) if holds_attempts(file)]
    here = [item for item in request.session.items if holds_attempts(item.path)]
    narrowed = request.config.option.keyword or request.config.option.markexpr
    whole = not narrowed and {item.path for item in here} == set(files)
    attempts = Counter(item.nodeid for item in here) if whole else collected(files)
    assert len(attempts) >= 200
    assert [name for name, times in attempts.items() if times > 1] == []


def collected(files: list[Path]) -> Counter[str]:
    """By a process of its own, where this one does not run all of them."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", *map(str, files)],
        cwd=ATTACKS.parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return Counter(line for line in listed.stdout.splitlines() if "::test_" in line)
