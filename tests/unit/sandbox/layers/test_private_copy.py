"""Commands where no overlay can be laid: on a private copy, with the same promises. What holds for both layers is in tools/test_shell.py."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.domain.tools import ToolResult
from anycowork.sandbox.bubblewrap import Descriptors, SandboxView, bubblewrap_arguments
from anycowork.sandbox.commit.committer import apply
from anycowork.sandbox.commit.delta import Delta, manifest
from anycowork.sandbox.commit.delta_scan import scan
from anycowork.sandbox.layers import mounts
from anycowork.sandbox.layers.private_copy import (
    CannotCopy,
    CopyManifest,
    as_layer,
    copy_workspace,
    mounts_in,
    scan_copy,
)
from anycowork.sandbox.layers.stage import Layer, Stage, Staging
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.sandbox.limits import CommandLimits
from anycowork.server import machine
from anycowork.server.machine import Bubblewrap, SandboxLevel
from anycowork.server.setup import sandbox_setup
from anycowork.server.setup.sandbox_setup import DiskBudgets, set_up_sandbox
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from support.disks import as_root, mounted
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

AMPLE = 1 << 20


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    for path in ("a.txt", "d/e.txt", "d/f/g.txt", "other/h.txt"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{path}\n")
    (root / "empty").mkdir(mode=0o750)
    (root / "link").symlink_to("a.txt")
    return root


@pytest.fixture
def stage(tmp_path: Path, root: Path) -> Stage:
    return Staging(tmp_path / "staging", tmp_path / "shared").open(runner_for(str(root)), Layer.COPY)


@pytest.fixture
def copied(root: Path, stage: Stage) -> CopyManifest:
    return copy_workspace(str(root), stage, most_bytes=AMPLE, spare=0)


def changes(delta: Delta) -> dict[str, str]:
    return {change.place.path: change.verb for change in delta.changes}


def test_a_copy_is_the_same_in_content_modes_links_and_times(root: Path, stage: Stage, copied: CopyManifest) -> None:
    assert tree(stage.upper) == tree(root)
    for path in root.rglob("*"):
        twin = stage.upper / path.relative_to(root)
        assert twin.lstat().st_mode == path.lstat().st_mode and twin.lstat().st_mtime_ns == path.lstat().st_mtime_ns
        assert path.is_dir() or twin.lstat().st_ino != path.lstat().st_ino
    assert changes(scan_copy(str(stage.upper), str(root), copied)) == {}


def test_only_what_the_command_did_is_its_change(root: Path, stage: Stage, copied: CopyManifest) -> None:
    """Whatever a person does to other paths meanwhile."""
    upper = stage.upper
    (upper / "a.txt").write_text("new\n")
    (upper / "d/f/g.txt").unlink()
    (upper / "made").mkdir()
    (root / "d/e.txt").write_text("the person's\n")
    (root / "added.txt").write_text("the person's\n")
    (root / "empty").chmod(0o700)
    shutil.rmtree(root / "other")
    delta = scan_copy(str(upper), str(root), copied)
    assert changes(delta) == {"a.txt": "modified", "d/f/g.txt": "deleted", "made": "created"}


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda root: shutil.rmtree(root / "other"),
        lambda root: (shutil.rmtree(root / "other"), (root / "other").write_text("a file now")),
        lambda root: (root / "other/h.txt").write_text("the person's"),
        lambda root: (root / "other/h.txt").unlink(),
        lambda root: (root / "other").rename(root / "moved"),
    ],
)
def test_what_a_person_changed_where_the_command_did_too_is_seen_by_its_time(
    root: Path, stage: Stage, copied: CopyManifest, meanwhile: Callable[[Path], object]
) -> None:
    (stage.upper / "other/h.txt").write_text("the command's")
    meanwhile(root)
    delta = scan_copy(str(stage.upper), str(root), copied)
    assert any(change.newest >= stage.mounted_at for change in delta.changes)


def test_a_folder_swapped_for_another_is_stated_path_by_path(root: Path, stage: Stage, copied: CopyManifest) -> None:
    upper = stage.upper
    (upper / "d").rename(upper / "was")
    (upper / "other").rename(upper / "d")
    delta = scan_copy(str(upper), str(root), copied)
    assert changes(delta) == {
        "d/e.txt": "deleted",
        "d/f": "deleted",
        "d/h.txt": "created",
        "other": "deleted",
        "was": "created",
        "was/e.txt": "created",
        "was/f": "created",
        "was/f/g.txt": "created",
    }


NAMES = st.sampled_from(["a.txt", "d", "d/e.txt", "d/f", "link", "new", "other"])
ACTIONS = st.lists(st.tuples(st.sampled_from(["write", "remove", "folder", "move", "chmod"]), NAMES, NAMES), max_size=8)


@settings(max_examples=25, deadline=None)
@given(actions=ACTIONS)
def test_committing_the_delta_of_any_actions_gives_the_copys_own_tree(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, str]]
) -> None:
    root, stage, delta = _after(tmp_path_factory.mktemp("any"), actions)
    meant = tree(stage.upper)
    assert apply(stage.folder, Jail(str(root)), manifest(delta)).conflicts == []
    assert tree(root) == meant


@settings(max_examples=25, deadline=None)
@given(actions=ACTIONS)
def test_a_copy_that_waits_says_the_same_as_a_layer_and_gives_the_same_tree(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, str]]
) -> None:
    root, stage, delta = _after(tmp_path_factory.mktemp("any"), actions)
    meant = tree(stage.upper)
    as_layer(stage.folder, delta)
    found = manifest(scan(str(stage.upper), str(root)))
    assert found == tuple(sorted(manifest(delta), key=lambda item: item.path.split("/")))
    assert apply(stage.folder, Jail(str(root)), found).conflicts == []
    assert tree(root) == meant


def test_of_a_copy_that_waits_only_what_was_written_is_kept(root: Path, stage: Stage, copied: CopyManifest) -> None:
    (stage.upper / "d/e.txt").write_text("new\n")
    (stage.upper / "d/f/g.txt").unlink()
    (stage.upper / "d/f").chmod(0o700)
    delta = scan_copy(str(stage.upper), str(root), copied)
    as_layer(stage.folder, delta)
    assert {path: kind for path, kind in tree(stage.upper).items() if kind != "folder"} == {
        "d/e.txt": b"new\n",
        "d/f/g.txt": "special",
    }
    assert sorted(path.name for path in stage.folder.iterdir()) == ["upper", "work"]


def _after(folder: Path, actions: list[tuple[str, str, str]]) -> tuple[Path, Stage, Delta]:
    """A workspace, its copy after these deeds, and what they changed."""
    root = folder / "workspace"
    (root / "d").mkdir(parents=True)
    (root / "d/e.txt").write_text("e")
    (root / "a.txt").write_text("a")
    (root / "link").symlink_to("d")
    stage = Staging(folder / "staging", folder / "shared").open(runner_for(str(root)), Layer.COPY)
    copied = copy_workspace(str(root), stage, most_bytes=AMPLE, spare=0)
    for action in actions:
        _do(stage.upper, *action)
    return root, stage, scan_copy(str(stage.upper), str(root), copied)


def _do(folder: Path, verb: str, name: str, other: str) -> None:
    path = folder / name
    try:
        match verb:
            case "write":
                path.write_text(f"written to {name}")
            case "remove":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            case "folder":
                path.mkdir(parents=True)
            case "move":
                path.rename(folder / other)
            case "chmod":
                path.chmod(0o700)
    except OSError:
        pass  # not possible as things stand


# --- the bounds


def test_a_workspace_too_large_for_a_copy_runs_no_command_and_the_way_out_is_named(root: Path, stage: Stage) -> None:
    with pytest.raises(CannotCopy, match=r"more than 10 bytes .* Raise 'command_copy_bytes'"):
        copy_workspace(str(root), stage, most_bytes=10, spare=0)
    assert tree(stage.upper) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_workspace_with_a_file_that_cannot_be_read_is_not_copied_in_part(root: Path, stage: Stage) -> None:
    (root / "a.txt").chmod(0)
    with pytest.raises(CannotCopy, match=r"a\.txt could not be copied"):
        copy_workspace(str(root), stage, most_bytes=AMPLE, spare=0)


def test_pipes_and_sockets_are_done_without(root: Path, stage: Stage) -> None:
    os.mkfifo(root / "pipe")
    copied = copy_workspace(str(root), stage, most_bytes=AMPLE, spare=0)
    assert not (stage.upper / "pipe").exists()
    assert changes(scan_copy(str(stage.upper), str(root), copied)) == {}


async def test_what_conflicts_is_kept_without_the_rest_of_the_copy(tmp_path: Path, root: Path) -> None:
    bench = ToolWorkspace(root, tmp_path, layer=Layer.COPY)
    begun: asyncio.Queue[str] = asyncio.Queue()
    tool_context = bench.tool_context(progress=begun.put_nowait)
    prepared = await bench.prepare("execute_command", command="echo mine > a.txt; echo on; sleep 0.3")
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(bench.run(prepared, tool_context))
        await begun.get()
        bench.write("a.txt", "the person's\n")
    assert task.result().facts["dropped"] == "conflict"
    [kept] = (tmp_path / "data/staging/kept").iterdir()
    assert tree(kept / "upper") == {"a.txt": b"mine\n"}


# --- when it is used


async def run(bench: ToolWorkspace, command: str) -> ToolResult:
    return await bench.call("execute_command", command=command)


@pytest.fixture
def another(root: Path) -> Iterator[Path]:
    """A workspace with another file system in it."""
    point = root / "d/f"
    with mounted(point, "-t", "tmpfs", "none"):
        (point / "inside.txt").write_text("in the mount\n")
        yield point


@as_root
async def test_a_workspace_with_a_mount_in_it_is_copied(tmp_path: Path, root: Path, another: Path) -> None:
    bench = ToolWorkspace(root, tmp_path)
    result = await run(bench, "cat d/f/inside.txt; echo new > d/f/inside.txt; echo 1 > made")
    assert result.content.startswith("in the mount\n") and result.facts["layer"] == "copy"
    assert (another / "inside.txt").read_text() == "new\n" and (root / "made").read_text() == "1\n"
    assert bench.sandbox.layer_for(str(root)) is Layer.COPY, "the next command does not try again"


@as_root
@pytest.mark.parametrize("name", ["a\u2028b", "a\x0cb", "a\x85b", "a\rb", "a\nb", "a b"])
def test_a_mount_is_found_whatever_its_name(root: Path, name: str) -> None:
    (root / name).mkdir()
    with mounted(root / name, "-t", "tmpfs", "none"):
        assert list(mounts_in(str(root))) == [WorkspacePath((name,))]
        assert mounts._is_in_memory((root / name).stat().st_dev)


@as_root
async def test_a_mount_is_not_taken_away_with_the_folder_around_it(tmp_path: Path, root: Path, another: Path) -> None:
    before = tree(root)
    result = await run(ToolWorkspace(root, tmp_path), "rm -r d; touch made")
    assert (
        result.facts["dropped"] == "changes_dropped" and "'d/f', where another file system is mounted" in result.content
    )
    assert tree(root) == before


async def test_a_sandbox_that_cannot_lay_an_overlay_runs_the_command_once_on_a_copy(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = ToolWorkspace(root, tmp_path)
    monkeypatch.setattr(bench.sandbox, "_bwrap", _without_overlays(bench.sandbox._bwrap, tmp_path))
    monkeypatch.setattr(mounts, "_programs", lambda: None)
    result = await run(bench, "echo once >> a.txt")
    assert result.facts["layer"] == "copy" and (root / "a.txt").read_text() == "a.txt\nonce\n"


def _without_overlays(bwrap: str, folder: Path) -> str:
    """Bubblewrap as on a file system that can be no upper layer, or in a version before 0.11."""
    script = folder / "old/bwrap"
    script.parent.mkdir()
    script.write_text(
        '#!/bin/sh\nfor word; do case $word in --overlay*|--tmp-overlay) echo "bwrap: Unknown option $word" >&2; exit 1;; esac; done\n'
        f'exec {bwrap} "$@"\n'
    )
    script.chmod(0o755)
    return str(script)


@proves("CLI-3")
@pytest.mark.parametrize("knows_overlay", [True, False])
def test_a_machine_without_overlays_has_the_full_level_on_copies_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows_overlay: bool
) -> None:
    """One that knows the words and fails (Docker), and one that does not know them (Debian 12)."""
    real = machine.find_bubblewrap()
    assert real is not None
    script = _without_overlays(real.path, tmp_path)
    monkeypatch.setattr(sandbox_setup, "find_bubblewrap", lambda: Bubblewrap(script, knows_overlay, works=True))
    found = set_up_sandbox(tmp_path / "data", DiskBudgets(copied=1234))
    assert found.level is SandboxLevel.FULL and found.layer is Layer.COPY
    assert "on a private copy of the workspace" in found.summary
    told = found.as_json()
    lack = next(line for line in found.does_not if "private copy" in line)
    assert told["layer"] == "copy" and "--overlay" in lack and "more than 1 KB (command_copy_bytes)" in lack


def test_the_words_for_a_copy_need_no_overlay_and_show_the_copy_alone(stage: Stage, root: Path) -> None:
    for kept in (True, False):
        around = SandboxView(str(root), stage, root.parent / "cache", cache_kept=kept)
        words = bubblewrap_arguments("bwrap", around, CommandLimits(), Descriptors(seccomp=5, status=6))
        assert not [word for word in words if "overlay" in word]
        assert words[words.index(str(stage.upper)) - 1 :][:3] == ["--bind", str(stage.upper), str(root)]


def test_a_bubblewrap_that_works_is_chosen_over_one_that_only_knows_more(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"/broken": Bubblewrap("/broken", overlay=True, works=False), "/old": Bubblewrap("/old", False, True)}
    monkeypatch.setattr(machine, "_bubblewrap_paths", lambda: list(known))
    monkeypatch.setattr(machine, "_tried", known.__getitem__)
    assert machine.find_bubblewrap() == known["/old"]
    known["/new"] = Bubblewrap("/new", overlay=True, works=True)
    assert machine.find_bubblewrap() == known["/new"]
