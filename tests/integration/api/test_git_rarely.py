"""Git beside a chat in rarer moments: other branches and worktrees, merges, several stashes, empty names and messages."""

from pathlib import Path

from integration.api.test_git_habits import ask, chat, write_hook
from support.git_commands import git
from support.live_server import LiveChat
from support.spec import proves

__all__ = ["chat"]


@proves("UI-14/1", "UI-14/2", "UI-14/3")
async def test_another_branch_is_listed_a_merge_is_compared_with_its_first_parent_and_a_switch_is_logged(
    chat: LiveChat, tmp_path: Path
) -> None:
    folder = chat.client.workspace
    git(folder, "switch", "-qc", "other")
    git(folder, "rm", "-q", "b.txt")
    git(folder, "commit", "-qm", "Theirs")
    git(folder, "switch", "-q", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Ours")
    git(folder, "merge", "-q", "--no-ff", "-m", "Both", "other")
    log = await ask(chat, "GET", "/log?branch=other")
    assert log["commits"][0]["subject"] == "Theirs"
    merged = await ask(chat, "GET", f"/commits/{git(folder, 'rev-parse', 'HEAD').strip()}")
    assert [(file["path"], file["status"]) for file in merged["files"]] == [("b.txt", "deleted")]
    git(folder, "worktree", "add", "-q", str(tmp_path / "beside"), "other")
    refused = await ask(chat, "POST", "/switch", {"branch": "other"}, expect=409)
    assert "checked out in another worktree" in refused["error"]["message"]
    git(folder, "worktree", "remove", str(tmp_path / "beside"))
    await ask(chat, "POST", "/switch", {"branch": "other"})
    assert "checkout: moving from main to other" in git(folder, "reflog", "-1"), "'git switch -' leads back"


@proves("UI-14/6")
async def test_an_amended_merge_keeps_both_parents_and_the_date_of_its_author(chat: LiveChat) -> None:
    folder = chat.client.workspace
    git(folder, "switch", "-qc", "other", "HEAD^")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Theirs")
    git(folder, "switch", "-q", "main")
    git(folder, "merge", "-q", "--no-ff", "-m", "Both", "other")
    git(folder, "commit", "-q", "--amend", "-m", "Both", "--date", "2020-02-02T02:02:02+0000")
    origin = git(folder, "log", "-1", "--format=%P %aI")
    (folder / "b.txt").write_text("more\n")
    head = (await ask(chat, "GET", ""))["head"]
    await ask(chat, "POST", "/commit", {"message": "Again", "paths": ["b.txt"], "head": head, "amend": True})
    assert git(folder, "log", "-1", "--format=%P %aI") == origin and len(origin.split()) == 3


@proves("UI-14/7")
async def test_of_several_stashes_the_newest_comes_first_and_the_one_that_was_named_is_dropped(chat: LiveChat) -> None:
    for text in ("one", "two", "three"):
        (chat.client.workspace / "b.txt").write_text(f"{text}\n")
        await ask(chat, "POST", "/stashes", {"message": text})
    listed = (await ask(chat, "GET", "/stashes"))["stashes"]
    assert [(each["number"], each["message"]) for each in listed] == [
        (0, "On main: three"),
        (1, "On main: two"),
        (2, "On main: one"),
    ]
    await ask(chat, "POST", "/stashes/drop", {"number": 1, "commit": listed[1]["commit"]})
    left = (await ask(chat, "GET", "/stashes"))["stashes"]
    assert [each["commit"] for each in left] == [listed[0]["commit"], listed[2]["commit"]]


@proves("UI-14/8", "UI-14/9")
async def test_an_empty_name_is_no_identity_and_hooks_may_not_empty_a_message(chat: LiveChat) -> None:
    folder = chat.client.workspace
    write_hook(folder / ".git/hooks/commit-msg", ': > "$1"')
    write_hook(folder / ".git/hooks/post-commit", "touch .git/after-commit")
    offered = (await ask(chat, "GET", "/hooks"))["hooks"]
    await ask(chat, "PUT", "/hooks", {"hooks": [{"name": h["name"], "sha256": h["sha256"]} for h in offered]})
    (folder / "b.txt").write_text("more\n")
    head = (await ask(chat, "GET", ""))["head"]
    body = {"message": "Words", "paths": ["b.txt"], "head": head}
    refused = await ask(chat, "POST", "/commit", body, expect=409)
    assert "left no commit message" in refused["error"]["message"] and not (folder / ".git/after-commit").exists()
    (folder / ".git/hooks/commit-msg").unlink()
    git(folder, "config", "--add", "user.name", " ")
    await ask(chat, "POST", "/commit", body)
    assert git(folder, "log", "-1", "--format=%an %s") == "Ann Words\n" and (folder / ".git/after-commit").exists()
