"""MCP servers that are Python objects of installed plugins and run inside this server, without a process.

Such an object has the server's own rights, so nothing but the setting `mcp_modules` brings one in. It is found by metadata in the folder of
plugins and among the server's libraries, and imported when it is connected for the first time.
"""

import asyncio
import importlib
import logging
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.values import value
from anycowork.mcp.definitions import plain_text
from anycowork.mcp.stdio_transport import McpFailed
from anycowork.tools.plugins.manifest import Plugin, find_plugins

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

GROUP = "anycowork.mcp_servers"
log = logging.getLogger(__name__)


@value
class ModuleLoader:
    """`folder` is where plugins are installed; `wanted` are the names of those whose servers may be imported."""

    folder: Path
    wanted: frozenset[str] = frozenset()

    def configured(self, stored: Iterable[McpServerConfig]) -> list[McpServerConfig]:
        """The stored servers, with those of the wanted plugins and of no others. Blocking; nothing is imported."""
        before = {config.name: config for config in stored}
        servers = {name: config for name, config in before.items() if config.module is None}
        for module_server in self._modules():
            stored_config = before.get(module_server.name)
            if stored_config is not None and stored_config.module == module_server.module:
                servers[module_server.name] = stored_config  # with what a person chose for its tools
            elif module_server.name in servers:
                log.warning(
                    "the MCP server '%s' of a plugin is left out: another one has this name", module_server.name
                )
            else:
                servers[module_server.name] = module_server
        return list(servers.values())

    @asynccontextmanager
    async def run(self, module: str) -> AsyncIterator["TransportStreams"]:
        """While the block runs, the object answers. Raises: McpFailed."""
        server = await asyncio.to_thread(self._load, module)
        from mcp.client._memory import InMemoryTransport

        async with InMemoryTransport(server) as streams:
            yield streams

    def _modules(self) -> Iterator[McpServerConfig]:
        plugins = self._plugins()
        for name in sorted(self.wanted - plugins.keys()):
            log.warning(
                "the setting mcp_modules names '%s', but no plugin with MCP servers of that name is there", name
            )
        for name, plugin in plugins.items():
            for entry_name, entry in zip(plugin.entry_names, plugin.entries, strict=True):
                try:
                    yield McpServerConfig(name=entry_name, module=f"{name}:{entry}")
                except ValidationError:
                    log.warning("the MCP server '%s' of '%s' is left out: its name is not valid", entry_name, name)

    def _plugins(self) -> dict[str, Plugin]:
        plugins = find_plugins(self.folder, group=GROUP) if self.wanted else []
        return {plugin.name: plugin for plugin in plugins if plugin.name in self.wanted}

    def _load(self, module: str) -> Any:
        """Blocking: imports what the entry point names. Raises: McpFailed."""
        name, _, entry = module.partition(":")
        plugin = self._plugins().get(name)
        if plugin is None or entry not in plugin.entries:
            raise McpFailed(f"the plugin '{name}' is not installed, or the setting mcp_modules does not name it")
        for path in plugin.paths:
            if path not in sys.path:
                sys.path.append(path)  # last: nothing of it is imported in place of ours
        try:
            return _server_of(entry)
        except McpFailed:
            raise
        except Exception as error:  # noqa: BLE001  # a plugin's own code may raise anything
            reason = f"'{entry}' cannot be loaded: {type(error).__name__}: {error}"
            raise McpFailed(plain_text(reason, 300)) from None


def _server_of(entry: str) -> Any:
    from mcp.server import MCPServer, Server

    module, _, attribute = entry.partition(":")
    server: Any = importlib.import_module(module)
    for part in attribute.split(".") if attribute else ():
        server = getattr(server, part)
    if callable(server) and not isinstance(server, Server | MCPServer):
        server = server()
    if not isinstance(server, Server | MCPServer):
        raise McpFailed(f"'{entry}' is not an mcp.server.MCPServer, nor a function that returns one")
    return server
