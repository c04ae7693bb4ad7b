"""A workspace in a temporary folder and the built-in tools on it, called as the loop calls them: problems, prepare, run."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from anycowork.domain.ports import names_nothing
from anycowork.domain.roles import Permission
from anycowork.domain.rules import ChangesDecision
from anycowork.domain.snapshots import ReplacedFile
from anycowork.domain.tool_ports import CommitSession, Prepared, ToolContext
from anycowork.domain.tools import Intent, PathIntent, ToolResult
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.network.egress import Egress
from anycowork.tools.toolbox import ToolRegistry, built_in_tools
from anycowork.workspace.folder import Folder
from support.sandboxes import sandbox_in

EVERYTHING = frozenset(Permission)
COMMIT_STEPS = ("intend", "committed", "named", "check_changes", "hold")


class ScriptedCommit(CommitSession):
    """A commit session whose steps are a test's own functions."""

    def __init__(
        self,
        *,
        intend: Callable[[Intent, Mapping[str, ReplacedFile]], Awaitable[None]],
        committed: Callable[[Sequence[str]], None] = lambda left_alone: None,
        named: Callable[[str], bool] = names_nothing,
        check_changes: Callable[[Sequence[PathIntent]], Awaitable[ChangesDecision]] | None = None,
        hold: Callable[[Intent], None] | None = None,
    ) -> None:
        self._intend = intend
        self._committed = committed
        self._named = named
        self._check_changes = check_changes
        self._hold = hold
        self._replaced: Mapping[str, ReplacedFile] = {}
        self.can_hold = hold is not None

    def is_named(self, path: str) -> bool:
        return self._named(path)

    async def check_changes(self, changes: Sequence[PathIntent]) -> ChangesDecision:
        return await self._check_changes(changes) if self._check_changes else ChangesDecision()

    async def keep(self, intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
        self._replaced = replaced

    async def intend(self, intent: Intent) -> None:
        await self._intend(intent, self._replaced)

    def finish(self, left_alone: Sequence[str]) -> None:
        self._committed(left_alone)

    def hold(self, intent: Intent) -> None:
        assert self._hold is not None
        self._hold(intent)


@dataclass
class ToolWorkspace:
    """`root` is the workspace; `outside` lies beside it and must never be touched. `intended` is what tools wrote down on their way."""

    root: Path
    outside: Path
    read: dict[str, str] = field(default_factory=dict)
    intended: list[Intent] = field(default_factory=list)
    egress: Egress | None = None
    layer: Layer = Layer.OVERLAY
    command_timeout: float = 20.0

    def __post_init__(self) -> None:
        self.sandbox = sandbox_in(self.root.parent / "data", layer=self.layer)
        self.toolbox: ToolRegistry = built_in_tools(
            None, command_timeout=lambda: self.command_timeout, sandbox=self.sandbox, egress=self.egress
        )

    def write(self, path: str, content: str | bytes = "") -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return target

    def tool_context(
        self, *, user_text: str = "", permissions: frozenset[Permission] = EVERYTHING, **more: object
    ) -> ToolContext:
        steps = {name: more.pop(name) for name in COMMIT_STEPS if name in more}
        commit = ScriptedCommit(**{"intend": self.intend, **steps})  # type: ignore[arg-type]
        return ToolContext(
            Folder(str(self.root)),
            permissions,
            read=self.read,
            user_text=user_text,
            commit=commit,
            **more,  # type: ignore[arg-type]
        )

    async def intend(self, intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
        self.intended.append(intent)

    async def prepare(self, tool: str, tool_context: ToolContext | None = None, **parameters: JsonValue) -> Prepared:
        found = self.toolbox.find(tool)
        assert found is not None
        assert found.problems(parameters) == []
        return await found.prepare(parameters, tool_context or self.tool_context())

    async def run(self, prepared: Prepared, tool_context: ToolContext | None = None) -> ToolResult:
        found = self.toolbox.find(prepared.tool)
        assert found is not None
        return await found.run(prepared, tool_context or self.tool_context())

    async def call(self, tool: str, tool_context: ToolContext | None = None, **parameters: JsonValue) -> ToolResult:
        """Both halves; a file read whole counts as read, as the loop counts it."""
        result = await self.run(await self.prepare(tool, tool_context, **parameters), tool_context)
        if result.facts.get("whole"):
            self.read[str(result.facts["path"])] = str(result.facts["sha256"])
        return result


def tree(folder: Path) -> Mapping[str, bytes | str]:
    """Everything below a folder: what is in the files, where links lead."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = "folder" if path.is_dir() else "special"
    return found
