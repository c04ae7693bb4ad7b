"""Files that the data folder and workspaces supply to the server, and which of them a person trusted.

They are definitions, not work: read through the jail, through no link, and bounded.
"""

import asyncio
import os
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import (
    BadWorkspace,
    ContentChanged,
    FileMissing,
    NotFound,
    StateChanged,
    ToolFault,
    WrongKind,
)
from anycowork.domain.hooks import HOOKS_FILE
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.visible_text import os_reason
from anycowork.store.sql.workspaces import RegisteredRoots, WorkspaceRoot
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown

MOST_FILES = 200
MOST_BYTES = 64 * 1024
_MOST_READ = 4 * MOST_FILES  # files in memory
_SETTLED = 2_000_000_000  # nanoseconds: a file changed so recently may change again within one tick of the file's clock
_State = tuple[str, int, int, int, int, int]  # path, device, inode, size, and when it was last changed
_read_files: dict[_State, SuppliedFile] = {}
_reading = threading.Lock()
# Characters that a model reads and a person does not see: controls, direction marks, tags, selectors, fillers. The joiners and
# selectors of emoji and scripts are left alone unless many stand together, as they do only to hide something.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    r"|[\u200c\u200d\ufe0e\ufe0f]{3,}"
)
WORKFLOWS = "workflows"
OF_WORKSPACE = f".anycowork/{WORKFLOWS}"
ENDING = ".md"
TEMPLATES = "templates"
TEMPLATE_ENDING = ".toml"
INSTRUCTIONS = "AGENTS.md"
HOOKS_FOLDER = ".anycowork"


def supplied_files(root: str, folder: str, suffix: str) -> list[SuppliedFile]:
    """Returns the files in this folder with this suffix, sorted by name; empty if there is no such folder. Blocking.

    Their presence does not make them trusted: the caller decides which are.
    """
    try:
        jail = Jail(root)
        folder_path = WorkspacePath(tuple(folder.split("/")))
        names = [name for name in jail.names(folder_path) if name.endswith(suffix)]
    except (FileMissing, WrongKind, FileNotFoundError, NotADirectoryError):
        return []
    except StateChanged:
        return [SuppliedFile(folder, None, fault="it leads through a symbolic link, which is not followed")]
    except (ToolFault, OSError) as error:
        return [SuppliedFile(folder, None, fault=f"it cannot be read: {os_reason(error)}")]
    files = [_read(jail, folder_path.child(name)) for name in names[:MOST_FILES]]
    if len(names) > MOST_FILES:
        unread = len(names) - MOST_FILES
        files.append(SuppliedFile(folder, None, fault=f"{unread} more files are not read: {MOST_FILES} is the most"))
    return files


def supplied_file(root: str, name: str) -> SuppliedFile | None:
    """Returns the file of this name in the folder itself; None if there is none. Blocking."""
    try:
        jail = Jail(root)
        path = WorkspacePath((name,))
        return None if jail.stat(path) is None else _read(jail, path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ToolFault, OSError) as error:
        return SuppliedFile(name, None, fault=f"it cannot be read: {os_reason(error)}")


def with_the_unseen_written_out(text: str) -> str:
    """Replaces invisible characters by visible codes, so that a model gets what a person was shown, and nothing more."""
    return _UNSEEN.sub(lambda match: "".join(f"[U+{ord(letter):04X}]" for letter in match[0]), text)


def _read(jail: Jail, path: WorkspacePath) -> SuppliedFile:
    """Reads the file, or returns what was read of it before if its entry has not changed since."""
    name = shown(path.path)
    try:
        entry = jail.stat(path)
        if entry is not None and (read_before := _read_files.get(_state(name, entry))) is not None:
            return read_before
        with jail.regular_file(path) as (fd, stat):
            if stat.st_size > MOST_BYTES:
                return SuppliedFile(name, None, fault=f"it is larger than {MOST_BYTES:,} bytes")
            data = _up_to(fd, MOST_BYTES + 1)
    except (ToolFault, OSError) as error:
        return SuppliedFile(name, None, fault=f"it cannot be read: {os_reason(error)}")
    file = _as_text(name, data)
    if time.time_ns() - stat.st_ctime_ns > _SETTLED:
        _remember(_state(name, stat), file)
    return file


