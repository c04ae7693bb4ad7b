"""What a turn was expected to do, what proves it, and the word that this is worth: checked, self_checked, claimed or failed. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from hashlib import sha256

import msgspec
from pydantic import JsonValue

from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json, json_objects
from anycowork.domain.values import replace, value


class EvidenceStatus(StrEnum):
    """`checked` by what the person or the project owned before the turn, `self_checked` only by what the turn wrote, `claimed` by nothing
    but the model's word."""

    CHECKED = "checked"
    SELF_CHECKED = "self_checked"
    CLAIMED = "claimed"
    FAILED = "failed"


class ExpectationKind(StrEnum):
    OUTPUT = "output"
    PROTECTED = "protected"
    CHECK = "check"
    NO_CHANGE = "no_change"
    READ = "read"
    PARSES = "parses"


class ExpectationState(StrEnum):
    MET = "met"
    UNMET = "unmet"
    UNKNOWN = "unknown"


class ExpectationSource(StrEnum):
    REQUEST = "request"
    PLAN = "plan"
    TASK = "task"
    WORKFLOW = "workflow"
    MODEL = "model"
    PERSON = "person"


class CheckOwner(StrEnum):
    """`turn`: the turn changed the check, what configures it, or the tests that it runs."""

    PROJECT = "project"
    TURN = "turn"


MOST_STATED, LONGEST_SUBJECT = 100, 1_000
EXPECT_COMMAND, THE_WORKSPACE = "/expect", "the workspace"
STATED_KINDS = ("output", "protected", "check", "read", "no_change")
MISSING_RUNNER = re.compile(r"No module named '?(?:pytest|tox|nox)\b|missing script: \"?test", re.I)
NOT_RUNNABLE = (126, 127)
"""Exit codes of a shell that could not start a program."""
EXPECT, MAY_CHECK = "expect", "may_check"
"""In the payload of a message: what its sender expects, and whether the sender may allow the checks in it."""


@value
class StatedExpectation:
    """What a person states with a message."""

    kind: ExpectationKind
    subject: str


def split_stated(content: str) -> tuple[str, tuple[StatedExpectation, ...]]:
    """Splits a message into its words and the `/expect` lines at its beginning and end. Raises: Invalid."""
    if EXPECT_COMMAND not in content:
        return content, ()  # the usual case, whatever its length
    lines, first, last = _stating_lines(content)
    if first + len(lines) - last > MOST_STATED:
        raise Invalid(f"A message states at most {MOST_STATED} expectations.", param="content")
    stated = tuple(read_stated(line.strip().removeprefix(EXPECT_COMMAND)) for line in (*lines[:first], *lines[last:]))
    return ("\n".join(lines[first:last]).strip(), stated) if stated else (content, ())


def begins_with_name(content: str) -> bool:
    """Tells whether the message runs a workflow or activates a skill: its words begin with `/name`. Two slashes mean one."""
    if not content.lstrip().startswith("/"):
        return False  # the usual case, whatever its length
    try:
        request = split_stated(content)[0]
    except Invalid:
        return False
    return request.startswith("/") and not request.startswith("//")


def without_stated(content: str) -> str:
    """Returns the words of a message without its `/expect` lines."""
    if EXPECT_COMMAND not in content:
        return content  # the usual case, whatever its length
    lines, first, last = _stating_lines(content)
    return "\n".join(lines[first:last])


def _stating_lines(content: str) -> tuple[list[str], int, int]:
    lines = content.strip("\n").split("\n")
    first, last = 0, len(lines)
    while first < last and _is_stating(lines[first]):
        first += 1
    while last > first and _is_stating(lines[last - 1]):
        last -= 1
    return lines, first, last


def _is_stating(line: str) -> bool:
    return line.strip().partition(" ")[0] == EXPECT_COMMAND


def read_stated(text: str) -> StatedExpectation:
    """Reads `output notes.md` or `check pytest -q`. Raises: Invalid."""
    name, _, subject = text.strip().partition(" ")
    if name not in STATED_KINDS or (name != ExpectationKind.NO_CHANGE and not subject.strip()):
        raise Invalid(
            f"'{text.strip()[:200]}' states no expectation. Write {', '.join(STATED_KINDS)}, then the path, or for check the command: "
            f"{EXPECT_COMMAND} output report.md",
            param="content",
        )
    if len(subject.strip()) > LONGEST_SUBJECT:  # cut off, it would be another path or command
        raise Invalid(f"An expectation has at most {LONGEST_SUBJECT:,} characters.", param="content")
    return StatedExpectation(ExpectationKind(name), subject.strip() or THE_WORKSPACE)


