"""Log, switch, pull, merge, stash and hooks in a repository that names programs everywhere: none runs unasked, and no name misleads git."""

import subprocess
from pathlib import Path

import pytest

from attacks.test_repository_programs import PROGRAMS, git
from support.attempts import Attempts
from support.live_server import Json, LiveChat, live_server
from support.people import person
from support.spec import proves

HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change", "post-checkout",
    "post-merge", "pre-merge-commit", "post-rewrite", "pre-auto-gc", "fsmonitor-watchman",
)  # fmt: skip
REMOTES = """[remote "local"]
\turl = {theirs}
\tuploadpack = {trap}
[remote "program"]
\turl = ext::{trap}
[remote "option"]
\turl = --upload-pack={trap}
[remote "ssh"]
\turl = ssh://-oProxyCommand={trap}/x
[submodule "sub"]
\turl = ext::{trap}
\tactive = true
[uploadpack]
\tpackObjectsHook = {trap}
"""


@pytest.fixture
async def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`main` and `other` differ; a remote has a newer `main`; a submodule's address is a program; everything names the trap."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = A Person\n\temail = p@example.org\n[safe]\n\tdirectory = *\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    async with live_server(tmp_path, replies=[], files={"a.txt": "one\n"}) as client:
        folder, theirs = client.workspace, tmp_path / "theirs"
        git(folder, "init", "-q", "-b", "main")
        (folder / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
        (folder / ".gitmodules").write_text(f'[submodule "sub"]\n\tpath = sub\n\turl = ext::{trap}\n')
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "First")
        git(folder, "update-index", "--add", "--cacheinfo", f"160000,{git(folder, 'rev-parse', 'HEAD').strip()},sub")
        git(folder, "commit", "-qm", "Submodule")
        git(folder, "switch", "-qc", "other")
        (folder / "b.txt").write_text("other\n")
        git(folder, "add", "b.txt")
        git(folder, "commit", "-qm", "Other")
        git(folder, "switch", "-q", "main")
        git(tmp_path, "clone", "-q", "-b", "main", str(folder), str(theirs))
        (theirs / "a.txt").write_text("theirs\n")
        git(theirs, "commit", "-qam", "Theirs")
        for place in (folder, theirs):
            for hook in HOOKS:
                (place / ".git/hooks" / hook).write_text(trap.read_text())
                (place / ".git/hooks" / hook).chmod(0o755)
        (folder / ".git/info/attributes").write_text("* filter=x diff=x merge=x\n")
        text = (PROGRAMS + REMOTES).replace("{trap}", str(trap)).replace("{theirs}", str(theirs))
        for place in (folder, theirs):
            with (place / ".git/config").open("a") as config:
                config.write(text)
        yield await client.chat(title="Git")


@proves("UI-14/9")
async def test_no_act_runs_a_program_of_the_repository_or_of_a_hook_that_nobody_allowed(
    chat: LiveChat, tmp_path: Path
) -> None:
    folder = chat.client.workspace

    async def ask(method: str, end: str, body: Json | None = None, *, expect: int = 200) -> Json:
        answer = await chat.client.ask(method, f"{chat.path}/git{end}", body, expect=expect)
        assert not (tmp_path / "sprung").exists(), f"{method} {end} ran a program"
        return answer

    log = await ask("GET", "/log")
    for line in log["commits"]:
        for file in (await ask("GET", f"/commits/{line['id']}"))["files"]:
            await ask("GET", f"/commits/{line['id']}/diff?path={file['path']}")
    assert len((await ask("GET", "/branches"))["branches"]) == 2
    (folder / "a.txt").write_text("stashed\n")
    stash = {"number": 0, "commit": (await ask("POST", "/stashes", {"message": "x"}))["commit"]}
    await ask("POST", "/stashes/apply", stash)
    (folder / "a.txt").write_text("one\n")
    await ask("POST", "/stashes/drop", stash)
    await ask("POST", "/switch", {"branch": "other"})
    assert (folder / "b.txt").read_text() == "other\n"
    await ask("POST", "/switch", {"branch": "main"})
    offer = await ask("GET", "/pull")
    sources = {source["remote"]: source for source in offer["remotes"]}
    assert {name for name, source in sources.items() if source["refused"] is None} == {"local"}
    for name, source in sources.items():
        body = {"remote": name, "address": source["address"], "branch": "main", "head": offer["head"]}
        await ask("POST", "/pull", body, expect=409 if source["refused"] else 200)
    assert (folder / "a.txt").read_text() == "theirs\n" and not list(folder.glob("sub/*"))
    (folder / "a.txt").write_text("committed\n")
    head = (await ask("GET", ""))["head"]
    await ask("POST", "/commit", {"message": "x", "paths": ["a.txt"], "head": head, "amend": True})
    planted = (await ask("GET", "/hooks"))["hooks"]
    await ask("PUT", "/hooks", {"hooks": [{"name": hook["name"], "sha256": "0" * 64} for hook in planted]})
    (folder / "a.txt").write_text("committed again\n")
    head = (await ask("GET", ""))["head"]
    await ask("POST", "/commit", {"message": "x", "paths": ["a.txt"], "head": head})
    subprocess.run(["git", "status"], cwd=folder, capture_output=True, timeout=60, check=False)
    assert (tmp_path / "sprung").exists(), "the trap is one"


