"""What one call may do: the ceiling it was issued under, the role at issue and the role now, all of them together. Pure."""

from functools import lru_cache

from anycowork.domain.errors import Forbidden
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.tools import Call, ToolSpec


def authority(call: Call, at_issue: RoleDefinition, now: RoleDefinition) -> frozenset[Permission]:
    """A role switched after the call was issued can narrow it, never widen it."""
    return _common(call.ceiling, at_issue.permissions, now.permissions)


@lru_cache(maxsize=256)  # asked for every call, and nearly always of the same few sets
def _common(*permissions: frozenset[Permission]) -> frozenset[Permission]:
    return frozenset.intersection(*permissions)


def require_authority(
    spec: ToolSpec, call: Call, at_issue: RoleDefinition, now: RoleDefinition
) -> frozenset[Permission]:
    """The permissions that the call runs with. Raises: Forbidden, final."""
    granted = authority(call, at_issue, now)
    if spec.permissions <= granted:
        return granted
    missing = sorted(spec.permissions - granted)
    short = next((role for role in (at_issue, now) if not role.grants(spec.permissions)), None)
    if short is None:
        raise Forbidden(
            f"'{spec.name}' needs {', '.join(missing)}, and this may do no more than {_named(call.ceiling)}, whatever the role. "
            "Do not try this call again; go another way, or say what is missing."
        )
    raise Forbidden(
        f"{short.title} may not call '{spec.name}' (needs {', '.join(missing)}). "
        "Only the person can switch to a role that may; do not try this call again."
    )


def _named(permissions: frozenset[Permission]) -> str:
    return ", ".join(sorted(permissions)) or "speak"
