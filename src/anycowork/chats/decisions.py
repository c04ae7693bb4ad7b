"""Turns a person's decisions into records and, for "this session", "always" and "deny always", into standing rules. Pure."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from anycowork.domain import event_factory
from anycowork.domain.approvals import Approval, ApprovalState, Decision
from anycowork.domain.chats import Chat
from anycowork.domain.errors import Invalid
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import DecideApproval, Write
from anycowork.domain.network import NETWORK
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.rules import DecisionRule, Effect, NewRule, Rule, RuleScope, new_rule
from anycowork.domain.values import value
from anycowork.permissions.resources import resources_at_commit
from anycowork.permissions.rules import check_pattern, matches


@value
class DecidedApproval:
    """A person's decision on one approval. `rule` replaces the proposed rule; `disclosure` is the hash of what the person was shown."""

    id: str
    decision: Decision
    note: str | None = None
    rule: DecisionRule | None = None
    disclosure: str | None = None


@value
class DecisionRecords:
    """The writes of one change, so that no rule exists without the decision that created it."""

    writes: tuple[Write, ...]
    events: tuple[NewEvent, ...]
    rules: Mapping[str, Sequence[Rule]]


class DecisionRecordBuilder:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def build(
        self, chat: Chat, principal: Principal, decisions: Sequence[DecidedApproval], pending: Mapping[str, Approval]
    ) -> DecisionRecords:
        """Settle the decisions. Raises: Invalid, naming the invalid decision; NotAsShown; NotAllowed."""
        writes: list[Write] = []
        events: list[NewEvent] = []
        rules: dict[str, Sequence[Rule]] = {}
        by = principal.label()
        for place, decided in enumerate(decisions):
            approval, state = pending[decided.id], _state_of(decided.decision)
            _require_reach(principal, decided)
            if state is ApprovalState.ALLOWED:
                approval.disclosure.require(decided.disclosure)
            made = self._rules(chat, by, approval, decided, at=f"decisions.{place}")
            writes += [DecideApproval(decided.id, state, decided.note, by), *made]
            events.append(event_factory.permission_decided(approval, state, decided.note, by, made))
            if made:
                rules[decided.id] = made
        return DecisionRecords(tuple(writes), tuple(events), rules)

    def _rules(self, chat: Chat, by: str, approval: Approval, decided: DecidedApproval, *, at: str) -> list[Rule]:
        """Return the person's rule, or else the proposed rules: for the call, and for each network destination."""
        if decided.decision in (Decision.ALLOW_ONCE, Decision.DENY):
            if decided.rule is not None:
                raise Invalid(
                    "A rule is only possible with 'allow_session', 'allow_always' or 'deny_always'.", param=f"{at}.rule"
                )
            return []
        if decided.decision is Decision.DENY_ALWAYS:
            own = _with_deny_effect(decided.rule or _proposed_denial(approval, at))
            rule = self._rule(chat, by, approval, decided.decision, own, at=at)
            _require_match(rule, approval, chat, at)
            return [rule]
        owns = [decided.rule] if decided.rule is not None else _proposed(approval, at)
        made = [self._rule(chat, by, approval, decided.decision, own, at=at) for own in owns]
        if decided.rule is not None:
            _require_match(made[0], approval, chat, at)
        return made

    def _rule(self, chat: Chat, by: str, approval: Approval, decision: Decision, own: DecisionRule, *, at: str) -> Rule:
        _require_fitting(own, decision, chat, at)
        scope = _scope(decision, own)
        new = NewRule(
            tool=own.tool or approval.tool,
            resource=own.resource,
            effect=own.effect,
            scope=scope,
            context_id=chat.id if scope is RuleScope.SESSION else None,
            workspace=chat.workspace if scope is RuleScope.WORKSPACE else None,
            expires_at=own.expires_at,
        )
        try:
            rule = new_rule(new, rule_id=self._clock.new_id(), created_by=by, at=self._clock.now())
            check_pattern(rule)
        except Invalid as fault:
            raise Invalid(fault.message, param=f"{at}.rule.{fault.param}") from None
        return rule


