"""What a command may leave behind by mistake: too many files, one huge file, the longest names. The answer is a documented one.

`make test-large` makes a million files, against the real limit.
"""

import os
from pathlib import Path

import pytest

from anycowork.domain.tools import CallStatus
from anycowork.workspace.paths import LONGEST_NAME
from support.checkpoints import recorded, whole
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

EMPTY_FILES = int(os.environ.get("ANYCOWORK_LARGE_EMPTY_FILES", "600"))
MOST_PATHS = 500 if EMPTY_FILES == 600 else 100_000
LONGEST = "n" * (LONGEST_NAME - 4) + ".txt"


@pytest.fixture
def bench(tmp_path: Path) -> ToolWorkspace:
    for name in ("workspace", "outside"):
        (tmp_path / name).mkdir()
    return ToolWorkspace(tmp_path / "workspace", tmp_path / "outside", command_timeout=600.0)


@proves("TOOL-4", "OPS-4/1")
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (f"echo changed > kept.txt; seq {EMPTY_FILES} | xargs touch", f"changed more than {MOST_PATHS:,} paths"),
        ("echo changed > kept.txt; rm huge", "too many to be looked at"),
        (f"mkdir -p {'/'.join(['d' * 200] * 18)} && cd {'/'.join(['d' * 200] * 18)} && "
         f"mkdir -p {'/'.join(['e' * 200] * 4)}; true", "a path of more than 4096 bytes"),
    ],
    ids=["many empty files", "20 GB of nothing", "a path that is too long"],
)  # fmt: skip
async def test_what_is_too_much_is_dropped_as_a_whole(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch, command: str, says: str
) -> None:
    monkeypatch.setattr("anycowork.sandbox.commit.delta_scan.MOST_PATHS", MOST_PATHS)
    bench.write("kept.txt", "as it was\n")
    with (bench.root / "huge").open("wb") as huge:
        huge.truncate(20 << 30)  # it has no blocks, and nothing reads it
    result = await bench.call("execute_command", command=command)
    assert result.status is CallStatus.ERROR and says in result.content
    assert (bench.root / "huge").stat().st_size == 20 << 30
    (bench.root / "huge").unlink()
    assert result.error is not None and result.error.code == "changes_dropped"
    assert tree(bench.root) == {"kept.txt": b"as it was\n"}


@proves("TOOL-4")
async def test_a_command_that_makes_a_file_of_20_gb_is_stopped_at_the_limit(bench: ToolWorkspace) -> None:
    result = await bench.call("execute_command", command="truncate -s 20G huge; echo still here")
    assert "still here" in result.content and (bench.root / "huge").stat().st_size == 0


@proves("SNAP-2/1", "OPS-4/2")
async def test_names_of_the_greatest_length_are_committed_and_restored(tmp_path: Path) -> None:
    async with recorded(tmp_path, few_paths=1) as server:
        folder = server.root / ("d" * LONGEST_NAME)
        folder.mkdir()
        (folder / LONGEST).write_text("old\n")
        was = whole(server.root)
        before = await server.command(f"cd d*; for f in *; do echo new > $f; done; echo made > {'m' * LONGEST_NAME}")
        assert before is not None and (folder / LONGEST).read_text() == "new\n"
        assert (folder / ("m" * LONGEST_NAME)).read_text() == "made\n"
        answer = await server.restore(before)
        assert whole(server.root) == was and not answer.done.conflicts


@proves("SNAP-5/3")
async def test_a_person_who_edits_while_a_command_runs_loses_nothing(bench: ToolWorkspace) -> None:
    for number in range(40):
        bench.write(f"src/{number}.txt", "old\n")

    def edits(_: str) -> None:
        bench.write("src/7.txt", "a person's own\n")

    command = "for f in src/*; do echo new >> $f; done; echo done"
    result = await bench.call("execute_command", bench.tool_context(progress=edits), command=command)
    assert result.status is CallStatus.ERROR and "src/7.txt" in result.content
    found = tree(bench.root)
    assert found.pop("src/7.txt") == b"a person's own\n" and set(found.values()) == {"folder", b"old\n"}
