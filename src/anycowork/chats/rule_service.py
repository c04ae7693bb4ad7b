"""Manages standing rules: add, list, change and revoke them, explain the decision for one call, preview a rule on past calls."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from anycowork.agent.turn_origins import TurnOrigins, passage_about
from anycowork.chats.chat_visibility import ChatVisibility
from anycowork.domain.chats import Autonomy, Chat, Turn
from anycowork.domain.errors import Invalid, ModelFault, NotFound, Refusal, ToolFault, UnknownTool
from anycowork.domain.origins import unvouched
from anycowork.domain.ports import Clock, PastCall
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.roles import Role, RoleDefinition
from anycowork.domain.rules import Effect, NewRule, Rule, RuleChange, RuleScope, changed_rule, new_rule
from anycowork.domain.tool_ports import Toolbox, ToolContext
from anycowork.domain.tools import Call, Parameters, ToolSpec
from anycowork.domain.values import value
from anycowork.permissions.admission import CallContext
from anycowork.permissions.endorsements import NOT_EXPOSED, Exposure
from anycowork.permissions.gate import Gate
from anycowork.permissions.policy import PolicyEvaluator, default_decision
from anycowork.permissions.resources import AccessedResources, resources_at_commit
from anycowork.permissions.roles import RoleRegistry
from anycowork.permissions.rule_proposals import DecidedRequest, ProposedRule, proposals
from anycowork.permissions.rules import RuleDecision, RuleIndex, check_pattern, decide, matches
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_in_folder

MOST_LOOKED_AT = 500
MOST_SHOWN = 100


@value
class StandingRule:
    """A rule, and warnings for the person."""

    rule: Rule
    warnings: Sequence[str]


@value
class PreviewedCall:
    """A past call that the rule matches: the current decision, and the decision with the rule."""

    call: Call
    resource: str
    decided: Effect
    would: Effect


@value
class RulePreview:
    calls: Sequence[PreviewedCall]
    matched: int
    looked_at: int
    warnings: Sequence[str]


class RuleService:
    def __init__(
        self,
        *,
        rules: Rules,
        store: Store,
        gate: Gate,
        toolbox: Toolbox,
        roles: RoleRegistry,
        workspaces: Workspaces,
        clock: Clock,
        find_workspace: Callable[[str | None], Awaitable[str]],
        visibility: ChatVisibility,
    ) -> None:
        self._rules, self._visibility = rules, visibility
        self._store = store
        self._gate = gate
        self._toolbox = toolbox
        self._roles = roles
        self._workspaces = workspaces
        self._clock = clock
        self._find_workspace = find_workspace
        self._policy = PolicyEvaluator(rules)

    async def all(self, principal: Principal) -> Sequence[Rule]:
        principal.require(Scope.MANAGE)
        return await self._rules.all()

    async def add(self, principal: Principal, new: NewRule) -> StandingRule:
        """Raises: Invalid, BadWorkspace."""
        principal.require(Scope.MANAGE)
        written = await self._draft(principal, new)
        await self._rules.add(written.rule)
        return written

    async def change(self, principal: Principal, rule_id: str, change: RuleChange) -> StandingRule:
        """Raises: NotFound, Invalid."""
        principal.require(Scope.MANAGE)
        rule = await self._rules.find(rule_id)
        if rule is None:
            raise NotFound("rule", rule_id)
        changed = changed_rule(rule, change, now=self._clock.now())
        warnings = check_pattern(changed)
        await self._rules.change(changed)
        return StandingRule(changed, warnings)

    async def remove(self, principal: Principal, rule_id: str) -> None:
        """Raises: NotFound."""
        principal.require(Scope.MANAGE)
        await self._rules.remove(rule_id)

    # --- previews, without running anything

    async def explain(
        self, principal: Principal, tool: str, parameters: Parameters, chat_id: str | None
    ) -> RuleDecision:
        """Explain what would be decided if the agent of this chat made the call now; without a chat, in a new chat.

        Raises: NotFound, BadWorkspace; Invalid for an invalid call.
        """
        principal.require(Scope.MANAGE)
        chat = await require_chat_in_folder(self._store, chat_id) if chat_id is not None else None
        workspace = chat.workspace if chat else await self._find_workspace(None)
        role = self._roles.stored(chat.role if chat else Role.ACTOR)
        own_id = chat.id if chat else ""
        call = Call(self._clock.new_id(), own_id, "", "", 0, tool, parameters, role_at_issue=role.name)
        exposure = await self._exposure(chat) if chat is not None else NOT_EXPOSED
        autonomy = chat.config.autonomy if chat is not None else Autonomy.ASK
        turn = Turn("", own_id, role.name, principal.label(), "")
        context = CallContext(turn, role, role, autonomy=autonomy, exposure=exposure)
        tool_context = ToolContext(self._workspaces.open(workspace), role.permissions)
        try:
            return await self._gate.explain(call, context, tool_context)
        except UnknownTool:  # its message lists every tool, which is meant only for the model
            raise Invalid(f"There is no tool '{tool[:80]}'.", param="call.tool") from None
        except ModelFault as fault:
            raise Invalid(fault.message, param="call") from None
        except Refusal as refusal:
            return RuleDecision(Effect.DENY, None, refusal.message)
        except ToolFault as fault:
            return await self._decide_by_parameters(call, role, workspace, fault)

    async def preview(self, principal: Principal, new: NewRule) -> RulePreview:
        """Returns the newest past calls that the rule matches. Raises: Invalid, BadWorkspace."""
        principal.require(Scope.MANAGE)
        written = await self._draft(principal, new)
        rule = written.rule
        past = await self._visibility.visible_only(
            principal,
            await self._store.calls.past(chat_id=rule.chat_id, workspace=rule.workspace, limit=MOST_LOOKED_AT),
            lambda item: item.call.chat_id,
        )
        previewed = [seen for item in past if (seen := await self._preview_call(rule, item)) is not None]
        return RulePreview(previewed[:MOST_SHOWN], len(previewed), len(past), written.warnings)

    async def proposals(self, principal: Principal) -> Sequence[ProposedRule]:
        """Returns the smallest rules that would have answered what people decided, tried on those decisions and on known attacks."""
        principal.require(Scope.MANAGE)
        decided = await self._visibility.visible_only(
            principal, await self._rules.decided_approvals(limit=MOST_LOOKED_AT), lambda entry: entry[0].chat_id
        )
        workspaces = {workspace for _, workspace in decided}
        rules = {workspace: await self._rules.for_call("", workspace) for workspace in workspaces}
        requests = [DecidedRequest(approval, workspace) for approval, workspace in decided]
        return proposals(requests, rules, self._spec_of)

    # --- the parts

    def _spec_of(self, name: str) -> ToolSpec | None:
        tool = self._toolbox.find(name)
        return tool.spec if tool is not None else None

    async def _exposure(self, chat: Chat) -> Exposure:
        """Returns what the agent of this chat has read that nobody vouched for."""
        turn = await self._store.turns.newest(chat.id)
        recent = await self._store.messages.recent(chat.id, since=turn.message_id if turn else "")
        turn_origins, trusts = TurnOrigins(), await self._store.origins.trusts_contents(chat.workspace)
        origins = unvouched(turn_origins.of(recent.messages), trusts_contents=trusts)
        passage = partial(passage_about, recent.messages, origins)
        return Exposure(origins, tuple(turn_origins.words(recent.messages)), passage)

    async def _draft(self, principal: Principal, new: NewRule) -> StandingRule:
        now = self._clock.now()
        if new.scope is RuleScope.WORKSPACE:
            new = new.model_copy(update={"workspace": await self._find_workspace(new.workspace)})
        rule = new_rule(new, rule_id=self._clock.new_id(), created_by=principal.label(), created_at=now)
        if rule.chat_id is not None and await self._store.chats.find(rule.chat_id) is None:
            raise Invalid(f"There is no chat '{rule.chat_id[:80]}' that the rule could apply to.", param="context_id")
        return StandingRule(rule, check_pattern(rule))

    async def _decide_by_parameters(
        self, call: Call, role: RoleDefinition, workspace: str, fault: ToolFault
    ) -> RuleDecision:
        """Decides by the call's parameters alone, because the call could not be prepared."""
        tool = self._toolbox.find(call.tool)
        touched = resources_at_commit(call.tool, tool.spec, call.parameters, None, workspace) if tool else None
        if touched is None or tool is None:
            return RuleDecision(Effect.ASK, None, fault.message)
        decided = (await self._policy.decide(call, tool.spec, touched, workspace, role)).decided
        return RuleDecision(
            decided.effect, decided.rule, f"{decided.reason} But the call would currently fail: {fault.message}"
        )

    async def _preview_call(self, rule: Rule, past: PastCall) -> PreviewedCall | None:
        call, tool = past.call, self._toolbox.find(past.call.tool)
        if tool is None:
            return None
        touched = resources_at_commit(call.tool, tool.spec, call.parameters, past.resource, past.workspace, call.intent)
        if touched is None or not matches(rule, touched):
            return None
        rules = await self._rules.for_call(call.chat_id, past.workspace)
        default = default_decision(tool.spec, call, touched, self._roles.stored(call.role_at_issue))
        now = decide(touched, RuleIndex(rules), default=default)
        would = decide(touched, RuleIndex((*rules, rule)), default=default)
        return PreviewedCall(call, _shown(touched), now.effect, would.effect)


def _shown(touched: AccessedResources) -> str:
    if touched.command is not None:
        return f"command:{touched.command.text}"
    return touched.paths[0] if touched.paths else touched.other or ""
