"""Ends a turn that will not continue: stopped by a person, or interrupted by a crash.

The state on disk decides the result of a call in progress; nothing is run again.
"""

import asyncio
import logging
from dataclasses import replace
from enum import Enum, auto

from pydantic import JsonValue

from anycowork.agent.call_recorder import result_message
from anycowork.agent.plan_progress import plan_ended
from anycowork.agent.turn_evidence import evidence_without_checks, is_workflow
from anycowork.agent.turn_origins import origins_of_interrupted
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain import event_factory
from anycowork.domain.approvals import ApprovalState, QuestionState
from anycowork.domain.chats import ChatState, EndReason, Turn, TurnState
from anycowork.domain.errors import (
    AnyCoworkError,
    BadWorkspace,
    Interrupted,
    OutsideWorkspace,
    Refusal,
    ToolFault,
)
from anycowork.domain.events import NewEvent
from anycowork.domain.jobs import Job, JobStatus
from anycowork.domain.journal import Change, Compact, DecideApproval, SetChat, SettleQuestion, Write
from anycowork.domain.messages import Message, Speaker
from anycowork.domain.origins import join, written_by_model
from anycowork.domain.ports import Clock
from anycowork.domain.principals import SERVER_PRINCIPAL
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tool_ports import Tool, Toolbox
from anycowork.domain.tools import Call, CallState, CallStatus, Intent, ToolResult
from anycowork.domain.values import value
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import UNKNOWN_EFFECT, acts_outside, progress_of

log = logging.getLogger(__name__)


class _OnDisk(Enum):
    """The state of an intent's paths on disk: unchanged, as intended, or anything else."""

    BEFORE = auto()
    AFTER = auto()
    OTHERWISE = auto()


@value
class Unfinished:
    """An interrupted answer: the part that was published."""

    message_id: str
    text: str = ""
    reasoning: str = ""