def read_step_expectation(line: str) -> StatedExpectation:
    """Reads a line of a step's `expect`, such as `output notes.md`. Raises: ValueError."""
    try:
        stated = read_stated(line)
    except Invalid as error:
        raise ValueError(error.message) from None
    if stated.kind is ExpectationKind.CHECK:
        raise ValueError(f"'{line.strip()[:200]}' belongs into the step's 'check', without the first word")
    return stated


def stated_payload(stated: Sequence[StatedExpectation], *, may_check: bool) -> Json:
    """Returns the part of a message's payload that holds them; empty without any."""
    if not stated:
        return {}
    return {
        EXPECT: [{"kind": expectation.kind.value, "subject": expectation.subject} for expectation in stated],
        MAY_CHECK: may_check,
    }


@value
class Expectation:
    """`why` says where it comes from, and at the end of the turn what was found. `only`: nothing but these paths may change.
    `may_be_empty`: an output that may be wanted without content. `guessed`: a path of a step that nobody asked for by name."""

    kind: ExpectationKind
    subject: str
    source: ExpectationSource
    state: ExpectationState = ExpectationState.UNKNOWN
    why: str = ""
    only: tuple[str, ...] = ()
    may_be_empty: bool = False
    guessed: bool = False

    def settled(self, state: ExpectationState, reason: str) -> "Expectation":
        return replace(self, state=state, why=reason)

    def to_json(self) -> Json:
        return {
            "kind": self.kind.value,
            "subject": self.subject,
            "state": self.state.value,
            "from": self.source.value,
            "why": self.why,
        }


@value
class CheckRun:
    """The run of a check that decides. `snapshot_id` is the checkpoint whose state it saw. `passed_before`: it passed before the turn
    changed anything, so it proves nothing about the work, unless the turn changed what it runs."""

    command: str
    exit_code: int | None
    ran_after_last_change: bool
    owner: CheckOwner
    snapshot_id: str | None = None
    state: ExpectationState = ExpectationState.UNKNOWN
    passed_before: bool = False
    changed_files: tuple[str, ...] = ()
    remark: str = ""

    @property
    def proves(self) -> bool:
        is_new = not self.passed_before or self.owner is CheckOwner.TURN
        return self.state is ExpectationState.MET and self.ran_after_last_change and is_new

    def to_json(self) -> Json:
        files: list[JsonValue] = list(self.changed_files)
        return {
            "command": self.command,
            "exit_code": self.exit_code,
            "ran_after_last_change": self.ran_after_last_change,
            "owner": self.owner.value,
            "snapshot_id": self.snapshot_id,
            "state": self.state.value,
            "passed_before": self.passed_before,
            "changed_by_turn": files,
            "remark": self.remark,
        }


@value
class CheckNotRun:
    """A check that nothing allows without asking. `rule` would allow it; None if no rule can."""

    command: str
    rule: Json | None = field(default=None, hash=False)

    def to_json(self) -> Json:
        return {"command": self.command, "rule": self.rule}


@value
class Evidence:
    status: EvidenceStatus
    expectations: tuple[Expectation, ...] = ()
    checks: tuple[CheckRun, ...] = ()
    receipt: str | None = None
    not_run: tuple[CheckNotRun, ...] = ()

    @property
    def unmet(self) -> tuple[Expectation, ...]:
        return tuple(expectation for expectation in self.expectations if expectation.state is ExpectationState.UNMET)

    def to_json(self) -> Json:
        body: Json = {
            "status": self.status.value,
            "expectations": [expectation.to_json() for expectation in self.expectations],
            "checks": [check.to_json() for check in self.checks],
        }
        if self.not_run:
            body["not_run"] = [check.to_json() for check in self.not_run]
        return body if self.receipt is None else {**body, "receipt": self.receipt}


