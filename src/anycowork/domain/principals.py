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


HOUSE = Principal(id="house", kind=PrincipalKind.WORKER, name="AnyCowork itself")
