"""What a delegate's permission request is answered with. Pure.

Everything it does lies in a private copy, whose changes pass the gate before they are made. So what only changes files or runs a program
there is allowed, unless a rule or the role forbids it for good; all else needs a person.
"""

from collections.abc import Sequence
from enum import StrEnum

from anycowork.domain.values import value

_IN_THE_COPY = frozenset({"read", "edit", "delete", "move", "search", "execute", "think"})
_CHANGING = frozenset({"edit", "delete", "move"})


class PermissionDecision(StrEnum):
    ALLOW = "allow"
    REFUSE = "refuse"
    ASK = "ask"


@value
class WantedPermission:
    """`kind` as the protocol names it; None if the delegate did not say. `outside` are paths beyond the workspace that it named."""

    kind: str | None
    paths: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """The letters of its paths."""
        return sum(map(len, (*self.paths, *self.outside)))


def decide_permission(
    wanted: WantedPermission, *, may_change: bool, denied: str | None
) -> tuple[PermissionDecision, str]:
    """Return the decision, and why. `denied` is what a deny rule says of the paths."""
    if wanted.outside:
        return PermissionDecision.REFUSE, f"'{wanted.outside[0]}' lies outside the workspace."
    if denied is not None:
        return PermissionDecision.REFUSE, denied
    if wanted.kind in _CHANGING and not may_change:
        return PermissionDecision.REFUSE, "This role may not change files."
    if wanted.kind in _IN_THE_COPY:
        return PermissionDecision.ALLOW, "It happens in a private copy."
    return PermissionDecision.ASK, "Only a person can allow this."


def option_for(options: Sequence[tuple[str, str]], *, allow: bool) -> str | None:
    """The id of the option that allows or rejects once; of `options` given as (id, kind). A standing answer is never given."""
    wanted = "allow_once" if allow else "reject_once"
    return next((option_id for option_id, kind in options if kind == wanted), None)
