"""The watch over covers notices every file that may not be read and is not covered, in any order of changes, and nothing else."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anycowork.domain.path_class import is_key_file
from anycowork.domain.ports import HiddenPathRules
from anycowork.sandbox.layers.stage import Layer, Stage
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.sandbox.secrets import cover_watch
from anycowork.sandbox.secrets.hidden_path_index import HiddenPathIndex
from anycowork.sandbox.secrets.key_file_index import KeyFileIndex
from anycowork.sandbox.secrets.masks import MaskedPaths, cover
from anycowork.workspace.jail import Jail

KEY_FILES = HiddenPathRules(withholds=is_key_file)
FOLDERS = ("", "a", "a/b", "c")
NAMES = (".env", "x.key", "notes.txt", "main.py")
paths = st.builds(lambda folder, name: f"{folder}/{name}".lstrip("/"), st.sampled_from(FOLDERS), st.sampled_from(NAMES))
changes = st.lists(
    st.one_of(
        st.tuples(st.just("write"), paths, paths),
        st.tuples(st.just("remove"), paths, paths),
        st.tuples(st.just("rename"), paths, paths),
        st.tuples(st.just("link"), paths, paths),
        st.tuples(st.just("move_folder"), st.sampled_from(FOLDERS[1:]), st.sampled_from(("d", "c", "a/e"))),
    ),
    max_size=8,
)


@contextmanager
def watched(root: Path, hidden: HiddenPathRules = KEY_FILES, layer: Layer | None = None) -> Iterator[MaskedPaths]:
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), runner_for(str(root)), 0, etc=Path(folder), layer=layer)
        covered = cover(Jail(str(root)), stage, hidden, KeyFileIndex(), HiddenPathIndex())
        try:
            yield covered
        finally:
            covered.close()


def key_files(root: Path) -> dict[str, int]:
    found = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.stat().st_ino for path in found if is_key_file(path.name)}


def change(root: Path, kind: str, source: str, target: str) -> None:
    try:
        match kind:
            case "write":
                (root / source).write_text("x")
            case "remove":
                (root / source).unlink()
            case "rename" | "move_folder":
                (root / source).rename(root / target)
            case "link":
                os.link(root / source, root / target)
    except OSError:
        return  # there is nothing to change


@pytest.mark.parametrize("is_blind", [False, True])
@settings(max_examples=60, deadline=None)
@given(before=changes, after=changes)
@example(before=[("write", "notes.txt", "")], after=[("rename", "notes.txt", ".env")])
@example(before=[("write", ".env", ""), ("write", "c/notes.txt", "")], after=[("rename", "c/notes.txt", ".env")])
@example(before=[("write", "main.py", "")], after=[("link", "main.py", "a/b/x.key")])
@example(before=[("write", "c/notes.txt", "")], after=[("move_folder", "c", "d"), ("rename", "d/notes.txt", "d/.env")])
def test_whatever_is_changed_no_key_file_is_there_uncovered_and_unnoticed(
    is_blind: bool, before: list[tuple[str, str, str]], after: list[tuple[str, str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if is_blind:
            patch.setattr(cover_watch, "open_notifications", lambda: None)
        root = Path(folder)
        for name in FOLDERS[1:]:
            (root / name).mkdir(exist_ok=True)
        for each in before:
            change(root, *each)
        with watched(root) as covered:
            inodes = set(key_files(root).values())
            for each in after:
                change(root, *each)
            is_uncovered = any(inode not in inodes for inode in key_files(root).values())
            assert not (is_uncovered and covered.is_intact()), "a key file came and was not noticed"


def test_a_key_file_that_came_and_went_is_noticed(tmp_path: Path) -> None:
    with watched(tmp_path) as covered:
        (tmp_path / ".env").write_text("x")
        (tmp_path / ".env").unlink()
        assert not covered.is_intact()


def test_a_second_name_of_a_covered_file_is_noticed(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("x")
    with watched(tmp_path) as covered:
        os.link(tmp_path / ".env", tmp_path / "notes.txt")
        assert not covered.is_intact()


def test_ordinary_work_is_not_noticed(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("old")
    with watched(tmp_path) as covered:
        (tmp_path / ".env").write_text("new, in place")
        (tmp_path / "src/deep").mkdir(parents=True)
        (tmp_path / "src/deep/main.py").write_text("x")
        (tmp_path / "src").rename(tmp_path / "lib")
        assert covered.is_intact()
        (tmp_path / "lib/deep/.env.local").write_text("x")
        assert not covered.is_intact(), "a folder that came later is watched, too"


def test_what_a_rule_hides_is_noticed_where_no_folder_was(tmp_path: Path) -> None:
    hidden = HiddenPathRules(("/private/plan.md",), lambda path: path == "private/plan.md")
    with watched(tmp_path, hidden) as covered:
        (tmp_path / "private").mkdir()
        assert covered.is_intact()
        (tmp_path / "private/plan.md").write_text("x")
        assert not covered.is_intact()


def test_too_many_changes_to_follow_count_as_one(tmp_path: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    with watched(tmp_path) as covered:
        for number in range(limit + 10):
            (tmp_path / f"{number % 2}").touch()
            (tmp_path / f"{number % 2}").unlink()
        assert not covered.is_intact()
