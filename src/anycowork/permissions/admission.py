"""What the gate is asked and what it answers: the context of a call, an admitted call, or the approval that a person must decide."""

from anycowork.domain.approvals import Approval
from anycowork.domain.chats import Autonomy, Turn
from anycowork.domain.origins import Endorsement
from anycowork.domain.plan import Plan
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.tool_ports import Prepared, Tool
from anycowork.domain.values import value
from anycowork.permissions.autonomy import Protection, protects_nothing
from anycowork.permissions.budgets import BudgetSpent
from anycowork.permissions.endorsements import NOT_EXPOSED, Exposure
from anycowork.permissions.named_key_files import without_named
from anycowork.permissions.policy import PolicyResult


@value
class Admitted:
    """A call that may run now, as prepared, with exactly these permissions. `plan_step` is the approved step that names the
    call; the step grants it unless the plan's budget is `overdrawn`.

    `protected`: why paths that it changes are to stay as they are in this turn, so that a person must decide.
    `endorsement`: what a person must vouch for first. A call that a person allowed has it too: they vouched for this call.
    With `asks_at_commit` the command runs in a separate layer, and its changes are committed only after a person has seen them.
    """

    tool: Tool
    prepared: Prepared
    permissions: frozenset[Permission]
    policy: PolicyResult
    plan_step: str | None = None
    approval_id: str | None = None
    decided_by: str | None = None
    asks_at_commit: bool = False
    overdrawn: BudgetSpent | None = None
    autonomy: Autonomy | None = None
    protected: tuple[str, ...] = ()
    is_stated_check: bool = False
    endorsement: Endorsement | None = None
    exposure: Exposure = NOT_EXPOSED

    @property
    def allowed_by(self) -> str:
        """What allowed the call: an approval, the approved plan, the chat's autonomy, a rule, or the tool's default."""
        if self.approval_id is not None:
            return f"approval:{self.approval_id}"
        if self.granted_by_plan:
            return f"plan:{self.plan_step}"
        if self.is_stated_check:
            return "expectation"
        if self.autonomy is not None:
            return f"autonomy:{self.autonomy.value}"
        return f"rule:{self.policy.rule.id}" if self.policy.rule else "default"

    @property
    def hidden(self) -> HiddenPathRules:
        """What it may not read. Key files whose names a person read in this very call, or in the plan's command, are not withheld."""
        seen_by_person = self.approval_id is not None or self.granted_by_plan
        if not seen_by_person:
            return self.policy.hidden
        return without_named(self.policy.hidden, self.policy.touched, self.policy.workspace)

    @property
    def granted_by_plan(self) -> bool:
        return self.plan_step is not None and self.overdrawn is None


@value
class MustAsk:
    """A person must decide. `approval` holds what the person is shown and what the decision is bound to."""

    approval: Approval


@value
class CallContext:
    """The context in which the gate evaluates a call: the turn, the role when the call was issued and the role now, the approved
    plan that is running, and whether its budget is spent. `denied` lists the tools and resources that a person denied in this
    turn; `autonomy` is the level that the person chose for this chat; `protection` tells why a path is to stay as it is in this turn.
    `stated_checks` are commands that the person who sent the message named as checks. `exposure` is what the model had read."""

    turn: Turn
    at_issue: RoleDefinition
    now: RoleDefinition
    plan: Plan | None = None
    overdrawn: BudgetSpent | None = None
    denied: frozenset[tuple[str, str]] = frozenset()
    autonomy: Autonomy = Autonomy.ASK
    protection: Protection = protects_nothing
    stated_checks: frozenset[str] = frozenset()
    exposure: Exposure = NOT_EXPOSED
