"""Handles the decisions of people: approvals, answers to questions, and approvals of plans."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from anycowork.agent.live_questions import LiveQuestions
from anycowork.chats.chat_title import NEW_CHAT, title_from
from anycowork.chats.decisions import DecidedApproval, DecisionRecordBuilder
from anycowork.chats.plans import AS_SHOWN, PlanEdits, approved_plan, execution_request, proposed_plan
from anycowork.domain import event_factory
from anycowork.domain.approvals import Approval, PlanRow, PlanState, QuestionState
from anycowork.domain.chats import ChatState, Turn, TurnState
from anycowork.domain.errors import AlreadyAnswered, AlreadyDecided, Invalid, NotFound
from anycowork.domain.journal import ApprovePlan, RequireRoom, SetChat, SettleQuestion, Write
from anycowork.domain.limits import RequestedUse, payer_of
from anycowork.domain.messages import ASKED_BY, Json, Message, MessageType, Speaker
from anycowork.domain.people import authorship
from anycowork.domain.plan import PlanStatus
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope, origins_of_sender
from anycowork.domain.question import read_question
from anycowork.domain.roles import Role
from anycowork.domain.rules import Rule
from anycowork.domain.secret_values import REVEALED, hidden_values_of
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.workflows import RunStatus
from anycowork.jobs.task_commits import KEEP_MERGED
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.continuation import dismissed, require_continuation
from anycowork.turns.lookup import progress_of
from anycowork.turns.record_factory import RecordFactory, require_idle


class DecisionService:
    def __init__(
        self,
        *,
        chat_coordinator: ChatCoordinator,
        store: Store,
        toolbox: Toolbox,
        clock: Clock,
        questions: LiveQuestions | None,
    ) -> None:
        self._questions = questions
        self._chat_coordinator = chat_coordinator
        self._store = store
        self._toolbox = toolbox
        self._clock = clock
        self._draft = RecordFactory(clock)
        self._records = DecisionRecordBuilder(clock)

    async def decide(
        self, principal: Principal, chat_id: str, decisions: Sequence[DecidedApproval]
    ) -> Mapping[str, Sequence[Rule]]:
        """Applies all decisions or none; returns the rules that they create, by approval id. If nothing is pending, the turn continues."""
        principal.require(Scope.DECIDE)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            pending = {approval.id: approval for approval in await self._store.approvals.of_chat(chat_id)}
            for decision in decisions:
                if decision.id not in pending:
                    await self._not_pending(chat_id, decision.id)
            settled = self._records.build(chat, principal, decisions, pending)
            decided_turns = await self._decided_turns(
                [pending.pop(made_decision.id) for made_decision in decisions], pending.values()
            )
            if decided_turns:
                turn, *others = decided_turns
                await self._chat_coordinator.resume(
                    principal, turn, *settled.writes, events=settled.events, others=others
                )
            else:
                await self._chat_coordinator.write(principal, chat_id, *settled.writes, events=settled.events)
        return settled.rules

    async def _decided_turns(self, decided: Iterable[Approval], undecided: Iterable[Approval]) -> list[Turn]:
        """Returns the turns of which every approval is decided now. Several tasks of a job may ask at the same time."""
        waiting = {approval.turn_id for approval in undecided}
        turn_ids = dict.fromkeys(
            approval_decided.turn_id for approval_decided in decided if approval_decided.turn_id not in waiting
        )
        turns = [await self._store.turns.find(turn_id) for turn_id in turn_ids]
        return [turn for turn in turns if turn is not None and turn.state is not TurnState.ENDED]

    async def answer(
        self,
        principal: Principal,
        chat_id: str,
        message_id: str,
        *,
        value: str | None,
        custom: str | None,
        content: str | None = None,
    ) -> str:
        """Answers a question; returns the id of the turn that continues. `content` is a file that the person merged by hand.

        Raises: AlreadyAnswered, Invalid.
        """
        principal.require(Scope.DECIDE)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            row, question_message = (
                await self._store.questions.find(message_id),
                await self._store.messages.find(chat_id, message_id),
            )
            question = read_question(question_message.payload or {}) if question_message else None
            if row is None or question is None:
                raise NotFound("question", message_id)
            turn = await self._store.turns.find(row.turn_id)
            live = self._questions if self._questions and self._questions.is_waiting(message_id) else None
            if row.state is not QuestionState.OPEN or turn is None or not (live or turn.state is TurnState.PARKED):
                raise AlreadyAnswered(f"This question is already {row.state.value}.")
            answer_text = question.answer_text(value=value, custom=custom)
            if (content is not None) != _takes_content(question_message, value):
                raise Invalid(_CONTENT_WITH_MERGE, param="content")
            answer: Json = {
                "question_id": message_id,
                "value": value,
                "custom": custom,
                **({} if content is None else {"content": content}),
                **authorship(principal.person),
            }
            answered = QuestionState.ANSWERED
            settled = SettleQuestion(message_id, answered, answer, principal.label())
            event = event_factory.question_answered(message_id, turn.id, answer, answered.value, principal.label())
            if live is None:
                message = self._draft.message(chat, Speaker.USER, answer_text, payload=answer, turn_id=turn.id)
                await self._chat_coordinator.resume(principal, turn, settled, message, events=(event,))
                return turn.id
            marked = {**answer, ASKED_BY: (question_message.payload or {}).get(ASKED_BY) if question_message else None}
            message = self._draft.message(chat, Speaker.USER, answer_text, payload=marked, turn_id=turn.id)
            await self._chat_coordinator.write(
                principal, chat_id, settled, message, SetChat(ChatState.RUNNING), events=(event,)
            )
            live.answer(message_id, value if value is not None else answer_text)
        return turn.id

    async def propose_plan(self, principal: Principal, chat_id: str, plan: Json, request: str | None = None) -> str:
        """Records a plan written by a person. It is open like an agent's plan and supersedes the last one. `request` is sent before it."""
        principal.require(Scope.SEND)
        read = await asyncio.to_thread(proposed_plan, plan)  # a huge plan must not block other requests
        payload = await asyncio.to_thread(read.to_json)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            goal = read.goal or "A plan"
            sent_by = origins_of_sender(principal.label())
            message = self._draft.message(chat, Speaker.USER, goal, kind=MessageType.PLAN, payload=payload)
            message = replace(message, origins=sent_by)
            row = PlanRow(message.id, chat_id, PlanState.OPEN)
            event = await asyncio.to_thread(event_factory.plan_update, message.id, None, read, PlanStatus.OPEN)
            request_message = None if request is None else self._draft.message(chat, Speaker.USER, request)
            request_messages = () if request_message is None else (replace(request_message, origins=sent_by),)
            title = title_from(request or goal) if chat.title == NEW_CHAT else None
            writes = (require_idle(chat), SetChat(title=title), *request_messages, message, row)
            await self._chat_coordinator.write(principal, chat_id, *writes, events=(event,))
        return message.id

    async def approve_plan(
        self, principal: Principal, chat_id: str, message_id: str, *, edits: PlanEdits = AS_SHOWN
    ) -> str:
        """Switches to actor and starts the approved plan; returns the id of its turn. Only a person may approve."""
        principal.require(Scope.DECIDE)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            row, plan_message = (
                await self._store.plans.find(message_id),
                await self._store.messages.find(chat_id, message_id),
            )
            if row is None or plan_message is None:
                raise NotFound("plan", message_id)
            plan = await asyncio.to_thread(approved_plan, plan_message.payload or {}, edits)
            turn_id, payload = self._clock.new_id(), {"plan_id": message_id, **authorship(principal.person)}
            text = await asyncio.to_thread(execution_request, plan)
            request = self._draft.message(chat, Speaker.USER, text, payload=dict(payload), turn_id=turn_id)
            turn = self._draft.turn(
                chat, principal, message_id=request.id, turn_id=turn_id, role=Role.ACTOR, plan_id=message_id
            )
            switch, switched = self._draft.switch(principal, chat, Role.ACTOR)
            approve = ApprovePlan(message_id, await asyncio.to_thread(plan.to_json), principal.label(), turn_id)
            state = SetChat(ChatState.RUNNING, config=replace(chat.config, agent_role=Role.ACTOR))
            approved = await asyncio.to_thread(
                event_factory.plan_update, message_id, turn_id, plan, PlanStatus.APPROVED
            )
            await self._chat_coordinator.begin(
                principal, chat, turn, approve, *switch, request, state, events=(*switched, approved)
            )
        return turn_id

    async def continue_turn(self, principal: Principal, chat_id: str) -> str:
        """Goes on after a limit, an interruption or `blocked`, where the turn stood; nothing is sent or done again. The id of the turn.

        Raises: NothingToContinue.
        """
        principal.require(Scope.DECIDE)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            continuation = require_continuation(chat, await self._store.turns.newest(chat_id))
            turn = continuation.turn.continued()
            payload: Json = {
                "continued": continuation.reason.value,
                **({"continued_after": continuation.code} if continuation.code else {}),
            }
            note = "Continued where it stopped."
            writes: list[Write] = [
                require_idle(chat),
                RequireRoom(RequestedUse(payer_of(turn.principal), chat.config.model_id)),
                self._draft.message(chat, Speaker.SYSTEM, note, payload=payload, turn_id=turn.id),
            ]
            events = [replace(event_factory.turn_started(turn), cause=turn.message_id)]
            if run := await self._store.runs.find(turn.id):
                writes.append(replace(run, status=RunStatus.RUNNING, error=None))
                events.append(event_factory.workflow_progress(replace(run, status=RunStatus.RUNNING, error=None)))
            if progress := await progress_of(self._store, self._toolbox, turn, chat.workspace):
                events.append(progress.standing(turn))
            await self._chat_coordinator.resume(principal, turn, *writes, events=tuple(events))
        return turn.id

    async def dismiss(self, principal: Principal, chat_id: str) -> None:
        """Ends what an ended turn left waiting: it is not continued, its plan is kept by no message, and the chat waits for nobody.

        A plan that was not approved can still be. Raises: NothingToDismiss.
        """
        principal.require(Scope.DECIDE)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            turn, sentence = dismissed(chat, await self._store.turns.newest(chat_id))
            payload: Json = {"dismissed": turn.id, **authorship(principal.person)}
            message = self._draft.message(chat, Speaker.SYSTEM, sentence, payload=payload)
            await self._chat_coordinator.write(
                principal, chat_id, require_idle(chat), message, turn, events=(event_factory.turn_ended(turn),)
            )

    async def reveal(self, principal: Principal, chat_id: str, message_id: str, number: int) -> Message:
        """Tells the model a value that is hidden in a message, in a note that names who did. Raises: NotFound."""
        principal.require(Scope.DECIDE)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            source = await self._store.messages.find(chat_id, message_id)
            hidden = hidden_values_of(source)[number - 1 : number] if source else ()
            if not hidden:
                raise NotFound("hidden value", f"{message_id}/{number}")
            text = f"The agent is shown «hidden {number}: {hidden[0].kind}»: {hidden[0].text}"
            payload: Json = {REVEALED: {"message_id": message_id, "number": number}, **authorship(principal.person)}
            note = self._draft.message(chat, Speaker.SYSTEM, text, payload=payload)
            await self._chat_coordinator.write(principal, chat_id, require_idle(chat), note)
            return note

    async def _not_pending(self, chat_id: str, approval_id: str) -> NoReturn:
        """Always raises: AlreadyDecided if the approval belongs to this chat, else NotFound."""
        everything = await self._store.approvals.of_chat(chat_id, pending_only=False)
        decided = next((approval for approval in everything if approval.id == approval_id), None)
        if decided is None:
            raise NotFound("approval", approval_id)
        raise AlreadyDecided(f"This approval is already {decided.state.value}.")


_CONTENT_WITH_MERGE = (
    "Send 'content', the whole file, with the value 'merge' of a question about a conflict, and with no other answer."
)


def _takes_content(question: Message | None, value: str | None) -> bool:
    """Whether this answer is a file that a person merged by hand."""
    return value == KEEP_MERGED and question is not None and "conflict" in (question.payload or {})
