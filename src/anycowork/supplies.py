"""What the data folder and workspaces supply to the house, and which of it a person trusted. Reading the files is workspace/'s."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anycowork.domain.errors import BadWorkspace, ContentChanged, NotFound
from anycowork.domain.ports import SuppliedFile
from anycowork.grounds import Grounds
from anycowork.store.workspaces import Root, Roots
from anycowork.workspace.supplied import supplied_files

log = logging.getLogger(__name__)
WORKFLOWS = "workflows"
OF_WORKSPACE = f".anycowork/{WORKFLOWS}"
ENDING = ".md"


@dataclass(frozen=True, slots=True)
class Supply:
    """One file of a workspace that needs a person's trust. `kind` says what it would be used as."""

    workspace: str
    path: str
    sha256: str
    trusted: bool
    kind: str = "workflow"


class Supplies:
    """The `WorkflowFiles` of the domain's ports, and the way to trust one."""

    def __init__(self, *, roots: Roots, grounds: Grounds, data_dir: Path) -> None:
        self._roots = roots
        self._grounds = grounds
        self._data_dir = data_dir

    async def of_data_folder(self) -> Sequence[SuppliedFile]:
        """A person put them there, so they are trusted."""
        found = await asyncio.to_thread(supplied_files, str(self._data_dir), WORKFLOWS, ENDING)
        return [replace(file, trusted=True) for file in found]

    async def of_workspace(self, workspace: str) -> Sequence[SuppliedFile]:
        found = await asyncio.to_thread(supplied_files, workspace, OF_WORKSPACE, ENDING)
        trust = _trusted_hashes(await self._roots.all()) if found else {}
        return [
            replace(file, trusted=file.text is not None and trust.get(Path(workspace, file.path)) == file.sha256)
            for file in found
        ]

    async def in_root(self, root: str) -> Sequence[Supply]:
        """What a registered folder itself supplies; a chat's folder below it is asked for by its own workflows."""
        files = await self.of_workspace(root)
        return [Supply(root, file.path, file.sha256, file.trusted) for file in files if file.text is not None]

    async def trust(self, workspace: str, path: str, sha256: str | None, *, by: str) -> None:
        """Trusts exactly this content; None takes trust back. Raises: BadWorkspace, NotFound, ContentChanged."""
        folder = await self._grounds.find(workspace)
        if sha256 is None:
            await self._distrust(Path(folder, path))
        else:
            _require_content(await self.of_workspace(folder), path, sha256)
            root = _nearest(await self._roots.all(), folder)
            await self._roots.set_trust(root, str(Path(folder, path).relative_to(root)), sha256)
        log.info("%s %s %s in %s", by, "trusts" if sha256 else "no longer trusts", path, folder)

    async def _distrust(self, file: Path) -> None:
        """Wherever it stands: a folder may have been registered since, nearer than the one that held it then."""
        holding = [
            (root.root, key) for root in await self._roots.all() for key in root.trust if Path(root.root, key) == file
        ]
        if not holding:
            raise NotFound("trusted file", str(file))
        for root, key in holding:
            await self._roots.set_trust(root, key, None)


def _require_content(files: Sequence[SuppliedFile], path: str, sha256: str) -> None:
    found = next((file for file in files if file.path == path), None)
    if found is None or found.text is None:
        raise NotFound("workspace file", path)
    if found.sha256 != sha256:
        raise ContentChanged(
            f"'{path}' is not what was shown (its hash is {found.sha256} now). Read it again, then trust it."
        )


def _trusted_hashes(roots: Sequence[Root]) -> dict[Path, str]:
    return {Path(root.root, path): str(hash_) for root in roots for path, hash_ in root.trust.items()}


def _nearest(roots: Sequence[Root], folder: str) -> str:
    """The registered folder that holds this one. Raises: BadWorkspace."""
    holding = [root.root for root in roots if Path(folder).is_relative_to(root.root)]
    if not holding:
        raise BadWorkspace(f"'{folder}' does not lie in a registered folder.", param="workspace")
    return max(holding, key=len)
