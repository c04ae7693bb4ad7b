"""What the chat records of a person's commit."""

from pathlib import Path

from support.git_commands import git
from support.live_server import live_server


async def test_a_chosen_folder_counts_as_its_files_in_the_first_commit_and_later(tmp_path: Path) -> None:
    files = {"a.txt": "one\n", "new/b.txt": "b\n", "new/deep/c.txt": "c\n"}
    async with live_server(tmp_path, replies=[], files=files) as client:
        chat, folder = await client.chat(), client.workspace
        git(folder, "init", "-q", "-b", "main")
        for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
            git(folder, "config", key, value)
        for paths, counted in ((["new"], "2 files"), (["a.txt"], "1 file"), (["new", "a.txt"], "3 files")):
            head = (await client.ask("GET", f"{chat.path}/git"))["head"]
            wanted = {"message": "Some", "paths": paths, "head": head}
            made = await client.ask("POST", f"{chat.path}/git/commit", wanted, expect=200)
            assert (await chat.last())["content"] == f"You committed {counted} ({made['commit'][:10]}): Some"
            for name in files:
                (folder / name).write_text(f"{counted} {name}\n")
