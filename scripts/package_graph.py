"""Draws the packages from their imports, as Mermaid text. `make check` runs it.

It fails if imports form a cycle, between packages, between modules when they are loaded, or between folders of the web UI; if there are
more than 34 packages and modules at the top; or if a module lies loose beside app.py. That imports go down only is import-linter's part.
"""

import ast
import gc
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / "src" / "anycowork"
WEB = ROOT / "web" / "src"
MOST_AT_THE_TOP = 34
_WEB_IMPORT = re.compile(
    r"""^(?:import|export)\s+(?!type\s)(?:[^"';]*?from\s+)?["'](\.[^"']*)["']|\bimport\(\s*["'](\.[^"']*)["']""",
    re.MULTILINE,
)

Graph = dict[str, set[str]]
"""Each package, or module, with those that it imports."""


def main() -> int:
    gc.disable()  # the trees stay until the end: looking for garbage in them finds none
    graph, web = python_graph(), web_graph()
    print(
        f"%% {len(graph)} packages and modules, {sum(map(len, graph.values()))} arrows; only those are drawn that no others imply"
    )
    print(*mermaid(graph), sep="\n")
    folders = folder_graph(web)
    print(f"%% web UI: {len(web)} modules in {len(folders)} folders, {sum(map(len, folders.values()))} arrows")
    print(*mermaid(folders), sep="\n")
    faults = [*cycles(graph), *cycles(module_graph(PYTHON)), *cycles(web), *cycles(folders)]
    if len(graph) > MOST_AT_THE_TOP:
        faults.append(f"There are {len(graph)} packages and modules beside app.py: at most {MOST_AT_THE_TOP}.")
    if loose := sorted(path.name for path in PYTHON.glob("*.py") if path.stem not in ("__init__", "__main__", "app")):
        faults.append(f"{', '.join(loose)} lies loose beside app.py: move it into a package.")
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    return 1 if faults else 0


def python_graph() -> Graph:
    graph: Graph = defaultdict(set)
    for path in sorted(PYTHON.rglob("*.py")):
        package = path.relative_to(PYTHON).parts[0].removesuffix(".py")
        if package not in ("__init__", "__main__"):
            graph[package] |= {name for name in _imported(path) if name != package}
    return {name: {each for each in imported if each in graph} for name, imported in graph.items()}


def _imported(path: Path) -> Iterator[str]:
    """Yields the packages that a module imports when it is loaded, or later inside a function. Types alone do not count."""
    for node in _statements(_tree(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{name}" if node.module == "anycowork" else node.module for name in names]
        yield from (name.split(".")[1] for name in names if name.startswith("anycowork."))


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yields every statement but those for types alone. No import stands inside an expression, so none is looked into."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _statements(node)


def _tree(path: Path) -> ast.Module:
    return _parsed(path.read_text("utf-8"))


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def module_graph(folder: Path) -> Graph:
    """Returns the modules of a package, each with those that it loads first. What is imported inside a function or for types does not count."""
    names = {path: ".".join(path.relative_to(folder.parent).with_suffix("").parts) for path in folder.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for path, name in names.items()}
    graph: Graph = {}
    for module, path in modules.items():
        imports = [node for node in _tree(path).body if isinstance(node, ast.ImportFrom)]
        loaded = {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
        loaded |= {node.module or "" for node in imports}
        graph[module] = {name for name in loaded if name in modules and name != module}
    return graph


def web_graph() -> Graph:
    """Returns the web UI's modules. Imports of types alone do not count: they are gone when it is built."""
    paths = {path for path in (*WEB.rglob("*.ts"), *WEB.rglob("*.tsx")) if ".test." not in path.name}
    graph: Graph = {}
    for path in sorted(paths):
        named = (first or late for first, late in _WEB_IMPORT.findall(path.read_text("utf-8")))
        places = [path.parent.joinpath(name).resolve() for name in named]
        graph[_module(path)] = {
            _module(each)
            for place in places
            for each in (place.with_name(f"{place.name}.ts"), place.with_name(f"{place.name}.tsx"), place / "index.ts")
            if each in paths
        }
    return graph


def folder_graph(modules: Graph) -> Graph:
    """Returns the web UI's folders. What stands beside them, such as App.tsx, is on top of all and left out."""
    graph: Graph = {name.partition("/")[0]: set() for name in modules if "/" in name}
    for name, imported in modules.items():
        folder = name.partition("/")[0]
        if folder in graph:
            graph[folder] |= {each.partition("/")[0] for each in imported} - {folder}
    return graph


def _module(path: Path) -> str:
    return path.relative_to(WEB).as_posix()


def cycles(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [f"Imports form a cycle: {' → '.join(reversed(error.args[1]))}."]
    return []


def mermaid(graph: Graph) -> Iterator[str]:
    """Yields the graph without arrows that follow from others."""
    yield "flowchart TD"
    reach: Graph = {}

    def reached(name: str, seen: frozenset[str] = frozenset()) -> set[str]:
        if name not in reach:
            below = graph[name] - seen
            reach[name] = below | {far for each in below for far in reached(each, seen | {name})}
        return reach[name]

    for name in sorted(graph):
        below = graph[name]
        indirect = {far for each in below for far in reached(each, frozenset({name}))}
        for each in sorted(below - indirect):
            yield f"  {name} --> {each}"


if __name__ == "__main__":
    sys.exit(main())
