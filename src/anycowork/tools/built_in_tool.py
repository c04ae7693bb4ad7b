"""The base of every built-in tool: builds its spec from its parameter model, and inspects on a restricted thread."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

from pydantic import JsonValue

from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import Parameters, ToolDisplay, ToolResult, ToolSpec
from anycowork.tools.parameters import P, parsed, problems_in, schema_of
from anycowork.workspace.folder import Folder
from anycowork.workspace.landlock_threads import reading

T = TypeVar("T")
READ = frozenset({Permission.READ_FILES})


class BuiltInTool(ABC, Generic[P]):
    """A built-in tool. Subclasses set the class variables and do the work in `inspect` and `run`."""

    name: ClassVar[str]
    category: ClassVar[str]
    description: ClassVar[str]
    permissions: ClassVar[frozenset[Permission]] = READ
    priority: ClassVar[int] = 50
    looks_below: ClassVar[bool] = False
    reveals: ClassVar[bool] = False
    asks_agents: ClassVar[bool] = False
    web: ClassVar[bool] = False
    # Sets of parameters that form a complete call, if only such sets do.
    forms: ClassVar[tuple[tuple[str, ...], ...]] = ()
    display: ClassVar[ToolDisplay] = ToolDisplay()
    model: type[P]

    @cached_property
    def spec(self) -> ToolSpec:
        """Made when it is first asked for: the schemas of all tools took a tenth of a start."""
        schema = schema_of(self.model)
        return ToolSpec(
            name=self.name,
            category=self.category,
            description=self.description,
            permissions=self.permissions,
            schema=schema,
            requires_approval=self.permissions != READ or self.asks_agents,
            asks_agents=self.asks_agents,
            web=self.web,
            priority=self.priority,
            looks_below=self.looks_below,
            reveals=self.reveals,
            forms=tuple(_form(schema, names) for names in self.forms),
            display=self.display,
        )

    def problems(self, parameters: Parameters) -> list[str]:
        return problems_in(self.model, parameters)

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        args = parsed(self.model, self.name, parameters)
        return await reading(lambda: self.inspect(args, parameters, tool_context))

    @abstractmethod
    def inspect(self, args: P, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Inspects and computes without changing anything; runs on a thread that cannot. Raises: ToolFault, OutsideWorkspace."""

    @abstractmethod
    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        """Does what was prepared. Raises: ToolFault."""


def _form(schema: dict[str, JsonValue], names: tuple[str, ...]) -> dict[str, JsonValue]:
    properties = schema["properties"]
    assert isinstance(properties, dict)
    return {**schema, "properties": {name: properties[name] for name in names}, "required": [*names]}


def folder_of(tool_context: ToolContext) -> Folder:
    if not isinstance(tool_context.workspace, Folder):
        raise TypeError("built-in tools work in a workspace that Workspaces opened")
    return tool_context.workspace


def payload_of(prepared: Prepared, kind: type[T]) -> T:
    """Returns what this tool's `prepare` left for its `run`."""
    if not isinstance(prepared.payload, kind):
        raise TypeError(f"this call of {prepared.tool} was not prepared by {prepared.tool}")
    return prepared.payload
