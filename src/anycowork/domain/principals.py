"""Principals: who makes a request, and what a session made. Pure.

Every request and every record has a principal, and its scopes limit what it may do. What a session made are nodes of a tree: codes, sessions, people,
their tokens, client keys, invitations of workers.
"""

import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache

from anycowork.domain.errors import NotAllowed
from anycowork.domain.origins import PERSON, Origins, origin_of
from anycowork.domain.people import AccessLevel, Person, PersonName
from anycowork.domain.values import value


class NotConfirmed(NotAllowed):
    """The browser's session was begun with a code, and nobody has confirmed it."""

    code = "not_confirmed"


class PrincipalKind(StrEnum):
    PERSON = "person"
    CLIENT_KEY = "client_key"
    MCP_HOST = "mcp_host"
    ACP_CLIENT = "acp_client"
    WORKER = "worker"
    JOINED_WORKER = "joined_worker"


class Scope(StrEnum):
    READ = "read"  # chats, messages, events
    SEND = "send"  # start chats, send messages, stop
    DECIDE = "decide"  # approve, answer, switch roles: only people
    MANAGE = "manage"  # rules, settings, keys, workspaces, people
    PASSTHROUGH = "passthrough"  # /v1 to a provider


SCOPES: dict[PrincipalKind, frozenset[Scope]] = {
    PrincipalKind.PERSON: frozenset(Scope),
    PrincipalKind.CLIENT_KEY: frozenset({Scope.PASSTHROUGH}),
    PrincipalKind.MCP_HOST: frozenset({Scope.READ, Scope.SEND}),
    PrincipalKind.ACP_CLIENT: frozenset({Scope.READ, Scope.SEND, Scope.DECIDE}),
    PrincipalKind.WORKER: frozenset({Scope.READ}),
    PrincipalKind.JOINED_WORKER: frozenset(),
}
ACCESS_SCOPES: dict[AccessLevel, frozenset[Scope]] = {
    AccessLevel.ADMIN: frozenset(Scope),
    AccessLevel.MEMBER: frozenset({Scope.READ, Scope.SEND, Scope.DECIDE}),
    AccessLevel.VIEWER: frozenset({Scope.READ}),
}


def ends_access(before: Person, now: Person | None) -> bool:
    """Whether what the person was let in with no longer holds: removed, another token, or fewer rights. A new name is none of them."""
    if now is None or now.token_digest != before.token_digest:
        return True
    return not ACCESS_SCOPES[before.access] <= ACCESS_SCOPES[now.access]


_OF_PEOPLE = frozenset({PrincipalKind.PERSON, PrincipalKind.MCP_HOST, PrincipalKind.ACP_CLIENT})
"""Kinds that act with a person's token: they never have more scopes than the person."""


@value
class Principal:
    """`access` is that of the person whose token came with the request; `person` is that person, None for the owner.

    The least access is the default, so that a principal that is built from a record cannot gain any.
    """

    id: str
    kind: PrincipalKind
    name: str
    access: AccessLevel = AccessLevel.VIEWER
    person: PersonName | None = None
    groups: tuple[str, ...] = ()
    """The person's, as they are now."""
    is_confirmed: bool = True
    """Not after a sign-in by a code that others may have seen: it manages nothing."""

    @property
    def scopes(self) -> frozenset[Scope]:
        granted = SCOPES[self.kind] if self.is_confirmed else SCOPES[self.kind] - {Scope.MANAGE}
        return granted & ACCESS_SCOPES[self.access] if self.kind in _OF_PEOPLE else granted

    def label(self) -> str:
        """The name used in records. It says who a person was, also when that person is gone."""
        if self.person is None:
            return self.identity()
        if self.kind is PrincipalKind.PERSON:
            return f"{self.identity()}:{self.person.name}"
        return f"{self.identity()}:{self.person.id}:{self.person.name}"

    def identity(self) -> str:
        """As `label`, without a person's name: for counts."""
        return f"{self.kind}:{self.id}"

    def require(self, scope: Scope) -> None:
        """Raises: NotAllowed."""
        if scope in self.scopes:
            return
        if not self.is_confirmed and scope in ACCESS_SCOPES[self.access]:
            raise NotConfirmed(
                "This browser signed in with a link that others may have seen, so it changes no settings, keys or people yet. Enter the "
                "six digits that the terminal shows beside the link, or sign in with your token."
            )
        if scope in SCOPES[self.kind] and self.person is not None:
            raise NotAllowed(_access_missing(self.person.name, self.access, scope))
        raise NotAllowed(f"{self.name} may not do this (needs '{scope}'). Only a person with the server's token may.")


def _access_missing(name: str, access: AccessLevel, scope: Scope) -> str:
    level = next(
        candidate for candidate in (AccessLevel.MEMBER, AccessLevel.ADMIN) if scope in ACCESS_SCOPES[candidate]
    )
    refusal = (
        "may only read here" if access is AccessLevel.VIEWER else f"may not do this (needs '{scope}'): it is for admins"
    )
    return f"{name} {refusal}. An admin can change that with 'anycowork people access {shlex.quote(name.lower())} {level}'."


