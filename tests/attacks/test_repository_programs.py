"""A repository that names programs everywhere git would run one: showing, committing and branching in the page runs none of them."""

import os
import subprocess
from pathlib import Path

import pytest

from support.live_server import LiveChat, live_server
from support.spec import proves

PROGRAMS = """[core]
\tfsmonitor = {trap}
\tpager = {trap}
\teditor = {trap}
\tsshCommand = {trap}
\thooksPath = .git/hooks
\tattributesFile = .git/info/attributes
\talternateRefsCommand = {trap}
[diff]
\texternal = {trap}
[diff "x"]
\ttextconv = {trap}
\tcommand = {trap}
[filter "x"]
\tclean = {trap}
\tsmudge = {trap}
\tprocess = {trap}
\trequired = true
[merge "x"]
\tdriver = {trap}
[commit]
\tgpgSign = true
[gpg]
\tprogram = {trap}
[interactive]
\tdiffFilter = {trap}
[alias]
\tstatus = !{trap}
"""
HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "reference-transaction",
    "post-index-change",
    "post-checkout",
)


def git(folder: Path, *words: str) -> str:
    environment = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    names = {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *words],
        cwd=folder,
        env=environment | names,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout.decode()


@pytest.fixture
async def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = A Person\n\temail = person@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    async with live_server(tmp_path, replies=[], files={"a.txt": "one\n", "b.bin": "x\n", ".env": "KEY=1\n"}) as client:
        folder = client.workspace
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "a.txt", "b.bin")
        git(folder, "commit", "-qm", "First")
        trap = tmp_path / "trap"
        trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
        trap.chmod(0o755)
        (folder / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
        (folder / ".git/info/attributes").write_text("* filter=x diff=x\n")
        for hook in HOOKS:
            (folder / ".git/hooks" / hook).write_text(trap.read_text())
            (folder / ".git/hooks" / hook).chmod(0o755)
        with (folder / ".git/config").open("a") as config:
            config.write(PROGRAMS.replace("{trap}", str(trap)))
        (folder / "a.txt").write_text("two\n")
        yield await client.chat()


@proves("UI-10")
async def test_state_difference_commit_and_branch_run_no_program_of_the_repository(
    chat: LiveChat, tmp_path: Path
) -> None:
    folder, ask = chat.client.workspace, chat.client.ask
    subprocess.run(
        ["git", "-c", "safe.directory=*", "status"], cwd=folder, capture_output=True, timeout=60, check=False
    )
    assert (tmp_path / "sprung").exists(), "the trap is one"
    (tmp_path / "sprung").unlink()
    state = await ask("GET", f"{chat.path}/git")
    files = {file["path"]: file["status"] for file in state["files"]}
    assert (state["branch"], files) == (
        "main",
        {"a.txt": "modified", ".env": "untracked", ".gitattributes": "untracked"},
    )
    assert "+two" in (await ask("GET", f"{chat.path}/git/diff?path=a.txt"))["diff"]
    assert (await ask("GET", f"{chat.path}/git/diff?path=.env"))["diff"] is None
    wanted = {"message": "Second\n\nIn the page.", "paths": ["a.txt"], "head": state["head"]}
    made = await ask("POST", f"{chat.path}/git/commit", wanted)
    await ask("POST", f"{chat.path}/git/commit", wanted, expect=409)
    await ask("POST", f"{chat.path}/git/branch", {"name": "next"})
    assert not (tmp_path / "sprung").exists()
    (folder / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    for hook in HOOKS:
        (folder / ".git/hooks" / hook).unlink()
    assert git(folder, "log", "-1", "--format=%H %an %s") == f"{made['commit']} A Person Second\n"
    assert git(folder, "rev-parse", "--abbrev-ref", "HEAD") == "next\n"
    assert git(folder, "status", "--porcelain") == "?? .env\n?? .gitattributes\n"
    assert git(folder, "fsck", "--strict") == ""
    said = [(one["role"], one["content"]) for one in await chat.messages()]
    not_run = "(hooks of the repository that were not run: pre-commit, prepare-commit-msg, commit-msg, post-commit)"
    assert said == [
        ("system", f"You commit 1 file ({made['commit'][:10]}): Second {not_run}"),
        ("system", f"You committed 1 file ({made['commit'][:10]}): Second {not_run}"),
        ("system", "You created the branch next and switched to it."),
    ]


async def test_who_commits_is_a_name_and_an_address_and_nothing_more(chat: LiveChat, tmp_path: Path) -> None:
    folder, path = chat.client.workspace, f"{chat.path}/git/identity"
    before = (folder / ".git/config").read_bytes()
    for name, email in (
        ("A\n[core]\n\tpager = x", "a@b"),
        ("A", 'a"@b\n[x]'),
        ("  ", "a@b"),
        ("A", "a b"),
        ("<A>", "a@b"),
    ):
        await chat.client.ask("PUT", path, {"name": name, "email": email}, expect=422)
    assert (folder / ".git/config").read_bytes() == before
    await chat.client.ask("PUT", path, {"name": 'A\\" [core] x', "email": 'a"\\@b'}, expect=200)
    assert git(folder, "config", "--file", ".git/config", "user.name") == 'A\\" [core] x\n'
    assert git(folder, "config", "--file", ".git/config", "user.email") == 'a"\\@b\n'
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(before)
    (folder / ".git/config").unlink()
    (folder / ".git/config").symlink_to(elsewhere)
    await chat.client.ask("PUT", path, {"name": "A", "email": "a@b"}, expect=409)
    assert elsewhere.read_bytes() == before and (folder / ".git/config").is_symlink()


@proves("UI-10")
async def test_names_and_shapes_that_mislead_git_are_refused(chat: LiveChat, tmp_path: Path) -> None:
    folder, ask = chat.client.workspace, chat.client.ask
    for name in ("-x", "a..b", "a b", "../x", "x.lock", "@{u}", "a\nb", "refs/../x", "."):
        await ask("POST", f"{chat.path}/git/branch", {"name": name}, expect=422)
    await ask("POST", f"{chat.path}/git/branch", {"name": "main"}, expect=409)
    head = (await ask("GET", f"{chat.path}/git"))["head"]
    for path in ("../x", "/etc/hosts", "--force"):
        wanted = {"message": "x", "paths": [path], "head": head}
        async with chat.client.session.post(f"{chat.client.url}{chat.path}/git/commit", json=wanted) as response:
            assert response.status in (403, 409, 422), path
    (folder / ".git/index.lock").write_text("")
    wanted = {"message": "x", "paths": ["a.txt"], "head": head}
    await ask("POST", f"{chat.path}/git/commit", wanted, expect=409)
    assert (await chat.messages())[-1]["content"].endswith(
        "was not made. Another git is at work in this repository. Try again when it has finished."
    )
    said = [one["content"] for one in await chat.messages()]
    assert said[-2].startswith("You commit 1 file (") and not any(one.startswith("You committed") for one in said)
    assert (await ask("GET", f"{chat.path}/git"))["head"] == head
    (folder / ".git").rename(tmp_path / "elsewhere")
    (folder / ".git").symlink_to(tmp_path / "elsewhere")
    assert (await ask("GET", f"{chat.path}/git"))["reason"]
    (folder / ".git").unlink()
    (folder / ".git").write_text(f"gitdir: {tmp_path}/elsewhere\n")
    assert (await ask("GET", f"{chat.path}/git"))["reason"]
    (folder / ".git").unlink()
    assert (await ask("GET", f"{chat.path}/git"))["reason"] == "This folder is not a git repository."
