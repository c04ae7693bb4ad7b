"""Tools that search in files: grep (a regular expression) and search_code (words, best files first)."""

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from anycowork.domain.boundary import Boundary
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallStatus, Parameters, ToolDisplay, ToolKind, ToolResult
from anycowork.tools.built_in_tool import BuiltInTool, payload_of
from anycowork.tools.parameters import PathText, PlainText
from anycowork.tools.read_tools import prepared_for_reading
from anycowork.tools.ripgrep import MatchedLine, Ripgrep, SearchMatches, with_left_out
from anycowork.workspace.paths import WorkspacePath, shown

MAX_MATCHES = 500
MAX_FILES = 20
LINES_PER_FILE = 5
_CASE = {"smart": "--smart-case", "sensitive": "--case-sensitive", "insensitive": "--ignore-case"}


def _named_case(case: object) -> object:
    """Converts true and false, which some models send for case sensitivity."""
    return ("sensitive" if case else "insensitive") if isinstance(case, bool) else case


class GrepParameters(Boundary):
    pattern: PlainText = Field(min_length=1, max_length=2000, description="regular expression (Rust syntax), one line")
    path: PathText = Field(".", description="file or folder to search, relative to the workspace")
    glob: PlainText | None = Field(
        None, min_length=1, max_length=500, description="only files like this, for example *.py"
    )
    case: Annotated[Literal["smart", "sensitive", "insensitive"], BeforeValidator(_named_case)] = Field(
        "smart", description="smart: capitals count only if there are any"
    )
    context: int = Field(0, ge=0, le=20, description="lines to show before and after each match")


class Grep(BuiltInTool[GrepParameters]):
    name = "grep"
    category = "search"
    description = "Find lines that match a regular expression in the files of a folder."
    priority = 13
    looks_below = True
    reveals = True
    display = ToolDisplay(ToolKind.SEARCH, ("pattern",), ("path",), {"pattern": ".", "path": "notes"})
    model = GrepParameters

    def __init__(self, ripgrep: Ripgrep) -> None:
        self._ripgrep = ripgrep

    def inspect(self, args: GrepParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        return prepared_for_reading(self.name, args.path, parameters, tool_context)

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        args = GrepParameters.model_validate(prepared.parameters)
        path = payload_of(prepared, WorkspacePath)
        options = [_CASE[args.case], f"--context={args.context}"]
        if args.glob is not None:
            options.append(f"--glob={args.glob}")
        matches = await self._ripgrep.find(tool_context, path, [args.pattern], options)
        return with_left_out(_grep_result(matches, args.pattern, path), matches)


class SearchCodeParameters(Boundary):
    query: PlainText = Field(
        min_length=1, max_length=500, description="one or more words, searched as they are written"
    )
    path: PathText = Field(".", description="folder to search, relative to the workspace")


class SearchCode(BuiltInTool[SearchCodeParameters]):
    name = "search_code"
    category = "search"
    description = "Find the files that speak of some words; the best files come first."
    priority = 14
    looks_below = True
    reveals = True
    display = ToolDisplay(ToolKind.SEARCH, ("query",), ("path",), {"query": ".", "path": "notes"})
    model = SearchCodeParameters

    def __init__(self, ripgrep: Ripgrep) -> None:
        self._ripgrep = ripgrep

    def inspect(self, args: SearchCodeParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        return prepared_for_reading(self.name, args.path, parameters, tool_context)

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        args = SearchCodeParameters.model_validate(prepared.parameters)
        path = payload_of(prepared, WorkspacePath)
        query_words = list(dict.fromkeys(args.query.split()))[:20] or [args.query]
        matches = await self._ripgrep.find(tool_context, path, query_words, ["--fixed-strings", "--smart-case"])
        return with_left_out(_ranked_result(matches, args.query, query_words, path), matches)


def format_matches(line: MatchedLine) -> str:
    mark = ":" if line.matched else "-"
    return f"{shown(line.place.path, 1000)}{mark}{line.number}{mark} {line.text}"


def _grep_result(search_matches: SearchMatches, pattern: str, path: WorkspacePath) -> ToolResult:
    lines = search_matches.lines[:MAX_MATCHES]
    matches = sum(line.matched for line in lines)
    cut = search_matches.cut or len(search_matches.lines) > MAX_MATCHES
    facts = {"matches": matches, "files": len({line.place for line in lines if line.matched}), "cut": cut}
    if not lines:
        return ToolResult(status=CallStatus.OK, content=_nothing(pattern, path, cut=cut), facts=dict(facts))
    content = "\n".join(_with_gaps(lines))
    if cut:
        content += f"\n… there is more than these {len(lines)} lines: search a smaller folder, or for something rarer."
    return ToolResult(status=CallStatus.OK, content=content, facts=dict(facts))


def _with_gaps(lines: Sequence[MatchedLine]) -> list[str]:
    """Puts `--` between groups of lines that do not touch, where context is shown."""
    with_context = not all(line.matched for line in lines)
    texts: list[str] = []
    previous: MatchedLine | None = None
    for line in lines:
        if with_context and previous and (line.place != previous.place or line.number != previous.number + 1):
            texts.append("--")
        texts.append(format_matches(line))
        previous = line
    return texts


def _nothing(query: str, path: WorkspacePath, *, cut: bool) -> str:
    where = "the workspace" if path.is_root else f"'{shown(path.path)}'"
    until = " before the search was cut short" if cut else ""
    return f"Nothing in {where} matches '{query[:200]}'{until}. Ignored and binary files were not searched."


def _ranked_result(
    search_matches: SearchMatches, query: str, query_words: list[str], path: WorkspacePath
) -> ToolResult:
    files = [list(lines) for _, lines in groupby(search_matches.lines, key=lambda line: line.place)]
    files.sort(key=lambda lines: _rank(lines, query, query_words))
    facts = {"matches": len(search_matches.lines), "files": len(files), "cut": search_matches.cut}
    if not files:
        return ToolResult(
            status=CallStatus.OK, content=_nothing(query, path, cut=search_matches.cut), facts=dict(facts)
        )
    texts: list[str] = []
    for lines in files[:MAX_FILES]:
        best = sorted(lines, key=lambda line: (-_hits(line.text, query_words), line.number))[:LINES_PER_FILE]
        texts += [format_matches(line) for line in sorted(best, key=lambda line: line.number)]
        if len(lines) > len(best):
            texts.append(f"  … and {len(lines) - len(best)} more lines in {shown(lines[0].place.path, 1000)}")
    if len(files) > MAX_FILES or search_matches.cut:
        texts.append(f"… there are more files than these {min(len(files), MAX_FILES)}: use more or rarer words.")
    return ToolResult(status=CallStatus.OK, content="\n".join(texts), facts=dict(facts))


def _rank(lines: list[MatchedLine], query: str, query_words: list[str]) -> tuple[float, float, int, str]:
    """Ranks files with the whole phrase first, then with more of the words, then with more of them in one line; then by name."""
    path = lines[0].place.path
    everything = "\n".join(line.text for line in lines)
    phrase = query.casefold() in everything.casefold()
    closest = max(_hits(line.text, query_words) for line in lines)
    return (-float(phrase), -(_hits(everything, query_words) + 0.5 * _hits(path, query_words)), -closest, path)


def _hits(text: str, query_words: list[str]) -> int:
    folded = text.casefold()
    return sum(word.casefold() in folded for word in query_words)
