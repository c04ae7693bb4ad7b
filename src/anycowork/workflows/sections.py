"""Splits the body of a definition file into its sections, and suggests what the author of a mistake probably meant. Pure.

A section is the text before the first `## title`, then one for each step.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from anycowork.domain.boundary import Boundary
from anycowork.domain.bounded_json import read_json
from anycowork.domain.values import value

_LOOSE = re.compile(r"\{\{ *([A-Za-z][A-Za-z0-9_-]*) *\}\}")
_LONGEST_WORD = 60  # characters: nothing that is longer was meant as one of our keys
_MOST_FAULTS = 20  # of one file, of which the plainest is reported
_ALIKE = 0.8  # `tools` is meant as `tool`, `toml` is not
_MADE_OF = {
    "name": "must be a lower-case letter, then lower-case letters, digits and _ (at most 40)",
    "category": "must be a lower-case letter, then lower-case letters, digits, spaces, _ and - (at most 40)",
}
MOST_STEPS = 30
KINDS = ("tool", "ask", "changes", "workflow")
_FENCE = re.compile(
    r" {0,3}+(`{3,}+|~{3,}+)[ \t]*+([\w-]*+)[^`]*+"
)  # without backtracking, because a line may contain anything
_TITLE_MARKS = ("## ", "##\t")
_TITLE_WITHOUT_SPACE = re.compile(r"##[^\W_]")


def near(word: str, candidates: Iterable[str]) -> str:
    """Returns a "did you mean" suggestion with the nearest word; empty if none is near."""
    matches = get_close_matches(word.lower(), list(candidates), n=1) if len(word) <= _LONGEST_WORD else []
    return f"; did you mean '{matches[0]}'?" if matches else ""


def meant_block(kind: str, content: str, kinds: Collection[str]) -> str | None:
    """Returns which of our blocks a lone block was probably meant to be; None if it is an ordinary block."""
    if kind in ("", "json"):
        return _by_its_keys(content)
    if len(kind) > _LONGEST_WORD:
        return None
    return next(iter(get_close_matches(kind, list(kinds), n=1, cutoff=_ALIKE)), None)


def _by_its_keys(content: str) -> str | None:
    try:
        block = read_json(content, strict=False)
    except ValueError:
        return None
    keys = set(block) if isinstance(block, dict) else set()
    return "tool" if keys >= {"tool", "parameters"} else "ask" if keys >= {"question", "options"} else None


def misspelt_placeholders(text: str, names: Collection[str]) -> list[tuple[str, str]]:
    """Returns misspelt placeholders, each with the parameter that was probably meant."""
    loose = ((name, name.lower().replace("-", "_")) for name in _LOOSE.findall(text))
    return [(name, suggestion) for name, suggestion in loose if name != suggestion and suggestion in names]


def plainest(error: ValidationError, fields: Collection[str]) -> ErrorDetails:
    """Returns the fault to report: a misspelt key before the key that is missing because of it."""
    faults = error.errors(include_url=False)[:_MOST_FAULTS]
    misspelt = (fault for fault in faults if fault["type"] == "extra_forbidden" and near(_key(fault), fields))
    return next(misspelt, faults[0])


def in_plain_words(error: ErrorDetails, head: type[Boundary]) -> str:
    """Explain what is wrong with this key, and what would be right."""
    name = _key(error)
    match error["type"]:
        case "extra_forbidden":
            return unknown_key(name, head.model_fields)
        case "missing":
            return f"'{name}' is missing"
        case "string_too_short":
            return f"'{name}' must not be empty"
        case "string_pattern_mismatch" if name in _MADE_OF:
            return f"'{name}' {_MADE_OF[name]}"
        case _ if name == "parameters" and "valid array" in error["msg"]:
            return "'parameters' must be tables: begin each one with a line [[parameters]]"
        case _:
            return f"'{name}': {error['msg'].replace('a valid array', 'a list, in [ ]')}"


def unknown_key(name: str, keys: Collection[str]) -> str:
    return f"'{name[:60]}' is not a known key (known keys: {', '.join(keys)}){near(name, keys)}"


def _key(error: ErrorDetails) -> str:
    return next((str(word) for word in reversed(error["loc"]) if isinstance(word, str)), "")


class BadDefinition(ValueError):
    """Says what is wrong with a definition file, and in which line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


@value
class DefinitionSection:
    """`kind` is `prompt`, or what its one fenced block is; `block` is that block's content, and `block_line` where it opens."""

    title: str
    line: int
    lines: tuple[str, ...]
    kind: str = "prompt"
    block: str = ""
    block_line: int = 1

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()

    def line_of(self, name: str) -> int:
        """Returns the first line with this placeholder."""
        placeholder = re.compile(r"\{\{ *" + re.escape(name) + r" *\}\}")
        inside = (number for number, line in enumerate(self.lines, self.line + 1) if placeholder.search(line))
        return next(inside, self.line)


