"""Folders that grow by use are held to their bounds, and nothing that is in use goes."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.sandbox.cache_limits import UNWEIGHABLE, Caches, folder_size, keep_newest
from anycowork.sandbox.layers.stage import Staging
from support.spec import proves

MIB = 1 << 20


def filled(folder: Path, *, bytes_: int = MIB, used: int | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data").write_bytes(os.urandom(bytes_))
    if used is not None:
        os.utime(folder / "data", (used, used))
    return folder


def test_a_weight_is_what_the_disk_gives_and_no_link_is_followed(tmp_path: Path) -> None:
    outside = filled(tmp_path / "outside", bytes_=4 * MIB)
    inside = filled(tmp_path / "inside")
    alone = folder_size(inside).bytes
    assert MIB <= alone < 2 * MIB
    os.link(inside / "data", inside / "again")
    (inside / "link").symlink_to(outside)
    assert folder_size(inside).bytes < 2 * MIB
    assert folder_size(inside / "link").bytes == 0 and folder_size(tmp_path / "missing").bytes == 0


def test_what_is_too_deep_counts_as_too_heavy(tmp_path: Path) -> None:
    (tmp_path / "top" / "/".join("d" * 150)).mkdir(parents=True)
    assert folder_size(tmp_path / "top").bytes == UNWEIGHABLE


@proves("SNAP-3")
def test_the_cache_that_was_used_longest_ago_goes_first_and_as_a_whole(tmp_path: Path) -> None:
    workspaces = [tmp_path / "one", tmp_path / "two"]
    old, newer = filled(workspaces[0] / "npm", used=1_000), filled(workspaces[0] / "pip", used=3_000)
    middle, newest = filled(workspaces[1] / "npm", used=2_000), filled(workspaces[1] / "uv", used=4_000)
    assert Caches(most=2 * MIB + 100_000).trim(workspaces) == 2
    assert not old.exists() and not middle.exists()
    assert (newer / "data").stat().st_size == (newest / "data").stat().st_size == MIB
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_cache_that_a_command_sees_is_left_alone_until_it_ends(tmp_path: Path) -> None:
    used, idle = tmp_path / "used", tmp_path / "idle"
    filled(used / "npm", used=1_000)
    filled(idle / "npm", used=2_000)
    caches = Caches(most=1)
    with caches.lent(used):
        assert caches.trim([used, idle]) == 1
        assert (used / "npm/data").exists() and not (idle / "npm").exists()
    assert caches.trim([used, idle]) == 1
    assert not (used / "npm").exists()


def test_what_grew_since_it_was_weighed_is_weighed_again(tmp_path: Path) -> None:
    cache = tmp_path / "one"
    filled(cache / "small", bytes_=1_000)
    caches = Caches(most=MIB)
    assert caches.trim([cache]) == 0
    with caches.lent(cache):
        filled(cache / "large", bytes_=2 * MIB, used=1_000)
    assert caches.trim([cache]) == 1
    assert [path.name for path in cache.iterdir()] == ["small"]


@pytest.mark.parametrize("shape", ["file", "link"])
def test_what_is_no_folder_goes_too_and_a_link_alone(tmp_path: Path, shape: str) -> None:
    outside, cache = filled(tmp_path / "outside", used=5), tmp_path / "caches/one"
    cache.mkdir(parents=True)
    if shape == "file":
        (cache / "thing").write_bytes(os.urandom(MIB))
    else:
        filled(cache / "other", used=9_000_000_000)
        (cache / "thing").symlink_to(outside)
    Caches(most=1).trim([cache])
    assert not (cache / "thing").is_symlink() and not (cache / "thing").exists()
    assert (outside / "data").stat().st_size == MIB


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 120))
def test_of_what_was_put_aside_the_newest_stays_and_the_rest_fits(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], most: int
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    places = [filled(folder / str(at), bytes_=size * 4096) for at, size in enumerate(sizes)]
    for at, place in enumerate(places):
        os.utime(place, (at, at))
    gone = keep_newest(places, most=most * 4096)
    left = [place for place in places if place.exists()]
    assert places[-1] in left and set(left) == set(places) - set(gone)
    assert len(left) == 1 or sum(folder_size(place).bytes for place in left) <= most * 4096


@proves("SNAP-4", "OPS-2")
def test_what_was_put_aside_is_held_to_its_bound(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "staging", tmp_path / "shared", most_kept=2 * MIB + 100_000)
    kept = []
    for number in range(4):
        run = filled(tmp_path / "staging/runs" / str(number))
        os.utime(run, (9_000_000_000, 9_000_000_000))  # a command can give its folder any time
        kept.append(staging.keep(run))
    assert [place.exists() for place in kept] == [False, False, True, True]


def test_a_server_removes_what_a_killed_one_left_half_removed(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "staging", tmp_path / "shared")
    left = filled(tmp_path / "staging/caches/.going-0123")
    own = filled(tmp_path / "staging/caches/own/pip")
    (tmp_path / "staging").chmod(0o700)
    staging.tidy()
    assert left.exists()
    staging.tidy(anew=True)
    assert not left.exists() and (own / "data").exists()
