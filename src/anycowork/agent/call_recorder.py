"""Writes what becomes of a call, each in one transaction: its intent before the effect, its result after it, or the approvals it waits for."""

import asyncio
from collections.abc import Sequence
from pathlib import PurePosixPath

from pydantic import JsonValue

from anycowork.agent.step_states import IGNORED_FACT
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_origins import authors_of, origins_of_interrupted
from anycowork.domain import event_factory
from anycowork.domain.approvals import Approval
from anycowork.domain.chats import ChatState, TurnState
from anycowork.domain.errors import AnyCoworkError, Refusal, RejectedByUser, ToolFault
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import AddFileOrigins, Change, RequireLease, RequireNoDenial, SetChat, Write
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.origins import MODEL, NO_ORIGINS, Origins, join, written_by_model
from anycowork.domain.people import DECIDED_BY
from anycowork.domain.ports import Clock
from anycowork.domain.principals import person_name_in
from anycowork.domain.secret_values import hidden_kinds
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, CallState, CallStatus, Intent, ToolResult, ToolSpec
from anycowork.domain.values import replace
from anycowork.permissions.admission import Admitted
from anycowork.sandbox.commit.delta_check import may_change_nothing
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.tools.language.diagnostics import ERRORS_FACT


class CallRecorder:
    def __init__(self, *, journal: Journal, store: Store, workspaces: Workspaces, clock: Clock) -> None:
        self._journal = journal
        self._store = store
        self._workspaces = workspaces
        self._clock = clock

    async def make_durable(
        self, context: TurnContext, intended: Call, epoch: int | None, snapshots: list[Snapshot]
    ) -> None:
        required: list[Write] = [] if epoch is None else [RequireLease(context.workspace.root, epoch)]
        if context.calls.by_id(intended.id).state is CallState.ASKING:
            required.append(
                RequireNoDenial(intended.id)
            )  # the last check, in the transaction directly before the effect
        paths = tuple(item.path for item in intended.intent.paths) if intended.intent else ()
        if paths or _keeps_caches(context, intended):
            origins = await self._written_origins(context, intended)
            required.append(AddFileOrigins(context.workspace.origin, paths, origins))
            snapshots = [replace(snapshot, origins=tuple(sorted(origins))) for snapshot in snapshots]
        events = tuple(event_factory.snapshot(snapshot) for snapshot in snapshots)
        await self._journal.write(Change(intended.chat_id, (*required, intended, *snapshots), events))
        context.calls.update(intended)

    async def settle(
        self,
        context: TurnContext,
        call: Call,
        result: ToolResult,
        snapshots: Sequence[Snapshot] = (),
        *,
        message_id: str | None = None,
    ) -> None:
        """Writes result, message, snapshots and events in one transaction."""
        if call.held is not None:
            result = result_of_held(call.held, result)
            await asyncio.to_thread(self._workspaces.let_go, call.held, keep=False)
        result = await self._with_ignored(context, call, result)
        if snapshots:
            origins = tuple(sorted(await self._written_origins(context, call)))
            snapshots = [replace(snapshot, origins=origins) for snapshot in snapshots]
        settled, message, event = self.settled(context, call, result, message_id)
        events = (event, *(event_factory.snapshot(snapshot) for snapshot in snapshots), *context.plan_events(settled))
        await self._journal.write(Change(call.chat_id, (settled, message, *snapshots), events))
        context.calls.update(settled)
        context.conversation.history.append(message)

    async def refused(self, context: TurnContext, call: Call, error: AnyCoworkError) -> ToolResult:
        """Returns the error that came before the call ran as its result, with the origins of what it may quote: a tool names files and
        the text that is nearest to what was looked for, and a server's tool the values that it takes."""
        result, tool = failed_result(error), context.toolbox.find(call.tool)
        if tool is None or isinstance(error, Refusal):
            return result
        quotes_files = isinstance(error, ToolFault)
        files = await self._store.origins.of_workspace(context.workspace.origin) if quotes_files else NO_ORIGINS
        return replace(result, origins=join((MODEL,), authors_of(tool.spec), files))

    async def origins_in_view(
        self, context: TurnContext, spec: ToolSpec, prepared: Prepared, result: ToolResult
    ) -> Origins:
        """Returns the origins of the files that a call could open: those it names, or all where it names none.

        A language server sees all of them, too, and what it says stands in the result.
        """
        names_files = spec.server is None and spec.delegate is None and prepared.resource.startswith("/")
        if not names_files or spec.runs_commands or ERRORS_FACT in result.facts:
            return await self._store.origins.of_workspace(context.workspace.origin)
        return await self._store.origins.of_paths(context.workspace.origin, (prepared.resource, *prepared.others))

    async def _written_origins(self, context: TurnContext, call: Call) -> Origins:
        """Returns the origins of what a call writes: what its model had read, and what the tool or its program could open.

        A file tool opens the files that it changes. Everything else may open all that is there.
        """
        tool = context.toolbox.find(call.tool)
        spec, root = tool.spec if tool else None, context.workspace.origin
        read_by_model = call.provenance.origins or written_by_model(context.conversation.origins)
        if spec is not None and spec.changes_files and not spec.foreign and not spec.runs_commands:
            changed = [item.path for item in call.intent.paths if item.before is not None] if call.intent else []
            return join(read_by_model, await self._store.origins.of_paths(root, changed))
        read_by_program = origins_of_interrupted(spec, call.parameters)
        return join(read_by_model, read_by_program, await self._store.origins.of_workspace(root))

    def settled(
        self, context: TurnContext, call: Call, result: ToolResult, message_id: str | None = None
    ) -> tuple[Call, Message, NewEvent]:
        settled = replace(call, state=CallState.SETTLED, result=result)
        if context.progress is not None:
            settled = context.progress.bound_by_changes(settled)
        message = result_message(
            settled,
            result,
            message_id=message_id or self._clock.new_id(),
            created_at=self._clock.now(),
            role=context.role.name,
        )
        return settled, message, event_factory.tool_result(settled, result)

    async def _with_ignored(self, context: TurnContext, call: Call, result: ToolResult) -> ToolResult:
        """Returns the result with what git ignores of the changed files: it neither belongs to a step of the plan nor outdates a check,
        and is not counted as changed. Without a plan only commands are looked at: they generate files.

        Ignore files that this turn changed say nothing: they could hide any change from a check.
        """
        paths = [item.path for item in call.intent.paths] if call.intent else []
        looked_at = context.progress is not None or (call.intent is not None and call.intent.command is not None)
        if not looked_at or not paths or result.status is not CallStatus.OK:
            return result
        changed = [
            item.path
            for earlier_call in (*context.calls, call)
            if earlier_call.intent
            for item in earlier_call.intent.paths
        ]
        by_name = any(PurePosixPath(path).name == ".gitignore" for path in changed)
        entries = await asyncio.to_thread(context.workspace.ignored_among, paths, by_name_only=by_name)
        ignored: list[JsonValue] = [*entries]
        return replace(result, facts={**result.facts, IGNORED_FACT: ignored}) if ignored else result

    async def park(self, context: TurnContext, approvals: list[Approval]) -> None:
        """Writes the approvals, the parked turn and the chat's state in one transaction."""
        by_call = {approval.tool_call_id: approval for approval in approvals}
        recorded_ids = {approval.id for approval in await self._store.approvals.of_chat(context.chat.id)}
        new = [approval for approval in approvals if approval.id not in recorded_ids]
        calls = [replace(call, state=CallState.ASKING) for call in context.calls.open() if call.id in by_call]
        has_held = any(call.held is not None for call in calls)
        context.turn = replace(
            context.turn,
            state=TurnState.PARKED,
            seconds=context.time.seconds_at(self._clock.monotonic()),
            data_folder=self._workspaces.data_folder if has_held else None,
            origins=tuple(sorted(context.conversation.origins)),
        )
        writes: list[Write] = [*calls, *new, context.turn, SetChat(state=ChatState.AWAITING_APPROVAL)]
        await self._journal.write(
            Change(context.chat.id, tuple(writes), tuple(event_factory.permission_request(a) for a in new))
        )
        for call in calls:
            context.calls.update(call)


