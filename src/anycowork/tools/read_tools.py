"""Tools that read: read_file, list_directory, get_file_info, and read_history, with which a worker asks for the conversation."""

import difflib
import hashlib
import mimetypes
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator
from pydantic.json_schema import SkipJsonSchema

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import FileMissing, NoMatch, ToolFault
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallStatus, Parameters, ToolDisplay, ToolKind, ToolResult
from anycowork.domain.values import mutable_value
from anycowork.tools.built_in_tool import BuiltInTool, folder_of, payload_of
from anycowork.tools.parameters import LineNumber, PathText
from anycowork.tools.syntax_check import check_syntax
from anycowork.workspace.folder import FileContents, Folder
from anycowork.workspace.hard_links import told_file
from anycowork.workspace.jail import kind_of
from anycowork.workspace.landlock_threads import reading
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.text import decode, lines_of
from anycowork.workspace.walk import FolderWalk, WalkEntry

LARGEST_READ = 10_000_000
LARGEST_SCANNED = 256 << 20  # bytes that are gone through for lines, counts and a hash: about a second
MOST_LISTED = 2_000
_SIGNATURES = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or an office document)"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x7fELF", "a program (ELF)"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_COUNTED_FROM = 3  # files
_MOST_KINDS = 8
_LOOKED_AT = 500  # files whose names are compared with a missing one


def prepared_for_reading(tool: str, path: str, parameters: Parameters, tool_context: ToolContext) -> Prepared:
    """Returns the existing place that `path` leads to. Raises: FileMissing with the nearest name, OutsideWorkspace."""
    folder = folder_of(tool_context)
    workspace_path, status = folder.jail.find(path)
    if status is None:
        raise FileMissing(
            f"There is no '{shown(workspace_path.path)}' in the workspace. {suggestion(folder, workspace_path, tool_context.hidden)}"
        )
    return Prepared(tool=tool, parameters=parameters, resource=workspace_path.resource, payload=workspace_path)


class ReadFileParameters(Boundary):
    path: PathText = Field(description="file to read, relative to the workspace")
    start_line: LineNumber | None = Field(None, description="first line wanted, counted from 1")
    end_line: LineNumber | None = Field(None, description="last line wanted, included")
    # Models often send it, and it changes nothing: text is read as UTF-8. So it is accepted, but not offered.
    encoding: SkipJsonSchema[Literal["utf-8", "UTF-8", "utf8"] | None] = None

    @model_validator(mode="after")
    def _ordered(self) -> "ReadFileParameters":
        if self.start_line and self.end_line and self.end_line < self.start_line:
            raise ValueError("'end_line' must not be smaller than 'start_line'")
        return self