class TurnRecovery:
    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        workspaces: Workspaces,
        snapshots: Snapshots,
        toolbox: Toolbox,
        clock: Clock,
    ) -> None:
        self._toolbox = toolbox
        self._journal = journal
        self._store = store
        self._workspaces = workspaces
        self._snapshots = snapshots
        self._clock = clock

    async def end(
        self,
        turn: Turn,
        reason: EndReason,
        *,
        note: str,
        unfinished: list[Unfinished],
        error: AnyCoworkError | None = None,
        principal: str = SERVER_PRINCIPAL.label(),
    ) -> None:
        """Ends the turn in one transaction: results of open calls, interrupted answers, withdrawn approvals and questions, the end."""
        chat = await self._store.chats.find(turn.chat_id)
        if chat is None:
            return
        writes: list[Write] = []
        events: list[NewEvent] = []
        root = turn.workspace or chat.workspace
        progress = await progress_of(self._store, self._toolbox, turn, chat.workspace)
        turn_messages = [
            m for m in await self._store.messages.since(turn.chat_id, turn.message_id) if m.turn_id == turn.id
        ]
        origins = join(turn.origins, *(message.came_from for message in turn_messages))
        calls: list[Call] = []
        for call in await self._store.calls.of_turn(turn.id):
            calls.append(call)
            if call.state is not CallState.SETTLED:
                result = await self._result_of(call, root, crashed=reason is EndReason.INTERRUPTED)
                result = _with_output(result, self._journal.printed_by(turn.chat_id, call.id))
                tool = self._toolbox.find(call.tool)
                if _may_have_acted(call, result, tool):
                    result = replace(result, facts={**result.facts, UNKNOWN_EFFECT: True})
                interrupted = origins_of_interrupted(tool.spec if tool else None, call.parameters)
                result = replace(result, origins=join(result.origins, interrupted))
                origins = join(origins, result.origins)
                settled = calls[-1] = replace(call, state=CallState.SETTLED, result=result)
                if progress:
                    progress.record(settled)
                now, message_id = self._clock.now(), self._clock.new_id()
                writes += [
                    settled,
                    result_message(settled, result, message_id=message_id, created_at=now, role=turn.role),
                ]
                events.append(event_factory.tool_result(settled, result))
                for after in await self._as_left(call, root):
                    writes.append(after)
                    events.append(event_factory.snapshot(after))
        for answer in unfinished:
            broken_off = replace(self._broken_off(turn, answer), origins=written_by_model(origins))
            writes += [broken_off, Compact(answer.message_id)]
        await self._withdraw(turn, writes, events, principal)
        if run := await self._store.runs.find(turn.id):
            broken = run.ended(reason, event_factory.error_json(error) if error else None)
            writes.append(broken)
            events.append(event_factory.workflow_progress(broken))
        ended_turn = replace(
            turn,
            state=TurnState.ENDED,
            reason=reason,
            error=event_factory.error_json(error) if error else None,
            origins=tuple(sorted(origins)),
        )
        if evidence := evidence_without_checks(calls, await self._request_of(turn)):
            ended_turn = replace(ended_turn, evidence=evidence.to_json())
        writes += [self._note(turn, note, error), ended_turn, SetChat(state=ChatState.IDLE)]
        events += [*([event_factory.error(turn.id, error)] if error else []), *plan_ended(ended_turn, progress)]
        events.append(event_factory.turn_ended(ended_turn))
        await self._journal.write(Change(turn.chat_id, tuple(writes), tuple(events), principal=principal))

    async def _request_of(self, turn: Turn) -> str:
        """Returns the person's message that started the turn; empty for a turn of a job, a plan or a workflow."""
        if turn.job_id is not None or turn.plan_id is not None:
            return ""
        message = await self._store.messages.find(turn.chat_id, turn.message_id)
        return "" if message is None or is_workflow(message.payload) else message.content

    async def clear_leftovers(self, turn: Turn) -> None:
        """Removes temporary files of interrupted calls. Only before the server accepts requests, because it goes by file names."""
        chat = await self._store.chats.find(turn.chat_id)
        for call in await self._store.calls.of_turn(turn.id):
            if chat is None or call.state is not CallState.INTENT or call.intent is None:
                continue
            try:
                workspace = self._workspaces.open(turn.workspace or chat.workspace)
                for item in call.intent.paths:
                    workspace.clear_leftovers(item.path)
            except (BadWorkspace, Refusal, ToolFault) as error:
                log.warning("call %s: what it left could not be cleared away: %s", call.id, error.message)

    async def _result_of(self, call: Call, root: str, *, crashed: bool) -> ToolResult:
        lost = CallStatus.INTERRUPTED if crashed else CallStatus.CANCELLED
        if call.held is not None:
            return await self._of_held(call, call.held, lost, crashed=crashed)
        if call.state is not CallState.INTENT:
            return ToolResult.failed(Interrupted(f"'{call.tool}' was not run: the turn ended first."), status=lost)
        if (job := await self._store.jobs.find(call.id, with_plan=False)) is not None:
            return _of_asked(call, job, lost)
        if call.intent is not None and call.intent.contained:
            return await self._of_command(call, call.intent, root, lost)
        if call.intent is None or not call.intent.paths:
            return ToolResult.failed(
                Interrupted(f"'{call.tool}' was stopped while it ran; what it had done so far remains."), status=lost
            )
        match self._on_disk(call.intent, root):
            case _OnDisk.AFTER:
                return ToolResult(CallStatus.OK, f"'{call.tool}' was completed (seen on the disk afterwards).")
            case _OnDisk.BEFORE:
                return ToolResult.failed(
                    Interrupted(f"'{call.tool}' was stopped before it changed anything."), status=lost
                )
            case _OnDisk.OTHERWISE:
                message = f"'{call.tool}' was interrupted, and the file is neither unchanged nor as intended. Check it before you continue."
                return ToolResult.failed(Interrupted(message), status=CallStatus.INTERRUPTED)

    async def _as_left(self, call: Call, root: str) -> list[Snapshot]:
        """Saves the paths that the call was about to change, so that it can be undone like any other."""
        change = await self._store.snapshots.change(call.id) if call.state is CallState.INTENT else None
        if change is None:
            return []
        try:
            after = await self._snapshots.after(change.before, self._workspaces.open(root))
        except BadWorkspace:
            return []
        return [after] if after else []

    async def _of_command(self, call: Call, intent: Intent, root: str, lost: CallStatus) -> ToolResult:
        """Before its commit is intended a command has changed nothing; after that the commit is finished, never undone."""
        if intent.staged is None:
            return ToolResult.failed(
                Interrupted(f"'{call.tool}' was stopped while it ran; none of its changes was kept."), status=lost
            )
        try:
            async with self._workspaces.writing(root):
                done = await asyncio.to_thread(self._workspaces.roll_forward, root, intent)
        except (BadWorkspace, ToolFault) as error:
            message = f"'{call.tool}' was interrupted while its changes were being made, and they could not be finished. {error.message}"
            return ToolResult.failed(Interrupted(message), status=CallStatus.INTERRUPTED)
        if done.conflicts:
            paths = ", ".join(f"'{path}'" for path in done.conflicts[:10])
            message = (
                f"'{call.tool}' was interrupted while its changes were being made. They were finished, except for {paths}: somebody "
                "else changed it in the meantime, and that was kept. Check it before you continue."
            )
            return ToolResult.failed(Interrupted(message), status=CallStatus.INTERRUPTED)
        facts: dict[str, JsonValue] = {
            "files": [item.path for item in intent.paths[:500]],
            "changed": len(intent.paths),
        }
        return ToolResult(
            CallStatus.OK, f"'{call.tool}' was completed: its changes were finished afterwards.", facts=facts
        )

    async def _of_held(self, call: Call, intent: Intent, lost: CallStatus, *, crashed: bool) -> ToolResult:
        """Discard changes that nobody allowed; after a crash they are saved for the person."""
        folder = await asyncio.to_thread(self._workspaces.let_go, intent, keep=crashed)
        where = f" What it had written is kept in '{folder}'." if folder else ""
        message = f"'{call.tool}' had run, but the turn ended before its changes were made: none of them is.{where}"
        return ToolResult.failed(Interrupted(message), status=lost)

    def _on_disk(self, intent: Intent, root: str) -> _OnDisk:
        try:
            workspace = self._workspaces.open(root)
            now = [workspace.file_hash(item.path) for item in intent.paths]
        except (BadWorkspace, OutsideWorkspace, OSError):
            return _OnDisk.OTHERWISE
        if now == [item.after for item in intent.paths]:
            return _OnDisk.AFTER
        return _OnDisk.BEFORE if now == [item.before for item in intent.paths] else _OnDisk.OTHERWISE

    async def _withdraw(self, turn: Turn, writes: list[Write], events: list[NewEvent], principal: str) -> None:
        for approval in await self._store.approvals.of_chat(turn.chat_id):
            if approval.turn_id == turn.id:
                writes.append(DecideApproval(approval.id, ApprovalState.WITHDRAWN, None, principal))
                events.append(event_factory.permission_decided(approval, ApprovalState.WITHDRAWN, None, principal))
        question = await self._store.questions.open(turn.chat_id, turn_id=turn.id)
        if question is not None:
            withdrawn = QuestionState.WITHDRAWN
            writes.append(SettleQuestion(question.message_id, withdrawn, None, principal))
            events.append(
                event_factory.question_answered(question.message_id, turn.id, None, withdrawn.value, principal)
            )

    def _broken_off(self, turn: Turn, answer: Unfinished) -> Message:
        return Message(
            id=answer.message_id,
            chat_id=turn.chat_id,
            role=Speaker.ASSISTANT,
            content=answer.text,
            payload={"broken_off": True},
            agent_role=turn.role,
            turn_id=turn.id,
            reasoning=answer.reasoning or None,
            created_at=self._clock.now(),
        )

    def _note(self, turn: Turn, note: str, error: AnyCoworkError | None) -> Message:
        """Builds a separate message that tells the person why the turn ended."""
        return Message(
            id=self._clock.new_id(),
            chat_id=turn.chat_id,
            role=Speaker.SYSTEM,
            content=note,
            payload={"error": event_factory.error_json(error)} if error else None,
            agent_role=turn.role,
            turn_id=turn.id,
            created_at=self._clock.now(),
        )


def _of_asked(call: Call, job: Job, lost: CallStatus) -> ToolResult:
    """The result of a call that gave a task to another agent: its job is stored under the call's id."""
    if job.status is JobStatus.COMPLETED:
        return ToolResult(CallStatus.OK, f"'{call.tool}' was completed: {job.final_response}", facts={"job_id": job.id})
    message = (
        f"'{call.tool}' was stopped while the agent worked. What it had reported as done is kept, everything else is dropped; "
        "what it did outside the workspace remains."
    )
    return ToolResult.failed(Interrupted(message), status=lost)


def _may_have_acted(call: Call, result: ToolResult, tool: Tool | None) -> bool:
    """Whether the call was at work outside when it was stopped. Of another vendor's agent nothing is kept."""
    if call.state is not CallState.INTENT or result.status is CallStatus.OK:
        return False
    return acts_outside(call, tool) and (tool is None or tool.spec.delegate is None)


def _with_output(result: ToolResult, printed: str) -> ToolResult:
    """Puts what a stopped call has printed before the sentence that it was stopped; `printed` is bounded by `LiveOutput`."""
    if not printed or result.status is CallStatus.OK:
        return result
    return replace(result, content=f"{printed.rstrip()}\n{result.content}")
