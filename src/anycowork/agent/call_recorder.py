"""Writes what becomes of a call, each in one transaction: its intent before the effect, its result after it, or the approvals it waits for."""

import asyncio
from collections.abc import Sequence

from anycowork.agent.error_results import result_of_held
from anycowork.agent.turn_context import TurnContext
from anycowork.domain import event_factory
from anycowork.domain.approvals import Approval
from anycowork.domain.chats import ChatState, TurnState
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Change, RequireLease, RequireNoDenial, SetChat, Write
from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.ports import Clock, Journal, Store, Workspaces
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tools import Call, CallState, ToolResult
from anycowork.domain.values import replace


class CallRecorder:
    def __init__(self, *, journal: Journal, store: Store, workspaces: Workspaces, clock: Clock) -> None:
        self._journal = journal
        self._store = store
        self._workspaces = workspaces
        self._clock = clock

    async def make_durable(
        self, context: TurnContext, intended: Call, epoch: int | None, taken: list[Snapshot]
    ) -> None:
        required: list[Write] = [] if epoch is None else [RequireLease(context.workspace.root, epoch)]
        if context.call(intended.id).state is CallState.ASKING:
            required.append(
                RequireNoDenial(intended.id)
            )  # the last check, in the transaction directly before the effect
        events = tuple(event_factory.snapshot(each) for each in taken)
        await self._journal.write(Change(intended.chat_id, (*required, intended, *taken), events))
        context.update_call(intended)

    async def settle(
        self,
        context: TurnContext,
        call: Call,
        result: ToolResult,
        taken: Sequence[Snapshot] = (),
        *,
        message_id: str | None = None,
    ) -> None:
        """Write result, message, snapshots and events in one transaction."""
        if call.held is not None:
            result = result_of_held(call.held, result)
            await asyncio.to_thread(self._workspaces.let_go, call.held, keep=False)
        settled, message, event = self.settled(context, call, result, message_id)
        events = (event, *(event_factory.snapshot(each) for each in taken), *context.plan_events(settled))
        await self._journal.write(Change(call.chat_id, (settled, message, *taken), events))
        context.update_call(settled)
        context.history.append(message)

    def settled(
        self, context: TurnContext, call: Call, result: ToolResult, message_id: str | None = None
    ) -> tuple[Call, Message, NewEvent]:
        settled = replace(call, state=CallState.SETTLED, result=result)
        message = result_message(
            settled, result, message_id=message_id or self._clock.new_id(), at=self._clock.now(), role=context.role.name
        )
        return settled, message, event_factory.tool_result(settled, result)

    async def park(self, context: TurnContext, approvals: list[Approval]) -> None:
        """Write the approvals, the parked turn and the chat's state in one transaction."""
        asked = {approval.tool_call_id: approval for approval in approvals}
        known = {approval.id for approval in await self._store.approvals(context.chat.id)}
        new = [approval for approval in approvals if approval.id not in known]
        calls = [replace(call, state=CallState.ASKING) for call in context.open_calls() if call.id in asked]
        context.turn = replace(
            context.turn, state=TurnState.PARKED, seconds=context.seconds_at(self._clock.monotonic())
        )
        writes: list[Write] = [*calls, *new, context.turn, SetChat(state=ChatState.AWAITING_APPROVAL)]
        await self._journal.write(
            Change(context.chat.id, tuple(writes), tuple(event_factory.permission_request(a) for a in new))
        )
        for call in calls:
            context.update_call(call)


def result_message(call: Call, result: ToolResult, *, message_id: str, at: str, role: str) -> Message:
    return Message(
        id=message_id,
        chat_id=call.chat_id,
        role=Speaker.TOOL,
        content=result.content,
        message_type=MessageType.TOOL_RESULT,
        payload=event_factory.result_json(call, result),
        agent_role=role,
        turn_id=call.turn_id,
        created_at=at,
    )
