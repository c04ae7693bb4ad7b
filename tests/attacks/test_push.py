"""A person pushes, and works in a new worktree. Whatever the repository, its remotes and its files name, no program of theirs is run."""

import subprocess
from pathlib import Path

import pytest

from attacks.test_repository_programs import HOOKS, PROGRAMS, git
from support.git_http import PASSWORD, USER, git_over_http
from support.live_server import LiveChat, live_server
from support.spec import proves

RECEIVING = ("pre-receive", "update", "post-receive", "post-update", "proc-receive", "push-to-checkout", "pre-push")
REMOTES = """[credential]
\thelper = {trap}
[http]
\tproxy = http://127.0.0.1:1
[url "ext::{trap} "]
\tinsteadOf = http://
\tpushInsteadOf = http://
[push]
\tgpgSign = true
[remote "origin"]
\turl = {http}/remote.git
\treceivepack = {trap}
\tvcs = trap
[remote "local"]
\turl = file://{local}
[remote "bare-path"]
\turl = https://someone:secret@example.org/x.git
\tpushurl = {local}
[remote "program"]
\turl = ext::{trap}
[remote "push-program"]
\turl = https://example.org/x.git
\tpushurl = ext::{trap}
[remote "option"]
\turl = ssh://-oProxyCommand={trap}/x
[remote "word"]
\turl = --upload-pack={trap}
[remote "fd"]
\turl = fd::17
[remote "ftp"]
\turl = ftp://example.org/x
"""


