"""What the runs of a check are worth: flaky, hanging, hidden and changed ones."""

import pytest

from anycowork.agent.check_runs import check_run, outcome_of, server_runs_since_change
from anycowork.domain.evidence import CheckOwner, EvidenceStatus, ExpectationState, weigh
from anycowork.domain.roles import Role
from anycowork.domain.tools import Call, CallState, CallStatus, Intent, PathIntent, Provenance, ToolResult
from anycowork.domain.values import replace
from support.spec import proves

CHECK = "python3 -m pytest -q"


def run(
    exit_code: int, output: str = "", *, by_server: bool = True, baseline: bool = False, command: str = CHECK
) -> Call:
    result = ToolResult(CallStatus.OK if exit_code == 0 else CallStatus.ERROR, output, facts={"exit_code": exit_code})
    return _call({"command": command}, result, Provenance(check=by_server, baseline=baseline))


def change(path: str = "shop.py", before: str | None = "1", after: str | None = "2") -> Call:
    intent = Intent(paths=(PathIntent(path, before, after),))
    return _call({"path": path}, ToolResult(CallStatus.OK, ""), Provenance(), intent)


def _call(parameters: dict[str, str], result: ToolResult, provenance: Provenance, intent: Intent | None = None) -> Call:
    return Call(
        "c", "chat", "turn", "batch", 0, "execute_command" if "command" in parameters else "update_file", dict(parameters),
        role_at_issue=Role.ACTOR, ceiling=frozenset(), provenance=provenance, state=CallState.SETTLED, intent=intent, result=result,
    )  # fmt: skip


def worth(
    *calls: Call, command: str = CHECK, files: dict[str, str] | None = None
) -> tuple[ExpectationState, bool, str]:
    texts = files or {}
    judged = check_run(calls, command, snapshot_id="s", text_of=lambda path: texts.get(path, ""))
    assert judged is not None
    return judged.state, judged.proves, judged.remark


PASSED, FAILED = run(0, "1 passed in 0.01s\n"), run(1, "1 failed in 0.01s\n")


@proves("EVD-3/1")
def test_a_check_that_passes_in_the_second_run_is_flaky_and_not_failed() -> None:
    state, is_proof, remark = worth(change(), FAILED, PASSED)
    assert state is ExpectationState.UNKNOWN and not is_proof and remark.startswith("Flaky")


@proves("EVD-3/1")
def test_a_check_that_could_run_before_the_work_and_cannot_now_failed() -> None:
    gone = run(127, "bash: ./check.sh: No such file or directory\n", command="./check.sh")
    failed_before = run(1, "wrong\n", baseline=True, command="./check.sh")
    assert worth(failed_before, change(), gone, command="./check.sh") == (
        ExpectationState.UNMET,
        False,
        "It could run before the work, and cannot any more.",
    )
    assert worth(change(), gone, command="./check.sh")[0] is ExpectationState.UNKNOWN, "nothing says that it ever could"


def test_what_a_check_leaves_among_ignored_files_does_not_outdate_it() -> None:
    def run_leaving(path: str) -> Call:
        left = Intent(paths=(PathIntent(path, None, "9"),))
        result = replace(PASSED.result, facts={"exit_code": 0, "ignored": ["__pycache__"]})
        return replace(PASSED, intent=left, result=result, provenance=Provenance())

    assert worth(change(), run_leaving("__pycache__/shop.pyc"))[0] is ExpectationState.MET
    assert worth(change(), run_leaving("shop.py")) == (
        ExpectationState.UNKNOWN,
        False,
        "Files were changed after it ran.",
    )
    assert worth(run_leaving("__pycache__/shop.pyc"), change())[0] is ExpectationState.UNKNOWN


def test_a_check_that_fails_twice_has_failed() -> None:
    assert worth(change(), FAILED, FAILED)[0] is ExpectationState.UNMET


@proves("EVD-3/1")
@pytest.mark.parametrize(
    ("output", "state"),
    [
        ("1 passed in 0.01s\n", ExpectationState.MET),
        ("1 failed, 2 passed in 0.01s\n", ExpectationState.UNMET),
        ("2 passed, 1 error in 0.01s\n", ExpectationState.UNMET),
        ("1 xfailed in 0.01s\n", ExpectationState.UNKNOWN),
        ("1 skipped in 0.01s\n", ExpectationState.UNKNOWN),
        ("3 deselected in 0.01s\n", ExpectationState.UNKNOWN),
        ("1 passed, 1 xfailed in 0.01s\n", ExpectationState.MET),
        ("ok\n", ExpectationState.UNKNOWN),
    ],
)
def test_a_run_of_pytest_is_judged_by_the_tests_that_passed_whatever_hides_its_exit_code(
    output: str, state: ExpectationState
) -> None:
    assert outcome_of(run(0, output)).state is state


