"""Judges a turn by its recorded calls and by what lies in the workspace: which expectations it has, and which of them are met.

It runs nothing: `evidence_checker.py` does. `check_runs.py` judges checks.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import islice

from anycowork.agent.expectations import (
    RequestExpectations,
    allowed_checks,
    of_person,
    of_request,
    of_steps,
    reason_for_protection,
)
from anycowork.agent.turn_calls import TurnChange, made_changes, path_changes
from anycowork.agent.turn_context import TurnContext
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.evidence import (
    CheckRun,
    Evidence,
    Expectation,
    ExpectationKind,
    ExpectationSource,
    ExpectationState,
    split_stated,
    stated_payload,
    weigh,
    without_stated,
)
from anycowork.domain.messages import Speaker
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, CallStatus
from anycowork.domain.values import replace
from anycowork.permissions.declared_needs import undeclared_path
from anycowork.permissions.patterns import path_matches, plain

_EMPTY = sha256().hexdigest()
_MOST_REQUESTS = 5  # newest messages among which the one that led to a plan is looked for
_MAY_CHANGE = {Permission.WRITE_FILES, Permission.CREATE_FILES, Permission.DELETE_FILES, Permission.EXECUTE_COMMANDS}


def expected_of(context: TurnContext) -> RequestExpectations:
    """Returns what the turn is expected to do. Derived once, and again when the person adds a message or a hook a check."""
    checks = context.conversation.hook_checks
    source = (context.conversation.user_text, checks if checks and context.calls.has_changed else ())
    if context.proof.expected is None or context.proof.expected[0] != source:
        derived = _derive(context)
        context.proof.expected = (source, replace(derived, expectations=(*derived.expectations, *_of_hooks(source[1]))))
    return context.proof.expected[1]


def _of_hooks(checks: Iterable[str]) -> tuple[Expectation, ...]:
    """Of a turn that changed something: there is nothing else to check."""
    kind, source = ExpectationKind.CHECK, ExpectationSource.PERSON
    return tuple(Expectation(kind, check, source, why="A hook of the person names it.") for check in checks)


def _derive(context: TurnContext) -> RequestExpectations:
    turn = context.turn
    if context.plan is not None:
        source = ExpectationSource.TASK if turn.task_id is not None else ExpectationSource.PLAN
        steps = of_steps(context.plan.steps, source, lambda path: existed(context, path))
        return RequestExpectations(_with_request(steps, _of_request_for_plan(context), _planned_paths(context)), True)
    if turn.job_id is not None:
        return RequestExpectations()
    own_messages = [
        message
        for message in context.conversation.history
        if message.turn_id == turn.id and message.role is Speaker.USER
    ]
    stated = tuple(expectation for message in own_messages for expectation in of_person(message.payload))
    request = "\n\n".join(
        without_stated(message.content) for message in own_messages if not is_workflow(message.payload)
    )
    derived = of_request(request, lambda path: existed(context, path))
    stated_subjects = {(expectation.kind, plain(expectation.subject)) for expectation in stated}
    unstated = tuple(
        expectation
        for expectation in derived.expectations
        if (expectation.kind, plain(expectation.subject)) not in stated_subjects
    )
    if not _MAY_CHANGE & context.role.permissions:
        unstated = tuple(
            expectation
            for expectation in unstated
            if expectation.kind not in (ExpectationKind.OUTPUT, ExpectationKind.CHECK)
        )
    return replace(derived, expectations=(*stated, *unstated))


def _planned_paths(context: TurnContext) -> tuple[str, ...]:
    return tuple(plain(path) for step in (context.plan.steps if context.plan else ()) for path in step.paths)


def _of_request_for_plan(context: TurnContext) -> list[Expectation]:
    """Returns the expectations of the request that led to the plan or the job."""
    messages = (
        m for m in reversed(context.conversation.history) if m.role is Speaker.USER and not is_workflow(m.payload)
    )
    of_job = context.assignment.job_request
    newest = [] if of_job else list(islice(messages, _MOST_REQUESTS))
    stated = [_stated_in(of_job)] if of_job else [of_person(message.payload) for message in newest]
    requests = [of_job] if of_job else [message.content for message in newest]
    derived = [of_request(without_stated(request), lambda path: existed(context, path)) for request in requests]
    of_requests = (*stated, *(request.expectations for request in derived))
    return [expectation for expectations in of_requests for expectation in expectations]


def _with_request(
    steps: Iterable[Expectation], of_request_for_plan: Sequence[Expectation], planned: Sequence[str]
) -> tuple[Expectation, ...]:
    """Adds to the steps what the request holds for them: paths that must stay as they are, and which of the steps' files it names."""
    protected = [
        # What the person approved with the plan may change.
        replace(item, only=(*item.only, *planned)) if item.only else item
        for item in of_request_for_plan
        if item.kind is ExpectationKind.PROTECTED and plain(item.subject) not in planned
    ]
    expected_outputs = {
        plain(item.subject): item for item in of_request_for_plan if item.kind is ExpectationKind.OUTPUT
    }
    return (*protected, *(expected_outputs.get(step.subject, step) if step.guessed else step for step in steps))


