"""The permission gate. Every side effect, from every caller, passes `admit`:
authority → schema → workspace → preconditions → rules → approval. The gate only reads and decides; it changes nothing.
Authority comes first, so that a role without a tool does not learn the tool's parameters."""

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from anycowork.domain.approvals import Approval, ApprovalState, AskWhen
from anycowork.domain.chats import Autonomy, Turn
from anycowork.domain.disclosure import Disclosure, call_items
from anycowork.domain.errors import BadParameters, DeniedByRule, NotAllowed, RejectedByUser, UnknownTool
from anycowork.domain.key_files import looks_secret
from anycowork.domain.plan import Plan
from anycowork.domain.ports import Clock, HiddenPathRules, Rules, Store
from anycowork.domain.principals import Principal, PrincipalKind, Scope
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.rules import ChangesDecision, Effect
from anycowork.domain.tool_ports import Prepared, Tool, Toolbox, ToolContext
from anycowork.domain.tools import Call, CallState, Intent, PathIntent
from anycowork.domain.values import replace, value
from anycowork.domain.visible_text import UntrustedText, visible
from anycowork.permissions.authority import require_authority
from anycowork.permissions.autonomy import covers
from anycowork.permissions.budgets import BudgetSpent
from anycowork.permissions.grants import granted_by, not_granted_reason
from anycowork.permissions.named_key_files import without_named
from anycowork.permissions.policy import PolicyEvaluator, PolicyResult
from anycowork.permissions.proposals import proposed_rule
from anycowork.permissions.risk import assess_risk, may_show_secrets
from anycowork.permissions.rules import RuleDecision


@value
class Admitted:
    """A call that may run now, as prepared, with exactly these permissions. `plan_step` is the approved step that names the
    call; the step grants it unless the plan's budget is `overdrawn`.

    With `asks_at_commit` the command runs in a separate layer, and its changes are committed only after a person has seen them.
    """

    tool: Tool
    prepared: Prepared
    permissions: frozenset[Permission]
    policy: PolicyResult
    plan_step: str | None = None
    approval_id: str | None = None
    decided_by: str | None = None
    asks_at_commit: bool = False
    overdrawn: BudgetSpent | None = None
    autonomy: Autonomy | None = None

    @property
    def allowed_by(self) -> str:
        """What allowed the call: an approval, the approved plan, the chat's autonomy, a rule, or the tool's default."""
        if self.approval_id is not None:
            return f"approval:{self.approval_id}"
        if self.granted_by_plan:
            return f"plan:{self.plan_step}"
        if self.autonomy is not None:
            return f"autonomy:{self.autonomy.value}"
        return f"rule:{self.policy.rule.id}" if self.policy.rule else "default"

    @property
    def hidden(self) -> HiddenPathRules:
        """What it may not read. Key files whose names a person read in this very call, or in the plan's command, are not withheld."""
        seen_by_person = self.approval_id is not None or self.granted_by_plan
        if not seen_by_person:
            return self.policy.hidden
        return without_named(self.policy.hidden, self.policy.touched, self.policy.workspace)

    @property
    def granted_by_plan(self) -> bool:
        return self.plan_step is not None and self.overdrawn is None


@value
class MustAsk:
    """A person must decide. `approval` holds what the person is shown and what the decision is bound to."""

    approval: Approval


@value
class CallContext:
    """The context in which the gate evaluates a call: the turn, the role when the call was issued and the role now, the approved
    plan that is running, and whether its budget is spent. `denied` lists the tools and resources that a person denied in this
    turn; `autonomy` is the level that the person chose for this chat."""

    turn: Turn
    at_issue: RoleDefinition
    now: RoleDefinition
    plan: Plan | None = None
    overdrawn: BudgetSpent | None = None
    denied: frozenset[tuple[str, str]] = frozenset()
    autonomy: Autonomy = Autonomy.ASK


