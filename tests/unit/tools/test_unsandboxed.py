import asyncio
import os
from pathlib import Path

import pytest

from anycowork.domain.errors import Forbidden
from anycowork.domain.roles import Permission
from anycowork.domain.tools import CallStatus, Intent
from anycowork.tools import execute_command
from anycowork.tools.toolbox import built_in_tools
from support.processes import ready_to_read
from support.tool_workspace import EVERYTHING, ToolWorkspace


@pytest.fixture
def bench(bench: ToolWorkspace) -> ToolWorkspace:
    """A machine that gives no sandbox."""
    bench.toolbox = built_in_tools(None, command_timeout=lambda: 5.0, sandbox=None)
    return bench


TESTER = frozenset({Permission.READ_FILES, Permission.EXECUTE_COMMANDS})


async def is_gone(pid: int) -> bool:
    """Waits for the end of a process that is not ours to wait for."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(await asyncio.to_thread(ready_to_read, handle, seconds=60))
    finally:
        os.close(handle)


async def test_a_command_runs_in_the_workspace_with_its_output_in_order(bench: ToolWorkspace) -> None:
    prepared = await bench.prepare("execute_command", command="pwd; echo err >&2; echo out; touch made")
    assert prepared.resource == "command:pwd; echo err >&2; echo out; touch made"
    assert prepared.intent == Intent(command="pwd; echo err >&2; echo out; touch made") and prepared.state == ""
    result = await bench.run(prepared)
    assert result.content.startswith(f"{bench.root}\nerr\nout\nexit code 0\nIt ran without a sandbox")
    assert result.facts["sandbox"] == "none"
    assert result.status is CallStatus.OK and result.facts["exit_code"] == 0 and (bench.root / "made").exists()


async def test_a_failing_command_is_an_error_with_its_exit_code(bench: ToolWorkspace) -> None:
    result = await bench.call("execute_command", command="echo no; exit 3")
    assert (
        result.status is CallStatus.ERROR
        and result.content.startswith("no\nexit code 3")
        and result.facts["exit_code"] == 3
    )
    assert result.error is not None and (result.error.code, result.error.retryable) == ("command_failed", True)


async def test_a_command_that_looks_like_an_option_is_still_a_command(bench: ToolWorkspace) -> None:
    result = await bench.call("execute_command", command="-i --version")
    assert result.facts["exit_code"] == 127 and "command not found" in result.content


async def test_nothing_of_the_servers_environment_reaches_a_command(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYCOWORK_TOKEN", "s3cret")
    monkeypatch.setenv("BASH_ENV", "/nowhere")
    result = await bench.call("execute_command", command="env | cut -d= -f1 | sort; echo $HOME; ls -A $HOME; cat")
    names = set(result.content.split("\n"))
    assert {"HOME", "LANG", "PATH", "TERM"} <= names and not names & {"ANYCOWORK_TOKEN", "BASH_ENV", "USER"}
    home = next(line for line in result.content.split("\n") if line.startswith("/"))
    assert home != os.environ.get("HOME") and not Path(home).exists()


async def test_a_command_past_its_time_is_ended_with_all_its_children(bench: ToolWorkspace) -> None:
    command = "trap '' TERM; sleep 300 & echo $! > pid; echo begun; sleep 300; sleep 300"
    result = await bench.call("execute_command", command=command, timeout=3.0)  # time to begin
    assert result.status is CallStatus.ERROR and result.error is not None and result.error.code == "timed_out"
    assert result.content.startswith("begun\nStopped:")
    assert await is_gone(int((bench.root / "pid").read_text()))


async def test_background_processes_do_not_outlive_their_command(bench: ToolWorkspace) -> None:
    result = await bench.call("execute_command", command="sleep 300 & echo $!")
    assert result.status is CallStatus.OK
    assert await is_gone(int(result.content.split("\n")[0]))


async def test_stopping_kills_at_once(bench: ToolWorkspace) -> None:
    begun: asyncio.Queue[str] = asyncio.Queue()
    tool_context = bench.tool_context(progress=begun.put_nowait)
    prepared = await bench.prepare("execute_command", command="trap '' TERM; echo $$; while :; do sleep 0.1; done")
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(bench.run(prepared, tool_context))
        pid = int(await begun.get())
        task.cancel()
    assert task.cancelled() and await is_gone(pid)


async def test_endless_output_is_stopped_and_what_came_is_kept(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute_command, "MOST_OUTPUT", 100_000)
    result = await bench.call("execute_command", command="yes")
    assert result.status is CallStatus.ERROR and result.content.startswith("y\n" * 50_000)
    assert "printed more than 100,000 bytes" in result.content


async def test_progress_is_told_as_text_while_it_runs(bench: ToolWorkspace) -> None:
    told: list[str] = []
    await bench.call(
        "execute_command", bench.tool_context(progress=told.append), command="printf 'a\\xc3'; printf '\\xa9b'"
    )
    assert "".join(told) == "aéb"


@pytest.mark.parametrize("missing", [Permission.CREATE_FILES, Permission.WRITE_FILES, Permission.DELETE_FILES])
async def test_a_role_that_may_not_change_files_runs_no_unsandboxed_command(
    bench: ToolWorkspace, missing: Permission
) -> None:
    allowed = await bench.prepare("execute_command", command="touch made")
    for permissions in (TESTER, EVERYTHING - {missing}):
        with pytest.raises(Forbidden, match="sandbox"):
            await bench.prepare("execute_command", bench.tool_context(permissions=permissions), command="touch made")
        with pytest.raises(Forbidden):
            await bench.run(allowed, bench.tool_context(permissions=permissions))
    assert not (bench.root / "made").exists()
