"""Lets the person's hooks look at a message before it is stored."""

from anycowork.agent.call_hooks import TurnHooks
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat
from anycowork.domain.hooks import HookRuns, denied, denied_message
from anycowork.domain.journal import RemoveQueued, Write
from anycowork.domain.messages import QueuedMessage, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.record_factory import IDLE, RecordFactory, require_idle


class MessageHooks:
    def __init__(self, hooks: TurnHooks, chat_coordinator: ChatCoordinator, clock: Clock) -> None:
        self._hooks = hooks
        self._chat_coordinator = chat_coordinator
        self._draft = RecordFactory(clock)

    async def before(
        self, principal: Principal, chat: Chat, content: str, queued: QueuedMessage | None = None
    ) -> HookRuns:
        """Runs the hooks. A message that one denies is not stored; a note in the chat tells of it, and it leaves the queue.

        Raises: DeniedByHook.
        """
        if chat.state not in IDLE:
            return ()  # it will be refused
        runs = await self._hooks.before_message(chat, content)
        refusal = denied(runs)
        if refusal is None:
            return runs
        writes: list[Write] = [denied_message(self._draft.message(chat, Speaker.SYSTEM, ""), refusal, runs)]
        writes += [RemoveQueued(queued.id)] if queued else []
        events = (event_factory.queue_updated(queued, "removed"),) if queued else ()
        await self._chat_coordinator.write(principal, chat.id, require_idle(chat), *writes, events=events)
        raise refusal
