"""The git page while a person is in the middle of a merge or the like: nothing is committed, and what git keeps for it stays."""

from pathlib import Path

import pytest

from support.git_commands import git
from support.live_server import LiveChat, live_server
from support.spec import proves

CONFLICT = "<<<<<<<"


def make_branches(folder: Path) -> None:
    """`main` and `other` changed the same line of a.txt."""
    git(folder, "init", "-q", "-b", "main")
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        git(folder, "config", key, value)
    for branch, text in (("main", "old\n"), ("other", "theirs\n"), ("main", "ours\n")):
        if text == "theirs\n":
            git(folder, "switch", "-qc", branch)
        elif text == "ours\n":
            git(folder, "switch", "-q", branch)
        (folder / "a.txt").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", text)


async def commit(chat: LiveChat, *paths: str, expect: int) -> dict:
    state = await chat.client.ask("GET", f"{chat.path}/git")
    body = {"message": "A commit", "paths": list(paths), "head": state["head"]}
    return await chat.client.ask("POST", f"{chat.path}/git/commit", body, expect=expect)


@proves("UI-10")
@pytest.mark.parametrize("operation", ["merge", "rebase", "cherry-pick", "revert"])
async def test_nothing_is_committed_in_the_middle_of_an_operation(tmp_path: Path, operation: str) -> None:
    async with live_server(tmp_path, replies=[], files={"b.txt": "b\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        make_branches(folder)
        (folder / "b.txt").write_text("changed\n")
        git(folder, "stash", "-q")
        git(folder, operation, "other", check=False)
        git(folder, "checkout", "stash@{0}", "--", "b.txt")
        assert CONFLICT in (folder / "a.txt").read_text()
        state = await client.ask("GET", f"{chat.path}/git")
        chosen = {one["path"]: one["preselected"] for one in state["files"]}
        assert chosen["a.txt"] is False and chosen["b.txt"] is True
        for path in ("a.txt", "b.txt"):
            refused = await commit(chat, path, expect=409)
            assert f"A {operation} is in progress" in refused["error"]["message"]
        branch = await client.ask("POST", f"{chat.path}/git/branch", {"name": "new"}, expect=409)
        assert f"git {operation} --abort" in branch["error"]["message"] and not git(folder, "branch", "--list", "new")
        git(folder, operation, "--abort")  # git still knows all of it
        git(folder, "checkout", "-q", "main", "--", "b.txt")
        (folder / "b.txt").write_text("changed\n")
        await commit(chat, "b.txt", expect=200)
        assert CONFLICT not in git(folder, "show", "HEAD:a.txt")


async def test_conflicts_of_no_operation_are_named_before_anything_is_committed(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[], files={"b.txt": "b\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        make_branches(folder)
        (folder / "a.txt").write_text("stashed\n")
        git(folder, "stash", "-q")
        (folder / "a.txt").write_text("committed\n")
        git(folder, "commit", "-qam", "Before the stash comes back")
        git(folder, "stash", "pop", check=False)
        (folder / "b.txt").write_text("changed\n")
        refused = await commit(chat, "b.txt", expect=409)
        assert "Git still has conflicts in 'a.txt'" in refused["error"]["message"]
        (folder / "a.txt").write_text("resolved\n")
        await commit(chat, "a.txt", "b.txt", expect=200)
        assert git(folder, "show", "HEAD:a.txt").strip() == "resolved"
