"""A worker's trees: the next command on the same workspace gets the same tree, with exactly what its manifest names."""

import stat
from hashlib import sha256
from pathlib import Path

from anycowork.sandbox.remote.tree_manifest import FILE, FOLDER, LINK, TreeEntry
from anycowork.server.content_cache import ContentCache
from anycowork.server.tree_pool import MOST_IDLE, TreePool


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


def test_a_tree_is_used_again_and_shows_what_its_manifest_names(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path / "contents")
    pool = TreePool(tmp_path / "trees", cache)
    old = [
        TreeEntry("folder", FOLDER, 0o755),
        file(cache, "folder/a.txt", "a"),
        file(cache, "gone.txt", "g"),
        TreeEntry("link", LINK, target="gone.txt"),
    ]
    first = pool.take("/w", "", old)
    kept = (first.path / "folder/a.txt").stat().st_ino
    pool.give_back(first)
    new = [*old[:2], file(cache, "new.sh", "n", 0o755), TreeEntry("link", LINK, target="new.sh")]
    second = pool.take("/w", "", new)
    assert second.path == first.path and shown(second.path) == {"folder/a.txt": "a", "new.sh": "n", "link": "-> new.sh"}
    assert (second.path / "folder/a.txt").stat().st_ino == kept, "what did not change is left alone"
    assert stat.S_IMODE((second.path / "new.sh").stat().st_mode) == 0o755
    assert pool.take("/w", "", new).path != second.path, "one that is in use is not given out again"
    pool.give_back(second)
    [entry] = [file(cache, "folder", "a file now")]
    assert shown(pool.take("/w", "", [entry]).path) == {"folder": "a file now"}


def test_a_tree_with_a_setups_files_serves_that_setup_alone(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path / "contents")
    pool = TreePool(tmp_path / "trees", cache)
    tree = pool.take("/w", "k", [])
    (tree.path / "deps").write_text("made")
    tree.setup_key, tree.stays = "k", ["deps"]
    pool.give_back(tree)
    assert shown(pool.take("/w", "", []).path) == {} and shown(pool.take("/w", "other", []).path) == {}
    again = pool.take("/w", "k", [])
    assert shown(again.path) == {"deps": "made"} and again.stays == ["deps"]
    pool.give_back(again)
    assert shown(pool.take("/w", "k", [file(cache, "deps", "travelled")]).path) == {"deps": "travelled"}


def test_only_so_many_trees_wait(tmp_path: Path) -> None:
    pool = TreePool(tmp_path / "trees", ContentCache(tmp_path / "contents"))
    for tree in [pool.take(f"/{number}", "", []) for number in range(MOST_IDLE + 3)]:
        pool.give_back(tree)
    assert len([*(tmp_path / "trees").iterdir()]) == MOST_IDLE
