"""Tools that write one file's content: create_file and update_file."""

import asyncio
import re
from collections import Counter
from dataclasses import replace
from hashlib import sha256

from pydantic import Field, JsonValue, model_validator

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import FileExists, NotRead, NotText, StateChanged, ToolFault
from anycowork.domain.patterns import late_pattern
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallStatus, Intent, Parameters, PathIntent, ToolDisplay, ToolKind, ToolResult
from anycowork.domain.values import value
from anycowork.tools.built_in_tool import BuiltInTool, folder_of, payload_of
from anycowork.tools.language.diagnostics import PENDING_FACT, with_errors
from anycowork.tools.language.language_servers import LanguageServers
from anycowork.tools.parameters import LineNumber, PathText, PlainText
from anycowork.tools.syntax_check import check_syntax
from anycowork.tools.text_edits import TextEdit, apply_edits, first_lines, replace_lines
from anycowork.workspace.diffs import Diff, diff
from anycowork.workspace.folder import FileContents, Folder
from anycowork.workspace.landlock_threads import changing, creating
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.text import TextFile, decode, lines_of, with_line_ends

LARGEST_WRITTEN = 10_000_000
ABSENT = "absent"


@value
class FileChange:
    """A file's new content, computed but not written yet. `before` is the hash of what was read, `old_data`; None if there was no file."""

    place: WorkspacePath
    before: str | None
    data: bytes
    diff: Diff
    old_data: bytes | None = None

    @property
    def after(self) -> str:
        return sha256(self.data).hexdigest()

    def prepared(self, tool: str, parameters: Parameters) -> Prepared:
        return Prepared(
            tool=tool,
            parameters=parameters,
            resource=self.place.resource,
            intent=Intent(paths=(PathIntent(self.place.path, self.before, self.after),)),
            diff=self.diff.text,
            state=self.before or ABSENT,
            payload=self,
        )

    async def checked_result(
        self, verb: str, tool_context: ToolContext, language_servers: LanguageServers | None
    ) -> ToolResult:
        """Returns the result with the errors that a language server finds in time."""
        result = await asyncio.to_thread(self.result, verb)
        if language_servers is None:
            return result
        check = await language_servers.check_edit(self.place.path, self.old_data, self.data, tool_context)
        if check.pending is not None:
            content = f"{result.content}\n{check.pending.as_text()}"
            result = replace(result, content=content, facts={**result.facts, PENDING_FACT: check.pending.as_fact()})
        return result if check.errors is None else with_errors(result, check.errors, edited=self.place.path)

    def result(self, verb: str) -> ToolResult:
        """Describes what happened, and what a machine can check: not what the model claims."""
        checked = check_syntax(self.place.path, self.data)
        facts: dict[str, JsonValue] = {
            "path": self.place.path,
            "before": self.before,
            "after": self.after,
            "additions": self.diff.additions,
            "deletions": self.diff.deletions,
        }
        content = f"{verb} '{shown(self.place.path)}' (+{self.diff.additions} −{self.diff.deletions} lines)."
        if checked is not None:
            facts["check"] = checked.as_fact()
            content += f" {checked.message}" + ("" if checked.ok else " Correct it before going on.")
        return ToolResult(status=CallStatus.OK, content=content, diff=self.diff.text, facts=facts)


@value
class UnfitChange:
    """A change that does not fit a file whose content may not be told."""

    place: WorkspacePath


class CreateFileParameters(Boundary):
    path: PathText = Field(description="new file, relative to the workspace; missing folders are made")
    content: PlainText = Field(max_length=LARGEST_WRITTEN, description="the whole text of the new file")


