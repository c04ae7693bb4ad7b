"""Standing permission rules: their fields and validation. `permissions/rules.py` decides which rule applies."""

import re
import unicodedata
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, assert_never

from pydantic import Field

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.fixed_arguments import ArgumentsBody, FixedArguments, read_arguments
from anycowork.domain.messages import Json
from anycowork.domain.network import NETWORK
from anycowork.domain.origins import Sink
from anycowork.domain.times import written_time
from anycowork.domain.tools import Parameters
from anycowork.domain.values import value

EVERYTHING = "*"
SERVER = "mcp:"  # begins the resource of a tool of an MCP server
_TOOL = re.compile(r"[A-Za-z0-9_.:-]+\*?|\*")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


class Effect(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class RuleScope(StrEnum):
    """Where a rule applies. `session` is one chat, also after a restart."""

    SESSION = "session"
    WORKSPACE = "workspace"
    GLOBAL = "global"


@value
class ChangesDecision:
    """The effect of the rules on paths that a command has already changed; `named` are paths that an allow rule names exactly."""

    effect: Effect = Effect.ALLOW
    why: str = ""
    named: frozenset[str] = frozenset()


_EFFECTS = {
    Effect.ALLOW: "the agent may",
    Effect.ASK: "ask before the agent may",
    Effect.DENY: "the agent may never",
}
ACTS = {
    "read_file": "read",
    "list_directory": "list",
    "get_file_info": "look at",
    "grep": "search",
    "search_code": "search",
    "search_symbol": "look up",
    "create_file": "create",
    "update_file": "change",
    "move_file": "move",
    "delete_file": "delete",
    "execute_command": "run",
    NETWORK: "connect to",
}


@value
class Rule:
    """A standing rule. `tool` is a name, a prefix with `*`, or `*`; `resource` is a path pattern from the workspace root, a command
    pattern, or, for the tool `network`, a destination.

    With an `origin` it is an endorsement as well: calls may reach this `sink` although the turn has read this origin.
    With `arguments` it matches only calls of a server's tool that have these."""

    id: str
    tool: str
    resource: str
    effect: Effect
    scope: RuleScope
    chat_id: str | None = None
    workspace: str | None = None
    expires_at: str | None = None
    created_by: str = ""
    created_at: str = ""
    origin: str | None = None
    sink: Sink | None = None
    arguments: FixedArguments | None = None

    def holds_in(self, chat_id: str, workspace: str, *, now: str) -> bool:
        if self.expires_at is not None and self.expires_at <= now:
            return False
        match self.scope:
            case RuleScope.GLOBAL:
                return True
            case RuleScope.WORKSPACE:
                return self.workspace == workspace
            case RuleScope.SESSION:
                return self.chat_id == chat_id
            case _:
                assert_never(self.scope)

    def names_tool(self, tool: str) -> bool:
        return tool.startswith(self.tool[:-1]) if self.tool.endswith("*") else tool == self.tool

    def title(self) -> str:
        """The rule as a sentence, as messages name it."""
        endorsed = f", also after it read {self.origin}" if self.origin is not None else ""
        arguments = f" {self.arguments.describe()}" if self.arguments is not None else ""
        act = "use any tool on" if self.tool == "*" else ACTS.get(self.tool, f"use {self.tool} on")
        subject = "anything" if self.resource == "*" else self.resource[:200]
        return f"{_EFFECTS[self.effect]} {act} {subject}{arguments}{endorsed}"

    def admits(self, arguments: Parameters) -> bool:
        """Whether a call with these arguments is one that this rule is about. A rule that asks or denies holds whatever else is named."""
        if self.arguments is None:
            return True
        return self.arguments.admit(arguments, others_count=self.effect is Effect.ALLOW)

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "tool": self.tool,
            "resource": self.resource,
            "effect": self.effect.value,
            "scope": self.scope.value,
            "context_id": self.chat_id,
            "workspace": self.workspace,
            "expires_at": self.expires_at,
            "created_by": self.created_by,
            "created_at": self.created_at,
            "origin": self.origin,
            "sink": self.sink.to_json() if self.sink is not None else None,
            "arguments": self.arguments.to_json() if self.arguments is not None else None,
        }


ToolText = Annotated[str, Field(min_length=1, max_length=200, examples=["update_file"])]
ResourceText = Annotated[
    str, Field(min_length=1, max_length=10_000, examples=["/src/*", "git status", "example.org:443"])
]
EffectWord = Annotated[Effect, Field(strict=False)]
ScopeWord = Annotated[RuleScope, Field(strict=False)]
Name = Annotated[str, Field(min_length=1, max_length=4096)]
TimeText = Annotated[str, Field(max_length=40, examples=["2027-01-31T12:00:00Z"])]


