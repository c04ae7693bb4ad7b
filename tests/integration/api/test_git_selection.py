"""Which changed files the git page chooses for a commit before a person chooses."""

import os
from pathlib import Path

from support.git_commands import git
from support.live_server import LiveChat, live_server
from support.scripted_model import call
from support.spec import proves


async def shown(chat: LiveChat) -> dict[str, dict]:
    return {one["path"]: one for one in (await chat.client.ask("GET", f"{chat.path}/git"))["files"]}


def write(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x\n")


@proves("UI-10")
async def test_untracked_files_that_the_chat_did_not_make_are_listed_but_not_preselected(tmp_path: Path) -> None:
    replies = [call("create_file", path="pkg/new.py", content="x = 1\n"), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "one\n", "target/kept.txt": "k\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "First")
        rule = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", body=rule, expect=201)
        await chat.send("Make a package.")
        await client.ask("PUT", f"{chat.path}/file", {"path": "mine.txt", "text": "mine\n", "sha256": None})
        await client.ask("PUT", f"{chat.path}/file", {"path": "target/made.txt", "text": "m\n", "sha256": None})
        write(folder, "a.txt", "notes/1.txt", "notes/2.txt", "notes/deep/3.txt", "loose.txt", ".env")
        write(
            folder, "node_modules/p/index.js", "pkg/other.txt", "pkg/__pycache__/new.pyc", "pkg/__pycache__/other.pyc"
        )
        files = await shown(chat)
        assert {path: (one["preselected"], one["file_count"]) for path, one in files.items()} == {
            "a.txt": (True, None),
            "mine.txt": (True, None),
            "pkg/new.py": (True, None),
            "pkg/other.txt": (False, None),
            "pkg/__pycache__/": (False, 2),
            "loose.txt": (False, None),
            ".env": (False, None),
            "notes/": (False, 3),
            "node_modules/": (False, 1),
            "target/made.txt": (False, None),
        }
        assert all(one["file_count_complete"] for one in files.values())


@proves("UI-10", "SEC-4")
async def test_a_folder_with_a_key_file_is_marked_as_one(tmp_path: Path) -> None:
    """All of an untracked folder is committed when it is chosen: its key files are news, also those that an ignore file brings in."""
    async with live_server(tmp_path, files={".gitignore": ".env\n", "app/.gitignore": "!.env\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        git(folder, "init", "-q", "-b", "main")
        write(folder, "app/deep/.env", "notes/1.txt", "deploy/.ssh/id_rsa")
        marked = {path: file["protected"] for path, file in (await shown(chat)).items()}
        assert marked == {".gitignore": None, "app/": "key_file", "notes/": None, "deploy/": "key_file"}


async def test_a_large_untracked_folder_is_counted_up_to_a_limit(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[], files={"a.txt": "one\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        git(folder, "init", "-q", "-b", "main")
        (folder / "many").mkdir()
        for number in range(1_001):
            os.close(os.open(folder / "many" / str(number), os.O_CREAT | os.O_WRONLY))
        many = (await shown(chat))["many/"]
        assert many["file_count"] <= 1_000 and (many["file_count_complete"], many["preselected"]) == (False, False)
