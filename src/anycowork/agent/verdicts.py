"""What the door says of a call at this moment: who asks in which role, and what the approved plan has left, are read anew for each."""

from collections.abc import Collection

from anycowork.agent.moment import Moment
from anycowork.agent.plan_progress import not_ready
from anycowork.domain.approvals import ApprovalState
from anycowork.domain.errors import ModelFault, Refusal, RepeatedCall, ToolFault
from anycowork.domain.plan import Budget
from anycowork.domain.ports import Clock, Journal, Store
from anycowork.domain.tools import Call
from anycowork.domain.values import replace
from anycowork.permissions.budgets import CostOf, Overdrawn, overdrawn, spent_by
from anycowork.permissions.gate import Admitted, Gate, MustAsk, Standing
from anycowork.permissions.roles import RoleBook

_DECIDED = (ApprovalState.ALLOWED, ApprovalState.DENIED)
Verdict = Admitted | MustAsk | Refusal | ModelFault | ToolFault


class Verdicts:
    def __init__(
        self, *, gate: Gate, journal: Journal, store: Store, roles: RoleBook, clock: Clock, cost_of: CostOf
    ) -> None:
        self._gate = gate
        self._journal = journal
        self._store = store
        self._roles = roles
        self._clock = clock
        self._cost_of = cost_of

    async def on(
        self, moment: Moment, call: Call, *, planned: int = 0, expected: Collection[str] = frozenset()
    ) -> Verdict:
        """`planned` calls of the plan's budget are taken by others of the batch that will be made before it, for the plan's steps
        that are `expected` to be finished by then."""
        in_plan = moment.progress if call.held is None else None  # one that has run only waits to be kept
        if in_plan and (before := in_plan.unfinished_dependencies(call, expected=expected)):
            return not_ready(call, before)
        if earlier := moment.earlier_failure(call):
            return RepeatedCall(
                f"This exact call was made before and failed: {earlier.result.content[:300] if earlier.result else ''}"
            )
        try:
            standing = await self._standing(moment, call, planned)
            if call.held is not None:
                return await self._gate.admit_held(call, call.held, standing, moment.hands())
            return await self._gate.admit(call, standing, moment.hands())
        except (Refusal, ModelFault, ToolFault) as error:
            return error

    async def _standing(self, moment: Moment, call: Call, planned: int) -> Standing:
        """The role now is read anew for each call: a switch meanwhile narrows what is still pending."""
        now = self._roles.stored(await self._store.role_of(call.chat_id) or "")
        over = (
            await self._overdrawn(moment, moment.plan.budget, planned) if moment.plan and moment.plan.budget else None
        )
        denied = await self._denied(moment) if moment.was_denied else frozenset[tuple[str, str]]()
        return Standing(moment.turn, self._roles.stored(call.role_at_issue), now, moment.plan, over, denied)

    async def _denied(self, moment: Moment) -> frozenset[tuple[str, str]]:
        """The tools and resources that a person denied in this turn and did not allow since."""
        approvals = await self._store.approvals(moment.chat.id, pending_only=False)
        decided = [one for one in approvals if one.turn_id == moment.turn.id and one.state in _DECIDED]
        newest = {(one.tool, one.resource): one.state for one in decided}
        return frozenset(place for place, state in newest.items() if state is ApprovalState.DENIED)

    async def _overdrawn(self, moment: Moment, budget: Budget, planned: int) -> Overdrawn | None:
        await moment.unwritten.write(self._journal)  # what the last answer cost counts too
        used = await self._store.turn_usage(moment.chat.id, moment.turn.id)
        seconds = moment.seconds_at(self._clock.monotonic())
        spent = spent_by(moment.calls, seconds=seconds, used=used, cost_of=self._cost_of)
        return overdrawn(budget, replace(spent, calls=spent.calls + planned))
