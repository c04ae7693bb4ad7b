"""Layers that are mounted without syncs, before bubblewrap starts. Skipped where the kernel or the disk does not allow it."""

import os
import subprocess
from pathlib import Path

import pytest

from anycowork.sandbox.layers import mounts
from anycowork.sandbox.layers.mounts import Overlay, VolatileLayers, mount_words, mountable
from anycowork.sandbox.layers.stage import remove_stage
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree
from unit.agent.test_cost_of_a_step import counting

SHOW = "grep ' - overlay ' /proc/self/mountinfo; id -u; echo more >> a.txt; echo new > made; rm gone"
FEW = 60  # function calls; a tree of unknown content takes hundreds


@pytest.fixture
def bench(tmp_path: Path) -> ToolWorkspace:
    (tmp_path / "workspace").mkdir()
    bench = ToolWorkspace(tmp_path / "workspace", tmp_path)
    for name in ("a.txt", "gone"):
        (bench.root / name).write_text("old\n")
    return bench


def require_volatile(bench: ToolWorkspace) -> None:
    stage = bench.sandbox.staging.open(mounts.Runner(os.geteuid(), os.getegid()))
    if VolatileLayers().prepared(stage, []).mount is None:
        pytest.skip("no volatile layer can be mounted here")


def is_volatile(mounts: str) -> bool:
    return ",volatile," in mounts or ",fsync=volatile," in mounts  # older and newer kernels


@proves("TOOL-4")
async def test_a_command_works_in_a_layer_that_the_kernel_does_not_sync(bench: ToolWorkspace) -> None:
    require_volatile(bench)
    result = await bench.call("execute_command", command=SHOW)
    assert result.facts["layer"] == "overlay" and is_volatile(result.content)
    assert f"\n{os.geteuid()}\n" in result.content, "the command's user is the usual one"
    assert tree(bench.root) == {"a.txt": b"old\nmore\n", "made": b"new\n"}


async def test_a_stage_with_such_a_layer_leaves_nothing(bench: ToolWorkspace) -> None:
    before = set((bench.sandbox.staging.folders.private / "runs").glob("*"))
    await bench.call("execute_command", command="true")
    assert set((bench.sandbox.staging.folders.private / "runs").glob("*")) == before


def test_a_stage_that_nothing_was_written_to_is_removed_by_its_names(bench: ToolWorkspace) -> None:
    require_volatile(bench)
    root, sandbox = str(bench.root), bench.sandbox
    stage = VolatileLayers().prepared(sandbox.staging.open(mounts.Runner(os.geteuid(), os.getegid())), [])
    with sandbox.launch("true", root, stage, cache_kept=False) as launch:
        subprocess.run(launch.argv, stdin=launch.stdin, pass_fds=launch.fds, env={}, cwd="/", timeout=10, check=True)
    with counting() as count:
        remove_stage(stage.folder)
    assert not stage.folder.exists()
    assert count.calls < FEW, "a tree of unknown content is opened, renamed and listed, folder by folder"


async def test_without_the_programs_bubblewrap_mounts_the_layer(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "_programs", lambda: None)
    result = await bench.call("execute_command", command=SHOW)
    assert result.facts["layer"] == "overlay" and not is_volatile(result.content)
    assert tree(bench.root) == {"a.txt": b"old\nmore\n", "made": b"new\n"}


def test_a_kernel_that_refuses_the_option_is_not_asked_again(
    bench: ToolWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    refusing = tmp_path / "unshare"
    refusing.write_text(f"#!/bin/sh\necho >> {calls}\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(mounts, "_programs", lambda: (str(refusing), "/bin/mount"))
    monkeypatch.setattr(mounts, "_is_in_memory", lambda device: False)
    layers = VolatileLayers()
    for _ in range(2):
        stage = bench.sandbox.staging.open(mounts.Runner(os.geteuid(), os.getegid()))
        assert layers.prepared(stage, []).mount is None
    assert calls.read_text() == "\n"


@pytest.mark.parametrize("name", ["a,b", "a:b", "a\\b", 'a"b', "ä", "a\nb", "d" * 251])
def test_a_path_that_mount_would_read_otherwise_is_left_to_bubblewrap(name: str) -> None:
    plain = Overlay(("/w",), "/w", upper="/u", work="/k")
    assert mountable(plain) and mount_words(plain) == []
    assert not mountable(Overlay((f"/{name}",), "/w", upper="/u", work="/k"))
    assert not mountable(Overlay(("/w",), "/w", upper=f"/{name}/upper", work="/k"))
