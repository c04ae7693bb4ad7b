"""The roles and workflows of the data folder as files: read at start, written when a person edits them in the settings."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import tomli_w

from anycowork.config.secure_files import OWNER_ONLY_FOLDER, replace_file
from anycowork.domain.errors import NotFound, StorageFault
from anycowork.domain.messages import Json
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.permissions.roles import BadRoleFile, read_role_file
from anycowork.store.role_changes import ROLE_CHANGES, add_role_change
from anycowork.workspace.trusted_files import ENDING, WORKFLOWS

log = logging.getLogger(__name__)
ROLES = "roles"


class DefinitionFiles:
    """Reads and writes the roles and workflows of the data folder. A workspace's own files are never written here."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def read_roles(self) -> list[RoleDefinition]:
        """Returns the roles of the data folder. A bad file is logged and left out; the others still load. Blocking."""
        return [role for _, role in self._role_files()]

    async def record_role(self, change: Json) -> None:
        """Adds the change to `role-changes.jsonl`; each line has the hash of the one before. Raises: StorageFault."""
        await asyncio.to_thread(add_role_change, self._data_dir / ROLE_CHANGES, change)

    async def save_role(self, role: RoleDefinition) -> None:
        """Raises: StorageFault."""
        await asyncio.to_thread(self._save_role, role)

    async def remove_role(self, name: str) -> None:
        """Raises: NotFound, StorageFault."""
        await asyncio.to_thread(self._remove_role, name)

    async def save_workflow(self, name: str, path: str | None, content: str) -> None:
        """Writes into this file of the data folder, or a new one. Raises: StorageFault."""
        file = self._data_dir / path if path else self._data_dir / WORKFLOWS / f"{name}{ENDING}"
        await asyncio.to_thread(_write, file, content)

    async def remove_workflow(self, path: str) -> None:
        """Raises: StorageFault."""
        await asyncio.to_thread(_remove, self._data_dir / path)

    def _role_files(self) -> Iterator[tuple[Path, RoleDefinition]]:
        folder = self._data_dir / ROLES
        for file in sorted(folder.glob("*.toml")) if folder.is_dir() else []:
            try:
                yield file, read_role_file(file.name, file.read_text("utf-8"))
            except (BadRoleFile, OSError, UnicodeDecodeError) as error:
                log.error("role file left out: %s", error)

    def _save_role(self, role: RoleDefinition) -> None:
        holding = next((file for file, stored_role in self._role_files() if stored_role.name == role.name), None)
        _write(holding or self._data_dir / ROLES / f"{role.name}.toml", _role_text(role))

    def _remove_role(self, name: str) -> None:
        files = [file for file, stored_role in self._role_files() if stored_role.name == name]
        if not files:
            raise NotFound("role", name)
        for file in files:
            _remove(file)


def _role_text(role: RoleDefinition) -> str:
    return tomli_w.dumps(
        {
            "name": role.name,
            "permissions": [permission.value for permission in Permission if permission in role.permissions],
            "prompt": role.prompt,
            "colour": role.colour,
            "icon": role.icon,
            "tooltip": role.tooltip,
            "output": role.output.value,
            "delegates": list(role.delegates),
        },
        multiline_strings=True,
    )


def _write(file: Path, content: str) -> None:
    try:
        file.parent.mkdir(mode=OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFault(f"The folder {file.parent} cannot be created ({error.strerror}).") from error
    replace_file(file, content.encode())


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise StorageFault(f"{file} cannot be deleted ({error.strerror}).") from error
