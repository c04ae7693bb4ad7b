"""A worker's trees: the next command on the same workspace gets the same tree, with exactly what its manifest names."""

import stat
from hashlib import sha256
from pathlib import Path

import pytest

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.remote.tree_manifest import FILE, FOLDER, LINK, BadManifest, TreeChanges, TreeEntry
from anycowork.server.worker_cache import MOST_IDLE, ContentCache, LaidTree, TreePool


def file(cache: ContentCache, path: str, text: str, mode: int = 0o644) -> TreeEntry:
    content = text.encode()
    cache.add(name := sha256(content).hexdigest(), content)
    return TreeEntry(path, FILE, mode, name, len(content))


def shown(tree: Path) -> dict[str, str]:
    return {
        str(path.relative_to(tree)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in tree.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def laid(pool: TreePool, root: str, setup_key: str, entries: list[TreeEntry]) -> LaidTree:
    """As a worker lays a tree: what differs from the one that is here, or all of it into a new one."""
    tree = pool.take(root, setup_key)
    new = {entry.path: entry for entry in entries}
    try:
        pool.update(tree, "run", TreeChanges.between(tree.entries, new))
    except ToolFault:
        pool.update(tree := pool.empty(root), "run", TreeChanges(entries, []))
    return tree


def test_a_tree_is_used_again_and_shows_what_its_manifest_names(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path / "contents")
    pool = TreePool(tmp_path / "trees", cache)
    old = [
        TreeEntry("folder", FOLDER, 0o755),
        file(cache, "folder/a.txt", "a"),
        file(cache, "gone.txt", "g"),
        TreeEntry("link", LINK, target="gone.txt"),
    ]
    first = laid(pool, "/w", "", old)
    kept = (first.path / "folder/a.txt").stat().st_ino
    pool.give_back(first)
    new = [*old[:2], file(cache, "new.sh", "n", 0o755), TreeEntry("link", LINK, target="new.sh")]
    second = laid(pool, "/w", "", new)
    assert second.path == first.path and shown(second.path) == {"folder/a.txt": "a", "new.sh": "n", "link": "-> new.sh"}
    assert (second.path / "folder/a.txt").stat().st_ino == kept, "what did not change is left alone"
    assert stat.S_IMODE((second.path / "new.sh").stat().st_mode) == 0o755
    assert laid(pool, "/w", "", new).path != second.path, "one that is in use is not given out again"
    pool.give_back(second)
    [entry] = [file(cache, "folder", "a file now")]
    assert shown(laid(pool, "/w", "", [entry]).path) == {"folder": "a file now"}


def test_a_tree_with_a_setups_files_serves_that_setup_alone(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path / "contents")
    pool = TreePool(tmp_path / "trees", cache)
    tree = laid(pool, "/w", "k", [])
    (tree.path / "deps").write_text("made")
    tree.setup_key, tree.stays = "k", ["deps"]
    pool.give_back(tree)
    assert shown(laid(pool, "/w", "", []).path) == {} and shown(laid(pool, "/w", "other", []).path) == {}
    again = laid(pool, "/w", "k", [])
    assert shown(again.path) == {"deps": "made"} and again.stays == ["deps"]
    pool.give_back(again)
    assert shown(laid(pool, "/w", "k", [file(cache, "deps", "travelled")]).path) == {"deps": "travelled"}


def test_only_so_many_trees_wait(tmp_path: Path) -> None:
    pool = TreePool(tmp_path / "trees", ContentCache(tmp_path / "contents"))
    for tree in [laid(pool, f"/{number}", "", []) for number in range(MOST_IDLE + 3)]:
        pool.give_back(tree)
    assert len([*(tmp_path / "trees").iterdir()]) == MOST_IDLE


@pytest.mark.parametrize(
    "changes",
    [
        TreeChanges([], ["never.txt"]),
        TreeChanges([TreeEntry("link/planted.txt", FOLDER, 0o755)], []),
        TreeChanges([TreeEntry("folder", LINK, target="/etc"), TreeEntry("folder/x", FOLDER, 0o755)], []),
        TreeChanges([TreeEntry("folder", LINK, target="/etc")], []),
    ],
    ids=["nothing there", "through a link", "through a new link", "a folder that is not empty"],
)
def test_changes_that_do_not_fit_their_tree_write_nowhere_else(tmp_path: Path, changes: TreeChanges) -> None:
    (outside := tmp_path / "outside").mkdir()
    cache = ContentCache(tmp_path / "contents")
    pool = TreePool(tmp_path / "trees", cache)
    folder = [TreeEntry("folder", FOLDER, 0o755), file(cache, "folder/a.txt", "a")]
    tree = laid(pool, "/w", "", [*folder, TreeEntry("link", LINK, target=str(outside))])
    with pytest.raises((BadManifest, OSError)):
        pool.update(tree, "next", changes)
    assert not [*outside.iterdir()] and not tree.path.exists()


def test_a_tree_that_was_never_laid_does_not_wait(tmp_path: Path) -> None:
    pool = TreePool(tmp_path / "trees", ContentCache(tmp_path / "contents"))
    pool.give_back(pool.take("/w", ""))
    assert not [*(tmp_path / "trees").iterdir()]
