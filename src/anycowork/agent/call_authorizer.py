"""Authorizes each call: reads the current role, autonomy and plan budget, and asks the gate."""

from collections.abc import Collection
from functools import partial

from anycowork.agent.call_hooks import CallHooks
from anycowork.agent.plan_progress import not_ready
from anycowork.agent.step_explanations import is_accounted_for
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_evidence import checks_allowed_by_person, protection_of
from anycowork.agent.turn_origins import passage_about, plan_words
from anycowork.domain.approvals import ApprovalState
from anycowork.domain.chats import ChatConfig
from anycowork.domain.errors import CopiedExample, ModelFault, Refusal, RepeatedCall, ToolFault
from anycowork.domain.origins import WORKSPACE, unvouched
from anycowork.domain.plan import Budget
from anycowork.domain.ports import Clock
from anycowork.domain.secret_values import HiddenValueUsed, stand_in_among
from anycowork.domain.tools import Call
from anycowork.domain.values import replace
from anycowork.permissions.admission import Admitted, CallContext, MustAsk
from anycowork.permissions.budgets import BudgetSpent, CostOf, overdrawn, spent_by
from anycowork.permissions.endorsements import NOT_EXPOSED, Exposure
from anycowork.permissions.gate import Gate
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.examples import is_asked_for, repeated_example
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store

_DECIDED = (ApprovalState.ALLOWED, ApprovalState.DENIED)
Authorization = Admitted | MustAsk | Refusal | ModelFault | ToolFault


