"""What the gate is asked and what it answers: the context of a call, an admitted call, or the approval that a person must decide."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from anycowork.domain.approvals import Approval
from anycowork.domain.chats import Autonomy, Turn
from anycowork.domain.key_files import is_key_file
from anycowork.domain.origins import Endorsement
from anycowork.domain.plan import Plan
from anycowork.domain.ports import ANYTHING_INSIDE, HiddenPathRules, names_nothing
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.skills import ActiveSkill
from anycowork.domain.tool_ports import Prepared, Tool
from anycowork.domain.values import value
from anycowork.permissions.autonomy import Protection, protects_nothing
from anycowork.permissions.budgets import BudgetSpent
from anycowork.permissions.command_risk import words_of
from anycowork.permissions.endorsements import NOT_EXPOSED, Exposure
from anycowork.permissions.policy import PolicyResult
from anycowork.permissions.resources import AccessedResources, from_root


@value
class Admitted:
    """A call that may run now, as prepared, with exactly these permissions. `plan_step` is the approved step that names the
    call; the step grants it unless the plan's budget is `overdrawn`.

    `protected`: why paths that it changes are to stay as they are in this turn, so that a person must decide.
    `held_back`: what a skill that the turn works by did not declare, and why a hook asks, so that a person must decide.
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
    held_back: tuple[str, ...] = ()
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
    `stated_checks` are commands that the person who sent the message named as checks. `exposure` is what the model had read; `skills`
    are those that the turn works by, `hook_reasons` those of hooks that ask."""

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
    skills: tuple[ActiveSkill, ...] = ()
    hook_reasons: tuple[str, ...] = ()


def without_named(hidden: HiddenPathRules, touched: AccessedResources, workspace: str) -> HiddenPathRules:
    """Return `hidden` without withholding the files that the call names: in `key_files`, as its path, or as a word of its command.

    A pattern names no file, and a folder names its files only where a rule asks about everything in it. Where the command may change
    folders, `.env` names `sub/.env` too.
    """
    if hidden.withholds is names_nothing:
        return hidden
    named_paths = {path.strip("/") for path in (*touched.paths, *touched.reads, *touched.key_files)}
    command_paths: set[str] = set()
    if touched.command is not None:
        command_paths = {from_root(word, workspace) for word in words_of(touched.command) if word not in ("", ".", "/")}
    moves = touched.command is not None and (touched.command.moves or touched.unanalyzable is not None)
    paths, ends = frozenset(named_paths | command_paths), frozenset(command_paths if moves else ())
    folders = frozenset(path for path in paths if hidden.asks(f"{path}/{ANYTHING_INSIDE[0]}"))
    excepting = partial(_Withheld, paths=paths, ends=ends, folders=folders)
    asks = excepting(hidden.asks) if hidden.asking else hidden.asks
    return replace(
        hidden, withholds=excepting(hidden.withholds), asks=asks, named=paths if hidden.asking else frozenset()
    )


class _Withheld:
    """Withholds what another function withholds, except these paths, what is in these folders, and paths that end in one of `ends`."""

    def __init__(
        self, withholds: Callable[[str], bool], *, paths: frozenset[str], ends: frozenset[str], folders: frozenset[str]
    ) -> None:
        self._withholds, self._paths, self._ends, self._folders = withholds, paths, ends, folders

    def __call__(self, path: str) -> bool:
        return self._withholds(path) and not self._is_named(path.strip("/"))

    def _is_named(self, path: str) -> bool:
        if path in self._paths:
            return True
        parts = path.split("/")
        if any("/".join(parts[:depth]) in self._folders for depth in range(1, len(parts))) and not is_key_file(path):
            return True
        return any("/".join(parts[depth:]) in self._ends for depth in range(len(parts)))
