"""The gate's rules stage, and the gate for what people do themselves.

Of a call: what it accesses, which rule decides it, and the default if no rule applies. Reads rules from `Rules`; the decision itself is pure.
"""

from collections.abc import Sequence

from anycowork.domain.approvals import Risk
from anycowork.domain.errors import NotAllowed
from anycowork.domain.network import Destination
from anycowork.domain.path_class import is_key_file
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules
from anycowork.domain.principals import Principal, PrincipalKind, Scope
from anycowork.domain.roles import RoleDefinition
from anycowork.domain.rules import ChangesDecision, Effect, Rule
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, PathIntent, ToolSpec
from anycowork.domain.values import value
from anycowork.permissions.resources import AccessedResources, resources_of
from anycowork.permissions.risk import assess_risk
from anycowork.permissions.rules import RuleDecision, RuleIndex, check_changes, decide, named_literally, not_allowed
from anycowork.store.sql.rules import Rules

_MOST_INDEXES = 256


@value
class PolicyResult:
    """The decision on a call and the resources it is based on. `not_allowed` are the destinations that no rule allows,
    `named_literally` those that a rule names exactly."""

    touched: AccessedResources
    workspace: str
    decided: RuleDecision
    not_allowed: tuple[Destination, ...] = ()
    named_literally: tuple[Destination, ...] = ()
    hidden: HiddenPathRules = NOTHING_HIDDEN

    @property
    def effect(self) -> Effect:
        return self.decided.effect

    @property
    def rule(self) -> Rule | None:
        return self.decided.rule

    @property
    def reason(self) -> str:
        return self.decided.reason

    @property
    def reasons(self) -> list[str]:
        """The reasons for the approval card: the rule that asks, or why no rule can decide."""
        return [self.reason] if self.rule is not None or self.touched.unanalyzable else []


class PolicyEvaluator:
    """Evaluates calls against the rules of a chat and its workspace."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._indexes: dict[str, RuleIndex] = {}

    async def evaluate(
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
        unallowed_destinations, literal_destinations = not_allowed(touched, index), named_literally(touched, index)
        return PolicyResult(touched, workspace, decided, unallowed_destinations, literal_destinations, hidden)

    async def rules(self, chat_id: str, workspace: str) -> Sequence[Rule]:
        """Returns the rules that apply there now."""
        return await self._rules.for_call(chat_id, workspace)

    async def hidden(self, chat_id: str, workspace: str, spec: ToolSpec | None = None) -> HiddenPathRules:
        """Returns what the rules hide in this chat: from this tool, or from every tool."""
        index = self._index(chat_id, await self._rules.for_call(chat_id, workspace))
        return index.hidden_from(spec)

    async def check_changes(self, call: Call, changes: Sequence[PathIntent], workspace: str) -> ChangesDecision:
        """Applies the rules to what the call has already changed in its layer."""
        index = self._index(call.chat_id, await self._rules.for_call(call.chat_id, workspace))
        return check_changes(changes, index, changed_by=call.tool)

    def _index(self, chat_id: str, rules: Sequence[Rule]) -> RuleIndex:
        """Returns the index of these rules, cached while the rules are the same object. If there are too many, the oldest goes."""
        index = self._indexes.get(chat_id)
        if index is None or index.rules is not rules:
            index = self._indexes[chat_id] = RuleIndex(rules)
            if len(self._indexes) > _MOST_INDEXES:
                del self._indexes[next(iter(self._indexes))]
        return index


_READS = RuleDecision(Effect.ALLOW, None, "Reading inside the workspace is allowed.")
_READS_WEB = RuleDecision(Effect.ALLOW, None, "Reading the web is allowed where a rule allows the host.")
_HOLDS_KEYS = RuleDecision(Effect.ASK, None, "No rule covers it, and the file looks as if it holds keys or passwords.")


def default_decision(spec: ToolSpec, call: Call, touched: AccessedResources, role: RoleDefinition) -> RuleDecision:
    """Returns the decision for a call that no rule covers: the tool's default, tightened by risk and by role.

    By risk: reading a key file asks, and so does every risky call. By role: a role that only advises (its output is a plan or a
    review) may only read without asking; everything that can change something asks, even if the tool needs no approval.
    """
    if spec.requires_approval:
        return RuleDecision(Effect.ASK, None, f"No rule covers it, and '{spec.name}' asks.")
    if touched.key_files or any(map(is_key_file, touched.paths)):
        return _HOLDS_KEYS
    if spec.web:
        return _READS_WEB
    if spec.read_only:
        return _READS
    if role.only_advises:
        return RuleDecision(Effect.ASK, None, f"No rule covers it, and {role.title} only advises: '{spec.name}' asks.")
    resource = touched.paths[0] if touched.paths else touched.other or ""
    risk, reasons = assess_risk(spec, call, resource)  # network destinations are decided separately
    if risk is Risk.HIGH:
        return RuleDecision(Effect.ASK, None, f"No rule covers it, and it is risky. {' '.join(reasons)}")
    return RuleDecision(Effect.ALLOW, None, f"'{spec.name}' needs no approval.")


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


def admit_vouching(principal: Principal) -> str:
    """Admit that what a file holds counts as the person's own, and return who vouches. An editor or a host has read nothing for them.
    Raises: NotAllowed."""
    if principal.kind is not PrincipalKind.PERSON:
        raise NotAllowed(
            f"{principal.name} may not vouch for a file. Only a person who has read it may, in this server's own page."
        )
    return admit_person(principal)


def admit_program(principal: Principal, name: str, *, is_configured: bool) -> str:
    """Admit the start of a program that a request names, and return who asked for it. Raises: NotAllowed.

    An admin may name any program. Everybody else, and every editor, starts only programs that an admin has configured with exactly
    these arguments: a path among them is shown to the program.
    """
    if not is_configured and Scope.MANAGE not in principal.scopes:
        raise NotAllowed(
            f"The MCP server '{name}' is not started: no admin has configured its program with these arguments and variables. "
            "An admin can do so with 'anycowork mcp add', or with 'anycowork mcp import' for the file of an editor."
        )
    return admit_person(principal)