async def test_a_hook_that_changed_after_it_was_allowed_does_not_run(chat: LiveChat, tmp_path: Path) -> None:
    folder, path = chat.client.workspace, f"{chat.path}/git"
    hook = folder / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/allowed\n")
    offered = (await chat.client.ask("GET", f"{path}/hooks"))["hooks"]
    chosen = [{"name": one["name"], "sha256": one["sha256"]} for one in offered if one["name"] == "pre-commit"]
    await chat.client.ask("PUT", f"{path}/hooks", {"hooks": chosen})

    async def commit(text: str) -> None:
        (folder / "a.txt").write_text(text)
        head = (await chat.client.ask("GET", path))["head"]
        await chat.client.ask("POST", f"{path}/commit", {"message": "x", "paths": ["a.txt"], "head": head})

    await commit("1\n")
    assert (tmp_path / "allowed").exists() and not (tmp_path / "sprung").exists()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    await commit("2\n")
    assert not (tmp_path / "sprung").exists()


async def test_a_hook_too_large_to_be_shown_whole_is_not_offered(chat: LiveChat, tmp_path: Path) -> None:
    hook = chat.client.workspace / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\n" + "#" * (1 << 20) + f"\ntouch {tmp_path}/sprung\n")
    offered = (await chat.client.ask("GET", f"{chat.path}/git/hooks"))["hooks"]
    assert {one["name"] for one in offered} == {"prepare-commit-msg", "commit-msg", "post-commit"}


async def test_hooks_and_git_are_for_those_who_may(chat: LiveChat, tmp_path: Path, attempts: Attempts) -> None:
    head = (await chat.client.ask("GET", f"{chat.path}/git"))["head"]
    hooks = (await chat.client.ask("GET", f"{chat.path}/git/hooks"))["hooks"]
    allowed = {"hooks": [{"name": hook["name"], "sha256": hook["sha256"]} for hook in hooks]}
    body = {"remote": "local", "address": str(tmp_path / "theirs"), "branch": "main", "head": head}
    requests: dict[str, tuple[str, str, Json | None]] = {
        "hooks": ("PUT", "/hooks", allowed),
        "switch": ("POST", "/switch", {"branch": "other"}),
        "pull": ("POST", "/pull", body),
        "merge": ("POST", "/merge", None),
        "stash": ("POST", "/stashes", {"message": "x"}),
        "log": ("GET", "/log", None),
    }
    async with person(chat.client, "Max", "viewer") as viewer, person(chat.client, "Mia", "member") as member:

        async def refused(name: str) -> None:
            method, end, sent = requests[name]
            await viewer.ask(method, f"{chat.path}/git{end}", sent, expect=403)
            if name == "hooks":
                await member.ask(method, f"{chat.path}/git{end}", sent, expect=403)

        await attempts.each(requests, refused)
        await chat.client.ask("PUT", f"{chat.path}/git/hooks", allowed)
        (chat.client.workspace / "a.txt").write_text("2\n")
        commit = {"message": "x", "paths": ["a.txt"], "head": head}
        await member.ask("POST", f"{chat.path}/git/commit", commit)
    assert not (tmp_path / "sprung").exists(), "a member runs no hook, also not one that an admin allowed"


