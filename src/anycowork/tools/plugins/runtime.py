"""Decides where a plugin's code runs: which Python, what of this machine it sees, and the arguments that start it for one question."""

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import value
from anycowork.sandbox.bubblewrap import HOME, VisiblePaths
from anycowork.sandbox.layers.stage import DEVICES
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import Egress
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.workspaces import home_folder
from anycowork.tools.child_process import ChildLimits, SandboxedProgram
from anycowork.tools.plugins.manifest import Plugin, libraries
from anycowork.workspace import landlock

# Isolated and without `site`: no variable, no folder of the caller's and no .pth file decides what is imported.
_BEGIN = "import sys; sys.path += sys.argv[1:]; from anycowork.plugins.worker import main; main()"
# Before anything of the plugin's can be imported, even under our name: a pipe in the workspace accepts writes
# even if the workspace is mounted read-only.
_HOLD = (
    "import os, sys; own = {'__name__': 'landlock'}; exec(open(sys.argv.pop(1)).read(), own); "
    "own['write_only_in'](sys.argv.pop(1).split(':'), apart_from=os.getcwd()); "
)
_SCRATCH = ("/tmp", HOME, "/dev/shm", "/dev/pts", *(f"/dev/{name}" for name in DEVICES))  # the sandbox's own
_OURS = Path(__file__).resolve().parents[2]
_SYSTEM = ("/usr", "/nix/store")  # every sandbox sees these


class NoPluginRuntime(ToolFault):
    """There is no safe place for the plugin's code."""

    code = "plugin_unhoused"


@value
class PluginRuntime:
    """`data_dir` holds secrets: nothing that contains it is ever shown."""

    sandbox: Sandbox
    egress: Egress
    data_dir: Path

    def worker_for(
        self,
        plugin: Plugin,
        request: Mapping[str, JsonValue],
        bounds: ChildLimits,
        *,
        sees_workspace: bool = False,
        changes: bool = False,
        reach: NetworkReach | None = None,
    ) -> SandboxedProgram:
        """Builds a new worker for one question.

        One that sees the workspace and changes nothing may write only to its scratch folders. Raises: NoPluginRuntime.
        """
        paths = dict.fromkeys((*plugin.paths, str(_OURS.parent), *libraries()))
        visible = [str(Path(sys.base_prefix).resolve()), *plugin.paths, str(_OURS), *libraries()]
        return SandboxedProgram(
            self.sandbox,
            command="exec "
            + shlex.join(
                [_python(), "-I", "-S", "-B", "-c", *_begin(is_restricted=sees_workspace and not changes), *paths]
            ),
            bounds=bounds,
            stdin=json.dumps(request).encode(),
            sight=VisiblePaths(self._places(visible), workspace=sees_workspace),
            reach=reach,
            egress=self.egress,
        )

    def _places(self, visible: Iterable[str]) -> tuple[str, ...]:
        """Returns each place once, without places inside others. Raises: NoPluginRuntime if one of them would show the server's secrets."""
        folders = [Path(folder) for folder in dict.fromkeys(visible) if not _is_system(folder)]
        data = self.data_dir.resolve()
        for folder in folders:
            if folder in (Path("/"), home_folder().resolve()) or data.is_relative_to(folder):
                raise NoPluginRuntime(
                    f"Its code would run beside '{folder}', which holds the server's own files or yours. Install it into a separate "
                    "folder: pip install --target <data folder>/plugins, as docs/tools.md says."
                )
        apart = [
            inner for inner in folders if not any(inner != other and inner.is_relative_to(other) for other in folders)
        ]
        return tuple(map(str, apart))


def _begin(*, is_restricted: bool) -> list[str]:
    """A worker that changes files has its own layer over the workspace, in which pipes lead nowhere."""
    if not is_restricted:
        return [_BEGIN]
    return [_HOLD + _BEGIN, str(Path(landlock.__file__).resolve()), ":".join(_SCRATCH)]


def _python() -> str:
    """Returns the interpreter itself, not an environment's link to it."""
    return str(Path(sys.executable).resolve())


def _is_system(path: str) -> bool:
    return any(Path(path).is_relative_to(system) for system in _SYSTEM)
