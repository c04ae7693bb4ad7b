import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.workspace.ignores import Ignores
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.walk import FolderWalk

FILES = (
    "a.py",
    "b.log",
    "x/a.py",
    "x/b.log",
    "x/y/a.py",
    "x/y/z/a.py",
    "build/o",
    "x/build/o",
    "x/foo bar",
    "#h",
    "!n",
    "x/a[1]",
    "abc",
)


def ignored(text: str, path: str) -> bool:
    rules, parts = Ignores().deeper((), text), tuple(path.split("/"))
    return any(rules.ignored(parts[:n], is_folder=n < len(parts)) for n in range(1, len(parts) + 1))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True, timeout=60)
    for file in FILES:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("")
    return root


def said_by_git(root: Path, text: str) -> set[str]:
    (root / ".gitignore").write_text(text)
    asked = subprocess.run(
        ["git", "-C", root, "ls-files", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    kept = set(asked.stdout.decode().split("\0"))
    return {file for file in FILES if file not in kept}


PATTERN = st.lists(
    st.sampled_from(
        [
            "*",
            "**",
            "/",
            "a",
            "b",
            "x",
            "y",
            ".py",
            ".log",
            "build",
            "?",
            "[ab]",
            "[^a]",
            "[!x]",
            "\\#",
            "\\!",
            "!",
            "#",
            " ",
        ]
    ),
    min_size=1,
    max_size=6,
).map("".join)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(patterns=st.lists(PATTERN, min_size=1, max_size=4))
def test_ignores_what_git_ignores(repository: Path, patterns: list[str]) -> None:
    text = "\n".join(patterns) + "\n"
    assert {file for file in FILES if ignored(text, file)} == said_by_git(repository, text)


def test_a_deeper_ignore_file_overrides_and_anchors_where_it_stands(tmp_path: Path) -> None:
    for file in ("a.log", "sub/a.log", "sub/keep.log", "sub/top", "sub/deep/top", "other/top"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "sub" / ".gitignore").write_text("!keep.log\n/top\n")
    walk = FolderWalk(Jail(str(tmp_path)))
    found = {entry.place.path for entry in walk.entries(WorkspacePath(())) if entry.kind == "file"}
    assert found == {".gitignore", "sub/.gitignore", "sub/keep.log", "sub/deep/top", "other/top"}


def test_a_hostile_pattern_is_matched_in_bounded_time() -> None:
    assert not ignored("*a" * 400 + "b\n" + "**/" * 300 + "b\n", "/".join(["a" * 255] * 15))
