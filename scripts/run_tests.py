"""Runs pytest with these arguments, and the few tests that failed once more, alone; `make test` runs everything so.

    python scripts/run_tests.py -n 3 tests/unit

A test that fails beside the others and passes alone lets the run pass, and is named in `.venv/unstable.txt`: it is a fault to be mended.
More failures than a few, or anything else that went wrong, fail at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

UNSTABLE = Path(".venv", "unstable.txt")
MOST_REPEATED = 5


class FailedTests:
    """Notes what failed, in whichever worker."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.names[report.nodeid] = None


def main(arguments: list[str]) -> int:
    sys.path[0] = str(Path.cwd())  # as `python -m pytest` has it
    writable = os.access(UNSTABLE.parent, os.W_OK)  # not for the ordinary user of the attacks
    if writable:
        UNSTABLE.unlink(missing_ok=True)
    environ, failed = dict(os.environ), FailedTests()
    code = int(pytest.main(arguments, plugins=[failed]))
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed.names) <= MOST_REPEATED:
        return code
    print(f"\n==> Running the {len(failed.names)} that failed once more, alone", flush=True)
    repeated = [sys.executable, "-m", "pytest", "-n", "0", *failed.names]
    if subprocess.run(repeated, env=environ, check=False).returncode != 0:
        return code
    words = ["UNSTABLE: failed beside other tests and passed alone. Each is a fault to be mended:", *failed.names]
    print("\n".join(words), flush=True)
    if writable:
        UNSTABLE.write_text("\n".join(words) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
