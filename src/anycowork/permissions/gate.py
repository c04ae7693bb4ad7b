"""The permission gate. Every side effect, from every caller, passes `admit`:
authority → schema → workspace → preconditions → rules → approval. The gate only reads and decides; it changes nothing.
Authority comes first, so that a role without a tool does not learn the tool's parameters."""

from collections.abc import Callable, Sequence

from anycowork.domain.approvals import Approval, ApprovalState, AskWhen
from anycowork.domain.chats import Autonomy
from anycowork.domain.errors import BadParameters, DeniedByRule, RejectedByUser, UnknownTool
from anycowork.domain.origins import SinkKind
from anycowork.domain.path_class import CHANGES_CONTROL_FILES, looks_secret
from anycowork.domain.ports import Clock, HiddenPathRules
from anycowork.domain.roles import Permission
from anycowork.domain.rules import ChangesDecision, Effect
from anycowork.domain.tool_ports import Tool, Toolbox, ToolContext
from anycowork.domain.tools import Call, CallState, Intent, PathIntent
from anycowork.domain.values import replace
from anycowork.permissions.admission import (
    Admitted,
    CallContext,
    MustAsk,
    Protection,
    covers,
    deleted_files,
    deletion_reason,
    files_made,
    protected_reasons,
    protects_nothing,
    require_authority,
)
from anycowork.permissions.declared_needs import undeclared_needs
from anycowork.permissions.endorsements import NOT_EXPOSED, Exposure, file_sinks, required_endorsement, sinks_of
from anycowork.permissions.grants import bind, denial, disclose, granted_by, names_literally, not_granted_reason
from anycowork.permissions.policy import PolicyEvaluator
from anycowork.permissions.risk import assess_risk, may_show_secrets
from anycowork.permissions.rule_proposals import proposed_rule
from anycowork.permissions.rules import RuleDecision
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.store import Store


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
        # Read again: the evaluation takes time, and a person may have denied meanwhile.
        approvals = await self._decisions_on(call)
        if evaluated.policy.effect is Effect.DENY:
            raise DeniedByRule(
                f"{evaluated.policy.reason} A rule is final. Do not try this call again; find another way."
            )
        if self._passes_unasked(call, evaluated, context):
            return replace(evaluated, is_stated_check=_is_stated_check(call, evaluated, context))
        if not approvals and self._passes_by_autonomy(call, evaluated, context):
            return replace(evaluated, autonomy=context.autonomy)
        if not approvals and self._may_run_first(call, evaluated, context):
            return replace(evaluated, asks_at_commit=True)
        return self._ask(call, context, evaluated, approvals)

    async def admit_held(
        self, call: Call, intent: Intent, context: CallContext, tool_context: ToolContext
    ) -> Admitted | MustAsk:
        """Admit held changes: check the current authority and rules, and require a decision on exactly these changes.

        Raises: as `admit`.
        """
        await self._decisions_on(call)
        evaluated = await self._evaluate(call, context, tool_context, intent)
        checked = await self.check_changes(call, intent.paths, tool_context.workspace.origin)
        for effect, reason in ((evaluated.policy.effect, evaluated.policy.reason), (checked.effect, checked.why)):
            if effect is Effect.DENY:
                raise DeniedByRule(f"{reason} The command has run already.")
        return self._ask(call, context, evaluated, await self._decisions_on(call), intent)

    async def check_changes(
        self,
        call: Call,
        changes: Sequence[PathIntent],
        workspace: str,
        *,
        autonomy: Autonomy | None = None,
        protection: Protection = protects_nothing,
        exposure: Exposure = NOT_EXPOSED,
    ) -> ChangesDecision:
        """Applies the rules to changes that a call has made.

        Changes of files that this turn must leave as they are ask, and so do changes of control files and key files that need an
        endorsement. If only the chat's `autonomy` allowed the call, a changed secret asks, and so do deleted files that the chat did not
        make."""
        checked = await self._policy.check_changes(call, changes, workspace)
        if checked.effect is Effect.DENY:
            return checked
        protections = (protection(item.path) for item in changes)
        if reason := next((text for text in protections if text is not None), None):
            return replace(checked, effect=Effect.ASK, why=reason)
        rules = await self._policy.rules(call.chat_id, workspace)
        sinks = tuple(file_sinks(item.path for item in changes)) if exposure.origins else ()
        if endorsement := required_endorsement(sinks, call.parameters, exposure, rules):
            return replace(checked, effect=Effect.ASK, why=endorsement.reason)
        if autonomy is None or checked.effect is Effect.ASK:
            return checked
        if secret := next((item.path for item in changes if looks_secret(item.path)), None):
            return replace(checked, effect=Effect.ASK, why=f"It changed {secret!r}, which looks like a secret.")
        if not (deleted := deleted_files(changes)):
            return checked
        created_by_chat = files_made(await self._store.calls.finished_intents(call.chat_id))
        if not (others := [path for path in deleted if path not in created_by_chat]):
            return checked
        return replace(checked, effect=Effect.ASK, why=deletion_reason(others))

    async def hidden(self, chat_id: str, workspace: str) -> HiddenPathRules:
        """Returns what may not be read in this chat, for code that shows files to the model without a tool call."""
        return await self._policy.hidden(chat_id, workspace)

    async def explain(self, call: Call, context: CallContext, tool_context: ToolContext) -> RuleDecision:
        """Returns what `admit` would decide, and why, without asking anybody. Raises: as `admit`, except for a denial by a rule."""
        evaluated = await self._evaluate(call, context, tool_context)
        decided = evaluated.policy.decided
        passes = self._passes_unasked(call, evaluated, context)
        if evaluated.endorsement is not None and decided.effect is not Effect.DENY:
            return RuleDecision(Effect.ASK, decided.rule, f"{decided.reason} {evaluated.endorsement.reason}")
        if decided.effect is Effect.ALLOW and not passes:
            return RuleDecision(Effect.ASK, decided.rule, f"{decided.reason} A person is asked all the same.")
        if not passes and self._passes_by_autonomy(call, evaluated, context):
            return RuleDecision(Effect.ALLOW, None, f"The chat's autonomy '{context.autonomy.value}' lets it pass.")
        if not passes and decided.effect is Effect.ASK and self._may_run_first(call, evaluated, context):
            return replace(
                decided, reason=f"{decided.reason} It runs first; a person is then asked with its changes shown."
            )
        return decided

    async def _decisions_on(self, call: Call) -> Sequence[Approval]:
        """Returns the call's approvals, newest last. Raises: RejectedByUser if a person denied one, which is final for the call.

        A call that was only issued has none, because approvals are stored together with the state `asking`.
        """
        if call.state is CallState.ISSUED:
            return ()
        approvals = await self._store.approvals.of_call(call.id)
        if denied := next((approval for approval in approvals if approval.state is ApprovalState.DENIED), None):
            raise RejectedByUser(denial(denied), by=denied.decided_by)
        return approvals

    async def _evaluate(
        self, call: Call, context: CallContext, tool_context: ToolContext, intent: Intent | None = None
    ) -> Admitted:
        """Runs every stage except the approval: returns the call as it would run, with the policy's result."""
        tool, granted = self._authorized(call, context)
        narrowed = tool_context if tool_context.permissions == granted else replace(tool_context, permissions=granted)
        hidden = await self._policy.hidden(call.chat_id, tool_context.workspace.origin, tool.spec)
        narrowed = replace(narrowed, hidden=hidden)
        prepared = await tool.prepare(call.parameters, narrowed)
        policy = await self._policy.evaluate(call, tool.spec, prepared, tool_context.workspace.origin, context.now)
        step = granted_by(context.plan, tool.spec, call, prepared) if context.plan else None
        protected = () if tool.spec.read_only else protected_reasons(prepared, context.protection)
        held_back = context.hook_reasons
        if context.skills:
            held_back = (*held_back, *undeclared_needs(context.skills, tool.spec, policy.touched))
        spent_budget = (
            context.overdrawn if context.overdrawn and context.overdrawn.holds_back(call, tool.spec) else None
        )
        endorsement = None
        if context.exposure.origins:
            sinks = sinks_of(tool.spec, call, prepared, intent.paths if intent else ())
            if context.plan is not None and step is not None and names_literally(context.plan, step, call):
                sinks = tuple(sink for sink in sinks if sink.kind is not SinkKind.MCP)
            rules = await self._policy.rules(call.chat_id, tool_context.workspace.origin)
            endorsement = required_endorsement(sinks, call.parameters, context.exposure, rules)
        return Admitted(
            tool,
            prepared,
            granted,
            policy,
            step,
            overdrawn=spent_budget,
            protected=protected,
            held_back=held_back,
            endorsement=endorsement,
            exposure=context.exposure,
        )

    def _authorized(self, call: Call, context: CallContext) -> tuple[Tool, frozenset[Permission]]:
        """Returns the tool and the permissions it runs with. Raises: UnknownTool, Forbidden, BadParameters."""
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
        if evaluated.endorsement is not None:
            return False  # a rule or a plan allows the call, and nobody vouched for what led to it
        if evaluated.protected:
            return False  # the person said so of this very turn, which is newer than any rule, plan or autonomy
        if evaluated.held_back:
            return False  # a hook asks, or the person activated a skill that did not declare it
        if (call.tool, evaluated.prepared.resource) in context.denied:
            # A person denied the same in another call; a rule made for something else does not override that.
            return False
        if policy.effect is Effect.ASK and policy.rule is not None:
            return False  # an ask rule is stronger than a plan's grant
        if policy.not_allowed:
            # Network destinations are asked about separately: neither a plan nor a command rule covers them.
            return False
        if evaluated.overdrawn is not None and policy.rule is None:
            return False  # a standing rule outlives a plan's budget; everything else needs a new decision
        if tool.spec.read_only and not tool.spec.web:
            return policy.effect is Effect.ALLOW
        if call.provenance.suspicious:
            return False
        if _is_stated_check(call, evaluated, context):
            return True
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
            and not evaluated.protected
            and not evaluated.held_back
            and evaluated.endorsement is None
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
            and not evaluated.held_back
            and evaluated.endorsement is None
            and (call.tool, evaluated.prepared.resource) not in context.denied
            and not may_show_secrets(evaluated.prepared.resource)
        )

    def _ask(
        self,
        call: Call,
        context: CallContext,
        admitted: Admitted,
        approvals: Sequence[Approval],
        intent: Intent | None = None,
    ) -> Admitted | MustAsk:
        """Returns the admitted call if a person approved exactly this. An approval counts only for what was shown; any change asks
        again."""
        binding = bind(call, admitted.prepared, context.now, context.turn.principal, intent, admitted.endorsement)
        for approval in reversed(approvals):
            if approval.binding == binding and approval.state is ApprovalState.ALLOWED:
                return replace(admitted, approval_id=approval.id, decided_by=approval.decided_by)
            if approval.binding == binding and approval.state is ApprovalState.PENDING:
                return MustAsk(approval)
        return MustAsk(self._approval(call, context, admitted, binding, intent))

    def _approval(
        self, call: Call, context: CallContext, admitted: Admitted, binding: str, intent: Intent | None
    ) -> Approval:
        prepared, held_changes = admitted.prepared, intent.held if intent else None
        risk, reasons = assess_risk(
            admitted.tool.spec,
            call,
            prepared.resource,
            prepared.network,
            workspace=admitted.policy.workspace,
            key_files=prepared.key_files,
            changed=[change.path for change in intent.paths] if intent else prepared.others,
        )
        not_granted = context.plan is not None and admitted.plan_step is None
        policy = admitted.policy
        held_reasons = held_changes.why if held_changes else ()
        if any(reason.startswith(CHANGES_CONTROL_FILES) for reason in held_reasons):
            reasons = tuple(reason for reason in reasons if not reason.startswith(CHANGES_CONTROL_FILES))
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
                *held_reasons,
                *admitted.protected,
                *admitted.held_back,
                *([admitted.endorsement.reason] if admitted.endorsement else []),
                *reasons,
                *_policy_reasons(admitted),
                *([not_granted_reason(context.plan, admitted.tool.spec, call)] if context.plan and not_granted else []),
                *([admitted.overdrawn.reason] if admitted.overdrawn else []),
            ),
            binding=binding,
            job_id=context.turn.job_id,
            task_id=context.turn.task_id,
            outside_plan=not_granted and call.plan_step is None,
            proposed_rule=None
            if held_changes and held_changes.every_time
            else proposed_rule(policy.touched, policy.workspace, policy.decided.key_file),
            diff=held_changes.diff if held_changes else prepared.diff,
            network=tuple(map(str, prepared.network)),
            held=held_changes is not None,
            items=disclose(call, prepared, intent).items,
            created_at=self._clock.now(),
            endorsement=admitted.endorsement,
        )

    def _unknown(self, call: Call, context: CallContext) -> str:
        specs = [spec for spec in self._toolbox.specs() if spec.is_for(call.chat_id)]
        usable_tools = ", ".join(spec.name for spec in specs if context.now.grants(spec.permissions))
        return f"There is no tool '{call.tool[:80]}'. You have: {usable_tools or 'no tools'}."


def _is_stated_check(call: Call, evaluated: Admitted, context: CallContext) -> bool:
    """Whether the server runs a check that the person named word for word, in the sandbox, without network and keys."""
    if not call.provenance.check or call.parameters.get("command") not in context.stated_checks:
        return False
    prepared = evaluated.prepared
    return evaluated.tool.spec.contained and not prepared.network and not prepared.key_files


def _policy_reasons(admitted: Admitted) -> list[str]:
    """Returns what the rules say. One that allows the call does not answer for what was read."""
    policy = admitted.policy
    if admitted.endorsement is None or policy.decided.effect is not Effect.ALLOW:
        return policy.reasons
    return [f"{reason.removesuffix('.')}, but it vouches for nothing that was read." for reason in policy.reasons]
