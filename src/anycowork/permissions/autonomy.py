"""Decides what each autonomy level of a chat allows without asking. Pure; the gate checks role, rules, plan and provenance before."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from anycowork.domain.approvals import Risk
from anycowork.domain.chats import Autonomy
from anycowork.domain.files import INTERNAL_NAMES
from anycowork.domain.key_files import looks_secret
from anycowork.domain.path_class import is_control_file
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Intent, PathIntent, ToolSpec
from anycowork.domain.visible_text import UntrustedText, visible_line
from anycowork.permissions.policy import PolicyResult
from anycowork.permissions.resources import COMMAND_TOOL
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
    """Return the paths that these calls, oldest first, made and left. What they moved there was there before."""
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
    """Return the files that are gone afterwards, without generated ones. What has its content under another name was moved."""
    created = {item.after for item in changes if item.before is None}
    removed = (item for item in changes if item.after is None and not (item.before or "").startswith(_TREE))
    lost = (item.path for item in removed if item.before not in created)
    return [path for path in lost if INTERNAL_NAMES.isdisjoint(path.split("/"))]


def deletion_reason(paths: Sequence[str]) -> str:
    """Return the sentence for the approval card; every path is listed with the changes."""
    listed_paths = ", ".join(visible_line(UntrustedText(path)) for path in paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    return f"It deletes {len(paths):,} {'file' if len(paths) == 1 else 'files'} that this chat did not make: {listed_paths}{more}."


Protection = Callable[[str], str | None]
"""Why a path is to stay as it is in this turn; None if it may change."""
_MOST_REASONS = 5


def protects_nothing(path: str) -> str | None:
    """Return None: nothing is to stay as it is."""
    return None


def protected_reasons(prepared: Prepared, protection: Protection) -> tuple[str, ...]:
    """Return why paths that the call changes are to stay as they are."""
    if protection is protects_nothing:
        return ()
    paths = dict.fromkeys(path.lstrip("/") for path in (*prepared.touched, *prepared.others, *prepared.inside))
    reasons = (reason for path in paths if (reason := protection(path)) is not None)
    return tuple(islice(reasons, _MOST_REASONS))
