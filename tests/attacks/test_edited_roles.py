"""Attempts to change a role, or a workflow, by anything but a person: an agent's calls, a program's key, a host, an editor, another site."""

from pathlib import Path

import aiohttp

from anycowork.domain.principals import EDITOR_HEADER, MCP_HOST_HEADER
from support.live_server import LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

EVERYTHING = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
TRANSLATOR = {"permissions": ["read_files"], "prompt": "Write."}
ALL = ["read_files", "write_files", "create_files", "delete_files", "execute_commands"]
WORKFLOW = {"name": "own", "content": '+++\ndescription = "x"\n+++\n\n## Do\n\nDo it.\n'}
REQUESTS = (
    ("POST", "/roles", {"name": "boss", **TRANSLATOR, "permissions": ALL}),
    ("PUT", "/roles/translator", {**TRANSLATOR, "permissions": ALL}),
    ("DELETE", "/roles/translator", None),
    ("POST", "/roles/validate", {"name": "boss", **TRANSLATOR}),
    ("POST", "/workflows", WORKFLOW),
    ("PUT", "/workflows/own", {"content": WORKFLOW["content"]}),
    ("DELETE", "/workflows/own", None),
    ("POST", "/workflows/validate", WORKFLOW),
)


async def permissions(client: LiveServer) -> list[str]:
    return (await client.ask("GET", "/roles/translator"))["permissions"]


@proves("PER-3")
async def test_no_call_of_an_agent_changes_a_role(tmp_path: Path) -> None:
    """Its files are in the data folder, which no tool and no command reaches, whatever rules allow."""
    role = str(tmp_path / "data" / "roles" / "translator.toml")
    evil = 'name = "translator"\npermissions = ["execute_commands"]\nprompt = "x"\n'
    replies = [
        call("create_file", path="../data/roles/boss.toml", content=evil),
        call("create_file", path="link/boss.toml", content=evil),
        call("update_file", path=role, edits=[{"find": "read_files", "replace": "execute_commands"}]),
        call("delete_file", path="link/translator.toml"),
        call("move_file", path="boss.toml", to="link/boss.toml"),
        call("execute_command", command=f"cp boss.toml '{role}'; cp boss.toml link/boss.toml; rm -f '{role}'"),
        call(
            "execute_command",
            command="mkdir -p roles .anycowork/roles; cp boss.toml roles; cp boss.toml .anycowork/roles",
        ),
        "I could not.",
    ]
    async with live_server(tmp_path, replies=replies, files={"boss.toml": evil}, max_steps=20) as client:
        await client.ask("POST", "/roles", {"name": "translator", **TRANSLATOR}, expect=201)
        (client.workspace / "link").symlink_to(tmp_path / "data" / "roles")
        before = Path(role).read_bytes()
        await client.ask("POST", "/rules", EVERYTHING, expect=201)
        chat = await client.chat()
        await chat.send("widen your role")
        while await chat.approvals():
            await chat.decide()
        assert len(await chat.results()) == len(replies) - 1
        assert [file.name for file in Path(role).parent.iterdir()] == ["translator.toml"]
        assert Path(role).read_bytes() == before and await permissions(client) == ["read_files"]
        assert "boss" not in [each["name"] for each in (await client.ask("GET", "/roles"))["roles"]]


@proves("PER-3", "SEC-1")
async def test_only_a_person_writes_roles_and_workflows(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        await client.ask("POST", "/roles", {"name": "translator", **TRANSLATOR}, expect=201)
        key = (await client.ask("POST", "/keys", {"name": "editor"}, expect=201))["key"]
        callers = {
            "a client key": ({"Authorization": f"Bearer {key}"}, 403),
            "an MCP host": ({MCP_HOST_HEADER: "host"}, 403),
            "an editor": ({EDITOR_HEADER: "editor"}, 403),
            "another site": ({"Origin": "http://evil.example"}, 403),
            "nobody": ({"Authorization": ""}, 401),
        }
        for who, (headers, status) in callers.items():
            for method, path, body in REQUESTS:
                async with client.session.request(method, client.url + path, json=body, headers=headers) as answer:
                    assert answer.status == status, (who, method, path, await answer.text())
        async with aiohttp.ClientSession() as browser:
            await browser.get(f"{client.url}/?token=a-token-for-tests", allow_redirects=False)
            for (
                method,
                path,
                body,
            ) in REQUESTS:  # with the cookie that a browser sends by itself, without the page's key
                async with browser.request(method, client.url + path, json=body) as answer:
                    assert answer.status in (401, 403), (method, path)
        assert await permissions(client) == ["read_files"]
        assert (await client.ask("GET", "/workflows"))["faults"] == []
        assert "own" not in [each["name"] for each in (await client.ask("GET", "/workflows"))["workflows"]]


@proves("PER-3", "APR-8")
async def test_a_call_that_waits_does_not_run_in_a_role_that_was_narrowed_meanwhile(tmp_path: Path) -> None:
    replies = [call("create_file", path="a.txt", content="a"), "I may not."]
    async with live_server(tmp_path, replies=replies) as client:
        wide = {**TRANSLATOR, "permissions": ["read_files", "create_files"]}
        await client.ask("POST", "/roles", {"name": "translator", **wide}, expect=201)
        chat = await client.chat(role="translator")
        await chat.send("create it")
        assert len(await chat.approvals()) == 1
        await client.ask("PUT", "/roles/translator", TRANSLATOR)
        await chat.decide()
        assert not (client.workspace / "a.txt").exists()
        assert [result["error"]["code"] for result in await chat.results()] == ["forbidden_by_role"]


@proves("PER-3")
async def test_a_role_of_a_workspace_is_no_role(tmp_path: Path) -> None:
    files = {
        f"{folder}/boss.toml": 'name = "boss"\npermissions = ["execute_commands"]\nprompt = "x"\n'
        for folder in (".anycowork/roles", "roles")
    }
    async with live_server(tmp_path, files=files) as client:
        await client.ask("POST", "/roles", {"name": "translator", **TRANSLATOR}, expect=201)  # reads all roles again
        await client.ask("GET", "/roles/boss", expect=404)
