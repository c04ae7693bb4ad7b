"""Git as people use it every day, on a real repository: log, diff of a commit, switch, pull with conflicts, hunks, amend, stash, hooks."""

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest

from anycowork.git import hooks as git_hooks
from anycowork.git.push import remote_host
from support.git_commands import git
from support.live_server import Json, LiveChat, live_server
from support.spec import proves

COMMITS = int(os.environ.get("ANYCOWORK_LARGE_COMMITS", "2000"))  # `make test-large` makes a million
LINES = "".join(f"line {number}\n" for number in range(40))


@pytest.fixture
async def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A chat in a repository with three commits of Ann, on `main`."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    async with live_server(tmp_path, replies=[], files={"a.txt": LINES, ".env": "KEY=1\n"}) as client:
        folder = client.workspace
        git(folder, "init", "-q", "-b", "main")
        git(folder, "config", "user.name", "Ann")
        git(folder, "config", "user.email", "ann@example.org")
        for number, name in enumerate(("a.txt", "b.txt", ".env")):
            (folder / name).touch()
            git(folder, "add", "-f", name)
            git(folder, "commit", "-qm", f"Commit {number}\n\nWhy {number}.")
        yield await client.chat(title="Git")


async def ask(chat: LiveChat, method: str, end: str, body: Json | None = None, *, expect: int = 200) -> Json:
    return await chat.client.ask(method, f"{chat.path}/git{end}", body, expect=expect)


async def notes(chat: LiveChat) -> list[str]:
    return [str(message["content"]) for message in await chat.messages()]


@proves("UI-14/1", "UI-14/2")
async def test_the_log_comes_by_the_page_and_a_commit_shows_what_it_changed(chat: LiveChat) -> None:
    folder = chat.client.workspace
    for number in range(60):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"Empty {number}")
    first = await ask(chat, "GET", "/log")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Meanwhile")
    second = await ask(chat, "GET", f"/log?tip={first['tip']}&skip={len(first['commits'])}")
    subjects = [line["subject"] for line in first["commits"] + second["commits"]]
    assert subjects == [f"Empty {number}" for number in reversed(range(60))] + ["Commit 2", "Commit 1", "Commit 0"]
    assert (first["last"], second["last"]) == (False, True)
    oldest = await ask(chat, "GET", f"/commits/{second['commits'][-1]['id']}")
    assert (oldest["subject"], oldest["body"], oldest["author"]) == ("Commit 0", "Why 0.", "t")
    assert [(file["path"], file["status"]) for file in oldest["files"]] == [("a.txt", "added")]
    diff = await ask(chat, "GET", f"/commits/{oldest['id']}/diff?path=a.txt")
    assert "+line 39" in diff["diff"]
    secret = f"/commits/{second['commits'][-3]['id']}/diff?path=.env"
    assert (await ask(chat, "GET", secret))["diff"] is None
    assert "+KEY=1" in (await ask(chat, "GET", f"{secret}&reveal=true"))["diff"]
    await ask(chat, "GET", f"/commits/{'0' * 40}", expect=409)
    (folder / "x.txt").write_text("first\n")
    (folder / "y.txt").write_text("second\n")
    git(folder, "add", "x.txt", "y.txt")
    git(folder, "commit", "-qm", "Two files")
    both = git(folder, "rev-parse", "HEAD").strip()
    diff = await ask(chat, "GET", f"/commits/{both}/diff?path=x.txt")
    assert "+first" in diff["diff"] and "second" not in diff["diff"]


@proves("UI-14/1", "UI-14/2")
async def test_of_many_commits_and_of_a_giant_one_a_bounded_page_is_read(chat: LiveChat) -> None:
    folder, first = chat.client.workspace, git(chat.client.workspace, "rev-parse", "HEAD").strip()
    import_commits(folder, first)
    git(folder, "update-ref", "refs/remotes/origin/main", f"{first}")
    spent = spent_by_children()
    page = await ask(chat, "GET", "/log")
    further = await ask(chat, "GET", f"/log?tip={page['tip']}&skip=1000")
    assert [line["subject"] for line in page["commits"][:2]] == ["Giant", f"Empty {COMMITS - 1}"]
    assert further["commits"][0]["subject"] == f"Empty {COMMITS - 1000}" and not further["last"]
    assert len(page["commits"]) == len(further["commits"]) == 50 and len(json.dumps([page, further])) < 50_000
    giant = await ask(chat, "GET", f"/commits/{page['tip']}")
    assert len(giant["files"]) == 2_000 and giant["complete"] is False
    diff = (await ask(chat, "GET", f"/commits/{page['tip']}/diff?path=giant.txt"))["diff"]
    assert 1_000_000 < len(diff) < 5_000_000, "not all 8 MB of it"
    await ask(chat, "GET", f"/log?tip={page['tip']}&skip=100001", expect=422)
    assert spent_by_children() - spent < 5.0, "git reads what is shown, not the whole history"
    (folder / "a.txt").write_text("changed\n")
    state = await ask(chat, "GET", "")
    assert "a.txt" in [file["path"] for file in state["files"]] and state["ahead"] == COMMITS + 1


