"""Every setting that can be changed while the server runs: it is changed on a running server, and its effect is seen."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from anycowork.config.settings import CHANGEABLE
from anycowork.providers import discovery
from anycowork.providers.discovery import LocalServer
from support.distributions import install
from support.jobs import approved, by_task, plan, report
from support.language_bench import PLAIN
from support.language_bench import install as install_language_server
from support.live_server import LiveServer, live_server
from support.people import person
from support.scripted_model import Hang, Reply, ScriptedModel, call
from support.webhook_receiver import receiving

SECONDS = 60.0
LOOK = call("list_directory", path=".")
COMMAND = "sleep 20; echo late > late.txt"


async def change(server: LiveServer, **changes: Any) -> None:
    shown = await server.ask("PUT", "/settings", changes)
    assert {name: shown[name] for name in changes if changes[name] is not None}.keys() <= changes.keys()


async def _allow_commands(server: LiveServer) -> None:
    rule = {"tool": "execute_command", "resource": "*", "effect": "allow", "scope": "global"}
    await server.ask("POST", "/rules", rule, expect=201)


async def _ended(server: LiveServer, *replies: Any, autonomy: str | None = None) -> dict[str, Any]:
    """How a turn with these replies ends."""
    server.model.replies[:] = [*replies]
    chat = await server.chat()
    if autonomy is not None:
        await server.ask("PATCH", chat.path, {"autonomy": autonomy})
    await chat.send("Go on.")
    return (await chat.events())[-1]


async def allowed_hosts(server: LiveServer, folder: Path) -> None:
    async def status() -> int:
        async with server.session.get(f"{server.url}/settings", headers={"Host": "team.example"}) as response:
            return response.status

    assert await status() == 421
    await change(server, allowed_hosts=["team.example"])
    assert await status() == 200
    await change(server, allowed_hosts=None)
    assert await status() == 421


async def model(server: LiveServer, folder: Path) -> None:
    await change(server, model="scripted/another")
    await _ended(server, "Done.")
    assert server.model.requests[-1]["model"] == "another"


async def providers(server: LiveServer, folder: Path) -> None:
    async with ScriptedModel(["From elsewhere."]) as other:
        entry = {"name": "other", "base_url": other.base_url, "models": ["scripted"]}
        await change(server, providers=[entry], model="other/scripted")
        await _ended(server)
        assert len(other.requests) == 1 and not server.model.requests


async def probe_local_servers(server: LiveServer, folder: Path) -> None:
    async def is_listed() -> bool:
        listed = (await server.ask("GET", "/providers"))["providers"]
        return "local-test" in {each["name"] for each in listed}

    assert not await is_listed()
    for wanted in (True, False):
        await change(server, probe_local_servers=wanted)
        async with asyncio.timeout(SECONDS):
            while await is_listed() is not wanted:
                await asyncio.sleep(0.02)


async def provider_timeout(server: LiveServer, folder: Path) -> None:
    await change(server, provider_timeout=0.2)
    ended = await _ended(server, *[Hang("Some words")] * 8)
    assert "nothing came for 0.2 s" in str(ended), ended
    server.model.replies[:] = [Hang("Some words")]
    body = {"model": "scripted", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    async with asyncio.timeout(SECONDS), server.session.post(f"{server.url}/v1/chat/completions", json=body) as answer:
        try:
            await answer.read()
        except aiohttp.ClientError:
            pass  # the connection is closed under an answer that broke off


async def agents(server: LiveServer, folder: Path) -> None:
    program = {"command": ["cat"], "role": "actor"}
    await change(server, agents={"scout": {"role": "planner"}, "vendor": program})
    listed = {each["name"] for each in (await server.ask("GET", "/agents"))["agents"]}
    assert {"scout", "vendor"} <= listed
    names = {spec.delegate for spec in server.server.services.toolbox.specs()}
    assert "vendor" in names, "a program of another vendor is a tool at once"
    await change(server, agents=None)
    assert "vendor" not in {spec.delegate for spec in server.server.services.toolbox.specs()}


async def parallel_tasks(server: LiveServer, folder: Path) -> None:
    await change(server, parallel_tasks=1)
    hold = asyncio.Event()
    answers = {name: [Reply(report("seen"), hold=hold)] for name in ("a", "b", "c")}
    server.model.mind = by_task(answers)
    chat = await server.chat()
    steps = [{"id": name, "action": "look", "role": "planner"} for name in answers]
    job = await approved(server, chat, plan=plan(*steps))
    await server.model.asked(1)
    tasks = (await server.ask("GET", f"/jobs/{job['id']}"))["tasks"]
    assert sorted(task["status"] for task in tasks) == ["pending", "pending", "running"]
    hold.set()
    await server.model.asked(4)


async def max_steps(server: LiveServer, folder: Path) -> None:
    await change(server, max_steps=1)
    assert (await _ended(server, LOOK, LOOK, LOOK))["reason"] == "limit"


async def autonomy_max_steps(server: LiveServer, folder: Path) -> None:
    await change(server, autonomy_max_steps=1)
    assert (await _ended(server, LOOK, LOOK, LOOK, autonomy="edits"))["reason"] == "limit"


async def turn_seconds(server: LiveServer, folder: Path) -> None:
    await change(server, turn_seconds=0.01)
    assert (await _ended(server, LOOK, LOOK, LOOK))["reason"] == "limit"


async def autonomy_turn_seconds(server: LiveServer, folder: Path) -> None:
    await change(server, autonomy_turn_seconds=0.01)
    assert (await _ended(server, LOOK, LOOK, LOOK, autonomy="edits"))["reason"] == "limit"


async def max_faults(server: LiveServer, folder: Path) -> None:
    await change(server, max_faults=1)
    broken = '{"tool": "read_file", "parameters": {"path": '
    assert (await _ended(server, *[broken] * 3))["reason"] == "failed"
    assert len(server.model.requests) == 1


async def command_timeout(server: LiveServer, folder: Path) -> None:
    await _allow_commands(server)
    await change(server, command_timeout=0.5)
    await _ended(server, call("execute_command", command=COMMAND), "Done.")
    told = str(server.model.requests[-1]["messages"][-1])
    assert "0.5" in told and not (server.workspace / "late.txt").exists(), told


async def sandbox_paths(server: LiveServer, folder: Path) -> None:
    await _allow_commands(server)
    outside = folder / "sdk"
    outside.mkdir()
    (outside / "tool.txt").write_text("the tool's words\n")
    show = call("execute_command", command=f"cat {outside}/tool.txt")
    await _ended(server, show, "Done.")
    assert "the tool's words" not in str(server.model.requests[-1]["messages"][-1])
    await change(server, sandbox_paths=[str(outside)])
    await _ended(server, show, "Done.")
    assert "the tool's words" in str(server.model.requests[-1]["messages"][-1])


async def ask(server: LiveServer, folder: Path) -> None:
    await change(server, ask="at_commit")
    server.model.replies[:] = [call("execute_command", command="echo new > new.txt")]
    chat = await server.chat()
    await chat.send("Do it.")
    assert [each["held"] for each in await chat.approvals()] == [True], "it has run before anybody was asked"


async def search_engine(server: LiveServer, folder: Path) -> None:
    await _ended(server, "Done.")
    assert "search_web" not in str(server.model.requests[-1]["messages"][0])
    await change(server, search_engine={"kind": "searxng", "base_url": "https://find.example"})
    await _ended(server, "Done.")
    assert "search_web" in str(server.model.requests[-1]["messages"][0])


async def notifications(server: LiveServer, folder: Path) -> None:
    async with receiving() as receiver:
        target = await server.ask(
            "POST", "/notifications/targets", {"kind": "webhook", "url": receiver.url}, expect=201
        )
        await change(server, notifications={"page_url": "https://work.example"})
        await server.ask("POST", f"/notifications/targets/{target['id']}/test", expect=200)
        assert "https://work.example" in str(receiver.received[-1])


async def plugins(server: LiveServer, folder: Path) -> None:
    install(folder / "data" / "plugins", "words", _PLUGIN)
    assert server.server.services.toolbox.find("count_words") is None
    await change(server, plugins=["words"])
    assert server.server.services.toolbox.find("count_words") is not None


async def log_level(server: LiveServer, folder: Path) -> None:
    log = logging.getLogger("anycowork.server")
    await change(server, log_level="error")
    assert not log.isEnabledFor(logging.WARNING)
    await change(server, log_level="debug")
    assert log.isEnabledFor(logging.DEBUG)
    await change(server, log_level="auto")


async def diagnostics_seconds(server: LiveServer, folder: Path) -> None:
    install_language_server(server.workspace, "pylsp", PLAIN)

    async def told(path: str) -> str:
        await _ended(server, call("create_file", path=path, content="wrong = 1\n"), "Done.", autonomy="edits")
        return "\n".join(str(message["content"]) for message in server.model.requests[-1]["messages"])

    await change(server, diagnostics_seconds=0)
    assert "language server" not in (await told("a.py")).partition("Result of create_file")[2]
    await change(server, diagnostics_seconds=60)
    assert "The language server pylsp reports" in await told("b.py")


async def new_visibility(server: LiveServer, folder: Path) -> None:
    async with person(server, "Mia") as mia:
        for wanted, expected in (("everyone", "everyone"), ("private", "private"), (None, "private")):
            await change(server, new_visibility=wanted)
            assert (await mia.chat()).opened["visibility"] == expected


_PLUGIN = """
@tool
def count_words(text: str) -> str:
    "Counts words."
    return str(len(text.split()))

tools = [count_words]
"""
Check = Callable[[LiveServer, Path], Awaitable[None]]
CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        *(allowed_hosts, model, providers, probe_local_servers, provider_timeout, agents, parallel_tasks, max_steps),
        *(autonomy_max_steps, turn_seconds, autonomy_turn_seconds, max_faults, command_timeout, sandbox_paths, ask),
        *(search_engine, notifications, plugins, log_level, diagnostics_seconds, new_visibility),
    )
}


@pytest.mark.parametrize("setting", sorted(CHANGEABLE))
async def test_changed_setting_takes_effect_on_the_running_server(
    tmp_path: Path, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert setting in CHECKS, f"'{setting}' can be changed while the server runs: write how its effect is seen"
    async with ScriptedModel(models=("local",)) as local:
        monkeypatch.setattr(discovery, "LOCAL_SERVERS", (LocalServer("local-test", local.base_url),))
        async with live_server(tmp_path) as server:
            await CHECKS[setting](server, tmp_path)
