"""Records the outcome of a reply: message, event, usage and the turn's new state in one transaction."""

import msgspec
from pydantic import JsonValue

from anycowork.agent.plan_progress import plan_ended
from anycowork.agent.reply_parser import CallsReply
from anycowork.agent.reply_stream import Reply
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_policy import TurnEnd
from anycowork.domain import event_factory
from anycowork.domain.approvals import PlanRow, PlanState, QuestionRow
from anycowork.domain.chats import ChatState, EndReason, TurnState
from anycowork.domain.errors import MalformedReply, ModelFault, StepsOpen
from anycowork.domain.events import NewEvent
from anycowork.domain.hooks import HeldByHook, origins_of_words, runs_json
from anycowork.domain.journal import Change, Compact, SetChat, Write
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.origins import MODEL, NO_ORIGINS, Origins, join, written_by_model
from anycowork.domain.plan import Plan, PlanStatus
from anycowork.domain.ports import Clock
from anycowork.domain.question import Question, Review
from anycowork.domain.roles import Permission
from anycowork.domain.secret_values import hidden_kinds
from anycowork.domain.tools import Call, Parameters, Provenance
from anycowork.domain.values import replace
from anycowork.store.sql.journal import Journal

_CHECKING = frozenset({Permission.READ_FILES, Permission.EXECUTE_COMMANDS})


