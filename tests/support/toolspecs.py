"""The specs of the built-in tools by name, for tests of what is decided by them."""

from anycowork.domain.tools import ToolSpec
from anycowork.tools.toolbox import built_in_tools

SPECS: dict[str, ToolSpec] = {spec.name: spec for spec in built_in_tools(None, command_timeout=lambda: 5.0).specs()}
CHANGERS = tuple(spec.name for spec in SPECS.values() if not spec.read_only)
