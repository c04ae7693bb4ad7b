"""Authorizes each call: reads the current role, autonomy and plan budget, and asks the gate."""

from collections.abc import Collection

from anycowork.agent.plan_progress import not_ready
from anycowork.agent.turn_context import TurnContext
from anycowork.domain.approvals import ApprovalState
from anycowork.domain.chats import ChatConfig
from anycowork.domain.errors import CopiedExample, ModelFault, Refusal, RepeatedCall, ToolFault
from anycowork.domain.plan import Budget
from anycowork.domain.ports import Clock, Journal, Store
from anycowork.domain.tools import Call
from anycowork.domain.values import replace
from anycowork.permissions.budgets import BudgetSpent, CostOf, overdrawn, spent_by
from anycowork.permissions.gate import Admitted, CallContext, Gate, MustAsk
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.examples import is_asked_for, repeated_example

_DECIDED = (ApprovalState.ALLOWED, ApprovalState.DENIED)
Authorization = Admitted | MustAsk | Refusal | ModelFault | ToolFault


class CallAuthorizer:
    def __init__(
        self, *, gate: Gate, journal: Journal, store: Store, roles: RoleRegistry, clock: Clock, cost_of: CostOf
    ) -> None:
        self._gate = gate
        self._journal = journal
        self._store = store
        self._roles = roles
        self._clock = clock
        self._cost_of = cost_of

    async def authorize(
        self, context: TurnContext, call: Call, *, planned: int = 0, expected: Collection[str] = frozenset()
    ) -> Authorization:
        """Return the gate's decision, or the error that stops the call. `planned` calls of the plan's budget are used by earlier calls
        of the batch, for the plan's steps that are `expected` to be finished by then."""
        in_plan = context.progress if call.held is None else None  # a call with held changes has already run
        if in_plan and (before := in_plan.unfinished_dependencies(call, expected=expected)):
            return not_ready(call, before)
        if copied := self._copied_example(context, call):
            return copied
        if earlier := context.earlier_failure(call):
            return RepeatedCall(
                f"This exact call was made before and failed: {earlier.result.content[:300] if earlier.result else ''}"
            )
        try:
            call_context = await self._call_context(context, call, planned)
            if call.held is not None:
                return await self._gate.admit_held(call, call.held, call_context, context.tool_context())
            return await self._gate.admit(call, call_context, context.tool_context())
        except (Refusal, ModelFault, ToolFault) as error:
            return error

    def _copied_example(self, context: TurnContext, call: Call) -> CopiedExample | None:
        """Refuse a call that only repeats an example of the prompt: the person did not name the file, and it does not exist."""
        made_by_server = call.provenance.check or call.provenance.reference or call.provenance.workflow is not None
        if made_by_server or context.system_prompt is None or context.only_reads(call):
            return None
        example = repeated_example(context.system_prompt, call.tool, call.parameters)
        if (
            example is None
            or is_asked_for(example, context.all_requests())
            or any(map(context.has_file, example.names))
        ):
            return None
        what = example.path or example.command or call.tool
        return CopiedExample(
            f"Not done: '{what[:120]}' is an example from your instructions, and the person did not ask for it. Do what was asked."
        )

    async def _call_context(self, context: TurnContext, call: Call, planned: int) -> CallContext:
        """Read the current role and autonomy for each call: a switch in the meantime narrows pending calls."""
        config = await self._store.config_of(call.chat_id) or ChatConfig("")
        now = self._roles.stored(config.agent_role)
        if context.turn.task_id is not None:  # a worker holds what its parent has or may delegate, and no more
            now = self._roles.with_delegates(now)
        over = (
            await self._overdrawn(context, context.plan.budget, planned)
            if context.plan and context.plan.budget
            else None
        )
        denied = await self._denied(context) if context.was_denied else frozenset[tuple[str, str]]()
        return CallContext(
            context.turn, self._roles.stored(call.role_at_issue), now, context.plan, over, denied, config.autonomy
        )

    async def _denied(self, context: TurnContext) -> frozenset[tuple[str, str]]:
        """Return the tools and resources that a person denied in this turn and has not allowed since."""
        approvals = await self._store.approvals(context.chat.id, pending_only=False)
        decided = [one for one in approvals if one.turn_id == context.turn.id and one.state in _DECIDED]
        newest = {(one.tool, one.resource): one.state for one in decided}
        return frozenset(place for place, state in newest.items() if state is ApprovalState.DENIED)

    async def _overdrawn(self, context: TurnContext, budget: Budget, planned: int) -> BudgetSpent | None:
        await context.write_buffer.write(self._journal)  # the cost of the last answer counts too
        used = await self._store.turn_usage(context.chat.id, context.turn.id)
        seconds = context.seconds_at(self._clock.monotonic())
        spent = spent_by(context.calls, seconds=seconds, used=used, cost_of=self._cost_of)
        return overdrawn(budget, replace(spent, calls=spent.calls + planned))
