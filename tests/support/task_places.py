"""Both ways to give a task its own workspace, with the built-in tools on them: a private copy, and a layer over the workspace."""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from anycowork.domain.ports import TaskWorkspaces
from anycowork.domain.tool_ports import ToolContext
from anycowork.domain.tools import ToolResult
from anycowork.sandbox.layers.task_workspaces import PrivateCopies, TaskLayers
from anycowork.sandbox.workspaces import Workspaces
from anycowork.workspace.folder import Folder
from support.tool_workspace import EVERYTHING, ScriptedCommit, ToolWorkspace, tree

COPIES, LAYERS = "copies", "layers"
KINDS = (COPIES, LAYERS)


@dataclass
class TaskPlaces:
    """`root` is the workspace of a job's tasks; `of_kind` is what their own workspaces are made by."""

    base: Path
    of_kind: str
    leases: int = 0
    read: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root, outside = self.base / "workspace", self.base / "outside"
        for folder in (self.root, outside):
            folder.mkdir(parents=True, exist_ok=True)
        self.bench = ToolWorkspace(self.root, outside)
        self.start_server()

    def start_server(self) -> None:
        """As at the start of a server: nothing is held in memory."""
        staging = self.bench.sandbox.staging
        self.workspaces = Workspaces(self._take, staging)
        copies = PrivateCopies(staging, self.workspaces, most_bytes=100 << 20, spare=0)
        is_layered = self.of_kind == LAYERS
        self.tasks: TaskWorkspaces = TaskLayers(staging, self.workspaces, copies) if is_layered else copies

    async def _take(self, root: str) -> int:
        self.leases += 1
        return self.leases

    async def create(self, root: str | None = None) -> str:
        """Return the root of a new task's workspace, of the kind that is asked for."""
        made = await self.tasks.create(root or str(self.root))
        assert (Path(made).name == "view") == (self.of_kind == LAYERS), "it has the other kind"
        return made

    def folder(self, task: str) -> Folder:
        return self.workspaces.open(task)

    def tree(self, task: str) -> dict[str, bytes | str]:
        """Everything that the task sees."""
        return dict(tree(Path(self.folder_path(self.folder(task)))))

    def folder_path(self, folder: Folder) -> str:
        self._last = folder  # its descriptor must stay open
        return folder.jail.process_path

    def write(self, path: str, content: str) -> Path:
        return self.bench.write(path, content)

    def context(self, task: str, **more: object) -> ToolContext:
        read = self.read.setdefault(task, {})
        return ToolContext(
            self.folder(task), EVERYTHING, read=read, commit=ScriptedCommit(intend=self.bench.intend), **more
        )  # type: ignore[arg-type]

    async def call(self, task: str, tool: str, **parameters: JsonValue) -> ToolResult:
        return await self.bench.call(tool, self.context(task), **parameters)

    async def run(self, task: str, command: str) -> ToolResult:
        return await self.call(task, "execute_command", command=command)
