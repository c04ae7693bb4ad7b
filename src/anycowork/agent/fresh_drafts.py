"""Gives a small model a fresh start when a check failed: what it changed is taken back, and it is asked again without its failed try.

A small model that is shown its own failed code mostly repeats it. A large one is told what failed, and goes on from there.
"""

import asyncio
import shlex
from collections.abc import Sequence
from hashlib import sha256

from anycowork.agent.check_runs import COMMAND_TOOL
from anycowork.agent.step_states import kept_paths
from anycowork.agent.tool_runner import CallsParked, ToolRunner
from anycowork.agent.turn_calls import TurnChange, made_changes, path_changes, succeeded
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.evidence import CheckRun, ExpectationState
from anycowork.domain.messages import Message, MessageType, Speaker, draft_payload, draft_start
from anycowork.domain.secret_values import hidden_kinds
from anycowork.domain.tools import Call, Parameters, Provenance
from anycowork.prompts.history_budget import call_id_of

MOST_DRAFTS = 3
_MOST_FILES = 5
_LONGEST = 50_000  # characters of a file
_RESTORES = Provenance(restores=True)


class FreshDrafts:
    def __init__(self, *, recorder: TurnRecorder, toolrunner: ToolRunner, contents: Snapshots) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner
        self._contents = contents

    async def changes_to_undo(self, context: TurnContext) -> list[TurnChange] | None:
        """Returns what this draft changed, to be undone; None if there will be no other one: the model is a large one, no check failed,
        three were made, or something cannot be undone exactly and without asking."""
        if not context.brief or context.drafts_begun() + 1 >= MOST_DRAFTS or _failed_check(context) is None:
            return None
        kept = {path for call in context.calls if made_changes(call) for path in kept_paths(call)}
        changes = [change for change in path_changes(context.calls) if change.is_net and change.path in kept]
        if not 0 < len(changes) <= _MOST_FILES:
            return None
        for change in changes:
            call = await asyncio.to_thread(self._restoring, context, change)
            if call is None or not await self._toolrunner.passes_unasked(context, call):
                return None
        return changes

    async def begin(self, context: TurnContext, changes: Sequence[TurnChange]) -> bool | CallsParked:
        """Undoes the draft and begins the next one. Returns whether it could: a file that somebody changed meanwhile stays as it is."""
        failed, first = _failed_check(context), _first_try(context)
        if failed is None or first is None:
            return False
        for change in changes:
            call = await asyncio.to_thread(self._restoring, context, change)
            if call is None:
                return False
            await self._recorder.record_own_call(context, call, restores=True)
            if isinstance(parked := await self._toolrunner.run(context), CallsParked):
                return parked
            if not succeeded(context.calls.by_id(call.id)):
                return False
        number = context.drafts_begun() + 2
        text = f"Try {number - 1} of {MOST_DRAFTS} did not pass `{failed.command}`. Its changes were undone, and the model starts anew."
        await self._recorder.note(context, text, draft_payload(number, first.id))
        context.proof.must_call = True
        return True

    def _restoring(self, context: TurnContext, change: TurnChange) -> Call | None:
        """Returns the call that brings one file back to what it was; None if none can. Blocking."""
        if change.allowed_by_person or change.has_other_mode or change.after is None:
            return None
        if context.workspace.file_hash(change.path) != change.after:
            return None  # somebody changed it since
        if change.before is None:
            return self._call(context, COMMAND_TOOL, {"command": f"rm -- {shlex.quote(change.path)}"})
        text = self._contents.small_text(change.before)
        is_exact = sha256(text.encode()).hexdigest() == change.before
        if not is_exact or len(text) > _LONGEST or hidden_kinds((text,)):
            return None
        return self._call(context, "update_file", {"path": change.path, "content": text})

    def _call(self, context: TurnContext, tool: str, parameters: Parameters) -> Call:
        return self._recorder.own_call(context, tool, parameters, _RESTORES)


def _failed_check(context: TurnContext) -> CheckRun | None:
    checks = context.proof.evidence.checks if context.proof.evidence else ()
    return next((check for check in checks if check.state is ExpectationState.UNMET), None)


def _first_try(context: TurnContext) -> Message | None:
    """Returns the message in which the model first tried to change something in this draft: with it the failed try begins."""
    tries = {call.id for call in context.calls if _tries_change(context, call)}
    batches = {call.batch_id for call in context.calls if call.id in tries}
    trying = {call.id for call in context.calls if call.batch_id in batches}
    said: Message | None = None  # in words, with the calls that come next
    first: Message | None = None
    for message in context.conversation.history:
        if message.turn_id != context.turn.id:
            continue
        if draft_start(message) is not None:
            first = None
        elif first is None and message.message_type is MessageType.TOOL_CALL and call_id_of(message) in trying:
            first = said or message
        is_said = message.role is Speaker.ASSISTANT and message.message_type is MessageType.TEXT
        said = message if is_said else None
    return first


def _tries_change(context: TurnContext, call: Call) -> bool:
    if call.provenance.check or call.provenance.restores or context.only_reads(call):
        return False
    return not context.is_command(call) or made_changes(call)
