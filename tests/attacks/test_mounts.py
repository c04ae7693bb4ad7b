"""Attempts to make the kernel mount something else than what was asked for: long paths, odd names, layers that were swapped."""

import os
from pathlib import Path

import pytest

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.layers.mounts import LONGEST_OPTIONS, Overlay
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

SECRET = "the secret of the folder above"


def bench_at(root: Path, tmp_path: Path) -> ToolWorkspace:
    """Its stages lie on a short path, as those of a server do."""
    (tmp_path / "w").mkdir()
    (tmp_path / "outside").mkdir()
    bench = ToolWorkspace(tmp_path / "w", tmp_path / "outside")
    root.mkdir(parents=True, exist_ok=True)
    bench.root = root
    return bench


def long_path(start: str, length: int, slash_at: int) -> Path:
    """A path of this length with a slash at this place, in folders of at most 200 letters."""
    path = start
    while len(path) < length:
        end = slash_at if len(path) < slash_at else length
        left = end - len(path) - 1
        path += "/" + "d" * (left if left <= 200 else 150)
    assert path[slash_at] == "/" and len(path) == length
    return Path(path)


@proves("TOOL-4")
@pytest.mark.parametrize("length", [3_000, 3_400, 3_700, 3_800, 3_850, 3_900, 4_000])
async def test_no_length_of_a_path_shows_a_folder_above_the_workspace(tmp_path: Path, length: int) -> None:
    upper = len(f"{tmp_path}/data/staging/runs/0123456789abcdef/upper")
    before = len("upperdir=/oldroot,workdir=/oldroot,lowerdir=/oldroot") + upper * 2 - 1
    # A page without its last byte is read: there an ancestor's name ends.
    root = long_path(f"{tmp_path}/t", length, min(4_095 - before, length - 100))
    bench = bench_at(root, tmp_path)
    for above in root.parents:
        if above.is_relative_to(tmp_path / "t"):
            (above / "secret").write_text(SECRET)
    (root / "own.txt").write_text("own words\n")
    try:
        result = await bench.call("execute_command", command="cat own.txt; ls; cat secret; echo made > made")
    except ToolFault as error:
        assert "too long" in error.message
        return
    assert SECRET not in result.content and "own words" in result.content
    assert sorted(tree(root)) == ["made", "own.txt"]


ODD = [
    "a,b", "a:b", "a\\b", "a b", "a\\054b", "a,1", "a%sb%d", "a=b", "a#b", "it's", 'a"b', "a$(touch GOT)b", "a`touch GOT`", "a*b",
    "[a-z]?", "a\nb", "a\tb", "ä→b", "a;b|c&d", "a, b:c\\d e", ",lowerdir=", ":", ",", "\\", "-x", "~", "\x7f", os.fsdecode(b"a\xffb"),
]  # fmt: skip


@proves("TOOL-4")
@pytest.mark.parametrize("name", ODD, ids=ascii)
async def test_an_odd_name_of_the_workspace_mounts_that_folder_and_no_other(tmp_path: Path, name: str) -> None:
    bench = bench_at(tmp_path / "t" / name, tmp_path)
    (bench.root.parent / "secret").write_text(SECRET)
    (bench.root / "own.txt").write_text("own words\n")
    result = await bench.call("execute_command", command="cat own.txt; cat ../secret; echo made > made")
    assert SECRET not in result.content and "own words" in result.content
    assert result.facts["layer"] == "overlay", "it was mounted, and the check inside knew it"
    assert sorted(tree(bench.root)) == ["made", "own.txt"]
    assert not list(tmp_path.rglob("GOT"))


@pytest.mark.parametrize("name", ["a" * 100, "," * 100, "\\" * 100, "ä" * 100])
def test_the_bound_counts_bytes_and_escapes(name: str) -> None:
    lower = "/" + "/".join([name] * 30)
    given = sum(2 if char in ",:\\" else len(char.encode()) for char in lower)
    for more in range(0, 4_000, 7):
        overlay = Overlay((lower,), lower, upper="/u" + "x" * more, work="/w")
        real = given + 8 * 3 + 2 + more + 2 + len("upperdir=,workdir=,lowerdir=,userxattr")
        assert not overlay.fits() or real <= LONGEST_OPTIONS
