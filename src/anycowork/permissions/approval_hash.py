"""Computes what a person sees of a call, and the hash that binds an approval to exactly that. Pure."""

import hashlib

import msgspec

from anycowork.domain.approvals import Approval
from anycowork.domain.disclosure import Disclosure, call_items
from anycowork.domain.origins import Endorsement
from anycowork.domain.roles import RoleDefinition
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Intent
from anycowork.domain.visible_text import UntrustedText, visible

_AGENT = "agent:"  # begins the resource of a call that gives a task to another agent


def bind(
    call: Call,
    prepared: Prepared,
    role: RoleDefinition,
    principal: str,
    held_intent: Intent | None = None,
    endorsement: Endorsement | None = None,
) -> str:
    """Return the hash of exactly what is shown: call, resolved resource, role, principal, state of the file, and disclosure.

    It covers the origins and sinks of an endorsement: a turn that has read more since asks again.
    For held changes it also covers the state of each path before and after, and where the changes are staged.
    """
    described = (
        call.tool,
        call.parameters,
        prepared.resource,
        prepared.state,
        role.name,
        principal,
    )
    bound_values: list[object] = [*described, disclose(call, prepared, held_intent).hash]
    if held_intent is not None:
        bound_values += [call.id, held_intent.staged, held_intent.paths]
    if endorsement is not None:
        bound_values += [endorsement.origins, endorsement.sinks]
    return hashlib.sha256(msgspec.json.encode(bound_values, order="sorted")).hexdigest()


def disclose(call: Call, prepared: Prepared, held_intent: Intent | None) -> Disclosure:
    """Return everything that allowing this call, or its held changes, grants."""
    diff = held_intent.held.diff if held_intent and held_intent.held else prepared.diff
    items = call_items(
        call.tool,
        call.parameters,
        prepared.resource,
        network=map(str, prepared.network),
        paths=prepared.touched or _granted_paths(call, prepared),
        changes=held_intent.paths if held_intent else (),
        drawn=held_intent is None and diff is not None,
    )
    return Disclosure(items, visible(UntrustedText(diff)) if diff is not None else None)


def _granted_paths(call: Call, prepared: Prepared) -> tuple[str, ...]:
    """Return the files that an agent may change without asking again, if a person allows to give it this task."""
    paths = call.parameters.get("paths") if prepared.resource.startswith(_AGENT) else None
    return tuple(path for path in paths if isinstance(path, str)) if isinstance(paths, list) else ()


def denial(approval: Approval) -> str:
    """Return the text that tells the model about a denied approval."""
    note = f" They said: “{approval.note}”" if approval.note else ""
    return f"The person denied this call ({approval.tool} on {approval.resource}).{note} Do not try it again; find another way or ask."
