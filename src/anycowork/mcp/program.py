"""The program of a stdio server: where it lies, what of this machine it sees, and the arguments that start it in the sandbox.

The person named the program, so it may lie anywhere. It is bound read-only, with the folders it is installed in; a folder that
holds the server's data, the person's home or the settings of many programs is never bound as a whole. Credentials in the folders that
the person did not name are covered; from a server of one chat, all credentials are.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.path_class import is_key_file
from anycowork.domain.values import value
from anycowork.sandbox.bubblewrap import SYSTEM_PATH
from anycowork.sandbox.secrets.secret_paths import SecretScan, holds_secret, is_secret_name, scan_folder
from anycowork.sandbox.stdio_program import first_line, starter_paths
from anycowork.sandbox.toolchains import why_too_broad
from anycowork.sandbox.workspaces import home_folder

_SYSTEM = ("/usr", "/nix/store", "/bin", "/sbin", "/lib", "/lib64")
_NEVER_WHOLE = (
    "/",
    "/home",
    "/root",
    "/tmp",
    "/var",
    "/var/tmp",
    "/opt",
    "/srv",
    "/etc",
    "/mnt",
    "/media",
    "/dev",
    "/proc",
)
_BELOW_HOME = (
    ".local/bin",
    ".cargo/bin",
    ".volta/bin",
    ".bun/bin",
    ".deno/bin",
    ".npm-global/bin",
    ".local/share/pnpm",
    ".local/share/mise/shims",
    ".asdf/shims",
    ".pyenv/shims",
    "go/bin",
    "bin",
)
_NODE_VERSIONS = (".nvm/versions/node/*/bin", ".local/share/fnm/node-versions/*/installation/bin")
_BESIDE_PATH = ("/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin", "/opt/homebrew/bin", "/snap/bin")
_HOW_TO_GET = {
    ("uvx", "uv"): "It comes with uv: https://docs.astral.sh/uv/getting-started/installation/. ",
    ("npx", "npm", "node"): "It comes with Node.js: https://nodejs.org/en/download. ",
    ("bunx", "bun"): "It comes with Bun: https://bun.sh/docs/installation. ",
    ("deno",): "It comes with Deno: https://docs.deno.com/runtime/getting_started/installation/. ",
}


class McpProgramMissing(ToolFault):
    """The program cannot be found or may not be shown."""

    code = "mcp_program_missing"


@value
class ServerProgram:
    """`places` are bound read-only, without `hidden`. `first_line` is what the starter reads before it becomes the program.
    `path` is where it finds other programs."""

    argv: tuple[str, ...]
    places: tuple[str, ...]
    first_line: bytes
    hidden: tuple[str, ...] = ()
    path: str = SYSTEM_PATH


def find_program(server: McpServerConfig, data_dir: Path, *, shows_credentials: bool = True) -> ServerProgram:
    """Returns the program and what it sees: with `shows_credentials` also those that its arguments name.

    Blocking. Raises: McpProgramMissing.
    """
    program_path = _find(server.command or "")
    if program_path is None:
        raise McpProgramMissing(_not_found(server))
    argv = (str(Path(program_path).absolute()), *server.args)
    named_paths = [
        argv[0],
        *(argument for argument in server.args if argument.startswith("/") and Path(argument).exists()),
    ]
    if not shows_credentials:
        named_paths = [path for path in named_paths if not _is_credential(Path(path))]
    needed = (needed_path for path in named_paths for needed_path in _needed(Path(path), data_dir.resolve()))
    visible_paths = _outermost(_allowed([*starter_paths(), *needed], data_dir))
    environment = {name: value.get_secret_value() for name, value in server.env.items()}
    line = first_line(argv, environment)
    hidden = tuple(_hidden_in(visible_paths, named_paths if shows_credentials else ()))
    path = ":".join(dict.fromkeys([str(Path(argv[0]).parent), *SYSTEM_PATH.split(":")]))
    return ServerProgram(argv, visible_paths, line, hidden, path)


def _find(command: str) -> str | None:
    """Searches the PATH, then where installers of programs usually put them: a server started by a desktop has a short PATH."""
    if command.startswith("~/"):
        return shutil.which(str(Path(command).expanduser()))
    return shutil.which(command) or shutil.which(command, path=":".join(_usual_folders(home_folder())))


def _usual_folders(home: Path) -> Iterable[str]:
    yield from (str(home / folder) for folder in _BELOW_HOME)
    for versions in _NODE_VERSIONS:
        yield from (str(folder) for folder in sorted(home.glob(versions), key=_version, reverse=True))
    yield from _BESIDE_PATH


def _version(folder: Path) -> tuple[int, ...]:
    """The version in a path such as .nvm/versions/node/v22.4.1/bin, to find the newest."""
    numbers = next((part[1:].split(".") for part in folder.parts if part[:1] == "v" and part[1:2].isdecimal()), [])
    return tuple(int(number) for number in numbers if number.isdecimal())


def _not_found(server: McpServerConfig) -> str:
    command = (server.command or "")[:200]
    how = next((text for names, text in _HOW_TO_GET.items() if command in names), "")
    return (
        f"The program '{command}' of the MCP server '{server.name}' is not found, neither in the PATH nor in the usual folders, such as "
        f"~/.local/bin. {how}Name it by its full path, if it is elsewhere."
    )


def _needed(path: Path, data_dir: Path) -> Iterable[str]:
    """The path, where it leads, and the folder that each is installed in; of a virtual environment also its Python.

    A package of npm finds the packages that it needs in the folders above it, so its outermost `node_modules` is needed as a whole.
    """
    for candidate in dict.fromkeys((path.absolute(), path.resolve())):
        yield str(candidate)
        if "node_modules" in candidate.parts:
            yield str(Path(*candidate.parts[: candidate.parts.index("node_modules") + 1]))
            continue
        if candidate.is_dir():
            continue
        prefix = _installed_in(candidate, data_dir)
        if prefix is None:
            continue
        yield str(prefix)
        if (prefix / "pyvenv.cfg").is_file():
            python = _installed_in((prefix / "bin" / "python").resolve(), data_dir)
            yield from [] if python is None else [str(python)]


def _installed_in(program: Path, data_dir: Path) -> Path | None:
    """The folder above `bin`, or the program's own; None if that holds more than programs, as `~/.local` and `~/.cargo` do."""
    around = (program.parent.parent, program.parent) if program.parent.name == "bin" else (program.parent,)
    home = home_folder().resolve()
    fitting = (folder for folder in around if why_too_broad(folder.resolve(), home=home, data_dir=data_dir) is None)
    return next(fitting, None)


