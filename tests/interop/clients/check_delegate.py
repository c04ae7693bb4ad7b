"""Agents of several vendors as delegates, each with its own tools and its own model's API, the model scripted: a task in a chat, a step of a
job, a role that changes nothing; and opencode at what it may not do. `make test-delegate` runs this: they are large, and installed in a
place of their own."""

import asyncio
import json
import platform
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # what an agent asked its model, and what a server shows

import pytest

from anycowork.config.settings import AgentEntry
from support.fake_network import PUBLIC, FakeNetwork
from support.jobs import approved, plan
from support.live_server import LiveChat, LiveServer, live_server
from support.openai_wire import NativeCall
from support.scripted_model import Hang, Reply, ScriptedModel
from support.spec import proves
from support.vendor_models import Wire, port_of, scripted_mind, vendor_model

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
from webui import find_node  # noqa: E402  # a script, beside the package

MACHINE = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"
OPENCODE = ROOT / f".venv/interop/opencode/node_modules/opencode-linux-{MACHINE}/bin/opencode"
PACKAGES = ROOT / ".venv/interop/agents/node_modules"
FILES = {"greeting.txt": "Hello.\n", "kept.txt": "kept\n"}
HOST = "model.example"
URL = f"http://{HOST}"
WHOLE_TASK = 180.0
pytestmark = pytest.mark.timeout(600)


# --- the agents


@dataclass(frozen=True)
class Vendor:
    """`create` and `change` are its tools for files, given the whole path; `environment` is how it finds its model."""

    command: tuple[str, ...]
    wire: Wire
    environment: Mapping[str, str]
    create: Callable[[str, str], list[NativeCall]]
    change: Callable[[str, str, str], list[NativeCall]]


def packed(script: str, *arguments: str) -> tuple[str, ...]:
    return (str(find_node()), str(PACKAGES / script), *arguments)


def create_by(tool: str) -> Callable[[str, str], list[NativeCall]]:
    return lambda path, text: [NativeCall(tool, {"file_path": path, "content": text})]


def change_by(read: str, edit: str, **more: str) -> Callable[[str, str, str], list[NativeCall]]:
    """Reads first: most agents refuse to change what they have not read."""
    return lambda path, old, new: [
        NativeCall(read, {"file_path": path}),
        NativeCall(edit, {"file_path": path, "old_string": old, "new_string": new, **more}),
    ]


def opencode_environment(permission: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{URL}/v1", "apiKey": "none"},
        "models": {"agent": {"tool_call": True}},
    }
    asked = dict.fromkeys(("edit", "bash", "external_directory", "webfetch"), permission)
    settings = {"provider": {"house": provider}, "model": "house/agent", "autoupdate": False, "share": "disabled"}
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps({**settings, "permission": asked}),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }


CODEX = {
    "model": "agent",
    "model_provider": "house",
    "model_providers": {"house": {"name": "House", "base_url": f"{URL}/v1", "wire_api": "responses"}},
}
GOOSE = {
    "GOOSE_PROVIDER": "openai",
    "GOOSE_MODEL": "agent",
    "OPENAI_HOST": URL,
    "OPENAI_API_KEY": "none",
    "GOOSE_DISABLE_KEYRING": "1",
    "GOOSE_MODE": "auto",
}
VENDORS = {
    "opencode": Vendor(
        (str(OPENCODE), "acp"),
        "openai",
        opencode_environment("ask"),
        lambda path, text: [write(path, text)],
        lambda path, old, new: [
            NativeCall("read", {"filePath": path}),
            NativeCall("edit", {"filePath": path, "oldString": old, "newString": new}),
        ],
    ),
    "qwen": Vendor(
        packed("@qwen-code/qwen-code/cli-entry.js", "--acp", "--auth-type", "openai"),
        "openai",
        {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{URL}/v1", "OPENAI_MODEL": "agent"},
        create_by("write_file"),
        change_by("read_file", "edit"),
    ),
    "gemini": Vendor(
        packed("@google/gemini-cli/bundle/gemini.js", "--acp"),
        "gemini",
        {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": URL, "GEMINI_MODEL": "gemini-2.5-flash"},
        create_by("write_file"),
        change_by("read_file", "replace", instruction="Change it."),
    ),
    "claude": Vendor(
        packed("@agentclientprotocol/claude-agent-acp/dist/index.js"),
        "anthropic",
        {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": URL, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        create_by("Write"),
        change_by("Read", "Edit"),
    ),
    "codex": Vendor(
        packed("@agentclientprotocol/codex-acp/dist/index.js"),
        "openai",
        {"CODEX_CONFIG": json.dumps(CODEX), "MODEL_PROVIDER": "house", "NO_BROWSER": "1"},
        lambda path, text: [
            NativeCall("exec_command", {"cmd": f"mkdir -p {Path(path).parent} && printf '{text.strip()}\\n' > {path}"})
        ],
        lambda path, old, new: [NativeCall("exec_command", {"cmd": f"sed -i 's/{old}/{new}/' {path}"})],
    ),
    "goose": Vendor(
        (str(PACKAGES / "@aaif/goose-binary-linux-x64/bin/goose"), "acp", "--with-builtin", "developer"),
        "openai",
        GOOSE,
        lambda path, text: [NativeCall("write", {"path": path, "content": text})],
        lambda path, old, new: [NativeCall("edit", {"path": path, "before": old, "after": new})],
    ),
}


@asynccontextmanager
async def server_with(
    name: str, environment: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: int
) -> AsyncIterator[LiveServer]:
    """A server with this agent, whose model answers on `port`."""
    outside = FakeNetwork({HOST: [[PUBLIC]]}, {(PUBLIC, 80): port})
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    entry = AgentEntry(
        command=VENDORS[name].command, env=tuple(environment), network=(HOST,), seconds=WHOLE_TASK, role="actor"
    )
    async with live_server(tmp_path, files=FILES, agents={name: entry}, outside=outside) as client:
        yield client


async def given(client: LiveServer, words: str, *, role: str = "actor", agent: str = "opencode") -> LiveChat:
    chat = await client.chat(role=role, model=f"agent/{agent}")
    await chat.send(words)
    await allow_all(client, chat)
    return chat


async def allow_all(client: LiveServer, chat: LiveChat) -> None:
    decisions = [{"id": approval["id"], "decision": "allow_once"} for approval in await chat.approvals()]
    if decisions:
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)


async def ended(chat: LiveChat) -> dict[str, Any]:
    async with asyncio.timeout(WHOLE_TASK):
        async for event in chat.follow():
            if event["type"] == "turn-ended":
                return (await chat.of_type("tool_result"))[-1]
    raise AssertionError("the stream ended")


async def end_of_job(client: LiveServer, chat: LiveChat, job_id: str) -> dict[str, Any]:
    """The job when it has ended; a person allows whatever asks."""
    async with asyncio.timeout(WHOLE_TASK):
        async for event in chat.follow():
            if event.get("state") == "awaiting_approval":
                await allow_all(client, chat)
            job = await client.ask("GET", f"/jobs/{job_id}")
            if job["status"] in ("completed", "failed"):
                return job
    raise AssertionError("the stream ended")


def files_of(client: LiveServer) -> dict[str, str]:
    paths = [path for path in client.workspace.rglob("*") if path.is_file()]
    return {str(path.relative_to(client.workspace)): path.read_text() for path in paths}


# --- what each of them does


@proves("ACP-2/1", "ACP-2/2", "ACP-2/3")
@pytest.mark.parametrize("name", VENDORS)
async def test_vendors_agent_does_a_chats_task_and_a_jobs_step_and_keeps_nothing_as_tester(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor, folder = VENDORS[name], tmp_path / "workspace"
    if name == "goose" and MACHINE != "x64":
        pytest.skip("npm has no goose for this machine")
    change = vendor.change(str(folder / "greeting.txt"), "Hello", "Good day")
    tasks = {
        "Task Alpha.": [*vendor.create(str(folder / "made" / "alpha.txt"), "alpha\n"), *change],
        "Task Beta.": vendor.create(str(folder / "beta.txt"), "beta\n"),
        "Task Gamma.": vendor.create(str(folder / "gamma.txt"), "gamma\n"),
    }
    after_chat = {**FILES, "greeting.txt": "Good day.\n", "made/alpha.txt": "alpha\n"}
    after_job = {**after_chat, "beta.txt": "beta\n"}
    asked: list[str] = []
    async with (
        vendor_model(vendor.wire, scripted_mind(tasks, asked)) as port,
        server_with(name, vendor.environment, tmp_path, monkeypatch, port) as client,
    ):
        result = await ended(await given(client, "Task Alpha.", agent=name))
        assert result["payload"]["status"] == "ok", result["content"]
        assert files_of(client) == after_chat, result["content"]
        assert result["payload"]["facts"]["agent_calls"] >= 2 and result["payload"]["facts"]["kept_from"] == []
        guessed = {"id": "b", "action": "Task Beta.", "agent": name, "tools_needed": ["grep"], "paths": ["guess.md"]}
        chat = await client.chat()
        job = await end_of_job(client, chat, (await approved(client, chat, plan=plan(guessed)))["id"])
        assert (job["status"], [task["attempt"] for task in job["tasks"]]) == ("completed", [1]), job
        assert files_of(client) == after_job
        await ended(await given(client, "Task Gamma.", role="tester", agent=name))
        assert files_of(client) == after_job, "a tester changes nothing"
        assert "Task Gamma." in asked, "though its model called for it"


# --- opencode at what it may not do


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

    async with (
        ScriptedModel(mind=mind) as model,
        server_with(
            "opencode", opencode_environment(permission), tmp_path, monkeypatch, port_of(model.base_url)
        ) as client,
    ):
        yield client


def write(path: str, text: str) -> NativeCall:
    return NativeCall("write", {"filePath": path, "content": text})


def bash(command: str) -> NativeCall:
    return NativeCall("bash", {"command": command, "description": "A step"})


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