@proves("EVD-3/1")
def test_a_run_that_was_stopped_from_outside_says_nothing() -> None:
    assert outcome_of(run(-15)).state is outcome_of(run(-9)).state is ExpectationState.UNKNOWN
    assert outcome_of(run(-11)).state is ExpectationState.UNMET, "a crash is a failure"


@proves("EVD-3/1")
@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        ("1 failed, 1 passed in 0.1s", "1 passed, 1 skipped in 0.1s", ExpectationState.UNKNOWN),
        ("1 failed, 1 passed in 0.1s", "1 passed in 0.1s", ExpectationState.UNKNOWN),
        ("1 failed, 1 passed, 1 skipped in 0.1s", "2 passed, 2 skipped in 0.1s", ExpectationState.UNKNOWN),
        ("1 error in 0.1s", "2 passed, 1 skipped in 0.1s", ExpectationState.MET),
        ("1 failed, 1 passed in 0.1s", "3 passed in 0.1s", ExpectationState.MET),
    ],
)
@pytest.mark.parametrize("command", [CHECK, "make test"])
def test_a_check_that_runs_less_than_before_the_work_proves_nothing(
    command: str, before: str, after: str, state: ExpectationState
) -> None:
    earlier = run(1, before, baseline=True, command=command)
    assert worth(earlier, change(), run(0, after, command=command), command=command)[0] is state


@proves("EVD-3/1")
@pytest.mark.parametrize(
    "output", ["make: 'test' is up to date.\n", "Ran 1 test in 0.1s\n\nOK (skipped=1)\n", "1 skipped in 0.1s\n"]
)
def test_a_check_in_which_nothing_ran_proves_nothing_whatever_the_model_saw(output: str) -> None:
    seen = run(0, "fine\n", by_server=False, command="make test")
    assert (
        worth(change(), seen, run(0, output, command="make test"), command="make test")[0] is ExpectationState.UNKNOWN
    )


@proves("EVD-3/1")
def test_a_run_of_the_server_decides_over_a_later_one_of_the_model() -> None:
    by_model = run(0, "1 passed in 0.01s\n", by_server=False)
    assert worth(change(), FAILED, FAILED, by_model)[0] is ExpectationState.UNMET
    assert worth(change(), by_model)[0] is ExpectationState.MET, "where the server may not run it"


@proves("EVD-3/1")
def test_a_run_with_network_or_keys_is_no_run_of_the_check() -> None:
    reached = run(0, "1 passed in 0.01s\n", by_server=False)
    calls = [change(), replace(reached, parameters={"command": CHECK, "network": ["example.org"]})]
    assert check_run(calls, CHECK, snapshot_id=None, text_of=lambda path: "") is None


@proves("EVD-1/3")
@pytest.mark.parametrize(
    ("path", "before", "owner"),
    [
        ("shop.py", "1", CheckOwner.PROJECT),
        ("src/calendar.py", None, CheckOwner.PROJECT),
        ("calendar.py", "1", CheckOwner.PROJECT),
        ("calendar.py", None, CheckOwner.TURN),
        ("_pytest/main.py", None, CheckOwner.TURN),
        ("tests/helpers.py", "1", CheckOwner.TURN),
        ("web/app.spec.ts", "1", CheckOwner.TURN),
        ("node_modules/.bin/jest", "1", CheckOwner.TURN),
        ("tools/verify.py", "1", CheckOwner.TURN),
        ("tools/other.py", "1", CheckOwner.PROJECT),
    ],
)
def test_a_check_belongs_to_the_turn_that_changed_what_it_runs(
    path: str, before: str | None, owner: CheckOwner
) -> None:
    files = {"Makefile": "test:\n\tpython3 tools/verify.py tools/other.py\n"}
    judged = check_run(
        [change(path, before), PASSED], CHECK, snapshot_id=None, text_of=lambda name: files.get(name, "")
    )
    assert judged is not None and judged.owner is owner and (path in judged.remark) == (owner is CheckOwner.TURN)


@proves("EVD-3/1")
def test_what_passed_before_proves_nothing_unless_the_turn_changed_what_it_runs() -> None:
    before = run(0, "1 passed in 0.01s\n", baseline=True)
    assert worth(before, change(), PASSED)[1:] == (False, "It passed before too, so it proves nothing about the work.")
    assert worth(before, change("test_shop.py"), PASSED)[1] is True, "the turn's own test, so it is self_checked"


@proves("EVD-3/1")
def test_a_run_before_the_work_is_no_proof_of_it() -> None:
    baseline, proof = run(0, "1 passed in 0.01s\n", baseline=True), run(0, "1 passed in 0.01s\n")
    assert server_runs_since_change([baseline], CHECK) == []
    assert server_runs_since_change([baseline, change(), proof], CHECK) == [proof]


@proves("EVD-1/1")
def test_a_turn_that_changed_something_has_a_word_although_nothing_was_expected() -> None:
    evidence = weigh([], [], concerned=True)
    assert evidence is not None and evidence.status is EvidenceStatus.CLAIMED and weigh([], [], concerned=False) is None
