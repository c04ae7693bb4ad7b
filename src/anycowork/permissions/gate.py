"""The one door. Every side effect, from whichever caller, passes `admit`:
authority → schema → workspace → preconditions → rules → approval. It decides and looks; it changes nothing.
Authority comes first: a role that lacks a tool is not told what its parameters are."""

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from anycowork.domain.approvals import Approval, ApprovalState, AskWhen
from anycowork.domain.chats import Autonomy, Turn
from anycowork.domain.disclosure import Disclosure, call_items
from anycowork.domain.errors import BadParameters, DeniedByRule, RejectedByUser, UnknownTool
from anycowork.domain.key_files import looks_secret
from anycowork.domain.plan import Plan
from anycowork.domain.ports import Clock, Hidden, Prepared, Rules, Store, Tool, Toolbox, ToolContext
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.rules import ChangesDecision, Effect
from anycowork.domain.tools import Call, CallState, Intent, PathIntent
from anycowork.domain.values import replace, value
from anycowork.domain.visible_text import UntrustedText, visible
from anycowork.permissions.authority import require_authority
from anycowork.permissions.autonomy import covers
from anycowork.permissions.budgets import Overdrawn
from anycowork.permissions.grants import granted_by, not_granted_reason
from anycowork.permissions.policy import PolicyEvaluator, PolicyResult
from anycowork.permissions.proposals import proposed_rule
from anycowork.permissions.risk import assess_risk, may_show_secrets
from anycowork.permissions.rules import RuleDecision


@value
class Admitted:
    """It may run now, as prepared, with these permissions and no others. `plan_step` is the approved step that names it,
    and grants it unless the plan's budget is `overdrawn`.

    One that `asks_at_commit` runs in its own layer only: its changes are made when a person has seen them.
    """

    tool: Tool
    prepared: Prepared
    permissions: frozenset[Permission]
    judged: PolicyResult
    plan_step: str | None = None
    approval_id: str | None = None
    asks_at_commit: bool = False
    overdrawn: Overdrawn | None = None
    autonomy: Autonomy | None = None

    @property
    def allowed_by(self) -> str:
        """Whose word let it in: a person's, the approved plan's, the chat's autonomy, a rule's, or the tool's own setting."""
        if self.approval_id is not None:
            return f"approval:{self.approval_id}"
        if self.granted_by_plan:
            return f"plan:{self.plan_step}"
        if self.autonomy is not None:
            return f"autonomy:{self.autonomy.value}"
        return f"rule:{self.judged.rule.id}" if self.judged.rule else "default"

    @property
    def granted_by_plan(self) -> bool:
        return self.plan_step is not None and self.overdrawn is None


@value
class MustAsk:
    """A person must decide; this is what is shown, and what the decision binds to."""

    approval: Approval


@value
class CallContext:
    """What the door needs to know of the moment: the turn, the role at issue and the role now, the approved plan that runs,
    and whether its budget is spent. `denied` are the tools and resources that a person denied in this turn;
    `autonomy` is what they let pass in this chat."""

    turn: Turn
    at_issue: RoleDefinition
    now: RoleDefinition
    plan: Plan | None = None
    overdrawn: Overdrawn | None = None
    denied: frozenset[tuple[str, str]] = frozenset()
    autonomy: Autonomy = Autonomy.ASK


