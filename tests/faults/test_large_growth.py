"""Work on many files costs in proportion to their number, and work on one file does not depend on it.

CPU time of this process is compared, the least of several runs.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from anycowork.chats.files.rollback import narrowed
from anycowork.domain.path_summary import folder_counts
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.snapshots import PathImage, PathKind, Undo, in_paths
from anycowork.permissions.patterns import path_matches
from anycowork.sandbox.layers.stage import next_tick
from anycowork.sandbox.secrets import cover_watch
from anycowork.sandbox.secrets.hidden_path_index import HiddenPathIndex
from anycowork.sandbox.secrets.key_file_index import KeyFileIndex
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail
from support.spec import proves
from support.tool_workspace import ToolWorkspace

TIMES = 8
MOST = TIMES * 3  # linear, with room for a busy machine; the square would be 64


def cpu(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return max(best, 1e-4)


def undos(count: int) -> list[Undo]:
    images = [PathImage(f"src/{number // 20}/{number}.py", PathKind.FILE, "a" * 64) for number in range(count)]
    return [Undo(image, image) for image in images]


@proves("OPS-4/2")
def test_choosing_many_of_many_paths_to_restore_grows_with_their_number_alone() -> None:
    few, many = undos(500), undos(500 * TIMES)
    took = [cpu(lambda: narrowed(all_, [undo.path for undo in all_])) for all_ in (few, many)]  # noqa: B023
    assert took[1] / took[0] < MOST


def test_chosen_paths_are_those_named_and_everything_below_them() -> None:
    chosen = in_paths(undos(100), ["src/1", "/src/2/45.py", "src/3/"])
    assert [undo.path for undo in chosen] == [f"src/{n // 20}/{n}.py" for n in [*range(20, 40), 45, *range(60, 80)]]
    assert in_paths(undos(40), ["src/1/2", "rc"]) == []
    assert len(in_paths(undos(40), ["src"])) == 40


@proves("OPS-4/1")
def test_counting_by_folder_grows_with_the_number_of_paths_alone() -> None:
    few, many = ([(undo.path, "modified") for undo in undos(count)] for count in (2_000, 2_000 * TIMES))
    assert cpu(lambda: folder_counts(many)) / cpu(lambda: folder_counts(few)) < MOST


def test_counts_by_folder_cover_every_path_once() -> None:
    changes = [(undo.path, "modified") for undo in undos(200)] + [("new.txt", "created"), ("src/0/gone.py", "deleted")]
    counts = folder_counts(changes)
    assert sum(count.total for count in counts) == len(changes) and len(counts) <= 20
    assert counts[0].folder == "" and counts[0].created == 1
    assert (counts[1].folder, counts[1].modified, counts[1].deleted) == ("src/0", 20, 1)


def tree(root: Path, folders: int) -> None:
    for number in range(folders):
        (root / f"src/{number}").mkdir(parents=True)
        (root / f"src/{number}/file.py").touch()


@proves("OPS-4/3")
def test_hidden_paths_are_found_again_by_reading_only_folders_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cover_watch, "_SETTLED", -(1 << 62))  # ns: as if the folders had been made long ago
    tree(tmp_path, 30)
    jail, index, hidden = Jail(str(tmp_path)), HiddenPathIndex(), hiding("**/*.secret", "/private/**")
    read: list[object] = []
    real = os.scandir

    def counting(folder: int) -> object:
        read.append(folder)
        return real(folder)

    def masks(rules: HiddenPathRules) -> list[str]:
        read.clear()
        return sorted(mask.place.path for mask in index.masks(jail, rules))

    monkeypatch.setattr(os, "scandir", counting)
    assert masks(hidden) == [] and len(read) == 32
    assert masks(hidden) == [] and not read
    next_tick()  # a change in the same instant would not change the folder's time
    (tmp_path / "src/7/a.secret").touch()
    (tmp_path / "private").mkdir()
    assert masks(hidden) == ["private", "src/7/a.secret"] and len(read) == 2
    next_tick()
    (tmp_path / "src/7").rename(tmp_path / "src/moved")
    assert masks(hidden) == ["private", "src/moved/a.secret"] and len(read) == 2
    other = hiding("**/*.py")
    assert len(masks(other)) == 30 and len(read) > 30  # other rules: everything is looked at again
    next_tick()
    (tmp_path / "src/moved/a.secret").unlink()
    assert masks(hidden) == ["private"]


def hiding(*patterns: str) -> HiddenPathRules:
    return HiddenPathRules(patterns, lambda path: any(path_matches(pattern, f"/{path}") for pattern in patterns))


# --- workspaces with many files: `make test-large` takes 200,000 of them

FOLDERS = int(os.environ.get("ANYCOWORK_LARGE_TREE_FOLDERS", "400"))
FEW_FOLDERS = max(50, FOLDERS // 200)
PER_FOLDER = 20 if FOLDERS > 1_000 else 5


@pytest.fixture(scope="module")
def workspaces(tmp_path_factory: pytest.TempPathFactory) -> tuple[ToolWorkspace, ToolWorkspace]:
    """The same files, few and many of them; and each has one secret among the keys that commands may not read."""
    made = []
    for folders in (FEW_FOLDERS, FOLDERS):
        base = tmp_path_factory.mktemp(f"of-{folders}")
        for number in range(folders):
            folder = base / f"workspace/src/{number // 50:03}/{number:05}"
            folder.mkdir(parents=True)
            for file in range(PER_FOLDER):
                os.close(os.open(folder / f"file{file}.py", os.O_CREAT | os.O_WRONLY))
        (base / "outside").mkdir()
        (base / "workspace/src/000/00000/.env").write_text("KEY=1\n")
        made.append(ToolWorkspace(base / "workspace", base / "outside"))
    return made[0], made[1]


@proves("OPS-4/3")
@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("read_file", {"path": "src/000/00001/file1.py"}),
        ("list_directory", {"path": "src/000/00001"}),
        ("get_file_info", {"path": "src/000/00001/file1.py"}),
        ("create_file", {"path": "src/000/00001/made.py", "content": "new = 1\n"}),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_a_call_on_one_file_costs_the_same_in_any_workspace(
    workspaces: tuple[ToolWorkspace, ToolWorkspace], tool: str, parameters: dict[str, JsonValue]
) -> None:
    took = []
    for bench in workspaces:
        tries = []
        for _ in range(7):
            start = time.process_time()
            await bench.call(tool, **parameters)
            tries.append(time.process_time() - start)
            (bench.root / "src/000/00001/made.py").unlink(missing_ok=True)
        took.append(max(min(tries), 2e-4))
    assert took[1] / took[0] < 4  # with room for a busy machine; eightfold if it looked at every folder


@proves("OPS-4/3")
def test_key_files_are_found_again_at_a_few_microseconds_a_folder(
    workspaces: tuple[ToolWorkspace, ToolWorkspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one thing that looks at every folder before a command: it asks for the folder's time, and reads nothing."""
    monkeypatch.setattr(cover_watch, "_SETTLED", -(1 << 62))  # ns: as if the folders had been made long ago
    took, ratio = [], FOLDERS / FEW_FOLDERS
    for bench in workspaces:
        jail, index = Jail(str(bench.root)), KeyFileIndex()
        assert [mask.place.path for mask in index.masks(jail, lambda _: True)] == ["src/000/00000/.env"]
        took.append(cpu(lambda jail=jail, index=index: index.masks(jail, lambda _: True)))  # type: ignore[misc]
    assert took[1] / took[0] < ratio * 3