def import_commits(folder: Path, parent: str) -> None:
    """`COMMITS` empty commits on `main`, and one of 2,500 files and a file of 8 MB."""
    with (folder.parent / "commits").open("w+") as stream:
        head = "commit refs/heads/main\ncommitter t <t@example.org> 1700000000 +0000\n"
        for number in range(COMMITS):
            subject = f"Empty {number}"
            start = f"from {parent}\n" if number == 0 else ""
            stream.write(f"{head}data {len(subject)}\n{subject}\n{start}\n")
        stream.write(f"{head}data 5\nGiant\n")
        for number in range(2_500):
            stream.write(f"M 100644 inline many/{number}.txt\ndata 2\nx\n\n")
        giant = "a line of the file\n" * 420_000
        stream.write(f"M 100644 inline giant.txt\ndata {len(giant)}\n{giant}\n")
        stream.seek(0)
        subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, stdin=stream, check=True, timeout=600)
    git(folder, "reset", "-q", "--hard", "main")


def spent_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@proves("UI-14/3")
async def test_a_switch_names_the_files_it_would_overwrite_and_is_undone_by_its_checkpoint(chat: LiveChat) -> None:
    folder = chat.client.workspace
    git(folder, "switch", "-qc", "other")
    (folder / "a.txt").write_text("other\n")
    (folder / "new.txt").write_text("new\n")
    git(folder, "add", "a.txt", "new.txt")
    git(folder, "commit", "-qm", "Other")
    git(folder, "switch", "-q", "main")
    branches = (await ask(chat, "GET", "/branches"))["branches"]
    assert {(branch["name"], branch["current"]) for branch in branches} == {("main", True), ("other", False)}
    (folder / "a.txt").write_text("mine\n")
    refused = await ask(chat, "POST", "/switch", {"branch": "other"}, expect=409)
    assert "overwritten in 'a.txt'" in refused["error"]["message"]
    git(folder, "checkout", "-q", "--", "a.txt")
    (folder / "new.txt").write_text("mine and not tracked\n")
    refused = await ask(chat, "POST", "/switch", {"branch": "other"}, expect=409)
    assert "'new.txt'" in refused["error"]["message"] and (folder / "new.txt").read_text() == "mine and not tracked\n"
    (folder / "new.txt").unlink()
    (folder / "b.txt").write_text("mine and in no commit\n")
    await ask(chat, "POST", "/switch", {"branch": "other"})
    assert (folder / "a.txt").read_text() == "other\n" and (folder / "b.txt").read_text() == "mine and in no commit\n"
    assert git(folder, "status", "--porcelain=v1", "--branch") == "## other\n M b.txt\n"
    messages = await chat.messages()
    assert messages[-1]["content"] == "You switched to the branch other."
    snapshot = messages[-1]["payload"]["git"]["snapshot"]
    await chat.client.ask("POST", f"{chat.path}/snapshots/{snapshot}/restore", {}, expect=200)
    assert (folder / "a.txt").read_text() == LINES and not (folder / "new.txt").exists()


@proves("ORG-1/3")
async def test_what_a_person_pulls_comes_from_the_remote(chat: LiveChat, tmp_path: Path) -> None:
    folder, theirs = chat.client.workspace, tmp_path / "theirs"
    git(tmp_path, "clone", "-q", str(folder), str(theirs))
    git(folder, "remote", "add", "origin", str(theirs))
    commit_in(theirs, "b.txt", "theirs\n")
    head = (await ask(chat, "GET", "/pull"))["head"]
    await ask(chat, "POST", "/pull", {"remote": "origin", "address": str(theirs), "branch": "main", "head": head})
    origins = [
        set((await chat.client.ask("GET", f"{chat.path}/origins?path={name}"))["origins"])
        for name in ("b.txt", "a.txt")
    ]
    assert origins == [{"workspace", f"git:{theirs}"}, {"workspace"}]


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://ann@code.example:8443/a.git", "code.example"),
        ("git@code.example:a/b.git", "code.example"),
        ("/a", "/a"),
    ],
)
def test_the_host_of_a_remote_is_read_from_every_kind_of_address(address: str, host: str) -> None:
    assert remote_host(address) == host


