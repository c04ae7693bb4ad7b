"""How a command's processes are counted, and what its start takes."""

import os
from collections import deque
from pathlib import Path

import pytest

from anycowork.sandbox import limits
from anycowork.sandbox.limits import can_count
from anycowork.sandbox.sandbox import CommandNotStarted
from anycowork.workspace.jail import Jail
from support.tool_workspace import ToolWorkspace, tree
from unit.agent.test_cost_of_a_step import counting

MOST_CALLS = 2_450  # on the event loop's thread, for a command that changes nothing: 2,030 to 2,220; once 2,740


@pytest.fixture
def bench(tmp_path: Path) -> ToolWorkspace:
    (tmp_path / "workspace").mkdir()
    return ToolWorkspace(tmp_path / "workspace", tmp_path)


async def test_a_command_starts_only_the_programs_that_mount_its_layer_confine_it_and_run_it(
    bench: ToolWorkspace,
) -> None:
    async with bench.sandbox.begin(Jail(str(bench.root))) as transaction:
        with bench.sandbox.launch("true", str(bench.root), transaction.stage, cache_kept=False) as launch:
            programs = [Path(word).name for word in launch.argv if Path(word).is_file() and os.access(word, os.X_OK)]
    assert programs in (["unshare", "sh", "mount", "bwrap", "bash"], ["bwrap", "bash"])


async def test_a_command_that_changes_nothing_calls_few_functions(bench: ToolWorkspace) -> None:
    await bench.call("execute_command", command="true")  # what a server does at its first command only
    with counting() as count:
        await bench.call("execute_command", command="true")
    assert 0 < count.calls < MOST_CALLS


@pytest.mark.skipif(not can_count(), reason="groups of processes can be made by root, where there is a writable cgroup")
async def test_every_process_of_a_command_of_root_is_counted_and_cannot_add_others(bench: ToolWorkspace) -> None:
    result = await bench.call("execute_command", command="cat /proc/self/cgroup; ls -l /proc/*/fd; true | cat")
    assert "/anycowork-" in result.content and "cgroup.procs" not in result.content


async def test_a_command_that_cannot_join_its_group_does_not_start(
    bench: ToolWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "group"
    group.mkdir()
    (group / "cgroup.procs").symlink_to("/dev/full")  # takes no process
    monkeypatch.setattr(limits, "_idle", deque())
    monkeypatch.setattr(limits, "_make_groups", lambda name, limits: [group])
    with pytest.raises(CommandNotStarted, match="write error"):
        await bench.call("execute_command", command="echo made > made")
    assert tree(bench.root) == {}