class ReadFile(BuiltInTool[ReadFileParameters]):
    name = "read_file"
    category = "files"
    description = "Read a text file, whole or from start_line to end_line."
    priority = 10
    reveals = True
    display = ToolDisplay(ToolKind.READ, ("path",), ("path",), {"path": "notes/today.md"})
    model = ReadFileParameters

    def inspect(self, args: ReadFileParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        return prepared_for_reading(self.name, args.path, parameters, tool_context)

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        args = ReadFileParameters.model_validate(prepared.parameters)
        folder, path = folder_of(tool_context), payload_of(prepared, WorkspacePath)
        return await reading(lambda: _read(folder, path, args))


class ListDirectoryParameters(Boundary):
    path: PathText = Field(".", description="folder to list, relative to the workspace; '.' is the workspace itself")
    depth: int = Field(1, ge=1, le=10, description="how many levels of folders to show")
    include_ignored: bool = Field(False, description="also show what git ignores")


class ListDirectory(BuiltInTool[ListDirectoryParameters]):
    name = "list_directory"
    category = "files"
    description = "List the files and folders in a folder."
    priority = 11
    looks_below = True
    display = ToolDisplay(ToolKind.LIST, ("path",), ("path",), {"path": "notes"})
    model = ListDirectoryParameters

    def inspect(self, args: ListDirectoryParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        return prepared_for_reading(self.name, args.path, parameters, tool_context)

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        args = ListDirectoryParameters.model_validate(prepared.parameters)
        folder, path = folder_of(tool_context), payload_of(prepared, WorkspacePath)
        return await reading(lambda: _list(folder, path, args, tool_context.hidden))


class GetFileInfoParameters(Boundary):
    path: PathText = Field(description="file or folder, relative to the workspace")


class GetFileInfo(BuiltInTool[GetFileInfoParameters]):
    name = "get_file_info"
    category = "files"
    description = "Tell kind, size, mode, time of change and hash of a file or folder."
    priority = 12
    reveals = True  # by its hash
    display = ToolDisplay(ToolKind.INSPECT, ("path",), ("path",), {"path": "notes/today.md"})
    model = GetFileInfoParameters

    def inspect(self, args: GetFileInfoParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        return prepared_for_reading(self.name, args.path, parameters, tool_context)

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        folder, path = folder_of(tool_context), payload_of(prepared, WorkspacePath)
        return await reading(lambda: _info(folder, path))


def suggestion(folder: Folder, missing_path: WorkspacePath, hidden: HiddenPathRules) -> str:
    """Suggests what a missing path may have meant: the same name elsewhere, else a similar name in the same folder."""
    paths, _ = folder.first_paths(_LOOKED_AT, hidden)
    elsewhere = [shown(path) for path in paths if path.endswith(f"/{missing_path.name}")]
    if elsewhere:
        return f"Did you mean '{elsewhere[0]}'?"
    try:
        names = [
            name
            for name in folder.jail.names(missing_path.parent)
            if not hidden.hides(missing_path.parent.child(name).path)
        ]
    except ToolFault:
        return f"There is no folder '{shown(missing_path.parent.path)}' either; list_directory shows what is there."
    close = difflib.get_close_matches(missing_path.name, names[:2000], n=1)
    if not close:
        return "list_directory shows what is there."
    return f"Did you mean '{shown(missing_path.parent.child(close[0]).path)}'?"


# --- read_file


def _read(folder: Folder, path: WorkspacePath, args: ReadFileParameters) -> ToolResult:
    contents = folder.read_up_to(path, LARGEST_READ)
    if contents is None and (size := _size(folder, path)) > LARGEST_SCANNED and args.end_line is None:
        return _only_size(path, size)
    return _read_part(folder, path, args) if contents is None else _result(path, contents, args)


def _result(path: WorkspacePath, contents: FileContents, args: ReadFileParameters) -> ToolResult:
    facts: dict[str, JsonValue] = {"path": path.path, "sha256": contents.sha256, "bytes": len(contents.data)}
    text = decode(contents.data)
    if text is None:
        return _described(path, contents.data, facts)
    lines = lines_of(text.body)
    facts |= {"lines": len(lines), "whole": True}
    if (parsed := check_syntax(path.path, contents.data)) and not parsed.ok:
        facts["remark"] = parsed.message
    if args.start_line is None and args.end_line is None:
        return ToolResult(status=CallStatus.OK, content=text.body, facts=facts)
    return _lines_read(path, lines, args, facts)


def _lines_read(
    path: WorkspacePath, lines: list[str], args: ReadFileParameters, facts: dict[str, JsonValue]
) -> ToolResult:
    start = args.start_line or 1
    end = min(args.end_line or len(lines), len(lines))
    if start > max(len(lines), 1):
        raise NoMatch(
            f"'{shown(path.path)}' has only {len(lines)} line{'' if len(lines) == 1 else 's'}; line {start} is beyond its end."
        )
    facts["whole"] = start == 1 and end == len(lines)
    return ToolResult(status=CallStatus.OK, content="".join(lines[start - 1 : end]), facts=facts)


def _described(path: WorkspacePath, data: bytes, facts: dict[str, JsonValue]) -> ToolResult:
    kind = next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), None)
    kind = kind or mimetypes.guess_type(path.name)[0] or "binary data"
    content = f"'{shown(path.path)}' is not text: {kind}, {len(data):,} bytes, sha256 {facts['sha256']}."
    return ToolResult(status=CallStatus.OK, content=content, facts=facts | {"kind": kind, "lines": 0, "whole": False})


def _size(folder: Folder, path: WorkspacePath) -> int:
    status = folder.jail.stat(path)
    return status.st_size if status is not None else 0


def _only_size(path: WorkspacePath, size: int) -> ToolResult:
    """A file of many gigabytes may be almost nothing on the disk; going through it would hold a thread for minutes."""
    content = (
        f"'{shown(path.path)}' is too large to be read whole: {size:,} bytes. Use grep, or give start_line and end_line within "
        f"its first {LARGEST_SCANNED:,} bytes."
    )
    return ToolResult(status=CallStatus.OK, content=content, facts={"path": path.path, "bytes": size, "whole": False})


@mutable_value
class _Part:
    """Requested lines picked from a stream, with hash and counts of the whole file, or of as much as was gone through."""

    picked: list[bytes]
    lines: int
    size: int
    sha256: str
    is_cut: bool = False


def _read_part(folder: Folder, path: WorkspacePath, args: ReadFileParameters) -> ToolResult:
    """Reads a file too large for memory: the requested lines, or a description."""
    part = _pick(folder, path, args.start_line or 1, args.end_line or 0)
    facts: dict[str, JsonValue] = {"path": path.path, "bytes": part.size, "whole": False}
    if not part.is_cut:
        facts |= {"sha256": part.sha256, "lines": part.lines}
    elif not part.picked:
        return _only_size(path, part.size)
    text = decode(b"".join(part.picked))
    if args.end_line is None or text is None:
        how = "Use grep, or give start_line and end_line." if text is not None else "It is not text."
        content = (
            f"'{shown(path.path)}' is too large to be read whole: {part.size:,} bytes, {part.lines:,} lines. {how}"
        )
        return ToolResult(status=CallStatus.OK, content=content, facts=facts)
    return ToolResult(status=CallStatus.OK, content=text.body, facts=facts)


def _pick(folder: Folder, path: WorkspacePath, start: int, end: int) -> _Part:
    part = _Part(picked=[], lines=0, size=0, sha256="")
    digest = hashlib.sha256()
    remaining = LARGEST_READ
    with told_file(folder.jail, path) as (fd, status):
        for piece in _pieces(fd):
            if part.size >= LARGEST_SCANNED:
                part.is_cut, part.size = True, status.st_size
                break
            digest.update(piece)
            part.size += len(piece)
            if start <= part.lines + 1 <= end and remaining > 0:
                part.picked.append(piece[:remaining])
                remaining -= len(piece)
            part.lines += piece.endswith(b"\n")
    part.sha256 = digest.hexdigest()
    return part


def _pieces(fd: int) -> Iterator[bytes]:
    """Yields lines; an endless line comes in several pieces."""
    with os.fdopen(os.dup(fd), "rb") as file:
        while piece := file.readline(1 << 20):
            yield piece


# --- list_directory and get_file_info


def _list(folder: Folder, path: WorkspacePath, args: ListDirectoryParameters, hidden: HiddenPathRules) -> ToolResult:
    leave_out = frozenset() if args.include_ignored else frozenset({".git"})
    walk = FolderWalk(
        folder.jail, depth=args.depth, most=MOST_LISTED, with_ignored=args.include_ignored, leave_out=leave_out
    )
    seen = (entry for entry in walk.entries(path) if not hidden.hides(entry.place.path))
    entries = sorted(seen, key=lambda entry: entry.place.parts)
    lines = [_listed(entry, path) for entry in entries]
    if walk.cut:
        lines.append(f"… cut after {len(entries)} entries: list a folder deeper down.")
    content = "\n".join(lines) or "The folder is empty."
    facts: dict[str, JsonValue] = {"path": path.path, "entries": len(entries), "cut": walk.cut}
    if not walk.cut and (counted := _counted(entries)):
        facts["remark"] = counted
    return ToolResult(status=CallStatus.OK, content=content, facts=facts)


def _counted(entries: Sequence[WalkEntry]) -> str:
    """Counts the files of each kind, because small models miscount."""
    kinds = Counter(PurePosixPath(entry.place.name).suffix or "no suffix" for entry in entries if not entry.is_folder)
    if kinds.total() < _COUNTED_FROM:
        return ""
    return f"{kinds.total()} files: {', '.join(f'{count} {kind}' for kind, count in kinds.most_common(_MOST_KINDS))}."


def _listed(entry: WalkEntry, start: WorkspacePath) -> str:
    path = shown("/".join(entry.place.parts[len(start.parts) :]), longest=1000)
    if entry.is_folder:
        return f"{path}/"
    return path if entry.kind == "file" else f"{path} ({entry.kind})"


def _info(folder: Folder, path: WorkspacePath) -> ToolResult:
    status = folder.jail.stat(path)
    if status is None:
        raise FileMissing(f"There is no '{shown(path.path)}' in the workspace any more.")
    changed = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    facts: dict[str, JsonValue] = {
        "path": path.path,
        "kind": kind_of(status.st_mode),
        "bytes": status.st_size,
        "mode": f"{stat.S_IMODE(status.st_mode):o}",
        "modified": changed,
    }
    if stat.S_ISREG(status.st_mode):
        if status.st_size <= LARGEST_SCANNED:
            facts["sha256"] = folder.sha256(path)
        facts |= _text_facts(folder, path, status.st_size)
    if stat.S_ISDIR(status.st_mode):
        del facts["bytes"]
        facts["entries"] = len(folder.jail.names(path))
    return ToolResult(
        status=CallStatus.OK, content="\n".join(f"{name}: {value}" for name, value in facts.items()), facts=facts
    )


def _text_facts(folder: Folder, path: WorkspacePath, size: int) -> dict[str, JsonValue]:
    if size > LARGEST_READ:
        return {}
    text = decode(folder.read(path, most=LARGEST_READ).data)
    return {"text": False} if text is None else {"text": True, "lines": len(lines_of(text.body))}


class ReadHistoryParameters(Boundary):
    before: Annotated[int, Field(ge=1)] | None = Field(
        None, description="the number of a message: the ones before it are shown; without it the newest"
    )


class ReadHistory(BuiltInTool[ReadHistoryParameters]):
    name = "read_history"
    category = "job"
    description = "Read the whole conversation of the chat that your task comes from, newest messages first page."
    model = ReadHistoryParameters

    def inspect(self, args: ReadHistoryParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        if tool_context.history is None:
            raise ToolFault("Only a worker of a job has a conversation to read. You already see this one.")
        return Prepared(tool=self.name, parameters=parameters, resource="/")

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        if tool_context.history is None:
            raise ToolFault("Only a worker of a job has a conversation to read. You already see this one.")
        before = ReadHistoryParameters.model_validate(prepared.parameters).before
        return ToolResult(CallStatus.OK, await tool_context.history(before))
