"""Opens, changes and removes chats, sends messages, stops turns and switches roles.
Each request is checked and recorded before it takes effect. `decision_service.py` handles people's decisions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256

from pydantic import JsonValue

from anycowork.chats.chat_title import NEW_CHAT, title_from
from anycowork.chats.chat_visibility import ChatVisibility
from anycowork.chats.message_hooks import MessageHooks
from anycowork.chats.skill_service import SkillService
from anycowork.domain import event_factory
from anycowork.domain.attached_files import AttachedFile, check_files, files_payload
from anycowork.domain.chats import Autonomy, Chat, ChatConfig, ChatState
from anycowork.domain.errors import Conflict, Invalid, NeedsConfirmation, TurnAlreadyRunning
from anycowork.domain.events import NewEvent
from anycowork.domain.evidence import StatedExpectation, begins_with_name, split_stated, stated_payload
from anycowork.domain.hooks import HookRuns, origins_of_words, runs_json
from anycowork.domain.images import GivenImage, Image, recognise
from anycowork.domain.journal import AddChat, RemoveChat, RemoveQueued, RequireState, SetChat, Write
from anycowork.domain.messages import Json, QueuedMessage, Speaker
from anycowork.domain.origins import Origins, join, origin_of
from anycowork.domain.people import authorship
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope, origins_of_sender
from anycowork.domain.provider_errors import NoSuchModel
from anycowork.domain.roles import Role
from anycowork.domain.schedules import ClaimStart, StartedBy
from anycowork.domain.secret_values import hidden_kinds
from anycowork.domain.skills import Skill, activation
from anycowork.domain.values import value
from anycowork.domain.visibility import owner_of
from anycowork.domain.workflows import RunOrder
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.providers.registry import ProviderRegistry
from anycowork.store.sql.blobs import Blobs
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.continuation import kept_plan_of
from anycowork.turns.lookup import require_chat
from anycowork.turns.record_factory import IDLE, RecordFactory, noted, require_idle
from anycowork.workflows.workflow_service import WorkflowService


@value
class SentMessage:
    """A sent message and its turn. `run_id` is set if a workflow was started; the run is the turn."""

    message_id: str
    turn_id: str
    run_id: str | None = None


@value
class SwitchedRole:
    id: str
    old_role: str
    new_role: str


class ChatService:
    """`find_workspace` maps a path (None: the default) to a registered folder, or raises BadWorkspace.
    `removed` is called for every deleted chat; `holds_commands`: the sandbox's level is `full`."""

    def __init__(
        self,
        *,
        chat_coordinator: ChatCoordinator,
        store: Store,
        roles: RoleRegistry,
        prompts: PromptService,
        workflows: WorkflowService,
        providers: ProviderRegistry,
        clock: Clock,
        find_workspace: Callable[[str | None], Awaitable[str]],
        image_bytes: Blobs,
        removed: Callable[[], None] = lambda: None,
        skills: SkillService | None = None,
        hooks: MessageHooks | None = None,
        visibility: ChatVisibility,
        holds_commands: bool,
    ) -> None:
        self._chat_coordinator = chat_coordinator
        self._store = store
        self._roles = roles
        self._prompts = prompts
        self._workflows = workflows
        self._skills = skills
        self._hooks = hooks
        self._providers = providers
        self._clock = clock
        self._draft = RecordFactory(clock)
        self._find_workspace = find_workspace
        self._image_bytes = image_bytes
        self._removed = removed
        self._visibility = visibility
        self._holds_commands = holds_commands

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
        visibility: str | None = None,
        claim: Callable[[str], ClaimStart] | None = None,
    ) -> Chat:
        """`claim` binds the new chat to the scheduled start that it is for. Raises: AlreadyStarted if that has one."""
        principal.require(Scope.SEND)
        definition = self._roles.require(role or Role.ACTOR)
        model = self.model_id_of(model)
        await self._require_prompt(system_prompt_id)
        root = await self._visibility.visible_folder(principal, await self._find_workspace(workspace))
        now = self._clock.now()
        # A chat keeps its model: a new default is only for new chats. If none is connected, the first one will be used.
        config = ChatConfig(definition.name, model or self._providers.lasting_id(), system_prompt_id)
        chat = Chat(
            self._clock.new_id(),
            title or NEW_CHAT,
            root,
            config,
            created_at=now,
            updated_at=now,
            visibility=await self._visibility.of_new_chat(principal, root, visibility),
            owner=owner_of(principal),
        )
        claims = () if claim is None else (claim(chat.id),)
        await self._chat_coordinator.write(principal, chat.id, AddChat(chat, principal.label()), *claims)
        return await require_chat(self._store, chat.id)

    async def change_chat(
        self,
        principal: Principal,
        chat_id: str,
        *,
        title: str | None = None,
        model: str | None = None,
        system_prompt_id: str | None = None,
        autonomy: Autonomy | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
        visibility: str | None = None,
    ) -> Chat:
        """Changes the chat's settings. Raises: NoSuchModel, Invalid, NotAllowed; Conflict if the autonomy needs a sandbox that is not
        available."""
        principal.require(Scope.SEND)
        self._require_autonomy(principal, autonomy)
        model = self.model_id_of(model)
        await self._require_prompt(system_prompt_id)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            prompt = system_prompt_id or chat.config.system_prompt_id
            level = autonomy or chat.config.autonomy
            config = replace(
                chat.config, model_id=model or chat.config.model_id, system_prompt_id=prompt, autonomy=level
            )
            if visibility is not None:
                visibility = await self._visibility.changed(principal, chat, visibility)
            notices = (*self._draft.autonomy(chat, level), *self._draft.visibility(chat, visibility))
            changed = SetChat(config=config, title=title, pinned=pinned, archived=archived, visibility=visibility)
            await self._chat_coordinator.write(principal, chat_id, changed, *notices)
        return await require_chat(self._store, chat_id)

    def _require_autonomy(self, principal: Principal, autonomy: Autonomy | None) -> None:
        if autonomy is None:
            return
        principal.require(Scope.DECIDE)
        if autonomy is Autonomy.SANDBOXED and not self._holds_commands:
            raise Conflict(
                "'sandboxed' is not available: this machine's sandbox level is not 'full', so commands are not contained. "
                "'anycowork doctor' shows what is missing. Choose 'edits' or 'ask'."
            )

    async def remove_chat(self, principal: Principal, chat_id: str, removal: RemoveChat) -> None:
        """Raises: NotFound; Conflict if the chat is not idle, or was written to since the removal was offered."""
        principal.require(Scope.SEND)
        async with self._chat_coordinator.exclusive(chat_id):
            busy = TurnAlreadyRunning("This chat is running. Stop it before you delete it.")
            await self._chat_coordinator.write(principal, chat_id, RequireState(IDLE, busy), removal)
        self._chat_coordinator.forget(chat_id)
        self._removed()

    # --- turns

    async def send(
        self,
        principal: Principal,
        chat_id: str,
        content: str,
        images: Sequence[GivenImage] = (),
        files: Sequence[AttachedFile] = (),
        *,
        queued: QueuedMessage | None = None,
        expect: Sequence[StatedExpectation] = (),
        keep_plan: bool = True,
    ) -> SentMessage:
        """Sends a message and starts its turn. Both are durable when this returns. `queued`: the message leaves the queue with that.
        `expect` is what the server checks at the turn's end.

        A plan whose turn can be continued is kept: the message's turn goes on with it, unless `keep_plan` is false.

        Lines `/expect …` at its beginning or end state expectations.
        `/name …` runs that workflow, or activates that skill for the turn; two slashes at the start mean one slash, and no workflow runs.
        Raises: Invalid, TooLarge, NotFound if it is not in the queue any more.
        """
        principal.require(Scope.SEND)
        if not content.strip():
            raise Invalid("The message is empty; write what you want done.", param="content")
        recognised, files = recognise(images), check_files(files)
        request, stated = split_stated(content)
        if not request:
            raise Invalid("Write below the expectations what you want done.", param="content")
        expect = (*expect, *stated)
        is_named = begins_with_name(request)
        skill = await self._activated(chat_id, request) if is_named else None
        if is_named and skill is None:
            if images:
                raise Invalid("A workflow accepts no images. Send them in a separate message.", param="images")
            if files:
                raise Invalid("A workflow accepts no files. Send them in a separate message.", param="attachments")
            if expect:
                raise Invalid("A workflow accepts no expectations. Send a message in words.", param="expect")
            return await self._run(principal, chat_id, partial(self._workflows.order_typed, content), queued)
        content = content if stated or skill else content.removeprefix("/")
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            runs = await self._hooks.before(principal, chat, content, queued) if self._hooks else ()
            turn_id = self._clock.new_id()
            plan_id = await self._kept_plan(chat) if keep_plan else None
            payload = {
                **await self._store_images(chat, images, recognised),
                **({"kept_plan": plan_id} if plan_id else {}),
                **files_payload(files),
                **hidden_kinds(file.content for file in files),
                **stated_payload(expect, may_check=Scope.DECIDE in principal.scopes),
                **authorship(principal.person),
                **({"skill": activation(skill)} if skill else {}),
                **runs_json(runs),
            }
            message = self._draft.message(chat, Speaker.USER, content, payload=payload or None, turn_id=turn_id)
            message = replace(message, origins=_sent_origins(principal, files, recognised, runs))
            if queued is not None:
                message = replace(message, id=queued.id)
            turn = self._draft.turn(
                chat, principal, message_id=message.id, turn_id=turn_id, role=chat.role, plan_id=plan_id
            )
            title = title_from(request.removeprefix("/")) if chat.title == NEW_CHAT else None
            state = SetChat(ChatState.RUNNING, title=title)
            writes, events = _from_queue(queued)
            await self._chat_coordinator.begin(principal, chat, turn, *writes, message, state, events=events)
        return SentMessage(message.id, turn.id)

    async def require_visible(self, principal: Principal, chat_id: str) -> None:
        """For what is done later in somebody's name. Raises: NotFound if they may not see the chat any more."""
        await self._visibility.require(principal, chat_id)

    async def execute(
        self,
        principal: Principal,
        chat_id: str,
        name: str,
        parameters: Mapping[str, JsonValue],
        started_by: StartedBy | None = None,
    ) -> SentMessage:
        """Runs a workflow as a turn of this chat, in the chat's role. Raises: as `WorkflowService.order`; AlreadyStarted."""
        principal.require(Scope.SEND)
        order_for = partial(self._workflows.order, name, parameters)
        return await self._run(principal, chat_id, order_for, started_by=started_by)

    async def stop(self, principal: Principal, chat_id: str) -> bool:
        """Stops the current turn; returns False if there was nothing to stop."""
        principal.require(Scope.SEND)
        async with self._chat_coordinator.exclusive(chat_id):
            return await self._chat_coordinator.stop(principal, chat_id)

    async def switch_role(self, principal: Principal, chat_id: str, role: str, *, confirm: bool) -> SwitchedRole:
        """Switches the chat's role. Raises: NeedsConfirmation while the chat is not idle; with `confirm` the turn is stopped first."""
        principal.require(Scope.DECIDE)
        new = self._roles.require(role).name
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            if chat.state is not ChatState.IDLE:
                if not confirm:
                    raise NeedsConfirmation(
                        f"This chat is {chat.state.value.replace('_', ' ')}. Switching to {new} stops it; "
                        'send "confirm": true to do so.'
                    )
                await self._chat_coordinator.stop(principal, chat_id)
            messages, events = self._draft.switch(principal, chat, new)
            if messages:
                config = SetChat(config=replace(chat.config, agent_role=new))
                await self._chat_coordinator.write(
                    principal, chat_id, require_idle(chat), config, *messages, events=events
                )
        return SwitchedRole(chat_id, chat.role, new)

    # --- the parts

    async def _run(
        self,
        principal: Principal,
        chat_id: str,
        order_for: Callable[..., Awaitable[RunOrder]],
        queued: QueuedMessage | None = None,
        started_by: StartedBy | None = None,
    ) -> SentMessage:
        """Fix the run's steps before the turn begins: later changes of the file do not affect it."""
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            order = await order_for(workspace=chat.workspace, role=self._roles.stored(chat.role))
            runs = await self._hooks.before(principal, chat, order.typed, queued) if self._hooks else ()
            run, message = self._draft.run(chat, order)
            if runs:
                message = replace(message, payload={**(message.payload or {}), **runs_json(runs)})
            message = replace(message, origins=_sent_origins(principal, (), (), runs))
            claims: tuple[Write, ...] = ()
            if started_by is not None:
                message, origins = noted(message, started_by), tuple(sorted(started_by.origins))
                run = replace(run, limits=started_by.limits, origins=origins)
                claims = (started_by.claim(run.id),)
            turn = self._draft.turn(chat, principal, message_id=message.id, turn_id=run.id, role=chat.role)
            title = title_from(order.typed) if chat.title == NEW_CHAT else None
            state = SetChat(ChatState.RUNNING, title=title)
            writes, events = _from_queue(queued)
            await self._chat_coordinator.begin(
                principal, chat, turn, *claims, *writes, message, run, state, events=events
            )
        return SentMessage(message.id, turn.id, run.id)

    async def _activated(self, chat_id: str, message_text: str) -> Skill | None:
        if self._skills is None:
            return None
        chat = await require_chat(self._store, chat_id)
        return await self._skills.activated_by(message_text, chat.workspace)

    async def _kept_plan(self, chat: Chat) -> str | None:
        return kept_plan_of(chat, await self._store.turns.newest(chat.id))

    async def _store_images(self, chat: Chat, images: Sequence[GivenImage], recognised: Sequence[Image]) -> Json:
        """Stores the images before the message that names them; a running chat accepts none."""
        if not images:
            return {}
        if chat.state not in IDLE:
            raise require_idle(chat).error
        for sent_image in images:
            await self._image_bytes.put(sent_image.data)
        return {"images": [image.to_json() for image in recognised]}

    def model_id_of(self, name: str | None) -> str | None:
        """Returns the id of the model with this name; None for the default model. Raises: Invalid if there is no such model."""
        if name is None:
            return None
        try:
            return self._providers.id_of(name)
        except NoSuchModel as error:
            raise Invalid(error.message, param="model") from error

    async def _require_prompt(self, prompt_id: str | None) -> None:
        if prompt_id is not None and await self._prompts.find(prompt_id) is None:
            raise Invalid(
                f"There is no system prompt '{prompt_id[:64]}'. /v1/system-prompts lists them.",
                param="system_prompt_id",
            )


def _sent_origins(sender: Principal, files: Sequence[AttachedFile], images: Sequence[Image], runs: HookRuns) -> Origins:
    """Returns the origins of a message: what is attached has authors of its own, and a hook sees the workspace."""
    hashes = [sha256(file.content.encode()).hexdigest() for file in files] + [image.sha256 for image in images]
    return join(
        origins_of_sender(sender.label()),
        origins_of_words(runs),
        (origin_of("attachment", content_hash) for content_hash in hashes),
    )


def _from_queue(queued: QueuedMessage | None) -> tuple[tuple[Write, ...], tuple[NewEvent, ...]]:
    if queued is None:
        return (), ()
    return (RemoveQueued(queued.id),), (event_factory.queue_updated(queued, "sent"),)
