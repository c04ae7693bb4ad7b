"""Finds installed plugins by their metadata, and validates what they say of their tools. Reads files; imports nothing of theirs.

A manifest is untrusted: it is checked strictly, and never granted more than it asks for.
"""

import logging
import re
import site
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue, ValidationError, field_validator

from anycowork.domain.boundary import Boundary
from anycowork.domain.network import Destination, wanted_destinations
from anycowork.domain.roles import Permission
from anycowork.domain.tools import ToolDisplay, ToolSpec
from anycowork.domain.values import replace, value
from anycowork.tools.plugins.schemas import BadSchema, validated

MOST_TOOLS = 50
MOST_HOSTS = 20
_MOST_PROBLEMS = 20
_PRIORITY = 60  # after every built-in tool: if the prompt has no space for all, these are dropped first
GROUP = "anycowork.tools"
_ENTRY = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*(?::\w+(?:\.\w+)*)?)\s*(?:\[.*\])?")
log = logging.getLogger(__name__)


class PluginAnswer(Boundary):
    """The worker's answer to a call. One of the two, and nothing else: a plugin supplies neither facts nor a diff."""

    content: str | None = None
    error: str | None = None


class PluginDescription(Boundary):
    """The worker's answer to the question which tools exist."""

    tools: Annotated[list[dict[str, JsonValue]], Field(max_length=MOST_TOOLS)]
    problems: list[str]


class _Declaration(Boundary):
    entry: str
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{1,63}$")]
    description: Annotated[str, Field(min_length=1, max_length=1_000)]
    category: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_ -]{0,29}$")]
    permissions: list[str]
    requires_approval: bool
    path: str | None
    network: Annotated[list[str], Field(max_length=MOST_HOSTS)]
    parameters: dict[str, JsonValue] = Field(alias="schema")

    @field_validator("description")
    @classmethod
    def _one_line(cls, text: str) -> str:
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())


@value
class DeclaredTool:
    """One tool of a plugin. `entry` is where it is found; `path` the parameter that names a file; `network` the hosts it needs."""

    plugin: str
    entry: str
    spec: ToolSpec
    path: str | None
    network: tuple[Destination, ...]


class ToolNotOffered(ValueError):
    """Why a tool is not offered."""


def declared(plugin: str, entries: Iterable[str], declaration: Mapping[str, JsonValue]) -> DeclaredTool:
    """Raises: ToolNotOffered."""
    try:
        read = _Declaration.model_validate(declaration)
        schema = validated(read.parameters)
        permissions = _permissions(read.permissions)
        network = wanted_destinations(read.network)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ToolNotOffered(f"{_named(declaration)}: its '{first['loc'][0]}' does not fit: {first['msg']}") from None
    except (BadSchema, ValueError) as error:
        raise ToolNotOffered(f"{_named(declaration)}: {error}") from None
    if read.entry not in entries:
        raise ToolNotOffered(f"{_named(declaration)}: it says that it comes from somewhere else than its plugin")
    if read.path is not None and not _is_text(schema, read.path):
        raise ToolNotOffered(
            f"{_named(declaration)}: 'path' names '{read.path[:80]}', which is no text among its parameters"
        )
    spec = ToolSpec(
        name=read.name,
        category=read.category,
        description=read.description,
        permissions=permissions,
        schema=schema,
        priority=_PRIORITY,
        requires_approval=read.requires_approval,
        contained=True,
        looks_below=True,  # whatever its author says: it can read everything that it is shown
        reveals=True,
        plugin=plugin,
        display=ToolDisplay(subject=(read.path,), target=(read.path,)) if read.path else ToolDisplay(),
    )
    if not spec.read_only:  # an author may ask for more approval than usual, not for less
        spec = replace(spec, requires_approval=True)
    return DeclaredTool(plugin, read.entry, spec, read.path, network)


def without_clashes(
    tools: Iterable[DeclaredTool], taken_names: Iterable[str]
) -> tuple[list[DeclaredTool], dict[str, list[str]]]:
    """Returns the tools with unique names, and by plugin why the others are refused. Built-in names cannot be used."""
    tools, ours = list(tools), frozenset(taken_names)
    unique_tools: list[DeclaredTool] = []
    refused: dict[str, list[str]] = {}
    for tool in tools:
        others = sorted(other.plugin for other in tools if other is not tool and other.spec.name == tool.spec.name)
        if tool.spec.name in ours:
            reason = f"'{tool.spec.name}': a tool of AnyCowork's own has this name; it cannot be replaced"
        elif others:
            reason = f"'{tool.spec.name}': {', '.join(others)} has a tool of this name too, so neither is used; switch one off"
        else:
            unique_tools.append(tool)
            continue
        refused.setdefault(tool.plugin, []).append(reason)
    return unique_tools, refused


