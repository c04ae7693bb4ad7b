"""A person browses the files of a chat's workspace over HTTP."""

import hashlib
import os
from pathlib import Path

from support.images import png
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

FILES = {
    "README.md": "# Zebra\n",
    "src/app.py": "print('hello')\n",
    "src/api/routes.py": "",
    "node_modules/app/index.js": "",
    "build/app.bin": "",
    ".gitignore": "build/\n",
    ".env": "KEY=secret\n",
    "notes/hidden.txt": "not for agents\n",
}


@proves("UI-10")
async def test_files_are_found_by_name_without_ignored_and_hidden_ones(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[], files=FILES) as client:
        chat = await client.chat()
        found = await client.ask("GET", f"{chat.path}/files/search?q=app")
        assert [one["path"] for one in found["results"]] == ["src/app.py", "src/api/routes.py"]
        assert found["complete"] is True
        folders = await client.ask("GET", f"{chat.path}/files/search?q=src")
        assert folders["results"][0] == {"path": "src", "shown": "src", "kind": "folder"}
        assert (await client.ask("GET", f"{chat.path}/files/search?q=hidden"))["results"]
        rule = {"tool": "read_file", "resource": "notes/**", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", body=rule, expect=201)
        assert (await client.ask("GET", f"{chat.path}/files/search?q=hidden"))["results"] == []
        assert len((await client.ask("GET", f"{chat.path}/files/search?limit=2"))["results"]) == 2
        await client.ask("GET", f"{chat.path}/files/search?limit=0", expect=422)
        await client.ask("GET", "/context/none/files/search", expect=404)


async def listed(client, chat, path: str = ".", **more: str) -> dict[str, dict]:
    query = "".join(f"&{key}={value}" for key, value in more.items())
    page = await client.ask("GET", f"{chat.path}/files?path={path}{query}")
    return {one["name"]: one for one in page["entries"]}


@proves("UI-10")
async def test_a_folder_is_shown_by_the_page_with_who_changed_what(tmp_path: Path) -> None:
    replies = [
        call("read_file", path="src/app.py"),
        call("update_file", path="src/app.py", edits=[{"find": "hello", "replace": "hi"}]),
        "Done.",
    ]
    async with live_server(tmp_path, replies=replies, files=FILES) as client:
        for path in sorted(client.workspace.rglob("*")):
            os.utime(path, (1_000_000_000, 1_000_000_000), follow_symlinks=False)
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "edits"})
        before = await listed(client, chat)
        assert list(before) == ["build", "node_modules", "notes", "src", ".env", ".gitignore", "README.md"]
        assert {name for name, one in before.items() if one["ignored"]} == {"build"}
        assert not any(one["changed_by"] for one in before.values())
        assert before[".env"]["protected"] == "key_file"
        await chat.send("Say hi.")
        (client.workspace / "README.md").write_text("# Lion\n")
        after = await listed(client, chat)
        assert (after["src"]["changed_by"], after["README.md"]["changed_by"]) == ("agent", "you")
        assert (await listed(client, chat, "src"))["app.py"]["changed_by"] == "agent"
        (client.workspace / "src/app.py").write_text("print('hi there')\n")
        assert (await listed(client, chat, "src"))["app.py"]["changed_by"] == "both"
        assert (await listed(client, chat, "build"))["app.bin"]["ignored"] is True
        first = await client.ask("GET", f"{chat.path}/files?limit=4")
        rest = await client.ask("GET", f"{chat.path}/files?limit=4&cursor={first['next']}")
        assert [one["name"] for page in (first, rest) for one in page["entries"]] == list(after)
        assert (first["total"], rest["next"]) == (7, None)
        await client.ask("GET", f"{chat.path}/files?path=none", expect=404)
        await client.ask("GET", f"{chat.path}/files?cursor=0zz", expect=422)


@proves("UI-10")
async def test_a_file_is_shown_as_what_it_is_and_a_secret_only_when_asked_for(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[], files=FILES) as client:
        chat = await client.chat()
        folder = client.workspace
        (folder / "dot.png").write_bytes(png())
        (folder / "data.bin").write_bytes(bytes(range(256)) * 4)
        (folder / "large.txt").write_bytes(b"line\n" * 300_000)
        (folder / "mixed.txt").write_bytes(b"a\r\nb\n")

        async def show(path: str, **more: str) -> dict:
            return await client.ask(
                "GET", f"{chat.path}/file?path={path}" + "".join(f"&{k}={v}" for k, v in more.items())
            )

        text = await show("README.md")
        assert (text["kind"], text["text"], text["editable"], text["protected"]) == ("text", "# Zebra\n", True, None)
        assert text["sha256"] == hashlib.sha256(b"# Zebra\n").hexdigest()
        assert (await show("dot.png"))["image"].startswith("data:image/png;base64,")
        assert ((await show("data.bin"))["kind"], (await show("data.bin"))["text"]) == ("binary", None)
        large = await show("large.txt")
        assert (large["kind"], large["editable"], len(large["text"])) == ("partial", False, 200_000)
        assert (await show("mixed.txt"))["editable"] is False
        hidden = await show(".env")
        assert (hidden["kind"], hidden["text"], hidden["sha256"], hidden["protected"]) == (
            "protected",
            None,
            None,
            "key_file",
        )
        assert (await show(".env", reveal="true"))["text"] == "KEY=secret\n"
        rule = {"tool": "read_file", "resource": "notes/**", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", body=rule, expect=201)
        assert (await show("notes/hidden.txt"))["protected"] == "rule"
        assert await chat.messages() == [] and client.model.requests == []
        await client.ask("GET", f"{chat.path}/file?path=none", expect=404)
        await client.ask("GET", f"{chat.path}/file?path=src", expect=409)


@proves("UI-10")
async def test_a_file_that_was_only_restored_is_still_the_agents_and_what_git_ignores_says_so(tmp_path: Path) -> None:
    command = "echo two > a.txt; mkdir dist; echo out > dist/out.js; echo line > run.log"
    replies = [call("execute_command", command=command), "Done.", call("execute_command", command="echo three > a.txt")]
    files = {"a.txt": "one\n", ".gitignore": "dist/\n*.log\n"}
    async with live_server(tmp_path, files=files, replies=[*replies, "Done.", *replies[2:], "Done."]) as client:
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "sandboxed"})
        await chat.send("first")
        await chat.send("second")

        async def authors() -> dict[str, tuple[str, bool]]:
            listed = (await client.ask("GET", f"{chat.path}/changes"))["changes"]
            return {change["path"]: (change["changed_by"], change["ignored"]) for change in listed}

        generated = {"dist/out.js": ("agent", True), "run.log": ("agent", True)}
        assert await authors() == {"a.txt": ("agent", False), **generated}
        snapshots = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        await client.ask("POST", f"{chat.path}/snapshots/{snapshots[2]['id']}/restore", {})
        assert (tmp_path / "workspace/a.txt").read_text() == "two\n"
        assert await authors() == {"a.txt": ("agent", False), **generated}
        await client.ask("POST", f"{chat.path}/snapshots/{snapshots[0]['id']}/restore", {})
        assert await authors() == {}
        await chat.send("third")
        assert await authors() == {"a.txt": ("agent", False)}
        [result] = [m for m in await chat.messages() if m["message_type"] == "tool_result"][:1]
        assert result["payload"]["facts"]["ignored"] == ["dist", "run.log"]
