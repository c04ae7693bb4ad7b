"""Judges the runs of a check among the calls of a turn: by exit code and by what it says that it ran, never by the words of a command. Pure.

It runs nothing: `evidence_checker.py` does.
"""

import re
import signal
from collections.abc import Callable, Sequence

from anycowork.agent.check_counts import TestCounts, counts_of
from anycowork.agent.check_files import NO_SCOPE, CheckScope, check_files
from anycowork.agent.check_texts import TextOf
from anycowork.agent.step_states import kept_paths
from anycowork.agent.turn_calls import made_changes, path_changes
from anycowork.domain.errors import ToolTimedOut
from anycowork.domain.evidence import MISSING_RUNNER, NOT_RUNNABLE, CheckOwner, CheckRun, ExpectationState
from anycowork.domain.patterns import late_pattern
from anycowork.domain.tool_ports import CheckPrograms, CheckSetup
from anycowork.domain.tools import Call, CallStatus
from anycowork.domain.values import value

COMMAND_TOOL = "execute_command"
_RUNS_PYTEST = late_pattern(r"\bpy\.?test\b")
_STOPPED = (
    -signal.SIGTERM,
    -signal.SIGKILL,
)  # by the server or the system: the disk or the memory is full, or it prints too much
_NO_TESTS = 5  # pytest's exit code
_LAST_OUTPUT = 4_000
_MOST_FOLDERS = 200
_NOTHING_MADE = late_pattern(r"^make: (?:'[^']{1,300}' is up to date|Nothing to be done for '[^']{1,300}')\.$", re.M)


@value
class Outcome:
    """What one run of a check shows. `is_missing_program`: it could not begin, because a program is not there. `ran_nothing`: it ended well
    without a test that passed."""

    state: ExpectationState
    remark: str
    is_missing_program: bool = False
    is_out_of_time: bool = False
    ran_nothing: bool = False


def runs_of(calls: Sequence[Call], command: str) -> list[tuple[int, Call]]:
    """Returns the runs of exactly this command that ended, without network and keys, with their positions among the calls."""
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
    """Returns the runs of this check by the server since the last change of the turn."""
    runs, changing = runs_of(calls, command), _changing(calls)
    return [call for _, call in _since_change(runs, changing) if is_proof(call)]


def is_proof(call: Call) -> bool:
    """Whether the server ran it as a check of the work, not only to learn what passed before."""
    return call.provenance.check and not call.provenance.baseline


def check_setup(calls: Sequence[Call]) -> CheckSetup:
    """Returns how the turn's next check runs: it finds the project's programs first, until one of them is missing."""
    checks = (call for call in calls if call.provenance.check and call.result is not None)
    is_missing = any(outcome_of(call).is_missing_program for call in checks)
    programs = CheckPrograms.USUAL if is_missing else CheckPrograms.PROJECT
    paths = [change.path.replace("__pycache__/", "") for change in path_changes(calls)]
    folders = {path.rpartition("/")[0] for path in paths if path.endswith((".py", ".pyc"))}
    stale = sorted(f"./{folder}/__pycache__" if folder else "./__pycache__" for folder in folders)
    return CheckSetup(programs, tuple(stale) if len(stale) <= _MOST_FOLDERS else None)


def check_run(
    calls: Sequence[Call],
    command: str,
    *,
    snapshot_id: str | None,
    text_of: TextOf,
    scope: Callable[[], CheckScope] = CheckScope,
) -> CheckRun | None:
    """Returns the run of this check that decides, and what it is worth; None if it never ran."""
    changing, runs = _changing(calls), runs_of(calls, command)
    if not runs:
        return None
    since = [call for _, call in _since_change(runs, changing)]
    deciding = _deciding(since) if since else runs[-1][1]
    outcome = outcome_of(deciding)
    state, remark = outcome.state, outcome.remark
    earlier = [outcome_of(call).state for position, call in runs if changing and position < changing[0]]
    before = next((state for state in reversed(earlier) if state is not ExpectationState.UNKNOWN), None)
    if outcome.is_missing_program and before is not None:
        state, remark = ExpectationState.UNMET, "It could run before the work, and cannot any more."
    passed_before = before is ExpectationState.MET or (state is ExpectationState.MET and not changing)
    files = check_files(calls, command, text_of, scope() if state is ExpectationState.MET else NO_SCOPE)
    left_out = _left_out(runs, changing, deciding) if state is ExpectationState.MET and not files.own else None
    if state is ExpectationState.MET and any(outcome_of(call).state is ExpectationState.UNMET for call in since):
        state, remark = ExpectationState.UNKNOWN, "Flaky: it failed, and passed when it ran again."
    elif state is ExpectationState.UNMET and before is ExpectationState.UNMET and not outcome.is_missing_program:
        remark = f"{remark} It failed before the work too."
    elif left_out is not None:
        state, remark = ExpectationState.UNKNOWN, left_out
    elif state is ExpectationState.MET and files.paths:
        remark = files.remark
    elif state is ExpectationState.MET and passed_before:
        remark = "It passed before too, so it proves nothing about the work."
    exit_code = deciding.result.facts.get("exit_code") if deciding.result else None
    return CheckRun(
        command,
        exit_code if isinstance(exit_code, int) else None,
        bool(since),
        CheckOwner.TURN if files.paths else CheckOwner.PROJECT,
        snapshot_id=snapshot_id if since else None,
        state=state if since else ExpectationState.UNKNOWN,
        passed_before=passed_before,
        changed_files=files.paths,
        remark=remark if since else "Files were changed after it ran.",
    )


