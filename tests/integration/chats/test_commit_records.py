"""Whose name a commit has, and what the chat records of it."""

from pathlib import Path

import pytest

from support.git_commands import git
from support.live_server import LiveChat, LiveServer, live_server


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


async def commit(client: LiveServer, chat: LiveChat, expect: int) -> dict:
    head = (await client.ask("GET", f"{chat.path}/git"))["head"]
    body = {"message": "Some", "paths": ["a.txt"], "head": head}
    return await client.ask("POST", f"{chat.path}/git/commit", body, expect=expect)


async def test_a_repository_without_a_name_says_so_and_is_given_one(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[], files={"a.txt": "one\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        git(folder, "init", "-q", "-b", "main")
        assert (await client.ask("GET", f"{chat.path}/git"))["identity"] == {"name": "", "email": ""}
        refused = (await commit(client, chat, 409))["error"]["message"]
        assert "Git does not know who commits" in refused and "git config user.name" in refused
        given = {"name": 'Ann "Tiny" Ä', "email": "ann@example.org"}
        assert await client.ask("PUT", f"{chat.path}/git/identity", given, expect=200) == given
        assert (await client.ask("GET", f"{chat.path}/git"))["identity"] == given
        assert git(folder, "config", "user.name").strip() == given["name"]  # git itself knows it as well
        assert git(folder, "config", "core.bare").strip() == "false"
        assert "Ann" in (await chat.last())["content"]
        await commit(client, chat, 200)
        assert git(folder, "log", "-1", "--format=%an <%ae>").strip() == 'Ann "Tiny" Ä <ann@example.org>'


async def test_the_repositorys_own_name_comes_before_the_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = Everywhere\nemail = everywhere@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    async with live_server(tmp_path, replies=[], files={"a.txt": "one\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        git(folder, "init", "-q", "-b", "main")
        everywhere = {"name": "Everywhere", "email": "everywhere@example.org"}
        assert (await client.ask("GET", f"{chat.path}/git"))["identity"] == everywhere
        git(folder, "config", "user.name", "Here")
        assert (await client.ask("GET", f"{chat.path}/git"))["identity"] == {**everywhere, "name": "Here"}
        await commit(client, chat, 200)
        assert git(folder, "log", "-1", "--format=%an <%ae>").strip() == "Here <everywhere@example.org>"


async def test_hooks_of_the_repository_are_named_where_they_are_not_run(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[], files={"a.txt": "one\n", "tools/commit-msg": "#!/bin/sh\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        git(folder, "init", "-q", "-b", "main")
        await client.ask("PUT", f"{chat.path}/git/identity", {"name": "Ann", "email": "a@b"}, expect=200)
        assert (await client.ask("GET", f"{chat.path}/git"))["hooks_not_run"] == []  # git's samples are none
        hook = folder / ".git/hooks/pre-commit"
        hook.write_text("#!/bin/sh\ntouch ../ran\nexit 1\n")
        hook.chmod(0o755)
        assert (await client.ask("GET", f"{chat.path}/git"))["hooks_not_run"] == ["pre-commit"]
        await commit(client, chat, 200)
        assert "hooks of the repository that were not run: pre-commit" in (await chat.last())["content"]
        (folder / "tools/commit-msg").chmod(0o755)
        git(folder, "config", "core.hooksPath", "tools")
        assert (await client.ask("GET", f"{chat.path}/git"))["hooks_not_run"] == ["commit-msg"]
