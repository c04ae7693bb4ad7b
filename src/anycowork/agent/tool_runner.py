"""Runs the calls of one reply: requests all approvals at once, then runs the calls in order, reads in parallel.
Each call passes the gate and is recorded before it takes effect."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import groupby

from pydantic import JsonValue

from anycowork.agent.call_authorizer import CallAuthorizer
from anycowork.agent.call_commit import CallCommit
from anycowork.agent.call_hooks import CallHooks
from anycowork.agent.call_recorder import CallRecorder, allowed_facts, failed_result
from anycowork.agent.check_runs import check_setup
from anycowork.agent.live_questions import LiveQuestions
from anycowork.agent.prompt_sampler import PromptSampler
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_origins import origins_read_by
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.agents import AgentTask
from anycowork.domain.approvals import Approval
from anycowork.domain.errors import (
    AnyCoworkError,
    Refusal,
    RejectedByUser,
    StateChanged,
    ToolFault,
)
from anycowork.domain.model import SampledReply, SamplingPrompt
from anycowork.domain.origins import join
from anycowork.domain.ports import Clock
from anycowork.domain.question import Question
from anycowork.domain.snapshots import Snapshot, shown_path
from anycowork.domain.telemetry import Telemetry
from anycowork.domain.tool_ports import NO_COMMIT, Toolbox, ToolContext
from anycowork.domain.tools import Call, CallState, CallStatus, Intent, ToolResult
from anycowork.domain.values import replace, value
from anycowork.permissions.admission import Admitted, MustAsk
from anycowork.permissions.budgets import CostOf
from anycowork.permissions.gate import Gate
from anycowork.permissions.roles import RoleRegistry
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.tools.language.diagnostics import ERRORS_FACT, with_errors
from anycowork.tools.language.language_servers import LanguageServers


@value
class CallsParked:
    """The calls wait for a person; the segment ends."""


@value
class CallsDone:
    """`terminate`: a successful call ends the turn; `faults` counts invalid calls of the model."""

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
        roles: RoleRegistry,
        clock: Clock,
        cost_of: CostOf,
        questions: LiveQuestions | None,
        sampling: PromptSampler | None,
        telemetry: Telemetry,
        hooks: CallHooks | None = None,
        language_servers: LanguageServers | None = None,
    ) -> None:
        self._gate = gate
        self._questions = questions
        self._sampling = sampling
        self.hidden = gate.hidden
        self._hooks = hooks
        self._language_servers = language_servers
        self._authorizer = CallAuthorizer(
            gate=gate, journal=journal, store=store, roles=roles, clock=clock, cost_of=cost_of, hooks=hooks
        )
        self._recorder = CallRecorder(journal=journal, store=store, workspaces=workspaces, clock=clock)
        self._journal = journal
        self._toolbox = toolbox
        self._workspaces = workspaces
        self._snapshots = snapshots
        self._clock = clock
        self._telemetry = telemetry

    async def run(self, context: TurnContext) -> CallsParked | CallsDone:
        """Runs every open call of the turn, or parks the turn until a person has decided."""
        batch = context.calls.open()
        if len(batch) == 1 and self._only_reads(batch[0]):
            return await self._run_single_read(context, batch[0])
        await context.write_buffer.write(self._journal)
        if await self._request_approvals(context, batch):
            return CallsParked()
        batch = context.calls.open()
        for group in _side_by_side(batch, self._only_reads):
            outcomes = await self._run_group(context, group)
            if any(outcomes):
                return CallsParked()
        return _done([context.calls.by_id(call.id) for call in batch])

    async def authorization(self, context: TurnContext, call: Call) -> Admitted | MustAsk | AnyCoworkError:
        """Returns what the gate would say to the call now; nobody is asked."""
        return await self._authorizer.authorize(context, call)

    async def passes_unasked(self, context: TurnContext, call: Call) -> bool:
        """Whether the gate would admit the call now without asking anybody."""
        return isinstance(await self.authorization(context, call), Admitted)

    async def _run_single_read(self, context: TurnContext, call: Call) -> CallsParked | CallsDone:
        """Runs a single read. It has no effect to settle, so call and result are written together with the next change."""
        authorization = await self._authorizer.authorize(context, call)
        if isinstance(authorization, MustAsk):
            await context.write_buffer.write(self._journal)
            await self._recorder.park(context, [authorization.approval])
            return CallsParked()
        result = (
            self._with_hooks(context, call, await self._recorder.refused(context, call, authorization))
            if isinstance(authorization, AnyCoworkError)
            else await self._effect(context, authorization, call)
        )
        settled, message, event = self._recorder.settled(context, call, result)
        context.write_buffer.pending += (settled, message)
        context.write_buffer.announcements += (event, *context.plan_events(settled))
        context.calls.update(settled)
        context.conversation.history.append(message)
        return CallsDone(terminate=_terminates(settled), faults=int(_is_fault(settled)))

    async def _request_approvals(self, context: TurnContext, batch: list[Call]) -> bool:
        """Requests all approvals of the batch at once, before any call runs; returns whether the turn is parked."""
        approvals: list[Approval] = []
        planned = 0
        expected: set[str] = set()
        for call in batch:
            authorization = await self._authorizer.authorize(context, call, planned=planned, expected=expected)
            if call.plan_step is not None:
                expected.add(call.plan_step)
            planned += isinstance(authorization, Admitted) and authorization.plan_step is not None
            if isinstance(authorization, MustAsk):
                approvals.append(authorization.approval)
            elif isinstance(authorization, Refusal):
                await self._recorder.settle(
                    context, call, self._with_hooks(context, call, failed_result(authorization))
                )
        if approvals:
            await self._recorder.park(context, approvals)
        return bool(approvals)

    async def _run_group(self, context: TurnContext, group: list[Call]) -> list[MustAsk | None]:
        if len(group) == 1:
            return [await self._run_call(context, group[0])]
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self._run_call(context, call)) for call in group]
        except ExceptionGroup as several:
            raise several.exceptions[0] from several
        return [task.result() for task in running]

    async def _run_call(self, context: TurnContext, call: Call) -> MustAsk | None:
        """Runs one call. A call that changes files holds the workspace's lease from the last check to the recorded result."""
        if not self._needs_lease(call):
            return await self._run_now(context, call, epoch=None)
        async with self._workspaces.writing(context.workspace.root) as epoch:
            return await self._run_now(context, call, epoch=epoch)

    async def _run_now(self, context: TurnContext, call: Call, *, epoch: int | None) -> MustAsk | None:
        authorization = await self._authorizer.authorize(context, call)
        if isinstance(authorization, MustAsk):
            await self._recorder.park(context, [authorization.approval])
            return authorization
        if isinstance(authorization, AnyCoworkError):
            refused = self._with_hooks(context, call, await self._recorder.refused(context, call, authorization))
            await self._recorder.settle(context, call, refused)
            return None
        if authorization.tool.spec.read_only:
            await self._recorder.settle(context, call, await self._effect(context, authorization, call))
            return None
        if epoch is None and authorization.tool.spec.needs_lease:
            await self._recorder.settle(context, call, ToolResult.failed(_tools_changed()))
            return None
        try:
            before = await self._images(context, call, authorization.prepared.touched)
        except (ToolFault, Refusal) as error:
            await self._recorder.settle(context, call, ToolResult.failed(error))
            return None
        try:
            if call.held is None:  # held changes are only committed, and the commit records its own intent
                await self._intend(context, call, authorization, epoch, before)
        except RejectedByUser as denied:
            await self._recorder.settle(context, call, failed_result(denied))
            return None
        commit = CallCommit(
            context,
            call,
            authorization,
            epoch=epoch,
            before=before,
            gate=self._gate,
            recorder=self._recorder,
            snapshots=self._snapshots,
        )
        message_id = self._clock.new_id()
        live = LiveOutput(self._journal, call, message_id)
        try:
            result = await self._effect(context, authorization, call, commit=commit, progress=live.append)
        finally:
            live.end()
        if commit.waiting is not None:
            held_call = replace(context.calls.by_id(call.id), intent=_with_origins(commit.waiting, result))
            return await self._wait(context, held_call)
        result = replace(result, facts={**result.facts, **allowed_facts(authorization), **_unkept_fact(before)})
        after = await commit.snapshots_after()
        await self._recorder.settle(context, context.calls.by_id(call.id), result, after, message_id=message_id)
        return None

    async def _wait(self, context: TurnContext, call: Call) -> MustAsk | None:
        """Parks a call that has run and whose changes wait for a person, unless the gate refuses them."""
        context.calls.update(call)
        authorization = await self._authorizer.authorize(context, call)
        if isinstance(authorization, MustAsk):
            await self._recorder.park(context, [authorization.approval])
            return authorization
        fault = (
            authorization
            if isinstance(authorization, AnyCoworkError)
            else StateChanged("Nobody has seen these changes yet.")
        )
        await self._recorder.settle(context, call, await self._recorder.refused(context, call, fault))
        return None

    async def _images(self, context: TurnContext, call: Call, paths: Sequence[str]) -> list[Snapshot]:
        """Saves what the call is about to change, for undo; nothing if it names no files."""
        return [await self._snapshots.before(call, context.workspace, tuple(paths))] if paths else []

    async def _intend(
        self, context: TurnContext, call: Call, admitted: Admitted, epoch: int | None, before: list[Snapshot]
    ) -> None:
        """Records the intent before the effect: the state before, and the intended state."""
        step = call.plan_step or admitted.plan_step
        intended = replace(call, state=CallState.INTENT, intent=admitted.prepared.intent, plan_step=step)
        await self._recorder.make_durable(context, intended, epoch, before)

    async def _effect(
        self,
        context: TurnContext,
        admitted: Admitted,
        call: Call,
        *,
        commit: CallCommit | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> ToolResult:
        if commit is None and not admitted.tool.spec.read_only:  # it was treated as a read before the tools changed
            return ToolResult.failed(_tools_changed())
        tool_context = context.tool_context(admitted.permissions, commit=commit or NO_COMMIT, hidden=admitted.hidden)
        if admitted.policy.named_literally:
            tool_context = replace(tool_context, named_network=admitted.policy.named_literally)
        if call.provenance.check:
            tool_context = replace(tool_context, check=check_setup(context.calls))
        if commit is not None:
            tool_context = replace(
                tool_context,
                progress=progress,
                ask=self._ask_of(context, call),
                sample=self._sample_of(context),
                ask_agent=self._ask_agent_of(context, call, admitted),
            )
        with self._telemetry.tool_call(context.turn, call, admitted.tool.spec) as outcome:
            try:
                outcome.result = await admitted.tool.run(admitted.prepared, tool_context)
            except RejectedByUser as denied:
                outcome.result = failed_result(denied)
            except (ToolFault, Refusal) as error:
                outcome.result = ToolResult.failed(error)
            outcome.result = self._with_late_errors(call, tool_context, outcome.result)
            files = await self._recorder.origins_in_view(context, admitted.tool.spec, admitted.prepared, outcome.result)
            read_origins = origins_read_by(admitted.tool.spec, admitted.prepared, files)
            origins = join(outcome.result.origins, read_origins, context.conversation.looked_up_origins)
            outcome.result = replace(outcome.result, origins=origins)
        return outcome.result if self._hooks is None else await self._hooks.after(context, call, outcome.result)

    def _with_late_errors(self, call: Call, tool_context: ToolContext, result: ToolResult) -> ToolResult:
        """Returns the result with what a language server found too late for the result of the turn's edit."""
        if self._language_servers is None or call.provenance.check or ERRORS_FACT in result.facts:
            return result
        errors = self._language_servers.late_errors(tool_context)
        return result if errors is None else with_errors(result, errors)

    def _with_hooks(self, context: TurnContext, call: Call, result: ToolResult) -> ToolResult:
        return result if self._hooks is None else self._hooks.recorded(context, call, result)

    def _ask_of(self, context: TurnContext, call: Call) -> Callable[[Question], Awaitable[str | None]] | None:
        """A worker of a job has nobody to ask: its chat goes on beside it."""
        questions = self._questions
        if questions is None or context.turn.job_id is not None:
            return None
        return lambda question: questions.ask(context, call, question)

    def _sample_of(self, context: TurnContext) -> Callable[[SamplingPrompt], Awaitable[SampledReply]] | None:
        sampling = self._sampling
        return None if sampling is None else lambda prompt: sampling.sample(context, prompt)

    def _ask_agent_of(
        self, context: TurnContext, call: Call, admitted: Admitted
    ) -> Callable[[AgentTask], Awaitable[ToolResult]] | None:
        ask_agent, allowed_by = context.assignment.ask_agent, admitted.decided_by if admitted.approval_id else None
        if ask_agent is None:
            return None
        return lambda task: ask_agent(context, call, replace(task, allowed_by=allowed_by))

    def _only_reads(self, call: Call) -> bool:
        tool = self._toolbox.find(call.tool)
        return tool is None or tool.spec.read_only

    def _needs_lease(self, call: Call) -> bool:
        tool = self._toolbox.find(call.tool)
        return tool is not None and tool.spec.needs_lease


def _side_by_side(calls: list[Call], reads: Callable[[Call], bool]) -> Iterator[list[Call]]:
    """Groups adjacent reads of the same plan step, or of none; every other call is a separate group."""
    for (only_reads, _), group in groupby(calls, key=lambda call: (reads(call), call.plan_step)):
        if only_reads:
            yield list(group)
        else:
            yield from ([call] for call in group)


def _done(settled: list[Call]) -> CallsDone:
    return CallsDone(terminate=any(map(_terminates, settled)), faults=sum(map(_is_fault, settled)))


def _with_origins(intent: Intent, result: ToolResult) -> Intent:
    """Returns held changes whose output says where it came from."""
    if intent.held is None:
        return intent
    ran = replace(intent.held.result, origins=result.origins)
    return replace(intent, held=replace(intent.held, result=ran))


def _unkept_fact(before: Sequence[Snapshot]) -> dict[str, JsonValue]:
    """Tells how many older files cannot be brought back, and one of them; nothing if all can."""
    unkept = [path for snapshot in before for path in snapshot.unkept()]
    return {"unkept": {"files": len(unkept), "first": shown_path(unkept[0])}} if unkept else {}


def _tools_changed() -> StateChanged:
    return StateChanged("The tools changed at the same time. Make the call again.")


def _terminates(call: Call) -> bool:
    """Whether the call ends the turn: only a successful call can."""
    return call.terminate and call.result is not None and call.result.status is CallStatus.OK


def _is_fault(call: Call) -> bool:
    return call.result is not None and call.result.was_model_fault


EVERY_SECONDS = 0.1
MOST = 64_000  # characters of one call: a person cannot read more while it scrolls by


class LiveOutput:
    """Publishes the output under the id of the later result message, which then replaces it. Finish it with `end`."""

    def __init__(self, journal: Journal, call: Call, message_id: str) -> None:
        self._journal = journal
        self._call = call
        self._message_id = message_id
        self._shown = 0
        self._waiting = ""
        self._timer: asyncio.TimerHandle | None = None

    def append(self, text: str) -> None:
        self._waiting += text[: MOST - self._shown - len(self._waiting)]
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._show)

    def end(self) -> None:
        """Stops; the rest of the output comes with the result."""
        if self._timer is not None:
            self._timer.cancel()

    def _show(self) -> None:
        self._timer = None
        call, text, offset = self._call, self._waiting, self._shown
        self._waiting, self._shown = "", offset + len(text)
        self._journal.show(call.chat_id, call.turn_id, call.id, self._message_id, offset, text)
