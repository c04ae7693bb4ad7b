"""The front desk: every wish of a principal about a chat comes in here, is checked, written down, and only then set going."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import NoReturn

from anycowork.chats.plans import approved_plan, execution_request, proposed_plan
from anycowork.chats.turns import TurnKeeper
from anycowork.domain import announce
from anycowork.domain.approvals import ApprovalState, Decision, PlanRow, PlanState, QuestionState
from anycowork.domain.chats import Chat, ChatConfig, ChatState, Turn, TurnState
from anycowork.domain.errors import (
    AlreadyAnswered,
    AlreadyDecided,
    Invalid,
    NeedsConfirmation,
    NoSuchModel,
    NotAllowed,
    NotFound,
    TurnAlreadyRunning,
)
from anycowork.domain.events import Draft
from anycowork.domain.journal import (
    AddChat,
    ApprovePlan,
    Change,
    DecideApproval,
    RemoveChat,
    RequireState,
    SetChat,
    SettleQuestion,
    Write,
)
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.ports import Clock, Journal, Providers, Store
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.question import read_question
from anycowork.domain.roles import Role
from anycowork.permissions.roles import RoleBook

NEW_CHAT = "New chat"
TITLE_LENGTH = 60
IDLE = frozenset({ChatState.IDLE})


@dataclass(frozen=True, slots=True)
class Sent:
    message_id: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class Switched:
    id: str
    old_role: str
    new_role: str


@dataclass(frozen=True, slots=True)
class Decided:
    id: str
    decision: Decision
    note: str | None = None


class FrontDesk:
    """`find_workspace` turns a wish (a path, or None for the default) into a folder that a person registered, or raises BadWorkspace."""

    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        keeper: TurnKeeper,
        roles: RoleBook,
        providers: Providers,
        clock: Clock,
        find_workspace: Callable[[str | None], Awaitable[str]],
    ) -> None:
        self._journal = journal
        self._store = store
        self._keeper = keeper
        self._roles = roles
        self._providers = providers
        self._clock = clock
        self._find_workspace = find_workspace
        self._locks: dict[str, asyncio.Lock] = {}

    # --- chats

    async def open_chat(
        self,
        principal: Principal,
        *,
        title: str | None,
        workspace: str | None,
        role: str | None,
        model: str | None,
        system_prompt_id: str | None,
    ) -> Chat:
        require(principal, Scope.SEND)
        definition = self._roles.require(role or Role.ACTOR)
        self._require_model(model)
        root = await self._find_workspace(workspace)
        now = self._clock.now()
        config = ChatConfig(definition.name, model, system_prompt_id)
        chat = Chat(self._clock.new_id(), title or NEW_CHAT, root, config, created_at=now, updated_at=now)
        await self._journal.write(Change(chat.id, (AddChat(chat, principal.label()),), principal=principal.label()))
        return await self._chat(chat.id)

    async def change_chat(
        self,
        principal: Principal,
        chat_id: str,
        *,
        title: str | None = None,
        model: str | None = None,
        system_prompt_id: str | None = None,
    ) -> Chat:
        require(principal, Scope.SEND)
        self._require_model(model)
        async with self._alone(chat_id) as chat:
            config = replace(
                chat.config,
                model_id=model or chat.config.model_id,
                system_prompt_id=system_prompt_id or chat.config.system_prompt_id,
            )
            await self._journal.write(
                Change(chat_id, (SetChat(config=config, title=title),), principal=principal.label())
            )
        return await self._chat(chat_id)

    async def remove_chat(self, principal: Principal, chat_id: str) -> None:
        require(principal, Scope.SEND)
        async with self._alone(chat_id):
            busy = TurnAlreadyRunning("This chat is at work. Stop it before you delete it.")
            await self._journal.write(
                Change(chat_id, (RequireState(IDLE, busy), RemoveChat()), principal=principal.label())
            )
        self._locks.pop(chat_id, None)

    # --- turns

    async def send(self, principal: Principal, chat_id: str, content: str) -> Sent:
        """The message and the turn are durable when this returns, and the turn is on its way."""
        require(principal, Scope.SEND)
        if not content.strip():
            raise Invalid("An empty message says nothing; write what you want done.", param="content")
        async with self._alone(chat_id) as chat:
            message = self._message(chat, Speaker.USER, content)
            turn = self._turn(chat, principal, message, role=chat.role)
            title = _title_from(content) if chat.title == NEW_CHAT else None
            await self._begin(
                principal, turn, replace(message, turn_id=turn.id), SetChat(ChatState.RUNNING, title=title)
            )
        return Sent(message.id, turn.id)

    async def stop(self, principal: Principal, chat_id: str) -> bool:
        """False if there was nothing to stop."""
        require(principal, Scope.SEND)
        async with self._alone(chat_id):
            return await self._stop(principal, chat_id)

    async def switch_role(self, principal: Principal, chat_id: str, role: str, *, confirm: bool) -> Switched:
        require(principal, Scope.DECIDE)
        new = self._roles.require(role).name
        async with self._alone(chat_id) as chat:
            old = chat.role
            if chat.state is not ChatState.IDLE:
                if not confirm:
                    raise NeedsConfirmation(_needs_confirmation(chat, new))
                await self._stop(principal, chat_id)
            if new != old:
                await self._switch(principal, chat, new)
        return Switched(chat_id, old, new)

    # --- what a person decides

    async def decide(self, principal: Principal, chat_id: str, decisions: Sequence[Decided]) -> None:
        """All of them or none. When nothing of the batch is left open, the turn goes on."""
        require(principal, Scope.DECIDE)
        async with self._alone(chat_id):
            pending = {approval.id: approval for approval in await self._store.approvals(chat_id)}
            writes: list[Write] = []
            events: list[Draft] = []
            for decided in _each_once(decisions):
                approval = pending.pop(decided.id, None)
                state = _state_of(decided.decision)
                writes.append(DecideApproval(decided.id, state, decided.note, principal.label()))
                if approval is None:
                    await self._refuse_decision(chat_id, decided.id)
                events.append(announce.permission_decided(approval, state, decided.note, principal.label()))
            turn = await self._store.current_turn(chat_id)
            due = turn is not None and not pending
            if turn is not None and due:
                turn = replace(turn, state=TurnState.DUE)
                writes += [turn, SetChat(ChatState.RUNNING)]
            await self._journal.write(Change(chat_id, tuple(writes), tuple(events), principal=principal.label()))
            if turn is not None and due:
                self._keeper.start(turn)

    async def answer(
        self, principal: Principal, chat_id: str, message_id: str, *, value: str | None, custom: str | None
    ) -> str:
        require(principal, Scope.DECIDE)
        async with self._alone(chat_id) as chat:
            row = await self._store.question(message_id)
            asked = await self._store.message(chat_id, message_id)
            question = read_question(asked.payload or {}) if asked else None
            if row is None or question is None or row.chat_id != chat_id:
                raise NotFound("question", message_id)
            if row.state is not QuestionState.OPEN:
                raise AlreadyAnswered(f"This question is {row.state.value} already.")
            words = question.answer_text(value=value, custom=custom)
            turn = await self._store.turn(row.turn_id)
            if turn is None or turn.state is not TurnState.PARKED:
                raise AlreadyAnswered("The turn that asked this question is over.")
            given: Json = {"question_id": message_id, "value": value, "custom": custom}
            message = replace(self._message(chat, Speaker.USER, words, payload=given), turn_id=turn.id)
            due = replace(turn, state=TurnState.DUE)
            settle = SettleQuestion(message_id, QuestionState.ANSWERED, given, principal.label())
            event = announce.question_answered(
                message_id, turn.id, given, QuestionState.ANSWERED.value, principal.label()
            )
            change = Change(
                chat_id, (settle, message, due, SetChat(ChatState.RUNNING)), (event,), principal=principal.label()
            )
            await self._journal.write(change)
            self._keeper.start(due)
        return turn.id

    async def propose_plan(self, principal: Principal, chat_id: str, plan: Json) -> str:
        """A plan that a person wrote; it stands open like an agent's and supersedes the last one."""
        require(principal, Scope.SEND)
        read = proposed_plan(plan)
        async with self._alone(chat_id) as chat:
            message = self._message(chat, Speaker.USER, read.goal or "A plan", MessageType.PLAN, read.to_json())
            writes = (_only_idle(chat), message, PlanRow(message.id, chat_id, PlanState.OPEN))
            event = announce.plan_update(message.id, None, read.to_json(), PlanState.OPEN.value)
            await self._journal.write(Change(chat_id, writes, (event,), principal=principal.label()))
        return message.id

    async def approve_plan(
        self, principal: Principal, chat_id: str, message_id: str, *, steps: list[Json] | None
    ) -> str:
        """Switches to actor and starts exactly the approved text; only a person approves."""
        require(principal, Scope.DECIDE)
        async with self._alone(chat_id) as chat:
            row, shown = await self._store.plan(message_id), await self._store.message(chat_id, message_id)
            if row is None or shown is None or row.chat_id != chat_id:
                raise NotFound("plan", message_id)
            plan = approved_plan(shown.payload or {}, steps)
            request = self._message(chat, Speaker.USER, execution_request(plan), payload={"plan_id": message_id})
            turn = replace(self._turn(chat, principal, request, role=Role.ACTOR), plan_id=message_id)
            approve = ApprovePlan(message_id, plan.to_json(), principal.label(), turn.id)
            event = announce.plan_update(message_id, turn.id, plan.to_json(), PlanState.APPROVED.value)
            switch, switched = self._switching(principal, chat, Role.ACTOR)
            state = SetChat(ChatState.RUNNING, config=replace(chat.config, agent_role=Role.ACTOR))
            await self._begin(
                principal, turn, approve, *switch, replace(request, turn_id=turn.id), state, events=(*switched, event)
            )
        return turn.id

    # --- the parts

    @asynccontextmanager
    async def _alone(self, chat_id: str) -> AsyncIterator[Chat]:
        """One wish at a time per chat; nothing in here waits for a model or a person."""
        await self._chat(chat_id)
        async with self._locks.setdefault(chat_id, asyncio.Lock()):
            yield await self._chat(chat_id)

    async def _chat(self, chat_id: str) -> Chat:
        chat = await self._store.chat(chat_id)
        if chat is None:
            raise NotFound("chat", chat_id)
        return chat

    async def _begin(self, principal: Principal, turn: Turn, *writes: Write, events: tuple[Draft, ...] = ()) -> None:
        chat = await self._chat(turn.chat_id)
        started = replace(announce.turn_started(turn), cause=turn.message_id)
        change = Change(
            turn.chat_id, (_only_idle(chat), *writes, turn), (*events, started), principal=principal.label()
        )
        await self._journal.write(change)
        self._keeper.start(turn)

    async def _stop(self, principal: Principal, chat_id: str) -> bool:
        turn = await self._store.current_turn(chat_id)
        if turn is None:
            return False
        await self._keeper.stop(turn, principal=principal.label(), said="Stopped by the person.")
        return True

    async def _switch(self, principal: Principal, chat: Chat, new: str) -> None:
        writes, events = self._switching(principal, chat, new)
        config = SetChat(config=replace(chat.config, agent_role=new))
        await self._journal.write(
            Change(chat.id, (_only_idle(chat), config, *writes), events, principal=principal.label())
        )

    def _switching(self, principal: Principal, chat: Chat, new: str) -> tuple[tuple[Message, ...], tuple[Draft, ...]]:
        """The switch as a message of its own in the history; nothing if the role stays."""
        if new == chat.role:
            return (), ()
        words = f"Role switched from {chat.role} to {new}."
        payload: Json = {"old_role": chat.role, "new_role": new}
        message = self._message(chat, Speaker.SYSTEM, words, MessageType.ROLE_CHANGE, payload)
        return (message,), (announce.role_changed(chat.role, new, principal.label()),)

    def _message(
        self,
        chat: Chat,
        speaker: Speaker,
        content: str,
        kind: MessageType = MessageType.TEXT,
        payload: Json | None = None,
    ) -> Message:
        return Message(self._clock.new_id(), chat.id, speaker, content, kind, payload, created_at=self._clock.now())

    def _turn(self, chat: Chat, principal: Principal, message: Message, *, role: str) -> Turn:
        return Turn(
            id=self._clock.new_id(),
            chat_id=chat.id,
            role=role,
            principal=principal.label(),
            message_id=message.id,
            created_at=self._clock.now(),
        )

    def _require_model(self, model: str | None) -> None:
        try:
            self._providers.find(model)
        except NoSuchModel as error:
            if model is not None:
                raise Invalid(error.message, param="model") from error

    async def _refuse_decision(self, chat_id: str, approval_id: str) -> NoReturn:
        everything = await self._store.approvals(chat_id, pending_only=False)
        decided = next((approval for approval in everything if approval.id == approval_id), None)
        if decided is None:
            raise NotFound("approval", approval_id)
        raise AlreadyDecided(f"This approval is {decided.state.value} already.")


