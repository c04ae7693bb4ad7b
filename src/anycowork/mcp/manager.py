"""The MCP servers of this server: which are configured, which are connected, and their tools as one source of the toolbox."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import chain

from pydantic import JsonValue

from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.mcp_servers import McpServerChanges, McpServerConfig
from anycowork.domain.messages import Json
from anycowork.domain.network import NETWORK
from anycowork.domain.ports import SuppliedFile
from anycowork.mcp.connection import McpConnection
from anycowork.mcp.modules import ModuleLoader
from anycowork.mcp.oauth import ServerSignIn, TokenStore
from anycowork.mcp.offers import MOST_LISTED
from anycowork.mcp.stdio_transport import McpFailed, ServerLauncher
from anycowork.mcp.tool import McpTool
from anycowork.tools.toolbox import ToolRegistry

MOST_SERVERS = 50
_BY_SETTING = "Only the setting mcp_modules in config.toml says which are used."
log = logging.getLogger(__name__)
Save = Callable[[Sequence[McpServerConfig]], Awaitable[None]]


class McpManager:
    """`save` makes the configuration durable before it holds."""

    source_name = "mcp"

    def __init__(
        self,
        toolbox: ToolRegistry,
        launcher: ServerLauncher,
        tasks: asyncio.TaskGroup,
        save: Save,
        tokens: TokenStore,
        modules: ModuleLoader,
    ) -> None:
        self._toolbox = toolbox
        self._launcher = launcher
        self._tasks = tasks
        self._save = save
        self._tokens = tokens
        self._modules = modules
        self._sign_ins: dict[str, tuple[ServerSignIn, asyncio.Task[None]]] = {}
        self._servers: dict[str, McpConnection] = {}
        self._of_chats: dict[str, list[McpConnection]] = {}
        self._changing = asyncio.Lock()

    def start(self, configs: Iterable[McpServerConfig]) -> None:
        """Connects those that are enabled, in the background. Those of plugins' modules are added as the settings say."""
        for config in self._modules.configured(configs):
            self._put(config)

    async def aclose(self) -> None:
        for _, task in list(self._sign_ins.values()):
            task.cancel()
        for server in self._all():
            await server.stop()

    def tools(self) -> list[McpTool]:
        return [tool for server in self._all() for tool in server.tools()]

    def resources(self, query: str = "", limit: int = MOST_LISTED) -> list[Json]:
        """The resources of all connected servers whose server, name or address holds the query."""
        wanted, servers = query.casefold(), sorted(self._servers.items())
        found = [one.shown(name) for name, server in servers for one in server.resources()]
        fitting = [one for one in found if any(wanted in str(one[key]).casefold() for key in ("server", "name", "uri"))]
        return fitting[:limit]

    def workflows(self) -> list[SuppliedFile]:
        """The prompts of all connected servers, as workflows."""
        return [file for _, server in sorted(self._servers.items()) for file in server.workflows()]

    def shown(self) -> list[Json]:
        return [server.shown() for _, server in sorted(self._servers.items())]

    def secret_values(self) -> list[str]:
        """Returns what the servers are given that nobody else may see, so that the log can leave it out."""
        configs = [server.config for server in self._all()]
        given = [secret for config in configs for secret in (*config.env.values(), *config.headers.values())]
        signed_in = [self._tokens.find(config.name, config.url) for config in configs if config.url is not None]
        return [*(secret.get_secret_value() for secret in given), *chain.from_iterable(map(_secrets_in, signed_in))]

    async def add(self, config: McpServerConfig) -> Json:
        """Connects it if it is enabled; the answer does not wait for that. Raises: Conflict, Invalid for a module."""
        if config.module is not None:
            raise Invalid(f"A module runs with the server's own rights. {_BY_SETTING}", param="module")
        async with self._changing:
            if config.name in self._servers:
                raise Conflict(
                    f"There is an MCP server '{config.name}' already. Remove it first, or choose another name."
                )
            if len(self._servers) >= MOST_SERVERS:
                raise Conflict(f"There are {MOST_SERVERS} MCP servers already. Remove one first.")
            await self._save([*(server.config for server in self._servers.values()), config])
            return self._put(config).shown()

    async def use_in_chat(self, chat_id: str, configs: Sequence[McpServerConfig]) -> list[Json]:
        """Connects these servers for one chat alone, instead of those that it had. They are not stored. Waits for how it went.

        Raises: Conflict if there are too many.
        """
        if not configs and chat_id not in self._of_chats:
            return []
        async with self._changing:
            before = self._of_chats.pop(chat_id, [])
            for server in before:
                await server.stop()
            if len(configs) + len(self._all()) > MOST_SERVERS:
                raise Conflict(f"There are {MOST_SERVERS} MCP servers already. Close a session, or remove one first.")
            servers = [self._connection(named_for_chat(config, chat_id), only_chat=chat_id) for config in configs]
            if servers:
                self._of_chats[chat_id] = servers
            for server in servers:
                server.start()
            self._refresh()
        return [await server.first_outcome() for server in servers]

    async def change(self, name: str, changes: McpServerChanges) -> Json:
        """Chooses which tools are offered and which are read-only, from now on. Raises: NotFound."""
        async with self._changing:
            changed = self._require(name)
            config = changed.config.model_copy(update=changes.given())
            others = [server.config if server is not changed else config for server in self._servers.values()]
            await self._save(others)
            restarts = changed.is_started and config.sampling != changed.config.sampling
            changed.use(config)
            if restarts:  # a server learns what we offer once, when it connects
                await changed.stop()
                changed.start()
            return changed.shown()

    async def remove(self, name: str) -> None:
        """Raises: NotFound, Conflict for a module."""
        async with self._changing:
            gone = self._require(name)
            if gone.config.module is not None:
                raise Conflict(f"'{name}' is a module of a plugin, so it cannot be removed here. {_BY_SETTING}")
            await self._save([server.config for server in self._servers.values() if server is not gone])
            await self._tokens.remove(name)
            await gone.stop()
            del self._servers[name]
            self._refresh()

    async def connect(self, name: str) -> Json:
        """Starts it anew and waits for how that went. Raises: NotFound."""
        server = self._require(name)
        async with self._changing:
            await server.stop()
            server.start()
        return await server.first_outcome()

    async def sign_in(self, name: str, redirect_uri: str) -> Json:
        """The address at which a person logs in; the rest happens when their browser comes back. Raises: NotFound, Conflict."""
        server = self._require(name)
        if name in self._sign_ins:
            self._sign_ins.pop(name)[1].cancel()
        sign_in = ServerSignIn(redirect_uri)
        task = self._tasks.create_task(self._sign_in(server, sign_in))
        self._sign_ins[name] = sign_in, task
        address = asyncio.ensure_future(sign_in.address())
        await asyncio.wait([task, address], return_when=asyncio.FIRST_COMPLETED)
        if address.done() and address.exception() is None:
            return {"address": address.result()}
        task.cancel()
        address.cancel()
        raise Conflict(f"Signing in to '{name}' failed: {server.shown().get('error') or 'it did not answer in time'}.")

    def finish_sign_in(self, answer: dict[str, str]) -> bool:
        """Whether a sign-in waited for this answer of a browser."""
        return any(sign_in.take(answer) for sign_in, _ in self._sign_ins.values())

    async def _sign_in(self, server: McpConnection, sign_in: ServerSignIn) -> None:
        try:
            await server.sign_in(sign_in)
        except McpFailed as error:
            server.fail(error.message)
        finally:
            if self._sign_ins.get(server.config.name, (None,))[0] is sign_in:
                del self._sign_ins[server.config.name]

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
        server = self._connection(config)
        self._servers[config.name] = server
        if config.enabled:
            server.start()
        return server

    def _connection(self, config: McpServerConfig, *, only_chat: str | None = None) -> McpConnection:
        return McpConnection(
            config,
            self._launcher,
            self._tasks,
            self._tokens,
            modules=self._modules,
            taken=lambda: self._toolbox.taken_names(self.source_name) | {NETWORK},
            tools_changed=self._refresh,
            only_chat=only_chat,
        )

    def _all(self) -> list[McpConnection]:
        return [*self._servers.values(), *(server for servers in self._of_chats.values() for server in servers)]

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


def _secrets_in(stored: JsonValue) -> Iterator[str]:
    """Yields the texts of a sign-in whose names end with token, secret or verifier."""
    for name, item in stored.items() if isinstance(stored, dict) else ():
        if isinstance(item, str) and name.endswith(("token", "secret", "verifier")):
            yield item
        yield from _secrets_in(item)


def named_for_chat(config: McpServerConfig, chat_id: str) -> McpServerConfig:
    """Under a name that no other chat's server has, and no configured one: rules for those do not speak of this one."""
    return config.model_copy(update={"name": f"{config.name[:20].rstrip('-_')}-{chat_id.replace('-', '')[-8:]}"})
