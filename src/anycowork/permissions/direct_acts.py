"""The gate for what people do directly, without an agent: change a file, run a command, start a program. Each returns who acts. Pure."""

from anycowork.domain.errors import NotAllowed
from anycowork.domain.principals import Principal, PrincipalKind, Scope


def admit_person(principal: Principal) -> str:
    """Admit a change that a person makes directly, and return what the record says allowed it: the person.

    Their click is the decision, so nothing else is asked: roles, plans and rules limit agents. Raises: NotAllowed.
    """
    principal.require(Scope.DECIDE)
    return principal.label()


def admit_own_command(principal: Principal) -> str:
    """Admit a command that a person runs for themselves, and return who. Roles, plans and rules limit agents, not the person.
    An editor or a host is not the person, and only an admin may: the server's account can read its token. Raises: NotAllowed."""
    if principal.kind is not PrincipalKind.PERSON:
        raise NotAllowed(
            f"{principal.name} may not run commands here. Only a person may, in this server's own page or terminal, with the server's token."
        )
    principal.require(Scope.MANAGE)
    return admit_person(principal)


def admit_vouching(principal: Principal) -> str:
    """Admit that what a file holds counts as the person's own, and return who vouches. An editor or a host has read nothing for them.
    Raises: NotAllowed."""
    if principal.kind is not PrincipalKind.PERSON:
        raise NotAllowed(
            f"{principal.name} may not vouch for a file. Only a person who has read it may, in this server's own page."
        )
    return admit_person(principal)


def admit_program(principal: Principal, name: str, *, is_configured: bool) -> str:
    """Admit the start of a program that a request names, and return who asked for it. Raises: NotAllowed.

    An admin may name any program. Everybody else, and every editor, starts only programs that an admin has configured with exactly
    these arguments: a path among them is shown to the program.
    """
    if not is_configured and Scope.MANAGE not in principal.scopes:
        raise NotAllowed(
            f"The MCP server '{name}' is not started: no admin has configured its program with these arguments and variables. "
            "An admin can do so with 'anycowork mcp add', or with 'anycowork mcp import' for the file of an editor."
        )
    return admit_person(principal)
