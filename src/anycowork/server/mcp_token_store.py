"""What sign-ins at remote MCP servers brought: a file of the data folder that only its owner can read. Never shown, logged or exported.

Tokens belong to the origin that they were given for. Wherever the server's address is changed, they are sent nowhere else.
"""

import asyncio
import json
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from anycowork.config.secure_files import OWNER_ONLY_FILE, write_private_file
from anycowork.domain.errors import StorageFault
from anycowork.domain.messages import Json
from anycowork.server.provider_keys import origin_of

TOKENS_FILE = "mcp-tokens.json"
_STORED = TypeAdapter(dict[str, dict[str, JsonValue]])


class McpTokenStore:
    """Maps server names to credentials. Read once; a change is durable before it applies."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / TOKENS_FILE
        self._kept: dict[str, Json] = self._load()
        self._saving = asyncio.Lock()

    def find(self, server: str, url: str) -> Json | None:
        found = self._kept.get(server)
        if found is None or found.get("origin") != origin_of(url):
            return None
        credentials = found.get("credentials")
        return credentials if isinstance(credentials, dict) else None

    async def put(self, server: str, url: str, credentials: Json) -> None:
        """Raises: StorageFault."""
        await self._save({**self._kept, server: {"origin": origin_of(url), "credentials": credentials}})

    async def remove(self, server: str) -> None:
        """Raises: StorageFault."""
        if server in self._kept:
            await self._save({name: kept for name, kept in self._kept.items() if name != server})

    async def _save(self, kept: dict[str, Json]) -> None:
        async with self._saving:
            await asyncio.to_thread(write_private_file, self._path, json.dumps(kept, indent=2).encode() + b"\n")
            self._kept = kept

    def _load(self) -> dict[str, Json]:
        try:
            found = _STORED.validate_json(self._path.read_bytes())
            self._path.chmod(OWNER_ONLY_FILE)
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError):
            raise StorageFault(
                f"The sign-ins of MCP servers in {self._path} cannot be read. Delete the file and sign in again."
            ) from None
        return dict(found)
