"""The program of a stdio server: where it lies, what of this machine it sees, and the arguments that start it in the sandbox.

The person named the program, so it may lie anywhere. It is bound read-only, with the folders it is installed in; a folder that
holds the server's data, the person's home or the settings of many programs is never bound as a whole. Credentials in the folders that
the person did not name are covered.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.values import value
from anycowork.sandbox.bubblewrap import HOME
from anycowork.sandbox.secret_paths import secrets_inside
from anycowork.sandbox.stage import DEVICES
from anycowork.sandbox.toolchains import why_too_broad
from anycowork.sandbox.workspaces import home_folder
from anycowork.workspace import landlock

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
_SCRATCH = ("/tmp", HOME, "/dev/shm", "/dev/pts", *(f"/dev/{name}" for name in DEVICES))
# What to run and its environment come as the first line of stdin: a secret among them must not stand in a process list.
# Held to its scratch folders first: a pipe in the workspace takes what is written into it, however read-only the mount is.
_START = """
import json, os, sys
if len(sys.argv) > 1:
    own = {'__name__': 'landlock'}
    exec(open(sys.argv[1]).read(), own)
    own['write_only_in'](sys.argv[2].split(':'), apart_from=os.getcwd())
line = b''
while not line.endswith(b'\\n'):
    piece = os.read(0, 1)
    if not piece:
        sys.exit(1)
    line += piece
told = json.loads(line)
os.environ.update(told['env'])
os.execv(told['argv'][0], told['argv'])
"""


class McpProgramMissing(ToolFault):
    """The program cannot be found or may not be shown."""

    code = "mcp_program_missing"


@value
class ServerProgram:
    """`places` are bound read-only, without `hidden`. `first_line` is what the starter reads before it becomes the program."""

    argv: tuple[str, ...]
    places: tuple[str, ...]
    first_line: bytes
    hidden: tuple[str, ...] = ()


def find_program(server: McpServerConfig, data_dir: Path) -> ServerProgram:
    """Blocking. Raises: McpProgramMissing."""
    command = server.command or ""
    found = shutil.which(str(Path(command).expanduser()) if command.startswith("~/") else command)
    if found is None:
        raise McpProgramMissing(
            f"The program '{command[:200]}' of the MCP server '{server.name}' is not found. Name it by its full path."
        )
    argv = (str(Path(found).absolute()), *server.args)
    named = [argv[0], *(argument for argument in server.args if argument.startswith("/") and Path(argument).exists())]
    own = [str(Path(sys.base_prefix).resolve()), str(Path(landlock.__file__).resolve())]
    needed = (place for path in named for place in _needed(Path(path), data_dir.resolve()))
    places = _outermost(_allowed([*own, *needed], data_dir))
    environment = {name: value.get_secret_value() for name, value in server.env.items()}
    line = json.dumps({"argv": argv, "env": environment}).encode() + b"\n"
    return ServerProgram(argv, places, line, tuple(_hidden_in(places, named)))


def start_words(*, held: bool) -> str:
    """The command for the sandbox's shell. `held`: it sees a workspace, and may write into its scratch folders alone."""
    rules = [str(Path(landlock.__file__).resolve()), ":".join(_SCRATCH)] if held else []
    return "exec " + shlex.join([str(Path(sys.executable).resolve()), "-I", "-S", "-B", "-c", _START, *rules])


def _needed(path: Path, data_dir: Path) -> Iterable[str]:
    """The path, where it leads, and the folder that each is installed in; of a virtual environment also its Python.

    A package of npm finds the packages that it needs in the folders above it, so its outermost `node_modules` is needed as a whole.
    """
    for one in dict.fromkeys((path.absolute(), path.resolve())):
        yield str(one)
        if "node_modules" in one.parts:
            yield str(Path(*one.parts[: one.parts.index("node_modules") + 1]))
            continue
        if one.is_dir():
            continue
        prefix = _installed_in(one, data_dir)
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
    fitting = (one for one in around if why_too_broad(one.resolve(), home=home, data_dir=data_dir) is None)
    return next(fitting, None)


def _hidden_in(places: Iterable[str], named: Sequence[str]) -> Iterable[str]:
    """The credentials in these places, apart from what the person named, and from what lies in a folder that they named."""
    chosen = [Path(path) for path in named]
    for place in map(Path, places):
        if place.is_dir() and place not in chosen:
            for found in secrets_inside(place):
                if not any(found.is_relative_to(one) or one.is_relative_to(found) for one in chosen):
                    yield str(found)


def _allowed(paths: Iterable[str], data_dir: Path) -> Iterable[str]:
    data, home = data_dir.resolve(), home_folder().resolve()
    for path in dict.fromkeys(paths):
        place = Path(path)
        holds_secrets = data.is_relative_to(place.resolve()) or place.resolve().is_relative_to(data)
        if holds_secrets or home.is_relative_to(place.resolve()) or (place.is_dir() and path in _NEVER_WHOLE):
            continue
        if not any(place.is_relative_to(system) for system in _SYSTEM):
            yield path


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    places = [Path(path) for path in paths]
    apart = [one for one in places if not any(one != other and one.is_relative_to(other) for other in places)]
    return tuple(dict.fromkeys(map(str, apart)))
