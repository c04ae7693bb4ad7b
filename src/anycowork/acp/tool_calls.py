"""How an editor shows one tool call: its title, its kind, the files it is about, its diff. Pure."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from acp.helpers import text_block
from acp.schema import ContentToolCallContent, FileEditToolCallContent, ToolCallLocation, ToolKind
from pydantic import JsonValue

from anycowork.acp.diff_hunks import diff_hunks
from anycowork.acp.markdown import fenced, one_line, shown_text

_KINDS: dict[str, ToolKind] = {
    "read_file": "read",
    "list_directory": "read",
    "get_file_info": "read",
    "grep": "search",
    "search_code": "search",
    "search_symbol": "search",
    "create_file": "edit",
    "update_file": "edit",
    "move_file": "move",
    "delete_file": "delete",
    "execute_command": "execute",
}
_SUBJECTS = ("command", "path", "pattern", "query", "name")


def call_kind(tool: str) -> ToolKind:
    return _KINDS.get(tool, "other")


def call_title(tool: str, parameters: Mapping[str, JsonValue]) -> str:
    subject = next((parameters[name] for name in _SUBJECTS if isinstance(parameters.get(name), str)), "")
    target = f" → {parameters['to']}" if isinstance(parameters.get("to"), str) else ""
    return one_line(f"{tool} {subject}{target}".strip())


def call_locations(parameters: Mapping[str, JsonValue], workspace: str) -> list[ToolCallLocation]:
    """Of files inside the workspace only: an editor may open them at once."""
    line = parameters.get("start_line")
    paths = [parameters[name] for name in ("path", "to") if isinstance(parameters.get(name), str)]
    full_paths = [absolute_path(str(path), workspace) for path in paths]
    first = line if isinstance(line, int) and line > 0 else None
    return [ToolCallLocation(path=path, line=first) for path in full_paths if path is not None]


def diff_content(diff: str, workspace: str) -> list[FileEditToolCallContent | ContentToolCallContent]:
    """One piece for each hunk; the whole diff as text where a part of it cannot be drawn so."""
    hunks = diff_hunks(diff)
    located = [(hunk, absolute_path(hunk.path, workspace)) for hunk in hunks or ()]
    if hunks is None or any(path is None for _, path in located):
        return [ContentToolCallContent(type="content", content=text_block(fenced(shown_text(diff), "diff")))]
    return [
        FileEditToolCallContent(type="diff", path=path, old_text=hunk.old, new_text=hunk.new)
        for hunk, path in located
        if path is not None
    ]


def absolute_path(path: str, workspace: str) -> str | None:
    """The path in the workspace; None if it does not lie there."""
    full_path = PurePosixPath(workspace) / path
    inside = ".." not in full_path.parts and full_path.is_relative_to(workspace) and "\0" not in path
    return str(full_path) if inside else None
