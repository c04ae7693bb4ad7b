"""A person browses the files of a chat's workspace over HTTP."""

from pathlib import Path

from support.live_server import live_server
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
