"""MCP servers that others wrote, as people install them: pinned, from npm and PyPI. `scripts/interop.py mcp` installs them once."""

import os
import signal
import socket
import subprocess
import sys
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import ioctl
from functools import cache
from pathlib import Path
from termios import FIONREAD
from typing import Any  # a test's own words

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "interop" / "mcp"
PACKAGES = FOLDER / "node_modules" / "@modelcontextprotocol"
PYTHON_PROGRAMS = ROOT / ".venv" / "interop" / "mcp" / "bin"
EVERYTHING = PACKAGES / "server-everything" / "dist" / "index.js"


def install_servers() -> None:
    """Quick once it is done; the first time it takes half a minute."""
    subprocess.run([sys.executable, str(ROOT / "scripts" / "interop.py"), "mcp"], check=True, timeout=100)


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


@contextmanager
def remote_everything(how: str, port: int | None = None) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """The everything server on a port, by `sse` or `streamableHttp`: its address, and its process."""
    port = port or free_port()
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def signal_programs(config: dict[str, Any], number: signal.Signals) -> int:
    """Sends the signal to every process of this server's program; how many there were."""
    found = 0
    for process in _processes(config):
        with suppress(OSError):
            os.kill(process, number)
            found += 1
    return found


def has_unread_input(config: dict[str, Any]) -> bool:
    """Whether something was written to the program that it has not read: sure to stay so while it is stopped."""
    return any(_unread_bytes(pipe) for process in _processes(config) for pipe in _inputs(process))


def _inputs(process: int) -> Iterator[str]:
    """The pipes that it reads from: a program may keep its input under another number."""
    for place in Path(f"/proc/{process}/fd").glob("*"):
        with suppress(OSError):
            flags = Path(f"/proc/{process}/fdinfo/{place.name}").read_text().split("flags:")[1].split()[0]
            if place.readlink().name.startswith("pipe:") and int(flags, 8) & os.O_ACCMODE == os.O_RDONLY:
                yield str(place)


def _unread_bytes(pipe: str) -> int:
    unread = array("i", [0])
    with suppress(OSError):
        opened = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            ioctl(opened, FIONREAD, unread)
        finally:
            os.close(opened)
    return unread[0]


def _processes(config: dict[str, Any]) -> Iterator[int]:
    """Those whose command line ends as this server's does; the same program with another last word is another server's."""
    end = str(config["args"][-1] if config["args"] else config["command"]).encode()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if place.read_bytes().removesuffix(b"\0").split(b"\0")[-1] == end:
                yield int(place.parent.name)
