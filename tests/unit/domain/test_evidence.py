"""What the evidence of a turn is worth, from its expectations and its checks."""

import pytest

from anycowork.domain.evidence import (
    CheckOwner,
    CheckRun,
    EvidenceStatus,
    Expectation,
    ExpectationKind,
    ExpectationSource,
    ExpectationState,
    StatedExpectation,
    evidence_line,
    is_claimed,
    split_stated,
    weigh,
)
from anycowork.domain.messages import Json
from support.spec import proves

MET, UNMET, UNKNOWN = ExpectationState.MET, ExpectationState.UNMET, ExpectationState.UNKNOWN


def check(
    owner: CheckOwner, state: ExpectationState = MET, *, after: bool = True, passed_before: bool = False
) -> CheckRun:
    return CheckRun("make check", 0, after, owner, state=state, passed_before=passed_before)


def word(*checks: CheckRun, expected: ExpectationState = MET) -> EvidenceStatus:
    output = Expectation(ExpectationKind.OUTPUT, "a.txt", ExpectationSource.REQUEST, expected)
    evidence = weigh([output], checks, concerned=True)
    assert evidence is not None
    return evidence.status


@proves("EVD-1/3", "EVD-3/1")
def test_word_rests_on_checks_that_prove_the_work_and_on_nothing_unknown() -> None:
    project, own = check(CheckOwner.PROJECT), check(CheckOwner.TURN)
    assert word(project) is word(project, own) is EvidenceStatus.CHECKED
    assert word(own) is EvidenceStatus.SELF_CHECKED
    assert word(own, check(CheckOwner.PROJECT, UNKNOWN)) is EvidenceStatus.SELF_CHECKED, (
        "one that says nothing is no proof"
    )
    assert word(check(CheckOwner.PROJECT, after=False)) is EvidenceStatus.CLAIMED
    assert word(check(CheckOwner.PROJECT, passed_before=True)) is EvidenceStatus.CLAIMED
    assert word(check(CheckOwner.TURN, passed_before=True)) is EvidenceStatus.SELF_CHECKED
    assert word(project, expected=UNKNOWN) is EvidenceStatus.CLAIMED
    assert word(project, expected=UNMET) is word(project, check(CheckOwner.TURN, UNMET)) is EvidenceStatus.FAILED


@proves("EVD-1/1")
def test_turn_that_neither_changed_nor_should_change_anything_has_no_word_unless_something_is_missing() -> None:
    read = Expectation(ExpectationKind.READ, "a.txt", ExpectationSource.REQUEST, MET)
    assert weigh([], [], concerned=False) is weigh([read], [], concerned=False) is None
    asked_only = weigh([], [], concerned=True)
    assert asked_only is not None and asked_only.status is EvidenceStatus.CLAIMED
    unread = weigh([read.settled(UNMET, "It was not read.")], [], concerned=False)
    assert unread is not None and unread.status is EvidenceStatus.FAILED


@proves("EVD-1/2")
def test_line_for_people_says_what_failed_and_a_self_checked_task_is_not_only_claimed() -> None:
    claimed = {word: is_claimed({"status": word}) for word in ("checked", "self_checked", "claimed", "failed")}
    assert claimed == {"checked": False, "self_checked": False, "claimed": True, "failed": True} and is_claimed(None)
    failed = weigh([], [check(CheckOwner.PROJECT, UNMET)], concerned=True)
    assert failed is not None and evidence_line(failed.to_json()) == "Evidence: failed. make check: exit code 0"


@proves("EVD-2/1")
def test_expectations_stand_at_both_ends_of_a_message_and_not_in_its_middle() -> None:
    output, unchanged = (
        StatedExpectation(ExpectationKind.OUTPUT, "a.txt"),
        StatedExpectation(ExpectationKind.NO_CHANGE, "the workspace"),
    )
    assert split_stated("/expect output a.txt\nDo it.\n/expect no_change\n") == ("Do it.", (output, unchanged))
    words = "Explain\n/expect output a.txt\nto me."
    assert split_stated(words) == (words, ())


@proves("JOB-9/2")
@pytest.mark.parametrize("status", [*EvidenceStatus, None])
def test_only_a_passed_check_makes_work_more_than_claimed(status: EvidenceStatus | None) -> None:
    evidence: Json | None = None if status is None else {"status": status.value}
    assert is_claimed(evidence) is (status not in (EvidenceStatus.CHECKED, EvidenceStatus.SELF_CHECKED))


@proves("EVD-1/1")
def test_check_that_failed_is_evidence_although_nothing_was_changed_or_asked_for() -> None:
    evidence = weigh([], [check(CheckOwner.PROJECT, ExpectationState.UNMET)], concerned=False)
    assert evidence is not None and evidence.status is EvidenceStatus.FAILED
    assert weigh([], [check(CheckOwner.PROJECT)], concerned=False) is None
