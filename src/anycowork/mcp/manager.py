"""The MCP servers of this server: which are configured, which are connected, and their tools as one source of the toolbox."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import chain

from pydantic import JsonValue, ValidationError

from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.mcp_servers import ChatMcpServer, McpServerChanges, McpServerConfig
from anycowork.domain.messages import Json
from anycowork.domain.network import NETWORK
from anycowork.domain.ports import SuppliedFile
from anycowork.mcp.connection import McpConnection
from anycowork.mcp.modules import ModuleLoader
from anycowork.mcp.oauth import ServerSignIn, TokenStore
from anycowork.mcp.offers import MOST_LISTED
from anycowork.mcp.server_launcher import ServerLauncher
from anycowork.mcp.stdio_transport import McpFailed
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
        self._folders = launcher.folders
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

    async def until_tried(self, chat_id: str, show_wait: Callable[[Sequence[str]], None]) -> None:
        """Waits, for a few seconds at most, until the servers that are being started for this chat have connected or failed.

        `show_wait` is told the names of those that are waited for, each time they are fewer, and none in the end."""
        servers = [*self._servers.values(), *self._of_chats.get(chat_id, ())]
        if not any(server.is_awaited for server in servers):
            return
        for server in servers:
            if server.is_awaited:
                show_wait([awaited.config.name for awaited in servers if awaited.is_awaited])
                await server.until_tried()
        show_wait(())

    def resources(self, query: str = "", limit: int = MOST_LISTED) -> list[Json]:
        """The resources of all connected servers whose server, name or address holds the query."""
        search_text, servers = query.casefold(), sorted(self._servers.items())
        listed = [resource.shown(name) for name, server in servers for resource in server.resources()]
        fitting = [
            resource
            for resource in listed
            if any(search_text in str(resource[key]).casefold() for key in ("server", "name", "uri"))
        ]
        return fitting[:limit]

    def workflows(self) -> list[SuppliedFile]:
        """The prompts of all connected servers, as workflows."""
        return [file for _, server in sorted(self._servers.items()) for file in server.workflows()]

    async def shown(self) -> list[Json]:
        """All servers, with the size of what each one keeps."""
        servers = [server for _, server in sorted(self._servers.items())]
        return [await self._with_data(server.shown()) for server in servers]

    async def shown_one(self, name: str) -> Json:
        """Raises: NotFound."""
        return await self._with_data(self._require(name).shown())

    async def _with_data(self, description: Json) -> Json:
        """Adds the size of its data folder, also of one that it does not use any more."""
        sizes = await self._folders.sizes([str(description["name"])])
        return {**description, "data_bytes": sizes[str(description["name"])]}

    async def data_folders(self) -> list[Json]:
        """What servers keep, also those that were removed."""
        sizes = await self._folders.sizes(await asyncio.to_thread(self._folders.names))
        return [{"name": name, "bytes": size, "has_server": name in self._servers} for name, size in sizes.items()]

    async def clean(self, name: str) -> None:
        """Removes what the server keeps in its data folder; a running one starts anew. Raises: NotFound, Invalid."""
        async with self._changing:
            server = self._servers.get(name)
            if server is None and name not in await asyncio.to_thread(self._folders.names):
                raise NotFound("data folder of an MCP server", name)
            restarts = server is not None and server.is_started
            if server is not None and restarts:
                await server.stop()
            await asyncio.to_thread(self._folders.remove, name)
            if server is not None and restarts:
                server.start()

    def secret_values(self) -> list[str]:
        """Returns what the servers are given that nobody else may see, so that the log can leave it out."""
        configs = [server.config for server in self._all()]
        secrets = [secret for config in configs for secret in (*config.env.values(), *config.headers.values())]
        signed_in = [self._tokens.find(config.name, config.url) for config in configs if config.url is not None]
        return [*(secret.get_secret_value() for secret in secrets), *chain.from_iterable(map(_secrets_in, signed_in))]

    async def add(self, config: McpServerConfig) -> Json:
        """Connects it if it is enabled; the answer does not wait for that. Raises: Conflict, Invalid for a module."""
        if config.module is not None:
            raise Invalid(f"A module runs with the server's own rights. {_BY_SETTING}", param="module")
        async with self._changing:
            if config.name in self._servers:
                raise Conflict(
                    f"There is an MCP server '{config.name}' already. Remove it first, or choose another name.",
                    param="name",
                )
            if len(self._servers) >= MOST_SERVERS:
                raise Conflict(f"There are {MOST_SERVERS} MCP servers already. Remove one first.")
            await self._save([*(server.config for server in self._servers.values()), config])
            return await self._with_data(self._put(config).shown())

    def is_configured(self, program: ChatMcpServer) -> bool:
        """Whether an admin has configured this program, with these arguments and names of variables."""
        return any(program.is_program_of(server.config) for server in self._servers.values())

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
        return [await self._with_data(await server.first_outcome()) for server in servers]

    async def change(self, name: str, changes: McpServerChanges) -> Json:
        """Changes its configuration from now on; it starts anew if it must. Raises: NotFound, Invalid, Conflict for a module."""
        async with self._changing:
            changed = self._require(name)
            config = _changed(changed.config, changes)
            if config.module is not None and changed.config.restarts_for(config):
                raise Conflict(f"'{name}' is a module of a plugin, so only its tools can be chosen here. {_BY_SETTING}")
            others = [server.config if server is not changed else config for server in self._servers.values()]
            await self._save(others)
            restarts = changed.is_started and changed.config.restarts_for(config)
            changed.use(config)
            if restarts:
                await changed.stop()
                changed.start()
            return await self._with_data(changed.shown())

    async def remove(self, name: str, *, with_data: bool = False) -> None:
        """Its data folder stays unless it is removed `with_data`. Raises: NotFound, Conflict for a module."""
        async with self._changing:
            removed = self._require(name)
            if removed.config.module is not None:
                raise Conflict(f"'{name}' is a module of a plugin, so it cannot be removed here. {_BY_SETTING}")
            await self._save([server.config for server in self._servers.values() if server is not removed])
            await self._tokens.remove(name)
            await removed.stop()
            del self._servers[name]
            if with_data:
                await asyncio.to_thread(self._folders.remove, name)
            self._refresh()

    async def connect(self, name: str) -> Json:
        """Starts it anew and waits for how that went. Raises: NotFound."""
        server = self._require(name)
        async with self._changing:
            await server.stop()
            server.start()
        return await self._with_data(await server.first_outcome())

    async def sign_in(self, name: str, redirect_uri: str) -> Json:
        """The address at which a person logs in; the rest happens when their browser comes back. Raises: NotFound, Conflict."""
        server = self._require(name)
        if name in self._sign_ins:
            self._sign_ins.pop(name)[1].cancel()
        sign_in = ServerSignIn(redirect_uri)
        task = self._tasks.create_task(self._sign_in(server, sign_in))
        self._sign_ins[name] = sign_in, task
        address = asyncio.ensure_future(sign_in.address())
        try:
            await asyncio.wait([task, address], return_when=asyncio.FIRST_COMPLETED)
            if address.done() and address.exception() is None:
                return {"address": address.result()}
        finally:  # also if the person left
            address.cancel()
            await asyncio.wait([address])
        task.cancel()
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
        return await self._with_data(server.shown())

    async def relist(self, name: str) -> Json:
        """Raises: NotFound, Conflict if it is not connected."""
        server = self._require(name)
        try:
            await server.relist()
        except McpFailed as error:
            raise Conflict(f"The tools of '{name}' cannot be listed: {error.message}.") from None
        return await self._with_data(server.shown())

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
            taken_names=lambda: self._toolbox.taken_names(self.source_name) | {NETWORK},
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


def _changed(config: McpServerConfig, changes: McpServerChanges) -> McpServerConfig:
    """Raises: Invalid."""
    try:
        return changes.applied_to(config)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise Invalid(problem["msg"], param=".".join(map(str, problem["loc"])) or None) from None


def _secrets_in(stored: JsonValue) -> Iterator[str]:
    """Yields the texts of a sign-in whose names end with token, secret or verifier."""
    for name, item in stored.items() if isinstance(stored, dict) else ():
        if isinstance(item, str) and name.endswith(("token", "secret", "verifier")):
            yield item
        yield from _secrets_in(item)


def named_for_chat(config: McpServerConfig, chat_id: str) -> McpServerConfig:
    """Under a name that no other chat's server has, and no configured one: rules for those do not speak of this one."""
    return config.model_copy(update={"name": f"{config.name[:20].rstrip('-_')}-{chat_id.replace('-', '')[-8:]}"})
