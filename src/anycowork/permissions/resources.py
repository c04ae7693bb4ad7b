"""Finds the resources that a call accesses, in the form that rules match: paths from the workspace root, and the parsed command. Pure."""

from dataclasses import replace
from pathlib import PurePosixPath

from anycowork.domain.network import Destination, read_address, wanted_destinations
from anycowork.domain.rules import SERVER
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Intent, Parameters, ToolSpec
from anycowork.domain.values import value
from anycowork.permissions.shell.parsed_command import ParsedCommand
from anycowork.permissions.shell.parser import parse

COMMAND_TOOL = "execute_command"
PAGE_TOOL = "fetch_page"
COMMAND = "command:"
WEB = "web:"


@value
class AccessedResources:
    """The resources of one call. `paths` are changed or read, `reads` only read; `below` are folders with everything in them;
    `elsewhere` are paths that cannot be resolved inside the workspace; `network` are destinations; `key_files` are
    those that a program asks for; `root` is the workspace that a command runs in. `reveals`: the call shows file contents.
    `changes_at_once`: its changes are not checked again before they are made.
    `foreign`: third-party code, which may do anything with its `arguments`; they are given for a tool of an MCP server."""

    tool: str
    paths: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    command: ParsedCommand | None = None
    other: str | None = None
    network: tuple[Destination, ...] = ()
    key_files: tuple[str, ...] = ()
    root: str = ""
    reveals: bool = False
    changes_at_once: bool = False
    foreign: bool = False
    arguments: Parameters | None = None

    @property
    def unversioned(self) -> str | None:
        """A server's tool without the mark of what the server said of it; None for everything else."""
        if self.other is None or not self.other.startswith(SERVER):
            return None
        return self.other.rpartition("#")[0]

    @property
    def unanalyzable(self) -> str | None:
        return self.command.unanalyzable if self.command else None


def resources_of(prepared: Prepared, spec: ToolSpec, root: str) -> AccessedResources:
    """Returns the resources of a prepared call: paths as the tool resolved them, not as the model wrote them."""
    intended = tuple(f"/{item.path}" for item in prepared.intent.paths) if prepared.intent else ()
    others = (*prepared.others, *intended)
    touched = _touched(prepared.tool, spec, prepared.resource, others, root, prepared.parameters)
    if prepared.inside:
        touched = replace(touched, below=(prepared.resource,))
    if not prepared.network and not prepared.key_files:
        return touched
    return replace(touched, network=prepared.network, key_files=prepared.key_files)


def resources_at_commit(
    tool: str,
    spec: ToolSpec | None,
    parameters: Parameters,
    resource: str | None,
    root: str,
    intent: Intent | None = None,
) -> AccessedResources | None:
    """Returns the resources of a recorded call, from its parameters; None if they name none. Without a `spec`, only its paths."""
    command, path, target = parameters.get("command"), parameters.get("path", "."), parameters.get("to")
    others = [f"/{item.path}" for item in intent.paths] if intent else []
    if isinstance(target, str) and (placed := _inside(target, root)) is not None:
        others.append(placed)
    if resource is None and tool == COMMAND_TOOL and isinstance(command, str):
        resource = COMMAND + command
    if resource is None and tool == PAGE_TOOL:
        resource = f"{WEB}{parameters.get('url')}"
    if resource is None and isinstance(path, str):
        resource = _inside(path, root)
    if resource is None:
        return None
    touched = _touched(tool, spec, resource, tuple(others), root, parameters)
    network = _web_destinations(resource) or _destinations(parameters)
    return replace(touched, network=network, key_files=_key_files(parameters, root))


def _key_files(parameters: Parameters, root: str) -> tuple[str, ...]:
    key_files = parameters.get("key_files")
    paths = [_inside(path, root) for path in key_files if isinstance(path, str)] if isinstance(key_files, list) else []
    return tuple(path for path in paths if path is not None)


def _destinations(parameters: Parameters) -> tuple[Destination, ...]:
    hosts = parameters.get("network")
    try:
        return wanted_destinations(str(host) for host in hosts) if isinstance(hosts, list) else ()
    except ValueError:
        return ()


def _web_destinations(resource: str) -> tuple[Destination, ...]:
    try:
        return read_address(resource.removeprefix(WEB)).reach if resource.startswith(WEB) else ()
    except ValueError:
        return ()


def _touched(
    tool: str, spec: ToolSpec | None, resource: str, others: tuple[str, ...], root: str, parameters: Parameters
) -> AccessedResources:
    if resource.startswith(COMMAND):
        return _of_command(tool, parse(resource.removeprefix(COMMAND)), root)
    looks_below, foreign = spec is not None and spec.looks_below, spec is not None and spec.foreign
    if not resource.startswith("/"):
        arguments = parameters if resource.startswith(SERVER) else None
        below = ("/",) if looks_below else ()
        return AccessedResources(tool, other=resource, below=below, foreign=foreign, arguments=arguments)
    whole_folder = looks_below or any(other.startswith(f"{resource}/") for other in others)
    return AccessedResources(
        tool,
        paths=tuple(dict.fromkeys((resource, *others))),
        below=(resource,) if whole_folder else (),
        reveals=spec is not None and spec.reveals,
        changes_at_once=spec is not None and spec.changes_files and not spec.contained,
        foreign=foreign,
    )


def _of_command(tool: str, command: ParsedCommand, root: str) -> AccessedResources:
    """Returns the resources of a command. A relative path can be resolved only if the command does not change folders."""
    writes = [None if command.moves else _inside(path, root) for path in command.writes]
    reads = [None if command.moves else _inside(path, root) for path in command.reads]
    written = (*zip(command.writes, writes, strict=True), *zip(command.reads, reads, strict=True))
    return AccessedResources(
        tool,
        paths=tuple(path for path in writes if path is not None),
        reads=tuple(path for path in reads if path is not None),
        elsewhere=tuple(path for path, placed in written if placed is None),
        command=command,
        root=root,
    )


def from_root(word: str, root: str) -> str:
    """Returns a command's word as a path from the workspace root, if it is one."""
    path = PurePosixPath(word)
    return str(path.relative_to(root)) if root and path.is_relative_to(root) else str(path)


def _inside(path: str, root: str) -> str | None:
    """Returns the path from the workspace root; None if it leads, or may lead, outside."""
    pure = PurePosixPath(path)
    if pure.is_absolute():
        if not pure.is_relative_to(root):
            return None
        pure = pure.relative_to(root)
    return None if ".." in pure.parts else "/" + "/".join(pure.parts)
