"""What came of a reply, written down: message, event, usage and the turn's new state in one transaction."""

import msgspec
from pydantic import JsonValue

from anycowork.agent.plan_progress import plan_ended
from anycowork.agent.reply_parser import CallsReply
from anycowork.agent.reply_stream import Reply
from anycowork.agent.turn_context import TurnContext
from anycowork.domain import event_factory
from anycowork.domain.approvals import PlanRow, PlanState, QuestionRow
from anycowork.domain.chats import ChatState, EndReason, TurnState
from anycowork.domain.errors import MalformedReply, ModelFault, StepsOpen
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Change, Compact, SetChat, Write
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.plan import Plan
from anycowork.domain.plan_status import PlanStatus
from anycowork.domain.ports import Clock, Journal
from anycowork.domain.question import Question
from anycowork.domain.review import Review
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, Parameters, Provenance
from anycowork.domain.values import replace

EVERYTHING = frozenset(Permission)  # a turn's own call has no ceiling but its role


class TurnRecorder:
    def __init__(self, *, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    # --- replies that end the turn

    async def answer(self, context: TurnContext, heard: Reply, note: str | None = None) -> None:
        """`note` is what the person should know of it, said after it."""
        if context.listener:
            context.listener.show_rest()
        notes = [self._house_says(context, note, None)] if note else []
        await self.end(context, EndReason.ANSWERED, self._said(context, heard), *notes)

    async def plan(self, context: TurnContext, heard: Reply, plan: Plan) -> None:
        message = self._said(context, heard, MessageType.PLAN, plan.to_json())
        row = PlanRow(message.id, context.chat.id, PlanState.OPEN)
        event = event_factory.plan_update(message.id, context.turn.id, plan, PlanStatus.OPEN)
        await self.end(context, EndReason.PLANNED, message, also=(row,), events=(event,))

    async def review(self, context: TurnContext, heard: Reply, review: Review) -> None:
        await self.end(context, EndReason.ANSWERED, self._said(context, heard, MessageType.REVIEW, review.to_json()))

    async def end(
        self,
        context: TurnContext,
        reason: EndReason,
        *messages: Message,
        also: tuple[Write, ...] = (),
        events: tuple[NewEvent, ...] = (),
    ) -> None:
        """Exactly one end: the last message, the turn's end and the chat's idleness become true together."""
        context.turn = replace(context.turn, state=TurnState.ENDED, reason=reason, seconds=self._seconds(context))
        told = (*events, *plan_ended(context.turn, context.progress), event_factory.turn_ended(context.turn))
        await self._write(context, *messages, *also, context.turn, SetChat(state=ChatState.IDLE), events=told)

    async def blocked(self, context: TurnContext, heard: Reply | None, said: str) -> None:
        """The model stopped for good while steps of the plan are open: its words, then ours, which name the steps."""
        if context.listener:
            context.listener.show_rest()
        words = [self._said(context, heard)] if heard and heard.text.strip() else []
        payload: Json = {"error": event_factory.error_json(StepsOpen(said))}
        await self.end(context, EndReason.BLOCKED, *words, self._house_says(context, said, payload))

    # --- replies after which the turn goes on

    async def question(self, context: TurnContext, heard: Reply, question: Question) -> None:
        """The turn rests; the answer takes it up again."""
        message = self._said(context, heard, MessageType.QUESTION, question.to_json())
        context.turn = replace(context.turn, state=TurnState.PARKED, seconds=self._seconds(context))
        row = QuestionRow(message.id, context.chat.id, context.turn.id)
        waiting = SetChat(state=ChatState.AWAITING_ANSWER)
        await self._write(context, message, row, context.turn, waiting, events=(event_factory.question(message),))

    def calls(self, context: TurnContext, heard: Reply, found: CallsReply) -> None:
        """They are written with what the tool runner writes first: before anything is done, or with what a read brought."""
        batch_id = self._clock.new_id()
        calls = [context.bound(self._call(context, found, batch_id, at)) for at in range(len(found.calls))]
        messages = [self._call_message(context, call, heard if at == 0 else None) for at, call in enumerate(calls)]
        prose = [replace(self._said(context, heard), content=found.prose)] if found.prose else []
        if prose:
            messages[0] = replace(messages[0], reasoning=None)
        note = (
            [self._note(context, MalformedReply(f"Not every call was taken: {found.dropped}"))] if found.dropped else []
        )
        events = (*(event_factory.tool_call(call) for call in calls), *context.plan_news())
        context.unwritten.keep(self._journal, self._change(context, (*prose, *messages, *note, *calls), events))
        context.issue(calls)

    async def own(self, context: TurnContext, call: Call, **marks: JsonValue) -> None:
        """A call of the house's own, marked as such. What the model said last is not written yet: it may be the answer."""
        message = self._call_message(context, call, None)
        message = replace(message, payload={**(message.payload or {}), **marks})
        pending, announcements = context.take_pending()
        events = (*announcements, event_factory.tool_call(call), *context.plan_news(call))
        await context.unwritten.write(self._journal, Change(context.chat.id, (*pending, message, call), events))
        context.history.append(message)
        context.issue([call])

    async def fault(self, context: TurnContext, heard: Reply | None, problem: ModelFault) -> None:
        """What the model said, and what is wrong with it, for the model to read."""
        said = [self._said(context, heard)] if heard and heard.text.strip() else []
        await self._write(context, *said, self._note(context, problem), context.turn)

    async def pending(self, context: TurnContext) -> None:
        """What waited for the next thing written, when nothing more will be."""
        if context.pending:
            await self._write(context)
        await context.unwritten.write(self._journal)

    # --- the parts

    def _said(
        self, context: TurnContext, heard: Reply, kind: MessageType = MessageType.TEXT, payload: Json | None = None
    ) -> Message:
        return Message(
            id=heard.message_id,
            chat_id=context.chat.id,
            role=Speaker.ASSISTANT,
            content=heard.text,
            message_type=kind,
            payload=payload,
            agent_role=context.role.name,
            turn_id=context.turn.id,
            reasoning=heard.reasoning or None,
            created_at=self._clock.now(),
        )

    def _call(self, context: TurnContext, found: CallsReply, batch_id: str, at: int) -> Call:
        read = found.calls[at]
        provenance = Provenance(found.whole, context.occurs_in_result(read))
        return Call(
            id=self._clock.new_id(),
            chat_id=context.chat.id,
            turn_id=context.turn.id,
            batch_id=batch_id,
            ordinal=len(context.calls) + at,
            tool=read.tool,
            parameters=read.parameters,
            terminate=read.terminate,
            role_at_issue=context.role.name,
            ceiling=EVERYTHING,
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
        """A call that the house makes itself, for the role of the turn; not issued yet."""
        return Call(
            id=self._clock.new_id(),
            chat_id=context.chat.id,
            turn_id=context.turn.id,
            batch_id=self._clock.new_id(),
            ordinal=len(context.calls),
            tool=tool,
            parameters=parameters,
            role_at_issue=context.role.name,
            ceiling=EVERYTHING,
            provenance=provenance,
            plan_step=step,
        )

    def _call_message(self, context: TurnContext, call: Call, heard: Reply | None) -> Message:
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
            reasoning=(heard.reasoning or None) if heard else None,
            created_at=self._clock.now(),
        )

    def _note(self, context: TurnContext, problem: ModelFault) -> Message:
        """Shown to the model as the result of its reply, and to the person as what went wrong."""
        payload: Json = {
            "tool_call_id": None,
            "tool": "reply",
            "status": "error",
            "error": event_factory.error_json(problem),
        }
        return replace(
            self._house_says(context, problem.message, payload), role=Speaker.TOOL, message_type=MessageType.TOOL_RESULT
        )

    def _house_says(self, context: TurnContext, text: str, payload: Json | None) -> Message:
        return Message(
            id=self._clock.new_id(),
            chat_id=context.chat.id,
            role=Speaker.SYSTEM,
            content=text,
            payload=payload,
            agent_role=context.role.name,
            turn_id=context.turn.id,
            created_at=self._clock.now(),
        )

    def _seconds(self, context: TurnContext) -> float:
        return context.seconds_at(self._clock.monotonic())

    async def _write(self, context: TurnContext, *writes: Write, events: tuple[NewEvent, ...] = ()) -> None:
        await context.unwritten.write(self._journal, self._change(context, writes, events))

    def _change(self, context: TurnContext, writes: tuple[Write, ...], events: tuple[NewEvent, ...]) -> Change:
        """With it what was pending, and all that readers saw of the answer gives way to the message."""
        pending, announcements = context.take_pending()
        heard = context.listener.heard if context.listener else None
        compact = (Compact(heard.message_id),) if heard and heard.was_shown else ()
        context.listener = None
        context.history += [write for write in writes if type(write) is Message]
        return Change(context.chat.id, (*pending, *writes, *compact), (*announcements, *events))


def _strict_form(payload: Json) -> str:
    """The call as the strict format has it, without our id."""
    return msgspec.json.encode({key: payload[key] for key in ("tool", "parameters", "terminate")}).decode()
