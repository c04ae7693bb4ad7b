"""Where a plugin's code runs: which Python, what of this machine it sees, and the words that start it for one question."""

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import value
from anycowork.tools.child import Bounds
from anycowork.tools.contained import Contained
from anycowork.tools.plugins.finding import Plugin, libraries
from anycowork.workspace.bwrap import Sight
from anycowork.workspace.egress import Egress
from anycowork.workspace.proxy import Reach
from anycowork.workspace.sandbox import Sandbox

# Isolated and without `site`: no variable, no folder of the caller's and no .pth file decides what is imported.
_BEGIN = "import sys; sys.path += sys.argv[1:]; from anycowork.plugins.worker import main; main()"
_OURS = Path(__file__).resolve().parents[2]
_SYSTEM = ("/usr", "/nix/store")  # every sandbox sees these


class Unhoused(ToolFault):
    """There is no safe place for the plugin's code."""

    code = "plugin_unhoused"


@value
class Housing:
    """`data_dir` holds secrets: nothing that contains it is ever shown."""

    sandbox: Sandbox
    egress: Egress
    data_dir: Path

    def asking(
        self,
        plugin: Plugin,
        request: Mapping[str, JsonValue],
        bounds: Bounds,
        *,
        sees_workspace: bool = False,
        reach: Reach | None = None,
    ) -> Contained:
        """One question to a new worker. Raises: Unhoused."""
        paths = dict.fromkeys((*plugin.paths, str(_OURS.parent), *libraries()))
        shown = [str(Path(sys.base_prefix).resolve()), *plugin.paths, str(_OURS), *libraries()]
        return Contained(
            self.sandbox,
            command="exec " + shlex.join([_python(), "-I", "-S", "-B", "-c", _BEGIN, *paths]),
            bounds=bounds,
            stdin=json.dumps(request).encode(),
            sight=Sight(self._places(shown), workspace=sees_workspace),
            reach=reach,
            egress=self.egress,
        )

    def _places(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """Each once, and none that lies in another. Raises: Unhoused if one of them would show the server's secrets."""
        places = [Path(place) for place in dict.fromkeys(wanted) if not _is_system(place)]
        data = self.data_dir.resolve()
        for place in places:
            if place in (Path("/"), Path.home().resolve()) or data.is_relative_to(place):
                raise Unhoused(
                    f"Its code would run beside '{place}', which holds the server's own files or yours. Install it into a folder of "
                    "its own: pip install --target <data folder>/plugins, as docs/tools.md says."
                )
        apart = [one for one in places if not any(one != other and one.is_relative_to(other) for other in places)]
        return tuple(map(str, apart))


def _python() -> str:
    """The interpreter itself, not an environment's link to it."""
    return str(Path(sys.executable).resolve())


def _is_system(place: str) -> bool:
    return any(Path(place).is_relative_to(system) for system in _SYSTEM)
