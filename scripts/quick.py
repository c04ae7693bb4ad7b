"""Checks what changed since the last commit: format, lint, types, layers, and the tests that name a changed module; `make quick` runs it.

    python scripts/quick.py            what is not committed yet, new files included
    python scripts/quick.py --base REV what changed since REV

A test file is run if it changed, if it lies at a changed module's mirrored path in tests/unit, or if it is a unit test that imports the
module. Ends with the exit code of the first step that fails. It is no substitute for `make test`."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv" / "bin"
SOURCE = "src/anycowork/"
CHECKS = (
    ("Format", (BIN / "ruff", "format", "--check", "--quiet", ".")),
    ("Lint", (BIN / "ruff", "check", "--quiet", ".")),
    ("Types", (BIN / "mypy", "--no-error-summary")),
    ("Layers", (BIN / "lint-imports", "--no-logo")),
)
MOST_TEST_FILES = 40


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks and tests what changed.")
    parser.add_argument("--base", default="HEAD", help="compare with this commit (default: HEAD)")
    changed_paths = list(find_changed_paths(parser.parse_args().base))
    if not changed_paths:
        print("Nothing changed. Name an earlier commit to compare with: make quick ARGS='--base HEAD~1'")
        return 0
    print(f"==> Checking {len(changed_paths)} changed files")
    for name, command in CHECKS:
        finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if finished.returncode != 0:
            print(f"{name} failed:\n{finished.stdout}{finished.stderr}")
            return finished.returncode
    return test_web(changed_paths) or test_python(changed_paths)


def find_changed_paths(base: str) -> Iterator[str]:
    """Yields the paths that differ from `base` and still exist, files that git does not know yet included."""
    for arguments in (("diff", "--name-only", base), ("ls-files", "--others", "--exclude-standard")):
        listed = subprocess.run(("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=True)
        yield from (path for path in listed.stdout.splitlines() if (ROOT / path).is_file())


def test_web(changed_paths: list[str]) -> int:
    """Runs the web UI's unit tests that reach a changed file. Types are left to `make test`: they take a quarter of a minute."""
    web_paths = [path.removeprefix("web/") for path in changed_paths if path.startswith("web/src/")]
    if not web_paths:
        return 0
    sys.path.insert(0, str(ROOT / "scripts"))
    import webui

    print(f"==> Testing what {len(web_paths)} changed files of the web UI reach")
    node, vitest = webui.find_node(), ROOT / "web" / "node_modules" / "vitest" / "vitest.mjs"
    command = [node, vitest, "related", "--run", "--passWithNoTests", "--reporter=dot", *web_paths]
    return subprocess.run(command, cwd=ROOT / "web", check=False).returncode


def test_python(changed_paths: list[str]) -> int:
    test_files = sorted(select_test_files(changed_paths))
    if not test_files:
        print("No Python test names what changed.")
        return 0
    if len(test_files) > MOST_TEST_FILES:
        print(
            f"{len(test_files)} test files name what changed; running the {MOST_TEST_FILES} nearest. `make test` runs all."
        )
        test_files = test_files[:MOST_TEST_FILES]
    print(f"==> Running {len(test_files)} test files")
    command = [sys.executable, "-m", "pytest", "-n", "2" if len(test_files) > 2 else "0", *test_files]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def select_test_files(changed_paths: list[str]) -> set[str]:
    """Returns the test files that changed or that name a changed module."""
    selected = {path for path in changed_paths if re.fullmatch(r"tests/.*/test_\w+\.py", path)}
    modules = [module_name(path) for path in changed_paths if path.startswith(SOURCE) and path.endswith(".py")]
    if not modules:
        return selected
    mention = re.compile("|".join(rf"(?:from|import) {re.escape(module)}\b" for module in modules))
    mirrored = {mirrored_test(path) for path in changed_paths if path.startswith(SOURCE)}
    for path in (ROOT / "tests" / "unit").rglob("test_*.py"):
        relative = path.relative_to(ROOT).as_posix()
        if relative in mirrored or mention.search(path.read_text("utf-8")):
            selected.add(relative)
    return selected


def module_name(path: str) -> str:
    """Returns the dotted name: src/anycowork/agent/loop.py is anycowork.agent.loop."""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def mirrored_test(path: str) -> str:
    """Returns where the unit tests of a module lie: src/anycowork/agent/loop.py is tested in tests/unit/agent/test_loop.py."""
    module = Path(path.removeprefix(SOURCE))
    return (Path("tests/unit") / module.parent / f"test_{module.name}").as_posix()


if __name__ == "__main__":
    sys.exit(main())
