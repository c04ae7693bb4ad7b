"""The MCP servers of this server: which are configured, which are connected, and their tools as one source of the toolbox."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.mcp_servers import McpServerChanges, McpServerConfig
from anycowork.domain.messages import Json
from anycowork.domain.network import NETWORK
from anycowork.domain.ports import SuppliedFile
from anycowork.mcp.connection import McpConnection
from anycowork.mcp.offers import MOST_LISTED
from anycowork.mcp.stdio_transport import McpFailed, ServerLauncher
from anycowork.mcp.tool import McpTool
from anycowork.tools.toolbox import ToolRegistry

MOST_SERVERS = 50
log = logging.getLogger(__name__)
Save = Callable[[Sequence[McpServerConfig]], Awaitable[None]]


class McpManager:
    """`save` makes the configuration durable before it holds."""

    source_name = "mcp"

    def __init__(self, toolbox: ToolRegistry, launcher: ServerLauncher, tasks: asyncio.TaskGroup, save: Save) -> None:
        self._toolbox = toolbox
        self._launcher = launcher
        self._tasks = tasks
        self._save = save
        self._servers: dict[str, McpConnection] = {}
        self._changing = asyncio.Lock()

    def start(self, configs: Iterable[McpServerConfig]) -> None:
        """Connects those that are enabled, in the background."""
        for config in configs:
            self._put(config)

    async def aclose(self) -> None:
        for server in self._servers.values():
            await server.stop()

    def tools(self) -> list[McpTool]:
        return [tool for server in self._servers.values() for tool in server.tools()]

    def resources(self) -> list[Json]:
        """The resources of all connected servers."""
        servers = sorted(self._servers.items())
        return [one.shown(name) for name, server in servers for one in server.resources()][:MOST_LISTED]

    def workflows(self) -> list[SuppliedFile]:
        """The prompts of all connected servers, as workflows."""
        return [file for _, server in sorted(self._servers.items()) for file in server.workflows()]

    def shown(self) -> list[Json]:
        return [server.shown() for _, server in sorted(self._servers.items())]

    async def add(self, config: McpServerConfig) -> Json:
        """Connects it if it is enabled; the answer does not wait for that. Raises: Conflict."""
        async with self._changing:
            if config.name in self._servers:
                raise Conflict(
                    f"There is an MCP server '{config.name}' already. Remove it first, or choose another name."
                )
            if len(self._servers) >= MOST_SERVERS:
                raise Conflict(f"There are {MOST_SERVERS} MCP servers already. Remove one first.")
            await self._save([*(server.config for server in self._servers.values()), config])
            return self._put(config).shown()

    async def change(self, name: str, changes: McpServerChanges) -> Json:
        """Chooses which tools are offered and which are read-only, from now on. Raises: NotFound."""
        async with self._changing:
            changed = self._require(name)
            config = changed.config.model_copy(update=changes.given())
            others = [server.config if server is not changed else config for server in self._servers.values()]
            await self._save(others)
            restarts = changed.is_started and config.sampling != changed.config.sampling
            changed.use(config)
            if restarts:  # what we offer is told to a server once, when it connects
                await changed.stop()
                changed.start()
            return changed.shown()

    async def remove(self, name: str) -> None:
        """Raises: NotFound."""
        async with self._changing:
            gone = self._require(name)
            await self._save([server.config for server in self._servers.values() if server is not gone])
            await gone.stop()
            del self._servers[name]
            self._refresh()

    async def connect(self, name: str) -> Json:
        """Starts it anew and waits for how that went. Raises: NotFound."""
        server = self._require(name)
        async with self._changing:
            await server.stop()
            server.start()
        try:
            await server.settled()
        except TimeoutError:
            log.warning("the MCP server '%s' has neither connected nor failed", name)
        return server.shown()

    async def disconnect(self, name: str) -> Json:
        """Until it is connected again, or the server restarts. Raises: NotFound."""
        server = self._require(name)
        async with self._changing:
            await server.stop()
        return server.shown()

    async def relist(self, name: str) -> Json:
        """Raises: NotFound, Conflict if it is not connected."""
        server = self._require(name)
        try:
            await server.relist()
        except McpFailed as error:
            raise Conflict(f"The tools of '{name}' cannot be listed: {error.message}.") from None
        return server.shown()

    def _put(self, config: McpServerConfig) -> McpConnection:
        server = McpConnection(
            config,
            self._launcher,
            self._tasks,
            taken=lambda: self._toolbox.taken_names(self.source_name) | {NETWORK},
            tools_changed=self._refresh,
        )
        self._servers[config.name] = server
        if config.enabled:
            server.start()
        return server

    def _refresh(self) -> None:
        try:
            self._toolbox.refresh(self)
        except ValueError as error:  # a plugin took the name meanwhile; the tools stay as they were
            log.warning("the tools of MCP servers were not taken over: %s", error)

    def _require(self, name: str) -> McpConnection:
        server = self._servers.get(name)
        if server is None:
            raise NotFound("MCP server", name)
        return server
