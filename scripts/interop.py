"""Installs the real clients that the interop tests speak with, each pinned, into a folder of its own. Standard library only.

python scripts/interop.py sdk         OpenAI's client for Node, into tests/interop/sdk/node_modules
python scripts/interop.py mcp         MCP servers by others and the conformance suite, into tests/interop/mcp/node_modules and .venv/interop
python scripts/interop.py older-mcp   an MCP server of the first generation, into .venv/interop
python scripts/interop.py clients     llm, aider and opencode, into .venv/interop
python scripts/interop.py agents      opencode, and other vendors' agents that need Node, into .venv/interop
"""

import fcntl
import hashlib
import subprocess
import sys
from pathlib import Path

from webui import NoNode, find_node, npm

ROOT = Path(__file__).resolve().parents[1]
INTEROP = ROOT / "tests" / "interop"
CLIENTS = ROOT / ".venv" / "interop"
_NPM_CI = ("ci", "--no-audit", "--no-fund", "--loglevel=error")


def install_sdk() -> None:
    """Nothing is run but npm itself: the package needs no install script."""
    folder = INTEROP / "sdk"
    _once(
        folder / "node_modules" / ".installed", folder / "package-lock.json", lambda: _npm(folder, "--ignore-scripts")
    )


def install_mcp() -> None:
    """As above for Node; the servers written in Python get an environment of their own."""
    folder = INTEROP / "mcp"
    _once(
        folder / "node_modules" / ".installed", folder / "package-lock.json", lambda: _npm(folder, "--ignore-scripts")
    )
    _python_servers(CLIENTS / "mcp", folder / "servers.txt")


def install_older_mcp() -> None:
    """A server that was written with the first generation of the protocol's library."""
    _python_servers(CLIENTS / "mcp-older", INTEROP / "mcp" / "older.txt")


def _python_servers(place: Path, pinned: Path) -> None:
    _once(place / ".installed", pinned, lambda: _python_client(place, pinned))
    # The sandbox lets them write no bytecode: uncompiled, each start would take a CPU second longer.
    _once(place / ".compiled", pinned, lambda: _run(place / "bin" / "python", "-m", "compileall", "-q", place / "lib"))


def install_clients() -> None:
    for name in ("llm", "aider"):
        place, pinned = CLIENTS / name, INTEROP / "clients" / f"{name}.txt"
        _once(place / ".installed", pinned, lambda place=place, pinned=pinned: _python_client(place, pinned))
    _install_packed("opencode", "clients")


def install_agents() -> None:
    """Nothing is run but npm itself: what the agents compile or download when they are installed, they can do without."""
    _install_packed("opencode", "clients")
    _install_packed("agents", "agents")


def _install_packed(name: str, locked_in: str) -> None:
    place, lock = CLIENTS / name, INTEROP / locked_in / "package-lock.json"
    _once(place / ".installed", lock, lambda: _node_client(place, lock))


def _once(stamp: Path, lock: Path, install) -> None:  # type: ignore[no-untyped-def]  # a script: any callable
    """Installs unless it was done from this very lock. Of several processes that want it, one installs and the others wait."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if stamp.is_file() and stamp.read_text() == digest:
            return
        print(f"==> Installing {lock.parent.relative_to(ROOT)}/{lock.name}", flush=True)
        install()
        stamp.write_text(digest)


def _python_client(place: Path, pinned: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, place)
    _run(uv, "pip", "install", "--quiet", "--python", place / "bin" / "python", "--require-hashes", "-r", pinned)


def _node_client(place: Path, lock: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        (place / name).write_bytes((lock.parent / name).read_bytes())
    _npm(place, "--ignore-scripts")


def _npm(folder: Path, *more: str) -> None:
    subprocess.run([*npm(), *_NPM_CI, *more], cwd=folder, check=True, timeout=600)


def _run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, timeout=600)


def main(words: list[str]) -> int:
    try:
        match words:
            case ["sdk"]:
                install_sdk()
            case ["mcp"]:
                install_mcp()
            case ["older-mcp"]:
                install_older_mcp()
            case ["clients"]:
                install_clients()
            case ["agents"]:
                install_agents()
            case _:
                print(__doc__, file=sys.stderr)
                return 2
        find_node()
    except (NoNode, OSError, subprocess.SubprocessError) as error:
        print(f"interop: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
