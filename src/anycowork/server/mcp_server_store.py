"""The MCP servers that a person configured: a file of the data folder that only its owner can read, for it holds their secrets."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from anycowork.config.secure_files import OWNER_ONLY_FILE, write_private_file
from anycowork.domain.errors import StorageFault
from anycowork.domain.mcp_servers import McpServerConfig

SERVERS_FILE = "mcp-servers.json"
_STORED = TypeAdapter(list[McpServerConfig])


class McpServerStore:
    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / SERVERS_FILE

    def load(self) -> list[McpServerConfig]:
        """Raises: StorageFault if the file is there and cannot be read."""
        try:
            found = _STORED.validate_json(self._path.read_bytes())
            self._path.chmod(OWNER_ONLY_FILE)
        except FileNotFoundError:
            return []
        except (OSError, ValidationError):
            raise StorageFault(
                f"The MCP servers in {self._path} cannot be read. Correct the file, or delete it and add the servers again."
            ) from None
        return found

    async def save(self, servers: Sequence[McpServerConfig]) -> None:
        """Raises: StorageFault."""
        content = json.dumps([server.stored() for server in servers], indent=2).encode() + b"\n"
        await asyncio.to_thread(write_private_file, self._path, content)