@pytest.mark.parametrize("name", ["heads", "tags", "info", "origin"])
async def test_a_remote_named_like_something_of_git_is_merged_and_nothing_else(chat: LiveChat, name: str) -> None:
    """The remote's name labels the conflicts, and git would take `heads/main` for our own branch."""
    folder = chat.client.workspace
    git(folder, "config", "--rename-section", "remote.local", f"remote.{name}")
    (folder / "a.txt").write_text("ours\n")
    head = (await chat.client.ask("GET", f"{chat.path}/git"))["head"]
    await chat.client.ask("POST", f"{chat.path}/git/commit", {"message": "Ours", "paths": ["a.txt"], "head": head})
    offer = await chat.client.ask("GET", f"{chat.path}/git/pull")
    address = next(source["address"] for source in offer["remotes"] if source["remote"] == name)
    body = {"remote": name, "address": address, "branch": "main", "head": offer["head"]}
    pulled = await chat.client.ask("POST", f"{chat.path}/git/pull", body)
    assert pulled["conflicts"] == ["a.txt"]
    assert "\ntheirs\n" in (folder / "a.txt").read_text()


async def test_names_that_mislead_git_are_refused(chat: LiveChat, attempts: Attempts) -> None:
    head = (await chat.client.ask("GET", f"{chat.path}/git"))["head"]

    async def branch(name: str) -> None:
        answer = await chat.client.ask("POST", f"{chat.path}/git/switch", {"branch": name}, expect=422)
        assert "cannot be the name of a branch" in answer["error"]["message"]

    await attempts.each(["--orphan", "-f", "a..b", "@{-1}", "../../x", "HEAD^{/x}", "x\ny"], branch)

    async def log(query: str) -> None:
        async with chat.client.session.get(f"{chat.client.url}{chat.path}/git/log?{query}") as response:
            assert response.status in (409, 422), await response.text()

    await attempts.each(["tip=--all", "tip=HEAD", "branch=--all", "branch=-x", "skip=-1", "skip=99999999"], log)
    diff = await chat.client.ask("GET", f"{chat.path}/git/commits/{head}/diff?path=--output=stolen")
    assert diff["diff"] == "" and not (chat.client.workspace / "stolen").exists()
    everything = await chat.client.ask("GET", f"{chat.path}/git/commits/{head}/diff?path=:(glob)**")
    assert everything["diff"] == ""
    for message in ("\n", "a\nb", "\x1b[2J"):
        await chat.client.ask("POST", f"{chat.path}/git/stashes", {"message": message}, expect=422)
    (chat.client.workspace / "a.txt").write_text("x\n")
    saved = await chat.client.ask("POST", f"{chat.path}/git/stashes", {"message": "--include-untracked"})
    listed = (await chat.client.ask("GET", f"{chat.path}/git/stashes"))["stashes"]
    assert listed == [{"number": 0, "commit": saved["commit"], "message": "On main: --include-untracked"}]


SECRETS = ("conf/.env", "private/notes.txt")
SPELLINGS = (
    ".", "./", "/", "conf", "conf/", "private", "./conf/.env", "conf/./.env", "conf//.env", "/conf/.env", "a/../conf/.env",
    "conf/../private/notes.txt", "way/notes.txt", "conf/.env/", *SECRETS,
)  # fmt: skip


async def test_no_spelling_of_a_path_shows_a_protected_difference_without_a_click(
    tmp_path: Path, attempts: Attempts
) -> None:
    """A folder above it, a detour, a link on the way: what is judged is the file that git shows, not the text that names it."""
    async with live_server(tmp_path, replies=[], files=dict.fromkeys(SECRETS, "planted\n")) as client:
        rule = {"tool": "read_file", "resource": "/private/**", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        folder, chat = client.workspace, await client.chat(title="Git")
        (folder / "way").symlink_to("private")
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-f", *SECRETS)
        git(folder, "commit", "-qm", "Secrets")
        for path in SECRETS:
            (folder / path).write_text("planted again\n")
        routes = ("diff", f"commits/{git(folder, 'rev-parse', 'HEAD').strip()}/diff")

        async def shown(path: str) -> None:
            for route in routes:
                address = f"{client.url}{chat.path}/git/{route}"
                async with client.session.get(address, params={"path": path}) as response:
                    assert "planted" not in await response.text(), f"{route} of {path}"

        await attempts.each([*SPELLINGS, str(folder), f"{folder}/conf/.env"], shown)
        for path in SECRETS:
            for route in routes:
                answer = await client.ask("GET", f"{chat.path}/git/{route}?path={path}&reveal=true")
                assert "planted" in answer["diff"], "after the click it is shown"
