"""What the evidence of a turn is worth, from its expectations and its checks."""

from anycowork.domain.evidence import (
    CheckOwner,
    CheckRun,
    EvidenceStatus,
    Expectation,
    ExpectationKind,
    ExpectationSource,
    ExpectationState,
    weigh,
)
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
