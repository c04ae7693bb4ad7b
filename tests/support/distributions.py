"""Real distributions with tools in them, put where `pip install --target` would put them: code, metadata, entry points. No network."""

from pathlib import Path
from textwrap import dedent

from anycowork.domain.tools import ToolSpec
from anycowork.sandbox.network.egress import Egress
from anycowork.tools.plugins.manager import PluginManager
from anycowork.tools.plugins.runtime import PluginRuntime
from support.tool_workspace import ToolWorkspace

HEAD = "from anycowork.plugins import ToolError, tool\n"


def install(
    folder: Path,
    name: str,
    code: str,
    *,
    entries: dict[str, str] | None = None,
    version: str = "1.0",
    group: str = "anycowork.tools",
) -> None:
    """`code` is the module's text, decorated functions and all; without `entries` the module's list `tools` is the one entry point."""
    module = name.replace("-", "_")
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(HEAD + dedent(code))
    metadata = folder / f"{module}-{version}.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"{key} = {value}" for key, value in (entries or {"all": f"{module}:tools"}).items()]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))


class PluginBench(ToolWorkspace):
    """A bench whose toolbox has the tools of plugins too; they are installed in a data folder beside the workspace."""

    seconds = 60.0  # for each call of one

    @property
    def data(self) -> Path:
        return self.root.parent / "data"

    @property
    def folder(self) -> Path:
        return self.data / "plugins"

    def install(self, name: str, code: str, **more: object) -> None:
        install(self.folder, name, code, **more)  # type: ignore[arg-type]

    def plugins(self, *, sandboxed: bool = True) -> PluginManager:
        self.data.mkdir(exist_ok=True)
        housing = PluginRuntime(self.sandbox, self.egress or Egress(), self.data) if sandboxed else None
        return PluginManager(self.folder, self.toolbox, housing, timeout=lambda: self.seconds)

    async def use(self, name: str, code: str) -> None:
        """Installs it and switches it on; it must have no problems."""
        self.install(name, code)
        plugins = self.plugins()
        await plugins.enable([name])
        problems = [problem for one in plugins.report() for problem in one["problems"]]  # type: ignore[union-attr]
        assert problems == []

    def spec(self, tool: str) -> ToolSpec:
        found = self.toolbox.find(tool)
        assert found is not None
        return found.spec