def _hidden_in(folders: Iterable[str], named_paths: Sequence[str]) -> Iterable[str]:
    """The credentials in these places, apart from what the person named, and from what lies in a folder that they named."""
    chosen = [Path(path) for path in named_paths]
    for folder in map(Path, folders):
        if folder.is_dir() and folder not in chosen:
            for secret in map(Path, _scan_of(folder).found):
                if not any(
                    secret.is_relative_to(chosen_path) or chosen_path.is_relative_to(secret) for chosen_path in chosen
                ):
                    yield str(secret)


_scans: dict[Path, SecretScan] = {}
"""By folder. Every start needs those of the Python or Node that the server is installed in: thousands of folders, seldom changed."""


def _scan_of(folder: Path) -> SecretScan:
    """Looks through the folder again only where something in it changed since the last start."""
    scan = _scans.get(folder)
    if scan is None or scan.is_outdated():
        scan = _scans[folder] = scan_folder(folder)
    return scan


def _is_credential(path: Path) -> bool:
    """Whether the path, or where it leads, holds keys or passwords by its name or its content."""
    either = (path.absolute(), path.resolve())
    by_name = any(is_secret_name(candidate) or is_key_file(str(candidate)) for candidate in either)
    return by_name or (path.is_file() and holds_secret(path))


def _allowed(paths: Iterable[str], data_dir: Path) -> Iterable[str]:
    data, home = data_dir.resolve(), home_folder().resolve()
    for path in dict.fromkeys(paths):
        folder = Path(path)
        holds_secrets = data.is_relative_to(folder.resolve()) or folder.resolve().is_relative_to(data)
        if holds_secrets or home.is_relative_to(folder.resolve()) or (folder.is_dir() and path in _NEVER_WHOLE):
            continue
        if not any(folder.is_relative_to(system) for system in _SYSTEM):
            yield path


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    folders = [Path(path) for path in paths]
    apart = [
        folder for folder in folders if not any(folder != other and folder.is_relative_to(other) for other in folders)
    ]
    return tuple(dict.fromkeys(map(str, apart)))
