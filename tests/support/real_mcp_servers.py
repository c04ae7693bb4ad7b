"""MCP servers that others wrote, as people install them: pinned, from npm and PyPI. `scripts/interop.py mcp` installs them once."""

import os
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import ioctl
from functools import cache
from pathlib import Path
from termios import FIONREAD
from typing import Any  # a test's own words

from support.processes import command_line, descendants, is_stopped

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "interop" / "mcp"
PACKAGES = FOLDER / "node_modules" / "@modelcontextprotocol"
PYTHON_PROGRAMS = ROOT / ".venv" / "interop" / "mcp" / "bin"
OLDER_PROGRAMS = ROOT / ".venv" / "interop" / "mcp-older" / "bin"
EVERYTHING = PACKAGES / "server-everything" / "dist" / "index.js"


def install_servers(which: str = "mcp") -> None:
    """Quick once it is done; the first time it takes half a minute."""
    subprocess.run([sys.executable, str(ROOT / "scripts" / "interop.py"), which], check=True, timeout=240)


@cache
def node() -> str:
    """The Node that the web UI is built with."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import webui; print(webui.find_node())"
    words = [sys.executable, "-c", code, str(ROOT / "scripts")]
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def node_server(package: str, *args: str, **config: Any) -> dict[str, Any]:
    """The body that configures this package of npm, named after it."""
    program = str(PACKAGES / f"server-{package}" / "dist" / "index.js")
    return {"name": package, "command": node(), "args": [program, *args], **config}


def python_server(name: str, *args: str, **config: Any) -> dict[str, Any]:
    return {"name": name, "command": str(PYTHON_PROGRAMS / f"mcp-server-{name}"), "args": list(args), **config}


def older_server(name: str, *args: str, **config: Any) -> dict[str, Any]:
    """One that was written with the first generation of the protocol's library."""
    install_servers("older-mcp")
    return {"name": name, "command": str(OLDER_PROGRAMS / f"mcp-server-{name}"), "args": list(args), **config}


@contextmanager
def remote_everything(how: str, port: int) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """The everything server on a port, by `sse` or `streamableHttp`: its address, and its process."""
    process = subprocess.Popen(
        [node(), str(EVERYTHING), how],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}/{'sse' if how == 'sse' else 'mcp'}", process
    finally:
        process.kill()
        process.wait()


class StoppedPrograms:
    """This server's programs, each stopped: what is written to one stays unread."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._programs = programs(config)
        for process in self._programs:
            os.kill(process, signal.SIGSTOP)
        deadline = time.monotonic() + 30
        while not all(map(is_stopped, self._programs)):
            assert time.monotonic() < deadline, "a program was not stopped"
        self._unread = self._unread_bytes()

    def __bool__(self) -> bool:
        return bool(self._programs)

    def have_more_to_read(self) -> bool:
        """Whether something was written to one of them since they were stopped."""
        return self._unread_bytes() > self._unread

    def _unread_bytes(self) -> int:
        return sum(_unread_bytes(pipe) for process in self._programs for pipe in _inputs(process))


def kill_programs(config: dict[str, Any]) -> None:
    for process in programs(config):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def programs(config: dict[str, Any]) -> list[int]:
    """The processes of this server below this process: their command line ends as its own does."""
    end = str(config["args"][-1] if config["args"] else config["command"])
    return [process for process in descendants() if command_line(process)[-1:] == [end]]


def _inputs(process: int) -> Iterator[str]:
    """The pipes that it reads and this process writes: a program may keep its input under another number, and has pipes of its own,
    some of which always hold a byte (Node's)."""
    written = {name for name, _ in _pipes("self", os.O_WRONLY)}
    return (path for name, path in _pipes(str(process), os.O_RDONLY) if name in written)


def _pipes(process: str, mode: int) -> Iterator[tuple[str, str]]:
    for place in Path(f"/proc/{process}/fd").glob("*"):
        with suppress(OSError):
            flags = Path(f"/proc/{process}/fdinfo/{place.name}").read_text().split("flags:")[1].split()[0]
            if (name := place.readlink().name).startswith("pipe:") and int(flags, 8) & os.O_ACCMODE == mode:
                yield name, str(place)


def _unread_bytes(pipe: str) -> int:
    unread = array("i", [0])
    with suppress(OSError):
        opened = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            ioctl(opened, FIONREAD, unread)
        finally:
            os.close(opened)
    return unread[0]
