"""Approvals, rules, and what explains them."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema, Schema
from anycowork.domain.approvals import Decision, Risk
from anycowork.domain.disclosure import ItemKind
from anycowork.domain.messages import Json
from anycowork.domain.origins import SinkKind
from anycowork.domain.rules import Effect, RuleScope


class DisclosedItemResponse(DescribedSchema):
    kind: ItemKind
    text: str
    detail: str = Field("", description="Which parameter, kind of change or part of a budget; the resource of a tool.")
    step: str = Field("", description="The id of the plan step that grants it.")
    control: bool = Field(False, description="A file that editors, CI machines or agents take orders from.")


class DisclosureResponse(DescribedSchema):
    """What a decision grants. Every text is escaped already: characters that a person would not see are written out."""

    hash: str = Field(description="Send it back as `disclosure` with the decision.")
    total: int = Field(description="How many items there are; those not here are read with `after`.")
    items: list[DisclosedItemResponse]


class SinkResponse(DescribedSchema):
    kind: SinkKind
    subject: str = Field(description="A host, a server's tool, a path, an agent or a command.")


class EndorsementResponse(DescribedSchema):
    origins: list[str] = Field(description="What the agent has read that nobody vouched for.")
    passage: str = Field(description="What one of them said, for people to read; hidden characters are written out.")
    sink: SinkResponse = Field(description="Where the call has consequences outside the sandbox.")
    sinks: list[SinkResponse] = Field(description="All of them.")


class ArgumentsResponse(DescribedSchema):
    fixed: Json = Field(description="The arguments that have exactly these values.")
    text: list[str] = Field(description="Those that may be any plain text, without addresses, links and code.")
    open: list[str] = Field(description="Those that may have any value; `*` stands for all that are not named.")


class ApprovalResponse(Schema):
    id: str
    batch_id: str
    tool_call_id: str
    tool: str
    parameters: Json
    resource: str
    risk: Risk
    reasons: list[str]
    outside_plan: bool
    proposed_rule: Json | None
    proposed_deny_rule: Json | None = Field(
        None, description="The rule that `deny_always` makes; none if there is none."
    )
    diff: str | None
    network: list[str] = Field(description="Where the call may go over the network, host:port each; empty for nowhere.")
    held: bool = Field(
        description="Whether the command has run, and its changes, as `diff` shows them, wait for the answer."
    )
    disclosure: DisclosureResponse = Field(
        description="What allowing it grants: show all of it before asking for a yes."
    )
    job_id: str | None
    task_id: str | None
    created_at: str
    endorsement: EndorsementResponse | None = Field(
        None,
        description="What the person vouches for by allowing it: `allow_once` for this call, `allow_session` and `allow_always` as a rule.",
    )


class DecidedCallResponse(DescribedSchema):
    tool_call_id: str
    state: Literal["allowed", "denied"]
    decided_by: str | None = Field(None, description="The name of who decided; null for the owner.")


class ApprovalList(DescribedSchema):
    approvals: list[ApprovalResponse]
    decided: list[DecidedCallResponse] = Field(
        description="What was decided of calls whose batch still waits for other decisions."
    )


class RuleResponse(DescribedSchema):
    id: str
    tool: str
    resource: str
    effect: Effect
    scope: RuleScope
    context_id: str | None
    workspace: str | None
    expires_at: str | None
    created_by: str
    created_at: str
    origin: str | None = Field(None, description="Of an endorsement: what the agent may have read.")
    sink: SinkResponse | None = Field(None, description="Of an endorsement: what its calls may then reach.")
    arguments: ArgumentsResponse | None = Field(
        None, description="Of a server's tool: the arguments that its calls have. None: whatever they are."
    )


class RuleList(DescribedSchema):
    rules: list[RuleResponse]


class WrittenRule(RuleResponse):
    warnings: list[str] = Field(description="What to know about it: that it matches everything, say.")


class ProposedRuleFields(DescribedSchema):
    tool: str
    resource: str
    effect: Effect
    scope: RuleScope
    workspace: str
    arguments: ArgumentsResponse | None = None


class ProposalCall(DescribedSchema):
    id: str
    tool: str
    resource: str
    context_id: str


class RuleProposal(DescribedSchema):
    rule: ProposedRuleFields = Field(description="As `POST /rules` takes it.")
    decided: int = Field(description="How many decisions it would have answered.")
    calls: list[ProposalCall] = Field(description="The newest of them, at most 20.")


class RuleProposals(DescribedSchema):
    proposals: list[RuleProposal]


class ExplainedResponse(DescribedSchema):
    effect: Effect
    rule: RuleResponse | None = Field(description="None where no rule spoke.")
    why: str


class ForeseenResponse(DescribedSchema):
    id: str
    tool: str
    resource: str
    decided: Effect = Field(description="By the rules as they are.")
    would: Effect = Field(description="With this rule added.")


class PreviewResponse(DescribedSchema):
    calls: list[ForeseenResponse] = Field(description="Newest first, at most 100.")
    matched: int
    looked_at: int
    warnings: list[str]


class DecidedResponse(DescribedSchema):
    id: str
    decision: Decision
    rule: RuleResponse | None = Field(None, description="The standing rule that the decision made.")
    rules: list[RuleResponse] = Field(
        [], description="All of them: for a call with network also those about where it goes."
    )


class DecidedList(DescribedSchema):
    approvals: list[DecidedResponse]