@value
class _Block:
    kind: str
    first: int
    last: int


def in_sections(lines: Sequence[str], start: int) -> tuple[str, list[DefinitionSection]]:
    """Returns the text before the first title, and the sections, without comments. Raises: BadDefinition."""
    lines = _without_comments(lines, start)
    blocks = list(_blocks(lines, start))
    fenced = {number for block in blocks for number in range(block.first, block.last + 1)}
    unfenced = [n for n in range(start, len(lines)) if n not in fenced]
    _require_spaced_titles(lines, unfenced)
    titles = [n for n in unfenced if _title(lines[n])]
    if len(titles) > MOST_STEPS:
        raise BadDefinition(titles[MOST_STEPS] + 1, f"more than {MOST_STEPS} steps; make it two workflows")
    about = "\n".join(lines[start : titles[0] if titles else len(lines)]).strip()
    return about, [_section(lines, first, end, blocks) for first, end in pairwise([*titles, len(lines)])]


def _section(lines: Sequence[str], first: int, end: int, blocks: Sequence[_Block]) -> DefinitionSection:
    section = DefinitionSection(_title(lines[first]), first + 1, tuple(lines[first + 1 : end]))
    if not section.text:
        raise BadDefinition(
            first + 1, f"the step '{section.title}' is empty: write instructions for the agent, or a block"
        )
    inside = blocks[bisect_left(blocks, first, key=_first_line) : bisect_left(blocks, end, key=_first_line)]
    block = next((block for block in inside if block.kind in KINDS), None)
    if block is None:
        _require_meant_as_words(lines, first, end, inside)
        return section
    if not _is_alone(lines, first, end, block):
        raise BadDefinition(
            block.first + 1, f"a {block.kind} block must be the only content of its step; give it a separate '## title'"
        )
    content = "\n".join(lines[block.first + 1 : block.last])
    return DefinitionSection(section.title, section.line, section.lines, block.kind, content, block.first + 1)


def _first_line(block: _Block) -> int:
    return block.first


def _is_alone(lines: Sequence[str], first: int, end: int, block: _Block) -> bool:
    return not any(line.strip() for line in (*lines[first + 1 : block.first], *lines[block.last + 1 : end]))


def _require_meant_as_words(lines: Sequence[str], first: int, end: int, blocks: Sequence[_Block]) -> None:
    """Rejects a lone block that is nearly one of ours: it is probably a typing error. Raises: BadDefinition."""
    if len(blocks) != 1 or not _is_alone(lines, first, end, block := blocks[0]):
        return
    if suggestion := meant_block(block.kind, "\n".join(lines[block.first + 1 : block.last]), KINDS):
        problem = f"'{block.kind}' is not a kind of block" if block.kind else "this block has no kind"
        raise BadDefinition(
            block.first + 1, f"{problem} (there are: {', '.join(KINDS)}); did you mean ```{suggestion}?"
        )


def _require_spaced_titles(lines: Sequence[str], numbers: Sequence[int]) -> None:
    for number in numbers:
        if _TITLE_WITHOUT_SPACE.match(lines[number]):
            raise BadDefinition(number + 1, "a step's title needs a space: ## Title")


def _title(line: str) -> str:
    """Returns the title; empty if the line is not a title."""
    return line[2:].strip()[:200] if line.startswith(_TITLE_MARKS) else ""


def _without_comments(lines: Sequence[str], start: int) -> list[str]:
    """Blank out `<!-- … -->` that begins at the start of a line, so that the line numbers stay the same."""
    blanked = list(lines)
    number = start
    while number < len(blanked):
        opened = _FENCE.fullmatch(blanked[number])
        if opened is not None:
            number = _end_of(blanked, number, opened[1]) + 1
            continue
        if blanked[number].lstrip().startswith("<!--"):
            last = next((n for n in range(number, len(blanked)) if "-->" in blanked[n]), None)
            if last is None:
                raise BadDefinition(number + 1, "the comment that opens here is never closed with -->")
            blanked[number : last + 1] = [""] * (last + 1 - number)
            number = last
        number += 1
    return blanked


def _blocks(lines: Sequence[str], start: int) -> Iterator[_Block]:
    """Yields the fenced blocks, in order. Inside a block, nothing is a title."""
    number = start
    while number < len(lines):
        opened = _FENCE.fullmatch(lines[number])
        if opened is None:
            number += 1
            continue
        last = _end_of(lines, number, opened[1])
        yield _Block(opened[2].lower(), number, last)
        number = last + 1


def _end_of(lines: Sequence[str], first: int, mark: str) -> int:
    for number in range(first + 1, len(lines)):
        line = lines[number].strip()
        if len(line) >= len(mark) and set(line) == {mark[0]}:
            return number
    raise BadDefinition(first + 1, f"the block that opens here is never closed with {mark}")