class TurnRecorder:
    def __init__(self, *, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    # --- replies that end the turn

    async def answer(self, context: TurnContext, reply: Reply, note: str | None = None) -> None:
        """Records an answer and ends the turn. `note` is shown to the person after it."""
        if context.conversation.reply_stream:
            context.conversation.reply_stream.show_rest()
        notes = [self._system_message(context, note, None)] if note else []
        await self.end(context, EndReason.ANSWERED, self._reply_message(context, reply), *notes)

    async def plan(self, context: TurnContext, reply: Reply, plan: Plan) -> None:
        message = self._reply_message(context, reply, MessageType.PLAN, plan.to_json())
        row = PlanRow(message.id, context.chat.id, PlanState.OPEN)
        event = event_factory.plan_update(message.id, context.turn.id, plan, PlanStatus.OPEN)
        await self.end(context, EndReason.PLANNED, message, also=(row,), events=(event,))

    async def review(self, context: TurnContext, reply: Reply, review: Review) -> None:
        await self.end(
            context, EndReason.ANSWERED, self._reply_message(context, reply, MessageType.REVIEW, review.to_json())
        )

    async def end(
        self,
        context: TurnContext,
        reason: EndReason,
        *messages: Message,
        also: tuple[Write, ...] = (),
        events: tuple[NewEvent, ...] = (),
    ) -> None:
        """Exactly one end, as the turn's policy has it: the last message, the turn's end and the chat's state become true together."""
        await context.assignment.before_end()
        if context.proof.stop_hooks:  # no answer holds their record
            messages = (*messages, self._system_message(context, "Hooks looked at the end of the turn.", _ran(context)))
        end = context.assignment.policy.end(TurnEnd(reason, messages, also, events))
        if not end.over:
            await self._write(context, *end.messages, *end.writes, events=end.events)
            return
        context.turn = replace(
            context.turn,
            state=TurnState.ENDED,
            reason=end.reason,
            seconds=self._seconds(context),
            origins=tuple(sorted(context.conversation.origins)),
        )
        if context.proof.evidence is not None:
            context.turn = replace(context.turn, evidence=context.proof.evidence.to_json())
        event = event_factory.turn_ended(context.turn, end.state)
        receipts = () if context.proof.receipt is None else (context.proof.receipt,)
        all_events = (*end.events, *plan_ended(context.turn, context.progress), event)
        await self._write(
            context, *end.messages, *end.writes, *receipts, context.turn, SetChat(state=end.state), events=all_events
        )

    async def blocked(self, context: TurnContext, reply: Reply | None, notice: str) -> None:
        """Ends a turn whose model stopped while steps of the plan are open: write its answer, then a note that names the steps."""
        if context.conversation.reply_stream:
            context.conversation.reply_stream.show_rest()
        answer = [self._reply_message(context, reply)] if reply and reply.text.strip() else []
        payload: Json = {"error": event_factory.error_json(StepsOpen(notice))}
        await self.end(context, EndReason.BLOCKED, *answer, self._system_message(context, notice, payload))

    # --- replies after which the turn goes on

    async def question(self, context: TurnContext, reply: Reply, question: Question) -> None:
        """Parks the turn; the answer resumes it."""
        message = self._reply_message(context, reply, MessageType.QUESTION, question.to_json())
        origins = tuple(sorted(context.conversation.origins))
        context.turn = replace(context.turn, state=TurnState.PARKED, seconds=self._seconds(context), origins=origins)
        row = QuestionRow(message.id, context.chat.id, context.turn.id)
        waiting = SetChat(state=ChatState.AWAITING_ANSWER)
        await self._write(context, message, row, context.turn, waiting, events=(event_factory.question(message),))

    def calls(self, context: TurnContext, reply: Reply, calls_reply: CallsReply) -> None:
        """Issue the calls. They are written with the tool runner's first change, before anything takes effect."""
        batch_id = self._clock.new_id()
        calls = [
            context.bound(self._call(context, calls_reply, batch_id, index)) for index in range(len(calls_reply.calls))
        ]
        messages = [
            self._call_message(context, call, reply if index == 0 else None) for index, call in enumerate(calls)
        ]
        prose = [replace(self._reply_message(context, reply), content=calls_reply.prose)] if calls_reply.prose else []
        if prose:
            messages[0] = replace(messages[0], reasoning=None)
        note = (
            [self._note(context, MalformedReply(f"Not every call was taken: {calls_reply.dropped}"))]
            if calls_reply.dropped
            else []
        )
        events = (*(event_factory.tool_call(call) for call in calls), *context.plan_events())
        context.write_buffer.keep(self._journal, self._change(context, (*prose, *messages, *note, *calls), events))
        context.calls.issue(calls)

    async def record_own_call(self, context: TurnContext, call: Call, **marks: JsonValue) -> None:
        """Records a call that the server makes itself. The model's last reply is not written yet: it may be the answer."""
        message = self._call_message(context, call, None)
        message = replace(message, payload={**(message.payload or {}), **marks})
        pending, announcements = context.write_buffer.take_pending()
        events = (*announcements, event_factory.tool_call(call), *context.plan_events(call))
        await context.write_buffer.write(self._journal, Change(context.chat.id, (*pending, message, call), events))
        context.conversation.history.append(message)
        context.calls.issue([call])

    async def note(self, context: TurnContext, text: str, payload: Json, *, origins: Origins = NO_ORIGINS) -> None:
        """Records something that the server says to the person; `origins` are those of what it quotes."""
        await self._write(context, replace(self._system_message(context, text, payload), origins=origins))

    async def fault(self, context: TurnContext, reply: Reply | None, problem: ModelFault) -> None:
        """Records a faulty reply and the problem, for the model to read."""
        notice = [self._reply_message(context, reply)] if reply and reply.text.strip() else []
        note = self._note(context, problem)
        if isinstance(problem, HeldByHook):
            origins = join((MODEL,), origins_of_words(context.proof.stop_hooks))
            note = replace(note, origins=origins, payload={**(note.payload or {}), **_ran(context)})
        await self._write(context, *notice, note, context.turn)

    async def rejected_answer(self, context: TurnContext, reply: Reply | None) -> None:
        """Records an answer that does not end the turn, before the server acts on it."""
        if reply and reply.text.strip():
            await self._write(context, self._reply_message(context, reply), context.turn)

    async def pending(self, context: TurnContext) -> None:
        """Writes what was pending, when nothing else will be written."""
        if context.write_buffer.pending:
            await self._write(context)
        await context.write_buffer.write(self._journal)

    # --- the parts

    def _reply_message(
        self, context: TurnContext, reply: Reply, kind: MessageType | None = None, payload: Json | None = None
    ) -> Message:
        return Message(
            id=reply.message_id,
            chat_id=context.chat.id,
            role=Speaker.ASSISTANT,
            content=reply.text,
            message_type=kind or context.assignment.policy.speech,
            payload={**payload, **_ran(context)} if payload else _ran(context) or None,
            agent_role=context.role.name,
            turn_id=context.turn.id,
            reasoning=reply.reasoning or None,
            created_at=self._clock.now(),
            origins=written_by_model(context.conversation.origins),
        )

    def _call(self, context: TurnContext, calls_reply: CallsReply, batch_id: str, index: int) -> Call:
        read = calls_reply.calls[index]
        repeats = context.assignment.repeats_effect(read)
        provenance = Provenance(
            calls_reply.whole,
            context.may_be_injected(read),
            repeats=repeats,
            origins=tuple(sorted(written_by_model(context.conversation.origins))),
        )
        return Call(
            id=self._clock.new_id(),
            chat_id=context.chat.id,
            turn_id=context.turn.id,
            batch_id=batch_id,
            ordinal=len(context.calls) + index,
            tool=read.tool,
            parameters=read.parameters,
            terminate=read.terminate,
            role_at_issue=context.role.name,
            ceiling=context.assignment.policy.ceiling,
            provenance=provenance,
        )

    def own_call(
        self,
        context: TurnContext,
        tool: str,
        parameters: Parameters,
        provenance: Provenance,
        *,
        step: str | None = None,
    ) -> Call:
        """Builds a call that the server makes itself, in the role of the turn; it is not issued yet. A check may change nothing: what it
        writes is dropped."""
        return Call(
            id=self._clock.new_id(),
            chat_id=context.chat.id,
            turn_id=context.turn.id,
            batch_id=self._clock.new_id(),
            ordinal=len(context.calls),
            tool=tool,
            parameters=parameters,
            role_at_issue=context.role.name,
            ceiling=context.assignment.policy.ceiling & _CHECKING
            if provenance.check
            else context.assignment.policy.ceiling,
            provenance=provenance,
            plan_step=step,
        )

    def _call_message(self, context: TurnContext, call: Call, reply: Reply | None) -> Message:
        payload = event_factory.call_json(call)
        return Message(
            id=self._clock.new_id(),
            chat_id=call.chat_id,
            role=Speaker.ASSISTANT,
            content=_strict_form(payload),
            message_type=MessageType.TOOL_CALL,
            payload=payload,
            agent_role=context.role.name,
            turn_id=call.turn_id,
            reasoning=(reply.reasoning or None) if reply else None,
            created_at=self._clock.now(),
            origins=written_by_model(context.conversation.origins),
        )

    def _note(self, context: TurnContext, problem: ModelFault) -> Message:
        """Builds a message that tells the model and the person what was wrong with the reply."""
        payload: Json = {
            "tool_call_id": None,
            "tool": "reply",
            "status": "error",
            "error": event_factory.error_json(problem),
        }
        return replace(
            self._system_message(context, problem.message, payload),
            role=Speaker.TOOL,
            message_type=MessageType.TOOL_RESULT,
            origins=frozenset({MODEL}),
        )

    def _system_message(self, context: TurnContext, text: str, payload: Json | None) -> Message:
        return Message(
            id=self._clock.new_id(),
            chat_id=context.chat.id,
            role=Speaker.SYSTEM,
            content=text,
            payload={**(payload or {}), **hidden_kinds((text,))} or None,
            agent_role=context.role.name,
            turn_id=context.turn.id,
            created_at=self._clock.now(),
        )

    def _seconds(self, context: TurnContext) -> float:
        return context.time.seconds_at(self._clock.monotonic())

    async def _write(self, context: TurnContext, *writes: Write, events: tuple[NewEvent, ...] = ()) -> None:
        await context.write_buffer.write(self._journal, self._change(context, writes, events))

    def _change(self, context: TurnContext, writes: tuple[Write, ...], events: tuple[NewEvent, ...]) -> Change:
        """Builds the change, including pending writes; the published deltas of the reply are replaced by its message."""
        pending, announcements = context.write_buffer.take_pending()
        reply = context.conversation.reply_stream.reply if context.conversation.reply_stream else None
        compact = (Compact(reply.message_id),) if reply and reply.was_shown else ()
        context.conversation.reply_stream = None
        context.conversation.history += [write for write in writes if type(write) is Message]
        return Change(context.chat.id, (*pending, *writes, *compact), (*announcements, *events))


def _ran(context: TurnContext) -> Json:
    """Returns the record of the hooks that looked at the end of the turn; each is recorded once."""
    runs, context.proof.stop_hooks = context.proof.stop_hooks, ()
    return runs_json(runs)


def _strict_form(payload: Json) -> str:
    """Returns the call in the strict form, without our id."""
    return msgspec.json.encode({key: payload[key] for key in ("tool", "parameters", "terminate")}).decode()
