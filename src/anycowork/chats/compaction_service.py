"""Compacts a chat for the model, and takes it back. The record is not touched: one message says what the model is told instead."""

from anycowork.agent.call_hooks import TurnHooks
from anycowork.domain.errors import Conflict
from anycowork.domain.hooks import denied, origins_of_words, runs_json, texts_of_hooks
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.origins import join
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.values import replace, value
from anycowork.prompts.compaction import COMPACTED, UNDONE, compaction_digest, is_compaction, without_undone
from anycowork.prompts.tokens import BYTES_PER_TOKEN
from anycowork.providers.registry import ProviderRegistry
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.record_factory import IDLE, RecordFactory, require_idle

_SHARE = 5  # a digest takes at most this part of the model's context
_MOST_BYTES = 24_000


class NothingToCompact(Conflict):
    code = "nothing_to_compact"


@value
class CompactedChat:
    """`messages` were left out of what the model is shown; `message_id` is the digest that stands for them."""

    message_id: str
    messages: int


class CompactionService:
    def __init__(
        self,
        *,
        chat_coordinator: ChatCoordinator,
        store: Store,
        providers: ProviderRegistry,
        clock: Clock,
        hooks: TurnHooks,
    ) -> None:
        self._hooks = hooks
        self._chat_coordinator = chat_coordinator
        self._store = store
        self._providers = providers
        self._draft = RecordFactory(clock)

    async def compact(self, principal: Principal, chat_id: str) -> CompactedChat:
        """Lets the model go on from a digest of the record. Raises: NothingToCompact, TurnAlreadyRunning, NoSuchModel, DeniedByHook."""
        principal.require(Scope.DECIDE)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            budget = self._providers.context_tokens(chat.config.model_id) * BYTES_PER_TOKEN // _SHARE
            history = await self._history(chat_id)
            digest = compaction_digest(history, budget_bytes=min(budget, _MOST_BYTES))
            if digest is None or is_compaction(history[-1]):
                raise NothingToCompact("There is nothing to compact: the agent has done nothing here since.")
            runs = await self._hooks.before_compaction(chat) if chat.state in IDLE else ()
            if refusal := denied(runs):
                note = f"The chat was not compacted. {refusal.message}"
                record = self._draft.message(chat, Speaker.SYSTEM, note, payload=runs_json(runs))
                record = replace(record, origins=origins_of_words(runs))
                await self._chat_coordinator.write(principal, chat_id, require_idle(chat), record)
                raise refusal
            payload: Json = {COMPACTED: {"messages": digest.messages}, "summary": True, **runs_json(runs)}
            message = self._draft.message(chat, Speaker.SYSTEM, digest.text + texts_of_hooks(runs), payload=payload)
            message = replace(
                message, origins=join(origins_of_words(runs), *(earlier.came_from for earlier in history))
            )
            await self._chat_coordinator.write(principal, chat_id, require_idle(chat), message)
        return CompactedChat(message.id, digest.messages)

    async def undo(self, principal: Principal, chat_id: str) -> None:
        """Shows the model again what the newest compaction left out, as far as it fits. Raises: NothingToCompact."""
        principal.require(Scope.DECIDE)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            compaction = next(
                (
                    earlier_message
                    for earlier_message in reversed(await self._history(chat_id))
                    if is_compaction(earlier_message)
                ),
                None,
            )
            if compaction is None:
                raise NothingToCompact("This chat is not compacted.")
            note = "Compacting was undone: the model is shown the earlier messages again, as far as they fit."
            message = self._draft.message(chat, Speaker.SYSTEM, note, payload={UNDONE: compaction.id})
            await self._chat_coordinator.write(principal, chat_id, require_idle(chat), message)

    async def _history(self, chat_id: str) -> list[Message]:
        """Returns what a model could be shown at most, without compactions that were taken back and without the work of tasks."""
        turn = await self._store.turns.newest(chat_id)
        recent = await self._store.messages.recent(chat_id, since=turn.message_id if turn else "")
        return without_undone(recent.messages)
