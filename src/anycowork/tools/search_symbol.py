"""search_symbol: finds where a name is defined. ripgrep finds the files that contain it; a killable child parses only those."""

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO, Literal

from pydantic import BaseModel, Field, ValidationError

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import DeniedByRule, ToolFault
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallStatus, Parameters, ToolDisplay, ToolKind, ToolResult
from anycowork.domain.values import value
from anycowork.tools.built_in_tool import BuiltInTool, folder_of, payload_of
from anycowork.tools.child_process import ChildEnding, ChildLimits, run_child
from anycowork.tools.parameters import PathText
from anycowork.tools.read_tools import prepared_for_reading
from anycowork.tools.ripgrep import MatchedLine, Ripgrep, SearchMatches, with_left_out
from anycowork.workspace.folder import Folder
from anycowork.workspace.landlock_threads import reading
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.text import decode

MOST_PARSED = 60
LARGEST_PARSED = 500_000
MOST_TEXT = 8_000_000
PARSE_SECONDS = 10.0
MAX_SHOWN = 50
_WORKER = Path(__file__).with_name("symbol_worker.py")

_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh"), "cpp"),
    **dict.fromkeys((".kt", ".kts"), "kotlin"),
    **dict.fromkeys((".sh", ".bash"), "bash"),
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".cs": "csharp",
    ".rb": "ruby",
    ".php": "php",
    ".swift": "swift",
    ".scala": "scala",
    ".lua": "lua",
    ".ex": "elixir",
    ".dart": "dart",
    ".zig": "zig",
}
# A model that asks for a "class" also accepts a struct, and the reverse.
_FAMILIES = (
    frozenset({"function", "method"}),
    frozenset({"class", "struct", "interface", "enum", "trait", "type"}),
    frozenset({"variable", "constant"}),
    frozenset({"module"}),
)
_KEYWORDS = {
    **dict.fromkeys(("def", "fn", "func", "function", "fun", "sub", "proc", "macro"), "function"),
    **dict.fromkeys(("class", "object"), "class"),
    **dict.fromkeys(("interface", "protocol"), "interface"),
    **dict.fromkeys(("module", "namespace", "package"), "module"),
    **dict.fromkeys(("let", "var", "val"), "variable"),
    "const": "constant",
    "struct": "struct",
    "enum": "enum",
    "trait": "trait",
    "type": "type",
}


class SearchSymbolParameters(Boundary):
    name: str = Field(
        min_length=1, max_length=200, pattern=r"^[\w$.:!?-]+$", description="the exact name of a function, class, …"
    )
    kind: (
        Literal[
            "function",
            "method",
            "class",
            "struct",
            "interface",
            "enum",
            "trait",
            "type",
            "module",
            "variable",
            "constant",
        ]
        | None
    ) = Field(None, description="what it is, if known")
    path: PathText = Field(".", description="file or folder to search, relative to the workspace")


class Definition(BaseModel, defer_build=True):
    path: str
    line: int
    end_line: int
    kind: str


class _Answer(BaseModel, defer_build=True):
    definitions: list[Definition]
    unparsed: list[str]


@value
class _Candidate:
    place: WorkspacePath
    language: str | None
    text: str
    lines: tuple[MatchedLine, ...]


