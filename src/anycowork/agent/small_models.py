"""Steers a small model: which calls it must or must not make next, and when its answer does not end the turn. Off for large models.

A small model tends to claim success without acting, and to edit files in the form that it is worse at. What a request asks for is told by
the fitted classifier (`request_classifier.py`); when in doubt, nothing is owed.
"""

import re
from collections.abc import Iterable
from enum import Enum, auto
from hashlib import sha256
from typing import assert_never

from anycowork.agent.expectations import clause_kinds
from anycowork.agent.request_classifier import SentenceKind
from anycowork.agent.turn_calls import succeeded
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_evidence import expected_of
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.evidence import ExpectationKind
from anycowork.domain.plan import Plan
from anycowork.domain.roles import OutputFormat, Permission, RoleDefinition
from anycowork.domain.tools import Call
from anycowork.prompts.prompt_service import PromptService
from anycowork.prompts.tool_selection import A_REQUEST

CALLS_BEFORE_GIVING_UP = 3  # calls of its own, after which a small model may answer that it cannot do the task
_SHORT_FILE = 1_500  # characters
_EMPTY = sha256().hexdigest()
_WRITES = re.compile(
    r"(write|create|delete|update|edit|modify|move)", re.I
)  # in a tool or a permission, as plans name them
_MAY_CHANGE = {Permission.WRITE_FILES, Permission.CREATE_FILES, Permission.DELETE_FILES, Permission.EXECUTE_COMMANDS}
_ABOUT_WORK = (SentenceKind.CHANGE, SentenceKind.RUN, SentenceKind.CONTENT, SentenceKind.COUNT)


class ExpectedAction(Enum):
    """What a request can plainly ask for. A command may also make a change."""

    RUN = auto()
    CHANGE = auto()
    PLAN = auto()


def required_tools(context: TurnContext, prompts: PromptService) -> frozenset[str]:
    """Returns the tools of which the model must call one now: before its first answer, once after its answer was rejected, and while
    nothing of the request was done."""
    if not context.brief:
        return frozenset()
    pushed, context.proof.must_call = context.proof.must_call, False
    action, tools = owed_action(context), prompts.tools(context.role)
    owed = _tools_for(action, prompts)
    if action is ExpectedAction.CHANGE and _knows_what_is_checked(context):
        owed = prompts.changers()
    if pushed:
        return owed or tools
    if len(_own_calls(context)) < CALLS_BEFORE_GIVING_UP and (owed or missing_files(context)):
        return owed if owed and context.calls else tools | owed
    looks_first = not context.calls and len(context.conversation.request().split()) >= A_REQUEST
    return tools if looks_first else frozenset()


def excluded_forms(context: TurnContext, prompts: PromptService) -> frozenset[str]:
    """Returns the tools and call forms that the model must not use now."""
    if not context.brief:
        return frozenset()
    changing = prompts.changers() | {OutputFormat.PLAN.value} if _asks_no_change(context) else frozenset()
    long, short = _known_files(context)
    if bool(long) == bool(short):
        return changing
    return changing | {"update_file.content" if long else "update_file.edits"}


def paths_to_quote(context: TurnContext) -> tuple[str, ...]:
    """Returns the only files of which pieces may be replaced, where the turn knows short ones too; empty if it does not."""
    long, short = _known_files(context)
    return long if short else ()


def unfinished_request(context: TurnContext) -> str | None:
    """Returns why the request is not finished, for the model to read; None if it is, or the model is a large one."""
    if not context.brief:
        return None
    missing = missing_files(context)
    if not missing and not owed_action(context):
        return None
    missing_text = "".join(f"'{path}' does not exist or is empty. " for path in missing)
    return f"The request is not finished. {missing_text}The request was: {context.conversation.request()}"


def owed_action(context: TurnContext) -> ExpectedAction | None:
    """Returns the action that the request asks for, if nothing like it was done in the turn."""
    ran = any(map(context.is_command, context.calls))
    changed = any(_changed(call) for call in _own_calls(context))
    if context.plan:
        return not_begun(context.plan, ran=ran, changed=changed, role=context.role)
    return not_tried(clause_kinds(context.conversation.user_text), ran=ran, changed=changed, role=context.role)


def _own_calls(context: TurnContext) -> list[Call]:
    """Returns the calls of the model in its present draft: no files that it was brought, no checks that the server ran."""
    restored = (position for position, call in enumerate(context.calls, 1) if call.provenance.restores)
    begin = max(restored, default=0)
    return [call for call in context.calls[begin:] if not (call.provenance.reference or call.provenance.check)]