@proves("UI-14/4")
async def test_a_pull_fast_forwards_merges_and_leaves_conflicts_to_be_resolved(chat: LiveChat, tmp_path: Path) -> None:
    folder, theirs = chat.client.workspace, tmp_path / "theirs"
    git(tmp_path, "clone", "-q", str(folder), str(theirs))
    git(folder, "remote", "add", "origin", str(theirs))
    offer = await ask(chat, "GET", "/pull")
    assert [remote["remote"] for remote in offer["remotes"]] == ["origin"]

    async def pull() -> Json:
        head = (await ask(chat, "GET", "/pull"))["head"]
        body = {"remote": "origin", "address": str(theirs), "branch": "main", "head": head}
        return await ask(chat, "POST", "/pull", body)

    async def counts() -> list[int | None]:
        state = await ask(chat, "GET", "")
        return [state["ahead"], state["behind"]]

    assert await counts() == [None, None], "nothing was pulled or pushed yet"
    assert await pull() == {"commit": offer["head"], "conflicts": [], "new": False}
    assert await counts() == [0, 0]
    commit_in(theirs, "b.txt", "theirs\n")
    assert (await pull())["commit"] == git(theirs, "rev-parse", "HEAD").strip(), "a fast-forward"
    commit_in(theirs, "b.txt", "theirs again\n")
    commit_in(folder, "c.txt", "ours\n")
    assert await counts() == [1, 0]
    git(folder, "fetch", "-q", "origin")
    assert await counts() == [1, 1]
    merged = await pull()
    assert git(folder, "log", "-1", "--format=%H %an %p").split()[:2] == [merged["commit"], "Ann"]
    assert (folder / "b.txt").read_text() == "theirs again\n" and git(folder, "status", "--porcelain") == ""
    commit_in(theirs, "b.txt", "their side\n")
    commit_in(folder, "b.txt", "our side\n")
    assert (await pull())["conflicts"] == ["b.txt"]
    state = await ask(chat, "GET", "")
    assert (state["operation"], [(file["path"], file["status"]) for file in state["files"]]) == (
        "merge",
        [("b.txt", "conflicted")],
    )
    assert (folder / "b.txt").read_text() == "<<<<<<< HEAD\nour side\n=======\ntheir side\n>>>>>>> origin/main\n"
    left = await ask(chat, "POST", "/merge", expect=409)
    assert "Conflicts are left in 'b.txt'" in left["error"]["message"]
    refused = await ask(chat, "POST", "/switch", {"branch": "main"}, expect=409)
    assert "A merge is in progress" in refused["error"]["message"]
    await ask(chat, "DELETE", "/merge")
    assert (folder / "b.txt").read_text() == "our side\n" and git(folder, "status", "--porcelain") == ""
    assert (await notes(chat))[-1] == "You cancelled the merge. The files are as they were before it."
    assert (await pull())["conflicts"] == ["b.txt"]
    (folder / "b.txt").write_text("both sides\n")
    commit = (await ask(chat, "POST", "/merge"))["commit"]
    assert (await ask(chat, "GET", ""))["operation"] is None and not (folder / ".git/MERGE_HEAD").exists()
    assert git(folder, "show", f"{commit}:b.txt") == "both sides\n" and git(folder, "status", "--porcelain") == ""
    assert (
        len(git(folder, "log", "-1", "--format=%P").split()) == 2
        and git(folder, "fsck", "--strict", "--no-dangling") == ""
    )


