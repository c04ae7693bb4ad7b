"""The plugin check of `anycowork doctor`: which are installed, which are enabled, and which of those fail, and why."""

from anycowork.cli.diagnostics import Diagnosis
from anycowork.config.settings import Settings
from anycowork.domain.messages import Json
from anycowork.sandbox.egress import Egress
from anycowork.server.sandbox_setup import SandboxSetup
from anycowork.tools.plugins.manager import PluginManager
from anycowork.tools.plugins.runtime import PluginRuntime
from anycowork.tools.toolbox import built_in_tools

_WAY_OUT = "docs/tools.md says what a plugin must look like; without its name in the setting 'plugins' it is not used."


async def check_plugins(settings: Settings, sandbox_setup: SandboxSetup) -> Diagnosis:
    """Asks enabled plugins for their tools, in the sandbox, as the server does."""
    sandbox = sandbox_setup.sandbox
    housing = PluginRuntime(sandbox, Egress(), settings.data_dir) if sandbox else None
    toolbox = built_in_tools(None, settings.command_timeout, sandbox)
    plugins = PluginManager(settings.plugins_folder, toolbox, housing, timeout=settings.command_timeout)
    await plugins.enable(settings.plugins)
    found = plugins.report()
    failing = [one for one in found if one["problems"]]
    return Diagnosis("plugins", not failing, False, "; ".join(map(_plugin_line, found)) or "none installed", _WAY_OUT)


def _plugin_line(one: Json) -> str:
    problems = one["problems"]
    assert isinstance(problems, list)
    version = f" {one['version']}" if one["version"] else ""
    if problems:
        return f"{one['name']}{version} fails: {'. '.join(map(str, problems))}"
    return (
        f"{one['name']}{version} ({one['tools']} tools)" if one["on"] else f"{one['name']}{version} (not switched on)"
    )