class Gate:
    """Decides whether a call may run. `ask_when` returns the current setting for commands that no rule and no plan covers."""

    def __init__(
        self,
        *,
        toolbox: Toolbox,
        store: Store,
        rules: Rules,
        clock: Clock,
        ask_when: Callable[[], AskWhen] = lambda: AskWhen.BEFORE,
    ) -> None:
        self._toolbox = toolbox
        self._store = store
        self._policy = PolicyEvaluator(rules)
        self._clock = clock
        self._ask_when = ask_when

    async def admit(self, call: Call, context: CallContext, tool_context: ToolContext) -> Admitted | MustAsk:
        """Admit the call, or return the approval that a person must decide.

        Raises: ModelFault (unknown tool, bad parameters), Refusal (final), ToolFault (a precondition does not hold).
        """
        await self._decisions_on(call)
        evaluated = await self._evaluate(call, context, tool_context)
        asked = await self._decisions_on(
            call
        )  # read again: the evaluation takes time, and a person may have denied meanwhile
        if evaluated.policy.effect is Effect.DENY:
            raise DeniedByRule(f"{evaluated.policy.why} A rule is final. Do not try this call again; find another way.")
        if self._passes_unasked(call, evaluated, context):
            return evaluated
        if not asked and self._passes_by_autonomy(call, evaluated, context):
            return replace(evaluated, autonomy=context.autonomy)
        if not asked and self._may_run_first(call, evaluated, context):
            return replace(evaluated, asks_at_commit=True)
        return self._ask(call, context, evaluated, asked)

    async def admit_held(
        self, call: Call, held: Intent, context: CallContext, tool_context: ToolContext
    ) -> Admitted | MustAsk:
        """Admit held changes: check the current authority and rules, and require a decision on exactly these changes.

        Raises: as `admit`.
        """
        await self._decisions_on(call)
        evaluated = await self._evaluate(call, context, tool_context)
        checked = await self.check_changes(call, held.paths, tool_context.workspace.origin)
        for effect, why in ((evaluated.policy.effect, evaluated.policy.why), (checked.effect, checked.why)):
            if effect is Effect.DENY:
                raise DeniedByRule(f"{why} The command has run already.")
        return self._ask(call, context, evaluated, await self._decisions_on(call), held)

    async def check_changes(
        self, call: Call, changes: Sequence[PathIntent], workspace: str, *, autonomy: Autonomy | None = None
    ) -> ChangesDecision:
        """Apply the rules to changes that a call has made. If only the chat's `autonomy` allowed the call, a changed secret asks."""
        checked = await self._policy.check_changes(call, changes, workspace)
        secret = next((item.path for item in changes if looks_secret(item.path)), None) if autonomy else None
        if secret is None or checked.effect in (Effect.DENY, Effect.ASK):
            return checked
        return replace(checked, effect=Effect.ASK, why=f"It changed {secret!r}, which looks like a secret.")

    async def hidden(self, chat_id: str, workspace: str) -> HiddenPathRules:
        """Return what may not be read in this chat, for code that shows files to the model without a tool call."""
        return await self._policy.hidden(chat_id, workspace)

    async def explain(self, call: Call, context: CallContext, tool_context: ToolContext) -> RuleDecision:
        """Return what `admit` would decide, and why, without asking anybody. Raises: as `admit`, except for a denial by a rule."""
        evaluated = await self._evaluate(call, context, tool_context)
        decided = evaluated.policy.decided
        passes = self._passes_unasked(call, evaluated, context)
        if decided.effect is Effect.ALLOW and not passes:
            return RuleDecision(Effect.ASK, decided.rule, f"{decided.why} A person is asked all the same.")
        if not passes and self._passes_by_autonomy(call, evaluated, context):
            return RuleDecision(Effect.ALLOW, None, f"The chat's autonomy '{context.autonomy.value}' lets it pass.")
        if not passes and decided.effect is Effect.ASK and self._may_run_first(call, evaluated, context):
            return replace(decided, why=f"{decided.why} It runs first; a person is then asked with its changes shown.")
        return decided

    async def _decisions_on(self, call: Call) -> Sequence[Approval]:
        """Return the call's approvals, newest last. Raises: RejectedByUser if a person denied one, which is final for the call.

        A call that was only issued has none, because approvals are stored together with the state `asking`.
        """
        if call.state is CallState.ISSUED:
            return ()
        approvals = await self._store.approvals_of_call(call.id)
        if denied := next((one for one in approvals if one.state is ApprovalState.DENIED), None):
            raise RejectedByUser(denial(denied), by=denied.decided_by)
        return approvals

    async def _evaluate(self, call: Call, context: CallContext, tool_context: ToolContext) -> Admitted:
        """Run every stage except the approval: return the call as it would run, with the policy's result."""
        tool, granted = self._authorized(call, context)
        narrowed = tool_context if tool_context.permissions == granted else replace(tool_context, permissions=granted)
        hidden = await self._policy.hidden(call.chat_id, tool_context.workspace.origin, tool.spec)
        if hidden.patterns:
            narrowed = replace(narrowed, hidden=hidden)
        prepared = await tool.prepare(call.parameters, narrowed)
        policy = await self._policy.evaluate(call, tool.spec, prepared, tool_context.workspace.origin, context.now)
        step = granted_by(context.plan, tool.spec, call, prepared) if context.plan else None
        over = context.overdrawn if context.overdrawn and context.overdrawn.holds_back(call, tool.spec) else None
        return Admitted(tool, prepared, granted, policy, step, overdrawn=over)

    def _authorized(self, call: Call, context: CallContext) -> tuple[Tool, frozenset[Permission]]:
        """Return the tool and the permissions it runs with. Raises: UnknownTool, Forbidden, BadParameters."""
        tool = self._toolbox.find(call.tool)
        if tool is None or not tool.spec.is_for(call.chat_id):
            raise UnknownTool(self._unknown(call, context))
        granted = require_authority(tool.spec, call, context.at_issue, context.now)
        if problems := tool.problems(call.parameters):
            raise BadParameters(
                f"The parameters of '{call.tool}' do not fit: {'; '.join(problem.rstrip('.') for problem in problems)}."
            )
        return tool, granted

    def _passes_unasked(self, call: Call, evaluated: Admitted, context: CallContext) -> bool:
        tool, policy = evaluated.tool, evaluated.policy
        if (call.tool, evaluated.prepared.resource) in context.denied:
            return (
                False  # a person denied the same in another call; a rule made for something else does not override that
            )
        if policy.effect is Effect.ASK and policy.rule is not None:
            return False  # an ask rule is stronger than a plan's grant
        if policy.not_allowed:
            return (
                False  # network destinations are asked about separately: neither a plan nor a command rule covers them
            )
        if evaluated.overdrawn is not None and policy.rule is None:
            return False  # a standing rule outlives a plan's budget; everything else needs a new decision
        if tool.spec.read_only:
            return policy.effect is Effect.ALLOW
        if call.provenance.suspicious:
            return False
        if tool.spec.runs_commands and not tool.spec.contained:
            return False  # no sandbox contains such a command, so it always asks, whatever a plan or a rule says
        return evaluated.granted_by_plan or policy.effect is Effect.ALLOW

    def _passes_by_autonomy(self, call: Call, evaluated: Admitted, context: CallContext) -> bool:
        """Allow only calls that ask because of the tool's default, and that are inside the running plan if there is one.
        Suspicious calls always ask."""
        policy = evaluated.policy
        return (
            context.autonomy is not Autonomy.ASK
            and policy.effect is Effect.ASK
            and policy.rule is None
            and evaluated.overdrawn is None
            and not call.provenance.suspicious
            and not context.now.only_advises
            and (context.plan is None or evaluated.plan_step is not None)
            and (call.tool, evaluated.prepared.resource) not in context.denied
            and covers(context.autonomy, evaluated.tool.spec, call, evaluated.prepared, policy)
        )

    def _may_run_first(self, call: Call, evaluated: Admitted, context: CallContext) -> bool:
        """Allow only calls that the sandbox contains, that use no network, that cannot show a secret, and that no rule covers.

        A role that only advises asks before it runs.
        A read-only call has nothing to commit, so no person would ever be asked.
        """
        return (
            self._ask_when() is AskWhen.AT_COMMIT
            and not context.now.only_advises
            and evaluated.tool.spec.contained
            and not evaluated.tool.spec.read_only
            and not evaluated.prepared.network
            and not evaluated.prepared.key_files
            and not call.provenance.suspicious
            and evaluated.policy.rule is None
            and evaluated.overdrawn is None
            and (call.tool, evaluated.prepared.resource) not in context.denied
            and not may_show_secrets(evaluated.prepared.resource)
        )

    def _ask(
        self,
        call: Call,
        context: CallContext,
        admitted: Admitted,
        asked: Sequence[Approval],
        held: Intent | None = None,
    ) -> Admitted | MustAsk:
        """Return the admitted call if a person approved exactly this. An approval counts only for what was shown; any change asks again."""
        binding = bind(call, admitted.prepared, context, held)
        for approval in reversed(asked):
            if approval.binding == binding and approval.state is ApprovalState.ALLOWED:
                return replace(admitted, approval_id=approval.id, decided_by=approval.decided_by)
            if approval.binding == binding and approval.state is ApprovalState.PENDING:
                return MustAsk(approval)
        return MustAsk(self._approval(call, context, admitted, binding, held))

    def _approval(
        self, call: Call, context: CallContext, admitted: Admitted, binding: str, intent: Intent | None
    ) -> Approval:
        prepared, held = admitted.prepared, intent.held if intent else None
        risk, reasons = assess_risk(
            admitted.tool.spec,
            call,
            prepared.resource,
            prepared.network,
            workspace=admitted.policy.workspace,
            key_files=prepared.key_files,
        )
        not_granted = context.plan is not None and admitted.plan_step is None
        policy = admitted.policy
        return Approval(
            id=self._clock.new_id(),
            chat_id=call.chat_id,
            turn_id=call.turn_id,
            batch_id=call.batch_id,
            tool_call_id=call.id,
            tool=call.tool,
            parameters=call.parameters,
            resource=prepared.resource,
            risk=risk,
            reasons=(
                *(held.why if held else ()),
                *reasons,
                *policy.reasons,
                *([not_granted_reason(context.plan, call)] if context.plan and not_granted else []),
                *([admitted.overdrawn.why] if admitted.overdrawn else []),
            ),
            binding=binding,
            job_id=context.turn.job_id,
            task_id=context.turn.task_id,
            outside_plan=not_granted and call.plan_step is None,
            proposed_rule=None
            if held and held.every_time
            else proposed_rule(policy.touched, policy.workspace, policy.decided.key_file),
            diff=held.diff if held else prepared.diff,
            network=tuple(map(str, prepared.network)),
            held=held is not None,
            items=disclose(call, prepared, intent).items,
            created_at=self._clock.now(),
        )

    def _unknown(self, call: Call, context: CallContext) -> str:
        specs = [spec for spec in self._toolbox.specs() if spec.is_for(call.chat_id)]
        known = ", ".join(spec.name for spec in specs if context.now.grants(spec.permissions))
        return f"There is no tool '{call.tool[:80]}'. You have: {known or 'no tools'}."


