import asyncio
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import pytest

from anycowork.domain.errors import ToolFault
from anycowork.domain.roles import Permission
from anycowork.domain.snapshots import ReplacedFile
from anycowork.domain.tools import CallStatus, Intent, ToolResult
from anycowork.sandbox.layers.stage import Layer
from anycowork.tools import execute_command
from support.sandboxes import running
from support.spec import proves
from support.tool_workspace import EVERYTHING, ToolWorkspace, tree

TESTER = frozenset({Permission.READ_FILES, Permission.EXECUTE_COMMANDS})
CREATOR = TESTER | {Permission.CREATE_FILES}


async def run(
    bench: ToolWorkspace, command: str, permissions: frozenset[Permission] = EVERYTHING, **more: object
) -> ToolResult:
    return await bench.call("execute_command", bench.tool_context(permissions=permissions, **more), command=command)


@pytest.fixture(params=Layer, ids=str)
def layer(request: pytest.FixtureRequest) -> Layer:
    """Everything here holds for both."""
    return Layer(request.param)


@pytest.fixture
def marker() -> str:
    return f"marker-{secrets.token_hex(8)}"


@proves("SNAP-4")
async def test_what_a_command_changed_is_committed_together_and_told(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "old\n")
    bench.write("gone.txt", "x\n")
    command = "pwd; echo err >&2; echo out; echo new > a.txt; rm gone.txt; mkdir -p d/empty; ln -s ../a.txt d/link; chmod 755 a.txt"
    prepared = await bench.prepare("execute_command", command=command)
    assert prepared.resource == f"command:{command}" and prepared.state == ""
    assert prepared.intent == Intent(command=command, contained=True)
    result = await bench.run(prepared)
    assert result.status is CallStatus.OK and result.content.startswith(
        f"{bench.root}\nerr\nout\nexit code 0\nChanged (+1 −2 "
    )
    assert "M a.txt" in result.content and "D gone.txt" in result.content and "A d/empty" in result.content
    assert result.diff is not None and "-old\n+new\n" in result.diff
    assert result.facts["exit_code"] == 0 and result.facts["sandbox"] == "full" and result.facts["layer"] == bench.layer
    assert ("on a private copy of the workspace" in result.content) is (bench.layer is Layer.COPY)
    assert (result.facts["additions"], result.facts["deletions"]) == (1, 2)
    assert {"path": "gone.txt", "change": "deleted"} in result.facts["files"]  # type: ignore[operator]
    assert tree(bench.root) == {"a.txt": b"new\n", "d": "folder", "d/empty": "folder", "d/link": "-> ../a.txt"}
    assert (bench.root / "a.txt").stat().st_mode & 0o777 == 0o755


async def test_a_removed_folder_counts_as_the_files_in_it_and_shows_their_lines(bench: ToolWorkspace) -> None:
    for number in range(12):
        bench.write(f"notes/n{number}.txt", "one\ntwo\n")
    for number in range(7):
        bench.write(f"docs/sub/d{number}.md", "x\n")
    result = await run(bench, "rm -r notes docs")
    assert "Changed (+0 −31 lines):\nD docs with 7 files in it\nD notes with 12 files in it" in result.content
    assert (result.facts["changed"], result.facts["deletions"]) == (19, 31)
    assert result.diff is not None and "--- a/docs/sub/d3.md\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n" in result.diff
    assert "in it:" not in result.diff


async def test_files_of_a_removed_folder_that_may_hold_secrets_or_are_many_are_listed_by_name(
    bench: ToolWorkspace,
) -> None:
    bench.write("old/.env", "KEY=not-shown\n")
    for number in range(210):
        bench.write(f"old/{number:03}.txt", "x\n")
    result = await run(bench, "rm -r old", named=lambda path: True)
    assert result.diff is not None and "KEY" not in result.diff
    assert result.diff.count("\n-x\n") == 199  # the folder itself is one of 200
    assert "with 12 more files in it:\n  old/.env\n  old/199.txt\n" in result.diff
    assert "Changed (at least +0 −199 lines):" in result.content
    assert result.facts["changed"] == 211