def _keeps_caches(context: TurnContext, call: Call) -> bool:
    """Whether the call is a command that may leave something for later ones without a change of the workspace's files."""
    is_command = call.intent is not None and call.intent.command is not None
    return is_command and not may_change_nothing(context.role.permissions & call.ceiling)


def result_message(call: Call, result: ToolResult, *, message_id: str, created_at: str, role: str) -> Message:
    return Message(
        id=message_id,
        chat_id=call.chat_id,
        role=Speaker.TOOL,
        content=result.content,
        message_type=MessageType.TOOL_RESULT,
        payload={**event_factory.result_json(call, result), **hidden_kinds((result.content, result.diff or ""))},
        agent_role=role,
        turn_id=call.turn_id,
        created_at=created_at,
        origins=result.origins or frozenset({MODEL}),  # a refusal names what the model asked for
    )


def failed_result(error: AnyCoworkError) -> ToolResult:
    """Returns the gate's error as the result of the call."""
    if isinstance(error, RejectedByUser):
        denied = ToolResult.failed(error, status=CallStatus.DENIED)
        return replace(denied, facts={**denied.facts, **decider_fact(error.by)})
    return ToolResult.failed(error, status=CallStatus.REFUSED if isinstance(error, Refusal) else CallStatus.ERROR)


def allowed_facts(admitted: Admitted) -> Json:
    """Returns what allowed the call, and by name the person besides the owner who approved it."""
    return {"allowed_by": admitted.allowed_by, **decider_fact(admitted.decided_by)}


def decider_fact(label: str | None) -> Json:
    name = person_name_in(label)
    return {} if name is None else {DECIDED_BY: name}


def result_of_held(intent: Intent, result: ToolResult) -> ToolResult:
    """The command did run, so its output comes before the reason why its changes were not made."""
    ran = intent.held.result if intent.held else ToolResult(CallStatus.OK, "")
    dropped = " Its changes were dropped." if result.status in (CallStatus.REFUSED, CallStatus.DENIED) else ""
    return replace(
        result,
        content=f"{ran.content}\n{result.content}{dropped}".lstrip("\n"),
        origins=join(ran.origins, result.origins),
        facts={**ran.facts, **result.facts, "files": [], "dropped": result.error.code if result.error else "not_ended"},
    )