def admit_person(principal: Principal) -> str:
    """Admit a change that a person makes directly, and return what the record says allowed it: the person.

    Their click is the decision, so nothing else is asked: roles, plans and rules limit agents. Raises: NotAllowed.
    """
    principal.require(Scope.DECIDE)
    return principal.label()


def admit_own_command(principal: Principal) -> str:
    """Admit a command that a person runs for themselves, and return who. Roles, plans and rules limit agents, not the person.
    An editor or a host is not the person, and only an admin may: the server's account can read its token. Raises: NotAllowed."""
    if principal.kind is not PrincipalKind.PERSON:
        raise NotAllowed(
            f"{principal.name} may not run commands here. Only a person may, in this server's own page or terminal, with the server's token."
        )
    principal.require(Scope.MANAGE)
    return admit_person(principal)


def bind(call: Call, prepared: Prepared, context: CallContext, held: Intent | None = None) -> str:
    """Return the hash of exactly what is shown: call, resolved resource, role, principal, state of the file, and disclosure.

    For held changes it also covers the state of each path before and after, and where the changes are staged.
    """
    described = (
        call.tool,
        call.parameters,
        prepared.resource,
        prepared.state,
        context.now.name,
        context.turn.principal,
    )
    shown: list[object] = [*described, disclose(call, prepared, held).hash]
    if held is not None:
        shown += [call.id, held.staged, held.paths]
    return hashlib.sha256(msgspec.json.encode(shown, order="sorted")).hexdigest()


def disclose(call: Call, prepared: Prepared, held: Intent | None = None) -> Disclosure:
    """Return everything that allowing this call, or its held changes, grants."""
    diff = held.held.diff if held and held.held else prepared.diff
    items = call_items(
        call.tool,
        call.parameters,
        prepared.resource,
        network=map(str, prepared.network),
        paths=prepared.touched,
        changes=held.paths if held else (),
        drawn=held is None and diff is not None,
    )
    return Disclosure(items, visible(UntrustedText(diff)) if diff is not None else None)


def denial(approval: Approval) -> str:
    """Return the text that tells the model about a denied approval."""
    note = f" They said: “{approval.note}”" if approval.note else ""
    return f"The person denied this call ({approval.tool} on {approval.resource}).{note} Do not try it again; find another way or ask."