@proves("UI-14/5")
async def test_single_hunks_are_committed_byte_by_byte_and_the_rest_stays(chat: LiveChat) -> None:
    folder = chat.client.workspace
    changed = LINES.encode().replace(b"line 3\n", b"first \xff\r\n").replace(b"line 35\n", b"second\n")
    (folder / "a.txt").write_bytes(changed)
    state, shown = await ask(chat, "GET", ""), await ask(chat, "GET", "/diff?path=a.txt")
    chosen = {"path": "a.txt", "sha256": shown["sha256"], "hunks": [0]}
    body = {"message": "The first", "paths": [], "hunks": [chosen], "head": state["head"]}
    await ask(chat, "POST", "/commit", {**body, "hunks": [{**chosen, "sha256": "0" * 64}]}, expect=409)
    await ask(chat, "POST", "/commit", {**body, "hunks": [{**chosen, "hunks": [2]}]}, expect=409)
    await ask(chat, "POST", "/commit", {**body, "hunks": []}, expect=422)
    git(folder, "add", "a.txt")  # what was added to the index before is not chosen
    await ask(chat, "POST", "/commit", body)
    shown_blob = git_bytes(folder, "show", "HEAD:a.txt")
    assert shown_blob == LINES.encode().replace(b"line 3\n", b"first \xff\r\n")
    assert (folder / "a.txt").read_bytes() == changed and git(folder, "status", "--porcelain") == " M a.txt\n"
    assert (await ask(chat, "GET", "/diff?path=a.txt"))["diff"].count("\n@@ ") == 1


@proves("UI-14/6")
async def test_an_amended_commit_keeps_its_author_and_its_parents(chat: LiveChat) -> None:
    folder = chat.client.workspace
    parent = git(folder, "rev-parse", "HEAD^")
    head = (await ask(chat, "GET", ""))["head"]
    (folder / "b.txt").write_text("more\n")
    body = {"message": "Better words", "paths": ["b.txt"], "head": head, "amend": True}
    await ask(chat, "POST", "/commit", {**body, "head": parent.strip()}, expect=409)
    commit = (await ask(chat, "POST", "/commit", body))["commit"]
    assert git(folder, "log", "-1", "--format=%H %an %cn %s") == f"{commit} t Ann Better words\n"
    assert git(folder, "rev-parse", "HEAD^") == parent and git(folder, "status", "--porcelain") == ""
    assert git(folder, "show", "--name-only", "--format=").split() == [".env", "b.txt"]
    only_words = {"message": "Other words", "paths": [], "head": commit, "amend": True}
    await ask(chat, "POST", "/commit", only_words)
    assert git(folder, "log", "-1", "--format=%s") == "Other words\n"
    assert "in place of the last commit" in (await notes(chat))[-1]


@proves("UI-14/7")
async def test_changes_are_stashed_listed_applied_and_dropped(chat: LiveChat) -> None:
    folder = chat.client.workspace
    await ask(chat, "POST", "/stashes", {"message": "nothing"}, expect=409)
    (folder / "b.txt").write_text("half done\n")
    (folder / "untracked.txt").write_text("stays\n")
    commit = (await ask(chat, "POST", "/stashes", {"message": "Half done"}))["commit"]
    assert (folder / "b.txt").read_text() == "" and (folder / "untracked.txt").exists()
    assert git(folder, "stash", "list") == "stash@{0}: On main: Half done\n"
    listed = (await ask(chat, "GET", "/stashes"))["stashes"]
    assert listed == [{"number": 0, "commit": commit, "message": "On main: Half done"}]
    stash = {"number": 0, "commit": commit}
    await ask(chat, "POST", "/stashes/apply", {**stash, "commit": "0" * 40}, expect=409)
    assert (await ask(chat, "POST", "/stashes/apply", stash))["conflicts"] == []
    assert (folder / "b.txt").read_text() == "half done\n"
    assert (await notes(chat))[-1] == f"You applied the stash {commit[:10]}."
    commit_in(folder, "b.txt", "something else\n")
    assert (await ask(chat, "POST", "/stashes/apply", stash))["conflicts"] == ["b.txt"]
    assert "<<<<<<<" in (folder / "b.txt").read_text()
    await ask(chat, "POST", "/stashes/drop", stash)
    assert git(folder, "stash", "list") == "" and (await ask(chat, "GET", "/stashes"))["stashes"] == []
    await ask(chat, "POST", "/stashes/drop", stash, expect=409)


async def test_the_chats_title_is_proposed_only_for_files_that_the_chat_changed(chat: LiveChat) -> None:
    (chat.client.workspace / "a.txt").write_text("changed elsewhere\n")
    assert (await ask(chat, "GET", ""))["proposed_message"] == ""
    await chat.client.ask("PUT", f"{chat.path}/file", {"path": "here.txt", "text": "changed here\n", "sha256": None})
    assert (await ask(chat, "GET", ""))["proposed_message"] == "Git"


