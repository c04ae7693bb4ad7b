"""What `anycowork doctor` says of plugins: which are there, which are switched on, and which of those fail, and why."""

from anycowork.commands.checkup import Finding
from anycowork.containment import Containment
from anycowork.domain.messages import Json
from anycowork.settings import Settings
from anycowork.tools.plugins.housing import Housing
from anycowork.tools.plugins.keeping import Plugins
from anycowork.tools.toolbox import built_in_tools
from anycowork.workspace.egress import Egress

_WAY_OUT = "docs/tools.md says what a plugin must look like; without its name in the setting 'plugins' it is not used."


async def check_plugins(settings: Settings, contained: Containment) -> Finding:
    """Those that are switched on are asked for their tools, in the sandbox, as the server asks them."""
    sandbox = contained.sandbox
    housing = Housing(sandbox, Egress(), settings.data_dir) if sandbox else None
    toolbox = built_in_tools(None, settings.command_timeout, sandbox)
    plugins = Plugins(settings.plugins_folder, toolbox, housing, timeout=settings.command_timeout)
    await plugins.switch_on(settings.plugins)
    found = plugins.report()
    failing = [one for one in found if one["problems"]]
    return Finding("plugins", not failing, False, "; ".join(map(_told, found)) or "none installed", _WAY_OUT)


def _told(one: Json) -> str:
    problems = one["problems"]
    assert isinstance(problems, list)
    version = f" {one['version']}" if one["version"] else ""
    if problems:
        return f"{one['name']}{version} fails: {'. '.join(map(str, problems))}"
    return (
        f"{one['name']}{version} ({one['tools']} tools)" if one["on"] else f"{one['name']}{version} (not switched on)"
    )