class Gate:
    """`ask_when` is the setting in force for commands that nothing covers."""

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
        self._judge = PolicyEvaluator(rules)
        self._clock = clock
        self._ask_when = ask_when

    async def admit(self, call: Call, standing: CallContext, tool_context: ToolContext) -> Admitted | MustAsk:
        """Raises: ModelFault (unknown tool, bad parameters), Refusal (final), ToolFault (a precondition does not hold)."""
        await self._decisions_on(call)
        looked = await self._look(call, standing, tool_context)
        asked = await self._decisions_on(call)  # again: looking takes time, and a person may have denied it meanwhile
        if looked.judged.effect is Effect.DENY:
            raise DeniedByRule(f"{looked.judged.why} A rule is final: do not try this call again; go another way.")
        if self._passes_unasked(call, looked, standing):
            return looked
        if not asked and self._passes_by_autonomy(call, looked, standing):
            return replace(looked, autonomy=standing.autonomy)
        if not asked and self._may_run_first(call, looked, standing):
            return replace(looked, asks_at_commit=True)
        return self._ask(call, standing, looked, asked)

    async def admit_held(
        self, call: Call, held: Intent, standing: CallContext, tool_context: ToolContext
    ) -> Admitted | MustAsk:
        """The same door for changes that wait: the authority and the rules of now, and a person's word on exactly these. Raises: as `admit`."""
        await self._decisions_on(call)
        looked = await self._look(call, standing, tool_context)
        weighed = await self.weigh(call, held.paths, tool_context.workspace.root)
        for effect, why in ((looked.judged.effect, looked.judged.why), (weighed.effect, weighed.why)):
            if effect is Effect.DENY:
                raise DeniedByRule(f"{why} The command has run already.")
        return self._ask(call, standing, looked, await self._decisions_on(call), held)

    async def weigh(
        self, call: Call, changes: Sequence[PathIntent], workspace: str, *, autonomy: Autonomy | None = None
    ) -> ChangesDecision:
        """What rules say of these changes. Where only the chat's `autonomy` let the call run, a changed secret asks."""
        weighed = await self._judge.weigh(call, changes, workspace)
        secret = next((item.path for item in changes if looks_secret(item.path)), None) if autonomy else None
        if secret is None or weighed.effect in (Effect.DENY, Effect.ASK):
            return weighed
        return replace(weighed, effect=Effect.ASK, why=f"It changed {secret!r}, which looks like a secret.")

    async def hidden(self, chat_id: str, workspace: str) -> Hidden:
        """What may not be read in this chat, for whoever tells the model of files without a call."""
        return await self._judge.hidden(chat_id, workspace)

    async def explain(self, call: Call, standing: CallContext, tool_context: ToolContext) -> RuleDecision:
        """What `admit` would decide, and why; nobody is asked. Raises: as `admit`, but no rule's denial."""
        looked = await self._look(call, standing, tool_context)
        decided = looked.judged.decided
        passes = self._passes_unasked(call, looked, standing)
        if decided.effect is Effect.ALLOW and not passes:
            return RuleDecision(Effect.ASK, decided.rule, f"{decided.why} It is asked all the same.")
        if not passes and self._passes_by_autonomy(call, looked, standing):
            return RuleDecision(Effect.ALLOW, None, f"The chat's autonomy '{standing.autonomy.value}' lets it pass.")
        if not passes and decided.effect is Effect.ASK and self._may_run_first(call, looked, standing):
            return replace(decided, why=f"{decided.why} It runs first, and asks with its changes in hand.")
        return decided

    async def _decisions_on(self, call: Call) -> Sequence[Approval]:
        """The call's approvals, newest last. Raises: RejectedByUser if a person denied one: nothing else can admit the call then.

        A call that was only issued has none: approvals are stored together with the state `asking`.
        """
        if call.state is CallState.ISSUED:
            return ()
        approvals = await self._store.approvals_of_call(call.id)
        if denied := next((one for one in approvals if one.state is ApprovalState.DENIED), None):
            raise RejectedByUser(denial(denied))
        return approvals

    async def _look(self, call: Call, standing: CallContext, tool_context: ToolContext) -> Admitted:
        """Every stage but the last: the call as it would run, and what the rules say of it."""
        tool, granted = self._authorized(call, standing)
        own = tool_context if tool_context.permissions == granted else replace(tool_context, permissions=granted)
        hidden = await self._judge.hidden(call.chat_id, tool_context.workspace.root, tool.spec)
        if hidden.patterns:
            own = replace(own, hidden=hidden)
        prepared = await tool.prepare(call.parameters, own)
        judged = await self._judge.look(call, tool.spec, prepared, tool_context.workspace.root, standing.now)
        step = granted_by(standing.plan, tool.spec, call, prepared) if standing.plan else None
        over = standing.overdrawn if standing.overdrawn and standing.overdrawn.holds_back(call, tool.spec) else None
        return Admitted(tool, prepared, granted, judged, step, overdrawn=over)

    def _authorized(self, call: Call, standing: CallContext) -> tuple[Tool, frozenset[Permission]]:
        """The tool and what it may do. Raises: UnknownTool, Forbidden, BadParameters."""
        tool = self._toolbox.find(call.tool)
        if tool is None:
            raise UnknownTool(self._unknown(call.tool, standing))
        granted = require_authority(tool.spec, call, standing.at_issue, standing.now)
        if problems := tool.problems(call.parameters):
            raise BadParameters(
                f"The parameters of '{call.tool}' do not fit: {'; '.join(problem.rstrip('.') for problem in problems)}."
            )
        return tool, granted

    def _passes_unasked(self, call: Call, looked: Admitted, standing: CallContext) -> bool:
        tool, judged = looked.tool, looked.judged
        if (call.tool, looked.prepared.resource) in standing.denied:
            return (
                False  # a person denied the same in another call: a rule made for something else does not outvote them
            )
        if judged.effect is Effect.ASK and judged.rule is not None:
            return False  # a rule that asks is stronger than what a plan grants
        if judged.not_allowed:
            return False  # where it goes is asked for itself: neither a plan nor a rule about the command's words speaks of it
        if looked.overdrawn is not None and judged.rule is None:
            return False  # a standing rule is the person's word for any time; all else waits for a new one
        if tool.spec.read_only:
            return judged.effect is Effect.ALLOW
        if call.provenance.suspicious:
            return False
        if tool.spec.runs_commands and not tool.spec.contained:
            return False  # nothing holds such a command, so it always asks, whatever a plan or a rule says
        return looked.granted_by_plan or judged.effect is Effect.ALLOW

    def _passes_by_autonomy(self, call: Call, looked: Admitted, standing: CallContext) -> bool:
        """Only what nothing but the tool's own setting asks for, inside the plan if one runs. What is suspicious always asks."""
        judged = looked.judged
        return (
            standing.autonomy is not Autonomy.ASK
            and judged.effect is Effect.ASK
            and judged.rule is None
            and looked.overdrawn is None
            and not call.provenance.suspicious
            and not standing.now.only_advises
            and (standing.plan is None or looked.plan_step is not None)
            and (call.tool, looked.prepared.resource) not in standing.denied
            and covers(standing.autonomy, looked.tool.spec, call, looked.prepared, judged)
        )

    def _may_run_first(self, call: Call, looked: Admitted, standing: CallContext) -> bool:
        """Only what the sandbox holds, what leaves it by no network, what can show no secret, and what no rule asks for by name.

        A role that only advises asks before.
        What only reads has nothing to commit, so nobody would ever be asked.
        """
        return (
            self._ask_when() is AskWhen.AT_COMMIT
            and not standing.now.only_advises
            and looked.tool.spec.contained
            and not looked.tool.spec.read_only
            and not looked.prepared.network
            and not call.provenance.suspicious
            and looked.judged.rule is None
            and looked.overdrawn is None
            and (call.tool, looked.prepared.resource) not in standing.denied
            and not may_show_secrets(looked.prepared.resource)
        )

    def _ask(
        self,
        call: Call,
        standing: CallContext,
        admitted: Admitted,
        asked: Sequence[Approval],
        held: Intent | None = None,
    ) -> Admitted | MustAsk:
        """An approval counts only for exactly what was shown; if anything of it changed, it is asked again."""
        binding = bind(call, admitted.prepared, standing, held)
        for approval in reversed(asked):
            if approval.binding == binding and approval.state is ApprovalState.ALLOWED:
                return replace(admitted, approval_id=approval.id)
            if approval.binding == binding and approval.state is ApprovalState.PENDING:
                return MustAsk(approval)
        return MustAsk(self._approval(call, standing, admitted, binding, held))

    def _approval(
        self, call: Call, standing: CallContext, admitted: Admitted, binding: str, intent: Intent | None
    ) -> Approval:
        prepared, held = admitted.prepared, intent.held if intent else None
        risk, reasons = assess_risk(
            admitted.tool.spec, call, prepared.resource, prepared.network, workspace=admitted.judged.workspace
        )
        not_granted = standing.plan is not None and admitted.plan_step is None
        judged = admitted.judged
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
                *judged.reasons,
                *([not_granted_reason(standing.plan, call)] if standing.plan and not_granted else []),
                *([admitted.overdrawn.why] if admitted.overdrawn else []),
            ),
            binding=binding,
            outside_plan=not_granted and call.plan_step is None,
            proposed_rule=None if held and held.every_time else proposed_rule(judged.touched, judged.workspace),
            diff=held.diff if held else prepared.diff,
            network=tuple(map(str, prepared.network)),
            held=held is not None,
            items=disclose(call, prepared, intent).items,
            created_at=self._clock.now(),
        )

    def _unknown(self, name: str, standing: CallContext) -> str:
        known = ", ".join(spec.name for spec in self._toolbox.specs() if standing.now.grants(spec.permissions))
        return f"There is no tool '{name[:80]}'. You have: {known or 'no tools'}."


def bind(call: Call, prepared: Prepared, standing: CallContext, held: Intent | None = None) -> str:
    """The hash of exactly what is shown: call, resolved resource, role, principal, state of the file.

    Of held changes also what each path was and shall be, and where they wait; of all, the hash of the disclosure.
    """
    told = (call.tool, call.parameters, prepared.resource, prepared.state, standing.now.name, standing.turn.principal)
    shown: list[object] = [*told, disclose(call, prepared, held).hash]
    if held is not None:
        shown += [call.id, held.staged, held.paths]
    return hashlib.sha256(msgspec.json.encode(shown, order="sorted")).hexdigest()


def disclose(call: Call, prepared: Prepared, held: Intent | None = None) -> Disclosure:
    """All that allowing this call, or its changes that wait, grants."""
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
    """What the model reads of it."""
    note = f" They said: “{approval.note}”" if approval.note else ""
    return f"The person denied this call ({approval.tool} on {approval.resource}).{note} Do not try it again; go another way or ask."
