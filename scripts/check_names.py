"""Checks names in src/anycowork: no class name is defined twice, and no module is named after a gerund. `make check` runs it.

A port and its implementation share a stem (`Store`, `SqliteStore`), never a name."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "anycowork"

# Gerund modules that are the field's own word, each with its reason.
GERUNDS = {
    "api/gateway/metering.py": "metering is the noun for counting paid use",
    "domain/metering.py": "metering is the noun for counting paid use",
    "api/gateway/content_encoding.py": "an encoding is a noun of HTTP",
    "config/loading.py": "loading settings is what a reader looks for",
}


def main() -> int:
    found = [*gerund_modules(), *duplicate_classes()]
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


if __name__ == "__main__":
    sys.exit(main())
