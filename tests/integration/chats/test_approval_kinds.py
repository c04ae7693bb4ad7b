"""How a call comes to run: by a person's word, by a rule, or by its risk; and what asks where nobody has said anything."""

from pathlib import Path

import pytest

from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

FILES = {"a.txt": "old", ".env": "KEY=1"}
RULE = {"effect": "allow", "scope": "global"}
UPDATE = call("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}])


@proves("APR-3/1", "APR-3/9")
@pytest.mark.parametrize(
    "requested",
    [
        call("create_file", path="b.txt", content="x"),
        UPDATE,
        call("move_file", path="a.txt", to="b.txt"),
        call("execute_command", command="touch b.txt"),
    ],
    ids=["create", "update", "move", "command"],
)
async def test_without_a_rule_a_tool_that_requires_approval_waits_for_a_person(tmp_path: Path, requested: str) -> None:
    async with live_server(tmp_path, replies=[requested, "Done."], files=FILES) as client:
        chat = await client.chat()
        assert (await chat.send("go"))["state"] == "awaiting_approval"
        assert (client.workspace / "a.txt").read_text() == "old" and not (client.workspace / "b.txt").exists()
        await chat.decide()
        assert [result["status"] for result in await chat.results()] == ["ok"]
        assert (await chat.results())[0]["facts"]["allowed_by"].startswith("approval:")


@proves("APR-3/2")
@pytest.mark.parametrize(
    ("tool", "resource", "requested"),
    [("update_file", "/a.txt", UPDATE), ("execute_command", "touch *", call("execute_command", command="touch b.txt"))],
    ids=["tool", "command"],
)
async def test_whitelisted_call_runs_without_asking(tmp_path: Path, tool: str, resource: str, requested: str) -> None:
    async with live_server(tmp_path, replies=[requested, "Done."], files=FILES) as client:
        rule = await client.ask("POST", "/rules", {**RULE, "tool": tool, "resource": resource}, expect=201)
        chat = await client.chat()
        assert (await chat.send("go"))["state"] == "idle"
        (result,) = await chat.results()
        assert result["status"] == "ok" and result["facts"]["allowed_by"] == f"rule:{rule['id']}"


RISKY = {
    "delete": call("delete_file", path="a.txt"),
    "delete by a command": call("execute_command", command="rm a.txt"),
    "network": call("execute_command", command="curl https://example.org", network=["example.org"]),
    "sudo": call("execute_command", command="sudo touch b.txt"),
    "secret": call("read_file", path=".env"),
    "secret by a command": call("execute_command", command="cat .env"),
}


@proves("APR-3/4")
@pytest.mark.parametrize("kind", ["delete", "delete by a command"])
async def test_deleting_asks(tmp_path: Path, kind: str) -> None:
    async with live_server(tmp_path, replies=[RISKY[kind], "Done."], files=FILES) as client:
        chat = await client.chat()
        assert (await chat.send("go"))["state"] == "awaiting_approval"
        (asked,) = await chat.approvals()
        assert any("deletes" in reason for reason in asked["reasons"]) and (client.workspace / "a.txt").exists()


@proves("APR-3/4")
async def test_deleting_asks_though_the_chat_lets_edits_pass(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[UPDATE, RISKY["delete"], "Done."], files=FILES) as client:
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "edits"})
        assert (await chat.send("go"))["state"] == "awaiting_approval"
        assert [result["status"] for result in await chat.results()] == ["ok"], "the edit passed"
        assert [item["tool"] for item in await chat.approvals()] == ["delete_file"]


@proves("APR-3/5", "APR-3/7", "APR-3/8")
@pytest.mark.parametrize("kind", ["network", "sudo", "secret", "secret by a command"])
async def test_network_sudo_and_secrets_ask_as_high_risk(tmp_path: Path, kind: str) -> None:
    async with live_server(tmp_path, replies=[RISKY[kind], "Done."], files=FILES) as client:
        chat = await client.chat()
        assert (await chat.send("go"))["state"] == "awaiting_approval"
        assert [item["risk"] for item in await chat.approvals()] == ["high"]


@proves("APR-3/5", "APR-3/7", "APR-3/8")
@pytest.mark.parametrize("kind", ["network", "sudo", "secret by a command"])
async def test_network_sudo_and_secrets_ask_though_the_chat_lets_sandboxed_commands_pass(
    tmp_path: Path, kind: str
) -> None:
    ordinary = call("execute_command", command="touch b.txt")
    async with live_server(tmp_path, replies=[ordinary, RISKY[kind], "Done."], files=FILES) as client:
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "sandboxed"})
        assert (await chat.send("go"))["state"] == "awaiting_approval"
        assert [result["status"] for result in await chat.results()] == ["ok"], "the ordinary command passed"
        assert len(await chat.approvals()) == 1


@proves("APR-3/6")
async def test_writing_outside_asks_as_a_command_and_is_refused_as_a_file_tool(tmp_path: Path) -> None:
    """A file tool cannot write outside at all. A command that names an outside path asks, also where ordinary ones pass."""
    outside = tmp_path / "outside.txt"
    replies = [
        call("create_file", path="../outside.txt", content="x"),
        call("execute_command", command="echo x > ../outside.txt"),
        "Done.",
    ]
    async with live_server(tmp_path, replies=replies, files=FILES) as client:
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "sandboxed"})
        assert (await chat.send("go"))["state"] == "awaiting_approval"
        (refused,) = await chat.results()
        assert refused["error"]["code"] == "outside_workspace" and not outside.exists()
        (asked,) = await chat.approvals()
        assert asked["tool"] == "execute_command" and asked["risk"] == "high"


@proves("APR-3/12", "APR-3/13")
@pytest.mark.parametrize(
    "text",
    [
        "git status; rm -rf .",
        "git status && rm -rf .",
        "git status | xargs rm -rf",
        "git status $(rm -rf .)",
        "git status `rm -rf .`",
    ],
)
async def test_whitelist_for_git_status_lets_nothing_else_through(tmp_path: Path, text: str) -> None:
    replies = [call("execute_command", command="git status"), call("execute_command", command=text), "Done."]
    async with live_server(tmp_path, replies=replies, files=FILES) as client:
        for resource in ("git status", "git status *"):
            await client.ask("POST", "/rules", {**RULE, "tool": "execute_command", "resource": resource}, expect=201)
        chat = await client.chat()
        assert (await chat.send("go"))["state"] == "awaiting_approval"
        assert len(await chat.results()) == 1, "git status itself was not asked for"
        assert [item["resource"] for item in await chat.approvals()] == [f"command:{text}"]
        assert (client.workspace / "a.txt").exists()
