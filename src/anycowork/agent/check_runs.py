"""Judges the runs of a check among the calls of a turn: by exit code and by what it says that it ran, never by the words of a command. Pure.

It runs nothing: `evidence_checker.py` does.
"""

import re
import sys
from collections.abc import Callable, Sequence

from anycowork.agent.turn_changes import TurnChange, made_changes, path_changes
from anycowork.domain.errors import ToolTimedOut
from anycowork.domain.evidence import MISSING_RUNNER, NOT_RUNNABLE, CheckOwner, CheckRun, ExpectationState
from anycowork.domain.text_lines import bare_lines
from anycowork.domain.tool_ports import CheckPrograms, CheckSetup
from anycowork.domain.tools import Call, CallStatus
from anycowork.domain.values import value

COMMAND_TOOL = "execute_command"
_RUNS_PYTEST = re.compile(r"\bpy\.?test\b")
_NO_TESTS = 5  # pytest's exit code
_LAST_OUTPUT = 4_000
_MOST_FOLDERS = 200
# What configures a check or stands in the way of what it would run.
_CONFIGURES = frozenset({
    "conftest.py", "pyproject.toml", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "setup.cfg", "setup.py", "tox.ini",
    "noxfile.py", "Makefile", "makefile", "GNUmakefile", "package.json", "package-lock.json", "Cargo.toml", "Cargo.lock", "build.rs", "go.mod",
    "go.sum", "jest.config.js", "jest.config.cjs", "jest.config.ts", "jest.config.mjs", "vitest.config.ts", "vitest.config.js",
    "vitest.config.mjs", "vite.config.ts", "vite.config.js", "tsconfig.json", ".mocharc.json", ".mocharc.yml", ".mocharc.js", "karma.conf.js",
    ".coveragerc", "sitecustomize.py", "usercustomize.py", "justfile", "Justfile", "requirements.txt", "uv.lock", "poetry.lock", ".babelrc",
    "babel.config.js", ".cargo", ".npmrc", ".envrc", ".env",
})  # fmt: skip
_RUNNERS = ("Makefile", "makefile", "GNUmakefile", "package.json", "justfile", "Justfile", "tox.ini", "noxfile.py")
_SHADOWED = sys.stdlib_module_names | {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py", "hypothesis"}
_TEST_NAME = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing)/|(?:^|/)(?:test_[^/]*|[^/]*_test\.[a-z]+|[^/]*\.(?:test|spec)\.[a-z]+|tests?\.[a-z]+)$"
)
_SCRIPT_OF_CHECK = re.compile(
    r"\.(?:sh|bash|zsh|mk)$|(?:^|[/_.-])(?:ci|check|verify|lint|spec|tests?)(?:[/_.-]|s\b|$)", re.I
)
_ENVIRONMENT = re.compile(r"(?:^|/)(?:\.venv|venv|node_modules|\.cargo|vendor)/")
TextOf = Callable[[str], str]
"""Returns the text of a file of the workspace; empty if there is none."""


@value
class Outcome:
    """What one run of a check shows. `is_missing_program`: it could not begin, because a program is not there."""

    state: ExpectationState
    remark: str
    is_missing_program: bool = False
    is_out_of_time: bool = False


def runs_of(calls: Sequence[Call], command: str) -> list[tuple[int, Call]]:
    """Return the runs of exactly this command that ended, without network and keys, with their positions among the calls."""
    return [
        (position, call)
        for position, call in enumerate(calls)
        if call.tool == COMMAND_TOOL
        and call.parameters.get("command") == command
        and not (call.parameters.get("network") or call.parameters.get("key_files"))
        and call.result is not None
        and call.result.status in (CallStatus.OK, CallStatus.ERROR)
        and "exit_code" in call.result.facts
    ]


def server_runs_since_change(calls: Sequence[Call], command: str) -> list[Call]:
    """Return the runs of this check by the server since the last change of the turn."""
    last_change = max(_changing(calls), default=-1)
    return [call for position, call in runs_of(calls, command) if position > last_change and is_proof(call)]


def is_proof(call: Call) -> bool:
    """Whether the server ran it as a check of the work, not only to learn what passed before."""
    return call.provenance.check and not call.provenance.baseline


def check_setup(calls: Sequence[Call]) -> CheckSetup:
    """Return how the turn's next check runs: it finds the project's programs first, until one of them is missing."""
    checks = (call for call in calls if call.provenance.check and call.result is not None)
    is_missing = any(outcome_of(call).is_missing_program for call in checks)
    programs = CheckPrograms.USUAL if is_missing else CheckPrograms.PROJECT
    folders = {change.path.rpartition("/")[0] for change in path_changes(calls) if change.path.endswith(".py")}
    stale = sorted(f"./{folder}/__pycache__" if folder else "./__pycache__" for folder in folders)
    return CheckSetup(programs, tuple(stale) if len(stale) <= _MOST_FOLDERS else None)


