"""The MCP servers that a person configured, with their secrets, and what sign-ins at remote ones brought: private files of the data folder.

Tokens belong to the origin that they were given for. Wherever the server's address is changed, they are sent nowhere else. They are
never shown, logged or exported.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pydantic import ConfigDict, JsonValue, TypeAdapter

from anycowork.config.secure_files import PrivateJsonFile
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.messages import Json
from anycowork.server.secrets.provider_keys import origin_of

SERVERS_FILE = "mcp-servers.json"
TOKENS_FILE = "mcp-tokens.json"
_LATE = ConfigDict(defer_build=True)  # few servers have these files
_SERVERS = TypeAdapter(list[McpServerConfig], config=_LATE)
_TOKENS = TypeAdapter(dict[str, dict[str, JsonValue]], config=_LATE)


class McpServerStore:
    def __init__(self, data_dir: Path) -> None:
        way_out = "Correct the file, or delete it and add the servers again."
        self._file = PrivateJsonFile(data_dir / SERVERS_FILE, _SERVERS, content="The MCP servers", way_out=way_out)

    def load(self) -> list[McpServerConfig]:
        """Raises: StorageFault if the file is there and cannot be read."""
        return self._file.read() or []

    async def save(self, servers: Sequence[McpServerConfig]) -> None:
        """Raises: StorageFault."""
        await asyncio.to_thread(self._file.write, [server.stored() for server in servers])


class McpTokenStore:
    """Maps server names to credentials. Read once; a change is durable before it applies."""

    def __init__(self, data_dir: Path) -> None:
        way_out = "Delete the file and sign in again."
        self._file = PrivateJsonFile(
            data_dir / TOKENS_FILE, _TOKENS, content="The sign-ins of MCP servers", way_out=way_out
        )
        self._tokens: dict[str, Json] = dict(self._file.read() or {})
        self._saving = asyncio.Lock()

    def find(self, server: str, url: str) -> Json | None:
        stored = self._tokens.get(server)
        if stored is None or stored.get("origin") != origin_of(url):
            return None
        credentials = stored.get("credentials")
        return credentials if isinstance(credentials, dict) else None

    async def put(self, server: str, url: str, credentials: Json) -> None:
        """Raises: StorageFault."""
        await self._save({**self._tokens, server: {"origin": origin_of(url), "credentials": credentials}})

    async def remove(self, server: str) -> None:
        """Raises: StorageFault."""
        if server in self._tokens:
            await self._save({name: stored for name, stored in self._tokens.items() if name != server})

    async def _save(self, tokens: dict[str, Json]) -> None:
        async with self._saving:
            await asyncio.to_thread(self._file.write, tokens)
            self._tokens = tokens