async def test_a_file_that_no_longer_parses_is_told_at_once(bench: ToolWorkspace) -> None:
    bench.write("old.json", "{}")
    command = "echo 'def f(:' > calc.py; echo '{half' > data.json; echo 'a = 1' > fine.py; rm old.json"
    done = await bench.run(await bench.prepare("execute_command", command=command))
    assert done.status is CallStatus.OK
    assert "'calc.py': It does not parse as Python: line 1" in done.content
    assert "'data.json': It does not load as JSON" in done.content
    assert "fine.py':" not in done.content and "old.json':" not in done.content
    assert done.facts["check"]["ok"] is False  # type: ignore[index, call-overload]


async def test_the_commit_is_written_down_before_anything_moves(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "old\n")
    seen: list[tuple[Intent, bytes, bytes]] = []

    async def intend(intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
        assert intent.staged is not None
        staged = Path(intent.staged, "upper/a.txt").read_bytes()
        seen.append((intent, (bench.root / "a.txt").read_bytes(), staged))

    await run(bench, "echo new > a.txt", intend=intend)
    [(intent, on_disk, staged)] = seen
    assert (on_disk, staged) == (b"old\n", b"new\n") and [item.path for item in intent.paths] == ["a.txt"]
    assert intent.staged is not None and not Path(intent.staged).exists()


async def test_a_commit_that_cannot_be_written_down_is_not_made_and_its_stage_stays(bench: ToolWorkspace) -> None:
    async def intend(intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run(bench, "echo new > made", intend=intend)
    assert tree(bench.root) == {} and len(list((bench.root.parent / "data/staging/runs").iterdir())) == 1


async def test_a_commit_that_is_refused_on_the_way_leaves_nothing_behind(bench: ToolWorkspace) -> None:
    async def intend(intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
        raise ToolFault("no room for its images")

    with pytest.raises(ToolFault, match="no room"):
        await run(bench, "echo new > made", intend=intend)
    assert tree(bench.root) == {} and list((bench.root.parent / "data/staging/runs").iterdir()) == []


async def test_a_failing_command_keeps_what_it_changed_and_says_its_exit_code(bench: ToolWorkspace) -> None:
    result = await run(bench, "echo no; touch made; exit 3")
    assert (
        result.status is CallStatus.ERROR
        and result.content.startswith("no\nexit code 3\n")
        and result.facts["exit_code"] == 3
    )
    assert result.error is not None and (result.error.code, result.error.retryable) == ("command_failed", True)
    assert (bench.root / "made").exists()


async def test_a_command_that_looks_like_an_option_is_still_a_command(bench: ToolWorkspace) -> None:
    result = await run(bench, "-i --version")
    assert result.facts["exit_code"] == 127 and "command not found" in result.content


async def test_nothing_of_the_servers_environment_reaches_a_command(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYCOWORK_TOKEN", "s3cret")
    monkeypatch.setenv("BASH_ENV", "/nowhere")
    result = await run(bench, "env; cat /proc/*/environ | tr '\\0' '\\n'; ls -A $HOME; cat")
    assert "s3cret" not in result.content and "BASH_ENV" not in result.content
    assert "HOME=/home/sandbox" in result.content and result.status is CallStatus.OK


@proves("TOOL-4")
async def test_a_command_past_its_time_is_ended_with_all_its_children_and_changes_nothing(
    bench: ToolWorkspace, marker: str
) -> None:
    command = f"trap '' TERM; touch made; (exec -a {marker} sleep 300) & echo begun; sleep 300; sleep 300"
    result = await bench.call("execute_command", command=command, timeout=3.0)  # time to begin
    assert result.status is CallStatus.ERROR and result.error is not None and result.error.code == "timed_out"
    assert result.content.startswith("begun\nStopped:") and "dropped" in result.content and "kill %1" in result.content
    assert running(marker) == [] and tree(bench.root) == {}


@proves("TOOL-4")
async def test_a_timeout_in_the_call_never_exceeds_the_setting(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    bench = ToolWorkspace(tmp_path / "workspace", tmp_path / "outside", command_timeout=0.5)
    result = await bench.call("execute_command", command="sleep 300", timeout=3000)
    assert result.error is not None and result.error.code == "timed_out"
    assert "after 0.5 seconds" in result.content and "command_timeout" in result.content


@proves("TOOL-4")
async def test_background_processes_do_not_outlive_their_command(bench: ToolWorkspace, marker: str) -> None:
    command = f"(setsid bash -c 'exec -a {marker} sleep 300' &) ; (exec -a {marker} sleep 300) & disown; echo on"
    result = await run(bench, command)
    assert result.status is CallStatus.OK and result.content.startswith("on\nexit code 0")
    assert running(marker) == []


async def test_stopping_kills_at_once_and_changes_nothing(bench: ToolWorkspace, marker: str) -> None:
    begun: asyncio.Queue[str] = asyncio.Queue()
    tool_context = bench.tool_context(progress=begun.put_nowait)
    command = f"trap '' TERM; touch made; echo on; while :; do (exec -a {marker} sleep 0.1); done"
    prepared = await bench.prepare("execute_command", command=command)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(bench.run(prepared, tool_context))
        assert await begun.get() == "on\n"
        task.cancel()
    assert task.cancelled() and running(marker) == [] and tree(bench.root) == {}
    assert list((bench.root.parent / "data/staging/runs").iterdir()) == []


@proves("TOOL-4")
async def test_endless_output_is_stopped_and_what_came_is_kept(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute_command, "MOST_OUTPUT", 100_000)
    result = await run(bench, "touch made; yes")
    assert result.status is CallStatus.ERROR and result.content.startswith("y\n" * 50_000)
    assert "printed more than 100,000 bytes" in result.content and tree(bench.root) == {}


async def test_progress_is_told_as_text_while_it_runs(bench: ToolWorkspace) -> None:
    told: list[str] = []
    await run(bench, "printf 'a\\xc3'; printf '\\xa9b'", progress=told.append)
    assert "".join(told) == "aéb"


@proves("ROL-5/6", "TOOL-4", "SNAP-4")
async def test_a_testers_command_runs_and_leaves_not_a_byte_behind(bench: ToolWorkspace) -> None:
    bench.write("src/app.py", "print(1)\n")
    before = tree(bench.root)
    result = await run(bench, "python3 src/app.py; echo x > report; rm -r src; mkdir -p .git/hooks; ls", TESTER)
    assert result.status is CallStatus.OK and result.content.startswith(
        "1\nreport\nexit code 0\nThis role may not change"
    )
    assert result.facts["files"] == [] and tree(bench.root) == before and bench.intended == []


@proves("ROL-5/6")
async def test_a_testers_command_leaves_nothing_in_the_cache_for_others(bench: ToolWorkspace) -> None:
    await run(bench, "echo mine > ~/.cache/kept")
    result = await run(bench, "cat ~/.cache/kept; echo other > ~/.cache/kept; cat ~/.cache/kept", TESTER)
    seen = "mine" if bench.layer is Layer.OVERLAY else "cat: /home/sandbox/.cache/kept: No such file or directory"
    assert result.content.startswith(f"{seen}\nother\n")
    assert (await run(bench, "cat ~/.cache/kept")).content.startswith("mine\nexit code 0")


@pytest.mark.parametrize(
    ("command", "kept"),
    [("echo x > new; mkdir d", True), ("echo x > old", False), ("rm old; touch new", False), ("mv old new", False)],
)
async def test_a_role_that_may_only_create_commits_new_paths_alone(
    bench: ToolWorkspace, command: str, kept: bool
) -> None:
    bench.write("old", "1")
    before = tree(bench.root)
    result = await run(bench, command, CREATOR)
    assert (tree(bench.root) != before) is kept
    assert (result.status is CallStatus.OK) is kept and (kept or result.facts["dropped"] == "forbidden_by_role")


@proves("SNAP-4")
async def test_what_changed_underneath_meanwhile_is_a_conflict_and_never_overwritten(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "old\n")
    begun: asyncio.Queue[str] = asyncio.Queue()
    tool_context = bench.tool_context(progress=begun.put_nowait)
    command = "echo mine > a.txt; echo also > b.txt; echo on; until [ -e /tmp/never ]; do read -t 0.2 <> <(:); break; done; sleep 0.3"
    prepared = await bench.prepare("execute_command", command=command)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(bench.run(prepared, tool_context))
        await begun.get()
        bench.write("a.txt", "the person's\n")
    result = task.result()
    assert tree(bench.root) == {"a.txt": b"the person's\n"}
    assert result.status is CallStatus.ERROR and result.facts["dropped"] == "conflict" and "'a.txt'" in result.content
    kept = next((bench.root.parent / "data/staging/kept").iterdir())
    assert (kept / "upper/a.txt").read_bytes() == b"mine\n" and str(kept) in result.content


async def test_a_change_just_before_the_command_is_no_conflict(bench: ToolWorkspace) -> None:
    for round_ in range(5):
        bench.write("a.txt", f"{round_}\n")
        assert (await run(bench, "echo more >> a.txt; touch new; rm new")).status is CallStatus.OK
        assert (bench.root / "a.txt").read_bytes() == f"{round_}\nmore\n".encode()


async def test_a_command_may_commit_but_not_steer_git(bench: ToolWorkspace) -> None:
    setup = "git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first"
    assert os.system(f"cd {bench.root} && {setup}") == 0
    bench.write("a.txt", "1\n")
    command = "git add a.txt && git -c user.name=a -c user.email=a@b commit -q -m second && git log --format=%s"
    result = await run(bench, command)
    assert result.status is CallStatus.OK and result.content.startswith("second\nfirst\nexit code 0")
    refused = await run(bench, "git config core.fsmonitor /tmp/x; touch made")
    assert refused.facts["dropped"] == "never_path" and "'.git/config'" in refused.content
    assert not (bench.root / "made").exists() and "fsmonitor" not in (bench.root / ".git/config").read_text()


async def test_a_steering_file_needs_a_persons_word_or_a_plan_that_names_it(bench: ToolWorkspace) -> None:
    command = "echo x > AGENTS.md; touch other"
    refused = await run(bench, command)
    assert refused.facts["dropped"] == "needs_a_persons_word" and "'AGENTS.md'" in refused.content
    assert "tools for files" in refused.content and tree(bench.root) == {}
    allowed = await run(bench, command, named=lambda path: path == "AGENTS.md")
    assert allowed.status is CallStatus.OK and set(tree(bench.root)) == {"AGENTS.md", "other"}


async def test_a_workspace_with_an_awkward_name_works(tmp_path: Path) -> None:
    root = tmp_path / "a b,c:d\\e'f\"g é"
    (tmp_path / "outside").mkdir()
    root.mkdir()
    bench = ToolWorkspace(root, tmp_path / "outside")
    result = await run(bench, "pwd; echo 1 > made")
    assert result.content.startswith(f"{root}\n") and (root / "made").read_bytes() == b"1\n"


async def test_a_machine_without_room_stops_the_command(bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.sandbox, "limits", bench.sandbox.limits.__class__(free_space=1 << 60))
    if bench.layer is Layer.COPY:
        with pytest.raises(ToolFault, match="no room for another"):
            await run(bench, "touch made")
        return
    result = await run(bench, "touch made; sleep 300")
    assert result.error is not None and "disk was nearly full" in result.content and tree(bench.root) == {}
