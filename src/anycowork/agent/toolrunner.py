"""Runs the calls of one reply: asks for all of them at once, then does them in order, reads side by side.
Each passes the door, is written down, and only then takes effect."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import groupby

from anycowork.agent.live import LiveOutput
from anycowork.agent.moment import Moment
from anycowork.agent.refusing import failed, of_held
from anycowork.agent.verdicts import Verdicts
from anycowork.domain import announce
from anycowork.domain.approvals import Approval
from anycowork.domain.chats import ChatState, TurnState
from anycowork.domain.errors import (
    AnyCoworkError,
    Refusal,
    RejectedByUser,
    StateChanged,
    ToolFault,
)
from anycowork.domain.events import Draft
from anycowork.domain.journal import Change, RequireLease, RequireNoDenial, SetChat, Write
from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.plan import Plan
from anycowork.domain.ports import Clock, Journal, Snapshots, Store, Toolbox, Workspaces, names_nothing
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tools import Call, CallState, Intent, Status, ToolResult
from anycowork.domain.values import replace, value
from anycowork.permissions.budgets import CostOf
from anycowork.permissions.gate import Admitted, Gate, MustAsk
from anycowork.permissions.grants import names_file
from anycowork.permissions.roles import RoleBook


@value
class Parked:
    """The calls wait for a person; the segment ends here."""


@value
class Done:
    """`terminate` if a call that succeeded was meant to end the turn; `faults` counts calls that the model got wrong."""

    terminate: bool
    faults: int


class ToolRunner:
    def __init__(
        self,
        *,
        gate: Gate,
        journal: Journal,
        store: Store,
        toolbox: Toolbox,
        workspaces: Workspaces,
        snapshots: Snapshots,
        roles: RoleBook,
        clock: Clock,
        cost_of: CostOf = lambda used: None,
    ) -> None:
        self._gate = gate
        self.hidden = gate.hidden
        self._verdicts = Verdicts(gate=gate, journal=journal, store=store, roles=roles, clock=clock, cost_of=cost_of)
        self._journal = journal
        self._store = store
        self._toolbox = toolbox
        self._workspaces = workspaces
        self._snapshots = snapshots
        self._clock = clock

    async def run(self, moment: Moment) -> Parked | Done:
        """Takes every open call of the turn to its result, or parks the turn on what a person must decide first."""
        batch = moment.open_calls()
        if len(batch) == 1 and self._only_reads(batch[0]):
            return await self._take_one_read(moment, batch[0])
        await moment.unwritten.write(self._journal)
        if await self._ask_for_all(moment, batch):
            return Parked()
        batch = moment.open_calls()
        for group in _side_by_side(batch, self._only_reads):
            verdicts = await self._take_all(moment, group)
            if any(verdicts):
                return Parked()
        return _done([moment.call(call.id) for call in batch])

    async def passes_unasked(self, moment: Moment, call: Call) -> bool:
        """Whether the door would let it in now without asking anybody."""
        return isinstance(await self._verdicts.on(moment, call), Admitted)

    async def _take_one_read(self, moment: Moment, call: Call) -> Parked | Done:
        """It has no effect to settle, so call and result are written with what follows at once: the next question's budget, or the end."""
        verdict = await self._verdicts.on(moment, call)
        if isinstance(verdict, MustAsk):
            await moment.unwritten.write(self._journal)
            await self._park(moment, [verdict.approval])
            return Parked()
        result = failed(verdict) if isinstance(verdict, AnyCoworkError) else await self._effect(moment, verdict, call)
        settled, message, event = self._settled(moment, call, result)
        moment.pending += (settled, message)
        moment.announcements += (event, *moment.plan_news(settled))
        moment.put(settled)
        moment.history.append(message)
        return _done([settled])

    async def _ask_for_all(self, moment: Moment, batch: list[Call]) -> bool:
        """One card for the whole batch: every call that must be asked is asked before any of them runs."""
        approvals: list[Approval] = []
        planned = 0
        expected: set[str] = set()
        for call in batch:
            verdict = await self._verdicts.on(moment, call, planned=planned, expected=expected)
            if call.plan_step is not None:
                expected.add(call.plan_step)
            planned += isinstance(verdict, Admitted) and verdict.plan_step is not None
            if isinstance(verdict, MustAsk):
                approvals.append(verdict.approval)
            elif isinstance(verdict, Refusal):
                await self._settle(moment, call, failed(verdict))
        if approvals:
            await self._park(moment, approvals)
        return bool(approvals)

    async def _take_all(self, moment: Moment, group: list[Call]) -> list[MustAsk | None]:
        if len(group) == 1:
            return [await self._take(moment, group[0])]
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self._take(moment, call)) for call in group]
        except ExceptionGroup as several:
            raise several.exceptions[0] from several
        return [task.result() for task in running]

    async def _take(self, moment: Moment, call: Call) -> MustAsk | None:
        """One call to its result. What changes files holds the workspace's lease from the last look to the recorded result."""
        if self._only_reads(call):
            return await self._take_now(moment, call, epoch=None)
        async with self._workspaces.writing(moment.workspace.root) as epoch:
            return await self._take_now(moment, call, epoch=epoch)

    async def _take_now(self, moment: Moment, call: Call, *, epoch: int | None) -> MustAsk | None:
        verdict = await self._verdicts.on(moment, call)
        if isinstance(verdict, MustAsk):
            await self._park(moment, [verdict.approval])
            return verdict
        if isinstance(verdict, AnyCoworkError):
            await self._settle(moment, call, failed(verdict))
            return None
        if epoch is None:
            await self._settle(moment, call, await self._effect(moment, verdict, call))
            return None
        try:
            before = await self._images(moment, call, verdict.prepared.touched)
        except (ToolFault, Refusal) as error:
            await self._settle(moment, call, ToolResult.failed(error))
            return None
        try:
            if call.held is None:  # else it is not run again: its commit is written down by itself
                await self._intend(moment, call, verdict, epoch, before)
        except RejectedByUser as denied:
            await self._settle(moment, call, failed(denied))
            return None
        waiting: list[Intent] = []
        intend = self._commit_intent(moment, call.id, epoch, before)
        message_id = self._clock.new_id()
        live = LiveOutput(self._journal, call, message_id)
        try:
            result = await self._effect(moment, verdict, call, intend=intend, hold=waiting.append, progress=live.tell)
        finally:
            live.end()
        if waiting:
            return await self._wait(moment, replace(moment.call(call.id), intent=waiting[0]))
        result = replace(result, facts={**result.facts, "allowed_by": verdict.allowed_by})
        after = [await self._snapshots.after(each, moment.workspace) for each in before]
        taken = [each for each in after if each]
        await self._settle(moment, moment.call(call.id), result, taken, message_id=message_id)
        return None

    async def _wait(self, moment: Moment, call: Call) -> MustAsk | None:
        """The call has run and its changes wait: the turn is parked on a person's word, unless the house says no by itself."""
        moment.put(call)
        verdict = await self._verdicts.on(moment, call)
        if isinstance(verdict, MustAsk):
            await self._park(moment, [verdict.approval])
            return verdict
        fault = verdict if isinstance(verdict, AnyCoworkError) else StateChanged("Nobody has seen these changes yet.")
        await self._settle(moment, call, failed(fault))
        return None

    async def _images(self, moment: Moment, call: Call, paths: Sequence[str]) -> list[Snapshot]:
        """What the call is about to change, kept so that it can be undone; nothing if it names no files."""
        return [await self._snapshots.before(call, moment.workspace, tuple(paths))] if paths else []

    async def _intend(self, moment: Moment, call: Call, admitted: Admitted, epoch: int, before: list[Snapshot]) -> None:
        """Write it down, then do it: durable before the effect, with what is there and what shall be there."""
        step = call.plan_step or admitted.plan_step
        intended = replace(call, state=CallState.INTENT, intent=admitted.prepared.intent, plan_step=step)
        await self._make_durable(moment, intended, epoch, before)

    def _commit_intent(
        self, moment: Moment, call_id: str, epoch: int, before: list[Snapshot]
    ) -> Callable[[Intent], Awaitable[None]]:
        """For a tool that learns only while it runs what it will change: the same promises, made then."""

        async def intend(intent: Intent) -> None:
            intended = replace(moment.call(call_id), state=CallState.INTENT, intent=intent)
            taken = await self._images(moment, intended, [item.path for item in intent.paths])
            await self._make_durable(moment, intended, epoch, taken)
            before.extend(taken)

        return intend

    async def _make_durable(self, moment: Moment, intended: Call, epoch: int, taken: list[Snapshot]) -> None:
        required: list[Write] = [RequireLease(moment.workspace.root, epoch)]
        if moment.call(intended.id).state is CallState.ASKING:
            required.append(
                RequireNoDenial(intended.id)
            )  # the last word, in the transaction that comes before the effect
        events = tuple(announce.snapshot(each) for each in taken)
        await self._journal.write(Change(intended.chat_id, (*required, intended, *taken), events))
        moment.put(intended)

    async def _effect(
        self,
        moment: Moment,
        admitted: Admitted,
        call: Call,
        *,
        intend: Callable[[Intent], Awaitable[None]] | None = None,
        hold: Callable[[Intent], None] | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> ToolResult:
        if intend is None and not admitted.tool.spec.read_only:  # it was taken for a read, before a plugin came or went
            return ToolResult.failed(StateChanged("The tools changed at that very moment. Make the call again."))
        named = _named_by(moment.plan, admitted.plan_step) if moment.plan else names_nothing
        hands = moment.hands(admitted.permissions, intend=intend, named=named, hidden=admitted.judged.hidden)
        if hold is not None:
            hands = replace(
                hands,
                progress=progress,
                named_network=admitted.judged.named_literally,
                weigh=lambda changes: self._gate.weigh(call, changes, moment.workspace.root),
                hold=hold,
                asks_at_commit=admitted.asks_at_commit,
                held=call.held,
            )
        try:
            return await admitted.tool.run(admitted.prepared, hands)
        except RejectedByUser as denied:
            return failed(denied)
        except (ToolFault, Refusal) as error:
            return ToolResult.failed(error)

    async def _settle(
        self,
        moment: Moment,
        call: Call,
        result: ToolResult,
        taken: Sequence[Snapshot] = (),
        *,
        message_id: str | None = None,
    ) -> None:
        """Result, message, snapshot and events in one transaction. What waited for this call waits no longer."""
        if call.held is not None:
            result = of_held(call.held, result)
            await asyncio.to_thread(self._workspaces.let_go, call.held, keep=False)
        settled, message, event = self._settled(moment, call, result, message_id)
        events = (event, *(announce.snapshot(each) for each in taken), *moment.plan_news(settled))
        await self._journal.write(Change(call.chat_id, (settled, message, *taken), events))
        moment.put(settled)
        moment.history.append(message)

    def _settled(
        self, moment: Moment, call: Call, result: ToolResult, message_id: str | None = None
    ) -> tuple[Call, Message, Draft]:
        settled = replace(call, state=CallState.SETTLED, result=result)
        message = result_message(
            settled, result, message_id=message_id or self._clock.new_id(), at=self._clock.now(), role=moment.role.name
        )
        return settled, message, announce.tool_result(settled, result)

    async def _park(self, moment: Moment, approvals: list[Approval]) -> None:
        """The approvals, the turn at rest and the chat's state become durable together."""
        asked = {approval.tool_call_id: approval for approval in approvals}
        known = {approval.id for approval in await self._store.approvals(moment.chat.id)}
        new = [approval for approval in approvals if approval.id not in known]
        calls = [replace(call, state=CallState.ASKING) for call in moment.open_calls() if call.id in asked]
        moment.turn = replace(moment.turn, state=TurnState.PARKED, seconds=moment.seconds_at(self._clock.monotonic()))
        writes: list[Write] = [*calls, *new, moment.turn, SetChat(state=ChatState.AWAITING_APPROVAL)]
        await self._journal.write(
            Change(moment.chat.id, tuple(writes), tuple(announce.permission_request(a) for a in new))
        )
        for call in calls:
            moment.put(call)

    def _only_reads(self, call: Call) -> bool:
        tool = self._toolbox.find(call.tool)
        return tool is None or tool.spec.read_only


def result_message(call: Call, result: ToolResult, *, message_id: str, at: str, role: str) -> Message:
    return Message(
        id=message_id,
        chat_id=call.chat_id,
        role=Speaker.TOOL,
        content=result.content,
        message_type=MessageType.TOOL_RESULT,
        payload=announce.result_json(call, result),
        agent_role=role,
        turn_id=call.turn_id,
        created_at=at,
    )


def _side_by_side(calls: list[Call], reads: Callable[[Call], bool]) -> Iterator[list[Call]]:
    """Neighbouring reads for one step of a plan, or for none, form one group; every other call is a group of its own."""
    for (only_reads, _), group in groupby(calls, key=lambda call: (reads(call), call.plan_step)):
        if only_reads:
            yield list(group)
        else:
            yield from ([call] for call in group)


def _done(settled: list[Call]) -> Done:
    return Done(terminate=any(map(_terminates, settled)), faults=sum(map(_is_fault, settled)))


def _named_by(plan: Plan, step_id: str | None) -> Callable[[str], bool]:
    """Whether the step that covers a call names a file by its own name."""
    patterns = [path for step in plan.steps if step.id == step_id for path in step.paths]
    return lambda path: any(names_file(pattern, path) for pattern in patterns)


def _terminates(call: Call) -> bool:
    """Only a call that succeeded ends a turn: after a failed step nothing is done."""
    return call.terminate and call.result is not None and call.result.status is Status.OK


def _is_fault(call: Call) -> bool:
    return call.result is not None and call.result.was_model_fault
