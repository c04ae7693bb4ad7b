"""The suite's size is part of its promise: attempts are added, and never lost by a table that nobody reads any more."""

import subprocess
import sys
from collections import Counter

import pytest

from support.attempts import ATTACKS, holds_attempts


@pytest.mark.timeout(360)
def test_there_are_at_least_200_attempts_and_each_has_a_name_of_its_own() -> None:
    files = [str(file) for file in sorted(ATTACKS.glob("test_*.py")) if holds_attempts(file)]
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", *files],
        cwd=ATTACKS.parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    attempts = Counter(line for line in listed.stdout.splitlines() if "::test_" in line)
    assert len(attempts) >= 200
    assert [name for name, times in attempts.items() if times > 1] == []
