"""Tools that move and delete: move_file and delete_file."""

import hashlib
import os
import re
import stat

from pydantic import Field

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import FileExists, FileMissing, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.domain.path_class import is_control_file, is_git_control, is_key_file, looks_secret
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallStatus, Intent, Parameters, PathIntent, ToolDisplay, ToolKind, ToolResult
from anycowork.domain.values import value
from anycowork.tools.built_in_tool import BuiltInTool, folder_of, payload_of
from anycowork.tools.parameters import PathText
from anycowork.tools.read_tools import suggestion
from anycowork.workspace.diffs import EDGE_BYTES, LARGEST_DIFFED, LONGEST_DIFF, Diff, diff, moved, summary
from anycowork.workspace.folder import LARGEST_HASHED, Folder
from anycowork.workspace.git_index_file import is_repository
from anycowork.workspace.hard_links import told_file
from anycowork.workspace.jail import kind_of
from anycowork.workspace.landlock_threads import changing
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.walk import FolderWalk

MOST_MOVED = 20_000
# A folder moves in one rename, so a few files at their new place prove it for all.
WITNESSES = 50
_LARGEST_WITNESS = LARGEST_HASHED // WITNESSES
EMPTY_FOLDER = "empty folder"


@value
class PathCheck:
    """What is at a place: its state (a file's hash, a hash of a folder's listing) and some of its files."""

    is_folder: bool
    state: str
    files: tuple[tuple[WorkspacePath, str], ...]


class MoveFileParameters(Boundary):
    path: PathText = Field(description="file or folder to move, relative to the workspace")
    to: PathText = Field(description="its new path, name included, or a folder ending in '/'; must not exist yet")


@value
class PlannedMove:
    source: WorkspacePath
    target: WorkspacePath
    checked: PathCheck


