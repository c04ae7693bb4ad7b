"""The API for tool authors: `@tool` and `ToolError`. Needs only the standard library.

A tool is a function. It runs in a separate process, in the sandbox, in the workspace's folder; `docs/tools.md` describes what it finds
there.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import overload

from anycowork.plugins.schemas import schema_from

__all__ = ["Tool", "ToolError", "tool"]
Function = Callable[..., object]


class ToolError(Exception):
    """Raise this to say in one sentence why the tool failed: the thing, the reason, the way out. The model reads it."""


class PluginFunction:
    """A function and what the server must know of it before it is called. It can still be called as a function."""

    def __init__(
        self,
        function: Function,
        *,
        name: str,
        description: str,
        category: str,
        permissions: Sequence[str],
        requires_approval: bool,
        path: str | None,
        network: Sequence[str],
        schema: Mapping[str, object] | None,
    ) -> None:
        self.function = function
        self.name = name
        self.description = description
        self.category = category
        self.permissions = tuple(permissions)
        self.requires_approval = requires_approval
        self.path = path
        self.network = tuple(network)
        self._schema = schema

    @property
    def schema(self) -> Mapping[str, object]:
        """Returns the JSON schema of its parameters. Raises: TypeError if it must be derived from annotations and they do not suffice."""
        return self._schema if self._schema is not None else schema_from(self.function)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.function(*args, **kwargs)


@overload
def tool(function: Function) -> PluginFunction: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    category: str = "plugins",
    permissions: Sequence[str] = ("read_files",),
    requires_approval: bool = False,
    path: str | None = None,
    network: Sequence[str] = (),
    schema: Mapping[str, object] | None = None,
) -> Callable[[Function], PluginFunction]: ...


def tool(
    function: Function | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    category: str = "plugins",
    permissions: Sequence[str] = ("read_files",),
    requires_approval: bool = False,
    path: str | None = None,
    network: Sequence[str] = (),
    schema: Mapping[str, object] | None = None,
) -> PluginFunction | Callable[[Function], PluginFunction]:
    """Makes a function a tool; use it bare (`@tool`) or with options.

    `permissions` of `read_files`, `write_files`, `create_files`, `delete_files`, `execute_commands`: a role must have all of them, and the
    tool can do no more than they allow. Without any it does not see the workspace. A tool that changes or runs anything always asks a
    person; `requires_approval` makes a tool that only reads ask, too. `path` names the parameter that is a file or folder of the workspace:
    approvals and rules refer to it. `network` are the hosts that it must reach. Name, description and `schema` are derived from the
    function unless given.
    """

    def made(function: Function) -> PluginFunction:
        return PluginFunction(
            function,
            name=name or function.__name__,
            description=description or _first_paragraph(function.__doc__ or ""),
            category=category,
            permissions=permissions,
            requires_approval=requires_approval,
            path=path,
            network=network,
            schema=schema,
        )

    return made if function is None else made(function)


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n", 1)[0].split())
