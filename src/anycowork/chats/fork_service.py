"""Forks a chat: a new chat with the messages up to one of them, on request with the files as they were then."""

from collections.abc import Sequence

from anycowork.chats.chat_service import ChatService
from anycowork.chats.files.rollback import RollbackRequest, RollbackResult
from anycowork.chats.files.rollback_service import RollbackService
from anycowork.chats.files.workspace_copy_service import WorkspaceCopyService
from anycowork.domain.approvals import PlanRow, PlanState
from anycowork.domain.attached_files import attached_files_of
from anycowork.domain.chats import Autonomy, Chat
from anycowork.domain.errors import Invalid, NotFound
from anycowork.domain.journal import AddChat, CopyFileOrigins, Write
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.snapshots import Restored, RestorePreview, shown_path
from anycowork.domain.values import replace, value
from anycowork.domain.visibility import owner_of
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.lookup import require_chat, require_chat_in_folder

_AT_ONCE = 500  # messages of one transaction: other chats are written in between


@value
class ForkRequest:
    """`restore` takes the files back to that moment; `copy` puts them as they were then into a new folder. `content` is
    sent in the new chat at once, to `model` if one is named, together with the text files of the message that it replaces."""

    message_id: str
    restore: bool = False
    copy: bool = False
    overwrite: tuple[str, ...] = ()
    content: str | None = None
    model: str | None = None


class ForkService:
    def __init__(
        self,
        *,
        chat_coordinator: ChatCoordinator,
        chats: ChatService,
        rollback: RollbackService,
        copies: WorkspaceCopyService,
        store: Store,
        clock: Clock,
    ) -> None:
        self._chat_coordinator = chat_coordinator
        self._chats = chats
        self._rollback = rollback
        self._copies = copies
        self._store = store
        self._clock = clock

    async def fork(self, principal: Principal, chat_id: str, fork_request: ForkRequest) -> Chat:
        """Creates the new chat. A person's own message is left out, so that it can be written anew; any other message is included.

        Raises: NotFound, Invalid; with `restore` as `RollbackService.restore`, with `copy` as `WorkspaceCopyService.create`, and then
        nothing was changed.
        """
        principal.require(Scope.SEND)
        if fork_request.content is not None and not fork_request.content.strip():
            raise Invalid("The message is empty; write what you want done.", param="content")
        require = require_chat_in_folder if fork_request.copy else require_chat
        chat = await require(self._store, chat_id)
        copied = _up_to(await self._store.messages.all(chat_id), fork_request.message_id)
        new = await self._new_chat(principal, chat, fork_request)
        if fork_request.restore:
            await self._restore(principal, chat_id, fork_request, dry_run=False)
        if fork_request.copy:
            snapshot_id = await self._store.snapshots.after_message(chat_id, fork_request.message_id)
            new = replace(new, workspace=await self._copies.create(principal, chat, snapshot_id))
        note = self._note(new, chat, fork_request.message_id)
        try:
            await self._write(principal, chat.workspace, new, [*self._copied_messages(new, copied), note])
        except BaseException:
            if fork_request.copy:
                await self._copies.remove(new.workspace)
            raise
        if fork_request.content is not None:
            message = await self._store.messages.find(chat_id, fork_request.message_id)
            files = attached_files_of(message) if message else ()
            await self._chats.send(principal, new.id, fork_request.content, files=files)
        return await require_chat(self._store, new.id)

    async def preview(self, principal: Principal, chat_id: str, fork_request: ForkRequest) -> RollbackResult:
        """Returns what restoring the files would do; nothing is changed."""
        await require_chat(self._store, chat_id)
        return await self._restore(principal, chat_id, fork_request, dry_run=True)

    async def _restore(
        self, principal: Principal, chat_id: str, fork_request: ForkRequest, *, dry_run: bool
    ) -> RollbackResult:
        if await self._store.messages.find(chat_id, fork_request.message_id) is None:
            raise NotFound("message", fork_request.message_id)
        snapshot_id = await self._store.snapshots.after_message(chat_id, fork_request.message_id)
        if snapshot_id is None:  # nothing was changed since
            principal.require(Scope.DECIDE)
            return RollbackResult(Restored(), RestorePreview((), {}))
        request = RollbackRequest(dry_run=dry_run, overwrite=fork_request.overwrite)
        return await self._rollback.restore(principal, chat_id, snapshot_id, request)

    async def _new_chat(self, principal: Principal, chat: Chat, fork_request: ForkRequest) -> Chat:
        """Builds the chat; what is wrong with the wish is refused before anything is changed."""
        model = self._chats.model_id_of(fork_request.model)
        now = self._clock.now()
        decides = Scope.DECIDE in principal.scopes
        config = replace(
            chat.config,
            model_id=model or chat.config.model_id,
            autonomy=chat.config.autonomy if decides else Autonomy.ASK,  # only a person raises it
        )
        return Chat(
            self._clock.new_id(),
            chat.title,
            chat.workspace,
            config,
            created_at=now,
            updated_at=now,
            visibility=chat.visibility,
            owner=owner_of(principal),
        )

    def _copied_messages(self, new: Chat, messages: Sequence[Message]) -> list[Message]:
        """Copies with new ids: an id names one message. Messages of one turn stay together."""
        turns: dict[str, str] = {}
        return [
            replace(
                message,
                id=self._clock.new_id(),
                chat_id=new.id,
                turn_id=turns.setdefault(message.turn_id, self._clock.new_id()) if message.turn_id else None,
                job_id=None,
                task_id=None,
            )
            for message in messages
            if message.task_id is None  # a worker's own steps belong to its job
        ]

    def _note(self, new: Chat, old: Chat, message_id: str) -> Message:
        payload: Json = {"forked_from": {"context_id": old.id, "message_id": message_id}}
        text, new_id, now = f"Forked from '{old.title}'.", self._clock.new_id(), self._clock.now()
        if new.workspace != old.workspace:
            text += f" This chat works in a copy of its files, in {shown_path(new.workspace)}."
        return Message(new_id, new.id, Speaker.SYSTEM, text, payload=payload, created_at=now)

    async def _write(self, principal: Principal, source: str, new: Chat, messages: Sequence[Message]) -> None:
        """Writes the chat; a copy of the workspace `source` has the origins of its files."""
        writes: list[Write] = [AddChat(new, principal.label())]
        if new.workspace != source:
            writes.append(CopyFileOrigins(source, new.workspace))
        for start in range(0, len(messages), _AT_ONCE):
            part = messages[start : start + _AT_ONCE]
            plans = [m.id for m in part if m.message_type is MessageType.PLAN and m.payload]
            writes += [*part, *(PlanRow(plan, new.id, PlanState.OPEN) for plan in plans)]
            await self._chat_coordinator.write(principal, new.id, *writes)
            writes = []


def _up_to(history: Sequence[Message], message_id: str) -> list[Message]:
    """Returns the messages that the fork has: no call without its result. Raises: NotFound."""
    index = next((position for position, message in enumerate(history) if message.id == message_id), None)
    if index is None:
        raise NotFound("message", message_id)
    copied = history[: index if history[index].role is Speaker.USER else index + 1]
    settled = {_named(message, "tool_call_id") for message in copied if message.message_type is MessageType.TOOL_RESULT}
    return [
        message
        for message in copied
        if message.message_type is not MessageType.TOOL_CALL or _named(message, "id") in settled
    ]


def _named(message: Message, key: str) -> object:
    return (message.payload or {}).get(key)
