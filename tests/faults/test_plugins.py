"""A plugin's worker that is killed in the middle of its call, and a server that is: nothing is half done, nothing goes on behind its back."""

import asyncio
import os
import secrets
import signal
from pathlib import Path

import pytest

from anycowork.domain.tools import CallStatus
from anycowork.sandbox.layers.stage import Layer
from support.cli_process import CommandLine
from support.distributions import PluginBench, install
from support.fork_server import ForkServer
from support.live_server import live_server
from support.sandboxes import running, until
from support.scripted_model import call, serve_in_thread
from support.server import child_server
from support.spec import proves
from support.tool_workspace import tree

SLOW = """
    import subprocess
    from pathlib import Path

    @tool(permissions=["write_files"])
    def slow(marker: str) -> str:
        "Change a file, and take long."
        Path("a.txt").write_text("half done")
        subprocess.run(["sleep", marker])
        return "done"

    @tool
    def quick() -> str:
        "Answer at once."
        return Path("a.txt").read_text()

    tools = [slow, quick]
"""


def new_marker() -> str:
    return f"300.{secrets.randbelow(10**9)}"


def worker_of(folder: Path) -> int:
    """The Python that holds the plugin: the one of its processes that is neither bubblewrap nor a shell."""
    found = [pid for pid in running(str(folder)) if "python" in Path(f"/proc/{pid}/exe").readlink().name]
    assert len(found) == 1, found
    return found[0]


@proves("TOOL-5")
@pytest.mark.parametrize("layer", Layer, ids=str)
async def test_a_worker_killed_in_the_middle_of_its_call_changes_nothing(tmp_path: Path, layer: Layer) -> None:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    bench = PluginBench(root, outside, layer=layer)
    bench.write("a.txt", "old")
    await bench.use("slow", SLOW)
    marker = new_marker()
    async with asyncio.TaskGroup() as tasks:
        calling = tasks.create_task(bench.call("slow", marker=marker))
        await until(lambda: running(f"sleep\0{marker}"))
        os.kill(worker_of(bench.folder), signal.SIGKILL)
    result = calling.result()
    assert result.status is CallStatus.ERROR and "died without an answer (signal 9)" in result.content
    assert running(marker) == [] and tree(root) == {"a.txt": b"old"} and bench.intended == []
    assert (await bench.call("quick")).content == "old"


async def test_a_call_that_is_stopped_takes_its_worker_with_it(tmp_path: Path) -> None:
    install(tmp_path / "data" / "plugins", "slow", SLOW)
    marker = new_marker()
    replies = [call("slow", marker=marker), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "old"}, plugins=("slow",)) as client:
        chat = await client.chat()
        await chat.send("go")
        [asked] = await chat.approvals()
        decisions = {"decisions": [{"id": asked["id"], "decision": "allow_once"}]}
        await client.ask("POST", f"{chat.path}/approvals", decisions, expect=200)
        await until(lambda: running(f"sleep\0{marker}"))
        await client.ask("POST", f"{chat.path}/stop", expect=200)
        assert (await chat.rest())["state"] == "idle"
        assert running(marker) == [] and (client.workspace / "a.txt").read_text() == "old"


@proves("TOOL-5", "MSG-4")
async def test_a_server_killed_in_the_middle_of_a_call_leaves_nothing_running_and_nothing_half_done(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    marker = new_marker()
    with serve_in_thread(mind=lambda body: call("slow", marker=marker)) as model:
        data = CommandLine(tmp_path, model.base_url).data
        install(data / "plugins", "slow", SLOW)
        (data / "config.toml").write_text('plugins = ["slow"]')
        with child_server(fork_server, tmp_path, model_url=model.base_url, files={"a.txt": "old"}) as server:
            async with server.connect() as client:
                rule = {"tool": "slow", "resource": "*", "effect": "allow", "scope": "global"}
                await client.ask("POST", "/rules", rule, expect=201)
                chat = await client.chat()
                await chat.send("go", until="sent")
                await until(lambda: running(f"sleep\0{marker}"))
                server.kill()
                await until(lambda: running(marker) == [])
                server.start()
                assert (await chat.show())["state"] == "idle"
                [result] = await chat.results()
                assert result["status"] == "interrupted"
                assert (server.workspace / "a.txt").read_text() == "old"
                assert list((data / "staging" / "runs").iterdir()) == []