class CreateFile(BuiltInTool[CreateFileParameters]):
    name = "create_file"
    category = "files"
    description = "Create a new file. Fails if the file exists already: use update_file for that."
    permissions = frozenset({Permission.CREATE_FILES})
    priority = 20
    display = ToolDisplay(ToolKind.CREATE, ("path",), ("path",), {"path": "notes/today.md", "content": ""})
    model = CreateFileParameters

    def __init__(self, language_servers: LanguageServers | None) -> None:
        self._language_servers = language_servers

    def inspect(self, args: CreateFileParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        folder = folder_of(tool_context)
        path = folder.writable(args.path)
        if folder.jail.stat(path) is not None:
            may_change = (
                tool_context.permissions >= UpdateFile.permissions
            )  # an error suggests no tool that the role lacks
            way_out = "Use update_file to change it, or choose another name." if may_change else "Choose another name."
            raise FileExists(f"'{shown(path.path)}' exists already. {way_out}")
        _require_free_path(folder, path)
        data = args.content.encode()
        return FileChange(path, None, data, diff(None, data, path.path)).prepared(self.name, parameters)

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        change = payload_of(prepared, FileChange)
        folder = folder_of(tool_context)
        try:
            await creating(folder, tool_context.permissions, change.place, change.data)
        except FileExists:
            raise StateChanged(
                f"'{shown(change.place.path)}' was created by someone else meanwhile; nothing was written."
            ) from None
        return await change.checked_result("Created", tool_context, self._language_servers)


class EditParameters(Boundary):
    find: PlainText = Field(min_length=1, description="text exactly as it stands in the file, in one place only")
    replace: PlainText = Field(description="the text to put in its place")


class UpdateFileParameters(Boundary):
    path: PathText = Field(description="existing file, relative to the workspace")
    edits: list[EditParameters] | None = Field(
        None, min_length=1, max_length=200, description="pieces of text to replace"
    )
    content: PlainText | None = Field(
        None, max_length=LARGEST_WRITTEN, description="the whole new text, or the new text of start_line to end_line"
    )
    start_line: LineNumber | None = Field(None, description="first line to replace, counted from 1")
    end_line: LineNumber | None = Field(None, description="last line to replace, included")

    @model_validator(mode="after")
    def _one_form(self) -> "UpdateFileParameters":
        by_lines = self.start_line is not None or self.end_line is not None
        if self.edits is not None and (self.content is not None or by_lines):
            raise ValueError("give either 'edits' or 'content', not both")
        if self.edits is None and self.content is None:
            raise ValueError(
                "give 'edits' (pieces to replace), or 'content' (the new text, whole or of start_line to end_line)"
            )
        if by_lines and (self.start_line is None or self.end_line is None):
            raise ValueError("'start_line' and 'end_line' belong together; give both")
        if self.start_line is not None and self.end_line is not None and self.end_line < self.start_line:
            raise ValueError("'end_line' must not be smaller than 'start_line'")
        return self


class UpdateFile(BuiltInTool[UpdateFileParameters]):
    name = "update_file"
    category = "files"
    description = (
        "Change an existing file: edits (find and replace), or content for start_line to end_line, "
        "or content alone for the whole file (read the file first)."
    )
    permissions = frozenset({Permission.READ_FILES, Permission.WRITE_FILES})
    priority = 21
    forms = (("path", "edits"), ("path", "content"))  # by line numbers too, but a weak model miscounts lines
    reveals = True  # by what it finds there
    display = ToolDisplay(
        ToolKind.CHANGE, ("path",), ("path",), {"path": "notes/today.md", "start_line": 1, "end_line": 1, "content": ""}
    )
    model = UpdateFileParameters

    def __init__(self, language_servers: LanguageServers | None) -> None:
        self._language_servers = language_servers

    def inspect(self, args: UpdateFileParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        folder = folder_of(tool_context)
        path = folder.writable(args.path)
        if tool_context.hidden.hides(path.path):
            # Not inspected: the gate denies it, by the rule that hides it.
            return Prepared(self.name, parameters, path.resource)
        folder.require_replaceable(path)
        contents = folder.read(path, most=LARGEST_WRITTEN)
        try:
            change = _change(path, contents, args, tool_context)
        except ToolFault:
            if tool_context.hidden.tells(path.path) or tool_context.read.get(path.path) == contents.sha256:
                raise
            # Whether and why it does not fit would tell the content: the person is asked first, as for a change that fits.
            return Prepared(
                self.name, parameters, path.resource, Intent(), state=contents.sha256, payload=UnfitChange(path)
            )
        return change.prepared(self.name, parameters)

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        if isinstance(prepared.payload, UnfitChange):
            raise ToolFault(
                f"Nothing was changed: this does not fit '{shown(prepared.payload.place.path)}' as it is now. Why is not told, because "
                "reading this file asks a person: read it with read_file first."
            )
        change = payload_of(prepared, FileChange)
        folder = folder_of(tool_context)
        await changing(
            folder,
            tool_context.permissions,
            lambda: folder.replace(change.place, change.data, expected=prepared.state),
        )
        return await change.checked_result("Updated", tool_context, self._language_servers)


def _change(
    path: WorkspacePath, contents: FileContents, args: UpdateFileParameters, tool_context: ToolContext
) -> FileChange:
    """Returns the change that the call describes. Raises: ToolFault, which may quote the file."""
    text = decode(contents.data)
    if text is None:
        raise NotText(f"'{shown(path.path)}' is not UTF-8 text, so this tool does not change it.")
    if args.content is not None and _replaces_all(text, args):
        _require_known(path, contents.sha256, text, args.content, tool_context)
        _require_whole(path, text, args.content, tool_context)
    data = _updated(text, args, path.path, keeps_end=tool_context.wary).encoded()
    if data == contents.data:
        raise ToolFault(f"This would leave '{shown(path.path)}' exactly as it is: nothing to do.")
    return FileChange(path, contents.sha256, data, diff(contents.data, data, path.path), contents.data)


def _require_free_path(folder: Folder, path: WorkspacePath) -> None:
    """Every existing entry above a new file must be a folder; checked before a person is asked."""
    above = path.parent
    while not above.is_root and folder.jail.stat(above) is None:
        above = above.parent
    with folder.jail.folder(above):
        pass


def _replaces_all(text: TextFile, args: UpdateFileParameters) -> bool:
    """True without line numbers, or with those of every line."""
    if args.start_line is None or args.end_line is None:
        return args.edits is None
    return args.start_line == 1 and args.end_line >= len(lines_of(text.body))


def _require_known(path: WorkspacePath, current: str, text: TextFile, content: str, tool_context: ToolContext) -> None:
    """Allows replacing a whole file only if it was read in its current state, or if the user's own words ask for it."""
    if tool_context.read.get(path.path) == current:
        return
    if content.strip() and content.strip() in tool_context.user_text:
        return
    if not text.body and path.path in tool_context.user_text:
        return
    seen = "It has changed since it was read" if path.path in tool_context.read else "It has not been read in this turn"
    raise NotRead(
        f"'{shown(path.path)}' exists and would be overwritten whole. {seen}: read it with read_file first, "
        f"or change only a part with 'edits'. It begins:\n{first_lines(text.body, 10)}"
    )


def _require_whole(path: WorkspacePath, text: TextFile, content: str, tool_context: ToolContext) -> None:
    """Requires that a whole new text contains everything; from a small model, everything that nobody asked to remove."""
    if (line := elision_in(content, text.body)) is not None:
        raise ToolFault(
            f"Nothing was changed: line {line} of 'content' stands for lines that are left out. "
            f"Give every line of '{shown(path.path)}', those that stay too, or change only a part with 'edits'."
        )
    if not tool_context.wary:
        return
    is_code = not path.path.endswith(_PROSE)
    if lost_words := lost_content(content, text.body, request=tool_context.user_text, is_code=is_code):
        raise ToolFault(
            f"Nothing was changed: 'content' lacks much of what is in '{shown(path.path)}' ({', '.join(lost_words[:8])}). "
            f"Give the whole file, with every line that stays. It is:\n{text.body}"
        )


def _updated(text: TextFile, args: UpdateFileParameters, path: str, *, keeps_end: bool) -> TextFile:
    """With `keeps_end`, a whole new text ends with a line end if the old one did: small models leave it out, unasked."""
    if args.edits is not None:
        return apply_edits(text, [TextEdit(edit.find, edit.replace) for edit in args.edits], path)
    assert args.content is not None  # the model's validator guarantees it
    if args.start_line is not None and args.end_line is not None:
        return replace_lines(text, args.start_line, args.end_line, args.content, path)
    left_out = keeps_end and text.body.endswith("\n") and args.content and not args.content.endswith("\n")
    return text.with_body(with_line_ends(f"{args.content}\n" if left_out else args.content, text.newline))


# A line that stands for others, as models write it to avoid repeating them. A bare `...` is Python, and allowed.
_LONGEST_LINE = 300  # characters: longer lines are not such remarks
_ELISION = late_pattern(
    r"\[\s*(?:\.\.\.|…)\s*\]"
    r"|(?:#|//|/\*|<!--|--|;|%)?\s*(?:\.\.\.|…)\s*\(?(?:the )?(?:rest|existing|remaining|other|previous|unchanged|same)\b.*"
    r"|(?:#|//|/\*|<!--|--|;|%)\s*(?:the )?(?:rest|existing|remaining|other|previous) .*(?:unchanged|as (?:is|before)|(?:the )?same|here)\b.*",
    re.I,
)
_ELISION_BEGINS = tuple("[#/<-;%.…")
_REMOVES = late_pattern(
    r"\b(remove|delete|drop|clear|empty|cut|shorten|strip|replace|rewrite|rework|clean|simplify|convert|overwrite|trim|take [^\n]{1,80} out)\b",
    re.I,
)
_WORD = late_pattern(r"\w+")
_COMMENT = late_pattern(r"^[ \t]*(?:#(?!!)|//)[^\n]*", re.M)  # a whole line of it
_PLACEHOLDER = frozenset(
    [
        "None",
        "null",
        "undefined",
        "pass",
        "todo",
        "TODO",
        "FIXME",
        "NotImplementedError",
        "NotImplemented",
        "unimplemented",
    ]
)
_PROSE = (".md", ".markdown", ".txt", ".rst", ".adoc", ".csv", ".tsv")  # "#" begins no comment there
_FEW = 6  # words: a text this short may be replaced completely
_MOST_LOST = 0.4


def elision_in(new: str, old: str) -> int | None:
    """Returns the line, from 1, on which `new` says that something is left out, unless `old` says so, too."""
    for row, line in enumerate(new.split("\n"), start=1):
        bare = line.strip()
        if bare.startswith(_ELISION_BEGINS) and len(bare) <= _LONGEST_LINE and _ELISION.fullmatch(bare):
            return None if bare in old else row
    return None


def lost_content(new: str, old: str, *, request: str, is_code: bool = False) -> list[str]:
    """Returns the words of `old` that `new` lacks, if they are too many for the request; counts words, so order and layout may change.

    Of code, comments and what stands where the work is still to be done do not count.
    """
    old_words = Counter(_WORD.findall(_COMMENT.sub("", old) if is_code else old))
    if is_code:
        old_words = Counter({word: count for word, count in old_words.items() if word not in _PLACEHOLDER})
    lost_words = old_words - Counter(_WORD.findall(new))
    many = old_words.total() > _FEW and lost_words.total() > _MOST_LOST * old_words.total()
    return list(lost_words) if many and not _REMOVES.search(request) else []