def _stated_in(request: str) -> tuple[Expectation, ...]:
    """Returns what lines `/expect …` in the request of a job state."""
    try:
        _, stated = split_stated(request)
    except Invalid:
        return ()  # it was stored before such a line was refused
    return of_person(stated_payload(stated, may_check=False))


def checks_allowed_by_person(context: TurnContext) -> frozenset[str]:
    """Returns the commands that the person stated as checks of this turn, if that person may approve, and those that stand in a file of
    hooks that a person trusted."""
    in_files = {check for hook in context.hooks or () for check in hook.checks}
    own_messages = (
        m for m in context.conversation.history if m.turn_id == context.turn.id and m.role is Speaker.USER and m.payload
    )
    stated = {command for message in own_messages for command in allowed_checks(message.payload)}
    return frozenset(stated | in_files.intersection(context.conversation.hook_checks))


def is_workflow(payload: object) -> bool:
    return isinstance(payload, dict) and "workflow" in payload


def existed(context: TurnContext, path: str) -> bool:
    """Whether something was at this path when the turn began."""
    path = plain(path)
    for change in path_changes(context.calls):
        if change.path == path:
            return change.before is not None
    return context.has_entry(path)


def protection_of(context: TurnContext, path: str) -> str | None:
    """Returns why a change of this path asks in this turn; None if it need not."""
    if context.conversation.skills and (reason := undeclared_path(context.conversation.skills, path)):
        return reason
    if not (context.conversation.user_text or context.plan) and context.proof.expected is None:
        return None
    protected = [expectation for expectation in expected_of(context).expectations if _is_held(context, expectation)]
    return reason_for_protection(protected, plain(path), lambda other: existed(context, other)) if protected else None


def _is_held(context: TurnContext, expectation: Expectation) -> bool:
    """Whether a change against this expectation asks. That a request is a mere question is derived from its words: a large model that
    changes something all the same is shown as failed, a small one, which does so more often, asks."""
    if expectation.kind is ExpectationKind.NO_CHANGE:
        return context.brief or expectation.source is not ExpectationSource.REQUEST
    return expectation.kind is ExpectationKind.PROTECTED


def evidence_without_checks(calls: Sequence[Call], request: str) -> Evidence | None:
    """Returns the evidence of a turn that was broken off: nothing was checked."""
    changed = any(change.is_net for change in path_changes(calls))
    request_expectations = of_request(request, lambda path: False).asks_change if request and not changed else changed
    return weigh(unparsable(calls), (), concerned=changed or request_expectations)


# --- expectations


def settle_expectation(
    context: TurnContext, expectation: Expectation, checks: Sequence[CheckRun], *, vouched: bool
) -> Expectation:
    """Returns the expectation with its state now. `vouched`: a worker has reported that its task succeeded."""
    changes = [change for change in path_changes(context.calls) if change.is_net]
    match expectation.kind:
        case ExpectationKind.OUTPUT:
            settled = _settle_output(context, expectation, changes)
            missing = settled.state is ExpectationState.UNMET and not context.has_entry(plain(expectation.subject))
            if missing and expectation.guessed and (vouched or _changed_others(context, changes)):
                return settled.settled(
                    ExpectationState.UNKNOWN, "Only the plan named it, and nothing was written there."
                )
            return settled
        case ExpectationKind.PROTECTED:
            return _settle_protected(context, expectation, changes)
        case ExpectationKind.NO_CHANGE:
            return _settle_no_change(expectation, changes)
        case ExpectationKind.READ:
            return _settle_read(context, expectation)
        case ExpectationKind.CHECK:
            run = next((check for check in checks if check.command == expectation.subject), None)
            if run is None:
                return expectation.settled(
                    ExpectationState.UNKNOWN, "It was not run: nothing allows it without asking."
                )
            return expectation.settled(run.state, run.remark)  # unknown if it ran before the last change
        case ExpectationKind.PARSES:
            return expectation


def _settle_output(context: TurnContext, expectation: Expectation, changes: Sequence[TurnChange]) -> Expectation:
    path = plain(expectation.subject)
    try:
        digest = context.workspace.file_hash(path)
    except AnyCoworkError:
        return expectation.settled(ExpectationState.UNKNOWN, "It does not lie in the workspace.")
    if digest is None and (elsewhere := _in_named_folder(context, path, changes)):
        path, digest = elsewhere
    if digest is None:
        if context.has_entry(path):
            is_file = "." in path.rpartition("/")[2].strip(".") and not expectation.subject.endswith("/")
            if is_file:
                return expectation.settled(ExpectationState.UNMET, "It is a folder, not a file.")
            return expectation.settled(ExpectationState.MET, "It exists.")
        return expectation.settled(ExpectationState.UNMET, "It does not exist.")
    if digest == _EMPTY and not expectation.may_be_empty:
        return expectation.settled(ExpectationState.UNMET, "It is empty.")
    return expectation.settled(
        ExpectationState.MET, f"'{path}' exists." if path != plain(expectation.subject) else "It exists."
    )