def describe_problems(problems: Iterable[str]) -> list[str]:
    """Returns problems in a form that a person may be shown: untrusted text, so plain and bounded."""
    plain = ("".join(c if c.isprintable() else " " for c in problem)[:500] for problem in problems)
    return list(plain)[:_MOST_PROBLEMS]


def _permissions(names: Iterable[str]) -> frozenset[Permission]:
    """Any permission includes reading, because the tool then sees the workspace."""
    permissions_by_name = {permission.value: permission for permission in Permission}
    if unknown := sorted(set(names) - permissions_by_name.keys()):
        raise ValueError(f"'{unknown[0][:80]}' is no permission; they are {', '.join(permissions_by_name)}")
    permissions = frozenset(permissions_by_name[name] for name in names)
    return permissions | {Permission.READ_FILES} if permissions else permissions


def _is_text(schema: Mapping[str, JsonValue], name: str) -> bool:
    properties = schema["properties"]
    parameter = properties.get(name) if isinstance(properties, dict) else None
    return isinstance(parameter, dict) and parameter.get("type") == "string"


def _named(declaration: Mapping[str, JsonValue]) -> str:
    return f"'{str(declaration.get('name'))[:80]}'"


@value
class Plugin:
    """One distribution with entry points of a group. `entries` are `module:name`, each under one of the `entry_names`;
    `paths` is where its modules are."""

    name: str
    version: str
    entries: tuple[str, ...]
    paths: tuple[str, ...]
    entry_names: tuple[str, ...] = ()


def find_plugins(folder: Path, group: str = GROUP) -> list[Plugin]:
    """Returns the plugins in this folder (`pip install --target` puts them there), then those among the server's libraries, by name.
    Blocking.

    It searches nowhere else, and never the folder where the server was started: that may be a workspace.
    """
    plugins: dict[str, Plugin] = {}
    for distribution in distributions(path=[str(folder), *libraries()]):
        try:
            plugin = _read(distribution, group)
        except (ValueError, TypeError, KeyError, OSError) as error:  # metadata is untrusted, too
            log.warning("a distribution's metadata cannot be read, so it is skipped: %s", error)
            continue
        if plugin is not None:
            plugins.setdefault(plugin.name, plugin)
    return sorted(plugins.values(), key=lambda plugin: plugin.name)


def libraries() -> tuple[str, ...]:
    """Returns where the server's own libraries are, which plugins may use as well."""
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(folder for folder in dict.fromkeys(folders) if folder in sys.path and Path(folder).is_dir())


def plain_name(name: str) -> str:
    """Normalises a distribution's name for comparison."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _read(distribution: Distribution, group: str) -> Plugin | None:
    names_by_value = {entry.value: entry.name for entry in distribution.entry_points if entry.group == group}
    if not names_by_value:
        return None
    entries = dict(zip(_plain_entries(names_by_value), names_by_value.values(), strict=True))
    return Plugin(
        name=plain_name(distribution.metadata["Name"]),
        version=distribution.version,
        entries=tuple(entries),
        paths=(str(Path(str(distribution.locate_file(""))).resolve()), *_edited_in(distribution)),
        entry_names=tuple(entries.values()),
    )


def _plain_entries(entries: Iterable[str]) -> Iterator[str]:
    for entry in entries:
        seen = _ENTRY.fullmatch(entry.strip())
        if seen is None:
            raise ValueError(f"'{entry[:80]}' is no entry point; it is written as 'module:name'")
        yield seen[1]


def _edited_in(distribution: Distribution) -> Iterator[str]:
    """Yields the folders of an editable install: its `.pth` file names them."""
    for file in distribution.files or ():
        if file.suffix != ".pth" or len(file.parts) > 1:
            continue
        for line in Path(str(distribution.locate_file(file))).read_text("utf-8").splitlines():
            if line.startswith("/") and Path(line).is_dir():
                yield str(Path(line).resolve())
