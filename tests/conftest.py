"""For every test: a bare environment, the seeds of the property tests, the order of the files, one /etc and one look at the toolchains for
all sandboxes, no syncs, the collector of garbage at work, and the count of the attacks at the end of a run that had some."""

import gc
import os
import signal
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from support.attempts import HELD, NOT_HELD
from support.bare_environment import enter_bare_environment
from support.file_order import ordered_files
from support.shared_etc import shared_etc
from support.shared_scans import shared_scans
from support.unsynced import unsynced

# Each worker, and each server that a test starts, would otherwise compile the same modules again where the environment says to keep none.
# Only this process keeps them: what it starts finds them, and behaves as that environment says.
sys.dont_write_bytecode = False

enter_bare_environment()

# Who runs the tests in the background has Ctrl-C ignored, and so would the programs that a test's server starts. A real server handles it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `make test` tries the same examples each time, so that a failure belongs to the change that was made;
# `make fuzz` looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("fresh", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("same")

# No test writes into the keyring of whoever runs it.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"


@pytest.fixture(scope="session", autouse=True)
def _one_etc_and_scan_and_no_syncs() -> Iterator[None]:
    with shared_etc(), shared_scans(), unsynced():
        yield


@pytest.fixture(scope="module")
def only_own_garbage() -> Iterator[None]:
    """For a file that collects often: the collector looks at what the file made, not at every test and module that is loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of some earlier test
        gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


# Some 700,000 objects are there once the tests are collected. Looking through them took a tenth of all time, and at each look nothing was found.
_THRESHOLDS = (10_000, 10, 10)
_MOST_FROZEN = 300_000  # beside what stays: of servers that are gone
_MANY_DESCRIPTORS = 300
_staying = 0


def _collect_garbage(*, all_of_it: bool) -> None:
    global _staying
    if all_of_it:
        gc.unfreeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of some earlier test, not of this one
        gc.collect()
    gc.freeze()
    if all_of_it:
        _staying = gc.get_freeze_count()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """Each file leaves the collector as it was: a server that a test starts in this process puts it off and freezes what there is.

    What the file left is collected and what stays is frozen. Only where many descriptors are open, in garbage that a server froze, or
    where much was frozen, or all unfrozen, is everything looked at: every test and module that is loaded, for half a second.
    """
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path != item.path:
            gc.enable()
            gc.set_threshold(*_THRESHOLDS)
            _collect_garbage(all_of_it=_must_unfreeze())


def _must_unfreeze() -> bool:
    many_open = sum(1 for _ in Path("/dev/fd").iterdir()) > _MANY_DESCRIPTORS
    frozen = gc.get_freeze_count()  # a little less than what stayed, where some of that is gone by itself
    return many_open or not _staying // 2 <= frozen <= _staying + _MOST_FROZEN


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Counter(_file(item) for item in items)
    places = {name: place for place, name in enumerate(ordered_files(tests))}
    items.sort(key=lambda item: places[_file(item)])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected becomes garbage, and looking for it took a tenth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        _collect_garbage(all_of_it=True)
        gc.set_threshold(*_THRESHOLDS)
        gc.enable()


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.collectonly:
        return
    held, failed = _attempts(terminalreporter)
    if held or failed:
        who = "root" if os.geteuid() == 0 else f"uid {os.geteuid()}"
        terminalreporter.write_line(
            f"attacks: {held} attempts held (as {who})" + (f", {failed} NOT" if failed else ""), bold=True
        )
    if level := _sandbox_level(terminalreporter):
        terminalreporter.write_line(f"the server ran as uid {os.geteuid()}, sandbox level {level}", bold=True)


def _sandbox_level(reporter: pytest.TerminalReporter) -> str | None:
    """The level of the sandbox in which the server of an ordinary user ran, if it was tried."""
    found = (report.user_properties for report in reporter.stats.get("passed", []) if report.when == "call")
    return next((str(level) for each in found for name, level in each if name == "sandbox_level"), None)


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
