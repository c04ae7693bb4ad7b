"""Checks names: no class of src/anycowork is defined twice, no module of it is named after a gerund, and no identifier there or in tests
contains a private word. `make check` runs it.

A port and its implementation share a stem (`Store`, `SqlStore`), never a name."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "anycowork"

# Gerund modules that are the field's own word, each with its reason.
GERUNDS = {
    "api/gateway/metering.py": "metering is the noun for counting paid use",
    "domain/metering.py": "metering is the noun for counting paid use",
    "api/gateway/content_encoding.py": "an encoding is a noun of HTTP",
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


def main() -> int:
    found = [*gerund_modules(), *duplicate_classes(), *private_words()]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


def gerund_modules() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*ing.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name not in GERUNDS:
            yield f"{name}: name the module after the noun it holds, or list it in scripts/check_names.py with a reason."


def duplicate_classes() -> Iterator[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(SOURCE).as_posix())
    for name, where in sorted(places.items()):
        if len(where) > 1:
            yield f"class {name} is defined in {' and '.join(where)}: one name, one meaning."


def private_words() -> Iterator[str]:
    files = [path for folder in (SOURCE, ROOT / "tests") for path in sorted(folder.rglob("*.py"))]
    worth_parsing = re.compile("|".join(PRIVATE_WORDS), re.IGNORECASE)
    for path in files:
        text = path.read_text("utf-8")
        found = set(_identifiers(ast.parse(text))) if worth_parsing.search(text) else set()
        for name, line in sorted(found):
            for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name):
                if name not in EXCEPTIONS and (better := PRIVATE_WORDS.get(word.lower())):
                    yield f"{path.relative_to(ROOT)}:{line}: '{word}' in '{name}' is a private word; the field says: {better}."


def _identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case _:
                pass


if __name__ == "__main__":
    sys.exit(main())
