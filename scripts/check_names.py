"""Checks names: no class of src/anycowork is defined twice, no module of it is named after a gerund, no package has more vague names than its
ceiling, every class after `Raises:` exists, docstrings are sentences ("Returns …", not "Return …"), and no identifier
there or in tests contains a private word. `make check` runs it.

A port and its implementation share a stem (`Provider`, `LocalProvider`), never a name."""

import ast
import builtins
import gc
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "anycowork"

# Gerund modules that are the field's own word, each with its reason.
GERUNDS = {
    "api/gateway/metering.py": "metering is the noun for counting paid use",
    "domain/metering.py": "metering is the noun for counting paid use",
    "config/loading.py": "loading settings is what a reader looks for",
}

# Words that only this project used, each with the field's word for it.
PRIVATE_WORDS = {
    "house": "server",
    "guest": "client",
    "stranger": "anonymous client",
    "desk": "service (in tests: cli)",
    "door": "gate",
    "sprout": "fork",
    "wish": "request",
    "wishes": "requests",
    "deed": "action",
    "deeds": "actions",
    "furnish": "build, set_up",
    "scribe": "writer",
    "shelf": "matcher",
    "turnstile": "lock",
    "lookout": "watcher",
    "grounds": "workspace_roots",
    "lend": "acquire",
    "lender": "provider",
    "outlook": "preview",
    "talk": "conversation",
    "neighbourhood": "allowed_hosts",
    "heed": "handle",
    "patience": "timeout",
}
EXCEPTIONS = {"PatienceSequenceMatcher"}  # a library's name

# Names that do not say what they hold: a binding is a path, a rule, a reason or a timestamp, not "found" or "one".
# fmt: off
VAGUE_NAMES = frozenset({
    "found", "place", "places", "one", "words", "wanted", "given", "kept", "shown", "own", "asked", "held", "each", "made", "why", "taken",
    "meant", "way", "due", "told", "who", "what", "left", "rest", "over", "named", "known", "ended", "began", "whole", "both", "here",
    "there", "reached", "gone", "said", "put", "at", "of",
})
# fmt: on
# The most percent of a package's bindings that may have such a name. Lower a ceiling when a package falls below it; never raise one.
VAGUE_CEILING = 0.4
HIGHER_CEILINGS = {"api": 0.5, "domain": 0.7}  # `at`, `shown` and `kept` are names of the wire and of stored rows
_RAISED_CLASS = re.compile(r"(?:[a-z_]\w*\.)*([A-Z]\w*[a-z]\w*)\b")


def main() -> int:
    gc.disable()  # the trees stay until the end, and looking for garbage in them took half of the time
    problems = [
        *gerund_modules(),
        *duplicate_classes(),
        *vague_bindings(),
        *missing_exceptions(),
        *imperative_docstrings(),
        *private_words(),
    ]
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


@cache
def nodes_of(path: Path) -> Sequence[ast.AST]:
    """Returns every node of the file's syntax tree."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def gerund_modules() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*ing.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name not in GERUNDS:
            yield f"{name}: name the module after the noun it holds, or list it in scripts/check_names.py with a reason."


def duplicate_classes() -> Iterator[str]:
    files_by_class: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                files_by_class[node.name].append(path.relative_to(SOURCE).as_posix())
    for name, class_files in sorted(files_by_class.items()):
        if len(class_files) > 1:
            yield f"class {name} is defined in {' and '.join(class_files)}: one name, one meaning."


def vague_bindings() -> Iterator[str]:
    totals: dict[str, int] = defaultdict(int)
    vague: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE)
        package = inside.parts[0] if len(inside.parts) > 1 else "."
        for name, line in _bound_names(nodes_of(path)):
            totals[package] += 1
            if name in VAGUE_NAMES:
                vague[package].append(f"{path.relative_to(ROOT)}:{line}: '{name}' does not say what it holds.")
    for package, lines in sorted(vague.items()):
        percent, ceiling = 100 * len(lines) / totals[package], HIGHER_CEILINGS.get(package, VAGUE_CEILING)
        if percent > ceiling:
            yield from lines
            yield f"{package}: {percent:.2f} % of its names are vague, more than its ceiling of {ceiling} % in scripts/check_names.py."


def _bound_names(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yields every parameter and every name that is assigned or looped over, with its line."""
    for node in nodes:
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name, node.lineno
            case _:
                pass


def missing_exceptions() -> Iterator[str]:
    nodes_by_path = {path: nodes_of(path) for path in sorted(SOURCE.rglob("*.py"))}
    nodes = [node for file_nodes in nodes_by_path.values() for node in file_nodes]
    everywhere = set(dir(builtins)) | {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    everywhere |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}  # `asyncio.CancelledError`
    for path, file_nodes in nodes_by_path.items():
        imports = (node for node in file_nodes if isinstance(node, ast.Import | ast.ImportFrom))
        known = everywhere | {alias.asname or alias.name for node in imports for alias in node.names}
        for node in file_nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for name in _raised_classes(ast.get_docstring(node) or ""):
                    if name not in known:
                        yield f"{path.relative_to(ROOT)}:{node.lineno}: '{node.name}' says that it raises {name}, but there is no such class."


def _raised_classes(docstring: str) -> Iterator[str]:
    """Yields the class that each clause after `Raises:` begins with: `Raises: A, B if it is gone; C (final).` names A, B and C."""
    for text in docstring.split("Raises:")[1:]:
        paragraph = " ".join(text.split("\n\n")[0].split()).replace("`", "")
        sentence = re.sub(r"\([^)]*\)", "", paragraph).split(". ")[0]
        for clause in re.split(r"[,;]| and | or ", sentence):
            if raised := _RAISED_CLASS.match(clause.strip()):
                yield raised[1]


def imperative_docstrings() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in nodes_of(path):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            first_word = (ast.get_docstring(node) or "").partition(" ")[0]
            if first_word in ("Return", "Yield", "Build", "Tell"):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: '{node.name}' says '{first_word}'; write '{first_word}s'."


def private_words() -> Iterator[str]:
    files = [path for folder in (SOURCE, ROOT / "tests") for path in sorted(folder.rglob("*.py"))]
    for path in files:
        text = path.read_text("utf-8").lower()
        identifiers = set(_identifiers(nodes_of(path))) if any(word in text for word in PRIVATE_WORDS) else set()
        for name, line in sorted(identifiers):
            for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name):
                if name not in EXCEPTIONS and (better := PRIVATE_WORDS.get(word.lower())):
                    yield f"{path.relative_to(ROOT)}:{line}: '{word}' in '{name}' is a private word; the field says: {better}."


def _identifiers(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case _:
                pass


if __name__ == "__main__":
    sys.exit(main())
