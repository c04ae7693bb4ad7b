"""What opening a folder costs does not grow with the workspace, and a page of a huge folder costs no more than its names."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from anycowork.files.browser import read_folder, read_names
from anycowork.workspace.folder import Folder
from support.spec import proves

FOLDERS, FILES = 100, 50


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, Folder]:
    """The same top folder: once with one file in each of its folders, once with many; and one folder with all of them."""
    small, large = tmp_path_factory.mktemp("small"), tmp_path_factory.mktemp("large")
    for root, files in ((small, 1), (large, FILES)):
        for number in range(FOLDERS):
            (root / f"folder-{number:03}").mkdir()
            for at in range(files):
                _touch(root / f"folder-{number:03}" / f"file-{at:04}.txt")
    (large / "flat").mkdir()
    for at in range(FOLDERS * FILES):
        _touch(large / "flat" / f"{at:06}.txt")
    return Folder(str(small)), Folder(str(large))


def _touch(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))


def cpu(work: Callable[[], object]) -> float:
    """The least CPU time of several tries."""
    tries = []
    for _ in range(5):
        began = time.thread_time()
        work()
        tries.append(time.thread_time() - began)
    return min(tries)


@proves("UI-10")
def test_opening_a_tree_of_10_000_files_costs_what_its_first_folder_costs(trees: tuple[Folder, Folder]) -> None:
    small, large = trees
    costs = [cpu(lambda root=root: read_folder(root, ".", cursor=None, limit=500)) for root in trees]
    assert costs[1] < 4 * costs[0]
    names = cpu(lambda: read_names(large))
    assert cpu(lambda: read_folder(large, "flat", cursor=None, limit=100)) < names
    assert len(read_names(small).paths) == 2 * FOLDERS


@proves("UI-10")
def test_the_pages_of_a_huge_folder_give_every_name_once(trees: tuple[Folder, Folder]) -> None:
    _, large = trees
    seen: list[str] = []
    cursor = None
    while True:
        page = read_folder(large, "flat", cursor=cursor, limit=1000)
        seen += [entry.name for entry in page.entries]
        cursor = page.next
        if cursor is None:
            break
    assert seen == sorted(seen) and len(set(seen)) == page.total == FOLDERS * FILES


def test_names_beyond_the_limit_are_said_to_be_missing(trees: tuple[Folder, Folder]) -> None:
    found = read_names(trees[1], most=500)
    assert not found.complete and len(found.paths) == 500