def require(principal: Principal, scope: Scope) -> None:
    """Raises: NotAllowed. Approving, answering and switching roles need a person."""
    if scope not in principal.scopes:
        raise NotAllowed(
            f"A {principal.kind.value.replace('_', ' ')} may not do this (needs '{scope.value}'). A person must."
        )


def _only_idle(chat: Chat) -> RequireState:
    waiting = {
        ChatState.AWAITING_APPROVAL: "waits for your decision on a tool call",
        ChatState.AWAITING_ANSWER: "waits for your answer to a question",
    }.get(chat.state, "is at work")
    return RequireState(IDLE, TurnAlreadyRunning(f"This chat {waiting}. Wait until it is idle, or stop it first."))


def _needs_confirmation(chat: Chat, new: str) -> str:
    return f'This chat is {chat.state.value.replace("_", " ")}. Switching to {new} stops it; send "confirm": true to do so.'


def _each_once(decisions: Sequence[Decided]) -> Sequence[Decided]:
    if not decisions:
        raise Invalid("Send at least one decision.", param="decisions")
    if len({decided.id for decided in decisions}) != len(decisions):
        raise Invalid("The same approval is decided twice.", param="decisions")
    return decisions


def _state_of(decision: Decision) -> ApprovalState:
    match decision:
        case Decision.ALLOW_ONCE:
            return ApprovalState.ALLOWED
        case Decision.DENY:
            return ApprovalState.DENIED
        case Decision.ALLOW_SESSION | Decision.ALLOW_ALWAYS:
            raise RulesNotAvailable(
                "Standing rules come with a later version; decide with 'allow_once' or 'deny'.", param="decision"
            )


class RulesNotAvailable(Invalid):
    code = "rules_not_available"


def _title_from(content: str) -> str:
    """Titles are derived without a model: the first line, cut at a word."""
    line = next((line.strip() for line in content.splitlines() if line.strip()), NEW_CHAT)
    if len(line) <= TITLE_LENGTH:
        return line
    return line[:TITLE_LENGTH].rsplit(" ", 1)[0] + "…"
