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
from anycowork.domain.origins import Endorsement
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.rules import DecisionRule, Effect, NewRule, Rule, RuleScope, new_rule
from anycowork.domain.values import replace, value
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
        """Settles the decisions. Raises: Invalid, naming the invalid decision; NotAsShown; NotAllowed."""
        writes: list[Write] = []
        events: list[NewEvent] = []
        rules: dict[str, Sequence[Rule]] = {}
        by = principal.label()
        for index, decided in enumerate(decisions):
            approval, state = pending[decided.id], _state_of(decided.decision)
            _require_reach(principal, decided)
            if state is ApprovalState.ALLOWED:
                approval.disclosure.require(decided.disclosure)
            new_rules = self._rules(chat, by, approval, decided, param=f"decisions.{index}")
            writes += [DecideApproval(decided.id, state, decided.note, by), *new_rules]
            events.append(event_factory.permission_decided(approval, state, decided.note, by, new_rules))
            if new_rules:
                rules[decided.id] = new_rules
        return DecisionRecords(tuple(writes), tuple(events), rules)

    def _rules(self, chat: Chat, by: str, approval: Approval, decided: DecidedApproval, *, param: str) -> list[Rule]:
        """Returns the person's rule, or else the proposed rules: for the call, and for each network destination."""
        if decided.decision in (Decision.ALLOW_ONCE, Decision.DENY):
            if decided.rule is not None:
                raise Invalid(
                    "A rule is only possible with 'allow_session', 'allow_always' or 'deny_always'.",
                    param=f"{param}.rule",
                )
            return []
        if decided.decision is Decision.DENY_ALWAYS:
            draft = _with_deny_effect(decided.rule or _proposed_denial(approval, param))
            rule = self._rule(chat, by, approval, decided.decision, draft, param=param)
            _require_match(rule, approval, chat, param)
            return [rule]
        owns = [decided.rule] if decided.rule is not None else _proposed(approval, param)
        new_rules = [self._rule(chat, by, approval, decided.decision, draft, param=param) for draft in owns]
        if decided.rule is not None:
            _require_match(new_rules[0], approval, chat, param)
        return self._endorsing(new_rules, approval.endorsement) if approval.endorsement is not None else new_rules

    def _endorsing(self, rules: Sequence[Rule], endorsement: Endorsement) -> list[Rule]:
        """Returns the rules as endorsements, one for each origin and sink; a destination's rule is that of the destination."""
        pairs = [(origin, sink) for sink in endorsement.sinks for origin in endorsement.origins]
        bases = [
            next((rule for rule in rules if rule.tool == NETWORK and rule.resource == sink.subject), rules[0])
            for _, sink in pairs
        ]
        endorsing = [
            replace(base, id=self._clock.new_id(), origin=origin, sink=sink)
            for base, (origin, sink) in zip(bases, pairs, strict=True)
        ]
        return [*(rule for rule in rules if rule not in bases), *endorsing]

    def _rule(
        self, chat: Chat, by: str, approval: Approval, decision: Decision, draft: DecisionRule, *, param: str
    ) -> Rule:
        _require_fitting(draft, decision, chat, param)
        scope = _scope(decision, draft)
        new = NewRule(
            tool=draft.tool or approval.tool,
            resource=draft.resource,
            effect=draft.effect,
            scope=scope,
            context_id=chat.id if scope is RuleScope.SESSION else None,
            workspace=chat.workspace if scope is RuleScope.WORKSPACE else None,
            expires_at=draft.expires_at,
            arguments=draft.arguments,
        )
        try:
            rule = new_rule(new, rule_id=self._clock.new_id(), created_by=by, created_at=self._clock.now())
            check_pattern(rule)
        except Invalid as fault:
            raise Invalid(fault.message, param=f"{param}.rule.{fault.param}") from None
        return rule


def _proposed(approval: Approval, param: str) -> list[DecisionRule]:
    if approval.proposed_rule is None:
        raise Invalid(
            "No rule can allow this call again, because its effect cannot be determined from its text; use 'allow_once'.",
            param=f"{param}.decision",
        )
    proposed = DecisionRule.model_validate(approval.proposed_rule)
    if proposed.tool == NETWORK:
        return [proposed]  # it covers the destinations
    return [proposed, *(DecisionRule(tool=NETWORK, resource=destination) for destination in approval.network)]


def _proposed_denial(approval: Approval, param: str) -> DecisionRule:
    if approval.proposed_deny_rule is None:
        raise Invalid(
            "No rule can name this call, so it can be denied only once; use 'deny'.", param=f"{param}.decision"
        )
    return DecisionRule.model_validate(approval.proposed_deny_rule)


def _with_deny_effect(draft: DecisionRule) -> DecisionRule:
    """A rule that names no effect denies here; one that names another keeps it, and is refused."""
    return draft if "effect" in draft.model_fields_set else draft.model_copy(update={"effect": Effect.DENY})


def _require_fitting(draft: DecisionRule, decision: Decision, chat: Chat, param: str) -> None:
    if decision is Decision.DENY_ALWAYS and draft.effect is not Effect.DENY:
        raise Invalid("Denying a call cannot make a rule that asks or allows.", param=f"{param}.rule.effect")
    if decision is not Decision.DENY_ALWAYS and draft.effect is not Effect.ALLOW:
        raise Invalid(
            "Allowing a call cannot create a rule that asks or denies; add such a rule at /rules.",
            param=f"{param}.rule.effect",
        )
    if draft.context_id not in (None, chat.id):
        raise Invalid("The rule names a different chat from the one that asked.", param=f"{param}.rule.context_id")
    if draft.workspace not in (None, chat.workspace):
        raise Invalid("The rule names a different workspace from this chat's.", param=f"{param}.rule.workspace")


def _require_reach(principal: Principal, decided: DecidedApproval) -> None:
    """A rule for this chat or this workspace is part of a decision there; one for every workspace is for admins, who manage rules.

    Raises: NotAllowed.
    """
    rule = decided.rule
    if decided.decision is not Decision.ALLOW_SESSION and rule is not None and rule.scope is RuleScope.GLOBAL:
        principal.require(Scope.MANAGE)


def _scope(decision: Decision, draft: DecisionRule) -> RuleScope:
    if decision is Decision.ALLOW_SESSION:
        return RuleScope.SESSION
    return RuleScope.GLOBAL if draft.scope is RuleScope.GLOBAL else RuleScope.WORKSPACE


def _require_match(rule: Rule, approval: Approval, chat: Chat, param: str) -> None:
    touched = resources_at_commit(approval.tool, None, approval.parameters, approval.resource, chat.workspace)
    if touched is None or not matches(rule, touched):
        raise Invalid(
            f"The rule '{rule.title()}' does not match the call in question ({approval.tool} on {approval.resource[:200]}).",
            param=f"{param}.rule",
        )


def _state_of(decision: Decision) -> ApprovalState:
    match decision:
        case Decision.ALLOW_ONCE | Decision.ALLOW_SESSION | Decision.ALLOW_ALWAYS:
            return ApprovalState.ALLOWED
        case Decision.DENY | Decision.DENY_ALWAYS:
            return ApprovalState.DENIED
        case _:
            assert_never(decision)
