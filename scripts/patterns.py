"""Refuses regular expressions that may take more than linear time.

A pattern is taken if it is provably linear: a part that repeats without end must not be able to give back what it took to what follows,
no repetition stands in another, and a search must not go through the same run of characters from each of its places. What cannot be
proved so stands in `patterns.toml`, a pattern or a whole module, with the reason why its text is trusted, short or gone through once.
"""

import ast
import re
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from re import _constants as op  # type: ignore[attr-defined]  # the standard library's own reader of patterns
    from re import _parser as parser  # type: ignore[attr-defined]  # the same

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "anycowork"
ALLOWED = ROOT / "scripts" / "patterns.toml"
MANY = 1_000  # a repetition that is bounded by less costs no more than that
_MENTION = re.compile(r"\bre\b|\blate_pattern\b")  # without it a module uses no pattern
ANCHORED = {"match", "fullmatch"}
METHODS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
# Stands for every character there is: one of each kind that a pattern can tell apart.
ALPHABET = frozenset(range(128)) | {0x85, 0xA0, 0xE9, 0x660, 0x2028, 0x4E2D, 0x200D, 0x2026, 0xFF10, 0x1F600, 0xE000}


def main() -> int:
    allowed = tomllib.loads(ALLOWED.read_text("utf-8"))
    found = {place: reason for file in sorted(SOURCES.rglob("*.py")) for place, reason in _unproved(file)}
    modules = {place.partition(":")[0] for place in found}
    new = [
        f"{place}: {reason}" for place, reason in found.items() if not {place, place.partition(":")[0]} & allowed.keys()
    ]
    unused = allowed.keys() - modules - found.keys()
    gone = [f"{place}: stands in patterns.toml, and nothing needs it" for place in sorted(unused)]
    unexplained = [f"{place}: give a reason" for place, reason in allowed.items() if not str(reason).strip()]
    for line in (*new, *gone, *unexplained):
        sys.stderr.write(f"{line}\n")
    if new:
        sys.stderr.write(
            "Scan the text plainly, bound the repetition, make it possessive (`++`), or see scripts/patterns.py.\n"
        )
    return 1 if new or gone or unexplained else 0


def _unproved(file: Path) -> Iterator[tuple[str, str]]:
    """Each use of `re` that is not provably linear: its place (file and function or name), and why not."""
    text = file.read_text("utf-8")
    if not _MENTION.search(text):
        return
    tree = ast.parse(text)
    where = _owners(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "re":
            yield f"{_short(file)}:import", "write `import re`, so that its uses are seen"
        if not _is_use(node):
            continue
        owner = where.get(node, "")
        used = getattr(node.func, "attr", "compile")  # `late_pattern` has none: it compiles
        if reason := _fault(node, _methods(tree, owner) if used == "compile" else {used}):
            yield f"{_short(file)}:{owner}", reason


def _short(file: Path) -> str:
    return str(file.relative_to(SOURCES))


def _is_use(node: ast.AST) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Name):
        return function.id == "late_pattern"
    named = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"
    return named and isinstance(function, ast.Attribute) and function.attr in METHODS


def _owners(tree: ast.Module) -> dict[ast.AST, str]:
    """For each node the name that its pattern is given, or the function that it stands in."""
    owners: dict[ast.AST, str] = {}
    pending: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while pending:
        node, function = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if function is not None:
            owners[node] = function
        pending += ((child, function) for child in ast.iter_child_nodes(node))
    for outer in tree.body:
        targets = outer.targets if isinstance(outer, ast.Assign) else []
        if targets and isinstance(targets[0], ast.Name):
            owners.update(dict.fromkeys(ast.walk(outer), targets[0].id))
    return owners


