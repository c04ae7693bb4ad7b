"""The door's rules stage: what a call touches, which rule decides it, and what holds where no rule speaks. Asks the rules' port, decides pure."""

from collections.abc import Sequence

from anycowork.domain.approvals import Risk
from anycowork.domain.key_files import is_key_file
from anycowork.domain.network import Destination
from anycowork.domain.ports import NOTHING_HIDDEN, Hidden, Prepared, Rules
from anycowork.domain.roles import RoleDefinition
from anycowork.domain.rules import ChangesDecision, Effect, Rule
from anycowork.domain.tools import Call, PathIntent, ToolSpec
from anycowork.domain.values import value
from anycowork.permissions.resources import AccessedResources, resources_of
from anycowork.permissions.risk import assess_risk
from anycowork.permissions.rules import RuleDecision, RuleIndex, check_changes, decide, named_literally, not_allowed

_MOST_INDEXES = 256


@value
class PolicyResult:
    """A call's decision by rules, with what it was made on; and of where it wants to go, what no rule allows and what one names literally."""

    touched: AccessedResources
    workspace: str
    decided: RuleDecision
    not_allowed: tuple[Destination, ...] = ()
    named_literally: tuple[Destination, ...] = ()
    hidden: Hidden = NOTHING_HIDDEN

    @property
    def effect(self) -> Effect:
        return self.decided.effect

    @property
    def rule(self) -> Rule | None:
        return self.decided.rule

    @property
    def why(self) -> str:
        return self.decided.why

    @property
    def reasons(self) -> list[str]:
        """What the person should read on the card: a rule that asks, or why no rule helps."""
        return [self.why] if self.rule is not None or self.touched.unanalyzable else []


class PolicyEvaluator:
    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._indexes: dict[str, RuleIndex] = {}

    async def look(
        self, call: Call, spec: ToolSpec, prepared: Prepared, workspace: str, role: RoleDefinition
    ) -> PolicyResult:
        return await self.decide(call, spec, resources_of(prepared, spec, workspace), workspace, role)

    async def decide(
        self, call: Call, spec: ToolSpec, touched: AccessedResources, workspace: str, role: RoleDefinition
    ) -> PolicyResult:
        index = self._index(call.chat_id, await self._rules.for_call(call.chat_id, workspace))
        decided = decide(touched, index, default=default_decision(spec, call, touched, role))
        hidden = index.hidden_from(spec)
        if not touched.network:
            return PolicyResult(touched, workspace, decided, hidden=hidden)
        allowed, named = not_allowed(touched, index), named_literally(touched, index)
        return PolicyResult(touched, workspace, decided, allowed, named, hidden)

    async def hidden(self, chat_id: str, workspace: str, spec: ToolSpec | None = None) -> Hidden:
        """What rules keep from being read there: by this tool, or by anyone."""
        index = self._index(chat_id, await self._rules.for_call(chat_id, workspace))
        return index.hidden_from(spec)

    async def weigh(self, call: Call, changes: Sequence[PathIntent], workspace: str) -> ChangesDecision:
        """What rules say of what the call has changed already, in a layer of its own."""
        index = self._index(call.chat_id, await self._rules.for_call(call.chat_id, workspace))
        return check_changes(changes, index, changed_by=call.tool)

    def _index(self, chat_id: str, rules: Sequence[Rule]) -> RuleIndex:
        """Kept as long as the rules are the very same object. When there are too many, the one made first goes."""
        index = self._indexes.get(chat_id)
        if index is None or index.rules is not rules:
            index = self._indexes[chat_id] = RuleIndex(rules)
            if len(self._indexes) > _MOST_INDEXES:
                del self._indexes[next(iter(self._indexes))]
        return index


_READS = RuleDecision(Effect.ALLOW, None, "Reading inside the workspace passes.")
_HOLDS_KEYS = RuleDecision(Effect.ASK, None, "No rule covers it, and the file looks as if it held keys or passwords.")


def default_decision(spec: ToolSpec, call: Call, touched: AccessedResources, role: RoleDefinition) -> RuleDecision:
    """With no rule the tool's own setting decides, tightened by risk and by role.

    By risk: a read of a key file asks, and so does whatever is risky. By role: one that only advises (its output is a plan or a review)
    passes by itself only where it reads; whatever can change something asks, also with a tool that needs no approval.
    """
    if spec.requires_approval:
        return RuleDecision(Effect.ASK, None, f"No rule covers it, and '{spec.name}' asks.")
    if any(map(is_key_file, touched.paths)):
        return _HOLDS_KEYS
    if spec.read_only:
        return _READS
    if role.only_advises:
        return RuleDecision(Effect.ASK, None, f"No rule covers it, and {role.title} only advises: '{spec.name}' asks.")
    resource = touched.paths[0] if touched.paths else touched.other or ""
    risk, reasons = assess_risk(spec, call, resource)  # where it goes is decided by itself
    if risk is Risk.HIGH:
        return RuleDecision(Effect.ASK, None, f"No rule covers it, and it is risky. {' '.join(reasons)}")
    return RuleDecision(Effect.ALLOW, None, f"'{spec.name}' needs no approval.")
