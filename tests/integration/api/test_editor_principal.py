"""Requests that name an editor: made by the editor, with fewer scopes than the person whose token it holds."""

from pathlib import Path

import pytest

from anycowork.domain.principals import EDITOR_HEADER, OWNER, Scope, acp_client, program_id
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

ZED = {EDITOR_HEADER: "Zed"}


@proves("APR-8")
async def test_an_editors_decision_is_recorded_as_the_editors(tmp_path: Path) -> None:
    replies = [call("create_file", path="a.txt", content="x"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await client.ask("POST", f"{chat.path}/messages", {"content": "go"}, expect=202, headers=ZED)
        await chat.rest()
        (approval,) = await chat.approvals()
        decided = {"decisions": [{"id": approval["id"], "decision": "allow_once"}]}
        await client.ask("POST", f"{chat.path}/approvals", decided, expect=200, headers=ZED)
        await chat.rest()
        recorded = [event for event in await chat.events() if event["type"] == "permission-decided"]
        assert [event["principal"] for event in recorded] == ["acp_client:zed"]


async def test_an_editor_manages_nothing(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        for method, path, body in (
            ("POST", "/workspaces", {"root": str(tmp_path / "workspace")}),
            ("GET", "/rules", None),
            ("POST", "/rules", {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}),
            ("PUT", "/settings", {}),
            ("POST", "/v1/chat/completions", {"model": "scripted", "messages": []}),
        ):
            await client.ask(method, path, body, expect=403, headers=ZED)


async def test_naming_an_editor_opens_nothing_without_the_token(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        await client.ask("GET", "/context", expect=401, headers={**ZED, "Authorization": "Bearer wrong"})


@pytest.mark.parametrize(
    ("name", "written"),
    [("Zed", "zed"), ("JetBrains IDE 2026.2", "jetbrains-ide-2026.2"), ("\n:owner", "owner"), ("", "editor")],
)
def test_an_editors_name_is_written_in_plain_signs(name: str, written: str) -> None:
    assert program_id(name, "editor") == written
    assert acp_client(name, OWNER).label() == f"acp_client:{written}"
    assert Scope.MANAGE not in acp_client(name, OWNER).scopes