def _methods(tree: ast.Module, name: str) -> set[str]:
    """What is done in this module with the compiled pattern of this name; everything, if that cannot be seen."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in METHODS)
    return {node.attr for node in calls if isinstance(node.value, ast.Name) and node.value.id == name} or METHODS


def _fault(call: Any, methods: set[str]) -> str | None:
    pattern = call.args[0] if call.args else None
    if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str | bytes):
        return "the pattern is put together while the program runs"
    flags = _flags(call)
    try:
        parsed = parser.parse(pattern.value, flags)
    except re.error as error:
        return f"not a pattern: {error}"
    flags |= parsed.state.flags
    return _Proof(flags, anchored=methods <= ANCHORED).fault(parsed)


def _flags(call: ast.Call) -> int:
    names = {
        node.attr
        for argument in (*call.args[1:], *(k.value for k in call.keywords))
        for node in ast.walk(argument)
        if isinstance(node, ast.Attribute)
    }
    return int(sum(getattr(re, name) for name in names if name.isupper() or (len(name) == 1 and name.isalpha())))


class _Proof:
    """`anchored` if matching begins in one place alone."""

    def __init__(self, flags: int, *, anchored: bool) -> None:
        self._flags = flags
        self._anchored = anchored

    def fault(self, parsed: Any) -> str | None:
        items = list(parsed)
        if fault := self._follow(items, frozenset(), inside=False):
            return fault
        if self._anchored or self._is_greedy_run(items):
            return None
        first, _ = self._firsts(items)
        for repeated in self._endless(items):
            if repeated & first and not self._begins_at_lines(items):
                return "a search goes through the same run again from each of its places"
        return None

    def _is_greedy_run(self, items: list[Any]) -> bool:
        """It takes the whole run wherever it begins: the next search begins behind it."""
        kind, value = items[0] if items else (None, None)
        if kind is op.BRANCH and len(items) == 1:
            branches = [list(branch) for branch in value[1]]
            return all(self._is_greedy_run(branch) or not any(self._endless(branch)) for branch in branches)
        if kind not in (op.MAX_REPEAT, op.POSSESSIVE_REPEAT) or value[0] > MANY:
            return False
        return all(kind in _REPEATS and value[0] == 0 for kind, value in items[1:])

    def _begins_at_lines(self, items: list[Any]) -> bool:
        """`^` and no line break in what repeats: each line is gone through once. `(?<!x)x…`: each run is."""
        kind, value = items[0] if items else (None, None)
        if kind is op.AT and value is op.AT_BEGINNING:
            return not any(ord("\n") in repeated for repeated in self._endless(items))
        if kind is op.ASSERT_NOT and value[0] < 0:
            behind, _ = self._firsts(list(value[1]))
            return all(repeated <= behind for repeated in self._endless(items))
        return False

    def _follow(self, items: list[Any], after: frozenset[int], *, inside: bool) -> str | None:
        for at, (kind, value) in enumerate(items):
            rest, empty = self._firsts(items[at + 1 :])
            follows = rest | (after if empty else frozenset())
            if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
                fault = self._repeat(value, follows, inside=inside)
            elif kind in (op.GROUPREF, op.GROUPREF_EXISTS):
                fault = "it refers back"
            else:
                gives_back = kind in (op.SUBPATTERN, op.BRANCH)
                deeper = inside or (kind is op.POSSESSIVE_REPEAT and value[1] > MANY)
                faults = (
                    self._follow(part, follows if gives_back else frozenset(), inside=deeper)
                    for part in _parts(kind, value)
                )
                fault = next(filter(None, faults), None)
            if fault:
                return fault
        return None

    def _repeat(self, value: Any, follows: frozenset[int], *, inside: bool) -> str | None:
        _, most, repeated = value
        body = list(repeated)
        if most <= MANY:
            return self._follow(body, follows, inside=inside)
        if inside:
            return "one repetition stands in another"
        first, empty = self._firsts(body)
        if empty:
            return "what repeats may be empty"
        if first & follows:
            return "what repeats can give back what it took to what follows"
        return self._follow(body, follows | first, inside=True)

    def _endless(self, items: list[Any]) -> Iterator[frozenset[int]]:
        """The characters of each part that repeats without end."""
        for kind, value in items:
            repeats = kind in _REPEATS and value[1] > MANY
            for part in _parts(kind, value):
                yield from [self._all(part)] if repeats else self._endless(part)

    def _all(self, items: list[Any]) -> frozenset[int]:
        """Every character that may stand in it."""
        found: frozenset[int] = frozenset()
        for kind, value in items:
            parts = _parts(kind, value)
            if parts is _NONE and kind is not op.AT:
                found |= self._one(kind, value)
            elif kind not in (op.ASSERT, op.ASSERT_NOT):
                found |= frozenset().union(*map(self._all, parts))
        return found

    def _firsts(self, items: list[Any]) -> tuple[frozenset[int], bool]:
        """The characters that it can begin with, and whether it can be empty."""
        found: frozenset[int] = frozenset()
        for kind, value in items:
            first, empty = self._first(kind, value)
            found |= first
            if not empty:
                return found, False
        return found, True

    def _first(self, kind: Any, value: Any) -> tuple[frozenset[int], bool]:
        if kind in (op.AT, op.ASSERT, op.ASSERT_NOT):
            return frozenset(), True
        if kind in (op.GROUPREF, op.GROUPREF_EXISTS):
            return ALPHABET, True
        parts = _parts(kind, value)
        if parts is _NONE:
            return self._one(kind, value), False
        firsts = [self._firsts(part) for part in parts]
        empty = any(each for _, each in firsts) or (kind in _REPEATS and value[0] == 0)
        return frozenset().union(*(first for first, _ in firsts)), empty

    def _one(self, kind: Any, value: Any) -> frozenset[int]:
        """The characters that this one place takes, upper and lower case where the pattern does not care."""
        wanted = re.compile(_class(kind, value), self._flags & (re.IGNORECASE | re.DOTALL | re.ASCII))
        return frozenset(code for code in ALPHABET if wanted.fullmatch(chr(code)))


_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_NONE: list[list[Any]] = []


def _parts(kind: Any, value: Any) -> list[list[Any]]:
    """What stands in this part of a pattern, one after the other or one instead of the other; `_NONE` in a single character."""
    match kind:
        case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
            return [list(value[2])]
        case op.SUBPATTERN:
            return [list(value[3])]
        case op.ATOMIC_GROUP:
            return [list(value)]
        case op.BRANCH:
            return [list(branch) for branch in value[1]]
        case op.ASSERT | op.ASSERT_NOT:
            return [list(value[1])]
        case _:
            return _NONE


def _class(kind: Any, value: Any) -> str:
    match kind:
        case op.ANY:
            return "."
        case op.LITERAL:
            return re.escape(chr(value))
        case op.NOT_LITERAL:
            return f"[^{_in_class(value)}]"
        case _:
            return f"[{''.join(_member(each, what) for each, what in value)}]"


def _member(kind: Any, value: Any) -> str:
    match kind:
        case op.NEGATE:
            return "^"
        case op.LITERAL:
            return _in_class(value)
        case op.RANGE:
            return f"{_in_class(value[0])}-{_in_class(value[1])}"
        case _:
            return _CATEGORIES[str(value)]


def _in_class(code: int) -> str:
    return f"\\U{code:08x}"


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
