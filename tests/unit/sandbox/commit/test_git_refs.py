"""The commits that a repository names are read from regular files inside it, and from nothing else."""

import os
from pathlib import Path

from anycowork.sandbox.layers.task_workspaces import named_commits

A, B, C = "a" * 40, "b" * 40, "c" * 64


def put(root: Path, name: str, text: str) -> None:
    path = root / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_branches_tags_and_packed_refs_are_read_and_remotes_are_not(tmp_path: Path) -> None:
    assert named_commits(tmp_path) == frozenset()
    put(tmp_path, "HEAD", "ref: refs/heads/main\n")
    put(tmp_path, "refs/heads/feature/x", f"{A}\n")
    put(tmp_path, "refs/remotes/origin/main", "d" * 40)
    put(
        tmp_path,
        "packed-refs",
        f"# pack-refs\n{B} refs/tags/v1\n{C} refs/heads/old\n{'e' * 40} refs/remotes/origin/x\n",
    )
    assert named_commits(tmp_path) == {A, B, C}


def test_links_and_pipes_in_a_repository_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "outside", "refs/heads/main", A)
    inside = tmp_path / "inside"
    put(inside, "HEAD", B)
    os.mkfifo(inside / ".git" / "packed-refs")
    (inside / ".git/refs").symlink_to(tmp_path / "outside/.git/refs")
    assert named_commits(inside) == {B}
    (tmp_path / ".git").symlink_to(tmp_path / "outside/.git")
    assert named_commits(tmp_path) == frozenset()
