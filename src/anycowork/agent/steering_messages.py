"""Steering: hands a person's messages to the running turn, between two of its steps."""

from anycowork.agent.call_hooks import TurnHooks
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain import event_factory
from anycowork.domain.errors import Invalid, NotAllowed, NotFound
from anycowork.domain.evidence import split_stated, stated_payload
from anycowork.domain.hooks import denied, denied_message, origins_of_words, runs_json
from anycowork.domain.journal import Change, RemoveQueued, RequireAccess
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.origins import join
from anycowork.domain.people import AccessLevel, authorship
from anycowork.domain.ports import Clock
from anycowork.domain.principals import origins_of_sender, read_label
from anycowork.domain.values import replace
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store


class Steering:
    def __init__(
        self, *, journal: Journal, recorder: TurnRecorder, store: Store, clock: Clock, hooks: TurnHooks | None = None
    ) -> None:
        self._hooks = hooks
        self._journal = journal
        self._recorder = recorder
        self._store = store
        self._clock = clock

    async def take(self, context: TurnContext) -> None:
        """Moves waiting messages into the turn's history. Call it when no call is open: a call stays together with its result.

        A job's turns take none: the message waits until the chat is idle.
        """
        if context.turn.job_id is not None:
            return
        for queued in await self._store.queue.of_chat(context.chat.id):
            if not queued.steer:
                return
            runs = await self._hooks.before_message(context.chat, queued.content) if self._hooks else ()
            message = Message(
                queued.id,
                context.chat.id,
                Speaker.USER,
                queued.content[queued.content.startswith("//") :],  # two slashes mean one
                payload={
                    "steering": True,
                    **runs_json(runs),
                    **_stated(queued.content),
                    **authorship(read_label(queued.principal).person),
                },
                turn_id=context.turn.id,
                created_at=self._clock.now(),
            )
            message = replace(message, origins=join(origins_of_sender(queued.principal), origins_of_words(runs)))
            if refusal := denied(runs):
                message = denied_message(message, refusal, runs)
            sent = event_factory.queue_updated(queued, "removed" if refusal else "sent")
            author = read_label(queued.principal).person
            required = (
                (RequireAccess(author.id, AccessLevel.MEMBER),) if author else ()
            )  # a hook may have taken a minute
            writes = (*required, RemoveQueued(queued.id), message)
            change = Change(context.chat.id, writes, (sent,), principal=queued.principal)
            try:
                await self._recorder.pending(context)  # results that are not written yet come before the message
                await context.write_buffer.write(self._journal, change)
            except (
                NotFound,
                NotAllowed,
            ):  # it was removed in the meantime, or its author was, or sees the chat no more
                continue
            if refusal:
                context.conversation.history.append(message)
                continue
            context.conversation.add_hook_checks(runs)
            context.conversation.add_message(message)


def _stated(content: str) -> Json:
    """Returns what the message states, as far as it can be read. Its checks ask like any call."""
    try:
        return stated_payload(split_stated(content)[1], may_check=False)
    except Invalid:
        return {}