@pytest.fixture
async def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A chat in a repository whose configuration, attributes, hooks and local remote name a trap everywhere."""
    home = tmp_path / "home"
    home.mkdir()
    helper = f"!f() {{ echo username={USER}; echo password={PASSWORD}; }}; f"
    (home / ".gitconfig").write_text(
        f'[user]\n\tname = A Person\n\temail = p@example.org\n[credential]\n\thelper = "{helper}"\n[safe]\n\tdirectory = *\n'
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    served, local = tmp_path / "served", tmp_path / "local.git"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    for bare in (served / "remote.git", local):
        git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    append(served / "remote.git/config", "[http]\n\treceivepack = true\n")
    (local / "objects/info/alternates").write_text(f"{served}/remote.git/objects\n")
    traps = f"[core]\n\talternateRefsCommand = {trap}\n\tfsmonitor = {trap}\n[receive]\n\tprocReceiveRefs = refs/for\n"
    append(local / "config", traps)
    async with live_server(tmp_path, replies=[], files={"a.txt": "one\n", "sub/b.txt": "x\n"}) as client:
        folder = client.workspace
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "First")
        (folder / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
        git(folder, "add", ".gitattributes")
        git(folder, "commit", "-qm", "Second")
        for place, hooks in ((folder / ".git/hooks", (*HOOKS, *RECEIVING)), (local / "hooks", RECEIVING)):
            for hook in hooks:
                (place / hook).write_text(trap.read_text())
                (place / hook).chmod(0o755)
        with git_over_http(served) as http:
            text = (PROGRAMS + REMOTES).replace("{trap}", str(trap)).replace("{http}", http)
            append(folder / ".git/config", text.replace("{local}", str(local)))
            yield await client.chat(title="Push")


def append(file: Path, text: str) -> None:
    with file.open("a") as opened:
        opened.write(text)


def at(bare: Path) -> str:
    return git(bare, "rev-parse", "main").strip()


@proves("UI-10")
async def test_a_push_uses_the_persons_credentials_and_runs_no_program_of_any_repository(
    chat: LiveChat, tmp_path: Path
) -> None:
    folder, ask, path = chat.client.workspace, chat.client.ask, f"{chat.path}/git/push"
    offer = await ask("GET", path)
    remotes = {one["remote"]: one for one in offer["remotes"]}
    assert (offer["branch"], [one["subject"] for one in remotes["origin"]["commits"]]) == ("main", ["Second", "First"])
    assert {name for name, one in remotes.items() if one["refused"] is None} == {"origin", "local", "bare-path"}
    assert remotes["bare-path"]["address"] == str(tmp_path / "local.git"), "what is shown is where it goes"
    assert remotes["program"]["commits"] == []
    for name, one in remotes.items():
        wanted = {"remote": name, "address": one["address"], "branch": "main", "head": offer["head"]}
        if one["refused"]:
            await ask("POST", path, wanted, expect=409)
    for name in ("origin", "local"):
        wanted = {"remote": name, "address": remotes[name]["address"], "branch": "main", "head": offer["head"]}
        await ask("POST", path, {**wanted, "address": "https://example.org/"}, expect=409)
        assert (await ask("POST", path, wanted)) == {"pushed": offer["head"]}
    assert at(tmp_path / "served/remote.git") == at(tmp_path / "local.git") == offer["head"]
    assert not (tmp_path / "sprung").exists()
    remotes = {one["remote"]: one for one in (await ask("GET", path))["remotes"]}
    assert (remotes["origin"]["commits"], remotes["origin"]["new_branch"]) == ([], False)
    said = [one["content"] for one in await chat.messages()]
    assert said[-1] == f"You push main ({offer['head'][:10]}) to local, file://{tmp_path}/local.git."
    assert any(line.startswith("The push failed.") for line in said) and PASSWORD not in str(said)
    assert git(folder, "config", "--get", "remote.origin.url").startswith("http://127.0.0.1"), "nothing was rewritten"


@proves("UI-10")
async def test_a_push_is_never_forced_and_only_a_person_pushes(chat: LiveChat, tmp_path: Path) -> None:
    ask, path = chat.client.ask, f"{chat.path}/git/push"
    bare = tmp_path / "local.git"
    for hook in RECEIVING:
        (bare / "hooks" / hook).unlink()
    (bare / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
    other = git(bare, "commit-tree", "-m", "Other", git(bare, "mktree").strip()).strip()
    git(bare, "update-ref", "refs/heads/main", other)
    offer = await ask("GET", path)
    address = next(one["address"] for one in offer["remotes"] if one["remote"] == "local")
    wanted = {"remote": "local", "address": address, "branch": "main", "head": offer["head"]}
    refused = await ask("POST", path, wanted, expect=409)
    assert "rejected" in refused["error"]["message"] and at(bare) == other
    key = (await ask("POST", "/keys", {"name": "program"}, expect=201))["key"]
    as_program = {"headers": {"Authorization": f"Bearer {key}"}}
    for method, where, body in (
        ("POST", path, wanted),
        ("GET", path, None),
        ("POST", "/workspaces/worktrees", {"branch": "x", "context_id": chat.id}),
    ):
        await ask(method, where, body, expect=403, **as_program)


@proves("UI-10")
async def test_a_worktree_is_made_and_used_without_running_a_program_of_the_repository(
    chat: LiveChat, tmp_path: Path
) -> None:
    folder, ask = chat.client.workspace, chat.client.ask
    for name in ("-x", "a..b", "../x", "x.lock", "main"):
        await ask(
            "POST",
            "/workspaces/worktrees",
            {"branch": name, "context_id": chat.id},
            expect=409 if name == "main" else 422,
        )
    assert not list(folder.parent.glob(f"{folder.name}-*"))
    made = await ask("POST", "/workspaces/worktrees", {"branch": "try/one", "context_id": chat.id}, expect=201)
    root = Path(made["root"])
    assert root == folder.parent / f"{folder.name}-try-one" and (root / "sub/b.txt").read_text() == "x\n"
    new = await chat.client.chat(workspace=str(root))
    state = await ask("GET", f"{new.path}/git")
    assert (state["reason"], state["branch"], state["files"]) == (None, "try/one", [])
    (root / "a.txt").write_text("two\n")
    wanted = {"message": "Third", "paths": ["a.txt"], "head": state["head"]}
    commit = (await ask("POST", f"{new.path}/git/commit", wanted))["commit"]
    assert (await ask("GET", f"{new.path}/git"))["head"] == commit
    offer = await ask("GET", f"{new.path}/git/push")
    local = next(one for one in offer["remotes"] if one["remote"] == "local")
    wanted = {"remote": "local", "address": local["address"], "branch": "try/one", "head": commit}
    await ask("POST", f"{new.path}/git/push", wanted)
    assert not (tmp_path / "sprung").exists()
    (folder / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    for hook in (folder / ".git/hooks").iterdir():
        hook.unlink()
    listed = git(folder, "worktree", "list", "--porcelain")
    assert f"worktree {root}\nHEAD {commit}\nbranch refs/heads/try/one\n" in listed
    assert git(root, "status", "--porcelain") == "" and git(folder, "status", "--porcelain") == ""
    assert git(folder, "rev-parse", "main").strip() != commit and (folder / "a.txt").read_text() == "one\n"
    assert "You created the branch try/one in a new worktree" in (await chat.messages())[-1]["content"]


async def test_a_git_file_that_its_repository_does_not_know_is_not_followed(chat: LiveChat, tmp_path: Path) -> None:
    ask, folder = chat.client.ask, chat.client.workspace
    other = tmp_path / "other"
    other.mkdir()
    await ask("POST", "/workspaces", {"root": str(other)}, expect=201)
    new = await chat.client.chat(workspace=str(other))
    made = await ask("POST", "/workspaces/worktrees", {"branch": "one", "context_id": chat.id}, expect=201)
    known = (Path(made["root"]) / ".git").read_text()
    for text in (known, f"gitdir: {folder}/.git\n", "gitdir: ../workspace/.git/worktrees/x\n", "gitdir: \0\n", "x\n"):
        (other / ".git").write_text(text)
        state = await ask("GET", f"{new.path}/git")
        assert "does not know this folder" in state["reason"], text
        await ask("GET", f"{new.path}/git/push", expect=409)
    subprocess.run(["rm", "-rf", str(folder / ".git")], check=True, timeout=60)
    again = await chat.client.chat(workspace=made["root"])
    assert (await ask("GET", f"{again.path}/git"))["reason"]
