"""Attempts to make a chat work in another folder than the one it was opened in: by a link in its place, or by what an imported file says."""

import asyncio
import json
from pathlib import Path

import pytest

from anycowork.store.sql.importer import Importer
from support.live_server import TIMEOUT, LiveChat, LiveServer, RequestRefused, live_server
from support.people import person
from support.scripted_model import call
from support.spec import proves

SECRET = "the neighbour's secret"
CHANGES = {
    "create": call("create_file", path="planted", content="x"),
    "update": call("update_file", path="secret", edits=[{"find": "secret", "replace": "loss"}]),
    "delete": call("delete_file", path="secret"),
    "move": call("move_file", path="secret", to="moved"),
    "command": call("execute_command", command="echo x > planted; rm -f secret"),
}


def neighbour(tmp_path: Path) -> Path:
    folder = tmp_path / "neighbour"
    folder.mkdir()
    (folder / "secret").write_text(SECRET)
    return folder


async def allow_all(chat: LiveChat) -> None:
    for _ in range(3):
        if (await chat.show())["state"] != "awaiting_approval":
            return
        await chat.decide("allow_once")


def was_shown(client: LiveServer) -> bool:
    return any(SECRET in json.dumps(request) for request in client.model.requests)


@proves("TOOL-3")
@pytest.mark.parametrize("change", CHANGES)
async def test_a_link_put_in_the_place_of_the_workspace_leads_no_approved_call_out(tmp_path: Path, change: str) -> None:
    """As another agent could, whose workspace holds this one."""
    outside = neighbour(tmp_path)
    async with live_server(tmp_path, replies=[CHANGES[change]], files={"inner/secret": "own secret"}) as client:
        client.model.replies += ["I could not."] * 3
        chat = await client.chat(workspace=str(client.workspace / "inner"))
        await chat.send("go")
        (client.workspace / "inner").rename(client.workspace / "away")
        (client.workspace / "inner").symlink_to(outside)
        await allow_all(chat)
        assert sorted(path.name for path in outside.iterdir()) == ["secret"]
        assert (outside / "secret").read_text() == SECRET
        assert (await chat.show())["state"] == "idle"


@proves("TOOL-3")
async def test_an_agent_that_replaces_an_inner_workspace_by_a_link_opens_no_other_folder(tmp_path: Path) -> None:
    outside = neighbour(tmp_path)
    swap = call("execute_command", command=f"mv inner away && ln -s {outside} inner")
    async with live_server(tmp_path, replies=[swap, "Done."], files={"inner/a.txt": "a"}) as client:
        inner = str(client.workspace / "inner")
        await client.ask("POST", "/workspaces", {"root": inner}, expect=201)
        inside = await client.chat(workspace=inner)
        outer = await client.chat()
        await outer.send("go")
        await allow_all(outer)
        assert (client.workspace / "inner").is_symlink()
        client.model.replies = [
            call("read_file", path="secret"),
            call("execute_command", command="cat secret"),
            "Done.",
        ]
        await inside.send("read it")
        assert not was_shown(client) and await inside.results() == []
        with pytest.raises(RequestRefused, match="422"):
            await client.chat(workspace=inner)


