"""Approvals, questions and plans that wait for a person, and the person's decisions."""

from dataclasses import field
from enum import StrEnum

from anycowork.domain.disclosure import DisclosedItem, Disclosure, call_items
from anycowork.domain.messages import Json
from anycowork.domain.origins import Endorsement
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible


class Decision(StrEnum):
    ALLOW_ONCE = "allow_once"
    ALLOW_SESSION = "allow_session"
    ALLOW_ALWAYS = "allow_always"
    DENY = "deny"
    DENY_ALWAYS = "deny_always"


class AskWhen(StrEnum):
    """When to ask about a command that no rule and no plan covers: before it runs, or afterwards with its actual changes."""

    BEFORE = "before"
    AT_COMMIT = "at_commit"


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class ApprovalState(StrEnum):
    PENDING = "pending"
    ALLOWED = "allowed"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"


@value
class Approval:
    """A request to a person to allow one call. `binding` is the hash of exactly what was shown: call, resource, role, principal, state
    of the file. `network` lists the allowed destinations as `host:port`; `held`: the call has run, and its changes (`diff`) wait for
    the decision. `items` lists what it grants; approvals of earlier releases have none, so the items are derived from the rest.
    `endorsement` is what the person vouches for by allowing it, if anything."""

    id: str
    chat_id: str
    turn_id: str
    batch_id: str
    tool_call_id: str
    tool: str
    parameters: Json = field(hash=False)
    resource: str
    risk: Risk
    reasons: tuple[str, ...]
    binding: str
    outside_plan: bool = False
    proposed_rule: Json | None = field(default=None, hash=False)
    diff: str | None = None
    state: ApprovalState = ApprovalState.PENDING
    note: str | None = None
    decided_by: str | None = None
    created_at: str = ""
    network: tuple[str, ...] = ()
    held: bool = False
    items: tuple[DisclosedItem, ...] = ()
    job_id: str | None = None
    task_id: str | None = None
    endorsement: Endorsement | None = None

    @property
    def disclosure(self) -> Disclosure:
        """What a person must see before they allow it."""
        drawn = self.diff is not None and not self.held
        items = self.items or call_items(
            self.tool, self.parameters, self.resource, network=self.network, paths=(), drawn=drawn
        )
        return Disclosure(items, visible(UntrustedText(self.diff)) if self.diff is not None else None)

    @property
    def proposed_deny_rule(self) -> Json | None:
        """The rule that `deny_always` makes: the tool on exactly this file, exactly these words, or a server's tool with whatever
        arguments. None where no rule can name the call."""
        if self.proposed_rule is None:
            return None
        is_one_file = self.parameters.get("path") is not None and self.parameters.get("to") is None
        exact = is_one_file and self.resource.startswith("/") and not any(sign in self.resource for sign in "*?[\\")
        resource = self.resource if exact else self.proposed_rule.get("resource")
        other_fields = {name: field for name, field in self.proposed_rule.items() if name != "arguments"}
        return {**other_fields, "resource": resource, "effect": "deny"}

    def to_json(self) -> Json:
        disclosure = self.disclosure
        return {
            "id": self.id,
            "batch_id": self.batch_id,
            "tool_call_id": self.tool_call_id,
            "tool": self.tool,
            "parameters": self.parameters,
            "resource": self.resource,
            "risk": self.risk.value,
            "reasons": list(self.reasons),
            "outside_plan": self.outside_plan,
            "proposed_rule": self.proposed_rule,
            "proposed_deny_rule": self.proposed_deny_rule,
            "diff": disclosure.content,
            "network": list(self.network),
            "held": self.held,
            "disclosure": disclosure.to_json(),
            "job_id": self.job_id,
            "task_id": self.task_id,
            "created_at": self.created_at,
            "endorsement": self.endorsement.to_json() if self.endorsement is not None else None,
        }


@value
class DecidedCall:
    """What a person decided of a call whose batch still waits for other decisions; `decided_by` is the person's label."""

    state: ApprovalState
    decided_by: str | None


class PlanState(StrEnum):
    OPEN = "open"
    SUPERSEDED = "superseded"
    APPROVED = "approved"


@value
class PlanRow:
    """The state of a plan message. `approved` is the plan as the person approved it: it is executed and audited."""

    message_id: str
    chat_id: str
    state: PlanState
    approved: Json | None = field(default=None, hash=False)
    approved_by: str | None = None
    turn_id: str | None = None


class QuestionState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"


@value
class QuestionRow:
    message_id: str
    chat_id: str
    turn_id: str
    state: QuestionState = QuestionState.OPEN
    answer: Json | None = field(default=None, hash=False)
    answered_by: str | None = None
