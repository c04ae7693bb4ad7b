"""The front desk: every wish of a principal about a chat comes in here, is checked, written down, and only then set going."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import NoReturn

from pydantic import JsonValue

from anycowork.chats.decisions import Decided, Settlement, each_once
from anycowork.chats.drafting import IDLE, NEW_CHAT, Drafter, only_idle, title_from
from anycowork.chats.plans import AS_SHOWN, PlanEdits, approved_plan, execution_request, proposed_plan
from anycowork.chats.turns import TurnKeeper
from anycowork.domain import announce
from anycowork.domain.approvals import PlanRow, PlanState, QuestionState
from anycowork.domain.asking import Providers
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
from anycowork.domain.images import GivenImage, Image, ImageBytes, recognise
from anycowork.domain.journal import (
    AddChat,
    ApprovePlan,
    Change,
    RemoveChat,
    RequireState,
    SetChat,
    SettleQuestion,
    Write,
)
from anycowork.domain.messages import Json, MessageType, Speaker
from anycowork.domain.ports import Clock, Journal, Store
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.question import read_question
from anycowork.domain.roles import Role
from anycowork.domain.rules import Rule
from anycowork.domain.values import value
from anycowork.permissions.roles import RoleBook
from anycowork.prompts.book import PromptBook
from anycowork.workflows.registry import Order, WorkflowBook


@value
class Sent:
    """`run_id` if a workflow was started; its run is the turn."""

    message_id: str
    turn_id: str
    run_id: str | None = None


@value
class Switched:
    id: str
    old_role: str
    new_role: str


class FrontDesk:
    """`find_workspace` turns a wish (a path, or None for the default) into a folder that a person registered, or raises BadWorkspace."""

    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        keeper: TurnKeeper,
        roles: RoleBook,
        prompts: PromptBook,
        workflows: WorkflowBook,
        providers: Providers,
        clock: Clock,
        find_workspace: Callable[[str | None], Awaitable[str]],
        image_bytes: ImageBytes,
    ) -> None:
        self._journal = journal
        self._store = store
        self._keeper = keeper
        self._roles = roles
        self._prompts = prompts
        self._workflows = workflows
        self._providers = providers
        self._clock = clock
        self._draft = Drafter(clock)
        self._settle = Settlement(clock)
        self._find_workspace = find_workspace
        self._image_bytes = image_bytes
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
        await self._require_prompt(system_prompt_id)
        root = await self._find_workspace(workspace)
        now = self._clock.now()
        config = ChatConfig(definition.name, model, system_prompt_id)
        chat = Chat(self._clock.new_id(), title or NEW_CHAT, root, config, created_at=now, updated_at=now)
        await self._write(principal, chat.id, AddChat(chat, principal.label()))
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
        await self._require_prompt(system_prompt_id)
        async with self._alone(chat_id) as chat:
            prompt = system_prompt_id or chat.config.system_prompt_id
            config = replace(chat.config, model_id=model or chat.config.model_id, system_prompt_id=prompt)
            await self._write(principal, chat_id, SetChat(config=config, title=title))
        return await self._chat(chat_id)

    async def remove_chat(self, principal: Principal, chat_id: str) -> None:
        require(principal, Scope.SEND)
        async with self._alone(chat_id):
            busy = TurnAlreadyRunning("This chat is at work. Stop it before you delete it.")
            await self._write(principal, chat_id, RequireState(IDLE, busy), RemoveChat())
        self._locks.pop(chat_id, None)

    # --- turns

    async def send(self, principal: Principal, chat_id: str, content: str, images: Sequence[GivenImage] = ()) -> Sent:
        """The message and the turn are durable when this returns, and the turn is on its way.

        `/name …` runs that workflow; two slashes at the start stand for one, and nothing is run. Raises: Invalid, TooLarge.
        """
        require(principal, Scope.SEND)
        if not content.strip():
            raise Invalid("An empty message says nothing; write what you want done.", param="content")
        known = recognise(images)
        if content.startswith("/") and not content.startswith("//"):
            if images:
                raise Invalid("A workflow takes no images. Send them in a message of their own.", param="images")
            return await self._run(principal, chat_id, partial(self._workflows.order_typed, content))
        content = content.removeprefix("/")
        async with self._alone(chat_id) as chat:
            turn_id = self._clock.new_id()
            payload = await self._kept(chat, images, known)
            message = self._draft.message(chat, Speaker.USER, content, payload=payload, turn_id=turn_id)
            turn = self._draft.turn(chat, principal, message_id=message.id, turn_id=turn_id, role=chat.role)
            title = title_from(content) if chat.title == NEW_CHAT else None
            await self._begin(principal, chat, turn, message, SetChat(ChatState.RUNNING, title=title))
        return Sent(message.id, turn.id)

    async def execute(self, principal: Principal, chat_id: str, name: str, given: Mapping[str, JsonValue]) -> Sent:
        """Runs a workflow as a turn of this chat, in the chat's own role. Raises: as `WorkflowBook.order`."""
        require(principal, Scope.SEND)
        return await self._run(principal, chat_id, partial(self._workflows.order, name, given))

    async def stop(self, principal: Principal, chat_id: str) -> bool:
        """False if there was nothing to stop."""
        require(principal, Scope.SEND)
        async with self._alone(chat_id):
            return await self._stop(principal, chat_id)

    async def switch_role(self, principal: Principal, chat_id: str, role: str, *, confirm: bool) -> Switched:
        """Raises: NeedsConfirmation while the chat is not idle; confirmed, what runs is stopped first."""
        require(principal, Scope.DECIDE)
        new = self._roles.require(role).name
        async with self._alone(chat_id) as chat:
            if chat.state is not ChatState.IDLE:
                if not confirm:
                    raise NeedsConfirmation(
                        f"This chat is {chat.state.value.replace('_', ' ')}. Switching to {new} stops it; "
                        'send "confirm": true to do so.'
                    )
                await self._stop(principal, chat_id)
            messages, events = self._draft.switch(principal, chat, new)
            if messages:
                config = SetChat(config=replace(chat.config, agent_role=new))
                await self._write(principal, chat_id, only_idle(chat), config, *messages, events=events)
        return Switched(chat_id, chat.role, new)

    # --- what a person decides

    async def decide(
        self, principal: Principal, chat_id: str, decisions: Sequence[Decided]
    ) -> Mapping[str, Sequence[Rule]]:
        """All of them or none, with the rules that they make, by the approval's id. When nothing is left open, the turn goes on."""
        require(principal, Scope.DECIDE)
        async with self._alone(chat_id) as chat:
            pending = {approval.id: approval for approval in await self._store.approvals(chat_id)}
            for wanted in each_once(decisions):
                if wanted.id not in pending:
                    await self._not_pending(chat_id, wanted.id)
            settled = self._settle(chat, principal, decisions, pending)
            turn = await self._store.current_turn(chat_id)
            if turn is None or len(pending) > len(decisions):
                await self._write(principal, chat_id, *settled.writes, events=settled.events)
            else:
                await self._take_up(principal, turn, *settled.writes, events=settled.events)
        return settled.rules

    async def answer(
        self, principal: Principal, chat_id: str, message_id: str, *, value: str | None, custom: str | None
    ) -> str:
        """The id of the turn that goes on with it. Raises: AlreadyAnswered, Invalid."""
        require(principal, Scope.DECIDE)
        async with self._alone(chat_id) as chat:
            row, asked = await self._store.question(message_id), await self._store.message(chat_id, message_id)
            question = read_question(asked.payload or {}) if asked else None
            if row is None or question is None:
                raise NotFound("question", message_id)
            turn = await self._store.turn(row.turn_id)
            if row.state is not QuestionState.OPEN or turn is None or turn.state is not TurnState.PARKED:
                raise AlreadyAnswered(f"This question is {row.state.value} already.")
            words = question.answer_text(value=value, custom=custom)
            given: Json = {"question_id": message_id, "value": value, "custom": custom}
            answered = QuestionState.ANSWERED
            await self._take_up(
                principal,
                turn,
                SettleQuestion(message_id, answered, given, principal.label()),
                self._draft.message(chat, Speaker.USER, words, payload=given, turn_id=turn.id),
                events=(announce.question_answered(message_id, turn.id, given, answered.value, principal.label()),),
            )
        return turn.id

    async def propose_plan(self, principal: Principal, chat_id: str, plan: Json) -> str:
        """A plan that a person wrote; it stands open like an agent's and supersedes the last one."""
        require(principal, Scope.SEND)
        read = proposed_plan(plan)
        async with self._alone(chat_id) as chat:
            shown = read.to_json()
            words = read.goal or "A plan"
            message = self._draft.message(chat, Speaker.USER, words, kind=MessageType.PLAN, payload=shown)
            row = PlanRow(message.id, chat_id, PlanState.OPEN)
            event = announce.plan_update(message.id, None, shown, PlanState.OPEN.value)
            await self._write(principal, chat_id, only_idle(chat), message, row, events=(event,))
        return message.id

    async def approve_plan(
        self, principal: Principal, chat_id: str, message_id: str, *, edits: PlanEdits = AS_SHOWN
    ) -> str:
        """Switches to actor and starts exactly the approved text; only a person approves. The id of its turn."""
        require(principal, Scope.DECIDE)
        async with self._alone(chat_id) as chat:
            row, shown = await self._store.plan(message_id), await self._store.message(chat_id, message_id)
            if row is None or shown is None:
                raise NotFound("plan", message_id)
            plan = approved_plan(shown.payload or {}, edits)
            turn_id, text, payload = self._clock.new_id(), execution_request(plan), {"plan_id": message_id}
            request = self._draft.message(chat, Speaker.USER, text, payload=dict(payload), turn_id=turn_id)
            turn = self._draft.turn(
                chat, principal, message_id=request.id, turn_id=turn_id, role=Role.ACTOR, plan_id=message_id
            )
            switch, switched = self._draft.switch(principal, chat, Role.ACTOR)
            approve = ApprovePlan(message_id, plan.to_json(), principal.label(), turn_id)
            state = SetChat(ChatState.RUNNING, config=replace(chat.config, agent_role=Role.ACTOR))
            approved = announce.plan_update(message_id, turn_id, plan.to_json(), PlanState.APPROVED.value)
            await self._begin(principal, chat, turn, approve, *switch, request, state, events=(*switched, approved))
        return turn_id

    # --- the parts

    async def _run(self, principal: Principal, chat_id: str, order_for: Callable[..., Awaitable[Order]]) -> Sent:
        """What is run is fixed here, before the turn begins: a file that changes later changes nothing of it."""
        async with self._alone(chat_id) as chat:
            order = await order_for(workspace=chat.workspace, role=self._roles.stored(chat.role))
            run, message = self._draft.run(chat, order)
            turn = self._draft.turn(chat, principal, message_id=message.id, turn_id=run.id, role=chat.role)
            title = title_from(order.typed) if chat.title == NEW_CHAT else None
            await self._begin(principal, chat, turn, message, run, SetChat(ChatState.RUNNING, title=title))
        return Sent(message.id, turn.id, run.id)

    async def _kept(self, chat: Chat, images: Sequence[GivenImage], known: Sequence[Image]) -> Json | None:
        """The bytes are durable before the message that names them; a chat that is at work takes none."""
        if not images:
            return None
        if chat.state not in IDLE:
            raise only_idle(chat).error
        for given in images:
            await self._image_bytes.put(given.data)
        return {"images": [image.to_json() for image in known]}

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

    async def _write(self, principal: Principal, chat_id: str, *writes: Write, events: tuple[Draft, ...] = ()) -> None:
        await self._journal.write(Change(chat_id, writes, events, principal=principal.label()))

    async def _begin(
        self, principal: Principal, chat: Chat, turn: Turn, *writes: Write, events: tuple[Draft, ...] = ()
    ) -> None:
        started = replace(announce.turn_started(turn), cause=turn.message_id)
        await self._write(principal, chat.id, only_idle(chat), *writes, turn, events=(*events, started))
        self._keeper.start(turn)

    async def _take_up(self, principal: Principal, turn: Turn, *writes: Write, events: tuple[Draft, ...]) -> None:
        """What a person said and that the turn's next segment is due become durable together; then it starts."""
        due = replace(turn, state=TurnState.DUE)
        await self._write(principal, turn.chat_id, *writes, due, SetChat(ChatState.RUNNING), events=events)
        self._keeper.start(due)

    async def _stop(self, principal: Principal, chat_id: str) -> bool:
        turn = await self._store.current_turn(chat_id)
        if turn is None:
            return False
        await self._keeper.stop(turn, principal=principal.label(), said="Stopped by the person.")
        return True

    def _require_model(self, model: str | None) -> None:
        if model is None:
            return
        try:
            self._providers.find(model)
        except NoSuchModel as error:
            raise Invalid(error.message, param="model") from error

    async def _require_prompt(self, prompt_id: str | None) -> None:
        if prompt_id is not None and await self._prompts.find(prompt_id) is None:
            raise Invalid(
                f"There is no system prompt '{prompt_id[:64]}'. /v1/system-prompts lists them.",
                param="system_prompt_id",
            )

    async def _not_pending(self, chat_id: str, approval_id: str) -> NoReturn:
        """Raises, always: AlreadyDecided if it was pending once in this chat, else NotFound."""
        everything = await self._store.approvals(chat_id, pending_only=False)
        decided = next((approval for approval in everything if approval.id == approval_id), None)
        if decided is None:
            raise NotFound("approval", approval_id)
        raise AlreadyDecided(f"This approval is {decided.state.value} already.")


def require(principal: Principal, scope: Scope) -> None:
    """Raises: NotAllowed. Approving, answering and switching roles need a person."""
    if scope not in principal.scopes:
        kind = principal.kind.value.replace("_", " ")
        raise NotAllowed(f"A {kind} may not do this (needs '{scope.value}'). A person must.")
