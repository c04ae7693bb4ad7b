"""What the gate is asked and what it answers: the context of a call, what role and autonomy let pass, an admitted call, or the
approval that a person must decide."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice

from anycowork.domain.approvals import Approval, Risk
from anycowork.domain.chats import Autonomy, Turn
from anycowork.domain.errors import Forbidden
from anycowork.domain.files import INTERNAL_NAMES
from anycowork.domain.origins import Endorsement
from anycowork.domain.path_class import is_control_file, is_key_file, looks_secret
from anycowork.domain.plan import Plan
from anycowork.domain.ports import ANYTHING_INSIDE, HiddenPathRules, names_nothing
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.skills import ActiveSkill
from anycowork.domain.tool_ports import Prepared, Tool
from anycowork.domain.tools import Call, Intent, PathIntent, ToolSpec
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible_line
from anycowork.permissions.budgets import BudgetSpent
from anycowork.permissions.command_risk import words_of
from anycowork.permissions.endorsements import NOT_EXPOSED, Exposure
from anycowork.permissions.policy import PolicyResult
from anycowork.permissions.resources import COMMAND_TOOL, AccessedResources, from_root
from anycowork.permissions.risk import assess_risk, names_secrets

_EDITS = frozenset({"create_file", "update_file", "move_file"})


def covers(autonomy: Autonomy, spec: ToolSpec, call: Call, prepared: Prepared, policy: PolicyResult) -> bool:
    """Whether this level allows the call. `edits`: create, change and move files. `sandboxed`: also commands, if the sandbox
    contains them and they use no network. Both: give tasks to other agents.

    Control files and secrets ask at every level, and so does every command that is risky. A command need not be understood: the
    sandbox covers key files, and what it changed is checked before it is committed.
    """
    if autonomy is Autonomy.ASK or spec.foreign or prepared.network or prepared.key_files:
        return False
    if any(is_control_file(path) or looks_secret(path) for path in policy.touched.paths):
        return False
    if spec.asks_agents:
        return True  # what the other agent does is decided call by call, under the same autonomy
    if spec.name in _EDITS:
        return bool(policy.touched.paths)
    if autonomy is not Autonomy.SANDBOXED or spec.name != COMMAND_TOOL or not spec.contained:
        return False
    risk, _ = assess_risk(spec, call, prepared.resource, workspace=policy.workspace)
    return risk is not Risk.HIGH and not names_secrets(prepared.resource)


_TREE = "tree:"  # a removed folder: what is in it is listed by itself
_MOST_NAMED = 10


def files_made(intents: Iterable[Intent]) -> frozenset[str]:
    """Returns the paths that these calls, oldest first, made and left. What they moved there was there before."""
    created: set[str] = set()
    for intent in intents:
        removed = [item for item in intent.paths if item.after is None]
        moved = {item.before for item in removed if item.path not in created}
        from_folder = any((mark or "").startswith(_TREE) for mark in moved)
        created.difference_update(item.path for item in removed)
        if not from_folder:
            created.update(item.path for item in intent.paths if item.before is None and item.after not in moved)
    return frozenset(created)


def deleted_files(changes: Sequence[PathIntent]) -> list[str]:
    """Returns the files that are gone afterwards, without generated ones. What has its content under another name was moved."""
    created = {item.after for item in changes if item.before is None}
    removed = (item for item in changes if item.after is None and not (item.before or "").startswith(_TREE))
    lost = (item.path for item in removed if item.before not in created)
    return [path for path in lost if INTERNAL_NAMES.isdisjoint(path.split("/"))]


def deletion_reason(paths: Sequence[str]) -> str:
    """Returns the sentence for the approval card; every path is listed with the changes."""
    listed_paths = ", ".join(visible_line(UntrustedText(path)) for path in paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    return f"It deletes {len(paths):,} {'file' if len(paths) == 1 else 'files'} that this chat did not make: {listed_paths}{more}."


Protection = Callable[[str], str | None]


"""Why a path is to stay as it is in this turn; None if it may change."""


_MOST_REASONS = 5


def protects_nothing(path: str) -> str | None:
    """Returns None: nothing is to stay as it is."""
    return None


def protected_reasons(prepared: Prepared, protection: Protection) -> tuple[str, ...]:
    """Returns why paths that the call changes are to stay as they are."""
    if protection is protects_nothing:
        return ()
    paths = dict.fromkeys(path.lstrip("/") for path in (*prepared.touched, *prepared.others, *prepared.inside))
    reasons = (reason for path in paths if (reason := protection(path)) is not None)
    return tuple(islice(reasons, _MOST_REASONS))


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
    """Returns `hidden` without withholding the files that the call names: in `key_files`, as its path, or as a word of its command.

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


def authority(call: Call, at_issue: RoleDefinition, now: RoleDefinition) -> frozenset[Permission]:
    """Returns the call's permissions. A role switched after the call was issued can narrow them, never widen them."""
    return _common(call.ceiling, at_issue.permissions, now.permissions)


@lru_cache(maxsize=256)  # computed for every call, nearly always from the same few sets
def _common(*permissions: frozenset[Permission]) -> frozenset[Permission]:
    return frozenset.intersection(*permissions)


def require_authority(
    spec: ToolSpec, call: Call, at_issue: RoleDefinition, now: RoleDefinition
) -> frozenset[Permission]:
    """Returns the permissions that the call runs with. Raises: Forbidden, which is final."""
    granted = authority(call, at_issue, now)
    if spec.permissions <= granted:
        return granted
    missing = sorted(spec.permissions - granted)
    short = next((role for role in (at_issue, now) if not role.grants(spec.permissions)), None)
    if short is None:
        raise Forbidden(
            f"'{spec.name}' needs {', '.join(missing)}, but this run is limited to {_named(call.ceiling)}, whatever the role. "
            "Do not try this call again; find another way, or say what is missing."
        )
    raise Forbidden(
        f"{short.title} may not call '{spec.name}' (needs {', '.join(missing)}). "
        "Only the person can switch to a role that may; do not try this call again."
    )


def _named(permissions: frozenset[Permission]) -> str:
    return ", ".join(sorted(permissions)) or "speak"
