"""Computes what one call may do: the intersection of its ceiling, the role when it was issued, and the role now. Pure."""

from functools import lru_cache

from anycowork.domain.errors import Forbidden
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.tools import Call, ToolSpec


def authority(call: Call, at_issue: RoleDefinition, now: RoleDefinition) -> frozenset[Permission]:
    """Return the call's permissions. A role switched after the call was issued can narrow them, never widen them."""
    return _common(call.ceiling, at_issue.permissions, now.permissions)


@lru_cache(maxsize=256)  # computed for every call, nearly always from the same few sets
def _common(*permissions: frozenset[Permission]) -> frozenset[Permission]:
    return frozenset.intersection(*permissions)


def require_authority(
    spec: ToolSpec, call: Call, at_issue: RoleDefinition, now: RoleDefinition
) -> frozenset[Permission]:
    """Return the permissions that the call runs with. Raises: Forbidden, which is final."""
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
