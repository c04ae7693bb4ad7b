"""Records a workflow run: the beginning of each step; an answer ends the step instead of the turn."""

from dataclasses import replace
from typing import assert_never

import msgspec

from anycowork.agent.turn_policy import ChatPolicy, TurnEnd
from anycowork.domain import event_factory
from anycowork.domain.approvals import QuestionRow
from anycowork.domain.chats import ChatState, EndReason, Turn, TurnState
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Change, SetChat, Write
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.origins import Origins, join
from anycowork.domain.ports import Clock
from anycowork.domain.principals import origins_of_sender
from anycowork.domain.question import read_question
from anycowork.domain.roles import Permission
from anycowork.domain.secret_values import hidden_kinds
from anycowork.domain.tools import Call, Provenance
from anycowork.domain.values import value
from anycowork.domain.workflows import AskStep, PromptStep, Run, RunStatus, ShowChanges, ToolUse
from anycowork.store.sql.journal import Journal

COMPACTING = (
    "compact_chat"  # built in; built-in names cannot be shadowed, so no file can replace a chat's history by a summary
)


class StepPolicy(ChatPolicy):
    """How a reply ends a step of a workflow: it is the turn's end only at the last one. `run` is kept up to date, and what it needs is
    the ceiling of every call."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def ceiling(self) -> frozenset[Permission]:
        return self.run.needs

    def end(self, end: TurnEnd) -> TurnEnd:
        """With the reason `stopped` a person answered that the run shall not go on."""
        if end.reason is EndReason.STOPPED:
            return self._finish(end, RunStatus.STOPPED)
        if not self.run.on_its_last:
            self.run = self.run.onward()
            return replace(end, writes=(*end.writes, self.run), over=False)
        if self.run.workflow == COMPACTING and end.reason is EndReason.ANSWERED:
            summary = tuple(replace(message, payload={"summary": True}) for message in end.messages)
            end = replace(end, messages=summary)
        return self._finish(end, RunStatus.COMPLETED)

    def _finish(self, end: TurnEnd, status: RunStatus) -> TurnEnd:
        self.run = replace(self.run, status=status)
        event = event_factory.workflow_progress(self.run)
        return replace(end, writes=(*end.writes, self.run), events=(*end.events, event))


@value
class BegunStep:
    """The run and the turn after a step has begun."""

    run: Run
    turn: Turn


class StepOpener:
    """Records the beginning of a step. The limits of the turn are reset."""

    def __init__(self, *, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    async def begin(self, run: Run, turn: Turn, *, calls_so_far: int, changes: str, origins: Origins) -> BegunStep:
        """Begins the current step. `changes` is what this chat has changed so far, with its `origins`, for a step that shows it."""
        fresh = replace(turn, steps=0, faults=0, seconds=0.0)
        match run.current.does:
            case PromptStep(text):
                message = self._message(run, turn, Speaker.USER, text)
                message = replace(message, origins=message.origins or origins_of_sender(turn.principal))
                fresh = replace(fresh, message_id=message.id)
                return await self._write(run, message.id, fresh, message)
            case ToolUse() as use:
                call = self._call(run, turn, use, calls_so_far)
                message = self._call_message(run, turn, call)
                return await self._write(run, call.id, fresh, message, call, events=(event_factory.tool_call(call),))
            case ShowChanges():
                message = replace(self._changes(run, turn, changes), origins=join(origins, run.origins))
                return await self._write(run, message.id, fresh, message)
            case AskStep(question):
                return await self._ask(run, fresh, question)
            case _:
                assert_never(run.current.does)

    async def _ask(self, run: Run, turn: Turn, payload: Json) -> BegunStep:
        question = read_question(payload)
        text = question.question if question else ""
        message = self._message(run, turn, Speaker.ASSISTANT, text, MessageType.QUESTION, payload)
        parked = replace(turn, state=TurnState.PARKED)
        row = QuestionRow(message.id, run.chat_id, turn.id)
        waiting = SetChat(state=ChatState.AWAITING_ANSWER)
        return await self._write(
            run, message.id, parked, message, row, waiting, events=(event_factory.question(message),)
        )

    async def _write(
        self, run: Run, begun: str, turn: Turn, *writes: Write, events: tuple[NewEvent, ...] = ()
    ) -> BegunStep:
        """Writes the records with the principal who started the run."""
        on_its_way = replace(run, begun=begun)
        started_by = {"principal": turn.principal, "cause": turn.message_id}
        # In a separate change, and first: within one change, messages are published before other events.
        await self._journal.write(Change(run.chat_id, (), (event_factory.workflow_progress(run),), **started_by))
        await self._journal.write(Change(run.chat_id, (*writes, on_its_way, turn), events, **started_by))
        return BegunStep(on_its_way, turn)

    # --- the nouns

    def _message(
        self,
        run: Run,
        turn: Turn,
        speaker: Speaker,
        content: str,
        kind: MessageType = MessageType.TEXT,
        payload: Json | None = None,
    ) -> Message:
        return Message(
            id=self._clock.new_id(),
            chat_id=run.chat_id,
            role=speaker,
            content=content,
            message_type=kind,
            payload={
                **(payload or {}),
                "workflow": run.to_json(),
                **({} if speaker is Speaker.USER else hidden_kinds((content,))),
            },
            agent_role=None if speaker is Speaker.USER else turn.role,
            turn_id=turn.id,
            created_at=self._clock.now(),
            origins=frozenset(run.origins),
        )

    def _changes(self, run: Run, turn: Turn, changes: str) -> Message:
        """Builds a result message, because file content is data and must never count as a person's text."""
        payload: Json = {"tool_call_id": None, "tool": "changes", "status": "ok"}
        return self._message(run, turn, Speaker.TOOL, changes, MessageType.TOOL_RESULT, payload)

    def _call(self, run: Run, turn: Turn, use: ToolUse, ordinal: int) -> Call:
        return Call(
            id=self._clock.new_id(),
            chat_id=run.chat_id,
            turn_id=turn.id,
            batch_id=self._clock.new_id(),
            ordinal=ordinal,
            tool=use.tool,
            parameters=use.parameters,
            role_at_issue=turn.role,
            ceiling=run.needs,
            provenance=Provenance(workflow=run.workflow),
        )

    def _call_message(self, run: Run, turn: Turn, call: Call) -> Message:
        payload = event_factory.call_json(call)
        strict = msgspec.json.encode({key: payload[key] for key in ("tool", "parameters", "terminate")}).decode()
        return self._message(run, turn, Speaker.ASSISTANT, strict, MessageType.TOOL_CALL, payload)
