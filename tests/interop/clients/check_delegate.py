"""opencode, an agent that the public registry carries, as a delegate: a task on real files, its model scripted. `make test-delegate` runs
this: it is large, and installed in a place of its own."""

import asyncio
import json
import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any  # what the agent asked its model

import pytest

from anycowork.config.settings import AgentEntry
from support.fake_network import PUBLIC, FakeNetwork
from support.live_server import LiveChat, LiveServer, live_server
from support.openai_wire import NativeCall
from support.scripted_model import Hang, Reply, ScriptedModel
from support.spec import proves

MACHINE = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"
PROGRAM = (
    Path(__file__).parents[3] / ".venv/interop/opencode/node_modules" / f"opencode-linux-{MACHINE}" / "bin" / "opencode"
)
FILES = {"greeting.txt": "Hello.\n", "kept.txt": "kept\n"}
HOST = "model.example"
WHOLE_TASK = 120.0
pytestmark = pytest.mark.timeout(400)


@asynccontextmanager
async def opencode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: list[Any], *, permission: str = "ask"
) -> AsyncIterator[LiveServer]:
    """A server with opencode as its agent; `calls` are what its model does, one after another. `permission` is opencode's own setting."""
    answers = iter(calls)

    def mind(body: dict[str, Any]) -> Any:
        if not body.get("tools"):
            return Reply("A title")
        wanted = next(answers, "All done.")
        if isinstance(wanted, NativeCall):
            return Reply("Let me see.", calls=(wanted,), finish="tool_calls")
        return wanted() if callable(wanted) else wanted

    async with ScriptedModel(mind=mind) as model:
        port = int(model.base_url.split(":")[2].partition("/")[0])
        outside = FakeNetwork({HOST: [[PUBLIC]]}, {(PUBLIC, 80): port})
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"http://{HOST}/v1", "apiKey": "none"},
            "models": {"agent": {"tool_call": True}},
        }
        asked = dict.fromkeys(("edit", "bash", "external_directory", "webfetch"), permission)
        settings = {"provider": {"house": provider}, "model": "house/agent", "autoupdate": False, "share": "disabled"}
        monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", json.dumps({**settings, "permission": asked}))
        monkeypatch.setenv("OPENCODE_DISABLE_MODELS_FETCH", "1")
        monkeypatch.setenv("OPENCODE_DISABLE_AUTOUPDATE", "1")
        entry = AgentEntry(
            command=(str(PROGRAM), "acp"),
            env=("OPENCODE_CONFIG_CONTENT", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE"),
            network=(HOST,),
            seconds=WHOLE_TASK,
        )
        async with live_server(tmp_path, files=FILES, agents={"opencode": entry}, outside=outside) as client:
            yield client


async def given(client: LiveServer, words: str, *, role: str = "actor") -> LiveChat:
    chat = await client.chat(role=role, model="agent/opencode")
    await chat.send(words)
    decisions = [{"id": one["id"], "decision": "allow_once"} for one in await chat.approvals()]
    if decisions:
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
    return chat


async def ended(chat: LiveChat) -> dict[str, Any]:
    async with asyncio.timeout(WHOLE_TASK):
        async for event in chat.follow():
            if event["type"] == "turn-ended":
                return (await chat.of_type("tool_result"))[-1]
    raise AssertionError("the stream ended")


def write(path: str, text: str) -> NativeCall:
    return NativeCall("write", {"filePath": path, "content": text})


def bash(command: str) -> NativeCall:
    return NativeCall("bash", {"command": command, "description": "A step"})


def files_of(client: LiveServer) -> dict[str, str]:
    return {path.name: path.read_text() for path in client.workspace.rglob("*") if path.is_file()}


@proves("ACP-2/1", "ACP-2/2")
async def test_opencode_does_a_task_on_real_files_and_is_kept_inside_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("not its own")
    calls = [
        write("new.txt", "by opencode\n"),
        bash("cat greeting.txt && echo more >> greeting.txt"),
        bash(f"cat {outside}; echo changed > {outside}"),
    ]
    async with opencode(tmp_path, monkeypatch, calls) as client:
        result = await ended(await given(client, "Greet in a new file."))
        payload = result["payload"]
        assert payload["status"] == "ok" and payload["facts"]["agent_calls"] >= 3
        assert files_of(client) == {**FILES, "greeting.txt": "Hello.\nmore\n", "new.txt": "by opencode\n"}
        assert "+by opencode" in payload["diff"] and "+more" in payload["diff"]
        (kept_from,) = payload["facts"]["kept_from"]
        assert "lies outside the workspace" in kept_from
        assert outside.read_text() == "not its own"


@proves("ACP-2/2", "PER-3")
async def test_opencode_asked_for_nothing_and_still_does_no_more_than_its_role_and_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own settings allow everything: what holds it is the copy, and the check of what it changed."""
    calls = [write("greeting.txt", "Bye.\n"), "Written.", bash("echo x >> kept.txt; echo y >> greeting.txt"), "Done."]
    async with opencode(tmp_path, monkeypatch, calls, permission="allow") as client:
        tester = await ended(await given(client, "Change the greeting.", role="tester"))
        assert "may not change files" in tester["content"]
        assert tester["payload"]["facts"]["dropped_files"] == ["greeting.txt"]
        assert files_of(client) == FILES
        rule = {"tool": "update_file", "resource": "/kept.txt", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", rule)
        ruled = await ended(await given(client, "Change both."))
        assert "None of the command's changes was kept" in ruled["content"]
        assert ruled["payload"]["facts"]["dropped_files"] == ["greeting.txt", "kept.txt"]
        assert files_of(client) == FILES
        planner = await ended(await given(client, "Change it.", role="planner"))
        assert planner["payload"]["status"] == "refused" and files_of(client) == FILES


@proves("ACP-2/2")
async def test_opencode_that_is_stopped_or_dies_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinking = asyncio.Event()

    def think() -> Hang:
        thinking.set()
        return Hang("Thinking")

    calls = [write("greeting.txt", "Bye.\n"), bash("kill -9 $PPID"), write("greeting.txt", "Bye.\n"), think]
    async with opencode(tmp_path, monkeypatch, calls, permission="allow") as client:
        dead = await ended(await given(client, "Die."))
        assert "ended before it was done" in dead["content"] and files_of(client) == FILES
        hanging = await given(client, "Think.")
        async with asyncio.timeout(WHOLE_TASK):
            await thinking.wait()
        await client.ask("POST", f"{hanging.path}/stop", {})
        assert (await hanging.show())["state"] == "idle" and files_of(client) == FILES
        left = [path for path in Path("/proc").glob("[0-9]*") if folder_of(path).startswith(str(tmp_path))]
        assert left == []


def folder_of(process: Path) -> str:
    try:
        return str((process / "cwd").readlink())
    except OSError:
        return ""
