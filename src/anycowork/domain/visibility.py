"""Who may see a chat or a workspace: its owner, a group, or everyone on this server. Nothing else decides about it."""

from anycowork.domain.errors import Invalid, NotAllowed
from anycowork.domain.limits import read_group_name
from anycowork.domain.principals import OWNER, Principal, Scope
from anycowork.domain.values import value

EVERYONE, PRIVATE = "everyone", "private"
_GROUP = "group:"


@value
class Viewer:
    """A person who asks, with the groups that they are in now."""

    person_id: str
    groups: tuple[str, ...] = ()

    @property
    def shared_with(self) -> tuple[str, ...]:
        """Returns the visibilities that include this person in what others own."""
        return (EVERYONE, *(f"{_GROUP}{group}" for group in self.groups))


def viewer_of(principal: Principal) -> Viewer | None:
    """Returns who asks; None for the server's own token, which sees everything."""
    return None if principal.person is None else Viewer(principal.person.id, principal.groups)


def owner_of(principal: Principal) -> str:
    """Returns the id of the person who owns what this principal makes."""
    return OWNER.id if principal.person is None else principal.person.id


def may_see(viewer: Viewer | None, *, visibility: str, owner: str) -> bool:
    return viewer is None or owner == viewer.person_id or visibility in viewer.shared_with


def read_visibility(text: str) -> str:
    """Returns it as it is stored. Raises: Invalid."""
    if text in (EVERYONE, PRIVATE):
        return text
    if text.startswith(_GROUP):
        try:
            return _GROUP + read_group_name(text.removeprefix(_GROUP))
        except Invalid as error:
            raise Invalid(error.message, param="visibility") from None
    raise Invalid(
        f"'{text[:80]}' is no visibility. Send 'private', 'everyone', or 'group:' and the name of a group.",
        param="visibility",
    )


def group_in(visibility: str) -> str | None:
    """Returns the name of the group that it is shared with, if it is with one."""
    return visibility.removeprefix(_GROUP) if visibility.startswith(_GROUP) else None


def described(visibility: str) -> str:
    """Returns who sees it, in the words of the page."""
    if visibility == PRIVATE:
        return "Only its owner"
    group = group_in(visibility)
    return "Everyone on this server" if group is None else f"The group {group}"


def is_wider(visibility: str, than: str) -> bool:
    """Whether somebody could see the one and not the other."""
    return visibility != than and visibility != PRIVATE and than != EVERYONE


def require_owner(principal: Principal, owner: str, kind: str) -> None:
    """Raises: NotAllowed unless it is who owns this, or the holder of the server's token."""
    principal.require(Scope.DECIDE)
    if principal.person is not None and owner_of(principal) != owner:
        raise NotAllowed(
            f"Only the owner of this {kind}, or who has the server's token, changes who may see it. {principal.name} is neither."
        )