@proves("UI-14/8")
async def test_commits_are_made_under_the_repositorys_own_name(chat: LiveChat) -> None:
    folder = chat.client.workspace
    assert (await ask(chat, "GET", ""))["identity"] == {"name": "Ann", "email": "ann@example.org"}
    await ask(chat, "PUT", "/identity", {"name": "Bea", "email": "bea@example.org"})
    (folder / "b.txt").write_text("x\n")
    head = (await ask(chat, "GET", ""))["head"]
    await ask(chat, "POST", "/commit", {"message": "x", "paths": ["b.txt"], "head": head})
    assert git(folder, "log", "-1", "--format=%an %ae") == "Bea bea@example.org\n"


@proves("UI-14/9")
async def test_allowed_hooks_run_as_the_person_and_a_failing_one_shows_its_output(
    chat: LiveChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = chat.client.workspace
    hooks = folder / ".git/hooks"
    write_hook(hooks / "pre-commit", "echo formatted >> b.txt; git add b.txt; env > .git/hook-env")
    write_hook(hooks / "commit-msg", 'echo "Checked-by: hook" >> "$1"')
    state = await ask(chat, "GET", "")
    assert (state["hooks_run"], state["hooks_not_run"], state["hooks_offered"]) == (
        [],
        ["pre-commit", "commit-msg"],
        True,
    )
    offered = (await ask(chat, "GET", "/hooks"))["hooks"]
    assert "echo formatted" in offered[0]["text"] and not offered[0]["allowed"]
    chosen = [{"name": hook["name"], "sha256": hook["sha256"]} for hook in offered]
    assert (await ask(chat, "PUT", "/hooks", {"hooks": chosen}))["allowed"] == ["commit-msg", "pre-commit"]
    state = await ask(chat, "GET", "")
    assert (state["hooks_run"], state["hooks_not_run"]) == (["commit-msg", "pre-commit"], [])
    (folder / "a.txt").write_text("x\n")
    await ask(chat, "POST", "/commit", {"message": "With hooks\n", "paths": ["a.txt"], "head": state["head"]})
    assert git(folder, "log", "-1", "--format=%B").strip() == "With hooks\nChecked-by: hook"
    assert git(folder, "show", "HEAD:b.txt") == "formatted\n" and git(folder, "status", "--porcelain") == ""
    changed = next(message for message in await chat.messages() if "Hooks of the repository" in message["content"])
    assert changed["payload"]["git"]["snapshot"], "what they changed can be undone"

    write_hook(hooks / "pre-commit", "echo 'line 7 is too long'; exit 3")
    state = await ask(chat, "GET", "")
    assert (state["hooks_run"], state["hooks_not_run"]) == (["commit-msg"], ["pre-commit"]), "a changed hook asks again"
    offered = (await ask(chat, "GET", "/hooks"))["hooks"]
    await ask(chat, "PUT", "/hooks", {"hooks": [{"name": h["name"], "sha256": h["sha256"]} for h in offered]})
    (folder / "a.txt").write_text("y\n")
    body = {"message": "Refused", "paths": ["a.txt"], "head": state["head"]}
    failed = await ask(chat, "POST", "/commit", body, expect=409)
    assert "'pre-commit' ended with exit code 3" in failed["error"]["message"]
    assert "line 7 is too long" in failed["error"]["message"]
    assert (await ask(chat, "GET", ""))["head"] == state["head"]

    monkeypatch.setattr(git_hooks, "SECONDS", 0.5)
    write_hook(hooks / "pre-commit", "sleep 600")
    offered = (await ask(chat, "GET", "/hooks"))["hooks"]
    await ask(chat, "PUT", "/hooks", {"hooks": [{"name": h["name"], "sha256": h["sha256"]} for h in offered]})
    hung = await ask(chat, "POST", "/commit", body, expect=409)
    assert "The hook 'pre-commit' did not finish within" in hung["error"]["message"]
    assert (await ask(chat, "GET", ""))["head"] == state["head"]


def commit_in(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    git(folder, "add", name)
    git(folder, "commit", "-qm", f"{name}: {text.strip()}")


def git_bytes(folder: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, timeout=60, check=True).stdout


def write_hook(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
