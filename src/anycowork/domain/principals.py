"""Principals: who makes a request. Every request and every record has a principal, and its scopes limit what it may do."""

from enum import StrEnum

from anycowork.domain.errors import NotAllowed
from anycowork.domain.values import value


class PrincipalKind(StrEnum):
    PERSON = "person"
    CLIENT_KEY = "client_key"
    MCP_HOST = "mcp_host"
    ACP_CLIENT = "acp_client"
    WORKER = "worker"


class Scope(StrEnum):
    READ = "read"  # chats, messages, events
    SEND = "send"  # start chats, send messages, stop
    DECIDE = "decide"  # approve, answer, switch roles: only people
    MANAGE = "manage"  # rules, settings, keys, workspaces
    PASSTHROUGH = "passthrough"  # /v1 to a provider


SCOPES: dict[PrincipalKind, frozenset[Scope]] = {
    PrincipalKind.PERSON: frozenset(Scope),
    PrincipalKind.CLIENT_KEY: frozenset({Scope.PASSTHROUGH}),
    PrincipalKind.MCP_HOST: frozenset({Scope.READ, Scope.SEND}),
    PrincipalKind.ACP_CLIENT: frozenset({Scope.READ, Scope.SEND, Scope.DECIDE}),
    PrincipalKind.WORKER: frozenset({Scope.READ}),
}


@value
class Principal:
    id: str
    kind: PrincipalKind
    name: str

    @property
    def scopes(self) -> frozenset[Scope]:
        return SCOPES[self.kind]

    def label(self) -> str:
        """The name used in records."""
        return f"{self.kind}:{self.id}"

    def require(self, scope: Scope) -> None:
        """Raises: NotAllowed."""
        if scope not in self.scopes:
            raise NotAllowed(
                f"{self.name} may not do this (needs '{scope}'). Only a person with the server's token may."
            )


EDITOR_HEADER = "X-AnyCowork-Editor"
"""Sent with the owner's token by `anycowork acp`: the request then comes from this editor, with an editor's scopes."""
MCP_HOST_HEADER = "X-AnyCowork-MCP-Host"
"""Sent with the owner's token by `anycowork mcp`: the request then comes from this host, with a host's scopes."""
_PROGRAM_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST_PROGRAM_NAME = 64


def acp_client(name: str) -> Principal:
    """The editor of this name. It can do less than the person whose token it has: it decides and answers, but manages nothing."""
    found = program_id(name, "editor")
    return Principal(id=found, kind=PrincipalKind.ACP_CLIENT, name=f"The editor '{found}'")


def mcp_host(name: str) -> Principal:
    """The MCP host of this name. It reads and sends; it decides nothing, because nobody knows whether a person answers there."""
    found = program_id(name, "host")
    return Principal(id=found, kind=PrincipalKind.MCP_HOST, name=f"The MCP host '{found}'")


def program_id(name: str, otherwise: str) -> str:
    """The name as records write it: lower case, other signs than letters, digits, dot, dash and underscore as dashes."""
    signs = [sign if sign in _PROGRAM_SIGNS else "-" for sign in name.strip().lower()[:_LONGEST_PROGRAM_NAME]]
    return "".join(signs).strip("-") or otherwise


SERVER_PRINCIPAL = Principal(id="house", kind=PrincipalKind.WORKER, name="AnyCowork itself")