class NewRule(Boundary):
    """A rule as a person writes it. A session rule names its chat, a workspace rule its folder, a global rule neither."""

    tool: ToolText
    resource: ResourceText
    effect: EffectWord
    scope: ScopeWord
    context_id: Name | None = None
    workspace: Name | None = None
    expires_at: TimeText | None = None
    arguments: ArgumentsBody | None = None


class DecisionRule(Boundary):
    """A rule that comes with a decision: missing fields are taken from the call in question."""

    tool: ToolText | None = None
    resource: ResourceText
    effect: EffectWord = Effect.ALLOW
    scope: ScopeWord | None = None
    context_id: Name | None = None
    workspace: Name | None = None
    expires_at: TimeText | None = None
    arguments: ArgumentsBody | None = None


class RuleChange(Boundary):
    """A change of a rule: absent fields stay unchanged; `expires_at: null` makes the rule permanent, `arguments: null` fixes none."""

    tool: ToolText | None = None
    resource: ResourceText | None = None
    effect: EffectWord | None = None
    expires_at: TimeText | None = None
    arguments: ArgumentsBody | None = None


def new_rule(new: NewRule, *, rule_id: str, created_by: str, created_at: str) -> Rule:
    """Builds a rule from a request. Raises: Invalid, with the invalid field."""
    rule = Rule(
        id=rule_id,
        tool=new.tool,
        resource=new.resource.strip(),
        effect=new.effect,
        scope=new.scope,
        chat_id=new.context_id,
        workspace=new.workspace,
        expires_at=_expiry(new.expires_at, after=created_at),
        created_by=created_by,
        created_at=created_at,
        arguments=_arguments(new.arguments),
    )
    return _checked(rule)


def changed_rule(rule: Rule, change: RuleChange, *, now: str) -> Rule:
    """Returns the rule with these fields changed; its scope stays. Raises: Invalid."""
    sent = change.model_fields_set
    return _checked(
        replace(
            rule,
            tool=change.tool or rule.tool,
            resource=(change.resource or rule.resource).strip(),
            effect=change.effect or rule.effect,
            expires_at=_expiry(change.expires_at, after=now) if "expires_at" in sent else rule.expires_at,
            arguments=_arguments(change.arguments) if "arguments" in sent else rule.arguments,
        )
    )


def _arguments(body: ArgumentsBody | None) -> FixedArguments | None:
    return read_arguments(body) if body is not None else None


def _checked(rule: Rule) -> Rule:
    if not _TOOL.fullmatch(rule.tool):
        raise Invalid(
            f"'{rule.tool[:80]}' is not a tool name: write a tool's name, a prefix with '*', or '*' for every tool.",
            param="tool",
        )
    _require_readable(rule.resource)
    if rule.arguments is not None and not rule.resource.startswith(SERVER):
        raise Invalid(
            "Arguments are fixed for a tool of an MCP server: its resource is written 'mcp:<server>/<tool>#<version>', or ends with '*'.",
            param="arguments",
        )
    _require_scope(rule)
    return rule


def _require_readable(resource: str) -> None:
    if not resource:
        raise Invalid(
            "The pattern is empty, so it matches nothing; write a path, a command, or '*' for everything.",
            param="resource",
        )
    hidden = next((c for c in resource if c not in "\n\t" and unicodedata.category(c) in _HIDDEN), None)
    if hidden is not None:
        raise Invalid(
            f"The pattern contains an invisible character (U+{ord(hidden):04X}), so it is not what it looks like; type it again.",
            param="resource",
        )


def _require_scope(rule: Rule) -> None:
    required = {
        RuleScope.SESSION: (True, False),
        RuleScope.WORKSPACE: (False, True),
        RuleScope.GLOBAL: (False, False),
    }[rule.scope]
    for (field, target), needed in zip(
        (("context_id", rule.chat_id), ("workspace", rule.workspace)), required, strict=True
    ):
        if needed and target is None:
            raise Invalid(f"A rule of scope '{rule.scope}' needs '{field}': say where it applies.", param=field)
        if not needed and target is not None:
            raise Invalid(
                f"A rule of scope '{rule.scope}' has no '{field}'; remove it, or choose its scope.", param=field
            )


def _expiry(text: str | None, *, after: str) -> str | None:
    """Returns when the rule ends, in our time format. Raises: Invalid."""
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(text)
        if read.tzinfo is None:
            raise ValueError
        time = written_time(read)
    except (ValueError, OverflowError):
        raise Invalid(
            f"'{text}' is not a time with its zone; write it like 2027-01-31T12:00:00Z.", param="expires_at"
        ) from None
    if time <= after:
        raise Invalid(f"'{text}' is in the past, so the rule would never apply.", param="expires_at")
    return time
