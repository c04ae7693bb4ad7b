"""The one door. Every side effect, from whichever caller, passes `admit`:
authority → schema → workspace → preconditions → rules → approval. It decides and looks; it changes nothing.
Authority comes first: a role that lacks a tool is not told what its parameters are."""

import hashlib
from dataclasses import dataclass, replace

import msgspec

from anycowork.domain.approvals import Approval, ApprovalState
from anycowork.domain.chats import Turn
from anycowork.domain.errors import BadParameters, RejectedByUser, UnknownTool
from anycowork.domain.plan import Plan
from anycowork.domain.ports import Clock, Hands, Prepared, Store, Tool, Toolbox
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.tools import Call
from anycowork.permissions.authority import require_authority
from anycowork.permissions.grants import granted_by
from anycowork.permissions.risk import judge


@dataclass(frozen=True, slots=True)
class Admitted:
    """It may run now, as prepared, with these permissions and no others. `plan_step` is the approved step that covers it."""

    tool: Tool
    prepared: Prepared
    permissions: frozenset[Permission]
    plan_step: str | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """A person must decide; this is what is shown, and what the decision binds to."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class Standing:
    """What the door needs to know of the moment: the turn, the role at issue and the role now, and the approved plan that runs."""

    turn: Turn
    at_issue: RoleDefinition
    now: RoleDefinition
    plan: Plan | None = None


class Gate:
    def __init__(self, *, toolbox: Toolbox, store: Store, clock: Clock) -> None:
        self._toolbox = toolbox
        self._store = store
        self._clock = clock

    async def admit(self, call: Call, standing: Standing, hands: Hands) -> Admitted | Asking:
        """Raises: ModelFault (unknown tool, bad parameters), Refusal (final), ToolFault (a precondition does not hold)."""
        tool = self._toolbox.find(call.tool)
        if tool is None:
            raise UnknownTool(self._unknown(call.tool, standing))
        granted = require_authority(tool.spec, call, standing.at_issue, standing.now)
        if problems := tool.problems(call.parameters):
            raise BadParameters(
                f"The parameters of '{call.tool}' do not fit: {'; '.join(problem.rstrip('.') for problem in problems)}."
            )
        prepared = await tool.prepare(call.parameters, replace(hands, permissions=granted))
        step = granted_by(standing.plan, tool.spec, call, prepared) if standing.plan else None
        admitted = Admitted(tool, prepared, granted, step)
        if self._passes_unasked(tool, call, step):
            return admitted
        return await self._ask(call, standing, admitted)

    def _passes_unasked(self, tool: Tool, call: Call, plan_step: str | None) -> bool:
        if tool.spec.read_only:
            return not tool.spec.requires_approval
        if call.provenance.suspicious:
            return False
        if Permission.EXECUTE_COMMANDS in tool.spec.permissions and not tool.spec.contained:
            return False  # nothing holds such a command, so it always asks, whatever a plan says
        return plan_step is not None or not tool.spec.requires_approval

    async def _ask(self, call: Call, standing: Standing, admitted: Admitted) -> Admitted | Asking:
        """An approval counts only for exactly what was shown; if anything of it changed, it is asked again."""
        binding = bind(call, admitted.prepared, standing)
        for approval in reversed(await self._store.approvals_of_call(call.id)):
            if approval.state is ApprovalState.DENIED:
                raise RejectedByUser(_denial(approval))
            if approval.binding == binding and approval.state is ApprovalState.ALLOWED:
                return admitted
            if approval.binding == binding and approval.state is ApprovalState.PENDING:
                return Asking(approval)
        return Asking(self._approval(call, standing, admitted, binding))

    def _approval(self, call: Call, standing: Standing, admitted: Admitted, binding: str) -> Approval:
        risk, reasons = judge(admitted.tool.spec, call, admitted.prepared.resource)
        outside = standing.plan is not None and admitted.plan_step is None
        return Approval(
            id=self._clock.new_id(),
            chat_id=call.chat_id,
            turn_id=call.turn_id,
            batch_id=call.batch_id,
            tool_call_id=call.id,
            tool=call.tool,
            parameters=call.parameters,
            resource=admitted.prepared.resource,
            risk=risk,
            reasons=(*reasons, *(["It is outside the approved plan."] if outside else [])),
            binding=binding,
            outside_plan=outside,
            diff=admitted.prepared.diff,
            created_at=self._clock.now(),
        )

    def _unknown(self, name: str, standing: Standing) -> str:
        known = ", ".join(spec.name for spec in self._toolbox.specs() if standing.now.grants(spec.permissions))
        return f"There is no tool '{name[:80]}'. You have: {known or 'no tools'}."


def bind(call: Call, prepared: Prepared, standing: Standing) -> str:
    """The hash of exactly what is shown: call, resolved resource, role, principal, state of the file."""
    shown = [call.tool, call.parameters, prepared.resource, prepared.state, standing.now.name, standing.turn.principal]
    return hashlib.sha256(msgspec.json.encode(shown, order="sorted")).hexdigest()


def _denial(approval: Approval) -> str:
    note = f" They said: {approval.note}" if approval.note else ""
    return f"The person denied this call ({approval.tool} on {approval.resource}).{note} Do not try it again; go another way or ask."
