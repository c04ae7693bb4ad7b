"""Questions that a running call asks the person of its chat, such as an MCP server's. The call waits for the answer in memory.

A call in flight cannot be parked: the program that asks would not survive it. If the turn ends first, the question is withdrawn with it.
"""

import asyncio

from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_origins import authors_of
from anycowork.domain import event_factory
from anycowork.domain.approvals import QuestionRow
from anycowork.domain.chats import ChatState
from anycowork.domain.journal import Change, SetChat
from anycowork.domain.messages import ASKED_BY, Message, MessageType, Speaker
from anycowork.domain.origins import join, written_by_model
from anycowork.domain.ports import Clock
from anycowork.domain.question import Question
from anycowork.domain.tools import Call
from anycowork.store.sql.journal import Journal

ANSWER_SECONDS = 24 * 3600.0  # seconds; a server is not held longer than this


class LiveQuestions:
    """One question of a chat at a time. The person's thinking does not count as time of the turn."""

    def __init__(self, *, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._chats: dict[str, asyncio.Lock] = {}

    async def ask(self, context: TurnContext, call: Call, question: Question) -> str | None:
        """The value or the text that the person answered with; None if no answer came."""
        async with self._chats.setdefault(context.chat.id, asyncio.Lock()):
            message = self._message(context, call, question)
            answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._waiting[message.id] = answered
            try:
                writes = (
                    message,
                    QuestionRow(message.id, context.chat.id, context.turn.id),
                    SetChat(state=ChatState.AWAITING_ANSWER),
                )
                await self._journal.write(Change(context.chat.id, writes, (event_factory.question(message),)))
                with context.time.paused(self._clock.monotonic):
                    async with asyncio.timeout(ANSWER_SECONDS):
                        return await answered
            except TimeoutError:
                return None
            finally:
                del self._waiting[message.id]

    def is_waiting(self, message_id: str) -> bool:
        return message_id in self._waiting

    def answer(self, message_id: str, text: str) -> None:
        """Hands the answer, which is durable already, to the call that waits for it."""
        waiting = self._waiting.get(message_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(text)

    def _message(self, context: TurnContext, call: Call, question: Question) -> Message:
        """The question is a message of the assistant in the words of whoever answers the call."""
        tool = context.toolbox.find(call.tool)
        return Message(
            id=self._clock.new_id(),
            chat_id=context.chat.id,
            role=Speaker.ASSISTANT,
            content=question.question,
            message_type=MessageType.QUESTION,
            payload={**question.to_json(), ASKED_BY: call.id},
            agent_role=context.role.name,
            turn_id=context.turn.id,
            created_at=self._clock.now(),
            origins=join(written_by_model(context.conversation.origins), authors_of(tool.spec) if tool else ()),
        )
