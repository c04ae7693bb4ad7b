"""Which programs are language servers of which files, and where a project or the person's tools have them."""

import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from anycowork.domain.values import value
from anycowork.sandbox.bubblewrap import SYSTEM_PATH

_PROJECT_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")
_MOST_FOLDERS = 16  # above the file, in which a project's programs are looked for


@value
class LanguageServerProgram:
    """`path` is absolute. `in_workspace`: it is part of the project, so nobody vouched for it."""

    name: str
    path: str
    arguments: tuple[str, ...] = ()
    options: JsonValue = None
    announces_ready: bool = False
    in_workspace: bool = False


def language_of(path: str) -> str | None:
    """Returns the language's name in the protocol; None if no server is known for it."""
    return _SUFFIXES.get(PurePosixPath(path).suffix.lower())


def find_programs(root: str, path: str, tool_path: str) -> Iterator[LanguageServerProgram]:
    """Yields the servers for this file, best first: of each kind the project's own one before the one on `tool_path`. Blocking."""
    above = [*PurePosixPath(path.lstrip("/")).parents][:_MOST_FOLDERS]
    project = [Path(root, folder, programs) for folder in above for programs in _PROJECT_FOLDERS]
    for name, arguments, options, announces_ready in _SERVERS[family_of(path)]:
        project_program = next((folder / name for folder in project if (folder / name).is_file()), None)
        installed = shutil.which(name, path=f"{tool_path}:{SYSTEM_PATH}")
        if name == _COMPILER:
            project_program = project_program if project_program and _is_server(project_program) else None
            installed = installed if installed and _is_server(Path(installed)) else None
        if project_program is not None:
            yield LanguageServerProgram(
                name, str(project_program), arguments, options, announces_ready, in_workspace=True
            )
        if installed is not None and not Path(installed).is_relative_to(root):
            yield LanguageServerProgram(name, installed, arguments, options, announces_ready)


def _is_server(compiler: Path) -> bool:
    """Whether TypeScript's compiler is a language server itself: since version 7, which no longer has the one that others wrap."""
    package = compiler.resolve().parent.parent
    return (package / "package.json").is_file() and not (package / "lib" / "tsserver.js").exists()


def family_of(path: str) -> str:
    """Returns the name of the languages that one server knows together."""
    language = language_of(path) or ""
    return "typescript" if language.startswith(("typescript", "javascript")) else language


_SUFFIXES = {
    ".py": "python",
    ".pyi": "python",
    ".go": "go",
    ".rs": "rust",
    ".tsx": "typescriptreact",
    ".jsx": "javascriptreact",
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
}
# Nothing is compiled, and no code of the project runs while it is analysed, as far as servers let us choose.
_RUST: JsonValue = {
    "checkOnSave": False,
    "cargo": {"buildScripts": {"enable": False}, "targetDir": "/tmp/target"},
    "procMacro": {"enable": False},
    "cachePriming": {"enable": False},
}
_COMPILER = "tsc"
_SERVERS: dict[str, tuple[tuple[str, tuple[str, ...], JsonValue, bool], ...]] = {
    "python": (
        ("basedpyright-langserver", ("--stdio",), None, False),
        ("pyright-langserver", ("--stdio",), None, False),
        ("pylsp", (), None, False),
        ("ruff", ("server",), None, False),
    ),
    "typescript": (
        (_COMPILER, ("--lsp", "--stdio"), None, False),
        ("vtsls", ("--stdio",), None, False),
        ("typescript-language-server", ("--stdio",), None, False),
    ),
    "go": (("gopls", ("serve",), None, False),),
    "rust": (("rust-analyzer", (), _RUST, True),),
}