def each_once(decisions: Sequence[DecidedApproval]) -> Sequence[DecidedApproval]:
    """Raises: Invalid."""
    if not decisions:
        raise Invalid("Send at least one decision.", param="decisions")
    if len({decided.id for decided in decisions}) != len(decisions):
        raise Invalid("The same approval is decided twice.", param="decisions")
    return decisions


def _proposed(approval: Approval, at: str) -> list[DecisionRule]:
    if approval.proposed_rule is None:
        raise Invalid(
            "No rule can allow this call again, because its effect cannot be determined from its text; use 'allow_once'.",
            param=f"{at}.decision",
        )
    reached = [DecisionRule(tool=NETWORK, resource=destination) for destination in approval.network]
    return [DecisionRule.model_validate(approval.proposed_rule), *reached]


def _proposed_denial(approval: Approval, at: str) -> DecisionRule:
    if approval.proposed_deny_rule is None:
        raise Invalid("No rule can name this call, so it can be denied only once; use 'deny'.", param=f"{at}.decision")
    return DecisionRule.model_validate(approval.proposed_deny_rule)


def _with_deny_effect(own: DecisionRule) -> DecisionRule:
    """A rule that names no effect denies here; one that names another keeps it, and is refused."""
    return own if "effect" in own.model_fields_set else own.model_copy(update={"effect": Effect.DENY})


def _require_fitting(own: DecisionRule, decision: Decision, chat: Chat, at: str) -> None:
    if decision is Decision.DENY_ALWAYS and own.effect is not Effect.DENY:
        raise Invalid("Denying a call cannot make a rule that asks or allows.", param=f"{at}.rule.effect")
    if decision is not Decision.DENY_ALWAYS and own.effect is not Effect.ALLOW:
        raise Invalid(
            "Allowing a call cannot create a rule that asks or denies; add such a rule at /rules.",
            param=f"{at}.rule.effect",
        )
    if own.context_id not in (None, chat.id):
        raise Invalid("The rule names a different chat from the one that asked.", param=f"{at}.rule.context_id")
    if own.workspace not in (None, chat.workspace):
        raise Invalid("The rule names a different workspace from this chat's.", param=f"{at}.rule.workspace")


def _require_reach(principal: Principal, decided: DecidedApproval) -> None:
    """A rule for this chat or this workspace is part of a decision there; one for every workspace is for admins, who manage rules.

    Raises: NotAllowed.
    """
    rule = decided.rule
    if decided.decision is not Decision.ALLOW_SESSION and rule is not None and rule.scope is RuleScope.GLOBAL:
        principal.require(Scope.MANAGE)


def _scope(decision: Decision, own: DecisionRule) -> RuleScope:
    if decision is Decision.ALLOW_SESSION:
        return RuleScope.SESSION
    return RuleScope.GLOBAL if own.scope is RuleScope.GLOBAL else RuleScope.WORKSPACE


def _require_match(rule: Rule, approval: Approval, chat: Chat, at: str) -> None:
    touched = resources_at_commit(approval.tool, None, approval.parameters, approval.resource, chat.workspace)
    if touched is None or not matches(rule, touched):
        raise Invalid(
            f"The rule '{rule.title()}' does not match the call in question ({approval.tool} on {approval.resource[:200]}).",
            param=f"{at}.rule",
        )


def _state_of(decision: Decision) -> ApprovalState:
    match decision:
        case Decision.ALLOW_ONCE | Decision.ALLOW_SESSION | Decision.ALLOW_ALWAYS:
            return ApprovalState.ALLOWED
        case Decision.DENY | Decision.DENY_ALWAYS:
            return ApprovalState.DENIED
        case _:
            assert_never(decision)