@proves("TOOL-3", "SEC-4")
@pytest.mark.parametrize("where", ["unregistered", "/", "home", "data"])
async def test_an_imported_chat_works_in_no_folder_that_nobody_registered(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chat's file comes from whoever sent it, and reading passes without being asked."""
    outside = neighbour(tmp_path)
    named = {"unregistered": str(outside), "/": "/", "home": str(outside), "data": str(tmp_path / "data")}[where]
    if where == "home":
        monkeypatch.setenv("HOME", str(outside))
    async with live_server(tmp_path, replies=[call("grep", pattern="secret"), "Done."]) as client:
        database = client.server.database
        importer = Importer(database.writer, client.server.services.clock, str(client.workspace), "person:owner")
        source = {"id": "01890000-0000-7000-8000-000000000001", "workspace": named, "messages": []}
        report = await importer.load(json.dumps(source).encode())
        assert report.chats == 1 and not report.problems
        listed = (await client.ask("GET", "/context"))["contexts"]
        chat = LiveChat(client, next(item for item in listed if item["workspace"] == named))
        await chat.send("look around")
        assert (await chat.show())["state"] == "idle"
        assert not was_shown(client) and await chat.results() == []


def touching(chat: str) -> list[tuple[str, str, object]]:
    """Every way in which a request about a chat touches its folder."""
    path = f"/context/{chat}"
    reads = [
        "files",
        "files/search?q=secret",
        "file?path=secret",
        "file?path=secret&reveal=true",
        "git",
        "git/log",
        "git/hooks",
    ]
    reads += ["git/pull", "git/stashes", "git/push", "symbols?q=secret", "origins?path=secret", "changes"]
    about = [f"/{noun}?context_id={chat}" for noun in ("skills", "skills/s", "hooks", "instructions", "workflows")]
    return [
        *(("GET", f"{path}/{read}", None) for read in reads),
        *(("GET", query, None) for query in about),
        ("PUT", f"{path}/file", {"path": "planted", "text": "x", "sha256": None}),
        ("POST", f"{path}/memory", {"text": "planted"}),
        ("POST", f"{path}/fork", {"message_id": "m1", "files": "copy"}),
        ("POST", f"{path}/git/commit", {"message": "planted", "paths": ["secret"], "head": None}),
        ("POST", f"{path}/git/stashes", {"message": "planted"}),
        ("POST", f"{path}/person-commands", {"command": "cat secret"}),
        ("POST", f"{path}/git/branch", {"name": "planted"}),
        ("POST", f"{path}/git/switch", {"branch": "planted"}),
        ("PUT", f"{path}/memory", {"text": "planted", "sha256": None}),
        ("POST", f"{path}/terminals", {"rows": 20, "columns": 80}),
        ("POST", "/workspaces/worktrees", {"context_id": chat, "branch": "planted"}),
    ]


def asking(chat: str) -> list[tuple[str, str, object]]:
    """Requests that have something else look there: a turn, a job, hooks, a skill, a workflow, a server of the chat."""
    server = {"name": "s", "command": "/bin/cat", "args": ["secret"], "env": {}}
    return [
        *(("POST", f"/context/{chat}/messages", {"content": text}) for text in ("go", "/s go", "/review_changes")),
        ("POST", f"/context/{chat}/messages", {"content": "go", "when": "idle"}),
        ("POST", f"/context/{chat}/jobs", {"request": "go"}),
        ("POST", f"/context/{chat}/compact", {}),
        ("POST", f"/context/{chat}/execute", {"workflow": "review_changes", "parameters": {}}),
        ("POST", f"/context/{chat}/mcp_servers", {"servers": [server]}),
        ("POST", f"/context/{chat}/continue", {}),
        ("GET", f"/v1/system-prompts/default/enhanced?context_id={chat}", None),
        ("GET", f"/context/{chat}/export?format=markdown", None),
    ]


@proves("TOOL-3")
async def test_no_request_reaches_the_folder_of_a_chat_that_nobody_registered(tmp_path: Path) -> None:
    """The folder of an imported chat is what its file says, and an admin takes folders off the list: what an agent may not see there,
    no member may either."""
    outside = neighbour(tmp_path)
    for name, content in (
        ("AGENTS.md", SECRET),
        (".agents/skills/s/SKILL.md", SECRET),
        (".anycowork/hooks.json", SECRET),
    ):
        (outside / name).parent.mkdir(parents=True, exist_ok=True)
        (outside / name).write_text(content)
    before = sorted(path.relative_to(outside) for path in outside.rglob("*"))
    repeats = [{"hooks": [{"type": "command", "command": "cat secret; grep -r . >&2; exit 2"}]}]
    events = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "PreToolUse")
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data/hooks.json").write_text(json.dumps({"hooks": dict.fromkeys(events, repeats)}))
    replies = [call("read_file", path="secret"), "Done."] * 9
    async with live_server(tmp_path, replies=replies) as owner, person(owner, "Mia", "admin") as admin:
        database = owner.server.database
        importer = Importer(database.writer, owner.server.services.clock, str(owner.workspace), "person:owner")
        source = {"id": "evil", "workspace": str(outside), "messages": [{"id": "m1", "role": "user", "content": "hi"}]}
        await importer.load(json.dumps(source).encode())
        for method, path, body in touching("evil"):
            async with admin.session.request(method, admin.url + path, json=body) as answer:
                text = await answer.text()
                assert answer.status == 422 and "bad_workspace" in text and SECRET not in text, (
                    f"{method} {path}: {text}"
                )
        for method, path, body in asking("evil"):
            async with admin.session.request(method, admin.url + path, json=body) as answer:
                text = await answer.text()
            async with asyncio.timeout(TIMEOUT):
                while (await owner.ask("GET", "/context/evil"))["state"] == "running":
                    pass
            told = [text, await owner.ask("GET", "/context/evil/messages"), await owner.ask("GET", "/hooks")]
            assert SECRET not in str(told) and not was_shown(owner), f"{method} {path}: {told}"
        assert sorted(path.relative_to(outside) for path in outside.rglob("*")) == before
        assert (await owner.ask("GET", "/context/evil/messages"))["messages"], "it can be read"
        await owner.ask("POST", "/workspaces", {"root": str(outside)}, expect=201)
        assert (await owner.ask("GET", "/context/evil/file?path=secret"))["text"] == SECRET
