"""Steers a small model: which calls it must or must not make next, and when its answer does not end the turn. Off for large models.

A small model tends to claim success without acting, and to edit files in the form that it is worse at.
"""

from hashlib import sha256
from typing import assert_never

from anycowork.agent.expected_actions import ExpectedAction, asks_only, not_begun, not_made, not_tried
from anycowork.agent.repeated_calls import succeeded
from anycowork.agent.turn_context import TurnContext
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.roles import OutputFormat, Permission
from anycowork.domain.tools import Call
from anycowork.prompts.prompt_service import PromptService
from anycowork.prompts.tool_selection import A_REQUEST

CALLS_BEFORE_GIVING_UP = 4  # calls that a small model must make before it may answer that it cannot do the task
_SHORT_FILE = 1_500  # characters
_EMPTY = sha256().hexdigest()


def required_tools(context: TurnContext, prompts: PromptService) -> frozenset[str]:
    """Return the tools of which the model must call one now: before its first answer, once after its answer was rejected, and while
    nothing of the request was done."""
    if not context.brief:
        return frozenset()
    pushed, context.must_call = context.must_call, False
    owed, tools = _tools_for(owed_action(context), prompts), prompts.tools(context.role)
    if pushed:
        return owed or tools
    if len(context.calls) < CALLS_BEFORE_GIVING_UP and (owed or missing_files(context)):
        return owed if owed and context.calls else tools | owed
    looks_first = not context.calls and len(context.request().split()) >= A_REQUEST
    return tools if looks_first else frozenset()


def excluded_forms(context: TurnContext, prompts: PromptService) -> frozenset[str]:
    """Return the tools and call forms that the model must not use now."""
    if not context.brief:
        return frozenset()
    only_asked = context.plan is None and asks_only(context.user_text)
    changing = prompts.changers() | {OutputFormat.PLAN.value} if only_asked else frozenset()
    return _unfit_forms(context) | changing


def unfinished_request(context: TurnContext) -> str | None:
    """Return why the request is not finished, for the model to read; None if it is, or the model is a large one."""
    if not context.brief:
        return None
    missing = missing_files(context)
    if not missing and not owed_action(context):
        return None
    named = "".join(f"'{path}' does not exist or is empty. " for path in missing)
    return f"The request is not finished. {named}The request was: {context.request()}"


def owed_action(context: TurnContext) -> ExpectedAction | None:
    """Return the action that the request asks for, if nothing like it was done in the turn."""
    ran = any(map(context.is_command, context.calls))
    changed = any(_changed(call) for call in context.calls)
    if context.plan:
        return not_begun(context.plan, ran=ran, changed=changed, role=context.role)
    return not_tried(context.user_text, ran=ran, changed=changed, role=context.role)


def missing_files(context: TurnContext) -> list[str]:
    """Return the files that the request asks to create and that do not exist or are empty."""

    def is_there(path: str) -> bool:
        try:
            return context.workspace.file_hash(path) not in (None, _EMPTY)
        except AnyCoworkError:
            return True  # not a file of this workspace

    may_create = context.plan is None and Permission.CREATE_FILES in context.role.permissions
    return not_made(context.user_text, is_there) if may_create else []


def _unfit_forms(context: TurnContext) -> frozenset[str]:
    """It rewrites a short file well but fails to quote parts of it; of a long file it forgets most."""
    read = [call for call in context.calls if call.tool == "read_file" and succeeded(call)]
    seen = [call.result.content for call in read if call.result]
    if not seen:
        return frozenset()
    return frozenset({"update_file.edits" if len(max(seen, key=len)) <= _SHORT_FILE else "update_file.content"})


def _tools_for(action: ExpectedAction | None, prompts: PromptService) -> frozenset[str]:
    """Return the tools that can do this action; a plan needs no tool."""
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