OWNER = Principal(
    id="owner", kind=PrincipalKind.PERSON, name="The owner of this server", access=AccessLevel.ADMIN, person=None
)


def person_principal(person: Person) -> Principal:
    return Principal(
        id=person.id,
        kind=PrincipalKind.PERSON,
        name=person.name,
        access=person.access,
        person=person.named(),
        groups=person.groups,
    )


@value
class LabelParts:
    """What a label says: the kind and the id of the principal, and the person besides the owner who was behind it."""

    kind: PrincipalKind
    id: str
    person: PersonName | None


@lru_cache(maxsize=256)
def read_label(label: str) -> LabelParts:
    """Raises: ValueError for a kind that there is not."""
    kind, _, suffix = label.partition(":")
    principal_kind = PrincipalKind(kind)
    id_, _, suffix = suffix.partition(":")
    if principal_kind is PrincipalKind.PERSON:
        return LabelParts(principal_kind, id_, PersonName(id_, suffix) if suffix else None)
    person_id, _, name = suffix.partition(":")
    return LabelParts(principal_kind, id_, PersonName(person_id, name) if person_id else None)


def origins_of_sender(label: str) -> Origins:
    """Returns the origins of what this principal says: the words of an MCP host are its model's, which may have read anything."""
    said_by = read_label(label)
    if said_by.kind is PrincipalKind.MCP_HOST:
        return frozenset({origin_of("delegate", f"{said_by.id} (an MCP host)")})
    return frozenset({PERSON})


def person_name_in(label: str | None) -> str | None:
    """Returns the name of the person behind a label; None for the owner, and for what no person did."""
    person = None if label is None else read_label(label).person
    return None if person is None else person.name


EDITOR_HEADER = "X-AnyCowork-Editor"
"""Sent with a person's token by `anycowork acp`: the request then comes from this editor, with an editor's scopes."""
MCP_HOST_HEADER = "X-AnyCowork-MCP-Host"
"""Sent with a person's token by `anycowork mcp`: the request then comes from this host, with a host's scopes."""
_PROGRAM_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST_PROGRAM_NAME = 64


def acp_client(name: str, owner: Principal) -> Principal:
    """The editor of this name. It can do less than the person whose token it has: it decides and answers, but manages nothing."""
    client_id = program_id(name, "editor")
    return Principal(
        client_id, PrincipalKind.ACP_CLIENT, f"The editor '{client_id}'", owner.access, owner.person, owner.groups
    )


def mcp_host(name: str, owner: Principal) -> Principal:
    """The MCP host of this name. It reads and sends; it decides nothing, because nobody knows whether a person answers there."""
    host_id = program_id(name, "host")
    return Principal(
        host_id, PrincipalKind.MCP_HOST, f"The MCP host '{host_id}'", owner.access, owner.person, owner.groups
    )


def program_id(name: str, otherwise: str) -> str:
    """The name as records write it: lower case, other signs than letters, digits, dot, dash and underscore as dashes."""
    signs = [sign if sign in _PROGRAM_SIGNS else "-" for sign in name.strip().lower()[:_LONGEST_PROGRAM_NAME]]
    return "".join(signs).strip("-") or otherwise


JOINED_WORKER = Principal(id="joined", kind=PrincipalKind.JOINED_WORKER, name="A worker that joined")
SERVER_PRINCIPAL = Principal(id="house", kind=PrincipalKind.WORKER, name="AnyCowork itself")


class NodeKind(StrEnum):
    SESSION = "session"
    CODE = "code"
    PERSON = "person"
    TOKEN = "token"
    """A new token of somebody who was there before."""
    KEY = "key"
    INVITE = "invite"
    """Of a worker, with the worker that joined by it."""


def node(kind: NodeKind, id_: str) -> str:
    return f"{kind}:{id_}"


def read_node(name: str) -> tuple[NodeKind, str]:
    kind, _, id_ = name.partition(":")
    return NodeKind(kind), id_


def descendants(
    makers: Mapping[str, str | None], root: str, *, through: Callable[[NodeKind], bool] = lambda _: True
) -> set[str]:
    """Returns this node and all that it made, directly or not, `through` nodes of these kinds. `makers` has the maker of each node."""
    children: dict[str, list[str]] = {}
    for child, maker in makers.items():
        if maker is not None and through(read_node(child)[0]):
            children.setdefault(maker, []).append(child)
    reached_nodes, pending = {root}, [root]
    while pending:
        new = [child for child in children.get(pending.pop(), ()) if child not in reached_nodes]
        reached_nodes.update(new)
        pending += new
    return reached_nodes


def root_of(makers: Mapping[str, str | None], name: str) -> str:
    """Returns the first maker of all that led to this node."""
    seen = {name}
    while (maker := makers.get(name)) is not None and maker not in seen:
        seen.add(maker)
        name = maker
    return name