class SearchSymbol(BuiltInTool[SearchSymbolParameters]):
    name = "search_symbol"
    category = "search"
    description = "Find where a function, class, type or variable is defined, by its exact name."
    priority = 15
    looks_below = True
    reveals = True
    display = ToolDisplay(ToolKind.FIND, ("name",), ("path",), {"name": "x", "path": "notes"})
    model = SearchSymbolParameters

    def __init__(self, ripgrep: Ripgrep) -> None:
        self._ripgrep = ripgrep

    def inspect(self, args: SearchSymbolParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        return prepared_for_reading(self.name, args.path, parameters, tool_context)

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        args = SearchSymbolParameters.model_validate(prepared.parameters)
        folder, path = folder_of(tool_context), payload_of(prepared, WorkspacePath)
        # The last part of a dotted name is what its definition contains.
        name = re.split(r"\.|::", args.name.strip(".:"))[-1] or args.name
        matches = await self._ripgrep.find(
            tool_context, path, [name], ["--fixed-strings", "--word-regexp", "--case-sensitive"]
        )
        candidates, cut = await reading(lambda: _candidates(folder, matches))
        answer = await _parse(name, [candidate for candidate in candidates if candidate.language])
        guessed = _guesses(name, candidates, answer)
        definitions = [definition for definition in answer.definitions + guessed if _fits(definition.kind, args.kind)]
        return with_left_out(_result(args, definitions, candidates, cut=cut), matches)


def _candidates(folder: Folder, matches: SearchMatches) -> tuple[list[_Candidate], bool]:
    """Returns the files that contain the name, those that seem to define it first."""
    by_file: dict[WorkspacePath, list[MatchedLine]] = {}
    for line in matches.lines:
        by_file.setdefault(line.place, []).append(line)
    ordered = sorted(by_file.items(), key=lambda item: -sum(_looks_defining(line.text) for line in item[1]))
    candidates: list[_Candidate] = []
    remaining = MOST_TEXT
    for path, lines in ordered[:MOST_PARSED]:
        try:
            text = decode(folder.read(path, most=min(remaining, LARGEST_PARSED)).data)
        except (ToolFault, DeniedByRule):
            text = None
        language = _LANGUAGES.get(PurePosixPath(path.name).suffix.lower()) if text else None
        remaining -= len(text.body) if text else 0
        candidates.append(_Candidate(path, language, text.body if text else "", tuple(lines)))
    return candidates, matches.cut or len(ordered) > MOST_PARSED


def _looks_defining(line: str) -> bool:
    return any(word in _KEYWORDS for word in re.findall(r"[a-z]+", line))


async def _parse(name: str, candidates: list[_Candidate]) -> _Answer:
    """If the parser hangs, crashes or returns nonsense, only its answer is lost: then the text of the line decides."""
    nothing = _Answer(definitions=[], unparsed=[candidate.place.path for candidate in candidates])
    if not candidates:
        return nothing
    with await asyncio.to_thread(_request, name, candidates) as request:
        child = await run_child(
            [sys.executable, "-I", str(_WORKER)],
            cwd="/",
            env={},
            bounds=ChildLimits(seconds=PARSE_SECONDS, output=1_000_000),
            stdin=request,
            errors_apart=True,
        )
    if child.how is not ChildEnding.ITSELF or child.exit_code != 0:
        return nothing
    try:
        return _Answer.model_validate_json(child.output)
    except ValidationError:
        return nothing


def _request(name: str, candidates: list[_Candidate]) -> IO[bytes]:
    files = [
        {"path": candidate.place.path, "language": candidate.language, "text": candidate.text}
        for candidate in candidates
    ]
    request = tempfile.TemporaryFile()  # noqa: SIM115  # noqa: SIM115  # the caller closes it
    request.write(json.dumps({"name": name, "files": files}).encode())
    request.seek(0)
    return request


def _guesses(name: str, candidates: list[_Candidate], answer: _Answer) -> list[Definition]:
    """Guesses from the line alone, where no parser has an answer: `def name`, `struct name`, …"""
    pattern = re.compile(
        r"\b(" + "|".join(_KEYWORDS) + r")\s+(?:\([^()]{0,100}\)\s*)?" + re.escape(name) + r"(?![\w$])"
    )
    unparsed = set(answer.unparsed)
    guesses: list[Definition] = []
    for candidate in candidates:
        if candidate.language and candidate.place.path not in unparsed:
            continue
        for line in candidate.lines:
            if seen := pattern.search(line.text):
                kind = _KEYWORDS[seen[1]]
                guesses.append(Definition(path=candidate.place.path, line=line.number, end_line=line.number, kind=kind))
    return guesses


def _fits(kind: str, expected_kind: str | None) -> bool:
    return (
        expected_kind is None or kind == expected_kind or any({kind, expected_kind} <= family for family in _FAMILIES)
    )


def _result(
    args: SearchSymbolParameters, definitions: list[Definition], candidates: list[_Candidate], *, cut: bool
) -> ToolResult:
    texts = {(line.place.path, line.number): line.text for candidate in candidates for line in candidate.lines}
    lines = [
        f"{shown(definition.path, 1000)}:{definition.line}-{definition.end_line}: {definition.kind}: "
        f"{texts.get((definition.path, definition.line), '').strip()}"
        for definition in definitions[:MAX_SHOWN]
    ]
    if not lines:
        mentions = sum(len(candidate.lines) for candidate in candidates)
        lines = [f"No definition of '{args.name}' was found; it is mentioned on {mentions} lines (grep shows them)."]
    if cut or len(definitions) > MAX_SHOWN:
        lines.append("… not every file was looked at: search a smaller folder.")
    facts = {"definitions": len(definitions), "files": len(candidates), "cut": cut}
    return ToolResult(status=CallStatus.OK, content="\n".join(lines), facts=dict(facts))