def not_tried(
    kinds: tuple[SentenceKind, ...], *, ran: bool, changed: bool, role: RoleDefinition
) -> ExpectedAction | None:
    """Returns the first action that the clauses of a request ask for, if nothing like it was done."""
    may_run, may_change = Permission.EXECUTE_COMMANDS in role.permissions, bool(_MAY_CHANGE & role.permissions)
    if _only_runs(role):  # whoever is there to try things tries something, however the request was worded
        return ExpectedAction.RUN if not ran and any(kind in kinds for kind in _ABOUT_WORK) else None
    for kind in kinds:
        if kind is SentenceKind.CHANGE and role.output is OutputFormat.PLAN:
            return ExpectedAction.PLAN
        if kind is SentenceKind.CHANGE and may_change and not changed and SentenceKind.KEEP not in kinds:
            return ExpectedAction.CHANGE
        if kind in (SentenceKind.RUN, SentenceKind.COUNT) and may_run and not ran:
            return ExpectedAction.RUN  # a program should count, not the model
    return None


def not_begun(plan: Plan, *, ran: bool, changed: bool, role: RoleDefinition) -> ExpectedAction | None:
    """Like `not_tried`, for an approved plan: expect a change if it needs one, a run if it names commands."""
    writes = any(_WRITES.search(needed) for step in plan.steps for needed in step.tools_needed)
    names_changes = any(step.paths or step.commands for step in plan.steps)
    begun = changed or (ran and not writes)
    return ExpectedAction.CHANGE if names_changes and not begun and _MAY_CHANGE & role.permissions else None


def missing_files(context: TurnContext) -> list[str]:
    """Returns the files that the request asks to create and that do not exist or are empty."""
    if context.plan is not None or Permission.CREATE_FILES not in context.role.permissions:
        return []
    outputs = (
        expectation for expectation in expected_of(context).expectations if expectation.kind is ExpectationKind.OUTPUT
    )
    return [output.subject for output in outputs if not _is_there(context, output.subject, output.may_be_empty)]


def _is_there(context: TurnContext, path: str, may_be_empty: bool) -> bool:
    try:
        digest = context.workspace.file_hash(path)
    except AnyCoworkError:
        return True  # not a file of this workspace
    return digest is not None and (may_be_empty or digest != _EMPTY)


def _asks_no_change(context: TurnContext) -> bool:
    expectations = expected_of(context).expectations if context.plan is None else ()
    return any(expectation.kind is ExpectationKind.NO_CHANGE for expectation in expectations)


def _only_runs(role: RoleDefinition) -> bool:
    return _MAY_CHANGE & role.permissions == {Permission.EXECUTE_COMMANDS}


def _knows_what_is_checked(context: TurnContext) -> bool:
    """Whether the request names a check, which the server runs itself, and a file was read: then the work is to write, and a small model
    that may run commands runs the check instead, or removes files."""
    checks = (item for item in expected_of(context).expectations if item.kind is ExpectationKind.CHECK)
    return context.plan is None and any(checks) and any(_known_files(context))


def _known_files(context: TurnContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the long and the short files that the model knows: it rewrites a short one well but fails to quote parts of it; of a long one
    it forgets most."""
    lengths = _known_lengths(context.calls)
    long = tuple(path for path, length in lengths.items() if length > _SHORT_FILE)
    return long, tuple(path for path in lengths if path not in long)


def _known_lengths(calls: Iterable[Call]) -> dict[str, int]:
    """Returns the characters of each file that the model has read or written whole in this turn."""
    lengths: dict[str, int] = {}
    for call in filter(succeeded, calls):
        path, content = call.result.facts.get("path") if call.result else None, call.parameters.get("content")
        if call.result is None or not isinstance(path, str):
            continue
        if call.tool == "read_file":
            lengths[path] = max(len(call.result.content), lengths.get(path, 0))
        elif isinstance(content, str) and "start_line" not in call.parameters:
            lengths[path] = len(content)
    return lengths


def _tools_for(action: ExpectedAction | None, prompts: PromptService) -> frozenset[str]:
    """Returns the tools that can do this action; a plan needs no tool."""
    match action:
        case None:
            return frozenset()
        case ExpectedAction.RUN:
            return prompts.runners()
        case ExpectedAction.CHANGE:
            return prompts.changers() | prompts.runners()
        case ExpectedAction.PLAN:
            return frozenset({OutputFormat.PLAN.value})
        case _:
            assert_never(action)


def _changed(call: Call) -> bool:
    """Whether the call changed something. A successful command may have changed nothing."""
    if not succeeded(call) or call.result is None or call.intent is None:
        return False
    return call.intent.command is None or bool(call.result.facts.get("changed"))