class MoveFile(BuiltInTool[MoveFileParameters]):
    name = "move_file"
    category = "files"
    description = "Move or rename a file or folder. Never overwrites."
    permissions = frozenset({Permission.READ_FILES, Permission.CREATE_FILES, Permission.DELETE_FILES})
    priority = 22
    reveals = True  # where it can be read
    display = ToolDisplay(ToolKind.MOVE, ("path", "to"), ("path", "to"), {"path": "notes/a.md", "to": "archive/a.md"})
    model = MoveFileParameters

    def inspect(self, args: MoveFileParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        folder = folder_of(tool_context)
        source, target = folder.writable(args.path), folder.writable(args.to)
        if hidden_path := _hidden_in(folder, source, tool_context.hidden):
            # Not inspected: the gate denies it, by the rule that hides it.
            return Prepared(self.name, parameters, hidden_path.resource)
        checked = _check_path(folder, source)
        is_free = folder.jail.stat(target) is None
        if is_free and (args.to.endswith("/") or _called_a_folder(target.name, tool_context.user_text)):
            target = target.child(source.name)
        if source.holds(target):
            raise ToolFault(
                f"'{shown(source.path)}' cannot be moved to '{shown(target.path)}': that is itself or inside it."
            )
        _require_free(folder, target, source.name)
        new = _new_places(folder, source, target, checked)
        folder.require_no_repository(target)
        _require_no_repository_within(source, target, new)
        steering = [path for path in new if is_control_file(path.path)]
        sensitive_paths = tuple(path.resource for path in new if is_control_file(path.path) or looks_secret(path.path))
        return Prepared(
            tool=self.name,
            parameters=parameters,
            resource=source.resource,
            intent=Intent(paths=tuple(_moves(source, target, checked))),
            diff=moved(source.path, target.path).text + _contents(folder, source, target, steering),
            state=checked.state,
            others=(target.resource, *sensitive_paths),
            payload=PlannedMove(source, target, checked),
            touches=(source.path, target.path),
            inside=_old_places(source, target, new) if checked.is_folder else (),
        )

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        move = payload_of(prepared, PlannedMove)
        folder = folder_of(tool_context)
        await changing(folder, tool_context.permissions, lambda: _move(folder, move))
        return ToolResult(
            status=CallStatus.OK,
            content=f"Moved '{shown(move.source.path)}' to '{shown(move.target.path)}'.",
            diff=prepared.diff,
            facts={"path": move.source.path, "to": move.target.path, "before": prepared.state, "after": None}
            | {"additions": 0, "deletions": 0},
        )


class DeleteFileParameters(Boundary):
    path: PathText = Field(description="file or empty folder to delete, relative to the workspace")


@value
class PlannedRemoval:
    place: WorkspacePath
    is_folder: bool
    diff: Diff


class DeleteFile(BuiltInTool[DeleteFileParameters]):
    name = "delete_file"
    category = "files"
    description = "Delete a file or an empty folder."
    permissions = frozenset({Permission.READ_FILES, Permission.DELETE_FILES})
    priority = 23
    display = ToolDisplay(ToolKind.DELETE, ("path",), ("path",), {"path": "notes/today.md"})
    model = DeleteFileParameters

    def inspect(self, args: DeleteFileParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        folder = folder_of(tool_context)
        path = folder.writable(args.path)
        is_folder = _kind(folder, path, tool_context.hidden) == "folder"
        before = None
        shows = Diff(f"delete folder {path.path}\n")
        if is_folder:
            _require_empty(folder, path)
        else:
            before, shows = folder.sha256(path), _shows_removal(folder, path)
        return Prepared(
            tool=self.name,
            parameters=parameters,
            resource=path.resource,
            intent=Intent(paths=(PathIntent(path.path, before, None),)),
            diff=shows.text,
            state=before or EMPTY_FOLDER,
            payload=PlannedRemoval(path, is_folder, shows),
        )

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        removal = payload_of(prepared, PlannedRemoval)
        folder = folder_of(tool_context)
        await changing(folder, tool_context.permissions, lambda: _remove(folder, removal, prepared.state))
        return ToolResult(
            status=CallStatus.OK,
            content=f"Deleted '{shown(removal.place.path)}'.",
            diff=removal.diff.text,
            facts={"path": removal.place.path, "before": None if removal.is_folder else prepared.state, "after": None}
            | {"additions": 0, "deletions": removal.diff.deletions},
        )


def _kind(folder: Folder, path: WorkspacePath, hidden: HiddenPathRules = NOTHING_HIDDEN) -> str:
    """Raises: FileMissing; WrongKind for anything but a file or a folder."""
    status = folder.jail.stat(path)
    if status is None:
        raise FileMissing(f"There is no '{shown(path.path)}' in the workspace. {suggestion(folder, path, hidden)}")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise WrongKind(
            f"'{shown(path.path)}' is a {kind_of(status.st_mode)}; file tools move and delete files and folders only."
        )
    return kind_of(status.st_mode)


# --- move_file


def _hidden_in(folder: Folder, source: WorkspacePath, hidden: HiddenPathRules) -> WorkspacePath | None:
    """Returns a hidden path if this is one or contains one: elsewhere no rule might hide it."""
    if not hidden.patterns:
        return None
    if _kind(folder, source, hidden) == "file" or hidden.hides(source.path):
        return source if hidden.hides(source.path) else None
    walk = FolderWalk(folder.jail, most=MOST_MOVED, with_ignored=True)
    return next((entry.place for entry in walk.entries(source) if hidden.hides(entry.place.path)), None)


def _check_path(folder: Folder, path: WorkspacePath) -> PathCheck:
    if _kind(folder, path) == "file":
        digest = folder.sha256(path)
        return PathCheck(is_folder=False, state=digest, files=((path, digest),))
    walk = FolderWalk(folder.jail, most=MOST_MOVED, with_ignored=True)
    entries = list(walk.entries(path))
    if walk.cut:
        raise ToolFault(
            f"'{shown(path.path)}' holds more than this tool moves ({MOST_MOVED:,} entries). Move parts of it."
        )
    git = next((entry for entry in entries if is_git_control((entry.place.name,))), None)
    if git is not None:
        raise OutsideWorkspace(
            f"'{shown(path.path)}' holds a git repository ('{shown(git.place.path)}') and is not moved by file tools."
        )
    listing = "\n".join(
        f"{entry.place.path!a} {entry.kind} {entry.size if entry.kind == 'file' else 0}" for entry in entries
    )
    files = [entry.place for entry in entries if entry.kind == "file" and entry.size <= _LARGEST_WITNESS][:WITNESSES]
    return PathCheck(
        is_folder=True,
        state=hashlib.sha256(listing.encode()).hexdigest(),
        files=tuple((file, folder.sha256(file)) for file in files),
    )


def _contents(folder: Folder, source: WorkspacePath, target: WorkspacePath, steering: list[WorkspacePath]) -> str:
    """Shows what is in files that become control files: nobody can allow what is not shown. Raises: ToolFault if it cannot be.

    A key file's content is not shown for that.
    """
    pieces: list[str] = []
    for path in steering:
        moved_from = WorkspacePath((*source.parts, *path.parts[len(target.parts) :]))
        status = folder.jail.stat(moved_from)
        if status is None or not stat.S_ISREG(status.st_mode) or is_key_file(moved_from.path) or is_key_file(path.path):
            continue
        with told_file(folder.jail, moved_from) as (fd, opened_status):
            whole_diff = (
                diff(None, os.pread(fd, LARGEST_DIFFED, 0), path.path)
                if opened_status.st_size <= LARGEST_DIFFED
                else None
            )
        if whole_diff is None or not whole_diff.is_whole or sum(map(len, pieces)) > LONGEST_DIFF:
            raise ToolFault(
                f"'{shown(moved_from.path)}' would become '{shown(path.path)}', which controls tools, editors or agents, and its content "
                "cannot be shown, so nobody can allow it. Leave the move to a person."
            )
        pieces.append(whole_diff.text)
    return "".join(pieces)


def _called_a_folder(name: str, user_text: str) -> bool:
    """Tells whether the person's own words call this a folder."""
    name = re.escape(name)
    return bool(
        re.search(
            rf"\b(folder|directory) ['\"`]?{name}\b|\b{name}/?['\"`]? (folder|directory)\b", user_text, re.IGNORECASE
        )
    )


def _require_free(folder: Folder, target: WorkspacePath, name: str) -> None:
    status = folder.jail.stat(target)
    if status is None:
        return
    hint = f" To put it inside, say '{shown(target.child(name).path)}'." if stat.S_ISDIR(status.st_mode) else ""
    raise FileExists(f"'{shown(target.path)}' exists already and is not overwritten.{hint}")


def _new_places(
    folder: Folder, source: WorkspacePath, target: WorkspacePath, checked: PathCheck
) -> list[WorkspacePath]:
    """Returns where everything that moves will be."""
    if not checked.is_folder:
        return [target]
    walk = FolderWalk(folder.jail, most=MOST_MOVED, with_ignored=True)
    return [WorkspacePath((*target.parts, *entry.place.parts[len(source.parts) :])) for entry in walk.entries(source)]


def _old_places(source: WorkspacePath, target: WorkspacePath, new: list[WorkspacePath]) -> tuple[str, ...]:
    return tuple("/".join((*source.parts, *path.parts[len(target.parts) :])) for path in new)


def _require_no_repository_within(source: WorkspacePath, target: WorkspacePath, new: list[WorkspacePath]) -> None:
    """A folder that git treats as a repository is not moved: its `commondir` may mean another folder elsewhere."""
    names: dict[WorkspacePath, list[str]] = {}
    for path in new:
        names.setdefault(path.parent, []).append(path.name)
    if any(is_repository(inside) for folder, inside in names.items() if target.holds(folder)):
        raise OutsideWorkspace(
            f"'{shown(source.path)}' holds a folder that git takes for a repository, and is not moved by file tools."
        )


def _moves(source: WorkspacePath, target: WorkspacePath, checked: PathCheck) -> list[PathIntent]:
    intents: list[PathIntent] = []
    for file, digest in checked.files:
        new = WorkspacePath((*target.parts, *file.parts[len(source.parts) :]))
        intents += [PathIntent(file.path, digest, None), PathIntent(new.path, None, digest)]
    return intents


def _move(folder: Folder, move: PlannedMove) -> None:
    try:
        current = _check_path(folder, move.source)
    except (FileMissing, WrongKind):
        current = None
    if current != move.checked:
        raise StateChanged(
            f"'{shown(move.source.path)}' was changed by someone else since it was checked. Check it again."
        )
    folder.move(move.source, move.target)


# --- delete_file


def _require_empty(folder: Folder, path: WorkspacePath) -> None:
    count = len(folder.jail.names(path))
    if count:
        raise WrongKind(f"The folder '{shown(path.path)}' is not empty: it holds {count} entries. Delete those first.")


def _shows_removal(folder: Folder, path: WorkspacePath) -> Diff:
    status = folder.jail.stat(path)
    if status is None:
        return Diff(f"--- a/{path.path}\n+++ /dev/null\nNo longer there.\n")
    if status.st_size > LARGEST_DIFFED:
        with folder.jail.regular_file(path) as (fd, _):
            head, tail = (os.pread(fd, EDGE_BYTES, offset) for offset in (0, max(0, status.st_size - EDGE_BYTES)))
        described = summary(status.st_size, folder.sha256(path), head, tail)
        return Diff(f"--- a/{path.path}\n+++ /dev/null\nToo large to be shown line by line.\n{described}")
    return diff(folder.read(path, most=LARGEST_DIFFED).data, None, path.path)


def _remove(folder: Folder, removal: PlannedRemoval, state: str) -> None:
    if removal.is_folder:
        folder.remove_folder(removal.place)
    else:
        folder.remove_file(removal.place, expected=state)