class CallAuthorizer:
    def __init__(
        self,
        *,
        gate: Gate,
        journal: Journal,
        store: Store,
        roles: RoleRegistry,
        clock: Clock,
        cost_of: CostOf,
        hooks: CallHooks | None = None,
    ) -> None:
        self._gate = gate
        self._journal = journal
        self._store = store
        self._roles = roles
        self._clock = clock
        self._cost_of = cost_of
        self._hooks = hooks

    async def authorize(
        self, context: TurnContext, call: Call, *, planned: int = 0, expected: Collection[str] = frozenset()
    ) -> Authorization:
        """Returns the gate's decision, or the error that stops the call. `planned` calls of the plan's budget are used by earlier calls
        of the batch, for the plan's steps that are `expected` to be finished by then."""
        # A call with held changes has already run, and a check that runs before the work waits for no step.
        in_plan = context.progress if call.held is None and not call.provenance.baseline else None
        before = in_plan.unfinished_dependencies(call, expected=expected) if in_plan else []
        if before and not is_accounted_for(context, before):
            return not_ready(call, before)
        if copied := self._copied_example(context, call):
            return copied
        if stand_in := stand_in_among({**call.parameters}):
            return HiddenValueUsed(stand_in)
        if earlier := context.calls.earlier_failure(call):
            return RepeatedCall(
                f"This exact call was made before and failed: {earlier.result.content[:300] if earlier.result else ''}"
            )
        try:
            call_context = await self._call_context(context, call, planned)
            if self._hooks is not None and (reasons := await self._hooks.reasons_to_ask(context, call)):
                call_context = replace(call_context, hook_reasons=reasons)
            if call.held is not None:
                return await self._gate.admit_held(call, call.held, call_context, context.tool_context())
            return await self._gate.admit(call, call_context, context.tool_context_for(call))
        except (Refusal, ModelFault, ToolFault) as error:
            return error

    def _copied_example(self, context: TurnContext, call: Call) -> CopiedExample | None:
        """Refuses a call that only repeats an example of the prompt: the person did not name the file, and it does not exist."""
        if made_by_server(call) or context.conversation.system_prompt is None or context.only_reads(call):
            return None
        example = repeated_example(context.conversation.system_prompt, call.tool, call.parameters)
        if (
            example is None
            or is_asked_for(example, context.conversation.all_requests())
            or any(map(context.has_file, example.names))
        ):
            return None
        subject = example.path or example.command or call.tool
        return CopiedExample(
            f"Not done: '{subject[:120]}' is an example from your instructions, and the person did not ask for it. Do what was asked."
        )

    async def _call_context(self, context: TurnContext, call: Call, planned: int) -> CallContext:
        """Reads the current role and autonomy for each call: a switch in the meantime narrows pending calls."""
        config = await self._store.chats.config_of(call.chat_id) or ChatConfig("")
        now = self._roles.stored(config.agent_role)
        if context.turn.task_id is not None:  # a worker holds what its parent has or may delegate, and no more
            now = self._roles.with_delegates(now)
        budget_spent = (
            await self._overdrawn(context, context.plan.budget, planned)
            if context.plan and context.plan.budget
            else None
        )
        denied = await self._denied(context) if context.calls.was_denied else frozenset[tuple[str, str]]()
        return CallContext(
            context.turn,
            self._roles.stored(call.role_at_issue),
            now,
            context.plan if context.assignment.has_approved_plan else None,
            budget_spent,
            denied,
            config.autonomy,
            partial(protection_of, context),
            await self._stated_checks(context) if call.provenance.check else frozenset[str](),
            await self._exposure(context, call),
            () if made_by_server(call) else context.conversation.skills,
        )

    async def _stated_checks(self, context: TurnContext) -> frozenset[str]:
        """Returns the checks that a person stated: for this turn, or for the workspace."""
        of_workspace = await self._store.folders.check_of(context.workspace.origin)
        return checks_allowed_by_person(context) | ({of_workspace} if of_workspace else set())

    async def _exposure(self, context: TurnContext, call: Call) -> Exposure:
        """Returns what the model had read when it made the call, as far as nobody vouched for it."""
        origins = (
            context.conversation.origins if call.provenance.origins is None else frozenset(call.provenance.origins)
        )
        trusts = WORKSPACE in origins and await self._store.origins.trusts_contents(context.workspace.origin)
        foreign_origins = unvouched(origins, trusts_contents=trusts)
        if not foreign_origins:
            return NOT_EXPOSED
        approved_plan = context.plan if context.assignment.has_approved_plan else None
        return Exposure(
            foreign_origins,
            (*context.conversation.person_words(), *plan_words(approved_plan)),
            partial(passage_about, context.conversation.history, foreign_origins),
        )

    async def _denied(self, context: TurnContext) -> frozenset[tuple[str, str]]:
        """Returns the tools and resources that a person denied in this turn and has not allowed since."""
        approvals = await self._store.approvals.of_chat(context.chat.id, pending_only=False)
        decided = [
            approval for approval in approvals if approval.turn_id == context.turn.id and approval.state in _DECIDED
        ]
        newest = {(approval.tool, approval.resource): approval.state for approval in decided}
        return frozenset(resource for resource, state in newest.items() if state is ApprovalState.DENIED)

    async def _overdrawn(self, context: TurnContext, budget: Budget, planned: int) -> BudgetSpent | None:
        await context.write_buffer.write(self._journal)  # the cost of the last answer counts too
        turns = [turn.id for turn in (*context.assignment.earlier_turns, context.turn)]
        used = [usage for turn_id in turns for usage in await self._store.usage.of_turn(context.chat.id, turn_id)]
        before = sum(turn.seconds for turn in context.assignment.earlier_turns)
        calls = [call for turn in context.assignment.earlier_turns for call in await self._store.calls.of_turn(turn.id)]
        seconds = before + context.time.seconds_at(self._clock.monotonic())
        spent = spent_by([*calls, *context.calls], seconds=seconds, used=used, cost_of=self._cost_of)
        return overdrawn(budget, replace(spent, calls=spent.calls + planned))


def made_by_server(call: Call) -> bool:
    """Whether no model asked for the call: it is a check, a reference of the person's, or a step of a workflow."""
    return (
        call.provenance.check
        or call.provenance.restores
        or call.provenance.reference
        or call.provenance.workflow is not None
    )