def _state(name: str, stat: os.stat_result) -> _State:
    return (name, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _remember(state: _State, file: SuppliedFile) -> None:
    with _reading:
        while len(_read_files) >= _MOST_READ:
            del _read_files[next(iter(_read_files))]
        _read_files[state] = file


def _as_text(path: str, data: bytes) -> SuppliedFile:
    if len(data) > MOST_BYTES:
        return SuppliedFile(path, None, fault=f"it is larger than {MOST_BYTES:,} bytes")
    try:
        text = with_the_unseen_written_out(data.decode().removeprefix("\ufeff"))
        return SuppliedFile(path, text, sha256(data).hexdigest())
    except UnicodeDecodeError as error:
        return SuppliedFile(path, None, fault=f"it is not UTF-8 text (byte {error.start})")


def _up_to(fd: int, most: int) -> bytes:
    content = b""
    while len(content) < most and (piece := os.read(fd, most - len(content))):
        content += piece
    return content


@dataclass(frozen=True, slots=True)
class TrustedFile:
    """One file of a workspace that needs a person's trust. `kind` says what it would be used for."""

    workspace: str
    path: str
    sha256: str
    trusted: bool
    kind: str = "workflow"


class TrustedFileStore:
    """Reads the workflow, template and instruction files, sorted by name, and stores which of them are trusted.

    It never follows links; number and size are limited.
    """

    def __init__(self, *, roots: RegisteredRoots, data_dir: Path) -> None:
        self._roots = roots
        self._data_dir = data_dir

    async def of_data_folder(self) -> Sequence[SuppliedFile]:
        """A person put them there, so they are trusted."""
        files = await asyncio.to_thread(supplied_files, str(self._data_dir), WORKFLOWS, ENDING)
        return [replace(file, trusted=True) for file in files if not _is_for_people(file)]

    async def job_templates(self) -> Sequence[SuppliedFile]:
        """Of the data folder only; a workspace supplies none."""
        return await asyncio.to_thread(supplied_files, str(self._data_dir), TEMPLATES, TEMPLATE_ENDING)

    async def of_workspace(self, workspace: str) -> Sequence[SuppliedFile]:
        """Raises: BadWorkspace if it is gone."""
        files = await asyncio.to_thread(supplied_files, workspace, OF_WORKSPACE, ENDING)
        return await self._judged(workspace, [file for file in files if not _is_for_people(file)])

    async def instructions(self, workspace: str) -> SuppliedFile | None:
        """Returns the instructions; None if there is no such file."""
        file = await asyncio.to_thread(supplied_file, workspace, INSTRUCTIONS)
        return (await self._judged(workspace, [file]))[0] if file is not None else None

    async def hooks(self, workspace: str) -> Sequence[SuppliedFile]:
        """Returns the `hooks.json` of the data folder, which a person put there, and that of the workspace."""
        own_files, supplied = await asyncio.to_thread(self._hook_files, workspace)
        trusted_own = [replace(file, trusted=file.text is not None) for file in own_files]
        return [*trusted_own, *await self._judged(workspace, supplied)]

    def _hook_files(self, workspace: str) -> tuple[list[SuppliedFile], list[SuppliedFile]]:
        own_file = supplied_file(str(self._data_dir), HOOKS_FILE)
        below = supplied_files(workspace, HOOKS_FOLDER, HOOKS_FILE)
        path = f"{HOOKS_FOLDER}/{HOOKS_FILE}"
        return [own_file] if own_file is not None else [], [file for file in below if file.path == path]

    async def in_root(self, root: str) -> Sequence[TrustedFile]:
        """Returns what a registered folder itself supplies; a chat's folder below it is queried separately."""
        instructions = await self.instructions(root)
        listed = [("instructions", instructions)] if instructions is not None else []
        listed += [("workflow", file) for file in await self.of_workspace(root)]
        return [
            TrustedFile(root, file.path, file.sha256, file.trusted, kind)
            for kind, file in listed
            if file.text is not None
        ]

    async def require(self, folder: str, path: str, sha256: str | None) -> None:
        """Requires that this content can be trusted, or for None that trust can be revoked. Raises: NotFound, ContentChanged."""
        if sha256 is None:
            if not _holding(await self._roots.all(), Path(folder, path)):
                raise NotFound("trusted file", str(Path(folder, path)))
            return
        instructions = await self.instructions(folder)
        supplied = [*([instructions] if instructions else []), *await self.of_workspace(folder)]
        if path == f"{HOOKS_FOLDER}/{HOOKS_FILE}":
            supplied = [file for file in await self.hooks(folder) if file.path == path]
        _require_content(supplied, path, sha256)

    async def set_trust(self, folder: str, path: str, sha256: str | None) -> None:
        """Trusts exactly this content; None revokes the trust in every root that holds it: a nearer folder may have been registered since.
        Raises: BadWorkspace.
        """
        roots, file = await self._roots.all(), Path(folder, path)
        if sha256 is not None:
            nearest = _nearest(roots, folder)
            await self._roots.set_trust(nearest, str(file.relative_to(nearest)), sha256)
            return
        for root, key in _holding(roots, file):
            await self._roots.set_trust(root, key, None)

    async def trusted_hashes(self) -> dict[Path, str]:
        """Returns what people trust in all folders: the hash of each file, and of each skill's folder."""
        return _trusted_hashes(await self._roots.all())

    async def _judged(self, workspace: str, files: Sequence[SuppliedFile]) -> list[SuppliedFile]:
        trust = await self.trusted_hashes() if files else {}
        return [_judged(file, trust.get(Path(workspace, file.path))) for file in files]


def _is_for_people(file: SuppliedFile) -> bool:
    """Tells whether the file is documentation for people in a folder of workflows, and no workflow itself."""
    return Path(file.path).name == "README.md"


def _judged(file: SuppliedFile, trusted: str | None) -> SuppliedFile:
    if file.text is None or trusted is None:
        return file
    return replace(file, trusted=trusted == file.sha256, changed=trusted != file.sha256)


def _require_content(files: Sequence[SuppliedFile], path: str, sha256: str) -> None:
    supplied = next((file for file in files if file.path == path), None)
    if supplied is None or supplied.text is None:
        raise NotFound("workspace file", path)
    if supplied.sha256 != sha256:
        raise ContentChanged(
            f"'{path}' is not what was shown (its hash is {supplied.sha256} now). Read it again, then trust it."
        )


def _trusted_hashes(roots: Sequence[WorkspaceRoot]) -> dict[Path, str]:
    return {Path(root.root, path): str(hash_) for root in roots for path, hash_ in root.trust.items()}


def _holding(roots: Sequence[WorkspaceRoot], file: Path) -> list[tuple[str, str]]:
    """Returns the roots that hold trust in this file, and its name there."""
    return [(root.root, key) for root in roots for key in root.trust if Path(root.root, key) == file]


def _nearest(roots: Sequence[WorkspaceRoot], folder: str) -> str:
    """Returns the registered folder that contains this one. Raises: BadWorkspace."""
    holding = [root.root for root in roots if Path(folder).is_relative_to(root.root)]
    if not holding:
        raise BadWorkspace(f"'{folder}' is not inside a registered folder.", param="workspace")
    return max(holding, key=len)