def _changed_others(context: TurnContext, changes: Sequence[TurnChange]) -> bool:
    """Whether the work was done in files that the plan does not name."""
    planned = _planned_paths(context)
    return any(not any(path_matches(path, change.path) for path in planned) for change in changes)


def _in_named_folder(context: TurnContext, path: str, changes: Sequence[TurnChange]) -> tuple[str, str] | None:
    """Finds a file of this bare name that the turn made in a folder which the request names too: `notes.md in the docs folder`."""
    if "/" in path:
        return None
    for change in changes:
        folder, _, name = change.path.rpartition("/")
        if name == path and change.after is not None and folder:
            folder_mention = re.search(
                rf"(?<!\w){re.escape(folder.rpartition('/')[2])}(?!\w)", context.conversation.user_text, re.I
            )
            if folder_mention is not None and (digest := context.workspace.file_hash(change.path)) is not None:
                return change.path, digest
    return None


def _settle_protected(context: TurnContext, expectation: Expectation, changes: Sequence[TurnChange]) -> Expectation:
    def was_there(path: str) -> bool:
        return existed(context, path)

    touched = [change for change in changes if reason_for_protection([expectation], change.path, was_there)]
    if not touched:
        return expectation.settled(ExpectationState.MET, "It is unchanged.")
    changed_paths = ", ".join(change.path for change in touched[:5])
    if all(change.allowed_by_person for change in touched):
        return expectation.settled(ExpectationState.UNKNOWN, f"A person allowed the change of {changed_paths}.")
    return expectation.settled(ExpectationState.UNMET, f"It was changed: {changed_paths}.")


def _settle_no_change(expectation: Expectation, changes: Sequence[TurnChange]) -> Expectation:
    if not changes:
        return expectation.settled(ExpectationState.MET, "Nothing was changed.")
    changed_paths = ", ".join(change.path for change in changes[:5])
    if all(change.allowed_by_person for change in changes):
        return expectation.settled(ExpectationState.UNKNOWN, f"A person allowed the change of {changed_paths}.")
    return expectation.settled(ExpectationState.UNMET, f"Changed although nothing was to change: {changed_paths}.")


def _settle_read(context: TurnContext, expectation: Expectation) -> Expectation:
    path = plain(expectation.subject)
    commands = False
    for call in context.calls:
        if call.result is None or call.result.status not in (CallStatus.OK, CallStatus.ERROR):
            continue
        seen = call.result.facts.get("path") or call.parameters.get("path")
        if call.result.status is CallStatus.OK and isinstance(seen, str) and _covers(call, plain(seen), path):
            return expectation.settled(ExpectationState.MET, "It was read in this turn.")
        if context.is_command(call):
            if path.rpartition("/")[2] in str(call.parameters.get("command")):
                return expectation.settled(ExpectationState.MET, "A command of this turn read it.")
            commands = True
        commands = commands or not context.is_built_in(call)
    if commands:
        return expectation.settled(ExpectationState.UNKNOWN, "A command ran that may have read it.")
    return expectation.settled(ExpectationState.UNMET, "It was not read in this turn.")


def _covers(call: Call, seen: str, path: str) -> bool:
    """Whether a call about `seen` read the path: the file itself, or a search in a folder around it."""
    if seen == path or path.endswith(f"/{seen}") or seen.endswith(f"/{path}"):
        return True
    searched = call.result is not None and "matches" in call.result.facts
    return searched and (seen in ("", ".") or path.startswith(f"{seen.rstrip('/')}/"))


def unparsable(calls: Iterable[Call]) -> list[Expectation]:
    """Returns the changed files that do not parse now, by what the tools found when they wrote them."""
    reasons: dict[str, str] = {}
    for call in calls:
        if not made_changes(call) or call.result is None or call.intent is None:
            continue
        for item in call.intent.paths:
            reasons.pop(item.path, None)
        facts = call.result.facts
        spoilt, checked, path = facts.get("unparsable"), facts.get("check"), facts.get("path")
        if isinstance(spoilt, dict):
            reasons |= {name: str(reason) for name, reason in spoilt.items()}
        elif isinstance(checked, dict) and checked.get("ok") is False and isinstance(path, str):
            reasons[path] = str(checked.get("says"))
    return [
        Expectation(ExpectationKind.PARSES, path, ExpectationSource.REQUEST, ExpectationState.UNMET, reason)
        for path, reason in reasons.items()
    ]