@proves("OPS-4/3")
async def test_a_search_grows_with_the_number_of_files_alone(workspaces: tuple[ToolWorkspace, ToolWorkspace]) -> None:
    for tool, parameters in _SEARCHES.items():
        took = []
        for bench in workspaces:
            tries = []
            for _ in range(2):
                start = cpu_with_programs()
                await bench.call(tool, **parameters)
                tries.append(cpu_with_programs() - start)
            took.append(max(min(tries), 1e-2))
        assert took[1] / took[0] < FOLDERS / FEW_FOLDERS * 3, tool


_SEARCHES: dict[str, dict[str, JsonValue]] = {
    "grep": {"pattern": "needle"},
    "search_code": {"query": "needle in hay"},
    "search_symbol": {"name": "needle"},
}


def cpu_with_programs() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@proves("OPS-4/3")
def test_the_list_of_files_for_a_model_looks_at_a_bounded_number_of_them(
    workspaces: tuple[ToolWorkspace, ToolWorkspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    real = os.scandir

    def counting(folder: int) -> object:
        read.append(folder)
        return real(folder)

    monkeypatch.setattr(os, "scandir", counting)
    listed, has_more = Folder(str(workspaces[1].root)).first_paths(5)
    assert len(listed) == 5 and has_more and len(read) <= 20 * 5 + 1_000
