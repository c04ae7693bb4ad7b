"""Thousands of changed paths are shown in proportion: folders with counts, the first few, and by name what must be seen."""

from pathlib import Path

from anycowork.sandbox.commit.delta import FILE, Delta, PathChange, PathState
from anycowork.sandbox.commit.delta_diff import delta_diff
from anycowork.tools.command_summary import committed
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from support.checkpoints import CHAT, recorded
from support.spec import proves

ALWAYS = (".github/workflows/ci.yml", "src/0099/.env", "src/0140/api_token.txt")
FILES = 3_000


def changed(path: str) -> PathChange:
    return PathChange(WorkspacePath(tuple(path.split("/"))), None, PathState(FILE, 0o644, 3, "a" * 64))


def many() -> Delta:
    paths = [*(f"src/{number // 20:04d}/{number}.py" for number in range(FILES)), *ALWAYS]
    return Delta([changed(path) for path in sorted(paths)])


@proves("OPS-4/1", "SNAP-1")
def test_many_changes_are_told_by_folder_and_what_steers_tools_or_looks_secret_by_name(tmp_path: Path) -> None:
    delta = many()
    drawn = delta_diff(delta, tmp_path, Jail(str(tmp_path)), most_drawn=0)
    summary = committed(delta, drawn, ())
    for path in ALWAYS:
        assert path in summary.text and f"b/{path}" in drawn.text
        assert {"path": path, "change": "created"} in summary.facts["files"]  # type: ignore[operator]  # a list of JSON
    folders = summary.facts["folders"]
    assert isinstance(folders, list) and len(folders) <= 20
    assert sum(count["created"] for count in folders) == len(delta.changes) == summary.facts["changed"]  # type: ignore[call-overload, index, misc]  # JSON
    assert len(summary.text) < 5_000 and len(drawn.text) < 5_000
    assert "in the first 0 files" in summary.text


@proves("OPS-4/1")
async def test_the_whole_list_and_the_differences_of_many_files_come_page_by_page(tmp_path: Path) -> None:
    async with recorded(tmp_path, few_paths=2) as server:
        paths = [f"{number}.txt" for number in range(7)]
        for path in paths:
            (server.root / path).write_text("old\n")
        await server.command("for file in *.txt; do echo new > $file; done")
        [*_, after], _ = await server.cli.page(CHAT, before=None, limit=10)
        assert after.files == 7 and not after.lines_counted and after.to_json()["lines_counted"] is False
        seen, at = [], None
        while True:
            page = await server.cli.difference(CHAT, after.id, after=at, limit=3)
            assert page.total == 7 and page.text.count("-old\n+new\n") == len(page.files)
            seen += [file.path for file in page.files]
            if (at := page.next) is None:
                break
        assert seen == paths
        [one] = (await server.cli.difference(CHAT, after.id, path="5.txt")).files
        assert one.path == "5.txt"


async def test_lines_of_few_files_are_counted(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        await server.change(["a.txt"], lambda: (server.root / "a.txt").write_text("one\ntwo\n"))
        [before, after], _ = await server.cli.page(CHAT, before=None, limit=10)
        assert before.lines_counted and after.lines_counted and after.additions == 2