def weigh(expectations: Sequence[Expectation], checks: Sequence[CheckRun], *, concerned: bool) -> Evidence | None:
    """Returns the evidence of a turn; None if it neither changed anything nor was asked to, and nothing that was expected is missing.

    `concerned`: the turn changed something, or was asked to.
    """
    states = {expectation.state for expectation in expectations}
    states |= {check.state for check in checks if check.state is ExpectationState.UNMET}
    if not concerned and states <= {ExpectationState.MET}:
        return None
    return Evidence(_status(states, checks), tuple(expectations), tuple(checks))


def _status(states: set[ExpectationState], checks: Sequence[CheckRun]) -> EvidenceStatus:
    if ExpectationState.UNMET in states:
        return EvidenceStatus.FAILED
    proofs = [check for check in checks if check.proves]
    if ExpectationState.UNKNOWN in states or not proofs:
        return EvidenceStatus.CLAIMED
    owned = any(check.owner is CheckOwner.PROJECT for check in proofs)
    return EvidenceStatus.CHECKED if owned else EvidenceStatus.SELF_CHECKED


def is_claimed(evidence: Json | None) -> bool:
    """Whether nothing but the model's word stands for the work."""
    proved = (EvidenceStatus.CHECKED.value, EvidenceStatus.SELF_CHECKED.value)
    return evidence is None or evidence.get("status") not in proved


def evidence_line(evidence: Json) -> str:
    """Returns the evidence in one line for people: the word, and what is missing, what was checked, or why nothing is proved."""
    checks, expectations = json_objects(evidence.get("checks")), json_objects(evidence.get("expectations"))
    unmet = [_reason(expectation, "subject", "why") for expectation in expectations if _is(expectation, "unmet")]
    subjects = {expectation.get("subject") for expectation in expectations}
    failed = [check for check in checks if _is(check, "unmet") and check.get("command") not in subjects]
    unmet += [f"{check.get('command')}: exit code {check.get('exit_code')}" for check in failed]
    word = str(evidence.get("status"))
    not_run = [check.get("command") for check in json_objects(evidence.get("not_run"))]
    unnamed = [
        f"{command} was not run: nothing allows it without asking." for command in not_run if command not in subjects
    ]
    details = "; ".join(unmet[:3]) or " ".join([_worth(word, checks, expectations), *unnamed[:1]])
    receipt = evidence.get("receipt")
    repeat = f" Run it again with: anycowork verify {receipt}" if receipt else ""
    return f"Evidence: {word}. {details}{repeat}".strip()


def _worth(word: str, checks: Sequence[Json], expectations: Sequence[Json]) -> str:
    """Says what the word rests on where nothing is missing."""
    if word == EvidenceStatus.CHECKED:
        passed = [check for check in checks if _is(check, "met")]
        return f"{', '.join(str(check.get('command')) for check in passed[:3])} passed after the last change."
    commands = {check.get("command") for check in checks}
    unknown = [e for e in expectations if _is(e, "unknown") and e.get("subject") not in commands]
    reasons = [*(_reason(e, "subject", "why") for e in unknown), *(_reason(c, "command", "remark") for c in checks)]
    meaning = "Only the agent says that it is done." if word == EvidenceStatus.CLAIMED else ""
    return " ".join(filter(None, (meaning, *reasons[:3])))


def _is(item: Json, state: str) -> bool:
    return item.get("state") == state


def _reason(item: Json, subject: str, reason: str) -> str:
    return f"{item.get(subject)}: {item.get(reason) or 'not known.'}"


FORMAT = 1


@value
class Receipt:
    id: str
    body: Json = field(hash=False)


def receipt_of(
    *,
    chat_id: str,
    turn_id: str,
    snapshot_id: str | None,
    command: str,
    exit_code: int,
    files: Mapping[str, str],
    sandbox: str,
    checked_at: str,
) -> Receipt:
    """Returns the receipt of a check that ended with this exit code on these files (path → sha256)."""
    body: Json = {
        "format": FORMAT,
        "context_id": chat_id,
        "turn_id": turn_id,
        "snapshot_id": snapshot_id,
        "command": command,
        "exit_code": exit_code,
        "files": dict(sorted(files.items())),
        "sandbox": sandbox,
        "at": checked_at,
    }
    return Receipt(receipt_id(body), body)


def receipt_id(body: Json) -> str:
    """Returns the hash of the content, without an id that stands in it."""
    content = {name: part for name, part in body.items() if name != "id"}
    return sha256(msgspec.json.encode(content, order="sorted")).hexdigest()
