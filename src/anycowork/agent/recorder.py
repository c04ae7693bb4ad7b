"""What came of a reply, written down: message, event, usage and the turn's new state in one transaction."""

import msgspec
from pydantic import JsonValue

from anycowork.agent.listening import Heard
from anycowork.agent.moment import Moment
from anycowork.agent.plan_progress import plan_ended
from anycowork.agent.reply import Calls
from anycowork.domain import announce
from anycowork.domain.approvals import PlanRow, PlanState, QuestionRow
from anycowork.domain.chats import ChatState, EndReason, TurnState
from anycowork.domain.errors import MalformedReply, ModelFault, StepsOpen
from anycowork.domain.events import Draft
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


class Recorder:
    def __init__(self, *, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    # --- replies that end the turn

    async def answer(self, moment: Moment, heard: Heard, note: str | None = None) -> None:
        """`note` is what the person should know of it, said after it."""
        if moment.listener:
            moment.listener.show_rest()
        notes = [self._house_says(moment, note, None)] if note else []
        await self.end(moment, EndReason.ANSWERED, self._said(moment, heard), *notes)

    async def plan(self, moment: Moment, heard: Heard, plan: Plan) -> None:
        message = self._said(moment, heard, MessageType.PLAN, plan.to_json())
        row = PlanRow(message.id, moment.chat.id, PlanState.OPEN)
        event = announce.plan_update(message.id, moment.turn.id, plan, PlanStatus.OPEN)
        await self.end(moment, EndReason.PLANNED, message, also=(row,), events=(event,))

    async def review(self, moment: Moment, heard: Heard, review: Review) -> None:
        await self.end(moment, EndReason.ANSWERED, self._said(moment, heard, MessageType.REVIEW, review.to_json()))

    async def end(
        self,
        moment: Moment,
        reason: EndReason,
        *messages: Message,
        also: tuple[Write, ...] = (),
        events: tuple[Draft, ...] = (),
    ) -> None:
        """Exactly one end: the last message, the turn's end and the chat's idleness become true together."""
        moment.turn = replace(moment.turn, state=TurnState.ENDED, reason=reason, seconds=self._seconds(moment))
        told = (*events, *plan_ended(moment.turn, moment.progress), announce.turn_ended(moment.turn))
        await self._write(moment, *messages, *also, moment.turn, SetChat(state=ChatState.IDLE), events=told)

    async def blocked(self, moment: Moment, heard: Heard | None, said: str) -> None:
        """The model stopped for good while steps of the plan are open: its words, then ours, which name the steps."""
        if moment.listener:
            moment.listener.show_rest()
        words = [self._said(moment, heard)] if heard and heard.text.strip() else []
        payload: Json = {"error": announce.error_json(StepsOpen(said))}
        await self.end(moment, EndReason.BLOCKED, *words, self._house_says(moment, said, payload))

    # --- replies after which the turn goes on

    async def question(self, moment: Moment, heard: Heard, question: Question) -> None:
        """The turn rests; the answer takes it up again."""
        message = self._said(moment, heard, MessageType.QUESTION, question.to_json())
        moment.turn = replace(moment.turn, state=TurnState.PARKED, seconds=self._seconds(moment))
        row = QuestionRow(message.id, moment.chat.id, moment.turn.id)
        waiting = SetChat(state=ChatState.AWAITING_ANSWER)
        await self._write(moment, message, row, moment.turn, waiting, events=(announce.question(message),))

    def calls(self, moment: Moment, heard: Heard, found: Calls) -> None:
        """They are written with what the tool runner writes first: before anything is done, or with what a read brought."""
        batch_id = self._clock.new_id()
        calls = [moment.bound(self._call(moment, found, batch_id, at)) for at in range(len(found.calls))]
        messages = [self._call_message(moment, call, heard if at == 0 else None) for at, call in enumerate(calls)]
        prose = [replace(self._said(moment, heard), content=found.prose)] if found.prose else []
        if prose:
            messages[0] = replace(messages[0], reasoning=None)
        note = (
            [self._note(moment, MalformedReply(f"Not every call was taken: {found.dropped}"))] if found.dropped else []
        )
        events = (*(announce.tool_call(call) for call in calls), *moment.plan_news())
        moment.unwritten.keep(self._journal, self._change(moment, (*prose, *messages, *note, *calls), events))
        moment.issue(calls)

    async def own(self, moment: Moment, call: Call, **marks: JsonValue) -> None:
        """A call of the house's own, marked as such. What the model said last is not written yet: it may be the answer."""
        message = self._call_message(moment, call, None)
        message = replace(message, payload={**(message.payload or {}), **marks})
        pending, announcements = moment.take_pending()
        events = (*announcements, announce.tool_call(call), *moment.plan_news(call))
        await moment.unwritten.write(self._journal, Change(moment.chat.id, (*pending, message, call), events))
        moment.history.append(message)
        moment.issue([call])

    async def fault(self, moment: Moment, heard: Heard | None, problem: ModelFault) -> None:
        """What the model said, and what is wrong with it, for the model to read."""
        said = [self._said(moment, heard)] if heard and heard.text.strip() else []
        await self._write(moment, *said, self._note(moment, problem), moment.turn)

    async def pending(self, moment: Moment) -> None:
        """What waited for the next thing written, when nothing more will be."""
        if moment.pending:
            await self._write(moment)
        await moment.unwritten.write(self._journal)

    # --- the parts

    def _said(
        self, moment: Moment, heard: Heard, kind: MessageType = MessageType.TEXT, payload: Json | None = None
    ) -> Message:
        return Message(
            id=heard.message_id,
            chat_id=moment.chat.id,
            role=Speaker.ASSISTANT,
            content=heard.text,
            message_type=kind,
            payload=payload,
            agent_role=moment.role.name,
            turn_id=moment.turn.id,
            reasoning=heard.reasoning or None,
            created_at=self._clock.now(),
        )

    def _call(self, moment: Moment, found: Calls, batch_id: str, at: int) -> Call:
        read = found.calls[at]
        provenance = Provenance(found.whole, moment.stands_in_a_result(read))
        return Call(
            id=self._clock.new_id(),
            chat_id=moment.chat.id,
            turn_id=moment.turn.id,
            batch_id=batch_id,
            ordinal=len(moment.calls) + at,
            tool=read.tool,
            parameters=read.parameters,
            terminate=read.terminate,
            role_at_issue=moment.role.name,
            ceiling=EVERYTHING,
            provenance=provenance,
        )

    def own_call(
        self, moment: Moment, tool: str, parameters: Parameters, provenance: Provenance, *, step: str | None = None
    ) -> Call:
        """A call that the house makes itself, for the role of the turn; not issued yet."""
        return Call(
            id=self._clock.new_id(),
            chat_id=moment.chat.id,
            turn_id=moment.turn.id,
            batch_id=self._clock.new_id(),
            ordinal=len(moment.calls),
            tool=tool,
            parameters=parameters,
            role_at_issue=moment.role.name,
            ceiling=EVERYTHING,
            provenance=provenance,
            plan_step=step,
        )

    def _call_message(self, moment: Moment, call: Call, heard: Heard | None) -> Message:
        payload = announce.call_json(call)
        return Message(
            id=self._clock.new_id(),
            chat_id=call.chat_id,
            role=Speaker.ASSISTANT,
            content=_strict_form(payload),
            message_type=MessageType.TOOL_CALL,
            payload=payload,
            agent_role=moment.role.name,
            turn_id=call.turn_id,
            reasoning=(heard.reasoning or None) if heard else None,
            created_at=self._clock.now(),
        )

    def _note(self, moment: Moment, problem: ModelFault) -> Message:
        """Shown to the model as the result of its reply, and to the person as what went wrong."""
        payload: Json = {
            "tool_call_id": None,
            "tool": "reply",
            "status": "error",
            "error": announce.error_json(problem),
        }
        return replace(
            self._house_says(moment, problem.message, payload), role=Speaker.TOOL, message_type=MessageType.TOOL_RESULT
        )

    def _house_says(self, moment: Moment, text: str, payload: Json | None) -> Message:
        return Message(
            id=self._clock.new_id(),
            chat_id=moment.chat.id,
            role=Speaker.SYSTEM,
            content=text,
            payload=payload,
            agent_role=moment.role.name,
            turn_id=moment.turn.id,
            created_at=self._clock.now(),
        )

    def _seconds(self, moment: Moment) -> float:
        return moment.seconds_at(self._clock.monotonic())

    async def _write(self, moment: Moment, *writes: Write, events: tuple[Draft, ...] = ()) -> None:
        await moment.unwritten.write(self._journal, self._change(moment, writes, events))

    def _change(self, moment: Moment, writes: tuple[Write, ...], events: tuple[Draft, ...]) -> Change:
        """With it what was pending, and all that readers saw of the answer gives way to the message."""
        pending, announcements = moment.take_pending()
        heard = moment.listener.heard if moment.listener else None
        compact = (Compact(heard.message_id),) if heard and heard.was_shown else ()
        moment.listener = None
        moment.history += [write for write in writes if type(write) is Message]
        return Change(moment.chat.id, (*pending, *writes, *compact), (*announcements, *events))


def _strict_form(payload: Json) -> str:
    """The call as the strict format has it, without our id."""
    return msgspec.json.encode({key: payload[key] for key in ("tool", "parameters", "terminate")}).decode()
