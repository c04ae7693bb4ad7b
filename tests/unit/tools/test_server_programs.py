"""Which language servers are found for a file of a project."""

from pathlib import Path

import pytest

from anycowork.tools.language.language_server import find_programs


def installed(project: Path, package: str, program: str, *more: str) -> None:
    """As npm lays it: the program of a package behind a link in `.bin`."""
    folder = project / "node_modules" / package
    for name in (f"bin/{program}", "package.json", *more):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    link = project / "node_modules" / ".bin" / program
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(f"../{package}/bin/{program}")


@pytest.mark.parametrize(
    ("version", "parts", "found"),
    [
        (7, (), [("tsc", ("--lsp", "--stdio")), ("typescript-language-server", ("--stdio",))]),
        (5, ("lib/tsserver.js",), [("typescript-language-server", ("--stdio",))]),
    ],
)
def test_compiler_of_typescript_is_the_server_since_it_no_longer_has_the_one_that_others_wrap(
    version: int, parts: tuple[str, ...], found: list[tuple[str, tuple[str, ...]]], tmp_path: Path
) -> None:
    installed(tmp_path, "typescript", "tsc", *parts)
    installed(tmp_path, "typescript-language-server", "typescript-language-server")
    programs = [one for one in find_programs(str(tmp_path), "/src/a.ts", "/nowhere") if one.in_workspace]
    assert [(one.name, one.arguments) for one in programs] == found, version