def check_run(calls: Sequence[Call], command: str, *, snapshot_id: str | None, text_of: TextOf) -> CheckRun | None:
    """Return the run of this check that decides, and what it is worth; None if it never ran."""
    changing, runs = _changing(calls), runs_of(calls, command)
    if not runs:
        return None
    last_change = max(changing, default=-1)
    since = [call for position, call in runs if position > last_change]
    deciding = _deciding(since) if since else runs[-1][1]
    outcome = outcome_of(deciding)
    state, remark = outcome.state, outcome.remark
    earlier = [outcome_of(call).state for position, call in runs if changing and position < changing[0]]
    before = next((state for state in reversed(earlier) if state is not ExpectationState.UNKNOWN), None)
    passed_before = before is ExpectationState.MET or (state is ExpectationState.MET and not changing)
    files = changed_by_turn(calls, command, text_of)
    if state is ExpectationState.MET and any(outcome_of(call).state is ExpectationState.UNMET for call in since):
        state, remark = ExpectationState.UNKNOWN, "Flaky: it failed, and passed when it ran again."
    elif state is ExpectationState.UNMET and before is ExpectationState.UNMET:
        remark = f"{remark} It failed before the work too."
    elif state is ExpectationState.MET and files:
        remark = f"It passed, but the turn changed what it runs: {', '.join(files[:5])}."
    elif state is ExpectationState.MET and passed_before:
        remark = "It passed before too, so it proves nothing about the work."
    exit_code = deciding.result.facts.get("exit_code") if deciding.result else None
    return CheckRun(
        command,
        exit_code if isinstance(exit_code, int) else None,
        bool(since),
        CheckOwner.TURN if files else CheckOwner.PROJECT,
        snapshot_id=snapshot_id if since else None,
        state=state if since else ExpectationState.UNKNOWN,
        passed_before=passed_before,
        changed_files=files,
        remark=remark if since else "Files were changed after it ran.",
    )


def _changing(calls: Sequence[Call]) -> list[int]:
    return [position for position, call in enumerate(calls) if made_changes(call)]


def _deciding(since: Sequence[Call]) -> Call:
    """Return the newest run of the server. One of the model decides only where the server's says nothing, or may not run."""
    for runs in ([call for call in since if is_proof(call)], since):
        telling = [call for call in runs if outcome_of(call).state is not ExpectationState.UNKNOWN]
        if telling:
            return telling[-1]
    return since[-1]


def outcome_of(call: Call) -> Outcome:
    """Judge one run: by its exit code, and for pytest by the tests that it says passed."""
    result = call.result
    if result is None:
        return Outcome(ExpectationState.UNKNOWN, "It did not run.")
    output, exit_code = result.content[-_LAST_OUTPUT:], result.facts.get("exit_code")
    if result.error is not None and result.error.code == ToolTimedOut.code:
        return Outcome(ExpectationState.UNKNOWN, "It did not end in time.", is_out_of_time=True)
    if result.facts.get("needs_network"):
        return Outcome(ExpectationState.UNKNOWN, "It needs the network.")
    if exit_code in NOT_RUNNABLE or "not_visible" in result.facts or (exit_code and MISSING_RUNNER.search(output)):
        return Outcome(ExpectationState.UNKNOWN, "A program that it needs is missing.", is_missing_program=True)
    is_pytest = _RUNS_PYTEST.search(str(call.parameters.get("command"))) is not None
    if is_pytest and exit_code == _NO_TESTS:
        return Outcome(ExpectationState.UNKNOWN, "No test ran.")
    if exit_code != 0:
        return Outcome(ExpectationState.UNMET, f"It ended with exit code {exit_code}.")
    if is_pytest:
        return _pytest_outcome(output)
    return Outcome(ExpectationState.MET, "It passed after the last change.")


def _pytest_outcome(output: str) -> Outcome:
    """Judge a run of pytest whose exit code is 0: a pipe or another command may have hidden its own."""
    lines = (line.strip("= \t") for line in reversed(bare_lines(output)))
    summary = next((line.partition(" in ")[0] for line in lines if line[:1].isdigit() and " in " in line), "")
    counts = summary.replace(",", "").split()
    if {"failed", "error", "errors"} & set(counts):
        return Outcome(ExpectationState.UNMET, f"It reports {summary}, whatever its exit code says.")
    if "passed" not in counts:
        return Outcome(ExpectationState.UNKNOWN, "No test passed.")
    return Outcome(ExpectationState.MET, "It passed after the last change.")


def changed_by_turn(calls: Sequence[Call], command: str, text_of: TextOf) -> tuple[str, ...]:
    """Return the files of a check that the turn changed: named by the command or by what it runs, configuring it, or tests."""
    changes = [change for change in path_changes(calls) if change.is_net]
    if not changes:
        return ()
    command_words = set(re.split(r"[\s'\"=]+", command))
    scripts = [word.removeprefix("./") for word in command_words if "." in word and not word.startswith(("-", "/"))]
    recipes = "\n".join(text_of(path) for path in (*_RUNNERS, *scripts[:5]))
    return tuple(change.path for change in changes if _belongs_to_check(change, command_words, recipes))


def _belongs_to_check(change: TurnChange, command_words: set[str], recipes: str) -> bool:
    path = change.path
    name = path.rpartition("/")[2]
    if name in _CONFIGURES or _TEST_NAME.search(path) or _ENVIRONMENT.search(path):
        return True
    module = path.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    if command_words & {path, f"./{path}", name, module}:
        return True
    if change.before is None and path.partition("/")[0].removesuffix(".py") in _SHADOWED:
        return True  # a new module that the check imports instead of the usual one
    return _SCRIPT_OF_CHECK.search(path) is not None and path in recipes