def _changing(calls: Sequence[Call]) -> list[int]:
    return [position for position, call in enumerate(calls) if made_changes(call)]


def _since_change(runs: Sequence[tuple[int, Call]], changing: Sequence[int]) -> list[tuple[int, Call]]:
    """Returns the runs after the last change. What a run itself left among ignored and generated files outdates nothing."""
    harmless = {position for position, call in runs if not kept_paths(call)}
    last_change = max((position for position in changing if position not in harmless), default=-1)
    return [(position, call) for position, call in runs if position > last_change]


def _deciding(since: Sequence[Call]) -> Call:
    """Returns the newest run of the server. One of the model decides only where the server's says nothing, or may not run."""
    for runs in ([call for call in since if is_proof(call)], since):
        telling = [call for call in runs if is_telling(outcome_of(call))]
        if telling:
            return telling[-1]
    return since[-1]


def is_telling(outcome: Outcome) -> bool:
    return outcome.state is not ExpectationState.UNKNOWN or outcome.ran_nothing


def _left_out(runs: Sequence[tuple[int, Call]], changing: Sequence[int], deciding: Call) -> str | None:
    """Returns what a passed run left out that ran before the work; None if nothing, or it cannot be told."""
    earlier = [counts for position, call in runs if changing and position < changing[0] if (counts := _counts(call))]
    before, after = earlier[-1] if earlier else None, _counts(deciding)
    if before is None or after is None:
        return None
    if after.ran < before.ran:
        return f"Only {after.ran} of {before.ran} tests ran that ran before the work."
    skipped = after.left_out - before.left_out
    return f"It left out {skipped} more tests than before the work." if skipped > 0 and not before.errors else None


def _counts(call: Call) -> TestCounts | None:
    return counts_of(call.result.content[-_LAST_OUTPUT:]) if call.result else None


def outcome_of(call: Call) -> Outcome:
    """Judges one run: by its exit code, and for pytest by the tests that it says passed."""
    result = call.result
    if result is None:
        return Outcome(ExpectationState.UNKNOWN, "It did not run.")
    output, exit_code = result.content[-_LAST_OUTPUT:], result.facts.get("exit_code")
    if result.error is not None and result.error.code == ToolTimedOut.code:
        return Outcome(ExpectationState.UNKNOWN, "It did not end in time.", is_out_of_time=True)
    if exit_code in _STOPPED:
        return Outcome(ExpectationState.UNKNOWN, "It was stopped before it ended.")
    if result.facts.get("needs_network"):
        return Outcome(ExpectationState.UNKNOWN, "It needs the network.")
    if exit_code in NOT_RUNNABLE or "not_visible" in result.facts or (exit_code and MISSING_RUNNER.search(output)):
        return Outcome(ExpectationState.UNKNOWN, "A program that it needs is missing.", is_missing_program=True)
    is_pytest = _RUNS_PYTEST.search(str(call.parameters.get("command"))) is not None
    if is_pytest and exit_code == _NO_TESTS:
        return Outcome(ExpectationState.UNKNOWN, "No test ran.", ran_nothing=True)
    if exit_code != 0:
        return Outcome(ExpectationState.UNMET, f"It ended with exit code {exit_code}.")
    if _NOTHING_MADE.search(output):
        return Outcome(ExpectationState.UNKNOWN, "Nothing ran.", ran_nothing=True)
    return _outcome_of_tests(counts_of(output), must_run=is_pytest)


def _outcome_of_tests(counts: TestCounts | None, *, must_run: bool) -> Outcome:
    """Judges a run whose exit code is 0 by its tests: a pipe, a recipe or another command may have hidden theirs."""
    if counts is not None and (counts.failed or counts.errors):
        reported = f"{counts.failed} failed tests and {counts.errors} errors"
        return Outcome(ExpectationState.UNMET, f"It reports {reported}, whatever its exit code says.")
    if must_run if counts is None else not counts.passed:
        return Outcome(ExpectationState.UNKNOWN, "No test passed.", ran_nothing=True)
    return Outcome(ExpectationState.MET, "It passed after the last change.")
